"""The model as a Delta log: checkpoints in every layout, commits behind them, deletion vectors that can be opened.

Sources: Delta PROTOCOL.md, "Checkpoints", "V2 Spec Checkpoint", "Per-file Statistics", "Deletion Vectors". The order of
adds in a checkpoint is random, as Spark's is; row groups hold ROW_GROUP actions, tombstones among them. Each commit
behind a checkpoint adds files, removes others, and gives some another deletion vector, so that reconciling matters.
"""

from __future__ import annotations

import base64
import json
import uuid
import zlib
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from .model import COLUMNS, Model, Written, days, uuids
from .specs import FIRST_DAY, ROWS_A_FILE, DeltaTable

CHECKPOINT_VERSION = 100
COMMITS_BEHIND = 20
PARTS = 10
ROW_GROUP = 131_072
WITH_VECTOR = 0.05
TOMBSTONES = 0.05
VECTORS_A_FILE = 1000
TIME_MS = 1_735_600_000_000

_TEXT_MAP = pa.map_(pa.string(), pa.string())
_VECTOR = pa.struct(
    {
        "storageType": pa.string(),
        "pathOrInlineDv": pa.string(),
        "offset": pa.int32(),
        "sizeInBytes": pa.int32(),
        "cardinality": pa.int64(),
    }
)
_VALUES = pa.struct(COLUMNS)
_STATS = pa.struct(
    {
        "numRecords": pa.int64(),
        "minValues": _VALUES,
        "maxValues": _VALUES,
        "nullCount": pa.struct(dict.fromkeys(COLUMNS, pa.int64())),
        "tightBounds": pa.bool_(),
    }
)
_ADD = {
    "path": pa.string(),
    "partitionValues": _TEXT_MAP,
    "size": pa.int64(),
    "modificationTime": pa.int64(),
    "dataChange": pa.bool_(),
    "tags": _TEXT_MAP,
    "deletionVector": _VECTOR,
    "baseRowId": pa.int64(),
    "defaultRowCommitVersion": pa.int64(),
    "clusteringProvider": pa.string(),
    "stats": pa.string(),
}
_PARSED = {"partitionValues_parsed": pa.struct({"date": pa.date32()}), "stats_parsed": _STATS}
_ACTIONS = {
    "txn": pa.struct({"appId": pa.string(), "version": pa.int64(), "lastUpdated": pa.int64()}),
    "remove": pa.struct(
        {
            "path": pa.string(),
            "deletionTimestamp": pa.int64(),
            "dataChange": pa.bool_(),
            "extendedFileMetadata": pa.bool_(),
            "partitionValues": _TEXT_MAP,
            "size": pa.int64(),
            "deletionVector": _VECTOR,
        }
    ),
    "metaData": pa.struct(
        {
            "id": pa.string(),
            "name": pa.string(),
            "schemaString": pa.string(),
            "format": pa.struct({"provider": pa.string(), "options": _TEXT_MAP}),
            "partitionColumns": pa.list_(pa.string()),
            "configuration": _TEXT_MAP,
            "createdTime": pa.int64(),
        }
    ),
    "protocol": pa.struct(
        {
            "minReaderVersion": pa.int32(),
            "minWriterVersion": pa.int32(),
            "readerFeatures": pa.list_(pa.string()),
            "writerFeatures": pa.list_(pa.string()),
        }
    ),
    "domainMetadata": pa.struct({"domain": pa.string(), "configuration": pa.string(), "removed": pa.bool_()}),
    "checkpointMetadata": pa.struct({"version": pa.int64(), "tags": _TEXT_MAP}),
    "sidecar": pa.struct(
        {"path": pa.string(), "sizeInBytes": pa.int64(), "modificationTime": pa.int64(), "tags": _TEXT_MAP}
    ),
}


def write(table: DeltaTable, folder: Path) -> Written:
    """Write the log below ``folder``."""
    return _Writer(table, folder).write()


