"""What tables and snapshots say of themselves: ``detail``, ``clustering``, ``health``, and ``plot`` shows.

Each is a function of :mod:`tableformats.inspect` on a snapshot. None of these opens a data file.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

    from ..inspect.clustering import Clustering
    from ..inspect.detail import TableDetail
    from ..inspect.health import Findings
    from ..inspect.pictures.plots import Plots
    from ..planning.handle import SnapshotHandle

__all__ = ["SnapshotChecks"]


class SnapshotChecks(ABC):
    """Checks of a table's current version, or of a snapshot."""

    @abstractmethod
    def _checked_snapshot(self) -> SnapshotHandle:
        """The snapshot that is looked at."""

    @abstractmethod
    def _checked_history(self) -> pa.Table:
        """The versions of its table."""

    @property
    def plot(self) -> Plots:
        """Pictures with matplotlib: ``plot.clustering(column)``, ``plot.file_sizes()``, ``plot.timeline()``.

        >>> import tableformats as tf
        >>> tf.open_table("events").plot
        Plots(.clustering(column), .file_sizes(), .timeline())
        """
        from ..inspect.pictures.plots import Plots

        return Plots(self._checked_snapshot(), self._checked_history)

    def detail(self) -> TableDetail:
        """Format, version, features, files, bytes, rows, deleted rows, partitions and properties.

        >>> import tableformats as tf
        >>> detail = tf.open_table("events").detail()
        >>> detail.files, detail.rows, detail.partition_columns
        (2, 6, ('day',))
        """
        from ..inspect.detail import detail

        return detail(self._checked_snapshot())

    def clustering(self, columns: str | Sequence[str] | None = None) -> Clustering:
        """In how many files a value of each of ``columns`` (None: all that may have bounds) may be.

        Raises
        ------
        InvalidPredicateError
            There is no such column.

        Examples
        --------
        >>> import tableformats as tf
        >>> tf.open_table("events").clustering("id")[0].max_depth  # no value of id may be in two files
        1
        """
        from ..inspect.clustering import clustering

        return clustering(self._checked_snapshot(), columns)

    def health(self, thresholds: Mapping[str, float] | None = None) -> Findings:
        """What makes the table slow to plan or to read, with advice.

        Parameters
        ----------
        thresholds : mapping, optional
            Values above which a check gives advice, by its name: ``{"small-files": 0.5}``. The checks are
            ``small-files`` (the share of files that compaction would save), ``files-with-deletes``, ``deleted-rows``
            (shares), ``uncounted-files``, ``commits`` (behind the checkpoint) and ``manifests`` (for 1,000 files).

        Raises
        ------
        ValueError
            There is no such check.

        Examples
        --------
        >>> import tableformats as tf
        >>> tf.open_table("events").health({"small-files": 0.9}).failed
        []
        """
        from ..inspect.health import health

        return health(self._checked_snapshot(), thresholds)
