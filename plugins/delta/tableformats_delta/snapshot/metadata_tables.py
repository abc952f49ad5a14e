"""Metadata tables of a snapshot besides its files: tombstones, transactions, domains, and the files of the log.

They are requested rarely, so they are read again from the commits and the checkpoint, and not cached. Columns have the
names of the fields of the actions. Source: Delta PROTOCOL.md, "Action Reconciliation", "Transaction Identifiers",
"Domain Metadata".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from tableformats.plugin import CorruptMetadataError, UnsupportedFeatureError

from ..checkpoints.checkpoint_files import CheckpointFile
from ..log.actions import Actions, parse_actions
from ..log.file_actions import file_rows
from ..log.file_keys import file_keys
from ..log.last_checkpoint import review_hint
from ..log.listing import LogSegment, list_log, read_log_file
from ..log.names import LAST_CHECKPOINT, SIDECAR_DIRECTORY

if TYPE_CHECKING:
    import pyarrow as pa

    from tableformats.plugin import Storage

__all__ = ["metadata_table"]

_INT64 = range(-(2**63), 2**63)
_Row = dict[str, Any]


def metadata_table(name: str, storage: Storage, segment: LogSegment, checkpoint: list[CheckpointFile]) -> pa.Table:
    """Read the metadata table ``name``.

    ============  =================================================================================================
    tombstones    removed files whose ``remove`` actions are still in the log: ``path``, ``deletionTimestamp``
                  (timestamp[ms, UTC]), ``dataChange``, ``extendedFileMetadata``, ``partitionValues``, ``size`` (bytes),
                  ``deletionVector`` (struct<storageType, pathOrInlineDv, offset, sizeInBytes, cardinality>)
    transactions  ``appId``, ``version`` (int64), ``lastUpdated`` (timestamp[ms, UTC])
    domains       ``domain``, ``configuration``
    log           the files that the log has now: ``name``, ``kind``, ``version`` (int64), ``size`` (bytes),
                  ``modificationTime`` (timestamp[ms, UTC]), ``inUse`` (by this snapshot), ``remark``
    ============  =================================================================================================

    Parameters
    ----------
    name : str
        ``tombstones``, ``transactions``, ``domains`` or ``log``.
    segment : LogSegment
        The files that make the snapshot.
    checkpoint : list of CheckpointFile
        The files of its checkpoint, with the sidecars.

    Raises
    ------
    UnsupportedFeatureError
        There is no table of this name.
    CorruptMetadataError
        A file is damaged, or an action lacks a field.
    """
    reader = _TABLES.get(name)
    if reader is None:
        known = ", ".join(_TABLES)
        raise UnsupportedFeatureError(
            f"Delta tables have no metadata table {name!r}", path=storage.root, field=name, hint=f"There are: {known}"
        )
    return reader(storage, segment, checkpoint)


def _log(storage: Storage, segment: LogSegment, checkpoint: list[CheckpointFile]) -> pa.Table:
    import pyarrow as pa

    listing = list_log(storage)
    known = {file.path: ("commit", file.version) for file in listing.commits.values()}
    known |= {file.path: ("compaction", file.version) for file in listing.compactions.values()}
    known |= {file.path: ("checksum", file.version) for file in listing.checksums.values()}
    known |= {file.path: ("checkpoint", c.version) for c in listing.checkpoints.values() for file in c.files}
    used = {file.path for file in segment.commits} | {part.path for part in checkpoint}
    rows: list[_Row] = []
    for info in [*storage.list(listing.directory), *storage.list(f"{listing.directory}/{SIDECAR_DIRECTORY}")]:
        kind, version = known.get(info.path, ("other", None))
        remark = None
        if info.path.startswith(f"{listing.directory}/{SIDECAR_DIRECTORY}/"):
            kind = "sidecar"
        elif info.name == LAST_CHECKPOINT:
            kind = "hint"
            version, remark = review_hint(storage, listing)
        row = {"name": info.path[len(listing.directory) + 1 :], "kind": kind, "version": version, "size": info.size}
        rows.append({**row, "modificationTime": info.mtime_ms, "inUse": info.path in used, "remark": remark or None})
    kinds = [
        ("name", pa.string()),
        ("kind", pa.string()),
        ("version", pa.int64()),
        ("size", pa.int64()),
        ("modificationTime", pa.timestamp("ms", "UTC")),
        ("inUse", pa.bool_()),
        ("remark", pa.string()),
    ]
    return _table(rows, kinds)


def _transactions(storage: Storage, segment: LogSegment, checkpoint: list[CheckpointFile]) -> pa.Table:
    import pyarrow as pa

    rows = _newest(storage, segment, checkpoint, "txn", "appId")
    kinds = [("appId", pa.string()), ("version", pa.int64()), ("lastUpdated", pa.timestamp("ms", "UTC"))]
    return _table([_checked(row, path, "txn") for row, path in rows], kinds)


def _domains(storage: Storage, segment: LogSegment, checkpoint: list[CheckpointFile]) -> pa.Table:
    import pyarrow as pa

    rows = _newest(storage, segment, checkpoint, "domainMetadata", "domain")
    kept = [_checked(row, path, "domainMetadata") for row, path in rows if row.get("removed") is not True]
    return _table(kept, [("domain", pa.string()), ("configuration", pa.string())])


def _newest(
    storage: Storage, segment: LogSegment, checkpoint: list[CheckpointFile], action: str, key: str
) -> list[tuple[_Row, str]]:
    """The newest action of each key and its file, sorted by key. Raises CorruptMetadataError."""
    found: dict[str, tuple[_Row, str]] = {}
    for row, path in _all(storage, segment, checkpoint, action):
        identity = row.get(key)
        if not isinstance(identity, str) or not _is_text(identity):
            raise _wrong(action, key, path)
        found.setdefault(identity, (row, path))
    return [found[identity] for identity in sorted(found)]


def _all(
    storage: Storage, segment: LogSegment, checkpoint: list[CheckpointFile], action: str
) -> Iterator[tuple[_Row, str]]:
    """The actions of a kind with their files, newest file first, within a file the last action first."""
    for file in segment.commits:
        actions = parse_actions(read_log_file(storage, file.path), file.path)
        found = _of_kind(actions, action)
        storage.limits.check("entries", len(found), f"{action} actions of a file of the log", path=file.path)
        yield from ((row, file.path) for row in reversed(found))
    for part in checkpoint:
        rows = _of_kind(part.actions(), action) if part.is_json else part.structs(action)
        yield from ((row, part.path) for row in rows)


def _of_kind(actions: Actions, action: str) -> list[_Row]:
    return actions.transactions if action == "txn" else actions.domains


def _tombstones(storage: Storage, segment: LogSegment, checkpoint: list[CheckpointFile]) -> pa.Table:
    import pyarrow as pa

    seen: set[bytes] = set()
    rows: list[_Row] = []
    for file in segment.commits:
        actions = parse_actions(read_log_file(storage, file.path), file.path)
        seen.update(_keys(actions.adds, "add", storage, file.path))
        rows += _unseen(actions.removes, seen, storage, file.path)
    for part in checkpoint:
        if part.is_json:
            removes = part.actions().removes
        else:
            removes = [(_as_json(row), 0) for row in part.structs("remove")]
        rows += _unseen(removes, seen, storage, part.path)
    kinds = [
        ("path", pa.string()),
        ("deletionTimestamp", pa.timestamp("ms", "UTC")),
        ("dataChange", pa.bool_()),
        ("extendedFileMetadata", pa.bool_()),
        ("partitionValues", pa.map_(pa.string(), pa.string())),
        ("size", pa.int64()),
        ("deletionVector", _vector_type()),
    ]
    return _table(rows, kinds)


def _unseen(removes: list[tuple[_Row, int]], seen: set[bytes], storage: Storage, path: str) -> Iterator[_Row]:
    """The removes whose key is not in ``seen``; adds their keys to ``seen``."""
    for (row, _), key in zip(removes, _keys(removes, "remove", storage, path), strict=True):
        if key not in seen:
            seen.add(key)
            yield _checked(row, path, "remove")


def _keys(actions: list[tuple[_Row, int]], kind: str, storage: Storage, path: str) -> list[bytes]:
    keys: list[bytes] = file_keys(file_rows(actions, kind, path), storage.root, path).to_pylist()
    return keys


def _as_json(row: _Row) -> _Row:
    """A row of a Parquet checkpoint as in JSON. Parquet gives maps as pairs, and absent vectors as structs of nulls."""
    vector = row.get("deletionVector")
    if vector is not None and all(value is None for value in vector.values()):
        vector = None
    return {**row, "partitionValues": _mapping(row.get("partitionValues")), "deletionVector": vector}


def _mapping(pairs: Any) -> Any:
    return dict(pairs) if isinstance(pairs, list) else pairs


def _vector_type() -> pa.DataType:
    import pyarrow as pa

    return pa.struct(
        [
            ("storageType", pa.string()),
            ("pathOrInlineDv", pa.string()),
            ("offset", pa.int64()),
            ("sizeInBytes", pa.int64()),
            ("cardinality", pa.int64()),
        ]
    )


# The fields that file_rows does not check.
_FIELDS: Mapping[str, Mapping[str, type]] = {
    "txn": {"appId": str, "version": int, "lastUpdated": int},
    "domainMetadata": {"domain": str, "configuration": str},
    "remove": {
        "deletionTimestamp": int,
        "dataChange": bool,
        "extendedFileMetadata": bool,
        "size": int,
        "partitionValues": dict,
    },
}
_REQUIRED = ("appId", "version", "domain")


def _checked(row: _Row, path: str, action: str) -> _Row:
    """Check that the fields of ``row`` have the types of the protocol. Raises CorruptMetadataError."""
    for name, kind in _FIELDS[action].items():
        value = row.get(name)
        if not _is(value, kind) and (value is not None or name in _REQUIRED):
            raise _wrong(action, name, path)
    return row


def _is(value: Any, kind: type) -> bool:
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool) and value in _INT64
    if kind is dict:
        return isinstance(value, dict) and all(_is(v, str) for v in value.values() if v is not None)
    return isinstance(value, kind) and (not isinstance(value, str) or _is_text(value))


def _is_text(value: str) -> bool:
    try:
        value.encode()  # JSON can hold half a character
    except UnicodeEncodeError:
        return False
    return True


def _wrong(action: str, name: str, path: str) -> CorruptMetadataError:
    return CorruptMetadataError(
        f"a {action} action lacks a field or has one of the wrong type", path=path, field=f"{action}.{name}"
    )


def _table(rows: list[_Row], kinds: list[tuple[str, pa.DataType]]) -> pa.Table:
    import pyarrow as pa

    columns = {}
    for name, kind in kinds:
        values = [row.get(name) for row in rows]
        if pa.types.is_map(kind):
            values = [None if value is None else list(value.items()) for value in values]
        columns[name] = pa.array(values, kind)
    return pa.table(columns)


_TABLES: Mapping[str, Callable[[Storage, LogSegment, list[CheckpointFile]], pa.Table]] = {
    "tombstones": _tombstones,
    "transactions": _transactions,
    "domains": _domains,
    "log": _log,
}
