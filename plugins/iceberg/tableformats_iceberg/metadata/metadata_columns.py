"""Iceberg's metadata columns: the position of a row, and its lineage.

``_file``, ``_pos``, ``_spec_id`` and ``_partition`` say where a row is stored. In tables of version 3, ``_row_id`` and
``_last_updated_sequence_number`` are its lineage. A file stores these if it was rewritten with old rows. Otherwise the
row id is the file's first row id plus the row's position, and the sequence number is the file's data sequence number.
Files without a first row id have no lineage.
Source: Iceberg spec, "Reserved Field IDs", "Row Lineage", "Row lineage assignment".
"""

from __future__ import annotations

from collections.abc import Mapping

from tableformats.plugin import Field, MetadataColumn, PartitionSpec, Schema, StructType, partition_members, primitive

__all__ = ["metadata_columns"]

FILE_ID, POS_ID, SPEC_ID_ID, PARTITION_ID = 2147483646, 2147483645, 2147483643, 2147483642
ROW_ID_ID, LAST_UPDATED_ID = 2147483540, 2147483539
FIRST_VERSION_WITH_LINEAGE = 3


def metadata_columns(
    format_version: int, specs: Mapping[int, PartitionSpec], schema: Schema
) -> tuple[MetadataColumn, ...]:
    """The metadata columns of a table.

    ``_partition`` has a member for each partition field of all ``specs``. Columns are left out if the schema uses their
    reserved ids, which the specification forbids.
    """
    long = primitive("long")
    columns = [
        MetadataColumn(Field(FILE_ID, "_file", primitive("string")), "path"),
        MetadataColumn(Field(POS_ID, "_pos", long), None, counts_rows=True),
        MetadataColumn(Field(SPEC_ID_ID, "_spec_id", primitive("int")), "spec_id"),
        MetadataColumn(Field(PARTITION_ID, "_partition", StructType(partition_members(specs))), "partition"),
    ]
    if format_version >= FIRST_VERSION_WITH_LINEAGE:
        columns += [
            MetadataColumn(
                Field(ROW_ID_ID, "_row_id", long),
                "first_row_id",
                counts_rows=True,
                stored_id=ROW_ID_ID,
                null_without="first_row_id",
            ),
            MetadataColumn(
                Field(LAST_UPDATED_ID, "_last_updated_sequence_number", long),
                "data_sequence_number",
                stored_id=LAST_UPDATED_ID,
                null_without="first_row_id",
            ),
        ]
    return tuple(c for c in columns if schema.find_id(c.field.id) is None)
