"""The columns of the result: a relation's columns renamed and collated, with defaults, and with floats not pushed down.

Spark pushes filters on a column, or on a member of a struct, down to the bounds of Parquet row groups and ORC stripes.
Those bounds ignore NaN and order -0.0 before 0.0, so rows that match would be lost. Floats are therefore wrapped in an
expression of the same value, which ``CatalystFilters.java`` recognises. Collated strings are read as ordinary strings
and cast. Neither Parquet's filters nor ``CatalystFilters.java`` look through a cast, so they are never compared by
bytes.

Values of CHAR(n) are padded by an expression too, whatever the session's settings say: the bounds in files are of
values without the padding. ``CatalystFilters.java`` tells the planner which filters are over padded values. The columns
keep the metadata by which Spark pads the literals that they are compared with.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ...errors import UnsupportedFeatureError
from ...expressions import Literal
from ...schema import Field, ListType, MapType, StructType, Type
from ..arrow.projection import default_values
from .columns.naming import Naming, StoredColumn, quoted
from .columns.spark_types import char_metadata, logical_type
from .filters import literal_column, pad_column

if TYPE_CHECKING:
    from pyspark.sql import Column

    from .relations import RelationReader

__all__ = ["check_defaults", "default_constant", "output_column", "renamed"]

_FLOATS = ("float", "double")


def output_column(f: Field, naming: Naming, reader: RelationReader) -> Column | StoredColumn:
    """The column ``f`` of the result, computed from the columns of a relation that is read by ``naming``."""
    is_literal = f.id in naming.missing and default_constant(f) is None
    if is_literal or f.type.is_nested or f.collation or f.char_length or str(f.type) in ("uuid", "void"):
        column = _ResultColumns(naming, reader).column(f)
        return column.alias(f.name, metadata=char_metadata(f)) if f.char_length else column.alias(f.name)
    # Each operation on a Column costs a dozen calls of the JVM, so most columns are only named here.
    return StoredColumn(naming.name(f), f.name, str(f.type) in _FLOATS)


def renamed(f: Field, naming: Naming, reader: RelationReader) -> Column:
    """The relation's column ``f``, cast to the table's names and types at every depth.

    Members must be taken from the result of this function. Where Spark reads only members of a column, it drops the
    column's field id (``SchemaPruning``), but it does not look through the cast.
    """
    from pyspark.sql import functions as F

    column, wanted = F.col(quoted(naming.name(f))), logical_type(f.type, f.collation)
    if not (f.type.is_nested or f.collation) or naming.spark_type(f.type) == wanted:
        return column
    # A cast from struct to struct matches members by position, so it renames them.
    try:
        return column.cast(reader.spark_type(wanted))
    except Exception as error:
        # Spark refuses only those of our types whose collation it does not know.
        raise UnsupportedFeatureError(
            "the session's Spark has no such type, by its collation",
            field=f.name,
            hint="Leave the column out with columns=[...], or read with to_arrow()",
        ) from error


def default_constant(f: Field) -> pa.Array | None:
    """A column's initial default as an array of length 1, to be a constant of files; None if it must be a literal."""
    return None if f.type.is_nested else default_values(f)


def check_defaults(f: Field, naming: Naming) -> None:
    """Raise UnsupportedFeatureError if a field in the key of a map is missing in the files and has a default."""
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


class _ResultColumns:
    def __init__(self, naming: Naming, reader: RelationReader) -> None:
        from pyspark.sql import functions

        self._functions: Any = functions
        self._naming = naming
        self._reader = reader

    def column(self, f: Field) -> Any:
        if str(f.type) == "void":
            return self._functions.lit(None)
        if f.id in self._naming.missing and default_constant(f) is None:
            return self._literal(default_values(f), f.type).cast(self._spark_type(f.type))
        column = renamed(f, self._naming, self._reader)
        return _uuid_text(column) if str(f.type) == "uuid" else self._value(column, f)

    def _value(self, column: Any, f: Field) -> Any:
        """``column``, which has the names of ``f``, with defaults and padding, and floats that are not pushed down."""
        kind = f.type
        if f.char_length:
            return pad_column(column, f.char_length)
        if str(kind) in _FLOATS:
            return self._functions.nanvl(column, column)
        if any(_lacks(member, self._naming) for member in kind.members):
            # Literals are not nullable, but all columns of a result are, at every depth. The cast makes them so.
            return self._rebuilt(column, kind).cast(self._spark_type(kind))
        if isinstance(kind, StructType):
            return self._without_pushdown(column, kind)
        return self._rebuilt(column, kind) if any(map(_holds_chars, kind.members)) else column

    def _without_pushdown(self, column: Any, kind: StructType) -> Any:
        """The same struct with its floats wrapped; filters on other members are still pushed down."""
        for member in kind.fields:
            if _holds_floats(member) or _holds_chars(member):
                column = column.withField(quoted(member.name), self._value(column.getField(member.name), member))
        return column

    def _rebuilt(self, column: Any, kind: Type) -> Any:
        """The nested ``column`` out of its values, with the defaults of fields that its files lack; NULL stays NULL."""
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
        return self._reader.spark_type(logical_type(kind))

    def _literal(self, values: pa.Array, kind: Type) -> Any:
        """The value of an array of length 1 as a literal of the logical type."""
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
        return literal_column(Literal(_bound_value(values), kind)).cast(self._spark_type(kind))

    def _literals(self, values: pa.Array, f: Field) -> list[Any]:
        return [self._literal(values.slice(i, 1), f.type) for i in range(len(values))]


def _bound_value(values: pa.Array) -> Any:
    """The value of an array of length 1 as bound literals have it: dates, times and timestamps as integers."""
    kinds = {pa.types.is_date32: pa.int32(), pa.types.is_timestamp: pa.int64(), pa.types.is_time64: pa.int64()}
    target = next((kind for test, kind in kinds.items() if test(values.type)), None)
    return (values if target is None else values.cast(target))[0].as_py()


def _holds_floats(f: Field) -> bool:
    """Whether ``f`` is a float, or a struct with a float in it, lists and maps aside."""
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
