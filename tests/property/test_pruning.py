"""No false prune: over random files and predicates, a file with a matching row is never dropped.

The row model (``tests/support/rowmodel.py``) decides which rows match; it knows nothing of bounds or partitions.
"""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from tableformats.expressions import tree as ex
from tableformats.expressions.binding import bind
from tableformats.expressions.parse import parse_filter
from tableformats.plugin import Bounds, PartitionField, PartitionSpec
from tableformats.pruning.column_ranges import ranges_of
from tableformats.pruning.compiled_predicate import ALL, NONE, SOME, CompiledPredicate
from tableformats.pruning.manifest_filter import PredicateManifestFilter
from tableformats.schema import Field, Schema, primitive
from tableformats.schema.transforms import parse_transform
from tests.support.examples import examples
from tests.support.rowmodel import evaluate
from tests.support.strategies import (
    ModelFile,
    ModelTable,
    order_key,
    partition_array,
    tables_and_predicates,
    to_array,
    type_of,
)


def bounds_of(table: ModelTable) -> Bounds:
    def column(name: str, i: int) -> list[object]:
        return [getattr(f, name).get(i) for f in table.files]

    ids = {f.id: f.type for f in table.schema}
    return Bounds(
        lower={i: to_array(column("lower", i), kind) for i, kind in ids.items()},
        upper={i: to_array(column("upper", i), kind) for i, kind in ids.items()},
        **{
            name: {i: pa.array(column(name, i), pa.int64()) for i in ids}
            for name in ("null_count", "nan_count", "value_count")
        },
    )


def check(file: ModelFile, verdict: int, predicate: ex.Expression) -> None:
    outcomes = [evaluate(predicate, row) for row in file.rows]
    if verdict == NONE:
        assert True not in outcomes, f"dropped although {file.rows[outcomes.index(True)]} matches"
    if verdict == ALL:
        assert all(outcome is True for outcome in outcomes), f"fully matched although {outcomes}"


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=examples(500))
@given(tables_and_predicates())
def test_no_file_with_a_matching_row_is_dropped(case: tuple[ModelTable, ex.Expression]) -> None:
    table, predicate = case
    program = CompiledPredicate(predicate)
    partition = partition_array(table)
    counts = pa.array([f.record_count for f in table.files], pa.int64())
    by_partition = program.decide(program.range_sources(table.spec, partition)).verdicts
    verdicts = program.verdicts(table.spec, partition, bounds_of(table), counts)
    for file, early, verdict in zip(table.files, by_partition, verdicts, strict=True):
        check(file, early, predicate)
        check(file, verdict, predicate)
        # Metadata of a file without rows may contradict itself, and then proves nothing.
        assert verdict == NONE or early != NONE or not file.rows, "bounds must not keep what partitions drop"
        event(f"verdict {verdict}")


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=examples(300))
@given(tables_and_predicates())
def test_bounds_that_are_not_needed_change_no_verdict(case: tuple[ModelTable, ex.Expression]) -> None:
    table, predicate = case
    program = CompiledPredicate(predicate)
    partition, every = partition_array(table), bounds_of(table)
    counts = pa.array([f.record_count for f in table.files], pa.int64())
    decision = program.decide(program.range_sources(table.spec, partition))
    expected = program.verdicts(table.spec, partition, every, counts)
    for i, file in enumerate(table.files):
        needed = {column for column, need in decision.undecided_columns.items() if need[i]}
        some = Bounds(
            *(
                {c: side[c] for c in side if c in needed}
                for side in (every.lower, every.upper, every.null_count, every.nan_count, every.value_count)
            )
        )
        early, found = decision.verdicts[i], program.verdicts(table.spec, partition, some, counts)[i]
        check(file, found, predicate)
        if file.rows:
            assert found == (expected[i] if early == SOME else early)
        event(f"{len(needed)} of {len(decision.undecided_columns)} columns needed")


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=examples(200))
@given(tables_and_predicates())
def test_counts_are_enough_for_columns_that_nothing_is_compared_with(case: tuple[ModelTable, ex.Expression]) -> None:
    table, predicate = case
    program = CompiledPredicate(predicate)
    partition, every = partition_array(table), bounds_of(table)
    counts = pa.array([f.record_count for f in table.files], pa.int64())
    lower, upper = ({c: s for c, s in side.items() if c not in program.counted} for side in (every.lower, every.upper))
    expected = program.verdicts(table.spec, partition, every, counts)
    found = program.verdicts(table.spec, partition, replace(every, lower=lower, upper=upper), counts)
    assert found.tolist() == expected.tolist()
    event(f"{len(program.counted)} of {len(program.columns)} columns counted")


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=examples(200))
@given(tables_and_predicates(), st.integers(0, 9))
def test_what_matches_by_nan_alone_has_no_other_matching_row(
    case: tuple[ModelTable, ex.Expression], others: int
) -> None:
    """Beside ``others`` files that are dropped, so that the files that are kept are many or few."""
    table, predicate = case
    program = CompiledPredicate(predicate)
    files = [*table.files, *[ModelFile([], 0, partition=table.files[0].partition)] * others] if table.files else []
    table = replace(table, files=files)
    ranges = ranges_of(bounds_of(table), pa.array([f.record_count for f in files], pa.int64()), program.columns)
    sources = program.range_sources(table.spec, partition_array(table))
    verdicts = program.verdicts_of(sources, ranges)
    found = program.matches_by_nan_alone(sources, ranges, verdicts)
    if found is None:
        return
    assert not found[verdicts == NONE].any()
    for file, is_alone in zip(files, found, strict=True):
        matching = [row for row in file.rows if evaluate(predicate, row) is True]
        assert not is_alone or all(any(v != v for v in row.values() if v is not None) for row in matching)
    event(f"{int(found.sum())} files, few {4 * int((verdicts != NONE).sum()) < len(files)}")


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=examples(200))
@given(tables_and_predicates())
def test_a_manifest_with_a_needed_file_is_kept(case: tuple[ModelTable, ex.Expression]) -> None:
    """One summary over all files, as a manifest list holds it: Iceberg spec, "Manifest Lists"."""
    table, predicate = case
    if not table.spec.fields:
        return
    lower, upper, nulls, nans = {}, {}, {}, {}
    for p in table.spec.fields:
        values = [f.partition[p.id] for f in table.files if f.rows]
        proper = [v for v in values if v is not None and v == v]
        lower[p.id] = to_array([min(proper, key=order_key) if proper else None], p.type)
        upper[p.id] = to_array([max(proper, key=order_key) if proper else None], p.type)
        nulls[p.id] = pa.array([None in values], pa.bool_())
        nans[p.id] = pa.array([any(v != v for v in values)], pa.bool_())
    program = CompiledPredicate(predicate)
    decision = PredicateManifestFilter(program, {0: table.spec}).decide(0, lower, upper, nulls, nans)
    matching = any(evaluate(predicate, row) is True for f in table.files for row in f.rows)
    event(f"kept {bool(decision.keep[0])}")
    assert decision.keep[0] or not matching
    # What no file of the group is said to need, none needs.
    of_files = program.decide(program.range_sources(table.spec, partition_array(table))).undecided_columns
    for column, need in of_files.items():
        assert decision.undecided_columns[column][0] or not any(
            n for n, f in zip(need, table.files, strict=True) if f.rows
        )


