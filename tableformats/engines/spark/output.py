"""The columns of the result, out of what a relation reads: renamed, collated, floats kept out of pushdown, defaults
filled in.

Spark's filters on a bare column, or on a bare member of a struct, reach the bounds of Parquet's row groups and of
ORC's stripes, which pass over NaN and take -0.0 for less than 0.0: rows that match would be lost. So floats are given
as an expression of the same value, which ``CatalystFilters.java`` sees through. Collated strings are read as plain ones
and cast: neither Parquet's filters nor ``CatalystFilters.java`` look through a cast, so that nothing goes by bytes.
Values of CHAR(n) are padded by an expression, too, whatever the session's settings say of it: the files' bounds are of
values without the padding. ``CatalystFilters.java`` tells the planner which filters are over padded values. The
columns keep the mark by which Spark pads the literals that they are compared with.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ...errors import UnsupportedFeatureError
from ...expressions import Literal
from ...schema import Field, ListType, MapType, StructType, Type
from ..arrow.projection import default_values
from .columns import Naming, StoredColumn, char_metadata, logical_type, quoted
from .filters import literal_column, pad_column

if TYPE_CHECKING:
    from pyspark.sql import Column

    from .native.jvm import Bridge

__all__ = ["check_defaults", "default_constant", "output_column", "renamed"]

_FLOATS = ("float", "double")


def output_column(f: Field, naming: Naming, bridge: Bridge) -> Column | StoredColumn:
    """The column ``f`` of the result, out of the relation that ``naming`` reads."""
    is_made = f.id in naming.missing and default_constant(f) is None
    if is_made or f.type.is_nested or f.collation or f.char_length or str(f.type) in ("uuid", "void"):
        column = _Output(naming, bridge).column(f)
        return column.alias(f.name, metadata=char_metadata(f)) if f.char_length else column.alias(f.name)
    # Each operation on a Column asks the JVM a dozen times.
    return StoredColumn(naming.name(f), f.name, str(f.type) in _FLOATS)


def renamed(f: Field, naming: Naming, bridge: Bridge) -> Column:
    """The column ``f`` as the relation holds it, with the table's names and types at every depth below.

    Members are taken of what this returns only: where Spark reads a part of a column alone, it forgets the column's
    field id (``SchemaPruning``). It does not look through the cast.
    """
    from pyspark.sql import functions as F

    column, wanted = F.col(quoted(naming.name(f))), logical_type(f.type, f.collation)
    if not (f.type.is_nested or f.collation) or naming.spark_type(f.type) == wanted:
        return column
    # From struct to struct a cast goes by position: it renames, and the field ids stay behind.
    try:
        return column.cast(bridge.spark_type(wanted))
    except Exception as error:
        # Of the types that we ask for Spark refuses those alone whose collation it does not know.
        raise UnsupportedFeatureError(
            "the session's Spark has no such type, by its collation",
            field=f.name,
            hint="Leave the column out with columns=[...], or read with to_arrow()",
        ) from error


def default_constant(f: Field) -> pa.Array | None:
    """A column's initial default as an array of one, for a constant of files; None where it has to be a literal."""
    return None if f.type.is_nested else default_values(f)


def check_defaults(f: Field, naming: Naming) -> None:
    """Raise UnsupportedFeatureError where a missing value with a default stands in the key of a map."""
    for below in _below(f):
        if isinstance(below.type, MapType) and _lacks(below.type.key, naming):
            raise UnsupportedFeatureError(
                "initial defaults in the keys of maps are not read with Spark",
                field=f.name,
                hint="Leave the column out with columns=[...], or read with to_arrow()",
            )


def _below(f: Field) -> list[Field]:
    return [f, *(deeper for member in f.type.members for deeper in _below(member))]


def _lacks(f: Field, naming: Naming) -> bool:
    """Whether the files lack ``f``, or something in it, that has a default."""
    return bool(naming.missing) and any(below.id in naming.missing for below in _below(f))


