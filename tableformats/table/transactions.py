"""``with table.transaction() as txn``: several verbs, one commit. The verbs of a table are transactions of one verb."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ..errors import CommitUnknownError, TableFormatsError, UnsupportedFeatureError
from ..expressions import tree as ex
from ..planning.request import ScanRequest
from ..plugin.writing.row_rules import RowCheck
from ..plugin.writing.table_change import MetadataChange, TableChange
from ..write.commit_loop import CommitOptions, commit_of, errors_say_nothing_done
from ..write.group_commit import GroupMember
from ..write.sorting import sorted_target
from ..write.transaction import (
    AlreadyCommittedError,
    already_committed,
    check_application,
    commit,
    conflict_finder,
    nothing_to_commit,
    unchanged,
)
from .new_files import NewFiles, files_of_target

if TYPE_CHECKING:
    import pyarrow as pa

    from ..engines.arrow.writing.rewriting import Removal
    from ..io.storage import Storage
    from ..planning.handle import SnapshotHandle
    from ..planning.plan import FilePlan
    from ..plugin.writing.transaction import Commit, FormatTransaction
    from ..plugin.writing.write_target import WriteTarget

__all__ = ["Transaction", "discard_files", "end_member", "group_member"]

DYNAMIC = "dynamic"
MERGE = "merge"


class Transaction:
    """Changes of one table that become visible together, or not at all.

    The verbs write data files, which changes nothing that readers see. Leaving the context commits; an exception in it
    deletes the files. What is deleted or overwritten are rows of :attr:`snapshot`: a verb that would have to delete
    rows which an earlier one of the same transaction added is refused.

    Attributes
    ----------
    snapshot : SnapshotHandle or None
        The version that the transaction reads; None while there is no table.
    commit : Commit or None
        What was done; None before the end.
    """

    def __init__(
        self,
        transaction: FormatTransaction,
        snapshot: SnapshotHandle | None,
        storage: Storage,
        options: CommitOptions,
        *,
        isolation: str | None = None,
        application: tuple[str, int] | None = None,
        properties: dict[str, str] | None = None,
        sort_by: Sequence[str] = (),
    ) -> None:
        self._storage = storage
        self._format = transaction
        self._options = options
        self._change = TableChange(
            "append", isolation=isolation, application=check_application(application), properties=properties or {}
        )
        self.snapshot = snapshot
        self.commit: Commit | None = None
        self._written: list[NewFiles] = []
        self._added: list[pa.Table] = []
        self._verbs: list[str] = []
        self._sort_by = tuple(sort_by)
        self._condition: ex.Expression | None = None
        self._removal: Removal | None = None
        self._is_done = already_committed(transaction, self._change.application)
        if isolation is not None:  # a level of the table's properties is met by the commit, which may correct it
            transaction.conflict_checks(self._change)

    def __repr__(self) -> str:
        done = f"commit={self.commit!r}" if self.commit is not None else f"verbs={self._verbs}"
        return f"Transaction({self._storage.root!r}, {done})"

    # ---- verbs ------------------------------------------------------------------------------------------------------

    def append(self, data: Any, *, schema: str | None = None) -> None:
        """Add rows. See :meth:`Table.append`."""
        self._begin_verb("append")
        data = self._merged(data, schema)
        self._write(data, self._target)

    def overwrite(self, data: Any, where: Any = None, *, schema: str | None = None) -> None:
        """Replace rows by others. See :meth:`Table.overwrite`."""
        self._begin_verb("overwrite")
        data = self._merged(data, schema)
        if isinstance(where, str) and where == DYNAMIC:
            self._overwrite_partitions(data)
            return
        condition = ex.TRUE if where is None else self._bound(where)
        if condition == ex.TRUE:
            self._drop_added()
        self._delete(condition)
        self._write(data, self._target if condition == ex.TRUE else _with_condition(self._target, condition))

    def write_target(self, where: Any = None) -> WriteTarget:
        """How data files are written that are then given to :meth:`append`, or to :meth:`overwrite` with ``where``, as
        :class:`.new_files.WrittenFiles`."""
        if not self._is_done:
            self._format.check(self._change)
        is_condition = where is not None and where != DYNAMIC
        condition = self._bound(where) if is_condition else ex.TRUE
        return self._target if condition == ex.TRUE else _with_condition(self._target, condition)

    def delete(self, where: Any) -> None:
        """Delete rows. See :meth:`Table.delete`."""
        self._begin_verb("delete")
        self._delete(self._bound(where))

    def alter(
        self, metadata: MetadataChange, parameters: Mapping[str, object], no_row: ex.Expression | None = None
    ) -> None:
        """Change the metadata; see :class:`tableformats.table.alter.Alter`, whose methods say what can be changed.

        ``parameters`` are for the history. No row, also none that a winner adds, may fulfil ``no_row``.
        """
        self._begin_verb("alter")
        if self._is_done:
            return
        self._format.stage_metadata(metadata)
        self._change = replace(self._change, metadata=metadata, parameters=parameters, read=no_row)
        self._format.check(self._change)

    def check_rows(self, data: Any, where: Any = None) -> int:
        """How many rows ``data`` has, if they can be appended, or can overwrite ``where``. Nothing is written.

        Raises as the verbs do for rows that do not fit, but for partition values that the format cannot store.
        """
        from ..engines.arrow.writing.rows import reader_of, rows_of_table

        self._begin_verb("append" if where is None else "overwrite")
        target = self._target
        if where is not None and where != DYNAMIC:
            target = _with_condition(target, self._bound(where))
        return sum(batch.num_rows for batch in rows_of_table(reader_of(data), target))

    # ---- the end ----------------------------------------------------------------------------------------------------

    def __enter__(self) -> Transaction:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self._discard()
            if isinstance(error, TableFormatsError) and not isinstance(error, CommitUnknownError):
                error.committed = False
        elif self.commit is None:
            self._finish()

    def _finish(self) -> Commit:
        """Commit. Raises as the verbs of :class:`Table` say."""
        if self._is_done:
            return self._already_done()
        try:
            with errors_say_nothing_done():
                change, metrics = self._finished_change()
        except BaseException:
            self._discard()
            raise
        try:
            self.commit = commit(self._format, change, self._options, **metrics)
        except AlreadyCommittedError:
            self._discard()
            return self._already_done()
        except TableFormatsError as error:
            # After an unknown outcome the files are kept: a commit may name them.
            if error.committed is False:
                self._discard()
            raise
        return self.commit

    def _already_done(self) -> Commit:
        self.commit = self.unchanged()
        return self.commit

    def unchanged(self) -> Commit:
        """What the transaction gives if it commits nothing."""
        return unchanged(self._format, self._change)

    def _discard(self) -> None:
        """Delete the data files that were written. Only for a commit that has certainly not been made."""
        for written in self._written:
            written.discard()

    # ---- the change -------------------------------------------------------------------------------------------------

    def _begin_verb(self, verb: str) -> None:
        if self.commit is not None:
            raise ValueError("the transaction is committed")
        self._verbs.append(verb)
        operation = verb if set(self._verbs) == {verb} else "overwrite"
        if operation != self._change.operation:
            self._change = replace(self._change, operation=operation)
        # A table that takes no rows, because a property is not honoured, can still get another property.
        if not self._is_done and verb != "alter":
            self._format.check(self._change)

    @property
    def _target(self) -> WriteTarget:
        """How new rows are written."""
        return sorted_target(self._format.target, self._sort_by)

    def _bound(self, where: Any) -> ex.Expression:
        if where is None:
            raise TypeError("where is a condition; 'true' is that of all rows")
        assert self.snapshot is not None, "a table that is created has no rows"
        return self.snapshot.bind(where)

    def _write(self, data: Any, target: WriteTarget) -> None:
        if self._is_done:
            return
        files = data if isinstance(data, NewFiles) else NewFiles(data)
        files.write(self._storage, target)
        self._keep(files)

    def _merged(self, data: Any, schema: str | None) -> Any:
        """``data``, for which the table gets further columns and wider types if ``schema`` is "merge"."""
        if schema not in (None, MERGE):
            raise ValueError(f"schema is {MERGE!r} or None, not {schema!r}")
        if schema is None or self._is_done:
            return data
        from ..engines.arrow.writing.schema_merge import merged_schema

        files = NewFiles(data)
        found = merged_schema(self._format.target.schema, files.arrow_schema)
        if found is not None:
            if self._change.metadata is not None or self._added or self._condition is not None:
                raise UnsupportedFeatureError(
                    "the schema changes before other verbs of a transaction",
                    path=self._storage.root,
                    field="schema",
                    hint="Merge schemas in the first verb, or in a transaction of its own",
                )
            change = MetadataChange(schema=found)
            self._format.stage_metadata(change)
            self._change = replace(self._change, metadata=change)
        return files

    def _keep(self, written: NewFiles) -> None:
        self._written.append(written)
        assert written.files is not None, "they were written"
        if written.files.num_rows:
            self._added.append(written.files)

    def _drop_added(self) -> None:
        """Forget what was written: all of it is overwritten."""
        for written in self._written:
            written.discard()
        self._written, self._added = [], []

    def _delete(self, condition: ex.Expression) -> None:
        if self._added:
            raise UnsupportedFeatureError(
                "rows that the same transaction added are not deleted",
                path=self._storage.root,
                field="transaction",
                hint="Delete first and append then, or commit in between",
            )
        known = self._condition
        self._condition = condition if known is None or condition == ex.TRUE else _either(known, condition)

    def _overwrite_partitions(self, data: Any) -> None:
        from ..engines.arrow.writing.partition_overwrite import condition_of_partitions, files_of_partitions

        if self._is_done:
            return
        if self._condition is not None or self._added:
            raise UnsupportedFeatureError(
                "an overwrite of partitions is alone in its transaction",
                path=self._storage.root,
                field="transaction",
                hint="Commit it on its own",
            )
        self._write(data, self._target)
        if not self._added or self.snapshot is None:
            return
        added = self._added[0]
        condition = condition_of_partitions(added, self._format.target, self.snapshot)
        plan = files_of_partitions(_planned(self.snapshot, condition), added, self._format.target)
        self._change = replace(self._change, read=condition, **_removed(plan))

    def _finished_change(self) -> tuple[TableChange, dict[str, int]]:
        import pyarrow as pa

        metrics: dict[str, int] = {}
        change = self._change
        condition = self._condition
        if condition is not None and self.snapshot is not None:
            from ..engines.arrow.writing.rewriting import removal_of

            removal = removal_of(_planned(self.snapshot, condition))
            change = replace(change, read=condition, **_removed(removal.removed))
            target, new = self._format.target, list(self._added)
            kept = removal.kept_rows(target.carried)
            if kept is not None:
                written = NewFiles.of_batches(kept, self._storage, target.rewriting)
                written.files = files_of_target(written.files, target)
                self._keep(written)
                change = replace(change, copied_rows=sum(written.files["record_count"].to_pylist()))
            if removal.deleted_rows is not None:
                metrics["deleted_rows"] = removal.deleted_rows
                change = replace(change, deleted_rows=removal.deleted_rows)
            change = self._with_changed_rows(change, removal, new)
        added = pa.concat_tables(self._added) if self._added else None
        return replace(change, added=added), metrics

    def _with_changed_rows(self, change: TableChange, removal: Removal, added: list[pa.Table]) -> TableChange:
        """``change`` with the files of the change data feed, where the table has one and rows were rewritten.

        ``added`` are the files of rows that are new.
        """
        target = self._format.target.changes
        if target is None or not len(removal.rewritten):
            return change
        from ..engines.arrow.writing.written_rows import written_rows

        deleted = removal.deleted()
        assert deleted is not None, "files are only rewritten where rows go"
        # Readers of the changes read nothing else of the commit, so its new rows are among them.
        new = (row for files in added for row in written_rows(files, self._storage, self._format.target))
        rows = chain(_of_type(deleted, "delete"), _of_type(new, "insert"))
        written = NewFiles.of_batches(rows, self._storage, target)
        self._written.append(written)
        return replace(change, changed_rows=written.files)


# ---- one of several tables: not for users, who could delete what is committed ----------------------------------------


def group_member(transaction: Transaction, name: str) -> tuple[GroupMember, dict[str, int]] | None:
    """The part of a commit of several tables, and what its verbs counted. None: there is nothing to commit.

    ``name``: what errors call the table.
    """
    if transaction._is_done:
        return None
    change, metrics = transaction._finished_change()
    if not change:
        transaction.commit = nothing_to_commit(transaction._format, change, metrics)
        return None
    finder = conflict_finder(transaction._format, change)
    return GroupMember(name, transaction._format, change, finder), metrics


def end_member(transaction: Transaction, member: GroupMember | None, attempts: int, metrics: dict[str, int]) -> Commit:
    """Set the commit of a transaction after that of several tables; ``member`` None: its part was not in it."""
    if member is not None:
        transaction.commit = commit_of(transaction._format, member.change, attempts, **metrics)
    elif transaction.commit is None:
        transaction.commit = transaction.unchanged()
    return transaction.commit


def discard_files(transaction: Transaction) -> None:
    """Delete the data files that were written. Only for a commit that has certainly not been made."""
    transaction._discard()


def _planned(snapshot: SnapshotHandle, condition: ex.Expression) -> FilePlan:
    """The files that may have rows for which a bound condition is TRUE, with all deletes: their other rows may stay."""
    from ..planning.planner import plan_scan

    return plan_scan(ScanRequest(snapshot, condition, snapshot.schema), every_delete=True)


def _of_type(batches: Iterable[pa.RecordBatch], change_type: str) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    for batch in batches:
        yield batch.append_column("_change_type", pa.array([change_type] * batch.num_rows, pa.string()))


def _removed(plan: FilePlan) -> dict[str, Any]:
    return {"removed": plan.survivors, "removed_counts": plan.record_counts, "read_files": None}


def _with_condition(target: WriteTarget, condition: ex.Expression) -> WriteTarget:
    """The target for rows that must fulfil a condition."""
    check = RowCheck("the condition of the overwrite", "where", str(condition), condition)
    return replace(target, rules=replace(target.rules, checks=(*target.rules.checks, check)))


def _either(one: ex.Expression, other: ex.Expression) -> ex.Expression:
    return one if one == ex.TRUE else ex.Or((one, other))
