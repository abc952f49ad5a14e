"""The model as Iceberg metadata of format version 2: manifests, position deletes, a manifest list, a metadata file.

Partitioned by day(ts) and bucket[16](id). Entries carry column sizes, counts and bounds of all eight columns, as Java
writes them. Nine manifests in ten were added and inherit their sequence numbers; one in ten was rewritten: its entries
are EXISTING with explicit numbers, or DELETED.

Source: Iceberg spec, "Manifests", "Manifest Lists", "Table Metadata", "Position Delete Files", Appendix D.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .avro import Cells, beside, big_endian, constant, container, longs, pairs, plain, texts
from .model import BUCKETS, COLUMNS, Model, Written, uuids
from .specs import IcebergTable

FILES_A_MANIFEST = 2000
WITH_DELETES = 0.05
FIRST_SNAPSHOT = 3_051_729_675_574_597_000
TIME_MS = 1_735_700_000_000
FILE_PATH_ID, POS_ID = 2147483546, 2147483545
ADDED, EXISTING, DELETED = 1, 0, 2
LOCATION = "file:///mnt/lake/warehouse/shop.db/web_events"
"""Where the table's data files would be. Manifests name files by whole paths: so neither their size nor what a plan
holds is up to the folder that benchmarks keep tables in, which has the metadata alone (``write.metadata.path``)."""
BOUND_LENGTH = 16
"""Characters of text that bounds keep, Iceberg's truncate(16)."""


def write(table: IcebergTable, folder: Path, final: Path) -> Written:
    """Write the metadata below ``folder``, which will be ``final`` once it is whole."""
    return _Writer(table, folder, final).write()


