"""What follows a commit of ours: what of it stays in memory, and when the log is listed and cleaned."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from tableformats_delta.log.listing import Checkpoint, LogFile
from tableformats_delta.maintenance import after_commit
from tableformats_delta.maintenance.after_commit import _OLDEST, _checkpoint, keep_up
from tableformats_delta.maintenance.checksum_writer import Totals
from tableformats_delta.maintenance.own_checkpoint import find_own_rows, keep_own_rows

from tableformats.io.storage import Storage
from tableformats.plugin import MetadataCache
from tests.support.delta_log import PROTOCOL, DeltaLog, add, metadata

from ..support.memory_store import MemoryStore, memory_storage

CACHE_BYTES = 1 << 20


class Steps:
    """Notes the steps of :func:`after_commit._checkpoint` instead of doing them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, times: tuple[int, ...], deleted: list[str], old: bool) -> None:
        self.done: list[Any] = []
        commits = {n: LogFile(n, f"c{n}", 1, time) for n, time in enumerate(times)}
        self.listing = SimpleNamespace(commits=commits, checkpoints={4: "the checkpoint that is listed"})
        for name, step in {
            "list_log": lambda storage: self.note("list", self.listing),
            "local_checkpoint": lambda storage, version: f"the file of {version}",
            "write_checkpoint": lambda storage, snapshot, cache, known: self.note(known),
            "keep_own_checkpoint": lambda storage, version, cache: self.note(f"keep {version}"),
            "clean_log": lambda storage, snapshot, listing: self.note("clean", deleted),
            "may_have_expired": lambda storage, snapshot, oldest_ms: self.note(oldest_ms, old),
        }.items():
            monkeypatch.setattr(after_commit, name, step)

    def note(self, step: Any, answer: Any = None) -> Any:
        self.done.append(step)
        return answer


def after_checkpoint(cache: MetadataCache, is_local: bool = True, is_of_catalog: bool = False) -> None:
    segment = SimpleNamespace(is_of_catalog=is_of_catalog)
    snapshot: Any = SimpleNamespace(segment=segment, version=4)
    store: Any = SimpleNamespace(is_local=is_local)
    _checkpoint(store, snapshot, cache)


LISTED = ["list", "the checkpoint that is listed", "keep 4", "clean"]


def test_a_log_that_is_not_known_is_listed_and_cleaned(monkeypatch: pytest.MonkeyPatch) -> None:
    cache, steps = MetadataCache(CACHE_BYTES), Steps(monkeypatch, (30, 20, 40), [], False)
    after_checkpoint(cache)
    assert steps.done == LISTED and cache.find(_OLDEST) == 20
    after_checkpoint(cache)
    assert steps.done[4:] == [20, "the file of 4", "keep 4"], "nothing has expired since"


def test_a_log_of_which_something_may_have_expired_is_listed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    cache, steps = MetadataCache(CACHE_BYTES), Steps(monkeypatch, (30,), [], True)
    cache.keep(_OLDEST, 10, 64)
    after_checkpoint(cache)
    assert steps.done == [10, *LISTED] and cache.find(_OLDEST) == 30


@pytest.mark.parametrize(
    ("times", "deleted", "is_local"), [((30,), ["c0"], True), ((30,), [], False), ((), [], True), ((), ["k0"], True)]
)
def test_times_that_are_not_kept(
    times: tuple[int, ...], deleted: list[str], is_local: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a deletion another commit is the oldest, and in a store others may delete."""
    cache, steps = MetadataCache(CACHE_BYTES), Steps(monkeypatch, times, deleted, False)
    after_checkpoint(cache, is_local)
    assert steps.done == LISTED and cache.find(_OLDEST) is None


def test_checkpoints_of_a_catalog_are_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = Steps(monkeypatch, (30,), [], False)
    after_checkpoint(MetadataCache(CACHE_BYTES), is_of_catalog=True)
    assert steps.done == []


@pytest.mark.parametrize("is_local", [True, False])
def test_a_local_commit_stays_in_memory(is_local: bool, tmp_path: Any) -> None:
    log = DeltaLog(tmp_path / "t").start()
    first = log.directory / f"{0:020d}.json"
    storage, cache = Storage(tmp_path / "t"), MetadataCache(CACHE_BYTES)
    if not is_local:
        storage = memory_storage(store := MemoryStore())
        store.files[storage.join("_delta_log", first.name)] = first.read_bytes()
    made = after_commit.Actions(protocol=PROTOCOL, metadata=metadata(), adds=[(add("a", size=5)["add"], 0)])
    keep_up(storage, None, 0, made, lambda before: log.snapshot(), cache)
    file = LogFile(0, str(first), first.stat().st_size, first.stat().st_mtime_ns // 1_000_000)
    totals = Totals(1, 5, {"setTransactions": [], "domainMetadata": []})
    assert cache.find(("totals", file)) == (totals if is_local else None)
    kept = cache.find(("commit", file))
    assert (kept.file, kept._actions) == (file, made) if is_local else kept is None


def test_rows_of_the_own_checkpoint() -> None:
    """A column that the checkpoint lacks has no actions; rows whose action is another kind's are left out."""
    rows = pa.record_batch({"txn": pa.array([{"appId": "a"}, None, {"appId": "b"}])})
    written = Checkpoint(3, (LogFile(3, "/t/3.checkpoint.parquet", 1, 1),))
    cache, storage = MetadataCache(CACHE_BYTES), memory_storage(MemoryStore())
    assert find_own_rows(storage, written, cache) is None
    keep_own_rows(written, rows, cache)
    assert find_own_rows(storage, None, cache) is None
    assert find_own_rows(storage, Checkpoint(2, written.files), cache) is None
    [file] = find_own_rows(storage, Checkpoint(3, written.files), cache) or []
    assert [*file.structs("txn")] == [{"appId": "a"}, {"appId": "b"}]
    assert [*file.structs("domainMetadata")] == []
    assert (file.schema(), file.pairs(), [*file.batches(["txn"], 1)]) == (rows.schema, {}, [rows])
