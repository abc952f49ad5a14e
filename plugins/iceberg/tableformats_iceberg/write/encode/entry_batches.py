"""Entries of manifests as columns, and their encoding to manifest files with the rows of the manifest list.

Source: Iceberg spec, "Manifests", "Manifest Entry Fields", "Manifest Lists", "Sequence Number Inheritance".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from tableformats.plugin import PartitionSpec, dataclass
from tableformats.plugin import compute as pc

from ...manifests.entries import ADDED, DELETED, EXISTING
from ...manifests.manifest_list import DATA, Manifest
from .avro_encoding import join, longs, optional
from .avro_files import Codec, EncodedBlock, container_file, encoded_blocks
from .layouts import Layout
from .values import bound_bytes

__all__ = ["EntryBatch", "FieldSummary", "WrittenManifest", "manifest_files"]


@dataclass(frozen=True)
class EntryBatch:
    """Entries of one manifest that is to be written.

    Attributes
    ----------
    layout : Layout
    status : int64[n]
        ``EXISTING``, ``ADDED`` or ``DELETED``.
    snapshot_id : int64[n]
        The snapshot that added the file; of a deleted one the snapshot that deleted it.
    sequence_number, file_sequence_number : int64[n]
        -1: null, which added files inherit from the commit.
    members : mapping of int to pyarrow.BinaryArray
        The encoded values of each member of the layout.
    partition : sequence of pyarrow.Array
        The typed values of each partition field of the spec.
    record_count, size_bytes : int64[n]
    """

    layout: Layout
    status: np.ndarray
    snapshot_id: np.ndarray
    sequence_number: np.ndarray
    file_sequence_number: np.ndarray
    members: Mapping[int, pa.BinaryArray]
    partition: Sequence[pa.Array]
    record_count: np.ndarray
    size_bytes: np.ndarray

    def __len__(self) -> int:
        return len(self.status)

    def take(self, rows: np.ndarray) -> EntryBatch:
        """The entries at ``rows`` (int64[k], ascending)."""
        if len(rows) == len(self):
            return self
        indices = pa.array(rows)
        numbers: dict[str, Any] = {name: getattr(self, name)[rows] for name in _NUMBERS}
        members = {i: pc.take(column, indices) for i, column in self.members.items()}
        return replace(self, members=members, partition=[pc.take(v, indices) for v in self.partition], **numbers)

    def slice(self, start: int, stop: int) -> EntryBatch:
        """The entries from ``start`` to before ``stop``."""
        if (start, stop) == (0, len(self)):
            return self
        numbers: dict[str, Any] = {name: getattr(self, name)[start:stop] for name in _NUMBERS}
        members = {i: column.slice(start, stop - start) for i, column in self.members.items()}
        partition = [values.slice(start, stop - start) for values in self.partition]
        return replace(self, members=members, partition=partition, **numbers)

    @classmethod
    def concat(cls, batches: Sequence[EntryBatch]) -> EntryBatch:
        """The entries of batches whose layouts have one key, one batch after the other."""
        if len(batches) == 1:
            return batches[0]
        first = batches[0]
        numbers: dict[str, Any] = {n: np.concatenate([getattr(b, n) for b in batches]) for n in _NUMBERS}
        members = {i: pa.concat_arrays([b.members[i] for b in batches]) for i in first.members}
        partition = [pa.concat_arrays(list(values)) for values in zip(*(b.partition for b in batches), strict=True)]
        return replace(first, members=members, partition=partition, **numbers)

    def records(self) -> pa.BinaryArray:
        """The encoded entries."""
        heads = [longs(self.status)]
        if self.layout.format_version == 1:
            heads.append(longs(self.snapshot_id))
        else:
            heads.append(optional(longs(self.snapshot_id)))
            heads += [optional(longs(n), n >= 0) for n in (self.sequence_number, self.file_sequence_number)]
        return join(*heads, *(self.members[m.id] for m in self.layout.members))


_NUMBERS = ("status", "snapshot_id", "sequence_number", "file_sequence_number", "record_count", "size_bytes")


@dataclass(frozen=True)
class FieldSummary:
    """What a manifest's files have of one partition field. Bounds are None where all values are null or NaN."""

    contains_null: bool
    contains_nan: bool
    lower: bytes | None
    upper: bytes | None


