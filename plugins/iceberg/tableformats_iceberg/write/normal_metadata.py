"""One form for the JSON of all table metadata: what version 1 may leave out, or stores in another place, is filled in.

Source: Iceberg spec, "Table Metadata Fields", "Partition Evolution" (field ids of version 1), appendix C and E.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["FIRST_PARTITION_ID", "MAIN", "UNSORTED", "normalized", "stored"]

FIRST_PARTITION_ID = 1000
MAIN = "main"
UNSORTED: Mapping[str, Any] = {"order-id": 0, "fields": []}


def normalized(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """A copy with every list, id and reference that updates work on. ``current-snapshot-id`` is None where none is.

    Only the top level and what is filled in are new objects.
    """
    found = dict(metadata)
    _fill_schemas(found)
    _fill_specs(found)
    found["sort-orders"] = list(found.get("sort-orders") or [dict(UNSORTED)])
    found.setdefault("default-sort-order-id", 0)
    found["properties"] = dict(found.get("properties") or {})
    found["snapshots"] = list(found.get("snapshots") or [])
    found["snapshot-log"] = list(found.get("snapshot-log") or [])
    found["metadata-log"] = list(found.get("metadata-log") or [])
    current = found.get("current-snapshot-id")
    found["current-snapshot-id"] = None if current == -1 else current
    found["refs"] = dict(found.get("refs") or {})
    if found["current-snapshot-id"] is not None:
        found["refs"].setdefault(MAIN, {"snapshot-id": found["current-snapshot-id"], "type": "branch"})
    found["last-sequence-number"] = found.get("last-sequence-number") or 0
    return found


def stored(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of normalized metadata as its format version stores it: with the fields that it must have, and no others.

    Fields that no version knows are kept.
    """
    found = dict(metadata)
    version = found["format-version"]
    if version == 1:
        found.pop("last-sequence-number", None)
        schema = next(s for s in found["schemas"] if s["schema-id"] == found["current-schema-id"])
        spec = next(s for s in found["partition-specs"] if s["spec-id"] == found["default-spec-id"])
        found["schema"], found["partition-spec"] = schema, spec["fields"]
    else:
        found.pop("schema", None)
        found.pop("partition-spec", None)
    if version < 3:
        found.pop("next-row-id", None)
        if found["current-snapshot-id"] is None:
            found["current-snapshot-id"] = -1  # which the reference implementation demanded for long
    for key in ("statistics", "partition-statistics", "encryption-keys"):
        if not found.get(key):
            found.pop(key, None)
    return found


def _fill_schemas(found: dict[str, Any]) -> None:
    schemas = [{**s, "schema-id": s.get("schema-id") or 0} for s in found.get("schemas") or []]
    current = found.get("current-schema-id")
    if "schema" in found and (not schemas or current is None):
        own = {**found["schema"], "schema-id": found["schema"].get("schema-id") or 0}
        current = own["schema-id"]
        if all(s["schema-id"] != current for s in schemas):
            schemas.append(own)
    found["schemas"], found["current-schema-id"] = schemas, current


def _fill_specs(found: dict[str, Any]) -> None:
    specs = [{**s, "fields": _with_ids(s["fields"])} for s in found.get("partition-specs") or []]
    if not specs and "partition-spec" in found:
        specs = [{"spec-id": 0, "fields": _with_ids(found["partition-spec"])}]
    found["partition-specs"] = specs
    if found.get("default-spec-id") is None:
        found["default-spec-id"] = max((s["spec-id"] for s in specs), default=None)
    if found.get("last-partition-id") is None:
        ids = [f["field-id"] for s in specs for f in s["fields"]]
        found["last-partition-id"] = max(ids, default=FIRST_PARTITION_ID - 1)


def _with_ids(fields: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"field-id": FIRST_PARTITION_ID + index, **f} for index, f in enumerate(fields)]
