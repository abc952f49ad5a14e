"""The ``schemaString`` of changed columns, from the old one: what did not change stays as it was spelled.

Columns are matched by their ids: those of column mapping, or the numbers of :func:`parse_schema`. A new column has the
id 0. Renamed and dropped columns need column mapping, since files know other columns by their names. Types are only
widened. Source: Delta PROTOCOL.md, "Column Mapping", "Type Widening", "Schema Serialization Format".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from tableformats.plugin import Field, ListType, MapType, StructType, Type, UnsupportedFeatureError, dataclass

from ..schema.char_types import CHAR_TYPE
from ..schema.type_changes import can_widen
from .schema_json import ColumnIds, field_json, type_json

__all__ = ["CHANGE_COLUMNS", "SchemaChange", "SchemaContext"]

_TYPE_CHANGES = "delta.typeChanges"
_FORBIDDEN = set(" ,;{}()\n\t=")
"""Characters that no column's name has without column mapping: Parquet's readers do not take them."""
CHANGE_COLUMNS = ("_change_type", "_commit_version", "_commit_timestamp")
"""Columns that a change data feed adds, so that no column of the table has their names."""


@dataclass
class SchemaContext:
    """What a table says about its columns beside the schema.

    Attributes
    ----------
    ids : ColumnIds or None
        Gives ids to new columns; None: the table has no column mapping.
    widens : bool
        Whether the property ``delta.enableTypeWidening`` is true.
    has_changes : bool
        Whether the table has a change data feed, so that some names are taken.
    partition_columns : frozenset of str
    named : mapping of str to str
        Words of the table's expressions, in lower case, with the name of one that has it.
    clustered : frozenset of str
        Physical names of the top-level columns by which files are clustered.
    """

    ids: ColumnIds | None = None
    widens: bool = False
    has_changes: bool = False
    partition_columns: frozenset[str] = frozenset()
    named: Mapping[str, str] = field(default_factory=dict)
    clustered: frozenset[str] = frozenset()


class SchemaChange:
    """Changes one schema. Raises UnsupportedFeatureError, whose ``field`` is the column, for what is not done."""

    def __init__(self, context: SchemaContext) -> None:
        self._context = context
        self.renamed: dict[str, str] = {}
        """Old to new names of top-level columns."""

    def struct(
        self, value: Mapping[str, Any], old: Sequence[Field], new: Sequence[Field], above: tuple[str, ...] = ()
    ) -> dict[str, Any]:
        """The struct ``value``, of which ``old`` was parsed, with the fields ``new``."""
        known = {f.id: (raw, f) for raw, f in zip(value["fields"], old, strict=True)}
        counts = Counter(f.name.lower() for f in new)
        kept = {f.id for f in new if f.id}
        for f in new:
            if counts[f.name.lower()] > 1:
                raise _refused("a second column of the name; case does not distinguish names", above, f.name)
            if f.id and f.id not in known:
                raise _refused("a column does not move from one struct to another", above, f.name)
        for f in old:
            if f.id not in kept:
                self._check_dropped(f, above)
        if not new:
            raise _refused("a struct without columns is not written", above, "")
        found = [self._kept(*known[f.id], f, above) if f.id else self._added(f, above) for f in new]
        return {**value, "fields": found}

    def _added(self, f: Field, above: tuple[str, ...]) -> dict[str, Any]:
        if f.initial_default is not None:
            raise _refused(
                "a value for the rows that are there is not written", above, f.name, "Add the column, and update it"
            )
        if f.required:
            raise _refused("a new column cannot be NOT NULL: rows that are there have no value of it", above, f.name)
        self._check_name(f.name, above)
        for member in f.type.members:
            self._check_names(member, (*above, f.name))
        return field_json(f, self._context.ids)

    def _check_names(self, f: Field, above: tuple[str, ...]) -> None:
        self._check_name(f.name, above)
        for member in f.type.members:
            self._check_names(member, (*above, f.name))

    def _check_name(self, name: str, above: tuple[str, ...]) -> None:
        if self._context.ids is None and _FORBIDDEN & set(name):
            raise _refused(
                "the name has a character that needs column mapping",
                above,
                name,
                "Set delta.columnMapping.mode to name",
            )
        if not name:
            raise _refused("a column has no name", above, name)
        if not above and self._context.has_changes and name.lower() in CHANGE_COLUMNS:
            raise _refused("the name is one of the change data feed", above, name)

    def _check_dropped(self, f: Field, above: tuple[str, ...]) -> None:
        if self._context.ids is None:
            raise _refused(
                "a column is dropped only from a table with column mapping: the files have its values under its name",
                above,
                f.name,
                "Set delta.columnMapping.mode to name",
            )
        if not above and f.name in self._context.partition_columns:
            raise _refused("a partition column is not dropped", above, f.name)
        if not above and f.stored_name in self._context.clustered:
            raise _refused("the table is clustered by the column", above, f.name)
        self._check_named(f, above)

    def _check_named(self, f: Field, above: tuple[str, ...]) -> None:
        """Refuse what would change the meaning of an expression. A word that is no column is refused too."""
        for name in (f.name, *(above[:1])):
            owner = self._context.named.get(name.lower())
            if owner is not None:
                raise _refused(f"{owner} names the column", above, f.name, "Drop the expression before")
        for member in f.type.members:
            if isinstance(f.type, StructType):
                self._check_named(member, (*above, f.name))

    def _kept(self, raw: Mapping[str, Any], old: Field, new: Field, above: tuple[str, ...]) -> dict[str, Any]:
        found = dict(raw)
        if old == new:
            return found
        if old.name != new.name:
            self._check_renamed(old, new, above)
            found["name"] = new.name
        if old.required != new.required:
            found["nullable"] = not new.required
        metadata = dict(raw.get("metadata") or {})
        if old.doc != new.doc:
            metadata.pop("comment", None)
            metadata.update({} if new.doc is None else {"comment": new.doc})
        if old.type != new.type:
            if CHAR_TYPE in metadata:
                raise _refused("the type of a column with CHAR or VARCHAR is not changed", above, new.name)
            changes: list[dict[str, str]] = []
            path = (*above, new.name)
            found["type"] = self._type(raw["type"], (old.type, new.type), path, (), changes)
            if changes:
                self._check_widened(old, metadata, above)
                metadata[_TYPE_CHANGES] = [*(metadata.get(_TYPE_CHANGES) or ()), *changes]
        found["metadata"] = metadata
        return found

    def _check_renamed(self, old: Field, new: Field, above: tuple[str, ...]) -> None:
        if self._context.ids is None:
            raise _refused(
                "a column is renamed only in a table with column mapping: the files have its values under its name",
                above,
                old.name,
                "Set delta.columnMapping.mode to name",
            )
        self._check_named(old, above)
        self._check_name(new.name, above)
        if not above:
            self.renamed[old.name] = new.name

    def _check_widened(self, old: Field, metadata: Mapping[str, Any], above: tuple[str, ...]) -> None:
        if not self._context.widens:
            raise _refused(
                "the table does not allow that types are widened",
                above,
                old.name,
                "Set delta.enableTypeWidening to true",
            )
        if any(key.startswith("delta.identity.") for key in metadata):
            raise _refused("the type of an identity column is not changed", above, old.name)
        self._check_named(old, above)

    def _type(
        self,
        raw: Any,
        kinds: tuple[Type, Type],
        path: tuple[str, ...],
        inner: tuple[str, ...],
        changes: list[dict[str, str]],
    ) -> Any:
        """``raw``, the old type, as the new one; ``inner`` leads to it from the column: ``element``, ``key``."""
        old, new = kinds
        if old == new:
            return raw
        if isinstance(raw, dict) and raw.get("type") == "udt":
            raise _refused("a user-defined type is not changed", path[:-1], path[-1])
        if isinstance(old, StructType) and isinstance(new, StructType):
            return self.struct(raw, old.fields, new.fields, path)
        if isinstance(old, ListType) and isinstance(new, ListType):
            return self._member(raw, "element", "containsNull", (old.element, new.element), path, inner, changes)
        if isinstance(old, MapType) and isinstance(new, MapType):
            keyed = self._member(raw, "key", None, (old.key, new.key), path, inner, changes)
            return self._member(keyed, "value", "valueContainsNull", (old.value, new.value), path, inner, changes)
        if not old.is_nested and not new.is_nested:
            before, after = raw, type_json(new, path[-1])
            if can_widen(before, after):
                where = {"fieldPath": ".".join(inner)} if inner else {}
                changes.append({"toType": after, "fromType": before, **where})
                return after
        raise _refused(f"the type {old} is not changed to {new}", path[:-1], path[-1])

    def _member(
        self,
        raw: Mapping[str, Any],
        role: str,
        nullable: str | None,
        fields: tuple[Field, Field],
        path: tuple[str, ...],
        inner: tuple[str, ...],
        changes: list[dict[str, str]],
    ) -> dict[str, Any]:
        old, new = fields
        found = dict(raw)
        name = f"{role}Type"
        found[name] = self._type(raw[name], (old.type, new.type), (*path, role), (*inner, role), changes)
        if nullable is not None and old.required != new.required:
            found[nullable] = not new.required
        return found


def _refused(message: str, above: tuple[str, ...], name: str, hint: str | None = None) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(
        message, field=".".join((*above, name)) if name else ".".join(above), hint=hint or "Nothing was written"
    )
