"""Conditions that CASE, IF, COALESCE and their kind choose: every row of three truth values, as Python chooses."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import product

import pyarrow as pa
import pytest

from tableformats.errors import InvalidPredicateError
from tableformats.expressions import tree as ex
from tableformats.expressions.binding import bind
from tableformats.expressions.evaluation import evaluate
from tableformats.expressions.parse import parse_filter
from tableformats.schema import Schema

Truth = bool | None
ROWS = list(product((True, False, None), repeat=3))
BATCH = pa.record_batch([pa.array(column) for column in zip(*ROWS, strict=True)], ["a", "b", "c"])
SCHEMA = Schema.from_arrow(pa.schema([*BATCH.schema, pa.field("i", pa.int32())]))
NOW = 1_700_000_123_456_789


def bound(text: str) -> ex.Expression:
    return bind(parse_filter(text), SCHEMA, now=NOW)


def either(a: Truth, b: Truth) -> Truth:
    return True if a or b else None if a is None or b is None else False


def both(a: Truth, b: Truth) -> Truth:
    return False if a is False or b is False else None if a is None or b is None else True


CHOICES: dict[str, Callable[[Truth, Truth, Truth], Truth]] = {
    "a": lambda a, b, c: a,
    "NOT a": lambda a, b, c: None if a is None else not a,
    "CASE WHEN a THEN b ELSE c END": lambda a, b, c: b if a else c,
    "CASE WHEN a THEN b END": lambda a, b, c: b if a else None,
    "CASE WHEN a THEN b WHEN b THEN c ELSE a END": lambda a, b, c: b if a else c if b else a,
    "CASE WHEN a THEN true WHEN b THEN NULL WHEN c THEN false ELSE true END": (
        lambda a, b, c: True if a else None if b else not c
    ),
    "CASE a WHEN b THEN c ELSE true END": lambda a, b, c: c if a is not None and a is b else True,
    "IF(a, b, c)": lambda a, b, c: b if a else c,
    "IF(a, NULL, c)": lambda a, b, c: None if a else c,
    "coalesce(a, b, c)": lambda a, b, c: a if a is not None else b if b is not None else c,
    "coalesce(a, false)": lambda a, b, c: bool(a),
    "coalesce(a, NULL, b AND c)": lambda a, b, c: a if a is not None else both(b, c),
    "nullif(a, b)": lambda a, b, c: None if a is b else a,
    "nvl2(a, b, c)": lambda a, b, c: b if a is not None else c,
    "a <=> b": lambda a, b, c: a is b,
    "a = b OR c": lambda a, b, c: either(None if a is None or b is None else a is b, c),
    "a IN (b, c)": lambda a, b, c: either(
        None if a is None or b is None else a is b, None if a is None or c is None else a is c
    ),
    "a IS TRUE OR b IS NOT FALSE": lambda a, b, c: a is True or b is not False,
    "coalesce(IF(a, b, c), IF(c, a, b))": (
        lambda a, b, c: (b if a else c) if (b if a else c) is not None else (a if c else b)
    ),
}


@pytest.mark.parametrize("text", CHOICES)
def test_every_row_of_truth_values(text: str) -> None:
    expected = [CHOICES[text](*row) for row in ROWS]
    turned = [None if one is None else not one for one in expected]

    def found(condition: ex.Expression) -> list[Truth]:
        answer: list[Truth] = evaluate(condition, lambda c: BATCH.column(c.field.name), len(ROWS)).to_pylist()
        return answer

    computed = re.sub(r"\b([abc])\b", r"(upper(CAST(\1 AS STRING)) = 'TRUE')", text)
    for condition in (text, computed):
        assert found(bound(condition)) == expected
        assert found(bound(f"NOT ({condition})")) == turned
        assert found(bound(f"({condition}) IS NULL")) == [one is None for one in expected]


@pytest.mark.parametrize("text", ["IF(a, b, c)", "coalesce(a, b, c)", "CASE WHEN a THEN b ELSE c END"])
def test_short_choices_are_conditions_that_prune(text: str) -> None:
    assert not any(isinstance(node, ex.Holds) for node in ex.walk(bound(text)))


def test_long_choices_stay_functions() -> None:
    """Written out, each part stands twice or more."""
    for parts, is_function in ((17, False), (18, True)):
        for name in ("coalesce", "case"):
            conditions = [f"i % 7 = {n}" for n in range(parts)]
            pairs = " ".join(f"WHEN {a} THEN {b}" for a, b in zip(conditions[::2], conditions[1::2], strict=False))
            case = f"CASE {pairs}{f' ELSE {conditions[-1]}' if parts % 2 else ''} END"
            found = bound(f"coalesce({', '.join(conditions)})" if name == "coalesce" else case)
            assert isinstance(found, ex.Holds) == is_function, name


@pytest.mark.parametrize(
    ("call", "value"),
    [
        ("current_date()", "DATE '2023-11-14'"),
        ("current_timestamp()", "TIMESTAMP '2023-11-14 22:15:23.456789Z'"),
        ("now()", "TIMESTAMP '2023-11-14 22:15:23.456789Z'"),
        ("localtimestamp()", "TIMESTAMP_NTZ '2023-11-14 22:15:23.456789'"),
        ("unix_timestamp()", "1700000123"),
        ("current_timezone()", "'UTC'"),
    ],
)
def test_the_time_of_the_query(call: str, value: str) -> None:
    assert bound(f"{call} = {value}") == ex.Constant(True)
    assert bound(f"{call} <> {value}") == ex.Constant(False)


@pytest.mark.parametrize("text", ["1", "'a'", "i", "i + 1", "IF(a, 1, 2)", "coalesce(i, 1)", "upper('a')"])
def test_what_is_no_condition(text: str) -> None:
    with pytest.raises(InvalidPredicateError):
        bound(f"coalesce({text})")


@pytest.mark.parametrize(
    ("text", "value"), [("NULL", None), ("true", True), ("false", False), ("nullif(true, true)", None)]
)
def test_constants(text: str, value: Truth) -> None:
    assert bound(f"coalesce({text})") == ex.Constant(value)
