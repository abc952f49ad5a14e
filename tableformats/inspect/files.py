"""All files of a snapshot, as a plan and as an Arrow table."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

    from ..planning.handle import SnapshotHandle
    from ..planning.plan import FilePlan

__all__ = ["files_of", "plan_of"]


def plan_of(snapshot: SnapshotHandle) -> FilePlan:
    """The plan of all files of ``snapshot``. Raises the errors of planning."""
    from ..planning.planner import plan_scan
    from ..planning.request import ScanRequest

    return plan_scan(ScanRequest.all_rows(snapshot.reattached()))


def files_of(snapshot: SnapshotHandle) -> pa.Table:
    """All files of ``snapshot``, with the columns of :attr:`tableformats.ScanPlan.files`.

    Raises the errors of planning.
    """
    from ..planning.public_files import public_files

    return public_files(plan_of(snapshot))
