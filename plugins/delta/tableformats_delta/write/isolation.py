"""What of a winner is a conflict, by the isolation level of a table.

Under Serializable, the versions of the log are the order in which commits seem to run. Under WriteSerializable, the
default, a blind append may seem to run after a commit that read the table before it, although its version is smaller.
Source: Delta documentation, "Concurrency control"; delta-spark, ``ConflictChecker``.
"""

from __future__ import annotations

from collections.abc import Mapping

from tableformats.plugin import ConflictCheck, TableChange, UnsupportedFeatureError

__all__ = ["LEVELS", "checks_of"]

_ALWAYS = frozenset({ConflictCheck.TOUCHED, ConflictCheck.METADATA})
LEVELS: Mapping[str, frozenset[ConflictCheck]] = {
    "Serializable": _ALWAYS | {ConflictCheck.ADDED},
    "WriteSerializable": _ALWAYS | {ConflictCheck.ADDED_AFTER_READING},
    # The rows that were read may be joined by others, but none of them may be changed by two commits.
    "SnapshotIsolation": _ALWAYS,
}
"""The checks of each level. A change that keeps all rows as they are (a rewrite) needs no more than the last one."""
_DEFAULT = "WriteSerializable"
_PROPERTY = "delta.isolationLevel"


def checks_of(change: TableChange, properties: Mapping[str, str]) -> frozenset[ConflictCheck]:
    """The checks for a change to a table with these properties.

    Raises ValueError where the change asks for an unknown level, and UnsupportedFeatureError where the property does.
    """
    found = LEVELS[level_of(change, properties)]
    # Features that a winner added are honoured or refused after it; two writers must not both change the protocol.
    return found if change.metadata is None else found | {ConflictCheck.PROTOCOL}


def level_of(change: TableChange, properties: Mapping[str, str]) -> str:
    """The isolation level of a change. Raises as :func:`checks_of`."""
    asked = change.isolation or properties.get(_PROPERTY) or _DEFAULT
    known = {name.lower(): name for name in LEVELS} | {"snapshot": "SnapshotIsolation"}
    if asked.lower() not in known:
        message = f"isolation is one of {', '.join(LEVELS)}, not {asked[:50]!r}"
        if change.isolation:
            raise ValueError(message)
        if change.metadata is not None:  # which may correct the property
            return "Serializable"
        raise UnsupportedFeatureError(message, field=_PROPERTY, hint="Correct the property")
    return "SnapshotIsolation" if not change.data_change else known[asked.lower()]
