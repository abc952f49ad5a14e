"""Reconstruct shredded variants: :func:`unshredded` gives the binary value that each row would have without shredding.

A shredded variant stores values that fit a type in ``typed_value`` and others in ``value``; so do the fields and
elements below it. Scalars are encoded column by column, objects and arrays row by row. The variant's metadata, a
dictionary of field names, is returned as it is stored. Sources: Parquet VariantShredding.md, "Value Shredding",
"Shredded Value Types", "Reconstructing a Shredded Variant"; VariantEncoding.md, "Metadata encoding", "Value encoding",
"Encoding types".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

import numpy as np
import pyarrow as pa
from pyarrow import types

from ....dataclass import dataclass
from ....schema import primitive
from .casts import can_read, cast_values

__all__ = ["MalformedVariantError", "unshredded"]

Encoded = list["bytes | None"]
"""A variant value for each row; None where it is missing."""

_NULL = b"\x00"
_OBJECT, _ARRAY = 2, 3
_STRING, _BINARY, _UUID = 16, 15, 20
_MAX_SHORT_STRING = 63


class MalformedVariantError(ValueError):
    """The stored bytes are no variant, or are shredded in a way that the specification does not define."""


def unshredded(group: pa.StructArray) -> tuple[pa.BinaryArray, pa.BinaryArray]:
    """The metadata and the complete value of each row of a variant's group.

    Parameters
    ----------
    group : pa.StructArray
        struct<metadata: binary, value: binary, typed_value: any>; one of the last two may be missing.

    Returns
    -------
    metadata, value : pa.BinaryArray
        Undefined where ``group`` is NULL.

    Raises
    ------
    MalformedVariantError
        The group has other members, or its bytes are damaged.
    OverflowError
        The values take more than 2 GiB.
    """
    if not {f.name for f in group.type} <= {"metadata", "value", "typed_value"}:
        raise MalformedVariantError("a variant has other members than metadata, value and typed_value")
    present = _valid(group)
    metadata = _bytes(_member(group, "metadata"), "metadata")
    if np.any(present & ~_valid(metadata)):
        raise MalformedVariantError("a variant has no metadata")
    # A missing value where one is required is a variant null. Source: VariantShredding.md, "Value Shredding".
    if _member(group, "typed_value") is None:
        return metadata, _bytes(_member(group, "value"), "value").fill_null(_NULL)
    values = pa.array([_NULL if v is None else v for v in _encode(group, _Names.of(metadata), present)], pa.binary())
    if isinstance(values, pa.ChunkedArray):
        raise OverflowError("the variants of one batch take more than 2 GiB")
    return metadata, values


# ---- the names of fields --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Dictionary:
    """The field names of one variant metadata, by id, and the id of each name."""

    names: Sequence[bytes]
    ids: Mapping[bytes, int]


@dataclass(frozen=True)
class _Names:
    """The dictionary of each row. Equal metadata are parsed once; ``codes`` gives each row's index in ``stored``."""

    codes: np.ndarray
    stored: Sequence[bytes | None]
    parsed: dict[int, _Dictionary] = field(default_factory=dict)

    @classmethod
    def of(cls, metadata: pa.BinaryArray) -> _Names:
        encoded = metadata.dictionary_encode("encode")
        return cls(encoded.indices.to_numpy(), encoded.dictionary.to_pylist())

    def repeat(self, counts: np.ndarray) -> _Names:
        return _Names(np.repeat(self.codes, counts), self.stored, self.parsed)

    def __getitem__(self, row: int) -> _Dictionary:
        code = int(self.codes[row])
        if code not in self.parsed:
            self.parsed[code] = _dictionary(self.stored[code] or b"")
        return self.parsed[code]


