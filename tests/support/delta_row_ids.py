"""Delta tables with row tracking: the properties, and data files with materialised row ids."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.support.delta_log import DeltaLog, stats

ON = {
    "delta.enableRowTracking": "true",
    "delta.rowTracking.materializedRowIdColumnName": "_row-id-col-1",
    "delta.rowTracking.materializedRowCommitVersionColumnName": "_row-commit-version-col-2",
}
ID, VERSION = "_metadata.row_id", "_metadata.row_commit_version"


def write(log: DeltaLog, name: str, rows: int, **materialised: list[int | None]) -> dict[str, Any]:
    """A data file of ids 0 to ``rows`` - 1, in row groups of 2, and the fields of its add action."""
    columns: dict[str, Any] = {"id": pa.array(range(rows), pa.int64())}
    columns.update({ON[f"delta.rowTracking.materialized{k}"]: pa.array(v, pa.int64()) for k, v in materialised.items()})
    pq.write_table(pa.table(columns), log.root / name, row_group_size=2)
    return {"size": (log.root / name).stat().st_size, "stats": stats(rows)}
