"""Pieces of every commit: tries and winners, what is said of a change, applications, sorting, orphans."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

import tableformats as tf
from tableformats.errors import CommitConflictError, CommitUnknownError, StoreError, StorePermissionError
from tableformats.io.request_meter import RequestMeter
from tableformats.io.stores.base import PutOutcome
from tableformats.plugin import Schema, WriteTarget
from tableformats.plugin.writing.write_target import SortColumn
from tableformats.write.commit_loop import (
    CommitOptions,
    commit_change,
    commit_of,
    errors_say_nothing_done,
    keep_up,
)
from tableformats.write.group_commit import GroupMember, commit_group
from tableformats.write.orphans import _as_table, _pages, _tables_below, _unnamed
from tableformats.write.sorting import sorted_target
from tableformats.write.transaction import already_committed, check_application

WON, LOST, UNKNOWN = PutOutcome.WON, PutOutcome.LOST, PutOutcome.UNKNOWN
NOW = CommitOptions(tries=3, first_wait=0.0)


class Transaction:
    """A table whose tries have ``outcomes``, and whose turns come behind others as ``overtaken`` says."""

    version = 7

    def __init__(self, *outcomes: PutOutcome, overtaken: tuple[bool, ...] = (), name: str = "") -> None:
        self.outcomes, self.overtaken, self.name = list(outcomes), list(overtaken), name
        self.done: list[str] = []

    @contextmanager
    def turn(self, change: Any) -> Iterator[bool]:
        yield self.overtaken.pop(0) if self.overtaken else False

    def winners(self) -> list[Any]:
        self.done.append("winners")
        return [SimpleNamespace(version=8), SimpleNamespace(version=9)]

    def rebase(self, change: str) -> str:
        self.done.append("rebase")
        return f"{change}'"

    def try_commit(self, change: str) -> PutOutcome:
        self.done.append(f"try {change}")
        return self.outcomes.pop(0)

    def unknown_outcome(self) -> CommitUnknownError:
        return CommitUnknownError("nobody knows")

    def after_commit(self) -> None:
        self.done.append("kept up")

    def operation_name(self, change: Any) -> str:
        return "APPEND"

    def prepare(self, change: str) -> Any:
        self.done.append(f"prepare {change}")
        writer = SimpleNamespace(commit_several=lambda updates: self.outcomes.pop(0))
        return SimpleNamespace(store=lambda: self.done.append("stored"), updates=SimpleNamespace(writer=writer))

    def settle(self, outcome: PutOutcome) -> PutOutcome:
        return self.outcomes.pop(0) if self.outcomes else outcome


def none_conflicts(winner: Any) -> None:
    return None


def test_a_try_that_won_at_once_looks_at_no_winners() -> None:
    table: Any = Transaction(WON)
    assert commit_change(table, "c", NOW, none_conflicts) == ("c", 1)  # type: ignore[arg-type]
    assert table.done == ["try c", "kept up"]


@pytest.mark.parametrize(
    ("outcomes", "overtaken", "attempts", "committed"),
    [((LOST, WON), (), 2, "c'"), ((WON,), (True,), 1, "c'"), ((LOST, LOST, WON), (True, False, True), 3, "c'''")],
)
def test_a_change_is_moved_upon_what_came_before(
    outcomes: tuple[PutOutcome, ...], overtaken: tuple[bool, ...], attempts: int, committed: str
) -> None:
    table: Any = Transaction(*outcomes, overtaken=overtaken)
    assert commit_change(table, "c", NOW, none_conflicts) == (committed, attempts)  # type: ignore[arg-type]


def test_a_winner_in_conflict_ends_the_tries() -> None:
    table: Any = Transaction(LOST, WON)
    with pytest.raises(CommitConflictError, match="version 9 of another writer is in conflict: why") as caught:
        commit_change(table, "c", NOW, lambda winner: "why" if winner.version == 9 else None)  # type: ignore[arg-type]
    assert caught.value.committed is False and "kept up" not in table.done


def test_an_unknown_outcome_says_so() -> None:
    table: Any = Transaction(UNKNOWN)
    with pytest.raises(CommitUnknownError) as caught:
        commit_change(table, "c", NOW, none_conflicts)  # type: ignore[arg-type]
    assert caught.value.committed is not False and table.done == ["try c"]


@pytest.mark.parametrize(
    ("error", "kind"),
    [(PermissionError(13, "no", "/x"), StorePermissionError), (OSError(28, "full", "/x"), StoreError)],
)
def test_errors_of_the_disk_say_that_nothing_was_done(error: OSError, kind: type[StoreError]) -> None:
    with pytest.raises(kind) as caught, errors_say_nothing_done():
        raise error
    found = caught.value
    assert type(found) is kind and found.committed is False and found.path == "/x"
    assert (found.errno, found.strerror, found.filename) == (error.errno, error.strerror, "/x")
    with pytest.raises(StoreError, match="the file system failed: odd") as plain, errors_say_nothing_done():
        raise OSError("odd")
    assert plain.value.path is None


def test_upkeep_that_fails_is_a_warning() -> None:
    table: Any = SimpleNamespace(version=7, after_commit=lambda: 1 / 0)
    with pytest.warns(RuntimeWarning, match="version 7 is committed, but upkeep of the metadata failed"):
        keep_up(table)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        keep_up(Transaction())  # type: ignore[arg-type]


def files(*rows: tuple[int | None, int]) -> pa.Table:
    counts, sizes = zip(*rows, strict=True) if rows else ((), ())
    return pa.table({"record_count": pa.array(counts, pa.int64()), "size_bytes": pa.array(sizes, pa.int64())})


@pytest.mark.parametrize(
    ("added", "removed", "counts", "metrics"),
    [
        (None, None, None, {}),
        (files((2, 10), (3, 20)), None, None, {"added_files": 2, "added_rows": 5, "added_bytes": 30}),
        (files(), None, None, {"added_files": 0, "added_rows": 0, "added_bytes": 0}),
        (files((2, 10), (None, 20)), None, None, {"added_files": 2, "added_bytes": 30}),
        (None, files((1, 7)), pa.array([4]), {"removed_files": 1, "removed_rows": 4, "removed_bytes": 7}),
        (None, files((1, 7)), None, {"removed_files": 1, "removed_bytes": 7}),
        (None, files((1, 7)), pa.array([None], pa.int64()), {"removed_files": 1, "removed_bytes": 7}),
    ],
)
@pytest.mark.parametrize("attempts", [0, 2])
def test_what_is_said_of_a_change(
    added: Any, removed: Any, counts: Any, metrics: dict[str, int], attempts: int
) -> None:
    change: Any = SimpleNamespace(added=added, removed=removed, removed_counts=counts)
    found = commit_of(Transaction(), change, attempts, more=1)  # type: ignore[arg-type]
    assert found.metrics == {**metrics, "more": 1}
    assert (found.version, found.operation, found.attempts) == (7, "APPEND", attempts)
    assert (found.timestamp is None) is (attempts == 0)


def group(*tables: Transaction, conflict: str | None = None) -> Any:
    return [GroupMember(one.name, one, "c", lambda winner: conflict) for one in tables]  # type: ignore[arg-type]


def test_several_tables_commit_at_once() -> None:
    first, second = Transaction(WON, name="b"), Transaction(name="a")
    members = group(first, second)
    assert commit_group(members, NOW) == 1 and first.done == second.done == ["prepare c", "stored", "kept up"]


def test_a_group_that_lost_is_moved_and_tried_again() -> None:
    first, second = Transaction(LOST, LOST, WON, WON, name="b"), Transaction(LOST, WON, name="a", overtaken=(True,))
    members = group(first, second)
    assert commit_group(members, NOW) == 2
    assert [member.change for member in members] == ["c'", "c''"]


@pytest.mark.parametrize(
    ("settled", "text"),
    [
        ((WON, LOST), "the catalog shows the commit in 'b', and not in all of 'b', 'a'"),
        ((UNKNOWN, UNKNOWN), "nobody can say whether 'b', 'a' were committed"),
        ((WON, UNKNOWN), "the catalog shows the commit in 'b'"),
    ],
)
def test_tables_that_do_not_agree(settled: tuple[PutOutcome, PutOutcome], text: str) -> None:
    first, second = Transaction(UNKNOWN, settled[0], name="b"), Transaction(settled[1], name="a")
    with pytest.raises(CommitUnknownError, match=text) as caught:
        commit_group(group(first, second), NOW)
    assert "b: nobody knows. a: nobody knows." in str(caught.value.hint) and "kept up" not in first.done


def test_one_table_that_never_will_hold_the_commit_says_it_for_all() -> None:
    first = Transaction(UNKNOWN, UNKNOWN, WON, WON, name="b")
    second = Transaction(LOST, WON, name="a")
    assert commit_group(group(first, second), NOW) == 2


@pytest.mark.parametrize("given", [("a", 1), ["a", 0], None])
def test_applications(given: Any) -> None:
    assert check_application(given) == (given and tuple(given))


@pytest.mark.parametrize("given", ["a", ("a",), ("a", 1, 2), ("", 1), (1, 1), ("a", "1"), ("a", True), ("a", 1.0), 5])
def test_what_is_no_application(given: Any) -> None:
    with pytest.raises(TypeError, match="application is"):
        check_application(given)


@pytest.mark.parametrize(("newest", "done"), [(None, False), (4, False), (5, True), (6, True)])
def test_what_an_application_committed_before(newest: int | None, done: bool) -> None:
    table: Any = SimpleNamespace(application_version=lambda name: newest)
    assert already_committed(table, ("a", 5)) is done and not already_committed(table, None)


SCHEMA = Schema.from_arrow(pa.schema([("a", pa.int64()), ("b desc", pa.int64()), ("l", pa.list_(pa.int64()))]))


@pytest.mark.parametrize(
    ("names", "order"),
    [
        (["a"], [(1, False, True)]),
        (["a asc"], [(1, False, True)]),
        (["a DESC", "b desc"], [(1, True, False), None]),
        (["a  desc"], [(1, True, False)]),
        (["b desc asc"], [(2, False, True)]),
        (["b desc desc"], [(2, True, False)]),
    ],
)
def test_the_order_of_rows(names: list[str], order: list[Any]) -> None:
    target = WriteTarget(SCHEMA)
    if None in order:
        with pytest.raises(tf.ConstraintViolationError, match="columns that are not nested") as caught:
            sorted_target(target, names)
        assert caught.value.field == "b"
        return
    assert sorted_target(target, names).sort_by == tuple(SortColumn(*one) for one in order)
    assert sorted_target(target, ()) is target
    for wrong in ("x", "l", "l desc", ""):
        with pytest.raises(tf.ConstraintViolationError):
            sorted_target(target, [wrong])


def file(path: str, size: int = 1, time: int = 5) -> Any:
    return SimpleNamespace(name=path.rpartition("/")[2], path=path, size=size, mtime_ms=time)


def test_files_that_are_named_under_another_path() -> None:
    named = [pa.array(["/t/a", "/t/x/b"]), pa.array(["/link/c", "/tt/d"])]
    found = _unnamed([file(f"/t/{name}") for name in ("a", "x/b", "b", "c", "y/d", "e")], named, "/t/")
    assert [one.path for one in found] == ["/t/b", "/t/e"]


def test_tables_below_a_table() -> None:
    def format_with(end: str) -> Any:
        return SimpleNamespace(table_above=lambda path: path.removesuffix(end) if path.endswith(end) else None)

    formats = {"one": format_with("_log"), "two": format_with("meta")}
    assert set(_tables_below(["a/b/_log", "c/meta", "d"], "one", formats, "/t")) == {"a/b//", "c//"}
    assert _tables_below(["_log"], "one", formats, "/t") == ()
    with pytest.raises(tf.UnsupportedFeatureError, match="also holds a table of the format two") as caught:
        _tables_below(["meta"], "one", formats, "/t")
    assert caught.value.path == "/t"


def test_orphans_are_listed_by_path() -> None:
    found = _as_table([file("/t/b", 2, 1_000), file("/t/a", 3, 2_000)])
    assert found["path"].to_pylist() == ["/t/a", "/t/b"] and found["size_bytes"].to_pylist() == [3, 2]
    assert [str(time) for time in found["modified"].to_pylist()] == [
        "1970-01-01 00:00:02+00:00",
        "1970-01-01 00:00:01+00:00",
    ]


def test_pages_of_a_store_are_requests_one_after_the_other() -> None:
    store = SimpleNamespace(below=lambda directory: iter([[f"{directory}/a"], [], [f"{directory}/b"]]))
    storage: Any = SimpleNamespace(is_local=False, meter=RequestMeter(), store_of=lambda path: store)
    assert list(_pages(storage, "s3://b/t")) == [["s3://b/t/a"], [], ["s3://b/t/b"]]
    assert storage.meter.now() == (3, 0, 3)
