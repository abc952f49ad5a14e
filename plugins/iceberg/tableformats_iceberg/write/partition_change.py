"""The partition spec of a table whose partitioning is changed: fields that stay keep their ids and names.

Source: Iceberg spec, "Partition Evolution", "Partitioning" (equivalent fields); names as in the reference
implementation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tableformats.plugin import Schema

from .partition_texts import PartitionText, check_redundant, parse_partition_text, partition_json

__all__ = ["changed_spec"]

Json = dict[str, Any]


def changed_spec(metadata: Mapping[str, Any], schema: Schema, partition_by: Sequence[str]) -> Json:
    """The JSON of the new default spec; its fields lack an id where they are new.

    Parameters
    ----------
    metadata : mapping
        The table's, normalized.
    schema : Schema
        The current schema after the change.
    partition_by : sequence of str
        All partition fields that the table will have, as :func:`parse_partition_text` reads them.

    Raises
    ------
    ConstraintViolationError
        A text is malformed, names no column, or is redundant beside another.
    """
    specs: list[Mapping[str, Any]] = list(metadata["partition-specs"])
    own = next(s for s in specs if s["spec-id"] == metadata["default-spec-id"])
    wanted = [parse_partition_text(text, schema) for text in partition_by]
    if metadata["format-version"] == 1:
        fields = _of_version_1(own["fields"], wanted)
    else:
        known = [f for s in [own, *reversed(specs)] for f in s["fields"]]
        fields = [_reused(known, one) for one in wanted]
    check_redundant(fields)
    return {"fields": fields}


def _key(field: Mapping[str, Any]) -> tuple[Any, str]:
    return field.get("source-id"), field["transform"]


def _reused(known: Iterable[Mapping[str, Any]], wanted: PartitionText) -> Json:
    """The field as an earlier spec has it, or a new one."""
    fresh = partition_json(wanted, has_width=True)
    for field in known:
        if _key(field) == _key(fresh) and wanted.name in (None, field["name"]):
            return dict(field)
    for field in known:
        if _key(field) == _key(fresh):  # it is renamed: what it says stays the same, and so does its id
            return {**field, "name": fresh["name"]}
    return fresh


def _of_version_1(fields: Sequence[Mapping[str, Any]], wanted: Sequence[PartitionText]) -> list[Json]:
    """Version 1 numbers fields by their place: none goes, and new ones come last. A dropped one becomes void."""
    left = list(wanted)
    found: list[Json] = []
    for field in fields:
        same = next((one for one in left if (one.source.id, one.transform) == _key(field)), None)
        if same is None:
            found.append({**field, "transform": "void"})
        else:
            left.remove(same)
            found.append({**field, "name": same.name or field["name"]})
    added = [partition_json(one, has_width=True) for one in left]
    names = {one["name"] for one in added}
    for field in found:
        if field["transform"] == "void" and field["name"] in names:
            field["name"] = f"{field['name']}_{field['field-id']}"
    return [*found, *added]
