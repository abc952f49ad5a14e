"""The layout of the files of a version, and whether they can be read as rows of a newer schema.

Changes are rows of the newest schema of a range. Added columns are NULL for older files; renamed and widened columns
are read under their new name and type. A dropped column, or one whose type was replaced, cannot be read: that is an
error with the column's name, never a NULL. Source: Delta PROTOCOL.md, "Column Mapping", "Type Widening".
"""

from __future__ import annotations

from collections.abc import Sequence

from tableformats.plugin import (
    Field,
    ListType,
    MapType,
    PrimitiveType,
    Schema,
    StructType,
    Type,
    UnsupportedFeatureError,
    dataclass,
)

from ..schema.table_metadata import TableMetadata
from ..schema.type_changes import can_widen

__all__ = ["Layout"]


@dataclass(frozen=True)
class Layout:
    """How the files of a version are written.

    Attributes
    ----------
    mode : str
        The column mapping mode.
    schema : Schema
        The schema of the version.
    partition_columns : tuple of Field
        Its partition columns, in order.
    """

    mode: str
    schema: Schema
    partition_columns: tuple[Field, ...]

    @classmethod
    def of(cls, metadata: TableMetadata) -> Layout:
        """The layout of the files that are added while ``metadata`` is the table's."""
        return cls(metadata.mapping_mode, metadata.schema, metadata.partition_columns)

    def check_readable_by(self, newer: Layout, path: str) -> None:
        """Check that the schema of ``newer`` can hold the rows of files of this layout.

        Raises
        ------
        UnsupportedFeatureError
            ``field`` is the column, or ``delta.columnMapping.mode``.
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
        _ReadableCheck(newer, path).fields(self.schema.fields, newer.schema.fields, "")

    def agrees_with(self, newer: Layout) -> bool:
        """Whether all common columns have the same type, collation and generation expression in both.

        Only then do the bounds of this layout's files, and those that generated columns imply, hold for ``newer``.
        """
        return self is newer or _agree(self.schema.fields, newer.schema.fields)

    def partition_columns_in(self, newer: Layout) -> tuple[Field, ...]:
        """The partition columns of this layout as fields of ``newer``; dropped ones are left out."""
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
class _ReadableCheck:
    """Checks fields and types of an older layout against ``newer``; raises UnsupportedFeatureError."""

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
    """The name of the type in ``schemaString``."""
    name = kind.name if isinstance(kind, PrimitiveType) else str(kind)
    return "integer" if name == "int" else name


def _refused(message: str, field: str, path: str) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(
        message, path=path, field=field, hint="Ask for the versions before the change, or for those after it"
    )
