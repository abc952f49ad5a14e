"""The metadata tables that list files: ``entries``, ``files``, ``data_files``, ``delete_files`` and ``partitions``.

Unlike plans, they have all that a manifest says of a file, and paths as they are stored.
Source: Iceberg documentation, "Spark Queries", "Inspecting tables"; Iceberg spec, "Manifest Entry Fields", "Data File
Fields".
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tableformats.plugin import Bounds, CorruptMetadataError, Field, arrow_type, partition_members

from ..avro.container import ELEMENT, AvroColumns, Want, read_columns
from ..manifests.entries import (
    ADDED,
    DATA_FILE,
    DELETED,
    EQUALITY_DELETES,
    POSITION_DELETES,
    Entries,
    file_formats,
)
from ..manifests.manifest_list import Manifest
from ..manifests.statistics import DATA_FILE_ID
from .snapshot_view import SnapshotView

__all__ = ["entries_table", "files_table", "partitions_table"]

_MAPS = {
    "column_sizes": (108, 117, 118),
    "value_counts": (109, 119, 120),
    "null_value_counts": (110, 121, 122),
    "nan_value_counts": (137, 138, 139),
    "lower_bounds": (125, 126, 127),
    "upper_bounds": (128, 129, 130),
}
"""Field ids of each map by column, of its keys, and of its values."""
_BOUNDS = ("lower_bounds", "upper_bounds")
_WANTS = (
    Want(4, ("file_sequence_number",)),
    Want(
        DATA_FILE_ID,
        ("data_file",),
        "any",
        "record",
        (
            *(
                Want(i, (name,), "any", "list", (Want(key, ("key",)), Want(value, ("value",))))
                for name, (i, key, value) in _MAPS.items()
                if name not in _BOUNDS
            ),
            *(
                Want(
                    _MAPS[name][0],
                    (name,),
                    "any",
                    "list",
                    (Want(_MAPS[name][1], ("key",)), Want(_MAPS[name][2], ("value",), "bytes")),
                )
                for name in _BOUNDS
            ),
            Want(131, ("key_metadata",), "bytes"),
            Want(132, ("split_offsets",), "int", "list"),
            Want(135, ("equality_ids",), "int", "list"),
            Want(140, ("sort_order_id",)),
            Want(143, ("referenced_data_file",), "text"),
            Want(144, ("content_offset",)),
            Want(145, ("content_size_in_bytes",)),
        ),
    ),
)
_TIME = pa.timestamp("ms", "UTC")


def entries_table(snapshot: SnapshotView) -> pa.Table:
    """All entries of a snapshot, also those of deleted files (status 2).

    The columns are ``status``, ``snapshot_id``, ``sequence_number``, ``file_sequence_number``, ``data_file`` (a struct
    of the columns of :func:`files_table`) and ``readable_metrics``.
    """
    file = pa.struct([f for f in _file_schema(snapshot) if f.name != "readable_metrics"])
    schema = pa.schema(
        [
            ("status", pa.int32()),
            ("snapshot_id", pa.int64()),
            ("sequence_number", pa.int64()),
            ("file_sequence_number", pa.int64()),
            ("data_file", file),
            ("readable_metrics", _metrics_type(snapshot)),
        ]
    )
    tables = []
    for manifest in snapshot.manifest_list.manifests:
        entries, raw = _read(snapshot, manifest)
        columns = _file_columns(snapshot, entries, raw)
        metrics = columns.pop("readable_metrics")
        members = [columns[f.name].cast(f.type) for f in file]
        found = [
            pa.array(entries.status, pa.int32()),
            entries.snapshot_ids,
            entries.files["data_sequence_number"],
            _file_sequence_numbers(entries, raw, manifest),
            pa.StructArray.from_arrays(members, fields=list(file)),
            metrics,
        ]
        tables.append(pa.table(found, schema=schema))
    return pa.concat_tables([schema.empty_table(), *tables])


def files_table(snapshot: SnapshotView, contents: Sequence[int] | None = None) -> pa.Table:
    """The live files of a snapshot.

    ``partition`` is a struct over the fields of all specs. It is absent where no spec has fields. ``readable_metrics``
    has a member for each leaf column of the snapshot's schema, with dotted names.

    Parameters
    ----------
    snapshot : SnapshotView
    contents : sequence of int, optional
        0 data, 1 position deletes and deletion vectors, 2 equality deletes. None: all.
    """
    schema = _file_schema(snapshot)
    tables = []
    for manifest in snapshot.manifest_list.manifests:
        if contents is not None and (DATA_FILE in contents) != (manifest.content == DATA_FILE):
            continue
        entries, raw = _read(snapshot, manifest)
        columns = _file_columns(snapshot, entries, raw)
        table = pa.table([columns[f.name].cast(f.type) for f in schema], schema=schema)
        tables.append(table.filter(pa.array(entries.status != DELETED)))
    return pa.concat_tables([schema.empty_table(), *tables])


def _read(snapshot: SnapshotView, manifest: Manifest) -> tuple[Entries, AvroColumns]:
    """All entries of a manifest, and the columns that plans do not need. The manifest is read once."""
    source = snapshot.manifests
    data, path = source.read_bytes(manifest)
    request = source.request([f.id for f in _leaves(snapshot).values()], all_statuses=True)
    entries = source.decode_entries(data, path, manifest, request)
    return entries, read_columns(data, _WANTS, (), path, header=entries.columns.header, limits=source.limits)


# ---- columns --------------------------------------------------------------------------------------------------------


def _leaves(snapshot: SnapshotView) -> dict[str, Field]:
    return {".".join(f.name for f in path): path[-1] for path in snapshot.schema.leaves()}


def _metrics_type(snapshot: SnapshotView) -> pa.DataType:
    counts = [(name, pa.int64()) for name in ("column_size", "value_count", "null_value_count", "nan_value_count")]
    kinds = {name: arrow_type(f.type) for name, f in _leaves(snapshot).items()}
    return pa.struct(
        [(name, pa.struct([*counts, ("lower_bound", kind), ("upper_bound", kind)])) for name, kind in kinds.items()]
    )


def _file_schema(snapshot: SnapshotView) -> pa.Schema:
    members = pa.struct([(f.name, arrow_type(f.type)) for f in partition_members(snapshot.metadata.specs)])
    fields = [
        ("content", pa.int32()),
        ("file_path", pa.string()),
        ("file_format", pa.string()),
        ("spec_id", pa.int32()),
        *([("partition", members)] if members.num_fields else []),
        ("record_count", pa.int64()),
        ("file_size_in_bytes", pa.int64()),
        *((name, pa.map_(pa.int32(), pa.binary() if name in _BOUNDS else pa.int64())) for name in _MAPS),
        ("key_metadata", pa.binary()),
        ("split_offsets", pa.list_(pa.int64())),
        ("equality_ids", pa.list_(pa.int32())),
        ("sort_order_id", pa.int32()),
        ("first_row_id", pa.int64()),
        ("referenced_data_file", pa.string()),
        ("content_offset", pa.int64()),
        ("content_size_in_bytes", pa.int64()),
        ("readable_metrics", _metrics_type(snapshot)),
    ]
    return pa.schema(fields)


def _file_columns(snapshot: SnapshotView, entries: Entries, raw: AvroColumns) -> dict[str, pa.Array]:
    files = entries.files
    count = files.num_rows
    columns = {
        "content": files["content"] if "content" in files.schema.names else pa.array(np.zeros(count, np.int32)),
        "file_path": files["path"],
        "file_format": pc.utf8_upper(file_formats(entries.columns)),
        "spec_id": pa.array(np.full(count, entries.spec_id, np.int32)),
        "record_count": files["record_count"],
        "file_size_in_bytes": files["size_bytes"],
        **{name: _map_column(raw, name) for name in _MAPS},
        "key_metadata": raw[(DATA_FILE_ID, 131)].bytes_array(pa.binary()),
        "split_offsets": _list_column(raw, 132),
        "equality_ids": _field_ids(raw),
        "sort_order_id": _in_32_bits(raw[(DATA_FILE_ID, 140)].int_array(), "a sort order", raw, "sort_order_id"),
        "first_row_id": files["first_row_id"],
        "referenced_data_file": raw.strings((DATA_FILE_ID, 143), "referenced_data_file"),
        "content_offset": raw[(DATA_FILE_ID, 144)].int_array(),
        "content_size_in_bytes": raw[(DATA_FILE_ID, 145)].int_array(),
        "readable_metrics": _readable_metrics(snapshot, entries, raw),
    }
    members = partition_members(snapshot.metadata.specs)
    if members:
        stored = {f.name: files["partition"].field(i) for i, f in enumerate(files["partition"].type)}
        values = [stored.get(str(f.id), pa.nulls(count, arrow_type(f.type))).cast(arrow_type(f.type)) for f in members]
        columns["partition"] = pa.StructArray.from_arrays(values, names=[f.name for f in members])
    return columns


def _offsets(raw: AvroColumns, path: tuple[int, ...]) -> pa.Array:
    """The offsets of a list column. Null where the list is null."""
    column = raw[path]
    return pa.array(column.list_offsets(), pa.int32(), mask=np.append(~column.valid, False))


def _map_column(raw: AvroColumns, name: str) -> pa.Array:
    field_id, key, value = _MAPS[name]
    keys, values = raw[(DATA_FILE_ID, field_id, key)], raw[(DATA_FILE_ID, field_id, value)]
    if keys.null_count:
        raise CorruptMetadataError("a key of a map is null", path=raw.source, field=name)
    items = values.bytes_array(pa.binary()) if name in _BOUNDS else values.int_array()
    names = _in_32_bits(keys.int_array(), "a key of a map", raw, name)
    return pa.MapArray.from_arrays(_offsets(raw, (DATA_FILE_ID, field_id)), names, items)


def _list_column(raw: AvroColumns, field_id: int) -> pa.Array:
    return pa.ListArray.from_arrays(
        _offsets(raw, (DATA_FILE_ID, field_id)), raw[(DATA_FILE_ID, field_id, ELEMENT)].int_array()
    )


def _field_ids(raw: AvroColumns) -> pa.Array:
    values = _in_32_bits(raw[(DATA_FILE_ID, 135, ELEMENT)].int_array(), "a field id", raw, "equality_ids")
    return pa.ListArray.from_arrays(_offsets(raw, (DATA_FILE_ID, 135)), values)


def _in_32_bits(values: pa.Array, what: str, raw: AvroColumns, field: str) -> pa.Array:
    """int32[n]; writers may have stored 64 bits."""
    try:
        return values.cast(pa.int32())
    except pa.ArrowInvalid:
        raise CorruptMetadataError(f"{what} does not fit into 32 bits", path=raw.source, field=field) from None


def _file_sequence_numbers(entries: Entries, raw: AvroColumns, manifest: Manifest) -> pa.Array:
    """int64[n]: null is the manifest's for added files, and 0 in version 1."""
    stored = raw[(4,)]
    inherits = (entries.status == ADDED) | (manifest.sequence_number == 0) | (not raw.has((4,)))
    inherited = manifest.sequence_number if raw.has((4,)) else 0
    return pa.array(np.where(stored.valid, stored.values, inherited), pa.int64(), mask=~stored.valid & ~inherits)


