"""Arrays from Python and NumPy and back, at the ends of bytes and types; pyarrow's own conversion is the measure."""

from __future__ import annotations

import datetime as dt
import decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tableformats.columnar import arrays
from tableformats.columnar.arrays import (
    array_of,
    flat,
    pad_strings,
    repeated,
    scalar,
    text_buffers,
    to_arrow,
    to_numpy,
)

FLAGS = [bool(i % 3) ^ bool(i % 7) for i in range(40)]


def test_booleans_that_begin_within_a_byte() -> None:
    whole = pa.array(FLAGS)
    for start in range(18):
        for count in range(19):
            found = to_numpy(whole.slice(start, count))
            assert (found.dtype, found.tolist()) == (np.dtype(bool), FLAGS[start : start + count])


def test_chunks_are_joined() -> None:
    chunks = pa.chunked_array([pa.array([1, 2]), pa.array([], pa.int64()), pa.array([3])])
    assert to_numpy(chunks).tolist() == flat(chunks).to_pylist() == [1, 2, 3]
    one = pa.array([1])
    assert flat(one) is one and flat(pa.chunked_array([one])).equals(one)
    nothing = flat(pa.chunked_array([], pa.int8()))
    assert (nothing.type, len(nothing), to_numpy(nothing).dtype) == (pa.int8(), 0, np.dtype(np.int8))


@pytest.mark.parametrize(
    "kind", [pa.int8(), pa.uint16(), pa.float32(), pa.date32(), pa.time64("us"), pa.timestamp("ns")]
)
def test_numbers_of_a_slice(kind: pa.DataType) -> None:
    values = pa.array([1, 2, 3, 4], pa.int64()).cast(pa.int32() if kind == pa.date32() else pa.int64()).cast(kind)
    assert to_numpy(values.slice(1, 2)).tolist() == [2, 3]
    assert to_arrow(to_numpy(values), kind).equals(values)


@pytest.mark.parametrize("size", [0, 1, 63, 64, 65, 1000])
def test_a_text_that_is_repeated(size: int) -> None:
    value = scalar("x" * size, pa.string())
    for count in (0, 1, 3, 16_384, 16_385):
        found = repeated(value, count)
        assert len(found) == count and found.equals(pa.repeat(value, count))


def test_buffers_of_no_texts() -> None:
    for texts in (pa.array([], pa.string()), pa.array([], pa.binary())):
        offsets, data = text_buffers(texts)
        assert (offsets.tolist(), len(data)) == ([0] * (len(texts) + 1), 0)
    offsets, data = text_buffers(pa.array(["ab", None, "c"]).slice(1))
    assert [data[a:b].tobytes() for a, b in zip(offsets, offsets[1:], strict=False)] == [b"", b"c"]


def test_texts_are_padded() -> None:
    found = pad_strings(pa.array(["a", None, "éé", "long"]), 3)
    assert found.to_pylist() == ["a  ", None, "éé ", "long"] and found.type == pa.string()


@pytest.mark.parametrize(("n", "length", "is_large"), [(2**20, 511, False), (2**20, 512, True), (1, 2**29 - 1, False)])
def test_long_texts_are_padded_with_wide_offsets(
    n: int, length: int, is_large: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Arrow allows for four bytes a character, and for 2 GiB in all."""
    asked: list[Any] = []

    def pad(values: pa.Array, width: int, padding: str) -> pa.Array:
        asked.append((values.type, width, padding))
        return values

    monkeypatch.setattr(arrays.pc, "utf8_rpad", pad, raising=False)
    values = pa.repeat(pa.scalar("", pa.string()), n)
    assert pad_strings(values, length).equals(values)
    assert asked == [(pa.large_string() if is_large else pa.string(), length, " ")]


UTC = dt.timezone.utc
MOMENT = dt.datetime(2024, 2, 29, 12, 30, 1, 5)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([None, None], pa.int8()),
        ([], pa.string()),
        ([-128, 127, None], pa.int8()),
        ([0, 255], pa.uint8()),
        ([-(2**63), 2**63 - 1], pa.int64()),
        ([0, 2**64 - 1], pa.uint64()),
        ([1, 2], pa.float64()),
        ([1.5, None], pa.float64()),
        ([1.5, None], pa.float32()),
        ([True, None, False], pa.bool_()),
        (["a", None, "é"], pa.string()),
        (["a", None], pa.large_string()),
        ([b"a", None], pa.binary()),
        (["é", None], pa.binary()),
        (["a", None], pa.binary()),
        ([b"ab", None], pa.binary(2)),
        ([decimal.Decimal("1.50"), None, decimal.Decimal("-2")], pa.decimal128(5, 2)),
        ([1, None], pa.decimal128(5, 2)),
        ([dt.date(1969, 12, 31), None], pa.date32()),
        ([-1, None], pa.date32()),
        ([MOMENT, None], pa.timestamp("us")),
        ([MOMENT.replace(tzinfo=UTC), None], pa.timestamp("us", "UTC")),
        ([MOMENT.replace(tzinfo=dt.timezone(dt.timedelta(hours=2)))], pa.timestamp("us", "UTC")),
        ([MOMENT], pa.timestamp("ns")),
        ([-5, None], pa.timestamp("us", "UTC")),
        ([dt.time(1, 2, 3)], pa.time64("us")),
        ([[1], None], pa.list_(pa.int64())),
        ([1, 2.5], pa.float64()),
    ],
    ids=range(28),
)
def test_values_of_types(values: list[Any], kind: pa.DataType) -> None:
    found = array_of(values, kind)
    found.validate(full=True)
    assert found.type == kind and found.equals(pa.array(values, kind))


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([128], pa.int8()),
        ([-129], pa.int8()),
        ([256], pa.uint8()),
        ([-1], pa.uint8()),
        ([2**63], pa.int64()),
        (["x"], pa.int64()),
        ([1], pa.string()),
        ([b"abc"], pa.binary(2)),
        ([decimal.Decimal("1.555")], pa.decimal128(5, 2)),
        ([1.5], pa.decimal128(5, 2)),
        (["1.5"], pa.decimal128(5, 2)),
        ([decimal.Decimal("1.5")], pa.string()),
        ([b"a", 1], pa.binary()),
        ([2**31], pa.date32()),
    ],
    ids=range(14),
)
def test_values_of_other_types(values: list[Any], kind: pa.DataType) -> None:
    with pytest.raises((pa.ArrowInvalid, pa.ArrowTypeError, OverflowError)):
        array_of(values, kind)
