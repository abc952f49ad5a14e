"""Manifest entries: the live files of a manifest as columns, with what they inherit from the manifest list.

Entries of status 2 (DELETED) are never live. An added file without a sequence number has the manifest's. Files without
a ``first_row_id`` are numbered from the manifest's. Source: Iceberg spec, "Manifest Entry Fields", "Sequence Number
Inheritance", "First Row ID Inheritance".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from tableformats.plugin import (
    DEFAULT_LIMITS,
    FALSE,
    CorruptMetadataError,
    Limits,
    PartitionSpec,
    TableFormatsError,
    cached_property,
    dataclass,
    repeated,
    scalar,
    to_arrow,
    to_numpy,
    whole_number,
)
from tableformats.plugin import compute as pc

from ..avro.columns import RawColumn
from ..avro.container import ELEMENT, AvroColumns, Header, Want, read_columns, read_columns_of_files, read_header
from ..avro.decode_program import Path
from .manifest_list import DATA, Manifest
from .statistics import DATA_FILE_ID, ManifestStatistics
from .values import decode_partition

if TYPE_CHECKING:
    from tableformats.plugin import ScanReport

__all__ = [
    "DROP_DELETED",
    "Entries",
    "EntriesRequest",
    "Inherited",
    "check_against_list",
    "entry_positions",
    "file_formats",
    "inherited_first_row_ids",
    "inherited_sequence_numbers",
    "manifest_spec_id",
    "read_entries",
    "read_entries_of_manifests",
    "with_entry_positions",
]

_PARQUET = scalar("parquet", pa.string())
_NO_NUMBER = scalar(None, pa.int64())
EXISTING, ADDED, DELETED = 0, 1, 2
DROP_DELETED = (0,), DELETED
DATA_FILE, POSITION_DELETES, EQUALITY_DELETES = 0, 1, 2
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
    """Entries of one manifest, or of several of one spec: the live ones or all, one row each.

    Attributes
    ----------
    spec_id : int
        The partition spec of all files.
    files : pyarrow.RecordBatch
        ``path``, ``size_bytes``, ``record_count``, ``partition``, ``split_offsets``, ``data_sequence_number`` and
        ``first_row_id``. ``file_format`` if the files are deletes or not all Parquet. Deletes also have the columns of
        :func:`_delete_columns`.
    columns : AvroColumns
        The decoded columns of the manifests.
    added_by : int, optional
        The id of the snapshot that added the manifest.
    rows : int64[n], optional
        The rows of ``columns`` that are these entries. None: all.
    """

    spec_id: int
    files: pa.RecordBatch
    columns: AvroColumns
    added_by: int | None
    rows: np.ndarray | None = None

    @cached_property
    def nbytes(self) -> int:
        """Memory that the entries hold. Of columns that several manifests share, their part."""
        return int(self.files.nbytes) + self.columns.nbytes * self.files.num_rows // max(self.columns.rows, 1)

    def given(self, status: int, snapshot_id: int) -> np.ndarray:
        """int64[k]: the rows to which a snapshot gave the status."""
        is_own = to_numpy(pc.fill_null(pc.equal(self.snapshot_ids, snapshot_id), False))
        return np.flatnonzero((self.status == status) & is_own)

    @cached_property
    def statistics(self) -> ManifestStatistics:
        """Bounds and counts of the files."""
        return ManifestStatistics(self.columns, self.rows)

    @property
    def status(self) -> np.ndarray:
        """int64[n]: 0 existing, 1 added, 2 deleted."""
        return self.columns[(0,)].take(self.rows).values

    @property
    def snapshot_ids(self) -> pa.Array:
        """int64[n]: the snapshot that added (or deleted) each file. Null: unknown."""
        stored = self.columns[(1,)].take(self.rows).int_array()
        return pc.fill_null(stored, scalar(self.added_by, pa.int64()))

    def slice(self, manifest: Manifest, start: int, stop: int) -> Entries:
        """The entries of ``manifest``: the rows from ``start`` to before ``stop`` of entries of several manifests."""
        files = self.files.slice(start, stop - start)
        return Entries(self.spec_id, files, self.columns, manifest.added_snapshot_id, np.arange(start, stop))

    def take(self, indices: np.ndarray) -> Entries:
        """The entries at ``indices`` (int64[k])."""
        if len(indices) == self.files.num_rows:
            return self
        rows = indices if self.rows is None else self.rows[indices]
        return Entries(self.spec_id, pc.take(self.files, to_arrow(indices)), self.columns, self.added_by, rows)


def entry_positions(manifests: Sequence[int], counts: Sequence[int]) -> dict[str, pa.Int32Array]:
    """Columns that say which entry each file is.

    Parameters
    ----------
    manifests : sequence of int
        The index of each manifest in the manifest list.
    counts : sequence of int
        The number of live files of each manifest.

    Returns
    -------
    dict
        ``manifest``, the index of the file's manifest, and ``entry``, the index of the file among the manifest's live
        files: int32[sum of counts] each.
    """
    ends = np.cumsum(counts, dtype=np.int32)
    entry = np.arange(ends[-1], dtype=np.int32) - np.repeat(ends - np.asarray(counts, np.int32), counts)
    return {"manifest": to_arrow(np.repeat(np.array(manifests, np.int32), counts)), "entry": to_arrow(entry)}


def with_entry_positions(files: pa.RecordBatch, manifests: Sequence[int], counts: Sequence[int]) -> pa.RecordBatch:
    """``files`` with the columns of :func:`entry_positions`."""
    for name, values in entry_positions(manifests, counts).items():
        files = files.append_column(name, values)
    return files


def manifest_spec_id(header: Header, manifest: Manifest, default: int) -> int:
    """The spec of a manifest: from the manifest list, else from its header, else the table's default."""
    found = whole_number(header.text("partition-spec-id")) if manifest.spec_id is None else manifest.spec_id
    return default if found is None else found


