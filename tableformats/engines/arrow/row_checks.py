"""Compare what metadata say of each file with its rows or its footer: number, NULLs, NaNs and bounds.

No format is known here. Rows are the live ones: bounds hold for all rows of a file, so they hold for those that deletes
leave. A footer speaks of all rows, and may cut texts, so what it alone says is not always proven.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace

import pyarrow as pa

from ...columnar import compute as pc
from ...columnar.arrays import FALSE, scalar
from ...dataclass import dataclass
from ...display import shortened
from ...errors import StoreError, TableFormatsError
from ...expressions import BoundColumn
from ...expressions.sql_text import sql_literal
from ...planning.plan import FilePlan
from ...planning.tasks import ScanTask, tasks_of
from ...plugin.verification import Violation
from ...pruning.column_ranges import Range
from ...schema import Schema
from ...schema.scalar_text import python_value
from .reader import count_rows, read_tasks

__all__ = ["Difference", "FileFacts", "differences", "row_facts", "row_violations"]

_SOURCE = "What metadata say of a file holds for each of its rows"
_CUT = ("string", "binary")
"""Types whose bounds in footers may be cut."""


@dataclass
class FileFacts:
    """What the rows, or the footer, of a file say of columns, by field id.

    Attributes
    ----------
    rows : int
        Live rows; of a footer all rows.
    is_footer : bool
    nulls, nans : dict of field id to int
        How many there are, where that is known.
    least, greatest : dict of field id to pyarrow.Scalar
        Of the values that are neither NULL nor NaN.
    """

    rows: int
    is_footer: bool = False
    nulls: dict[int, int] = field(default_factory=dict)
    nans: dict[int, int] = field(default_factory=dict)
    least: dict[int, pa.Scalar] = field(default_factory=dict)
    greatest: dict[int, pa.Scalar] = field(default_factory=dict)

    def covers(self, column: BoundColumn) -> bool:
        """Whether NULLs and bounds of a column are known, or that it has no values."""
        id = column.id
        if id not in self.nulls:
            return False
        return id in self.least or self.nulls[id] + self.nans.get(id, 0) == self.rows


@dataclass(frozen=True)
class Difference:
    """Something that metadata say otherwise than a file.

    Attributes
    ----------
    rule : str
        ``record-count``, ``null-count``, ``nan-count`` or ``bounds``.
    what : str
    column : BoundColumn, optional
    filter : str, optional
        A condition that a row of the file fulfils, and for which the file is dropped.
    is_proven : bool
        False: the footer alone says so, and a deleted row or a text that was cut could be the reason.
    """

    rule: str
    what: str
    column: BoundColumn | None = None
    filter: str | None = None
    is_proven: bool = True


def row_violations(
    plan: FilePlan, columns: Sequence[BoundColumn], expected: Mapping[str, Mapping[int, Sequence[Range]]]
) -> Iterator[Violation]:
    """What statistics of the files of a plan say otherwise than the rows. Every data file is read.

    Parameters
    ----------
    plan : FilePlan
        All rows.
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
            facts = row_facts(plan, task, columns)
        except StoreError:
            raise
        except TableFormatsError as error:
            yield Violation("unreadable-file", error.message, _SOURCE, task.path, version)
            continue
        for one in differences(task, facts, expected.get(task.path, {}), columns):
            yield Violation(one.rule, one.what, _SOURCE, task.path, version)


def row_facts(plan: FilePlan, task: ScanTask, columns: Sequence[BoundColumn]) -> FileFacts:
    """What the live rows of a file say of columns. Raises as :func:`read_batches` does."""
    facts = FileFacts(0, nulls=dict.fromkeys((c.id for c in columns), 0))
    if not columns:
        return replace(facts, rows=sum(count_rows(plan, [task])))
    fields = list({column.path[0].id: column.path[0] for column in columns}.values())
    for batch in read_tasks(replace(plan.scan, schema=Schema(tuple(fields)), limit=None), [task]):
        facts.rows += batch.num_rows
        for column in columns:
            _take(facts, column.id, _values(batch, column))
    return facts


