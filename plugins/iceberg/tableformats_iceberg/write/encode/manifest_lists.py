"""Manifest lists: rows of the last snapshot that stay, as their writers encoded them, and rows of new manifests.

Source: Iceberg spec, "Manifest Lists", "First Row ID Assignment".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from tableformats.plugin import CorruptMetadataError, Limits, dataclass, to_numpy
from tableformats.plugin import compute as pc

from ...avro.columns import RawColumn
from ...avro.container import AvroColumns, Want, read_columns, read_header
from ...avro.decode_program import RAW
from ...manifests.entries import ADDED, DELETED, EXISTING, read_entries
from ...manifests.manifest_list import DATA, Manifest, ManifestList, parse_manifest_list
from ...manifests.source import ManifestSource
from .avro_encoding import NOTHING, arrays, constant, join, lengthed, longs, optional, varint
from .avro_files import Codec, container_file, encoded_blocks
from .entry_batches import FieldSummary
from .layouts import Member, list_members, list_schema, list_writers, merged_members

__all__ = ["NO_LIST", "StoredList", "counted", "encode_list", "read_list"]

_BINARY = pa.binary()
_NUMBER_OF = {
    501: "length",
    502: "spec_id",
    517: "content",
    515: "sequence_number",
    516: "min_sequence_number",
    503: "added_snapshot_id",
    504: "added_files",
    505: "existing_files",
    506: "deleted_files",
    512: "added_rows",
    513: "existing_rows",
    514: "deleted_rows",
    520: "first_row_id",
}
_SUMMARIES = 507


@dataclass(frozen=True)
class StoredList:
    """A manifest list that was read: its rows, and for each member the bytes as its writer encoded them."""

    rows: Sequence[Manifest]
    writers: dict[int, Member]
    raw: AvroColumns | None
    decoded: ManifestList | None


def read_list(data: bytes | memoryview, path: str, limits: Limits) -> StoredList:
    """Read a manifest list. Raises as :func:`tableformats_iceberg.manifests.manifest_list.parse_manifest_list`."""
    decoded = parse_manifest_list(data, path, limits)
    header = read_header(data, path)
    writers = list_writers(header.schema)
    wants = [Want(m.id, (m.name,), "any", "none", raw=True) for m in writers]
    raw = read_columns(data, wants, (), path, header=header, expected=len(decoded.manifests), limits=limits)
    if raw.rows != len(decoded.manifests):
        raise CorruptMetadataError("the manifest list has other rows when it is read again", path=path)
    return StoredList(decoded.manifests, {m.id: m for m in writers}, raw, decoded)


NO_LIST = StoredList((), {}, None, None)


def encode_list(
    stored: StoredList,
    kept: np.ndarray,
    new: Sequence[tuple[Manifest, Sequence[FieldSummary]]],
    head: dict[str, str],
    format_version: int,
    first_row_id: int,
    codec: Codec,
) -> tuple[bytes, int]:
    """Encode the list of a new snapshot: new manifests, then those of the last one that stay.

    Parameters
    ----------
    stored : StoredList
        The list of the last snapshot.
    kept : int64[k]
        The rows of it that stay.
    new : sequence of (Manifest, sequence of FieldSummary)
        Rows of new manifests.
    head : dict
        Keys of the header beside ``format-version``.
    first_row_id : int
        The table's next row id. Data manifests without a first row id get one from here on (version 3).

    Returns
    -------
    data : bytes
    next_row_id : int
        The first row id that is free behind the snapshot.
    """
    rows = [manifest for manifest, _ in new] + [stored.rows[i] for i in kept.tolist()]
    next_row_id = first_row_id
    if format_version > 2:
        rows, next_row_id = _with_first_row_ids(rows, first_row_id)
    members = merged_members(list_members(format_version), stored.writers)
    fresh, old = rows[: len(new)], rows[len(new) :]
    summaries = [found for _, found in new]
    parts = [pa.array([], _BINARY)]
    if fresh:
        parts.append(
            join(*(_encoded_summaries(summaries) if m.id == _SUMMARIES else _encoded(m, fresh) for m in members))
        )
    if old:
        parts.append(join(*(_carried(m, stored, kept, old) for m in members)))
    records = pa.concat_arrays(parts)
    metadata = {**head, "format-version": str(format_version)}
    return container_file(list_schema(members), metadata, list(encoded_blocks(records, codec)), codec), next_row_id


def _with_first_row_ids(rows: list[Manifest], next_row_id: int) -> tuple[list[Manifest], int]:
    found = []
    for row in rows:
        if row.content == DATA and row.first_row_id is None:
            row, next_row_id = row._replace(first_row_id=next_row_id), next_row_id + _rows_without_id(row)
        found.append(row)
    return found, next_row_id


def _rows_without_id(row: Manifest) -> int:
    """The most rows of a manifest's files that have no row id of their own yet."""
    assert row.added_rows >= 0 <= row.existing_rows, "rows are counted"
    return row.added_rows + row.existing_rows


