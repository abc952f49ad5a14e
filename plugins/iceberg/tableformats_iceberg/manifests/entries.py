"""Manifest entries: the live files of one manifest as columns, with what they inherit from the manifest list.

Status 2 (DELETED) is informational and never live. A null sequence number is the manifest's for added files; a null
``first_row_id`` continues from the manifest's. Source: Iceberg spec, "Manifest Entry Fields", "Sequence Number
Inheritance", "First Row ID Inheritance".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from tableformats.plugin import (
    DEFAULT_LIMITS,
    FALSE,
    Bounds,
    CorruptMetadataError,
    Field,
    Limits,
    PartitionSpec,
    Statistics,
    TableFormatsError,
    cached_property,
    repeated,
    scalar,
    to_arrow,
)
from tableformats.plugin import compute as pc

from ..avro.columns import RawColumn
from ..avro.container import ELEMENT, AvroColumns, Header, Want, read_columns, read_columns_together, read_header
from ..avro.schema import Path
from .manifest_list import DATA, Manifest
from .values import decode_bounds, decode_partition

if TYPE_CHECKING:
    from tableformats.plugin import ScanReport

__all__ = [
    "Entries",
    "ManifestStatistics",
    "check_counts",
    "check_length",
    "file_formats",
    "manifest_spec_id",
    "places_of",
    "read_entries",
    "read_entries_together",
    "with_places",
]

_PARQUET = scalar("parquet", pa.string())
_NO_NUMBER = scalar(None, pa.int64())
EXISTING, ADDED, DELETED = 0, 1, 2
_DROP = (0,), DELETED
DATA_FILE, POSITION_DELETES, EQUALITY_DELETES = 0, 1, 2
FILE = 2
"""Field id of ``data_file``, under which everything but status and sequence numbers stands."""
FILE_PATH_ID = 2147483546
"""Reserved id of the column ``file_path`` in position delete files."""


def _map(field_id: int, name: str, key: int, value: int, kind: str) -> Want:
    return Want(field_id, (name,), "any", "map", (Want(key, ("key",)), Want(value, ("value",), kind)))


_FILE_WANTS = (
    Want(134, ("content",)),
    Want(100, ("file_path",), "text"),
    Want(101, ("file_format",), "text"),
    Want(103, ("record_count",)),
    Want(104, ("file_size_in_bytes",)),
    Want(142, ("first_row_id",)),
    Want(132, ("split_offsets",), "int", "list"),
    _map(109, "value_counts", 119, 120, "int"),
    _map(110, "null_value_counts", 121, 122, "int"),
    _map(137, "nan_value_counts", 138, 139, "int"),
    _map(125, "lower_bounds", 126, 127, "bytes"),
    _map(128, "upper_bounds", 129, 130, "bytes"),
)
_DELETE_WANTS = (
    Want(135, ("equality_ids",), "int", "list"),
    Want(143, ("referenced_data_file",), "text"),
    Want(144, ("content_offset",)),
    Want(145, ("content_size_in_bytes",)),
)


@dataclass
class Entries:
    """The entries of one manifest that are live (or all of them), one row each.

    ``files`` has path, size_bytes, record_count, partition, file_format (of data files only where not all are
    Parquet), split_offsets, data_sequence_number, first_row_id, and of deletes what applies to them (``only_path``: see
    :func:`_only_path`). ``columns`` are the raw columns, of which ``rows`` are these entries (None: all), ``added_by``
    the snapshot that added the manifest.
    """

    spec_id: int
    files: pa.RecordBatch
    columns: AvroColumns
    added_by: int | None
    rows: np.ndarray | None = None

    @cached_property
    def nbytes(self) -> int:
        """Memory that the entries hold, of what they share with others their part."""
        return int(self.files.nbytes) + self.columns.nbytes * self.files.num_rows // max(self.columns.rows, 1)

    @cached_property
    def statistics(self) -> ManifestStatistics:
        return ManifestStatistics(self.columns, self.rows)

    @property
    def status(self) -> np.ndarray:
        """int64[n]: 0 existing, 1 added, 2 deleted."""
        return self.columns[(0,)].take(self.rows).values

    @property
    def snapshot_ids(self) -> pa.Array:
        """int64[n]: the snapshot that added (or deleted) each file; null where nothing says it."""
        own = self.columns[(1,)].take(self.rows).int_array()
        return pc.fill_null(own, scalar(self.added_by, pa.int64()))

    def of(self, manifest: Manifest, start: int, stop: int) -> Entries:
        """The rows ``start`` to ``stop`` of entries that were read together, which are those of ``manifest``."""
        files = self.files.slice(start, stop - start)
        return Entries(self.spec_id, files, self.columns, manifest.added_snapshot_id, np.arange(start, stop))

    def take(self, kept: np.ndarray) -> Entries:
        """The entries at ``kept`` (int64 indices)."""
        if len(kept) == self.files.num_rows:
            return self
        rows = kept if self.rows is None else self.rows[kept]
        return Entries(self.spec_id, pc.take(self.files, to_arrow(kept)), self.columns, self.added_by, rows)


def places_of(manifests: Sequence[int], counts: Sequence[int]) -> dict[str, pa.Int32Array]:
    """Where files stand that are those of some manifests (their places in the list), ``counts`` of each: ``manifest``,
    and ``entry``, the place among the manifest's files."""
    ends = np.cumsum(counts, dtype=np.int32)
    entry = np.arange(ends[-1], dtype=np.int32) - np.repeat(ends - np.asarray(counts, np.int32), counts)
    return {"manifest": to_arrow(np.repeat(np.array(manifests, np.int32), counts)), "entry": to_arrow(entry)}


