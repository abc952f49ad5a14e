"""The ``add`` and ``remove`` actions of a change.

Source: Delta PROTOCOL.md, "Add File and Remove File", "Per-file Statistics", "Deletion Vectors",
"Add CDC File", "Row Tracking".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from tableformats.plugin import DATETIME_MS, DAY_US, Field, TableChange, WriteTarget, scalar

from ..schema.row_tracking import ROW_TRACKING_FIELDS
from .target import partition_value_text, wanted_leaves
from .texts import statistics_text

if TYPE_CHECKING:
    import pyarrow as pa

    from .definition import TableDefinition

__all__ = ["add_actions", "change_actions", "remove_actions"]

_YEARS_US = 1000 * DATETIME_MS.start, 1000 * DATETIME_MS.stop - 1


def add_actions(
    change: TableChange, target: WriteTarget, definition: TableDefinition, now: int
) -> Iterator[dict[str, Any]]:
    """The actions of the added files. ``now`` is their time, milliseconds since the epoch."""
    if change.added is None:
        return
    leaves = wanted_leaves(target, definition)
    names = ["path", "size_bytes", "record_count", "partition", "lower", "upper", "null_count", "nan_count"]
    for row in _within_years(change.added).select(names).to_pylist():
        yield {
            "add": {
                # A colon in the first directory would make a scheme of it.
                "path": quote(row["path"], safe="/="),
                "partitionValues": _partition_values(row["partition"], target),
                "size": row["size_bytes"],
                "modificationTime": now,
                "dataChange": change.data_change,
                "stats": _statistics(row, leaves),
            }
        }


def remove_actions(change: TableChange, target: WriteTarget, now: int) -> Iterator[dict[str, Any]]:
    """The actions of the removed files, which are rows that :class:`DeltaSnapshot` gave."""
    if change.removed is None or not change.removed.num_rows:
        return  # a table without rows may lack the columns
    names = ["path", "size_bytes", "partition", "deletion_vector"]
    names += [name for name in ROW_TRACKING_FIELDS if name in change.removed.column_names]
    for row in change.removed.select(names).to_pylist():
        action = {
            "path": row["path"],
            "deletionTimestamp": now,
            "dataChange": change.data_change,
            "extendedFileMetadata": True,
            "partitionValues": _partition_values(row["partition"], target),
            "size": row["size_bytes"],
        }
        if row["deletion_vector"]:
            [vector] = row["deletion_vector"]
            action["deletionVector"] = {name: value for name, value in vector.items() if value is not None}
        for name, key in zip(ROW_TRACKING_FIELDS, ("baseRowId", "defaultRowCommitVersion"), strict=True):
            if row.get(name) is not None:
                action[key] = row[name]
        yield {"remove": action}


def change_actions(change: TableChange, target: WriteTarget) -> Iterator[dict[str, Any]]:
    """The actions of the files of changed rows. Readers of the changes take these alone in place of the others."""
    if change.changed_rows is None:
        return
    for row in change.changed_rows.select(["path", "size_bytes", "partition"]).to_pylist():
        yield {
            "cdc": {
                "path": quote(row["path"], safe="/="),
                "partitionValues": _partition_values(row["partition"], target),
                "size": row["size_bytes"],
                "dataChange": False,
            }
        }


def _partition_values(row: Mapping[str, Any], target: WriteTarget) -> dict[str, str | None]:
    return {
        target.schema.path_of(f.source_id)[-1].stored_name: None if value is None else partition_value_text(f, value)
        for f in target.partitioning
        for value in [row[str(f.id)]]
    }


def _statistics(row: Mapping[str, Any], leaves: list[tuple[Field, ...]]) -> str:
    lower: dict[str, Any] = {}
    upper: dict[str, Any] = {}
    nulls: dict[str, Any] = {}
    for path in leaves:
        key = str(path[-1].id)
        names = [f.stored_name for f in path]
        if row["null_count"][key] is not None:
            _put(nulls, names, row["null_count"][key])
        # Delta's readers take NaN for the greatest value, and no count says that a file has one.
        if key in row["lower"] and not row["nan_count"].get(key):
            _put(lower, names, row["lower"][key])
            _put(upper, names, row["upper"][key])
    return statistics_text(row["record_count"], lower, upper, nulls)


def _put(tree: dict[str, Any], names: list[str], value: Any) -> None:
    for name in names[:-1]:
        tree = tree.setdefault(name, {})
    tree[names[-1]] = value


def _within_years(added: pa.Table) -> pa.Table:
    """The files without bounds that lie outside of the years 1 to 9999, which the log cannot spell."""
    import pyarrow as pa

    from tableformats.plugin import compute as pc

    members = list(added.schema.field("lower").type)
    if not any(pa.types.is_temporal(f.type) for f in members):
        return added
    for side in ("lower", "upper"):
        column = added.column(side).combine_chunks()
        arrays = []
        for f, values in zip(members, column.flatten(), strict=True):
            if pa.types.is_temporal(f.type):
                is_date = pa.types.is_date(f.type)
                number = values.cast(pa.int32() if is_date else pa.int64()).cast(pa.int64())
                unit = DAY_US if is_date else 1
                first, last = (scalar(us // unit, pa.int64()) for us in _YEARS_US)
                held = pc.and_(pc.greater_equal(number, first), pc.less_equal(number, last))
                values = pc.if_else(held, values, scalar(None, f.type))
            arrays.append(values)
        found = pa.StructArray.from_arrays(arrays, fields=members)
        added = added.set_column(added.column_names.index(side), side, found)
    return added
