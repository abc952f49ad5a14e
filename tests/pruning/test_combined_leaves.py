"""Leaves of one column are evaluated together: what no value satisfies keeps no file. NaN is a value beside bounds."""

from __future__ import annotations

import math
import pickle
from itertools import product
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from tableformats.expressions import tree as ex
from tableformats.expressions.binding import bind
from tableformats.expressions.parse import parse_filter
from tableformats.plugin import Bounds, PartitionField, PartitionSpec
from tableformats.pruning.column_ranges import ranges_of
from tableformats.pruning.combined_codes import combined_codes
from tableformats.pruning.compiled_predicate import ALL, NONE, SOME, CompiledPredicate
from tableformats.pruning.literal_codes import (
    MatchingCodes,
    codes_matching_comparison,
    codes_matching_in,
    codes_matching_nan,
)
from tableformats.pruning.manifest_filter import PredicateManifestFilter
from tableformats.schema import Field, Schema, arrow_type, primitive
from tableformats.schema.transforms import parse_transform
from tests.support.examples import examples
from tests.support.rowmodel import evaluate

NAN, INF = math.nan, math.inf
NO_SPEC = PartitionSpec(0, ())


def bound(text: str, kind: str) -> ex.Expression:
    parsed = parse_filter(text)
    assert parsed is not None
    return bind(parsed, Schema((Field(1, "x", primitive(kind)),)))


def verdict(
    predicate: ex.Expression,
    kind: str = "double",
    *,
    lower: Any = None,
    upper: Any = None,
    nulls: int | None = 0,
    nans: int | None = None,
    rows: int = 9,
    records: int | None = None,
) -> int:
    """The verdict for a file with these statistics of its column ``x``; ``rows`` are those that were counted."""
    arrow = arrow_type(primitive(kind))
    bounds = Bounds(
        lower={1: pa.array([lower], arrow)},
        upper={1: pa.array([upper], arrow)},
        null_count={1: pa.array([nulls], pa.int64())},
        nan_count={1: pa.array([nans], pa.int64())},
        value_count={1: pa.array([rows], pa.int64())},
    )
    partition = pa.array([{}], pa.struct([]))
    return int(CompiledPredicate(predicate).verdicts(NO_SPEC, partition, bounds, pa.array([records or rows]))[0])


@pytest.mark.parametrize(
    "condition",
    [
        "x = 5",
        "x <=> 5",
        "x IN (4, 5)",
        "x BETWEEN 4 AND 5",
        "x < 0",
        "x <= 0.5",
        "x > 4 AND x < 9",
        "x >= 4 AND x <= 9",
        "x > 4 AND x != double('NaN')",
        "NOT isnan(x) AND x > 4",
        "x IS NOT NULL AND x > 4 AND NOT isnan(x)",
        "NOT (x < 4 OR x > 9)",
        "NOT (x <= 4) AND x IN (1, 2, 5, 6)",
        "x IN (2, 7) AND x > 4",
        "x > 4 AND (x < 9 OR x = 2)",
        "x > 4 AND x < double('Infinity')",
        "x > 4 AND x <= double('Infinity')",
        "x < 0 OR x = 7",
    ],
)
@pytest.mark.parametrize("kind", ["double", "float"])
def test_no_file_is_kept_for_a_nan_that_cannot_match(condition, kind):
    assert verdict(bound(condition, kind), kind, lower=1.0, upper=3.0) == NONE


@pytest.mark.parametrize(
    "condition",
    [
        "x > 5",
        "x >= 5",
        "x != 2",
        "NOT (x < 5)",
        "NOT (x <= 5)",
        "NOT (x = 2)",
        "isnan(x)",
        "x = double('NaN')",
        "x IN (7, double('NaN'))",
        "x > double('Infinity')",
        "x NOT BETWEEN 0 AND 5",
        "NOT (x IN (1, 2, 3))",
        "x > 5 AND x != 7",
        "x > 5 OR x < 0",
        "isnan(x) AND x > 5",
    ],
)
def test_files_are_kept_for_a_nan_that_matches(condition):
    known = {"lower": 2.0, "upper": 2.0}
    for nans in (None, 1):
        assert verdict(bound(condition, "double"), nans=nans, **known) == SOME, "a NaN beside the twos"
    assert verdict(bound(condition, "double"), nans=0, **known) in (NONE, ALL)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("x > 5", ALL),
        ("x >= double('NaN')", ALL),
        ("isnan(x)", ALL),
        ("x != 5", ALL),
        ("NOT (x < 5)", ALL),
        ("x = 5", NONE),
        ("x < double('Infinity')", NONE),
        ("x <= double('Infinity')", NONE),
        ("x IS NOT NULL AND NOT isnan(x)", NONE),
        ("x BETWEEN 1 AND 2", NONE),
    ],
)
def test_files_of_nothing_but_nan(condition, expected):
    predicate = bound(condition, "double")
    assert verdict(predicate, nans=9) == expected
    assert verdict(predicate, lower=NAN, upper=NAN, nans=9) == expected, "old writers"
    mixed = verdict(predicate, nans=8, nulls=1)
    assert mixed == (SOME if expected == ALL else NONE), "NULL is never TRUE"


