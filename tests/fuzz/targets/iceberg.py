"""What is read of an Iceberg table: a target for each kind of file below ``metadata``, and for delete files."""

from __future__ import annotations

import io
import json
import struct
import zlib
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import orc
from pyroaring import BitMap64
from tableformats_iceberg.avro.container import ELEMENT, Want, read_columns
from tableformats_iceberg.deletes.puffin import MAGIC, parse_deletion_vector
from tableformats_iceberg.files.table_files import TableFiles
from tableformats_iceberg.manifests.entries import EntriesRequest, Manifest, read_entries
from tableformats_iceberg.manifests.manifest_list import parse_manifest_list
from tableformats_iceberg.metadata.table_metadata import parse_metadata
from tableformats_iceberg.table import IcebergTable

from tableformats.expressions import Expression
from tableformats.expressions.parse import parse_filter
from tableformats.plugin import ReadRequest
from tableformats.plugin.report import ScanReport
from tableformats.table.table import Table
from tests.fuzz.targets.base import Finding, Memory, Target, nothing_kept
from tests.fuzz.targets.mutators import avro_container, iceberg_vector, orc_tail, parquet_footer
from tests.support.iceberg_manifests import (
    SYNC,
    entry,
    entry_schema,
    manifest_bytes,
    read_deletes,
    recompress,
    record,
    text,
    varint,
)

__all__ = ["ICEBERG_TARGETS"]

FILTER = "c BETWEEN 1 AND 5 OR s >= 'm' OR p = 2"
LIST, MANIFEST, DELETES, DELETE_FILE = "metadata/list.avro", "metadata/m.avro", "metadata/d.avro", "data/delete"
ROOT = "/table"
PARTITION = (("p", 1000, "int"),)
SCHEMA = {
    "type": "struct",
    "schema-id": 0,
    "fields": [
        {"id": 1, "name": "c", "required": False, "type": "long"},
        {"id": 2, "name": "s", "required": False, "type": "string"},
        {"id": 3, "name": "p", "required": False, "type": "int"},
        {
            "id": 4,
            "name": "n",
            "required": False,
            "type": {"type": "struct", "fields": [{"id": 5, "name": "x", "required": False, "type": "double"}]},
        },
    ],
}


@cache
def metadata_json(version: int = 2) -> bytes:
    snapshot = {
        "snapshot-id": 5,
        "sequence-number": 2,
        "timestamp-ms": 1_700_000_000_000,
        "schema-id": 0,
        "summary": {"operation": "append"},
        "manifest-list": f"{ROOT}/{LIST}",
    }
    content = {
        "format-version": version,
        "table-uuid": "00000000-0000-0000-0000-000000000001",
        "location": ROOT,
        "last-sequence-number": 2,
        "last-updated-ms": 1_700_000_000_000,
        "last-column-id": 5,
        "schemas": [SCHEMA],
        "current-schema-id": 0,
        "partition-specs": [
            {"spec-id": 0, "fields": [{"name": "p", "transform": "identity", "source-id": 3, "field-id": 1000}]}
        ],
        "default-spec-id": 0,
        "last-partition-id": 1000,
        "properties": {},
        "current-snapshot-id": 5,
        "snapshots": [{**snapshot, "first-row-id": 0, "added-rows": 1} if version == 3 else snapshot],
        "refs": {"main": {"snapshot-id": 5, "type": "branch"}, "t": {"snapshot-id": 5, "type": "tag"}},
        "snapshot-log": [{"snapshot-id": 5, "timestamp-ms": 1_700_000_000_000}],
        "metadata-log": [{"metadata-file": "metadata/v0.metadata.json", "timestamp-ms": 1}],
        "next-row-id": 10,
        "sort-orders": [{"order-id": 0, "fields": []}],
        "default-sort-order-id": 0,
        "statistics": [],
    }
    return json.dumps(content).encode()


@cache
def data_manifest() -> bytes:
    bounds = {
        "lower_bounds": [{"key": 1, "value": struct.pack("<q", 1)}, {"key": 2, "value": b"a"}],
        "upper_bounds": [{"key": 1, "value": struct.pack("<q", 9)}, {"key": 2, "value": "é".encode()}],
        "value_counts": [{"key": 1, "value": 10}],
        "null_value_counts": [{"key": 1, "value": 0}],
    }
    files = [
        entry(f"{ROOT}/data/{i}.parquet", partition={"p": i}, sequence_number=i, split_offsets=[4], **bounds)
        for i in (1, 2, 3)
    ]
    return manifest_bytes(files, PARTITION)


