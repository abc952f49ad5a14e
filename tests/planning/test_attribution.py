"""What parts of a filter dropped: the counts add up, and agree with brute force over the files' own statistics."""

from __future__ import annotations

import pickle
import shutil
import tempfile
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

import tableformats as tf
from tableformats.inspect.why import _range_text
from tableformats.planning import jobs
from tableformats.planning.attribution import Reason
from tableformats.planning.attribution.verdicts import KnownRange
from tests.support.delta_log import DeltaLog, add, field, stats
from tests.support.examples import examples

Bound = tuple[int, int] | None

FILE = st.tuples(
    st.integers(0, 2), *[st.none() | st.tuples(st.integers(0, 5), st.integers(0, 5)).map(sorted) for _ in "ab"]
)
CONDITIONS = st.lists(
    st.tuples(st.sampled_from("pab"), st.sampled_from("<>="), st.integers(0, 5)), min_size=1, max_size=4
)


def table_of(files: list[tuple[int, Bound, Bound]], root: Path) -> tf.Table:
    log = DeltaLog(root)
    actions = []
    for i, (p, *bounds) in enumerate(files):
        known = {name: bound for name, bound in zip("ab", bounds, strict=True) if bound is not None}
        sides = {side: {n: bound[j] for n, bound in known.items()} for j, side in enumerate(("minValues", "maxValues"))}
        nulls = {name: 0 for name in known}
        actions.append(add(f"f{i}", partitionValues={"p": str(p)}, stats=stats(3, nullCount=nulls, **sides)))
    log.start(*(field(name, "integer") for name in "pab"), partition=("p",)).commit(1, *actions)
    return tf.open_table(log.root)


def excludes(bound: Bound, op: str, value: int) -> bool:
    """Whether no value within the bounds matches."""
    if bound is None:
        return False
    low, high = bound
    return {"<": low >= value, ">": high <= value, "=": not low <= value <= high}[op]


def includes(bound: Bound, op: str, value: int) -> bool:
    """Whether every value within the bounds matches."""
    if bound is None:
        return False
    low, high = bound
    return {"<": high < value, ">": low > value, "=": low == high == value}[op]


@settings(deadline=None, max_examples=examples(80))
@given(st.lists(FILE, min_size=1, max_size=8), CONDITIONS)
@example([(0, [0, 0], [0, 0]), (1, [0, 5], [0, 0])], [("a", "<", 0), ("b", "<", 0)])
@example([(0, [0, 0], [0, 0]), (1, [0, 5], [0, 0])], [("p", "=", 1), ("a", ">", 0)])
def test_counts_agree_with_brute_force(files, conditions):
    for column in "pab":  # contradictions are dropped without a look at bounds
        assume(any(all(includes((v, v), op, w) for c, op, w in conditions if c == column) for v in range(-1, 7)))
    known = [{"p": (p, p), "a": a, "b": b} for p, a, b in files]
    with tempfile.TemporaryDirectory() as root:
        plan = table_of(files, Path(root) / "t").scan([(c, op, v) for c, op, v in conditions]).plan()
        found = plan.attribution
        assert pickle.loads(pickle.dumps(plan)).attribution == found  # a plan is made again, without evidence
        verdicts = plan.verdicts().to_pylist()
    conditions = list(dict.fromkeys(conditions))
    assert [part.filter for part in found.parts] == [f"{c} {op} {v}" for c, op, v in conditions]
    assert found.files == len(files) == found.dropped + found.dropped_together + found.planned
    assert found.planned == plan.report.files_planned
    on_partition = [any(excludes(of["p"], op, v) for c, op, v in conditions if c == "p") for of in known]
    # Bounds of files that partition values exclude are not read.
    wanted = [
        {i for i, (c, op, v) in enumerate(conditions) if (c == "p" or not early) and excludes(of[c], op, v)}
        for of, early in zip(known, on_partition, strict=True)
    ]
    for i, (part, (c, op, v)) in enumerate(zip(found.parts, conditions, strict=True)):
        assert part.dropped == sum(i in dropped for dropped in wanted)
        assert part.dropped_alone == sum(dropped == {i} for dropped in wanted)
        assert part.dropped + part.not_compared + sum(part.kept.values()) == found.files
        assert part.not_compared == sum(early and i not in d for early, d in zip(on_partition, wanted, strict=True))
        reasons = Counter(
            Reason.ALL_ROWS_MATCH
            if includes(of[c], op, v)
            else Reason.NO_STATISTICS
            if of[c] is None
            else Reason.WITHIN_BOUNDS
            for of, early, dropped in zip(known, on_partition, wanted, strict=True)
            if not early and i not in dropped
        )
        assert part.kept == dict(reasons)
    for row, of, early in zip(verdicts, known, on_partition, strict=True):
        assert row["dropped_by"] == [f"{c} {op} {v}" for c, op, v in conditions if excludes(of[c], op, v)]
        assert (row["verdict"] == "dropped by partition") == early or not row["dropped_by"]
    assert sum(row["verdict"] == "planned" for row in verdicts) == len(plan)