@dataclass(frozen=True)
class WrittenManifest:
    """A manifest that is to be written: its bytes, its row of the list, and its partition summaries.

    The row's path is empty until the manifest is stored. ``min_sequence_number`` is -1 where it is the commit's.
    """

    data: bytes
    row: Manifest
    summaries: tuple[FieldSummary, ...]


def manifest_files(
    entries: EntryBatch, spec: PartitionSpec, content: int, head: Mapping[str, str], codec: Codec, target_size: int
) -> Iterator[WrittenManifest]:
    """Encode entries to manifests of about ``target_size`` bytes each.

    Parameters
    ----------
    head : mapping of str to str
        The header's ``schema``, ``schema-id`` and ``partition-spec``. The other keys are added here.
    """
    version = entries.layout.format_version
    metadata = {**head, "partition-spec-id": str(spec.id), "format-version": str(version)}
    if version > 1:
        metadata["content"] = "data" if content == DATA else "deletes"

    def closed(blocks: list[EncodedBlock]) -> WrittenManifest:
        first, last = blocks[0].start, blocks[-1].stop
        data = container_file(entries.layout.schema, metadata, blocks, codec)
        return _written(data, entries.slice(first, last), spec, content)

    blocks: list[EncodedBlock] = []
    for block in encoded_blocks(entries.records(), codec):
        blocks.append(block)
        if sum(len(b.data) for b in blocks) >= target_size:
            yield closed(blocks)
            blocks = []
    if blocks:
        yield closed(blocks)


def _written(data: bytes, entries: EntryBatch, spec: PartitionSpec, content: int) -> WrittenManifest:
    files, rows = [], []
    for status in (ADDED, EXISTING, DELETED):
        chosen = entries.status == status
        files.append(int(np.count_nonzero(chosen)))
        rows.append(int(entries.record_count[chosen].sum()))
    live = entries.sequence_number[entries.status != DELETED]
    least = int(live[live >= 0].min(initial=_NO_LEAST))
    summaries = tuple(_summary(values, f.type) for values, f in zip(entries.partition, spec.fields, strict=True))
    least = -1 if least == _NO_LEAST else least
    row = Manifest._make(("", len(data), spec.id, content, -1, least, None, *files, *rows, None))
    return WrittenManifest(data, row, summaries)


_NO_LEAST = np.iinfo(np.int64).max


def _summary(values: pa.Array, kind: object) -> FieldSummary:
    has_null, has_nan = bool(values.null_count), False
    if pa.types.is_floating(values.type):
        is_nan = pc.fill_null(pc.is_nan(values), False)
        has_nan = bool(pc.any(is_nan).as_py())
        if has_nan:
            values = pc.filter(values, pc.invert(is_nan))
    known = len(values) - values.null_count
    if not known:
        return FieldSummary(has_null, has_nan, None, None)
    lower, upper = (pc.take(values, pa.array([i])) for i in _extremes(values))
    low, high = bound_bytes(lower, kind, is_lower=True), bound_bytes(upper, kind, is_lower=False)  # type: ignore[arg-type]
    return FieldSummary(has_null, has_nan, low[0].as_py(), high[0].as_py())


def _extremes(values: pa.Array) -> tuple[int, int]:
    """The rows of a least and of a greatest value."""
    if pa.types.is_fixed_size_binary(values.type):
        values = values.cast(pa.binary())
    if pa.types.is_boolean(values.type):
        values = values.cast(pa.int8())
    found = pc.min_max(values)
    return tuple(pc.index(values, found[side]).as_py() for side in ("min", "max"))  # type: ignore[return-value]