def verdict_of(
    text: str, rows: list[object], kind: str, spec: PartitionSpec, partition: object, **known: object
) -> int:
    """The verdict for one file with one column ``c1``; ``known`` are its statistics."""
    schema = Schema((Field(1, "c1", type_of(kind)),))
    parsed = parse_filter(text)
    assert parsed is not None
    predicate = bind(parsed, schema)
    file = ModelFile([{1: v} for v in rows], len(rows), partition={1000: partition})
    for name, value in known.items():
        getattr(file, name)[1] = value
    table = ModelTable(schema, {1: kind}, spec, [file])
    counts = pa.array([file.record_count], pa.int64())
    verdict = int(CompiledPredicate(predicate).verdicts(spec, partition_array(table), bounds_of(table), counts)[0])
    check(file, verdict, predicate)
    return verdict


NO_SPEC = PartitionSpec(0, ())
IDENTITY = parse_transform("identity")


@pytest.mark.thread_unsafe(reason="counts the memory of the process")
def test_a_long_disjunction_holds_few_masks() -> None:
    parsed = parse_filter(" OR ".join(f"c1 > {i}" for i in range(300)))
    assert parsed is not None
    program = CompiledPredicate(bind(parsed, Schema((Field(1, "c1", type_of("long")),))))
    n = 50_000
    sources = program.range_sources(NO_SPEC, pa.array([{}] * n, pa.struct([])))
    for work in (lambda: program.decide(sources), lambda: program.verdicts_of(sources, {})):
        tracemalloc.start()
        work()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 30 * n, "bytes for each file, not for each of its leaves"


