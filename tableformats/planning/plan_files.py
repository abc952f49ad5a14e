"""``plan.files``: the survivors of a plan under public names, made when somebody asks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from ..columnar import compute as pc
from ..columnar.arrays import flat, to_arrow
from ..plugin.deletes import deletes_type
from ..plugin.partitions import partition_members
from ..schema import Field
from ..table.scan import ScanPlan

__all__ = ["public_files"]


def public_files(plan: ScanPlan) -> pa.Table:
    """``plan.files``; see :attr:`tableformats.table.scan.ScanPlan.files`."""
    snapshot, survivors = plan.snapshot.format_snapshot, plan.survivors
    columns: dict[str, Any] = {
        "path": plan.paths,
        "size_bytes": survivors["size_bytes"],
        "record_count": plan.record_counts,
        "spec_id": survivors["spec_id"],
        "partition": _named_partition(flat(survivors["partition"]), partition_members(snapshot.specs)),
        "deletes": _public_deletes(plan),
        "fully_matched": survivors["fully_matched"],
    }
    columns.update({name: survivors[name] for name in snapshot.extra_columns if name in survivors.column_names})
    return pa.table(columns)


def _named_partition(partition: pa.StructArray, fields: Sequence[Field]) -> pa.StructArray:
    if not fields:
        return partition
    arrays = [partition.field(i) for i in range(len(fields))]
    return pa.StructArray.from_arrays(arrays, names=[f.name for f in fields])


def _public_deletes(plan: ScanPlan) -> pa.Array:
    files, kind = plan.delete_files.files, deletes_type()
    columns = {name: flat(files[name]) for name in ("kind", "path", "offset", "cardinality")}
    known = pc.drop_null(columns["path"])
    if len(known):
        resolved = plan.snapshot.format_snapshot.resolve_paths(known)
        columns["path"] = pc.replace_with_mask(columns["path"], pc.is_valid(columns["path"]), resolved)
    structs = pa.StructArray.from_arrays(
        [pc.cast(columns[f.name], f.type) for f in kind.value_type], fields=list(kind.value_type)
    )
    chosen = pc.take(structs, to_arrow(plan.delete_files.indices))
    return pa.ListArray.from_arrays(to_arrow(plan.delete_files.offsets.astype(np.int32)), chosen, type=kind)
