"""File actions (``add``, ``remove``, ``cdc``) as rows of one fixed Arrow schema.

Statistics stay JSON text here; :mod:`tableformats_delta.statistics` decodes them. Source: Delta PROTOCOL.md, "Add File
and Remove File", "Add CDC File".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from tableformats.plugin import CorruptMetadataError, array_of, text_maps, to_arrow

from ..deletes.descriptors import vector_type
from .actions import RESTORE_HINT

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["empty_rows", "file_rows", "file_schema", "full_schema"]

_INT64 = range(-(2**63), 2**63)


@cache
def file_schema() -> pa.Schema:
    """The schema of file actions, one row per action; by default removes have path and deletion vector only."""
    import pyarrow as pa

    return pa.schema(
        [
            ("path", pa.string()),  # as stored, percent-encoded
            ("partition_values", pa.map_(pa.string(), pa.string())),  # as stored, by physical name
            ("size", pa.int64()),
            ("modification_time", pa.int64()),  # ms since the epoch
            ("stats", pa.string()),  # JSON text
            ("deletion_vector", vector_type()),
            ("base_row_id", pa.int64()),
            ("row_commit_version", pa.int64()),  # defaultRowCommitVersion
        ]
    )


@cache
def full_schema() -> pa.Schema:
    """:func:`file_schema`, and what planning does not need: all that a checkpoint keeps of adds and of removes."""
    import pyarrow as pa

    more = {
        "tags": pa.map_(pa.string(), pa.string()),
        "clustering_provider": pa.string(),
        "deletion_timestamp": pa.int64(),  # of removes, ms since the epoch
        "extended_file_metadata": pa.bool_(),  # of removes
    }
    return pa.schema([*file_schema(), *(pa.field(name, kind) for name, kind in more.items())])


@cache
def empty_rows(full: bool = False) -> pa.RecordBatch:
    """A batch of :func:`file_schema`, or of :func:`full_schema`, without rows."""
    import pyarrow as pa

    schema = full_schema() if full else file_schema()
    return pa.RecordBatch.from_arrays([pa.nulls(0, f.type) for f in schema], schema=schema)


def file_rows(
    actions: Sequence[tuple[dict[str, Any], int]], kind: str, path: str, all_fields: bool = False, full: bool = False
) -> pa.RecordBatch:
    """Convert file actions to rows of :func:`file_schema`, or of :func:`full_schema`.

    Parameters
    ----------
    actions : sequence of (dict, int)
        The contents of the actions, each with the byte offset of its line.
    kind : str
        ``add``, ``remove`` or ``cdc``.
    path : str
        The file that holds them, for errors.
    all_fields : bool
        Convert every field of ``remove`` actions, not just those that reconciliation needs.
    full : bool
        Make rows of :func:`full_schema`.

    Raises
    ------
    CorruptMetadataError
        A field is missing or has the wrong type; ``field`` and ``offset`` name it.
    """
    import pyarrow as pa

    if not actions:
        return empty_rows(full)
    schema = full_schema() if full else file_schema()
    rows = _RowBuilder(kind, path, full or all_fields or kind != "remove")
    for action, offset in actions:
        rows.append(action, offset)
        if full:
            rows.append_rest(action, offset)
    try:
        arrays = [_array(rows.columns[f.name], f.type) for f in schema]
    except UnicodeEncodeError:
        raise CorruptMetadataError(
            f"a string of an {kind} action holds half a surrogate pair", path=path, field=kind, hint=RESTORE_HINT
        ) from None
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _array(values: list[Any], kind: pa.DataType) -> pa.Array:
    """``pa.array(values, kind)`` for the types of the schema. That would import pandas, at each start of a process."""
    import pyarrow as pa

    if pa.types.is_map(kind):
        return text_maps(values)
    if not pa.types.is_list(kind):
        return array_of(values, kind)
    members = [member for value in values for member in value]
    columns = [array_of([member[f.name] for member in members], f.type) for f in kind.value_type]
    ends = np.cumsum([0, *map(len, values)], dtype=np.int32)
    structs = pa.StructArray.from_arrays(columns, fields=list(kind.value_type))
    return pa.ListArray.from_arrays(to_arrow(ends), structs, type=kind)


class _RowBuilder:
    """Checks actions and collects their fields by column."""

    def __init__(self, kind: str, path: str, all_fields: bool) -> None:
        self.kind = kind
        self.path = path
        self.all_fields = all_fields
        self.columns: dict[str, list[Any]] = {name: [] for name in full_schema().names}

    def append(self, action: Mapping[str, Any], offset: int) -> None:
        all_fields, required = self.all_fields, self.kind != "remove"
        put = self.columns
        put["path"].append(self._text(action, "path", offset, required=True))
        put["size"].append(self._int(action, "size", offset, required) if all_fields else None)
        put["modification_time"].append(self._int(action, "modificationTime", offset) if required else None)
        put["stats"].append(_statistics(action.get("stats")) if all_fields else None)
        put["partition_values"].append(self._texts(action, "partitionValues", offset) if all_fields else None)
        put["base_row_id"].append(self._int(action, "baseRowId", offset) if all_fields else None)
        put["row_commit_version"].append(self._int(action, "defaultRowCommitVersion", offset) if all_fields else None)
        vector = action.get("deletionVector")
        if vector is None:
            put["deletion_vector"].append([])
            return
        if not isinstance(vector, dict):
            raise self._wrong("deletionVector", offset)
        member = {
            "storageType": self._text(vector, "storageType", offset, required=True),
            "pathOrInlineDv": self._text(vector, "pathOrInlineDv", offset, required=True),
            "offset": self._int(vector, "offset", offset),
            "sizeInBytes": self._int(vector, "sizeInBytes", offset, required=all_fields),
            "cardinality": self._int(vector, "cardinality", offset, required=all_fields),
        }
        put["deletion_vector"].append([member])

    def append_rest(self, action: Mapping[str, Any], offset: int) -> None:
        """The fields of :func:`full_schema` that :meth:`append` leaves out."""
        put, is_remove = self.columns, self.kind == "remove"
        if is_remove:
            put["stats"][-1] = None
        put["tags"].append(None if is_remove else self._texts(action, "tags", offset))
        put["clustering_provider"].append(None if is_remove else self._text(action, "clusteringProvider", offset))
        put["deletion_timestamp"].append(self._int(action, "deletionTimestamp", offset) if is_remove else None)
        extended = action.get("extendedFileMetadata") if is_remove else None
        put["extended_file_metadata"].append(extended if isinstance(extended, bool) else None)

    def _text(self, holder: Mapping[str, Any], name: str, offset: int, required: bool = False) -> str | None:
        value = holder.get(name)
        if isinstance(value, str) or (value is None and not required):
            return value
        raise self._wrong(name, offset)

    def _int(self, holder: Mapping[str, Any], name: str, offset: int, required: bool = False) -> int | None:
        value = holder.get(name)
        if value is None and not required:
            return None
        if isinstance(value, int) and not isinstance(value, bool) and value in _INT64:
            return value
        raise self._wrong(name, offset)

    def _texts(self, action: Mapping[str, Any], name: str, offset: int) -> list[tuple[str, str | None]] | None:
        values = action.get(name)
        if values is None:
            return None
        if isinstance(values, dict) and all(v is None or isinstance(v, str) for v in values.values()):
            return list(values.items())
        raise self._wrong(name, offset)

    def _wrong(self, name: str, offset: int) -> CorruptMetadataError:
        return CorruptMetadataError(
            f"an {self.kind} action lacks a field or has one of the wrong type",
            path=self.path,
            offset=offset,
            field=f"{self.kind}.{name}",
            hint=RESTORE_HINT,
        )


def _statistics(value: Any) -> str | None:
    """The text of statistics; None where it is malformed, which is no error."""
    if not isinstance(value, str):
        return None
    try:
        value.encode()
    except UnicodeEncodeError:
        return None
    return value
