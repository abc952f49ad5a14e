"""A change of a table's metadata as requirements and updates in the JSON of the REST catalog.

The requirements say what of the metadata the change depends on, so that another writer's change of the same is noticed,
and any other is not. Source: Iceberg REST catalog, ``TableUpdate``, ``TableRequirement``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NoReturn

from tableformats.plugin import (
    ConstraintViolationError,
    MetadataChange,
    ReferenceChange,
    Schema,
    SnapshotNotFoundError,
    UnsupportedFeatureError,
)

from ..files.strict_json import Node
from ..metadata.schema import NAME_MAPPING_PROPERTY, parse_schema
from .create import VERSION_PROPERTY, version_of
from .normal_metadata import MAIN, normalized
from .partition_change import changed_spec
from .partition_texts import sort_json
from .schema_change import SchemaChange, changed_name_mapping, changed_properties

__all__ = ["changes_of"]

Json = dict[str, Any]


def changes_of(metadata: Mapping[str, Any], change: MetadataChange, path: str = "") -> tuple[list[Json], list[Json]]:
    """The requirements and the updates of a change.

    Parameters
    ----------
    metadata : mapping
        The JSON of the current metadata.
    change : MetadataChange
        The property ``format-version`` is the version to upgrade to.
    path : str
        Of the metadata file, for errors.

    Raises
    ------
    UnsupportedFeatureError
        Iceberg has not the change, or not in the table's format version. ``field`` names the column or property.
    ConstraintViolationError
        The change contradicts itself or the table.
    SnapshotNotFoundError
        A branch or tag that is changed is not there, or is to be at a snapshot that is not there.
    """
    return _Changes(normalized(metadata), path).of(change)


class _Changes:
    def __init__(self, metadata: Json, path: str) -> None:
        self._metadata = metadata
        self._path = path
        self._requirements: list[Json] = []
        self._updates: list[Json] = []

    def of(self, change: MetadataChange) -> tuple[list[Json], list[Json]]:
        if change.constraints:
            raise UnsupportedFeatureError(
                "Iceberg tables have no constraints", path=self._path, field=next(iter(change.constraints))
            )
        if change.defaults:
            raise UnsupportedFeatureError(
                "the default of a column that is there is not changed in Iceberg tables",
                path=self._path,
                field=".".join(next(iter(change.defaults))),
                hint="Format version 3 has defaults of added columns: add_columns(..., defaults=...)",
            )
        if "table-uuid" in self._metadata:
            self._requirements.append({"type": "assert-table-uuid", "uuid": self._metadata["table-uuid"]})
        properties = dict(change.properties)
        if VERSION_PROPERTY in properties:
            self._upgrade(properties.pop(VERSION_PROPERTY))
        current = next(s for s in self._metadata["schemas"] if s["schema-id"] == self._metadata["current-schema-id"])
        schema = parse_schema(Node(current, self._path))
        if change.schema is not None:
            schema = self._change_schema(current, schema, change.schema, properties)
        if change.partition_by is not None:
            self._change_spec(schema, change)
        if change.sort_by is not None:
            self._change_order(schema, change)
        self._set_properties(properties)
        for name, reference in change.references.items():
            self._change_reference(name, reference)
        return self._requirements, self._updates

    def _require(self, kind: str, key: str, own_key: str) -> None:
        self._requirements.append({"type": f"assert-{kind}", key: self._metadata[own_key]})

    def _upgrade(self, text: str | None) -> None:
        version = version_of(text)
        if version < self._metadata["format-version"]:
            raise ConstraintViolationError(
                f"the table has format version {self._metadata['format-version']}, and no way leads back",
                field=VERSION_PROPERTY,
                hint="Nothing was changed",
            )
        self._metadata["format-version"] = version
        self._updates.append({"action": "upgrade-format-version", "format-version": version})

    def _change_schema(self, current: Json, old: Schema, new: Schema, properties: dict[str, str | None]) -> Schema:
        sources = {
            source
            for spec in self._metadata["partition-specs"]
            for field in spec["fields"]
            if field["transform"] != "void"
            for source in field.get("source-ids") or [field.get("source-id")]
        }
        last = self._metadata["last-column-id"]
        changing = SchemaChange(current, self._metadata["format-version"], last, frozenset(sources))
        found = changing.of(old, new)
        self._require("current-schema-id", "current-schema-id", "current-schema-id")
        self._require("last-assigned-field-id", "last-assigned-field-id", "last-column-id")
        found.pop("schema-id", None)
        proposed = max(s["schema-id"] for s in self._metadata["schemas"]) + 1
        self._updates += [
            {"action": "add-schema", "schema": {**found, "schema-id": proposed}},
            {"action": "set-current-schema", "schema-id": -1},
        ]
        mapping = self._metadata["properties"].get(NAME_MAPPING_PROPERTY)
        if mapping and NAME_MAPPING_PROPERTY not in properties:
            properties[NAME_MAPPING_PROPERTY] = self._mapping(mapping, found)
        for name, value in changed_properties(self._metadata["properties"], old, found).items():
            properties.setdefault(name, value)
        return parse_schema(Node({**found, "schema-id": proposed}, self._path))

    def _mapping(self, text: str, schema: Json) -> str:
        try:
            return changed_name_mapping(text, schema)
        except (json.JSONDecodeError, AttributeError, TypeError, KeyError):
            raise UnsupportedFeatureError(
                "the table's name mapping is malformed, and would not fit to the changed columns",
                path=self._path,
                field=NAME_MAPPING_PROPERTY,
                hint="Nothing was changed: remove or correct the property first",
            ) from None

    def _change_spec(self, schema: Schema, change: MetadataChange) -> None:
        assert change.partition_by is not None
        spec = changed_spec(self._metadata, schema, change.partition_by)
        self._require("default-spec-id", "default-spec-id", "default-spec-id")
        self._require("last-assigned-partition-id", "last-assigned-partition-id", "last-partition-id")
        last = self._metadata["last-partition-id"]
        for field in spec["fields"]:
            if "field-id" not in field:
                last += 1
                field["field-id"] = last
        if self._metadata["format-version"] == 1:
            for index, field in enumerate(spec["fields"]):
                field["field-id"] = 1000 + index
        spec["spec-id"] = max(s["spec-id"] for s in self._metadata["partition-specs"]) + 1
        self._updates += [{"action": "add-spec", "spec": spec}, {"action": "set-default-spec", "spec-id": -1}]
        self._select_listed("partition-specs", "spec-id", spec, "set-default-spec")

    def _change_order(self, schema: Schema, change: MetadataChange) -> None:
        assert change.sort_by is not None
        fields = [sort_json(text, schema) for text in change.sort_by]
        order_id = max(o["order-id"] for o in self._metadata["sort-orders"]) + 1 if fields else 0
        order = {"order-id": order_id, "fields": fields}
        self._require("default-sort-order-id", "default-sort-order-id", "default-sort-order-id")
        self._updates += [
            {"action": "add-sort-order", "sort-order": order},
            {"action": "set-default-sort-order", "sort-order-id": -1},
        ]
        self._select_listed("sort-orders", "order-id", order, "set-default-sort-order")

    def _select_listed(self, key: str, id_key: str, wanted: Json, action: str) -> None:
        """Where an equal spec or order is there, choose it: catalogs differ in what the last added one is then."""
        for listed in self._metadata[key]:
            if _bare(listed["fields"]) == _bare(wanted["fields"]):
                action_key = "spec-id" if key == "partition-specs" else "sort-order-id"
                self._updates[-2:] = [{"action": action, action_key: listed[id_key]}]
                return

    def _set_properties(self, properties: Mapping[str, str | None]) -> None:
        given = {name: value for name, value in properties.items() if value is not None}
        gone = [name for name, value in properties.items() if value is None and name in self._metadata["properties"]]
        if given:
            self._updates.append({"action": "set-properties", "updates": given})
        if gone:
            self._updates.append({"action": "remove-properties", "removals": gone})

    def _change_reference(self, name: str, wanted: ReferenceChange) -> None:
        own = self._metadata["refs"].get(name)
        snapshot_id = None if own is None else own["snapshot-id"]
        self._requirements.append({"type": "assert-ref-snapshot-id", "ref": name, "snapshot-id": snapshot_id})
        if own is None and (wanted.must_exist or wanted.is_removed):
            self._missing(f"there is no {wanted.kind} {name!r}")
        if own is not None and wanted.must_exist is False:
            self._refuse(name, f"there is a {own['type']} {name!r} already")
        if own is not None and own["type"] != wanted.kind:
            self._refuse(name, f"{name!r} is a {own['type']}, and no {wanted.kind}")
        if wanted.is_removed:
            if name == MAIN:
                raise UnsupportedFeatureError("the main branch is not removed", path=self._path, field=name)
            self._updates.append({"action": "remove-snapshot-ref", "ref-name": name})
            return
        target = wanted.version if wanted.version is not None else snapshot_id
        if target is None:
            target = self._metadata["current-snapshot-id"]
        parents = {one["snapshot-id"]: one.get("parent-snapshot-id") for one in self._metadata["snapshots"]}
        if target not in parents:
            self._missing("the table has no snapshot yet" if target in (None, -1) else f"there is no snapshot {target}")
        if wanted.only_forward and not _is_ancestor(snapshot_id, target, parents):
            self._refuse(
                name, f"snapshot {target} does not descend from the branch, which would lose its own snapshots"
            )
        self._updates.append(
            {
                **(own or {}),
                "action": "set-snapshot-ref",
                "ref-name": name,
                "type": wanted.kind,
                "snapshot-id": target,
                **{key: value for key, value in _retention(wanted).items() if value is not None},
            }
        )

    def _refuse(self, name: str, message: str) -> NoReturn:
        raise ConstraintViolationError(message, path=self._path, field=name, hint="Nothing was changed")

    def _missing(self, message: str) -> NoReturn:
        names = ", ".join(sorted(self._metadata["refs"])[:10])
        raise SnapshotNotFoundError(message, path=self._path, hint=f"The table's branches and tags: {names}")


def _is_ancestor(older: int | None, newer: int | None, parents: Mapping[int, int | None]) -> bool:
    seen: set[int] = set()
    while newer is not None and newer not in seen:
        if newer == older:
            return True
        seen.add(newer)
        newer = parents.get(newer)
    return False


def _retention(wanted: ReferenceChange) -> dict[str, int | None]:
    return {
        "max-ref-age-ms": wanted.max_age_ms,
        "min-snapshots-to-keep": wanted.min_versions,
        "max-snapshot-age-ms": wanted.max_version_age_ms,
    }


def _bare(fields: list[Json]) -> list[Json]:
    return [{k: v for k, v in field.items() if k != "field-id"} for field in fields]
