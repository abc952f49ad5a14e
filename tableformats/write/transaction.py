"""One commit of a format, with what the core knows about commits: idempotence, tries, conflicts, metrics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..errors import CommitConflictError
from ..plugin.writing.table_change import CommittedChange, TableChange
from ..plugin.writing.transaction import Commit, FormatTransaction
from .commit_loop import CommitOptions, FindConflict, commit_change, commit_of, errors_say_nothing_done
from .conflicts import ConflictFinder

__all__ = [
    "AlreadyCommittedError",
    "already_committed",
    "check_application",
    "commit",
    "conflict_finder",
    "nothing_to_commit",
    "unchanged",
]


class AlreadyCommittedError(CommitConflictError):
    """Another writer, or an earlier try, committed this very transaction of an application. Nothing was committed."""


def commit(transaction: FormatTransaction, change: TableChange, options: CommitOptions, **metrics: int) -> Commit:
    """Commit ``change``, if there is anything in it.

    Parameters
    ----------
    metrics : int
        What the verb counted.

    Raises
    ------
    AlreadyCommittedError
        A winner has the application's transaction, or a later one.
    CommitConflictError, CommitUnknownError, UnsupportedFeatureError
        As :func:`.commit_loop.commit_change`.
    """
    if not change:
        return nothing_to_commit(transaction, change, metrics)
    with errors_say_nothing_done():
        finder = conflict_finder(transaction, change)
    committed, attempts = commit_change(transaction, change, options, finder)
    return commit_of(transaction, committed, attempts, **metrics)


def conflict_finder(transaction: FormatTransaction, change: TableChange) -> FindConflict:
    """What says which winner is in conflict with ``change``. It raises AlreadyCommittedError as :func:`commit` does."""
    finder = ConflictFinder(change, transaction.snapshot, transaction.conflict_checks(change))

    def find_conflict(winner: CommittedChange) -> str | None:
        if change.application is not None:
            name, number = change.application
            if winner.applications.get(name, number - 1) >= number:
                raise AlreadyCommittedError(f"transaction {number} of {name!r} is in version {winner.version}")
        return finder(winner)

    return find_conflict


def nothing_to_commit(transaction: FormatTransaction, change: TableChange, metrics: Mapping[str, int]) -> Commit:
    """What a transaction gives whose change is empty, with what its verbs counted."""
    return replace(commit_of(transaction, change, 0), metrics=metrics)


def check_application(application: object) -> tuple[str, int] | None:
    """``application`` as (name, number). Raises TypeError for what is none."""
    if application is None:
        return None
    if isinstance(application, (tuple, list)) and len(application) == 2:
        name, number = application[0], application[1]
        if isinstance(name, str) and name and isinstance(number, int) and not isinstance(number, bool):
            return name, number
    raise TypeError(f"application is (name, number), not {application!r}")


def already_committed(transaction: FormatTransaction, application: tuple[str, int] | None) -> bool:
    """Whether the table has this transaction of an application, or a later one."""
    if application is None:
        return False
    newest = transaction.application_version(application[0])
    return newest is not None and newest >= application[1]


def unchanged(transaction: FormatTransaction, change: TableChange) -> Commit:
    """What a transaction gives that commits nothing."""
    return Commit(transaction.version, transaction.operation_name(change), attempts=0)
