"""Incremental append scans: the files that append snapshots added.

Only snapshots with the operation ``append`` are used. Files that other snapshots of the range added or removed are left
out. Deletes are left out too, because an append adds none.
Source: Iceberg documentation, "Spark Queries", "Incremental read".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tableformats.plugin import DeleteFiles, FileBatch, MetadataPart, ReadRequest, ScanReport

from ..manifests.entries import ADDED, Entries
from ..manifests.manifest_list import DATA
from ..snapshot import IcebergSnapshot

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["APPEND", "AppendedFiles", "added_entries", "bounded_columns"]

APPEND = "append"
"""The operation of snapshots that only add data files. Source: Iceberg spec, "Snapshots", "operation"."""


def added_entries(snapshot: IcebergSnapshot, request: ReadRequest) -> Iterator[Entries]:
    """The data files that a snapshot added, by the status and the snapshot id of its manifests' entries."""
    manifests = snapshot.manifest_list.select(
        DATA, snapshot.specs, request.manifest_filter, request.report, added_by=snapshot.version
    )
    for found in snapshot.manifests.entries_of(manifests, bounded_columns(request), request.report):
        yield found.take(found.given(ADDED, snapshot.version))


def bounded_columns(request: ReadRequest) -> list[int]:
    """The ids of the columns of a request that may have bounds."""
    return [f.id for f in request.columns if not f.type.is_nested]


class AppendedFiles(IcebergSnapshot):
    """The files that the snapshots ``appends`` added, oldest first, read with the schema of ``ending``."""

    def __init__(self, ending: IcebergSnapshot, appends: Sequence[IcebergSnapshot]) -> None:
        super().__init__(ending.files, ending.metadata, ending.snapshot, ending.schema)
        self._appends = appends

    def __getstate__(self) -> dict[str, object]:
        """See :meth:`tableformats.plugin.FormatSnapshot.__getstate__`."""
        state = super().__getstate__()
        del state["_appends"]
        return state

    def parts(self, request: ReadRequest) -> list[MetadataPart]:
        """See :meth:`tableformats.plugin.FormatSnapshot.parts`: one part, which is not cached."""

        def read(report: ScanReport) -> Iterator[FileBatch]:
            for snapshot in self._appends:
                snapshot.counted_list(report)
                for entries in added_entries(snapshot, replace(request, report=report)):
                    yield FileBatch(entries.files, entries.spec_id, entries.statistics)

        request.report.count_metadata(self.metadata.size_bytes)
        return [MetadataPart(None, read, adds=(None,))]

    def attach_deletes(self, files: pa.Table, request: ReadRequest) -> DeleteFiles:
        """No deletes: the rows are those that were appended, even if they were deleted later."""
        return DeleteFiles.none(files.num_rows)