def test_a_nan_may_hide_above_the_upper_bound() -> None:
    rows = [1.0, float("nan")]
    known = {"lower": 1.0, "upper": 1.0, "null_count": 0}
    assert verdict_of("c1 > 5", rows, "double", NO_SPEC, None, **known) == SOME
    assert verdict_of("c1 = 1", rows, "double", NO_SPEC, None, **known) == SOME
    assert verdict_of("isnan(c1)", rows, "float", NO_SPEC, None, **known) == SOME
    assert verdict_of("c1 > 5", [1.0], "double", NO_SPEC, None, nan_count=0, **known) == NONE


def test_bounds_that_are_nan() -> None:
    """Old writers took NaN for a value of their bounds."""
    nan = float("nan")
    for known in ({"lower": nan, "upper": nan}, {"lower": nan}, {"lower": nan, "upper": 2.0}):
        assert verdict_of("c1 = 1", [1.0, nan], "double", NO_SPEC, None, null_count=0, **known) == SOME
        assert verdict_of("c1 < 9", [1.0, nan], "double", NO_SPEC, None, null_count=0, **known) == SOME


def test_a_nan_partition() -> None:
    spec = PartitionSpec(0, (PartitionField(1000, "p", 1, IDENTITY, primitive("double")),))
    nan = float("nan")
    assert verdict_of("isnan(c1)", [nan], "double", spec, nan) != NONE
    assert verdict_of("c1 > 1e300", [nan], "double", spec, nan) == ALL
    assert verdict_of("c1 = 1", [nan], "double", spec, nan) == NONE


def test_the_prefix_of_a_pattern_proves_no_match() -> None:
    known = {"lower": "a", "upper": "ab", "null_count": 0}
    assert verdict_of("c1 LIKE 'a_%'", ["a", "ab"], "string", NO_SPEC, None, **known) == SOME
    assert verdict_of("c1 NOT LIKE 'a_%'", ["a", "ab"], "string", NO_SPEC, None, **known) == SOME
    assert verdict_of("c1 LIKE 'b_%'", ["a", "ab"], "string", NO_SPEC, None, **known) == NONE
    assert verdict_of("c1 LIKE 'a%'", ["a", "ab"], "string", NO_SPEC, None, **known) == ALL


def test_rows_that_were_not_counted_may_be_null() -> None:
    """A struct's NULLs may be missing in its members' counts."""
    known = {"lower": 1, "upper": 1, "null_count": 0, "value_count": 1}
    assert verdict_of("c1 IS NULL", [1, None], "int", NO_SPEC, None, **known) == SOME


@pytest.mark.parametrize("text", ["mystery[7]", "void"])
def test_partition_values_that_say_nothing_of_their_column(text: str) -> None:
    spec = PartitionSpec(0, (PartitionField(1000, "p", 1, parse_transform(text), primitive("int")),))
    for value in (None, 3):
        assert verdict_of("c1 = 5", [5], "int", spec, value) == SOME
        assert verdict_of("c1 IS NULL", [None], "int", spec, value) == SOME


def test_summaries_that_do_not_say_what_they_contain() -> None:
    spec = PartitionSpec(0, (PartitionField(1000, "p", 1, IDENTITY, primitive("double")),))
    schema = Schema((Field(1, "c1", primitive("double")),))

    def kept(text: str, null: bool | None, nan: bool | None, bounds: tuple[float | None, ...] = (1.0, 2.0)) -> bool:
        parsed = parse_filter(text)
        assert parsed is not None
        sides = [{1000: pa.array([value], pa.float64())} for value in bounds]
        flags = [{1000: pa.array([flag], pa.bool_())} for flag in (null, nan)]
        return bool(
            PredicateManifestFilter(CompiledPredicate(bind(parsed, schema)), {0: spec})
            .decide(0, *sides, *flags)
            .keep[0]
        )

    assert [kept("c1 IS NULL", null, False) for null in (None, True, False)] == [True, True, False]
    for text in ("c1 > 5", "isnan(c1)"):
        assert [kept(text, False, nan) for nan in (None, True, False)] == [True, True, False]
    nothing = None, None
    assert [kept("c1 IS NOT NULL", True, nan, nothing) for nan in (None, True, False)] == [True, True, False]