def with_places(files: pa.RecordBatch, manifests: Sequence[int], counts: Sequence[int]) -> pa.RecordBatch:
    """``files`` of some manifests, and where they stand: see :func:`places_of`."""
    for name, values in places_of(manifests, counts).items():
        files = files.append_column(name, values)
    return files


class ManifestStatistics(Statistics):
    """Bounds and counts of the live files of one manifest; typed when asked for."""

    def __init__(self, columns: AvroColumns, rows: np.ndarray | None) -> None:
        self._columns = columns
        self._rows = rows

    def bounds(self, columns: Sequence[Field], rows: np.ndarray | None) -> Bounds:
        """See :meth:`tableformats.plugin.Statistics.bounds`. Cost: O(files x columns), no Python object a file."""
        at = self._rows if rows is None else rows if self._rows is None else self._rows[rows]
        if at is not None and len(at) == self._columns.rows:
            at = None
        found = Bounds()
        for side, field_id in ((found.value_count, 109), (found.null_count, 110), (found.nan_count, 137)):
            raw = self._columns.map_columns((FILE, field_id))
            for column in columns:
                counts = raw[column.id].take(at) if column.id in raw else None
                if counts is not None and counts.null_count < len(counts):
                    unknown = counts.values < 0 if counts.mask is None else counts.mask | (counts.values < 0)
                    side[column.id] = to_arrow(counts.values, valid=~unknown)
        for side, field_id in ((found.lower, 125), (found.upper, 128)):
            raw = self._columns.map_columns((FILE, field_id))
            for column in columns:
                if column.id in raw:
                    values = decode_bounds(raw[column.id].take(at), column, field_id == 125)
                    if values is not None:
                        side[column.id] = values
        return found


def manifest_spec_id(header: Header, manifest: Manifest, default: int) -> int:
    """The spec of a manifest: as its list says, else as its header says, else the table's default."""
    if manifest.spec_id is not None:
        return manifest.spec_id
    text = header.text("partition-spec-id")
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 10 else default


def read_entries(
    data: bytes | memoryview,
    path: str,
    manifest: Manifest,
    specs: Mapping[int, PartitionSpec],
    default_spec_id: int,
    columns: Iterable[int],
    report: ScanReport | None = None,
    all_statuses: bool = False,
    limits: Limits = DEFAULT_LIMITS,
    threads: int = 1,
) -> Entries:
    """Decode a manifest.

    Parameters
    ----------
    data, path : the manifest's bytes, and where they came from
    specs : all specs of the table
    columns : field ids whose bounds and counts are decoded too
    all_statuses : also entries with status 2, for people to look at
    threads : that may share a large manifest

    Raises
    ------
    CorruptMetadataError : damage, required values missing, a spec that the table does not have
    LimitExceededError : see :func:`read_columns`
    """
    check_length(len(data), path, manifest, report)
    header = read_header(data, path)
    spec_id = manifest_spec_id(header, manifest, default_spec_id)
    if spec_id not in specs:
        raise CorruptMetadataError(f"the table has no partition spec {spec_id}", path=path, field="partition_spec_id")
    spec = specs[spec_id]
    drop = None if all_statuses else _DROP
    wants = _wants(spec, manifest.content)
    raw = read_columns(data, wants, sorted(set(columns)), path, header, drop, manifest.live_files, limits, threads)
    if not all_statuses:
        check_counts(manifest, raw.rows, path, report)
    files = _files(raw, _Manifests([manifest], [raw.rows]), spec, path)
    return Entries(spec_id, files, raw, manifest.added_snapshot_id)


