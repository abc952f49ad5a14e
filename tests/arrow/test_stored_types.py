"""Types in which files store columns: which are read as which, layouts that Arrow cannot take, and values that fit."""

from __future__ import annotations

import datetime as dt
import uuid
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from tableformats.engines.arrow.values.casts import can_read, cast_values, storage_of, without_views
from tableformats.schema import DecimalType, FixedType, ListType, Type, arrow_type, primitive
from tableformats.schema import Field as TableField


def kind_of(kind: str | Type) -> Type:
    return primitive(kind) if isinstance(kind, str) else kind


def test_types_below_dictionaries_and_extensions() -> None:
    codes = pa.dictionary(pa.int8(), pa.string())
    assert storage_of(codes) == pa.string() and storage_of(pa.int8()) == pa.int8()
    assert storage_of(pa.uuid()) == pa.binary(16)
    assert storage_of(pa.dictionary(pa.int8(), pa.dictionary(pa.int8(), pa.int64()))) == pa.int64()


TEXTS = [pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(), pa.binary_view()]
INTEGERS = [pa.int8(), pa.int16(), pa.int32(), pa.uint8(), pa.uint16(), pa.uint32()]
LONGS = [pa.int64(), pa.uint64()]
STAMPS = [pa.timestamp("us"), pa.timestamp("ns", "UTC"), pa.timestamp("ms")]
READ: list[tuple[str | Type, list[pa.DataType], list[pa.DataType]]] = [
    ("boolean", [pa.bool_()], [pa.int8(), pa.string()]),
    ("int", [*INTEGERS, *LONGS], [pa.string(), pa.float64(), pa.bool_()]),
    ("float", [pa.float16(), pa.float32()], [pa.float64(), pa.int8()]),
    ("double", [pa.float16(), pa.float32(), pa.float64(), *INTEGERS], [*LONGS, pa.string(), pa.bool_()]),
    ("string", TEXTS, [pa.int32(), pa.bool_(), pa.date32(), pa.binary(4)]),
    ("binary", [*TEXTS, pa.binary(4)], [pa.int32(), pa.bool_()]),
    ("uuid", [*TEXTS, pa.binary(16), pa.uuid()], [pa.int32()]),
    ("date", [pa.date32(), pa.date64()], [pa.string(), pa.timestamp("us")]),
    ("time", [pa.time32("ms"), pa.time64("ns")], [pa.int64(), pa.timestamp("us")]),
    ("timestamp", STAMPS, [pa.date32(), pa.int64()]),
    ("timestamp_ntz", [*STAMPS, pa.date32()], [pa.string(), pa.int64()]),
    (DecimalType(9, 2), [pa.decimal128(5, 2), pa.decimal256(50, 1), *INTEGERS, *LONGS], [pa.float64(), pa.string()]),
    (FixedType(4), [*TEXTS, pa.binary(4), pa.binary(5)], [pa.int32()]),
    (ListType(TableField(0, "element", primitive("int"))), [], [pa.list_(pa.int32()), pa.int32()]),
]


@pytest.mark.parametrize(("kind", "read", "refused"), READ, ids=[str(kind) for kind, _, _ in READ])
def test_what_is_read_as_what(kind: str | Type, read: list[pa.DataType], refused: list[pa.DataType]) -> None:
    for stored in read:
        assert can_read(stored, kind_of(kind)), stored
        assert can_read(pa.dictionary(pa.int32(), storage_of(stored)), kind_of(kind)), stored
    assert not any(can_read(stored, kind_of(kind)) for stored in refused)
    assert can_read(pa.null(), kind_of(kind))


