"""The JSON of ``add.stats`` -> raw columns: record counts, and minimum, maximum and null count of asked columns.

Texts are decoded in Arrow's JSON reader, a few thousand at once, projected on what was asked; a chunk that it does
not take (one malformed text suffices) is decoded text by text, where a malformed text alone is unknown. Both give
the same columns: decimals never pass through a double, integers are exact.
"""

from __future__ import annotations

import decimal
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tableformats.schema import DecimalType, Field, PrimitiveType, Schema, StructType, Type

from .values import INT_RANGES, fit_decimal, parse_float

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Leaf", "RawStatistics", "leaf_of", "scan", "scan_record_counts"]

# 18 digits fit; more of them, and fractions, take the other way.
_LEADING_COUNT = r'^\{"numRecords":\s*(?P<count>[0-9]{1,18})\s*[,}]'
_CHUNK_ROWS = 8192
_NO_BOUNDS = ("boolean", "binary", "variant", "unknown", "uuid", "time")


@dataclass(frozen=True)
class Leaf:
    """A column whose statistics are asked for: ``path`` are the physical names from the top level down."""

    id: int
    path: tuple[str, ...]
    type: Type
    from_float: bool
    """The column was widened from float to double: old bounds are floats, written with a float's digits."""


@dataclass
class RawStatistics:
    """Columns of n rows; ``lower`` and ``upper`` have the raw type of the leaf (:func:`raw_type`)."""

    record_counts: pa.Int64Array
    tight: pa.BooleanArray
    lower: dict[int, pa.Array] = field(default_factory=dict)
    upper: dict[int, pa.Array] = field(default_factory=dict)
    null_counts: dict[int, pa.Int64Array] = field(default_factory=dict)


def leaf_of(schema: Schema, column: Field) -> Leaf | None:
    """The leaf of ``column``; None where a column of its kind has no statistics that could be used."""
    path = schema.path_of(column.id)
    if column.type.is_nested or not all(isinstance(f.type, StructType) for f in path[:-1]):
        return None
    if isinstance(column.type, PrimitiveType) and column.type.name in _NO_BOUNDS[2:]:
        return None
    if column.collation is not None:
        return None
    changes = column.metadata.get("delta.typeChanges") or ()
    from_float = any(change.get("fromType") == "float" for change in changes)
    return Leaf(column.id, tuple(f.stored_name for f in path), column.type, from_float)


def raw_type(kind: Type) -> pa.DataType | None:
    """The Arrow type in which a bound leaves the JSON; None for columns without bounds."""
    import pyarrow as pa

    if isinstance(kind, DecimalType):
        return pa.decimal128(38, kind.scale)
    assert isinstance(kind, PrimitiveType)
    if kind.name in _NO_BOUNDS:
        return None
    if kind.name in INT_RANGES:
        return pa.int64()
    return pa.float64() if kind.name in ("float", "double") else pa.string()


def scan(text: pa.StringArray, leaves: Sequence[Leaf]) -> RawStatistics:
    """Decode ``text`` (string[n_files]; null = no statistics) for ``leaves``.

    Notes
    -----
    Cost: O(bytes of text) in C++ for well-formed text; memory is bounded by chunks of 8192 texts.
    """
    import pyarrow as pa

    wanted = _wanted(leaves)
    chunks = [
        _scan_chunk(text.slice(start, _CHUNK_ROWS), wanted) for start in range(0, len(text), _CHUNK_ROWS)
    ]
    rows = pa.chunked_array(chunks, wanted).combine_chunks() if chunks else pa.array([], wanted)
    raw = RawStatistics(_walk(rows, ("numRecords",)), _walk(rows, ("tightBounds",)))
    for leaf in leaves:
        kind = raw_type(leaf.type)
        raw.null_counts[leaf.id] = _walk(rows, ("nullCount", *leaf.path))
        for name, into in (("minValues", raw.lower), ("maxValues", raw.upper)):
            into[leaf.id] = pa.nulls(len(text)) if kind is None else _walk(rows, (name, *leaf.path))
    return raw


