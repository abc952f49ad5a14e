"""Whether what another writer committed is in conflict with a change: each check, alone and where it does not count."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tableformats.expressions.binding import bind
from tableformats.expressions.parse import parse_filter
from tableformats.plugin import Bounds, FileBatch, PartitionField, PartitionSpec
from tableformats.plugin.writing.table_change import CommittedChange, ConflictCheck, TableChange
from tableformats.schema import Field, Schema, primitive
from tableformats.schema.transforms import parse_transform
from tableformats.write.conflicts import ConflictFinder

SCHEMA = Schema((Field(1, "p", primitive("int")), Field(2, "x", primitive("int"))))
SPECS = {3: PartitionSpec(3, (PartitionField(1000, "p", 1, parse_transform("identity"), primitive("int")),))}
EVERY = frozenset(ConflictCheck)


class Snapshot:
    """A version whose files are in one folder."""

    def resolve_paths(self, paths: pa.Array) -> pa.Array:
        return pa.array([f"/t/{path}" for path in paths.to_pylist()], pa.string())


class Known:
    """Statistics of files: bounds of the column x, and perhaps counts."""

    def __init__(self, low: list[int | None], high: list[int | None], counts: list[int] | None = None) -> None:
        n = len(low)
        nulls = {2: pa.array([0] * n, pa.int64())}
        given = None if counts is None else pa.array(counts, pa.int64())
        lower, upper = ({2: pa.array(side, pa.int32())} for side in (low, high))
        self._bounds = Bounds(lower=lower, upper=upper, null_count=nulls, record_count=given)

    def bounds(self, columns: Any, rows: Any) -> Bounds:
        return self._bounds


def batch(partitions: list[int], statistics: Any = None, live: list[bool] | None = None) -> FileBatch:
    n = len(partitions)
    kind = pa.struct([("1000", pa.int32())])
    files = pa.record_batch(
        [
            pa.array([f"new{i}" for i in range(n)], pa.string()),
            pa.array([9] * n, pa.int64()),
            pa.array([{"1000": p} for p in partitions], kind),
        ],
        ["path", "size_bytes", "partition"],
    )
    is_live = None if live is None else np.array(live, bool)
    return FileBatch(files=files, spec_id=3, statistics=statistics, live=is_live)


def finder(read: str | None = None, checks: frozenset[ConflictCheck] = EVERY, **change: Any) -> ConflictFinder:
    condition = None if read is None else bind(parse_filter(read), SCHEMA)
    return ConflictFinder(TableChange("delete", read=condition, **change), Snapshot(), checks)  # type: ignore[arg-type]


def winner(*added: FileBatch, **more: Any) -> CommittedChange:
    return CommittedChange(7, added=added, specs=SPECS, **more)


@pytest.mark.parametrize(
    ("more", "check", "said"),
    [
        ({"metadata_changed": True}, ConflictCheck.METADATA, ConflictCheck.METADATA.value),
        ({"protocol_changed": True}, ConflictCheck.PROTOCOL, ConflictCheck.PROTOCOL.value),
        (
            {"domains": frozenset(("b", "a"))},
            ConflictCheck.DOMAINS,
            "it changed domains of the table's metadata: a, b",
        ),
    ],
)
def test_what_a_winner_may_not_change(more: dict[str, Any], check: ConflictCheck, said: str) -> None:
    assert finder()(winner(**more)) == finder(checks=frozenset((check,)))(winner(**more)) == said
    assert finder(checks=EVERY - {check})(winner(**more)) is None
    assert finder()(winner()) is None


def test_an_application_commits_a_number_once() -> None:
    for checks in (EVERY, frozenset()):
        same = finder(checks=checks, application=("app", 3))
        assert same(winner(applications={"app": 1})) == "it is of the same application 'app'"
        assert same(winner(applications={"other": 3})) is None
        assert finder(checks=checks)(winner(applications={"app": 1})) is None


def paths(*names: str) -> pa.Table:
    return pa.table({"path": pa.array(names, pa.string())})


@pytest.mark.parametrize(
    ("change", "touched", "conflicts"),
    [
        ({"removed": paths("a", "b")}, ["/t/b"], True),
        ({"removed": paths("a", "b")}, ["/t/c", "/t/a"], True),
        ({"removed": paths("a", "b")}, ["/t/c", "a"], False),
        ({"removed": paths("a")}, [], False),
        ({"removed": paths("a")}, None, False),
        ({"read_files": paths("c")}, ["/t/c"], True),
        ({"removed": paths("a"), "read_files": paths("c")}, ["/t/c"], True),
        ({"removed": paths()}, ["/t/c"], False),
        ({}, ["/t/c"], False),
    ],
)
def test_files_that_both_touch(change: dict[str, Any], touched: list[str] | None, conflicts: bool) -> None:
    won = winner(touched=None if touched is None else pa.array(touched, pa.string()))
    said = ConflictCheck.TOUCHED.value if conflicts else None
    assert finder(**change)(won) == said
    assert finder(checks=EVERY - {ConflictCheck.TOUCHED}, **change)(won) is None
    read = bind(parse_filter("true"), SCHEMA)
    assert ConflictFinder(TableChange("delete", read=read, **change), None, EVERY)(won) is None, "there was no table"


ADDED, AFTER = ConflictCheck.ADDED, ConflictCheck.ADDED_AFTER_READING


@pytest.mark.parametrize(
    ("checks", "more", "said"),
    [
        (EVERY, {}, ADDED.value),
        (frozenset((ADDED,)), {}, ADDED.value),
        (frozenset((AFTER,)), {}, ADDED.value),
        (EVERY - {ADDED, AFTER}, {}, None),
        (EVERY, {"data_change": False}, None),
        (frozenset((ADDED,)), {"is_blind_append": True}, ADDED.value),
        (frozenset((AFTER,)), {"is_blind_append": True}, None),
    ],
)
def test_rows_that_were_added(checks: frozenset[ConflictCheck], more: dict[str, Any], said: str | None) -> None:
    assert finder("p = 1", checks)(winner(batch([2, 1]), **more)) == said
    assert finder(None, checks)(winner(batch([2, 1]), **more)) is None, "nothing was read"


@pytest.mark.parametrize(
    ("read", "added", "conflicts"),
    [
        ("p = 1", [batch([2, 3])], False),
        ("p = 1", [batch([2]), batch([1])], True),
        ("p = 1", [], False),
        ("p = 1", [batch([])], False),
        ("true", [batch([2])], True),
        ("p = 1", [batch([1, 2], live=[False, True])], False),
        ("p = 1", [batch([1, 2], live=[True, False])], True),
        ("x > 5", [batch([1])], True),
        ("x > 5", [batch([1, 1], Known([0, 1], [5, 4]))], False),
        ("x > 5", [batch([1, 1], Known([0, 1], [5, 6]))], True),
        ("x > 5", [batch([1], Known([None], [None]))], True),
        ("x > 5 AND p = 2", [batch([1, 2], Known([6, 0], [9, 5]))], False),
        ("x IS NULL", [batch([1], Known([0], [5], [9]))], False),
    ],
)
def test_files_that_may_hold_a_row_that_was_read(read: str, added: list[FileBatch], conflicts: bool) -> None:
    assert finder(read)(winner(*added)) == (ADDED.value if conflicts else None)


def test_counts_that_stand_beside_the_paths() -> None:
    """All values of x are NULL where as many NULLs are counted as there are rows."""
    plain = batch([1], Known([None], [None]))
    statistics = Known([None], [None])
    statistics._bounds = Bounds(null_count={2: pa.array([4], pa.int64())})
    counted = plain.files.append_column("record_count", pa.array([4], pa.int64()))
    others = plain.files.append_column("record_count", pa.array([5], pa.int64()))
    for files, conflicts in ((counted, False), (others, True), (plain.files, True)):
        added = FileBatch(files=files, spec_id=3, statistics=statistics)  # type: ignore[arg-type]
        assert (finder("x > 5")(winner(added)) is not None) == conflicts
