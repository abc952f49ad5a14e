"""Metadata columns: a row's file and position, and with row tracking its row id and commit version.

A row's id is the file's ``baseRowId`` plus the row's position, unless the file materializes an id for it. Its commit
version is the file's ``defaultRowCommitVersion``, unless the file materializes one. The table's configuration names the
materialized columns. Source: Delta PROTOCOL.md, "Row Tracking", "Reader Requirements for Row Tracking".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tableformats.plugin import Field, MetadataColumn, primitive

__all__ = ["POSITION_COLUMNS", "ROW_TRACKING_FIELDS", "row_tracking_columns", "row_tracking_fields"]

POSITION_COLUMNS = (
    MetadataColumn(Field(-3, "_file", primitive("string")), "path"),
    MetadataColumn(Field(-4, "_pos", primitive("long")), None, counts_rows=True),
)
"""The metadata columns of every table: the path of the file, and the position of the row in it."""

ROW_TRACKING_FIELDS = ("base_row_id", "row_commit_version")
"""The fields of file actions that row tracking needs, by their names in :func:`file_schema`."""


def row_tracking_columns(configuration: Mapping[str, str]) -> tuple[MetadataColumn, ...]:
    """The metadata columns that row tracking adds; none where the table has not enabled it."""
    if configuration.get("delta.enableRowTracking", "").lower() != "true":
        return ()
    long = primitive("long")
    return (
        MetadataColumn(
            Field(-1, "_metadata.row_id", long),
            ROW_TRACKING_FIELDS[0],
            True,
            configuration.get("delta.rowTracking.materializedRowIdColumnName"),
        ),
        MetadataColumn(
            Field(-2, "_metadata.row_commit_version", long),
            ROW_TRACKING_FIELDS[1],
            False,
            configuration.get("delta.rowTracking.materializedRowCommitVersionColumnName"),
        ),
    )


def row_tracking_fields(configuration: Mapping[str, str], protocol: Mapping[str, Any]) -> tuple[str, ...]:
    """Those of :data:`ROW_TRACKING_FIELDS` that the files of a table have.

    Files that are removed keep them, whether or not the ids of rows can be relied upon.
    """
    is_tracked = row_tracking_columns(configuration) or "rowTracking" in (protocol.get("writerFeatures") or ())
    return ROW_TRACKING_FIELDS if is_tracked else ()
