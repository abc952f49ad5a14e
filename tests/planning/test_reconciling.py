"""Which rows of a log's batches are live: the newest reference of a file decides."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tableformats.planning.reconciler import Reconciler, keys_of


def batch(*keys: str, live: list[bool] | None = None, inserts: bool = True, errors: Any = None) -> Any:
    return SimpleNamespace(
        keys=pa.array([key.encode() for key in keys], pa.binary()),
        live=None if live is None else np.array(live),
        insert_keys=inserts,
        row_errors=errors,
    )


def rows(reconciler: Reconciler, given: Any) -> list[int] | None:
    found, hashes = reconciler.live(given)
    if hashes is not None:
        assert len(hashes) == (len(given.keys) if found is None else len(found)) and hashes.dtype == np.uint64
    return None if found is None else found.tolist()


@pytest.mark.parametrize("seed", [None, bytes(32)])
def test_the_first_row_of_a_key_decides(seed: bytes | None) -> None:
    reconciler = Reconciler(seed)
    assert not reconciler.has_keys
    assert rows(reconciler, batch("a", "b")) is None and reconciler.has_keys
    assert rows(reconciler, batch("b", "c", "a", "c")) == [1]
    assert rows(reconciler, batch("d", "e", live=[False, True])) == [1], "a removal decides and is not live"
    assert rows(reconciler, batch("d", "f")) == [1]
    assert rows(reconciler, batch("g", "a", inserts=False)) == [0]
    assert rows(reconciler, batch("g", "h", inserts=False)) is None, "these keys decide about no others"
    assert rows(reconciler, batch("h", live=[True])) is None
    assert rows(reconciler, batch()) is None


@pytest.mark.parametrize("seed", [None, bytes(32)])
def test_hashes_are_given_out_with_a_seed(seed: bytes | None) -> None:
    reconciler = Reconciler(seed)
    for inserts in (True, False):
        _, hashes = reconciler.live(batch("a" + str(inserts), inserts=inserts))
        assert (hashes is None) is (seed is None)


def test_batches_without_keys() -> None:
    reconciler = Reconciler(None)
    for live, found in ((None, None), ([True, False, True], [0, 2])):
        given = SimpleNamespace(keys=None, live=None if live is None else np.array(live), row_errors=None)
        rows_, hashes = reconciler.live(given)  # type: ignore[arg-type]
        assert (None if rows_ is None else rows_.tolist(), hashes) == (found, None)


def test_damaged_rows_that_are_live_are_errors() -> None:
    told: list[Any] = []
    errors = SimpleNamespace(raise_if_live=told.append)
    reconciler = Reconciler(None)
    reconciler.live(batch("a", "b", errors=errors))
    reconciler.live(batch("b", "c", errors=errors))
    assert told[0] is None and told[1].tolist() == [1]


class Part:
    """A part of a log that adds keys."""

    def __init__(self, *batches: Any, adds: bool = True) -> None:
        self.batches, self.adds, self.reads = batches, adds, 0

    def read(self, report: Any) -> Any:
        self.reads += 1
        return iter(self.batches)


def test_keys_of_parts_that_were_not_read_are_added_once() -> None:
    without = SimpleNamespace(keys=None)
    parts: Any = [Part(batch("a"), without, batch("b")), Part(batch("c")), Part(batch("d"))]
    assert [key.to_pylist() for key in keys_of(parts)] == [[b"a"], [b"b"], [b"c"], [b"d"]]
    for part in parts:
        part.reads = 0
    reconciler = Reconciler(None)
    reconciler.catch_up(parts[:2])
    reconciler.catch_up(parts)
    assert [part.reads for part in parts] == [1, 1, 1]
    assert rows(reconciler, batch("a", "b", "c", "d", "e")) == [4]
    other = Reconciler(None)
    other.finish(parts[0])
    other.finish(Part(adds=False))  # type: ignore[arg-type]
    other.catch_up(parts[:2])
    assert [part.reads for part in parts] == [1, 2, 1], "the first was read elsewhere"
