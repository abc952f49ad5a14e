"""The columns of a table under the names by which Spark's Parquet reader finds them, and back.

A :class:`Naming` says how one group of files is read: by the names that they hold, or by field id. Reading by id
needs care: Spark's reader resolves columns by id, but its pushed filters match by *name*. Where a name may mean
another column in some file (swapped names, a column dropped and added again), a filter on it would drop row groups
that have matches. Such a column is read under a name that no file holds, which switches its pushdown off.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...errors import UnsupportedFeatureError
from ...schema import DecimalType, Field, FixedType, ListType, MapType, PrimitiveType, Schema, StructType, Type

if TYPE_CHECKING:
    from pyspark.sql import Column

__all__ = [
    "HIDDEN",
    "ROW_INDEX",
    "Naming",
    "Path",
    "StoredColumn",
    "char_metadata",
    "check_collation",
    "check_readable",
    "logical_type",
    "naming_by_id",
    "quoted",
    "spark_struct",
]

Path = tuple[Field, ...]

HIDDEN = "_tableformats_"
"""Columns of ours begin so: what stands in no file, and is not in the result."""

ROW_INDEX = "_tmp_metadata_row_index"
"""A column of this name, bigint, holds a row's position in its file. Source: Spark, ``ParquetFileFormat``."""

_REFUSED = ("time", "timestamp_ns", "timestamp_ntz_ns")
_HAS_VARIANT = (4, 0)
_HAS_COLLATIONS = (4, 0)
_COLLATION = re.compile(r"(?:spark|icu)\.(\w+)", re.ASCII | re.IGNORECASE)
"""A collation as Delta writes it, provider and name. Source: Spark, ``StructField.schemaCollationValue``."""


@dataclass(frozen=True)
class Naming:
    """How the columns of some files are found.

    ``by_id``: by Parquet field id. ``names``: {field id: name to read it under}; None: the stored name. Ids that
    are missing in ``names`` get a name that no file holds: by id they are found all the same, by name they are NULL.
    ``by_name``: ids of the columns that are found by name in any case. ``missing``: ids of the fields that these files
    lack and that have an initial default; what stands below such a field is not told of.
    """

    by_id: bool = False
    names: Mapping[int, str] | None = field(default=None, hash=False)
    by_name: frozenset[int] = frozenset()
    missing: frozenset[int] = frozenset()

    def name(self, f: Field) -> str:
        if self.names is None:
            return f.stored_name
        return self.names.get(f.id, f"{HIDDEN}field_{f.id}")

    def spark_field(self, f: Field) -> dict[str, Any]:
        """Spark's JSON of the column as it is read; everything is nullable, for files hold what they hold."""
        # Spark finds a column by name where it is asked for without an id.
        metadata = {"parquet.field.id": f.id} if self.by_id and f.id not in self.by_name else {}
        return _spark_field(self.name(f), self.spark_type(f.type), metadata)

    def spark_type(self, kind: Type) -> Any:
        return _spark_type(Field(0, "", kind), self.spark_field, is_logical=False)


@dataclass(frozen=True)
class StoredColumn:
    """A column of a result that is one of the relation's: under its own name, and a float where filters must not reach
    the files' bounds (see :mod:`tableformats.engines.spark.output`)."""

    stored: str
    name: str
    is_float: bool = False

    def column(self) -> Column:
        """The column of the result. It goes through no text of SQL, where the session may take names for patterns."""
        from pyspark.sql import functions as F

        stored = F.col(quoted(self.stored))
        return (F.nanvl(stored, stored) if self.is_float else stored).alias(self.name)