def scan_record_counts(text: pa.StringArray) -> pa.Int64Array:
    """``numRecords`` of ``text`` (string[n_files]); null where it is unknown.

    Writers put it first: there it is found without a look at what follows. Elsewhere :func:`scan` finds it.

    Notes
    -----
    Cost: O(n_files) for texts that begin with it, O(bytes of text) for the others.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    counts = pc.struct_field(pc.extract_regex(text, _LEADING_COUNT), [0]).cast(pa.int64())
    others = pc.and_(pc.is_null(counts), pc.is_valid(text))
    if not pc.any(others).as_py():
        return counts
    return pc.coalesce(counts, scan(pc.if_else(others, text, None), ()).record_counts)


def _wanted(leaves: Sequence[Leaf]) -> pa.DataType:
    """The struct type to project on."""
    import pyarrow as pa

    members = [pa.field("numRecords", pa.int64()), pa.field("tightBounds", pa.bool_())]
    if leaves:
        typed = [(leaf.path, kind) for leaf in leaves if (kind := raw_type(leaf.type)) is not None]
        for name in ("minValues", "maxValues"):
            if typed:
                members.append(pa.field(name, _tree(typed)))
        members.append(pa.field("nullCount", _tree([(leaf.path, pa.int64()) for leaf in leaves])))
    return pa.struct(members)


def _tree(leaves: Sequence[tuple[tuple[str, ...], pa.DataType]]) -> pa.DataType:
    """Nested structs that hold each leaf at its path."""
    import pyarrow as pa

    heads: dict[str, list[tuple[tuple[str, ...], pa.DataType]]] = {}
    for path, kind in leaves:
        heads.setdefault(path[0], []).append((path[1:], kind))
    return pa.struct(
        [pa.field(name, rest[0][1] if not rest[0][0] else _tree(rest)) for name, rest in heads.items()]
    )


def _walk(rows: pa.StructArray, path: Sequence[str]) -> pa.Array:
    import pyarrow.compute as pc

    return pc.struct_field(rows, [*_indices(rows.type, path)])


def _indices(kind: pa.DataType, path: Sequence[str]) -> Iterator[int]:
    for name in path:
        index = kind.get_field_index(name)
        yield index
        kind = kind.field(index).type


def _scan_chunk(text: pa.StringArray, wanted: pa.DataType) -> pa.StructArray:
    import pyarrow as pa

    try:
        rows = _scan_fast(text, wanted)
    except pa.ArrowException:
        rows = None
    return rows if rows is not None else _scan_slowly(text, wanted)


def _scan_fast(text: pa.StringArray, wanted: pa.DataType) -> pa.StructArray | None:
    """Arrow's JSON reader over one object a text; None where rows and texts might not correspond."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.json as pj

    # Each text stands in an object of its own, which only that text could close early: as many rows as texts
    # means one row a text. One block holds all, so that a line break within a text is white space.
    lines = pc.binary_join_element_wise('{"s":', pc.fill_null(text, "null"), "}\n", "")
    data = lines.buffers()[2]
    if not np.frombuffer(data, np.uint8).all():  # a NUL ends the reader's document
        return None
    table = pj.read_json(
        pa.BufferReader(data),
        read_options=pj.ReadOptions(use_threads=False, block_size=len(data) + 1),
        parse_options=pj.ParseOptions(
            explicit_schema=pa.schema([("s", wanted)]), unexpected_field_behavior="ignore"
        ),
    )
    if table.num_rows != len(text):
        return None
    column = table.column("s")
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _scan_slowly(text: pa.StringArray, wanted: pa.DataType) -> pa.StructArray:
    import pyarrow as pa

    return pa.array([_coerce(_load(t), wanted) for t in text.to_pylist()], wanted)


def _load(text: str | None) -> Any:
    try:
        return None if text is None else json.loads(text, parse_float=decimal.Decimal)
    except (ValueError, RecursionError, ArithmeticError):
        return None


def _coerce(value: Any, kind: pa.DataType) -> Any:
    """``value`` as a Python value of ``kind``; None where it is none."""
    import pyarrow as pa

    if pa.types.is_struct(kind):
        if not isinstance(value, dict):
            return None
        return {f.name: _coerce(value.get(f.name), f.type) for f in kind}
    if value is None or pa.types.is_boolean(kind):
        return value if isinstance(value, bool) else None
    if pa.types.is_string(kind):
        return value if isinstance(value, str) and _encodable(value) else None
    try:
        return _number(value, kind)
    except (ValueError, ArithmeticError):
        return None


def _number(value: Any, kind: pa.DataType) -> Any:
    import pyarrow as pa

    if isinstance(value, bool) or not isinstance(value, (int, float, decimal.Decimal, str)):
        return None
    if pa.types.is_floating(kind):
        return parse_float(value) if isinstance(value, str) else float(value)
    number = decimal.Decimal(value)
    if pa.types.is_decimal(kind):
        return fit_decimal(number, 38, kind.scale)
    whole = fit_decimal(number, 19, 0) if not isinstance(value, str) else None
    return int(whole) if whole is not None and int(whole) in INT_RANGES["long"] else None


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


