"""Filters that are expressions of pyarrow: the rows are those that Arrow keeps, or the filter is refused by name."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tableformats.engines.arrow.filters import keep_matching
from tableformats.errors import InvalidPredicateError, UnsupportedFeatureError
from tableformats.expressions import And, Comparison, Constant, Literal, Not, Reference
from tableformats.expressions.binding import bind
from tableformats.expressions.parse import parse_filter
from tableformats.schema import DecimalType, Field, Schema, StructType, primitive

SCHEMA = Schema(
    (
        Field(1, "n", primitive("long")),
        Field(2, "x", primitive("double")),
        Field(3, "s", primitive("string")),
        Field(4, "d", primitive("date")),
        Field(5, "t", primitive("timestamp")),
        Field(6, "b", primitive("boolean")),
        Field(7, "p", DecimalType(9, 2)),
        Field(8, "st", StructType((Field(9, "a.b", primitive("long")),))),
    )
)
UTC = dt.timezone.utc
VALUES: dict[str, list[Any]] = {
    "n": [None, 0, 1, -5, 2**62],
    "x": [None, 0.0, -0.0, 1.5, math.inf, -math.inf, math.nan],
    "s": [None, "", "a", "ab", "é'\\", "b"],
    "d": [None, dt.date(2020, 1, 1), dt.date(1969, 12, 31)],
    "t": [None, dt.datetime(2020, 1, 1, tzinfo=UTC), dt.datetime(2020, 1, 1, 0, 0, 0, 1, tzinfo=UTC)],
    "b": [None, True, False],
    "p": [None, Decimal("1.20"), Decimal("-3.00")],
}
ROWS = pa.Table.from_pylist(
    [{name: values[i % len(values)] for name, values in VALUES.items()} | {"st": {"a.b": i % 3}} for i in range(60)],
    schema=SCHEMA.to_arrow(),
).combine_chunks()
[BATCH] = ROWS.to_batches()


def leaves() -> st.SearchStrategy[pc.Expression]:
    def of(name: str) -> st.SearchStrategy[pc.Expression]:
        field = pc.field(name)
        known = [v for v in VALUES[name] if v is not None and not (isinstance(v, float) and math.isnan(v))]
        value = st.sampled_from(known)
        comparison = st.sampled_from(["__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__"])
        tests = [st.builds(lambda op, v: getattr(field, op)(v), comparison, value)] if name != "b" else [st.just(field)]
        tests += [
            st.builds(lambda op, v: getattr(pc.scalar(v), op)(field), comparison, value)
            if name != "b"
            else st.just(field),
            st.booleans().map(lambda nan: field.is_null(nan_is_null=nan and name == "x")),
            st.just(field.is_valid()),
            st.builds(
                lambda values, skip: pc.is_in(field, pa.array(values, ROWS.schema.field(name).type), skip_nulls=skip),
                st.lists(st.sampled_from([None, *(v for v in known if name != "x" or v)])),  # Spark's -0.0 is 0.0
                st.booleans(),
            ),
        ]
        if name == "x":
            tests.append(st.just(pc.is_nan(field)))
        if name == "s":
            tests.append(st.sampled_from(["", "a", "é"]).map(lambda prefix: pc.starts_with(field, prefix)))
        return st.one_of(tests)

    return st.one_of([of(name) for name in VALUES])


def expressions() -> st.SearchStrategy[pc.Expression]:
    return st.recursive(
        leaves(),
        lambda below: st.one_of(
            st.builds(lambda a, b: a & b, below, below),
            st.builds(lambda a, b: a | b, below, below),
            below.map(lambda a: ~a),
        ),
        max_leaves=5,
    )


@given(expressions())
def test_the_rows_are_those_that_arrow_keeps(expression: pc.Expression) -> None:
    parsed = parse_filter(expression)
    assert parsed is not None
    assert repr(keep_matching(bind(parsed, SCHEMA), BATCH).to_pylist()) == repr(ROWS.filter(expression).to_pylist())


def test_is_in_knows_one_zero() -> None:
    parsed = parse_filter(pc.is_in(pc.field("x"), pa.array([0.0])))
    assert parsed is not None
    assert {str(row["x"]) for row in keep_matching(bind(parsed, SCHEMA), BATCH).to_pylist()} == {"0.0", "-0.0"}


def test_members_of_structs() -> None:
    expression = pc.field("st", "a.b") == 2
    parsed = parse_filter(expression)
    assert parsed is not None
    assert keep_matching(bind(parsed, SCHEMA), BATCH).num_rows == ROWS.filter(expression).num_rows == 20


@pytest.mark.parametrize(
    ("expression", "named"),
    [
        (pc.field("n") + 1 > 2, "add"),
        (pc.field("x") > math.nan, "NaN"),
        (pc.field("n") > pc.field("x"), "two columns"),
        (pc.field("n").cast(pa.int32()) == 1, "cast"),
        (pc.match_substring(pc.field("s"), "a"), "match_substring"),
        (pc.starts_with(pc.field("s"), "A", ignore_case=True), "starts_with"),
        (pc.field(0) == 1, "FieldPath"),
    ],
    ids=str,
)
def test_what_has_no_counterpart_is_refused_by_name(expression: pc.Expression, named: str) -> None:
    with pytest.raises(UnsupportedFeatureError, match=named):
        parse_filter(expression)


@pytest.mark.parametrize("given", [pa.array([1]), pa.scalar(True), pc.scalar(1)], ids=str)
def test_what_is_no_condition(given: Any) -> None:
    with pytest.raises(InvalidPredicateError):
        parse_filter(given)


def test_another_form_of_serialised_expressions_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from tableformats.expressions.parse import arrow

    monkeypatch.setattr(arrow, "_metadata_pairs", lambda schema: [("tree", "a")])
    with pytest.raises(UnsupportedFeatureError, match="unknown part"):
        parse_filter(pc.field("n") > 1)


@pytest.mark.parametrize("value", [True, False, None])
def test_constants_are_conditions(value: bool | None) -> None:
    parsed = parse_filter(pc.scalar(pa.scalar(value, pa.bool_())))
    assert parsed == Constant(value)
    assert parse_filter(~pc.scalar(pa.scalar(value, pa.bool_()))) in (Not(Constant(value)), Constant(value))


@pytest.mark.parametrize("value", [1, 0, 1.5, "a"])
def test_other_constants_are_no_conditions(value: Any) -> None:
    with pytest.raises(InvalidPredicateError, match="is no condition"):
        parse_filter(pc.scalar(value))


@pytest.mark.parametrize("name", ["x", "n"])
@pytest.mark.parametrize("value", [1, 1.5, Decimal("1.5")])
def test_nan_is_greater_than_no_number_for_arrow(name: str, value: Any) -> None:
    column = Reference((name,))
    for op, turned in ((">", "<"), (">=", "<=")):
        guarded = And((Comparison(op, column, Literal(value)), Comparison("<", column, Literal(math.nan))))
        field, constant = pc.field(name), pc.scalar(value)
        given = [field > value, constant < field] if op == ">" else [field >= value, constant <= field]
        assert [repr(parse_filter(one)) for one in given] == [repr(guarded)] * 2
        less = [field < value, constant > field] if turned == "<" else [field <= value, constant >= field]
        assert [parse_filter(one) for one in less] == [Comparison(turned, column, Literal(value))] * 2


def test_what_has_no_nan() -> None:
    assert parse_filter(pc.field("b") > False) == Comparison(">", Reference(("b",)), Literal(False))
    assert parse_filter(pc.field("s") >= "a") == Comparison(">=", Reference(("s",)), Literal("a"))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (pc.field("n") + 1 > pc.field("x"), "add"),
        (pc.field("x") > pc.field("n") + 1, "a comparison of two columns"),
        (pc.field("x") > pc.field("n"), "a comparison of two columns"),
        (pc.scalar(1) < pc.field("n") + 1, "a condition without a column"),
        (pc.scalar(1) < pc.scalar(2), "a condition without a column"),
        (pc.field("x") == math.nan, "a comparison with NaN"),
    ],
)
def test_comparisons_that_are_not_read(given: pc.Expression, said: str) -> None:
    with pytest.raises(UnsupportedFeatureError, match=f"filters of pyarrow with {said}"):
        parse_filter(given)
