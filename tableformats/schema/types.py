"""Schemas and types that both formats share: names, ids, and the way to Arrow and Spark.

Every field, at every depth, has an integer ``id``. Iceberg and column-mapped Delta tables bring theirs; for plain
Delta tables the plugin numbers the fields (:func:`number_fields`). Inside the library a column is its id: the
columns of bounds are keyed by it, predicates are bound to it. ``physical_name`` is the name that the data files
and the statistics use where that differs from ``name``.
"""

from __future__ import annotations

import decimal
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from ..runtime.concurrency import cached_property

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "EXACT",
    "DecimalType",
    "Field",
    "FixedType",
    "ListType",
    "MapType",
    "PrimitiveType",
    "Schema",
    "StructType",
    "Type",
    "number_fields",
    "primitive",
]


class Type:
    """Base of all types. ``str(type)`` is Spark's ``simpleString`` where Spark has the type."""

    @property
    def is_nested(self) -> bool:
        return False

    @property
    def members(self) -> tuple[Field, ...]:
        """The fields of the next level: a struct's fields, a list's element, a map's key and value."""
        return ()


@dataclass(frozen=True)
class PrimitiveType(Type):
    """A type without parameters; ``name`` is one of :data:`PRIMITIVE_NAMES`."""

    name: str

    def __str__(self) -> str:
        return _SIMPLE_STRINGS.get(self.name, self.name)


@dataclass(frozen=True)
class DecimalType(Type):
    """``precision`` digits (1 to 38), of which ``scale`` stand behind the point."""

    precision: int
    scale: int

    def __str__(self) -> str:
        return f"decimal({self.precision},{self.scale})"

    @property
    def greatest(self) -> decimal.Decimal:
        """The greatest value: nines alone."""
        return decimal.Decimal((0, (9,) * self.precision, -self.scale))

    def unscaled(self, value: decimal.Decimal) -> int:
        """``value`` in units of the type's last digit, exactly."""
        return int(value.scaleb(self.scale, EXACT))


@dataclass(frozen=True)
class FixedType(Type):
    """Exactly ``length`` bytes."""

    length: int

    def __str__(self) -> str:
        return f"fixed[{self.length}]"


@dataclass(frozen=True)
class Field:
    """A named, numbered column, struct member, list element, map key or map value.

    ``initial_default`` is the value (a plain Python value) of the column in files written before it existed;
    None means NULL. ``metadata`` is what the format stores beside the field. ``collation`` names how the values of a
    string column compare; None: by their UTF-8 bytes.
    """

    id: int
    name: str
    type: Type
    required: bool = False
    physical_name: str | None = None
    # A default of a list, a map or a struct has no hash; the id tells fields apart.
    initial_default: Any = field(default=None, hash=False)
    doc: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict, compare=False, hash=False)
    collation: str | None = None

    @property
    def stored_name(self) -> str:
        """The name that data files and statistics use."""
        return self.physical_name if self.physical_name is not None else self.name


@dataclass(frozen=True)
class StructType(Type):
    fields: tuple[Field, ...]

    @property
    def is_nested(self) -> bool:
        return True

    @property
    def members(self) -> tuple[Field, ...]:
        return self.fields

    def __str__(self) -> str:
        return "struct<" + ",".join(f"{f.name}:{f.type}" for f in self.fields) + ">"


@dataclass(frozen=True)
class ListType(Type):
    element: Field

    @property
    def is_nested(self) -> bool:
        return True

    @property
    def members(self) -> tuple[Field, ...]:
        return (self.element,)

    def __str__(self) -> str:
        return f"array<{self.element.type}>"


@dataclass(frozen=True)
class MapType(Type):
    key: Field
    value: Field

    @property
    def is_nested(self) -> bool:
        return True

    @property
    def members(self) -> tuple[Field, ...]:
        return (self.key, self.value)

    def __str__(self) -> str:
        return f"map<{self.key.type},{self.value.type}>"


EXACT = decimal.Context(prec=80)
"""For arithmetic of decimals, which otherwise rounds to the 28 digits of the process's context."""
# Spark's names. "timestamp" is an instant (Delta timestamp, Iceberg timestamptz), "timestamp_ntz" has no zone.
PRIMITIVE_NAMES = (
    "boolean",
    "byte",
    "short",
    "int",
    "long",
    "float",
    "double",
    "string",
    "binary",
    "uuid",
    "date",
    "time",
    "timestamp",
    "timestamp_ntz",
    "timestamp_ns",
    "timestamp_ntz_ns",
    "variant",
    "unknown",
)
_SIMPLE_STRINGS = {"byte": "tinyint", "short": "smallint", "long": "bigint", "unknown": "void"}
_PRIMITIVES = {name: PrimitiveType(name) for name in PRIMITIVE_NAMES}


def primitive(name: str) -> PrimitiveType:
    """The primitive type called ``name``, one of :data:`PRIMITIVE_NAMES`. Raises KeyError for other names."""
    return _PRIMITIVES[name]


