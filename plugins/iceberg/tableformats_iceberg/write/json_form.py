"""The form of metadata that a writer changes as JSON. Readers pass over what they do not need; a writer copies it.

Source: Iceberg spec, "Table Metadata Fields", "Schemas", "Partitioning", "Sorting", appendix C.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tableformats.plugin import CorruptMetadataError

from .normal_metadata import normalized

__all__ = ["check_form"]

_OBJECTS = ("properties", "refs")
_LISTS = ("schemas", "partition-specs", "sort-orders", "snapshots", "snapshot-log", "metadata-log")
_COUNTERS = ("last-sequence-number", "next-row-id")
"""Numbers that a commit goes on from, in 64 bits."""
_FIELD: Mapping[str, type] = {"id": int, "name": str, "required": bool}
_PARTITION_FIELD: Mapping[str, type] = {"name": str, "transform": str}
_SORT_FIELD: Mapping[str, type] = {"transform": str, "direction": str, "null-order": str}
_PARTS = {
    "list": {"element-id": int, "element-required": bool},
    "map": {"key-id": int, "value-id": int, "value-required": bool},
}
_INNER = {"list": ("element",), "map": ("key", "value")}


def check_form(metadata: Mapping[str, Any], path: str) -> None:
    """Raise CorruptMetadataError, with the field, where lists, objects and ids are not what updates work on."""
    wrong = _wrong_field(metadata)
    if wrong is not None:
        raise CorruptMetadataError("a field is missing, or of the wrong type", path=path, field=wrong)


def _wrong_field(metadata: Mapping[str, Any]) -> str | None:
    for name in _COUNTERS:
        value = metadata.get(name)
        if value is not None and (not isinstance(value, int) or value not in range(2**62)):
            return name
    for name in _OBJECTS:
        if not isinstance(metadata.get(name) or {}, Mapping):
            return name
    for name in _LISTS:
        if not _are_objects(metadata.get(name) or []):
            return name
    if not all(isinstance(one, str) for one in (metadata.get("properties") or {}).values()):
        return "properties"
    if not _are_objects(list((metadata.get("refs") or {}).values())):
        return "refs"
    schemas = [*(metadata.get("schemas") or []), *([metadata["schema"]] if "schema" in metadata else [])]
    if not all(isinstance(one, Mapping) and one.get("type") == "struct" and _is_type(one) for one in schemas):
        return "schemas"
    specs = metadata.get("partition-specs") or []
    flat = metadata.get("partition-spec") or []
    if not all(_has(s, {"spec-id": int}) for s in specs) or not _have(
        [*(s.get("fields") for s in specs), flat], _PARTITION_FIELD
    ):
        return "partition-specs"
    orders = metadata.get("sort-orders") or []
    if not all(_has(o, {"order-id": int}) for o in orders) or not _have([o.get("fields") for o in orders], _SORT_FIELD):
        return "sort-orders"
    return _wrong_default(metadata)


def _wrong_default(metadata: Mapping[str, Any]) -> str | None:
    """The member whose id is that of no schema, spec or sort order."""
    found = normalized(metadata)
    for member, name, key in (
        ("current-schema-id", "schemas", "schema-id"),
        ("default-spec-id", "partition-specs", "spec-id"),
        ("default-sort-order-id", "sort-orders", "order-id"),
    ):
        ids = [one[key] for one in found[name]]
        if ids and found[member] not in ids:
            return member
    return None


def _are_objects(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(one, Mapping) for one in value)


def _has(value: Mapping[str, Any], members: Mapping[str, type]) -> bool:
    return all(isinstance(value.get(name), kind) for name, kind in members.items())


def _have(lists: Iterable[object], members: Mapping[str, type]) -> bool:
    """Whether these are lists of objects that have the members."""
    return all(_are_objects(one) and all(_has(field, members) for field in one) for one in lists)  # type: ignore[attr-defined]


def _is_type(value: object) -> bool:
    """Whether a type is a name or a struct, list or map with all of its members; the reader bounds its depth."""
    if isinstance(value, str):
        return True
    if not isinstance(value, Mapping):
        return False
    kind = value.get("type")
    if kind == "struct":
        fields = value.get("fields")
        return _are_objects(fields) and all(_has(one, _FIELD) and _is_type(one.get("type")) for one in fields or ())
    return (
        isinstance(kind, str)
        and kind in _PARTS
        and _has(value, _PARTS[kind])
        and all(_is_type(value.get(name)) for name in _INNER[kind])
    )
