"""What of a log has expired, step by step: the limits, the checkpoint that is kept, the files, the sidecars."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from tableformats_delta.log.listing import Checkpoint, LogFile, LogListing
from tableformats_delta.maintenance import cleanup
from tableformats_delta.maintenance.cleanup import clean_log, may_have_expired
from tableformats_delta.schema.intervals import interval_of, parse_interval

import tableformats as tf

DAY = 86_400_000
NOW = 100 * DAY + 7
"""A few milliseconds after midnight."""


class Store:
    """A store whose files have times."""

    root = "/t"
    limits = tf.Limits()
    is_local = True

    def __init__(self, **sidecars: int) -> None:
        self.sidecars = sidecars
        self.deleted: list[str] = []
        self.gone: set[str] = set()

    def list(self, directory: str) -> list[Any]:
        assert directory == "/t/_delta_log/_sidecars"
        return [SimpleNamespace(path=name, mtime_ms=time) for name, time in self.sidecars.items()]

    def delete(self, path: str) -> None:
        self.deleted.append(path)

    def size_of(self, path: str) -> int | None:
        return None if path in self.gone else 1


def file(path: str, version: int = 0, time: int = 1) -> LogFile:
    return LogFile(version, path, 1, time)


def listing(times: dict[int, int], checkpoints: tuple[int, ...] = (), **more: Any) -> LogListing:
    """Commits ``c0``, checksum files ``s0``, checkpoints of two parts ``k0a`` and ``k0b``."""
    commits, checksums = ({v: file(f"{kind}{v}", v, time) for v, time in times.items()} for kind in "cs")
    parts = {v: Checkpoint(v, (file(f"k{v}a", v), file(f"k{v}b", v))) for v in checkpoints}
    return LogListing("/t/_delta_log", commits, parts, checksums=checksums, **more)


def snapshot(protocol: dict[str, Any] | None = None, **properties: str) -> Any:
    return SimpleNamespace(properties=properties, protocol=protocol or {})


@pytest.fixture(autouse=True)
def no_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cleanup, "hinted_version", lambda storage: None)
    monkeypatch.setattr(cleanup, "expand", lambda storage, checkpoint, cache: [file(f"of{checkpoint.version}")])


def cleaned(log: Any, table: Any = None, store: Any = None, now: int = NOW) -> list[str]:
    store = store or Store()
    found = clean_log(store, table or snapshot(), log, now)
    assert found == store.deleted
    return found


OLD = {0: 1 * DAY, 1: 2 * DAY, 2: 70 * DAY, 3: 99 * DAY}
"""By default what is older than day 70 has expired, at midnight."""


@pytest.mark.parametrize(
    ("checkpoints", "deleted"),
    [
        ((), []),
        ((0,), []),
        ((1,), ["c0", "s0"]),
        ((0, 1), ["c0", "s0", "k0a", "k0b"]),
        ((2,), ["c0", "c1", "s0", "s1"]),
        ((3,), []),
        ((1, 2, 3), ["c0", "c1", "s0", "s1", "k1a", "k1b"]),
    ],
)
def test_checkpoints_that_are_kept(checkpoints: tuple[int, ...], deleted: list[str]) -> None:
    """Version 2 was the newest at the limit, so it and what it needs stay."""
    assert cleaned(listing(OLD, checkpoints)) == deleted


def test_the_limit_is_a_midnight() -> None:
    late = {**OLD, 2: 70 * DAY + 1}
    assert cleaned(listing(late, (1, 2))) == ["c0", "s0"]
    assert cleaned(listing(late, (1, 2)), now=101 * DAY - 1) == ["c0", "s0"]
    assert cleaned(listing(late, (1, 2)), now=101 * DAY) == ["c0", "c1", "s0", "s1", "k1a", "k1b"]
    assert cleaned(listing({3: 70 * DAY}, (2, 3))) == ["k2a", "k2b"], "all versions have expired but the last one"
    assert cleaned(listing({3: 70 * DAY + 1}, (2, 3))) == []
    assert cleaned(listing({}, (2, 3))) == []


@pytest.mark.parametrize(
    ("properties", "deletes"),
    [
        ({}, True),
        ({"delta.enableExpiredLogCleanup": " TRUE "}, True),
        ({"delta.enableExpiredLogCleanup": "false"}, False),
        ({"delta.enableExpiredLogCleanup": ""}, False),
        ({"delta.logRetentionDuration": "interval 98 days"}, True),
        ({"delta.logRetentionDuration": "interval 99 days"}, False),
        ({"delta.logRetentionDuration": "interval 1000000 days"}, False),
        ({"delta.requireCheckpointProtectionBeforeVersion": "9"}, True),
    ],
)
def test_properties(properties: dict[str, str], deletes: bool) -> None:
    found = cleaned(listing({**OLD, 1: 2 * DAY}, (1,)), snapshot(**properties))
    assert found == (["c0", "s0"] if deletes else [])


@pytest.mark.parametrize(
    ("before", "deletes"), [(None, True), ("0", True), ("1", True), (" 1 ", True), ("2", False), ("x", False)]
)
def test_protected_versions(before: str | None, deletes: bool) -> None:
    """They are deleted all at once, or not at all."""
    properties = {} if before is None else {"delta.requireCheckpointProtectionBeforeVersion": before}
    table = snapshot({"writerFeatures": ["checkpointProtection"]}, **properties)
    assert cleaned(listing(OLD, (1,)), table) == (["c0", "s0"] if deletes else [])
    assert cleaned(listing(OLD, (1,)), snapshot({"writerFeatures": None}, **properties)) == ["c0", "s0"]


def test_what_is_left_alone() -> None:
    assert cleaned(listing(OLD, (1,), is_of_catalog=True)) == []
    assert cleaned(listing({**OLD, 3: 0}, (1,))) == [], "a time that is not known"
    assert cleaned(listing({**OLD, 0: 1}, (1,))) == ["c0", "s0"]


def test_the_order_in_which_files_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compactions first: without the commits that one stands for it would be half of them."""
    covered = {pair: file("m{}{}".format(*pair)) for pair in ((2, 4), (0, 1), (3, 4))}
    log = listing({v: DAY + v for v in (2, 0, 1)}, (1, 0, 2), compactions=covered)
    assert cleaned(log) == ["m01", "m24", "c0", "c1", "s0", "s1", "k0a", "k0b", "k1a", "k1b"]
    monkeypatch.setattr(cleanup, "hinted_version", lambda storage: 1)
    assert cleaned(log)[-2:] == ["k0a", "k0b"], "the checkpoint that the hint names stays"


