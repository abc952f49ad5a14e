"""``partitionColumns`` -> the partition spec of a table.

Source: Delta PROTOCOL.md, "Change Metadata", "Generated Columns".
"""

from __future__ import annotations

from typing import Any

from tableformats.plugin import (
    CorruptMetadataError,
    Field,
    ImpliedBounds,
    PartitionField,
    PartitionSpec,
    Schema,
    parse_transform,
)

from .schema_string import GENERATION_EXPRESSION

__all__ = ["FIRST_PARTITION_ID", "partition_spec"]

FIRST_PARTITION_ID = 1000
"""The field id of the first partition column; the others follow."""


def partition_spec(columns: Any, schema: Schema, path: str) -> tuple[PartitionSpec, list[Field]]:
    """The partition spec of a table.

    Parameters
    ----------
    columns : object
        ``partitionColumns`` as parsed from JSON.
    schema : Schema
        The table's schema.
    path : str
        The file that holds the action, for errors.

    Returns
    -------
    spec : PartitionSpec
        Identity transforms, with the bounds that generated columns imply for their source columns.
    fields : list of Field
        The partition columns in the order of ``spec``.

    Raises
    ------
    CorruptMetadataError
        A partition column is nested or not in the schema, or ``columns`` is no list of names.
    """
    if not isinstance(columns, (list, tuple)) or not all(isinstance(c, str) for c in columns):
        raise CorruptMetadataError("partitionColumns is no list", path=path, field="metaData.partitionColumns")
    fields: list[Field] = []
    for column in columns:
        found = schema.resolve((column,))
        if found is None or found[0].type.is_nested:
            raise CorruptMetadataError("a partition column is not in the schema", path=path, field=column)
        fields.append(found[0])
    identity = parse_transform("identity")
    members = tuple(
        PartitionField(FIRST_PARTITION_ID + i, f.name, f.id, identity, f.type) for i, f in enumerate(fields)
    )
    implied: tuple[ImpliedBounds, ...] = ()
    if any(GENERATION_EXPRESSION in field.metadata for field in fields):
        from .generated_columns import implied_bounds

        implied = implied_bounds(schema, members)
    return PartitionSpec(0, members, implied), fields
