"""What a format implements so that its tables can be written: :class:`FormatTransaction`.

The core writes the data files, as :class:`WriteTarget` says, which changes nothing that readers see. The format then
makes a whole :class:`TableChange` visible by one atomic write. The core decides when to try, what of other writers is a
conflict, when to wait and when to give up; see ``tableformats/write``.
"""

from __future__ import annotations

import datetime as dt
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import field
from typing import TYPE_CHECKING

from ...dataclass import dataclass
from ...display import facts, page, shortened
from ...io.stores.base import PutOutcome
from ..snapshot import FormatSnapshot
from .table_change import CommittedChange, ConflictCheck, MetadataChange, TableChange
from .write_target import WriteTarget

if TYPE_CHECKING:
    from ...errors import CommitUnknownError
    from ...io.catalog_commits import TableUpdates

__all__ = ["Commit", "FormatTransaction", "PreparedCommit"]


@dataclass(frozen=True)
class Commit:
    """What a verb that writes did.

    Attributes
    ----------
    version : int
        The version that it made; without anything to commit, the version that is current.
    operation : str
        As the table's history names it.
    metrics : mapping of str to int
        ``added_files``, ``added_rows``, ``added_bytes``, ``removed_files``, ``removed_rows``, ``removed_bytes``, and
        those of the verb, such as ``deleted_rows``. One that is unknown is left out. ``removed_rows`` are those
        that the removed files store, also where earlier deletes have hidden them.
    attempts : int
        How often the commit was tried; 0: there was nothing to commit.
    timestamp : datetime, optional
        About when it was committed, in UTC.

    Examples
    --------
    >>> commit = tf.open_table("events").append(pa.table({"id": [7], "day": [2]}))
    >>> commit.version, commit.operation, commit.metrics["added_rows"]
    (3, 'WRITE', 1)
    """

    version: int
    operation: str
    metrics: Mapping[str, int] = field(default_factory=dict)
    attempts: int = 1
    timestamp: dt.datetime | None = None

    def __repr__(self) -> str:
        told = "".join(f", {name}={count}" for name, count in self.metrics.items() if count)
        return (
            f"Commit(version={self.version}, operation={shortened(self.operation)!r}{told}, attempts={self.attempts})"
        )

    def _repr_html_(self) -> str:
        counts = ((name.replace("_", " "), f"{count:,}") for name, count in self.metrics.items())
        time = "" if self.timestamp is None else f", {self.timestamp:%Y-%m-%d %H:%M:%S} UTC"
        attempts = ("attempts", str(self.attempts) if self.attempts else "none: there was nothing to commit")
        return page("Commit", f"{self.operation}, version {self.version}{time}", facts([*counts, attempts]))


@dataclass(frozen=True)
class PreparedCommit:
    """What one table has of a commit of several.

    Attributes
    ----------
    updates : TableUpdates
    store : callable
        Stores the files that the updates name. Called before the commit is tried.
    """

    updates: TableUpdates
    store: Callable[[], None]


