"""Arrow schemas in which many references lead to one field: FlatBuffers that no library builds."""

from __future__ import annotations

import base64
import io
import struct

import pyarrow as pa
import pyarrow.parquet as pq

# The virtual table of each table: its bytes, the table's bytes, the place of each member.
_MESSAGE = struct.pack("<5H", 10, 12, 4, 6, 8)
_SCHEMA = struct.pack("<4H", 8, 8, 0, 4)
_FIELD = struct.pack("<8H", 16, 20, 4, 0, 8, 12, 0, 16)
_INT = struct.pack("<4H", 8, 12, 4, 8)
_STRUCT = struct.pack("<2H", 4, 4)
_VERSION, _IS_SCHEMA, _IS_INT, _IS_STRUCT = 4, 1, 2, 13


def schema_message(name: str, count: int, levels: int = 0, width: int = 2) -> bytes:
    """An IPC message of a schema with ``count`` references to one field.

    It is an int without ``levels``, else a struct of ``width`` times the same field, and so on. Each has the ``name``.
    """
    out = bytearray(4)
    places = {}
    for virtual in (_MESSAGE, _SCHEMA, _FIELD, _INT, _STRUCT):
        places[virtual] = len(out)
        out += virtual + bytes(-len(virtual) % 4)

    def table(virtual: bytes, form: str, *values: int) -> int:
        at = len(out)
        out.extend(struct.pack("<i" + form, at - places[virtual], *values))
        return at

    def refer(at: int, to: int) -> None:
        struct.pack_into("<I", out, at, to - at)

    def references(count: int) -> int:
        """A list of references, which are set later."""
        at = len(out)
        out.extend(struct.pack("<I", count) + bytes(4 * count))
        return at

    message = table(_MESSAGE, "hBxI", _VERSION, _IS_SCHEMA, 0)
    refer(0, message)
    schema = table(_SCHEMA, "I", 0)
    refer(message + 8, schema)
    above = references(count)
    refer(schema + 4, above)
    fields = []
    for level in range(levels + 1):
        is_leaf = level == levels
        fields.append(table(_FIELD, "IBxxxII", 0, _IS_INT if is_leaf else _IS_STRUCT, 0, 0))
        for i in range(struct.unpack_from("<I", out, above)[0]):
            refer(above + 4 + 4 * i, fields[-1])
        above = references(0 if is_leaf else width)
        refer(fields[-1] + 16, above)
        refer(fields[-1] + 12, table(_INT, "iBxxx", 32, 1) if is_leaf else table(_STRUCT, ""))
    text = len(out)
    out += struct.pack("<I", len(name)) + name.encode() + b"\0"
    for field in fields:
        refer(field + 4, text)
    out += bytes(-len(out) % 8)
    return struct.pack("<iI", -1, len(out)) + bytes(out)


def parquet_with(message: bytes) -> bytes:
    """A Parquet file of one column ``c`` and no rows, with the schema in its metadata."""
    sink = io.BytesIO()
    with pq.ParquetWriter(sink, pa.schema([("c", pa.int32())]), store_schema=False) as writer:
        writer.add_key_value_metadata({"ARROW:schema": base64.b64encode(message)})
    return sink.getvalue()


__all__ = ["parquet_with", "schema_message"]
