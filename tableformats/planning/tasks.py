"""The files of a plan as Python values, one by one: :class:`ScanTask`, for engines that read file by file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field

import pyarrow as pa

from ..columnar import compute as pc
from ..columnar.arrays import to_arrow
from ..dataclass import dataclass
from ..display import shortened
from ..expressions import Expression
from ..runtime.pickling import Portable
from .plan import FilePlan
from .residuals import residuals

__all__ = ["ScanTask", "tasks_of"]


@dataclass(frozen=True)
class ScanTask(Portable):
    """One file of a plan, or a part of it, as Python values.

    A task stands for the row groups (stripes, blocks) that lie in the ``length`` bytes from ``start`` on: a Parquet
    row group by its middle, others by where they begin. One that reaches the end (by ``size_bytes``) takes all that
    follows.

    ``path`` is absolute, ``stored_path`` as the metadata spells it. ``partition`` maps partition field ids to
    ``pyarrow.Scalar``. ``deletes`` are the rows of :attr:`DeleteFiles.files` that apply. ``residual`` is what is
    left to check on its rows (TRUE if all match). ``file_values`` are what its metadata columns start from.

    >>> task = next(tf.open_table("events").plan("id > 3").tasks())
    >>> task.record_count, task.deletes.num_rows, str(task.residual)
    (3, 0, 'id > 3')
    """

    index: int
    path: str
    stored_path: str
    size_bytes: int
    start: int
    length: int
    record_count: int | None
    file_format: str
    spec_id: int
    partition: dict[int, pa.Scalar]
    deletes: pa.Table
    residual: Expression
    data_sequence_number: int | None = None
    first_row_id: int | None = None
    file_values: Mapping[str, int | None] = field(default_factory=dict)

    def __repr__(self) -> str:
        rows = "unknown" if self.record_count is None else str(self.record_count)
        part = "" if self.length == self.size_bytes else f", bytes {self.start} to {self.start + self.length}"
        deletes = f", {self.deletes.num_rows} deletes" if self.deletes.num_rows else ""
        return f"ScanTask({shortened(self.path)!r}{part}, record_count={rows}{deletes})"


def tasks_of(plan: FilePlan) -> Iterator[ScanTask]:
    """The files of ``plan`` as Python values, one by one, in its order."""
    survivors, deletes = plan.survivors, plan.delete_files
    delete_files = deletes.files.combine_chunks()  # Arrow would join the chunks for every task
    # A slice would be pickled with all that it was cut from, and Arrow's own empty table imports pandas.
    no_deletes = pa.Table.from_batches([], delete_files.schema)
    partition = survivors["partition"].combine_chunks()
    members = {int(f.name): partition.field(i) for i, f in enumerate(partition.type)}
    optional = [n for n in ("data_sequence_number", "first_row_id") if n in survivors.column_names]
    names = ["path", "size_bytes", "file_format", "spec_id", *optional]
    sources = [name for c in plan.metadata_columns for name in (c.per_file, c.null_without)]
    numbers = {f.name for f in survivors.schema if f.type == pa.int64()}
    per_file = [name for name in sources if name is not None and name in numbers]
    columns = {name: survivors[name].to_pylist() for name in dict.fromkeys([*names, *per_file])}
    columns["record_count"] = plan.record_counts.to_pylist()
    for i, (path, residual) in enumerate(zip(plan.paths.to_pylist(), residuals(plan), strict=True)):
        applying = deletes.indices[deletes.offsets[i] : deletes.offsets[i + 1]]
        yield ScanTask(
            index=i,
            path=path,
            stored_path=columns["path"][i],
            size_bytes=columns["size_bytes"][i],
            start=0,
            length=columns["size_bytes"][i],
            record_count=columns["record_count"][i],
            file_format=columns["file_format"][i],
            spec_id=columns["spec_id"][i],
            partition={field_id: values[i] for field_id, values in members.items()},
            deletes=pc.take(delete_files, to_arrow(applying)) if len(applying) else no_deletes,
            residual=residual,
            file_values={name: columns[name][i] for name in per_file},
            **{name: columns[name][i] for name in optional},
        )