class _Writer:
    def __init__(self, table: DeltaTable, folder: Path) -> None:
        self.table = table
        self.log = folder / "_delta_log"
        self.log.mkdir(parents=True)
        in_json = table.layout == "json"
        self.adds_a_commit = table.files // table.commits if in_json else min(max(table.files // 2000, 20), 500)
        self.model = Model(table.files, 0 if in_json else COMMITS_BEHIND * self.adds_a_commit)
        self.random, self.merges = np.random.default_rng(99), np.random.default_rng(98)
        self.vectors = Vectors(folder, self.model.n)
        date_text = self.model.dates.cast(pa.string())
        self.partition = date_text
        self.path = joined("date=", date_text, "/part-00000-", self.model.uuid, ".c000.snappy.parquet")

    def write(self) -> Written:
        live = np.zeros(self.model.n, bool)
        live[: self.table.files] = True
        if self.table.layout == "json":
            edges = np.linspace(0, self.table.files, self.table.commits + 1).astype(int)
            for version, (start, stop) in enumerate(pairwise(edges)):
                first = [json.dumps({"protocol": self.protocol()}), json.dumps({"metaData": self.metadata()})]
                self.commit(version, [*(first if version == 0 else []), *self.add_lines(np.arange(start, stop))])
        else:
            self.checkpoint(self.random.permutation(self.table.files))
            self.commit(CHECKPOINT_VERSION, [])
            for k in range(COMMITS_BEHIND):
                self.merge(CHECKPOINT_VERSION + 1 + k, self.table.files + k * self.adds_a_commit, live)
        self.vectors.write()
        return Written(self.model, live, self.vectors.number >= 0)

    def commit(self, version: int, lines: Iterable[str]) -> None:
        info = {
            "commitInfo": {
                "timestamp": TIME_MS + version * 60_000,
                "operation": "MERGE",
                "operationParameters": {},
                "engineInfo": "benchmarks",
            }
        }
        text = "\n".join([json.dumps(info), *lines]) + "\n"
        (self.log / f"{version:020d}.json").write_text(text)

    def merge(self, version: int, first_new: int, live: np.ndarray) -> None:
        """Add the next files, remove half as many, and delete rows of a tenth as many."""
        gone = self.merges.choice(np.flatnonzero(live), self.adds_a_commit // 2, replace=False)
        live[gone] = False
        updated = self.merges.choice(np.flatnonzero(live), max(self.adds_a_commit // 10, 1), replace=False)
        new = np.arange(first_new, first_new + self.adds_a_commit)
        lines = [*self.remove_lines(gone), *self.remove_lines(updated)]
        self.vectors.renew(updated)
        lines += [*self.add_lines(updated), *self.add_lines(new)]
        live[new] = True
        self.commit(version, lines)

    # -- actions as lines of a commit

    def add_lines(self, rows: np.ndarray) -> list[str]:
        model, taken = self.model, pa.array(rows)
        vector = self.vectors.text(rows)
        stats = pc.replace_substring(self.stats_text(rows), '"', '\\"')
        return joined(
            '{"add":{"path":"',
            self.path.take(taken),
            '","partitionValues":{"date":"',
            self.partition.take(taken),
            '"},"size":',
            text_of(model.size_bytes[rows]),
            ',"modificationTime":',
            text_of(model.modified_ms[rows]),
            ',"dataChange":true,"stats":"',
            stats,
            '"',
            vector,
            "}}",
        ).to_pylist()

    def remove_lines(self, rows: np.ndarray) -> list[str]:
        taken = pa.array(rows)
        return joined(
            '{"remove":{"path":"',
            self.path.take(taken),
            f'","deletionTimestamp":{TIME_MS},"dataChange":true,'
            '"extendedFileMetadata":true,"partitionValues":{"date":"',
            self.partition.take(taken),
            '"},"size":',
            text_of(self.model.size_bytes[rows]),
            self.vectors.text(rows),
            "}}",
        ).to_pylist()

    def stats_text(self, rows: np.ndarray) -> pa.Array:
        """The statistics as JSON. Bounds of a file with a deletion vector are not tight."""
        model, taken = self.model, pa.array(rows)
        nulls = {name: pa.array(counts[rows]) for name, counts in model.null_count.items()}
        return joined(
            '{"numRecords":',
            text_of(model.record_count[rows]),
            ',"minValues":{',
            members({name: bound.take(taken) for name, bound in model.lower.items()}),
            '},"maxValues":{',
            members({name: bound.take(taken) for name, bound in model.upper.items()}),
            '},"nullCount":{',
            members(nulls),
            '},"tightBounds":',
            pc.if_else(pa.array(self.vectors.number[rows] < 0), "true", "false"),
            "}",
        )

    # -- the checkpoint

    def checkpoint(self, order: np.ndarray) -> None:
        layout = self.table.layout
        head = {
            "protocol": [self.protocol()],
            "metaData": [{**self.metadata(), "configuration": list(self.metadata()["configuration"].items())}],
            "txn": [{"appId": f"stream-{k}", "version": 1000 + k, "lastUpdated": TIME_MS} for k in range(2)],
        }
        head = {action: pa.array(rows, _ACTIONS[action]) for action, rows in head.items()}
        prefix = f"{CHECKPOINT_VERSION:020d}.checkpoint"
        n_parts = 1 if layout == "classic" else PARTS
        parts = np.array_split(order, n_parts)
        size = sum(map(len, parts)) + 4
        last: dict[str, Any] = {"version": CHECKPOINT_VERSION, "size": size, "numOfAddFiles": len(order)}
        if layout == "classic":
            self.write_parquet(self.log / f"{prefix}.parquet", head, order)
        elif layout == "multipart":
            for k, rows in enumerate(parts, 1):
                path = self.log / f"{prefix}.{k:010d}.{n_parts:010d}.parquet"
                self.write_parquet(path, head if k == 1 else {}, rows)
            last["parts"] = n_parts
        else:
            self.write_v2(prefix, head, parts)
        (self.log / "_last_checkpoint").write_text(json.dumps(last))

    def write_v2(self, prefix: str, head: dict[str, pa.Array], parts: list[np.ndarray]) -> None:
        (self.log / "_sidecars").mkdir()
        sidecars = []
        for rows in parts:
            name = f"{prefix}.{uuids(self.random, 1)[0].as_py()}.parquet"
            path = self.log / "_sidecars" / name
            self.write_parquet(path, {}, rows)
            sidecars.append({"path": name, "sizeInBytes": path.stat().st_size, "modificationTime": TIME_MS})
        head = {
            **head,
            "checkpointMetadata": pa.array([{"version": CHECKPOINT_VERSION}], _ACTIONS["checkpointMetadata"]),
            "sidecar": pa.array(sidecars, _ACTIONS["sidecar"]),
        }
        self.write_parquet(self.log / f"{prefix}.{uuids(self.random, 1)[0].as_py()}.parquet", head, np.arange(0))

    def write_parquet(self, path: Path, head: dict[str, pa.Array], rows: np.ndarray) -> None:
        """``head``, then the adds of ``rows`` with tombstones among them, in row groups."""
        kinds = {"add": pa.struct(self.add_type()), **_ACTIONS}
        if self.table.layout != "v2":
            kinds = {name: kind for name, kind in kinds.items() if name not in ("checkpointMetadata", "sidecar")}
        groups = np.array_split(rows, -(-len(rows) // ROW_GROUP)) if len(rows) else []
        with pq.ParquetWriter(path, pa.schema(kinds), compression="snappy") as writer:
            for k, group in enumerate(groups or [rows]):
                actions = dict(head) if k == 0 else {}
                if len(group):
                    actions |= {"add": self.adds(group), "remove": self.tombstones(int(len(group) * TOMBSTONES))}
                table = pa.concat_tables([_only(name, values, kinds) for name, values in actions.items()])
                writer.write_table(table, row_group_size=table.num_rows)

    def add_type(self) -> dict[str, pa.DataType]:
        return _ADD if self.table.statistics == "json" else _ADD | _PARSED

    def adds(self, rows: np.ndarray) -> pa.StructArray:
        model, taken, n = self.model, pa.array(rows), len(rows)
        columns = {
            "path": self.path.take(taken),
            "partitionValues": self.partition_map(self.partition.take(taken)),
            "size": model.size_bytes[rows],
            "modificationTime": model.modified_ms[rows],
            "dataChange": np.zeros(n, bool),
            "deletionVector": self.vectors.array(rows),
        }
        if self.table.statistics != "struct":
            columns["stats"] = self.stats_text(rows)
        if self.table.statistics != "json":
            dates = pa.array(model.day[rows]).cast(pa.date32())
            columns["partitionValues_parsed"] = struct(_PARSED["partitionValues_parsed"], {"date": dates}, n)
            columns["stats_parsed"] = self.stats_struct(rows)
        return struct(pa.struct(self.add_type()), columns, n)

    def stats_struct(self, rows: np.ndarray) -> pa.StructArray:
        model, taken, n = self.model, pa.array(rows), len(rows)
        columns = {
            "numRecords": model.record_count[rows],
            "minValues": struct(_VALUES, {name: bound.take(taken) for name, bound in model.lower.items()}, n),
            "maxValues": struct(_VALUES, {name: bound.take(taken) for name, bound in model.upper.items()}, n),
            "nullCount": struct(_STATS.field("nullCount").type, {k: v[rows] for k, v in model.null_count.items()}, n),
            "tightBounds": self.vectors.number[rows] < 0,
        }
        return struct(_STATS, columns, n)

    def tombstones(self, n: int) -> pa.StructArray:
        """Removed files that the log no longer has an add of."""
        day = pa.array((days(FIRST_DAY) + self.random.integers(0, 365, n)).astype(np.int32)).cast(pa.date32())
        date_text = day.cast(pa.string())
        columns = {
            "path": joined("date=", date_text, "/part-00000-", uuids(self.random, n), ".c000.snappy.parquet"),
            "deletionTimestamp": np.full(n, TIME_MS),
            "dataChange": np.zeros(n, bool),
            "extendedFileMetadata": np.ones(n, bool),
            "partitionValues": self.partition_map(date_text),
            "size": self.random.integers(2**20, 2**27, n),
        }
        return struct(_ACTIONS["remove"], columns, n)

    @staticmethod
    def partition_map(dates: pa.Array) -> pa.Array:
        n = len(dates)
        return pa.MapArray.from_arrays(pa.array(range(n + 1), pa.int32()), pa.array(["date"] * n), dates)

    def protocol(self) -> dict[str, Any]:
        features = ["deletionVectors", *(["v2Checkpoint"] if self.table.layout == "v2" else [])]
        return {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": features, "writerFeatures": features}

    def metadata(self) -> dict[str, Any]:
        names = {
            "id": "long",
            "ts": "timestamp",
            "country": "string",
            "amount": "decimal(12,2)",
            "name": "string",
            "quantity": "integer",
            "score": "double",
            "email": "string",
            "date": "date",
        }
        fields = [{"name": k, "type": v, "nullable": True, "metadata": {}} for k, v in names.items()]
        configuration = {"delta.enableDeletionVectors": "true"}
        if self.table.statistics != "json":
            configuration["delta.checkpoint.writeStatsAsStruct"] = "true"
        return {
            "id": str(uuid.UUID(int=1)),
            "name": "events",
            "format": {"provider": "parquet", "options": {}},
            "schemaString": json.dumps({"type": "struct", "fields": fields}),
            "partitionColumns": ["date"],
            "configuration": configuration,
            "createdTime": TIME_MS,
        }


class Vectors:
    """Deletion vectors of some files, numbered; all delete the same positions.

    ``number`` : int64[n], which vector a file has, or -1. Vectors stand VECTORS_A_FILE to a file.
    """

    def __init__(self, folder: Path, n_files: int) -> None:
        from pyroaring import BitMap64

        positions = range(7, ROWS_A_FILE // 2, 331)
        bitmap = BitMap64(positions).serialize()
        self.blob = (1681511377).to_bytes(4, "little") + bitmap
        self.cardinality = len(positions)
        self.folder = folder
        has = np.random.default_rng(97).random(n_files) < WITH_VECTOR
        self.number = np.where(has, np.cumsum(has) - 1, -1)
        self.count = int(has.sum())

    def renew(self, rows: np.ndarray) -> None:
        """Give each of these files another vector."""
        self.number[rows] = np.arange(self.count, self.count + len(rows))
        self.count += len(rows)

    def descriptors(self, rows: np.ndarray) -> dict[str, pa.Array]:
        """Members of the descriptors, NULL where a file has none."""
        number = self.number[rows]
        none = pa.array(number < 0)
        offset = 1 + number % VECTORS_A_FILE * (len(self.blob) + 8)
        files = [self.encoded(k) for k in range(self.count // VECTORS_A_FILE + 1)]
        path = pa.array(files).take(pa.array(np.maximum(number, 0) // VECTORS_A_FILE))
        return {
            "storageType": pc.if_else(none, None, "u"),
            "pathOrInlineDv": pc.if_else(none, None, path),
            "offset": pc.if_else(none, None, pa.array(offset.astype(np.int32))),
            "sizeInBytes": pc.if_else(none, None, pa.scalar(len(self.blob), pa.int32())),
            "cardinality": pc.if_else(none, None, pa.scalar(self.cardinality, pa.int64())),
        }

    def array(self, rows: np.ndarray) -> pa.StructArray:
        members = self.descriptors(rows)
        arrays = [members[field.name] for field in _VECTOR]
        return pa.StructArray.from_arrays(arrays, fields=list(_VECTOR), mask=pa.array(self.number[rows] < 0))

    def text(self, rows: np.ndarray) -> pa.Array:
        """The member of an action with its comma, or nothing."""
        descriptor = self.descriptors(rows)
        text = joined(
            ',"deletionVector":{"storageType":"u","pathOrInlineDv":"',
            descriptor["pathOrInlineDv"],
            '","offset":',
            descriptor["offset"].cast(pa.string()),
            f',"sizeInBytes":{len(self.blob)},"cardinality":',
            descriptor["cardinality"].cast(pa.string()),
            "}",
        )
        return text.fill_null("")

    @staticmethod
    def file_id(k: int) -> uuid.UUID:
        return uuid.UUID(int=(k + 1) * 0x9E3779B97F4A7C15F39CC0605CEDC835 % 2**128)

    @classmethod
    def encoded(cls, k: int) -> str:
        """The id of file ``k`` in Z85, which is base 85 with another alphabet."""
        ours = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
        theirs = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
        return base64.b85encode(cls.file_id(k).bytes).decode().translate(str.maketrans(theirs, ours))

    def write(self) -> None:
        framed = len(self.blob).to_bytes(4, "big") + self.blob + zlib.crc32(self.blob).to_bytes(4, "big")
        for k in range(-(-self.count // VECTORS_A_FILE)):
            held = min(VECTORS_A_FILE, self.count - k * VECTORS_A_FILE)
            (self.folder / f"deletion_vector_{self.file_id(k)}.bin").write_bytes(b"\x01" + framed * held)


def append_commit(log: Path, version: int) -> None:
    """One more version of a table that :meth:`DeltaTable.write` wrote: a hundred files with ids above all others."""
    model = Model(100, seed=version)
    lines = []
    for i in range(100):
        bounds = {"id": 10**15 + version * 100 + i}
        stats = {"numRecords": 1, "minValues": bounds, "maxValues": bounds, "nullCount": {"id": 0}}
        lines.append(
            json.dumps(
                {
                    "add": {
                        "path": f"date={FIRST_DAY}/part-{version:05d}-{model.uuid[i]}.c000.snappy.parquet",
                        "partitionValues": {"date": str(FIRST_DAY)},
                        "size": 2**20,
                        "modificationTime": TIME_MS,
                        "dataChange": True,
                        "stats": json.dumps(stats),
                    }
                }
            )
        )
    text = "\n".join([json.dumps({"commitInfo": {"timestamp": TIME_MS + version * 60_000}}), *lines]) + "\n"
    (log / f"{version:020d}.json").write_text(text)


def joined(*pieces: pa.Array | str) -> pa.Array:
    """string[n]: the pieces one after the other, NULL where one of them is."""
    return pc.binary_join_element_wise(*pieces, "")


def text_of(values: np.ndarray) -> pa.Array:
    return pa.array(values).cast(pa.string())


def members(columns: dict[str, pa.Array]) -> pa.Array:
    """string[n]: the members of a JSON object, without those that are NULL."""
    pieces = [joined(f'"{name}":', _json(values)) for name, values in columns.items()]
    return pc.binary_join_element_wise(*pieces, ",", null_handling="skip")


def _json(values: pa.Array) -> pa.Array:
    """Values as JSON, timestamps in milliseconds; no text here needs an escape."""
    if pa.types.is_timestamp(values.type):
        plain = values.cast(pa.timestamp("ms")).cast(pa.string())
        return joined('"', pc.utf8_replace_slice(plain, start=10, stop=11, replacement="T"), 'Z"')
    return joined('"', values, '"') if pa.types.is_string(values.type) else values.cast(pa.string())


def struct(kind: pa.StructType, columns: dict[str, Any], n: int) -> pa.StructArray:
    """A struct array of the given type; members that are not given are NULL."""
    arrays = [pa.array(columns[f.name], f.type) if f.name in columns else pa.nulls(n, f.type) for f in kind]
    return pa.StructArray.from_arrays(arrays, fields=list(kind))


def _only(action: str, values: pa.Array, kinds: dict[str, pa.DataType]) -> pa.Table:
    """Rows of one action: all other columns are NULL."""
    return pa.table({name: values if name == action else pa.nulls(len(values), kind) for name, kind in kinds.items()})
