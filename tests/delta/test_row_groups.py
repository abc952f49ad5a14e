"""Row groups of checkpoints are skipped by their footers, only if the files in them would all be dropped one by one."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tableformats_delta.checkpoints.row_group_filter import GroupFilter
from tableformats_delta.statistics.bounds import in_either_calendar

from tableformats import TableFormatsError, open_table
from tableformats.table.scan import ScanPlan
from tests.support.delta_checkpoints import COLUMNS, checkpoint, file, parsed, parsed_type
from tests.support.delta_log import (
    ADD_FIELDS,
    DeltaLog,
    add,
    field,
    first_actions,
    remove,
    stats,
)
from tests.support.examples import examples

UTC = dt.timezone.utc
ENDS = Decimal(-(2**63)), Decimal(2**63 - 1)
OLD = dt.datetime(1899, 12, 31, 23, 59, 59, tzinfo=UTC)


def plan(log: DeltaLog, where: str, skipping: bool = True) -> ScanPlan:
    with mock.patch.object(GroupFilter, "can_skip", GroupFilter.can_skip if skipping else False):
        found = open_table(log.root).scan(where).plan()
    report = found.report
    dropped = report.files_dropped_by_partition + report.files_dropped_by_bounds
    assert report.files_total == report.files_skipped_with_manifests + dropped + report.files_planned
    return found


def kept(found: ScanPlan) -> list[str]:
    return sorted(Path(uri).name for uri in found.file_uris())


@pytest.fixture
def log(tmp_path: Path) -> DeltaLog:
    """Twelve files in seven row groups of two rows; in the first and second, one row is no file."""
    files = [
        file(
            f"f{i:02d}",
            parsed(
                i=(10 * i, 10 * i + 9),
                s=(f"k{i:02d}", f"k{i:02d}x"),
                d=(day(i), day(i)),
                t=(noon(i), noon(i)),
                m=(Decimal(i), Decimal(i)),
                f=(float(i), float(i)),
            ),
            p="ab"[i // 6],
            n=i,
        )
        for i in range(12)
    ]
    return checkpoint(tmp_path / "t", files, 2)


def day(i: int) -> dt.date:
    return dt.date(2024, 1, 1) + dt.timedelta(i)


def noon(i: int) -> dt.datetime:
    return dt.datetime(2024, 1, 1, 12, tzinfo=UTC) + dt.timedelta(i)


@pytest.mark.parametrize(
    ("where", "files", "skipped"),
    [
        ("i BETWEEN 40 AND 49", ["f04"], 6),
        ("i < 0", [], 7),
        ("i IN (5, 115)", ["f00", "f11"], 5),
        ("s = 'k03'", ["f03"], 6),
        ("s LIKE 'k1%'", ["f10", "f11"], 6),
        ("d = DATE '2024-01-04'", ["f03"], 6),
        ("t > '2024-01-12'", ["f11"], 6),
        ("m = 7", ["f07"], 6),
        ("p = 'a'", [f"f{i:02d}" for i in range(6)], 3),
        ("p = 'c'", [], 7),
        ("n = 3", ["f03"], 6),
        ("n = 3 OR i >= 110", ["f03", "f11"], 5),
        ("p IS NULL", [], 7),
        ("i IS NULL", [], 7),
        ("i IS NOT NULL AND n > 10", ["f11"], 6),
        ("NOT (i < 110)", ["f11"], 6),
        ("f = 3", ["f03"], 0),
        ("f = 3 AND i < 30", [], 4),
        # Any of these may hold NaN, which is greater than 3.
        ("f > 3", [f"f{i:02d}" for i in range(12)], 0),
        ("z IS NULL", [f"f{i:02d}" for i in range(12)], 0),
    ],
)
def test_skipped_row_groups(log: DeltaLog, where: str, files: list[str], skipped: int) -> None:
    found = plan(log, where)
    assert kept(found) == files
    assert (found.report.row_groups_total, found.report.row_groups_skipped) == (
        (0, 0) if where in ("f = 3", "f > 3", "z IS NULL") else (7, skipped)
    )
    assert found.report.files_total == 12
    assert kept(plan(log, where, skipping=False)) == files
    assert ("row groups" in found.explain()) == (found.report.row_groups_total > 0)
    assert not any("row groups" in note for note in found.report.notes)


def test_without_a_predicate_all_is_read(log: DeltaLog) -> None:
    report = open_table(log.root).scan().plan().report
    assert (report.row_groups_total, report.files_planned) == (0, 12)
    assert (report.checkpoint_files_read, report.log_files_read) == (1, 0)


def test_a_group_is_read_again_when_another_predicate_needs_it(log: DeltaLog) -> None:
    table = open_table(log.root)
    for i in (3, 7, 3, 11):
        assert kept(table.scan(f"i = {10 * i}").plan()) == [f"f{i:02d}"]
    assert len(table.scan().plan()) == 12


def test_newer_commits_win_and_are_told_of(log: DeltaLog) -> None:
    log.commit(2, remove("f11"), add("g", partitionValues={"p": "a", "n": "1", "z": None}))
    found = plan(log, "n = 3")
    assert kept(found) == ["f03"]
    assert found.report.files_total == 13  # f11 is counted although it is gone
    assert any("row groups" in note for note in found.report.notes)
    assert kept(plan(log, "n = 11")) == []


@pytest.mark.parametrize(
    ("described", "where"),
    [
        (None, "i = 1000"),
        (parsed(None, i=(0, 9)), "i = 1000"),
        (parsed(i=(None, 9)), "i < -5"),
        (parsed(i=(0, None)), "i = 1000"),
        (parsed(nulls=None, i=(0, 9)), "i IS NULL"),
        (parsed(nulls=1, i=(0, 9)), "i IS NULL"),
        (parsed(s=("a", None)), "s > 'x'"),
        (parsed(s=("a", "a" * 20 + "?\x7f")), f"s = '{'a' * 20}\U0001f600'"),
        (parsed(s=("a", "z" * 31 + "\ufffd")), f"s = '{'z' * 31}\U0001f600'"),
        (parsed(t=(noon(0), noon(0))), "t = '2024-01-01 12:00:00.000999'"),
        (parsed(f=(float("nan"), float("nan"))), "f = 5"),
        (parsed(f=(0.0, 1.0)), "isnan(f)"),
    ],
)
def test_one_uncertain_file_keeps_its_group(tmp_path: Path, described: Any, where: str) -> None:
    """The other file of the group is ruled out by each of these predicates."""
    sure = parsed(i=(0, 9), s=("a", "b"), t=(noon(0), noon(0)), f=(0.0, 1.0))
    log = checkpoint(
        tmp_path / "t", [file("x", sure, p="a"), file("sure", sure, p="a"), file("unsure", described, p="a")], 8
    )
    assert "unsure" in kept(plan(log, where))


@pytest.mark.parametrize(
    ("widened", "beside", "where"),
    [
        # The end of the first may be half of a character; what stands beside it is a greater maximum, but whole.
        ({"s": ("a", "a" * 15 + "?" + "b" * 15 + "\x7f")}, {"s": ("a", "a" * 15 + "@")}, f"s = '{'a' * 15}\U0001f600'"),
        # The first may be a minute greater than it says, the second says what it means.
        ({"t": (OLD, OLD)}, {"t": (OLD, OLD + dt.timedelta(seconds=1))}, "t = '1900-01-01 00:00:30'"),
        # The ends of int64 may stand for whatever lies beyond.
        ({"w": (ENDS[1], ENDS[1])}, {"w": (ENDS[1], Decimal(10**20))}, "w = 1000000000000000000000000000000"),
        ({"w": (ENDS[0], ENDS[0])}, {"w": (Decimal(-(10**20)), ENDS[0])}, "w = -1000000000000000000000000000000"),
    ],
)
def test_a_bound_that_is_widened_more_than_a_greater_one(
    tmp_path: Path, widened: dict[str, Any], beside: dict[str, Any], where: str
) -> None:
    log = checkpoint(tmp_path / "t", [file("widened", parsed(**widened)), file("beside", parsed(**beside))], 8)
    assert kept(plan(log, where)) == ["widened"]


JULIAN = dt.date(1582, 10, 14)
"""What 1582-10-04 is in a file where days are counted by the Julian calendar, to whom does not know it."""


@pytest.mark.parametrize(
    ("columns", "where", "files"),
    [
        ({"d": JULIAN}, "d = DATE '1582-10-04'", ["x"]),
        ({"d": JULIAN}, "d = DATE '1582-10-03'", []),
        ({"d": dt.date(1, 1, 1)}, "d = DATE '0001-01-03'", ["x"]),
        ({"d": dt.date(1, 1, 1)}, "d = DATE '0001-01-04'", []),
        ({"t": dt.datetime(1582, 10, 14, 5, tzinfo=UTC)}, "t = TIMESTAMP '1582-10-03 04:30:00Z'", ["x"]),
        ({"t": dt.datetime(1, 1, 1, tzinfo=UTC)}, "t = TIMESTAMP '0001-01-04 00:29:00Z'", ["x"]),
        ({"t": dt.datetime(1899, 12, 31, tzinfo=UTC)}, "t = TIMESTAMP '1899-12-30 23:00:00Z'", ["x"]),
        ({"t": dt.datetime(1899, 12, 31, tzinfo=UTC)}, "t = TIMESTAMP '1900-02-01 00:00:00Z'", []),
    ],
)
def test_days_of_the_old_calendar(tmp_path: Path, columns: dict[str, Any], where: str, files: list[str]) -> None:
    """Checkpoints that Spark writes may count days as its old versions did."""
    found = parsed(**{name: (value, value) for name, value in columns.items()})
    assert kept(plan(checkpoint(tmp_path / "t", [file("x", found)], 8), where)) == files


def test_partitions_of_days_of_the_old_calendar(tmp_path: Path) -> None:
    old, newer = file("old", None, y=dt.date(1582, 10, 4)), file("newer", None, y=dt.date(2024, 1, 1))
    old["partitionValues_parsed"] = {"y": JULIAN}
    log = checkpoint(tmp_path / "t", [old, newer], 1)
    assert kept(plan(log, "y = DATE '1582-10-04'")) == ["old"]
    assert plan(log, "y = DATE '1582-10-04'").report.row_groups_skipped == 1
    assert kept(plan(log, "y < DATE '1582-10-05'")) == ["old"]
    assert kept(plan(log, "y IS NULL")) == []


def test_days_before_the_first_year_are_unknown() -> None:
    """What they are by the old calendar is further away."""
    days = pa.array([-719_165, -719_164, -141_428, -141_427, None], pa.int32()).cast(pa.date32())
    lower, upper = in_either_calendar(days, days)
    assert lower.cast(pa.int32()).to_pylist() == [None, -719_174, -141_438, -141_427, None]
    assert upper.cast(pa.int32()).to_pylist() == [None, -719_162, -141_426, -141_427, None]


def test_a_partition_before_the_first_year_keeps_its_group(tmp_path: Path) -> None:
    log = checkpoint(tmp_path / "t", [file("old", None, y=dt.date(1, 1, 1)), file("other", None, y=None)], 2)
    (path,) = log.directory.glob("*.checkpoint.parquet")
    table = pq.read_table(path)
    adds = table["add"].combine_chunks()
    place = adds.type.get_field_index("partitionValues_parsed")
    values = adds.field(place)
    days = pa.array([None, -719_164 - 1, None, None], pa.int32()).cast(pa.date32())
    members = [days if f.name == "y" else values.field(i) for i, f in enumerate(values.type)]
    moved = pa.StructArray.from_arrays(members, fields=list(values.type), mask=values.is_null())
    columns = [moved if i == place else adds.field(i) for i in range(adds.type.num_fields)]
    adds = pa.StructArray.from_arrays(columns, fields=list(adds.type), mask=adds.is_null())
    pq.write_table(table.set_column(table.schema.get_field_index("add"), "add", adds), path)
    assert kept(plan(log, "y = DATE '0001-01-01'")) == ["old"]
    assert kept(plan(log, "y IS NULL")) == ["other"]


@pytest.mark.parametrize(
    ("part", "where"),
    [
        ({"p": None}, "p IS NULL"),
        ({"p": ""}, "p IS NULL"),
        ({"n": None}, "n IS NULL"),
        ({"n": None}, "n <=> NULL"),
        ({"z": noon(0)}, "z = '2024-01-01 12:00:00'"),
    ],
)
def test_partition_values_that_are_null(tmp_path: Path, part: dict[str, Any], where: str) -> None:
    sure = file("sure", parsed(), p="a", n=1, z=noon(3))
    odd = file("odd", parsed(), **{"p": "a", "n": 1, **part})
    log = checkpoint(tmp_path / "t", [sure, sure | {"path": "two"}, odd], 8)
    assert kept(plan(log, where)) == ["odd"]


@pytest.mark.parametrize("kinds", [{}, {"n": pa.string()}, {"n": pa.int64()}])
def test_partition_values_whose_twin_is_missing_or_of_another_type(tmp_path: Path, kinds: dict[str, Any]) -> None:
    twins = pa.struct([("p", pa.string()), *kinds.items()])
    files = [file(name, parsed(), p=p, n=n) for name, p, n in (("f", "a", 1), ("g", "b", 2), ("h", "b", 10))]
    for one in files:
        one["partitionValues_parsed"] = {"p": one["partitionValues"][0][1], **dict.fromkeys(kinds)}
    kind = pa.struct([*ADD_FIELDS, ("stats_parsed", parsed_type(COLUMNS)), ("partitionValues_parsed", twins)])
    log = checkpoint(tmp_path / "t", files, 1, add_type=kind)
    assert kept(plan(log, "n > 1")) == ["g", "h"]
    assert kept(plan(log, "n > 9 AND p = 'b'")) == ["h"]
    assert kept(plan(log, "n > 9 AND p = 'a'")) == []


def test_text_without_a_parsed_twin_keeps_its_group(tmp_path: Path) -> None:
    files = [
        file("parsed", parsed(i=(0, 9))),
        file("text", None) | {"stats": stats(3, minValues={"i": 500}, maxValues={"i": 600}, nullCount={"i": 0})},
    ]
    log = checkpoint(tmp_path / "t", files, 8)
    assert kept(plan(log, "i = 550")) == ["text"]
    assert kept(plan(log, "i = 5")) == ["parsed"]
    assert kept(plan(log, "i = 50")) == []


def test_parsed_statistics_are_used_instead_of_text(tmp_path: Path) -> None:
    """Both stand in a checkpoint that Spark writes; the text is not looked at where the other is complete."""
    both = file("f", parsed(i=(0, 9))) | {"stats": '{"numRecords": 3, "minValues": {"i": '}
    log = checkpoint(tmp_path / "t", [both], 8)
    with mock.patch("tableformats_delta.statistics.log_statistics.scan", side_effect=AssertionError("text was parsed")):
        assert kept(plan(log, "i = 50", skipping=False)) == []
    assert open_table(log.root).scan().plan().files["record_count"].to_pylist() == [3]


def test_a_column_that_parsed_statistics_lack_is_read_from_text(tmp_path: Path) -> None:
    narrow = {k: v for k, v in COLUMNS.items() if k != "i"}
    text = stats(3, minValues={"i": 0, "s": "a"}, maxValues={"i": 9, "s": "b"}, nullCount={"i": 0, "s": 0})
    kinds = pa.struct([*ADD_FIELDS, ("stats_parsed", parsed_type(narrow))])
    only = parsed(s=("a", "b"))
    only["nullCount"].pop("i")
    log = checkpoint(tmp_path / "t", [file("f", only) | {"stats": text}, file("g", only)], 8, add_type=kinds)
    assert kept(plan(log, "i = 50")) == ["g"]
    assert kept(plan(log, "i = 50 AND s = 'z'")) == []


@pytest.mark.parametrize("lacking", ["minValues", "maxValues"])
def test_a_side_that_parsed_statistics_lack_is_read_from_text(tmp_path: Path, lacking: str) -> None:
    text = stats(3, minValues={"i": 0}, maxValues={"i": 9}, nullCount={"i": 0})
    narrow = pa.struct([(name, kind) for name, (_, kind) in COLUMNS.items() if name != "i"])
    kind = parsed_type(COLUMNS)
    members = [(member.name, narrow if member.name == lacking else member.type) for member in kind]
    only = parsed(i=(0, 9))
    only[lacking] = {}
    kinds = pa.struct([*ADD_FIELDS, ("stats_parsed", pa.struct(members))])
    log = checkpoint(tmp_path / "t", [file("f", only) | {"stats": text}], 8, add_type=kinds)
    assert (kept(plan(log, "i > 9")), kept(plan(log, "i < 0")), kept(plan(log, "i = 9"))) == ([], [], ["f"])


def test_dotted_names_are_not_confused(tmp_path: Path) -> None:
    """``s_.x`` is a column of the table, ``s_`` a struct with a member x: their paths in the footer read the same."""
    nested = pa.struct([("s_", pa.struct([("x", pa.int64())])), ("s_.x", pa.int64())])
    three = [(name, nested) for name in ("minValues", "maxValues", "nullCount")]
    counts = pa.struct([("numRecords", pa.int64()), *three])
    value = {"s_": {"x": 1}, "s_.x": 100}
    described = {"numRecords": 1, "minValues": value, "maxValues": value, "nullCount": {"s_": {"x": 0}, "s_.x": 0}}
    log = DeltaLog(tmp_path / "t")
    head = first_actions()
    inner = {"type": "struct", "fields": [field("x", "long")]}
    schema = json.dumps({"type": "struct", "fields": [field("s_", inner), field("s_.x", "long")]})
    head[1]["metaData"].update(schemaString=schema, partitionColumns=[], configuration=[])
    log.checkpoint(
        f"{1:020d}.checkpoint.parquet",
        *head,
        add("f", partitionValues=[], stats_parsed=described),
        add_type=pa.struct([*ADD_FIELDS, ("stats_parsed", counts)]),
    )
    for where, names in (("s_.x = 1", ["f"]), ("`s_.x` = 100", ["f"])):
        assert kept(plan(log, where)) == names


def test_instants_beyond_nanoseconds_in_int96(tmp_path: Path) -> None:
    moment = dt.datetime(9999, 1, 1, tzinfo=UTC)
    log = checkpoint(tmp_path / "t", [file("f", parsed(t=(moment, moment)))], 8)
    path = log.directory / f"{1:020d}.checkpoint.parquet"
    pq.write_table(pq.read_table(path), path, use_deprecated_int96_timestamps=True)
    assert kept(plan(log, "t = '9999-01-01'")) == ["f"]
    assert kept(plan(log, "t < '9998-01-01'")) == []


@pytest.mark.parametrize("where", ["i = 41 AND s = 'k04' AND m > 3", "n = 3 OR t < '2024-01-03' OR d IS NULL"])
def test_damaged_footers(log: DeltaLog, where: str) -> None:
    """A flipped byte of the footer is an error with the file's path, or goes unseen; it is never a foreign error."""
    path = log.directory / f"{1:020d}.checkpoint.parquet"
    sound = path.read_bytes()
    footer = len(sound) - 8 - int.from_bytes(sound[-8:-4], "little")
    outcomes = set()
    for at in range(footer, len(sound) - 8, 397):
        damaged = bytearray(sound)
        damaged[at] ^= 0xFF
        path.write_bytes(damaged)
        try:
            open_table(log.root).scan(where).plan()
            outcomes.add("planned")
        except TableFormatsError as error:
            assert error.path is not None and error.path.startswith(str(log.root))
            outcomes.add("refused")
    assert outcomes == {"planned", "refused"}


