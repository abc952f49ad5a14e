"""PyIceberg's expressions mean what the same SQL means."""

from __future__ import annotations

import datetime as dt
import uuid
from decimal import Decimal
from typing import Any

import pytest

import tableformats as tf
from tableformats.expressions.binding import bind
from tableformats.expressions.parse import parse_filter
from tableformats.schema import DecimalType, Field, Schema, StructType, primitive

e = pytest.importorskip("pyiceberg.expressions")

SCHEMA = Schema(
    (
        Field(1, "i", primitive("long")),
        Field(2, "s", primitive("string")),
        Field(3, "f", primitive("double")),
        Field(4, "d", primitive("date")),
        Field(5, "ts", primitive("timestamp")),
        Field(6, "ntz", primitive("timestamp_ntz")),
        Field(7, "n", DecimalType(9, 2)),
        Field(8, "u", primitive("uuid")),
        Field(9, "o", primitive("boolean")),
        Field(10, "p", StructType((Field(11, "q", primitive("int")),))),
    )
)
WHEN = dt.datetime(2024, 1, 2, 3, 4, 5, 6)


@pytest.mark.parametrize(
    ("filter", "sql"),
    [
        (e.EqualTo("i", 1), "i = 1"),
        (e.NotEqualTo("i", 1), "i != 1"),
        (e.LessThan("f", 1.5) | e.GreaterThanOrEqual("f", 9.0), "f < 1.5 OR f >= 9"),
        (~e.In("i", [1, 2]), "i NOT IN (1, 2)"),
        (e.And(e.IsNull("s"), e.NotNaN("f")), "s IS NULL AND NOT isnan(f)"),
        (e.Not(e.And(e.StartsWith("s", "ab"), e.NotNull("i"))), "NOT (s LIKE 'ab%' AND i IS NOT NULL)"),
        (e.NotStartsWith("s", "ab"), "s NOT LIKE 'ab%'"),
        (e.GreaterThan("d", dt.date(2024, 1, 2)), "d > DATE '2024-01-02'"),
        (e.LessThanOrEqual("ts", WHEN), "ts <= TIMESTAMP '2024-01-02 03:04:05.000006Z'"),
        (e.LessThanOrEqual("ntz", WHEN), "ntz <= TIMESTAMP_NTZ '2024-01-02 03:04:05.000006'"),
        (e.EqualTo("n", Decimal("1.50")), "n = 1.50"),
        (e.EqualTo("o", True), "o = true"),
        (e.EqualTo("p.q", 3), "p.q = 3"),
        (e.AlwaysTrue(), "true"),
        (e.AlwaysFalse(), "false"),
    ],
)
def test_the_same_predicate(filter: Any, sql: str) -> None:
    ours, theirs = parse_filter(sql), parse_filter(filter)
    assert ours is not None and theirs is not None
    assert bind(theirs, SCHEMA) == bind(ours, SCHEMA)


def test_uuids() -> None:
    parsed = parse_filter(e.EqualTo("u", uuid.UUID(int=7)))
    assert parsed is not None
    assert bind(parsed, SCHEMA).right.value == uuid.UUID(int=7).bytes  # type: ignore[attr-defined]


def test_what_is_no_predicate_is_a_typed_error() -> None:
    with pytest.raises(tf.InvalidPredicateError):
        parse_filter(e.Reference("i"))
    with pytest.raises(tf.InvalidPredicateError, match="nope"):
        bind(parse_filter(e.EqualTo("nope", 1)), SCHEMA)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("filter", "theirs", "ours"),
    [  # over the rows NULL, NaN, 0.0 and 1.0
        (e.GreaterThan("f", 0.5), [False, False, False, True], [None, True, False, True]),
        (e.GreaterThanOrEqual("f", 0.5), [False, False, False, True], [None, True, False, True]),
        (e.Not(e.LessThan("f", 0.5)), [True, True, False, True], [None, True, False, True]),
        (e.NotEqualTo("f", 1.0), [True, True, True, False], [None, True, True, False]),
        (e.NotIn("f", [1.0, 2.0]), [True, True, True, False], [None, True, True, False]),
        (e.LessThan("f", 0.5), [False, False, True, False], [None, False, True, False]),
        (e.In("f", [1.0, 2.0]), [False, False, False, True], [None, False, False, True]),
        (e.NotNaN("f"), [True, False, True, True], [True, False, True, True]),
    ],
)
def test_where_pyicebergs_own_evaluator_answers_otherwise(filter: Any, theirs: list[bool], ours: list[Any]) -> None:
    """docs/correctness.md lists the differences; each one is here."""
    import pyarrow as pa
    from pyiceberg.expressions.visitors import expression_evaluator
    from pyiceberg.schema import Schema as IcebergSchema
    from pyiceberg.typedef import Record
    from pyiceberg.types import DoubleType, NestedField

    from tableformats.engines.arrow.filters import evaluate

    rows = [None, float("nan"), 0.0, 1.0]
    judged = expression_evaluator(IcebergSchema(NestedField(3, "f", DoubleType())), filter, True)
    assert [bool(judged(Record(row))) for row in rows] == theirs
    batch = pa.record_batch({"f": pa.array(rows, pa.float64())})
    bound = bind(parse_filter(filter), Schema.from_arrow(batch.schema))  # type: ignore[arg-type]
    assert evaluate(bound, batch).to_pylist() == ours