def test_sidecars() -> None:
    """Those that no checkpoint names, if they were there the whole day before; 0 is a time that is not known."""
    times = {"old": 99 * DAY - 1, "young": 99 * DAY, "unknown": 0, "first": 1, "of1": 5, "of0": 6}
    store = Store(**times)
    log = listing(OLD, (0, 1))
    assert cleaned(log, store=store)[-3:] == ["k0b", "old", "first"]
    store = Store(**times)
    store.gone = {"k0a"}
    assert cleaned(log, store=store)[-3:] == ["old", "first", "of0"], "what was deleted names nothing any more"
    store = Store(**times)
    store.gone = {"k1a"}
    assert cleaned(log, store=store)[-2:] == ["old", "first"], "what is kept is read, be it there or not"
    assert cleaned(log, store=Store(young=99 * DAY))[-1] == "k0b"


def test_sidecars_of_a_checkpoint_that_is_damaged(monkeypatch: pytest.MonkeyPatch) -> None:
    def expand(*_: Any) -> Any:
        raise tf.CorruptMetadataError("damaged")

    monkeypatch.setattr(cleanup, "expand", expand)
    assert cleaned(listing(OLD, (1,)), store=Store(old=1)) == ["c0", "s0"]


def test_whether_to_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cleanup, "current_ms", lambda: NOW)
    store: Any = Store()
    assert may_have_expired(store, snapshot(), 70 * DAY) and not may_have_expired(store, snapshot(), 70 * DAY + 1)
    in_commits = snapshot(**{"delta.enableInCommitTimestamps": "false"})
    assert may_have_expired(store, in_commits, NOW), "the times of files say nothing"


# ---- intervals ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("interval 1 week", 7 * DAY),
        ("INTERVAL 2 Days", 2 * DAY),
        ("1 hour 2 minutes 3 seconds 4 milliseconds", 3_600_000 + 2 * 60_000 + 3_000 + 4),
        ("1999 microseconds", 1),
        ("interval 1 day -1 hour", 23 * 3_600_000),
        (" interval  +1  day ", DAY),
        ("0 days", 0),
        ("interval 999999999999999 microseconds", 999_999_999_999),
    ],
)
def test_intervals(text: str, milliseconds: int) -> None:
    assert parse_interval(text) == milliseconds
    assert interval_of({"p": text}, "p", None, "/t") == milliseconds


@pytest.mark.parametrize(
    "text", ["", "interval", "1", "1 month", "1 year", "day 1", "1 day x", "-1 day", "1 fortnight", "1day", "1.5 days"]
)
def test_what_is_no_interval(text: str) -> None:
    with pytest.raises(ValueError):
        parse_interval(text)
    with pytest.raises(tf.CorruptMetadataError) as caught:
        interval_of({"p": text}, "p", "interval 1 day", "/t")
    assert (caught.value.field, caught.value.path) == ("p", "/t")


def test_intervals_that_are_not_set() -> None:
    assert interval_of({}, "p", None, "/t") is None
    assert interval_of({}, "p", "interval 1 day", "/t") == DAY
