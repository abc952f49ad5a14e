"""One try of a commit, part by part: what it asks of the table, what it changes, and which winners are in its way."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tableformats_iceberg.write.commit.isolation import checks_of
from tableformats_iceberg.write.commit.picked_files import Pick
from tableformats_iceberg.write.commit.transaction import (
    IcebergTransaction,
    _makes_snapshot,
    _pick_in,
    _reads_nothing,
    _summary_properties,
)
from tableformats_iceberg.write.commit.winners import applications_of, snapshots_between

import tableformats as tf
from tableformats.plugin import TRUE, ConflictCheck, MetadataChange, PutOutcome, TableChange
from tests.support.iceberg_tables import FIELDS, metadata_json, open_table, parse, snapshot_json, write_table

SOME, NONE = pa.table({"path": ["a"]}), pa.table({"path": pa.array([], pa.string())})
PICK = MetadataChange(plugin_data=Pick(7))


@pytest.mark.parametrize(
    ("change", "makes_one", "reads_nothing"),
    [
        (TableChange("append", SOME), True, True),
        (TableChange("append", NONE), True, True),
        (TableChange("append"), True, True),
        (TableChange("append", SOME, application=("x", 1)), True, False),
        (TableChange("append", SOME, metadata=MetadataChange()), True, False),
        (TableChange("append", NONE, metadata=MetadataChange()), False, False),
        (TableChange("alter", metadata=MetadataChange()), False, False),
        (TableChange("alter", metadata=MetadataChange(plugin_data="other")), False, False),
        (TableChange("alter", metadata=PICK), True, False),
        (TableChange("delete", removed=SOME), True, False),
        (TableChange("delete", removed=SOME, metadata=MetadataChange()), True, False),
        (TableChange("overwrite", SOME, read=TRUE), True, False),
        (TableChange("overwrite", SOME, read_files=SOME), True, False),
    ],
)
def test_kinds_of_changes(change: TableChange, makes_one: bool, reads_nothing: bool) -> None:
    assert _makes_snapshot(change) is makes_one and _reads_nothing(change) is reads_nothing
    assert _pick_in(change) == (Pick(7) if change.metadata is PICK else None)


def test_what_the_summary_says_of_the_application() -> None:
    change = TableChange("append", properties={"a": "b"})
    assert _summary_properties(change) == {"a": "b"} and _summary_properties(TableChange("append")) == {}
    change = TableChange("append", properties={"a": "b"}, application=("job", -4))
    assert _summary_properties(change) == {"a": "b", "tableformats.application.job": "-4"}
    assert change.properties == {"a": "b"}


@pytest.mark.parametrize(
    ("operation", "properties", "isolation", "changes", "checks"),
    [
        ("delete", {}, None, {"removed": SOME}, 2),
        ("delete", {"write.delete.isolation-level": "Snapshot"}, None, {"removed": SOME}, 1),
        ("delete", {"write.update.isolation-level": "snapshot"}, None, {"removed": SOME}, 2),
        ("update", {"write.update.isolation-level": "snapshot"}, None, {"removed": SOME}, 1),
        ("overwrite", {"write.merge.isolation-level": "snapshot"}, None, {"removed": SOME}, 1),
        ("overwrite", {"write.merge.isolation-level": "snapshot"}, "SERIALIZABLE", {"removed": SOME}, 2),
        ("rewrite", {}, None, {"removed": SOME, "data_change": False}, 1),
        ("append", {}, None, {"added": SOME}, 0),
        ("append", {}, "serializable", {"added": SOME, "read": TRUE}, 2),
    ],
)
def test_levels_of_isolation(
    operation: str, properties: dict[str, str], isolation: str | None, changes: dict[str, Any], checks: int
) -> None:
    expected = [frozenset(), {ConflictCheck.TOUCHED}, {ConflictCheck.TOUCHED, ConflictCheck.ADDED}][checks]
    assert checks_of(TableChange(operation, isolation=isolation, **changes), properties) == expected


def test_levels_that_are_none() -> None:
    with pytest.raises(ValueError, match="not 'chaos'"):
        checks_of(TableChange("delete", isolation="chaos"), {})
    wrong = {"write.delete.isolation-level": "x" * 99}
    with pytest.raises(tf.UnsupportedFeatureError) as caught:
        checks_of(TableChange("delete"), wrong)
    assert caught.value.field == "write.delete.isolation-level" and repr("x" * 50) in str(caught.value)
    both = {ConflictCheck.TOUCHED, ConflictCheck.ADDED}
    assert checks_of(TableChange("delete", metadata=MetadataChange()), wrong) == both, "it may correct the property"


# ---- winners --------------------------------------------------------------------------------------------------------


def chain(*pairs: tuple[int, int | None]) -> Any:
    snapshots = [snapshot_json(n, n, **({} if p is None else {"parent-snapshot-id": p})) for n, p in pairs]
    return parse(snapshots=snapshots)


@pytest.mark.parametrize(
    ("older", "newest", "between"),
    [
        (None, None, []),
        (3, 3, []),
        (9, 9, []),
        (2, 3, [3]),
        (1, 3, [2, 3]),
        (None, 3, [1, 2, 3]),
        (None, 1, [1]),
        (3, 1, None),
        (3, None, None),
        (9, 3, None),
        (None, 5, None),
        (5, 6, [6]),
        (4, 6, None),
    ],
)
def test_snapshots_since(older: int | None, newest: int | None, between: list[int] | None) -> None:
    """3 follows 2, which follows 1; 6 follows 5, whose own parent has expired."""
    metadata = chain((1, None), (2, 1), (3, 2), (5, 4), (6, 5))
    if between is not None:
        assert [snapshot.id for snapshot in snapshots_between(metadata, older, newest)] == between
        return
    with pytest.raises(tf.CommitConflictError, match=f"the snapshot {older} ") as caught:
        snapshots_between(metadata, older, newest)
    assert caught.value.path == "m"


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("-7", -7),
        ("9" * 19, 10**19 - 1),
        ("1" * 20, None),
        ("", None),
        ("1.0", None),
        ("٣", None),
        ("+1", None),
    ],
)
def test_numbers_of_applications(text: str, number: int | None) -> None:
    summary = {"operation": "append", "tableformats.application.a b": text, "tableformats.applications": "3"}
    (found,) = parse(snapshots=[snapshot_json(1, 1, summary=summary)]).snapshots.values()
    assert applications_of(found) == ({} if number is None else {"a b": number})


# ---- a transaction --------------------------------------------------------------------------------------------------


def begun(folder: Path, branch: str | None = None, **changes: Any) -> IcebergTransaction:
    """Upon metadata without files."""
    write_table(folder, location=str(folder), **changes)
    return open_table(folder).begin(branch)


REFS = {
    "main": {"snapshot-id": 2, "type": "branch"},
    "audit": {"snapshot-id": 1, "type": "branch", "max-ref-age-ms": 9},
    "v1": {"snapshot-id": 1, "type": "tag"},
}
TWO = {
    "snapshots": [snapshot_json(1, 1), snapshot_json(2, 2, **{"parent-snapshot-id": 1})],
    "current-snapshot-id": 2,
    "refs": REFS,
}


@pytest.mark.parametrize(
    ("branch", "changes", "head"),
    [(None, {}, None), ("main", {}, None), (None, TWO, 2), ("main", TWO, 2), ("audit", TWO, 1)],
)
def test_what_a_try_depends_on(tmp_path: Path, branch: str | None, changes: dict[str, Any], head: int | None) -> None:
    found = begun(tmp_path, branch, **changes)
    name = branch or "main"
    assert found._required() == [
        {"type": "assert-ref-snapshot-id", "ref": name, "snapshot-id": head},
        {"type": "assert-table-uuid", "uuid": "u"},
    ]
    kept = {"max-ref-age-ms": 9} if name == "audit" else {}
    assert found._reference(77) == {
        "action": "set-snapshot-ref",
        "ref-name": name,
        "snapshot-id": 77,
        "type": "branch",
        **kept,
    }


def test_tables_without_an_id(tmp_path: Path) -> None:
    found = begun(tmp_path, **{"format-version": 1, "table-uuid": None, "last-sequence-number": None})
    assert [one["type"] for one in found._required()] == ["assert-ref-snapshot-id"]


@pytest.mark.parametrize("branch", ["other", "v1"])
def test_branches_that_are_none(tmp_path: Path, branch: str) -> None:
    with pytest.raises(tf.SnapshotNotFoundError) as caught:
        begun(tmp_path, branch, **TWO)
    assert f"{branch!r}" in str(caught.value) and caught.value.hint == "The table's branches: audit, main"
    with pytest.raises(tf.SnapshotNotFoundError):
        begun(tmp_path, branch)


def test_ten_branches_are_named(tmp_path: Path) -> None:
    refs = {f"b{n:02d}": {"snapshot-id": 1, "type": "branch"} for n in range(12)}
    with pytest.raises(tf.SnapshotNotFoundError) as caught:
        begun(tmp_path, "other", **{**TWO, "refs": {**refs, "main": REFS["main"]}})
    assert caught.value.hint == "The table's branches: " + ", ".join(f"b{n:02d}" for n in range(10))


class Swap:
    """Tells what it is asked."""

    def __init__(self, outcome: PutOutcome = PutOutcome.LOST) -> None:
        self.outcome = outcome
        self.asked: list[Any] = []

    def part(self, requirements: Any, updates: Any) -> Any:
        return requirements, updates

    def looked_up(self, outcome: PutOutcome, requirements: Any, updates: Any) -> PutOutcome:
        self.asked.append((outcome, requirements, updates))
        return self.outcome

    def commit(self, current: Any, requirements: Any, updates: Any, *made: Any) -> PutOutcome:
        self.asked.append((requirements, updates, made))
        return self.outcome


def test_a_part_of_a_commit_to_several_tables(tmp_path: Path) -> None:
    """Files are stored where there is a snapshot; an outcome that is not won is looked up."""
    found = begun(tmp_path)
    swap: Any = Swap()
    found._swap = swap
    asked = MetadataChange(properties={"a": "b"})
    found.stage_metadata(asked)
    prepared = found.prepare(TableChange("alter", metadata=asked))
    requirements, updates = vars(prepared)["updates"]
    assert [one["action"] for one in updates] == ["set-properties"] and prepared.store() is None
    assert found.settle(PutOutcome.WON) is PutOutcome.WON and swap.asked == []
    assert found.settle(PutOutcome.UNKNOWN) is PutOutcome.LOST
    assert swap.asked == [(PutOutcome.UNKNOWN, requirements, updates)]
    found = begun(tmp_path / "t")
    found._swap = swap
    prepared = found.prepare(TableChange("append"))
    assert [one["action"] for one in vars(prepared)["updates"][1]] == ["add-snapshot", "set-snapshot-ref"]
    assert not list((tmp_path / "t" / "metadata").glob("snap-*"))
    prepared.store()
    assert len(list((tmp_path / "t" / "metadata").glob("snap-*"))) == 1
    assert found.settle(PutOutcome.LOST) is PutOutcome.LOST
    assert not list((tmp_path / "t" / "metadata").glob("snap-*"))


def test_a_try_of_metadata_alone_stores_nothing(tmp_path: Path) -> None:
    found = begun(tmp_path)
    swap: Any = Swap(PutOutcome.WON)
    found._swap = swap
    asked = MetadataChange(properties={"a": "b"})
    found.stage_metadata(asked)
    assert found.try_commit(TableChange("alter", metadata=asked)) is PutOutcome.WON
    found = begun(tmp_path / "t")
    found._swap = swap
    assert found.try_commit(TableChange("append")) is PutOutcome.WON
    (_, _, first), (_, _, second) = swap.asked
    assert first == () and [one.__name__ for one in second] == ["flush"]


class Producer:
    """Tells what it is asked for; its snapshot is 99."""

    picked: Any = None

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def produce(self, base: Any, change: TableChange, properties: Any) -> dict[str, Any]:
        self.asked.append((change.operation, dict(properties)))
        return {"snapshot-id": 99}


@pytest.mark.parametrize(
    ("number", "version", "asked"),
    [(3, 3, []), (4, 99, [("append", {"source-snapshot-id": "4"})]), (None, 99, [("overwrite", {})])],
)
def test_a_snapshot_that_is_picked(tmp_path: Path, number: int | None, version: int, asked: list[Any]) -> None:
    """One that follows the branch's newest is its newest then; of another one the files are added."""
    more = [snapshot_json(3, 3, **{"parent-snapshot-id": 2}), snapshot_json(4, 4, **{"parent-snapshot-id": 1})]
    found = begun(tmp_path, **{**TWO, "snapshots": [*TWO["snapshots"], *more]})  # type: ignore[misc]
    producer: Any = Producer()
    found._made = (found.target, producer)
    metadata = None if number is None else MetadataChange(plugin_data=Pick(number))
    tried = found._begin_try(TableChange("overwrite", metadata=metadata))
    new = [{"action": "add-snapshot", "snapshot": {"snapshot-id": 99}}] if version == 99 else []
    assert tried.updates == [*new, found._reference(version)] and tried.requirements == found._required()
    assert (tried.version, tried.snapshot is None) == (version, version != 99)
    assert producer.asked == asked and (producer.picked and producer.picked.id) == (4 if number == 4 else None)