def _readable_metrics(snapshot: SnapshotView, entries: Entries, raw: AvroColumns) -> pa.Array:
    leaves, kind = _leaves(snapshot), _metrics_type(snapshot)
    bounds = entries.statistics.bounds(list(leaves.values()), None)
    members = [_metrics(f, kind.field(name).type, bounds, raw) for name, f in leaves.items()]
    if not members:
        return pa.StructArray.from_buffers(kind, raw.rows, [None])
    return pa.StructArray.from_arrays(members, fields=list(kind))


def _metrics(f: Field, kind: pa.DataType, bounds: Bounds, raw: AvroColumns) -> pa.Array:
    found = [bounds.value_count, bounds.null_count, bounds.nan_count, bounds.lower, bounds.upper]
    columns = [_value_of(raw, "column_sizes", f.id), *(known.get(f.id) for known in found)]
    typed = [pa.nulls(raw.rows, m.type) if c is None else c for c, m in zip(columns, kind, strict=True)]
    return pa.StructArray.from_arrays(typed, fields=list(kind))


def _value_of(raw: AvroColumns, name: str, wanted: int) -> pa.Array:
    """int64[n]: the value of one key in each row's map."""
    field_id, key, value = _MAPS[name]
    keys, values = raw[(DATA_FILE_ID, field_id, key)], raw[(DATA_FILE_ID, field_id, value)]
    owners = np.repeat(np.arange(raw.rows), np.diff(raw[(DATA_FILE_ID, field_id)].list_offsets()))
    at = np.flatnonzero(keys.valid & values.valid & (keys.values == wanted))
    found, known = np.zeros(raw.rows, np.int64), np.zeros(raw.rows, bool)
    found[owners[at]], known[owners[at]] = values.values[at], True
    return pa.array(found, mask=~known)


