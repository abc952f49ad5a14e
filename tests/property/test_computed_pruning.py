"""No false prune by values that are computed: over random files and functions of their columns.

The row models (``tests/support/rowmodel.py``, ``valuemodel.py``) decide which rows match. A condition that fails for
a row counts as NULL; whether the error is raised is for the reader.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

from tableformats.errors import InvalidPredicateError, UnsupportedFeatureError
from tableformats.expressions import tree as ex
from tableformats.expressions.binding import bind
from tableformats.planning.residuals import residual
from tableformats.pruning.compiled_predicate import ALL, NONE, CompiledPredicate
from tableformats.schema import primitive
from tests.property.test_pruning import bounds_of
from tests.support.examples import examples
from tests.support.rowmodel import evaluate
from tests.support.strategies import VALUES, ModelTable, model_tables, partition_array

NUMBERS = ["int", "int", "long", "double", "float", "decimal", "decimal_18"]
TIMES = ["date", "timestamp", "timestamp", "timestamp_ntz"]
SMALL = st.sampled_from([0, 1, -1, 2, 3, 5, 10, 2**31 - 1, -(2**31)])
LITERALS: dict[str, st.SearchStrategy[Any]] = {
    "number": st.one_of(
        SMALL, SMALL, st.sampled_from([2**63 - 1, 2.5, -0.5, 1e300, Decimal("1.25"), Decimal("-0.01")])
    ),
    "date": VALUES["date"].map(lambda v: ex.Literal(v, primitive("date"))),
    "timestamp": VALUES["timestamp"].map(lambda v: ex.Literal(v, primitive("timestamp"))),
    "timestamp_ntz": VALUES["timestamp_ntz"].map(lambda v: ex.Literal(v, primitive("timestamp_ntz"))),
    "string": VALUES["string"],
}
PARTS = ["year", "month", "day", "quarter", "dayofyear", "weekday"]
OPERATORS = ["=", "!=", "<", "<=", ">", ">=", "<=>"]


def call(name: str, *arguments: Any, kind: Any = None, ansi: bool = True) -> ex.Function:
    values = tuple(a if isinstance(a, ex.Value) else ex.Literal(a) for a in arguments)
    return ex.Function(name, values, kind, ansi)


@st.composite
def numbers(draw: st.DrawFn, columns: dict[str, str], ansi: bool, depth: int = 2) -> Any:
    """A value that is a number."""
    own = [name for name, kind in columns.items() if kind in NUMBERS]
    times = [name for name, kind in columns.items() if kind in TIMES]
    texts = [name for name, kind in columns.items() if kind == "string"]
    shapes = ["literal"] + ["column"] * 2 * bool(own) + ["part", "diff"] * bool(times) + ["length"] * bool(texts)
    shapes += ["sum", "sum", "negative", "abs", "coalesce", "if", "cast", "extreme"] * bool(depth and own)
    shape = draw(st.sampled_from(shapes))

    def inner() -> Any:
        return draw(numbers(columns, ansi, depth - 1))

    if shape == "literal":
        return ex.Literal(draw(LITERALS["number"]))
    if shape == "column":
        return ex.Reference((draw(st.sampled_from(own)),))
    if shape == "part":
        return call(draw(st.sampled_from(PARTS)), draw(times_of(columns)), ansi=ansi)
    if shape == "diff":
        return call("datediff", draw(times_of(columns)), draw(times_of(columns)), ansi=ansi)
    if shape == "length":
        return call("length", draw(texts_of(columns)), ansi=ansi)
    if shape == "sum":
        return call(draw(st.sampled_from("+-*")), inner(), inner(), ansi=ansi)
    if shape == "coalesce":
        return call("coalesce", inner(), inner(), ansi=ansi)
    if shape == "extreme":
        return call(draw(st.sampled_from(["greatest", "least"])), inner(), inner(), ansi=ansi)
    if shape == "if":
        test = ex.IsNull(ex.Reference((draw(st.sampled_from(own)),)))
        return call("if", test, inner(), inner(), ansi=ansi)
    if shape == "cast":
        kind = draw(st.sampled_from(["byte", "short", "int", "long", "float", "double"]))
        return call("cast", inner(), kind=primitive(kind), ansi=ansi)
    return call(shape, inner(), ansi=ansi)


@st.composite
def times_of(draw: st.DrawFn, columns: dict[str, str], depth: int = 1) -> Any:
    name = draw(st.sampled_from([name for name, kind in columns.items() if kind in TIMES]))
    value: Any = ex.Reference((name,))
    shape = draw(st.sampled_from(["column", "column", "cast", "date_trunc", "date_add", "trunc", "literal"]))
    if shape == "cast":
        return call("cast", value, kind=primitive(draw(st.sampled_from(["date", "timestamp", "timestamp_ntz"]))))
    if shape == "date_trunc":
        return call("date_trunc", draw(st.sampled_from(["year", "month", "day", "hour"])), value)
    if shape == "trunc":
        return call("trunc", value, draw(st.sampled_from(["year", "month"])))
    if shape == "date_add":
        return call(draw(st.sampled_from(["date_add", "date_sub"])), value, draw(st.sampled_from([0, 1, -40, 366])))
    return draw(LITERALS[columns[name]]) if shape == "literal" else value


@st.composite
def texts_of(draw: st.DrawFn, columns: dict[str, str]) -> Any:
    value: Any = ex.Reference((draw(st.sampled_from([n for n, kind in columns.items() if kind == "string"])),))
    shape = draw(st.sampled_from(["column", "substring", "left", "concat"]))
    if shape == "substring":
        return call("substring", value, draw(st.sampled_from([0, 1])), draw(st.integers(0, 4)))
    if shape == "left":
        return call("left", value, draw(st.integers(-1, 4)))
    return call("concat", value, "x") if shape == "concat" else value


@st.composite
def conditions(draw: st.DrawFn, columns: dict[str, str], ansi: bool, depth: int = 2) -> ex.Expression:
    if depth and draw(st.integers(0, 2)) == 0:
        node = draw(st.sampled_from([ex.And, ex.Or, ex.Not, ex.IsTrue]))
        inner = conditions(columns, ansi, depth - 1)
        return node(draw(inner)) if node in (ex.Not, ex.IsTrue) else node((draw(inner), draw(inner)))
    kinds = set(columns.values())
    families = ["number"] + ["time"] * bool(kinds & set(TIMES)) * 2 + ["string"] * ("string" in kinds)
    family = draw(st.sampled_from(families))
    values = {
        "number": numbers(columns, ansi),
        "time": times_of(columns) if kinds & set(TIMES) else st.nothing(),
        "string": texts_of(columns) if "string" in kinds else st.nothing(),
    }[family]
    some = LITERALS["string"].map(ex.Literal) if family == "string" else values
    value = draw(values)
    shape = draw(st.sampled_from(["compare", "compare", "compare", "compare", "in", "isnull"]))
    if shape == "isnull":
        return ex.Holds(call("isnull", value, ansi=ansi))
    if shape == "in":
        return ex.Holds(call("in", value, *draw(st.lists(some, min_size=1, max_size=3)), ansi=ansi))
    return ex.Holds(call(draw(st.sampled_from(OPERATORS)), value, draw(some), ansi=ansi))


@st.composite
def cases(draw: st.DrawFn, ansi: bool) -> tuple[ModelTable, ex.Expression]:
    names = draw(st.lists(st.sampled_from([*NUMBERS, *TIMES, "string"]), min_size=1, max_size=3))
    table = draw(model_tables(names))
    columns = {f"c{i}": kind for i, kind in table.kinds.items()}
    try:
        return table, bind(draw(conditions(columns, ansi)), table.schema, ansi=ansi)
    except (InvalidPredicateError, UnsupportedFeatureError):
        assume(False)
        raise


def answers_of(predicate: ex.Expression, rows: list[dict[int, Any]]) -> list[bool | None]:
    try:
        return [evaluate(predicate, row) for row in rows]
    except (OverflowError, KeyError):  # a date that Python has not, or a function that the model has not
        assume(False)
        raise


def check(predicate: ex.Expression, rows: list[dict[int, Any]], verdict: int) -> None:
    answers = answers_of(predicate, rows)
    if verdict == NONE:
        assert True not in answers, f"dropped although {rows[answers.index(True)]} matches"
    if verdict == ALL:
        assert all(answer is True for answer in answers), f"fully matched although {answers}"


def judge(case: tuple[ModelTable, ex.Expression]) -> None:
    table, predicate = case
    program = CompiledPredicate(predicate)
    partition = partition_array(table)
    counts = pa.array([f.record_count for f in table.files], pa.int64())
    by_partition = program.decide(program.range_sources(table.spec, partition)).verdicts
    verdicts = program.verdicts(table.spec, partition, bounds_of(table), counts)
    masks = program.partition_outcomes(table.spec, partition)
    for i, file in enumerate(table.files):
        check(predicate, file.rows, by_partition[i])
        check(predicate, file.rows, verdicts[i])
        left = residual(predicate, {leaf: int(mask[i]) for leaf, mask in masks.items()})
        answers = zip(answers_of(left, file.rows), answers_of(predicate, file.rows), strict=True)
        assert all((a is True) == (b is True) for a, b in answers), left
        event(f"verdict {verdicts[i]}, residual {'none' if left == ex.TRUE else 'left'}")
    event(f"has functions {any(isinstance(node, ex.Holds) for node in ex.walk(predicate))}")


COMMON = settings(
    deadline=None, max_examples=examples(400), suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)


@COMMON
@given(cases(ansi=True))
def test_no_file_with_a_matching_row_is_dropped(case: tuple[ModelTable, ex.Expression]) -> None:
    judge(case)


@COMMON
@given(cases(ansi=False))
def test_no_file_is_dropped_where_numbers_wrap_around(case: tuple[ModelTable, ex.Expression]) -> None:
    judge(case)
