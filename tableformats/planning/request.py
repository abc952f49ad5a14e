"""What is planned: :class:`ScanRequest`, the rows of one snapshot for which a predicate is TRUE."""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, Literal

from .. import expressions as ex
from ..dataclass import dataclass
from ..display import shortened
from ..expressions import Expression
from ..runtime.pickling import Portable
from ..schema import Schema
from ..schema.datetimes import current_us
from .handle import SnapshotHandle

if TYPE_CHECKING:
    from ..plugin.columns import MetadataColumn

__all__ = ["ScanRequest"]


@dataclass(frozen=True)
class ScanRequest(Portable):
    """The rows of one snapshot for which ``filter`` is TRUE, restricted to the columns of ``schema``.

    Attributes
    ----------
    snapshot : SnapshotHandle
    filter : Expression
        Bound to the snapshot's schema.
    schema : Schema
        The columns of the result, in order.
    case_sensitive : bool
        Whether further filters and columns are matched by case.
    limit : int, optional
        At most so many rows.
    nan : {"absent"}, optional
        ``"absent"``: files that only an uncounted NaN could make match are left out.
    ansi : bool
        Whether further filters mean what they mean to Spark with ``spark.sql.ansi.enabled``.
    now : int
        The instant of ``now()`` and ``current_date()`` in all filters, in microseconds since the epoch.
    """

    snapshot: SnapshotHandle
    filter: Expression
    schema: Schema
    case_sensitive: bool = False
    limit: int | None = None
    nan: Literal["absent"] | None = None
    ansi: bool = True
    now: int = field(default_factory=current_us, compare=False)

    def __repr__(self) -> str:
        columns = shortened(", ".join(f.name for f in self.schema))
        limit = "" if self.limit is None else f", limit={self.limit}"
        where = f"{self.snapshot.location!r}, version={self.snapshot.version}"
        return (
            f"{type(self).__name__}({where}, filter={shortened(str(self.filter), 200)!r}, columns=[{columns}]{limit})"
        )

    @staticmethod
    def all_rows(snapshot: SnapshotHandle) -> ScanRequest:
        """All rows and columns of ``snapshot``."""
        return ScanRequest(snapshot, ex.TRUE, snapshot.schema)

    @property
    def metadata_columns(self) -> list[MetadataColumn]:
        """Those of the columns that no data file's schema holds."""
        known = {c.field.id: c for c in self.snapshot.format_snapshot.metadata_columns}
        return [known[f.id] for f in self.schema if f.id in known]

    def narrowed(self, filter: Any) -> ScanRequest:
        """The same request with ``filter`` added by AND, and without a limit. Raises InvalidPredicateError."""
        more = self.snapshot.bind(filter, self.case_sensitive, self.ansi, self.now)
        return replace(self, filter=ex.conjunction(self.filter, more), limit=None)

    def reattached(self) -> ScanRequest:
        """This request for a snapshot that can be planned; see :meth:`SnapshotHandle.reattached`."""
        snapshot = self.snapshot.reattached()
        return self if snapshot is self.snapshot else replace(self, snapshot=snapshot)

    def detached(self) -> ScanRequest:
        """This request as other processes get it; see :meth:`SnapshotHandle.detached`."""
        snapshot = self.snapshot.detached()
        return ScanRequest(
            snapshot, self.filter, self.schema, self.case_sensitive, self.limit, self.nan, self.ansi, self.now
        )
