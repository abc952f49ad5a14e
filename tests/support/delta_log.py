"""Hand-built Delta logs, and the few lines of reconciliation that tests of the plugin alone need."""

from __future__ import annotations

import json
import os
import struct
import zlib
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyroaring import BitMap, BitMap64
from tableformats_delta.deletes import z85
from tableformats_delta.deletes.deletion_vectors import NATIVE_MAGIC, PORTABLE_MAGIC
from tableformats_delta.deletes.descriptors import vector_type
from tableformats_delta.format import DeltaFormat
from tableformats_delta.snapshot.delta_snapshot import DeltaSnapshot
from tableformats_delta.table import DeltaTable

from tableformats.io.storage import Storage
from tableformats.plugin import FormatSnapshot, OpenOptions, ReadRequest, SnapshotSelector
from tableformats.plugin.report import ScanReport

PROTOCOL = {"minReaderVersion": 1, "minWriterVersion": 2}
WITH_VECTORS = {
    "minReaderVersion": 3,
    "minWriterVersion": 7,
    "readerFeatures": ["deletionVectors"],
    "writerFeatures": ["deletionVectors"],
}
UUIDS = [UUID(int=n * 0x0101010101010101010101010101) for n in range(1, 9)]


def field(name: str, kind: Any, metadata: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"name": name, "type": kind, "nullable": True, "metadata": metadata or {}}


def schema_string(*fields: dict[str, Any]) -> str:
    return json.dumps({"type": "struct", "fields": list(fields)})


def metadata(
    *fields: dict[str, Any], partition: tuple[str, ...] = (), configuration: dict[str, str] | None = None
) -> dict[str, Any]:
    return {
        "id": "t",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": schema_string(*(fields or (field("id", "long"),))),
        "partitionColumns": list(partition),
        "configuration": configuration or {},
        "createdTime": 0,
    }


def first_actions(protocol: dict[str, Any] | None = None, **more: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Protocol and metadata, as rows that :meth:`DeltaLog.checkpoint` takes."""
    wanted = {f.name for f in METADATA_TYPE}
    return {"protocol": protocol or PROTOCOL}, {"metaData": {k: v for k, v in metadata(**more).items() if k in wanted}}


def add(path: str, **more: Any) -> dict[str, Any]:
    action = {"path": path, "partitionValues": {}, "size": 10, "modificationTime": 1, "dataChange": True}
    return {"add": {**action, **more}}


def remove(path: str, **more: Any) -> dict[str, Any]:
    return {"remove": {"path": path, "deletionTimestamp": 1, "dataChange": True, **more}}


def stats(records: int, **more: Any) -> str:
    return json.dumps({"numRecords": records, **more})


def vector(
    n: int = 0, *, prefix: str = "", cardinality: int = 1, size: int = 34, offset: int | None = 1
) -> dict[str, Any]:
    """The descriptor of the vector stored by uuid number ``n``."""
    descriptor = {
        "storageType": "u",
        "pathOrInlineDv": prefix + z85.encode(UUIDS[n].bytes),
        "sizeInBytes": size,
        "cardinality": cardinality,
    }
    return descriptor if offset is None else {**descriptor, "offset": offset}


def vector_file(*bitmaps: bytes) -> tuple[bytes, list[int]]:
    """A deletion vector file of these data blocks (magic and bitmap), and the offset of each."""
    out, offsets = bytearray([1]), []
    for data in bitmaps:
        offsets.append(len(out))
        out += struct.pack(">I", len(data)) + data + struct.pack(">I", zlib.crc32(data))
    return bytes(out), offsets


class DeltaLog:
    """A ``_delta_log`` under construction."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.directory = root / "_delta_log"
        self.directory.mkdir(parents=True)

    def start(self, *fields: dict[str, Any], protocol: dict[str, Any] | None = None, **more: Any) -> DeltaLog:
        """Version 0: protocol and metadata."""
        return self.commit(0, {"protocol": protocol or PROTOCOL}, {"metaData": metadata(*fields, **more)})

    def commit(self, version: int, *actions: dict[str, Any], mtime_ms: int | None = None) -> DeltaLog:
        text = "".join(json.dumps(action) + "\n" for action in actions)
        return self.write(f"{version:020d}.json", text.encode(), mtime_ms)

    def write(self, name: str, data: bytes, mtime_ms: int | None = None) -> DeltaLog:
        path = self.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        if mtime_ms is not None:
            os.utime(path, ns=(mtime_ms * 1_000_000, mtime_ms * 1_000_000))
        return self

    def actions(self, version: int) -> list[dict[str, Any]]:
        """The actions of a commit that :meth:`commit` wrote."""
        return [json.loads(line) for line in (self.directory / f"{version:020d}.json").read_text().splitlines()]

    def compact(self, first: int, last: int) -> DeltaLog:
        """The compaction of the commits ``first`` to ``last``."""
        actions = reconciled([self.actions(version) for version in range(first, last + 1)])
        return self.write(compaction_name(first, last), "".join(json.dumps(a) + "\n" for a in actions).encode())

    def checkpoint(self, name: str, *actions: dict[str, Any], add_type: pa.DataType | None = None) -> DeltaLog:
        """A Parquet checkpoint, or a part, manifest or sidecar, of ``actions``."""
        kinds = {"add": add_type or ADD, "protocol": PROTOCOL_TYPE, "metaData": METADATA_TYPE, "sidecar": SIDECAR}
        table = pa.Table.from_pylist(list(actions), pa.schema(list(kinds.items())))
        path = self.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, path)
        return self

    def table(self) -> DeltaTable:
        return DeltaFormat().open(Storage(self.root), OpenOptions())

    def snapshot(self, version: int | str | None = None, **selector: Any) -> DeltaSnapshot:
        return self.table().snapshot(SnapshotSelector(version=version, **selector))

    def paths(self, version: int | None = None) -> list[str]:
        return sorted(row["path"] for row in live_files(self.snapshot(version)))


