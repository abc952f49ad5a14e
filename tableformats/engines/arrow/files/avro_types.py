"""Avro schemas as Arrow types, and decoded Avro values as Arrow columns.

The writer's schema becomes a tree of :class:`AvroColumn`. The tree also gives the schema that values are decoded with.
It has neither the file's names nor its logical types: fastavro then returns numbers and bytes, and every conversion is
made here, exactly. Sources: Apache Avro specification, "Schema Declaration", "Logical Types"; Iceberg spec, appendix A,
"Avro".
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa

from ....errors import CorruptMetadataError, UnsupportedFeatureError
from ....limits import DEFAULT_LIMITS, Limits

__all__ = ["ID_KEY", "AvroColumn", "RecordColumn", "column_of"]

ID_KEY = b"avro.field-id"
"""The key of the field id in the metadata of Arrow fields."""
_MAX_PRECISION = 38
_TYPE_BYTES = 4096
"""What a type stands for where a schema is compared with :attr:`Limits.expansion`: its objects, and their time."""

Values = Sequence[Any]


class AvroColumn(ABC):
    """A type in the writer's schema, at one place.

    Attributes
    ----------
    decoding_schema : Any
        The Avro schema to decode its values with.
    type : pa.DataType
        The type that :meth:`array` returns.
    min_size : int
        The least bytes that a value takes.
    """

    decoding_schema: Any
    type: pa.DataType
    min_size: int

    @abstractmethod
    def array(self, values: Values) -> pa.Array:
        """Decoded values (None is NULL) as an Arrow array.

        Raises
        ------
        pyarrow.ArrowInvalid, OverflowError, ValueError
            The type cannot hold a value.
        """


class _Primitive(AvroColumn):
    def __init__(
        self, decoding_schema: Any, type: pa.DataType, min_size: int, convert: Callable[[Values], pa.Array]
    ) -> None:
        self.decoding_schema, self.type, self.min_size, self._convert = decoding_schema, type, min_size, convert

    def array(self, values: Values) -> pa.Array:
        return self._convert(values)


class _Optional(AvroColumn):
    """A union of one type and null."""

    def __init__(self, value: AvroColumn, null_first: bool) -> None:
        self.decoding_schema = ["null", value.decoding_schema] if null_first else [value.decoding_schema, "null"]
        self.type, self.min_size, self._value = value.type, 1, value

    def array(self, values: Values) -> pa.Array:
        return self._value.array(values)


class RecordColumn(AvroColumn):
    """A record; its members are called ``f0``, ``f1``, ... in the decoding schema."""

    def __init__(self, number: int, fields: Sequence[pa.Field], members: Sequence[AvroColumn]) -> None:
        self.members = members
        renamed = [{"name": f"f{i}", "type": m.decoding_schema} for i, m in enumerate(members)]
        self.decoding_schema = {"type": "record", "name": f"r{number}", "fields": renamed}
        self.type = pa.struct(list(fields))
        self.min_size = sum(m.min_size for m in members)

    def member(self, index: int, values: Values) -> pa.Array:
        """One member of the records ``values``."""
        key = f"f{index}"
        return self.members[index].array([None if v is None else v[key] for v in values])

    def array(self, values: Values) -> pa.Array:
        columns = [self.member(i, values) for i in range(len(self.members))]
        return pa.Array.from_buffers(self.type, len(values), [_validity(values)], children=columns)


class _List(AvroColumn):
    def __init__(self, element: AvroColumn, field_id: bytes | None) -> None:
        self._element = element
        self.decoding_schema = {"type": "array", "items": element.decoding_schema}
        self.type = pa.list_(_field("element", element.type, field_id))
        self.min_size = 1

    def array(self, values: Values) -> pa.Array:
        elements = self._element.array([element for v in values if v for element in v])
        return pa.Array.from_buffers(self.type, len(values), [_validity(values), _offsets(values)], children=[elements])


class _Map(AvroColumn):
    """A map, or an array of key-value records. Both are encoded alike, so both are decoded as arrays of records."""

    def __init__(self, pair: RecordColumn) -> None:
        self._pair = pair
        self.decoding_schema = {"type": "array", "items": pair.decoding_schema}
        key, value = pair.type
        self.type = pa.map_(key.with_name("key").with_nullable(False), value.with_name("value"))
        self.min_size = 1

    def array(self, values: Values) -> pa.Array:
        pairs = [pair for v in values if v for pair in v]
        entries = [self._pair.member(0, pairs), self._pair.member(1, pairs)]
        if entries[0].null_count:
            raise ValueError("a key of a map is NULL")
        kind = pa.struct([self.type.key_field, self.type.item_field])
        child = pa.Array.from_buffers(kind, len(pairs), [None], children=entries)
        return pa.Array.from_buffers(self.type, len(values), [_validity(values), _offsets(values)], children=[child])


def _validity(values: Values) -> pa.Buffer | None:
    valid = np.fromiter((v is not None for v in values), bool, len(values))
    return None if valid.all() else pa.array(valid).buffers()[1]


def _offsets(values: Values) -> pa.Buffer:
    offsets = np.zeros(len(values) + 1, np.int32)
    np.cumsum([len(v) if v else 0 for v in values], out=offsets[1:])
    return pa.py_buffer(offsets)


def _field(name: str, kind: pa.DataType, field_id: bytes | None) -> pa.Field:
    return pa.field(name, kind, metadata=None if field_id is None else {ID_KEY: field_id})


# ---- the writer's schema --------------------------------------------------------------------------------------------


def column_of(schema: Any, path: str, limits: Limits = DEFAULT_LIMITS, stored: int = 0) -> RecordColumn:
    """The columns of a file.

    Parameters
    ----------
    schema : Any
        The writer's schema, parsed from JSON.
    path : str
        Path of the file, for errors.
    limits : Limits
        What the schema may cost.
    stored : int
        The bytes of its text.

    Returns
    -------
    RecordColumn
        Fields of its ``type`` carry their field ids as metadata :data:`ID_KEY`.

    Raises
    ------
    CorruptMetadataError
        It is no schema of a record.
    LimitExceededError
        It nests deeper than ``limits.nesting``. After named types are expanded it has more types than
        ``limits.fields``, or, for its text, than ``limits.expansion``.
    UnsupportedFeatureError
        It has unions of several types, or arrays of values that take no bytes.
    """
    column = _Reader(path, limits, stored).column(schema, "", 0)
    if not isinstance(column, RecordColumn):
        raise _damaged("it is none of a record", path)
    if not column.min_size:
        raise _unsupported("Avro records without a value", path)
    return column


def _damaged(message: str, path: str) -> CorruptMetadataError:
    return CorruptMetadataError(
        f"the Avro schema of the file is damaged: {message[:200]}",
        path=path,
        field="avro.schema",
        hint="Restore the file, or drop it from the table",
    )


def _unsupported(what: str, path: str) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(f"{what} are not read", path=path, field=what, hint="Rewrite the file")


class _Reader:
    """Reads one schema; references to named types are expanded."""

    def __init__(self, path: str, limits: Limits, stored: int) -> None:
        self._path = path
        self._limits = limits
        self._most_types = limits.budget(stored) // _TYPE_BYTES
        self._named: dict[str, tuple[Any, str]] = {}
        self._nodes = 0

    def column(self, schema: Any, namespace: str, depth: int) -> AvroColumn:
        self._nodes += 1
        self._limits.check("nesting", depth, "levels of types or more in an Avro schema", path=self._path)
        self._limits.check("fields", self._nodes, "types or more in an Avro schema", path=self._path)
        if self._nodes > self._most_types:
            found = f"{self._nodes} types or more in an Avro schema"
            raise self._limits.exceeded("expansion", found, path=self._path)
        if isinstance(schema, list):
            return self._union(schema, namespace, depth)
        name = schema.get("type") if isinstance(schema, dict) else schema
        if isinstance(name, (dict, list)):
            return self.column(name, namespace, depth + 1)
        if not isinstance(name, str):
            self._fail("a type has no name")
        attributes = schema if isinstance(schema, dict) else {}
        if name in ("record", "error", "enum", "fixed"):
            namespace = self._remember(attributes, namespace)
        if name in ("record", "error"):
            return self._record(attributes, namespace, depth)
        if name == "array":
            return self._array(attributes, namespace, depth)
        if name == "map":
            value = self.column(attributes.get("values"), namespace, depth + 1)
            key = self.column("string", namespace, depth)
            fields = [
                _field("key", key.type, _id(attributes, "key-id")),
                _field("value", value.type, _id(attributes, "value-id")),
            ]
            return _Map(RecordColumn(self._nodes, fields, [key, value]))
        if name in _PRIMITIVES or name in ("enum", "fixed"):
            return self._primitive(name, attributes)
        known = self._named.get(f"{namespace}.{name}") or self._named.get(name)
        if known is None:
            self._fail(f"{name[:100]!r} is no type")
        return self.column(*known, depth + 1)

    def _remember(self, schema: dict[str, Any], namespace: str) -> str:
        """Register a named type, and return the namespace of the types inside of it."""
        name, space = schema.get("name"), schema.get("namespace")
        if not isinstance(name, str):
            self._fail("a named type has no name")
        if "." in name:
            namespace, _, name = name.rpartition(".")
        elif isinstance(space, str):
            namespace = space
        self._named[f"{namespace}.{name}" if namespace else name] = (schema, namespace)
        return namespace

    def _union(self, schema: list[Any], namespace: str, depth: int) -> AvroColumn:
        values = [branch for branch in schema if branch != "null"]
        if len(schema) != 2 or len(values) != 1:
            raise _unsupported("Avro unions of several types", self._path)
        return _Optional(self.column(values[0], namespace, depth + 1), schema[0] == "null")

    def _record(self, schema: dict[str, Any], namespace: str, depth: int) -> RecordColumn:
        number = self._nodes
        fields, members = [], []
        for member in self._members(schema):
            column = self.column(member.get("type"), namespace, depth + 1)
            fields.append(_field(member["name"], column.type, _id(member, "field-id")))
            members.append(column)
        return RecordColumn(number, fields, members)

    def _members(self, schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
        fields = schema.get("fields")
        if not isinstance(fields, list):
            self._fail("a record has no fields")
        for member in fields:
            if not isinstance(member, dict) or not isinstance(member.get("name"), str):
                self._fail("a field has no name")
            yield member

    def _array(self, schema: dict[str, Any], namespace: str, depth: int) -> AvroColumn:
        element = self.column(schema.get("items"), namespace, depth + 1)
        if not element.min_size:
            # A file of a few bytes could hold any number of them.
            raise _unsupported("Avro arrays of values without bytes", self._path)
        if schema.get("logicalType") == "map" and isinstance(element, RecordColumn) and len(element.members) == 2:
            return _Map(element)
        return _List(element, _id(schema, "element-id"))

    def _primitive(self, name: str, schema: dict[str, Any]) -> AvroColumn:
        logical = schema.get("logicalType")
        size = 0
        if name == "fixed":
            size = schema.get("size", 0)
            if not isinstance(size, int) or not 0 < size < 1 << 30:
                self._fail("a fixed type has no size")
        decoding: Any = {"type": "fixed", "name": f"x{self._nodes}", "size": size} if name == "fixed" else name
        if name == "enum":
            return self._enum(schema)
        if logical == "decimal" and name in ("bytes", "fixed"):
            decimal = self._decimal_type(schema)
            return _Primitive(decoding, decimal, max(size, 1), lambda values: _decimals(values, decimal))
        if name == "fixed":
            return _Primitive(decoding, pa.binary(size), size, lambda values: pa.array(values, pa.binary(size)))
        if name == "string":
            # Decoded as bytes: Arrow checks a whole column of UTF-8 faster than Python decodes each value.
            return _Primitive("bytes", pa.string(), 1, lambda values: pa.array(values, pa.binary()).cast(pa.string()))
        stored, min_size = _PRIMITIVES[name]
        instant = schema.get("adjust-to-utc", True) is True
        target = _logical_type(name, logical, instant)
        if target is None:
            return _Primitive(decoding, stored, min_size, lambda values: pa.array(values, stored))
        return _Primitive(decoding, target, min_size, lambda values: pa.array(values, stored).view(target))

    def _enum(self, schema: dict[str, Any]) -> AvroColumn:
        symbols = schema.get("symbols")
        if not isinstance(symbols, list) or not all(isinstance(s, str) for s in symbols):
            self._fail("an enum has no symbols")
        names = pa.array(symbols, pa.string())
        return _Primitive("int", pa.string(), 1, lambda values: names.take(pa.array(values, pa.int32())))

    def _decimal_type(self, schema: dict[str, Any]) -> pa.DataType:
        precision, scale = schema.get("precision"), schema.get("scale", 0)
        if not isinstance(precision, int) or not isinstance(scale, int) or not 0 <= scale <= precision:
            self._fail("a decimal has no precision")
        if not 0 < precision <= _MAX_PRECISION:
            raise _unsupported(f"decimals of {precision} digits", self._path)
        return pa.decimal128(precision, scale)

    def _fail(self, message: str) -> NoReturn:
        raise _damaged(message, self._path)


_PRIMITIVES = {
    "null": (pa.null(), 0),
    "boolean": (pa.bool_(), 1),
    "int": (pa.int32(), 1),
    "long": (pa.int64(), 1),
    "float": (pa.float32(), 4),
    "double": (pa.float64(), 8),
    "bytes": (pa.binary(), 1),
    "string": (pa.binary(), 1),
}


def _logical_type(name: str, logical: Any, instant: bool) -> pa.DataType | None:
    """The Arrow type of a number with that logical type; None where it is a plain number."""
    if not isinstance(logical, str):
        return None
    if name == "int":
        return {"date": pa.date32(), "time-millis": pa.time32("ms")}.get(logical)
    if name != "long":
        return None
    if logical == "time-micros":
        return pa.time64("us")
    family, _, unit = logical.rpartition("-")
    units = {"millis": "ms", "micros": "us", "nanos": "ns"}
    if family not in ("timestamp", "local-timestamp") or unit not in units:
        return None
    return pa.timestamp(units[unit], "UTC" if instant and family == "timestamp" else None)


def _decimals(values: Values, decimal: pa.DataType) -> pa.Array:
    """Big-endian two's complement numbers of any length as decimals."""
    bound, data = 10**decimal.precision, bytearray()
    for value in values:
        number = int.from_bytes(value or b"", "big", signed=True)
        if not -bound < number < bound:
            raise ValueError(f"a decimal has more than {decimal.precision} digits")
        data += number.to_bytes(16, "little", signed=True)
    return pa.Array.from_buffers(decimal, len(values), [_validity(values), pa.py_buffer(bytes(data))])


def _id(attributes: dict[str, Any], key: str) -> bytes | None:
    value = attributes.get(key)
    return str(value).encode() if isinstance(value, int) and not isinstance(value, bool) else None
