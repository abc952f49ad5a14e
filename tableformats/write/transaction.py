"""One commit of a format, with what the core knows about commits: tries, conflicts, metrics."""

from __future__ import annotations

from ..plugin.writing.table_change import CommittedChange, TableChange
from ..plugin.writing.transaction import Commit, FormatTransaction
from .commit_loop import CommitOptions, commit_change, commit_of
from .conflicts import conflict_of

__all__ = ["commit"]


def commit(transaction: FormatTransaction, change: TableChange, options: CommitOptions) -> Commit:
    """Commit ``change``, if there is anything in it. Raises as :func:`.commit_loop.commit_change` does."""
    if not change:
        return commit_of(transaction, change, 0)
    checks = transaction.conflict_checks(change)

    def find_conflict(change: TableChange, winner: CommittedChange) -> str | None:
        return conflict_of(change, winner, checks)

    change, attempts = commit_change(transaction, change, options, find_conflict)
    return commit_of(transaction, change, attempts)
