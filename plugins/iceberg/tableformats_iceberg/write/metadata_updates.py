"""Applies updates to a table's metadata: from one metadata.json to the next, as JSON values.

Updates are JSON objects as the REST catalog has them. So one list of updates serves a catalog that applies them itself
and a table whose metadata file is written here. What an update does not name is carried over, fields that are not
known included.
Sources: Iceberg REST catalog, ``TableUpdate``; Iceberg spec, "Table Metadata Fields", "Snapshots", "Snapshot
References", "Row Lineage".
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NoReturn

from tableformats.plugin import ConstraintViolationError, TableFormatsError, UnsupportedFeatureError

from .normal_metadata import FIRST_PARTITION_ID, MAIN, UNSORTED, normalized, stored
from .properties import PREVIOUS_VERSIONS
from .schema_rules import check_schema, check_sources, highest_id

__all__ = ["apply_updates"]

LAST_ADDED = -1
"""Stands for the id of the schema, spec or sort order that the same commit added last."""
NEWEST_VERSION = 3
FIRST_VERSION = 2
"""The version of a new table whose updates name none. Source: the reference implementation."""

Json = dict[str, Any]


def apply_updates(
    metadata: Mapping[str, Any] | None,
    updates: Iterable[Mapping[str, Any]],
    *,
    now_ms: int,
    previous_file: str | None = None,
) -> dict[str, Any]:
    """The metadata after some updates.

    Parameters
    ----------
    metadata : mapping or None
        The JSON of the metadata file that is current. It is not changed. None: the updates make a new table.
    updates : iterable of mapping
        Applied in order.
    now_ms : int
        The time, in milliseconds since the epoch. A clock that was set back does not move the table's times back.
    previous_file : str, optional
        The location of the file that ``metadata`` stands in, for the metadata log.

    Returns
    -------
    dict
        The JSON of the next metadata file. ``metadata`` itself, where the updates change nothing.

    Raises
    ------
    ConstraintViolationError
        An update does not fit to the table: it names something that is not there, or breaks a rule of the format.
        ``field`` is its action.
    UnsupportedFeatureError
        An update, a type, a transform or a format version is not known.
    """
    builder = _Builder(metadata, now_ms)
    for update in updates:
        builder.apply(update)
    if not builder.is_changed and metadata is not None:
        return metadata if isinstance(metadata, dict) else dict(metadata)
    with builder.refusing():
        return builder.finish(metadata, previous_file)


class _Builder:
    """The metadata as it is so far, and what the updates have added."""

    def __init__(self, metadata: Mapping[str, Any] | None, now_ms: int) -> None:
        self.found: Json = normalized(metadata or {"format-version": FIRST_VERSION})
        self.is_new = metadata is None
        self.now_ms = now_ms
        self.is_changed = False
        self.has_removed_snapshots = False
        self.added_snapshots: dict[int, int] = {}
        """The time of each snapshot that was added, by its id."""
        self.last_added: dict[str, int] = {}
        """The id of the schema, spec and sort order that was added last, by the list's key."""
        self.action = ""

    def apply(self, update: Mapping[str, Any]) -> None:
        self.action = str(update.get("action"))
        apply = _ACTIONS.get(self.action)
        if apply is None:
            raise UnsupportedFeatureError(
                f"the update {self.action[:100]!r} is not known", field="action", hint="Nothing was written"
            )
        with self.refusing():
            apply(self, update)

    @contextmanager
    def refusing(self) -> Iterator[None]:
        """What an update lacks, or has of another type, is a refusal."""
        try:
            yield
        except TableFormatsError:
            raise
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            self.refuse(f"it is malformed: {type(error).__name__} {str(error)[:100]}")

    def refuse(self, message: str) -> NoReturn:
        raise ConstraintViolationError(
            f"the update {self.action!r} cannot be applied: {message}", field=self.action, hint="Nothing was written"
        )

    def put(self, key: str, value: Any) -> None:
        """Set a field, and note whether that changes something."""
        if self.found.get(key) != value:
            self.found[key] = value
            self.is_changed = True

    # ---- the whole table --------------------------------------------------------------------------------------------

    def assign_uuid(self, update: Mapping[str, Any]) -> None:
        try:
            given = str(uuid.UUID(update["uuid"]))
        except (ValueError, AttributeError):
            self.refuse("it is no uuid")
        own = self.found.get("table-uuid")
        if own is not None and str(own).lower() != given:
            self.refuse(f"the table has the uuid {own}")
        if own is None:
            self.put("table-uuid", given)

    def upgrade_format_version(self, update: Mapping[str, Any]) -> None:
        version, own = update["format-version"], self.found["format-version"]
        if isinstance(version, bool) or not isinstance(version, int) or not 1 <= version <= NEWEST_VERSION:
            raise UnsupportedFeatureError(
                f"format version {version!r} is not written",
                field="format-version",
                hint=f"Versions 1 to {NEWEST_VERSION} are",
            )
        if version < own and not self.is_new:
            self.refuse(f"the table has version {own} already, and no way leads back")
        if version == 3:
            self.found.setdefault("next-row-id", 0)
        self.put("format-version", version)

    def set_location(self, update: Mapping[str, Any]) -> None:
        if not isinstance(update["location"], str) or not update["location"]:
            self.refuse("the location is empty")
        self.put("location", update["location"])

    def set_properties(self, update: Mapping[str, Any]) -> None:
        given = update["updates"]
        if not all(isinstance(name, str) and isinstance(value, str) for name, value in given.items()):
            self.refuse("properties are texts")
        self.put("properties", {**self.found["properties"], **given})

    def remove_properties(self, update: Mapping[str, Any]) -> None:
        removed = set(update["removals"])
        self.put("properties", {k: v for k, v in self.found["properties"].items() if k not in removed})

    # ---- schemas, specs, sort orders --------------------------------------------------------------------------------

    def add_schema(self, update: Mapping[str, Any]) -> None:
        schema = dict(update["schema"])
        check_schema(schema, self.found["format-version"])
        highest = max(highest_id(schema), update.get("last-column-id") or 0, self.found.get("last-column-id") or 0)
        self.put("last-column-id", highest)
        self._add("schemas", "schema-id", schema, 0, _schema_key)

    def set_current_schema(self, update: Mapping[str, Any]) -> None:
        self._select("schemas", "schema-id", "current-schema-id", update["schema-id"])

    def add_spec(self, update: Mapping[str, Any]) -> None:
        spec = {**update["spec"], "fields": self._numbered(update["spec"]["fields"])}
        if len({f["field-id"] for f in spec["fields"]}) != len(spec["fields"]):
            self.refuse("two partition fields have one id")
        if len({f["name"] for f in spec["fields"]}) != len(spec["fields"]):
            self.refuse("two partition fields have one name")
        if self.found["format-version"] == 1:
            if [f["field-id"] for f in spec["fields"]] != [FIRST_PARTITION_ID + i for i in range(len(spec["fields"]))]:
                self.refuse("version 1 numbers partition fields from 1000 on; replace a field by the transform void")
        self._add("partition-specs", "spec-id", spec, 0, _spec_key)
        self.put("last-partition-id", max([self.found["last-partition-id"], *(f["field-id"] for f in spec["fields"])]))

    def _numbered(self, fields: Iterable[Mapping[str, Any]]) -> list[Json]:
        """Fields with ids: that of a field of the same source and transform in an earlier spec, or a new one."""
        known = {_field_key(f): f["field-id"] for s in self.found["partition-specs"] for f in s["fields"]}
        if self.found["format-version"] == 1:
            known = {}
        last, numbered = self.found["last-partition-id"], []
        for index, given in enumerate(fields):
            field = {key: value for key, value in given.items() if key != "field-id" or value is not None}
            if "field-id" not in field:
                is_first_version = self.found["format-version"] == 1
                fresh = FIRST_PARTITION_ID + index if is_first_version else last + 1
                field["field-id"] = known.get(_field_key(field), fresh)
                last = max(last, field["field-id"])
            numbered.append(field)
        return numbered

    def set_default_spec(self, update: Mapping[str, Any]) -> None:
        self._select("partition-specs", "spec-id", "default-spec-id", update["spec-id"])

    def add_sort_order(self, update: Mapping[str, Any]) -> None:
        order = dict(update["sort-order"])
        own = None if order["fields"] else UNSORTED["order-id"]
        self._add("sort-orders", "order-id", order, 1, _fields_key, own)

    def set_default_sort_order(self, update: Mapping[str, Any]) -> None:
        self._select("sort-orders", "order-id", "default-sort-order-id", update["sort-order-id"])

    def _add(
        self, key: str, id_key: str, given: Json, first: int, identity: Callable[[Json], Any], own: int | None = None
    ) -> None:
        """Add to a list what is not in it, under the id ``own``, or a new one: what was given is only a proposal."""
        listed = self.found[key]
        same = next((one[id_key] for one in listed if identity(one) == identity(given)), None)
        if same is None:
            given[id_key] = max([first, *(one[id_key] + 1 for one in listed)]) if own is None else own
            self.put(key, [*listed, given])
        self.last_added[key] = given[id_key] if same is None else same

    def _select(self, key: str, id_key: str, current_key: str, given: int) -> None:
        if given == LAST_ADDED:
            if key not in self.last_added:
                self.refuse("none was added by this commit")
            given = self.last_added[key]
        if all(one[id_key] != given for one in self.found[key]):
            self.refuse(f"there is no {id_key} {given}")
        self.put(current_key, given)

    def remove_partition_specs(self, update: Mapping[str, Any]) -> None:
        self._remove("partition-specs", "spec-id", self.found["default-spec-id"], update["spec-ids"])

    def remove_schemas(self, update: Mapping[str, Any]) -> None:
        self._remove("schemas", "schema-id", self.found["current-schema-id"], update["schema-ids"])

    def _remove(self, key: str, id_key: str, current: int, removed: Iterable[int]) -> None:
        gone = set(removed)
        if current in gone:
            self.refuse(f"{id_key} {current} is in use")
        self.put(key, [one for one in self.found[key] if one[id_key] not in gone])

    # ---- snapshots and references -----------------------------------------------------------------------------------

    def add_snapshot(self, update: Mapping[str, Any]) -> None:
        snapshot = dict(update["snapshot"])
        snapshot_id, version = snapshot["snapshot-id"], self.found["format-version"]
        if not (self.found["schemas"] and self.found["partition-specs"]):
            self.refuse("the table has no schema or no partition spec yet")
        if any(one["snapshot-id"] == snapshot_id for one in self.found["snapshots"]):
            self.refuse(f"there is a snapshot {snapshot_id}")
        if version == 1:
            snapshot.pop("sequence-number", None)
        elif snapshot["sequence-number"] <= self.found["last-sequence-number"]:
            last = self.found["last-sequence-number"]
            self.refuse(f"sequence number {snapshot['sequence-number']} does not come after {last}")
        else:
            self.found["last-sequence-number"] = snapshot["sequence-number"]
        if version < 3:
            for key in ("first-row-id", "added-rows", "key-id"):
                snapshot.pop(key, None)
        else:
            first, next_row_id = snapshot["first-row-id"], self.found["next-row-id"]
            if first < next_row_id:
                self.refuse(f"first-row-id {first} is behind the table's next-row-id {next_row_id}")
            self.found["next-row-id"] = first + snapshot["added-rows"]
        self.added_snapshots[snapshot_id] = snapshot["timestamp-ms"]
        self.put("snapshots", [*self.found["snapshots"], snapshot])

    def set_snapshot_ref(self, update: Mapping[str, Any]) -> None:
        name, kind, snapshot_id = update["ref-name"], update["type"], update["snapshot-id"]
        if kind not in ("branch", "tag") or (name == MAIN and kind != "branch"):
            self.refuse(f"{name!r} cannot be a {str(kind)[:50]}")
        if all(one["snapshot-id"] != snapshot_id for one in self.found["snapshots"]):
            self.refuse(f"there is no snapshot {snapshot_id}")
        reference = {k: v for k, v in update.items() if k not in ("action", "ref-name") and v is not None}
        if self.found["refs"].get(name) == reference:
            return
        self.put("refs", {**self.found["refs"], name: reference})
        if name == MAIN and self.found["current-snapshot-id"] != snapshot_id:
            self.put("current-snapshot-id", snapshot_id)
            self._log(self.added_snapshots.get(snapshot_id, self.now_ms), snapshot_id)

    def _log(self, timestamp_ms: int, snapshot_id: int) -> None:
        log = self.found["snapshot-log"]
        # Entries are in the order of time, and readers refuse a log that is not.
        timestamp_ms = max([timestamp_ms, *(entry["timestamp-ms"] for entry in log[-1:])])
        self.found["snapshot-log"] = [*log, {"timestamp-ms": timestamp_ms, "snapshot-id": snapshot_id}]

    def remove_snapshot_ref(self, update: Mapping[str, Any]) -> None:
        self._drop_references({update["ref-name"]})

    def _drop_references(self, names: set[str]) -> None:
        if MAIN in names:
            self.put("current-snapshot-id", None)
        self.put("refs", {name: ref for name, ref in self.found["refs"].items() if name not in names})

    def remove_snapshots(self, update: Mapping[str, Any]) -> None:
        gone = set(update["snapshot-ids"])
        if all(one["snapshot-id"] not in gone for one in self.found["snapshots"]):
            return
        self.has_removed_snapshots = True
        for key in ("snapshots", "statistics", "partition-statistics"):
            if key in self.found:
                self.put(key, [one for one in self.found[key] if one["snapshot-id"] not in gone])
        self._drop_references({name for name, ref in self.found["refs"].items() if ref["snapshot-id"] in gone})

    # ---- statistics, keys -------------------------------------------------------------------------------------------

    def set_statistics(self, update: Mapping[str, Any]) -> None:
        self._replace("statistics", "snapshot-id", update["statistics"])

    def remove_statistics(self, update: Mapping[str, Any]) -> None:
        self._without("statistics", "snapshot-id", update["snapshot-id"])

    def set_partition_statistics(self, update: Mapping[str, Any]) -> None:
        self._replace("partition-statistics", "snapshot-id", update["partition-statistics"])

    def remove_partition_statistics(self, update: Mapping[str, Any]) -> None:
        self._without("partition-statistics", "snapshot-id", update["snapshot-id"])

    def add_encryption_key(self, update: Mapping[str, Any]) -> None:
        if all(one["key-id"] != update["encryption-key"]["key-id"] for one in self.found.get("encryption-keys") or []):
            self._replace("encryption-keys", "key-id", update["encryption-key"])

    def remove_encryption_key(self, update: Mapping[str, Any]) -> None:
        self._without("encryption-keys", "key-id", update["key-id"])

    def _replace(self, key: str, id_key: str, given: Mapping[str, Any]) -> None:
        others = [one for one in self.found.get(key) or [] if one[id_key] != given[id_key]]
        self.put(key, [*others, dict(given)])

    def _without(self, key: str, id_key: str, gone: Any) -> None:
        if self.found.get(key):
            self.put(key, [one for one in self.found[key] if one[id_key] != gone])

    # ---- the end ----------------------------------------------------------------------------------------------------

    def finish(self, before: Mapping[str, Any] | None, previous_file: str | None) -> Json:
        """The JSON of the new file. Refuses what the updates left incomplete."""
        self.action = "commit"
        if self.found["format-version"] > 1:
            self.found.setdefault("table-uuid", str(uuid.uuid4()))
        for key in ("location", "current-schema-id", "default-spec-id", "last-column-id"):
            if self.found.get(key) is None:
                self.refuse(f"the table has no {key}")
        schema = _listed(self.found["schemas"], "schema-id", self.found["current-schema-id"])
        for key, id_key, current in (
            ("partition-specs", "spec-id", self.found["default-spec-id"]),
            ("sort-orders", "order-id", self.found["default-sort-order-id"]),
        ):
            check_sources(schema, _listed(self.found[key], id_key, current), self.last_added.get(key) == current)
        self._correct_log()
        ends = [entry["timestamp-ms"] for entry in self.found["snapshot-log"][-1:]]
        earlier = 0 if before is None else before["last-updated-ms"]
        self.found["last-updated-ms"] = max([self.now_ms, earlier, *ends, *self.added_snapshots.values()])
        if previous_file is not None:
            self._log_metadata({"timestamp-ms": earlier, "metadata-file": previous_file})
        return stored(self.found)

    def _correct_log(self) -> None:
        """Leave out of the snapshot log what was never current for readers, and all that is before a gap."""
        current = self.found["current-snapshot-id"]
        kept: list[Json] = []
        listed = {one["snapshot-id"] for one in self.found["snapshots"]}
        for entry in self.found["snapshot-log"]:
            snapshot_id = entry["snapshot-id"]
            if snapshot_id not in listed and self.has_removed_snapshots:
                kept = []
            elif snapshot_id not in self.added_snapshots or snapshot_id == current:
                kept.append(entry)
        self.found["snapshot-log"] = kept

    def _log_metadata(self, entry: Json) -> None:
        most = max(1, PREVIOUS_VERSIONS.of(self.found["properties"]))
        self.found["metadata-log"] = [*self.found["metadata-log"], entry][-most:]


