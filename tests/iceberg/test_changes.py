"""Changes between Iceberg snapshots and incremental append scans: against a row model, PyIceberg, and real tables."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tableformats_iceberg.changes.row_changes import _with_occurrence

import tableformats as tf
from tableformats.errors import SnapshotNotFoundError, TableFormatsError, UnsupportedFeatureError
from tests.support.conformance import IcebergCase, has_data, iceberg_cases, needs_tables
from tests.support.examples import examples
from tests.support.iceberg_history import Commit, History

CHANGE_COLUMNS = ("_change_type", "_commit_version", "_commit_timestamp")


def ids_of(changes: pa.Table, kind: str, version: int | None = None) -> list[int]:
    chosen = pc.equal(changes["_change_type"], kind)
    if version is not None:
        chosen = pc.and_(chosen, pc.equal(changes["_commit_version"], version))
    return sorted(changes.filter(chosen)["id"].to_pylist())


@pytest.fixture
def history(tmp_path: Path) -> History:
    """Two appends, a delete by position, a rewritten file, a compaction, and a deletion vector twice."""
    made = History(tmp_path / "t")
    made.commit("append", add=[[1, 2, 3], [4, 5]])
    made.commit("append", add=[[6, 7, 8, 9]])
    made.commit("delete", positions=[("f1-0.parquet", 1), ("f2-0.parquet", 0)])
    made.commit("overwrite", remove=["f1-0.parquet"], add=[[1, 30]])
    made.commit("replace", remove=["f1-1.parquet", "f4-0.parquet"], add=[[4, 5, 1, 30]])
    made.commit("delete", vectors=[("f2-0.parquet", 2)])
    made.commit("overwrite", vectors=[("f2-0.parquet", 3)], add=[[90]])
    return made


# ---- against the row model ------------------------------------------------------------------------------------------


def check(history: History, commits: list[Commit]) -> None:
    found = tf.open_table(history.root).changes(commits[0].id, commits[-1].id).to_arrow()
    for commit in commits:
        assert ids_of(found, "delete", commit.id) == commit.deleted
        assert ids_of(found, "insert", commit.id) == commit.inserted
    assert set(found["_commit_version"].to_pylist()) <= {c.id for c in commits}


def test_every_kind_of_snapshot(history: History) -> None:
    check(history, history.commits)
    assert history.commits[3].deleted == [1, 3]
    assert history.commits[4].deleted == []
    assert history.commits[6].deleted == [9]
    found = tf.open_table(history.root).changes(103, 104).to_arrow()
    assert found.column_names == ["id", *CHANGE_COLUMNS]
    assert found["_change_type"].to_pylist() == ["delete"] * 4 + ["insert"] * 2
    assert {v: t.timestamp() for v, t in found.select(CHANGE_COLUMNS[1:]).to_pandas().itertuples(index=False)} == {
        103: 103,
        104: 104,
    }


@st.composite
def actions(draw: st.DrawFn) -> list[dict[str, Any]]:
    kind = st.sampled_from(["append", "rewrite", "position", "vector", "equality", "compact", "upsert", "both"])
    return draw(
        st.lists(
            st.fixed_dictionaries({"kind": kind, "a": st.integers(0, 9), "b": st.integers(0, 9)}),
            min_size=1,
            max_size=6,
        )
    )


def apply(history: History, action: dict[str, Any], fresh: int) -> None:
    """Commit what ``action`` says."""
    paths = sorted(history.files)
    path = paths[action["a"] % len(paths)] if paths else ""
    kind, position = action["kind"], action["b"] % 3
    if kind == "append" or not paths:
        history.commit("append", add=[[fresh, fresh + 1, fresh + 1]])
    elif kind == "rewrite":
        history.commit("overwrite", remove=[path], add=[[*history._live_of(path)[1:], fresh]])
    elif kind == "compact":
        history.commit("replace", remove=paths, add=[history.live()])
    elif kind in ("position", "vector") and position < len(history.files[path]):
        # A file with a vector takes no position deletes any more.
        by_vector = kind == "vector" or path in history.vectors
        place = [(path, position)]
        deletes: dict[str, Any] = {"vectors": place} if by_vector else {"positions": place}
        history.commit("delete", **deletes)
    elif kind in ("equality", "upsert"):
        added = [[action["b"], fresh]] if kind == "upsert" else []
        history.commit("overwrite", keys=[action["b"], fresh - 1], add=added)
    elif kind == "both":
        by_vector = path in history.vectors
        place = [(path, 0)]
        deletes = {"vectors": place} if by_vector else {"positions": place}
        history.commit("overwrite", keys=[action["b"]], add=[[fresh]], **deletes)
    else:
        history.commit("append", add=[[action["b"]]])


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(actions())
def test_random_histories(plan: list[dict[str, Any]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        history = History(Path(folder) / "t")
        for i, action in enumerate(plan):
            apply(history, action, 10 * (i + 1))
        table = tf.open_table(history.root)
        for commit in history.commits:
            assert sorted(table.scan(version=commit.id).to_arrow()["id"].to_pylist()) == commit.rows
            check(history, [commit])
        check(history, history.commits)
        assert table.changes(history.commits[0].id).count() == sum(
            len(c.deleted) + len(c.inserted) for c in history.commits
        )


@pytest.mark.parametrize("filter", ["id > 3", "_change_type = 'delete' AND id < 9", "_commit_version = 104"])
def test_filters_keep_what_a_filter_of_the_rows_keeps(history: History, filter: str) -> None:
    changes = tf.open_table(history.root).changes(101)
    everything = changes.to_arrow().to_pandas()
    wanted = everything.query(filter.replace(" = ", " == ").replace("AND", "and"))
    assert changes.where(filter).to_arrow()["id"].to_pylist() == wanted["id"].tolist()
    assert len(wanted)


def test_added_files_say_where_rows_only_moved(history: History) -> None:
    added = tf.open_table(history.root).changes(101).added_files()
    assert added["version"].to_pylist() == [101, 101, 102, 104, 105, 107]
    assert added["data_change"].to_pylist() == [True, True, True, True, False, True]


def test_a_delete_that_is_taken_back_inserts(tmp_path: Path) -> None:
    history = History(tmp_path / "t")
    history.commit("append", add=[[1, 2, 3]])
    history.commit("delete", positions=[("f1-0.parquet", 0), ("f1-0.parquet", 2)])
    history._rewrite({"p2.parquet"}, 3, 103)
    history.dead["f1-0.parquet"] = set()
    history.commit("overwrite")
    found = tf.open_table(history.root).changes(103).to_arrow()
    assert (ids_of(found, "insert"), ids_of(found, "delete")) == ([1, 3], [])


@pytest.mark.parametrize("kind", ["positions", "vectors"])
def test_deletes_of_one_file_after_another(tmp_path: Path, kind: str) -> None:
    """Which file a delete belongs to counts, not only which files and which deletes there are."""
    history = History(tmp_path / "t")
    history.commit("append", add=[[1, 2], [3, 4], [5, 6]])
    for file in (1, 0, 2, 0):
        at = len(history.dead[f"f1-{file}.parquet"])
        history.commit("delete", **{kind: [(f"f1-{file}.parquet", at)]})  # type: ignore[arg-type]
    table = tf.open_table(history.root)
    for commit, gone in zip((102, 103, 104, 105), (3, 1, 5, 2), strict=True):
        changes = table.changes(commit, commit).to_arrow()
        assert (changes["id"].to_pylist(), changes["_change_type"].to_pylist()) == ([gone], ["delete"])


def test_paths_that_are_listed_twice() -> None:
    assert _with_occurrence(np.array([1, 0, 1, 1, 2]), 10).tolist() == [10, 0, 11, 12, 20]
    assert _with_occurrence(np.array([2, 1, 1]), 10).tolist() == [20, 10, 11]


def test_deletes_by_key_that_are_taken_back_insert(tmp_path: Path) -> None:
    """Of rows that another delete takes too, nothing changes."""
    history = History(tmp_path / "t")
    history.commit("append", add=[[1, 2, 3, 2]])
    history.commit("delete", positions=[("f1-0.parquet", 1)])
    history.commit("delete", keys=[2, 3])
    assert history.commits[-1].deleted == [2, 3]
    history._rewrite({"e3.parquet"}, 4, 104)
    history.dead["f1-0.parquet"] = {1}
    history.commit("overwrite")
    check(history, history.commits[:3])
    found = tf.open_table(history.root).changes(104).to_arrow()
    assert (ids_of(found, "insert"), ids_of(found, "delete")) == ([2, 3], [])


# ---- ranges ---------------------------------------------------------------------------------------------------------


def test_ranges_that_are_none(history: History) -> None:
    table = tf.open_table(history.root)
    for arguments, message in [((104, 102), "came after"), ((99,), "no snapshot 99"), ((101, 999), "no snapshot 999")]:
        with pytest.raises(SnapshotNotFoundError, match=message) as caught:
            table.changes(*arguments)
        assert caught.value.hint
    assert table.changes("103", "main").starting_version == 103


def test_snapshots_of_another_branch_are_no_ancestors(history: History) -> None:
    import json

    file = history.root / "metadata" / "v1.metadata.json"
    metadata = json.loads(file.read_text())
    metadata["snapshots"][-1]["parent-snapshot-id"] = 105
    file.write_text(json.dumps(metadata))
    with pytest.raises(SnapshotNotFoundError, match="no ancestor") as caught:
        tf.open_table(history.root).changes(106)
    assert "105" in str(caught.value.hint)


def test_an_expired_parent(history: History) -> None:
    history.write_metadata(first=1)
    check(history, history.commits[1:])
    history.write_metadata(first=2)
    with pytest.raises(SnapshotNotFoundError, match="parent of snapshot 103 has expired") as caught:
        tf.open_table(history.root).changes(103)
    assert "104" in str(caught.value.hint)
    with pytest.raises(SnapshotNotFoundError, match="no snapshot 102"):
        tf.open_table(history.root).changes(102)


# ---- incremental append scans ---------------------------------------------------------------------------------------


def appended(history: History, exclusive: int | None = None, inclusive: int | None = None, **more: Any) -> list[int]:
    scan = tf.open_table(history.root).incremental_append_scan(exclusive, inclusive, **more)
    assert len(scan.plan()) == scan.plan().report.files_planned
    return sorted(scan.to_arrow()["id"].to_pylist())


def test_appends_alone(history: History) -> None:
    assert appended(history) == [1, 2, 3, 4, 5, 6, 7, 8, 9]
    report = tf.open_table(history.root).incremental_append_scan().plan().report
    assert (report.files_total, report.manifests_total, report.rows_total) == (3, 2, 9)
    # The metadata, two manifest lists, two manifests.
    assert report.metadata_files_read == 5
    assert appended(history, 101) == [6, 7, 8, 9]
    assert appended(history, 101, 101) == appended(history, 102) == []
    assert appended(history, 101, 104, filter="id > 7") == [8, 9]
    with pytest.raises(SnapshotNotFoundError, match="came after"):
        appended(history, 104, 102)
    history.write_metadata(first=1)
    assert appended(history, 101) == [6, 7, 8, 9]
    with pytest.raises(SnapshotNotFoundError, match="have expired") as caught:
        appended(history)
    assert "from_snapshot_id_exclusive=101" in str(caught.value.hint)


def test_appends_of_a_table_without_snapshots(tmp_path: Path) -> None:
    history = History(tmp_path / "t")
    history.write_metadata()
    assert appended(history) == []
    with pytest.raises(SnapshotNotFoundError, match="no snapshot yet"):
        appended(history, 5)
    with pytest.raises(SnapshotNotFoundError):
        tf.open_table(history.root).changes(5)


def test_other_formats_refuse_by_name(tmp_path: Path) -> None:
    from deltalake import write_deltalake

    write_deltalake(str(tmp_path / "d"), pa.table({"id": [1]}))
    with pytest.raises(UnsupportedFeatureError) as caught:
        tf.open_table(tmp_path / "d").incremental_append_scan()
    assert caught.value.field == "incremental_append_scan"


# ---- against PyIceberg ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A table that PyIceberg wrote: appends under two specs and schemas, an overwrite, a delete."""
    from pyiceberg.catalog.sql import SqlCatalog
    from pyiceberg.transforms import BucketTransform
    from pyiceberg.types import StringType

    folder = tmp_path_factory.mktemp("pyiceberg")
    catalog = SqlCatalog("c", uri=f"sqlite:///{folder / 'c.db'}", warehouse=folder.as_uri())
    catalog.create_namespace("db")
    rows = pa.table({"id": pa.array(range(10), pa.int64()), "v": pa.array([f"v{i}" for i in range(10)])})
    table = catalog.create_table("db.t", rows.schema)
    table.append(rows)
    table.append(rows.slice(0, 3))
    with table.update_spec() as update:
        update.add_field("id", BucketTransform(3), "id_bucket")
    table.append(rows.slice(5))
    table.overwrite(pa.table({"id": pa.array([3], pa.int64()), "v": ["new"]}), "id = 3")
    table.delete("id < 2")
    with table.update_schema() as schema:
        schema.add_column("w", StringType())
    table.append(pa.table({"id": pa.array([77], pa.int64()), "v": ["x"], "w": ["y"]}))
    return table