class FormatTransaction(ABC):
    """One commit, from the version that it was begun at until it is committed or given up.

    Attributes
    ----------
    version : int
        The version that the next try is made upon; after a won try, the version that it made. -1: there is no table
        yet.
    snapshot : FormatSnapshot or None
        That version; None where there is no table yet.
    target : WriteTarget
        How data files are written.
    """

    version: int
    snapshot: FormatSnapshot | None
    target: WriteTarget

    @abstractmethod
    def operation_name(self, change: TableChange) -> str:
        """The name of the change in the table's history, such as ``WRITE``."""

    def stage_metadata(self, change: MetadataChange) -> None:
        """Make :attr:`target` that of the table with ``change``, which will be in the commit.

        Called before data files are written. By default metadata cannot be changed.

        Raises
        ------
        UnsupportedFeatureError
            The format, or the table, does not allow the change; ``field`` names what.
        """
        from ...errors import UnsupportedFeatureError

        raise UnsupportedFeatureError("the metadata of this table cannot be changed", field="metadata")

    @abstractmethod
    def check(self, change: TableChange) -> None:
        """Honour or refuse: whether a table of this version may be changed like that.

        Called before data files are written, with a change that has no files yet, and after each lost race.

        Raises
        ------
        UnsupportedFeatureError
            The table has a feature that is not honoured (``field``), or the store cannot write exclusively.
        """

    @abstractmethod
    def conflict_checks(self, change: TableChange) -> frozenset[ConflictCheck]:
        """What of a winner is a conflict, by the isolation of ``change``; None in it: as the table says.

        Raises
        ------
        ValueError
            The format has no such isolation level; the message lists them.
        """

    def application_version(self, name: str) -> int | None:
        """The newest transaction that an application recorded up to :attr:`version`; None: there is none.

        Raises
        ------
        UnsupportedFeatureError
            The format records none, which is the default.
        """
        from ...errors import UnsupportedFeatureError

        raise UnsupportedFeatureError("this format records no transactions of applications", field="application")

    def turn(self, change: TableChange) -> AbstractContextManager[bool]:
        """A block around one try of a change: a format may let the writers of one machine try one after the other.

        Returns
        -------
        context manager of bool
            Whether others may have committed meanwhile: the change is then moved upon the newest version before it is
            tried. By default nobody waits.
        """
        return nullcontext(False)

    @abstractmethod
    def try_commit(self, change: TableChange) -> PutOutcome:
        """Make ``change`` visible by one atomic write upon :attr:`version`, and move :attr:`version` on if it won.

        After an answer that did not say so, what is there was read back and compared with our id.

        Returns
        -------
        PutOutcome
            LOST: certainly nothing was committed. UNKNOWN: nobody can say.
        """

    def prepare(self, change: TableChange) -> PreparedCommit:
        """The part of ``change`` in a commit of several tables of one catalog, upon :attr:`version`.

        The parts of all tables are then tried at once, and each :meth:`settle` is called with the answer.

        Raises
        ------
        UnsupportedFeatureError
            The format's commits are those of one table, which is the default; or the table is in no catalog.
        """
        from ...errors import UnsupportedFeatureError

        raise UnsupportedFeatureError("a commit of this format is one of one table", field="transaction")

    def settle(self, outcome: PutOutcome) -> PutOutcome:
        """What this table says of a commit of several tables, as :meth:`prepare` made its part, after that answer.

        WON: it holds the commit, and :attr:`version` moved on. LOST: it will never hold it. UNKNOWN: nobody can say.
        """
        raise NotImplementedError

    def unknown_outcome(self) -> CommitUnknownError:
        """The error after :meth:`try_commit` gave UNKNOWN: by what the commit is known, and how to find out."""
        from ...errors import CommitUnknownError

        return CommitUnknownError(f"nobody can say whether version {self.version + 1} is this commit")

    @abstractmethod
    def winners(self) -> Iterator[CommittedChange]:
        """What other writers committed since :attr:`version`, up to the version that :meth:`rebase` will move to.

        Raises
        ------
        CommitConflictError
            It is not known any more: the table was replaced, or its log was cleaned.
        """

    @abstractmethod
    def rebase(self, change: TableChange) -> TableChange:
        """Move on to the last version of :meth:`winners`, none of which is in conflict.

        Returns
        -------
        TableChange
            ``change``, or what it becomes upon the newer version.

        Raises
        ------
        CommitConflictError
            The change cannot be made upon the newer version.
        UnsupportedFeatureError
            A winner enabled a feature that is not honoured.
        """

    def after_commit(self) -> None:  # noqa: B027
        """Upkeep of the metadata after a commit that won: checkpoints, hints, cleaning. :attr:`version` is the new one.

        Its errors become warnings: the commit stands.
        """
