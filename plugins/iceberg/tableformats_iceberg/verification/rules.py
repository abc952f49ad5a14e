"""The names of the rules and where the specification puts them. Every violation is made by :func:`violation`."""

from __future__ import annotations

from collections.abc import Mapping

from tableformats.plugin import Violation

__all__ = ["RULES", "violation"]

_DOCUMENT = "Iceberg Table Spec"

RULES: Mapping[str, str] = {
    # table metadata
    "missing-field": "Table Metadata Fields",
    "extra-field": "Writer requirements",
    "duplicate-id": "Table Metadata Fields",
    "schema": "Schemas and Data Types",
    "column-id": "Table Metadata Fields",
    "identifier-field": "Identifier Field IDs",
    "partition-spec": "Partitioning",
    "sort-order": "Sorting",
    "snapshot": "Snapshots",
    "snapshot-sequence": "Sequence Numbers",
    "current-snapshot": "Table Metadata Fields",
    "snapshot-log": "Table Metadata Fields",
    "metadata-log": "Table Metadata Fields",
    "timestamp": "Table Metadata Fields",
    "reference": "Snapshot References",
    "row-lineage": "Row Lineage",
    # snapshots and their manifest lists
    "operation": "Snapshots",
    "summary": "Optional Snapshot Summary Fields",
    "damaged-file": "Manifests",
    "manifest-list": "Manifest Lists",
    "manifest-counts": "Manifest Lists",
    "manifest-sequence": "Manifest Lists",
    "partition-summary": "Manifest Lists",
    "duplicate-file": "Scan Planning",
    "status": "Manifest Entry Fields",
    # manifests
    "manifest-header": "Manifests",
    "sequence-number": "Sequence Number Inheritance",
    "data-file": "Data File Fields",
    "partition-tuple": "Data File Fields",
    "metrics": "Field-level Metrics and Statistics",
    "delete-file": "Delete Formats",
    "deletion-vector": "Deletion Vectors",
    # what the manifests name
    "file-missing": "Table Metadata Fields",
    "file-size": "Data File Fields",
    "delete-contents": "Position Delete Files",
}
"""Rule to section of the specification."""
_SOURCES = {rule: f'{_DOCUMENT}, "{section}"' for rule, section in RULES.items()}


def violation(rule: str, what: str, path: str | None = None, version: int | None = None) -> Violation:
    """A violation of one of :data:`RULES`."""
    return Violation(rule, what, _SOURCES[rule], path, version)
