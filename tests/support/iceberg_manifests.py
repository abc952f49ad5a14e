"""What the Iceberg tests share: Avro containers made by hand, manifests made by fastavro, and the oracle's view."""

from __future__ import annotations

import datetime as dt
import decimal
import io
import json
import struct
import zlib
from collections.abc import Iterable, Sequence
from typing import Any

import fastavro
import pyarrow as pa
from tableformats_iceberg.avro.columns import RawColumn
from tableformats_iceberg.avro.container import AvroColumns, Want
from tableformats_iceberg.avro.decode_program import Path

from tableformats.plugin.deletes import EQUALITY
from tableformats.table.scan import ScanPlan

SYNC = bytes(range(16))


def varint(value: int) -> bytes:
    """Zig-zag, as Avro writes int and long."""
    value = (value << 1) ^ (value >> 63)
    value &= 0xFFFFFFFFFFFFFFFF
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def text(value: str | bytes) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return varint(len(data)) + data


def container(schema: Any, blocks: Iterable[tuple[int, bytes]], codec: str = "null", **metadata: str) -> bytes:
    """An object container file around blocks of (record count, encoded bytes as the codec stores them)."""
    head = {"avro.schema": schema if isinstance(schema, str) else json.dumps(schema), "avro.codec": codec, **metadata}
    out = b"Obj\x01" + varint(len(head)) + b"".join(text(k) + text(v) for k, v in head.items()) + b"\x00" + SYNC
    for count, data in blocks:
        out += varint(count) + varint(len(data)) + data + SYNC
    return out


def record(*fields: tuple[str, int | None, Any], name: str = "r") -> dict[str, Any]:
    """An Avro record schema of (name, field id, type)."""
    members = [{"name": n, "type": t, **({} if i is None else {"field-id": i})} for n, i, t in fields]
    return {"type": "record", "name": name, "fields": members}


def blocks_of(data: bytes) -> list[tuple[int, bytes]]:
    """Count and plain bytes of the blocks of a file that fastavro wrote without compression."""
    reader = fastavro.block_reader(io.BytesIO(data))
    return [(block.num_records, block.bytes_.getvalue()) for block in reader]


def recompress(data: bytes, codec: str) -> bytes:
    """An uncompressed container file in another codec, each block alone."""
    head = fastavro.reader(io.BytesIO(data)).metadata
    blocks = [(n, compress(plain, codec)) for n, plain in blocks_of(data)]
    return container(head.pop("avro.schema"), blocks, **{**head, "avro.codec": codec})


def compress(plain: bytes, codec: str) -> bytes:
    if codec == "deflate":
        deflater = zlib.compressobj(wbits=-15)
        return deflater.compress(plain) + deflater.flush()
    if codec == "snappy":
        return pa.Codec("snappy").compress(plain, asbytes=True) + struct.pack(">I", zlib.crc32(plain))
    if codec == "zstandard":
        return pa.Codec("zstd").compress(plain, asbytes=True)
    return plain


# ---- manifests ------------------------------------------------------------------------------------------------------


def int_map(name: str, field_id: int, key: int, value: int, kind: str) -> tuple[str, int, Any]:
    item = record(("key", key, "int"), ("value", value, kind), name=f"k{key}_v{value}")
    return name, field_id, ["null", {"type": "array", "items": item, "logicalType": "map"}]


_SINCE_VERSION_2 = (3, 4, 134, 135, 142, 143, 144, 145)
"""Field ids of a manifest's entries and data files that version 1 does not have."""


def entry_schema(partition: Sequence[tuple[str, int, Any]] = ()) -> dict[str, Any]:
    """The Avro schema of manifest entries (all versions' fields that are read)."""
    file = record(
        ("content", 134, "int"),
        ("file_path", 100, "string"),
        ("file_format", 101, "string"),
        ("partition", 102, record(*((n, i, ["null", t]) for n, i, t in partition), name="r102")),
        ("record_count", 103, "long"),
        ("file_size_in_bytes", 104, "long"),
        int_map("column_sizes", 108, 117, 118, "long"),
        int_map("value_counts", 109, 119, 120, "long"),
        int_map("null_value_counts", 110, 121, 122, "long"),
        int_map("nan_value_counts", 137, 138, 139, "long"),
        int_map("lower_bounds", 125, 126, 127, "bytes"),
        int_map("upper_bounds", 128, 129, 130, "bytes"),
        ("key_metadata", 131, ["null", "bytes"]),
        ("split_offsets", 132, ["null", {"type": "array", "items": "long", "element-id": 133}]),
        ("equality_ids", 135, ["null", {"type": "array", "items": "int", "element-id": 136}]),
        ("sort_order_id", 140, ["null", "int"]),
        ("first_row_id", 142, ["null", "long"]),
        ("referenced_data_file", 143, ["null", "string"]),
        ("content_offset", 144, ["null", "long"]),
        ("content_size_in_bytes", 145, ["null", "long"]),
        name="r2",
    )
    return record(
        ("status", 0, "int"),
        ("snapshot_id", 1, ["null", "long"]),
        ("sequence_number", 3, ["null", "long"]),
        ("file_sequence_number", 4, ["null", "long"]),
        ("data_file", 2, file),
        name="manifest_entry",
    )


