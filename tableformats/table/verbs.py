"""What users of other libraries type first: ``head``, ``plan``, ``count``, ``to_arrow``, ``to_pandas`` of a table or a
snapshot. Each is a scan with the same arguments, and its verb.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from ..habits import WithHabits

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow as pa

    from .scan import Scan, ScanPlan

__all__ = ["ScanVerbs"]


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