def test_a_snapshot_that_no_branch_has_yet(tmp_path: Path) -> None:
    found = begun(tmp_path, properties={"write.wap.enabled": "true"})
    producer: Any = Producer()
    found._made = (found.target, producer)
    tried = found._begin_try(TableChange("append", properties={"wap.id": "x"}))
    assert [one["action"] for one in tried.updates] == ["add-snapshot"]
    assert producer.asked == [("append", {"wap.id": "x"})] and found._tried == 99


def test_a_change_is_made_upon_newer_metadata(tmp_path: Path) -> None:
    """Which is read, unless those who asked for the winners have read it."""
    found = begun(tmp_path)
    newer = metadata_json(location=str(tmp_path), properties={"x": "y"})
    (tmp_path / "metadata" / "v2.metadata.json").write_text(json.dumps(newer))
    change = TableChange("append", SOME)
    assert found.rebase(change) is change and found._state.parsed.properties == {"x": "y"}
    (tmp_path / "metadata" / "v3.metadata.json").write_text(json.dumps({**newer, "properties": {}}))
    found._change = change
    assert list(found.winners()) == []
    (tmp_path / "metadata" / "v4.metadata.json").write_text(json.dumps({**newer, "properties": {"z": ""}}))
    found.rebase(change)
    assert found._state.parsed.properties == {}


