"""Rows of to_arrow() as Spark gives them."""

from __future__ import annotations

import pyarrow as pa

from tableformats.engines.spark.portable.worker_batches import SparkBatches
from tableformats.schema import Schema


def as_spark(table: pa.Table, schema: Schema) -> pa.Table:
    """Rows of to_arrow() in Spark's types."""
    batches = table.to_batches() or [pa.RecordBatch.from_pylist([], schema.to_arrow())]
    return pa.Table.from_batches(map(SparkBatches(schema).convert, batches))
