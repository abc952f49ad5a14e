"""How the files of some versions are written, and whether the schema of a newer version can give their rows.

Changes are rows of the newest schema of a range. Added columns are NULL in older files, renamed and widened ones are
read under their new name and type. A column that is gone, or whose files hold another type, has rows that cannot be
given: an error that names it, never a NULL in its place. Source: Delta PROTOCOL.md, "Column Mapping", "Type Widening".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tableformats.plugin import (
    Field,
    ListType,
    MapType,
    PrimitiveType,
    Schema,
    StructType,
    Type,
    UnsupportedFeatureError,
)

from ..schema.table_metadata import TableMetadata
from ..schema.type_changes import can_widen

__all__ = ["Layout"]


@dataclass(frozen=True)
class Layout:
    """The schema that files of a version are written by, and its partition columns, in their order."""

    mode: str
    schema: Schema
    partition_columns: tuple[Field, ...]

    @classmethod
    def of(cls, metadata: TableMetadata) -> Layout:
        """The layout of the files that are added while ``metadata`` is the table's."""
        return cls(metadata.mapping_mode, metadata.schema, metadata.partition_columns)

    def check_readable_by(self, newer: Layout, path: str) -> None:
        """Refuse files of this layout where ``newer`` cannot give all of their rows' columns.

        Raises
        ------
        UnsupportedFeatureError : ``field`` is the column, or ``delta.columnMapping.mode``
        """
        if self == newer:
            return
        if self.mode not in ("none", newer.mode):
            raise _refused(
                f"the column mapping mode was changed from {self.mode} to {newer.mode}, and files name their columns "
                "by it",
                "delta.columnMapping.mode",
                path,
            )
        _Check(newer, path).fields(self.schema.fields, newer.schema.fields, "")

    def agrees_with(self, newer: Layout) -> bool:
        """Whether every column that both have is of one type and, if it is generated, of one expression.

        Only then may bounds of this layout's files, and what their partition values imply, be read by ``newer``.
        """
        return self is newer or _agree(self.schema.fields, newer.schema.fields)

    def partition_columns_in(self, newer: Layout) -> tuple[Field, ...]:
        """The fields of ``newer`` that this layout's files are partitioned by."""
        found = {f.stored_name: f for f in newer.schema.fields}
        return tuple(found[f.stored_name] for f in self.partition_columns if f.stored_name in found)


def _agree(old: Sequence[Field], new: Sequence[Field]) -> bool:
    known = {f.stored_name: f for f in new}
    return all(_same_values(f, known[f.stored_name]) for f in old if f.stored_name in known)


def _same_values(old: Field, new: Field) -> bool:
    if isinstance(old.type, StructType) and isinstance(new.type, StructType):
        return _agree(old.type.fields, new.type.fields)
    if old.type.is_nested and new.type.is_nested:
        return True  # lists and maps have no bounds
    expressions = (f.metadata.get("delta.generationExpression") for f in (old, new))
    return old.type == new.type and old.collation == new.collation and len(set(map(str, expressions))) == 1


@dataclass(frozen=True)
class _Check:
    newer: Layout
    path: str

    def fields(self, old: Sequence[Field], new: Sequence[Field], prefix: str) -> None:
        by_id = self.newer.mode == "id"
        known = {f.id if by_id else f.stored_name: f for f in new}
        for f in old:
            name = prefix + f.name
            found = known.get(f.id if by_id else f.stored_name)
            if found is None:
                raise _refused("a column was dropped or replaced after rows with it had changed", name, self.path)
            self.types(f.type, found.type, name)

    def types(self, old: Type, new: Type, name: str) -> None:
        if isinstance(old, StructType) and isinstance(new, StructType):
            self.fields(old.fields, new.fields, name + ".")
        elif isinstance(old, ListType) and isinstance(new, ListType):
            self.types(old.element.type, new.element.type, name + ".element")
        elif isinstance(old, MapType) and isinstance(new, MapType):
            self.types(old.key.type, new.key.type, name + ".key")
            self.types(old.value.type, new.value.type, name + ".value")
        elif old != new and _spelled(old) != "unknown" and not can_widen(_spelled(old), _spelled(new)):
            raise _refused(
                f"the type of a column was changed from {old} to {new} after rows with it had changed", name, self.path
            )


def _spelled(kind: Type) -> str:
    """The type as ``schemaString`` spells it."""
    name = kind.name if isinstance(kind, PrimitiveType) else str(kind)
    return "integer" if name == "int" else name


def _refused(message: str, field: str, path: str) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(
        message, path=path, field=field, hint="Ask for the versions before the change, or for those after it"
    )
