"""Hand-built Delta tables with data files whose rows the test knows, and changes as plain tuples."""

from __future__ import annotations

import json
import struct
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyroaring import BitMap64
from tableformats_delta.deletes import z85
from tableformats_delta.deletes.deletion_vectors import PORTABLE_MAGIC

import tableformats as tf
from tests.support.delta_log import DeltaLog, add, field

Change = tuple[str, int, tuple[Any, ...]]
"""Change type, version, row."""


def inline_vector(*positions: int) -> dict[str, Any]:
    """A deletion vector that stands in the log itself."""
    data = struct.pack("<I", PORTABLE_MAGIC) + bytes(BitMap64(positions).serialize())
    padded = data + bytes(-len(data) % 4)
    return {
        "storageType": "i",
        "pathOrInlineDv": z85.encode(padded),
        "sizeInBytes": len(data),
        "cardinality": len(positions),
    }


def id_file(log: DeltaLog, file: str, ids: Iterable[int], **more: Any) -> dict[str, Any]:
    """Write a file with the column ``id``; its add action, with exact statistics."""
    return data_file(log, file, pa.table({"id": pa.array(list(ids), pa.int64())}), **more)


def data_file(log: DeltaLog, file: str, rows: pa.Table, **more: Any) -> dict[str, Any]:
    """Write a file; its add action, with statistics of ``id`` where it has one. ``more`` replaces what it says."""
    target = log.root / file
    target.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(rows, target)
    statistics: dict[str, Any] = {"numRecords": rows.num_rows}
    if "id" in rows.column_names and rows.num_rows:
        bounds = pc.min_max(rows["id"]).as_py()
        statistics |= {"minValues": {"id": bounds["min"]}, "maxValues": {"id": bounds["max"]}}
        statistics["nullCount"] = {"id": rows["id"].null_count}
    action = add(file, size=target.stat().st_size, stats=json.dumps(statistics))
    return {"add": {**action["add"], **more}}


def change_file(log: DeltaLog, path: str, rows: pa.Table, **more: Any) -> dict[str, Any]:
    """Write a change data file; its cdc action."""
    action = data_file(log, path, rows)["add"]
    return {"cdc": {"path": path, "partitionValues": {}, "size": action["size"], "dataChange": False, **more}}


def changes_of(root: Path, starting: int, ending: int | None = None, filter: Any = None) -> list[Change]:
    """The changes in the order in which they are read."""
    changes = tf.open_table(root, format="delta").changes(starting, ending)
    if filter is not None:
        changes = changes.where(filter)
    table = changes.to_arrow()
    assert changes.count() == table.num_rows
    return as_changes(table)


def inserts(version: int, *ids: int) -> list[Change]:
    return [("insert", version, (i,)) for i in ids]


def deletes(version: int, *ids: int) -> list[Change]:
    return [("delete", version, (i,)) for i in ids]


def as_changes(table: pa.Table) -> list[Change]:
    names = [n for n in table.column_names if n not in ("_change_type", "_commit_version", "_commit_timestamp")]
    columns = [table[name].to_pylist() for name in names]
    rows = list(zip(*columns, strict=True)) if columns else [()] * table.num_rows
    return list(zip(table["_change_type"].to_pylist(), table["_commit_version"].to_pylist(), rows, strict=True))


def applied(before: Counter[tuple[Any, ...]], changes: Iterable[Change]) -> Counter[tuple[Any, ...]]:
    """The rows after the changes, for which they must not delete what is not there in the end."""
    after = Counter(before)
    for change_type, _, row in changes:
        after[row] += 1 if change_type in ("insert", "update_postimage") else -1
    assert min(after.values(), default=0) >= 0, "a row is deleted that was not there"
    return +after


def mapped(name: str, kind: Any, field_id: int, physical: str | None = None) -> dict[str, Any]:
    found = {"delta.columnMapping.id": field_id, "delta.columnMapping.physicalName": physical or f"col-{field_id}"}
    return field(name, kind, found)


def mapping(mode: str) -> dict[str, str]:
    return {"delta.columnMapping.mode": mode}


def mapped_log(folder: Path, mode: str, **columns: int) -> DeltaLog:
    """A column-mapped table of long columns with these ids."""
    fields = [mapped(name, "long", i) for name, i in columns.items()]
    protocol = {"minReaderVersion": 2, "minWriterVersion": 5}
    return DeltaLog(folder / "t").start(*fields, protocol=protocol, configuration=mapping(mode))
