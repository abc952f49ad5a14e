"""Commit changes of several tables of one catalog at once: all of them, or none.

The loop is that of :mod:`.commit_loop`: try, and after a lost race look at what the winners of each table did, and try
again upon their versions. After any answer but a clear yes each table says whether it holds the commit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack

from ..dataclass import dataclass
from ..errors import CommitUnknownError
from ..io.stores.base import PutOutcome
from ..plugin.writing.table_change import CommittedChange, TableChange
from ..plugin.writing.transaction import FormatTransaction, PreparedCommit
from .commit_loop import CommitOptions, errors_say_nothing_done, keep_up, moved_change, race

__all__ = ["GroupMember", "commit_group"]


@dataclass
class GroupMember:
    """One table of a commit.

    Attributes
    ----------
    name : str
        What the table is called in errors.
    transaction : FormatTransaction
    change : TableChange
        After the commit, as it was committed.
    find_conflict : callable
        What of a winner is in conflict with the change.
    """

    name: str
    transaction: FormatTransaction
    change: TableChange
    find_conflict: Callable[[CommittedChange], str | None]


def commit_group(members: Sequence[GroupMember], options: CommitOptions) -> int:
    """Commit the changes of all members, or none. Returns how often it was tried.

    Raises
    ------
    CommitConflictError
        Another writer changed what one of the changes depends on, or won every race. Nothing was committed.
    CommitUnknownError
        Nobody can say whether the commit was made; the text says what each table holds.
    UnsupportedFeatureError
        The catalog commits to one table at a time, or a format does. Nothing was committed.
    """

    def once(attempt: int) -> PutOutcome:
        with errors_say_nothing_done():
            return _try_group(members, attempt > 1)

    attempts = race(once, options, f"the next versions of {_names(members)}")
    for member in members:
        keep_up(member.transaction)
    return attempts


def _try_group(members: Sequence[GroupMember], is_again: bool) -> PutOutcome:
    """One try: WON or LOST. Raises CommitUnknownError."""
    with ExitStack() as turns:
        # All writers take their turns in one order, so that none waits for another that waits for it.
        for member in sorted(members, key=lambda one: one.name):
            is_overtaken = turns.enter_context(member.transaction.turn(member.change))
            if is_overtaken or is_again:
                member.change = moved_change(member.transaction, member.change, member.find_conflict)
        parts = [member.transaction.prepare(member.change) for member in members]
        for part in parts:
            part.store()
        return _settled(members, _sent(parts))


def _sent(parts: Sequence[PreparedCommit]) -> PutOutcome:
    return parts[0].updates.writer.commit_several([part.updates for part in parts])


def _settled(members: Sequence[GroupMember], outcome: PutOutcome) -> PutOutcome:
    """What all tables together say. One that will never hold the commit says so for all, because it is whole."""
    found = [member.transaction.settle(outcome) for member in members]
    holding = [member for member, one in zip(members, found, strict=True) if one is PutOutcome.WON]
    if len(holding) == len(members):
        return PutOutcome.WON
    if not holding and PutOutcome.LOST in found:
        return PutOutcome.LOST
    raise _unknown(members, holding)


def _unknown(members: Sequence[GroupMember], holding: Sequence[GroupMember]) -> CommitUnknownError:
    told = " ".join(f"{member.name}: {member.transaction.unknown_outcome().message}." for member in members)
    if holding:
        message = f"the catalog shows the commit in {_names(holding)}, and not in all of {_names(members)}"
        hint = "Its commits of several tables may not be whole. Look at each table before you run it again"
    else:
        message = f"nobody can say whether {_names(members)} were committed"
        hint = "Do not run it again before a table holds the snapshot, or none has come for some minutes"
    return CommitUnknownError(message, hint=f"{told} {hint}. No file was deleted")


def _names(members: Sequence[GroupMember]) -> str:
    return ", ".join(repr(member.name) for member in members)
