"""``schemaString`` -> Schema: types, field ids, physical names and collations.

Column-mapped tables have ids and physical names in the metadata of their fields. The fields of other tables are
numbered. Source: Delta PROTOCOL.md, "Schema Serialization Format", "Column Mapping".
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

from tableformats.plugin import (
    DEFAULT_LIMITS,
    CorruptMetadataError,
    DecimalType,
    Field,
    Limits,
    ListType,
    MapType,
    Schema,
    StructType,
    Type,
    UnsupportedFeatureError,
    lazy_pattern,
    number_fields,
    primitive,
)

from .char_types import char_length, with_char_lengths
from .type_changes import check_type_changes

__all__ = ["GENERATION_EXPRESSION", "parse_schema"]

GENERATION_EXPRESSION = "delta.generationExpression"
"""The key of a field's metadata that holds the expression of a generated column."""
_FIELD = "metaData.schemaString"
_DECIMAL = lazy_pattern(r"decimal\(\s*(\d{1,2})\s*,\s*(\d{1,2})\s*\)", re.ASCII)
_TEXT = lazy_pattern(r"(?:char|varchar)\(\d+\)", re.ASCII)
_COLLATIONS = "__COLLATIONS"
_COSTS = (("{", 1800), ("[", 100))
"""Bytes of memory, and time beside, that a field or a list of a schema takes."""
_PRIMITIVES = {
    "integer": "int",
    "long": "long",
    "short": "short",
    "byte": "byte",
    "float": "float",
    "double": "double",
    "boolean": "boolean",
    "string": "string",
    "binary": "binary",
    "date": "date",
    "timestamp": "timestamp",
    "timestamp_ntz": "timestamp_ntz",
    "variant": "variant",
    "void": "unknown",
    "null": "unknown",
}


def parse_schema(text: Any, mode: str, path: str, limits: Limits = DEFAULT_LIMITS, stored: int = 0) -> Schema:
    """Parse the schema of a ``metaData`` action.

    Parameters
    ----------
    text : object
        ``schemaString`` as parsed from JSON: a string, unless the action is damaged. None, as some writers have it in
        version 0, means no columns: Spark reads it so.
    mode : str
        The column mapping mode.
    path : str
        The file that holds the action, for errors.
    limits : Limits
        Bounds of the schema's size.
    stored : int
        The bytes of the compressed file that holds the action. 0: it is not compressed.

    Raises
    ------
    CorruptMetadataError
        The schema is no string or no JSON; a field has no name or type, or is mapped and has no id or physical name.
    UnsupportedFeatureError
        A type or a type change is unknown; ``field`` names the column.
    LimitExceededError
        The limits ``nesting``, ``fields`` and ``expansion``.
    """
    if text is None:
        return Schema(())
    if not isinstance(text, str):
        raise CorruptMetadataError("the schema is no string", path=path, field=_FIELD)
    cost = sum(text.count(mark) * size for mark, size in _COSTS)
    if cost > limits.budget(stored or len(text)):
        raise limits.exceeded("expansion", f"values of a schema of {len(text)} characters", path=path, field=_FIELD)
    try:
        root = json.loads(text)
    except RecursionError:
        raise limits.exceeded("nesting", "levels of JSON in the schema", path=path, field=_FIELD) from None
    except ValueError as error:  # also integers of thousands of digits
        raise CorruptMetadataError("the schema is no JSON", path=path, field=_FIELD) from error
    fields = _Parser(path, mode, limits, stored or len(text)).struct(root, ())
    if mode == "none":
        return Schema(number_fields(fields))
    return Schema(_with_all_ids(fields, path))


