"""Pickles of tables, snapshots, scans, plans and tasks: the same answers in another process of the same release."""

from __future__ import annotations

import multiprocessing
import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tableformats as tf
from tableformats.limits import Limits
from tableformats.runtime import pickling

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
TABLES = [
    "tables/delta-evolved",
    "tables/iceberg-evolved",
    "tables_jvm/delta-deletion-vectors",
    "tables_jvm/delta-v2-checkpoint",
    "tables_jvm/iceberg-equality-deletes",
    "tables_jvm/iceberg-position-deletes",
]
FILTER = "id > 2"


def opened(name: str, **options: Any) -> tf.Table:
    return tf.open_table(GOLDEN / name / "table", relocate="iceberg" in name, **options)


def sent(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


def rows(scan: Any) -> list[str]:
    return sorted(map(str, scan.to_arrow().to_pylist()))


@pytest.mark.parametrize("name", TABLES)
def test_the_same_answers(name: str) -> None:
    scan = opened(name).scan(FILTER)
    plan, expected = scan.plan(), rows(scan)
    assert rows(sent(scan.snapshot.table).scan(FILTER)) == expected
    assert rows(sent(scan.snapshot).scan(FILTER)) == expected
    assert rows(sent(scan)) == expected
    there = sent(plan)
    assert rows(there) == expected and there.files.equals(plan.files) and there.file_uris() == plan.file_uris()
    assert there.explain() == plan.explain() and repr(there) == repr(plan) and there.residual == plan.residual
    assert there.keep_mask("id > 5").tolist() == plan.keep_mask("id > 5").tolist()
    assert len(there.splits()) == len(plan.splits())
    assert sorted(map(str, plan.to_arrow(sent(list(plan.tasks()))).to_pylist())) == expected
    assert rows(sent(there)) == expected
    assert sent(sent(scan.snapshot)).scan(FILTER).plan().files.equals(plan.files)


@pytest.mark.parametrize("name", TABLES)
def test_slices_take_no_more_than_their_rows(name: str) -> None:
    """What plans share with what is kept between them stays behind."""
    plan = opened(name).scan(FILTER).plan()
    size, n = len(pickle.dumps(plan)), len(plan)
    plan.survivors = pa.concat_tables([plan.survivors] * 2000).combine_chunks().slice(0, n)
    deletes = plan.delete_files
    plan.delete_files = replace(
        deletes, files=pa.concat_tables([deletes.files] * 2000).combine_chunks().slice(0, deletes.files.num_rows)
    )
    assert len(pickle.dumps(plan)) < 2 * size
    assert sent(plan).files.equals(plan.files)


@pytest.mark.parametrize("name", TABLES)
def test_every_version(name: str) -> None:
    table = opened(name)
    for version in table.history()["version"].to_pylist():
        scan = table.scan(version=version)
        assert rows(sent(scan)) == rows(scan), version


def test_ranges() -> None:
    changes = opened("tables_jvm/delta-change-feed").changes(1, 2)
    assert rows(sent(changes)) == rows(changes) == rows(sent(changes.plan()))
    table = opened("tables_jvm/iceberg-refs")
    ids = table.history()["version"].to_pylist()
    appended = table.incremental_append_scan(None, ids[-1])
    assert rows(sent(appended)) == rows(appended)


def _answer(value: Any) -> tuple[list[str], str]:
    found = value.scan(FILTER) if isinstance(value, tf.Snapshot) else value
    return rows(found), repr(value)


@pytest.mark.parametrize("name", TABLES[:2])
def test_other_processes(name: str) -> None:
    """One that shares nothing with this one."""
    scan = opened(name, limits=Limits(nesting=20)).scan(FILTER)
    values: list[Any] = [scan.snapshot, scan, scan.plan()]
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(_answer, values) == [_answer(value) for value in values]


MAKERS: dict[str, Callable[[tf.Scan], Any]] = {
    "Table": lambda scan: scan.snapshot.table,
    "Snapshot": lambda scan: scan.snapshot,
    "Scan": lambda scan: scan,
    "ScanPlan": lambda scan: scan.plan(),
    "ScanTask": lambda scan: next(scan.plan().tasks()),
    "Storage": lambda scan: scan.snapshot.storage,
}


@pytest.mark.parametrize("name", MAKERS)
def test_pickles_of_another_form_are_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    value = MAKERS[name](opened(TABLES[0]).scan())
    data = pickle.dumps(value)
    assert type(pickle.loads(data)) is type(value)
    monkeypatch.setattr(pickling, "PICKLE_FORMAT", pickling.PICKLE_FORMAT + 1)
    with pytest.raises(tf.UnsupportedFeatureError, match=f"this {name} was pickled in form") as caught:
        pickle.loads(data)
    assert caught.value.hint


def test_a_snapshot_that_is_gone_is_not_planned(tmp_path: Path) -> None:
    from tests.support.delta_log import DeltaLog, add, field, metadata

    log = DeltaLog(tmp_path).start().commit(1, add("f"))
    snapshot = tf.open_table(tmp_path).snapshot()
    there = sent(snapshot)
    log.commit(2, add("g"))
    assert there.scan().plan().file_uris() == [f"{tmp_path}/f"]
    log.commit(1, {"metaData": metadata(field("other", "long"))})
    with pytest.raises(tf.SnapshotNotFoundError, match="another schema"):
        sent(snapshot).scan().plan()


def test_caches_arrive_empty() -> None:
    cache = tf.MetadataCache(12_345_678)
    opened(TABLES[1], cache=cache).scan().plan()
    assert cache.used_bytes and (sent(cache).budget_bytes, sent(cache).used_bytes) == (12_345_678, 0)
