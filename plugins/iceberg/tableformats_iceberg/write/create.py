"""The updates that make a new table, and those that replace the definition of one."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from tableformats.plugin import ConstraintViolationError, CreateRequest, Schema, UnsupportedFeatureError

from ..files.strict_json import Node
from ..metadata.schema import NAME_MAPPING_PROPERTY, parse_schema
from .metadata_updates import NEWEST_VERSION
from .normal_metadata import MAIN, normalized
from .partition_change import changed_spec
from .partition_texts import check_redundant, parse_partition_text, partition_json, sort_json
from .schema_json import fresh_schema, name_mapping

__all__ = ["VERSION_PROPERTY", "create_updates", "replace_updates", "version_of"]

VERSION_PROPERTY = "format-version"
"""The property by which Iceberg's writers choose the version of a new table. It is not stored."""
DEFAULT_VERSION = 2

Json = dict[str, Any]


def create_updates(
    location: str,
    schema: Schema,
    partition_by: Sequence[str] = (),
    sort_by: Sequence[str] = (),
    properties: Mapping[str, str] | None = None,
    *,
    with_name_mapping: bool = False,
    table_id: str | None = None,
) -> list[Json]:
    """The updates that make a table out of nothing.

    Parameters
    ----------
    location : str
        The table's directory.
    schema : Schema
        Its columns; the ids are assigned anew.
    partition_by, sort_by : sequence of str
        Texts as :mod:`tableformats_iceberg.write.partition_texts` reads them.
    properties : mapping
        Table properties. ``format-version`` is the version to create: 1, 2 (the default) or 3.
    with_name_mapping : bool
        Whether the property ``schema.name-mapping.default`` is set from the schema, so that files without field ids can
        be added later.
    table_id : str, optional
        The uuid, where a catalog gave one.

    Raises
    ------
    ConstraintViolationError
        A partition field, a sort field or a property does not fit.
    UnsupportedFeatureError
        Iceberg has not the type of a column, or has it in a newer version; or the version is not written.
    """
    given = dict(properties or {})
    version = version_of(given.pop(VERSION_PROPERTY, str(DEFAULT_VERSION)))
    fresh = fresh_schema(schema)
    own = parse_schema(Node(fresh, location))
    if with_name_mapping:
        given.setdefault(NAME_MAPPING_PROPERTY, json.dumps(name_mapping(fresh), separators=(",", ":")))
    fields = [partition_json(parse_partition_text(text, own)) for text in partition_by]
    check_redundant(fields)
    order = [sort_json(text, own) for text in sort_by]
    updates: list[Json] = [
        {"action": "assign-uuid", "uuid": table_id or str(uuid.uuid4())},
        {"action": "upgrade-format-version", "format-version": version},
        {"action": "add-schema", "schema": fresh},
        {"action": "set-current-schema", "schema-id": -1},
        {"action": "add-spec", "spec": {"spec-id": 0, "fields": _numbered(fields)}},
        {"action": "set-default-spec", "spec-id": -1},
        {"action": "add-sort-order", "sort-order": {"order-id": 1 if order else 0, "fields": order}},
        {"action": "set-default-sort-order", "sort-order-id": -1},
        {"action": "set-location", "location": location},
    ]
    if given:
        updates.append({"action": "set-properties", "updates": given})
    return updates


def replace_updates(
    metadata: Mapping[str, Any], request: CreateRequest, path: str = ""
) -> tuple[list[Json], list[Json]]:
    """The requirements and updates that give a table that is there another definition, and no rows.

    Its snapshots stay, so that older versions can be read. A column of the same name and type keeps its id, as in
    Java, whose catalogs refuse another one where an identity partition has that name. All others get new ids. Its
    location and properties stay, as far as the request does not set them.

    Raises as :func:`create_updates`.
    """
    base = normalized(metadata)
    given = dict(request.properties)
    version = version_of(given.pop(VERSION_PROPERTY, str(base["format-version"])))
    fresh = _with_known_ids(fresh_schema(request.schema, base["last-column-id"] + 1), base)
    fresh["schema-id"] = max(s["schema-id"] for s in base["schemas"]) + 1
    own = parse_schema(Node(fresh, path))
    fields = changed_spec({**base, "format-version": version}, own, request.partition_by)["fields"]
    order = [sort_json(text, own) for text in request.sort_by]
    main = base["refs"].get(MAIN)
    requirements: list[Json] = [
        {"type": "assert-ref-snapshot-id", "ref": MAIN, "snapshot-id": None if main is None else main["snapshot-id"]},
        {"type": "assert-last-assigned-field-id", "last-assigned-field-id": base["last-column-id"]},
        {"type": "assert-last-assigned-partition-id", "last-assigned-partition-id": base["last-partition-id"]},
    ]
    if "table-uuid" in base:
        requirements.append({"type": "assert-table-uuid", "uuid": base["table-uuid"]})
    updates: list[Json] = [{"action": "upgrade-format-version", "format-version": version}]
    if NAME_MAPPING_PROPERTY in base["properties"]:
        updates.append({"action": "remove-properties", "removals": [NAME_MAPPING_PROPERTY]})
    updates += [
        *_schema_updates(base, fresh),
        *_spec_updates(base, _following(fields, base["last-partition-id"], version)),
        *_order_updates(base, order),
        {"action": "remove-snapshot-ref", "ref-name": MAIN},
    ]
    if given:
        updates.append({"action": "set-properties", "updates": given})
    return requirements, updates


