"""Read the rows of data files that were written a moment ago, and that no commit names yet."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.parquet as pq

from ....columnar.arrays import repeated
from ....io.storage import Storage
from ....plugin.writing.write_target import WriteTarget
from ....schema.arrow_types import nullable_type
from .stored_columns import stored_table

__all__ = ["written_rows"]


def written_rows(files: pa.Table, storage: Storage, target: WriteTarget) -> Iterator[pa.RecordBatch]:
    """The rows with the columns of the target's schema. One file is in memory at a time.

    Parameters
    ----------
    files : pyarrow.Table
        As :func:`tableformats.plugin.added_files_schema` says.
    target : WriteTarget
        By which they were written; it is partitioned by columns alone.
    """
    root = storage.root if target.root is None else target.root
    partition = {f.source_id: str(f.id) for f in target.partitioning}
    stored = {f.id: position for position, f in enumerate(target.stored_fields)}
    wanted = pa.schema([pa.field(f.name, nullable_type(f.type)) for f in target.schema.fields])
    for row in files.select(["path", "partition"]).combine_chunks().to_batches(max_chunksize=1):
        values = row.column("partition")[0]
        found = pq.ParquetFile(pa.BufferReader(storage.read_bytes(f"{root}/{row.column('path')[0].as_py()}")))
        for batch in found.iter_batches():
            columns = [
                batch.column(stored[f.id]) if f.id in stored else repeated(values[partition[f.id]], batch.num_rows)
                for f in target.schema.fields
            ]
            yield from stored_table(pa.table(columns, names=wanted.names), wanted).to_batches()
