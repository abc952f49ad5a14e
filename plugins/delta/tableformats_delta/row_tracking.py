"""Row tracking: stable row ids and row commit versions as metadata columns.

A row's id is the file's ``baseRowId`` plus the row's position, unless the file holds a materialised id for it; its
commit version is the file's ``defaultRowCommitVersion``, unless one is materialised. The hidden columns' names stand
in the table's configuration. Source: Delta PROTOCOL.md, "Row Tracking", "Reader Requirements for Row Tracking".
"""

from __future__ import annotations

from collections.abc import Mapping

from tableformats.plugin import MetadataColumn
from tableformats.schema import Field, primitive

__all__ = ["ROW_COLUMNS", "row_columns"]

ROW_COLUMNS = ("base_row_id", "row_commit_version")
"""The columns of file actions that the metadata columns need."""


def row_columns(configuration: Mapping[str, str]) -> tuple[MetadataColumn, ...]:
    """The columns of a table that has row tracking enabled; none where ids cannot be relied upon."""
    if configuration.get("delta.enableRowTracking", "").lower() != "true":
        return ()
    long = primitive("long")
    return (
        MetadataColumn(
            Field(-1, "_metadata.row_id", long), ROW_COLUMNS[0], True,
            configuration.get("delta.rowTracking.materializedRowIdColumnName"),
        ),
        MetadataColumn(
            Field(-2, "_metadata.row_commit_version", long), ROW_COLUMNS[1], False,
            configuration.get("delta.rowTracking.materializedRowCommitVersionColumnName"),
        ),
    )  # fmt: skip
