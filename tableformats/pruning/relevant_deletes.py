"""Deletes that a predicate makes needless: those that delete no row for which it can be TRUE."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from ..columnar import compute as pc
from ..columnar.arrays import scalar, to_arrow
from ..plugin.deletes import DeleteFiles
from ..plugin.partitions import PartitionSpec
from .compiled_predicate import NONE, CompiledPredicate

__all__ = ["relevant_deletes"]


def relevant_deletes(program: CompiledPredicate, deletes: DeleteFiles) -> DeleteFiles:
    """``deletes`` without those whose statistics rule the predicate out for every row that they delete.

    The rows that they would have deleted are left out by the predicate; their files lose nothing else.
    """
    if deletes.statistics is None or not program.columns or not deletes.files.num_rows:
        return deletes
    bounds = deletes.statistics.bounds(program.columns, None)
    records = pc.coalesce(deletes.files["record_count"].combine_chunks(), scalar(None, pa.int64()))
    nowhere = pa.StructArray.from_buffers(pa.struct([]), len(records), [None])
    kept = program.verdicts(PartitionSpec(0, ()), nowhere, bounds, records) != NONE
    if kept.all():
        return deletes
    rows = np.flatnonzero(kept)
    chosen = kept[deletes.indices]
    owners = np.repeat(np.arange(len(deletes.offsets) - 1), np.diff(deletes.offsets))[chosen]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=len(deletes.offsets) - 1))])
    indices = np.searchsorted(rows, deletes.indices[chosen]).astype(np.int32)
    files = pc.take(deletes.files, to_arrow(rows))
    return replace(deletes, files=files, offsets=offsets.astype(np.int64), indices=indices, statistics=None)
