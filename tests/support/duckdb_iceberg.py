"""DuckDB's reader of Iceberg tables, where the packages ``duckdb-extension-avro`` and ``-iceberg`` are installed."""

from __future__ import annotations

from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa

__all__ = ["duckdb_reads", "duckdb_rows"]


@lru_cache(maxsize=1)
def _connection() -> Any:
    """A connection with the extensions; None where they are not installed, or are of another DuckDB."""
    import duckdb

    connection = duckdb.connect()
    for name in ("avro", "iceberg"):
        found = find_spec(f"duckdb_extension_{name}")
        if found is None or found.origin is None:
            return None
        folder = Path(found.origin).parent / "extensions" / f"v{duckdb.__version__}"
        if not folder.is_dir():
            return None
        connection.execute(f"LOAD '{folder / f'{name}.duckdb_extension'}'")
    connection.execute("SET TimeZone = 'UTC'")
    return connection


def duckdb_reads() -> bool:
    """Whether DuckDB can read Iceberg tables here."""
    return _connection() is not None


def duckdb_rows(metadata: Path, version: int | None = None) -> pa.Table:
    """The rows of the table at a metadata file, or of one of its snapshots."""
    snapshot = "" if version is None else f", snapshot_from_id = {version}"
    found: pa.Table = _connection().execute(f"SELECT * FROM iceberg_scan('{metadata}'{snapshot})").to_arrow_table()
    return found
