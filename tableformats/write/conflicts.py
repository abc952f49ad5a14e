"""Whether what another writer committed is in conflict with a change."""

from __future__ import annotations

from ..plugin.writing.table_change import CommittedChange, ConflictCheck, TableChange

__all__ = ["conflict_of"]


def conflict_of(change: TableChange, winner: CommittedChange, checks: frozenset[ConflictCheck]) -> str | None:
    """What of ``winner`` is in conflict with ``change``; None: nothing."""
    return None
