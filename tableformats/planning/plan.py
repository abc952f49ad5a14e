"""The data of a plan: :class:`FilePlan`, one row a surviving file. Engines consume it; no engine is imported here."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from .. import expressions as ex
from ..columnar import compute as pc
from ..columnar.arrays import flat, to_arrow
from ..display import shortened
from ..expressions import Expression
from ..plugin.columns import MetadataColumn
from ..plugin.deletes import DeleteFiles
from ..plugin.report import ScanReport
from ..runtime.concurrency import cached_property
from ..runtime.pickling import Portable, compact
from ..schema import Schema
from .handle import SnapshotHandle
from .jobs import Evidence, PartReader
from .record_counts import RecordCounts
from .request import ScanRequest

if TYPE_CHECKING:
    import numpy as np

    from ..io.path_policy import SharedPrefix

__all__ = ["FilePlan"]

Plan = TypeVar("Plan", bound="FilePlan")


class FilePlan(Portable):
    """The files that a request needs.

    Attributes
    ----------
    scan : ScanRequest
    survivors : pyarrow.Table
        One row a file, in any number of chunks, as the format gave it: ``path`` (as stored), ``size_bytes``,
        ``spec_id``, ``partition`` (members called by partition field id, over all specs), ``fully_matched``,
        ``file_format``, and the format's own columns.
    delete_files : DeleteFiles
        The deletes of the survivors.
    report : ScanReport
        What planning read, dropped and kept.
    prefix : SharedPrefix or None
        What all stored paths begin with, and mean by it, if one prefix decides that.
    evidence : Evidence, optional
        What pruning decided by, where this process pruned few files; see :mod:`tableformats.planning.attribution`.
    """

    def __init__(
        self,
        scan: ScanRequest,
        survivors: pa.Table,
        delete_files: DeleteFiles,
        report: ScanReport,
        counts: RecordCounts,
        reader: PartReader | None = None,
        prefix: SharedPrefix | None = None,
        evidence: Evidence | None = None,
    ) -> None:
        self.scan = scan
        self.survivors = survivors
        self.delete_files = delete_files
        self.report = report
        self._counts = counts
        self._reader = reader
        self.prefix = prefix
        self.evidence = evidence

    def _state(self) -> dict[str, Any]:
        # Bounds of deletes are read from manifests, and planning has used them already.
        deletes = replace(self.delete_files, files=compact(self.delete_files.files), statistics=None)
        state = {name: getattr(self, name) for name in ("scan", "report", "_counts")}
        local = {"_reader": None, "prefix": None, "evidence": None}
        return {**state, "survivors": compact(self.survivors), "delete_files": deletes, **local}

    def __len__(self) -> int:
        return int(self.survivors.num_rows)

    def __repr__(self) -> str:
        name = type(self).__name__
        filter = None if self.report.filter is None else shortened(self.report.filter, 200)
        return f"{name}({len(self):,} of {self.report.files_total:,} files, filter={filter!r})"

    @property
    def snapshot(self) -> SnapshotHandle:
        """The snapshot that was planned."""
        return self.scan.snapshot

    @property
    def schema(self) -> Schema:
        """The columns of the rows."""
        return self.scan.schema

    @property
    def metadata_columns(self) -> list[MetadataColumn]:
        """See :attr:`ScanRequest.metadata_columns`."""
        return self.scan.metadata_columns

    @property
    def limit(self) -> int | None:
        """At most so many rows are read; None: all."""
        return self.scan.limit

    @property
    def counts(self) -> RecordCounts:
        """The record counts of the files, which may have to be read."""
        return self._counts

    @property
    def reader(self) -> PartReader | None:
        """What read the parts of the metadata, where it was not this process alone."""
        return self._reader

    @cached_property
    def residual(self) -> Expression:
        """The bound predicate that an engine applies to the rows; TRUE where pruning decided all of it."""
        decided = pc.all(self.survivors["fully_matched"]).as_py()
        return ex.TRUE if decided or not len(self) else self.scan.filter

    @cached_property
    def path_chunks(self) -> list[pa.StringArray]:
        """The absolute paths of the files, in the chunks of the survivors. Planning has checked them against the policy
        of paths."""
        resolve = self.snapshot.format_snapshot.resolve_paths if self.prefix is None else self.prefix.resolve
        return [resolve(paths) for paths in self.survivors["path"].chunks]

    @cached_property
    def paths(self) -> pa.StringArray:
        """string[n]: :attr:`path_chunks` as one array."""
        return flat(pa.chunked_array(self.path_chunks, pa.string()))

    @property
    def record_counts(self) -> pa.Int64Array:
        """int64[n]: physical rows of the files, null = unknown. Reads statistics where that is needed.

        Raises
        ------
        CorruptMetadataError
            As the statistics are read.
        """
        return self._counts.array

    def take(self: Plan, rows: np.ndarray) -> Plan:
        """The plan of the files ``rows`` (int64[k], positions in this plan) alone, in that order. The report stays.

        Raises
        ------
        IndexError
            There is no such position.
        """
        positions = to_arrow(rows)
        counts = RecordCounts([pc.take(self.record_counts, positions)])
        deletes = self.delete_files.take(rows)
        survivors = pc.take(self.survivors, positions)
        local = self._reader, self.prefix, self.evidence
        return type(self)(self.scan, survivors, deletes, self.report, counts, *local)
