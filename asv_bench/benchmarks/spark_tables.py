"""Tables with rows for :mod:`benchmarks.spark`: the same data files as a Delta and as an Iceberg table, with and
without deleted rows, and of very many small files.

Data files stand once on the disk: tables have hard links to them. Where rows are deleted, one in a hundred of every
file is, by chance: as Delta deletion vectors, and as Iceberg position delete files of format version 2. Of very many
files thousands are one and the same, and the bounds in the metadata are those that so many files would have.

Sources: Delta PROTOCOL.md, "Deletion Vectors"; Iceberg spec, "Manifests", "Position Delete Files".
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import uuid
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from .generate import GENERATOR, tables_folder
from .generate.delta import Vectors
from .generate.iceberg import FILE_PATH_ID, POS_ID, write_manifest_list
from .generate.model import letters

ROWS_A_FILE = 1_000_000
DELETED = 0.01
SMALL = 100
MAX_LINKS = 5000
"""Of one file; file systems count them, and some not far."""
COLUMNS = {
    "id": pa.int64(),
    "ts": pa.timestamp("us", "UTC"),
    "amount": pa.float64(),
    "name": pa.string(),
    "country": pa.string(),
}
_DELTA = {"id": "long", "ts": "timestamp", "amount": "double", "name": "string", "country": "string"}
_ICEBERG = {"id": "long", "ts": "timestamptz", "amount": "double", "name": "string", "country": "string"}
_TIME_MS = 1_735_700_000_000
_SNAPSHOT = 1


@dataclass(frozen=True)
class RowTables:
    """``rows`` in files of ROWS_A_FILE. Paths: ``data`` of the files alone, then of the tables."""

    rows: int
    folder: Path

    @property
    def data(self) -> list[str]:
        return sorted(str(path) for path in (self.folder / "data").iterdir())

    @property
    def clean(self) -> dict[str, str]:
        """By format, the table without deleted rows."""
        return {name: str(self.folder / name) for name in ("delta", "iceberg")}

    @property
    def deleted(self) -> dict[str, str]:
        """By format, the table with deleted rows."""
        return {name: str(self.folder / f"{name}-deletes") for name in ("delta", "iceberg")}


def row_tables(rows: int) -> RowTables:
    """The four tables, from the cache or written now; ``rows`` is a multiple of ROWS_A_FILE."""
    return RowTables(rows, kept_table(f"rows-{rows}", lambda making, folder: _write_rows(rows, making, folder)))


def equality_deletes(tables: RowTables) -> str:
    """An Iceberg table of the same data files, in which the same rows are deleted by keys: one delete file for each."""
    return str(
        kept_table(f"rows-{tables.rows}-equality", lambda making, folder: _write_equality(tables, making, folder))
    )


def many_files(files: int) -> dict[str, str]:
    """By format, the path of a table of ``files`` files of SMALL rows; file n has the ids from n * SMALL on."""
    folder = kept_table(f"files-{files}", lambda making, folder: _write_many(files, making, folder))
    return {name: str(folder / name) for name in ("delta", "iceberg")}


def kept_table(name: str, write: Callable[[Path, Path], None]) -> Path:
    """The folder ``name`` of the cache. ``write`` fills a new one, and is given where it will be, too."""
    folder = tables_folder() / f"spark-{name}-v{GENERATOR}"
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        making = Path(tempfile.mkdtemp(prefix=f".spark-{name}-", dir=folder.parent))
        try:
            write(making, folder)
            making.chmod(0o755)
            making.rename(folder)
        finally:
            shutil.rmtree(making, ignore_errors=True)
    return folder


def some_events(count: int, number: int) -> pa.Table:
    """Rows of file ``number``, with Iceberg's field ids."""
    random = np.random.default_rng(number)
    ids = np.arange(count, dtype=np.int64) + number * count
    countries = pa.array(["AR", "BR", "CN", "DE", "FR", "GB", "IN", "JP", "KE", "US"])
    values = {
        "id": ids,
        "ts": pa.array(1_700_000_000_000_000 + ids * 1_000_003).cast(COLUMNS["ts"]),
        "amount": np.round(random.random(count) * 10_000, 2),
        "name": letters(random.integers(0, 100_000, count) / 100_000, 10),
        "country": countries.take(pa.array(random.integers(0, len(countries), count))),
    }
    fields = [
        pa.field(name, kind, metadata={"PARQUET:field_id": str(i)}) for i, (name, kind) in enumerate(COLUMNS.items(), 1)
    ]
    return pa.table(values, schema=pa.schema(fields))