def test_counts_that_do_not_prove_that_all_is_nan():
    predicate = bound("x = 5", "double")
    assert verdict(predicate, nans=8) == SOME, "one value is a number"
    assert verdict(predicate, nans=9, nulls=None) == SOME
    assert verdict(predicate, nans=9, lower=5.0) == SOME, "a bound contradicts the counts"
    assert verdict(predicate, nans=9, nulls=3) == SOME, "more NaNs and NULLs than rows"
    assert verdict(predicate, nans=9, records=10) == SOME, "nobody counted the tenth row"


def test_nans_that_are_counted_are_not_assumed_away():
    """Whatever a user says: the file has one."""
    bounds = Bounds(
        lower={1: pa.array([1.0] * 3)},
        upper={1: pa.array([2.0] * 3)},
        null_count={1: pa.array([0] * 3)},
        nan_count={1: pa.array([None, 1, 0], pa.int64())},
    )
    program = CompiledPredicate(bound("x > 5", "double"))
    ranges = ranges_of(bounds, pa.array([9] * 3), program.columns)
    sources = program.range_sources(NO_SPEC, pa.array([{}] * 3, pa.struct([])))
    verdicts = program.verdicts_of(sources, ranges)
    assert verdicts.tolist() == [SOME, SOME, NONE]
    alone = program.matches_by_nan_alone(sources, ranges, verdicts)
    assert alone is not None and alone.tolist() == [True, False, False]


@pytest.mark.parametrize(
    ("condition", "kind"),
    [
        ("x = 1 AND x = 2", "int"),
        ("x > 5 AND x < 3", "int"),
        ("x > 5 AND x < 6", "int"),
        ("x IN (1, 2) AND x IN (3, 4)", "long"),
        ("x IN (1, 2) AND x > 2", "long"),
        ("x = 1 AND x != 1", "int"),
        ("x IS NULL AND x > 1", "int"),
        ("x < 'a' AND startswith(x, 'b')", "string"),
        ("x >= 'c' AND x LIKE 'b%'", "string"),
        ("x = 1.5 AND x < 1.5", "double"),
        ("isnan(x) AND x < 5", "double"),
        ("x > 1.1 AND x < 1.1", "double"),
        ("(x <=> 1) AND (x <=> 2)", "int"),
    ],
)
def test_what_no_value_satisfies_keeps_nothing(condition, kind):
    predicate = bound(condition, kind)
    assert verdict(predicate, kind, nulls=None) == NONE, "whatever the statistics are"


def test_what_every_value_satisfies_is_decided_without_bounds():
    assert verdict(bound("x < 5 OR x >= 5", "int"), "int") == ALL
    assert verdict(bound("x < 5 OR x >= 5", "int"), "int", nulls=None) == SOME
    assert verdict(bound("x IS NULL OR x <= 5 OR x > 2", "int"), "int", nulls=None) == ALL


def test_lists_are_cut_to_the_other_leaves():
    predicate = bound("x IN (1, 9, 20) AND x > 5 AND x != 20", "int")
    assert verdict(predicate, "int", lower=0, upper=8) == NONE
    assert verdict(predicate, "int", lower=10, upper=30) == NONE
    assert verdict(predicate, "int", lower=0, upper=9) == SOME
    assert verdict(predicate, "int", lower=9, upper=9) == ALL


def test_buckets_prune_by_the_literals_that_all_leaves_allow():
    field = PartitionField(1000, "b", 1, parse_transform("bucket[16]"), primitive("int"))
    spec = PartitionSpec(0, (field,))
    buckets = {v: field.transform.bucket(v, primitive("int")) for v in (1, 5)}
    assert buckets[1] != buckets[5]
    files = pa.StructArray.from_arrays([pa.array([buckets[1], buckets[5]], pa.int32())], ["1000"])
    for condition, expected in {
        "x IN (1, 5) AND x > 1": [NONE, SOME],
        "x IN (1, 5) AND x != 5": [SOME, NONE],
        "x = 1 OR x = 5": [SOME, SOME],
        "x = 5 AND x < 9": [NONE, SOME],
        "x = 1 OR x > 900": [SOME, SOME],
        "NOT (x != 1 OR x > 4)": [SOME, NONE],
    }.items():
        program = CompiledPredicate(bound(condition, "int"))
        assert program.decide(program.range_sources(spec, files)).verdicts.tolist() == expected, condition