# ---- the property ---------------------------------------------------------------------------------------------------

CUT = ["a" * 15 + "?" + "b" * 16 + "\x7f", "a" * 32, "a" * 31 + "\ufffd"]
WORDS = st.sampled_from(["", "a", "ab", "b", "z", "\ufffd", *CUT])
TIMES = [dt.datetime(1, 1, 9, tzinfo=UTC), OLD, OLD + dt.timedelta(seconds=1), OLD + dt.timedelta(2), noon(0)]
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "i": st.integers(-3, 3),
    "s": WORDS,
    "d": st.sampled_from([dt.date(1, 1, 2), JULIAN, *map(day, range(4))]),
    "t": st.sampled_from(TIMES),
    "m": st.sampled_from([Decimal("-1.50"), Decimal("0.00"), Decimal("2.25")]),
    "f": st.sampled_from([-1.0, 0.0, 1.0, float("nan")]),
    "w": st.sampled_from([Decimal(-(10**37)), Decimal(0), Decimal(10**20), Decimal(10**38 - 1), *ENDS]),
}


@st.composite
def described(draw: st.DrawFn) -> dict[str, Any] | None:
    if draw(st.integers(0, 9)) == 0:
        return None
    pairs: dict[str, Any] = {}
    for name, values in VALUES.items():
        low, high = sorted([draw(values), draw(values)], key=lambda v: (v != v, v))
        pairs[name] = (draw(st.sampled_from([low, low, low, None])), draw(st.sampled_from([high, high, high, None])))
    found = parsed(draw(st.sampled_from([3, 3, 3, 3, None])), **pairs)
    found["nullCount"] = {name: draw(st.sampled_from([0, 0, 1, 3, None])) for name in VALUES}
    return found


