"""A format in memory, for tests of the reader: its files are Parquet or ORC files that the test wrote."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyroaring import BitMap64

from tableformats.io.storage import Storage
from tableformats.plugin import (
    DeleteFiles,
    FileBatch,
    FormatSnapshot,
    MetadataCache,
    NameMapping,
    PartitionField,
    PartitionSpec,
    ReadRequest,
)
from tableformats.schema import Field, Schema, arrow_type
from tableformats.schema.transforms import parse_transform
from tableformats.table.table import Snapshot

DELETE_COLUMNS = pa.schema(
    [
        ("kind", pa.string()),
        ("path", pa.string()),
        ("offset", pa.int64()),
        ("cardinality", pa.int64()),
        ("record_count", pa.int64()),
    ]
)


@dataclass
class FakeFile:
    """``positions`` are deleted rows (kind ``position_kind``); ``keys`` names the equality deletes that apply."""

    path: str
    record_count: int | None
    partition: dict[int, Any] = field(default_factory=dict)
    spec_id: int = 0
    positions: Sequence[int] = ()
    position_kind: str = "deletion_vector"
    cardinality: int | None = None
    keys: Sequence[str] = ()
    file_format: str = "parquet"
    size_bytes: int = 1
    split_offsets: Sequence[int] = ()

    def deletes(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = [{"kind": "equality", "path": name} for name in self.keys]
        if len(self.positions):
            found.append({"kind": self.position_kind, "path": "dv", "offset": 4, "cardinality": self.cardinality})
        return found


class FakeSnapshot(FormatSnapshot):
    """``equality`` holds the tables of keys by name; ``loads`` counts how often each was asked for."""

    version, timestamp_ms, default_spec_id, properties = 1, None, 0, {}

    def __init__(
        self,
        schema: Schema,
        files: Sequence[FakeFile],
        name_mapping: NameMapping,
        specs: Mapping[int, PartitionSpec],
        equality: Mapping[str, pa.Table],
    ) -> None:
        self.schema, self.files, self.name_mapping, self.specs = schema, files, name_mapping, specs
        self.equality = equality
        self.loads: list[str] = []

    def read(self, request: ReadRequest) -> Iterator[FileBatch]:
        for file in self.files:
            spec = self.specs[file.spec_id]
            members = [(str(f.id), arrow_type(f.type)) for f in spec.fields]
            values = {str(f.id): file.partition[f.id] for f in spec.fields}
            batch = pa.record_batch(
                {
                    "path": pa.array([file.path]),
                    "size_bytes": pa.array([file.size_bytes], pa.int64()),
                    "record_count": pa.array([file.record_count], pa.int64()),
                    "partition": pa.array([values], pa.struct(members)),
                    "file_format": pa.array([file.file_format]),
                    "split_offsets": pa.array([file.split_offsets], pa.list_(pa.int64())),
                }
            )
            yield FileBatch(batch, file.spec_id)

    def attach_deletes(self, files: pa.Table, request: ReadRequest) -> DeleteFiles:
        by_path = {file.path: file.deletes() for file in self.files}
        lists = [by_path[path] for path in files["path"].to_pylist()]
        rows = [{name: row.get(name) for name in DELETE_COLUMNS.names} for rows in lists for row in rows]
        offsets = np.cumsum([0, *map(len, lists)]).astype(np.int64)
        return DeleteFiles(
            pa.Table.from_pylist(rows, schema=DELETE_COLUMNS), offsets, np.arange(len(rows), dtype=np.int32)
        )

    def resolve_paths(self, paths: pa.Array) -> pa.Array:
        return paths.cast(pa.string())

    def deleted_positions(self, path: str, record_count: int | None, deletes: pa.Table) -> BitMap64:
        assert set(deletes["kind"].to_pylist()) <= {"deletion_vector", "position"}
        return BitMap64(next(file.positions for file in self.files if file.path == path))

    def equality_deletes(self, delete: Mapping[str, Any]) -> pa.Table:
        self.loads.append(delete["path"])
        return self.equality[delete["path"]]


def snapshot_of(
    root: Path,
    fields: Sequence[Field],
    files: Sequence[FakeFile],
    *,
    by: str = "name",
    names: Mapping[str, int] | None = None,
    partition_values_first: bool = False,
    specs: Sequence[PartitionSpec] = (PartitionSpec(0, ()),),
    equality: Mapping[str, pa.Table] | None = None,
) -> Snapshot:
    """A snapshot of the in-memory format, to scan."""
    fake = FakeSnapshot(
        Schema(tuple(fields)),
        files,
        NameMapping(by, dict(names or {}), partition_values_first),
        {spec.id: spec for spec in specs},
        equality or {},
    )
    table = SimpleNamespace(storage=Storage(root), format="fake", location=str(root), cache=MetadataCache())
    return Snapshot(table, fake)  # type: ignore[arg-type]


def write(root: Path, table: pa.Table, name: str = "f.parquet", **options: Any) -> str:
    """Write a Parquet file and return its path."""
    pq.write_table(table, root / name, **options)
    return str(root / name)


def with_id(f: pa.Field, field_id: int) -> pa.Field:
    """The Arrow field with a Parquet field id."""
    return f.with_metadata({"PARQUET:field_id": str(field_id)})


def identity_spec(spec_id: int, *fields: tuple[int, Field]) -> PartitionSpec:
    """A spec of identity transforms: (partition field id, source field) pairs."""
    identity = parse_transform("identity")
    return PartitionSpec(spec_id, tuple(PartitionField(i, f.name, f.id, identity, f.type) for i, f in fields))
