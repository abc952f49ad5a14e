"""``schema="merge"``: which columns are new, and which types grow."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tableformats.engines.arrow.writing.schema_merge import merged_schema
from tableformats.schema import Schema

INTEGERS = [pa.int8(), pa.int16(), pa.int32(), pa.int64()]
FLOATS = [pa.float32(), pa.float64()]


def table(kind: pa.DataType) -> Schema:
    return Schema.from_arrow(pa.schema([("id", pa.int64()), pa.field("x", kind, nullable=False)]))


def grown(kind: pa.DataType, rows: pa.DataType, name: str = "X") -> pa.DataType | None:
    """What column ``x`` becomes; None: the schema stays."""
    found = merged_schema(table(kind), pa.schema([(name, rows)]))
    if found is None:
        return None
    assert found.names == ["id", "x"] and found.fields[1].required and found.fields[1].id == table(kind).fields[1].id
    return found.to_arrow().field("x").type


@pytest.mark.parametrize("ladder", [INTEGERS, FLOATS], ids=["integers", "floats"])
def test_numbers_grow_and_do_not_shrink(ladder: list[pa.DataType]) -> None:
    for at, kind in enumerate(ladder):
        for number, rows in enumerate(ladder):
            assert grown(kind, rows) == (rows if number > at else None), (kind, rows)


@pytest.mark.parametrize(
    ("kind", "rows", "becomes"),
    [
        ((5, 2), (5, 2), None),
        ((5, 2), (4, 1), None),
        ((5, 2), (6, 2), (6, 2)),
        ((5, 2), (5, 3), (6, 3)),
        ((5, 2), (6, 4), (7, 4)),
        ((30, 2), (38, 10), (38, 10)),
        ((30, 2), (38, 11), None),
    ],
)
def test_decimals_hold_the_digits_of_both(
    kind: tuple[int, int], rows: tuple[int, int], becomes: tuple[int, int] | None
) -> None:
    assert grown(pa.decimal128(*kind), pa.decimal128(*rows)) == (becomes and pa.decimal128(*becomes))


@pytest.mark.parametrize(
    ("kind", "rows"),
    [
        (pa.int32(), pa.float64()),
        (pa.float64(), pa.int64()),
        (pa.int32(), pa.null()),
        (pa.string(), pa.int64()),
        (pa.int32(), pa.decimal128(5, 0)),
        (pa.decimal128(5, 0), pa.int64()),
        (pa.list_(pa.int32()), pa.list_(pa.int64())),
    ],
)
def test_other_types_stay(kind: pa.DataType, rows: pa.DataType) -> None:
    assert grown(kind, rows) is None


def test_new_columns_come_last_and_are_nullable() -> None:
    member = pa.struct([pa.field("y", pa.int32(), nullable=False)])
    rows = pa.schema(
        [pa.field("new", pa.int32(), nullable=False), ("ID", pa.int32()), ("s", member), ("nil", pa.null())]
    )
    found = merged_schema(table(pa.int8()), rows)
    assert found is not None and found.names == ["id", "x", "new", "s"]
    assert [f.id for f in found.fields[2:]] == [0, 0] and not any(f.required for f in found.fields[2:])
    (inner,) = found.fields[3].type.members
    assert (inner.name, inner.id) == ("y", 0)