@dataclass(frozen=True)
class Schema:
    """The columns of a table at one version. ``id`` is the format's schema id, None where it has none."""

    fields: tuple[Field, ...]
    id: int | None = None

    def __iter__(self) -> Iterator[Field]:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)

    def __str__(self) -> str:
        return "\n".join(f"{f.name}: {f.type}{' not null' if f.required else ''}" for f in self.fields)

    @property
    def names(self) -> list[str]:
        """Top-level column names, in order."""
        return [f.name for f in self.fields]

    @cached_property
    def _paths_by_id(self) -> dict[int, tuple[Field, ...]]:
        return {path[-1].id: path for path in _walk(self.fields, ())}

    def find_id(self, field_id: int) -> Field | None:
        """The field with that id at any depth, or None."""
        path = self._paths_by_id.get(field_id)
        return path[-1] if path else None

    def path_of(self, field_id: int) -> tuple[Field, ...]:
        """The fields from the top-level column down to ``field_id``. Raises KeyError."""
        return self._paths_by_id[field_id]

    def resolve(self, parts: Sequence[str], case_sensitive: bool = False) -> tuple[Field, ...] | None:
        """The path of fields that dotted name ``parts`` means, through structs only; None where there is none.

        Spark's rule: names compare without case unless asked; two columns whose names differ only in case are
        resolved by the exact spelling, and are ambiguous (None) without it.
        """
        fields: Iterable[Field] = self.fields
        path: list[Field] = []
        for part in parts:
            found = _pick(fields, part, case_sensitive)
            if found is None:
                return None
            path.append(found)
            fields = found.type.fields if isinstance(found.type, StructType) else ()
        return tuple(path) or None

    def near_names(self, name: str, limit: int = 3) -> list[str]:
        """Dotted names of leaf columns that resemble ``name``, best first: for error messages."""
        import difflib

        names = {".".join(f.name for f in path): None for path in _walk(self.fields, ())}
        lowered = {n.lower(): n for n in names}
        close = difflib.get_close_matches(name.lower(), list(lowered), n=limit, cutoff=0.5)
        return [lowered[n] for n in close]

    def leaves(self) -> list[tuple[Field, ...]]:
        """Paths of all primitive fields reachable through structs, depth first: the columns that have bounds."""
        return [p for p in _walk(self.fields, (), structs_only=True) if not p[-1].type.is_nested]

    def to_arrow(self) -> pa.Schema:
        """The Arrow schema of a scan's rows (instants as ``timestamp[us, UTC]``, uuid as 16 fixed bytes)."""
        import pyarrow as pa

        return pa.schema([arrow_field(f) for f in self.fields])

    @classmethod
    def from_arrow(cls, schema: pa.Schema) -> Schema:
        """A schema of the same columns, numbered from 1. Raises UnsupportedFeatureError for other types."""
        fields = tuple(_from_arrow_field(f) for f in schema)
        return cls(number_fields(fields))

    def to_spark_json(self) -> str:
        """Spark's ``StructType`` in JSON; uuid becomes string. Raises UnsupportedFeatureError for other types."""
        return json.dumps(_spark_type(StructType(self.fields)))


def _pick(fields: Iterable[Field], name: str, case_sensitive: bool) -> Field | None:
    candidates = list(fields)
    exact = [f for f in candidates if f.name == name]
    if exact or case_sensitive:
        return exact[0] if exact else None
    folded = [f for f in candidates if f.name.lower() == name.lower()]
    return folded[0] if len(folded) == 1 else None


def _walk(
    fields: Iterable[Field], prefix: tuple[Field, ...], structs_only: bool = False
) -> Iterator[tuple[Field, ...]]:
    for f in fields:
        path = (*prefix, f)
        yield path
        if isinstance(f.type, StructType):
            yield from _walk(f.type.fields, path, structs_only)
        elif isinstance(f.type, ListType) and not structs_only:
            yield from _walk((f.type.element,), path)
        elif isinstance(f.type, MapType) and not structs_only:
            yield from _walk((f.type.key, f.type.value), path)


def number_fields(fields: Iterable[Field], start: int = 1) -> tuple[Field, ...]:
    """The same fields with ids in depth-first order from ``start``, for formats that store no ids."""
    counter = iter(range(start, 2**31))

    def renumber(f: Field) -> Field:
        numbered = replace(f, id=next(counter))
        kind = f.type
        if isinstance(kind, StructType):
            return replace(numbered, type=StructType(tuple(renumber(child) for child in kind.fields)))
        if isinstance(kind, ListType):
            return replace(numbered, type=ListType(renumber(kind.element)))
        if isinstance(kind, MapType):
            return replace(numbered, type=MapType(renumber(kind.key), renumber(kind.value)))
        return numbered

    return tuple(renumber(f) for f in fields)