def counted(row: Manifest, source: ManifestSource) -> Manifest:
    """The row with the counts that its list may lack: version 2 demands them, and a reader takes 0 for no files.

    Raises as :func:`tableformats_iceberg.manifests.entries.read_entries`.
    """
    files = row.added_files, row.existing_files, row.deleted_files
    if min(*files, row.added_rows, row.existing_rows, row.deleted_rows) >= 0:
        return row
    data, path = source.read_bytes(row)
    entries = read_entries(data, path, row, source.request((), all_statuses=True))
    records = to_numpy(entries.files["record_count"])
    found: dict[str, Any] = {}
    for status, name in ((ADDED, "added"), (EXISTING, "existing"), (DELETED, "deleted")):
        chosen = entries.status == status
        found[f"{name}_files"] = int(np.count_nonzero(chosen))
        found[f"{name}_rows"] = int(records[chosen].sum())
    return row._replace(**found)


def _carried(member: Member, stored: StoredList, kept: np.ndarray, rows: Sequence[Manifest]) -> pa.Array:
    """A member of the rows that stay."""
    own = stored.writers.get(member.id)
    assert stored.raw is not None
    if own is not None and own.encoding == member.encoding and member.id != 520:
        column = stored.raw[(member.id, RAW)].bytes_array(_BINARY)
        return column if len(kept) == len(stored.rows) else pc.take(column, pa.array(kept))
    if member.id == _SUMMARIES:
        return _stored_summaries(stored, kept)
    return _encoded(member, rows)


def _encoded(member: Member, rows: Sequence[Manifest]) -> pa.Array:
    if member.id == 500:
        return lengthed(pa.array([row.path for row in rows], pa.string()))
    name = _NUMBER_OF.get(member.id)
    if name is None:
        return constant(_default_of(member), len(rows))
    values = [getattr(row, name) for row in rows]
    known = np.array([v is not None and (v >= 0 or name == "added_snapshot_id") for v in values], bool)
    assert known.all() or isinstance(member.avro, list), "what version 2 demands is known"
    numbers = longs(np.array([v if k else 0 for v, k in zip(values, known.tolist(), strict=True)], np.int64))
    return optional(numbers, known) if isinstance(member.avro, list) else numbers


def _default_of(member: Member) -> bytes:
    if member.default is not None:
        return member.default
    assert isinstance(member.avro, list)
    return varint(member.avro.index("null"))


def _encoded_summaries(summaries: Sequence[Sequence[FieldSummary]]) -> pa.Array:
    counts = np.array([len(found) for found in summaries])
    every = [f for found in summaries for f in found]
    bounds = [optional(lengthed(pa.array([getattr(f, side) for f in every], _BINARY))) for side in ("lower", "upper")]
    flags = [np.array([getattr(f, name) for f in every], bool) for name in ("contains_null", "contains_nan")]
    items = join(_booleans(flags[0]), optional(_booleans(flags[1])), *bounds) if every else pa.array([], _BINARY)
    return optional(_lists(items, counts))


def _stored_summaries(stored: StoredList, kept: np.ndarray) -> pa.Array:
    """The summaries of the rows that stay, decoded and encoded as the specification has them."""
    assert stored.decoded is not None and stored.decoded.columns is not None, "rows that stay were read"
    columns = stored.decoded.columns
    if not columns.has((_SUMMARIES,)):
        return constant(NOTHING, len(kept))
    offsets = columns[(_SUMMARIES,)].list_offsets()
    counts = np.diff(offsets)[kept]
    items = np.concatenate([np.arange(offsets[i], offsets[i + 1]) for i in kept.tolist()])
    null, nan, lower, upper = (columns[(_SUMMARIES, i)].take(items) for i in (509, 518, 510, 511))
    bounds = [optional(lengthed(_bytes(side))) for side in (lower, upper)]
    # A writer that does not say whether there are nulls has none of a required field; assume there are.
    encoded = join(
        _booleans((null.values != 0) | ~null.valid), optional(_booleans(nan.values != 0), nan.valid), *bounds
    )
    known = columns[(_SUMMARIES,)].valid[kept]
    return optional(_lists(encoded, counts), known)


def _bytes(column: RawColumn) -> pa.Array:
    return column.bytes_array(_BINARY)


def _booleans(values: np.ndarray) -> pa.Array:
    data = values.astype(np.uint8)
    offsets = np.arange(len(values) + 1, dtype=np.int32)
    return pa.Array.from_buffers(_BINARY, len(values), [None, pa.py_buffer(offsets), pa.py_buffer(data)])


def _lists(items: pa.Array, counts: np.ndarray) -> pa.Array:
    return arrays(items, np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)]))
