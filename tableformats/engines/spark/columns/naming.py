"""The names under which Spark's readers find a table's columns in data files.

A :class:`Naming` says how one group of files is read: by the names in the files, or by field id. Reading by id needs
care: Spark's Parquet reader resolves columns by id, but its pushed filters match by *name*. Where a name may mean
another column in some file (swapped names, a column dropped and added again), a filter on it would drop row groups
that have matches. Such a column is read under a name that no file holds, which switches its pushdown off.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from ....dataclass import dataclass
from ....schema import Field, ListType, MapType, Schema, StructType, Type
from .spark_types import nullable_field, stored_type

if TYPE_CHECKING:
    from pyspark.sql import Column

__all__ = ["HIDDEN", "ROW_INDEX", "Naming", "Path", "StoredColumn", "naming_by_id", "quoted", "struct_paths"]

Path = tuple[Field, ...]
"""A column inside of structs: the fields from the top level down."""

HIDDEN = "_tableformats_"
"""Prefix of our own columns, which stand in no file and are not in the result."""

ROW_INDEX = "_tmp_metadata_row_index"
"""A column of this name, bigint, holds a row's position in its file. Source: Spark, ``ParquetFileFormat``."""


@dataclass(frozen=True)
class Naming:
    """How the columns of some files are found.

    Attributes
    ----------
    by_id : bool
        Find columns by Parquet field id.
    names : Mapping[int, str] or None
        The name to read a column under, by field id. None: the name that the table's schema says is stored. Ids that
        are missing get a name that no file holds: found by id they are read all the same, found by name they are NULL.
    by_name : frozenset[int]
        Ids of the columns that are always found by name.
    missing : frozenset[int]
        Ids of the fields that have an initial default and that these files lack. Fields below such a field are not
        listed.
    """

    by_id: bool = False
    names: Mapping[int, str] | None = field(default=None, hash=False)
    by_name: frozenset[int] = frozenset()
    missing: frozenset[int] = frozenset()

    def name(self, f: Field) -> str:
        """The name that the column ``f`` is read under."""
        if self.names is None:
            return f.stored_name
        return self.names.get(f.id, f"{HIDDEN}field_{f.id}")

    def spark_field(self, f: Field) -> dict[str, Any]:
        """Spark's JSON of the column as it is read."""
        # Without an id in its metadata Spark finds a column by name.
        metadata = {"parquet.field.id": f.id} if self.by_id and f.id not in self.by_name else {}
        return nullable_field(self.name(f), self.spark_type(f.type), metadata)

    def spark_type(self, kind: Type) -> Any:
        """Spark's JSON of the type as it is read."""
        return stored_type(kind, self.spark_field)


@dataclass(frozen=True)
class StoredColumn:
    """A column of the result that only renames a column of the relation.

    Attributes
    ----------
    stored : str
        The relation's column.
    name : str
        The result's column.
    is_float : bool
        Whether to keep Spark's filters on it away from the bounds in the files, see :mod:`result_columns`.
    """

    stored: str
    name: str
    is_float: bool = False

    def column(self) -> Column:
        """The column of the result.

        It is built without SQL text, because a session's settings may make it take quoted names for patterns.
        """
        from pyspark.sql import functions as F

        stored = F.col(quoted(self.stored))
        return (F.nanvl(stored, stored) if self.is_float else stored).alias(self.name)


def naming_by_id(schema: Schema, history: Sequence[Schema], is_complete: bool) -> Naming:
    """The naming by field id that gives each column its own name if that name never meant another column.

    Parameters
    ----------
    schema : Schema
        The schema that is read.
    history : Sequence[Schema]
        Schemas that files were written with.
    is_complete : bool
        Whether ``history`` holds all of them.

    Notes
    -----
    Names compare without case, as Spark's filters do. A physical name (Delta column mapping) is never reused for
    another column. Source: Spark, ``ParquetFilters.nameToParquetField``; Delta PROTOCOL.md, "Column Mapping".
    """
    owners: dict[tuple[str, ...], set[int]] = {}
    for known in (schema, *history):
        for path in struct_paths(known.fields, ()):
            owners.setdefault(_folded(path), set()).add(path[-1].id)
    names: dict[int, str] = {}
    for path in struct_paths(schema.fields, ()):
        f = path[-1]
        if f.physical_name is not None or (is_complete and owners[_folded(path)] == {f.id}):
            names[f.id] = f.stored_name
    return Naming(by_id=True, names=names)


def _folded(path: Path) -> tuple[str, ...]:
    return tuple(f.stored_name.lower() for f in path)


def struct_paths(fields: Iterable[Field], parents: Path) -> Iterator[Path]:
    """The paths of all named fields.

    Members of structs in lists and maps are included; the list or map adds no name of its own, as in pushed filters.
    """
    for f in fields:
        path = (*parents, f)
        yield path
        kinds: list[Type] = [f.type]
        while kinds:
            kind = kinds.pop()
            if isinstance(kind, StructType):
                yield from struct_paths(kind.fields, path)
            elif isinstance(kind, ListType):
                kinds.append(kind.element.type)
            elif isinstance(kind, MapType):
                kinds += [kind.value.type, kind.key.type]


def quoted(name: str) -> str:
    """``name`` in backticks, as Spark's column expressions need it."""
    return "`" + name.replace("`", "``") + "`"
