"""The laboratory's Iceberg writer: metadata.json, manifest lists, manifests, delete files and vectors by hand.

Written from the specification (versions 1, 2 and 3), with fastavro for the containers and PyIceberg for the bytes of
bounds. Nothing of the library takes part.
"""

from __future__ import annotations

import io
import json
import math
import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pyiceberg.conversions
import pyiceberg.types as iceberg_types
from hypothesis import strategies as st
from pyroaring import BitMap64

from tests.support.iceberg_manifests import SYNC, entry, manifest_bytes, record
from tests.support.lab import NO_KEYS, Column, DataFile, Described, Lab, Part, Row
from tests.support.strategies import TRANSFORMS, order_key, partition_value, to_array, type_of

SUMMARY = record(
    ("contains_null", 509, "boolean"),
    ("contains_nan", 518, ["null", "boolean"]),
    ("lower_bound", 510, ["null", "bytes"]),
    ("upper_bound", 511, ["null", "bytes"]),
    name="r508",
)
LIST = record(
    ("manifest_path", 500, "string"),
    ("manifest_length", 501, "long"),
    ("partition_spec_id", 502, "int"),
    ("content", 517, "int"),
    ("sequence_number", 515, "long"),
    ("min_sequence_number", 516, "long"),
    ("added_snapshot_id", 503, "long"),
    ("partitions", 507, ["null", {"type": "array", "items": SUMMARY, "element-id": 508}]),
    name="manifest_file",
)
ICEBERG: dict[str, tuple[str, Any, iceberg_types.PrimitiveType]] = {
    "boolean": ("boolean", "boolean", iceberg_types.BooleanType()),
    "int": ("int", "int", iceberg_types.IntegerType()),
    "long": ("long", "long", iceberg_types.LongType()),
    "float": ("float", "float", iceberg_types.FloatType()),
    "double": ("double", "double", iceberg_types.DoubleType()),
    "string": ("string", "string", iceberg_types.StringType()),
    "binary": ("binary", "bytes", iceberg_types.BinaryType()),
    "date": ("date", {"type": "int", "logicalType": "date"}, iceberg_types.DateType()),
    "timestamp": (
        "timestamptz",
        {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": True},
        iceberg_types.TimestamptzType(),
    ),
    "timestamp_ntz": (
        "timestamp",
        {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": False},
        iceberg_types.TimestampType(),
    ),
    "decimal": (
        "decimal(9, 2)",
        {"type": "fixed", "name": "d", "size": 4, "logicalType": "decimal", "precision": 9, "scale": 2},
        iceberg_types.DecimalType(9, 2),
    ),
    "decimal_18": (
        "decimal(18, 2)",
        {"type": "fixed", "name": "d", "size": 8, "logicalType": "decimal", "precision": 18, "scale": 2},
        iceberg_types.DecimalType(18, 2),
    ),
    "decimal_38": (
        "decimal(38, 10)",
        {"type": "fixed", "name": "d", "size": 16, "logicalType": "decimal", "precision": 38, "scale": 10},
        iceberg_types.DecimalType(38, 10),
    ),
}
LIST_1 = {**LIST, "fields": [f for f in LIST["fields"] if f["field-id"] not in (515, 516, 517)]}
"""A manifest list of version 1, in which there are neither deletes nor sequence numbers."""
POSITIONS = {"file_path": 2147483546, "pos": 2147483545}
CUT = 16
_NUMBERED = ("year", "month", "day", "hour", "bucket")
_SAME_OF_TIMES = ("year", "month", "day", "void")
"""Transforms that give the same for a date and for its midnight."""


def result_kind(kind: str, transform: str) -> str:
    """The kind of a transform's values: the specification's result type, with days as int."""
    return "int" if transform.split("[")[0] in _NUMBERED else kind


def bound(kind: str, value: Any) -> bytes | None:
    return None if value is None else pyiceberg.conversions.to_bytes(ICEBERG[kind][2], value)


def cut(value: Any, is_upper: bool = False) -> Any:
    """A bound as ``truncate(16)`` leaves it; None where no short one stands above the value."""
    if not isinstance(value, (str, bytes)) or len(value) <= CUT:
        return value
    if not is_upper:
        return value[:CUT]
    if isinstance(value, bytes):
        kept = value[:CUT].rstrip(b"\xff")
        return kept[:-1] + bytes([kept[-1] + 1]) if kept else None
    text = value[:CUT].rstrip("\U0010ffff")
    return text[:-1] + chr(ord(text[-1]) + 1) if text else None


def told(said: dict[int, tuple[str, Described]]) -> dict[str, list[dict[str, Any]]]:
    """The statistics of an entry, from a kind and what is said of it for each column id."""
    statistics = {
        "value_counts": {i: d.values for i, (_, d) in said.items()},
        "null_value_counts": {i: d.nulls for i, (_, d) in said.items()},
        "nan_value_counts": {i: d.nans for i, (k, d) in said.items() if k in ("float", "double")},
        "lower_bounds": {i: bound(k, cut(d.lower)) for i, (k, d) in said.items()},
        "upper_bounds": {i: bound(k, cut(d.upper, is_upper=True)) for i, (k, d) in said.items()},
    }
    return {
        name: [{"key": i, "value": v} for i, v in found.items() if v is not None] for name, found in statistics.items()
    }


@dataclass
class Manifest:
    """A manifest: its entries are all of one spec, in the types that its partition fields had when it was written."""

    path: str
    version: int
    content: int
    spec: int
    sequence: int
    snapshot: int
    partition: list[tuple[str, int, Any]]
    kinds: list[str]
    entries: list[dict[str, Any]] = field(default_factory=list)
    tuples: list[tuple[Any, ...]] = field(default_factory=list)


class IcebergLab(Lab):
    """Snapshots are numbered 101, 102, ...; a change of the schema makes none, and shows in the current one."""

    kinds = tuple(ICEBERG)
    operations = (
        "append",
        "append",
        "rewrite",
        "remove",
        "compact",
        "delete_positions",
        "delete_positions",
        "delete_equal",
        "delete_equal",
        "add_column",
        "rename",
        "drop_and_add_again",
        "promote",
        "promote",
        "new_spec",
        "rewrite_manifests",
        "upgrade",
    )

    def create(self) -> None:
        self.format_version = self.draw(st.sampled_from([1, 2, 2, 3]))
        self.manifests: list[Manifest] = []
        self.snapshots: list[dict[str, Any]] = []
        self.schemas: list[tuple[Column, ...]] = [self.columns]
        self.vectors: dict[str, str] = {}
        self.spec_kinds: list[list[str]] = []
        self.next_part = 1000
        self.serial = 0
        (self.root / "metadata").mkdir(parents=True)
        (self.root / "data").mkdir()
        self._add_spec()

    @property
    def defaults(self) -> bool:  # type: ignore[override]
        return self.format_version == 3

    @property
    def wider(self) -> Mapping[str, Sequence[str]]:  # type: ignore[override]
        return {**super().wider, "decimal": ("decimal_18",)} | (
            {"date": ("timestamp_ntz",)} if self.format_version == 3 else {}
        )

    def may_promote(self, column: Column, kind: str) -> bool:
        """Not where a partition field would have another value of the wider kind."""
        transforms = {p.transform for spec in self.specs for p in spec if p.source == column.id}
        return column.kind != "date" or transforms <= set(_SAME_OF_TIMES)

    def partition_of(self, row: Row) -> tuple[Any, ...]:
        kinds = {c.id: c.kind for c in self.columns}
        return tuple(partition_value(p.transform, kinds[p.source], row.get(p.source)) for p in self.specs[-1])

    # ---- operations of this format ------------------------------------------------------------------------------

    def _describe(self, values: list[Any]) -> Described:
        """Old writers counted NaN among the values, and bounds may be NaN."""
        found = super()._describe(values)
        if any(v is not None and v != v for v in values):
            sides = [side for side in ("lower", "upper") if self.chance.random() < 0.2]
            return replace(found, **dict.fromkeys(sides, math.nan))
        return found

    def new_spec(self) -> None:
        self._add_spec()
        self._write_metadata()

    def upgrade(self) -> None:
        self.format_version = self.draw(st.integers(min(self.format_version + 1, 3), 3))
        self._write_metadata()

    def rewrite_manifests(self) -> None:
        """All manifests of one kind and spec become one, whose entries keep their sequence numbers."""
        self._begin()
        merged: dict[tuple[int, int], Manifest] = {}
        for old in self.manifests:
            new = merged.setdefault((old.content, old.spec), self._manifest(old.content, old.spec))
            for made, values in zip(old.entries, old.tuples, strict=True):
                if made["status"] != 2:
                    self._carry(new, old, made, values, status=0)
        self.manifests = [m for m in merged.values() if m.entries]
        self.settle(self._finish("replace"))

    def delete_positions(self) -> None:
        """Rows of up to three files go: by vectors in version 3, by one position delete file a partition before."""
        chosen = [f for f in self.some_files(3) if f.live()]
        if not chosen or self.format_version == 1:
            return
        self._begin()
        if self.format_version == 3:
            for file in chosen:
                self.delete_rows(file)
                self._drop_vector(file)
                self._add_vector(file)
        else:
            by_partition: dict[str, list[DataFile]] = {}
            for file in chosen:
                by_partition.setdefault(repr((file.spec, file.partition)), []).append(file)
            for files in by_partition.values():
                self._add_positions(files)
        self.settle(self._finish("delete"))

    def delete_equal(self) -> None:
        """Rows whose key is one of a few go, in one partition or (without partitions) everywhere."""
        usable = [c for c in self.columns if c.kind not in NO_KEYS]
        if not usable or not self.files or self.format_version == 1:
            return
        self._begin()
        keys = self.draw(st.lists(st.sampled_from(usable), min_size=1, max_size=2, unique=True))
        near = self.draw(st.sampled_from(self.files))
        spec, partition = near.spec, near.partition
        everywhere = all(p.transform == "void" for p in self.specs[spec])
        stored = [tuple(r[c.id] for c in keys) for r in self.complete(near.rows)]
        tuples = self.draw(st.lists(st.sampled_from(stored), min_size=1, max_size=2))
        for file in self.files:
            same = file.spec == spec and repr(file.partition) == repr(partition)
            if (everywhere or same) and file.sequence < self.sequence:
                seen = [tuple(r[c.id] for c in keys) for r in self.complete(file.rows)]
                file.dead |= {i for i, key in enumerate(seen) if repr(key) in {repr(t) for t in tuples}}
        columns = {c.name: to_array([t[i] for t in tuples], type_of(c.kind)) for i, c in enumerate(keys)}
        name, size = self._parquet("e", pa.table(columns), {c.name: c.id for c in keys})
        described = {c.id: (c.kind, self._describe([t[i] for t in tuples])) for i, c in enumerate(keys)}
        more = {"content": 2, "equality_ids": [c.id for c in keys], "file_size_in_bytes": size, **told(described)}
        self._delete_entry(name, len(tuples), spec, partition, **more)
        self.settle(self._finish("overwrite"))

    # ---- snapshots ----------------------------------------------------------------------------------------------

    def commit(self, added: Sequence[DataFile] = (), removed: Sequence[DataFile] = ()) -> int:
        self._begin()
        self._remove({f.path for f in removed})
        for file in removed:
            self._drop_vector(file)
        explicit = self.draw(st.booleans()) if removed and added and self.format_version > 1 else False
        by_spec: dict[int, Manifest] = {}
        for file in added:
            file.sequence = self.sequence - 1 if explicit else self.sequence
            manifest = by_spec.setdefault(file.spec, self._manifest(0, file.spec))
            manifest.entries.append(self._data_entry(file, explicit))
            manifest.tuples.append(file.partition)
        self.manifests += by_spec.values()
        return self._finish("overwrite" if removed else "append")

    def commit_schema(self) -> None:  # type: ignore[override]
        self.schemas.append(self.columns)
        self._write_metadata()

    def _begin(self) -> None:
        self.sequence = len(self.snapshots) + 1 if self.format_version > 1 else 0
        self.snapshot = 101 + len(self.snapshots)

    def _finish(self, operation: str) -> int:
        rows = []
        for m in self.manifests:
            data = manifest_bytes(
                m.entries,
                m.partition,
                m.version,
                codec=self.chance.choice(["null", "deflate"]),
                metadata={"partition-spec-id": str(m.spec)},
            )
            target = self.root / "metadata" / m.path
            if not target.exists():
                target.write_bytes(data)
            rows.append(
                {
                    "manifest_path": str(target),
                    "manifest_length": target.stat().st_size,
                    "partition_spec_id": m.spec,
                    "content": m.content,
                    "sequence_number": m.sequence,
                    "min_sequence_number": 0,
                    "added_snapshot_id": m.snapshot,
                    "partitions": self._summaries(m),
                }
            )
        self.manifests = [m for m in self.manifests if any(e["status"] != 2 for e in m.entries)]
        self.snapshots.append(
            {
                "snapshot-id": self.snapshot,
                "parent-snapshot-id": self.snapshot - 1 if self.snapshots else None,
                "timestamp-ms": self.snapshot * 1000,
                "summary": {"operation": operation},
                "schema-id": len(self.schemas) - 1,
                **self._listed(rows),
            }
        )
        self._write_metadata()
        return self.snapshot

    def _listed(self, rows: list[dict[str, Any]]) -> dict[str, Any]:
        """How a snapshot names its manifests. In version 1 it may do so itself, and there is no sequence number."""
        if self.format_version == 1 and self.chance.random() < 0.3:
            return {"manifests": [row["manifest_path"] for row in rows]}
        out, path = io.BytesIO(), self.root / "metadata" / f"snap-{self.snapshot}.avro"
        schema = fastavro.parse_schema(LIST_1 if self.format_version == 1 else LIST)
        fastavro.writer(out, schema, rows, sync_marker=SYNC)
        path.write_bytes(out.getvalue())
        number = {} if self.format_version == 1 else {"sequence-number": self.sequence}
        return {"manifest-list": str(path), **number}

    def _summaries(self, manifest: Manifest) -> list[dict[str, Any]] | None:
        """What the manifest list says of the partitions; it may say nothing."""
        if self.chance.random() < 0.3:
            return None
        found = []
        for i, kind in enumerate(manifest.kinds):
            values = [t[i] for t in manifest.tuples]
            proper = sorted((v for v in values if v is not None and v == v), key=order_key)
            found.append(
                {
                    "contains_null": None in values,
                    "contains_nan": self.chance.choice([None, any(v != v for v in values)])
                    if kind in NO_KEYS
                    else None,
                    "lower_bound": bound(kind, proper[0]) if proper else None,
                    "upper_bound": bound(kind, proper[-1]) if proper else None,
                }
            )
        return found

    # ---- manifests ----------------------------------------------------------------------------------------------

    def _manifest(self, content: int, spec: int) -> Manifest:
        self.serial += 1
        known = {c.id: c.kind for columns in self.schemas for c in columns}
        kinds = [result_kind(known[p.source], p.transform) for p in self.specs[spec]]
        partition = [(p.name, p.id, _named(ICEBERG[k][1], p)) for p, k in zip(self.specs[spec], kinds, strict=True)]
        return Manifest(
            f"m{self.serial}.avro", self.format_version, content, spec, self.sequence, self.snapshot, partition, kinds
        )

    def _carry(self, new: Manifest, old: Manifest, made: dict[str, Any], values: tuple[Any, ...], status: int) -> None:
        """An entry of an older manifest in a new one: what it inherited is now written out."""
        own = old.sequence if made["sequence_number"] is None else made["sequence_number"]
        by = self.snapshot if status == 2 else made["snapshot_id"]
        new.entries.append(
            {**made, "status": status, "sequence_number": own, "file_sequence_number": own, "snapshot_id": by}
        )
        new.tuples.append(values)

    def _remove(self, paths: set[str]) -> None:
        stored = {self._stored(path) for path in paths}
        for i, old in enumerate(self.manifests):
            if any(e["data_file"]["file_path"] in stored and e["status"] != 2 for e in old.entries):
                new = self._manifest(old.content, old.spec)
                for made, values in zip(old.entries, old.tuples, strict=True):
                    if made["status"] != 2:
                        gone = made["data_file"]["file_path"] in stored
                        self._carry(new, old, made, values, status=2 if gone else 0)
                self.manifests[i] = new

    def _data_entry(self, file: DataFile, explicit: bool) -> dict[str, Any]:
        ids = {c.name: c.id for c in file.columns}
        columns = {c.name: to_array([r[c.id] for r in file.rows], type_of(c.kind)) for c in file.columns}
        file.path, file.size = self._parquet(self.chance.choice(self.odd_names), pa.table(columns), ids)
        pairs = told({c.id: (c.kind, file.described[c.id]) for c in file.columns if file.counted})
        return self._entry(
            file.path,
            len(file.rows),
            file.spec,
            file.partition,
            file_size_in_bytes=file.size,
            sequence_number=file.sequence if explicit else None,
            **pairs,
        )

    def _entry(self, path: str, records: int, spec: int, partition: tuple[Any, ...], **more: Any) -> dict[str, Any]:
        values = {p.name: v for p, v in zip(self.specs[spec], partition, strict=True)}
        made = entry(self._stored(path), records=records, partition=values, **more)
        return {**made, "snapshot_id": self.snapshot}

    # ---- deletes ------------------------------------------------------------------------------------------------

    def _delete_entry(self, path: str, records: int, spec: int, partition: tuple[Any, ...], **more: Any) -> None:
        manifest = self._manifest(1, spec)
        manifest.entries.append(self._entry(path, records, spec, partition, **more))
        manifest.tuples.append(partition)
        self.manifests.append(manifest)

    def _add_positions(self, files: list[DataFile]) -> None:
        spelled = self.chance.choice(["", "", "file:", "file://"])
        places = sorted((spelled + self._stored(f.path), i) for f in files for i in self.delete_rows(f))
        paths, positions = zip(*places, strict=True)
        rows = pa.table({"file_path": list(paths), "pos": pa.array(positions, pa.int64())})
        name, size = self._parquet("p", rows, POSITIONS)
        more: dict[str, Any] = {"content": 1, "file_size_in_bytes": size}
        if len(files) == 1 and self.chance.random() < 0.5:
            more["referenced_data_file"] = self._stored(files[0].path)
        self._delete_entry(name, len(places), files[0].spec, files[0].partition, **more)

    def _drop_vector(self, file: DataFile) -> None:
        if file.path in self.vectors:
            self._remove({self.vectors.pop(file.path)})

    def _add_vector(self, file: DataFile) -> None:
        """A vector replaces all position deletes of its file, so it holds every position."""
        body = b"\xd1\xd3\x39\x64" + bytes(BitMap64(sorted(file.dead)).serialize())
        blob = struct.pack(">I", len(body)) + body + struct.pack(">I", zlib.crc32(body))
        self.serial += 1
        name = self.vectors[file.path] = f"v{self.serial}.puffin"
        (self.root / "data" / name).write_bytes(b"PFA1" + blob)
        self._delete_entry(
            name,
            len(file.dead),
            file.spec,
            file.partition,
            content=1,
            file_format="PUFFIN",
            file_size_in_bytes=len(blob) + 4,
            referenced_data_file=self._stored(file.path),
            content_offset=4,
            content_size_in_bytes=len(blob),
        )

    # ---- files --------------------------------------------------------------------------------------------------

    def _add_spec(self) -> None:
        fields = []
        for column in self.columns:
            if column.kind in TRANSFORMS and self.draw(st.booleans()):
                transform = self.draw(st.sampled_from([t for t in TRANSFORMS[column.kind] if "mystery" not in t]))
                fields.append(Part(self.next_part, column.id, transform))
                self.next_part += 1
        self.specs.append(tuple(fields))

    def _stored(self, path: str) -> str:
        return str(self.root / "data" / path)

    def _parquet(self, prefix: str, rows: pa.Table, ids: dict[str, int]) -> tuple[str, int]:
        self.serial += 1
        name = f"{prefix}{self.serial}.parquet"
        fields = [f.with_metadata({"PARQUET:field_id": str(ids[f.name])}) for f in rows.schema]
        target = self.root / "data" / name
        pq.write_table(rows.cast(pa.schema(fields)), target, row_group_size=2)
        return name, target.stat().st_size

    def _write_metadata(self) -> None:
        ids = [c.id for columns in self.schemas for c in columns]
        schemas = [
            {"type": "struct", "schema-id": i, "fields": [_field(c) for c in columns]}
            for i, columns in enumerate(self.schemas)
        ]
        specs = [
            {
                "spec-id": i,
                "fields": [
                    {"field-id": p.id, "source-id": p.source, "name": p.name, "transform": p.transform} for p in spec
                ],
            }
            for i, spec in enumerate(self.specs)
        ]
        metadata = {
            "format-version": self.format_version,
            "table-uuid": "u",
            "location": str(self.root),
            "last-updated-ms": 1,
            "last-sequence-number": len(self.snapshots),
            "last-column-id": max(ids),
            "current-schema-id": len(self.schemas) - 1,
            "schemas": schemas,
            "default-spec-id": len(self.specs) - 1,
            "partition-specs": specs,
            "last-partition-id": self.next_part - 1,
            "default-sort-order-id": 0,
            "sort-orders": [{"order-id": 0, "fields": []}],
            "next-row-id": 0,
            "snapshots": self.snapshots,
            "current-snapshot-id": self.snapshots[-1]["snapshot-id"] if self.snapshots else -1,
        }
        if self.format_version == 1:
            metadata = self._of_version_1(metadata)
        (self.root / "metadata" / "v1.metadata.json").write_text(json.dumps(metadata))

    def _of_version_1(self, metadata: dict[str, Any]) -> dict[str, Any]:
        """Today's schema and spec stand by themselves; lists of all of them may be missing if they say no more."""
        del metadata["last-sequence-number"], metadata["next-row-id"]
        fields = metadata["partition-specs"][-1]["fields"]
        if len(self.schemas) == len(self.specs) == 1 and self.chance.random() < 0.5:
            for name in ("schemas", "current-schema-id", "partition-specs", "default-spec-id", "last-partition-id"):
                del metadata[name]
            # Ids of partition fields were counted from 1000 on, as they are here.
            fields = [{k: v for k, v in f.items() if k != "field-id"} for f in fields]
        schema = {"type": "struct", "fields": [_field(c) for c in self.columns]}
        return {**metadata, "schema": schema, "partition-spec": fields}


def _named(avro: Any, part: Part) -> Any:
    return {**avro, "name": f"d{part.id}"} if isinstance(avro, dict) and avro["type"] == "fixed" else avro


def _field(column: Column) -> dict[str, Any]:
    made: dict[str, Any] = {"id": column.id, "name": column.name, "required": False, "type": ICEBERG[column.kind][0]}
    if column.default is not None:
        made["initial-default"] = made["write-default"] = _json(column.kind, column.default)
    return made


def _json(kind: str, value: Any) -> Any:
    """Iceberg spec, "JSON single-value serialization"."""
    from datetime import date, datetime, timedelta

    if kind == "date":
        return (date(1970, 1, 1) + timedelta(value)).isoformat()
    if kind.startswith("timestamp"):
        text = (datetime(1970, 1, 1) + timedelta(microseconds=value)).isoformat(timespec="microseconds")
        return text + ("+00:00" if kind == "timestamp" else "")
    if kind.startswith("decimal"):
        return str(value)
    return value.hex() if isinstance(value, bytes) else value