def test_manifests_of_nothing_but_nan_partitions():
    field = PartitionField(1000, "x", 1, parse_transform("identity"), primitive("double"))

    def kept(text: str, lower: float | None, upper: float | None, nan: bool | None) -> bool:
        manifests = PredicateManifestFilter(CompiledPredicate(bound(text, "double")), {0: PartitionSpec(0, (field,))})
        sides = [{1000: pa.array([value], pa.float64())} for value in (lower, upper)]
        flags = [{1000: pa.array([flag], pa.bool_())} for flag in (False, nan)]
        return bool(manifests.decide(0, *sides, *flags).keep[0])

    for nan in (True, None):
        assert [kept(text, None, None, nan) for text in ("x = 1", "x < 9", "x > 9", "isnan(x)")] == [0, 0, 1, 1]
        assert [kept(text, 1.0, 2.0, nan) for text in ("x = 3", "x > 3 AND x < 9", "x > 3")] == [0, 0, 1]
        assert kept("x = 7", NAN, NAN, nan), "bounds that are NaN say nothing of the numbers"


# ---- every outcome of every small file -------------------------------------------------------------------------------

DOMAIN: list[Any] = [-INF, 0.0, 1.0, 2.0, 3.0, INF, NAN]
LEAVES = st.one_of(
    st.tuples(st.sampled_from(ex.COMPARISONS), st.sampled_from(DOMAIN)),
    st.lists(st.sampled_from(DOMAIN), min_size=1, max_size=3),
    st.sampled_from(["null", "nan"]),
)
X = ex.BoundColumn((Field(1, "x", primitive("double")),))


def leaf(drawn: Any) -> ex.Expression:
    if isinstance(drawn, tuple):
        return ex.Comparison(drawn[0], X, ex.Literal(drawn[1], X.type))
    if isinstance(drawn, list):
        return ex.In(X, tuple(ex.Literal(value, X.type) for value in drawn))
    return ex.IsNull(X) if drawn == "null" else ex.IsNaN(X)


@settings(deadline=None, max_examples=examples(300))
@given(
    st.lists(st.tuples(LEAVES.map(leaf), st.booleans()), min_size=1, max_size=4),
    st.sampled_from([ex.And, ex.Or]),
    st.booleans(),
)
def test_one_column_is_decided_exactly(leaves, kind, negated):
    """Over all bounds of a small domain: dropped if and only if no row can match, for any AND or OR of leaves."""
    terms = tuple(ex.Not(node) if below else node for node, below in leaves)
    predicate: ex.Expression = kind(terms) if len(terms) > 1 else terms[0]
    predicate = bind(ex.Not(predicate) if negated else predicate, Schema((X.field,)))
    truths = {value: evaluate(predicate, {1: value}) for value in DOMAIN[:-1]}
    of_nan, of_null = evaluate(predicate, {1: NAN}), evaluate(predicate, {1: None})
    numbers = DOMAIN[:-1]
    for low, high in product(numbers, numbers):
        if low > high:
            continue
        for nans, nulls in product((0, 1), (0, 1)):
            # Every value of the domain within the bounds, and values between them: 0.5 stands for those of a gap.
            inside = [truths[v] for v in numbers if low <= v <= high]
            inside += [evaluate(predicate, {1: v}) for v in (-9.0, 0.5, 1.5, 2.5, 9.0) if low < v < high]
            possible = [*inside, *[of_nan] * nans, *[of_null] * nulls]
            found = verdict(predicate, lower=low, upper=high, nans=nans, nulls=nulls)
            if True not in possible:
                assert found == NONE, (low, high, nans, nulls)
            else:
                assert found == (ALL if all(outcome is True for outcome in possible) else SOME)
    event(f"{kind.__name__} of {len(leaves)}")