def test_unknown_outcomes(tmp_path: Path) -> None:
    found = begun(tmp_path)
    error = found.unknown_outcome()
    assert "whether the metadata were changed" in str(error) and error.path == found._state.parsed.path
    found._tried = 12
    error = found.unknown_outcome()
    assert "whether the snapshot 12 was committed" in str(error) and "before 12 is in" in str(error.hint)


def test_the_ends_of_a_try(tmp_path: Path) -> None:
    """The list of a try that lost is deleted, and no other one."""
    told = []
    found = begun(tmp_path)
    found._tell = lambda: told.append(True)
    listed = tmp_path / "metadata" / "snap-5.avro"
    snapshot = {"manifest-list": str(listed)}
    for outcome in (PutOutcome.UNKNOWN, PutOutcome.WON, PutOutcome.LOST, PutOutcome.LOST):
        listed.write_bytes(b"x") if outcome is not PutOutcome.LOST or listed.exists() else None
        found._try = _try(5, snapshot)
        assert found._ended(outcome) is outcome
        assert listed.exists() is (outcome is not PutOutcome.LOST)
        assert (found.version, bool(told)) == ((-1, False) if outcome is PutOutcome.UNKNOWN else (5, True))
    found._try = _try(6, None)
    assert found._ended(PutOutcome.LOST) is PutOutcome.LOST and found.version == 5