# ---- partitions -----------------------------------------------------------------------------------------------------


def partitions_table(snapshot: SnapshotView) -> pa.Table:
    """One row for each partition and spec with live files. Deletes are counted, but not applied.

    A table without partition fields has at most one row, and neither ``partition`` nor ``spec_id``.
    ``last_updated_at`` and ``last_updated_snapshot_id`` are those of the newest snapshot that added one of the files;
    null where all of these have expired.
    """
    members = partition_members(snapshot.metadata.specs)
    tables = [_counts(snapshot, manifest, members) for manifest in snapshot.manifest_list.manifests]
    keys = [*(f"p{f.id}" for f in members), *(["spec_id"] if members else [])]
    empty = [
        ("spec_id", pa.int32()),
        *((f"p{f.id}", arrow_type(f.type)) for f in members),
        ("at", pa.int64()),
        ("by", pa.int64()),
        *((name, pa.int64()) for name in _COUNTS),
    ]
    rows = pa.concat_tables([pa.schema(empty).empty_table(), *tables])
    rows = rows.append_column("row", pa.array(np.arange(rows.num_rows))).sort_by([("at", "ascending")])
    sums = [(name, "sum") for name in _COUNTS]
    if not members:
        rows = rows.append_column("all", pa.array(np.zeros(rows.num_rows, np.int8)))
    grouped = rows.group_by(keys or ["all"], use_threads=False).aggregate(
        [*sums, ("at", "last"), ("by", "last"), ("row", "min")]
    )
    grouped = grouped.sort_by([("row_min", "ascending")])
    columns = {}
    if members:
        values = [grouped[f"p{f.id}"].combine_chunks() for f in members]
        columns["partition"] = pa.StructArray.from_arrays(values, names=[f.name for f in members])
        columns["spec_id"] = grouped["spec_id"]
    for name in _COUNTS:
        columns[name] = grouped[f"{name}_sum"].cast(pa.int32() if name.endswith("file_count") else pa.int64())
    columns["last_updated_at"] = grouped["at_last"].cast(_TIME)
    columns["last_updated_snapshot_id"] = grouped["by_last"]
    return pa.table(columns)


