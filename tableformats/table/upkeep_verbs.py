"""The verbs about a table's metadata that change nothing of its rows: ``checkpoint``, ``compact_log``, ``verify``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .verbs import ScanVerbs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..inspect.verification import Violations
    from ..plugin.format import FormatTable
    from ..plugin.upkeep import CheckpointResult
    from ..plugin.verification import Violation
    from .scan import Scan

__all__ = ["UpkeepVerbs"]


class UpkeepVerbs(ScanVerbs):
    """Verbs of a table about its metadata."""

    _opened: FormatTable

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
        from ..runtime.allocator import quick_allocator

        with quick_allocator():
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


def _row_violations(scan: Scan) -> Iterable[Violation]:
    from ..engines.arrow.row_checks import row_violations
    from ..inspect.file_ranges import bounded_columns
    from ..inspect.verification import ranges_by_path

    columns = bounded_columns(scan.snapshot)
    names = list(dict.fromkeys(column.path[0].name for column in columns)) or scan.snapshot.schema.names[:1]
    return row_violations(scan.select(*names).plan(), columns, ranges_by_path(scan.snapshot, columns))
