"""Metadata columns: where a row stands (``_file``, ``_pos``), and with row tracking its stable id and commit version.

A row's id is the file's ``baseRowId`` plus the row's position, unless the file holds a materialised id for it; its
commit version is the file's ``defaultRowCommitVersion``, unless one is materialised. The hidden columns' names stand
in the table's configuration. Source: Delta PROTOCOL.md, "Row Tracking", "Reader Requirements for Row Tracking".
"""

from __future__ import annotations

from collections.abc import Mapping

from tableformats.plugin import Field, MetadataColumn, primitive

__all__ = ["PLACE_COLUMNS", "ROW_COLUMNS", "row_columns"]

PLACE_COLUMNS = (
    MetadataColumn(Field(-3, "_file", primitive("string")), "path"),
    MetadataColumn(Field(-4, "_pos", primitive("long")), None, counts_rows=True),
)
"""The columns of every table: the file's path, and the row's position in it."""

ROW_COLUMNS = ("base_row_id", "row_commit_version")
"""The columns of file actions that the metadata columns need."""


def row_columns(configuration: Mapping[str, str]) -> tuple[MetadataColumn, ...]:
    """The columns of a table that has row tracking enabled; none where ids cannot be relied upon."""
    if configuration.get("delta.enableRowTracking", "").lower() != "true":
        return ()
    long = primitive("long")
    return (
        MetadataColumn(
            Field(-1, "_metadata.row_id", long),
            ROW_COLUMNS[0],
            True,
            configuration.get("delta.rowTracking.materializedRowIdColumnName"),
        ),
        MetadataColumn(
            Field(-2, "_metadata.row_commit_version", long),
            ROW_COLUMNS[1],
            False,
            configuration.get("delta.rowTracking.materializedRowCommitVersionColumnName"),
        ),
    )