def test_a_contradiction_is_dropped_together(tmp_path):
    plan = table_of([(0, (0, 5), None), (1, (0, 5), (0, 5))], tmp_path / "t").scan("a < 2 AND a > 3 AND b > 1").plan()
    found = plan.attribution
    assert (found.files, found.dropped, found.dropped_together, found.planned) == (2, 0, 2, 0)
    assert "2 files dropped by several parts together, by none of them alone" in plan.explain()


@settings(deadline=None, max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 1), st.integers(-50, 50), st.integers(0, 60)), min_size=8, max_size=14))
def test_bounds_that_span_half_of_the_range_are_wide(found):
    files = [(p, (low, low + span), None) for p, low, span in found]
    with tempfile.TemporaryDirectory() as root:
        plan = table_of(files, Path(root) / "t").scan("p = 1 AND a > 3").plan()
        (_, part), explained = plan.attribution.parts, plan.explain()
    compared = [bound for p, bound, _ in files if p == 1]
    range_ = max((b for _, b in compared), default=0) - min((a for a, _ in compared), default=0)
    undecided = [high - low for low, high in compared if low <= 3 < high]
    wide = sum(span * 2 >= range_ for span in undecided) if len(compared) >= 10 and range_ else 0
    assert part.kept.get(Reason.WIDE_BOUNDS, 0) == wide
    assert part.kept.get(Reason.WITHIN_BOUNDS, 0) == len(undecided) - wide
    assert ("the bounds of a are wide" in explained) == bool(wide)


@pytest.mark.parametrize("kind", ["timestamp", "date", "double", "decimal(9,2)"])
def test_wide_bounds_of_times_and_numbers(tmp_path, kind):
    values = ["2024-01-01", "2024-02-01", "2024-12-31"] if kind in ("timestamp", "date") else [1, 2, 9]
    if kind == "timestamp":
        values = [f"{value}T00:00:00.000Z" for value in values]
    low, middle, high = values
    log = DeltaLog(tmp_path / "t")
    bounds = [(low, high)] * 4 + [(low, middle)] * 8
    actions = [
        add(f"f{i}", stats=stats(3, minValues={"x": a}, maxValues={"x": b}, nullCount={"x": 0}))
        for i, (a, b) in enumerate(bounds)
    ]
    log.start(field("x", kind)).commit(1, *actions)
    literal = {"timestamp": "TIMESTAMP '2024-01-02 00:00:00'", "date": "DATE '2024-01-02'"}.get(kind, "1.5")
    (part,) = tf.open_table(log.root).scan(f"x > {literal}", nan="absent").plan().attribution.parts
    assert part.kept == {Reason.WITHIN_BOUNDS: 8, Reason.WIDE_BOUNDS: 4}
    assert part.kept_by[Reason.WIDE_BOUNDS] == ("x",)


@pytest.fixture
def table(tmp_path: Path) -> tf.Table:
    """Files whose statistics fail a filter in each of the ways that there are."""
    log = DeltaLog(tmp_path / "t")
    names = {"i": "integer", "x": "double", "s": "string"}
    wide = stats(
        9,
        minValues={"i": 1, "x": 1.0, "s": "a"},
        maxValues={"i": 9, "x": 2.0, "s": "b"},
        nullCount={"i": 2, "x": 0, "s": 0},
    )
    cut = stats(
        9, minValues={"i": 1, "s": "b" * 32}, maxValues={"i": 9, "s": "b" * 32 + "c"}, nullCount={"i": 0, "s": 0}
    )
    log.start(*(field(name, kind) for name, kind in names.items())).commit(
        1, add("wide", stats=wide), add("cut", stats=cut), add("none")
    )
    return tf.open_table(log.root)


