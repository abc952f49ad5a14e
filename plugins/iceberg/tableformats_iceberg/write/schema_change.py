"""The schema of a changed table, as JSON: from the old one and the wanted columns, matched by their ids.

What an old field says beyond its name, type and comment is carried over, fields that are not known included.
Source: Iceberg spec, "Schema Evolution", "Default values", "Identifier Field IDs", "Name Mapping Serialization".
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from tableformats.plugin import (
    ConstraintViolationError,
    DecimalType,
    Field,
    ListType,
    MapType,
    Schema,
    StructType,
    Type,
    UnsupportedFeatureError,
)

from .schema_json import default_json, field_json, type_json
from .schema_rules import fields_of

__all__ = ["SchemaChange", "changed_name_mapping", "changed_properties"]

_PROMOTIONS = {("int", "long"), ("float", "double")}
_PROMOTIONS_3 = {("date", "timestamp"), ("date", "timestamp_ns")}
_METRICS = "write.metadata.metrics.column."

Json = dict[str, Any]


class SchemaChange:
    """Changes the current schema of a table.

    Parameters
    ----------
    schema : mapping
        Its JSON.
    version : int
        The format version.
    last_column_id : int
        The greatest id that the table has given to a column.
    partition_sources : frozenset of int
        The ids of columns of which values are partition values, in any spec.

    Attributes
    ----------
    renamed : dict of int to str
        The new names of fields at any depth.
    """

    def __init__(
        self,
        schema: Mapping[str, Any],
        version: int,
        last_column_id: int,
        partition_sources: frozenset[int] = frozenset(),
    ) -> None:
        self._schema = schema
        self._version = version
        self._last = last_column_id
        self._sources = partition_sources
        self._identifiers = frozenset(schema.get("identifier-field-ids") or ())
        self.renamed: dict[int, str] = {}

    def of(self, old: Schema, new: Schema) -> Json:
        """The JSON of the schema with the columns ``new``; those with the id 0 are added.

        ``old`` is the current schema, parsed.

        Raises
        ------
        UnsupportedFeatureError
            Iceberg has not the change, or not in this format version. ``field`` is the column.
        ConstraintViolationError
            The columns contradict each other, or rows that are there.
        """
        found = {**self._schema, "fields": self._struct(self._schema, old.fields, new.fields, ())}
        gone = self._identifiers - {field["id"] for field, _ in fields_of(found)}
        if gone:
            names = {f.id: f.name for f in old}
            _refuse(
                (names.get(min(gone), str(min(gone))),),
                "the column identifies rows (identifier-field-ids), and is not dropped",
            )
        return found

    def _next_id(self) -> int:
        self._last += 1
        return self._last

    def _struct(
        self, raw: Mapping[str, Any], old: Sequence[Field], new: Sequence[Field], above: tuple[str, ...]
    ) -> list[Json]:
        known = {f.id: (one, f) for one, f in zip(raw["fields"], old, strict=True)}
        if not new:
            _refuse(above, "a struct without columns is not written")
        seen: dict[str, Field] = {}
        for f in new:
            twin = seen.setdefault(f.name.lower(), f)
            is_old = twin.id in known and f.id in known and known[f.id][1].name == f.name
            if twin is not f and (twin.name == f.name or not is_old):
                _refuse((*above, f.name), "there is a column of this name already; case does not distinguish names")
            if f.id and f.id not in known:
                _refuse((*above, f.name), "a column does not move from one struct to another")
            if not f.name:
                _refuse((*above, f.name), "a column has no name")
        return [self._kept(*known[f.id], f, above) if f.id else self._added(f, above) for f in new]

    def _added(self, f: Field, above: tuple[str, ...]) -> Json:
        if f.required and f.initial_default is None:
            _refuse((*above, f.name), "a new column is NOT NULL only with a default value: rows are there without one")
        if f.initial_default is not None and self._version < 3:
            raise UnsupportedFeatureError(
                f"default values need format version 3, and the table has {self._version}",
                field=".".join((*above, f.name)),
                hint="Set the property format-version to 3 first, or add the column without a default",
            )
        found = field_json(f, self._next_id(), self._next_id)
        if f.initial_default is not None:
            try:
                default = default_json(f.initial_default, found["type"])
            except (ValueError, TypeError, ArithmeticError) as error:
                _refuse((*above, f.name), f"the default value does not fit to {f.type}: {error}")
            found["initial-default"] = found["write-default"] = default
        return found

    def _kept(self, raw: Mapping[str, Any], old: Field, new: Field, above: tuple[str, ...]) -> Json:
        found = dict(raw)
        if old == new:
            return found
        path = (*above, new.name)
        if old.name != new.name:
            self.renamed[old.id] = found["name"] = new.name
        if new.doc != old.doc:
            found.pop("doc", None)
            found.update({} if new.doc is None else {"doc": new.doc})
        if new.required and not old.required:
            _refuse((*above, new.name), "a column that may hold NULL does not become NOT NULL")
        if old.required and not new.required and old.id in self._identifiers:
            _refuse((*above, new.name), "the column identifies rows (identifier-field-ids), so that it is NOT NULL")
        found["required"] = new.required
        if new.initial_default != old.initial_default:
            _refuse((*above, new.name), "the default for rows that are there cannot be changed")
        found["type"] = self._type(raw["type"], old, new.type, path)
        return found

    def _type(self, raw: Any, old: Field, new: Type, path: tuple[str, ...]) -> Any:
        kind = old.type
        if kind == new:
            return raw
        if isinstance(kind, StructType) and isinstance(new, StructType):
            return {**raw, "fields": self._struct(raw, kind.fields, new.fields, path)}
        if isinstance(kind, ListType) and isinstance(new, ListType):
            return self._parts(raw, [("element", kind.element, new.element, "element-required")], path)
        if isinstance(kind, MapType) and isinstance(new, MapType):
            if kind.key != new.key:
                _refuse(path, "the keys of a map are not changed")
            return self._parts(raw, [("value", kind.value, new.value, "value-required")], path)
        wanted = type_json(new, self._next_id)
        if raw == wanted:
            return raw
        self._check_promotion(raw, kind, new, wanted, path)
        if old.id in self._sources and raw == "date":
            _refuse(path, "partition values are computed from the column, and would change")
        return wanted

    def _parts(
        self, raw: Mapping[str, Any], parts: Sequence[tuple[str, Field, Field, str]], path: tuple[str, ...]
    ) -> Json:
        found = dict(raw)
        for name, old, new, required in parts:
            if new.required and not old.required:
                _refuse((*path, name), "a value that may be NULL does not become NOT NULL")
            found[required] = new.required
            found[name] = self._type(raw[name], old, new.type, (*path, name))
        return found

    def _check_promotion(self, raw: Any, old: Type, new: Type, wanted: Any, path: tuple[str, ...]) -> None:
        names = (raw, wanted) if isinstance(raw, str) and isinstance(wanted, str) else None
        if isinstance(old, DecimalType) and isinstance(new, DecimalType):
            is_fit = old.scale == new.scale and old.precision <= new.precision
        else:
            known = _PROMOTIONS | (_PROMOTIONS_3 if self._version > 2 else set())
            is_fit = names in known or (raw == "unknown" and self._version > 2)
        if not is_fit:
            raise UnsupportedFeatureError(
                f"a column of type {old} does not become {new}",
                field=".".join(path),
                hint="It can in format version 3" if names in _PROMOTIONS_3 else "Add a new column",
            )


def _refuse(path: tuple[str, ...], message: str) -> NoReturn:
    raise ConstraintViolationError(message, field=".".join(path), hint="Nothing was changed")


# ---- what names columns beside the schema ---------------------------------------------------------------------------


def changed_name_mapping(text: str, schema: Mapping[str, Any]) -> str:
    """A name mapping for the columns of ``schema``: new names are added, and old ones kept, by which files may have the
    columns. A name that a column of the schema has now is taken from dropped columns.
    """
    mapped = json.loads(text)
    return json.dumps(_mapped(mapped if isinstance(mapped, list) else [], schema), separators=(",", ":"))


def _mapped(mapped: list[Json], kind: Any) -> list[Json]:
    parts = _parts_of(kind)
    known = {one.get("field-id"): one for one in mapped}
    taken = {name for _, name, _ in parts}
    found: list[Json] = []
    for field_id, name, inner in parts:
        one = dict(known.get(field_id, {"field-id": field_id, "names": []}))
        others = [n for n in one.get("names") or [] if n not in taken or n == name]
        one["names"] = others if name in others else [*others, name]
        if isinstance(inner, Mapping):
            one["fields"] = _mapped(one.get("fields") or [], inner)
        found.append(one)
    current = {field_id for field_id, _, _ in parts}
    for one in mapped:
        if one.get("field-id") not in current:
            names = [n for n in one.get("names") or [] if n not in taken]
            found += [{**one, "names": names}] if names else []
    return found


def _parts_of(kind: Mapping[str, Any]) -> list[tuple[int, str, Any]]:
    if kind.get("type") == "struct":
        return [(f["id"], f["name"], f["type"]) for f in kind["fields"]]
    names = ("element",) if kind["type"] == "list" else ("key", "value")
    return [(kind[f"{name}-id"], name, kind[name]) for name in names]


def changed_properties(properties: Mapping[str, str], old: Schema, new: Mapping[str, Any]) -> dict[str, str | None]:
    """What becomes of properties that name columns by which metrics are kept. None: removed."""
    paths = {path[-1].id: ".".join(f.name for f in path) for path in _paths(old)}
    now = _names(new)
    changed: dict[str, str | None] = {}
    for field_id, name in paths.items():
        value = properties.get(_METRICS + name)
        if value is not None and now.get(field_id) != name:
            changed[_METRICS + name] = None
            if field_id in now:
                changed[_METRICS + now[field_id]] = value
    return changed


def _paths(schema: Schema) -> list[tuple[Field, ...]]:
    return [schema.path_of(i) for i in _ids(schema.fields)]


def _ids(fields: Sequence[Field]) -> list[int]:
    return [i for f in fields for i in (f.id, *_ids(f.type.members))]


def _names(kind: Any, above: str = "") -> dict[int, str]:
    found: dict[int, str] = {}
    if isinstance(kind, Mapping):
        for field_id, name, inner in _parts_of(kind):
            found[field_id] = above + name
            found.update(_names(inner, f"{above}{name}."))
    return found
