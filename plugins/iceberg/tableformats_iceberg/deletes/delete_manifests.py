"""Reads delete manifests for one plan: each at most once, neighbours decoded together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tableformats.plugin import ScanReport, bundles, in_order

from ..manifests.batch_reader import ManifestBatchReader
from ..manifests.entries import FILE_PATH_ID, Entries
from ..manifests.manifest_list import DELETES, Manifest
from ..manifests.source import ManifestSource
from .delete_index import DeleteIndex
from .delete_pruning import PlannedPaths
from .delete_table import ManifestSlice, SpecDeletes, deletes_of

__all__ = ["DeleteManifestReader"]

_BUNDLE_FILES = 16_384
"""About so many delete files are decoded together."""


class _ReadEntries(NamedTuple):
    """The entries of one manifest, and what was counted when they were read. ``path`` is absolute."""

    manifest: Manifest
    entries: Entries
    report: ScanReport
    path: str


class DeleteManifestReader:
    """Reads entries for attaching deletes, and keeps them until the plan is made.

    Parameters
    ----------
    source : ManifestSource
    manifests : sequence of Manifest
        All manifests of the snapshot, in the order of its manifest list.
    report : ScanReport
        Counts each delete manifest once, whether its entries are cached or not.
    """

    def __init__(self, source: ManifestSource, manifests: Sequence[Manifest], report: ScanReport) -> None:
        self._source = source
        self._manifests = manifests
        self._report = report
        self._entries: dict[int, tuple[frozenset[int], Entries]] = {}

    def delete_index(
        self, manifests: Sequence[Manifest], columns: Sequence[int] = (), planned: PlannedPaths | None = None
    ) -> DeleteIndex:
        """Read delete manifests.

        Parameters
        ----------
        manifests : sequence of Manifest
        columns : sequence of int
            Ids of the fields whose statistics :meth:`read` will give.
        planned : PlannedPaths, optional
            Leave out deletes that name another data file than these.
        """
        indices = {id(m): i for i, m in enumerate(self._manifests)}
        wanted = [FILE_PATH_ID, *columns]

        def read(bundle: Sequence[Manifest]) -> list[tuple[list[_ReadEntries], SpecDeletes]]:
            found = []
            for entries, reads in self._read_many(bundle, wanted):
                slices = [ManifestSlice(indices[id(r.manifest)], r.entries.files.num_rows, r.path) for r in reads]
                deletes = deletes_of(entries, slices)
                found.append((reads, deletes if planned is None else planned.only(deletes)))
            return found

        every = bundles(manifests, lambda manifest: manifest.live_files, _BUNDLE_FILES)
        found = [group for groups in in_order(read, every) for group in groups]
        for reads, _ in found:
            for one in reads:
                self._keep(indices[id(one.manifest)], wanted, one.entries, one.report)
        return DeleteIndex([deletes for _, deletes in found], self._source.specs)

    def read(self, index: int, columns: Sequence[int]) -> Entries:
        """The live entries of the manifest at ``index`` of the list, with statistics of at least ``columns``."""
        known, entries = self._entries.get(index, (frozenset(), None))
        if entries is None or not known.issuperset(columns):
            wanted = sorted(known.union(columns))
            entries, report = self._source.counted_entries(self._manifests[index], wanted)
            self._keep(index, wanted, entries, report)
        return entries

    def _keep(self, index: int, columns: Sequence[int], entries: Entries, report: ScanReport) -> None:
        manifest = self._manifests[index]
        if index in self._entries or manifest.content != DELETES:  # planning has counted the manifests of data files
            report.metadata_files_read = report.metadata_bytes_read = 0
        elif not report.metadata_files_read:  # its entries are cached
            report.count_metadata(manifest.length)
        self._entries[index] = frozenset(columns), entries
        self._report.add(report)

    def _read_many(
        self, manifests: Sequence[Manifest], columns: Sequence[int]
    ) -> Iterator[tuple[Entries, list[_ReadEntries]]]:
        """Groups of manifests: their entries one after the other, and the entries of each.

        Every manifest is in one group. Manifests that are read alone come last.
        """
        left, reader = dict(enumerate(manifests)), None
        if len(manifests) > 1 and not any(map(self._source.is_cached, manifests)):
            reader = ManifestBatchReader(self._source, columns, [(manifest, None) for manifest in manifests])
            for parent, decoded in reader.decoded_manifests():
                reads = []
                for one in decoded:
                    manifest, report = left.pop(one.number), ScanReport()
                    one.count_in(manifest, report)
                    entries = parent.slice(manifest, one.start, one.stop)
                    self._source.cache_entries(manifest, columns, entries)
                    reads.append(_ReadEntries(manifest, entries, report, one.path))
                yield parent, reads
        for number, manifest in left.items():
            read = None if reader is None else reader.undecoded(number)
            if read is None:
                entries, report = self._source.counted_entries(manifest, columns)
            else:
                report, request = ScanReport(), self._source.request(columns)
                entries = self._source.decode_entries(read.data, read.path, manifest, request, report)
                self._source.cache_entries(manifest, columns, entries)
            yield entries, [_ReadEntries(manifest, entries, report, entries.columns.source)]
