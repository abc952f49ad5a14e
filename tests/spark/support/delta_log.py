"""Small Delta tables with a hand-written log, so that paths, partition values and statistics are the test's own."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

TYPES = {
    pa.int32(): "integer",
    pa.int64(): "long",
    pa.string(): "string",
    pa.float64(): "double",
    pa.date32(): "date",
    pa.timestamp("us", "UTC"): "timestamp",
    pa.bool_(): "boolean",
    pa.decimal128(9, 2): "decimal(9,2)",
}


@dataclass
class DeltaFile:
    """``path`` is decoded and relative; ``logged`` is what the log says, where that differs."""

    path: str
    rows: pa.Table
    partition: Mapping[str, str | None] = field(default_factory=dict)
    logged: str | None = None


def write_delta(root: Path, schema: pa.Schema, files: Sequence[DeltaFile], partitioned_by: Sequence[str] = ()) -> Path:
    """A table of one commit, with exact statistics of the primitive columns."""
    fields = [{"name": f.name, "type": TYPES[f.type], "nullable": True, "metadata": {}} for f in schema]
    actions: list[dict[str, Any]] = [
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
        {
            "metaData": {
                "id": "t",
                "format": {"provider": "parquet", "options": {}},
                "configuration": {},
                "partitionColumns": list(partitioned_by),
                "schemaString": json.dumps({"type": "struct", "fields": fields}),
            }
        },
    ]
    for file in files:
        target = root / file.path
        target.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(file.rows, target)
        actions.append(
            {
                "add": {
                    "path": file.logged or file.path,
                    "partitionValues": dict(file.partition),
                    "size": target.stat().st_size,
                    "modificationTime": 0,
                    "dataChange": True,
                    "stats": json.dumps(_statistics(file.rows)),
                }
            }
        )
    log = root / "_delta_log"
    log.mkdir(parents=True)
    (log / "00000000000000000000.json").write_text("\n".join(map(json.dumps, actions)) + "\n")
    return root


def append(root: Path, file: DeltaFile, version: int) -> None:
    """One more commit that adds ``file``."""
    pq.write_table(file.rows, root / file.path)
    add = {
        "path": file.path,
        "partitionValues": dict(file.partition),
        "size": (root / file.path).stat().st_size,
        "modificationTime": 0,
        "dataChange": True,
        "stats": json.dumps(_statistics(file.rows)),
    }
    (root / "_delta_log" / f"{version:020}.json").write_text(json.dumps({"add": add}) + "\n")


def _statistics(rows: pa.Table) -> dict[str, Any]:
    found: dict[str, Any] = {"numRecords": rows.num_rows, "minValues": {}, "maxValues": {}, "nullCount": {}}
    for name, column in zip(rows.column_names, rows.columns, strict=True):
        found["nullCount"][name] = column.null_count
        if column.type == pa.float64() and pc.any(pc.is_nan(column)).as_py():
            continue
        if column.type in TYPES and column.type != pa.bool_() and column.null_count < len(column):
            bounds = pc.min_max(column).as_py()
            found["minValues"][name], found["maxValues"][name] = map(_json, (bounds["min"], bounds["max"]))
    return found


def _json(value: Any) -> Any:
    """A bound as Delta writes it. Source: Delta PROTOCOL.md, "Per-file Statistics"."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, dt.datetime):
        return value.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return value.isoformat() if isinstance(value, dt.date) else value