def _write_rows(rows: int, making: Path, folder: Path) -> None:
    data = making / "data"
    data.mkdir()
    files = [_File(f"part-{number:05}.parquet", number, ROWS_A_FILE) for number in range(rows // ROWS_A_FILE)]
    random = np.random.default_rng(7)
    deleted = []
    for file in files:
        pq.write_table(some_events(ROWS_A_FILE, file.number), data / file.name)
        deleted.append(np.flatnonzero(random.random(ROWS_A_FILE) < DELETED))
    for table in ("delta", "delta-deletes", "iceberg", "iceberg-deletes"):
        (making / table / "data").mkdir(parents=True)
        for file in files:
            os.link(data / file.name, making / table / "data" / file.name)
    _write_delta(making / "delta", files)
    _write_delta(making / "delta-deletes", files, deleted)
    _write_iceberg(making / "iceberg", f"file://{folder}/iceberg", files)
    _write_iceberg(making / "iceberg-deletes", f"file://{folder}/iceberg-deletes", files, deleted)


def _write_equality(tables: RowTables, making: Path, folder: Path) -> None:
    (making / "data").mkdir()
    files, deleted = [], []
    random = np.random.default_rng(7)
    for number, path in enumerate(map(Path, tables.data)):
        os.link(path, making / "data" / path.name)
        files.append(_File(path.name, number, ROWS_A_FILE))
        deleted.append(np.flatnonzero(random.random(ROWS_A_FILE) < DELETED))
    _write_iceberg(making, f"file://{folder}", files, deleted, by_equality=True)


def _write_many(files: int, making: Path, folder: Path) -> None:
    named = [_File(f"part-{number:06}.parquet", number, SMALL) for number in range(files)]
    sources = making / ".sources"
    sources.mkdir()
    for table in ("delta", "iceberg"):
        (making / table / "data").mkdir(parents=True)
        for file in named:
            source = sources / f"{table}-{file.number // MAX_LINKS}"
            if not source.exists():
                pq.write_table(some_events(SMALL, file.number), source)
            os.link(source, making / table / "data" / file.name)
    shutil.rmtree(sources)
    _write_delta(making / "delta", named)
    _write_iceberg(making / "iceberg", f"file://{folder}/iceberg", named)


@dataclass(frozen=True)
class _File:
    """The ``rows`` rows of file ``number``."""

    name: str
    number: int
    rows: int

    @property
    def bounds(self) -> list[tuple[Any, Any]]:
        """Of each column: numbers as they are, times as microseconds."""
        first = self.number * self.rows
        last = first + self.rows - 1
        times = [1_700_000_000_000_000 + i * 1_000_003 for i in (first, last)]
        return [(first, last), (times[0], times[1]), (0.0, 10_000.0), ("a" * 10, "z" * 10), ("AR", "US")]


def _write_delta(table: Path, files: list[_File], deleted: list[np.ndarray] | None = None) -> None:
    features = ["deletionVectors"]
    fields = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in _DELTA.items()]
    actions: list[dict[str, Any]] = [
        {"commitInfo": {"timestamp": _TIME_MS, "operation": "WRITE", "operationParameters": {}}},
        {
            "protocol": {
                "minReaderVersion": 3,
                "minWriterVersion": 7,
                "readerFeatures": features,
                "writerFeatures": features,
            }
        },
        {
            "metaData": {
                "id": str(uuid.UUID(int=3)),
                "format": {"provider": "parquet", "options": {}},
                "schemaString": json.dumps({"type": "struct", "fields": fields}),
                "partitionColumns": [],
                "configuration": {"delta.enableDeletionVectors": "true"},
                "createdTime": _TIME_MS,
            }
        },
    ]
    for file in files:
        add = {
            "path": f"data/{file.name}",
            "partitionValues": {},
            "modificationTime": _TIME_MS,
            "dataChange": True,
            "size": (table / "data" / file.name).stat().st_size,
            "stats": json.dumps(_statistics(file, deleted is None)),
        }
        if deleted is not None:
            add["deletionVector"] = _vector(table, file.number, deleted[file.number])
        actions.append({"add": add})
    log = table / "_delta_log"
    log.mkdir()
    (log / f"{0:020}.json").write_text("".join(json.dumps(action) + "\n" for action in actions))


def _statistics(file: _File, tight: bool) -> dict[str, Any]:
    def member(side: int) -> dict[str, Any]:
        values = {name: bounds[side] for name, bounds in zip(COLUMNS, file.bounds, strict=True)}
        # Delta writes milliseconds, and readers add one to the upper bound.
        time = np.datetime64(values["ts"] // 1000, "ms")
        return {**values, "ts": f"{time}Z"}

    return {
        "numRecords": file.rows,
        "minValues": member(0),
        "maxValues": member(1),
        "nullCount": dict.fromkeys(COLUMNS, 0),
        "tightBounds": tight,
    }


def _vector(table: Path, number: int, positions: np.ndarray) -> dict[str, Any]:
    """Write a file of one deletion vector; its descriptor."""
    from pyroaring import BitMap64

    bitmap = BitMap64(positions.tolist())
    bitmap.run_optimize()
    blob = (1681511377).to_bytes(4, "little") + bitmap.serialize()
    framed = len(blob).to_bytes(4, "big") + blob + zlib.crc32(blob).to_bytes(4, "big")
    (table / f"deletion_vector_{Vectors.file_id(number)}.bin").write_bytes(b"\x01" + framed)
    return {
        "storageType": "u",
        "pathOrInlineDv": Vectors.encoded(number),
        "offset": 1,
        "sizeInBytes": len(blob),
        "cardinality": len(positions),
    }


def _write_iceberg(
    table: Path, location: str, files: list[_File], deleted: list[np.ndarray] | None = None, by_equality: bool = False
) -> None:
    (table / "metadata").mkdir()
    data = [_entry(table, location, f"data/{file.name}", file.rows, bounds=file.bounds) for file in files]
    manifests = [_manifest(table, location, "data", data)]
    if deleted is not None:
        write = _equality_deletes if by_equality else _deletes
        deletes = [write(table, location, file, rows) for file, rows in zip(files, deleted, strict=True)]
        manifests.append(_manifest(table, location, "deletes", deletes))
    write_manifest_list(table / "metadata" / "snap-1.avro", manifests)
    snapshot = {
        "snapshot-id": _SNAPSHOT,
        "sequence-number": 2,
        "timestamp-ms": _TIME_MS,
        "schema-id": 0,
        "manifest-list": f"{location}/metadata/snap-1.avro",
        "summary": {"operation": "overwrite"},
    }
    document = {
        "format-version": 2,
        "table-uuid": str(uuid.UUID(int=4)),
        "location": location,
        "last-sequence-number": 2,
        "last-updated-ms": _TIME_MS,
        "last-column-id": len(_ICEBERG),
        "current-schema-id": 0,
        "schemas": [_schema()],
        "default-spec-id": 0,
        "partition-specs": [{"spec-id": 0, "fields": []}],
        "last-partition-id": 999,
        "default-sort-order-id": 0,
        "sort-orders": [{"order-id": 0, "fields": []}],
        "properties": {},
        "current-snapshot-id": _SNAPSHOT,
        "snapshots": [snapshot],
        "snapshot-log": [],
        "metadata-log": [],
        "refs": {"main": {"snapshot-id": _SNAPSHOT, "type": "branch"}},
    }
    (table / "metadata" / "v1.metadata.json").write_text(json.dumps(document))
    (table / "metadata" / "version-hint.text").write_text("1")


def _schema() -> dict[str, Any]:
    fields = [
        {"id": i, "name": name, "required": False, "type": kind} for i, (name, kind) in enumerate(_ICEBERG.items(), 1)
    ]
    return {"type": "struct", "schema-id": 0, "fields": fields}


def _deletes(table: Path, location: str, file: _File, positions: np.ndarray) -> dict[str, Any]:
    """Write the position delete file of one data file; its manifest entry."""
    target = f"{location}/data/{file.name}"
    fields = [
        pa.field("file_path", pa.string(), nullable=False, metadata={"PARQUET:field_id": str(FILE_PATH_ID)}),
        pa.field("pos", pa.int64(), nullable=False, metadata={"PARQUET:field_id": str(POS_ID)}),
    ]
    rows = pa.table([pa.repeat(target, len(positions)), pa.array(positions)], schema=pa.schema(fields))
    path = f"data/deletes-{file.name}"
    pq.write_table(rows, table / path)
    entry = _entry(table, location, path, len(positions))
    entry["data_file"] |= {"content": 1, "referenced_data_file": target}
    return entry


def _equality_deletes(table: Path, location: str, file: _File, positions: np.ndarray) -> dict[str, Any]:
    """Write the file of the ids of deleted rows; its manifest entry, which is newer than the data files'."""
    field = pa.field("id", pa.int64(), metadata={"PARQUET:field_id": "1"})
    ids = pa.array(positions + file.number * file.rows)
    path = f"data/keys-{file.name}"
    pq.write_table(pa.table([ids], schema=pa.schema([field])), table / path)
    bounds = [(ids[0].as_py(), ids[-1].as_py())]
    entry = _entry(table, location, path, len(positions), bounds=bounds)
    entry["data_file"] |= {"content": 2, "equality_ids": [1]}
    return {**entry, "sequence_number": 2}


def _entry(table: Path, location: str, path: str, count: int, bounds: Sequence[tuple[Any, Any]] = ()) -> dict[str, Any]:
    """The manifest entry of a file, as of a data file."""
    lower, upper = (
        [{"key": i, "value": _single_value(pair[side])} for i, pair in enumerate(bounds, 1)] for side in (0, 1)
    )
    file = {
        "content": 0,
        "file_path": f"{location}/{path}",
        "file_format": "PARQUET",
        "partition": {},
        "record_count": count,
        "file_size_in_bytes": (table / path).stat().st_size,
        "lower_bounds": lower,
        "upper_bounds": upper,
        "equality_ids": None,
        "referenced_data_file": None,
    }
    return {"status": 1, "snapshot_id": _SNAPSHOT, "sequence_number": 1, "file_sequence_number": 1, "data_file": file}


def _single_value(value: Any) -> bytes:
    """Source: Iceberg spec, Appendix D."""
    if isinstance(value, str):
        return value.encode()
    return np.array(value, "<f8" if isinstance(value, float) else "<i8").tobytes()


def _manifest(table: Path, location: str, content: str, entries: list[dict[str, Any]]) -> dict[str, Any]:
    """Write the manifest of ``entries``; its record in the manifest list."""
    import fastavro

    path = table / "metadata" / f"{content}-m0.avro"
    header = {
        "schema": json.dumps(_schema()),
        "schema-id": "0",
        "partition-spec": "[]",
        "partition-spec-id": "0",
        "format-version": "2",
        "content": content,
    }
    with path.open("wb") as file:
        fastavro.writer(file, fastavro.parse_schema(_MANIFEST), entries, codec="deflate", metadata=header)
    return {
        "manifest_path": f"{location}/metadata/{path.name}",
        "manifest_length": path.stat().st_size,
        "partition_spec_id": 0,
        "content": int(content == "deletes"),
        "sequence_number": max(e["sequence_number"] for e in entries),
        "min_sequence_number": 1,
        "added_snapshot_id": _SNAPSHOT,
        "added_files_count": len(entries),
        "existing_files_count": 0,
        "deleted_files_count": 0,
        "added_rows_count": sum(e["data_file"]["record_count"] for e in entries),
        "existing_rows_count": 0,
        "deleted_rows_count": 0,
        "partitions": [],
    }


def _field(name: str, field_id: int, kind: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, "field-id": field_id}


def _map(key_id: int, value_id: int) -> dict[str, Any]:
    entry = {
        "type": "record",
        "name": f"k{key_id}_v{value_id}",
        "fields": [_field("key", key_id, "int"), _field("value", value_id, "bytes")],
    }
    return {"type": "array", "items": entry, "logicalType": "map"}


_MANIFEST = {
    "type": "record",
    "name": "manifest_entry",
    "fields": [
        _field("status", 0, "int"),
        _field("snapshot_id", 1, ["null", "long"]),
        _field("sequence_number", 3, ["null", "long"]),
        _field("file_sequence_number", 4, ["null", "long"]),
        _field(
            "data_file",
            2,
            {
                "type": "record",
                "name": "r2",
                "fields": [
                    _field("content", 134, "int"),
                    _field("file_path", 100, "string"),
                    _field("file_format", 101, "string"),
                    _field("partition", 102, {"type": "record", "name": "r102", "fields": []}),
                    _field("record_count", 103, "long"),
                    _field("file_size_in_bytes", 104, "long"),
                    _field("lower_bounds", 125, _map(126, 127)),
                    _field("upper_bounds", 128, _map(129, 130)),
                    _field("equality_ids", 135, ["null", {"type": "array", "items": "int", "element-id": 136}]),
                    _field("referenced_data_file", 143, ["null", "string"]),
                ],
            },
        ),
    ],
}


def live_rows(tables: RowTables) -> int:
    """How many rows the tables with deleted rows have left, counted from their Delta log."""
    (log,) = (Path(tables.deleted["delta"]) / "_delta_log").glob("*.json")
    adds = [json.loads(line)["add"] for line in log.read_text().splitlines() if '"add"' in line]
    return tables.rows - sum(add["deletionVector"]["cardinality"] for add in adds)