def entry(
    path: str, *, status: int = 1, sequence_number: int | None = None, records: int = 10, content: int = 0, **file: Any
) -> dict[str, Any]:
    """One manifest entry for :func:`entry_schema`; ``file`` are further members of ``data_file``."""
    members = {
        "content": content,
        "file_path": path,
        "file_format": "PARQUET",
        "partition": {},
        "record_count": records,
        "file_size_in_bytes": 100,
        **file,
    }
    return {"status": status, "sequence_number": sequence_number, "data_file": members}


def manifest_bytes(
    records: Sequence[dict[str, Any]],
    partition: Sequence[tuple[str, int, Any]] = (),
    version: int = 2,
    codec: str = "null",
    **options: Any,
) -> bytes:
    """A manifest as fastavro writes it; in version 1 entries know of neither sequence numbers nor contents."""
    out, schema = io.BytesIO(), entry_schema(partition)
    if version == 1:
        file = schema["fields"][-1]["type"]
        file["fields"] = [f for f in file["fields"] if f["field-id"] not in _SINCE_VERSION_2]
        file["fields"].append({"name": "block_size_in_bytes", "type": "long", "field-id": 105, "default": 1 << 26})
        schema["fields"] = [f for f in schema["fields"] if f["field-id"] not in _SINCE_VERSION_2]
    fastavro.writer(out, fastavro.parse_schema(schema), records, **{"codec": "null", "sync_marker": SYNC, **options})
    return out.getvalue() if codec == "null" else recompress(out.getvalue(), codec)


# ---- the oracle -----------------------------------------------------------------------------------------------------


def read_deletes(plan: ScanPlan) -> None:
    """Read whatever deletes the files of a plan have."""
    snapshot = plan.snapshot.format_snapshot
    for task in plan.tasks():
        snapshot.deleted_positions(task.stored_path, task.record_count, task.deletes)
        for delete in task.deletes.to_pylist():
            if delete["kind"] == EQUALITY:
                snapshot.equality_deletes(delete)


def fastavro_records(data: bytes) -> tuple[Any, list[Any]]:
    """The writer's schema (as written) and all records, as fastavro reads them."""
    reader = fastavro.reader(io.BytesIO(data))
    return json.loads(reader.metadata["avro.schema"]), list(reader)


def assert_same(
    columns: AvroColumns,
    schema: Any,
    records: Sequence[Any],
    wants: Sequence[Want],
    keys: Sequence[int],
    path: Path = (),
) -> None:
    """Compare decoded columns with the oracle's records, field by field."""
    for want in wants:
        here = (*path, want.id)
        name, kind = find(schema, want)
        values = [None if r is None or name is None else r.get(name) for r in records]
        if want.shape == "record":
            assert_same(columns, kind, values, want.members, keys, here)
        elif want.shape == "list":
            _assert_list(columns, kind, values, want, here, keys)
        elif want.shape == "map":
            found = columns.map_columns(here)
            for key in keys:
                expected = [last(value, key, kind, want) for value in values]
                got = plain(found[key]) if key in found else [None] * len(values)
                assert got == expected, (want, key)
        else:
            assert plain(columns[here]) == [encoded(v, kind) for v in values], want


def _assert_list(columns: AvroColumns, kind: Any, values: list[Any], want: Want, here: Path, keys: Any) -> None:
    column = columns[here]
    assert column.valid.tolist() == [v is not None for v in values]
    offsets = column.list_offsets()
    assert (offsets[1:] - offsets[:-1]).tolist() == [len(v or ()) for v in values]
    children = [item for v in values for item in v or ()]
    if want.members:
        assert_same(columns, kind, children, want.members, keys, here)
    else:
        assert plain(columns[(*here, -1)]) == children


def last(pairs: Any, key: int, item: Any, want: Want) -> Any:
    """The value of ``key`` in an Iceberg map: an array of records, or None."""
    names = [find(item, member)[0] for member in want.members]
    found = [pair[names[1]] for pair in pairs or () if pair[names[0]] == key]
    return encoded(found[-1], None) if found else None


def find(schema: Any, want: Want) -> tuple[str | None, Any]:
    """Name and (non-null, item) type of the field that ``want`` means in a record schema."""
    if schema is None:
        return None, None
    has_ids = any("field-id" in f for f in schema["fields"])
    for f in schema["fields"]:
        if f.get("field-id") == want.id if has_ids else f["name"] in want.names:
            kind = f["type"]
            if isinstance(kind, list):
                kind = next((k for k in kind if k != "null"), "null")
            if isinstance(kind, dict) and kind["type"] == "array":
                kind = kind["items"]
            return f["name"], kind
    return None, None


def plain(column: RawColumn) -> list[Any]:
    """A decoded column as Python values: integers, floats or bytes."""
    if column.is_bytes:
        values = column.bytes_array(pa.binary()).to_pylist()
    elif column.avro.get("type") == "float":
        values = [struct.unpack("<f", struct.pack("<I", v))[0] for v in column.values.tolist()]
    elif column.avro.get("type") == "double":
        values = column.values.view("float64").tolist()
    else:
        values = column.values.tolist()
    pairs = zip(values, column.valid.tolist(), strict=True)
    return [v if ok else None for v, ok in pairs]


def encoded(value: Any, kind: Any) -> Any:
    """What fastavro made of a value, back in the terms of :func:`plain`."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, dt.date):
        return (value - dt.date(1970, 1, 1)).days
    if isinstance(value, decimal.Decimal):
        unscaled = int(value.scaleb(kind["scale"]))
        return unscaled.to_bytes(kind["size"], "big", signed=True)
    return value