def _dictionary(metadata: bytes) -> _Dictionary:
    if not metadata or metadata[0] & 0x0F != 1:
        raise MalformedVariantError("the metadata of a variant is empty or of an unknown version")
    width = (metadata[0] >> 6) + 1
    count = int.from_bytes(metadata[1 : 1 + width], "little")
    if not count:  # then writers omit the offsets too
        return _Dictionary((), {})
    text_at = 1 + width * (count + 2)
    if text_at > len(metadata):
        raise MalformedVariantError("the metadata of a variant is cut short")
    offsets = _numbers(metadata, 1 + width, count + 1, width)
    text = metadata[text_at:]
    if np.any(np.diff(offsets) < 0) or offsets[-1] > len(text):
        raise MalformedVariantError("the names in the metadata of a variant lie outside of it")
    bounds = offsets.tolist()
    names = [text[a:b] for a, b in zip(bounds[:-1], bounds[1:], strict=True)]
    return _Dictionary(names, {name: i for i, name in enumerate(names)})


def _numbers(data: bytes, start: int, count: int, width: int) -> np.ndarray:
    """int64[count]: unsigned little-endian numbers of ``width`` bytes, at most 4."""
    raw = np.frombuffer(data, np.uint8, count * width, start).reshape(count, width)
    return raw.astype(np.int64) @ (1 << 8 * np.arange(width, dtype=np.int64))


# ---- values, level by level ------------------------------------------------------------------------------------------


def _encode(group: pa.StructArray, names: _Names, wanted: np.ndarray) -> Encoded:
    """The values of a group with ``value`` and ``typed_value``; None outside of the rows ``wanted``."""
    value, typed = _member(group, "value"), _member(group, "typed_value")
    wanted = wanted & _valid(group)
    found: Encoded = [None] * len(group)
    if value is not None:
        stored = _bytes(value, "value").to_pylist()
        found = [v if is_wanted else None for v, is_wanted in zip(stored, wanted, strict=True)]
    if typed is None:
        return found
    wanted = wanted & _valid(typed)
    if types.is_struct(typed.type):
        return _objects(typed, names, wanted, found)
    if any(v is not None for v, is_wanted in zip(found, wanted, strict=True) if is_wanted):
        raise MalformedVariantError("a variant has a value and a typed_value, and the typed_value is no object")
    encoded = _arrays(typed, names, wanted) if _is_list(typed.type) else _scalars(typed)
    return [e if is_wanted else v for e, is_wanted, v in zip(encoded, wanted, found, strict=True)]


def _objects(typed: pa.StructArray, names: _Names, wanted: np.ndarray, unshredded_fields: Encoded) -> Encoded:
    """Shredded objects, merged with the objects that hold the fields that are not shredded."""
    shredded = [f.name.encode() for f in typed.type]
    if len(set(shredded)) != len(shredded):
        raise MalformedVariantError("a field of a variant is shredded twice")
    columns = [_encode(_group(typed.field(i)), names, wanted) for i in range(len(shredded))]
    found = list(unshredded_fields)
    for row in np.flatnonzero(wanted).tolist():
        dictionary = names[row]
        fields = []
        for name, column in zip(shredded, columns, strict=True):
            value = column[row]
            if value is not None:
                if name not in dictionary.ids:
                    raise MalformedVariantError("a shredded field is not in the metadata of its variant")
                fields.append((name, dictionary.ids[name], value))
        rest = unshredded_fields[row]
        found[row] = _object(fields, _Object((), b"") if rest is None else _parsed(rest, dictionary, shredded))
    return found


@dataclass(frozen=True)
class _Object:
    """A parsed object: name, id and offset of each field, and the bytes that the offsets point into."""

    fields: Sequence[tuple[bytes, int, int]]
    values: bytes


def _parsed(value: bytes, dictionary: _Dictionary, shredded: Sequence[bytes]) -> _Object:
    """The fields of a partially shredded object that are not shredded."""
    if not value or value[0] & 3 != _OBJECT:
        raise MalformedVariantError("a variant has a typed_value with fields, and a value that is no object")
    header = value[0] >> 2
    offset_width, id_width, count_width = (header & 3) + 1, (header >> 2 & 3) + 1, 4 if header & 16 else 1
    count = int.from_bytes(value[1 : 1 + count_width], "little")
    ids_at = 1 + count_width
    offsets_at = ids_at + count * id_width
    values_at = offsets_at + (count + 1) * offset_width
    if values_at > len(value):
        raise MalformedVariantError("an object in a variant is cut short")
    ids = _numbers(value, ids_at, count, id_width).tolist()
    *offsets, end = _numbers(value, offsets_at, count + 1, offset_width).tolist()
    if end > len(value) - values_at or any(offset >= end for offset in offsets):
        raise MalformedVariantError("a field of an object in a variant lies outside of it")
    if any(i >= len(dictionary.names) for i in ids):
        raise MalformedVariantError("a field of an object is not in the metadata of its variant")
    found = [(dictionary.names[i], i, offset) for i, offset in zip(ids, offsets, strict=True)]
    if not {name for name, _, _ in found}.isdisjoint(shredded):
        raise MalformedVariantError("a shredded field of a variant stands in its value too")
    return _Object(found, value[values_at : values_at + end])


