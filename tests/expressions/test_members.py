"""Members of structs that are computed, such as the elements of a list."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tableformats.engines.arrow.filters import evaluate
from tableformats.errors import InvalidPredicateError
from tableformats.expressions.binding import bind
from tableformats.expressions.parse import parse_filter
from tableformats.schema import Schema

MEMBERS = pa.struct([("A", pa.int32()), ("s", pa.string()), ("in", pa.struct([("n", pa.int8())]))])
ITEMS = [
    [{"A": 1, "s": "x", "in": {"n": 5}}, {"A": 9, "s": "y", "in": None}],
    [{"A": 2, "s": None, "in": {"n": None}}],
    [None],
    [],
    None,
]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("items[0].A = 1", [True, False, None, None, None]),
        ("element_at(items, 1).a > 1", [False, True, None, None, None]),
        ("items[0].s IS NULL", [False, True, True, True, True]),
        ("upper(items[0].S) = 'X'", [True, None, None, None, None]),
        ("items[1].s = 'y'", [True, None, None, None, None]),
        ("items[0].in.n + 1 = 6", [True, None, None, None, None]),
    ],
)
def test_members_of_structs_that_are_computed(text: str, found: list[bool | None]) -> None:
    table = pa.table({"items": pa.array(ITEMS, pa.list_(MEMBERS))})
    bound = bind(parse_filter(text, False), Schema.from_arrow(table.schema), ansi=False)
    assert evaluate(bound, table.to_batches()[0]).to_pylist() == found


@pytest.mark.parametrize(
    ("text", "why"),
    [("items[0].b = 1", "there is no member 'b'"), ("items[0].A.c = 1", "takes no values of type int, string")],
)
def test_members_that_are_not_there(text: str, why: str) -> None:
    schema = Schema.from_arrow(pa.schema([("items", pa.list_(MEMBERS))]))
    with pytest.raises(InvalidPredicateError, match=why):
        bind(parse_filter(text), schema)
