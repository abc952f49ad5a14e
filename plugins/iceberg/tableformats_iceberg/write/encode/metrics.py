"""Which metrics of a column a table asks for, and bounds cut as it asks.

Source: Iceberg documentation, "Configuration", "Write properties" (``write.metadata.metrics.*``); spec, "Data File
Fields", "Bound serialization".
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache

import numpy as np
import pyarrow as pa

from tableformats.plugin import (
    Field,
    PrimitiveType,
    Schema,
    StructType,
    UnsupportedFeatureError,
    dataclass,
    lazy_pattern,
    strings,
    text_buffers,
)
from tableformats.plugin import compute as pc

from .values import bound_bytes, has_bounds

__all__ = ["MetricsMode", "check_metrics", "cut_bounds", "metrics_modes"]

_PREFIX = "write.metadata.metrics."
_DEFAULT, _COLUMN, _INFERRED = f"{_PREFIX}default", f"{_PREFIX}column.", f"{_PREFIX}max-inferred-column-defaults"
_INFERRED_COLUMNS = 100
_TRUNCATE = lazy_pattern(r"truncate\((\d{1,9})\)")


@dataclass(frozen=True)
class MetricsMode:
    """What is written of a column: nothing, counts, or counts and bounds.

    ``length`` is the most characters (strings) or bytes (binary) of a bound; None: all.
    """

    counts: bool = True
    bounds: bool = True
    length: int | None = None


_NONE, _COUNTS, _FULL, _USUAL = (
    MetricsMode(False, False),
    MetricsMode(True, False),
    MetricsMode(),
    MetricsMode(length=16),
)


def _mode(text: str, key: str) -> MetricsMode:
    text = text.strip().lower()
    named = {"none": _NONE, "counts": _COUNTS, "full": _FULL}
    if text in named:
        return named[text]
    found = _TRUNCATE.fullmatch(text)
    if found is None or int(found.group(1)) < 1:
        hint = "One of none, counts, truncate(n), full"
        raise UnsupportedFeatureError(f"{text[:50]!r} is no metrics mode", field=key, hint=hint)
    return MetricsMode(length=int(found.group(1)))


def metrics_modes(
    schema: Schema, properties: Mapping[str, str], sorted_ids: Collection[int] = ()
) -> dict[int, MetricsMode]:
    """The mode of each primitive column, by field id. Columns inside of lists and maps are left out.

    Parameters
    ----------
    sorted_ids : collection of int
        Columns that the table is sorted by. They have bounds, unless a property of the column says otherwise.

    Raises
    ------
    UnsupportedFeatureError
        A property has an unknown value. ``field`` names it.
    """
    default = _mode(properties[_DEFAULT], _DEFAULT) if _DEFAULT in properties else None
    most = _number(properties)
    found: dict[int, MetricsMode] = {}
    for position, (name, column) in enumerate(_leaves(schema.fields, "")):
        mode = default or (_USUAL if position < most else _NONE)
        if column.id in sorted_ids and not mode.bounds:
            mode = _USUAL
        key = _COLUMN + name
        found[column.id] = _mode(properties[key], key) if key in properties else mode
    return found


def check_metrics(properties: Mapping[str, str]) -> None:
    """Refuse a value that is no mode, whether its column is there or not. Raises UnsupportedFeatureError."""
    _number(properties)
    for key, text in properties.items():
        if key == _DEFAULT or key.startswith(_COLUMN):
            _mode(text, key)


def _number(properties: Mapping[str, str]) -> int:
    text = properties.get(_INFERRED)
    if text is None:
        return _INFERRED_COLUMNS
    if not re.fullmatch(r"-?\d{1,9}", text):
        raise UnsupportedFeatureError(f"{text[:50]!r} is no number", field=_INFERRED, hint="Correct the property")
    return int(text) if int(text) >= 0 else _INFERRED_COLUMNS


def _leaves(fields: tuple[Field, ...], prefix: str) -> Iterator[tuple[str, Field]]:
    """Primitive columns with their dotted names. Those of a struct come before those of the structs in it."""
    for f in fields:
        if not f.type.is_nested:
            yield prefix + f.name, f
    for f in fields:
        if isinstance(f.type, StructType):
            yield from _leaves(f.type.fields, f"{prefix}{f.name}.")


def cut_bounds(values: pa.Array, column: Field, mode: MetricsMode, *, is_lower: bool) -> pa.BinaryArray | None:
    """The bounds of a column, one a file, as the mode asks. None: it asks for none, or the type has none.

    Parameters
    ----------
    values : pyarrow.Array
        [n], exact bounds in the column's Arrow type. Null: unknown.

    Returns
    -------
    pyarrow.BinaryArray, optional
        A cut lower bound is less or equal, a cut upper bound is greater; null where there is none.
    """
    if not mode.bounds or not has_bounds(column.type) or "logical_type" in column.metadata:
        return None
    kind = column.type
    if mode.length is not None and isinstance(kind, PrimitiveType) and kind.name in ("string", "binary"):
        values = values.cast(pa.string() if kind.name == "string" else pa.binary())
        values = _cut_lower(values, mode.length) if is_lower else _cut_upper(values, mode.length)
    return bound_bytes(values, kind, is_lower=is_lower)


def _cut_lower(values: pa.Array, length: int) -> pa.Array:
    if pa.types.is_string(values.type):
        return pc.utf8_slice_codeunits(values, start=0, stop=length)
    return pc.binary_slice(values, start=0, stop=length)


def _cut_upper(values: pa.Array, length: int) -> pa.Array:
    is_text = pa.types.is_string(values.type)
    sizes = pc.utf8_length(values) if is_text else pc.binary_length(values)
    is_long = pc.fill_null(pc.greater(sizes, length), False)
    if not pc.any(is_long).as_py():
        return values
    return pc.if_else(is_long, _successors(_cut_lower(values, length), is_text), values)


def _successors(prefixes: pa.Array, is_text: bool) -> pa.Array:
    """For each prefix the least text (or bytes) of its length that is greater than all that begin with it; or null."""
    offsets, data = text_buffers(prefixes.cast(pa.binary()))
    last = offsets[1:] - 1
    filled = np.flatnonzero(np.diff(offsets) > 0)
    most = 0x7E if is_text else 0xFE
    if (data[last[filled]] <= most).all():
        octets = data.copy()
        octets[last[filled]] += 1
        buffers = [None, pa.py_buffer(np.ascontiguousarray(offsets)), pa.py_buffer(octets)]
        return pa.Array.from_buffers(pa.binary(), len(prefixes), buffers).cast(prefixes.type)
    if is_text:
        return strings([None if p is None else _next_text(p) for p in prefixes.to_pylist()])
    return pa.array([None if p is None else _next_bytes(p) for p in prefixes.to_pylist()], pa.binary())


@lru_cache(maxsize=1024)
def _next_text(prefix: str) -> str | None:
    for end in range(len(prefix), 0, -1):
        code = ord(prefix[end - 1]) + 1
        code = 0xE000 if code == 0xD800 else code
        if code <= 0x10FFFF:
            return prefix[: end - 1] + chr(code)
    return None


def _next_bytes(prefix: bytes) -> bytes | None:
    kept = prefix.rstrip(b"\xff")
    return kept[:-1] + bytes([kept[-1] + 1]) if kept else None
