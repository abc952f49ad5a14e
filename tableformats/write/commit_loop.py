"""Commit a change: try, and after a lost race look what the winners did and try again upon their version.

Nothing here deletes data files. Whoever wrote them does so after an error whose ``committed`` is False, which says that
certainly nothing was committed. After an unknown outcome they are kept, because the commit that names them may be
there.
"""

from __future__ import annotations

import datetime as dt
import random
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ..dataclass import dataclass
from ..errors import CommitConflictError, CommitUnknownError, StoreError, StorePermissionError, TableFormatsError
from ..io.stores.base import PutOutcome
from ..plugin.writing.table_change import CommittedChange, TableChange
from ..plugin.writing.transaction import Commit, FormatTransaction

__all__ = [
    "CommitOptions",
    "FindConflict",
    "commit_change",
    "commit_of",
    "errors_say_nothing_done",
    "keep_up",
    "moved_change",
    "race",
]

FindConflict = Callable[[CommittedChange], "str | None"]
"""Says what of a winner is in conflict with the change; None: nothing."""


@dataclass(frozen=True)
class CommitOptions:
    """How long a commit is tried.

    Attributes
    ----------
    tries : int
        The most tries.
    timeout : float
        Seconds. No try is begun after this time.
    first_wait, longest_wait : float
        Seconds. Before each further try a random time up to twice the last limit is waited.
    """

    tries: int = 100
    timeout: float = 120.0
    first_wait: float = 0.005
    longest_wait: float = 1.0

    def __post_init__(self) -> None:
        if isinstance(self.tries, bool) or not isinstance(self.tries, int) or self.tries < 1:
            raise ValueError(f"tries must be a number from 1 on, not {self.tries!r}")
        for name in ("timeout", "first_wait", "longest_wait"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not value >= 0:
                raise ValueError(f"{name} must be a number of seconds, not {value!r}")


def commit_change(
    transaction: FormatTransaction, change: TableChange, options: CommitOptions, find_conflict: FindConflict
) -> tuple[TableChange, int]:
    """Commit a change.

    Returns
    -------
    change : TableChange
        As it was committed: what it became upon the last version.
    attempts : int

    Raises
    ------
    CommitConflictError
        Another writer changed what the change depends on, or won every race within the options. Nothing was committed.
    CommitUnknownError
        Nobody can say whether the commit landed.
    TableFormatsError
        All others: nothing was committed, because the store, the catalog or the table's metadata failed before the
        commit was tried or after it had lost; or a winner enabled a feature that is not honoured.
    """
    with errors_say_nothing_done():
        return _tried(transaction, change, options, find_conflict)


@contextmanager
def errors_say_nothing_done() -> Iterator[None]:
    """A block in which nothing was committed if it ends in an error, but in CommitUnknownError: errors say so.

    An error of the local disk becomes a StoreError.
    """
    try:
        yield
    except CommitUnknownError:
        raise
    except TableFormatsError as error:
        error.committed = False
        raise
    except OSError as error:
        kind = StorePermissionError if isinstance(error, PermissionError) else StoreError
        message = f"the file system failed: {error.strerror or error}"
        path = error.filename if isinstance(error.filename, str) else None
        fault = kind(message, path=path, hint="Mend that, and run the operation again")
        fault.errno, fault.strerror, fault.filename = error.errno, error.strerror, error.filename
        fault.committed = False
        raise fault from error


def _tried(
    transaction: FormatTransaction, change: TableChange, options: CommitOptions, find_conflict: FindConflict
) -> tuple[TableChange, int]:
    def once(attempt: int) -> PutOutcome:
        nonlocal change
        with transaction.turn(change) as is_overtaken:
            if is_overtaken or attempt > 1:
                change = moved_change(transaction, change, find_conflict)
            outcome = transaction.try_commit(change)
        if outcome is PutOutcome.UNKNOWN:
            raise transaction.unknown_outcome()
        return outcome

    attempts = race(once, options, "the next version")
    keep_up(transaction)
    return change, attempts


def race(once: Callable[[int], PutOutcome], options: CommitOptions, prize: str) -> int:
    """Call ``once`` with the number of the try, from 1, until it has WON, with pauses between. Returns that number.

    Raises CommitConflictError if it has LOST as often, or as long, as the options allow.
    """
    end = time.monotonic() + options.timeout
    wait, attempt = options.first_wait, 1
    while once(attempt) is not PutOutcome.WON:
        if attempt == options.tries or time.monotonic() >= end:
            raise CommitConflictError(
                f"other writers won {attempt} races for {prize}",
                hint="Nothing was committed: try again, or raise the options tries and timeout",
            )
        time.sleep(random.uniform(0, wait))
        wait = min(2 * wait, options.longest_wait)
        attempt += 1
    return attempt


def moved_change(transaction: FormatTransaction, change: TableChange, find_conflict: FindConflict) -> TableChange:
    """The change upon the newest version. Raises CommitConflictError, UnsupportedFeatureError."""
    for winner in transaction.winners():
        reason = find_conflict(winner)
        if reason is not None:
            raise CommitConflictError(f"version {winner.version} of another writer is in conflict: {reason}")
    return transaction.rebase(change)


def commit_of(transaction: FormatTransaction, change: TableChange, attempts: int, **more: int) -> Commit:
    """What is said of a change that was committed, or of one without anything to commit (0 attempts)."""
    metrics = {**_totals("added", change), **_totals("removed", change), **more}
    now = dt.datetime.now(dt.timezone.utc) if attempts else None
    return Commit(transaction.version, transaction.operation_name(change), metrics, attempts, now)


def keep_up(transaction: FormatTransaction) -> None:
    """Upkeep after a commit that was made; its errors are warnings."""
    try:
        transaction.after_commit()
    except Exception as error:  # the commit stands, whatever happens to the upkeep of the log
        warnings.warn(
            f"version {transaction.version} is committed, but upkeep of the metadata failed: {error}",
            RuntimeWarning,
            stacklevel=2,
        )


def _totals(side: str, change: TableChange) -> dict[str, int]:
    from ..columnar import compute as pc

    files = getattr(change, side)
    if files is None:
        return {}
    rows = files.column("record_count") if side == "added" else change.removed_counts
    found = {f"{side}_files": files.num_rows}
    if rows is not None and not rows.null_count:
        found[f"{side}_rows"] = pc.sum(rows, min_count=0).as_py()
    found[f"{side}_bytes"] = pc.sum(files.column("size_bytes"), min_count=0).as_py()
    return found