def read_entries_together(
    found: Iterable[tuple[bytes | memoryview, Header, Manifest]],
    expected: Sequence[Manifest],
    spec: PartitionSpec,
    columns: Iterable[int],
    limits: Limits = DEFAULT_LIMITS,
) -> tuple[Entries, list[int]] | None:
    """The live entries of several manifests of one kind, writer's schema and spec, one behind the other, and how many
    there are up to the end of each. None where something is odd: :func:`read_entries` says of which, and what.

    Parameters
    ----------
    found : the bytes of each manifest, its header, and what its list says; see :func:`read_columns_together`
    expected : the manifests that it may come to, or some of them: there is room for so much
    columns : field ids whose bounds and counts are decoded too
    """
    manifests: list[Manifest] = []

    def files() -> Iterator[tuple[bytes | memoryview, Header]]:
        for data, header, manifest in found:
            manifests.append(manifest)
            yield data, header

    wants, records = _wants(spec, expected[0].content), sum(m.live_files for m in expected)
    size = sum(max(m.length, 0) for m in expected)
    try:
        decoded = read_columns_together(files(), wants, sorted(set(columns)), _DROP, records, size, limits)
        if decoded is None:
            return None
        raw, ends = decoded
        return Entries(spec.id, _files(raw, _Manifests(manifests, ends), spec, ""), raw, None), ends
    except TableFormatsError:
        return None


@dataclass
class _Manifests:
    """Manifests of one content; the entries up to ``ends[i]`` are those of the i-th."""

    manifests: Sequence[Manifest]
    ends: Sequence[int]

    @property
    def content(self) -> int:
        return self.manifests[0].content

    @cached_property
    def starts(self) -> np.ndarray:
        """int64[n manifests]"""
        return np.array([0, *self.ends[:-1]], np.int64)

    def spread(self, values: Sequence[int] | np.ndarray) -> np.ndarray:
        """What each manifest has, for each of its entries."""
        return np.repeat(np.asarray(values), np.diff(self.ends, prepend=0))


def _files(raw: AvroColumns, manifests: _Manifests, spec: PartitionSpec, path: str) -> pa.RecordBatch:
    status = raw.required((0,), "status").values
    _refuse((status < EXISTING) | (status > DELETED), "an entry has an unknown status", path, "status")
    columns = _file_columns(raw, manifests, spec, status, path)
    return pa.RecordBatch.from_arrays(list(columns.values()), list(columns))


def _refuse(wrong: np.ndarray, message: str, path: str, name: str) -> None:
    if wrong.any():
        raise CorruptMetadataError(message, path=path, field=name)


@lru_cache(maxsize=64)
def _wants(spec: PartitionSpec, content: int) -> tuple[Want, ...]:
    partition = Want(102, ("partition",), "any", "record", tuple(Want(f.id, (f.name,), "any") for f in spec.fields))
    members = (*_FILE_WANTS, partition, *(() if content == DATA else _DELETE_WANTS))
    return (
        Want(0, ("status",)),
        Want(1, ("snapshot_id",)),
        Want(3, ("sequence_number",)),
        Want(FILE, ("data_file",), "any", "record", members),
    )


def check_length(size: int, path: str, manifest: Manifest, report: ScanReport | None) -> None:
    """A manifest cut at a block boundary is valid Avro: only its length tells. Raises CorruptMetadataError."""
    if manifest.length < 0 or size == manifest.length:
        return
    if size < manifest.length:
        raise CorruptMetadataError(
            f"the manifest has {size} bytes, its list says {manifest.length}",
            path=path,
            offset=size,
            field="manifest_length",
            hint="The file was cut; restore it",
        )
    if report is not None:
        report.note(f"the manifest {path!r} is longer than its list says")


def check_counts(manifest: Manifest, live: int, path: str, report: ScanReport | None) -> None:
    """Note in ``report`` where the manifest's list counts other live files."""
    known = manifest.added_files >= 0 and manifest.existing_files >= 0
    if known and live != manifest.added_files + manifest.existing_files and report is not None:
        report.note(f"the manifest {path!r} has {live} live files, its list says {manifest.live_files}")


def _file_columns(
    raw: AvroColumns, manifests: _Manifests, spec: PartitionSpec, status: np.ndarray, path: str
) -> dict[str, pa.Array]:
    content = raw[(FILE, 134)].integers(DATA_FILE)
    is_data = manifests.content == DATA
    strange = content != DATA_FILE if is_data else (content != POSITION_DELETES) & (content != EQUALITY_DELETES)
    _refuse(strange, "a file's content does not fit its manifest's", path, "content")
    record_count = raw.required((FILE, 103), "record_count").values
    size = raw.required((FILE, 104), "file_size_in_bytes").values
    _refuse((record_count | size) < 0, "a file has a negative size or record count", path, "record_count")
    raw.required((FILE, 100), "file_path")
    columns = {
        "path": raw.strings((FILE, 100), "file_path"),
        "size_bytes": to_arrow(size),
        "record_count": to_arrow(record_count),
        "partition": _partition(raw, spec, path),
        "split_offsets": _int_lists(raw, (FILE, 132), pa.int64()),
        "data_sequence_number": to_arrow(_sequence_numbers(raw, manifests, status, path)),
        "first_row_id": _first_row_ids(raw, manifests, status, record_count),
    }
    if not is_data or not _all_parquet(raw[(FILE, 101)]):
        columns["file_format"] = file_formats(raw)
    return columns if is_data else columns | _delete_columns(raw, content)


