"""Live entries of manifests that are written anew, carried over whole.

Each member of an entry is kept as the bytes that its writer encoded, so nothing of it is lost, whatever it is. Only the
status, and what an added entry inherits from its manifest (snapshot id, sequence numbers, first row id), are written
out. Source: Iceberg spec, "Manifest Entry Fields", "Sequence Number Inheritance", "First Row ID Inheritance".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import groupby

import numpy as np
import pyarrow as pa

from tableformats.plugin import CorruptMetadataError, PartitionSpec, dataclass, in_order, to_numpy
from tableformats.plugin import compute as pc

from ...avro.container import (
    AvroColumns,
    Header,
    Want,
    decodes_at_once,
    read_columns,
    read_columns_of_files,
    read_header,
)
from ...avro.decode_program import RAW
from ...manifests.entries import (
    ADDED,
    DROP_DELETED,
    EXISTING,
    Inherited,
    check_against_list,
    inherited_first_row_ids,
    inherited_sequence_numbers,
    manifest_spec_id,
)
from ...manifests.manifest_list import Manifest
from ...manifests.source import ManifestSource
from ...manifests.statistics import DATA_FILE_ID
from ...manifests.values import decode_partition
from .avro_encoding import constant, longs, optional
from .entry_batches import EntryBatch
from .layouts import PARTITION, carried_layout, members_of_writer

__all__ = ["CarriedEntries", "carried_entries"]

_FIRST_ROW_ID = 142
_NUMBERS = {103, 104, _FIRST_ROW_ID}


@dataclass(frozen=True)
class CarriedEntries:
    """The live entries of some manifests of one writer's schema and one spec, with the status EXISTING.

    Attributes
    ----------
    manifests : sequence of Manifest
    ends : sequence of int
        The row before which the entries of each manifest end.
    """

    spec: PartitionSpec
    manifests: Sequence[Manifest]
    ends: Sequence[int]
    entries: EntryBatch

    def of(self, number: int) -> EntryBatch:
        """The entries of the manifest ``number``."""
        return self.entries.slice(self.ends[number - 1] if number else 0, self.ends[number])


@dataclass(frozen=True)
class _Read:
    manifest: Manifest
    data: bytes | memoryview
    path: str
    header: Header
    spec_id: int


def carried_entries(
    source: ManifestSource, manifests: Sequence[Manifest], format_version: int
) -> Iterator[CarriedEntries]:
    """Read manifests of one content, and decode those of one writer's schema together.

    Raises
    ------
    CorruptMetadataError, LimitExceededError
        A manifest is damaged, or another one than the list says.
    """

    def read(manifest: Manifest) -> _Read:
        data, path = source.read_bytes(manifest)
        header = read_header(data, path)
        return _Read(manifest, data, path, header, manifest_spec_id(header, manifest, source.default_spec_id))

    found = list(in_order(read, manifests))

    def kind(number: int) -> tuple[bytes, int, int]:
        return found[number].header.schema, found[number].spec_id, found[number].manifest.content

    order = sorted(range(len(found)), key=lambda n: (kind(n), n))
    for _, numbers in groupby(order, key=kind):
        yield from _decoded([found[n] for n in numbers], source, format_version)


def _decoded(reads: list[_Read], source: ManifestSource, format_version: int) -> Iterator[CarriedEntries]:
    first = reads[0]
    if first.spec_id not in source.specs:
        raise CorruptMetadataError(
            f"the table has no partition spec {first.spec_id}", path=first.path, field="partition_spec_id"
        )
    spec = source.specs[first.spec_id]
    wants = _wants(first.header.schema, spec)
    if len(reads) > 1 and all(decodes_at_once(r.header) for r in reads):
        size, expected = sum(len(r.data) for r in reads), sum(r.manifest.live_files for r in reads)
        pairs = ((r.data, r.header) for r in reads)
        together = read_columns_of_files(
            pairs, wants, (), drop=DROP_DELETED, expected=expected, size=size, limits=source.limits
        )
        try:
            found = None if together is None else _carried(together[0], reads, together[1], spec, format_version)
        except CorruptMetadataError:
            found = None  # read alone, the damaged one is named
        if found is not None:
            yield found
            return
    for r in reads:
        raw = read_columns(r.data, wants, (), r.path, header=r.header, drop=DROP_DELETED, limits=source.limits)
        yield _carried(raw, [r], [raw.rows], spec, format_version)


@lru_cache(maxsize=64)
def _wants(schema: bytes, spec: PartitionSpec) -> tuple[Want, ...]:
    values = tuple(Want(f.id, (f.name,), "any") for f in spec.fields)
    members = []
    for member in members_of_writer(schema):
        names = (member.name,)
        if member.id == PARTITION:
            members.append(Want(PARTITION, names, "any", "record", values, raw=True))
        elif member.id in _NUMBERS:
            members.append(Want(member.id, names, raw=True))
        else:
            members.append(Want(member.id, names, "any", "none", raw=True))
    known = {w.id for w in members}
    # What every manifest has, so that a schema without it is refused by name.
    members += [Want(i, ()) for i in sorted(_NUMBERS - known)]
    data_file = Want(DATA_FILE_ID, ("data_file",), "any", "record", tuple(members))
    heads = ((0, "status"), (1, "snapshot_id"), (3, "sequence_number"), (4, "file_sequence_number"))
    return (*(Want(i, (name,)) for i, name in heads), data_file)


def _carried(
    raw: AvroColumns, reads: list[_Read], ends: list[int], spec: PartitionSpec, format_version: int
) -> CarriedEntries:
    path = reads[0].path
    manifests = [r.manifest for r in reads]
    for r, start, stop in zip(reads, [0, *ends], ends, strict=False):
        check_against_list(len(r.data), stop - start, r.path, r.manifest, None)
    inherited = Inherited(manifests, ends)
    status = raw.required((0,), "status").values
    record_count = raw.required((DATA_FILE_ID, 103), "record_count").values
    size = raw.required((DATA_FILE_ID, 104), "file_size_in_bytes").values
    writers = members_of_writer(reads[0].header.schema)
    layout = carried_layout(format_version, spec, writers)
    stored = {m.id: raw[(DATA_FILE_ID, m.id, RAW)].bytes_array(pa.binary()) for m in writers}
    members = {m.id: stored[m.id] if m.id in stored else constant(m.default or b"", raw.rows) for m in layout.members}
    if _FIRST_ROW_ID in members:
        ids = inherited_first_row_ids(raw, inherited, status, record_count)
        valid = to_numpy(pc.is_valid(ids))
        members[_FIRST_ROW_ID] = optional(longs(to_numpy(pc.fill_null(ids, 0)).astype(np.int64)), valid)
    partition = [decode_partition(raw[(DATA_FILE_ID, PARTITION, f.id)], f.type, path, f.name) for f in spec.fields]
    entries = EntryBatch(
        layout=layout,
        status=np.full(raw.rows, EXISTING, np.int64),
        snapshot_id=_snapshot_ids(raw, inherited),
        sequence_number=inherited_sequence_numbers(raw, inherited, status, path),
        file_sequence_number=_file_sequence_numbers(raw, inherited, status),
        members=members,
        partition=partition,
        record_count=record_count,
        size_bytes=size,
    )
    return CarriedEntries(spec, manifests, ends, entries)


def _snapshot_ids(raw: AvroColumns, manifests: Inherited) -> np.ndarray:
    stored = raw[(1,)]
    if stored.known is None:
        return stored.values
    return np.where(
        stored.known, stored.values, manifests.expand([m.added_snapshot_id or 0 for m in manifests.manifests])
    )


def _file_sequence_numbers(raw: AvroColumns, manifests: Inherited, status: np.ndarray) -> np.ndarray:
    """int64[n]; -1: unknown. 0 for files of version 1 manifests."""
    if not raw.has((3,)):
        return np.zeros(raw.rows, np.int64)
    stored = raw[(4,)]
    inherited = np.where(status == ADDED, manifests.expand([m.sequence_number for m in manifests.manifests]), -1)
    return np.where(stored.valid, stored.values, inherited)
