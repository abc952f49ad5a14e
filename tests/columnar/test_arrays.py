"""NumPy and Arrow hold the same values, as pyarrow's own conversions give them, and pandas stays out of a plan."""

from __future__ import annotations

import datetime as dt
import decimal

import numpy as np
import pyarrow as pa
import pytest

from tableformats.columnar.arrays import (
    array_of,
    binaries,
    distinct,
    flat,
    repeated,
    scalar,
    strings,
    text_buffers,
    text_maps,
    to_arrow,
    to_numpy,
)

UTC = dt.timezone.utc


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8", "?"])
@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 100])
def test_arrays_there_and_back(dtype: str, size: int) -> None:
    values = np.arange(size).astype(dtype)
    array = to_arrow(values)
    array.validate(full=True)
    assert array.equals(pa.array(values))
    np.testing.assert_array_equal(to_numpy(array), values)
    for start in (0, 1, size // 2):
        np.testing.assert_array_equal(to_numpy(array.slice(start)), values[start:])
        np.testing.assert_array_equal(to_numpy(array.slice(start, 3)), values[start : start + 3])


@pytest.mark.parametrize("kind", [pa.string(), pa.binary()])
@pytest.mark.parametrize("texts", [[], [b""], [b"a", b"", b"bc"]])
def test_texts_as_kernels_take_them(texts: list[bytes], kind: pa.DataType) -> None:
    slices = pa.array([b"before", *texts, b"after"], kind).slice(1, len(texts))
    for array in (slices, pa.array(texts, kind), *([pa.nulls(0, kind)] if not texts else [])):
        offsets, data = text_buffers(array)
        assert (offsets.dtype, data.dtype) == (np.int32, np.uint8)
        spans = zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
        assert [data[start:stop].tobytes() for start, stop in spans] == texts


def test_some_values_are_null() -> None:
    valid = np.array([True, False, True])
    assert to_arrow(np.array([1, 2, 3]), valid=valid).to_pylist() == [1, None, 3]
    assert to_arrow(np.array([True, True, False]), valid=valid).to_pylist() == [True, None, False]
    assert to_arrow(np.array([1, 2, 3]), valid=np.ones(3, bool)).null_count == 0
    times = to_arrow(np.array([0, 1, 2]), pa.timestamp("us", "UTC"), valid)
    assert times.equals(pa.array([0, None, 2], pa.timestamp("us", "UTC")))
    np.testing.assert_array_equal(to_numpy(times)[[0, 2]], [0, 2])


def test_columns_in_pieces() -> None:
    column = pa.chunked_array([pa.array([1, 2]), pa.array([], pa.int64()), pa.array([3])])
    np.testing.assert_array_equal(to_numpy(column), [1, 2, 3])
    assert flat(column).to_pylist() == [1, 2, 3]
    assert flat(pa.chunked_array([], pa.string())).equals(pa.array([], pa.string()))
    assert to_numpy(pa.chunked_array([], pa.bool_())).dtype == bool


def test_a_column_in_one_piece_is_not_copied() -> None:
    array = pa.array(["a", "b"])
    for column in (array, pa.chunked_array([array])):
        assert flat(column).buffers()[2].address == array.buffers()[2].address


@pytest.mark.parametrize("n", [0, 1, 16_384, 16_385])
def test_one_value_everywhere(n: int) -> None:
    for value in (pa.scalar("parquet"), pa.scalar(7, pa.int32()), pa.scalar(7), pa.scalar(None, pa.int64())):
        assert repeated(value, n).equals(pa.repeat(value, n))


def test_distinct_values() -> None:
    assert distinct(np.array([3, -1, 3, 2], np.int32)) == [-1, 2, 3]
    assert distinct(np.zeros(0, np.int64)) == []


def test_texts() -> None:
    texts = ["", "ä\N{GREEK SMALL LETTER OMEGA}", None, "x" * 100]
    assert strings(texts).equals(pa.array(texts, pa.string()))
    assert strings([]).equals(pa.array([], pa.string()))
    octets = [b"", None, b"\xff\0"]
    assert binaries(octets).equals(pa.array(octets, pa.binary()))
    assert binaries([None, None]).null_count == 2


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, None, -(2**31)], pa.int32()),
        ([2**63 - 1, None], pa.int64()),
        ([True, None, False], pa.bool_()),
        ([1.5, None], pa.float64()),
        ([1.5, None], pa.float32()),
        (["a", None], pa.string()),
        ([b"a"], pa.binary()),
        ([dt.date(1, 1, 1), None, dt.date(9999, 12, 31)], pa.date32()),
        ([19000, None], pa.date32()),
        ([0, None, -1], pa.timestamp("us", "UTC")),
        ([1, 2], pa.uint64()),
        ([None, None], pa.string()),
        ([], pa.int8()),
        ([dt.datetime(2024, 1, 1, 5, tzinfo=UTC), None, dt.datetime(1, 1, 1, tzinfo=UTC)], pa.timestamp("us", "UTC")),
        ([dt.datetime(9999, 12, 31, 23, 59, 59, 999_999)], pa.timestamp("us")),
        ([dt.datetime(1969, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=2)))], pa.timestamp("us", "UTC")),
        ([decimal.Decimal("1.5")], pa.decimal128(3, 1)),
        ([decimal.Decimal("1E+5"), None, decimal.Decimal("-0.01")], pa.decimal128(38, 10)),
        ([decimal.Decimal("-7.25"), None], pa.decimal256(76, 2)),
        ([1, 2.5], pa.float64()),
        ([b"ab"], pa.binary(2)),
        ([5], pa.time64("us")),
    ],
)
def test_python_values(values: list[object], kind: pa.DataType) -> None:
    assert array_of(values, kind).equals(pa.array(values, kind))
    for value in values:
        assert scalar(value, kind).equals(pa.scalar(value, kind))


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (2**31, pa.int32()),
        (-1, pa.uint8()),
        ("a", pa.int64()),
        (decimal.Decimal("1.25"), pa.decimal128(5, 1)),
        (1, pa.bool_()),
        ("a", pa.float64()),
    ],
)
def test_what_does_not_fit(value: object, kind: pa.DataType) -> None:
    with pytest.raises((pa.ArrowInvalid, pa.ArrowTypeError, OverflowError)):
        array_of([value], kind)


def test_maps_of_texts_are_those_of_arrow() -> None:
    rows = [[("a", "1"), ("b", None)], None, [], [("ä", "")]]
    for chosen in (rows, rows[:0], [None], rows[2:3]):
        kind = pa.map_(pa.string(), pa.string())
        found = text_maps(chosen)
        found.validate(full=True)
        assert found.equals(pa.array(chosen, kind)) and found.type == kind


def test_a_long_constant_is_made_as_often_as_it_is_asked_for() -> None:
    text = "x" * 100_000
    found = repeated(pa.scalar(text), 2)
    assert found.to_pylist() == [text, text] and found.get_total_buffer_size() < 300_000
    assert repeated(pa.scalar(None, pa.string()), 2).to_pylist() == [None, None]
    assert repeated(pa.scalar("ab"), 3).to_pylist() == ["ab"] * 3