class _Output:
    def __init__(self, naming: Naming, bridge: Bridge) -> None:
        from pyspark.sql import functions

        self._functions: Any = functions
        self._naming = naming
        self._bridge = bridge

    def column(self, f: Field) -> Any:
        if str(f.type) == "void":
            return self._functions.lit(None)
        if f.id in self._naming.missing and default_constant(f) is None:
            return self._literal(default_values(f), f.type).cast(self._spark_type(f.type))
        column = renamed(f, self._naming, self._bridge)
        return _uuid_text(column) if str(f.type) == "uuid" else self._value(column, f)

    def _value(self, column: Any, f: Field) -> Any:
        """``column``, which has the names of ``f``, with defaults and padding, and with floats out of the reach of
        filters."""
        kind = f.type
        if f.char_length:
            return pad_column(column, f.char_length)
        if str(kind) in _FLOATS:
            return self._functions.nanvl(column, column)
        if any(_lacks(member, self._naming) for member in kind.members):
            # Literals are not nullable; the columns of a result are, at every depth.
            return self._rebuilt(column, kind).cast(self._spark_type(kind))
        if isinstance(kind, StructType):
            return self._guarded(column, kind)
        return self._rebuilt(column, kind) if any(map(_holds_chars, kind.members)) else column

    def _guarded(self, column: Any, kind: StructType) -> Any:
        """The same struct; what filters say of other members still reaches the files."""
        for member in kind.fields:
            if _holds_floats(member) or _holds_chars(member):
                column = column.withField(quoted(member.name), self._value(column.getField(member.name), member))
        return column

    def _rebuilt(self, column: Any, kind: Type) -> Any:
        """The nested ``column`` out of its values, with the defaults of what its files lack; NULL stays NULL."""
        functions = self._functions
        if isinstance(kind, StructType):
            members = [self._member(column, member).alias(member.name) for member in kind.fields]
            return functions.when(column.isNotNull(), functions.struct(*members))
        if isinstance(kind, ListType):
            return functions.transform(column, lambda element: self._value(element, kind.element))
        assert isinstance(kind, MapType)
        if _holds_chars(kind.key):
            column = functions.transform_keys(column, lambda key, _: self._value(key, kind.key))
        return functions.transform_values(column, lambda _, value: self._value(value, kind.value))

    def _member(self, struct: Any, member: Field) -> Any:
        if member.id in self._naming.missing:
            return self._literal(default_values(member), member.type)
        return self._value(struct.getField(member.name), member)

    def _spark_type(self, kind: Type) -> Any:
        return self._bridge.spark_type(logical_type(kind))

    def _literal(self, values: pa.Array, kind: Type) -> Any:
        """The one value of an array as a literal of the logical type."""
        functions = self._functions
        if values.null_count:
            return functions.lit(None).cast(self._spark_type(kind))
        if isinstance(kind, StructType):
            members = [(values.field(i), f) for i, f in enumerate(kind.fields)]
            return functions.struct(*(self._literal(value, f.type).alias(f.name) for value, f in members))
        if isinstance(kind, ListType):
            return functions.array(*self._literals(values.flatten(), kind.element))
        if isinstance(kind, MapType):
            sides = [
                functions.array(*self._literals(side, f))
                for side, f in ((values.keys, kind.key), (values.items, kind.value))
            ]
            return functions.map_from_arrays(*sides)
        return literal_column(Literal(_plain(values), kind)).cast(self._spark_type(kind))

    def _literals(self, values: pa.Array, f: Field) -> list[Any]:
        return [self._literal(values.slice(i, 1), f.type) for i in range(len(values))]


def _plain(values: pa.Array) -> Any:
    """The one value as bound literals have it: days and microseconds as integers."""
    kinds = {pa.types.is_date32: pa.int32(), pa.types.is_timestamp: pa.int64()}
    target = next((kind for test, kind in kinds.items() if test(values.type)), None)
    return (values if target is None else values.cast(target))[0].as_py()


def _holds_floats(f: Field) -> bool:
    """Whether ``f`` is a float, or has one that is reached through structs alone."""
    if isinstance(f.type, StructType):
        return any(_holds_floats(member) for member in f.type.fields)
    return str(f.type) in _FLOATS


def _holds_chars(f: Field) -> bool:
    return f.char_length is not None or any(map(_holds_chars, f.type.members))


def _uuid_text(column: Any) -> Any:
    from pyspark.sql import functions as F

    digits = F.lower(F.hex(column))
    parts = [F.substring(digits, start, length) for start, length in [(1, 8), (9, 4), (13, 4), (17, 4), (21, 12)]]
    # concat is NULL for NULL, concat_ws is not.
    dash = F.lit("-")
    return F.concat(parts[0], dash, parts[1], dash, parts[2], dash, parts[3], dash, parts[4])
