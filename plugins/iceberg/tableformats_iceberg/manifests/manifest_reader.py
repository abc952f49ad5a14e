"""The manifests that attaching deletes reads: each once as long as the columns allow, neighbours decoded as one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from tableformats.plugin import ScanReport, bundles, in_order

from ..deletes.deletes import DeleteIndex, DeletesOf, Stretch, deletes_of
from .batch_reader import ManifestBatchReader
from .entries import FILE_PATH_ID, Entries

if TYPE_CHECKING:
    from ..deletes.delete_pruning import PlannedPaths
    from ..snapshot import IcebergSnapshot
    from .manifest_list import Manifest

__all__ = ["ManifestReader"]

_AT_ONCE = 16_384
"""So many delete files are decoded as one."""


class _Of(NamedTuple):
    """What was read of one manifest; ``path`` is where."""

    manifest: Manifest
    entries: Entries
    report: ScanReport
    path: str


class ManifestReader:
    """Manifests of ``snapshot``; what is read is counted in ``report``."""

    def __init__(self, snapshot: IcebergSnapshot, report: ScanReport) -> None:
        self._snapshot = snapshot
        self._report = report
        self._found: dict[int, tuple[frozenset[int], Entries]] = {}

    def delete_index(
        self, manifests: Sequence[Manifest], columns: Sequence[int] = (), planned: PlannedPaths | None = None
    ) -> DeleteIndex:
        """The deletes of ``manifests``, but for those that name other files than the ``planned`` ones (None: all), with
        statistics of ``columns`` for :meth:`read`."""
        places = {id(m): i for i, m in enumerate(self._snapshot.manifest_list.manifests)}
        wanted = [FILE_PATH_ID, *columns]

        def read(some: Sequence[Manifest]) -> list[tuple[list[_Of], DeletesOf]]:
            groups = []
            for whole, each in self._alike(some, wanted):
                stretches = [Stretch(places[id(one.manifest)], one.entries.files.num_rows, one.path) for one in each]
                deletes = deletes_of(whole, stretches)
                groups.append((each, deletes if planned is None else planned.only(deletes)))
            return groups

        bunches = bundles(manifests, lambda manifest: manifest.live_files, _AT_ONCE)
        found = [group for groups in in_order(read, bunches) for group in groups]
        for each, _ in found:
            for one in each:
                self._keep(places[id(one.manifest)], wanted, one.entries, one.report)
        return DeleteIndex([deletes for _, deletes in found], self._snapshot.specs)

    def read(self, place: int, columns: Sequence[int]) -> Entries:
        """The live entries of the manifest at ``place`` in the list, with statistics of at least ``columns``."""
        known, entries = self._found.get(place, (frozenset(), None))
        if entries is None or not known.issuperset(columns):
            wanted = sorted(known.union(columns))
            entries, read = self._snapshot.counted_entries(self._snapshot.manifest_list.manifests[place], wanted)
            self._keep(place, wanted, entries, read)
        return entries

    def _keep(self, place: int, columns: Sequence[int], entries: Entries, read: ScanReport) -> None:
        self._found[place] = frozenset(columns), entries
        self._report.add(read)

    def _alike(self, manifests: Sequence[Manifest], columns: Sequence[int]) -> Iterator[tuple[Entries, list[_Of]]]:
        """The live entries of some manifests as one, and of each of them; all manifests are in one of these, in their
        order but for those that are read alone, which come last."""
        left, together = dict(enumerate(manifests)), None
        if len(manifests) > 1 and not any(map(self._snapshot.has_entries, manifests)):
            together = ManifestBatchReader(self._snapshot, columns, [(manifest, None) for manifest in manifests])
            for whole, decoded in together.decoded_manifests():
                each = []
                for one in decoded:
                    manifest, report = left.pop(one.number), ScanReport()
                    one.counted(manifest, report)
                    entries = whole.of(manifest, one.start, one.stop)
                    self._snapshot.keep_entries(manifest, columns, entries)
                    each.append(_Of(manifest, entries, report, one.path))
                yield whole, each
        for number, manifest in left.items():
            read = None if together is None else together.undecoded(number)
            if read is None:
                entries, report = self._snapshot.counted_entries(manifest, columns)
            else:
                report = ScanReport()
                entries = self._snapshot.entries_in(read.data, read.path, manifest, columns, report)
                self._snapshot.keep_entries(manifest, columns, entries)
            yield entries, [_Of(manifest, entries, report, entries.columns.source)]
