"""Whether what another writer committed is in conflict with a change. Conflicts are found by pruning.

A change depends on the rows for which a condition was TRUE. A winner's new file is in conflict if the pruning program,
over the winner's own statistics, cannot exclude that it holds such a row. Which checks count is the format's data; see
:class:`tableformats.plugin.ConflictCheck`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from ..columnar import compute as pc
from ..plugin.files import FileBatch
from ..plugin.snapshot import FormatSnapshot
from ..plugin.statistics import Bounds
from ..plugin.writing.table_change import CommittedChange, ConflictCheck, TableChange
from ..pruning.compiled_predicate import NONE, CompiledPredicate

if TYPE_CHECKING:
    from ..plugin.partitions import PartitionSpec

__all__ = ["ConflictFinder"]


class ConflictFinder:
    """Finds what of a winner is in conflict with one change.

    Parameters
    ----------
    change : TableChange
        Its condition and its files are those of ``snapshot``.
    snapshot : FormatSnapshot, optional
        The version that the change was made upon. None: there was no table.
    checks : frozenset of ConflictCheck
        What counts.
    """

    def __init__(self, change: TableChange, snapshot: FormatSnapshot | None, checks: frozenset[ConflictCheck]) -> None:
        self._checks = checks
        self._application = change.application
        self._predicate = None if change.read is None else CompiledPredicate(change.read)
        self._paths = _paths(change, snapshot)

    def __call__(self, winner: CommittedChange) -> str | None:
        """What of ``winner`` is in conflict, in words; None: nothing.

        Raises
        ------
        CorruptMetadataError
            The winner's statistics are damaged.
        """
        checks = self._checks
        if winner.metadata_changed and ConflictCheck.METADATA in checks:
            return ConflictCheck.METADATA.value
        if winner.protocol_changed and ConflictCheck.PROTOCOL in checks:
            return ConflictCheck.PROTOCOL.value
        if winner.domains and ConflictCheck.DOMAINS in checks:
            return f"{ConflictCheck.DOMAINS.value}: {', '.join(sorted(winner.domains))}"
        if self._application is not None and self._application[0] in winner.applications:
            return f"it is of the same application {self._application[0]!r}"
        if ConflictCheck.TOUCHED in checks and self._is_touched(winner):
            return ConflictCheck.TOUCHED.value
        if self._counts_rows(winner) and any(self._may_match(batch, winner.specs) for batch in winner.added):
            return ConflictCheck.ADDED.value
        return None

    def _is_touched(self, winner: CommittedChange) -> bool:
        if self._paths is None or winner.touched is None or not len(winner.touched):
            return False
        return bool(pc.any(pc.is_in(winner.touched, value_set=self._paths)).as_py())

    def _counts_rows(self, winner: CommittedChange) -> bool:
        """Whether rows that the winner added count as rows that were there to be read."""
        if self._predicate is None or not winner.data_change:
            return False
        if ConflictCheck.ADDED in self._checks:
            return True
        return ConflictCheck.ADDED_AFTER_READING in self._checks and not winner.is_blind_append

    def _may_match(self, batch: FileBatch, specs: Mapping[int, PartitionSpec]) -> bool:
        """Whether a live file of the batch may hold a row for which the condition is TRUE."""
        predicate, n = self._predicate, len(batch.files)
        assert predicate is not None
        if not n:
            return False
        columns = predicate.columns
        bounds = Bounds() if batch.statistics is None else batch.statistics.bounds(columns, None)
        counts = bounds.record_count
        if "record_count" in batch.files.schema.names:
            counts = batch.files.column("record_count")
        if counts is None:
            counts = pa.nulls(n, pa.int64())
        verdicts = predicate.verdicts(specs[batch.spec_id], batch.files.column("partition"), bounds, counts)
        live = np.ones(n, bool) if batch.live is None else batch.live
        return bool(((verdicts != NONE) & live).any())


def _paths(change: TableChange, snapshot: FormatSnapshot | None) -> pa.Array | None:
    """Absolute paths of the files that the change removes or has read; None: of none."""
    found = [
        chunk
        for files in (change.removed, change.read_files)
        if files is not None
        for chunk in files.column("path").chunks
    ]
    if not found or snapshot is None:
        return None
    return snapshot.resolve_paths(pa.concat_arrays(found))
