"""Several writers of one Iceberg table: lost races, lost answers, conflicts, killed processes."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import random
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tableformats_iceberg.format import IcebergFormat
from tableformats_iceberg.write import swap

import tableformats as tf
from tableformats.io.storage import Storage
from tableformats.plugin import OpenOptions, PutOutcome
from tests.support.iceberg_writing import metadata_of, new_table, newest, pyiceberg_rows, pyiceberg_table, schema_of
from tests.support.memory_store import ROOT, MemoryStore, memory_storage
from tests.support.processes import processes

SIMPLE = schema_of(id="long", s="string")


def ids(folder: Path) -> list[int]:
    return sorted(row["id"] for row in pyiceberg_rows(folder))


def rows(*values: int, s: str = "a") -> pa.Table:
    return pa.table({"id": list(values), "s": [s] * len(values)})


# ---- a store that loses answers -------------------------------------------------------------------------------------


def memory_table(
    tmp_path: Path, *faults: str, properties: dict[str, str] | None = None
) -> tuple[tf.Table, MemoryStore]:
    store = MemoryStore()
    folder = new_table(tmp_path / "t", SIMPLE, 2, (), properties)
    metadata = {**json.loads((folder / "metadata" / "v1.metadata.json").read_text()), "location": ROOT}
    store.files[f"{ROOT}/metadata/v1.metadata.json"] = json.dumps(metadata).encode()
    storage = memory_storage(store)
    table = tf.Table(IcebergFormat().open(storage, OpenOptions()), storage)
    table.append(rows(1))
    store.faults = list(faults)
    return table, store


@pytest.mark.parametrize("fault", ["lost", "taken", "dropped", "refused"])
def test_a_lost_answer_neither_loses_nor_repeats_a_commit(tmp_path: Path, fault: str) -> None:
    table, store = memory_table(tmp_path, fault)
    commit = table.append(rows(2))
    assert (commit.attempts, store.faults) == (1, [])
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [1, 2]
    assert sum(name.endswith(".metadata.json") for name in store.files) == 3


def test_an_unknown_outcome_keeps_all_files(tmp_path: Path) -> None:
    table, store = memory_table(tmp_path, "lost")

    def away(path: str) -> None:
        store.unreadable = True

    store.before_put = away
    with pytest.raises(tf.CommitUnknownError):
        table.append(rows(2))
    store.unreadable, store.before_put = False, lambda path: None
    assert sorted(table.refresh().scan().to_arrow()["id"].to_pylist()) == [1, 2], "it had landed"


def test_what_certainly_lost_is_deleted(tmp_path: Path) -> None:
    table, store = memory_table(tmp_path)
    before = {name for name in store.files if name.endswith(".parquet")}

    def always_first(path: str) -> None:
        store.files.setdefault(path, store.files[f"{ROOT}/metadata/v2.metadata.json"])

    store.before_put = always_first
    with pytest.raises(tf.CommitConflictError, match="3 races"):
        table.append(rows(2), tries=3)
    assert {name for name in store.files if name.endswith(".parquet")} == before
    assert sum("snap-" in name for name in store.files) == 1, "lists of lost tries"


# ---- conflicts ------------------------------------------------------------------------------------------------------


def begun(tmp_path: Path, version: int = 2, **options: Any) -> tuple[Path, tf.Table]:
    folder = new_table(tmp_path / "t", SIMPLE, version, ["s"], {"commit.manifest.min-count-to-merge": "3"})
    table = tf.open_table(str(folder))
    table.append(pa.table({"id": [1, 2, 3, 4], "s": ["a", "a", "b", "b"]}))
    return folder, table


CONFLICTS: list[tuple[Callable[[Any], Any], Callable[[Any], Any], bool]] = [
    (lambda t: t.append(rows(9)), lambda t: t.overwrite(rows(7)), False),
    (lambda t: t.delete("id = 1"), lambda t: t.append(rows(9, s="b")), False),
    (lambda t: t.delete("id = 1"), lambda t: t.append(rows(1, s="b")), True),
    (lambda t: t.delete("id = 1"), lambda t: t.delete("id = 3"), False),
    (lambda t: t.delete("id = 1"), lambda t: t.delete("id = 2"), True),
    (lambda t: t.delete("s = 'a'"), lambda t: t.delete("s = 'a'"), True),
    (lambda t: t.delete("s = 'a'"), lambda t: t.delete("s = 'b'"), False),
    (lambda t: t.overwrite(rows(9)), lambda t: t.append(rows(8)), True),
    (lambda t: t.overwrite(rows(9), "s = 'a'"), lambda t: t.append(rows(8, s="b")), False),
    (lambda t: t.overwrite(rows(9), "dynamic"), lambda t: t.append(rows(8, s="b")), False),
    (lambda t: t.overwrite(rows(9), "dynamic"), lambda t: t.append(rows(8, s="a")), True),
]


@pytest.mark.parametrize("number", range(len(CONFLICTS)))
def test_conflicts(tmp_path: Path, number: int) -> None:
    """A transaction that read before another one committed: it sees the same as alone, or nothing is committed."""
    ours, theirs, is_conflict = CONFLICTS[number]
    folder, table = begun(tmp_path, version=number % 3 + 1)
    other = tf.open_table(str(folder))
    transaction = table.transaction()
    with pytest.raises(tf.CommitConflictError) if is_conflict else contextlib.nullcontext(), transaction:
        ours(transaction)
        theirs(other)
        after_theirs = ids(folder)
    if is_conflict:
        assert ids(folder) == after_theirs
        assert tf.open_table(str(folder)).snapshot().version == other.snapshot().version
    else:
        assert transaction.commit is not None and transaction.commit.attempts == 2
    live = {path.rpartition("/")[2] for path in pyiceberg_table(folder).inspect.files()["file_path"].to_pylist()}
    assert live <= {path.name for path in (folder / "data").rglob("*.parquet")}


def test_under_snapshot_isolation_added_rows_are_no_conflict(tmp_path: Path) -> None:
    folder, table = begun(tmp_path)
    with table.transaction(isolation="snapshot") as transaction:
        transaction.delete("id = 1")
        tf.open_table(str(folder)).append(rows(1, s="c"))
    assert ids(folder) == [1, 2, 3, 4]
    with pytest.raises(tf.CommitConflictError), table.transaction(isolation="snapshot") as transaction:
        transaction.delete("id = 2")
        tf.open_table(str(folder)).delete("id = 2")


def test_the_isolation_of_the_table(tmp_path: Path) -> None:
    folder, table = begun(tmp_path)
    file = newest(folder)
    properties = {"write.delete.isolation-level": "snapshot"}
    file.write_text(json.dumps({**json.loads(file.read_text()), "properties": properties}))
    table = tf.open_table(str(folder))
    with table.transaction() as transaction:
        transaction.delete("id = 1")
        tf.open_table(str(folder)).append(rows(1, s="c"))
    assert ids(folder) == [1, 2, 3, 4]


def rolled_back(folder: Path, version: int, snapshots: list[int]) -> None:
    """Another writer goes back to the first snapshot, and leaves only these snapshots."""
    first = json.loads((folder / "metadata" / "v2.metadata.json").read_text())
    now = metadata_of(folder)
    kept = [one for index, one in enumerate(now["snapshots"]) if index in snapshots]
    back = {**now, "current-snapshot-id": first["current-snapshot-id"], "refs": first["refs"], "snapshots": kept}
    (folder / "metadata" / f"v{version}.metadata.json").write_text(json.dumps(back))


def test_a_rollback_is_a_conflict_of_what_reads_rows(tmp_path: Path) -> None:
    folder, table = begun(tmp_path)
    table.append(rows(5))
    with pytest.raises(tf.CommitConflictError, match="no ancestor"), table.transaction() as transaction:
        transaction.delete("id = 5")
        rolled_back(folder, 4, [0, 1])
    table = tf.open_table(str(folder))
    table.append(rows(6))
    with table.transaction() as transaction:
        transaction.append(rows(7))
        rolled_back(folder, 6, [0, 1, 2])
    assert ids(folder) == [1, 2, 3, 4, 7]


def expire_all_but_newest(folder: Path) -> None:
    file, now = newest(folder), metadata_of(folder)
    file.write_text(json.dumps({**now, "snapshots": now["snapshots"][-1:], "snapshot-log": now["snapshot-log"][-1:]}))


def test_a_snapshot_that_expired_hinders_only_what_reads_it(tmp_path: Path) -> None:
    """An append needs nothing of the snapshot that it read. Of an application, whose number may be in what is gone."""
    folder, table = begun(tmp_path)
    verbs: list[tuple[Callable[[Any], Any], dict[str, Any], int | None]] = [
        (lambda t: t.append(rows(9)), {}, 2),
        (lambda t: t.append(rows(9)), {"application": ("a", 1)}, None),
        (lambda t: t.delete("id = 1"), {}, None),
    ]
    for verb, options, attempts in verbs:
        transaction = tf.open_table(str(folder)).transaction(**options)
        verb(transaction)
        for _ in range(2):
            table.append(rows(8))
        expire_all_but_newest(folder)
        if attempts is not None:
            assert transaction._finish().attempts == attempts
            continue
        with pytest.raises(tf.CommitConflictError, match=r"expired\. Nothing was committed") as caught:
            transaction._finish()
        assert caught.value.committed is False
    assert ids(folder) == [1, 2, 3, 4, *[8] * 6, 9]


def test_replaced_columns_are_a_conflict(tmp_path: Path) -> None:
    folder, table = begun(tmp_path)
    with pytest.raises(tf.CommitConflictError), table.transaction() as transaction:
        transaction.append(rows(7))
        tf.write_table(pa.table({"id": [1.5], "s": ["a"]}), str(folder), format="iceberg", mode="replace")


def test_a_column_that_is_dropped_and_added_again_is_a_conflict(tmp_path: Path) -> None:
    folder, table = begun(tmp_path)
    with pytest.raises(tf.CommitConflictError, match="replaced the column 's'"), table.transaction() as transaction:
        transaction.append(rows(7))
        other = tf.open_table(str(folder))
        other.alter.set_partitioning()
        other.alter.drop_columns("s")
        other.alter.add_columns({"s": "string"})


def test_replaced_rows_are_none_to_an_append(tmp_path: Path) -> None:
    folder, table = begun(tmp_path)
    with table.transaction() as transaction:
        transaction.append(rows(7))
        tf.write_table(rows(1), str(folder), format="iceberg", mode="replace")
    assert ids(folder) == [1, 7]
    with pytest.raises(tf.CommitConflictError), table.refresh().transaction() as transaction:
        transaction.delete("id = 7")
        tf.write_table(rows(1), str(folder), format="iceberg", mode="replace")


def test_damage_that_is_met_after_a_lost_race_says_that_nothing_was_committed(tmp_path: Path) -> None:
    folder, table = begun(tmp_path)
    files = set((folder / "data").rglob("*.parquet"))
    with pytest.raises(tf.CorruptMetadataError, match="Nothing was committed") as caught, table.transaction() as txn:
        txn.append(rows(7))
        (folder / "metadata" / "v3.metadata.json").write_text("{")
    assert caught.value.committed is False
    assert set((folder / "data").rglob("*.parquet")) == files, "the files of what certainly lost are deleted"


def test_a_disk_that_is_full_says_that_nothing_was_committed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, table = begun(tmp_path)

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "/disk/x")

    with monkeypatch.context() as patch:
        patch.setattr(Storage, "put_new", full)
        with pytest.raises(tf.StoreError, match=r"No space left on device.*/disk/x.*Nothing was committed") as caught:
            table.append(rows(7))
    assert (caught.value.committed, caught.value.errno) == (False, errno.ENOSPC)
    with monkeypatch.context() as patch:
        patch.setattr(swap.DirectorySwap, "_is_overtaken", full)
        with pytest.raises(tf.CommitUnknownError) as unknown:
            table.append(rows(7))
    assert unknown.value.committed is None and ids(folder) == [1, 2, 3, 4, 7]


def test_an_application_commits_a_number_once(tmp_path: Path) -> None:
    folder, table = begun(tmp_path)
    assert table.append(rows(5), application=("job", 7)).attempts == 1
    assert table.append(rows(5), application=("job", 7)).attempts == 0
    assert tf.open_table(str(folder)).append(rows(6), application=("job", 8)).attempts == 1
    assert ids(folder) == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(("number", "other", "attempts"), [(7, 7, 0), (7, 8, 0), (8, 7, None), (7, None, 2)])
def test_an_application_commits_a_number_once_in_a_race(
    tmp_path: Path, number: int, other: int | None, attempts: int | None
) -> None:
    """Another try of the same application wins between the begin of a transaction and its commit."""
    folder, table = begun(tmp_path)
    transaction = table.transaction(application=("job", number))
    with contextlib.nullcontext() if attempts is not None else pytest.raises(tf.CommitConflictError), transaction:
        transaction.append(rows(5))
        tf.open_table(str(folder)).append(rows(6), application=("other" if other is None else "job", other or 7))
    assert ids(folder) == [1, 2, 3, 4, *([5] if attempts == 2 else []), 6]
    assert attempts is None or (transaction.commit is not None and transaction.commit.attempts == attempts)


def test_a_name_that_was_deleted_is_not_taken_again(tmp_path: Path) -> None:
    """Others may commit so often that the file after the one that we read is deleted. It is not free then."""
    properties = {
        "write.metadata.previous-versions-max": "1",
        "write.metadata.delete-after-commit.enabled": "true",
    }
    folder = new_table(tmp_path / "t", SIMPLE, 2, (), properties)
    table, other = (tf.open_table(str(folder)) for _ in range(2))
    with table.transaction() as transaction:
        transaction.append(rows(100))
        for number in range(5):
            other.append(rows(number))
        assert not (folder / "metadata" / "v2.metadata.json").exists()
    assert ids(folder) == [0, 1, 2, 3, 4, 100]
    assert transaction.commit is not None and transaction.commit.attempts == 2


# ---- processes ------------------------------------------------------------------------------------------------------


def _append(root: str, writer: int, count: int) -> None:
    table = tf.open_table(root)
    for number in range(count):
        table.append(rows(writer * 1000 + number))


def test_processes_that_append_at_once_lose_nothing(tmp_path: Path) -> None:
    folder = new_table(tmp_path / "t", SIMPLE, 2, (), {"commit.manifest.min-count-to-merge": "5"})
    with processes().Pool(3) as pool:
        pool.starmap(_append, [(str(folder), writer, 8) for writer in range(3)])
    assert ids(folder) == sorted(w * 1000 + n for w in range(3) for n in range(8))
    snapshots = pyiceberg_table(folder).snapshots()
    assert [s.sequence_number for s in snapshots] == list(range(1, 25))
    assert [s.parent_snapshot_id for s in snapshots][1:] == [s.snapshot_id for s in snapshots][:-1]


def _append_for_ever(root: str) -> None:
    table = tf.open_table(root)
    for number in range(10**6):
        table.append(rows(*[number] * 7))


@pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL")
def test_a_writer_that_is_killed_leaves_whole_commits(tmp_path: Path) -> None:
    folder = new_table(tmp_path / "t", SIMPLE, 2, (), {"commit.manifest.min-count-to-merge": "3"})
    table, moments = tf.open_table(str(folder)), random.Random(27)
    for _ in range(3):
        before = newest(folder)
        writer = processes().Process(target=_append_for_ever, args=(str(folder),))
        writer.start()
        while newest(folder) == before and writer.is_alive():
            time.sleep(0.01)
        time.sleep(moments.uniform(0, 0.1))
        assert writer.is_alive()
        writer.kill()
        writer.join()
    commits = len(metadata_of(folder)["snapshots"])
    assert commits >= 3 and len(ids(folder)) == 7 * commits == tf.open_table(str(folder)).count()
    table.append(rows(1))
    assert len(ids(folder)) == 7 * commits + 1, "what the killed left hinders nobody"


def test_an_unknown_outcome_says_how_to_find_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the snapshot, and every file that it has stays."""
    table = tf.create_table(tmp_path / "t", pa.schema([("id", pa.int64())]), format="iceberg")
    monkeypatch.setattr(swap, "put_exclusively", lambda *_: PutOutcome.UNKNOWN)
    with pytest.raises(tf.CommitUnknownError) as caught:
        table.append(pa.table({"id": [1]}))
    (snapshot_id,) = re.findall(r"the snapshot (\d+) was committed", str(caught.value))
    assert f"{snapshot_id} is in table.refresh().inspect.snapshots()" in str(caught.value)
    assert len(list((tmp_path / "t" / "data").rglob("*.parquet"))) == 1
    stored = {path.name for path in (tmp_path / "t" / "metadata").glob("*.avro")}
    assert len(stored) == 2 and any(name.startswith(f"snap-{snapshot_id}-") for name in stored)
    with pytest.raises(tf.CommitUnknownError, match="the metadata were changed"):
        table.alter.set_properties({"a": "b"})
