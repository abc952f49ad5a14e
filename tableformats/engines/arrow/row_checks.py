"""Compare what metadata say of each file with its live rows: their number, NULLs and bounds. No format is known here.

Bounds hold for all rows of a file, so they hold for those that deletes leave.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from ...columnar import compute as pc
from ...columnar.arrays import FALSE, scalar
from ...errors import StoreError, TableFormatsError
from ...expressions import BoundColumn
from ...planning.plan import FilePlan
from ...planning.tasks import ScanTask, tasks_of
from ...plugin.verification import Violation
from ...pruning.column_ranges import Range
from .reader import read_batches

__all__ = ["row_violations"]

_SOURCE = "What metadata say of a file holds for each of its rows"


def row_violations(
    plan: FilePlan, columns: Sequence[BoundColumn], expected: Mapping[str, Mapping[int, Sequence[Range]]]
) -> Iterator[Violation]:
    """What statistics of the files of a plan say otherwise than the rows. Every data file is read.

    Parameters
    ----------
    plan : FilePlan
        All rows, with the columns that are compared.
    columns : sequence of BoundColumn
        What is compared.
    expected : mapping
        By absolute path and field id, the ranges of one file each.

    Raises
    ------
    StoreError
        As the store fails.
    """
    version = plan.snapshot.version
    for task in tasks_of(plan):
        try:
            seen = _seen(plan, task, columns)
        except StoreError:
            raise
        except TableFormatsError as error:
            yield Violation("unreadable-file", error.message, _SOURCE, task.path, version)
            continue
        for rule, what in _differences(task, seen, expected.get(task.path, {}), columns):
            yield Violation(rule, what, _SOURCE, task.path, version)


@dataclass
class _Seen:
    """The live rows of a file; by field id how many are NULL, and the least and the greatest value."""

    rows: int
    nulls: dict[int, int]
    least: dict[int, pa.Scalar]
    greatest: dict[int, pa.Scalar]


def _seen(plan: FilePlan, task: ScanTask, columns: Sequence[BoundColumn]) -> _Seen:
    seen = _Seen(0, dict.fromkeys((c.id for c in columns), 0), {}, {})
    for batch in read_batches(plan, [task]):
        seen.rows += batch.num_rows
        for column in columns:
            _take(seen, column.id, _values(batch, column))
    return seen


def _values(batch: pa.RecordBatch, column: BoundColumn) -> pa.Array:
    values = batch.column(column.path[0].name)
    for field in column.path[1:]:
        values = pc.struct_field(values, [values.type.get_field_index(field.name)])
    return values


def _take(seen: _Seen, id: int, values: pa.Array) -> None:
    seen.nulls[id] += values.null_count
    if pa.types.is_floating(values.type):  # NaN is no part of bounds
        values = pc.if_else(pc.fill_null(pc.is_nan(values), FALSE), scalar(None, values.type), values)
    try:
        found = pc.min_max(values)
    except pa.ArrowNotImplementedError:
        return
    for side, known, is_better in (("min", seen.least, pc.less), ("max", seen.greatest, pc.greater)):
        value = found[side]
        if value.is_valid and (id not in known or is_better(value, known[id]).as_py()):
            known[id] = value


def _differences(
    task: ScanTask, seen: _Seen, expected: Mapping[int, Sequence[Range]], columns: Sequence[BoundColumn]
) -> Iterator[tuple[str, str]]:
    deletes = task.deletes.to_pylist()
    deleted = [one["cardinality"] for one in deletes if one["kind"] == "deletion_vector"]
    if task.record_count is not None and len(deleted) == len(deletes) and None not in deleted:
        live = task.record_count - sum(deleted)
        if seen.rows != live:
            yield "record-count", f"it has {seen.rows} live rows, and its metadata say {live}"
    for column in columns:
        for range_ in expected.get(column.id, ()):
            yield from _outside(str(column), seen, column.id, range_)


def _outside(name: str, seen: _Seen, id: int, range_: Range) -> Iterator[tuple[str, str]]:
    if not range_.may_null[0] and seen.nulls[id]:
        yield "null-count", f"{name} is NULL in {seen.nulls[id]} rows, and its metadata say in none"
    if id not in seen.least:
        return
    if not range_.may_value[0]:
        yield "null-count", f"{name} has values, and its metadata say that it is NULL in all rows"
    for value, bound, is_outside, side in (
        (seen.least[id], range_.lower[0], pc.less, "lower"),
        (seen.greatest[id], range_.upper[0], pc.greater, "upper"),
    ):
        if bound.is_valid and is_outside(pc.cast(value, bound.type), bound).as_py():
            yield "bounds", f"{name} has the value {value}, which is outside of its {side} bound {bound}"