@cache
def delete_manifest(file_format: str = "PARQUET") -> bytes:
    path, stored = f"{ROOT}/{DELETE_FILE}", {"records": 3, "sequence_number": 9, "file_format": file_format}
    vector = {
        "referenced_data_file": f"{ROOT}/data/1.parquet",
        "file_format": "PUFFIN",
        "content_offset": 0,
        "content_size_in_bytes": len(blob([1, 4])),
    }
    files = [
        entry(path, content=1, partition={"p": 2}, **stored),
        entry(path, content=2, partition={"p": 3}, equality_ids=[1, 2], **stored),
        entry(f"{ROOT}/data/v", content=1, partition={"p": 1}, **{**stored, **vector, "records": 2}),
    ]
    return manifest_bytes(files, PARTITION)


LIST_SCHEMA = record(
    ("manifest_path", 500, "string"),
    ("manifest_length", 501, "long"),
    ("partition_spec_id", 502, "int"),
    ("content", 517, "int"),
    ("sequence_number", 515, "long"),
    ("min_sequence_number", 516, "long"),
    ("added_snapshot_id", 503, "long"),
    ("added_files_count", 504, "int"),
    ("existing_files_count", 505, "int"),
    ("deleted_files_count", 506, "int"),
    ("added_rows_count", 512, "long"),
    ("existing_rows_count", 513, "long"),
    ("deleted_rows_count", 514, "long"),
    (
        "partitions",
        507,
        [
            "null",
            {
                "type": "array",
                "items": record(
                    ("contains_null", 509, "boolean"),
                    ("contains_nan", 518, ["null", "boolean"]),
                    ("lower_bound", 510, ["null", "bytes"]),
                    ("upper_bound", 511, ["null", "bytes"]),
                    name="r508",
                ),
            },
        ],
    ),
    name="manifest_file",
)


@cache
def manifest_list(deletes: bool = True, lengths: tuple[int, int] | None = None) -> bytes:
    def row(path: str, length: int, content: int) -> dict[str, Any]:
        bound = {
            "contains_null": False,
            "contains_nan": None,
            "lower_bound": struct.pack("<i", 1),
            "upper_bound": struct.pack("<i", 3),
        }
        counts = {
            f"{kind}_{what}_count": 3 if kind == "added" else 0
            for kind in ("added", "existing", "deleted")
            for what in ("files", "rows")
        }
        return {
            "manifest_path": f"{ROOT}/{path}",
            "manifest_length": length,
            "partition_spec_id": 0,
            "content": content,
            "sequence_number": 2,
            "min_sequence_number": 1,
            "added_snapshot_id": 5,
            "partitions": [bound],
            **counts,
        }

    sizes = lengths or (len(data_manifest()), len(delete_manifest()))
    rows = [row(MANIFEST, sizes[0], 0), row(DELETES, sizes[1], 1)][: 1 + deletes]
    out = io.BytesIO()
    fastavro.writer(out, fastavro.parse_schema(LIST_SCHEMA), rows, codec="null", sync_marker=SYNC)
    return out.getvalue()


@cache
def condition() -> Expression | None:
    return parse_filter(FILTER)


def read_all(**files: bytes) -> None:
    """Plan over a table with some of its files replaced, and look at everything that a plan looks at lazily."""
    # The list says how long manifests are; here it always agrees.
    lengths = (len(files.get("manifest", data_manifest())), len(files.get("deletes", delete_manifest())))
    stored = {
        LIST: files.get("list", manifest_list(True, lengths)),
        MANIFEST: files.get("manifest", data_manifest()),
        DELETES: files.get("deletes", delete_manifest()),
        DELETE_FILE: files.get("delete", position_deletes()),
        "data/v": files.get("vector", blob([1, 4])),
    }
    storage = Memory(stored, ROOT)
    metadata = parse_metadata(files.get("metadata", metadata_json()), f"{ROOT}/metadata/v1.metadata.json")
    opened = IcebergTable(TableFiles(storage, metadata.location, ROOT, None, nothing_kept()), metadata)
    table = Table(opened, storage, nothing_kept())
    table.history()
    plan = table.scan(condition() if "metadata" not in files else None).plan()
    snapshot = plan.scan.snapshot.format_snapshot
    read_deletes(plan)
    columns = tuple(path[-1] for path in snapshot.schema.leaves())
    for batch in snapshot.read(ReadRequest(columns, ScanReport())):
        assert batch.statistics is not None
        batch.statistics.bounds(columns, None)


