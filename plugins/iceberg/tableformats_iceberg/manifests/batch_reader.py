"""Decodes neighbouring manifests together: one pass over the columns of eight manifests costs little more than of one.

Neighbouring manifests of one spec and writer's schema are decoded into shared columns, and each part is a slice of
these. If a manifest is irregular, all are decoded one by one, and the damaged one raises its error.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import NamedTuple

from tableformats.plugin import FileBatch, PartitionSpec, ReusableBuffer, ScanReport, TableFormatsError, in_order

from ..avro.container import Header, decodes_at_once, read_header
from .entries import (
    Entries,
    check_against_list,
    manifest_spec_id,
    read_entries_of_manifests,
    with_entry_positions,
)
from .manifest_list import Manifest
from .source import ManifestSource

__all__ = ["DecodedManifest", "DecodedManifests", "ManifestBatchReader", "file_batch"]

_local = threading.local()


class ManifestBatchReader:
    """Reads several manifests, and decodes all of them when the first one is requested.

    Parameters
    ----------
    source : ManifestSource
    columns : sequence of int
        Ids of the fields whose bounds and counts are decoded too.
    keys : sequence of (Manifest, int or None)
        Each manifest, and its index in the manifest list where files carry it, see :func:`file_batch`.
    """

    def __init__(self, source: ManifestSource, columns: Sequence[int], keys: Sequence[tuple[Manifest, int | None]]):
        self._source = source
        self._columns = columns
        self._keys = keys
        self._decoded: dict[int, tuple[DecodedManifest, FileBatch]] | None = None
        self._undecoded: dict[int, ReadManifest] = {}

    def read(
        self, number: int, read_alone: Callable[[ScanReport], Iterable[FileBatch]], report: ScanReport
    ) -> Iterator[FileBatch]:
        """The batch of the manifest ``number``, once. Calls ``read_alone`` if it must be read by itself.

        Raises
        ------
        CorruptMetadataError, LimitExceededError
            See :func:`tableformats_iceberg.manifests.entries.read_entries`.
        """
        if self._decoded is None:
            groups = self.decoded_manifests()
            self._decoded = {found[0].number: found for group in groups for found in self._batches(group)}
        manifest, index = self._keys[number]
        if number in self._decoded:
            decoded, batch = self._decoded.pop(number)
            decoded.count_in(manifest, report)
            yield batch
            return
        read = self.undecoded(number)
        if read is None:
            yield from read_alone(report)
            return
        request = self._source.request(self._columns)
        yield file_batch(self._source.decode_entries(read.data, read.path, manifest, request, report), index)

    def _batches(self, group: DecodedManifests) -> Iterator[tuple[DecodedManifest, FileBatch]]:
        """Each manifest of a group with its batch, a slice of the group's."""
        entries, manifests = group
        files = entries.files
        indices = [index for one in manifests if (index := self._keys[one.number][1]) is not None]
        if indices:
            files = with_entry_positions(files, indices, [one.stop - one.start for one in manifests])
        parent = FileBatch(files, entries.spec_id, entries.statistics)
        for one in manifests:
            yield one, parent.slice(one.start, one.stop)

    def decoded_manifests(self) -> Iterator[DecodedManifests]:
        """Groups of manifests that were decoded together. A manifest that is in no group must be read alone."""
        try:
            for (spec_id, _), reads in groupby(self._read_all(), lambda read: (read.spec_id, read.header.schema)):
                spec = self._source.specs.get(spec_id)
                decoded = None if spec is None else self._decode(reads, spec)
                if decoded is not None:
                    yield decoded
        except TableFormatsError:
            return

    def undecoded(self, number: int) -> ReadManifest | None:
        """The bytes of a manifest that was read but cannot be decoded with others, once. None: it was not read."""
        return self._undecoded.pop(number, None)

    def _read_all(self) -> Iterator[ReadManifest]:
        """The manifests that can be decoded with others. The bytes of each are valid until the next is requested."""
        numbers = range(len(self._keys))
        if self._source.files.storage.is_local:
            reads: Iterable[ReadManifest] = map(partial(self._read, buffer=_thread_buffer()), numbers)
        else:
            # Each read waits for an answer of the store, so several wait at the same time.
            reads = in_order(self._read, numbers)
        for read in reads:
            if decodes_at_once(read.header):
                yield read
            else:
                self._undecoded[read.number] = read._replace(data=bytes(read.data))

    def _read(self, number: int, buffer: ReusableBuffer | None = None) -> ReadManifest:
        manifest = self._keys[number][0]
        data, path = self._source.read_bytes(manifest, buffer)
        header = read_header(data, path)
        spec_id = manifest_spec_id(header, manifest, self._source.default_spec_id)
        return ReadManifest(number, data, path, header, spec_id)

    def _decode(self, reads: Iterable[ReadManifest], spec: PartitionSpec) -> DecodedManifests | None:
        """Decode manifests of one schema and spec. None: one of them is irregular."""
        seen: list[tuple[int, str, int]] = []

        def found() -> Iterator[tuple[bytes | memoryview, Header, Manifest]]:
            for read in reads:
                seen.append((read.number, read.path, len(read.data)))
                yield read.data, read.header, self._keys[read.number][0]

        expected = [manifest for manifest, _ in self._keys]
        decoded = read_entries_of_manifests(found(), expected, spec, self._source.request(self._columns))
        if decoded is None:
            return None
        entries, ends = decoded
        spans = zip(seen, [0, *ends], ends, strict=False)
        return DecodedManifests(entries, [DecodedManifest(*read, start, stop) for read, start, stop in spans])


def file_batch(entries: Entries, index: int | None) -> FileBatch:
    """The entries of one manifest as a batch.

    ``index`` is the manifest's index in the manifest list, which :func:`with_entry_positions` adds to the files. None:
    the files need none, because the snapshot has no deletes whose statistics are compared with theirs.
    """
    files = entries.files
    if index is not None:
        files = with_entry_positions(files, [index], [files.num_rows])
    return FileBatch(files, entries.spec_id, entries.statistics)


def _thread_buffer() -> ReusableBuffer:
    """The buffer of this thread that manifests are read into."""
    buffer: ReusableBuffer | None = getattr(_local, "buffer", None)
    if buffer is None:
        buffer = _local.buffer = ReusableBuffer()
    return buffer


class ReadManifest(NamedTuple):
    """The bytes of the manifest ``number``."""

    number: int
    data: bytes | memoryview
    path: str
    header: Header
    spec_id: int


class DecodedManifest(NamedTuple):
    """The manifest ``number``, of ``size`` bytes: its rows of a :class:`DecodedManifests`."""

    number: int
    path: str
    size: int
    start: int
    stop: int

    def count_in(self, manifest: Manifest, report: ScanReport) -> None:
        """Count it as read, and note what the manifest list contradicts. Raises CorruptMetadataError: it was cut."""
        report.count_metadata(self.size)
        check_against_list(self.size, self.stop - self.start, self.path, manifest, report)


class DecodedManifests(NamedTuple):
    """Manifests of one spec that were decoded together: their entries, one manifest after the other."""

    entries: Entries
    manifests: list[DecodedManifest]