@dataclass(frozen=True)
class EntriesRequest:
    """What is decoded of manifests.

    Attributes
    ----------
    specs : mapping of int to PartitionSpec
        All specs of the table.
    default_spec_id : int
    columns : sequence of int
        Ids of the fields whose bounds and counts are decoded too.
    all_statuses : bool
        Also entries of status 2. For metadata tables.
    limits : Limits
    threads : int
        How many threads may share a large manifest.
    """

    specs: Mapping[int, PartitionSpec]
    default_spec_id: int = 0
    columns: Sequence[int] = ()
    all_statuses: bool = False
    limits: Limits = field(default=DEFAULT_LIMITS)
    threads: int = 1

    @property
    def keys(self) -> list[int]:
        """The columns as keys of the maps of bounds and counts."""
        return sorted(set(self.columns))


def read_entries(
    data: bytes | memoryview, path: str, manifest: Manifest, request: EntriesRequest, report: ScanReport | None = None
) -> Entries:
    """Decode a manifest.

    Parameters
    ----------
    data, path : bytes or memoryview, and str
        The manifest's bytes, and its path for errors.
    manifest : Manifest
        Its row of the manifest list.
    request : EntriesRequest
    report : ScanReport, optional
        Notes where the manifest list contradicts the manifest.

    Raises
    ------
    CorruptMetadataError
        The manifest is damaged, lacks required values, or names a spec that the table does not have.
    LimitExceededError
        See :func:`tableformats_iceberg.avro.container.read_columns`.
    """
    try:
        return _read_entries(data, path, manifest, request, report)
    except CorruptMetadataError as error:
        if is_cut(len(data), manifest) and error.field != "manifest_length":
            raise cut_error(len(data), path, manifest) from error
        raise


