"""The committed tables of real writers, and rows as their expected answers spell them."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

import tableformats as tf
from tests.support.variants import decoded

GOLDEN = Path(__file__).parents[1] / "golden"
TABLES = GOLDEN / "tables"


def answers(table: pa.Table) -> list[dict[str, Any]]:
    """Rows as JSON values, sorted by id; floats keep NaN as text, times are ISO 8601, variants are what they hold."""
    return [{k: plain(v) for k, v in row.items()} for row in sorted(table.to_pylist(), key=lambda r: r["id"])]


def plain(value: Any) -> Any:
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, (dt.datetime, dt.date)):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, dict):
        if set(value) == {"metadata", "value"}:
            return plain(decoded(value))
        return {k: plain(v) for k, v in value.items()}
    return [plain(v) for v in value] if isinstance(value, (list, tuple)) else value


JVM_TABLES = GOLDEN / "tables_jvm"
EXPECTED = {folder.name: json.loads((folder / "expected.json").read_text()) for folder in sorted(JVM_TABLES.iterdir())}


def opened(name: str) -> tf.Table:
    return tf.open_table(JVM_TABLES / name / "table", relocate=True)


def in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: json.dumps(row, sort_keys=True))
