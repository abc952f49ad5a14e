"""Packed columns: the arrays come back, in fewer bytes where they fit."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tableformats.columnar.packed import Packed, pack, unpack

KINDS = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]


@st.composite
def numbers(draw: st.DrawFn) -> pa.Array:
    """Of every width, near each other or as far apart as their type allows, some of them null, some of them slices."""
    kind = draw(st.sampled_from(KINDS))
    info = np.iinfo(str(kind))
    near = draw(st.integers(int(info.min), int(info.max)))
    far = min(near + draw(st.sampled_from([0, 1, 255, 256, 65_535, 65_536, 2**32 - 1, 2**32, 2**64])), int(info.max))
    values = draw(st.lists(st.none() | st.sampled_from([near, far]) | st.integers(near, far), max_size=20))
    return pa.array(values, kind)[draw(st.integers(0, 3)) :]


@given(numbers())
def test_numbers_come_back(values: pa.Array) -> None:
    held = pack(values)
    assert unpack(held).equals(values) and unpack(held).type == values.type
    unpack(held).validate(full=True)
    assert len(held) == len(values)
    if isinstance(held, Packed):
        assert held.nbytes <= values.nbytes + 9


@pytest.mark.parametrize("n", [1_024, 1_025, 3_000])
@pytest.mark.parametrize("some_null", [False, True])
@pytest.mark.parametrize(
    ("kind", "step", "width"),
    [
        (pa.int64(), 1 << 40, 1),
        (pa.int64(), 1 << 61, 1),
        (pa.uint64(), 1 << 62, 1),
        (pa.int32(), 1 << 16, 1),
        (pa.int64(), 1 << 16, 1),
        (pa.timestamp("us"), 1 << 50, 1),
    ],
    ids=str,
)
def test_numbers_that_are_near_their_neighbours(kind: Any, step: int, width: int, some_null: bool, n: int) -> None:
    """The runs are far from each other; a run may be null as a whole."""
    far = [(i // 1_024) * step - (0 if kind == pa.uint64() else 5) + i * i % 256 for i in range(n)]
    known = [None if some_null and (i % 3 == 0 or 1_024 <= i < 2_048) else number for i, number in enumerate(far)]
    values = pa.array(known, kind)
    held = pack(values)
    assert isinstance(held, Packed) and unpack(held).equals(values)
    unpack(held).validate(full=True)
    runs = (n + 1_023) // 1_024 if isinstance(held.deltas, np.ndarray) and len(held.bases) > 1 else 1
    assert held.nbytes == n * width + runs * kind.bit_width // 8 + ((n + 7) // 8 if values.null_count else 0)


@given(st.lists(st.tuples(st.none() | st.integers(-3, 3), st.none() | st.text(max_size=3)), max_size=9))
def test_structs_come_back(rows: list[tuple[Any, Any]]) -> None:
    members = [pa.array([row[0] for row in rows], pa.int32()), pa.array([row[1] for row in rows], pa.string())]
    values = pa.StructArray.from_arrays(members, names=["1000", "1001"])
    alone = pa.StructArray.from_arrays(members[:1], names=["1000"])
    for found in (values, alone):
        assert unpack(pack(found)).equals(found) and len(pack(found)) == len(rows)


def some(kind: pa.DataType) -> pa.Array:
    whole = pa.int32() if kind.bit_width == 32 else pa.int64()
    return pa.array([7, 9, None, 8] * 50, whole).view(kind)


@pytest.mark.parametrize(
    "kind",
    [
        pa.date32(),
        pa.time64("us"),
        pa.timestamp("us"),
        pa.timestamp("ns", "UTC"),
        pa.int32(),
        pa.int64(),
    ],
    ids=str,
)
def test_whole_numbers_take_a_byte(kind: pa.DataType) -> None:
    values = some(kind)
    held = pack(values)
    assert unpack(held).equals(values) and held.nbytes == 200 + 25 + kind.bit_width // 8
    constant = pack(values.take(pa.array([0] * 200)))
    assert constant.nbytes == kind.bit_width // 8 and unpack(constant).equals(values.take(pa.array([0] * 200)))


@pytest.mark.parametrize(
    "values",
    [
        pa.array(["a", None]),
        pa.array([1.5, 2.5]),
        pa.array([True, None]),
        pa.nulls(3, pa.int64()),
        pa.nulls(2),
        pa.array([], pa.int64()),
        pa.array([None, {"a": 1}], pa.struct([("a", pa.int64())])),
        pa.array([{}], pa.struct([])),
        pa.array([dt.date(1970, 1, 1)], pa.date64()).take(pa.array([0, 0])).cast(pa.string()),
    ],
    ids=lambda values: str(values.type),
)
def test_others_stay_arrays(values: pa.Array) -> None:
    assert pack(values) is values


def test_frames_that_are_far_apart_have_their_own_bases() -> None:
    """The numbers of each frame fit into a byte, those of both do not, though their sum does."""
    numbers = np.repeat([-1000, 1000], 2048) + np.arange(4096) % 7
    held = pack(pa.array(numbers))
    assert isinstance(held, Packed) and held.nbytes < 5000
    assert unpack(held).equals(pa.array(numbers))
