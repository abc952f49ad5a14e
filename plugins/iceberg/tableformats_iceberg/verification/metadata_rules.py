"""The rules for one metadata file. What a reader refuses outright is not looked at again.

Source: Iceberg spec, "Table Metadata Fields", "Snapshots", "Snapshot References", "Partitioning", "Sorting".
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from tableformats.plugin import Field, StructType, Violation

from .rules import violation

if TYPE_CHECKING:
    from ..metadata.table_metadata import TableMetadata

__all__ = ["metadata_violations", "sort_orders"]

Found = Iterator[tuple[str, str]]
"""Rule, and what is wrong."""

_REQUIRED: Mapping[str, tuple[int, ...]] = {
    "table-uuid": (2, 3),
    "location": (1, 2, 3),
    "last-sequence-number": (2, 3),
    "last-updated-ms": (1, 2, 3),
    "last-column-id": (1, 2, 3),
    "schema": (1,),
    "schemas": (2, 3),
    "current-schema-id": (2, 3),
    "partition-spec": (1,),
    "partition-specs": (2, 3),
    "default-spec-id": (2, 3),
    "last-partition-id": (2, 3),
    "sort-orders": (2, 3),
    "default-sort-order-id": (2, 3),
    "next-row-id": (3,),
}
_OMITTED = {"schema": 2, "partition-spec": 2}
"""Fields, and the version from which on they are omitted."""
_SINCE = {"last-sequence-number": 2, "next-row-id": 3, "encryption-keys": 3}
_SNAPSHOT = {
    "snapshot-id": (1, 2, 3),
    "timestamp-ms": (1, 2, 3),
    "sequence-number": (2, 3),
    "manifest-list": (2, 3),
    "summary": (2, 3),
}
_OPERATIONS = ("append", "replace", "overwrite", "delete")
_FIRST_RESERVED_ID = 2147483447
_TYPES_OF_VERSION_3 = frozenset({"variant", "geometry", "geography", "unknown", "timestamp_ns", "timestamp_ntz_ns"})
_CLOCK_SKEW_MS = 60_000
"""Clocks of writers differ; the reference implementation allows as much."""


def metadata_violations(raw: Mapping[str, Any], metadata: TableMetadata) -> Iterator[Violation]:
    """What breaks a rule in a metadata file.

    Parameters
    ----------
    raw : mapping
        Its JSON.
    metadata : TableMetadata
        What a reader takes from it.
    """
    for look in (_fields, _schemas, _specs, _orders, _snapshots, _lineage, _logs, _references):
        for rule, what in look(raw, metadata):
            yield violation(rule, what, metadata.path)


def _fields(raw: Mapping[str, Any], metadata: TableMetadata) -> Found:
    version = metadata.format_version
    for name, versions in _REQUIRED.items():
        if version in versions and raw.get(name) is None:
            yield "missing-field", f"{name} is missing"
    for name, since in _OMITTED.items():
        if version >= since and raw.get(name) is not None:
            yield "extra-field", f"{name} is not written in version {version}"
    for name, since in _SINCE.items():
        if version < since and raw.get(name):
            yield "extra-field", f"{name} is not written in version {version}"
    if "table-uuid" in raw and not _is_uuid(str(raw["table-uuid"])):
        yield "missing-field", f"table-uuid is no UUID: {str(raw['table-uuid'])[:50]!r}"
    for name, id_name in (("schemas", "schema-id"), ("partition-specs", "spec-id"), ("sort-orders", "order-id")):
        yield from _twice(name, (one.get(id_name) for one in _objects(raw, name)))
    yield from _twice("snapshots", (one.get("snapshot-id") for one in _objects(raw, "snapshots")))


def _is_uuid(text: str) -> bool:
    try:
        uuid.UUID(text)
    except ValueError:
        return False
    return True


def _twice(what: str, ids: Iterable[Any]) -> Found:
    for id, count in Counter(map(str, ids)).items():
        if count > 1:
            yield "duplicate-id", f"{what} has the id {id} {count} times"


def _objects(raw: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    found = raw.get(name)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


# ---- schemas --------------------------------------------------------------------------------------------------------


def _schemas(raw: Mapping[str, Any], metadata: TableMetadata) -> Found:
    ids: list[int] = []
    for schema_id, schema in metadata.schemas.items():
        fields = list(_all_fields(schema.fields))
        ids += [f.id for f, *_ in fields]
        for f, _, _ in fields:
            if metadata.format_version < 3 and getattr(f.type, "name", None) in _TYPES_OF_VERSION_3:
                yield "schema", f"schema {schema_id}: {f.name} has the type {f.type}, which came with version 3"
            if f.id >= _FIRST_RESERVED_ID:
                yield "schema", f"schema {schema_id}: the field id {f.id} is reserved"
    last = raw.get("last-column-id")
    if isinstance(last, int) and any(id > last for id in ids):
        yield "column-id", f"last-column-id is {last}, and a schema has the field id {max(ids)}"
    for one in _objects(raw, "schemas"):
        yield from _identifiers(one, metadata)


def _all_fields(
    fields: Iterable[Field], is_free: bool = True, is_set: bool = True
) -> Iterator[tuple[Field, bool, bool]]:
    """Each field at every depth, whether it lies in no list or map, and whether it is NOT NULL with all above."""
    for f in fields:
        is_required = is_set and f.required
        yield f, is_free, is_required
        if f.type.is_nested:
            yield from _all_fields(f.type.members, is_free and isinstance(f.type, StructType), is_required)


def _identifiers(one: Mapping[str, Any], metadata: TableMetadata) -> Found:
    schema_id = one.get("schema-id") or 0
    ids = one.get("identifier-field-ids") or []
    if not isinstance(ids, list):
        return
    fields = metadata.schemas[schema_id].fields
    found = {f.id: (f, is_free, is_set) for f, is_free, is_set in _all_fields(fields)}
    for id in ids:
        if _number(id) not in found:
            yield "identifier-field", f"schema {schema_id} has no field {id}"
            continue
        f, is_free, is_set = found[id]
        if f.type.is_nested or getattr(f.type, "name", None) in ("float", "double") or not is_free or not is_set:
            yield "identifier-field", f"schema {schema_id}: {f.name} cannot identify rows: it is optional or a {f.type}"


# ---- specs and orders -----------------------------------------------------------------------------------------------


def _specs(raw: Mapping[str, Any], metadata: TableMetadata) -> Found:
    meanings: dict[int, tuple[int, str]] = {}
    highest = 0
    for spec_id, spec in metadata.specs.items():
        names = Counter(f.name for f in spec.fields)
        for name, count in names.items():
            if count > 1:
                yield "partition-spec", f"spec {spec_id} has two fields {name!r}"
        for f in spec.fields:
            highest = max(highest, f.id)
            if f.transform.name == "void" or metadata.format_version == 1:
                continue
            meaning = (f.source_id, str(f.transform))
            if meanings.setdefault(f.id, meaning) != meaning:
                yield "partition-spec", f"spec {spec_id}: the field id {f.id} stands for another field elsewhere"
    last = raw.get("last-partition-id")
    if isinstance(last, int) and last < highest:
        yield "partition-spec", f"last-partition-id is {last}, and a spec has the field id {highest}"
    for f in metadata.specs[metadata.default_spec_id].fields:
        if f.transform.name != "void" and metadata.schema.find_id(f.source_id) is None:
            yield "partition-spec", f"{f.name!r} is computed from the column {f.source_id}, which the schema lacks"
    layouts = Counter(
        tuple((f.source_id, str(f.transform), f.name) for f in spec.fields) for spec in metadata.specs.values()
    )
    for layout, count in layouts.items():
        if count > 1:
            yield "partition-spec", f"{count} specs have the fields {[name for *_, name in layout]}"


def sort_orders(raw: Mapping[str, Any]) -> dict[int, Mapping[str, Any]]:
    """The sort orders of a metadata file by id."""
    found = ((_number(one.get("order-id")), one) for one in _objects(raw, "sort-orders"))
    return {order_id: one for order_id, one in found if order_id is not None}


def _orders(raw: Mapping[str, Any], metadata: TableMetadata) -> Found:
    orders = sort_orders(raw)
    default = raw.get("default-sort-order-id")
    if default is not None and orders and default not in orders:
        yield "sort-order", f"there is no default sort order {default}"
    for order_id, one in orders.items():
        fields = _objects(one, "fields")
        if (order_id == 0) != (not fields):
            yield "sort-order", f"order {order_id} has {len(fields)} fields; 0 is the unsorted one"
        for f in fields:
            if f.get("direction") not in ("asc", "desc") or f.get("null-order") not in ("nulls-first", "nulls-last"):
                yield "sort-order", f"order {order_id}: {f.get('direction')!r} {f.get('null-order')!r}"
            source = f.get("source-id")
            if order_id == default and isinstance(source, int) and metadata.schema.find_id(source) is None:
                yield "sort-order", f"order {order_id} sorts by the column {source}, which the schema lacks"


# ---- snapshots ------------------------------------------------------------------------------------------------------


def _snapshots(raw: Mapping[str, Any], metadata: TableMetadata) -> Found:
    version, last = metadata.format_version, raw.get("last-sequence-number")
    numbers: Counter[int] = Counter()
    for one in _objects(raw, "snapshots"):
        id, sequence = one.get("snapshot-id"), one.get("sequence-number")
        snapshot = metadata.snapshots.get(id)  # type: ignore[arg-type]
        if snapshot is None:
            continue
        is_old = not sequence  # of version 1, in which the table was made or is
        for name, versions in _SNAPSHOT.items():
            if version in versions and one.get(name) is None and not is_old:
                yield "snapshot", f"snapshot {id} has no {name}"
        if "manifests" in one and one.get("manifest-list") is not None:
            yield "snapshot", f"snapshot {id} has both manifests and a manifest-list"
        operation = snapshot.summary.get("operation")
        if operation not in _OPERATIONS and (version > 1 or snapshot.summary):
            yield "operation", f"the operation of snapshot {id} is {operation!r}"
        if snapshot.schema_id is not None and snapshot.schema_id not in metadata.schemas:
            yield "snapshot", f"snapshot {id} has the schema {snapshot.schema_id}, which is not there"
        if snapshot.timestamp_ms > metadata.last_updated_ms + _CLOCK_SKEW_MS:
            yield "timestamp", f"snapshot {id} is newer than last-updated-ms"
        if version == 1:
            continue
        if snapshot.sequence_number:
            numbers[snapshot.sequence_number] += 1
        parent = metadata.snapshots.get(snapshot.parent_id)  # type: ignore[arg-type]
        if parent is not None and parent.sequence_number >= snapshot.sequence_number > 0:
            what = f"{snapshot.sequence_number}, its parent's {parent.sequence_number}"
            yield "snapshot-sequence", f"the sequence number of snapshot {id} is {what}"
        if isinstance(last, int) and snapshot.sequence_number > last:
            yield "snapshot-sequence", f"snapshot {id} has {snapshot.sequence_number}, last-sequence-number is {last}"
    for number, count in numbers.items():
        if count > 1:
            yield "snapshot-sequence", f"{count} snapshots have the sequence number {number}"


def _lineage(raw: Mapping[str, Any], metadata: TableMetadata) -> Found:
    """Row ids of version 3. Source: Iceberg spec, "Row Lineage", "Snapshot Row IDs"."""
    following = raw.get("next-row-id")
    ends: dict[Any, int] = {}
    for one in sorted(_objects(raw, "snapshots"), key=lambda s: metadata.snapshots[s["snapshot-id"]].sequence_number):
        id, first, added = one.get("snapshot-id"), one.get("first-row-id"), one.get("added-rows")
        if metadata.format_version < 3:
            if first is not None or added is not None:
                yield "row-lineage", f"snapshot {id} has row ids, which came with version 3"
            continue
        above = [ends[parent] for parent in [one.get("parent-snapshot-id")] if parent in ends]
        if (first is None) != (added is None) or (first is None and above):
            yield "row-lineage", f"snapshot {id} lacks first-row-id or added-rows"
        start, count = _number(first), _number(added)
        if start is None or count is None:
            continue
        if start < max(above, default=0) or count < 0:
            yield "row-lineage", f"snapshot {id} has first-row-id {start}, ids are taken up to {max(above, default=0)}"
        ends[id] = start + count
        if isinstance(following, int) and ends[id] > following:
            yield "row-lineage", f"snapshot {id} takes row ids up to {ends[id]}, next-row-id is {following}"


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _logs(raw: Mapping[str, Any], metadata: TableMetadata) -> Found:
    entries = _objects(raw, "snapshot-log")
    times = [one["timestamp-ms"] for one in entries]
    for before, after in zip(times, times[1:], strict=False):
        if after < before - _CLOCK_SKEW_MS:
            yield "snapshot-log", f"the time {after} follows {before}"
    if times and times[-1] > metadata.last_updated_ms + _CLOCK_SKEW_MS:
        yield "timestamp", "the newest entry of snapshot-log is newer than last-updated-ms"
    for one in entries:
        if one.get("snapshot-id") not in metadata.snapshots:
            yield "snapshot-log", f"snapshot {one.get('snapshot-id')} is not there any more"
    if entries and metadata.current_snapshot_id is not None:
        last = entries[-1].get("snapshot-id")
        if last != metadata.current_snapshot_id:
            yield "snapshot-log", f"it ends with snapshot {last}, the current one is {metadata.current_snapshot_id}"
    files = _objects(raw, "metadata-log")
    times = [one["timestamp-ms"] for one in files]
    for before, after in zip(times, times[1:], strict=False):
        if after < before - _CLOCK_SKEW_MS:
            yield "metadata-log", f"the time {after} follows {before}"
    yield from (("metadata-log", what) for _, what in _twice("it", (one.get("metadata-file") for one in files)))


def _references(raw: Mapping[str, Any], metadata: TableMetadata) -> Found:
    if raw.get("current-snapshot-id") == -1 and metadata.format_version > 2:
        yield "current-snapshot", "-1 is not written in version 3"
    for name, ref in metadata.refs.items():
        limits = {
            "max-ref-age-ms": ref.max_reference_age_ms,
            "min-snapshots-to-keep": ref.min_snapshots_to_keep,
            "max-snapshot-age-ms": ref.max_snapshot_age_ms,
        }
        for key, number in limits.items():
            if number is not None and number <= 0:
                yield "reference", f"{key} of {name!r} is {number}"
            if number is not None and ref.type == "tag" and key != "max-ref-age-ms":
                yield "reference", f"the tag {name!r} has {key}"
    main = metadata.refs.get("main")
    if main is not None and main.type != "branch":
        yield "reference", "main is no branch"
    if main is not None and main.snapshot_id != metadata.current_snapshot_id:
        what = f"current-snapshot-id is {metadata.current_snapshot_id}, main is at {main.snapshot_id}"
        yield "current-snapshot", what
