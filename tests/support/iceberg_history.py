"""Iceberg tables of several snapshots written by hand, beside a row model that knows what every snapshot changed."""

from __future__ import annotations

import io
import json
import struct
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
from pyroaring import BitMap64

from tests.support.iceberg_manifests import SYNC, entry, manifest_bytes, record

LIST = record(
    ("manifest_path", 500, "string"),
    ("manifest_length", 501, "long"),
    ("partition_spec_id", 502, "int"),
    ("content", 517, "int"),
    ("sequence_number", 515, "long"),
    ("min_sequence_number", 516, "long"),
    ("added_snapshot_id", 503, "long"),
    name="manifest_file",
)
SCHEMA = {"type": "struct", "schema-id": 0, "fields": [{"id": 1, "name": "id", "required": False, "type": "long"}]}
Position = tuple[str, int]


@dataclass
class Commit:
    """One snapshot: the ids that lived when it was made, and those that it deleted and inserted."""

    id: int
    operation: str
    rows: list[int]
    deleted: list[int]
    inserted: list[int]


@dataclass
class _Manifest:
    path: str
    content: int
    sequence_number: int
    snapshot_id: int
    entries: list[dict[str, Any]] = field(default_factory=list)


class History:
    """A table with one column ``id``, and its commits so far. Paths are names below the table's ``data`` folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.commits: list[Commit] = []
        self.files: dict[str, list[int]] = {}
        self.dead: dict[str, set[int]] = {}
        self.vectors: dict[str, str] = {}
        self._manifests: list[_Manifest] = []
        (root / "metadata").mkdir(parents=True)
        (root / "data").mkdir()

    # ---- commits ------------------------------------------------------------------------------------------------

    def commit(
        self,
        operation: str,
        *,
        add: Iterable[list[int]] = (),
        remove: Iterable[str] = (),
        positions: Iterable[Position] = (),
        vectors: Iterable[Position] = (),
        keys: Iterable[int] = (),
    ) -> Commit:
        """One snapshot that adds files with these ids, removes files, and deletes rows by position delete files, by
        deletion vectors (which take in what was deleted in their file before) and by equality deletes."""
        number = len(self.commits) + 1
        snapshot_id = 100 + number
        before = self.live()
        keys, removed = list(keys), set(remove)
        gone = [row for path in removed for row in self._live_of(path)]
        self._rewrite(removed, number, snapshot_id)
        for path in removed:
            del self.files[path], self.dead[path]
        deleted = self._delete(list(positions), list(vectors), keys, number, snapshot_id)
        inserted = self._append(list(add), number, snapshot_id)
        commit = Commit(snapshot_id, operation, self.live(), sorted(gone + deleted), sorted(inserted))
        if operation == "replace":
            assert before == self.live()
            commit.deleted, commit.inserted = [], []
        self.commits.append(commit)
        self._write_snapshot(commit, number)
        return commit

    def live(self) -> list[int]:
        return sorted(row for path in self.files for row in self._live_of(path))

    def _live_of(self, path: str) -> list[int]:
        return [row for i, row in enumerate(self.files[path]) if i not in self.dead[path]]

    def _append(self, added: list[list[int]], number: int, snapshot_id: int) -> list[int]:
        manifest = _Manifest(f"data-{number}.avro", 0, number, snapshot_id)
        for i, ids in enumerate(added):
            path = f"f{number}-{i}.parquet"
            self._parquet(path, pa.table({"id": pa.array(ids, pa.int64())}), {"id": 1})
            self.files[path], self.dead[path] = ids, set()
            manifest.entries.append(self._entry(path, len(ids), snapshot_id))
        self._keep(manifest)
        return [row for ids in added for row in ids]

    def _rewrite(self, removed: set[str], number: int, snapshot_id: int) -> None:
        """Manifests without the removed files: these become tombstones, the others existing ones."""
        vectors = {name for path, name in self.vectors.items() if path in removed}
        gone = {self._stored(path) for path in removed | vectors}
        kept = []
        for i, manifest in enumerate(self._manifests):
            live = [e for e in manifest.entries if e["status"] != 2]
            if not gone & {e["data_file"]["file_path"] for e in live}:
                kept.append(manifest)
                continue
            new = _Manifest(f"rewritten-{number}-{i}.avro", manifest.content, number, snapshot_id)
            for e in live:
                status = 2 if e["data_file"]["file_path"] in gone else 0
                own = manifest.sequence_number if e["sequence_number"] is None else e["sequence_number"]
                made_by = snapshot_id if status == 2 else e["snapshot_id"]
                new.entries.append({**e, "status": status, "sequence_number": own, "snapshot_id": made_by})
            kept.append(new)
            self._save(new)
        self._manifests = kept

    # ---- deletes ------------------------------------------------------------------------------------------------

    def _delete(
        self, positions: list[Position], vectors: list[Position], keys: list[int], number: int, snapshot_id: int
    ) -> list[int]:
        manifest = _Manifest(f"deletes-{number}.avro", 1, number, snapshot_id)
        before = {path: set(dead) for path, dead in self.dead.items()}
        for path, position in (*positions, *vectors):
            self.dead[path].add(position)
        if positions:
            rows = pa.table(
                {
                    "file_path": [self._stored(p) for p, _ in positions],
                    "pos": pa.array([i for _, i in positions], pa.int64()),
                }
            )
            self._parquet(f"p{number}.parquet", rows, {"file_path": 2147483546, "pos": 2147483545})
            manifest.entries.append(self._entry(f"p{number}.parquet", len(positions), snapshot_id, content=1))
        old = {self.vectors[p] for p, _ in vectors if p in self.vectors}
        if old:
            self._rewrite(old, number, snapshot_id)
        for path in dict.fromkeys(p for p, _ in vectors):
            manifest.entries.append(self._vector(path, number, snapshot_id))
        if keys:
            self._parquet(f"e{number}.parquet", pa.table({"id": pa.array(keys, pa.int64())}), {"id": 1})
            more = {"content": 2, "equality_ids": [1]}
            manifest.entries.append(self._entry(f"e{number}.parquet", len(keys), snapshot_id, **more))
            for path, ids in self.files.items():
                self.dead[path] |= {i for i, row in enumerate(ids) if row in keys}
        self._keep(manifest)
        return [self.files[p][i] for p, dead in self.dead.items() for i in dead - before[p]]

    def _vector(self, path: str, number: int, snapshot_id: int) -> dict[str, Any]:
        dead = sorted(self.dead[path])
        name = f"v{number}-{path}.puffin"
        body = b"\xd1\xd3\x39\x64" + BitMap64(dead).serialize()
        blob = struct.pack(">I", len(body)) + body + struct.pack(">I", zlib.crc32(body))
        (self.root / "data" / name).write_bytes(blob)
        self.vectors[path] = name
        place = {"referenced_data_file": self._stored(path), "content_offset": 0, "content_size_in_bytes": len(blob)}
        return self._entry(name, len(dead), snapshot_id, content=1, file_format="PUFFIN", **place)

    # ---- files --------------------------------------------------------------------------------------------------

    def _stored(self, path: str) -> str:
        return str(self.root / "data" / path)

    def _entry(self, path: str, records: int, snapshot_id: int, **more: Any) -> dict[str, Any]:
        size = (self.root / "data" / path).stat().st_size
        made = entry(self._stored(path), records=records, **{"file_size_in_bytes": size, **more})
        return {**made, "snapshot_id": snapshot_id}

    def _parquet(self, path: str, rows: pa.Table, ids: dict[str, int]) -> None:
        fields = [f.with_metadata({"PARQUET:field_id": str(ids[f.name])}) for f in rows.schema]
        pq.write_table(rows.cast(pa.schema(fields)), self.root / "data" / path)

    def _keep(self, manifest: _Manifest) -> None:
        if manifest.entries:
            self._manifests.append(manifest)
            self._save(manifest)

    def _save(self, manifest: _Manifest) -> None:
        (self.root / "metadata" / manifest.path).write_bytes(manifest_bytes(manifest.entries))

    def _write_snapshot(self, commit: Commit, number: int) -> None:
        rows = []
        for m in self._manifests:
            file = self.root / "metadata" / m.path
            rows.append(
                {
                    "manifest_path": str(file),
                    "manifest_length": file.stat().st_size,
                    "partition_spec_id": 0,
                    "content": m.content,
                    "sequence_number": m.sequence_number,
                    "min_sequence_number": 0,
                    "added_snapshot_id": m.snapshot_id,
                }
            )
        out = io.BytesIO()
        fastavro.writer(out, fastavro.parse_schema(LIST), rows, sync_marker=SYNC)
        (self.root / "metadata" / f"snap-{commit.id}.avro").write_bytes(out.getvalue())
        self._manifests = [m for m in self._manifests if any(e["status"] != 2 for e in m.entries)]
        self.write_metadata()

    def write_metadata(self, first: int = 0) -> None:
        """The metadata file; snapshots before the place ``first`` have expired."""
        snapshots = [
            {
                "snapshot-id": c.id,
                "parent-snapshot-id": c.id - 1 if i else None,
                "timestamp-ms": c.id * 1000,
                "sequence-number": i + 1,
                "manifest-list": str(self.root / "metadata" / f"snap-{c.id}.avro"),
                "summary": {"operation": c.operation},
                "schema-id": 0,
            }
            for i, c in enumerate(self.commits)
        ]
        metadata = {
            "format-version": 3,
            "table-uuid": "u",
            "location": str(self.root),
            "last-updated-ms": 1,
            "last-sequence-number": len(self.commits),
            "last-column-id": 1,
            "current-schema-id": 0,
            "schemas": [SCHEMA],
            "default-spec-id": 0,
            "partition-specs": [{"spec-id": 0, "fields": []}],
            "last-partition-id": 999,
            "default-sort-order-id": 0,
            "sort-orders": [{"order-id": 0, "fields": []}],
            "next-row-id": 0,
            "snapshots": snapshots[first:],
            "current-snapshot-id": self.commits[-1].id if self.commits else -1,
        }
        (self.root / "metadata" / "v1.metadata.json").write_text(json.dumps(metadata))