def _try(version: int, snapshot: Any) -> Any:
    from tableformats_iceberg.write.commit.transaction import _Try

    return _Try(version, [], [], snapshot)


def schema(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"schemas": [{"type": "struct", "schema-id": 0, "fields": list(fields)}], "last-column-id": 9}


A, B = FIELDS


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ([A, B], None),
        ([A], None),
        ([B], None),
        ([A, B, {**B, "id": 3, "name": "c"}], None),
        ([A, {**B, "name": "renamed"}], None),
        ([{**B, "id": 3, "name": "c"}], "replaced the columns"),
        ([A, {**B, "id": 3}], "replaced the column 'b' by another"),
        ([A, {**B, "required": True}], "made the column 'b' one that has no NULLs"),
        ([A, {**B, "id": 3, "name": "c", "required": True}], "made the column 'c' one"),
        ([{**A, "required": False}, B], None),
    ],
)
def test_columns_that_other_writers_changed(tmp_path: Path, fields: list[dict[str, Any]], message: str | None) -> None:
    """The files that are written already have ``a``, which is required, and ``b``."""
    found = begun(tmp_path)
    newest = parse(**schema(*fields))
    if message is None:
        found._check_columns(newest)
        return
    with pytest.raises(tf.CommitConflictError, match=message) as caught:
        found._check_columns(newest)
    assert caught.value.path == "m"


def test_a_required_column_with_a_value_for_older_rows(tmp_path: Path) -> None:
    found = begun(tmp_path)
    fresh = {**B, "id": 3, "name": "c", "required": True, "initial-default": "x"}
    found._check_columns(parse(**schema(A, B, fresh), **{"format-version": 3, "next-row-id": 0}))