def _listed(listed: Iterable[Json], id_key: str, wanted: int) -> Json:
    return next(one for one in listed if one[id_key] == wanted)


def _schema_key(schema: Json) -> Any:
    return schema["fields"], sorted(schema.get("identifier-field-ids") or [])


def _fields_key(order: Json) -> Any:
    return [{k: v for k, v in field.items() if v is not None} for field in order["fields"]]


def _spec_key(spec: Json) -> Any:
    return [_field_key(field) for field in spec["fields"]]


def _field_key(field: Mapping[str, Any]) -> tuple[Any, ...]:
    """What makes two partition fields equivalent: their source columns, transform and name."""
    return tuple(field.get("source-ids") or [field.get("source-id")]), field["transform"], field["name"]


_ACTIONS: Mapping[str, Callable[[_Builder, Mapping[str, Any]], None]] = {
    name.replace("_", "-"): getattr(_Builder, name)
    for name in (
        "assign_uuid",
        "upgrade_format_version",
        "set_location",
        "set_properties",
        "remove_properties",
        "add_schema",
        "set_current_schema",
        "add_spec",
        "set_default_spec",
        "add_sort_order",
        "set_default_sort_order",
        "remove_partition_specs",
        "remove_schemas",
        "add_snapshot",
        "set_snapshot_ref",
        "remove_snapshot_ref",
        "remove_snapshots",
        "set_statistics",
        "remove_statistics",
        "set_partition_statistics",
        "remove_partition_statistics",
        "add_encryption_key",
        "remove_encryption_key",
    )
}