def _values(batch: pa.RecordBatch, column: BoundColumn) -> pa.Array:
    values = batch.column(column.path[0].name)
    for member in column.path[1:]:
        values = pc.struct_field(values, [values.type.get_field_index(member.name)])
    return values


def _take(facts: FileFacts, id: int, values: pa.Array) -> None:
    facts.nulls[id] += values.null_count
    if pa.types.is_floating(values.type):  # NaN is no part of bounds
        is_nan = pc.fill_null(pc.is_nan(values), FALSE)
        facts.nans[id] = facts.nans.get(id, 0) + int(pc.sum(is_nan).as_py() or 0)
        values = pc.if_else(is_nan, scalar(None, values.type), values)
    try:
        found = pc.min_max(values)
    except pa.ArrowNotImplementedError:
        return
    for side, known, is_better in (("min", facts.least, pc.less), ("max", facts.greatest, pc.greater)):
        value = found[side]
        if value.is_valid and (id not in known or is_better(value, known[id]).as_py()):
            known[id] = value


def differences(
    task: ScanTask, facts: FileFacts, expected: Mapping[int, Sequence[Range]], columns: Iterable[BoundColumn]
) -> Iterator[Difference]:
    """What the metadata of a file say otherwise than ``facts``; ``expected`` has ranges of one file, by field id."""
    deletes = task.deletes.to_pylist()
    deleted = [one["cardinality"] for one in deletes if one["kind"] == "deletion_vector"]
    if facts.is_footer:
        deletes = deleted = []
    if task.record_count is not None and len(deleted) == len(deletes) and None not in deleted:
        live = task.record_count - sum(deleted)
        if facts.rows != live:
            what = "rows" if facts.is_footer else "live rows"
            yield Difference("record-count", f"it has {facts.rows} {what}, and its metadata say {live}")
    is_whole = not (facts.is_footer and task.deletes.num_rows)
    for column in columns:
        for range_ in expected.get(column.id, ()):
            for one in _outside(column, facts, range_):
                is_cut = facts.is_footer and str(column.type) in _CUT and one.rule == "bounds"
                yield one if is_whole and not is_cut else replace(one, is_proven=False)


def _outside(column: BoundColumn, facts: FileFacts, range_: Range) -> Iterator[Difference]:
    name, id = str(column), column.id
    nulls, nans = facts.nulls.get(id, 0), facts.nans.get(id, 0)
    if not range_.may_null[0] and nulls:
        what = f"{name} is NULL in {nulls} rows, and its metadata say in none"
        yield Difference("null-count", what, column, f"{name} IS NULL")
    if not range_.may_nan[0] and nans and not _is_nan(range_.lower[0]):
        what = f"{name} is NaN in {nans} rows, and its metadata say in none"
        yield Difference("nan-count", what, column, f"isnan({name})")
    if id not in facts.least:
        return
    least, greatest = facts.least[id], facts.greatest[id]
    if not range_.may_value[0] or _is_nan(range_.lower[0]):
        known = "NULL" if not range_.may_value[0] else "NaN"
        what = f"{name} has values, and its metadata say that it is {known} in all rows"
        yield Difference("null-count", what, column, _equality(name, least))
        return
    for value, bound, is_outside, side in (
        (least, range_.lower[0], pc.less, "lower"),
        (greatest, range_.upper[0], pc.greater, "upper"),
    ):
        if bound.is_valid and is_outside(pc.cast(value, bound.type), bound).as_py():
            what = f"{name} has the value {_text(value)}, which is outside of its {side} bound {_text(bound)}"
            yield Difference("bounds", what, column, _equality(name, value))


def _is_nan(bound: pa.Scalar) -> bool:
    return pa.types.is_floating(bound.type) and bound.is_valid and bound.as_py() != bound.as_py()


def _text(value: pa.Scalar) -> str:
    return shortened(str(python_value(value)))


def _equality(name: str, value: pa.Scalar) -> str | None:
    with suppress(ValueError, OverflowError):  # Python lacks some dates and times
        return f"{name} = {sql_literal(value.as_py(), None)}"
    return None