@pytest.mark.parametrize(
    ("condition", "kept"),
    [
        ("i = 4", {"wide": "WITHIN_BOUNDS", "cut": "WITHIN_BOUNDS", "none": "NO_STATISTICS"}),
        ("i < 10", {"wide": "WITHIN_BOUNDS", "cut": "ALL_ROWS_MATCH", "none": "NO_STATISTICS"}),
        ("i IS NULL", {"wide": "NULLS_AND_VALUES", "none": "NULLS_AND_VALUES"}),
        ("x > 4", {"wide": "NAN", "cut": "NO_STATISTICS", "none": "NO_STATISTICS"}),
        (f"s > '{'b' * 40}'", {"cut": "CUT_BOUNDS", "none": "NO_STATISTICS"}),
        ("s LIKE '%b'", {"wide": "CANNOT_PRUNE", "cut": "CANNOT_PRUNE", "none": "CANNOT_PRUNE"}),
        ("i > 100 OR s LIKE '%b'", {"wide": "MIXED_OR", "cut": "MIXED_OR", "none": "MIXED_OR"}),
        ("i > 100 OR i = 4", {"wide": "WITHIN_BOUNDS", "cut": "WITHIN_BOUNDS", "none": "NO_STATISTICS"}),
        ("i > 100 OR i = 200", {"none": "NO_STATISTICS"}),
        # Conditions on one column that are decided together, alone and below others.
        ("i < 3 OR i > 7", {"wide": "WITHIN_BOUNDS", "cut": "WITHIN_BOUNDS", "none": "NO_STATISTICS"}),
        ("i < 20 OR i < 5", {"wide": "WITHIN_BOUNDS", "cut": "ALL_ROWS_MATCH", "none": "NO_STATISTICS"}),
        ("i IN (3, 4) OR i = 7", {"wide": "WITHIN_BOUNDS", "cut": "WITHIN_BOUNDS", "none": "NO_STATISTICS"}),
        ("i < 0 OR i > 9 OR s = 'a'", {"wide": "WITHIN_BOUNDS", "none": "NO_STATISTICS"}),
        ("(i > 1 AND i < 4) OR s = 'q'", {"wide": "WITHIN_BOUNDS", "cut": "WITHIN_BOUNDS", "none": "NO_STATISTICS"}),
        ("x < 0 OR x > 2.5", {"wide": "NAN", "cut": "NO_STATISTICS", "none": "NO_STATISTICS"}),
        ("i > 100 OR s = 'a'", {"wide": "WITHIN_BOUNDS", "none": "NO_STATISTICS"}),
        ("s LIKE '%b' OR s LIKE '%a'", {"wide": "CANNOT_PRUNE", "cut": "CANNOT_PRUNE", "none": "CANNOT_PRUNE"}),
        ("NOT (i > 4)", {"wide": "WITHIN_BOUNDS", "cut": "WITHIN_BOUNDS", "none": "NO_STATISTICS"}),
        ("i = x", {"wide": "WITHIN_BOUNDS", "cut": "NO_STATISTICS", "none": "NO_STATISTICS"}),
        ("i + 1 > 4", {"wide": "WITHIN_BOUNDS", "cut": "WITHIN_BOUNDS", "none": "NO_STATISTICS"}),
        ("upper(s) = 'A'", {"wide": "CANNOT_PRUNE", "cut": "CANNOT_PRUNE", "none": "CANNOT_PRUNE"}),
    ],
)
def test_each_file_is_kept_for_its_reason(table, condition, kept):
    plan = table.scan(condition).plan()
    found = {}
    for name in ("wide", "cut", "none"):
        (part,) = plan.why(name).parts
        if part.reason is not None:
            found[name] = part.reason.name
    assert found == kept
    assert plan.attribution.parts[0].kept == Counter(Reason[reason] for reason in kept.values())
    assert {Path(uri).name for uri in plan.file_uris()} == kept.keys()