@pytest.mark.parametrize(("uuid", "is_refused"), [("u", False), ("w", True), (None, True)])
def test_another_table_at_the_location(tmp_path: Path, uuid: str | None, is_refused: bool) -> None:
    version = {"format-version": 1, "last-sequence-number": None}
    found = begun(tmp_path, **version)
    changed = metadata_json(location=str(tmp_path), **{**version, "table-uuid": uuid})
    (tmp_path / "metadata" / "v2.metadata.json").write_text(json.dumps(changed))
    if not is_refused:
        assert found._newer().parsed.path.endswith("v2.metadata.json")
        return
    with pytest.raises(tf.CommitConflictError, match="another table is at the location"):
        found._newer()


def test_a_table_that_was_removed(tmp_path: Path) -> None:
    found = begun(tmp_path)
    (tmp_path / "metadata" / "v1.metadata.json").unlink()
    with pytest.raises(tf.CommitConflictError, match="another writer removed the table"):
        found._newer()


@pytest.mark.parametrize(
    ("properties", "field"),
    [
        ({}, None),
        ({"write.data.path": "{}/files"}, None),
        ({"write.data.path": "{}"}, None),
        ({"write.data.path": "{}2/files"}, "write.data.path"),
        ({"write.metadata.path": "{}2"}, "write.metadata.path"),
        ({"write.metadata.path": "{}/m"}, None),
    ],
)
def test_directories_of_the_properties(tmp_path: Path, properties: dict[str, str], field: str | None) -> None:
    root = tmp_path / "t"
    given = {name: path.format(root) for name, path in properties.items()}
    found = begun(root, properties=given)
    if field is None:
        found.check(TableChange("append", SOME))
        return
    with pytest.raises(tf.PathNotAllowedError) as caught:
        found.check(TableChange("append", SOME))
    assert caught.value.field == field and caught.value.path == given[field]
    found.check(TableChange("alter", metadata=MetadataChange(properties={field: None})))


def test_properties_that_a_change_sets(tmp_path: Path) -> None:
    """Only those are checked: others may be wrong still, and what is taken away has no value."""
    found = begun(tmp_path, properties={"write.target-file-size-bytes": "x", "write.wap.enabled": "x"})
    for properties in ({}, {"write.target-file-size-bytes": None}, {"write.target-file-size-bytes": "5"}):
        found.check(TableChange("alter", metadata=MetadataChange(properties=properties)))
    with pytest.raises(tf.UnsupportedFeatureError) as caught:
        found.check(TableChange("alter", metadata=MetadataChange(properties={"write.metadata.metrics.default": "x"})))
    assert caught.value.field == "write.metadata.metrics.default"
    with pytest.raises(tf.UnsupportedFeatureError):
        found.check(TableChange("append", SOME))


def test_files_of_changed_rows(tmp_path: Path) -> None:
    with pytest.raises(tf.UnsupportedFeatureError) as caught:
        begun(tmp_path).check(TableChange("append", SOME, changed_rows=SOME))
    assert caught.value.field == "changed_rows"


@pytest.mark.parametrize(("default", "order"), [(0, 0), (4, 4)])
def test_files_name_their_sort_order(tmp_path: Path, default: int, order: int) -> None:
    column = {"source-id": 1, "transform": "identity", "direction": "asc", "null-order": "nulls-first"}
    orders = [{"order-id": 0, "fields": []}, {"order-id": 4, "fields": [column]}]
    rows = pa.table({"a": pa.array([2, 1], pa.int32()), "b": ["x", "y"]})
    schema = pa.schema([pa.field("a", pa.int32(), False), pa.field("b", pa.string())])
    write_table(tmp_path, location=str(tmp_path), **{"sort-orders": orders, "default-sort-order-id": default})
    tf.open_table(tmp_path).append(rows.cast(schema))
    assert tf.open_table(tmp_path).inspect.files()["sort_order_id"].to_pylist() == [order]


def test_files_of_an_order_that_is_not_named(tmp_path: Path) -> None:
    """Version 1 may leave out which order is the default one: it is the order 0."""
    column = {"source-id": 1, "transform": "identity", "direction": "asc", "null-order": "nulls-first"}
    found = begun(
        tmp_path,
        **{
            "format-version": 1,
            "last-sequence-number": None,
            "sort-orders": [{"order-id": 0, "fields": [column]}],
            "default-sort-order-id": None,
        },
    )
    assert [one.source_id for one in found.target.sort_by] == [1] and found._producer._sort_order_id == 0
