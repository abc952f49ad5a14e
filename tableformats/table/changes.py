"""Row-level changes between two versions, as a scan: :class:`Changes` is what ``table.changes`` returns.

The files that hold the changes are a snapshot of their own (:mod:`tableformats.table.changes_snapshot`), so planning,
pruning, Arrow and Spark are those of every other scan.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..dataclass import dataclass
from ..plugin.changes import FormatChanges
from ..runtime.concurrency import cached_property
from .changes_snapshot import CHANGE_COLUMNS, ChangesSnapshot, struct_of
from .scan import Scan

if TYPE_CHECKING:
    import pyarrow as pa

    from ..io.storage import Storage

__all__ = ["CHANGE_COLUMNS", "Changes"]


@dataclass(frozen=True)
class Changes(Scan):
    """Rows that a range of versions inserted, deleted and updated; made by :meth:`tableformats.Table.changes`.

    The columns are the table's at the ending version, then ``_change_type`` (insert, delete, update_preimage,
    update_postimage), ``_commit_version`` and ``_commit_timestamp``; filters may name them all. Rows come oldest
    version first, within a version deletes before inserts. The rest is as in :class:`tableformats.table.scan.Scan`.

    >>> changes = tf.open_table("events").changes(1, 2)
    >>> changes.select("id", "_commit_version").where("id > 1").to_arrow()["_commit_version"].to_pylist()
    [1, 2, 2, 2]
    """

    def __repr__(self) -> str:
        return f"Changes({self.snapshot.location!r}, versions {self.starting_version} to {self.ending_version})"

    def _repr_html_(self) -> str:
        from ..inspect.html import scan_html

        return scan_html(self, (self.starting_version, self.ending_version))

    @property
    def starting_version(self) -> int:
        return self._format_changes.starting_version

    @property
    def ending_version(self) -> int:
        return self._format_changes.ending_version

    @cached_property
    def files(self) -> pa.Table:
        """The files that are read, in order: ``version``, ``timestamp``, ``change_type`` (null: the file's rows say it
        themselves), then the columns of :attr:`tableformats.table.scan.ScanPlan.files`.

        A file with a delete of kind :data:`SELECTED` is read for the rows that this one deletes; a file may stand here
        several times. No data file is opened. Raises as :meth:`plan` does.

        >>> tf.open_table("events").changes(1, 2).files["change_type"].to_pylist()
        ['insert', 'insert']
        """
        return _listed(self)

    def added_files(self) -> pa.Table:
        """Every file that the versions added, oldest first: ``version``, ``timestamp``, ``path``, ``size_bytes``,
        ``record_count``, ``partition``, ``deletes``, ``data_change`` and the format's own columns.

        For streaming readers: remember the newest version that was processed, and when ``table.snapshot().version`` is
        greater, take the files of ``table.changes(processed + 1)`` where ``data_change`` is true (the others hold rows
        that were there before, written anew). That is all there is to read as long as the table is only appended to;
        :attr:`files` has a row whose ``change_type`` is not "insert" where it was not. The filter drops files as in
        any scan. No data file is opened. Raises as :meth:`plan` does.

        >>> tf.open_table("events").changes(2).added_files()["record_count"].to_pylist()
        [3]
        """
        listing = self.snapshot.showing(ChangesSnapshot(self._format_changes, self._storage, True))
        return _listed(replace(self, snapshot=listing)).drop_columns(["change_type", "spec_id", "fully_matched"])

    @property
    def _format_changes(self) -> FormatChanges:
        snapshot = self.snapshot.format_snapshot
        assert isinstance(snapshot, ChangesSnapshot)
        return snapshot.changes

    @property
    def _storage(self) -> Storage:
        return self.snapshot.storage


def _listed(changes: Changes) -> pa.Table:
    """``plan.files`` with the change columns beside the partition values instead of among them."""
    import pyarrow as pa

    files = changes.plan().files
    partition = files["partition"].combine_chunks()
    members = {f.name: partition.field(i) for i, f in enumerate(partition.type)}
    change_type, version, timestamp = (members.pop(f.name) for f in CHANGE_COLUMNS)
    columns = {"version": version, "timestamp": timestamp, "change_type": change_type}
    for name in files.column_names:
        columns[name] = files[name] if name != "partition" else struct_of(members, len(partition))
    return pa.table(columns)