# ---- files below metadata -------------------------------------------------------------------------------------------


def metadata(data: bytes) -> None:
    read_all(metadata=data)


def metadata_seeds() -> dict[str, bytes]:
    whole = json.loads(metadata_json())
    old = {key: value for key, value in whole.items() if key not in ("schemas", "partition-specs", "refs")}
    old |= {"format-version": 1, "schema": SCHEMA, "partition-spec": whole["partition-specs"][0]["fields"]}
    old["snapshots"] = [{"snapshot-id": 5, "timestamp-ms": 1, "manifests": [f"{ROOT}/{MANIFEST}"]}]
    kinds = {
        "id": 9,
        "name": "é",
        "required": True,
        "type": {
            "type": "map",
            "key-id": 10,
            "key": "decimal(9, 2)",
            "value-id": 11,
            "value-required": False,
            "value": {"type": "list", "element-id": 12, "element": "fixed[16]", "element-required": True},
        },
    }
    third = json.loads(metadata_json(3))
    third["schemas"][0]["fields"] += [
        kinds,
        {
            "id": 13,
            "name": "v",
            "required": False,
            "type": "timestamp_ns",
            "initial-default": "2020-01-01T00:00:00.000000001",
        },
    ]
    third["properties"]["schema.name-mapping.default"] = json.dumps([{"field-id": 1, "names": ["c"]}])
    compressed = zlib.compressobj(wbits=31)
    return {
        "v1": json.dumps(old).encode(),
        "v2": metadata_json(),
        "v3": json.dumps(third).encode(),
        "gzip": compressed.compress(metadata_json()) + compressed.flush(),
    }


def listed(data: bytes) -> None:
    parse_manifest_list(data, LIST)
    read_all(list=data)


def list_seeds() -> dict[str, bytes]:
    return codecs_of(manifest_list())


def codecs_of(plain: bytes) -> dict[str, bytes]:
    return {"plain": plain, **{codec: recompress(plain, codec) for codec in ("deflate", "snappy", "zstandard")}}


def manifest(data: bytes) -> None:
    entries_of(data, 0)
    read_all(manifest=data)


def deletes(data: bytes) -> None:
    entries_of(data, 1)
    read_all(deletes=data)


@cache
def specs() -> Mapping[int, Any]:
    return parse_metadata(metadata_json(), "m").specs


def entries_of(data: bytes, content: int) -> None:
    """A manifest as people look at it: every status, every column, counts by the list that do not fit."""
    described = Manifest(MANIFEST, -1, 0, content, 2, 1, 5, 1, 1, 1, 1, 1, 1, 100)
    read_entries(data, MANIFEST, described, EntriesRequest(specs(), 0, range(1, 6), all_statuses=True))


def manifest_seeds(plain: Callable[[], bytes]) -> Callable[[], dict[str, bytes]]:
    return lambda: codecs_of(plain())


BOUNDS = (Want(126, ("key",)), Want(127, ("value",), "bytes"))
WANTS = (
    Want(0, ("status",)),
    Want(
        2,
        ("data_file",),
        "any",
        "record",
        (
            Want(100, ("file_path",), "text"),
            Want(132, ("split_offsets",), "int", "list"),
            Want(125, ("lower_bounds",), "any", "map", BOUNDS),
        ),
    ),
)


def avro_schema(data: bytes) -> None:
    """A byte that says how many zeros the only record has, and a writer's schema, whatever it is."""
    zeros = data[0] if data else 0
    file = b"Obj\x01" + varint(1) + text("avro.schema") + text(data[1:]) + b"\0" + SYNC
    file += varint(1) + varint(zeros) + bytes(zeros) + SYNC
    found = read_columns(file, WANTS, (1, 2), "m.avro")
    if len(found[(2, 132)].list_offsets()) != found.rows + 1 or found.has((2, 132, ELEMENT)) not in (True, False):
        raise Finding("a column of lists has not a row a record")


def avro_schema_seeds() -> dict[str, bytes]:
    # As many zeros as make a record of zeros, nulls and empty texts.
    return {
        "entries": b"\x18" + json.dumps(entry_schema(PARTITION)).encode(),
        "list": b"\x0e" + json.dumps(LIST_SCHEMA).encode(),
    }