class _Writer:
    def __init__(self, table: IcebergTable, folder: Path, final: Path) -> None:
        self.table = table
        self.metadata = folder / "metadata"
        self.metadata.mkdir()
        self.metadata_path = f"file://{final}/metadata"
        self.model = model = Model(table.files, bucketed=True)
        self.random = np.random.default_rng(99)
        self.folder = pc.binary_join_element_wise(
            f"{LOCATION}/data/ts_day=",
            model.dates.cast(pa.string()),
            "/id_bucket=",
            pa.array(model.bucket).cast(pa.string()),
            "/",
            "",
        )
        self.path = pc.binary_join_element_wise(self.folder, "00000-7-", model.uuid, "-0-00001.parquet", "")
        self.column_sizes = self.random.integers(1_000_000, 20_000_000, (model.n, len(COLUMNS)))

    def write(self) -> Written:
        model, table = self.model, self.table
        order = self.random.permutation(model.n) if table.order == "shuffled" else np.arange(model.n)
        live = np.ones(model.n, bool)
        jobs = []
        for k, start in enumerate(range(0, model.n, FILES_A_MANIFEST)):
            rows = order[start : start + FILES_A_MANIFEST]
            status = np.full(len(rows), ADDED)
            if k % 10 == 1:
                status = np.where(self.random.random(len(rows)) < 0.02, DELETED, EXISTING)
                live[rows[status == DELETED]] = False
            jobs.append((k, rows, status, False))
        marked = np.flatnonzero(self.random.random(model.n) < (0 if table.deletes == "none" else WITH_DELETES))
        for start in range(0, len(marked), FILES_A_MANIFEST):
            rows = marked[start : start + FILES_A_MANIFEST]
            jobs.append((len(jobs), rows, np.full(len(rows), ADDED), True))
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            manifests = list(pool.map(lambda job: self.manifest(*job), jobs))
        write_manifest_list(self.metadata / "snap-1.avro", manifests[::-1])
        document = self.document(len(jobs), int(live.sum()), len(marked))
        (self.metadata / "v1.metadata.json").write_text(json.dumps(document))
        (self.metadata / "version-hint.text").write_text("1")
        return Written(model, live, self.with_deletes(marked))

    def with_deletes(self, marked: np.ndarray) -> np.ndarray:
        """bool[n]: the files that a delete file applies to; all are newer than all data."""
        if self.table.deletes != "partition":
            return np.isin(np.arange(self.model.n), marked)
        partition = self.model.day.astype(np.int64) * BUCKETS + self.model.bucket
        return np.isin(partition, partition[marked])

    def manifest(self, k: int, rows: np.ndarray, status: np.ndarray, deletes: bool) -> dict[str, Any]:
        """Write manifest ``k``; its record in the manifest list."""
        sequence, snapshot = k + 1, FIRST_SNAPSHOT + k
        rewritten = bool((status != ADDED).any())
        first = max(k // 2, 1) if rewritten else sequence
        inherited = beside(
            *(
                (some(longs(np.full(len(rows), value))) for value in (snapshot, first, first))
                if rewritten
                else (constant(b"\0\0\0", len(rows)),)
            ),
        )
        entries = beside(longs(status), inherited, self.delete_files(k, rows) if deletes else self.data_files(rows))
        name = f"{uuid.uuid5(uuid.NAMESPACE_OID, str(k))}-m{k}.avro"
        header = {
            "schema": json.dumps(_SCHEMA),
            "schema-id": "0",
            "partition-spec": json.dumps(_SPEC),
            "partition-spec-id": "0",
            "format-version": "2",
            "content": "deletes" if deletes else "data",
        }
        length = container(self.metadata / name, _MANIFEST, header, entries, self.table.codec)
        counts = {}
        for word, code in (("added", ADDED), ("existing", EXISTING), ("deleted", DELETED)):
            counts[f"{word}_files_count"] = int((status == code).sum())
            counts[f"{word}_rows_count"] = int(self.model.record_count[rows[status == code]].sum())
        return {
            "manifest_path": f"{self.metadata_path}/{name}",
            "manifest_length": length,
            "partition_spec_id": 0,
            "content": int(deletes),
            "sequence_number": sequence,
            "min_sequence_number": first,
            "added_snapshot_id": snapshot,
            **counts,
            "partitions": [_summary(self.model.day[rows]), _summary(self.model.bucket[rows])],
        }

    def partition(self, rows: np.ndarray) -> Cells:
        return beside(some(longs(self.model.day[rows])), some(longs(self.model.bucket[rows])))

    def data_files(self, rows: np.ndarray) -> Cells:
        model, n = self.model, len(rows)
        ids = range(1, len(COLUMNS) + 1)
        nulls = [model.null_count[name][rows] for name in COLUMNS]
        return beside(
            constant(b"\0", n),
            texts(self.path.take(pa.array(rows))).sized(),
            constant(b"\x0ePARQUET", n),
            self.partition(rows),
            longs(model.record_count[rows]),
            longs(model.size_bytes[rows]),
            some(pairs({i: longs(self.column_sizes[rows, i - 1]) for i in ids}, n)),
            some(pairs({i: longs(model.record_count[rows]) for i in ids}, n)),
            some(pairs({i: longs(nulls[i - 1]) for i in ids}, n)),
            some(pairs({list(COLUMNS).index("score") + 1: constant(b"\0", n)}, n)),
            some(self.bounds(model.lower, rows, False)),
            some(self.bounds(model.upper, rows, True)),
            constant(b"\0" + b"\x02\x02\x08\0" + b"\0" + b"\x02\0", n),
        )

    def bounds(self, bounds: dict[str, pa.Array], rows: np.ndarray, upper: bool) -> Cells:
        values = {i: bounds[name].take(pa.array(rows)) for i, name in enumerate(COLUMNS, 1)}
        return pairs({i: _single_value(array, upper) for i, array in values.items()}, len(rows))

    def delete_files(self, k: int, rows: np.ndarray) -> Cells:
        """A delete file for each of the data files ``rows``, or for its partition."""
        model, n = self.model, len(rows)
        deleted = np.maximum(model.record_count[rows] // 100, 1)
        names = uuids(np.random.default_rng(k), n)
        path = pc.binary_join_element_wise(self.folder.take(pa.array(rows)), "00000-9-", names, "-deletes.parquet", "")
        target = texts(self.path.take(pa.array(rows))).sized()
        none = constant(b"\0", n)
        positions = [plain(bound.astype("<i8")) for bound in (np.zeros(n), model.record_count[rows] - 1)]
        bounds = [some(pairs({POS_ID: p.sized(), FILE_PATH_ID: target}, n)) for p in positions]
        by_file = self.table.deletes == "file"
        return beside(
            constant(b"\x02", n),
            texts(path).sized(),
            constant(b"\x0ePARQUET", n),
            self.partition(rows),
            longs(deleted),
            longs(1500 + 3 * deleted),
            some(pairs({POS_ID: longs(3 * deleted), FILE_PATH_ID: longs(400 + deleted)}, n)),
            some(pairs({POS_ID: longs(deleted), FILE_PATH_ID: longs(deleted)}, n)),
            some(pairs({POS_ID: none, FILE_PATH_ID: none}, n)),
            none,
            *(bounds if by_file else (none, none)),
            constant(b"\0" + b"\x02\x02\x08\0" + b"\0" + b"\0", n),
        )

    def document(self, sequence: int, n_data: int, n_deletes: int) -> dict[str, Any]:
        snapshot = {
            "snapshot-id": FIRST_SNAPSHOT,
            "sequence-number": sequence,
            "timestamp-ms": TIME_MS,
            "schema-id": 0,
            "manifest-list": f"{self.metadata_path}/snap-1.avro",
            "summary": {
                "operation": "overwrite",
                "total-data-files": str(n_data),
                "total-delete-files": str(n_deletes),
            },
        }
        return {
            "format-version": 2,
            "table-uuid": str(uuid.UUID(int=2)),
            "location": LOCATION,
            "last-sequence-number": sequence,
            "last-updated-ms": TIME_MS,
            "last-column-id": len(COLUMNS),
            "current-schema-id": 0,
            "schemas": [_SCHEMA],
            "default-spec-id": 0,
            "partition-specs": [{"spec-id": 0, "fields": _SPEC}],
            "last-partition-id": 1001,
            "default-sort-order-id": 0,
            "sort-orders": [{"order-id": 0, "fields": []}],
            "properties": {"write.metadata.path": self.metadata_path},
            "current-snapshot-id": FIRST_SNAPSHOT,
            "snapshots": [snapshot],
            "snapshot-log": [],
            "metadata-log": [],
            "refs": {"main": {"snapshot-id": FIRST_SNAPSHOT, "type": "branch"}},
        }


def some(value: Cells) -> Cells:
    """The second branch of ["null", ...]."""
    return beside(constant(b"\x02", len(value.octets)), value)


def _single_value(values: pa.Array, upper: bool) -> Cells:
    """A bound as Iceberg serializes it, as bytes behind their length; nothing where NULL."""
    kind = values.type
    if pa.types.is_string(kind):
        cut = pc.utf8_slice_codeunits(values, 0, BOUND_LENGTH)
        if upper:  # what was cut off is made up for by the last letter that was kept
            longer = pc.greater(pc.utf8_length(values), BOUND_LENGTH)
            last = texts(pc.utf8_slice_codeunits(cut, BOUND_LENGTH - 1), 1).octets[:, :1] + 1
            raised = pa.array([bytes(octet).decode() for octet in last])
            raised = pc.binary_join_element_wise(pc.utf8_slice_codeunits(cut, 0, BOUND_LENGTH - 1), raised, "")
            cut = pc.if_else(longer, raised, cut)
        return texts(cut).sized().where(values.is_valid().to_numpy(zero_copy_only=False))
    if pa.types.is_decimal(kind):
        words = np.frombuffer(pa.concat_arrays([values]).buffers()[1], "<i8").reshape(-1, 2)[:, 0]
        return big_endian(words[values.offset : values.offset + len(values)]).sized()
    numbers = values.cast(pa.int64()) if pa.types.is_timestamp(kind) else values
    return plain(numbers.to_numpy()).sized()


def _summary(values: np.ndarray) -> dict[str, Any]:
    low, high = (int(v).to_bytes(4, "little") for v in (values.min(), values.max()))
    return {"contains_null": False, "contains_nan": False, "lower_bound": low, "upper_bound": high}


def write_manifest_list(path: Path, manifests: list[dict[str, Any]]) -> None:
    import fastavro

    with path.open("wb") as file:
        fastavro.writer(
            file, fastavro.parse_schema(_MANIFEST_LIST), manifests, codec="deflate", metadata={"format-version": "2"}
        )


def link(table: Path, folder: Path) -> Path:
    """A table of its own in ``folder`` whose manifests are those of ``table``: its metadata file."""
    metadata = folder / "metadata"
    metadata.mkdir(parents=True)
    for name in ("v1.metadata.json", "version-hint.text"):
        shutil.copy(table / "metadata" / name, metadata)
    return metadata / "v1.metadata.json"


def append_snapshot(metadata: Path, version: int) -> None:
    """One more version of a table in the folder ``metadata``: a hundred files with ids above all others."""
    import fastavro

    document = json.loads((metadata / f"v{version - 1}.metadata.json").read_text())
    with open(document["snapshots"][-1]["manifest-list"].removeprefix("file://"), "rb") as file:
        manifests: list[Any] = list(fastavro.reader(file))
    with tempfile.TemporaryDirectory() as scratch:
        writer = _Writer(IcebergTable(100), Path(scratch), metadata.parent)
        writer.model.lower["id"] = writer.model.upper["id"] = pa.array(10**15 + version * 100 + np.arange(100))
        added = writer.manifest(10**6 + version, np.arange(100), np.full(100, ADDED), False)
        shutil.copy(writer.metadata / Path(added["manifest_path"]).name, metadata)
    sequence = document["last-sequence-number"] + 1
    added |= {"sequence_number": sequence, "min_sequence_number": sequence}
    manifest_list = metadata / f"snap-{version}.avro"
    write_manifest_list(manifest_list, [added, *manifests])
    snapshot_id = FIRST_SNAPSHOT + version
    document["snapshots"].append(
        {
            "snapshot-id": snapshot_id,
            "parent-snapshot-id": document["current-snapshot-id"],
            "schema-id": 0,
            "sequence-number": sequence,
            "timestamp-ms": TIME_MS + version,
            "manifest-list": f"file://{manifest_list}",
            "summary": {"operation": "append"},
        }
    )
    document |= {
        "current-snapshot-id": snapshot_id,
        "last-sequence-number": sequence,
        "last-updated-ms": TIME_MS + version,
    }
    document["refs"]["main"]["snapshot-id"] = snapshot_id
    (metadata / f"v{version}.metadata.json").write_text(json.dumps(document))
    (metadata / "version-hint.text").write_text(str(version))


def _field(name: str, field_id: int, kind: Any, optional: bool = False) -> dict[str, Any]:
    if optional:
        return {"name": name, "field-id": field_id, "type": ["null", kind], "default": None}
    return {"name": name, "field-id": field_id, "type": kind}


def _map(key_id: int, value_id: int, kind: str) -> dict[str, Any]:
    entry = {
        "type": "record",
        "name": f"k{key_id}_v{value_id}",
        "fields": [_field("key", key_id, "int"), _field("value", value_id, kind)],
    }
    return {"type": "array", "items": entry, "logicalType": "map"}


_TYPES = {
    "id": "long",
    "ts": "timestamptz",
    "country": "string",
    "amount": "decimal(12, 2)",
    "name": "string",
    "quantity": "int",
    "score": "double",
    "email": "string",
}
_SCHEMA = {
    "type": "struct",
    "schema-id": 0,
    "fields": [
        {"id": i, "name": name, "required": False, "type": kind} for i, (name, kind) in enumerate(_TYPES.items(), 1)
    ],
}
_SPEC = [
    {"name": "ts_day", "transform": "day", "source-id": 2, "field-id": 1000},
    {"name": "id_bucket", "transform": f"bucket[{BUCKETS}]", "source-id": 1, "field-id": 1001},
]
_PARTITION = {
    "type": "record",
    "name": "r102",
    "fields": [
        _field("ts_day", 1000, {"type": "int", "logicalType": "date"}, True),
        _field("id_bucket", 1001, "int", True),
    ],
}
_MANIFEST = json.dumps(
    {
        "type": "record",
        "name": "manifest_entry",
        "fields": [
            _field("status", 0, "int"),
            _field("snapshot_id", 1, "long", True),
            _field("sequence_number", 3, "long", True),
            _field("file_sequence_number", 4, "long", True),
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
                        _field("partition", 102, _PARTITION),
                        _field("record_count", 103, "long"),
                        _field("file_size_in_bytes", 104, "long"),
                        _field("column_sizes", 108, _map(117, 118, "long"), True),
                        _field("value_counts", 109, _map(119, 120, "long"), True),
                        _field("null_value_counts", 110, _map(121, 122, "long"), True),
                        _field("nan_value_counts", 137, _map(138, 139, "long"), True),
                        _field("lower_bounds", 125, _map(126, 127, "bytes"), True),
                        _field("upper_bounds", 128, _map(129, 130, "bytes"), True),
                        _field("key_metadata", 131, "bytes", True),
                        _field("split_offsets", 132, {"type": "array", "items": "long", "element-id": 133}, True),
                        _field("equality_ids", 135, {"type": "array", "items": "int", "element-id": 136}, True),
                        _field("sort_order_id", 140, "int", True),
                    ],
                },
            ),
        ],
    }
)
_SUMMARY = {
    "type": "record",
    "name": "r508",
    "fields": [
        _field("contains_null", 509, "boolean"),
        _field("contains_nan", 518, "boolean", True),
        _field("lower_bound", 510, "bytes", True),
        _field("upper_bound", 511, "bytes", True),
    ],
}
_MANIFEST_LIST = {
    "type": "record",
    "name": "manifest_file",
    "fields": [
        _field("manifest_path", 500, "string"),
        _field("manifest_length", 501, "long"),
        _field("partition_spec_id", 502, "int"),
        _field("content", 517, "int"),
        _field("sequence_number", 515, "long"),
        _field("min_sequence_number", 516, "long"),
        _field("added_snapshot_id", 503, "long"),
        _field("added_files_count", 504, "int"),
        _field("existing_files_count", 505, "int"),
        _field("deleted_files_count", 506, "int"),
        _field("added_rows_count", 512, "long"),
        _field("existing_rows_count", 513, "long"),
        _field("deleted_rows_count", 514, "long"),
        _field("partitions", 507, {"type": "array", "items": _SUMMARY, "element-id": 508}, True),
    ],
}
