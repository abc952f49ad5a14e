"""The verbs that change a table. Each writes data files first, and then commits all of them at once, or nothing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..io.storage import Storage
    from ..plugin.writing.transaction import Commit, FormatTransaction

__all__ = ["WriteVerbs"]


class WriteVerbs(ABC):
    """Verbs of a table that write."""

    storage: Storage

    @abstractmethod
    def _begin(self, branch: str | None = None) -> FormatTransaction:
        """A transaction upon the current version."""

    def append(self, data: Any, *, tries: int = 100, timeout: float = 120.0) -> Commit:
        """Add rows, in one commit.

        Columns are matched by name, without case. A missing nullable column is NULL. Values are cast only where nothing
        is lost.

        Parameters
        ----------
        data : pyarrow.Table, RecordBatch or RecordBatchReader, pandas or polars DataFrame, Spark DataFrame
            Or anything else with an Arrow stream. A reader may have more rows than fit into memory. The rows of a Spark
            DataFrame are written by its session's executors.
        tries : int
            How often the commit is tried where other writers win the race for the next version.
        timeout : float
            Seconds after which no further try is begun.

        Raises
        ------
        ConstraintViolationError
            The data does not fit into the table; ``field`` names the column.
        UnsupportedFeatureError
            The format is only read, the table has a feature that is not written (``field``), or the store cannot write
            a file only if there is none.
        CommitConflictError
            Other writers changed the table's schema, or won every race.
        CommitUnknownError
            The store does not say whether the commit landed. It is the only error after which rows may be there.

        Examples
        --------
        >>> import pyarrow as pa
        >>> import tableformats as tf
        >>> tf.open_table("events").append(pa.table({"id": [7], "day": [2]})).metrics["added_rows"]
        1
        """
        from ..plugin.writing.table_change import TableChange
        from ..write.commit_loop import CERTAINLY_LOST, CommitOptions
        from ..write.transaction import commit
        from .new_files import NewFiles

        options = CommitOptions(tries, timeout)
        files = NewFiles(data)
        transaction = self._begin()
        change = TableChange("append")
        transaction.check(change)
        change = replace(change, added=files.write(self.storage, transaction.target))
        try:
            return commit(transaction, change, options)
        except CERTAINLY_LOST:
            # After any other error the files are kept: a commit may name them.
            files.discard()
            raise
