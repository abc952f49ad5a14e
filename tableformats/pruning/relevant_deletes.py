"""Drop deletes that delete only rows for which the predicate is not TRUE anyway."""

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


def relevant_deletes(predicate: CompiledPredicate, deletes: DeleteFiles) -> DeleteFiles:
    """``deletes`` without the delete files whose statistics show that the predicate is TRUE for no row they delete.

    The predicate filters out the rows that these would have deleted, and they delete no others.
    """
    if deletes.statistics is None or not predicate.columns or not deletes.files.num_rows:
        return deletes
    bounds = deletes.statistics.bounds(predicate.columns, None)
    records = pc.coalesce(deletes.files["record_count"].combine_chunks(), scalar(None, pa.int64()))
    no_partition = pa.StructArray.from_buffers(pa.struct([]), len(records), [None])
    is_relevant = predicate.verdicts(PartitionSpec(0, ()), no_partition, bounds, records) != NONE
    if is_relevant.all():
        return deletes
    rows = np.flatnonzero(is_relevant)
    chosen = is_relevant[deletes.indices]
    offsets = np.concatenate([[0], np.cumsum(chosen)])[deletes.offsets]
    indices = np.searchsorted(rows, deletes.indices[chosen]).astype(np.int32)
    files = pc.take(deletes.files, to_arrow(rows))
    return replace(deletes, files=files, offsets=offsets.astype(np.int64), indices=indices, statistics=None)