def _read_entries(
    data: bytes | memoryview, path: str, manifest: Manifest, request: EntriesRequest, report: ScanReport | None
) -> Entries:
    header = read_header(data, path)
    spec_id = manifest_spec_id(header, manifest, request.default_spec_id)
    if spec_id not in request.specs:
        raise CorruptMetadataError(f"the table has no partition spec {spec_id}", path=path, field="partition_spec_id")
    spec = request.specs[spec_id]
    drop = None if request.all_statuses else DROP_DELETED
    raw = read_columns(
        data,
        _wants(spec, manifest.content),
        request.keys,
        path,
        header=header,
        drop=drop,
        expected=manifest.live_files,
        limits=request.limits,
        threads=request.threads,
    )
    files = _files(raw, Inherited([manifest], [raw.rows]), spec, path)
    live = np.count_nonzero(raw[(0,)].values != DELETED) if request.all_statuses else raw.rows
    check_against_list(len(data), int(live), path, manifest, report)
    return Entries(spec_id, files, raw, manifest.added_snapshot_id)


def read_entries_of_manifests(
    found: Iterable[tuple[bytes | memoryview, Header, Manifest]],
    expected: Sequence[Manifest],
    spec: PartitionSpec,
    request: EntriesRequest,
) -> tuple[Entries, list[int]] | None:
    """Decode the live entries of several manifests of one content, writer's schema and spec, one after the other.

    Parameters
    ----------
    found : iterable of (bytes or memoryview, Header, Manifest)
        The bytes of each manifest, its header, and its row of the manifest list. See
        :func:`tableformats_iceberg.avro.container.read_columns_of_files`.
    expected : sequence of Manifest
        The manifests that ``found`` may contain. Memory is reserved for these.
    spec : PartitionSpec
        The spec of all manifests in ``found``.
    request : EntriesRequest

    Returns
    -------
    tuple of (Entries, list of int), optional
        The entries, and for each manifest the row at which it ends. None: a manifest is irregular. Read the
        manifests with :func:`read_entries` then; the damaged one raises its error.
    """
    manifests: list[Manifest] = []

    def files() -> Iterator[tuple[bytes | memoryview, Header]]:
        for data, header, manifest in found:
            manifests.append(manifest)
            yield data, header

    wants, records = _wants(spec, expected[0].content), sum(m.live_files for m in expected)
    size = sum(max(m.length, 0) for m in expected)
    try:
        decoded = read_columns_of_files(
            files(), wants, request.keys, drop=DROP_DELETED, expected=records, size=size, limits=request.limits
        )
        if decoded is None:
            return None
        raw, ends = decoded
        return Entries(spec.id, _files(raw, Inherited(manifests, ends), spec, ""), raw, None), ends
    except TableFormatsError:
        return None


@dataclass
class Inherited:
    """What entries inherit from their manifests, which have one content. The i-th manifest's end before ``ends[i]``."""

    manifests: Sequence[Manifest]
    ends: Sequence[int]

    @property
    def content(self) -> int:
        return self.manifests[0].content

    @cached_property
    def starts(self) -> np.ndarray:
        """int64[n manifests]: the first entry of each manifest."""
        return np.array([0, *self.ends[:-1]], np.int64)

    def expand(self, values: Sequence[int] | np.ndarray) -> np.ndarray:
        """Repeat the value of each manifest for each of its entries."""
        return np.repeat(np.asarray(values), np.diff(self.ends, prepend=0))


def _files(raw: AvroColumns, manifests: Inherited, spec: PartitionSpec, path: str) -> pa.RecordBatch:
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
        Want(DATA_FILE_ID, ("data_file",), "any", "record", members),
    )


def is_cut(size: int, manifest: Manifest) -> bool:
    """Whether a manifest of ``size`` bytes is shorter than the manifest list says."""
    return size < manifest.length


def cut_error(size: int, path: str, manifest: Manifest) -> CorruptMetadataError:
    """What is wrong with a manifest that is shorter than its list says, and does not have the entries to explain it."""
    return CorruptMetadataError(
        f"the manifest has {size} bytes, its list says {manifest.length}",
        path=path,
        offset=size,
        field="manifest_length",
        hint="The file was cut; restore it",
    )


