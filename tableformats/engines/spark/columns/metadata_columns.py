"""Metadata columns with Spark, see :class:`tableformats.plugin.MetadataColumn`.

The part of a value that depends on the file is a constant of the file; the part that depends on the row is the row
index. A value that the file itself stores takes precedence. A row without any value fails when it is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from ....columnar.arrays import flat
from ....errors import UnsupportedFeatureError
from ....plugin.columns import MetadataColumn
from ....schema import arrow_type, primitive
from .naming import HIDDEN, ROW_INDEX, Naming, quoted
from .spark_types import logical_type, nullable_field

if TYPE_CHECKING:
    from pyspark.sql import Column

    from ....planning.plan import FilePlan

__all__ = ["check_metadata_columns", "file_constants", "metadata_column", "stored_fields"]


def check_metadata_columns(columns: Iterable[MetadataColumn]) -> None:
    """Raise UnsupportedFeatureError for metadata columns that Spark cannot compute, such as the partition struct."""
    for column in columns:
        if column.per_file == "partition":
            raise UnsupportedFeatureError(
                "this metadata column is not read with Spark yet",
                field=column.field.name,
                hint="Leave the column out with columns=[...], or read with to_arrow()",
            )


def _hidden_name(column: MetadataColumn, what: str) -> str:
    return f"{HIDDEN}{what}_{abs(column.field.id)}"


def stored_fields(columns: Iterable[MetadataColumn], naming: Naming) -> list[dict[str, Any]]:
    """Spark's JSON of the columns in which files store values themselves; they are NULL in files without them."""
    fields = []
    for column in columns:
        name = _stored_name(column, naming)
        if name is not None:
            by_id = {} if column.stored_name is not None else {"parquet.field.id": column.stored_id}
            kind = logical_type(column.field.type)
            fields.append(nullable_field(name, kind, by_id))
    return fields


def _stored_name(column: MetadataColumn, naming: Naming) -> str | None:
    if column.stored_name is not None:
        return column.stored_name
    return _hidden_name(column, "stored") if column.stored_id is not None and naming.by_id else None


def file_constants(
    columns: Iterable[MetadataColumn], plan: FilePlan, rows: np.ndarray
) -> Iterator[tuple[dict[str, Any], pa.Array]]:
    """Hidden columns with the values that rows take from their file.

    Parameters
    ----------
    columns : Iterable[MetadataColumn]
        The metadata columns.
    plan : FilePlan
        The planned files.
    rows : np.ndarray
        int64[n], the files among those of the plan.

    Yields
    ------
    tuple[dict[str, Any], pa.Array]
        Spark's JSON of a hidden column, and its value in each file.
    """
    for column in columns:
        for what, source in (("first", column.per_file), ("given", column.null_without)):
            if source is None:
                continue
            kind = column.field.type if what == "first" else primitive("long")
            stored = nullable_field(_hidden_name(column, what), logical_type(kind))
            yield stored, _per_file(plan, source).take(pa.array(rows)).cast(arrow_type(kind))


def _per_file(plan: FilePlan, source: str) -> pa.Array:
    if source == "path":
        return plan.paths
    if source not in plan.survivors.column_names:  # a plan without files has no format-specific columns
        return pa.nulls(len(plan), pa.int64())
    return flat(plan.survivors[source])


def metadata_column(column: MetadataColumn, naming: Naming) -> Column:
    """The column of the result, computed from the relation's columns."""
    from pyspark.sql import functions as F

    kind = logical_type(column.field.type)
    values: list[Column] = []
    stored = _stored_name(column, naming)
    if stored is not None:
        values.append(F.col(quoted(stored)))
    first = F.lit(0).cast(kind) if column.per_file is None else F.col(_hidden_name(column, "first"))
    values.append(first + F.col(ROW_INDEX) if column.counts_rows else first)
    values.append(F.raise_error(F.lit(f"a file has no value for {column.field.name!r}")).cast(kind))
    found = F.coalesce(*values)
    if column.null_without is not None:
        found = F.when(F.col(_hidden_name(column, "given")).isNotNull(), found)
    return found.alias(column.field.name)
