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


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("concat(1 = 1, 'x') = 'truex'", True),
        ("concat(1 = 1, 'x') IS NULL", False),
        ("concat(1 = 2, 'x') = 'falsex'", True),
        ("concat(1 = NULL, 'x') IS NULL", True),
    ],
)
def test_a_truth_value_of_constants_becomes_a_text(text: str, answer: Truth) -> None:
    assert evaluate(bound(text), lambda c: BATCH.column(c.field.name), 1).to_pylist() == [answer]


@pytest.mark.parametrize("text", ["IF(a, b, c)", "coalesce(a, b, c)", "CASE WHEN a THEN b ELSE c END", "nullif(a, b)"])
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


Number = int | None
NUMBERS = list(product((1, 2, None), (1, 3, None)))


def less(a: Number, b: Number) -> Truth:
    return None if a is None or b is None else a < b


def equal(a: Number, b: Number) -> Truth:
    return None if a is None or b is None else a == b


def opposite(one: Truth) -> Truth:
    return None if one is None else not one


def letter(i: Number, j: Number) -> str | None:
    """``CASE WHEN i > 1 THEN 'b' WHEN j = 1 THEN NULL ELSE 'a' END``"""
    return "b" if i is not None and i > 1 else None if j == 1 else "a"


LETTER = "CASE WHEN i > 1 THEN 'b' WHEN j = 1 THEN NULL ELSE 'a' END"
CONDITIONS: dict[str, Callable[[Number, Number], Truth]] = {
    f"{LETTER} = 'a'": lambda i, j: None if letter(i, j) is None else letter(i, j) == "a",
    f"{LETTER} <> 'a'": lambda i, j: None if letter(i, j) is None else letter(i, j) != "a",
    f"'a' < {LETTER}": lambda i, j: None if letter(i, j) is None else letter(i, j) == "b",
    f"{LETTER} <= 'a'": lambda i, j: None if letter(i, j) is None else letter(i, j) == "a",
    f"{LETTER} <=> 'a'": lambda i, j: letter(i, j) == "a",
    f"{LETTER} <=> NULL": lambda i, j: letter(i, j) is None,
    f"{LETTER} = NULL": lambda i, j: None,
    f"{LETTER} IS NULL": lambda i, j: letter(i, j) is None,
    f"{LETTER} IN ('b', 'c')": lambda i, j: None if letter(i, j) is None else letter(i, j) == "b",
    f"{LETTER} NOT IN ('b', NULL)": lambda i, j: False if letter(i, j) == "b" else None,
    "CASE WHEN i > 1 THEN 5 ELSE 7 END BETWEEN 6 AND 8": lambda i, j: not (i is not None and i > 1),
    "CASE WHEN i > 1 THEN 5 ELSE 7 END > 5.5D": lambda i, j: not (i is not None and i > 1),
    "(i = 1) = true": lambda i, j: equal(i, 1),
    "(i = 1) = false": lambda i, j: opposite(equal(i, 1)),
    "(i = 1) <> true": lambda i, j: opposite(equal(i, 1)),
    "(i = 1) <> false": lambda i, j: equal(i, 1),
    "true = (i = 1)": lambda i, j: equal(i, 1),
    "(i = 1) <=> true": lambda i, j: equal(i, 1) is True,
    "(i = 1) <=> false": lambda i, j: equal(i, 1) is False,
    "(i = 1) <=> NULL": lambda i, j: i is None,
    "(i = 1) = NULL": lambda i, j: None,
    "(i = 1) < (j = 1)": lambda i, j: None if i is None or j is None else (i == 1) < (j == 1),
    "(i = 1) IS TRUE": lambda i, j: i == 1,
    "(i = 1) IS NOT TRUE": lambda i, j: i != 1,
    "(i = 1) IS FALSE": lambda i, j: i == 2,
    "(i = 1) IS NOT FALSE": lambda i, j: i != 2,
    "(i = 1) IS UNKNOWN": lambda i, j: i is None,
    "i BETWEEN j AND 3": lambda i, j: both(opposite(less(i, j)), None if i is None else i <= 3),
    "i NOT BETWEEN 2 AND j": lambda i, j: opposite(both(None if i is None else i >= 2, opposite(less(j, i)))),
    "i IN (2, j)": lambda i, j: either(equal(i, 2), equal(i, j)),
    "i NOT IN (2, j)": lambda i, j: opposite(either(equal(i, 2), equal(i, j))),
    "i IN (NULL)": lambda i, j: None,
    "1 IN (i, j)": lambda i, j: either(equal(i, 1), equal(j, 1)),
    "(i, j) = (1, 3)": lambda i, j: (i, j) == (1, 3),  # tuples are never NULL
    "(i, j) IN ((1, 1), (2, NULL))": lambda i, j: (i, j) in ((1, 1), (2, None)),
    "(i, j) NOT IN ((1, 1))": lambda i, j: (i, j) != (1, 1),
    "(i, j) <=> (1, NULL)": lambda i, j: i == 1 and j is None,
    "i <=> j": lambda i, j: i == j,
    "NOT i <=> j": lambda i, j: i != j,
    "equal_null(i, j)": lambda i, j: i == j,
    "ifnull(i, j) = 1": lambda i, j: equal(i if i is not None else j, 1),
    "nvl(i, 7) = 7": lambda i, j: i is None,
    "zeroifnull(i) = 0": lambda i, j: i is None,
    "nullifzero(i - 1) IS NULL": lambda i, j: i is None or i == 1,
    "positive(i) = 1": lambda i, j: equal(i, 1),
    "if(i > 1, j, i) = 1": lambda i, j: equal(j if i is not None and i > 1 else i, 1),
    "greatest(i, j) = 3": lambda i, j: (
        None if i is None and j is None else max(n for n in (i, j) if n is not None) == 3
    ),
    "i > 1 OR j > 1": lambda i, j: either(less(1, i), less(1, j)),
    "NOT (i > 1 AND NOT j > 1)": lambda i, j: opposite(both(less(1, i), opposite(less(1, j)))),
}


@pytest.mark.parametrize("text", CONDITIONS)
def test_conditions_on_every_row(text: str) -> None:
    schema = Schema.from_arrow(pa.schema({"i": pa.int32(), "j": pa.int32()}))
    rows = {name: pa.array(column, pa.int32()) for name, column in zip("ij", zip(*NUMBERS, strict=True), strict=True)}
    for ansi in (True, False):
        condition = bind(parse_filter(text, ansi), schema, ansi=ansi)
        found = evaluate(condition, lambda column: rows[column.field.name], len(NUMBERS)).to_pylist()
        assert found == [CONDITIONS[text](i, j) for i, j in NUMBERS]


@pytest.mark.parametrize("text", ["coalesce(IF(a, b, c), IF(c, a, b))", "nvl2(i BETWEEN 1 AND 2, a, b)"])
def test_choices_within_choices_can_be_pruned(text: str) -> None:
    """They become AND and OR, of which parts are decided by bounds."""
    found = bound(text)
    assert isinstance(found, ex.Or) and "CASE" not in str(found)
