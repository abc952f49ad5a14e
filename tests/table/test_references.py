"""What the verbs of branches and tags ask a format for."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from tableformats.plugin.writing.table_change import MetadataChange, ReferenceChange
from tableformats.table.reference_verbs import ReferenceVerbs

NEWEST = 9
HOUR = dt.timedelta(hours=1)


class Table(ReferenceVerbs):
    """A table that remembers what it is asked for. Versions are their own names."""

    def __init__(self) -> None:
        self._opened: Any = SimpleNamespace(
            picking=lambda version, staged: ("picked", version, staged), restoring=lambda version: ("restored", version)
        )
        self.asked: list[Any] = []

    @contextmanager
    def transaction(self, **options: Any) -> Iterator[Any]:  # type: ignore[override]
        yield SimpleNamespace(alter=lambda *change: self.asked.append((*change, options)), commit="done")

    def snapshot(self, version: Any = None, *, timestamp: Any = None) -> Any:
        return SimpleNamespace(version=NEWEST if version is None and timestamp is None else version or timestamp)


Call = Callable[[Table], Any]


@pytest.mark.parametrize(
    ("call", "verb", "wanted"),
    [
        (lambda t: t.create_branch("a"), "create_branch", ReferenceChange("branch", NEWEST, False)),
        (
            lambda t: t.create_branch("a", 7, max_age=HOUR, min_versions=1, max_version_age=1),
            "create_branch",
            ReferenceChange("branch", 7, False, 3_600_000, 1, 1),
        ),
        (lambda t: t.create_tag("a", 7, max_age=1), "create_tag", ReferenceChange("tag", 7, False, 1)),
        (lambda t: t.replace_branch("a"), "replace_branch", ReferenceChange("branch", None, True)),
        (lambda t: t.replace_branch("a", 7), "replace_branch", ReferenceChange("branch", 7, True)),
        (
            lambda t: t.replace_branch("a", min_versions=5, max_version_age=HOUR),
            "replace_branch",
            ReferenceChange("branch", None, True, None, 5, 3_600_000),
        ),
        (lambda t: t.replace_tag("a"), "replace_tag", ReferenceChange("tag", None, True)),
        (lambda t: t.replace_tag("a", 7, max_age=2), "replace_tag", ReferenceChange("tag", 7, True, 2)),
        (
            lambda t: t.fast_forward("a", 7),
            "fast_forward",
            ReferenceChange("branch", 7, True, only_forward=True),
        ),
        (lambda t: t.remove_branch("a"), "remove_branch", ReferenceChange("branch", is_removed=True)),
        (lambda t: t.remove_tag("a"), "remove_tag", ReferenceChange("tag", is_removed=True)),
    ],
)
def test_what_a_branch_or_tag_becomes(call: Call, verb: str, wanted: ReferenceChange) -> None:
    table = Table()
    assert call(table) == "done"
    assert table.asked == [(MetadataChange(references={"a": wanted}), {"verb": verb, "name": "a"}, {})]


@pytest.mark.parametrize(
    ("call", "change", "parameters", "options"),
    [
        (
            lambda t: t.cherry_pick(7),
            ("picked", 7, None),
            {"verb": "cherry_pick", "version": 7, "staged_id": None},
            None,
        ),
        (
            lambda t: t.publish("w", branch="b", tries=3),
            ("picked", None, "w"),
            {"verb": "publish", "version": None, "staged_id": "w"},
            {"branch": "b", "tries": 3},
        ),
        (lambda t: t.restore(7), ("restored", 7), {"verb": "restore", "version": 7}, {}),
        (lambda t: t.restore(timestamp=5), ("restored", 5), {"verb": "restore", "version": 5}, {}),
    ],
)
def test_versions_that_are_taken(call: Call, change: Any, parameters: Any, options: Any) -> None:
    table = Table()
    assert call(table) == "done"
    assert table.asked == [(change, parameters, {"branch": None} if options is None else options)]


@pytest.mark.parametrize(
    ("call", "kind", "said"),
    [
        (lambda t: t.create_tag(""), TypeError, "a branch or tag has a name, not ''"),
        (lambda t: t.remove_branch(5), TypeError, "a branch or tag has a name, not 5"),
        (lambda t: t.restore(), TypeError, "restore takes a version or a timestamp"),
        (lambda t: t.restore(7, timestamp=5), TypeError, "restore takes a version or a timestamp"),
        (lambda t: t.create_branch("a", min_versions=0), ValueError, "min_versions is positive, not 0"),
        (lambda t: t.create_branch("a", min_versions=True), TypeError, "min_versions is a number, not True"),
        (lambda t: t.create_branch("a", min_versions="1"), TypeError, "min_versions is a number, not '1'"),
        (lambda t: t.create_branch("a", max_age=-1), ValueError, "max_age is positive, not -1"),
        (lambda t: t.create_branch("a", max_version_age=0), ValueError, "max_version_age is positive, not 0"),
        (lambda t: t.create_tag("a", max_age=True), TypeError, "max_age is a timedelta or a number"),
        (lambda t: t.replace_tag("a", max_age=1.5), TypeError, "max_age is a timedelta or a number"),
        (
            lambda t: t.replace_tag("a", max_age=dt.timedelta(microseconds=999)),
            ValueError,
            "max_age is positive, not 0",
        ),
    ],
)
def test_arguments_that_say_nothing(call: Call, kind: type[Exception], said: str) -> None:
    table = Table()
    with pytest.raises(kind, match=said):
        call(table)
    assert table.asked == []