def _schema_updates(base: Mapping[str, Any], fresh: Json) -> list[Json]:
    """A schema that is there already is not added: Java's catalogs then know no schema that was added last."""
    same = [s["schema-id"] for s in base["schemas"] if _schema_key(s) == _schema_key(fresh)]
    if base["current-schema-id"] in same:
        return []
    if same:
        return [{"action": "set-current-schema", "schema-id": same[0]}]
    return [{"action": "add-schema", "schema": fresh}, {"action": "set-current-schema", "schema-id": -1}]


def _schema_key(schema: Mapping[str, Any]) -> tuple[Any, ...]:
    return schema["fields"], sorted(schema.get("identifier-field-ids") or ())


def _with_known_ids(fresh: Json, base: Mapping[str, Any]) -> Json:
    """The schema with the ids of columns that can be read as those of the current schema of ``base``.

    Files of other branches are read by it, too. So a column that is required now, that had another type, or that had
    a value for older files, is another one.
    """
    current = next(s for s in base["schemas"] if s["schema-id"] == base["current-schema-id"])
    known = {f["name"]: f for f in current["fields"] if isinstance(f["type"], str) and "initial-default" not in f}
    for field in fresh["fields"]:
        old = known.get(field["name"])
        if old is not None and old["type"] == field["type"] and (old["required"] or not field["required"]):
            field["id"] = old["id"]
    return fresh


def _spec_updates(base: Mapping[str, Any], fields: list[Json]) -> list[Json]:
    """Make a spec the default one. One that is there is not added again, so that -1 never stands for none."""
    wanted = [(f["source-id"], f["transform"], f["name"]) for f in fields]
    for spec in base["partition-specs"]:
        if [(f.get("source-id"), f["transform"], f["name"]) for f in spec["fields"]] == wanted:
            return [{"action": "set-default-spec", "spec-id": spec["spec-id"]}]
    spec_id = max(spec["spec-id"] for spec in base["partition-specs"]) + 1
    added = {"action": "add-spec", "spec": {"spec-id": spec_id, "fields": fields}}
    return [added, {"action": "set-default-spec", "spec-id": -1}]


def _order_updates(base: Mapping[str, Any], fields: list[Json]) -> list[Json]:
    """Make a sort order the default one, as :func:`_spec_updates` does."""
    for order in base["sort-orders"]:
        if order["fields"] == fields:
            return [{"action": "set-default-sort-order", "sort-order-id": order["order-id"]}]
    order_id = max([0, *(order["order-id"] for order in base["sort-orders"])]) + 1 if fields else 0
    added = {"action": "add-sort-order", "sort-order": {"order-id": order_id, "fields": fields}}
    return [added, {"action": "set-default-sort-order", "sort-order-id": -1}]


def _following(fields: list[Json], last: int, version: int) -> list[Json]:
    found = []
    for index, field in enumerate(fields):
        if "field-id" not in field:
            last += 1
            field = {**field, "field-id": 1000 + index if version == 1 else last}
        found.append(field)
    return found


def _numbered(fields: list[Json]) -> list[Json]:
    return [{"source-id": f["source-id"], "field-id": 1000 + i, **f} for i, f in enumerate(fields)]


def version_of(text: Any) -> int:
    """The format version that a text names. Raises as :func:`create_updates`."""
    if str(text) not in [str(version) for version in range(1, NEWEST_VERSION + 1)]:
        if str(text).isdigit():
            raise UnsupportedFeatureError(
                f"format version {text} is not written",
                field=VERSION_PROPERTY,
                hint=f"Versions 1 to {NEWEST_VERSION} are",
            )
        raise ConstraintViolationError(
            f"the format version is a number, not {str(text)[:50]!r}",
            field=VERSION_PROPERTY,
            hint="Nothing was written",
        )
    return int(text)