def test_manifests_that_each_part_skips_are_counted(tmp_path):
    schema = pa.schema({"id": pa.int64(), "p": pa.int64()})
    table = tf.create_table(tmp_path / "t", schema, format="iceberg", partition_by=["p"])
    for p in (1, 2, 3):
        table.append(pa.table({"id": [p], "p": [p]}))
    for condition, skipped in {
        "p = 1 AND id > 0": [2, 0],
        "p = 1": [2],
        "p > 1 AND p < 3 AND id > 0": [1, 1, 0],
        "id > 9": [0],
    }.items():
        found = table.scan(condition).plan().attribution
        assert (found.groups, [part.groups_dropped for part in found.parts]) == (3, skipped), condition
        assert found.group_name == "manifests"


def test_files_of_which_one_bound_is_known_have_cut_bounds(tmp_path):
    log = DeltaLog(tmp_path / "t").start(field("s", "string"))
    sides = {"lower": {"minValues": {"s": "b"}}, "upper": {"maxValues": {"s": "b"}}}
    log.commit(1, *(add(name, stats=stats(3, nullCount={"s": 0}, **side)) for name, side in sides.items()))
    for condition, kept in (("s = 'b'", ["lower", "upper"]), ("s = 'c'", ["lower"]), ("s = 'a'", ["upper"])):
        plan = tf.open_table(log.root).scan(condition).plan()
        assert sorted(Path(uri).name for uri in plan.file_uris()) == kept, condition
        assert plan.attribution.parts[0].kept == {Reason.CUT_BOUNDS: len(kept)}, condition


@pytest.mark.parametrize(
    ("known", "text"),
    [
        (("bounds", 1, 9, False, False), "bounds of x: 1 to 9"),
        (("bounds", 1, 9, True, False), "bounds of x: 1 to 9, may be NULL"),
        (("bounds", 1.5, 1.5, True, True), "bounds of x: 1.5, may be NULL or NaN"),
        (("bounds", None, 9, False, True), "bounds of x: unknown to 9, may be NaN"),
        (("bounds", "a", None, False, False), "bounds of x: 'a' to unknown"),
        (("bounds", None, None, True, False), "bounds of x: unknown, may be NULL"),
        (("bounds", None, None, False, False), "bounds of x: unknown"),
        (("partition", None, None, True, False), "partition of x: NULL"),
        (("partition", None, None, False, False), "partition of x: unknown"),
        (("partition", "b", "b", False, False), "partition of x: 'b'"),
        (("partition", b"\x1b", b"\x1b", False, False), "partition of x: b'\\x1b'"),
    ],
)
def test_what_is_known_of_a_column_is_told(known, text):
    assert _range_text(KnownRange("x", *known)) == text


def test_only_columns_that_lack_statistics_are_blamed(table):
    (part,) = table.scan("i > 100 OR x = 1.5").plan().attribution.parts
    assert part.kept_by == {Reason.NO_STATISTICS: ("i", "x"), Reason.WITHIN_BOUNDS: ("x",)}


def test_partition_values_say_enough_of_a_file(tmp_path):
    """A column whose range is known from them does not lack statistics."""
    found = table_of([(0, (0, 5), None), (1, None, None)], tmp_path / "t").scan("a + p = 3").plan().attribution
    (part,) = found.parts
    assert part.kept == {Reason.WITHIN_BOUNDS: 1, Reason.NO_STATISTICS: 1}
    assert part.kept_by == {Reason.WITHIN_BOUNDS: ("a",), Reason.NO_STATISTICS: ("a",)}


def test_nan_absent_drops_what_a_nan_kept(table):
    absent, possible = (table.scan("x > 4", nan=nan).plan() for nan in ("absent", None))
    assert absent.attribution.parts[0].dropped == 1
    dropped = [row for row in absent.verdicts().to_pylist() if row["dropped_by"]]
    assert [(row["verdict"], row["dropped_by"]) for row in dropped] == [("dropped by bounds", ["x > 4.0"])]
    assert set(possible.verdicts()["verdict"].to_pylist()) == {"planned"}


def test_the_bounds_that_decided_are_shown(table):
    (known,) = table.scan("i = 4").plan().why("wide").parts[0].known
    assert (known.column, known.source, known.lower, known.upper) == ("i", "bounds", 1, 9)
    assert known.may_be_null and not known.may_be_nan