def test_contradictory_metadata_proves_nothing() -> None:
    assert verdict_of("c1 = 5", [5], "int", NO_SPEC, None, lower=9, upper=1) == SOME
    assert verdict_of("c1 = 20", [20], "int", NO_SPEC, None, lower=9, upper=1) == SOME
    assert verdict_of("c1 = 5", [5], "int", NO_SPEC, None, null_count=0, value_count=0) == SOME
    assert verdict_of("c1 = 5", [5], "int", NO_SPEC, None, null_count=7, value_count=1) == SOME
    spec = PartitionSpec(0, (PartitionField(1000, "p", 1, IDENTITY, primitive("int")),))
    assert verdict_of("c1 < 5", [5], "int", spec, 7, lower=1, upper=2, null_count=0) == SOME


def test_tight_bounds_decide() -> None:
    """Pruning does prune: with exact statistics the verdicts are exact for one-column comparisons."""
    schema = Schema((Field(1, "a", primitive("int")),))
    files = [[1, 2, 3], [5, 5], [None, None], [7, None], []]
    present = [[v for v in f if v is not None] for f in files]
    bounds = Bounds(
        lower={1: pa.array([min(p) if p else None for p in present], pa.int32())},
        upper={1: pa.array([max(p) if p else None for p in present], pa.int32())},
        null_count={1: pa.array([f.count(None) for f in files])},
        value_count={1: pa.array([len(f) for f in files])},
    )
    counts = pa.array([len(f) for f in files])
    for text, expected in {
        "a > 3": [0, 2, 0, 1, 0],
        "a = 5": [0, 2, 0, 0, 0],
        "a != 5": [2, 0, 0, 1, 0],
        "NOT (a <= 2)": [1, 2, 0, 1, 0],
        "a IS NULL": [0, 0, 2, 1, 0],
        "a <=> 5": [0, 2, 0, 0, 0],
        "NOT (a <=> 5)": [2, 0, 2, 2, 0],
        "a IN (0, 5, 9)": [0, 2, 0, 0, 0],
        "a NOT IN (0, 5, 9)": [2, 0, 0, 1, 0],
        "a BETWEEN 1 AND 3": [2, 0, 0, 0, 0],
        "a > 100 OR a IS NULL": [0, 0, 2, 1, 0],
    }.items():
        parsed = parse_filter(text)
        assert parsed is not None
        program = CompiledPredicate(bind(parsed, schema))
        partition = pa.array([{}] * len(files), pa.struct([]))
        assert list(program.verdicts(NO_SPEC, partition, bounds, counts)) == expected, text


@pytest.mark.parametrize(
    ("kind", "text", "filters"),
    [
        (
            "timestamp_ntz",
            "day",
            ["c1 >= '1970-01-03'", "c1 < '1970-01-02' OR c1 IS NULL", "c1 = '1970-01-01 12:00:00'"],
        ),
        ("int", "truncate[10]", ["c1 > 25", "c1 <= -10", "c1 IS NULL", "c1 = 2147483647"]),
        ("string", "truncate[2]", ["c1 > 'ab'", "c1 LIKE 'zz%'", "c1 IN ('abc', 'b')"]),
    ],
)
def test_many_files_that_share_few_partition_values(kind: str, text: str, filters: list[str]) -> None:
    """Transforms are turned back for the distinct values alone: each file gets what it gets by itself."""
    distinct: dict[str, list[object]] = {
        "timestamp_ntz": [0, 1, 2, None, -1],
        "int": [-10, 0, 20, None, 2147483640],
        "string": ["ab", "zz", None, "a"],
    }
    source, transform = type_of(kind), parse_transform(text)
    spec = PartitionSpec(0, (PartitionField(1000, "p", 1, transform, transform.result_type(source)),))
    values = distinct[kind] * (2500 // len(distinct[kind]))
    tuples = pa.StructArray.from_arrays([to_array(values, spec.fields[0].type)], ["1000"])
    for filter in filters:
        parsed = parse_filter(filter)
        assert parsed is not None
        program = CompiledPredicate(bind(parsed, Schema((Field(1, "c1", source),))))
        each = [tuples.slice(i, 1) for i in range(len(distinct[kind]))]
        alone = [program.decide(program.range_sources(spec, one)).verdicts[0] for one in each]
        assert len({*alone}) > 1, "the filter tells files apart"
        assert list(program.decide(program.range_sources(spec, tuples)).verdicts) == alone * (
            2500 // len(distinct[kind])
        )


def test_buckets_of_a_type_that_has_no_hash() -> None:
    spec = PartitionSpec(0, (PartitionField(1000, "p", 1, parse_transform("bucket[4]"), primitive("int")),))
    for value in (0, 3):
        assert verdict_of("c1 = 1.5", [1.5], "double", spec, value) == SOME