def _object(shredded: Sequence[tuple[bytes, int, bytes]], rest: _Object) -> bytes:
    """Encode an object of shredded fields and the fields of ``rest``, sorted by the bytes of their names."""
    fields, values, size = list(rest.fields), [rest.values], len(rest.values)
    for name, number, value in shredded:
        fields.append((name, number, size))
        values.append(value)
        size += len(value)
    fields.sort()
    ids, offsets = [number for _, number, _ in fields], [offset for _, _, offset in fields]
    id_width, offset_width = _width(max(ids, default=0)), _width(size)
    large = len(fields) > 0xFF
    header = (large << 4 | (id_width - 1) << 2 | (offset_width - 1)) << 2 | _OBJECT
    return b"".join(
        (
            bytes((header,)),
            len(fields).to_bytes(4 if large else 1, "little"),
            _packed(ids, id_width),
            _packed([*offsets, size], offset_width),
            *values,
        )
    )


def _arrays(typed: pa.Array, names: _Names, wanted: np.ndarray) -> Encoded:
    if not types.is_list(typed.type):
        typed = typed.cast(pa.list_(typed.type.value_field))
    offsets = typed.offsets.to_numpy()
    start, stop = int(offsets[0]), int(offsets[-1])
    elements = _group(typed.values.slice(start, stop - start))
    lengths = np.diff(offsets)
    found = _encode(elements, names.repeat(lengths), np.repeat(wanted, lengths))
    # Elements cannot be missing, so a missing one is read as a variant null.
    encoded = [_NULL if v is None else v for v in found]
    bounds = (offsets - start).tolist()
    return [_array(encoded[bounds[i] : bounds[i + 1]]) if is_wanted else None for i, is_wanted in enumerate(wanted)]


def _array(values: Sequence[bytes]) -> bytes:
    offsets = [0]
    for value in values:
        offsets.append(offsets[-1] + len(value))
    width, large = _width(offsets[-1]), len(values) > 0xFF
    header = (large << 2 | (width - 1)) << 2 | _ARRAY
    count = len(values).to_bytes(4 if large else 1, "little")
    return b"".join((bytes((header,)), count, _packed(offsets, width), *values))


