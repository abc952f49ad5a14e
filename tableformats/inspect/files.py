"""All files of a snapshot, as a plan and as an Arrow table, and the partitions that they are in."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from ..planning.handle import SnapshotHandle
    from ..planning.plan import FilePlan

__all__ = ["files_of", "partitions_of", "plan_of"]


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


def partitions_of(files: pa.Table) -> tuple[np.ndarray, np.ndarray]:
    """Which of some files are in the same partition.

    Parameters
    ----------
    files : pyarrow.Table
        With ``spec_id`` and ``partition``.

    Returns
    -------
    codes : int64[n]
        The partition of each file, from 0 on.
    first : int64[partitions]
        A file of each partition.
    """
    import numpy as np

    from ..columnar.arrays import flat
    from ..columnar.grouping import group_codes

    codes = group_codes([flat(files["spec_id"]), *flat(files["partition"]).flatten()])
    first = np.unique(codes, return_index=True)[1]
    return codes, first