def spark_struct(fields: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Spark's JSON of a struct of these fields."""
    return {"type": "struct", "fields": list(fields)}


def logical_type(kind: Type, collation: str | None = None) -> Any:
    """Spark's JSON of the type as users see it: the table's names, uuid as text, collated strings.

    ``collation`` is that of a field of this type; those inside of the type are known.
    """
    return _spark_type(Field(0, "", kind, collation=collation), _logical_field, is_logical=True)


def _logical_field(f: Field) -> dict[str, Any]:
    return _spark_field(f.name, logical_type(f.type, f.collation), {})


def char_metadata(f: Field) -> dict[str, Any]:
    """The metadata by which Spark pads what the column is compared with. Source: Spark, ``CharVarcharUtils``."""
    return {"__CHAR_VARCHAR_TYPE_STRING": f"char({f.char_length})"} if f.char_length else {}


def _spark_field(name: str, kind: Any, metadata: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": name, "type": kind, "nullable": True, "metadata": dict(metadata)}


def _spark_type(f: Field, member: Any, is_logical: bool) -> Any:
    kind = f.type
    if isinstance(kind, StructType):
        return spark_struct(member(f) for f in kind.fields)
    if isinstance(kind, ListType):
        return {"type": "array", "elementType": _spark_type(kind.element, member, is_logical), "containsNull": True}
    if isinstance(kind, MapType):
        return {
            "type": "map",
            "keyType": _spark_type(kind.key, member, is_logical),
            "valueType": _spark_type(kind.value, member, is_logical),
            "valueContainsNull": True,
        }
    if isinstance(kind, DecimalType):
        return str(kind)
    if isinstance(kind, FixedType):
        return "binary"
    assert isinstance(kind, PrimitiveType)
    if is_logical and f.collation is not None and (known := _COLLATION.fullmatch(f.collation)):
        return f"string collate {known[1]}"
    uuid = "string" if is_logical else "binary"
    return {"int": "integer", "uuid": uuid, "unknown": "void"}.get(kind.name, kind.name)


def naming_by_id(schema: Schema, history: Sequence[Schema], is_complete: bool) -> Naming:
    """By id, each column under its own name where that name has never meant anything else.

    Parameters
    ----------
    schema : the schema that is read
    history, is_complete : schemas that files were written with, and whether these are all

    Notes
    -----
    Names compare without case, as Spark's filters do. A physical name (Delta column mapping) is given once and never
    again. Source: Spark, ``ParquetFilters.nameToParquetField``; Delta PROTOCOL.md, "Column Mapping".
    """
    owners: dict[tuple[str, ...], set[int]] = {}
    for known in (schema, *history):
        for path in _struct_paths(known.fields, ()):
            owners.setdefault(_folded(path), set()).add(path[-1].id)
    names: dict[int, str] = {}
    for path in _struct_paths(schema.fields, ()):
        f = path[-1]
        if f.physical_name is not None or (is_complete and owners[_folded(path)] == {f.id}):
            names[f.id] = f.stored_name
    return Naming(by_id=True, names=names)


def _folded(path: Path) -> tuple[str, ...]:
    return tuple(f.stored_name.lower() for f in path)


def _struct_paths(fields: Iterable[Field], parents: Path) -> Iterator[Path]:
    """Paths of all named fields; below lists and maps too, where names are no part of a pushed filter."""
    for f in fields:
        path = (*parents, f)
        yield path
        kinds: list[Type] = [f.type]
        while kinds:
            kind = kinds.pop()
            if isinstance(kind, StructType):
                yield from _struct_paths(kind.fields, path)
            elif isinstance(kind, ListType):
                kinds.append(kind.element.type)
            elif isinstance(kind, MapType):
                kinds += [kind.value.type, kind.key.type]


def check_readable(f: Field, version: tuple[int, int] = (3, 5)) -> None:
    """Raise UnsupportedFeatureError if the column, or one inside of it, is of what this path cannot read rightly.

    ``version`` is that of the session's Spark: 4.0 has variants, shredded ones too, and collations.
    """
    if f.name.lower().startswith(HIDDEN) or ROW_INDEX in (f.name.lower(), f.stored_name.lower()):
        raise UnsupportedFeatureError(
            "the column has a name that the reader needs for itself", field=f.name, hint="Rename the column"
        )
    for path in _struct_paths([f], ()):
        name = ".".join(part.name for part in path)
        for leaf in _leaves(path[-1]):
            kind = str(leaf.type)
            check_collation(leaf, name, version)
            if kind in _REFUSED or (kind == "variant" and version < _HAS_VARIANT):
                raise UnsupportedFeatureError(
                    f"columns of type {kind} are not read with Spark yet",
                    field=name,
                    hint="Leave the column out with columns=[...], or read with to_arrow()",
                )
            nested = len(path) > 1 or path[-1].type.is_nested
            if kind in ("uuid", "unknown") and nested:
                raise UnsupportedFeatureError(
                    f"values of type {kind} inside of a nested column are not read with Spark yet",
                    field=name,
                    hint="Leave the column out with columns=[...], or read with to_arrow()",
                )


def check_collation(f: Field, name: str, version: tuple[int, int]) -> None:
    """Raise UnsupportedFeatureError if the values of ``f`` compare by a collation that Spark ``version`` lacks.

    ``name`` is the column's. As plain strings the values would compare by bytes, and filters would give other rows.
    """
    if f.collation is None:
        return
    if version < _HAS_COLLATIONS:
        reason, hint = "which Spark has from 4.0 on", "Read with Spark 4"
    elif not _COLLATION.fullmatch(f.collation):
        reason, hint = "which Spark does not know", "Read with to_arrow()"
    else:
        return
    raise UnsupportedFeatureError(
        f"the column compares by the collation {f.collation!r}, {reason}",
        field=name,
        hint=f"{hint}, or leave the column out with columns=[...]",
    )


def _leaves(f: Field) -> Iterator[Field]:
    """The fields of primitive types in a field, through lists and maps but not through structs."""
    if isinstance(f.type, ListType):
        yield from _leaves(f.type.element)
    elif isinstance(f.type, MapType):
        yield from _leaves(f.type.key)
        yield from _leaves(f.type.value)
    elif isinstance(f.type, PrimitiveType):
        yield f


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
