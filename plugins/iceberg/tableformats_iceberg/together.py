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
from tableformats.storage import Scratch

from .avro import Header, decodes_at_once, read_header
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
        try:
            for (spec_id, _), alike in groupby(self._read_all(), lambda read: (read.spec_id, read.header.schema)):
                if spec_id in self._snapshot.specs:
                    yield from self._decode_alike(alike, self._snapshot.specs[spec_id])
        except TableFormatsError:
            return

    def _read_all(self) -> Iterator[_Read]:
        """The manifests that can be decoded together, each until the next is asked for."""
        every = range(len(self._keys))
        is_local = self._snapshot.files.storage.is_local
        # Where each read waits for an answer, they wait together.
        for read in map(partial(self._read, scratch=_scratch()), every) if is_local else in_order(self._read, every):
            if decodes_at_once(read.header):
                yield read
            else:
                self._undecoded[read.number] = read._replace(data=bytes(read.data))

    def _read(self, number: int, scratch: Scratch | None = None) -> _Read:
        manifest = self._keys[number][0]
        data, path = self._snapshot.files.read(manifest.path, "manifest", scratch)
        header = read_header(data, path)
        return _Read(number, data, path, header, manifest_spec_id(header, manifest, self._snapshot.default_spec_id))

    def _decode_alike(self, reads: Iterable[_Read], spec: PartitionSpec) -> Iterator[_Decoded]:
        """The batches of manifests of one schema and spec; none where one of them is odd."""
        seen: list[tuple[int, str, int]] = []

        def found() -> Iterator[tuple[bytes | memoryview, Header, Manifest]]:
            for read in reads:
                seen.append((read.number, read.path, len(read.data)))
                yield read.data, read.header, self._keys[read.number][0]

        every = [manifest for manifest, _ in self._keys]
        limits = self._snapshot.files.storage.limits
        decoded = read_entries_together(found(), every, spec, self._columns, limits)
        if decoded is None:
            return
        entries, ends = decoded
        whole = entries.statistics
        for (number, path, size), start, stop in zip(seen, [0, *ends], ends, strict=False):
            files_of, place = entries.files.slice(start, stop - start), self._keys[number][1]
            if place is not None:
                files_of = with_places(files_of, place)
            yield _Decoded(number, path, size, FileBatch(files_of, spec.id, StatisticsOfRows(whole, start, stop)))


def _scratch() -> Scratch:
    """This thread's."""
    scratch: Scratch | None = getattr(_local, "scratch", None)
    if scratch is None:
        scratch = _local.scratch = Scratch()
    return scratch


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