def test_asking_does_not_change_later_plans(table):
    """Bounds that one question reads are right for all others."""
    before = table.scan("i > 100").plan()
    before.why("wide"), before.verdicts(), before.attribution
    assert [table.scan(f).plan().report.files_dropped_by_bounds for f in ("i > 100", "s > 'x'", "x < 0")] == [2, 2, 1]


def test_files_that_are_not_there(table):
    plan = table.scan("i = 4").plan()
    with pytest.raises(tf.InvalidPredicateError, match="no such data file"):
        plan.why("ide")


def test_without_a_filter_there_are_no_parts(table):
    plan = table.scan().plan()
    assert plan.attribution.parts == [] and plan.attribution.planned == 3
    assert plan.attribution.files == 3 and table.scan("i = 4").plan().attribution.group_name == "row groups"
    assert plan.verdicts()["verdict"].to_pylist() == ["planned"] * 3
    assert plan.why("cut").parts == ()


def test_explaining_reads_no_metadata_again(tmp_path, monkeypatch):
    """Neither for the parts of the filter, nor to count the rows of a table of more than a few files."""
    from tableformats.inspect import explain
    from tableformats.planning.batch_reloader import BatchReloader

    plan = table_of([(i % 3, (i, i + 1), None) for i in range(6)], tmp_path / "t").scan("p = 2 AND a > 3").plan()
    monkeypatch.setattr(BatchReloader, "batch", None)
    monkeypatch.setattr(explain, "_MOST_COUNTED", 3)
    text = plan.explain()
    assert "drops 4 of 6 files" in text and "rows in total                      not counted" in text
    monkeypatch.setattr(explain, "_MOST_COUNTED", 6)
    with pytest.raises(TypeError, match="not callable"):
        plan.explain()  # rows of all files


def test_a_plan_that_is_large_is_made_again(tmp_path, monkeypatch):
    """One that is not needs neither a cache nor the table to be explained."""
    filter = "p = 2 AND (a > 3 OR a < 1 AND b IS NULL) AND NOT (a = 9)"
    table = table_of([(i % 3, (i, i + 1), None) for i in range(12)], tmp_path / "t")
    plan = tf.open_table(table.location, cache=False).scan(filter).plan()
    monkeypatch.setattr(jobs, "_MOST_BYTES", 100)
    again = table.scan(filter).plan()
    assert plan.evidence.is_whole and not again.evidence.is_whole and again.evidence.files == []
    found = again.attribution
    shutil.rmtree(table.location)
    assert plan.attribution == found and found.dropped == 9


def test_planning_pays_nothing(table, monkeypatch):
    import tableformats.planning.attribution as attribution

    monkeypatch.setattr(attribution, "attribute", None)
    plan = table.scan("i = 4").plan()
    assert "Parts of the filter" not in plan.explain(why=False)


@pytest.mark.parametrize("files", [9, 10])
def test_bounds_of_few_files_are_not_called_wide(files: int, tmp_path: Path) -> None:
    plan = table_of([(0, (0, 5), None)] * (files - 1) + [(0, (0, 10), None)], tmp_path / "t").scan("a = 4").plan()
    (part,) = plan.attribution.parts
    assert part.kept == {Reason.WIDE_BOUNDS: 10} if files == 10 else {Reason.WITHIN_BOUNDS: 9}


def test_only_bounds_that_leave_a_file_undecided_are_wide(tmp_path: Path) -> None:
    """Those of files that are dropped, or of which all rows match, span half of the range as well."""
    bounds = [(-10, 3)] * 4 + [(2, 7)] * 2 + [(4, 17)] * 5 + [(0, 14)]
    plan = table_of([(0, bound, None) for bound in bounds], tmp_path / "t").scan("a > 3").plan()
    (part,) = plan.attribution.parts
    assert part.kept == {Reason.WITHIN_BOUNDS: 2, Reason.ALL_ROWS_MATCH: 5, Reason.WIDE_BOUNDS: 1}
    assert part.dropped == 4


def test_a_file_that_many_parts_drop(tmp_path: Path) -> None:
    table = table_of([(0, (0, 5), None)], tmp_path / "t")
    found = table.scan([("a", "<", -i) for i in range(256)]).plan().attribution
    assert [part.dropped for part in found.parts] == [1] * 256
    assert not any(part.dropped_alone for part in found.parts)
    assert (found.files, found.dropped, found.dropped_together, found.planned) == (1, 1, 0, 0)
