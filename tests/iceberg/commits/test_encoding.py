"""The Avro encoder of columns, compared with fastavro value by value."""

from __future__ import annotations

import io
from typing import Any

import fastavro
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tableformats_iceberg.write.encode import avro_encoding as encoding
from tableformats_iceberg.write.encode.metrics import MetricsMode, cut_bounds

from tableformats.schema import Field, primitive

INT64 = st.integers(-(2**63), 2**63 - 1)


def decoded(kind: Any, values: pa.Array) -> list[Any]:
    """Each encoded value as fastavro reads it. Nothing may be left over."""
    found = []
    for value in values.to_pylist():
        stream = io.BytesIO(value)
        found.append(fastavro.schemaless_reader(stream, fastavro.parse_schema(kind), None))
        assert not stream.read()
    return found


@given(st.lists(INT64 | st.sampled_from([0, -1, 63, 64, -64, -65, 2**63 - 1, -(2**63)])))
def test_longs(values: list[int]) -> None:
    assert decoded("long", encoding.longs(np.array(values, np.int64))) == values
    assert [encoding.varint(value) for value in values] == encoding.longs(np.array(values, np.int64)).to_pylist()


@given(st.lists(st.none() | st.text()), st.integers(0, 3))
def test_texts(values: list[str | None], start: int) -> None:
    array = pa.array(values, pa.string()).slice(start)
    found = encoding.optional(encoding.lengthed(array))
    assert decoded(["null", "string"], found) == array.to_pylist()


@given(st.lists(st.none() | st.lists(INT64, max_size=4)), st.integers(0, 3))
def test_lists(values: list[list[int] | None], start: int) -> None:
    array = pa.array(values, pa.list_(pa.int64())).slice(start)
    found = encoding.optional(encoding.lists_of_longs(array))
    assert decoded(["null", {"type": "array", "items": "long"}], found) == array.to_pylist()


@given(st.lists(st.lists(st.none() | INT64, min_size=3, max_size=3)))
def test_maps(rows: list[list[int | None]]) -> None:
    keys = [1, 200, -7]
    valid = np.array([[v is not None for v in row] for row in rows], bool).reshape(-1, 3)
    values = np.array([[v or 0 for v in row] for row in rows], np.int64).reshape(-1, 3)
    pair = {
        "type": "record",
        "name": "p",
        "fields": [{"name": "key", "type": "int"}, {"name": "value", "type": "long"}],
    }
    found = decoded(
        ["null", {"type": "array", "items": pair}], encoding.optional(encoding.long_map(keys, values, valid))
    )
    expected = [{k: v for k, v in zip(keys, row, strict=True) if v is not None} for row in rows]
    assert [{p["key"]: p["value"] for p in row or []} for row in found] == expected


@given(st.lists(st.text(), min_size=1), st.integers(1, 4), st.booleans())
def test_cut_bounds_hold(values: list[str], length: int, as_bytes: bool) -> None:
    """A cut lower bound is no greater than its value and a cut upper bound no less; both have the length at most."""
    kind = primitive("binary" if as_bytes else "string")
    column, mode = Field(1, "c", kind), MetricsMode(length=length)
    data: list[Any] = [v.encode() for v in values] if as_bytes else values
    array = pa.array(data, pa.binary() if as_bytes else pa.string())
    lower, upper = (cut_bounds(array, column, mode, is_lower=side) for side in (True, False))
    assert lower is not None and upper is not None
    for value, low, high in zip(data, lower.to_pylist(), upper.to_pylist(), strict=True):
        plain = value if as_bytes else value.encode()
        assert low <= plain and (high is None or plain <= high)
        for bound in (low, high):
            size = None if bound is None else len(bound if as_bytes else bound.decode())
            assert size is None or size <= length
        assert high is not None or len(value) > length


@pytest.mark.parametrize(
    ("text", "upper"),
    [
        ("abcd", "abd"),
        ("ab\U0010ffff!", "ac"),
        ("\U0010ffff" * 4, None),
        ("ab\ud7ff!", "ab\ue000"),
        ("ab\x7f!", "ab\x80"),
        ("abc", "abc"),
    ],
)
def test_upper_bounds_of_texts(text: str, upper: str | None) -> None:
    found = cut_bounds(pa.array([text]), Field(1, "c", primitive("string")), MetricsMode(length=3), is_lower=False)
    assert found is not None and found.to_pylist() == [None if upper is None else upper.encode()]


@pytest.mark.parametrize(("value", "lower", "upper"), [(0.0, "-0.0", "0.0"), (-0.0, "-0.0", "0.0")])
def test_bounds_of_zero_hold_for_both_zeros(value: float, lower: str, upper: str) -> None:
    column, array = Field(1, "c", primitive("double")), pa.array([value, float("nan"), None])
    for side, expected in ((True, lower), (False, upper)):
        found = cut_bounds(array, column, MetricsMode(), is_lower=side)
        assert found is not None
        assert str(np.frombuffer(found[0].as_py(), "<f8")[0]) == expected
        assert found.to_pylist()[1:] == [None, None]
