"""The verbs that change a table. Each writes data files first, and then commits all of them at once, or nothing."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .reference_verbs import ReferenceVerbs

if TYPE_CHECKING:
    from ..io.storage import Storage
    from ..plugin.writing.transaction import Commit
    from .alter import Alter
    from .transactions import Transaction

__all__ = ["WriteVerbs"]


class WriteVerbs(ReferenceVerbs):
    """Verbs of a table that write."""

    storage: Storage

    @abstractmethod
    def transaction(
        self,
        *,
        isolation: str | None = None,
        application: tuple[str, int] | None = None,
        branch: str | None = None,
        properties: Mapping[str, str] | None = None,
        sort_by: Sequence[str] = (),
        tries: int = 100,
        timeout: float = 120.0,
    ) -> Transaction:
        """Several verbs, one commit."""

    @property
    def alter(self) -> Alter:
        """Changes of columns, properties and constraints: ``table.alter.add_columns({"note": "string"})``.

        See :class:`tableformats.table.alter.Alter`.

        >>> tf.open_table("events").alter.set_properties({"team": "sales"}).operation
        'SET TBLPROPERTIES'
        """
        from .alter import Alter

        return Alter(self.transaction, self.storage.root)

    def append(self, data: Any, *, schema: str | None = None, **options: Any) -> Commit:
        """Add rows, in one commit.

        Columns are matched by name, without case. A missing nullable column is NULL. Values are cast only where nothing
        is lost.

        Parameters
        ----------
        data : pyarrow.Table, RecordBatch or RecordBatchReader, pandas or polars DataFrame, Spark DataFrame
            Or anything else with an Arrow stream. A reader may have more rows than fit into memory. The rows of a Spark
            DataFrame are written by its session's executors.
        schema : {"merge"}, optional
            "merge": columns that the table lacks are added to it, and columns get the wider type where the rows have
            one and the table allows it, by the same commit. None: the rows must fit.
        **options
            As :meth:`transaction` takes them, such as ``tries`` and ``timeout``.

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
        with self.transaction(**options) as transaction:
            transaction.append(data, schema=schema)
        return _commit_of(transaction)

    def overwrite(self, data: Any, where: Any = None, *, schema: str | None = None, **options: Any) -> Commit:
        """Replace rows by others, in one commit.

        Parameters
        ----------
        data : as of :meth:`append`
        where : filter or "dynamic", optional
            Which rows are replaced: those for which the filter is TRUE, and each new row must fulfil it; or, with
            ``"dynamic"``, all rows of the partitions that ``data`` has rows of. None: all rows.
        schema : as of :meth:`append`
        **options
            As :meth:`transaction` takes them.

        Raises
        ------
        ConstraintViolationError
            As :meth:`append`; or a row does not fulfil ``where``.
        InvalidPredicateError
            ``where`` does not parse, or names no column.
        CommitConflictError
            As :meth:`append`; or another writer changed a file that goes, or added rows that ``where`` matches.
        UnsupportedFeatureError, CommitUnknownError
            As :meth:`append`.

        Examples
        --------
        >>> table = tf.open_table("events")
        >>> table.overwrite(pa.table({"id": [8], "day": [1]}), where="day = 1").metrics["removed_files"], table.count()
        (1, 4)
        """
        with self.transaction(**options) as transaction:
            transaction.overwrite(data, where, schema=schema)
        return _commit_of(transaction)

    def delete(self, where: Any, **options: Any) -> Commit:
        """Delete the rows for which a filter is TRUE, in one commit. Rows for which it is NULL stay.

        Files of which all rows match are dropped by metadata. Files of which some match are written again without them.
        ``metrics["deleted_rows"]`` is how many rows went, where that is known.

        Parameters
        ----------
        where : filter
            As of :meth:`scan`. ``"true"`` deletes all rows.
        **options
            As :meth:`transaction` takes them.

        Raises
        ------
        InvalidPredicateError
            ``where`` does not parse, or names no column.
        CommitConflictError, UnsupportedFeatureError, CommitUnknownError
            As :meth:`overwrite`.

        Examples
        --------
        >>> tf.open_table("events").delete("id IN (0, 3)").metrics["deleted_rows"]
        2
        """
        with self.transaction(**options) as transaction:
            transaction.delete(where)
        return _commit_of(transaction)


def _commit_of(transaction: Transaction) -> Commit:
    assert transaction.commit is not None, "the context was left without an error"
    return transaction.commit