def _width(number: int) -> int:
    return max(1, (number.bit_length() + 7) // 8)


def _packed(numbers: Sequence[int], width: int) -> bytes:
    if width > 4:
        raise MalformedVariantError("a variant takes 4 GiB or more")
    return bytes(numbers) if width == 1 else b"".join([n.to_bytes(width, "little") for n in numbers])


# ---- scalars --------------------------------------------------------------------------------------------------------

_FIXED: dict[pa.DataType, tuple[int, int]] = {
    pa.int8(): (3, 1),
    pa.int16(): (4, 2),
    pa.int32(): (5, 4),
    pa.int64(): (6, 8),
    pa.float64(): (7, 8),
    pa.date32(): (11, 4),
    pa.timestamp("us", "UTC"): (12, 8),
    pa.timestamp("us"): (13, 8),
    pa.float32(): (14, 4),
    pa.time64("us"): (17, 8),
    pa.timestamp("ns", "UTC"): (18, 8),
    pa.timestamp("ns"): (19, 8),
    pa.binary(16): (_UUID, 16),
}
"""Type id in the variant encoding, and bytes of a value, which are the same as in Arrow (little endian)."""

_DECIMALS = ((9, 8, 4), (18, 9, 8), (38, 10, 16))
"""Most digits, type id in the variant encoding, and bytes of the unscaled value."""


def _scalars(typed: pa.Array) -> Encoded:
    """A value for each row, undefined where ``typed`` is NULL. Source: "Shredded Value Types"."""
    kind = typed.type
    if types.is_boolean(kind):
        return [b"\x04" if v else b"\x08" for v in typed.to_pylist()]
    if types.is_decimal128(kind) and kind.scale >= 0:
        return _decimals(typed)
    if kind in (pa.string(), pa.large_string(), pa.binary(), pa.large_binary()):
        return _texts(typed)
    if types.is_timestamp(kind) and kind.tz is not None:
        kind = pa.timestamp(kind.unit, "UTC")
    if kind not in _FIXED:
        raise MalformedVariantError(f"a variant is shredded as {kind}")
    number, width = _FIXED[kind]
    return _with_header(bytes((number << 2,)), _raw(typed, width))


def _raw(typed: pa.Array, width: int) -> np.ndarray:
    """uint8[n, width]: the bytes of each value."""
    data = typed.buffers()[-1]
    if not len(typed) or data is None:
        return np.zeros((len(typed), width), np.uint8)
    return np.frombuffer(data, np.uint8, len(typed) * width, typed.offset * width).reshape(len(typed), width)


def _with_header(header: bytes, raw: np.ndarray) -> Encoded:
    packed = np.empty((len(raw), len(header) + raw.shape[1]), np.uint8)
    packed[:, : len(header)] = np.frombuffer(header, np.uint8)
    packed[:, len(header) :] = raw
    text, step = packed.tobytes(), packed.shape[1]
    return [text[i : i + step] for i in range(0, len(text), step)]


def _decimals(typed: pa.Array) -> Encoded:
    kind, raw = typed.type, _raw(typed, 16)
    number, width = next((number, width) for digits, number, width in _DECIMALS if kind.precision <= digits)
    sign = (raw[:, width - 1] >> 7) * np.uint8(0xFF)
    if np.any(_valid(typed) & np.any(raw[:, width:] != sign[:, None], axis=1)):
        raise MalformedVariantError(f"a variant has a number that is no {kind}")
    return _with_header(bytes((number << 2, kind.scale)), raw[:, :width])


def _texts(typed: pa.Array) -> Encoded:
    is_text = bool(types.is_string(typed.type) or types.is_large_string(typed.type))
    found: Encoded = []
    for value in typed.cast(pa.large_binary()).to_pylist():
        size = 0 if value is None else len(value)
        if is_text and size <= _MAX_SHORT_STRING:
            header = bytes((size << 2 | 1,))
        else:
            header = bytes(((_STRING if is_text else _BINARY) << 2,)) + size.to_bytes(4, "little")
        found.append(None if value is None else header + value)
    return found


# ---- members --------------------------------------------------------------------------------------------------------


def _valid(array: pa.Array) -> np.ndarray:
    return np.asarray(array.is_valid().to_numpy(zero_copy_only=False), bool)


def _is_list(kind: pa.DataType) -> bool:
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def _storage(array: pa.Array) -> pa.Array:
    """The values without extension type and dictionary."""
    while isinstance(array, pa.ExtensionArray):
        array = array.storage
    return array.dictionary_decode() if types.is_dictionary(array.type) else array


def _group(array: pa.Array) -> pa.StructArray:
    """The group of a shredded field or element. Raises MalformedVariantError if it is none."""
    array = _storage(array)
    members = {f.name for f in array.type} if types.is_struct(array.type) else set()
    if not members or not members <= {"value", "typed_value"}:
        raise MalformedVariantError("a field or an element of a variant is shredded without value and typed_value")
    return array


def _member(group: pa.StructArray, name: str) -> pa.Array | None:
    found = [i for i, f in enumerate(group.type) if f.name == name]
    if len(found) > 1:
        raise MalformedVariantError(f"a variant has {len(found)} members {name}")
    return _storage(group.field(found[0])) if found else None


def _bytes(array: pa.Array | None, name: str) -> pa.BinaryArray:
    if array is None or not can_read(array.type, primitive("binary")):
        what = "is missing" if array is None else f"is stored as {array.type}"
        raise MalformedVariantError(f"the member {name} of a variant {what}")
    return cast_values(array, primitive("binary"))