@given(st.data())
def test_combined_codes_match_what_the_members_match(data):
    """Each value of the domain matches the combination if and only if all members match it, or any."""
    literals = st.sampled_from([ex.Literal(v, X.type) for v in DOMAIN])
    members: list[tuple[MatchingCodes, bool]] = []
    for _ in range(data.draw(st.integers(1, 4))):
        shape = data.draw(st.sampled_from(["compare", "in", "nan"]))
        if shape == "compare":
            op = data.draw(st.sampled_from(["=", "<", "<=", ">", ">="]))
            codes = codes_matching_comparison(op, data.draw(literals), X.type)
        elif shape == "in":
            codes = codes_matching_in(data.draw(st.lists(literals, min_size=1, max_size=4)), X.type)
        else:
            codes = codes_matching_nan()
        assert codes is not None
        members.append((codes, data.draw(st.booleans())))
    of_all = data.draw(st.booleans())
    combined = combined_codes(members, of_all)

    def order(value: float) -> tuple[bool, float]:
        return (True, 0.0) if value != value else (False, value)

    def matches(codes: MatchingCodes, value: float) -> bool:
        code = 2 * sum(order(v) < order(value) for v in codes.literals)
        return codes.matches(code + any(order(v) == order(value) for v in codes.literals))

    for value in [*DOMAIN, -5.0, 0.5, 1.5, 2.5, 7.0]:
        each = [matches(codes, value) != negated for codes, negated in members]
        assert matches(combined, value) == (all(each) if of_all else any(each)), value


@pytest.mark.parametrize("condition", ["x IN (2, 7)", "x > 4 AND x < 9", "x = 2 OR NOT (x < 5 OR x > 7)"])
def test_another_process_decides_the_same(condition: str) -> None:
    """Executors get predicates by pickling, and their nodes are other objects there."""
    sent = pickle.loads(pickle.dumps(CompiledPredicate(bound(condition, "long"), nan_is_absent=True)))
    assert sent.nan_is_absent
    for value in range(10):
        bounds = Bounds({1: pa.array([value])}, {1: pa.array([value])})
        partition = pa.array([{}], pa.struct([]))
        verdicts = [
            one.verdicts(NO_SPEC, partition, bounds, pa.array([1]))[0]
            for one in (sent, CompiledPredicate(bound(condition, "long")))
        ]
        assert verdicts[0] == verdicts[1]


def test_a_column_that_one_alternative_needs_is_undecided() -> None:
    """The other alternative is decided by the partition value, and needs no column."""
    fields = (Field(1, "p", primitive("int")), Field(2, "a", primitive("int")))
    parsed = parse_filter("(p = 1 AND a > 5) OR (p = 2 AND a > 3)")
    assert parsed is not None
    program = CompiledPredicate(bind(parsed, Schema(fields)))
    spec = PartitionSpec(0, (PartitionField(1000, "p", 1, parse_transform("identity"), primitive("int")),))
    partition = pa.StructArray.from_arrays([pa.array([1, 2, 3], pa.int32())], names=["1000"])
    decision = program.decide(program.range_sources(spec, partition))
    assert decision.verdicts.tolist() == [SOME, SOME, NONE]
    assert decision.undecided_columns[2].tolist() == [True, True, False]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("(x > 5 AND x < 9 AND y = 1) OR x = 3", SOME),  # of y nothing is known
        ("(x > 5 AND x < 9) OR x = 3", ALL),
        ("(x < 5 OR x > 9 OR y = 1) AND x > 3", SOME),
        ("(x < 5 OR x > 9) AND x > 3", NONE),
    ],
)
def test_alternatives_with_another_column_are_no_condition_on_one(condition: str, expected: int) -> None:
    parsed = parse_filter(condition)
    assert parsed is not None
    predicate = bind(parsed, Schema((Field(1, "x", primitive("int")), Field(2, "y", primitive("int")))))
    assert verdict(predicate, "int", lower=6, upper=8) == expected


@pytest.mark.parametrize(
    ("condition", "of_nulls", "of_some"),
    [
        ("NOT isnan(x) AND NOT (x <=> 5)", ALL, ALL),
        ("x IS NULL AND NOT (x <=> 5)", ALL, SOME),
        ("isnan(x) OR (x <=> 1.5)", NONE, SOME),
        ("isnan(x) OR NOT (x <=> 5)", ALL, ALL),
        ("NOT isnan(x) AND (x <=> 1.5)", NONE, SOME),
        ("x IS NULL OR x < 3", ALL, ALL),
        ("NOT (x <=> 5) AND x < 3", NONE, SOME),
    ],
)
def test_what_leaves_of_one_column_are_for_null(condition: str, of_nulls: int, of_some: int) -> None:
    predicate = bound(condition, "double")
    assert verdict(predicate, nulls=9, nans=0) == of_nulls
    assert verdict(predicate, lower=1.0, upper=2.0, nulls=1, nans=0) == of_some
