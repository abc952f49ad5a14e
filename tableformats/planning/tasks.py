"""The files of a plan as Python values, one by one, for whoever runs a plan file by file."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from ..columnar import compute as pc
from ..columnar.arrays import to_arrow
from ..table.scan import ScanPlan, ScanTask
from .residuals import residuals

__all__ = ["tasks_of"]


def tasks_of(plan: ScanPlan) -> Iterator[ScanTask]:
    """``plan.tasks()``; see :meth:`tableformats.table.scan.ScanPlan.tasks`."""
    survivors, deletes = plan.survivors, plan.delete_files
    delete_files = deletes.files.combine_chunks()  # Arrow would join the chunks for every task
    # A slice would be pickled with all that it was cut from, and Arrow's own empty table imports pandas.
    no_deletes = pa.Table.from_batches([], delete_files.schema)
    partition = survivors["partition"].combine_chunks()
    members = {int(f.name): partition.field(i) for i, f in enumerate(partition.type)}
    optional = [n for n in ("data_sequence_number", "first_row_id") if n in survivors.column_names]
    names = ["path", "size_bytes", "file_format", "spec_id", *optional]
    asked = [name for c in plan.metadata_columns for name in (c.per_file, c.null_without)]
    numbers = {f.name for f in survivors.schema if f.type == pa.int64()}
    per_file = [name for name in asked if name is not None and name in numbers]
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
