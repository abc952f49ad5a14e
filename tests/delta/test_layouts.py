"""What holds of an older layout of a Delta table in a newer one: bounds, and that its files can be read."""

from __future__ import annotations

from typing import Any

import pytest
from tableformats_delta.changes.layouts import Layout

import tableformats as tf
from tableformats.plugin import Field, ListType, MapType, PrimitiveType, Schema, StructType, Type

INT, LONG, TEXT = (PrimitiveType(name) for name in ("int", "long", "string"))


def layout(*fields: Field, mode: str = "none", partition: tuple[Field, ...] = ()) -> Layout:
    return Layout(mode, Schema(fields), partition)


def of(kind: Type, number: int = 1, name: str = "c", stored: str | None = None, **more: Any) -> Field:
    return Field(number, name, kind, physical_name=stored, **more)


def struct(*fields: Field) -> StructType:
    return StructType(fields)


def listed(kind: Type) -> ListType:
    return ListType(Field(8, "element", kind))


def mapped(key: Type, value: Type) -> MapType:
    return MapType(Field(8, "key", key), Field(9, "value", value))


@pytest.mark.parametrize(
    ("old", "new", "agrees"),
    [
        (of(INT), of(INT), True),
        (of(INT), of(LONG), False),
        (of(INT), of(INT, 2, "other", stored="c"), True),
        (of(INT), of(LONG, 2, "other"), True),
        (of(TEXT), of(TEXT, collation="ICU.de"), False),
        (of(TEXT, collation="ICU.de"), of(TEXT, collation="ICU.de"), True),
        (of(INT, metadata={"delta.generationExpression": "a"}), of(INT), False),
        (
            of(INT, metadata={"delta.generationExpression": "a"}),
            of(INT, metadata={"delta.generationExpression": "a", "x": 1}),
            True,
        ),
        (of(struct(of(INT, 2, "x"))), of(struct(of(INT, 2, "x"), of(TEXT, 3, "y"))), True),
        (of(struct(of(INT, 2, "x"))), of(struct(of(LONG, 2, "x"))), False),
        (of(struct(of(INT, 2, "x"))), of(listed(INT)), True),
        (of(listed(INT)), of(listed(LONG)), True),
        (of(listed(INT)), of(mapped(TEXT, INT)), True),
        (of(listed(INT)), of(INT), False),
        (of(INT), of(listed(INT)), False),
    ],
)
def test_whether_bounds_hold(old: Field, new: Field, agrees: bool) -> None:
    assert layout(old).agrees_with(layout(new)) is agrees
    assert layout(old, of(TEXT, 7, "d")).agrees_with(layout(of(TEXT, 7, "d"), new)) is agrees


def test_partition_columns_that_are_left() -> None:
    p, q = of(INT, 1, "p"), of(INT, 2, "q")
    newer = layout(of(LONG, 5, "renamed", stored="p"))
    assert [f.id for f in layout(p, q, partition=(q, p)).partition_columns_in(newer)] == [5]


@pytest.mark.parametrize(
    ("old", "new", "mode"),
    [
        (of(INT), of(INT), "none"),
        (of(INT), of(LONG), "none"),
        (of(PrimitiveType("unknown")), of(TEXT), "none"),
        (of(INT), of(INT, 1, "renamed"), "id"),
        (of(INT), of(INT, 2, "renamed", stored="c"), "name"),
        (of(struct(of(INT, 2, "x"))), of(struct(of(LONG, 2, "x"), of(INT, 3, "y"))), "none"),
        (of(listed(INT)), of(listed(LONG)), "none"),
        (of(mapped(INT, INT)), of(mapped(LONG, LONG)), "none"),
    ],
)
def test_files_that_can_be_read(old: Field, new: Field, mode: str) -> None:
    for own in ("none", mode):
        layout(old, mode=own).check_readable_by(layout(new, of(TEXT, 99, "added"), mode=mode), "/t")


@pytest.mark.parametrize(
    ("old", "new", "modes", "field", "said"),
    [
        (of(INT), of(INT), ("name", "none"), "delta.columnMapping.mode", "from name to none"),
        (of(INT), of(INT), ("id", "name"), "delta.columnMapping.mode", "from id to name"),
        (of(LONG), of(INT), ("none", "none"), "c", "from bigint to int"),
        (of(INT), of(TEXT), ("none", "none"), "c", "from int to string"),
        (of(INT), of(INT, 1, "d"), ("none", "none"), "c", "dropped or replaced"),
        (of(INT), of(INT, 2, "c"), ("id", "id"), "c", "dropped or replaced"),
        (of(struct(of(LONG, 2, "x"))), of(struct(of(INT, 2, "x"))), ("none", "none"), "c.x", "from bigint to int"),
        (of(struct(of(LONG, 2, "x"))), of(struct()), ("none", "none"), "c.x", "dropped or replaced"),
        (of(listed(LONG)), of(listed(INT)), ("none", "none"), "c.element", "from bigint to int"),
        (of(mapped(LONG, INT)), of(mapped(INT, INT)), ("none", "none"), "c.key", "from bigint to int"),
        (of(mapped(INT, LONG)), of(mapped(INT, INT)), ("none", "none"), "c.value", "from bigint to int"),
        (of(listed(INT)), of(INT), ("none", "none"), "c", "changed from"),
        (of(struct(of(INT, 2, "x"))), of(listed(INT)), ("none", "none"), "c", "changed from"),
    ],
)
def test_files_that_cannot_be_read(old: Field, new: Field, modes: tuple[str, str], field: str, said: str) -> None:
    with pytest.raises(tf.UnsupportedFeatureError, match=said) as caught:
        layout(old, mode=modes[0]).check_readable_by(layout(new, of(TEXT, 99, "added"), mode=modes[1]), "/t")
    assert (caught.value.field, caught.value.path) == (field, "/t")