MOMENT = dt.datetime(2024, 2, 29, 12)
ID = uuid.UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7")
CAST: list[tuple[pa.Array, str | Type, list[Any]]] = [
    (pa.array([1, None], pa.int8()), "long", [1, None]),
    (pa.array(["a", None, "a"]).dictionary_encode(), "string", ["a", None, "a"]),
    (pa.array(["a", None], pa.large_string()), "string", ["a", None]),
    (pa.array(["a"], pa.string_view()), "binary", [b"a"]),
    (pa.nulls(2), "double", [None, None]),
    (pa.array([7, -(2**63)], pa.int64()), DecimalType(22, 2), [Decimal("7.00"), Decimal(f"{-(2**63)}.00")]),
    (pa.array([7], pa.int64()), DecimalType(3, 2), [Decimal("7.00")]),
    (pa.array([2**64 - 1], pa.uint64()), DecimalType(20, 0), [Decimal(2**64 - 1)]),
    (pa.array([Decimal("1.25")], pa.decimal128(5, 2)), DecimalType(9, 3), [Decimal("1.250")]),
    (pa.array([b"abcd", None], pa.binary()), FixedType(4), [b"abcd", None]),
    *((pa.array(["abcd", None], kind), FixedType(4), [b"abcd", None]) for kind in (pa.string(), pa.large_string())),
    (pa.array([b"abcd"], pa.binary_view()), FixedType(4), [b"abcd"]),
    (pa.array([b"abcd"], pa.large_binary()), FixedType(4), [b"abcd"]),
    (pa.array([b"abcd"], pa.binary(4)), FixedType(4), [b"abcd"]),
    (pa.array([ID.bytes], pa.uuid()), "uuid", [ID.bytes]),
    (pa.array([MOMENT], pa.timestamp("ms")), "timestamp_ntz", [MOMENT]),
    (pa.array([MOMENT], pa.timestamp("ns")), "timestamp", [MOMENT.replace(tzinfo=dt.timezone.utc)]),
]


@pytest.mark.parametrize(("values", "kind", "found"), CAST, ids=[f"{values.type} {kind}" for values, kind, _ in CAST])
def test_values_in_the_type_of_the_column(values: pa.Array, kind: str | Type, found: list[Any]) -> None:
    cast = cast_values(values, kind_of(kind))
    assert cast.type == arrow_type(kind_of(kind)) and cast.to_pylist() == found


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (pa.array([2**31], pa.int64()), "int"),
        (pa.array([1000], pa.int64()), DecimalType(4, 2)),
        (pa.array([b"abc"], pa.binary()), FixedType(4)),
        (pa.array([b"\xff"], pa.binary()), "string"),
    ],
)
def test_values_that_do_not_fit(values: pa.Array, kind: str | Type) -> None:
    with pytest.raises(pa.ArrowInvalid):
        cast_values(values, kind_of(kind))


def test_views_become_ordinary_layouts() -> None:
    view = pa.struct([pa.field("m", pa.string_view(), nullable=False), ("i", pa.int32())])
    rows = pa.array(
        [{"s": "a", "b": b"x", "n": {"m": "y", "i": 1}, "i": 7}],
        pa.struct([("s", pa.string_view()), ("b", pa.binary_view()), ("n", view), ("i", pa.int32())]),
    )
    found = without_views(rows)
    plain = pa.struct([pa.field("m", pa.string(), nullable=False), ("i", pa.int32())])
    assert found.type == pa.struct([("s", pa.string()), ("b", pa.binary()), ("n", plain), ("i", pa.int32())])
    assert found.to_pylist() == rows.to_pylist()
    assert without_views(found) is found
    for kind, wanted, value in (
        (pa.list_(pa.string_view()), pa.list_(pa.string()), ["a"]),
        (pa.large_list(pa.binary_view()), pa.large_list(pa.binary()), [b"a"]),
        (pa.map_(pa.string_view(), pa.binary_view()), pa.map_(pa.string(), pa.binary()), [("k", b"v")]),
    ):
        nested = pa.StructArray.from_arrays([pa.array([value], kind)], ["x"])
        assert without_views(nested).type == pa.struct([("x", wanted)])
        assert without_views(nested).to_pylist() == [{"x": value}]
