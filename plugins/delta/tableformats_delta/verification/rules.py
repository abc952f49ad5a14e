"""The names of the rules and where the protocol puts them. Every violation is made by :func:`violation`."""

from __future__ import annotations

from collections.abc import Mapping

from tableformats.plugin import Violation

__all__ = ["RULES", "violation"]

_DOCUMENT = "Delta PROTOCOL.md"

RULES: Mapping[str, str] = {
    # files of the log
    "damaged-file": "Delta Log Entries",
    "empty-commit": "Delta Log Entries",
    "version-gap": "Delta Log Entries",
    "one-action-a-line": "Delta Log Entries",
    "no-protocol": "Action Reconciliation",
    "no-metadata": "Change Metadata",
    "checkpoint-contents": "Checkpoints",
    "checkpoint-state": "Checkpoints",
    "sidecar": "Sidecar File Information",
    "dangling-hint": "Last Checkpoint File",
    "hint-checksum": "JSON checksum",
    "compaction-state": "Log Compaction Files",
    "checksum-file": "Version Checksum File",
    # actions of one commit
    "known-place": "Action Reconciliation",
    "missing-field": "Actions",
    "missing-data-change": "Add File and Remove File",
    "change-data-flag": "Add CDC File",
    "duplicate-action": "Add File and Remove File",
    "add-and-remove": "Add File and Remove File",
    "two-metadata": "Change Metadata",
    "two-protocols": "Protocol Evolution",
    "two-transactions": "Transaction Identifiers",
    "two-domains": "Domain Metadata",
    "schema": "Schema Serialization Format",
    "path": "Add File and Remove File",
    # protocol
    "feature-lists": "Protocol Evolution",
    "reader-feature-for-writers": "Table Features",
    # against the version before
    "remove-of-unknown-file": "Action Reconciliation",
    "append-only": "Append-only Tables",
    "in-commit-timestamp": "In-Commit Timestamps",
    "row-ids": "Row Tracking",
    # files
    "partition-keys": "Partition Value Serialization",
    "partition-value": "Partition Value Serialization",
    "file-missing": "Data Files",
    "file-size": "Add File and Remove File",
    "statistics": "Per-file Statistics",
    "deletion-vector": "Deletion Vectors",
}
"""Rule to section of the protocol."""
_SOURCES = {rule: f'{_DOCUMENT}, "{section}"' for rule, section in RULES.items()}


def violation(rule: str, what: str, path: str | None = None, version: int | None = None) -> Violation:
    """A violation of one of :data:`RULES`."""
    return Violation(rule, what, _SOURCES[rule], path, version)
