"""Verbs that change nothing of a table's rows.

What users of other libraries type first: ``head``, ``plan``, ``count``, ``to_arrow``, ``to_pandas`` of a table or a
snapshot; each is a scan with the same arguments, and its verb. And those about a table's metadata: ``checkpoint``,
``compact_log``, ``verify``, ``verify_stats``, ``orphan_files``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from ..habits import WithHabits

if TYPE_CHECKING:
    import datetime as dt
    import os
    from collections.abc import Callable, Iterable, Sequence

    import pandas
    import polars
    import pyarrow as pa

    from ..inspect.statistics_check import StatisticsCheck
    from ..inspect.verification import Violations
    from ..io.storage import Storage
    from ..plugin.format import FormatTable
    from ..plugin.upkeep import CheckpointResult
    from ..plugin.verification import Violation
    from .opening import Timestamp
    from .scan import Scan, ScanPlan

__all__ = ["ScanVerbs", "UpkeepVerbs"]


class ScanVerbs(WithHabits, ABC):
    """Verbs of what can be scanned. ``selection`` is what else :meth:`scan` takes, such as ``version``."""

    @abstractmethod
    def scan(self, *filter: Any, **selection: Any) -> Scan:
        """The rows for which ``filter`` is TRUE."""

    def plan(self, filter: Any = None, **selection: Any) -> ScanPlan:
        """The files that the rows of a filter need: ``scan(filter, ...).plan()``.

        >>> tf.open_table("events").plan("id = 1")
        ScanPlan(1 of 2 files, filter='id = 1')
        """
        return self.scan(filter, **selection).plan()

    def head(self, n: int = 5, **selection: Any) -> pa.Table:
        """The first ``n`` rows. No more files are opened than they need.

        >>> import tableformats as tf
        >>> tf.open_table("events").head(2, columns=["id"]).num_rows
        2
        """
        return self.scan(limit=n, **selection).to_arrow()

    def count(self, filter: Any = None, **selection: Any) -> int:
        """The number of rows, from metadata where that is exact.

        >>> import tableformats as tf
        >>> tf.open_table("events").count("day = 1")
        3
        """
        return self.scan(filter, **selection).count()

    def to_arrow(self, filter: Any = None, **selection: Any) -> pa.Table:
        """The rows as an Arrow table.

        >>> tf.open_table("events").to_arrow("id > 3")["id"].to_pylist()
        [4, 5]
        """
        return self.scan(filter, **selection).to_arrow()

    def to_pandas(self, filter: Any = None, **selection: Any) -> pandas.DataFrame:
        """The rows as a pandas DataFrame (needs pandas).

        >>> tf.open_table("events").to_pandas("id > 3", columns=["id"])["id"].tolist()
        [4, 5]
        """
        return self.scan(filter, **selection).to_pandas()

    def to_polars(
        self, filter: Any = None, *, lazy: bool = False, **selection: Any
    ) -> polars.DataFrame | polars.LazyFrame:
        """The rows as a polars DataFrame (needs polars); with ``lazy`` a LazyFrame, see :meth:`Scan.to_polars`.

        >>> tf.open_table("events").to_polars(lazy=True).collect()["id"].sum()
        15
        """
        return self.scan(filter, **selection).to_polars(lazy)


class UpkeepVerbs(ScanVerbs):
    """Verbs of a table about its metadata."""

    _opened: FormatTable
    storage: Storage

    def checkpoint(self, version: int | str | None = None) -> CheckpointResult:
        """Write the checkpoint of a version, so that readers need no older metadata to open it.

        A checkpoint that is there is not written again. Columns go from the log to the file in row groups: memory does
        not grow with the number of files, but for the bytes of the file.

        Parameters
        ----------
        version : int or str, optional
            None: the current version.

        Raises
        ------
        UnsupportedFeatureError
            The format has no checkpoints, or the version has a feature that is not honoured.
        SnapshotNotFoundError
            There is no such version.
        CorruptMetadataError
            The metadata is damaged.
        StoreError
            As the store fails. OSError if it is local.

        Examples
        --------
        >>> import tableformats as tf
        >>> tf.open_table("events").checkpoint().files
        2
        """
        return self._opened.checkpoint(version)

    def compact_log(self, starting_version: int, ending_version: int) -> str:
        """Write one file that readers may read in the place of the commits of some versions, both ends included.

        Returns
        -------
        str
            Its absolute path. One that is there is not written again.

        Raises
        ------
        UnsupportedFeatureError
            The format has no log.
        SnapshotNotFoundError
            A commit is not there, or the range has fewer than two.
        CorruptMetadataError
            A commit is damaged.

        Examples
        --------
        >>> tf.open_table("events").compact_log(0, 2).rpartition("/")[2]
        '00000000000000000000.00000000000000000002.compacted.json'
        """
        return self._opened.compact_log(starting_version, ending_version)

    def verify(self, version: int | str | None = None, deep: bool = False) -> Violations:
        """The rules of its format's specification that the table breaks. A reader forgives much of it; this does not.

        The log, checkpoints and what stands beside them are looked at, and whether each live file is there and has the
        size that it should have. It takes an object for each action: it is for audits and tests.

        Parameters
        ----------
        version : int or str, optional
            Look at this version alone. None: at all that the metadata has.
        deep : bool
            Also open the deletes and read every row, and compare their number, NULLs and bounds with the statistics.

        Raises
        ------
        UnsupportedFeatureError
            The format has no verifier.
        SnapshotNotFoundError
            There is no such version.
        StoreError
            As the store fails. Damage is no error here, but a violation.

        Examples
        --------
        >>> import tableformats as tf
        >>> tf.open_table("events").verify(deep=True)
        Violations()
        """
        from ..errors import CorruptMetadataError, UnsupportedFeatureError
        from ..inspect.verification import Violations
        from ..plugin.verification import Violation

        found = Violations(self._opened.verify(version, deep))
        if deep:
            try:
                found.extend(_row_violations(self.scan(version=version)))
            except (CorruptMetadataError, UnsupportedFeatureError) as error:
                source = "A table is readable at each of its versions"
                found.append(Violation("unreadable-version", error.message, source, error.path))
        return found

    def verify_stats(
        self,
        deep: bool = False,
        *,
        columns: str | Sequence[str] | None = None,
        version: int | str | None = None,
        resume: str | os.PathLike[str] | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> StatisticsCheck:
        """Files whose statistics would drop a row that matches, for a table of any format.

        The bounds, counts and partition values by which files are pruned are compared with the footers of Parquet
        files. What a footer cannot prove (a text may be cut, a row may be deleted) is decided by the rows of that file.
        :meth:`verify` looks at the rules of the format instead: at the metadata, and not at what they cost a query.

        Parameters
        ----------
        deep : bool
            Read the rows of every file. It finds what footers do not say: NaNs, columns without statistics there.
        columns : str or sequence of str, optional
            Of these columns alone. None: of all that may have bounds.
        version : int or str, optional
            None: the current version; where ``resume`` goes on, the version of that run.
        resume : path, optional
            A local file for the progress. A run that was interrupted goes on where it names the same file.
        progress : callable, optional
            Called with the number of files that are done and of all, after each.

        Raises
        ------
        InvalidPredicateError
            There is no such column.
        SnapshotNotFoundError
            There is no such version, or not any more.
        TableFormatsError
            ``resume`` is the progress of another table, version, depth or of other columns.
        StoreError
            As the store fails. A file that is missing or damaged is no error here, but a finding.

        Examples
        --------
        >>> import tableformats as tf
        >>> tf.open_table("events").verify_stats()
        StatisticsCheck(2 files: 2 compared with their footers, 0 with rows; nothing wrong)
        """
        from ..inspect.statistics_progress import resumed_version

        if version is None and resume is not None:
            version = resumed_version(resume)
        chosen = [columns] if isinstance(columns, str) else columns
        return _checked_statistics(self.scan(version=version), deep, chosen, resume, progress)

    def orphan_files(self, older_than: Timestamp | dt.timedelta | None = None) -> pa.Table:
        """The files below the table's directory that nothing of the table names. Nothing is deleted.

        Writers that failed, were killed or lost a race leave them. A file is named by any version that the metadata
        still has, also where that is not the current one: as data, as deletes, as changes, as statistics or as
        metadata; by branches and tags; and by tombstones. So a file that an older version needs, which a vacuum or an
        expiry of snapshots would delete, is no orphan yet. What begins with ``_`` or ``.`` is left out, as other
        libraries do, but for temporary files of this one; and so are tables of their own that lie below this one.

        Parameters
        ----------
        older_than : datetime, str, int or timedelta, optional
            Only files that were last written before this time (ISO 8601, or milliseconds since the epoch), or so long
            ago. Files of a commit that is on its way are named by nothing yet: give more than the longest write takes.
            None: Delta's ``delta.deletedFileRetentionDuration``, by default 7 days, and 3 days in Iceberg tables. A
            store that does not say how old a file is has no orphans.

        Returns
        -------
        pyarrow.Table
            ``path`` (string, absolute), ``size_bytes`` (int64), ``modified`` (timestamp[ms, UTC]), by path.

        Raises
        ------
        UnsupportedFeatureError
            The table shares its files with others (Iceberg's ``gc.enabled``, or tables of two formats in one
            directory), or was opened at a metadata file, which says nothing of newer ones.
        CorruptMetadataError
            Metadata is damaged, so that nobody knows what it names.
        StoreError
            As the store fails. OSError if it is local.
        SnapshotNotFoundError, TypeError, ValueError
            ``older_than`` is no time; or it is a negative one.

        Examples
        --------
        >>> import tableformats as tf
        >>> tf.open_table("events").orphan_files().num_rows
        0
        """
        import datetime as dt

        from ..plugin.registry import host
        from ..write.orphans import orphan_files
        from .opening import epoch_ms

        if isinstance(older_than, dt.timedelta):
            if older_than < dt.timedelta(0):
                raise ValueError(f"older_than must not be negative: {older_than}")
            older_than = dt.datetime.now(dt.timezone.utc) - older_than
        return orphan_files(self._opened, self.storage, host().formats, epoch_ms(older_than))


def _row_violations(scan: Scan) -> Iterable[Violation]:
    from ..engines.arrow.row_checks import row_violations
    from ..inspect.file_ranges import bounded_columns
    from ..inspect.verification import RangesByPath

    columns = bounded_columns(scan.snapshot)
    names = list(dict.fromkeys(column.path[0].name for column in columns)) or scan.snapshot.schema.names[:1]
    return row_violations(scan.select(*names).plan(), columns, RangesByPath(scan.snapshot, columns))


def _checked_statistics(
    scan: Scan,
    deep: bool,
    names: Sequence[str] | None,
    resume: str | os.PathLike[str] | None,
    progress: Callable[[int, int], None] | None,
) -> StatisticsCheck:
    from functools import partial

    from ..engines.arrow.statistics_checks import check_files
    from ..inspect.file_ranges import PARTITION, STATISTICS, bounded_columns, columns_named
    from ..inspect.statistics_check import StatisticsCheck
    from ..inspect.statistics_progress import ProgressFile
    from ..inspect.text import location_text
    from ..inspect.verification import RangesByPath

    snapshot, plan = scan.snapshot, scan.plan()
    columns = bounded_columns(snapshot) if names is None else columns_named(snapshot, names)
    result = StatisticsCheck(snapshot.version, len(plan))
    place = {"location": location_text(snapshot.location), "version": snapshot.version}
    asked = {**place, "deep": deep, "columns": [str(column) for column in columns]}
    with ProgressFile(resume, asked) as file:
        for line in file.known.values():
            result.add(line)
        expected = partial(RangesByPath, snapshot, columns, (STATISTICS, PARTITION))
        checks = check_files(plan, columns, expected, deep, file.known.__contains__)
        for done, check in enumerate(checks, 1 + len(file.known)):
            line = check.as_dict()
            file.add(line)
            result.add(line)
            if progress is not None:
                progress(done, len(plan))
    return result
