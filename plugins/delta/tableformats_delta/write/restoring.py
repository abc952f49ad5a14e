"""File actions that are taken from versions as they are: a table set back to an older version, files that get row ids.

Both are decided by columns; an object is made only for a file whose action is written.
Source: Delta PROTOCOL.md, "Add File and Remove File", "Action Reconciliation", "Row Tracking", "Column Mapping",
"Identity Columns", "In-Commit Timestamps".
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from tableformats.plugin import CommitConflictError, UnsupportedFeatureError, dataclass, in_order
from tableformats.plugin import compute as pc

from ..checkpoints.row_group_reader import vector_lists
from ..evolution.metadata_change import without_nulls
from ..evolution.properties import GREATEST_ID, greatest_id, is_true
from ..evolution.protocol_upgrade import with_features
from ..evolution.schema_json import struct_features
from ..log.file_keys import file_keys
from ..maintenance.file_columns import AddColumns, RemoveColumns
from ..maintenance.replay import Replay
from ..maintenance.stored_statistics import StoredStatistics
from ..schema.table_metadata import TableMetadata
from .definition import TableDefinition
from .rules import HIGH_WATER_MARK, IDENTITY_STEP, number_of

if TYPE_CHECKING:
    import pyarrow as pa

    from tableformats.plugin import Limits, Storage, TableChange

    from ..snapshot.delta_snapshot import DeltaSnapshot

__all__ = [
    "FileDifference",
    "Restoration",
    "check_alone",
    "conflict_with_winner",
    "files_without_row_ids",
    "restored_definition",
    "restored_files",
]

_NO_TOMBSTONE = 2**63 - 1
_MODE = "delta.columnMapping.mode"
_KEPT = ("delta.enableInCommitTimestamps", "delta.inCommitTimestampEnablement", "delta.rowTracking.")
"""Properties that stay, whatever the older version had: what the log says about itself, and names of hidden columns."""
_REMOVED = ("path", "partitionValues", "size", "deletionVector", "baseRowId", "defaultRowCommitVersion")


@dataclass(frozen=True)
class Restoration:
    """What a change of metadata says that sets a table back.

    Attributes
    ----------
    snapshot : DeltaSnapshot
        The version that it is set back to.
    """

    snapshot: DeltaSnapshot


@dataclass(frozen=True)
class FileDifference:
    """File actions, as the protocol has them, that a commit writes beside those of its new files.

    Attributes
    ----------
    adds, removes : list of dict
        ``removes`` lack their time.
    data_change : bool
        Whether rows come or go by them.
    """

    adds: list[dict[str, Any]]
    removes: list[dict[str, Any]]
    data_change: bool = True

    def remove_actions(self, now: int) -> Iterator[dict[str, Any]]:
        """The actions of the files that go. ``now`` is their time, milliseconds since the epoch."""
        told = {"deletionTimestamp": now, "dataChange": self.data_change, "extendedFileMetadata": True}
        for row in self.removes:
            yield {"remove": {**{name: row[name] for name in _REMOVED if name in row}, **told}}

    def add_actions(self) -> Iterator[dict[str, Any]]:
        """The actions of the files that come."""
        for row in self.adds:
            yield {"add": {**row, "dataChange": self.data_change}}

    @property
    def metrics(self) -> dict[str, int]:
        """What the history counts."""
        return {
            "numRestoredFiles": len(self.adds),
            "numRemovedFiles": len(self.removes),
            "restoredFilesSize": sum(row["size"] for row in self.adds),
            "removedFilesSize": sum(row["size"] for row in self.removes),
        }


def restored_definition(current: TableDefinition, older: DeltaSnapshot, path: str, limits: Limits) -> TableDefinition:
    """The definition of a table that is set back to ``older``. The features of its protocol stay.

    What must not be given out twice goes on from where it is: ids of columns, and numbers of identity columns.

    Raises
    ------
    UnsupportedFeatureError
        Columns were mapped otherwise then, so the files of both versions cannot be read by one schema.
    """
    properties = {k: v for k, v in older.properties.items() if not k.startswith(_KEPT)}
    properties |= {k: v for k, v in current.properties.items() if k.startswith(_KEPT)}
    modes = [p.get(_MODE, "none") for p in (current.properties, older.properties)]
    if modes[0] != modes[1]:
        raise UnsupportedFeatureError(
            f"version {older.version} has the column mapping mode {modes[1]!r}, and the table has {modes[0]!r}",
            path=path,
            field=_MODE,
            hint="Nothing was changed; read that version, and overwrite the table with its rows",
        )
    if GREATEST_ID in current.properties:
        properties[GREATEST_ID] = str(max(greatest_id(p) for p in (current.properties, older.properties)))
    metadata = without_nulls(older.state.metadata)
    struct = json.loads(metadata["schemaString"])
    if _with_marks(struct, json.loads(current.metadata["schemaString"]), path):
        metadata["schemaString"] = json.dumps(struct, ensure_ascii=False, separators=(",", ":"))
    metadata["configuration"] = properties
    protocol = with_features(without_nulls(current.protocol), struct_features(struct))
    if metadata == without_nulls(current.metadata) and protocol == without_nulls(current.protocol):
        return current
    decoded = TableMetadata.of_actions(metadata, protocol, path, limits)
    return TableDefinition(protocol, metadata, decoded, current.clustering)


def _with_marks(struct: dict[str, Any], current: Mapping[str, Any], path: str) -> bool:
    """Take over the high-water marks of identity columns that are farther along; whether there was one.

    Raises CorruptMetadataError for a mark or a step that is no number.
    """
    newer = {
        f["name"].lower(): number_of(f.get("metadata") or {}, HIGH_WATER_MARK, f["name"], path)
        for f in current["fields"]
    }
    found = False
    for f in struct["fields"]:
        told, mark = f.get("metadata") or {}, newer.get(f["name"].lower())
        step = None if mark is None else number_of(told, IDENTITY_STEP, f["name"], path)
        if mark is None or step is None:
            continue
        old = number_of(told, HIGH_WATER_MARK, f["name"], path)
        if old is None or (mark - old) * step > 0:
            f["metadata"] = {**told, HIGH_WATER_MARK: mark}
            found = True
    return found


def restored_files(storage: Storage, current: DeltaSnapshot, older: DeltaSnapshot) -> FileDifference:
    """The actions that make of the files of ``current`` those of ``older``.

    Raises
    ------
    UnsupportedFeatureError
        Files go, and the table takes new rows only; or a file of the older version is not there any more.
    StoreError
        The store fails while it is asked for files.
    """
    now, then = _live_files(storage, current), _live_files(storage, older)
    keys = [_keys(storage, files) for files in (now, then)]
    removes, adds = (
        _objects(pc.filter(files, pc.invert(pc.is_in(own, value_set=other))))
        for files, own, other in ((now, *keys), (then, *reversed(keys)))
    )
    if removes and is_true(current.properties, "delta.appendOnly"):
        raise UnsupportedFeatureError(
            "the table takes new rows only, and keeps those that it has",
            path=storage.root,
            field="appendOnly",
            hint="Nothing was changed; unset delta.appendOnly first",
        )
    _check_present(storage, adds, older.version)
    return FileDifference(adds, removes)


def files_without_row_ids(storage: Storage, snapshot: DeltaSnapshot) -> FileDifference:
    """The actions of the live files that have no row ids, to be written again with some.

    Raises
    ------
    UnsupportedFeatureError
        The statistics of a file do not say how many rows it has.
    """
    files = _live_files(storage, snapshot)
    adds = _objects(pc.filter(files, pc.is_null(files.field("baseRowId"))))
    for add in adds:
        if not _has_count(add.get("stats")):
            raise UnsupportedFeatureError(
                f"row tracking needs the number of rows of each file, and {add['path']!r} has none in its statistics",
                path=storage.root,
                field="delta.enableRowTracking",
                hint="Nothing was changed; write the rows of that file again",
            )
    return FileDifference(adds, [], data_change=False)


def conflict_with_winner(version: int, path: str) -> CommitConflictError:
    """The error of a change that depends on all files, when another writer committed."""
    return CommitConflictError(
        f"another writer committed up to version {version}, and the change depends on all files of the table",
        path=path,
        hint="Nothing was changed; do it again",
    )


def check_alone(change: TableChange, path: str) -> None:
    """Refuse a change of all files that shares its commit with other files. Raises UnsupportedFeatureError."""
    if any(files is not None and files.num_rows for files in (change.added, change.removed, change.changed_rows)):
        raise UnsupportedFeatureError(
            "what changes all files of a table is alone in its transaction",
            path=path,
            field="transaction",
            hint="Nothing was changed; commit it on its own",
        )


def _has_count(text: object) -> bool:
    try:
        count = json.loads(str(text))["numRecords"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return False
    return isinstance(count, int) and not isinstance(count, bool) and 0 <= count < 2**63


def _live_files(storage: Storage, snapshot: DeltaSnapshot) -> pa.StructArray:
    """The live files of a version as the column ``add`` of a checkpoint, statistics as JSON."""
    import pyarrow as pa

    columns = AddColumns({}, StoredStatistics(True, None))
    replay = Replay(storage, snapshot, columns, RemoveColumns(), _NO_TOMBSTONE)
    found = [files for kind, files in replay.files() if kind == "add"]
    return pa.concat_arrays(found) if found else pa.array([], columns.type)


def _keys(storage: Storage, files: pa.StructArray) -> pa.BinaryArray:
    import pyarrow as pa

    members = {"path": files.field("path"), "deletion_vector": vector_lists(files, "deletionVector", storage.root)}
    return file_keys(pa.RecordBatch.from_pydict(members), storage.root, storage.root)


def _objects(files: pa.StructArray) -> list[dict[str, Any]]:
    found = []
    for row in files.to_pylist(maps_as_pydicts="strict"):
        action = {name: value for name, value in row.items() if value is not None}
        if "deletionVector" in action:
            vector = action["deletionVector"]
            action["deletionVector"] = {name: value for name, value in vector.items() if value is not None}
        found.append(action)
    return found


def _check_present(storage: Storage, adds: list[dict[str, Any]], version: int) -> None:
    paths = [storage.resolve_one(add["path"], encoded=True) for add in adds]
    for path, size in zip(paths, in_order(storage.size_of, paths), strict=True):
        if size is None:
            raise UnsupportedFeatureError(
                f"a file of version {version} is not there any more",
                path=path,
                field="restore",
                hint="Nothing was changed; restore a version whose files were not vacuumed",
            )