class _Parser:
    """Parses the JSON of a schema. List elements and map members get id 0 unless the metadata names their ids."""

    def __init__(self, path: str, mode: str, limits: Limits, stored: int) -> None:
        self.path = path
        self.limits = limits
        self.stored = stored
        self.count = 0
        self.characters = 0  # of dotted names
        self.mapped = mode != "none"

    def struct(self, value: Any, parents: tuple[str, ...]) -> tuple[Field, ...]:
        members = value.get("fields") if isinstance(value, dict) else None
        if not isinstance(members, list) or value.get("type") != "struct":
            raise self._wrong("a struct of the schema has no fields", parents)
        fields = tuple(self._field(member, parents) for member in members)
        seen = {f.name for f in fields}
        if len(seen) != len(fields):
            raise self._wrong("the schema has two columns of one name", parents)
        return fields

    def _field(self, value: Any, parents: tuple[str, ...]) -> Field:
        name = value.get("name") if isinstance(value, dict) else None
        if not isinstance(name, str):
            raise self._wrong("a field of the schema has no name", parents)
        self.count += 1
        self.limits.check("fields", self.count, "fields or more of the schema", path=self.path, field=_FIELD)
        path = (*parents, name)
        self.characters += sum(map(len, path)) + len(parents)
        self.limits.check_dotted_names(self.characters, self.stored, path=self.path, field=_FIELD)
        metadata = value.get("metadata") or {}
        if not isinstance(metadata, dict):
            raise self._wrong("a field's metadata is no object", path)
        nested_ids = metadata.get("delta.columnMapping.nested.ids")
        physical = metadata.get("delta.columnMapping.physicalName") if self.mapped else None
        field_id = _id(metadata.get("delta.columnMapping.id")) if self.mapped else 0
        if self.mapped and not (isinstance(physical, str) and field_id):
            raise self._wrong("a column of a column-mapped table has no id or no physical name", path)
        check_type_changes(metadata, path, self.path)
        ids = nested_ids if isinstance(nested_ids, dict) else {}
        kind = self._type(value.get("type"), path, physical or name, ids)
        required = value.get("nullable") is False
        comment = metadata.get("comment")
        doc = comment if isinstance(comment, str) else None
        length = char_length(value.get("type"), ".".join(path), self.path)
        found = Field(field_id, name, kind, required, physical, None, doc, metadata, char_length=length)
        found = with_char_lengths(found, ".".join(path), self.path)
        return _collated(found, metadata[_COLLATIONS], (name, physical or name)) if _COLLATIONS in metadata else found

    def _type(self, value: Any, path: tuple[str, ...], stored: str, ids: Mapping[str, Any]) -> Type:
        self.limits.check("nesting", len(path), "levels of types or more in the schema", path=self.path, field=_FIELD)
        if isinstance(value, str):
            return self._primitive(value, path)
        kind = value.get("type") if isinstance(value, dict) else None
        if kind == "struct":
            return StructType(self.struct(value, path))
        if kind == "array":
            element = self._member("element", value, path, stored, ids)
            return ListType(_required(element, value.get("containsNull") is False))
        if kind == "map":
            key = self._member("key", value, path, stored, ids)
            item = self._member("value", value, path, stored, ids)
            return MapType(_required(key, True), _required(item, value.get("valueContainsNull") is False))
        if kind == "udt":
            return self._type(value.get("sqlType"), (*path, "sqlType"), stored, ids)
        raise self._wrong("a field of the schema has no type", path)

    def _member(
        self, role: str, value: Mapping[str, Any], path: tuple[str, ...], stored: str, ids: Mapping[str, Any]
    ) -> Field:
        """The ``element`` of an array, or the ``key`` or ``value`` of a map."""
        name = f"{stored}.{role}"
        stated = value.get(f"{role}Type")
        kind = self._type(stated, (*path, role), name, ids)
        return Field(_id(ids.get(name)), role, kind, char_length=char_length(stated, ".".join(path), self.path))

    def _primitive(self, name: str, path: tuple[str, ...]) -> Type:
        if name in _PRIMITIVES:
            return primitive(_PRIMITIVES[name])
        if name == "decimal":
            return DecimalType(10, 0)
        if match := _DECIMAL.fullmatch(name):
            precision, scale = int(match.group(1)), int(match.group(2))
            if not (1 <= precision <= 38 and scale <= precision):
                raise self._wrong("a decimal type has an impossible precision or scale", path)
            return DecimalType(precision, scale)
        if _TEXT.fullmatch(name):
            return primitive("string")
        raise UnsupportedFeatureError(f"the type {name!r} is not known", path=self.path, field=".".join(path))

    def _wrong(self, message: str, path: Sequence[str]) -> CorruptMetadataError:
        return CorruptMetadataError(message, path=self.path, field=".".join(path) or _FIELD)


def _id(value: Any) -> int:
    """A positive 32-bit id, or 0."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**31 else 0


def _required(f: Field, required: bool) -> Field:
    return replace(f, required=required)


def _collated(f: Field, metadata: Any, names: Sequence[str], default: str | None = "unknown") -> Field:
    """``f`` with the collations that the metadata of a field gives to the strings in it, up to the next struct.

    Parameters
    ----------
    metadata : object
        The value of ``__COLLATIONS``: ``{"c": ...}``, ``{"c.element": ...}``.
    names : sequence of str
        The names by which ``metadata`` may call ``f``: its logical and its physical one.
    default : str or None
        The collation of ``f`` where ``metadata`` has none of ``names``.

    Notes
    -----
    Source: Delta RFC "Collated String Type", "Specifying collations".
    """
    known = metadata if isinstance(metadata, dict) else {}

    def inside(member: Field) -> Field:
        return _collated(member, metadata, [f"{name}.{member.name}" for name in names], None if known else "unknown")

    if isinstance(f.type, ListType):
        return replace(f, type=ListType(inside(f.type.element)))
    if isinstance(f.type, MapType):
        return replace(f, type=MapType(inside(f.type.key), inside(f.type.value)))
    if str(f.type) != "string":
        return f
    named = [str(known[name]) for name in names if name in known]
    return replace(f, collation=named[0] if named else default)


def _with_all_ids(fields: tuple[Field, ...], path: str) -> tuple[Field, ...]:
    """Number the list elements and map members that have no id, above all ids. Raises for a duplicate id."""
    ids = [f.id for f in _all_fields(fields) if f.id]
    if len(set(ids)) != len(ids):
        raise CorruptMetadataError("two columns share one id", path=path, field="delta.columnMapping.id")
    fresh = count(max(ids, default=0) + 1)

    def numbered(f: Field) -> Field:
        f = f if f.id else replace(f, id=next(fresh))
        if isinstance(f.type, StructType):
            return replace(f, type=StructType(tuple(map(numbered, f.type.fields))))
        if isinstance(f.type, ListType):
            return replace(f, type=ListType(numbered(f.type.element)))
        if isinstance(f.type, MapType):
            return replace(f, type=MapType(numbered(f.type.key), numbered(f.type.value)))
        return f

    return tuple(map(numbered, fields))


def _all_fields(fields: Sequence[Field]) -> Iterator[Field]:
    for f in fields:
        yield f
        if isinstance(f.type, StructType):
            yield from _all_fields(f.type.fields)
        elif isinstance(f.type, ListType):
            yield from _all_fields((f.type.element,))
        elif isinstance(f.type, MapType):
            yield from _all_fields((f.type.key, f.type.value))
