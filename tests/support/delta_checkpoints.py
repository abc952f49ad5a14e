"""Checkpoints with parsed statistics and partition values, written with row groups of a chosen size."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.support.delta_log import ADD_FIELDS, METADATA_TYPE, PROTOCOL_TYPE, DeltaLog, add, field, first_actions

COLUMNS: dict[str, tuple[str, pa.DataType]] = {
    "i": ("long", pa.int64()),
    "s": ("string", pa.string()),
    "d": ("date", pa.date32()),
    "t": ("timestamp", pa.timestamp("us", "UTC")),
    "m": ("decimal(10,2)", pa.decimal128(10, 2)),
    "f": ("double", pa.float64()),
    "w": ("decimal(38,0)", pa.decimal128(38)),
}
PARTS: dict[str, tuple[str, pa.DataType]] = {
    "p": ("string", pa.string()),
    "n": ("integer", pa.int32()),
    "z": ("timestamp", pa.timestamp("us", "UTC")),
    "y": ("date", pa.date32()),
}


def parsed_type(columns: dict[str, tuple[str, pa.DataType]]) -> pa.DataType:
    values = pa.struct([(name, kind) for name, (_, kind) in columns.items()])
    counts = pa.struct([(name, pa.int64()) for name in columns])
    return pa.struct([("numRecords", pa.int64()), ("minValues", values), ("maxValues", values), ("nullCount", counts)])


ADD = pa.struct(
    [
        *ADD_FIELDS,
        ("stats_parsed", parsed_type(COLUMNS)),
        ("partitionValues_parsed", pa.struct([(name, kind) for name, (_, kind) in PARTS.items()])),
    ]
)


def parsed(records: int | None = 3, nulls: int | None = 0, **pairs: tuple[Any, Any]) -> dict[str, Any]:
    return {
        "numRecords": records,
        "minValues": {k: v[0] for k, v in pairs.items()},
        "maxValues": {k: v[1] for k, v in pairs.items()},
        "nullCount": dict.fromkeys(COLUMNS, nulls),
    }


def file(name: str, described: dict[str, Any] | None, **parts: Any) -> dict[str, Any]:
    texts = {
        k: None if v is None else v.isoformat() if isinstance(v, dt.datetime) else str(v) for k, v in parts.items()
    }
    more = {} if described is None else {"stats_parsed": described}
    values = [(k, texts.get(k)) for k in PARTS]
    return add(name, partitionValues=values, partitionValues_parsed=parts, **more)["add"]


def checkpoint(root: Path, files: list[dict[str, Any]], size: int, *, add_type: pa.DataType = ADD) -> DeltaLog:
    """Version 1 as a checkpoint with ``size`` rows a row group; protocol and metadata stand among them."""
    log = DeltaLog(root)
    columns = [field(name, kind) for name, (kind, _) in {**COLUMNS, **PARTS}.items()]
    head = first_actions()
    schema = json.dumps({"type": "struct", "fields": columns})
    head[1]["metaData"].update(schemaString=schema, partitionColumns=list(PARTS), configuration=[])
    rows = [head[0], *({"add": f} for f in files[:1]), head[1], *({"add": f} for f in files[1:])]
    kinds = pa.schema([("add", add_type), ("protocol", PROTOCOL_TYPE), ("metaData", METADATA_TYPE)])
    table = pa.Table.from_pylist(rows, kinds)
    pq.write_table(table, log.directory / f"{1:020d}.checkpoint.parquet", row_group_size=size)
    return log