def counted(table: pa.Table, names: list[str]) -> Counter[str]:
    return Counter(repr([row[name] for name in names]) for row in table.select(names).to_pylist())


def test_appends_agree_with_pyiceberg(reference: Any) -> None:
    table = tf.open_table(reference.metadata_location)
    snapshots = [s.snapshot_id for s in reference.metadata.snapshots]
    assert len(snapshots) >= 6
    for i, exclusive in enumerate([None, *snapshots]):
        for inclusive in snapshots[i:]:
            theirs = reference.incremental_append_scan(
                from_snapshot_id_exclusive=exclusive, to_snapshot_id_inclusive=inclusive
            )
            ours = table.incremental_append_scan(exclusive, inclusive)
            assert counted(ours.to_arrow(), ["id", "v"]) == counted(theirs.to_arrow(), ["id", "v"])
            assert len(ours.plan()) == len(list(theirs.plan_files()))


def test_changes_lead_from_each_snapshot_of_pyiceberg_to_the_next(reference: Any) -> None:
    for snapshot in reference.metadata.snapshots:
        assert_leads(tf.open_table(reference.metadata_location), snapshot.snapshot_id, snapshot.parent_snapshot_id)


# ---- real tables ----------------------------------------------------------------------------------------------------


def assert_leads(table: tf.Table, version: int, parent: int | None) -> None:
    """rows(parent) - deletes + inserts = rows(snapshot), as multisets over the columns that both have."""
    snapshot = table.snapshot(version)
    before = None if parent is None else table.snapshot(parent)
    names = snapshot.schema.names
    if before is not None:
        same = {f.id: f.name for f in before.schema}
        names = [f.name for f in snapshot.schema if same.get(f.id) == f.name]
    changes = table.changes(version, version)
    plans = [s.scan(columns=names).plan() for s in (snapshot, before) if s is not None]
    if not all(has_data(plan) for plan in (*plans, changes.plan())):
        pytest.skip("metadata alone")
    try:
        expected = counted(snapshot.scan(columns=names).to_arrow(), names)
    except TableFormatsError as error:
        pytest.skip(f"the snapshot itself is not read: {error}")
    found = changes.to_arrow()
    rows = Counter() if before is None else counted(before.scan(columns=names).to_arrow(), names)
    rows.subtract(counted(found.filter(pc.equal(found["_change_type"], "delete")), names))
    rows.update(counted(found.filter(pc.equal(found["_change_type"], "insert")), names))
    assert {row: count for row, count in rows.items() if count} == expected


@pytest.mark.conformance
@needs_tables
@pytest.mark.parametrize("case", iceberg_cases(), ids=str)
def test_changes_lead_from_parent_to_snapshot(case: IcebergCase) -> None:
    table = tf.open_table(case.metadata, format="iceberg", relocate=True)
    known = table.snapshot().format_snapshot.inspect("snapshots")
    parents = dict(zip(known["snapshot_id"].to_pylist(), known["parent_id"].to_pylist(), strict=True))
    refused = []
    for expected in case.snapshots:
        version = expected["snapshot_id"]
        try:
            assert_leads(table, version, parents.get(version))
        except (UnsupportedFeatureError, SnapshotNotFoundError) as error:
            refused.append(str(error))
    if len(refused) == len(case.snapshots):
        pytest.skip(refused[0])