def check_against_list(size: int, live: int, path: str, manifest: Manifest, report: ScanReport | None) -> None:
    """Compare the length of a manifest that was decoded to its end, and its number of live files, with the list's.

    A manifest that was cut at a block boundary is valid Avro, so only length and counts tell. One that is shorter than
    the list says, but has all live files that the list counts, was not cut: the list has another file's length, or the
    manifest was rewritten. What differs is noted in ``report``.

    Raises
    ------
    CorruptMetadataError
        It has another length and other counts; or it is shorter, and the list has no counts.
    """
    is_counted = manifest.added_files >= 0 and manifest.existing_files >= 0
    if is_cut(size, manifest) and not (is_counted and live == manifest.live_files):
        raise cut_error(size, path, manifest)
    is_other = manifest.length >= 0 and size != manifest.length
    if is_other and is_counted and live != manifest.live_files:
        raise CorruptMetadataError(
            f"the manifest has {size} bytes and {live} live files, "
            f"its list says {manifest.length} and {manifest.live_files}",
            path=path,
            field="manifest_length",
            hint="It is not the manifest that the list names; restore that one",
        )
    if report is None:
        return
    if is_other:
        report.note(f"the manifest {path!r} has {size} bytes, its list says {manifest.length}")
    if is_counted and live != manifest.live_files:
        report.note(f"the manifest {path!r} has {live} live files, its list says {manifest.live_files}")


def _file_columns(
    raw: AvroColumns, manifests: Inherited, spec: PartitionSpec, status: np.ndarray, path: str
) -> dict[str, pa.Array]:
    content = raw[(DATA_FILE_ID, 134)].integers(DATA_FILE)
    is_data = manifests.content == DATA
    unexpected = content != DATA_FILE if is_data else (content != POSITION_DELETES) & (content != EQUALITY_DELETES)
    _refuse(unexpected, "a file's content does not fit its manifest's", path, "content")
    record_count = raw.required((DATA_FILE_ID, 103), "record_count").values
    size = raw.required((DATA_FILE_ID, 104), "file_size_in_bytes").values
    _refuse((record_count | size) < 0, "a file has a negative size or record count", path, "record_count")
    raw.required((DATA_FILE_ID, 100), "file_path")
    columns = {
        "path": raw.strings((DATA_FILE_ID, 100), "file_path"),
        "size_bytes": to_arrow(size),
        "record_count": to_arrow(record_count),
        "partition": _partition(raw, spec, path),
        "split_offsets": _int_lists(raw, (DATA_FILE_ID, 132), pa.int64()),
        "data_sequence_number": to_arrow(inherited_sequence_numbers(raw, manifests, status, path)),
        "first_row_id": inherited_first_row_ids(raw, manifests, status, record_count),
    }
    if not is_data or not _all_parquet(raw[(DATA_FILE_ID, 101)]):
        columns["file_format"] = file_formats(raw)
    return columns if is_data else columns | _delete_columns(raw, content, path)


def _partition(raw: AvroColumns, spec: PartitionSpec, path: str) -> pa.Array:
    if not spec.fields:
        return pa.StructArray.from_buffers(pa.struct([]), raw.rows, [None])
    values = [decode_partition(raw[(DATA_FILE_ID, 102, f.id)], f.type, path, f.name) for f in spec.fields]
    return pa.StructArray.from_arrays(values, names=[str(f.id) for f in spec.fields])


def _all_parquet(formats: RawColumn) -> bool:
    """Whether every format is ``PARQUET``, the spelling that writers use."""
    if formats.known is not None or formats.width != 7 or formats.data is None:
        return False
    return formats.data.tobytes() == b"PARQUET" * len(formats)


def file_formats(raw: AvroColumns) -> pa.Array:
    """string[rows]: the files' formats in lower case."""
    return pc.fill_null(pc.utf8_lower(raw.strings((DATA_FILE_ID, 101), "file_format")), _PARQUET)