def arrow_field(f: Field) -> pa.Field:
    """The Arrow field of ``f``, its id kept under the metadata key ``PARQUET:field_id``, and under ``logical_type`` the
    format's own type where ``Field.metadata`` says that the values are more than binary (geometry)."""
    import pyarrow as pa

    metadata = {"PARQUET:field_id": str(f.id)}
    if "logical_type" in f.metadata:
        metadata["logical_type"] = str(f.metadata["logical_type"])
    return pa.field(f.name, arrow_type(f.type), not f.required, metadata)


def arrow_type(kind: Type) -> pa.DataType:
    """The Arrow type of values of ``kind``; variant is ``struct<metadata: binary, value: binary>``."""
    import pyarrow as pa

    if isinstance(kind, DecimalType):
        return pa.decimal128(kind.precision, kind.scale)
    if isinstance(kind, FixedType):
        return pa.binary(kind.length)
    if isinstance(kind, StructType):
        return pa.struct([arrow_field(f) for f in kind.fields])
    if isinstance(kind, ListType):
        return pa.list_(arrow_field(replace(kind.element, name="element")))
    if isinstance(kind, MapType):
        return pa.map_(
            arrow_field(replace(kind.key, name="key", required=True)), arrow_field(replace(kind.value, name="value"))
        )
    assert isinstance(kind, PrimitiveType)
    return _arrow_primitives()[kind.name]


@cache
def _arrow_primitives() -> dict[str, pa.DataType]:
    import pyarrow as pa

    return {
        "boolean": pa.bool_(),
        "byte": pa.int8(),
        "short": pa.int16(),
        "int": pa.int32(),
        "long": pa.int64(),
        "float": pa.float32(),
        "double": pa.float64(),
        "string": pa.string(),
        "binary": pa.binary(),
        "uuid": pa.binary(16),
        "date": pa.date32(),
        "time": pa.time64("us"),
        "timestamp": pa.timestamp("us", "UTC"),
        "timestamp_ntz": pa.timestamp("us"),
        "timestamp_ns": pa.timestamp("ns", "UTC"),
        "timestamp_ntz_ns": pa.timestamp("ns"),
        "variant": pa.struct([pa.field("metadata", pa.binary()), pa.field("value", pa.binary())]),
        "unknown": pa.null(),
    }


def _from_arrow_field(f: pa.Field) -> Field:
    return Field(0, f.name, _from_arrow_type(f.type, f.name), required=not f.nullable)


def _from_arrow_type(kind: pa.DataType, name: str) -> Type:
    import pyarrow as pa
    from pyarrow import types

    from ..errors import UnsupportedFeatureError

    if types.is_struct(kind):
        return StructType(tuple(_from_arrow_field(kind.field(i)) for i in range(kind.num_fields)))
    if types.is_list(kind) or types.is_large_list(kind):
        return ListType(_from_arrow_field(kind.value_field))
    if types.is_map(kind):
        return MapType(_from_arrow_field(kind.key_field), _from_arrow_field(kind.item_field))
    if types.is_decimal128(kind):
        return DecimalType(kind.precision, kind.scale)
    if types.is_timestamp(kind):
        zone, nanos = kind.tz is not None, kind.unit == "ns"
        return primitive("timestamp" + ("" if zone else "_ntz") + ("_ns" if nanos else ""))
    if types.is_fixed_size_binary(kind):
        return FixedType(kind.byte_width)
    if types.is_dictionary(kind):
        return _from_arrow_type(kind.value_type, name)
    aliases = {pa.large_string(): "string", pa.large_binary(): "binary"}
    aliases.update({arrow: ours for ours, arrow in _arrow_primitives().items() if ours != "uuid"})
    if kind not in aliases:
        raise UnsupportedFeatureError(f"Arrow type {kind} has no table type", field=name)
    return primitive(aliases[kind])


def _spark_type(kind: Type) -> Any:
    from ..errors import UnsupportedFeatureError

    if isinstance(kind, StructType):
        return {
            "type": "struct",
            "fields": [
                {"name": f.name, "type": _spark_type(f.type), "nullable": not f.required, "metadata": {}}
                for f in kind.fields
            ],
        }
    if isinstance(kind, ListType):
        return {
            "type": "array",
            "elementType": _spark_type(kind.element.type),
            "containsNull": not kind.element.required,
        }
    if isinstance(kind, MapType):
        return {
            "type": "map",
            "keyType": _spark_type(kind.key.type),
            "valueType": _spark_type(kind.value.type),
            "valueContainsNull": not kind.value.required,
        }
    if isinstance(kind, DecimalType):
        return str(kind)
    if isinstance(kind, FixedType):
        return "binary"
    assert isinstance(kind, PrimitiveType)
    names = {"int": "integer", "uuid": "string", "unknown": "void"}
    if kind.name in ("time", "timestamp_ns", "timestamp_ntz_ns"):
        raise UnsupportedFeatureError(f"Spark reads no column of type {kind} yet", field=kind.name)
    return names.get(kind.name, kind.name)