FILES = st.lists(
    st.tuples(described(), st.sampled_from(["a", "b", "", None]), st.sampled_from([1, 2, None])), min_size=1, max_size=8
)
LEAVES = st.sampled_from(
    [
        "i = 2",
        "i > 1",
        "i <= -2",
        "i IS NULL",
        "s = 'ab'",
        "s > 'b'",
        "s LIKE 'a%'",
        "s < 'a'",
        "d = DATE '2024-01-02'",
        "d < DATE '1582-10-05'",
        "d = DATE '0001-01-04'",
        "t < '1582-10-05'",
        "t = '1900-01-02 00:00:01'",
        "t < '1900-01-01 00:00:30'",
        "t >= '1900-01-01 00:00:30'",
        "t = '1900-01-01 00:00:00.0005'",
        "m > 1",
        "m = 0",
        "f > 0.5",
        "isnan(f)",
        "p = 'a'",
        "p > 'a'",
        "p IS NULL",
        "n = 2",
        "n IS NULL",
        "n IN (1, 3)",
        "n <=> NULL",
        "s = 'aaaaaaaaaaaaaaa😀'",
        "i IS NOT NULL",
        "w = 0",
        f"w = {10**30}",
        f"w < {-(10**30)}",
        f"w >= {2**63}",
    ]
)


@settings(max_examples=examples(150), deadline=None)
@given(
    FILES,
    st.integers(1, 4),
    st.lists(LEAVES, min_size=1, max_size=3),
    st.sampled_from([" OR ", " AND "]),
    st.booleans(),
)
def test_skipping_changes_no_plan(files: list[Any], size: int, leaves: list[str], junction: str, negated: bool) -> None:
    where = junction.join(leaves)
    where = f"NOT ({where})" if negated else where
    with TemporaryDirectory() as directory:
        actions = [file(f"f{i}", found, p=p, n=n) for i, (found, p, n) in enumerate(files)]
        log = checkpoint(Path(directory) / "t", actions, size)
        assert kept(plan(log, where)) == kept(plan(log, where, skipping=False))
