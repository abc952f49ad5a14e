"""``overwrite(data, where="dynamic")``: the files of the partitions that new files lie in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....expressions import tree as ex
from ....schema.scalar_text import python_value

if TYPE_CHECKING:
    import pyarrow as pa

    from ....planning.handle import SnapshotHandle
    from ....planning.plan import FilePlan
    from ....plugin.writing.write_target import WriteTarget

__all__ = ["condition_of_partitions", "files_of_partitions"]

Key = tuple["str | None", ...]


def condition_of_partitions(added: pa.Table, target: WriteTarget, snapshot: SnapshotHandle) -> ex.Expression:
    """A condition, bound, that is TRUE for all rows of the partitions of ``added``, and perhaps for others."""
    import pyarrow.compute as pc

    partition = added.column("partition").combine_chunks()
    terms: list[ex.Expression] = []
    for number, field in enumerate(target.partitioning):
        if str(field.transform) != "identity":
            continue
        values = pc.unique(partition.field(number))
        column = ex.Reference(tuple(f.name for f in target.schema.path_of(field.source_id)))
        try:
            known = tuple(ex.Literal(v) for v in values.drop_null().to_pylist())
        except (OverflowError, ValueError):  # Python lacks one; the others decide, and then the partitions themselves
            continue
        either: list[ex.Expression] = [ex.In(column, known)] if known else []
        if values.null_count:
            either.append(ex.IsNull(column))
        terms.append(either[0] if len(either) == 1 else ex.Or(tuple(either)))
    if not terms:
        return ex.TRUE
    return snapshot.bind(terms[0] if len(terms) == 1 else ex.And(tuple(terms)))


def files_of_partitions(plan: FilePlan, added: pa.Table, target: WriteTarget) -> FilePlan:
    """The files of ``plan`` that lie in a partition of ``added``, by the target's partition spec."""
    import numpy as np

    wanted = set(_keys(added.column("partition"), target))
    keys = _keys(plan.survivors.column("partition"), target)
    specs = plan.survivors.column("spec_id").to_pylist()
    pairs = zip(keys, specs, strict=True)
    rows = [i for i, (key, spec) in enumerate(pairs) if spec == target.spec_id and key in wanted]
    return plan.take(np.array(rows, np.int64))


def _keys(partition: pa.ChunkedArray, target: WriteTarget) -> list[Key]:
    """The partition of each file as texts, which are one for equal values."""
    import pyarrow as pa

    column = pa.concat_arrays(partition.chunks) if partition.num_chunks else None
    if column is None:
        return []
    if not target.partitioning:
        return [()] * len(column)
    names = [f.name for f in column.type]
    members = [_values(column.field(names.index(str(f.id)))) for f in target.partitioning]
    return [
        tuple(_text(target, f, v) for f, v in zip(target.partitioning, values, strict=True))
        for values in zip(*members, strict=True)
    ]


def _values(column: pa.Array) -> list[Any]:
    try:
        return list(column.to_pylist())
    except (OverflowError, ValueError):  # dates and times that Python lacks
        return [python_value(value) for value in column]


def _text(target: WriteTarget, field: Any, value: Any) -> str | None:
    if value is None:
        return None
    is_beyond_python = isinstance(value, str) and str(field.type) != "string"
    return repr(value) if target.partition_text is None or is_beyond_python else target.partition_text(field, value)
