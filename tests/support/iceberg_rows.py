"""Iceberg tables with data files whose rows the test knows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import orc

import tableformats as tf
from tests.support.iceberg_manifests import entry, manifest_bytes
from tests.support.iceberg_tables import table_with


def with_ids(table: pa.Table, *ids: int) -> pa.Table:
    fields = [f.with_metadata({"PARQUET:field_id": str(i)}) for f, i in zip(table.schema, ids, strict=True)]
    return table.cast(pa.schema(fields))


def schema_json(*fields: tuple[int, str, Any], **more: dict[str, Any]) -> list[dict[str, Any]]:
    members = [{"id": i, "name": n, "required": False, "type": t, **more.get(n, {})} for i, n, t in fields]
    return [{"type": "struct", "schema-id": 0, "fields": members}]


AB = ((1, "a", "int"), (2, "b", "string"))


def table_of(
    root: Path,
    files: dict[str, Any],
    *fields: Any,
    row: dict[str, Any] | None = None,
    partition: Any = (),
    defaults: Any = None,
    **metadata: Any,
) -> tf.Table:
    """A table whose files were written to ``data/``: {name: (rows, further members of the entry)}."""
    entries = []
    for name, (rows, more) in files.items():
        kind = "ORC" if name.endswith("orc") else "PARQUET"
        entries.append(entry(f"/old/t/data/{name}", records=rows, **{"file_format": kind, **more}))
    metadata = {"schemas": schema_json(*fields, **(defaults or {})), "last-column-id": len(fields), **metadata}
    table_with(root, (manifest_bytes(entries, partition), row or {}), **metadata)
    return tf.open_table(root, relocate=True)


def write(root: Path, name: str, table: pa.Table, **options: Any) -> None:
    (root / "data").mkdir(exist_ok=True)
    (orc.write_table if name.endswith("orc") else pq.write_table)(table, root / "data" / name, **options)