# ---- deletes --------------------------------------------------------------------------------------------------------


def blob(positions: Iterable[int]) -> bytes:
    plain = MAGIC + BitMap64(positions).serialize()
    return struct.pack(">I", len(plain)) + plain + struct.pack(">I", zlib.crc32(plain))


def vector(data: bytes) -> None:
    positions = parse_deletion_vector(data, "v.puffin", 4, None, 2**40)
    if list(positions[:1]) and not 0 <= positions.min() <= positions.max() < 2**40:
        raise Finding("a position is past the end of the file")


def vector_seeds() -> dict[str, bytes]:
    sets: Mapping[str, Iterable[int]] = {"two": [1, 4], "empty": [], "runs": range(100, 5000), "far": [7, 2**33]}
    found = {name: blob(positions) for name, positions in sets.items()}
    bitmap = BitMap64(range(100, 5000))
    bitmap.run_optimize()
    plain = MAGIC + bitmap.serialize()
    return {**found, "run-container": struct.pack(">I", len(plain)) + plain + struct.pack(">I", zlib.crc32(plain))}


DELETED = {
    "file_path": [f"{ROOT}/data/2.parquet"] * 2 + ["x"],
    "pos": [0, 7, 3],
    "c": [1, None, 3],
    "s": ["a", "é", None],
}
IDS = {"file_path": 2147483546, "pos": 2147483545, "c": 1, "s": 2}


@cache
def position_deletes(**options: Any) -> bytes:
    """A file that is both: positions, and values of the columns c and s."""
    fields = [
        pa.field(name, pa.string() if name in ("file_path", "s") else pa.int64(), metadata={"PARQUET:field_id": str(i)})
        for name, i in IDS.items()
    ]
    out = io.BytesIO()
    table = pa.Table.from_pydict(DELETED, pa.schema(fields))
    pq.write_table(table, out, **{"compression": "none", "store_schema": False, **options})
    return out.getvalue()


def delete_file(data: bytes) -> None:
    """Avro by its magic number, else Parquet."""
    kind = "AVRO" if data.startswith(b"Obj\x01") else "PARQUET"
    read_all(delete=data, deletes=delete_manifest(kind))


def delete_file_seeds() -> dict[str, bytes]:
    types = {"file_path": "string", "pos": "long", "c": ["null", "long"], "s": ["null", "string"]}
    schema = record(*((name, i, types[name]) for name, i in IDS.items()))
    rows = [dict(zip(DELETED, values, strict=True)) for values in zip(*DELETED.values(), strict=True)]
    out = io.BytesIO()
    fastavro.writer(out, fastavro.parse_schema(schema), rows, codec="null", sync_marker=SYNC)
    return {
        "parquet": position_deletes(),
        "plain": position_deletes(use_dictionary=False, write_statistics=False),
        "avro": out.getvalue(),
    }


def orc_delete_file(data: bytes) -> None:
    read_all(delete=data, deletes=delete_manifest("ORC"))


def orc_delete_file_seeds() -> dict[str, bytes]:
    """As :func:`position_deletes`, but columns are found by name: Arrow writes no field ids."""
    written = {}
    for name, options in {
        "plain": {},
        "dictionary": {"dictionary_key_size_threshold": 1.0},
        "zstd": {"compression": "zstd"},
    }.items():
        out = io.BytesIO()
        orc.write_table(pa.table(DELETED), out, **options)
        written[name] = out.getvalue()
    return written


def any_frame(data: bytes, change: Callable[[bytes], bytes]) -> bytes:
    return (avro_container if data.startswith(b"Obj\x01") else parquet_footer)(data, change)


ICEBERG_TARGETS = (
    Target("iceberg_metadata", metadata, metadata_seeds),
    Target("iceberg_manifest_list", listed, list_seeds, avro_container),
    Target("iceberg_manifest", manifest, manifest_seeds(data_manifest), avro_container),
    Target("iceberg_delete_manifest", deletes, manifest_seeds(delete_manifest), avro_container),
    Target("iceberg_avro_schema", avro_schema, avro_schema_seeds),
    Target("iceberg_vector", vector, vector_seeds, iceberg_vector),
    Target("iceberg_delete_file", delete_file, delete_file_seeds, any_frame),
    Target("iceberg_orc_delete_file", orc_delete_file, orc_delete_file_seeds, orc_tail),
)