def compaction_name(first: int, last: int) -> str:
    return f"{first:020d}.{last:020d}.compacted.json"


def reconciled(commits: list[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """The newest action of every key, removes and removed domains included; no commitInfo."""
    newest: dict[Any, dict[str, Any]] = {}
    for actions in commits:
        for action in sorted(actions, key=lambda a: "add" in a):  # an add wins in its commit
            ((kind, content),) = action.items()
            if kind in ("add", "remove"):
                stored = content.get("deletionVector")
                newest[content["path"], stored and tuple(stored.items())] = action
            elif kind != "commitInfo":
                newest[kind, content.get("appId") or content.get("domain")] = action
    return list(newest.values())


_MAP = pa.map_(pa.string(), pa.string())
VECTOR_TYPE = pa.struct(
    [
        ("storageType", pa.string()),
        ("pathOrInlineDv", pa.string()),
        ("offset", pa.int32()),
        ("sizeInBytes", pa.int32()),
        ("cardinality", pa.int64()),
    ]
)
ADD_FIELDS = [
    ("path", pa.string()),
    ("partitionValues", _MAP),
    ("size", pa.int64()),
    ("modificationTime", pa.int64()),
    ("dataChange", pa.bool_()),
    ("stats", pa.string()),
]
ADD = pa.struct([*ADD_FIELDS, ("deletionVector", VECTOR_TYPE)])
PROTOCOL_TYPE = pa.struct(
    [
        ("minReaderVersion", pa.int32()),
        ("minWriterVersion", pa.int32()),
        ("readerFeatures", pa.list_(pa.string())),
        ("writerFeatures", pa.list_(pa.string())),
    ]
)
METADATA_TYPE = pa.struct(
    [
        ("id", pa.string()),
        ("schemaString", pa.string()),
        ("partitionColumns", pa.list_(pa.string())),
        ("configuration", _MAP),
    ]
)
SIDECAR = pa.struct([("path", pa.string()), ("sizeInBytes", pa.int64()), ("modificationTime", pa.int64())])


def request(*columns: Any) -> ReadRequest:
    return ReadRequest(columns, ScanReport())


def live_files(snapshot: FormatSnapshot, asked: ReadRequest | None = None) -> list[dict[str, Any]]:
    """The live files as dicts, newest first: the contract of ``FileBatch`` in its plainest form."""
    seen: set[bytes] = set()
    found = []
    for batch in snapshot.read(asked or request()):
        keys = batch.keys.to_pylist() if batch.keys is not None else None
        assert batch.statistics is not None
        counts = batch.statistics.record_counts(np.arange(batch.files.num_rows)).to_pylist()
        live = []
        for i, row in enumerate(batch.files.to_pylist()):
            row["record_count"] = counts[i]
            row["vector"] = next(iter(row.pop("deletion_vector")), None)
            if keys is not None:
                if keys[i] in seen:
                    continue
                if batch.insert_keys:
                    seen.add(keys[i])
            if batch.live is None or batch.live[i]:
                live.append(i)
                found.append(row)
        if batch.row_errors is not None:
            batch.row_errors.raise_if_live(np.array(live, np.int64))
    return found


def deleted(snapshot: FormatSnapshot, row: dict[str, Any], record_count: int | None = None) -> list[int]:
    """The deleted positions of one live file."""
    vectors = pa.array([[row["vector"]] if row["vector"] else []], vector_type())
    deletes = snapshot.attach_deletes(pa.table({"deletion_vector": vectors}), request())
    return list(snapshot.deleted_positions(row["path"], record_count, deletes.files))


def portable(positions: list[int]) -> bytes:
    return struct.pack("<I", PORTABLE_MAGIC) + bytes(BitMap64(positions).serialize())


def native(positions: list[int]) -> bytes:
    """The older layout: one 32-bit bitmap for each high word from 0 on, empty ones too."""
    high = max(positions) >> 32
    bitmaps = [BitMap([p & 0xFFFFFFFF for p in positions if p >> 32 == i]).serialize() for i in range(high + 1)]
    parts = [struct.pack("<II", NATIVE_MAGIC, len(bitmaps))]
    return b"".join(parts + [struct.pack("<I", len(b)) + b for b in bitmaps])
