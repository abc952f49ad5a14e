"""What goes when the definition of a table is replaced: all files that are live then, and the domains of its metadata.

Source: Delta PROTOCOL.md, "Change Metadata", "Add File and Remove File", "Domain Metadata".
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tableformats.plugin import MetadataChange, TableChange, UnsupportedFeatureError

from ..evolution.properties import is_true
from ..maintenance.file_columns import FileColumns, RemoveColumns
from ..maintenance.replay import OtherActions, Replay
from .domains import ROW_TRACKING

if TYPE_CHECKING:
    import pyarrow as pa

    from tableformats.plugin import Storage

    from ..snapshot.delta_snapshot import DeltaSnapshot

__all__ = ["check_replaceable", "replaced_actions", "replaces"]

_NO_TOMBSTONE = 2**63 - 1


def replaces(change: TableChange) -> bool:
    """Whether a change gives a table another definition, if there is a table."""
    metadata: MetadataChange | None = change.metadata
    return metadata is not None and metadata.create is not None


def check_replaceable(snapshot: DeltaSnapshot, path: str) -> None:
    """Refuse a table that keeps the rows that it has. Raises UnsupportedFeatureError."""
    if is_true(snapshot.properties, "delta.appendOnly"):
        raise UnsupportedFeatureError(
            "the table takes new rows only, and is not replaced",
            path=path,
            field="appendOnly",
            hint="Nothing was written; unset delta.appendOnly first",
        )


def replaced_actions(snapshot: DeltaSnapshot, storage: Storage, now: int) -> Iterator[dict[str, Any]]:
    """The actions that remove the files and the domains of a version. ``now`` is their time, ms since the epoch.

    The high-water mark of row ids stays. Raises CorruptMetadataError.
    """
    for name in OtherActions.of(snapshot).domains.values():
        if name.get("removed") is not True and name.get("domain") != ROW_TRACKING:
            yield {"domainMetadata": {**name, "removed": True}}
    for kind, files in Replay(storage, snapshot, _LiveColumns(), RemoveColumns(), _NO_TOMBSTONE).files():
        if kind == "add":
            for row in files.to_pylist(maps_as_pydicts="strict"):
                found = {key: value for key, value in row.items() if value is not None and key != "dataChange"}
                if "deletionVector" in found:
                    vector = found["deletionVector"]
                    found["deletionVector"] = {key: value for key, value in vector.items() if value is not None}
                told = {"deletionTimestamp": now, "dataChange": True, "extendedFileMetadata": True}
                yield {"remove": {**found, **told}}


class _LiveColumns(FileColumns):
    """Of the column ``add`` what the column ``remove`` has."""

    name = "add"

    @cached_property
    def type(self) -> pa.StructType:  # type: ignore[override]
        """The struct."""
        import pyarrow as pa

        told = ("deletionTimestamp", "extendedFileMetadata")
        return pa.struct([member for member in RemoveColumns().type if member.name not in told])
