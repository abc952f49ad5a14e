"""How files of a table are written by its properties, and what a commit says of itself."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from tableformats_delta.schema.table_metadata import TableMetadata
from tableformats_delta.write.actions import CommitContext, _commit_info
from tableformats_delta.write.definition import TableDefinition
from tableformats_delta.write.isolation import LEVELS, checks_of
from tableformats_delta.write.target import target_of

import tableformats as tf
from tableformats.plugin import ConflictCheck, MetadataChange, TableChange
from tests.support.delta_log import DeltaLog, field, metadata

Json = dict[str, Any]


def definition(*fields: Json, protocol: Json | None = None, **properties: str) -> TableDefinition:
    action = metadata(*fields, configuration={name.replace("_", "."): value for name, value in properties.items()})
    protocol = protocol or {"minReaderVersion": 2, "minWriterVersion": 5}
    return TableDefinition(protocol, action, TableMetadata.of_actions(action, protocol, "/t", tf.Limits()))


def mapped(number: int, name: str) -> Json:
    return {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": name}


LISTED = {"type": "array", "elementType": "long", "containsNull": True}


def test_names_in_files() -> None:
    fields = field("a", "long", mapped(5, "col-a")), field("l", LISTED, mapped(7, "col-l"))
    target = target_of(definition(*fields, delta_columnMapping_mode="name"))
    assert target.stored_names == {5: "col-a", 7: "col-l"} and target.with_field_ids and target.unnumbered == {8}
    target = target_of(definition(*fields))
    assert target.stored_names == {} and not target.with_field_ids and target.unnumbered == frozenset()


@pytest.mark.parametrize(("value", "is_enabled"), [("true", True), ("false", False), (None, False)])
def test_files_of_changes(value: str | None, is_enabled: bool) -> None:
    properties = {} if value is None else {"delta_enableChangeDataFeed": value}
    changes = target_of(definition(field("a", "long"), field("l", LISTED), **properties)).changes
    assert (changes is not None) is is_enabled
    if changes is not None:
        kind = changes.schema.fields[-1]
        assert (kind.name, kind.id, changes.directory) == ("_change_type", 4, "_change_data")
        assert 4 in changes.unnumbered and changes.bounded == frozenset() and changes.carried == ()


def test_columns_with_bounds_in_files() -> None:
    identity = {"delta.identity.start": 1, "delta.identity.step": 1}
    fields = field("a", "long"), field("b", "binary"), field("c", "string"), field("i", "long", identity)
    assert target_of(definition(*fields)).bounded == {1, 3, 4}
    limited = definition(*fields, delta_dataSkippingStatsColumns="c")
    assert target_of(limited).bounded == {3, 4}, "marks of identity columns are taken from bounds"
    assert target_of(definition(*fields, delta_targetFileSize="5mb")).target_file_size == 5 << 20


# ---- commits ---------------------------------------------------------------------------------------------------------


def context(snapshot: Any = None, now: int = 50, carried: tuple[Any, ...] = (), **properties: str) -> CommitContext:
    protocol = {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": ["rowTracking"]}
    found = definition(field("a", "long"), protocol=protocol, **properties)
    return CommitContext(snapshot, found, SimpleNamespace(carried=carried), None, "id", now)  # type: ignore[arg-type]


def test_versions_and_times_of_commits() -> None:
    """In-commit timestamps grow."""
    timed = {"delta_enableInCommitTimestamps": "true"}
    before: Any = SimpleNamespace(version=4, timestamp_ms=70)
    assert context().version == 0 and context(before).version == 5
    assert context(before).timestamp == 50 and context(None, **timed).timestamp == 50
    assert context(before, **timed).timestamp == 71 and context(before, 71, **timed).timestamp == 71
    assert context(before, 90, **timed).timestamp == 90
    unknown: Any = SimpleNamespace(version=4, timestamp_ms=None)
    assert context(unknown, **timed).timestamp == 50


@pytest.mark.parametrize(
    ("removes", "carried", "is_kept"),
    [(False, (), True), (True, (), False), (True, ("id",), True), (False, ("id",), True)],
)
def test_whether_rows_keep_their_ids(removes: bool, carried: tuple[str, ...], is_kept: bool) -> None:
    change = TableChange("delete", removed=pa.table({"size_bytes": [3, 4]}) if removes else None)
    info = _commit_info(change, context(carried=carried))
    assert info["tags"] == {"delta.rowTracking.preserved": "true" if is_kept else "false"}
    metrics = info["operationMetrics"]
    assert metrics == ({"numRemovedFiles": "2", "numRemovedBytes": "7"} if removes else {})


def test_what_is_in_conflict_with_a_change_of_metadata() -> None:
    level = LEVELS["WriteSerializable"]
    assert checks_of(TableChange("append"), {}) == level
    change = TableChange("alter", metadata=MetadataChange(properties={"a": "b"}))
    assert checks_of(change, {}) == level | {ConflictCheck.PROTOCOL}


def kinds(log: Path, version: int) -> list[str]:
    return [next(iter(json.loads(line))) for line in (log / f"{version:020d}.json").read_text().splitlines()]


def test_actions_of_commits(tmp_path: Path) -> None:
    """Protocol and metadata are written where they change."""
    log = DeltaLog(tmp_path / "t").start()
    table = tf.open_table(log.root)
    table.append(pa.table({"id": [1]}))
    table.alter.set_properties({"delta.checkpointInterval": "5"})
    table.alter.set_properties({"delta.enableInCommitTimestamps": "true"})
    assert kinds(log.directory, 1) == ["commitInfo", "add"]
    assert kinds(log.directory, 2) == ["commitInfo", "metaData"]
    assert kinds(log.directory, 3) == ["commitInfo", "protocol", "metaData"]


def test_tables_that_are_not_written(tmp_path: Path) -> None:
    """However often it is tried."""
    log = DeltaLog(tmp_path / "t").start(field("a", "string", {"__COLLATIONS": {"a": "ICU.de"}}))
    table = tf.open_table(log.root)
    for _ in range(2):
        with pytest.raises(tf.UnsupportedFeatureError) as caught:
            table.append(pa.table({"a": ["x"]}))
        assert caught.value.field == "collations"
    assert [file.name for file in log.directory.iterdir()] == [f"{0:020d}.json"]
