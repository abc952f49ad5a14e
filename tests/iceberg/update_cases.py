"""Every update of table metadata, with each of its values damaged in turn, and what becomes of the table.

``python -m tests.iceberg.update_cases`` writes it to ``update_outcomes.json``: read what has changed there.
"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

from tableformats_iceberg.write.metadata_updates import apply_updates
from tableformats_iceberg.write.requirements import failed_requirement

from tableformats.errors import TableFormatsError
from tests.iceberg.metadata_cases import DOCUMENTS, FIELDS, FIRST, SECOND, column
from tests.support import leaves

PINNED = Path(__file__).with_name("update_outcomes.json")
NEW = 33
LATER = SECOND + 1000
SNAPSHOT = {
    "snapshot-id": NEW,
    "parent-snapshot-id": 22,
    "sequence-number": 3,
    "timestamp-ms": LATER,
    "manifest-list": "/t/metadata/snap-33.avro",
    "summary": {"operation": "append"},
    "schema-id": 1,
    "first-row-id": 5,
    "added-rows": 2,
}
SCHEMA = {"type": "struct", "fields": [*FIELDS[:3], column(13, "new", "string")], "identifier-field-ids": [1]}
SPEC = {"fields": [{"source-id": 3, "name": "price_trunc", "transform": "truncate[10]"}]}
ORDER = {"fields": [{"source-id": 2, "transform": "day", "direction": "desc", "null-order": "nulls-last"}]}
STATISTICS = {"snapshot-id": 22, "statistics-path": "/t/stats", "file-size-in-bytes": 9, "blob-metadata": []}
ALONE: list[dict[str, Any]] = [
    {"action": "assign-uuid", "uuid": "f79c3e09-677c-4bbd-a479-3f349cb785e7"},
    {"action": "upgrade-format-version", "format-version": 3},
    {"action": "set-location", "location": "/other"},
    {"action": "set-properties", "updates": {"owner": "you", "write.metadata.previous-versions-max": "1"}},
    {"action": "remove-properties", "removals": ["owner"]},
    {"action": "set-current-schema", "schema-id": 0},
    {"action": "set-default-spec", "spec-id": 0},
    {"action": "set-default-sort-order", "sort-order-id": 0},
    {"action": "remove-partition-specs", "spec-ids": [0]},
    {"action": "remove-schemas", "schema-ids": [0]},
    {"action": "set-snapshot-ref", "ref-name": "main", "type": "branch", "snapshot-id": 11, "max-ref-age-ms": 5},
    {"action": "remove-snapshot-ref", "ref-name": "main"},
    {"action": "remove-snapshots", "snapshot-ids": [11]},
    {"action": "set-statistics", "statistics": STATISTICS},
    {"action": "remove-statistics", "snapshot-id": 22},
    {"action": "set-partition-statistics", "partition-statistics": STATISTICS},
    {"action": "add-encryption-key", "encryption-key": {"key-id": "k", "encrypted-key-metadata": "YQ=="}},
]
TOGETHER: list[list[dict[str, Any]]] = [
    [{"action": "add-schema", "schema": SCHEMA}, {"action": "set-current-schema", "schema-id": -1}],
    [{"action": "add-spec", "spec": SPEC}, {"action": "set-default-spec", "spec-id": -1}],
    [{"action": "add-sort-order", "sort-order": ORDER}, {"action": "set-default-sort-order", "sort-order-id": -1}],
    [
        {"action": "add-snapshot", "snapshot": SNAPSHOT},
        {"action": "set-snapshot-ref", "ref-name": "main", "type": "branch", "snapshot-id": NEW},
    ],
]
DAMAGES = {"removed", "null", "0", "-1", "2**31", "text", "[]", "+1", "longer", "without the last", "twice"}
REQUIREMENTS: list[dict[str, Any]] = [
    {"type": "assert-create"},
    {"type": "assert-table-uuid", "uuid": "f79c3e09-677c-4bbd-a479-3f349cb785e7"},
    {"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": 22},
    {"type": "assert-last-assigned-field-id", "last-assigned-field-id": 12},
    {"type": "assert-current-schema-id", "current-schema-id": 1},
    {"type": "assert-last-assigned-partition-id", "last-assigned-partition-id": 1001},
    {"type": "assert-default-spec-id", "default-spec-id": 1},
    {"type": "assert-default-sort-order-id", "default-sort-order-id": 1},
]


def outcome_of(version: str, updates: Any, now_ms: int = LATER) -> str:
    """A digest of the metadata after the updates, or the error."""
    if not all(isinstance(one, dict) for one in updates):
        return "no update"
    before = copy.deepcopy(DOCUMENTS[version])
    try:
        after = apply_updates(before, updates, now_ms=now_ms, previous_file="/t/metadata/v2.metadata.json")
    except TableFormatsError as error:
        return f"{type(error).__name__}: {str(error).partition('). ')[0]})"
    assert before == DOCUMENTS[version], "the metadata before are left as they are"
    if after is before:
        return "nothing changes"
    if "table-uuid" not in before:
        after = {**after, "table-uuid": None}
    return leaves.digest(sorted(after.items()))


def of_updates(version: str) -> dict[str, dict[str, str]]:
    """{path in the updates: {outcome: damages}}."""
    found = {}
    for updates in [*([one] for one in ALONE), *TOGETHER]:
        name = updates[0]["action"]
        found[name] = {
            outcome_of(version, updates): "sound",
            outcome_of(version, updates, FIRST): "with a clock that was set back",
        }
        given = leaves.outcomes(updates, lambda damaged: outcome_of(version, damaged), DAMAGES)
        found.update({f"{name} {path}": one for path, one in given.items() if not path.endswith(".action")})
    return found


def of_requirements() -> dict[str, dict[str, str]]:
    def outcome(damaged: Any) -> str:
        try:
            return " | ".join(str(failed_requirement(one, [damaged])) for one in (DOCUMENTS["version 2"], None))
        except TableFormatsError as error:
            return f"{type(error).__name__}: {error}"

    found = {}
    for requirement in REQUIREMENTS:
        given = leaves.outcomes(requirement, outcome, DAMAGES - {"removed"})
        found[requirement["type"]] = {outcome(requirement): "sound"}
        found.update({f"{requirement['type']} {path}": one for path, one in given.items()})
    return found


def main() -> None:
    found = {version: of_updates(version) for version in DOCUMENTS}
    leaves.write(PINNED, {**found, "requirements": of_requirements()})


if __name__ == "__main__":
    main()
