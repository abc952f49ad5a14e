"""What a schema, a partition spec and a sort order must be like before they are written.

Source: Iceberg spec, "Schemas and Data Types", "Default values", "Partitioning", "Partition Transforms", "Sorting".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NoReturn

from tableformats.plugin import ConstraintViolationError, UnsupportedFeatureError, lazy_pattern, parse_transform

__all__ = ["check_schema", "check_sources", "fields_of", "highest_id"]

_SINCE_3 = lazy_pattern(r"^(timestamp_ns|timestamptz_ns|variant|unknown|geometry\b.*|geography\b.*)$")
_PRIMITIVE = lazy_pattern(
    r"^(boolean|int|long|float|double|date|time|timestamp(tz)?(_ns)?|string|uuid|binary|variant|unknown"
    r"|geometry(\(.*\))?|geography(\(.*\))?|decimal\(\s*\d+\s*,\s*\d+\s*\)|fixed\[\s*\d+\s*\])$"
)
_NULL_DEFAULT = lazy_pattern(r"^(variant|unknown|geometry\b.*|geography\b.*)$")
_NOT_SOURCES = {"identity": r"geometry\b.*|geography\b.*|variant|unknown"}
_SOURCES = {
    "bucket": r"int|long|decimal\(.*|date|time|timestamp(tz)?(_ns)?|string|uuid|fixed\[.*|binary",
    "truncate": r"int|long|decimal\(.*|string|binary",
    "year": r"date|timestamp(tz)?(_ns)?",
    "month": r"date|timestamp(tz)?(_ns)?",
    "day": r"date|timestamp(tz)?(_ns)?",
    "hour": r"timestamp(tz)?(_ns)?",
}
"""The types of the source column for each transform, as regular expressions; identity takes all but some."""
MAX_DEPTH = 64

Json = Mapping[str, Any]


def fields_of(kind: Any, in_collection: bool = False, depth: int = 0) -> Iterator[tuple[Json, bool]]:
    """All fields of a type's JSON, and whether each is in a list or a map; a list's element and a map's key and value
    are given as fields.
    """
    if depth > MAX_DEPTH:
        raise UnsupportedFeatureError(f"types are nested more than {MAX_DEPTH} levels deep", field="schema")
    if not isinstance(kind, Mapping):
        return
    if kind.get("type") == "struct":
        inner: list[Json] = list(kind["fields"])
    elif kind.get("type") == "list":
        inner = [_part(kind, "element", "element-required")]
        in_collection = True
    else:
        inner = [_part(kind, "key", None), _part(kind, "value", "value-required")]
        in_collection = True
    for field in inner:
        yield field, in_collection
        yield from fields_of(field["type"], in_collection, depth + 1)


def _part(kind: Json, name: str, required: str | None) -> dict[str, Any]:
    is_required = True if required is None else kind[required]
    return {"id": kind[f"{name}-id"], "name": name, "required": is_required, "type": kind[name]}


def highest_id(schema: Json) -> int:
    """The greatest field id at any depth; 0 where there is none."""
    return max((field["id"] for field, _ in fields_of(schema)), default=0)


def check_schema(schema: Json, version: int) -> None:
    """Refuse a schema that a table of that format version cannot have.

    Raises
    ------
    ConstraintViolationError
        Two fields have one id, or two fields of one struct have one name.
    UnsupportedFeatureError
        A type is not known, or a type or default value needs version 3.
    """
    ids: set[int] = set()
    for field, _ in fields_of(schema):
        if field["id"] in ids:
            _refuse(field["name"], f"the field id {field['id']} is used twice")
        ids.add(field["id"])
        _check_field(field, version)
    for names in _names_of_structs(schema):
        if len(set(names)) != len(names):
            twice = next(name for name in names if names.count(name) > 1)
            _refuse(twice, f"two columns are called {twice[:100]!r}")
    missing = set(schema.get("identifier-field-ids") or []) - ids
    if missing:
        _refuse("identifier-field-ids", f"there is no field with the id {min(missing)}")


def _names_of_structs(kind: Any) -> Iterator[list[str]]:
    if isinstance(kind, Mapping) and kind.get("type") == "struct":
        yield [field["name"] for field in kind["fields"]]
        for field in kind["fields"]:
            yield from _names_of_structs(field["type"])
    elif isinstance(kind, Mapping):
        for part in ("element", "key", "value"):
            yield from _names_of_structs(kind.get(part))


def _check_field(field: Json, version: int) -> None:
    name, kind = field["name"], field["type"]
    if isinstance(kind, str) and not _PRIMITIVE.match(kind):
        raise UnsupportedFeatureError(f"the type {kind[:100]!r} is not known", field=name, hint="Nothing was written")
    defaults = [field.get("initial-default"), field.get("write-default")]
    if version < 3 and isinstance(kind, str) and _SINCE_3.match(kind):
        raise UnsupportedFeatureError(
            f"columns of type {kind} need format version 3, and the table has {version}",
            field=name,
            hint="Upgrade the table to format version 3, or choose another type",
        )
    if version < 3 and defaults[0] is not None:
        raise UnsupportedFeatureError(
            f"default values need format version 3, and the table has {version}",
            field=name,
            hint="Upgrade the table to format version 3, or add the column without a default",
        )
    if isinstance(kind, str) and _NULL_DEFAULT.match(kind):
        if defaults != [None, None]:
            _refuse(name, f"a column of type {kind} has no default value but NULL")
        if kind == "unknown" and field["required"]:
            _refuse(name, "a column of type unknown cannot be required")


def check_sources(schema: Json, spec: Json, are_new: bool) -> None:
    """Refuse a partition spec or a sort order that does not fit to the schema.

    Parameters
    ----------
    are_new : bool
        Whether it is only added now. An earlier one may have transforms that are not known.
    """
    found = {field["id"]: (field, in_collection) for field, in_collection in fields_of(schema)}
    for one in spec["fields"]:
        text = str(one["transform"])
        name = str(one.get("name") or text)
        transform = parse_transform(text).name
        if transform == "unknown" and are_new:
            raise UnsupportedFeatureError(
                f"the transform {text[:100]!r} is not written", field=name, hint="Nothing was written"
            )
        if transform == "void":
            continue
        for source_id in one.get("source-ids") or [one.get("source-id")]:
            if source_id not in found:
                _refuse(name, f"its source column {source_id} is not in the schema; remove the field first")
            field, in_collection = found[source_id]
            if are_new or not isinstance(field["type"], str):
                _check_source(name, transform, text, field, in_collection)
    if are_new and "spec-id" in spec:
        _check_names(schema, spec["fields"])


def _check_source(name: str, transform: str, text: str, field: Json, in_collection: bool) -> None:
    kind = field["type"]
    if in_collection or not isinstance(kind, str):
        _refuse(name, f"the column {field['name'][:100]!r} is no single value of a row")
    is_fit = (
        not re.fullmatch(_NOT_SOURCES["identity"], kind)
        if transform == "identity"
        else re.fullmatch(_SOURCES.get(transform, ".*"), kind)
    )
    if not is_fit:
        _refuse(name, f"the transform {text[:50]!r} does not take values of type {kind}")


def _check_names(schema: Json, fields: Iterable[Json]) -> None:
    """A partition field has the name of a column only if it is that column's identity, or is void."""
    columns = {field["name"]: field["id"] for field in schema["fields"]}
    for one in fields:
        source = columns.get(one["name"])
        is_own = source == one.get("source-id") and one["transform"] == "identity"
        if source is not None and not is_own and one["transform"] != "void":
            _refuse(one["name"], "a column has this name; give the partition field another one")


def _refuse(name: str, message: str) -> NoReturn:
    raise ConstraintViolationError(message, field=name, hint="Nothing was written")
