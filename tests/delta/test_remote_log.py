"""The log of a table in a store: from where on it is listed, and what a hint is taken for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from tableformats_delta.log.listing import MAX_VERSION
from tableformats_delta.log.remote_log import _LONG_LOG, RemoteLog

from tableformats.plugin import FileInfo


class Store:
    """Names of files, and the content of the hint; an error is raised. Notes what is asked."""

    def __init__(self, hint: bytes | Exception, *names: str) -> None:
        self.hint, self.names = hint, sorted(names)
        self.asked: list[str | None] = []

    def join(self, *names: str) -> str:
        return "/".join(names)

    def pages(self, path: str, after: str | None) -> Iterator[Sequence[FileInfo]]:
        self.asked.append(after and after.lstrip("0"))
        yield [FileInfo(name, f"{path}/{name}", 5, 0) for name in self.names if after is None or name > after]

    def read_bytes(self, path: str) -> bytes:
        self.asked.append(path)
        if isinstance(self.hint, Exception):
            raise self.hint
        return self.hint


HINT = "_delta_log/_last_checkpoint"


def commits(start: int, stop: int) -> list[str]:
    return [f"{version:020d}.json" for version in range(start, stop)]


def checkpoint(version: int) -> str:
    return f"{version:020d}.checkpoint.parquet"


def log_of(store: Store, page: int) -> RemoteLog:
    """The log, whose first page has so many files."""
    place: Any = store
    (found,) = store.pages("_delta_log", None)
    store.asked.clear()
    return RemoteLog(place, found[:page])


@pytest.mark.parametrize(
    ("hint", "version"),
    [
        (b'{"version":0}', 0),
        (b'{"version":5,"size":1}', 5),
        (b'{"version":%d}' % MAX_VERSION, MAX_VERSION),
        (b'{"version":%d}' % (MAX_VERSION + 1), None),
        (b'{"version":-1}', None),
        (b'{"version":true}', None),
        (b'{"version":5.0}', None),
        (b'{"version":"5"}', None),
        (b'{"version":null}', None),
        (b"{}", None),
        (b"[5]", None),
        (b"5", None),
        (b"damaged", None),
        (b"\xff", None),
        (b"[" * 100_000, None),
        (FileNotFoundError(), None),
        (PermissionError(), None),
    ],
)
def test_the_version_of_a_hint(hint: bytes | Exception, version: int | None) -> None:
    assert log_of(Store(hint), 0)._hinted_version() == version


def test_a_short_log_is_listed_as_a_whole() -> None:
    store = Store(b'{"version":3}', *commits(0, _LONG_LOG - 2), checkpoint(3))
    log = log_of(store, _LONG_LOG - 1)
    assert log.expected is not None and log.expected.version == _LONG_LOG - 3
    store.names += commits(_LONG_LOG - 2, _LONG_LOG - 1)
    for _ in range(2):
        assert log.newest().latest == log.expected.version == _LONG_LOG - 2
    assert store.asked == [None, None]


@pytest.mark.parametrize("page", [_LONG_LOG, _LONG_LOG + 1])
def test_a_long_log_is_listed_from_its_checkpoint(page: int) -> None:
    """That of the hint at first, and then the newest that was found."""
    store = Store(b'{"version":950}', *commits(0, 1000), checkpoint(940), checkpoint(950), checkpoint(960))
    log = log_of(store, page)
    assert log.expected is None
    assert log.newest().latest == 999 and log.expected is not None
    assert log.newest().latest == 999
    assert store.asked == [HINT, "950", "960"]


@pytest.mark.parametrize("hint", [b'{"version":970}', b"damaged"])
def test_a_hint_that_is_of_no_use(hint: bytes) -> None:
    """The log is listed as a whole, and then from the checkpoint that was found."""
    store = Store(hint, *commits(0, 1000), checkpoint(960))
    log = log_of(store, _LONG_LOG)
    assert [log.newest().latest for _ in range(2)] == [999, 999]
    assert store.asked[-2:] == [None, "960"] and store.asked[0] == HINT


@pytest.mark.parametrize(("missing", "is_long"), [(0, True), (1, False)])
def test_a_log_that_became_long(missing: int, is_long: bool) -> None:
    """By its commits and their checksums."""
    half = _LONG_LOG // 2
    checksums = [name.replace(".json", ".crc") for name in commits(0, half - missing)]
    store = Store(b"{}", *commits(0, half), *checksums, checkpoint(7))
    log = log_of(store, 1)
    assert [log.newest().latest for _ in range(2)] == [half - 1] * 2
    assert store.asked == [None, "7" if is_long else None]
