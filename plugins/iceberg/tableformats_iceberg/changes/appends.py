"""Incremental append scans: the files that append snapshots added, as a snapshot of its own.

Only snapshots whose operation is ``append`` count; what others of the range added or removed is left out, and so are
deletes, for an append brings none. Source: Iceberg documentation, "Spark Queries", "Incremental read".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tableformats.plugin import DeleteFiles, FileBatch, MetadataPart, ReadRequest, ScanReport

from ..manifests.entries import ADDED, Entries
from ..manifests.manifest_list import DATA
from ..snapshot import IcebergSnapshot

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["APPEND", "AppendedFiles", "added_entries"]

APPEND = "append"
"""The operation of snapshots that only add data files. Source: Iceberg spec, "Snapshots", "operation"."""


def added_entries(snapshot: IcebergSnapshot, request: ReadRequest) -> Iterator[Entries]:
    """The data files that a snapshot added, by its own account: the status of its manifests' entries."""
    own = snapshot.manifest_list.kept(
        DATA, snapshot.specs, request.manifest_filter, request.report, added_by=snapshot.version
    )
    for found in snapshot.entries_of(own, request):
        made_by = found.snapshot_ids.fill_null(-1).to_numpy()
        yield found.take(np.flatnonzero((found.status == ADDED) & (made_by == snapshot.version)))


class AppendedFiles(IcebergSnapshot):
    """The files that ``appends`` added, oldest first, under the schema of ``ending``."""

    def __init__(self, ending: IcebergSnapshot, appends: Sequence[IcebergSnapshot]) -> None:
        super().__init__(ending.files, ending.metadata, ending.snapshot, ending.schema)
        self._appends = appends

    def parts(self, request: ReadRequest) -> list[MetadataPart]:
        """See :meth:`tableformats.plugin.FormatSnapshot.parts`."""

        def read(report: ScanReport) -> Iterator[FileBatch]:
            for snapshot in self._appends:
                snapshot.counted_list(report)
                for entries in added_entries(snapshot, replace(request, report=report)):
                    yield FileBatch(entries.files, entries.spec_id, entries.statistics)

        request.report.count_metadata(self.metadata.size_bytes)
        return [MetadataPart(None, read, adds=(None,))]

    def attach_deletes(self, files: pa.Table, request: ReadRequest) -> DeleteFiles:
        """None: rows are given as they were appended, whatever deleted them later."""
        return DeleteFiles.none(files.num_rows)