_COUNTS = (
    "record_count",
    "file_count",
    "total_data_file_size_in_bytes",
    "position_delete_record_count",
    "position_delete_file_count",
    "equality_delete_record_count",
    "equality_delete_file_count",
)


def _counts(snapshot: SnapshotView, manifest: Manifest, members: Sequence[Field]) -> pa.Table:
    """One row for each live file: its partition, what it adds to each count, and when it was added."""
    entries = snapshot.manifests.entries(manifest, ())
    files = entries.files
    content = files["content"].to_numpy() if "content" in files.schema.names else np.zeros(files.num_rows, np.int32)
    stored = {f.name: files["partition"].field(i) for i, f in enumerate(files["partition"].type)}
    columns: dict[str, pa.Array] = {"spec_id": pa.array(np.full(files.num_rows, entries.spec_id, np.int32))}
    for f in members:
        kind = arrow_type(f.type)
        columns[f"p{f.id}"] = stored.get(str(f.id), pa.nulls(files.num_rows, kind)).cast(kind)
    known = snapshot.metadata.snapshots
    times = [known[i].timestamp_ms if i in known else None for i in entries.snapshot_ids.to_pylist()]
    columns["at"] = pa.array(times, pa.int64())
    columns["by"] = pc.if_else(columns["at"].is_valid(), entries.snapshot_ids, pa.scalar(None, pa.int64()))
    records, sizes = files["record_count"].to_numpy(), files["size_bytes"].to_numpy()
    prefixes = {DATA_FILE: "", POSITION_DELETES: "position_delete_", EQUALITY_DELETES: "equality_delete_"}
    for number, prefix in prefixes.items():
        is_kind = content == number
        columns[f"{prefix}record_count"] = pa.array(np.where(is_kind, records, 0))
        columns[f"{prefix}file_count"] = pa.array(is_kind.astype(np.int64))
    columns["total_data_file_size_in_bytes"] = pa.array(np.where(content == DATA_FILE, sizes, 0))
    order = ["spec_id", *(f"p{f.id}" for f in members), "at", "by", *_COUNTS]
    return pa.table({name: columns[name] for name in order})