def inherited_sequence_numbers(raw: AvroColumns, manifests: Inherited, status: np.ndarray, path: str) -> np.ndarray:
    """int64[n]: data sequence numbers. 0 for files of version 1 manifests."""
    stored = raw[(3,)]
    if not raw.has((3,)):
        return np.zeros(raw.rows, np.int64)
    if stored.known is None:
        return stored.values
    inherited = manifests.expand([m.sequence_number for m in manifests.manifests])
    missing = ~stored.known & (status == EXISTING) & (inherited != 0)
    _refuse(missing, "an existing file has no sequence number", path, "sequence_number")
    return np.where(stored.known, stored.values, inherited)


def inherited_first_row_ids(
    raw: AvroColumns, manifests: Inherited, status: np.ndarray, record_count: np.ndarray
) -> pa.Array:
    """int64[n]: first row ids; null where the manifest has none.

    A live file without an id gets the manifest's, plus the records of the manifest's files without an id before it.
    """
    of_manifests = [m.first_row_id for m in manifests.manifests]
    if manifests.content != DATA or all(first is None for first in of_manifests):
        return repeated(_NO_NUMBER, raw.rows)
    stored = raw[(DATA_FILE_ID, 142)]
    unassigned = ~stored.valid & (status != DELETED)
    counted = np.where(unassigned, record_count, 0)
    ends = np.cumsum(counted)
    before = ends - counted
    before -= manifests.expand(np.append(0, ends)[manifests.starts])
    ids = np.where(stored.valid, stored.values, manifests.expand([first or 0 for first in of_manifests]) + before)
    has_ids = manifests.expand([first is not None for first in of_manifests])
    return to_arrow(ids, valid=(stored.valid | unassigned) & has_ids)


def _int_lists(raw: AvroColumns, path: Path, kind: pa.DataType) -> pa.ListArray:
    """list<kind>[n]; empty lists where there is none."""
    elements = (*path, ELEMENT)
    offsets = to_arrow(raw[path].list_offsets().astype(np.int32))
    return pa.ListArray.from_arrays(offsets, raw[elements].int_array(kind))


def _delete_columns(raw: AvroColumns, content: np.ndarray, path: str) -> dict[str, pa.Array]:
    ids = raw[(DATA_FILE_ID, 135, ELEMENT)].values
    _refuse(ids != ids.astype(np.int32), "a field id does not fit into 32 bits", path, "equality_ids")
    return {
        "content": to_arrow(content.astype(np.int32)),
        "equality_ids": _int_lists(raw, (DATA_FILE_ID, 135), pa.int32()),
        "referenced_data_file": raw.strings((DATA_FILE_ID, 143), "referenced_data_file"),
        "content_offset": raw[(DATA_FILE_ID, 144)].int_array(),
        "content_size_in_bytes": raw[(DATA_FILE_ID, 145)].int_array(),
        "only_path": _only_path(raw),
    }


def _only_path(raw: AvroColumns) -> pa.Array:
    """string[n]: the data file that a position delete file names alone: its bounds of ``file_path`` are equal.

    Removes these bounds from ``raw``, because they are most of the memory of delete entries and not needed again.
    """
    lower, upper = (raw.map_columns((DATA_FILE_ID, i)).pop(FILE_PATH_ID, None) for i in (125, 128))
    if lower is None or upper is None:
        return pa.nulls(raw.rows, pa.string())
    low, high = (bound.bytes_array(pa.binary()) for bound in (lower, upper))
    same = pc.fill_null(pc.equal(low, high), FALSE)
    if not pc.all(same).as_py():
        low = pc.if_else(same, low, scalar(None, pa.binary()))
    try:
        return pc.cast(low, pa.string())
    except pa.ArrowInvalid:
        # The bounds are not UTF-8, so they are not paths. Match these files by partition.
        return pa.nulls(raw.rows, pa.string())
