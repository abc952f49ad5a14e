"""What of a winner is a conflict, by the isolation level of a change.

Iceberg validates from the snapshot that was read, along the ancestors of the branch. An append that reads nothing can
always be applied again. Under ``serializable``, files that were added in the meantime must not hold rows that match
what was read; under ``snapshot`` they may. Files that are read or removed must be as they were under both.
Source: Iceberg documentation, "Configuration", ``write.delete.isolation-level``, ``write.update.isolation-level``,
``write.merge.isolation-level``; spec, "Commit Conflict Resolution and Retry".
"""

from __future__ import annotations

from collections.abc import Mapping

from tableformats.plugin import ConflictCheck, TableChange, UnsupportedFeatureError

from ..properties import Choice

__all__ = ["LEVELS", "check_levels", "checks_of"]

LEVELS: Mapping[str, frozenset[ConflictCheck]] = {
    "serializable": frozenset({ConflictCheck.TOUCHED, ConflictCheck.ADDED}),
    "snapshot": frozenset({ConflictCheck.TOUCHED}),
}
_PROPERTIES = {"delete": "write.delete.isolation-level", "update": "write.update.isolation-level"}
_DEFAULT_PROPERTY = "write.merge.isolation-level"
_DEFAULT = "serializable"


def check_levels(properties: Mapping[str, str]) -> None:
    """Refuse an unknown level that a table names. Raises UnsupportedFeatureError."""
    for name in (*_PROPERTIES.values(), _DEFAULT_PROPERTY):
        Choice(name, _DEFAULT, {level: level for level in LEVELS}).of(properties)


def checks_of(change: TableChange, properties: Mapping[str, str]) -> frozenset[ConflictCheck]:
    """The checks for a change to a table with these properties.

    Raises ValueError where the change asks for an unknown level, and UnsupportedFeatureError where a property does. A
    change of the metadata may correct the property.
    """
    name = _PROPERTIES.get(change.operation, _DEFAULT_PROPERTY)
    asked = change.isolation or properties.get(name, _DEFAULT)
    if asked.lower() not in LEVELS:
        message = f"isolation is one of {', '.join(LEVELS)}, not {asked[:50]!r}"
        if change.isolation:
            raise ValueError(message)
        if change.metadata is not None:
            return LEVELS[_DEFAULT]
        raise UnsupportedFeatureError(message, field=name, hint="Correct the property")
    if change.is_blind_append:
        return frozenset()
    return LEVELS["snapshot" if not change.data_change else asked.lower()]
