"""Iceberg tables in directories for tests that write: made by our own metadata, read by PyIceberg."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyiceberg.table import StaticTable
from tableformats_iceberg.write.create import create_updates
from tableformats_iceberg.write.metadata_updates import apply_updates

from tableformats.schema import Field, Schema, Type, primitive

__all__ = ["metadata_of", "new_table", "newest", "pyiceberg_rows", "pyiceberg_table", "schema_of"]


def schema_of(**columns: str | Type) -> Schema:
    """A schema of nullable columns by name; a text is the name of a primitive type."""
    kinds = [(name, primitive(kind) if isinstance(kind, str) else kind) for name, kind in columns.items()]
    return Schema(tuple(Field(i, name, kind) for i, (name, kind) in enumerate(kinds, 1)))


def new_table(
    folder: Path,
    schema: Schema,
    version: int = 2,
    partition_by: Sequence[str] = (),
    properties: Mapping[str, str] | None = None,
    sort_by: Sequence[str] = (),
) -> Path:
    """An empty table in ``folder``, with a hint."""
    given = {"format-version": str(version), **(properties or {})}
    updates = create_updates(str(folder), schema, partition_by, sort_by, given)
    metadata = apply_updates(None, updates, now_ms=time.time_ns() // 1_000_000)
    (folder / "metadata").mkdir(parents=True)
    (folder / "metadata" / "v1.metadata.json").write_text(json.dumps(metadata))
    (folder / "metadata" / "version-hint.text").write_text("1")
    return folder


def newest(folder: Path) -> Path:
    """The metadata file with the highest number."""
    files = (folder / "metadata").glob("v*.metadata.json")
    return max(files, key=lambda path: int(path.name[1:].split(".")[0]))


def metadata_of(folder: Path) -> dict[str, Any]:
    """The JSON of the newest metadata file."""
    found: dict[str, Any] = json.loads(newest(folder).read_text())
    return found


def pyiceberg_table(folder: Path) -> StaticTable:
    return StaticTable.from_metadata(str(newest(folder)))


def pyiceberg_rows(folder: Path, *sort_by: str) -> list[dict[str, Any]]:
    """The rows of the table as PyIceberg reads them."""
    found = pyiceberg_table(folder).scan().to_arrow()
    assert isinstance(found, pa.Table)
    found = found.sort_by([(name, "ascending") for name in sort_by]) if sort_by else found
    rows: list[dict[str, Any]] = found.to_pylist()
    return rows
