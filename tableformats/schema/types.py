"""Types and fields: what a column holds, and the id that identifies it.

A field's id stays the same when the column is renamed. Columns of bounds are keyed by it, and predicates are bound to
it. Data files and statistics may use another name for the column, ``physical_name``.
"""

from __future__ import annotations

import decimal
from dataclasses import field
from typing import Any

from ..dataclass import dataclass
from ..display import shortened

__all__ = [
    "EXACT",
    "INTEGER_RANGES",
    "PRIMITIVE_NAMES",
    "DecimalType",
    "Field",
    "FixedType",
    "ListType",
    "MapType",
    "PrimitiveType",
    "StructType",
    "Type",
    "is_floating",
    "is_integer",
    "is_numeric",
    "primitive",
]


class Type:
    """Base of all types. ``str(type)`` is Spark's ``simpleString`` where Spark has the type."""

    @property
    def is_nested(self) -> bool:
        """Whether the type has :attr:`members`."""
        return False

    @property
    def members(self) -> tuple[Field, ...]:
        """The fields of the next level: a struct's fields, a list's element, a map's key and value."""
        return ()


class _NestedType(Type):
    @property
    def is_nested(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"{type(self).__name__}({shortened(str(self))!r})"


@dataclass(frozen=True)
class PrimitiveType(Type):
    """A type without parameters; ``name`` is one of :data:`PRIMITIVE_NAMES`."""

    name: str

    def __str__(self) -> str:
        return _SIMPLE_STRINGS.get(self.name, self.name)


@dataclass(frozen=True)
class DecimalType(Type):
    """Decimals of ``precision`` digits (1 to 38), ``scale`` of them after the decimal point."""

    precision: int
    scale: int

    def __str__(self) -> str:
        return f"decimal({self.precision},{self.scale})"

    @property
    def greatest(self) -> decimal.Decimal:
        """The greatest value: all digits are nines."""
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
    """A column, struct member, list element, map key or map value, with its id.

    Attributes
    ----------
    physical_name : str, optional
        The name in data files and statistics. None: the same as ``name``.
    initial_default : object
        The value (a Python value) of the column in files that were written before the column existed. None means NULL.
    metadata : dict
        What the format stores with the field.
    collation : str, optional
        How the values of a string column compare. None: by their UTF-8 bytes.
    char_length : int, optional
        ``n`` of a string column that is CHAR(n): its values are padded with spaces to ``n`` characters wherever they
        are read, whatever is stored. None: values are as they are stored.

    Examples
    --------
    >>> tf.open_table("events").schema.fields[0]
    Field(id=1, name='id', type='bigint')
    """

    id: int
    name: str
    type: Type
    required: bool = False
    physical_name: str | None = None
    # A default of a list, a map or a struct has no hash. The id is enough to distinguish fields.
    initial_default: Any = field(default=None, hash=False)
    doc: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict, compare=False, hash=False)
    collation: str | None = None
    char_length: int | None = None

    def __repr__(self) -> str:
        nullable = ", required=True" if self.required else ""
        return f"Field(id={self.id}, name={shortened(self.name)!r}, type={shortened(str(self.type))!r}{nullable})"

    @property
    def stored_name(self) -> str:
        """The name that data files and statistics use."""
        return self.physical_name if self.physical_name is not None else self.name


@dataclass(frozen=True, repr=False)
class StructType(_NestedType):
    """A struct of named members."""

    fields: tuple[Field, ...]

    @property
    def members(self) -> tuple[Field, ...]:
        return self.fields

    def __str__(self) -> str:
        return "struct<" + ",".join(f"{f.name}:{f.type}" for f in self.fields) + ">"


@dataclass(frozen=True, repr=False)
class ListType(_NestedType):
    """A list. The element has an id, and a name that is not used."""

    element: Field

    @property
    def members(self) -> tuple[Field, ...]:
        return (self.element,)

    def __str__(self) -> str:
        return f"array<{self.element.type}>"


@dataclass(frozen=True, repr=False)
class MapType(_NestedType):
    """A map. The key and the value have ids, and names that are not used."""

    key: Field
    value: Field

    @property
    def members(self) -> tuple[Field, ...]:
        return (self.key, self.value)

    def __str__(self) -> str:
        return f"map<{self.key.type},{self.value.type}>"


EXACT = decimal.Context(prec=80)
"""The context for arithmetic on decimals. The process's own context rounds to 28 digits."""

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
"""Spark's names. "timestamp" is an instant (Delta timestamp, Iceberg timestamptz), "timestamp_ntz" has no zone."""

_SIMPLE_STRINGS = {"byte": "tinyint", "short": "smallint", "long": "bigint", "unknown": "void"}
_PRIMITIVES = {name: PrimitiveType(name) for name in PRIMITIVE_NAMES}


def primitive(name: str) -> PrimitiveType:
    """The primitive type called ``name``, one of :data:`PRIMITIVE_NAMES`. Raises KeyError for other names."""
    return _PRIMITIVES[name]


INTEGER_RANGES = {
    name: (-(1 << bits - 1), (1 << bits - 1) - 1)
    for name, bits in (("byte", 8), ("short", 16), ("int", 32), ("long", 64))
}
"""The least and the greatest value of each integer type, by its name."""


def is_integer(kind: Type | None) -> bool:
    return isinstance(kind, PrimitiveType) and kind.name in INTEGER_RANGES


def is_floating(kind: Type | None) -> bool:
    return isinstance(kind, PrimitiveType) and kind.name in ("float", "double")


def is_numeric(kind: Type | None) -> bool:
    return is_integer(kind) or is_floating(kind) or isinstance(kind, DecimalType)
