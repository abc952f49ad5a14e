"""Neighbouring manifests, decoded together: a step over columns costs no more for eight manifests than for one.

Those that a writer wrote alike share their columns; each part gets its rows of them. Where anything is odd the
manifests are decoded one by one, and the one that it comes from says what it is.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from tableformats.errors import TableFormatsError
from tableformats.plugin import FileBatch, StatisticsOfRows
from tableformats.plugin.prefetch import in_order
from tableformats.storage import Arena

from .avro import Header, read_header
from .entries import check_counts, check_length, manifest_spec_id, read_entries_together, with_places

if TYPE_CHECKING:
    from tableformats.plugin import PartitionSpec
    from tableformats.report import ScanReport

    from .manifests import Manifest
    from .snapshot import IcebergSnapshot

__all__ = ["Together"]

_local = threading.local()


class Together:
    """The parts with these keys, (manifest, its place or None) each; decoded when the first of them is read.

    Parameters
    ----------
    columns : field ids whose bounds and counts are decoded too
    """

    def __init__(self, snapshot: IcebergSnapshot, columns: Sequence[int], keys: Sequence[tuple[Manifest, int | None]]):
        self._snapshot = snapshot
        self._columns = columns
        self._keys = keys
        self._decoded: dict[int, _Decoded] | None = None
        self._undecoded: dict[int, _Read] = {}

    def read(
        self, number: int, alone: Callable[[ScanReport], Iterable[FileBatch]], report: ScanReport
    ) -> Iterator[FileBatch]:
        """The batch of the part ``number``; where no bytes of it were read yet, what ``alone`` gives.

        Raises
        ------
        CorruptMetadataError, LimitExceededError : see :func:`tableformats_iceberg.entries.read_entries`
        """
        if self._decoded is None:
            self._decoded = {found.number: found for found in self._decode()}
        found, left = self._decoded.pop(number, None), self._undecoded.pop(number, None)
        manifest, place = self._keys[number]
        if left is not None:
            yield self._snapshot.batch_in(left.data, left.path, manifest, place, self._columns, report)
            return
        if found is None:
            yield from alone(report)
            return
        report.count_metadata(found.size)
        check_length(found.size, found.path, manifest, report)
        check_counts(manifest, found.batch.files.num_rows, found.path, report)
        yield found.batch

    def _decode(self) -> Iterator[_Decoded]:
        every = range(len(self._keys))
        try:
            if self._snapshot.files.storage.is_local:
                manifests = list(map(partial(self._read, arena=_cleared_arena()), every))
            else:
                # Where each read waits for an answer, they wait together.
                manifests = list(in_order(self._read, every))
        except TableFormatsError:
            return
        for (spec_id, _), alike in groupby(manifests, lambda read: (read.spec_id, read.header.schema)):
            run, spec = list(alike), self._snapshot.specs.get(spec_id)
            decoded = [] if spec is None else list(self._decode_alike(run, spec))
            if not decoded:
                # Others will be read where these stand.
                self._undecoded.update((read.number, read._replace(data=bytes(read.data))) for read in run)
            yield from decoded

    def _read(self, number: int, arena: Arena | None = None) -> _Read:
        manifest = self._keys[number][0]
        data, path = self._snapshot.files.read(manifest.path, "manifest", arena)
        header = read_header(data, path)
        return _Read(number, data, path, header, manifest_spec_id(header, manifest, self._snapshot.default_spec_id))

    def _decode_alike(self, manifests: Sequence[_Read], spec: PartitionSpec) -> Iterator[_Decoded]:
        """The batches of manifests of one schema and spec; none where one of them is odd."""
        files = [(read.data, read.header, self._keys[read.number][0]) for read in manifests]
        decoded = read_entries_together(files, spec, self._columns, self._snapshot.files.storage.limits)
        if decoded is None:
            return
        entries, ends = decoded
        whole = entries.statistics
        for read, start, stop in zip(manifests, [0, *ends], ends, strict=False):
            files_of, place = entries.files.slice(start, stop - start), self._keys[read.number][1]
            if place is not None:
                files_of = with_places(files_of, place)
            statistics = StatisticsOfRows(whole, start, stop)
            yield _Decoded(read.number, read.path, len(read.data), FileBatch(files_of, spec.id, statistics))


def _cleared_arena() -> Arena:
    """This thread's."""
    arena: Arena | None = getattr(_local, "arena", None)
    if arena is None:
        arena = _local.arena = Arena()
    arena.clear()
    return arena


class _Read(NamedTuple):
    """The bytes of a manifest, the ``number``-th."""

    number: int
    data: bytes | memoryview
    path: str
    header: Header
    spec_id: int


class _Decoded(NamedTuple):
    """The batch of a manifest of ``size`` bytes."""

    number: int
    path: str
    size: int
    batch: FileBatch
