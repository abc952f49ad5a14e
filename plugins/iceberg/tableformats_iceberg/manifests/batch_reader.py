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

from tableformats.plugin import FileBatch, ReusableBuffer, TableFormatsError, in_order

from ..avro.container import Header, decodes_at_once, read_header
from .entries import check_counts, check_length, manifest_spec_id, read_entries_together, with_places

if TYPE_CHECKING:
    from tableformats.plugin import PartitionSpec, ScanReport

    from ..snapshot import IcebergSnapshot
    from .entries import Entries
    from .manifest_list import Manifest

__all__ = ["DecodedManifests", "Decoded", "ManifestBatchReader"]

_local = threading.local()


class ManifestBatchReader:
    """The parts with these keys, (manifest, its place or None) each; decoded when the first of them is read.

    Parameters
    ----------
    columns : field ids whose bounds and counts are decoded too
    """

    def __init__(self, snapshot: IcebergSnapshot, columns: Sequence[int], keys: Sequence[tuple[Manifest, int | None]]):
        self._snapshot = snapshot
        self._columns = columns
        self._keys = keys
        self._decoded: dict[int, tuple[Decoded, FileBatch]] | None = None
        self._undecoded: dict[int, Read] = {}

    def read(
        self, number: int, alone: Callable[[ScanReport], Iterable[FileBatch]], report: ScanReport
    ) -> Iterator[FileBatch]:
        """The batch of the part ``number``; where no bytes of it were read yet, what ``alone`` gives.

        Raises
        ------
        CorruptMetadataError, LimitExceededError : see :func:`tableformats_iceberg.manifests.entries.read_entries`
        """
        if self._decoded is None:
            self._decoded = {
                found[0].number: found for alike in self.decoded_manifests() for found in self._batches(alike)
            }
        manifest, place = self._keys[number]
        if number not in self._decoded:
            left = self.undecoded(number)
            yield from (
                alone(report)
                if left is None
                else [self._snapshot.batch_in(left.data, left.path, manifest, place, self._columns, report)]
            )
            return
        found, batch = self._decoded.pop(number)
        found.counted(manifest, report)
        yield batch

    def _batches(self, alike: DecodedManifests) -> Iterator[tuple[Decoded, FileBatch]]:
        """Each of some manifests with its batch."""
        entries, found = alike
        files = entries.files
        places = [place for one in found if (place := self._keys[one.number][1]) is not None]
        if places:
            files = with_places(files, places, [one.stop - one.start for one in found])
        whole = FileBatch(files, entries.spec_id, entries.statistics)
        for one in found:
            yield one, whole.slice(one.start, one.stop)

    def decoded_manifests(self) -> Iterator[DecodedManifests]:
        """Manifests that were decoded as one. Those that are in none have to be read alone."""
        try:
            for (spec_id, _), reads in groupby(self._read_all(), lambda read: (read.spec_id, read.header.schema)):
                spec = self._snapshot.specs.get(spec_id)
                decoded = None if spec is None else self._decode(reads, spec)
                if decoded is not None:
                    yield decoded
        except TableFormatsError:
            return

    def undecoded(self, number: int) -> Read | None:
        """The bytes of a manifest that was read and not decoded, once; else None."""
        return self._undecoded.pop(number, None)

    def _read_all(self) -> Iterator[Read]:
        """The manifests that can be decoded together, each until the next is asked for."""
        every = range(len(self._keys))
        is_local = self._snapshot.files.storage.is_local
        # Where each read waits for an answer, they wait together.
        for read in map(partial(self._read, scratch=_scratch()), every) if is_local else in_order(self._read, every):
            if decodes_at_once(read.header):
                yield read
            else:
                self._undecoded[read.number] = read._replace(data=bytes(read.data))

    def _read(self, number: int, scratch: ReusableBuffer | None = None) -> Read:
        manifest = self._keys[number][0]
        data, path = self._snapshot.files.read(manifest.path, "manifest", scratch)
        header = read_header(data, path)
        return Read(number, data, path, header, manifest_spec_id(header, manifest, self._snapshot.default_spec_id))

    def _decode(self, reads: Iterable[Read], spec: PartitionSpec) -> DecodedManifests | None:
        """Manifests of one schema and spec; None where one of them is odd."""
        seen: list[tuple[int, str, int]] = []

        def found() -> Iterator[tuple[bytes | memoryview, Header, Manifest]]:
            for read in reads:
                seen.append((read.number, read.path, len(read.data)))
                yield read.data, read.header, self._keys[read.number][0]

        every = [manifest for manifest, _ in self._keys]
        limits = self._snapshot.files.storage.limits
        decoded = read_entries_together(found(), every, spec, self._columns, limits)
        if decoded is None:
            return None
        entries, ends = decoded
        stretches = zip(seen, [0, *ends], ends, strict=False)
        return DecodedManifests(entries, [Decoded(*read, start, stop) for read, start, stop in stretches])


def _scratch() -> ReusableBuffer:
    """This thread's."""
    scratch: ReusableBuffer | None = getattr(_local, "scratch", None)
    if scratch is None:
        scratch = _local.scratch = ReusableBuffer()
    return scratch


class Read(NamedTuple):
    """The bytes of a manifest, the ``number``-th."""

    number: int
    data: bytes | memoryview
    path: str
    header: Header
    spec_id: int


class Decoded(NamedTuple):
    """The ``number``-th manifest, of ``size`` bytes: its rows of what was decoded with it."""

    number: int
    path: str
    size: int
    start: int
    stop: int

    def counted(self, manifest: Manifest, report: ScanReport) -> None:
        """Count it as read, and note what its list says otherwise. Raises CorruptMetadataError: it was cut."""
        report.count_metadata(self.size)
        check_length(self.size, self.path, manifest, report)
        check_counts(manifest, self.stop - self.start, self.path, report)


class DecodedManifests(NamedTuple):
    """``manifests`` of one spec, decoded as one, one behind the other."""

    entries: Entries
    manifests: list[Decoded]