def _partition(raw: AvroColumns, spec: PartitionSpec, path: str) -> pa.Array:
    if not spec.fields:
        return pa.StructArray.from_buffers(pa.struct([]), raw.rows, [None])
    values = [decode_partition(raw[(FILE, 102, f.id)], f.type, path, f.name) for f in spec.fields]
    return pa.StructArray.from_arrays(values, names=[str(f.id) for f in spec.fields])


def _all_parquet(formats: RawColumn) -> bool:
    """Whether every file is Parquet, in the spelling that writers use."""
    if formats.known is not None or formats.width != 7 or formats.data is None:
        return False
    return formats.data.tobytes() == b"PARQUET" * len(formats)


def file_formats(raw: AvroColumns) -> pa.Array:
    """string[rows]: the files' formats in lower case."""
    return pc.fill_null(pc.utf8_lower(raw.strings((FILE, 101), "file_format")), _PARQUET)


def _sequence_numbers(raw: AvroColumns, manifests: _Manifests, status: np.ndarray, path: str) -> np.ndarray:
    """int64[n]: data sequence numbers; 0 for files of version 1 manifests."""
    own = raw[(3,)]
    if not raw.has((3,)):
        return np.zeros(raw.rows, np.int64)
    if own.known is None:
        return own.values
    inherited = manifests.spread([m.sequence_number for m in manifests.manifests])
    orphans = ~own.known & (status == EXISTING) & (inherited != 0)
    _refuse(orphans, "an existing file has no sequence number", path, "sequence_number")
    return np.where(own.known, own.values, inherited)


def _first_row_ids(raw: AvroColumns, manifests: _Manifests, status: np.ndarray, record_count: np.ndarray) -> pa.Array:
    """int64[n], null where the manifest has none: a null id is the manifest's plus the records of the live files
    before it whose id was null too."""
    firsts = [m.first_row_id for m in manifests.manifests]
    if manifests.content != DATA or all(first is None for first in firsts):
        return repeated(_NO_NUMBER, raw.rows)
    own = raw[(FILE, 142)]
    unassigned = ~own.valid & (status != DELETED)
    ends = np.cumsum(np.where(unassigned, record_count, 0))
    before = ends - np.where(unassigned, record_count, 0)
    before -= manifests.spread(np.append(0, ends)[manifests.starts])
    ids = np.where(own.valid, own.values, manifests.spread([first or 0 for first in firsts]) + before)
    has_ids = manifests.spread([first is not None for first in firsts])
    return to_arrow(ids, valid=(own.valid | unassigned) & has_ids)


def _int_lists(raw: AvroColumns, path: Path, kind: pa.DataType) -> pa.ListArray:
    """list<kind>[n]; empty where there is none."""
    elements = (*path, ELEMENT)
    offsets = to_arrow(raw[path].list_offsets().astype(np.int32))
    return pa.ListArray.from_arrays(offsets, raw[elements].int_array(kind))


def _delete_columns(raw: AvroColumns, content: np.ndarray) -> dict[str, pa.Array]:
    return {
        "content": to_arrow(content.astype(np.int32)),
        "equality_ids": _int_lists(raw, (FILE, 135), pa.int32()),
        "referenced_data_file": raw.strings((FILE, 143), "referenced_data_file"),
        "content_offset": raw[(FILE, 144)].int_array(),
        "content_size_in_bytes": raw[(FILE, 145)].int_array(),
        "only_path": _only_path(raw),
    }


def _only_path(raw: AvroColumns) -> pa.Array:
    """string[n]: the only path that a position delete file names, where its bounds of ``file_path`` are equal. They are
    let go of then: paths are most of what delete files' entries hold."""
    lower, upper = (raw.map_columns((FILE, i)).pop(FILE_PATH_ID, None) for i in (125, 128))
    if lower is None or upper is None:
        return pa.nulls(raw.rows, pa.string())
    low, high = (bound.bytes_array(pa.binary()) for bound in (lower, upper))
    same = pc.fill_null(pc.equal(low, high), FALSE)
    if not pc.all(same, min_count=0).as_py():
        low = pc.if_else(same, low, scalar(None, pa.binary()))
    try:
        return pc.cast(low, pa.string())
    except pa.ArrowInvalid:
        # Not UTF-8, so no path: these files are matched by partition.
        return pa.nulls(raw.rows, pa.string())
