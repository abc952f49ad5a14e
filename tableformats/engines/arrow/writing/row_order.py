"""The order of rows in a data file: :func:`sorted_rows`.

NULLs come where the order says, and floats as IEEE 754 orders them: -NaN, -Infinity, ..., -0.0, 0.0, ..., NaN.
Source: Iceberg spec, "Sorting".
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ....columnar.arrays import to_numpy
from ....plugin.writing.write_target import SortColumn, WriteTarget
from ....schema import Type
from ....schema.transform_values import transformed

__all__ = ["sorted_rows"]


def sorted_rows(table: pa.Table, target: WriteTarget) -> pa.Table:
    """The rows in the order of a target; those that are equal in it stay as they are.

    Raises
    ------
    ValueError
        A transform is not known, or not one of such a column.
    """
    keys: dict[str, pa.Array] = {}
    order: list[tuple[str, str]] = []
    for number, column in enumerate(target.sort_by):
        direction = "descending" if column.descending else "ascending"
        values = _values(table, target, column)
        if values.null_count:
            keys[f"n{number}"] = pc.is_null(values)
            order.append((f"n{number}", "descending" if column.nulls_first else "ascending"))
        keys[f"k{number}"] = _total_order(values) if pa.types.is_floating(values.type) else values
        order.append((f"k{number}", direction))
    if not order or table.num_rows < 2:
        return table
    return table.take(pc.sort_indices(pa.table(keys), sort_keys=order))


def _values(table: pa.Table, target: WriteTarget, column: SortColumn) -> pa.Array:
    path = target.schema.path_of(column.source_id)
    found = table.column(path[0].name)
    values = found.chunk(0) if found.num_chunks == 1 else found.combine_chunks()
    for member in path[1:]:
        values = pc.struct_field(values, [values.type.get_field_index(member.name)])
    kind: Type = path[-1].type
    return values if column.transform is None else transformed(column.transform, values, kind)


def _total_order(values: pa.Array) -> pa.Array:
    """Integers in the order of floats; null stays null."""
    bits = np.dtype(f"i{values.type.bit_width // 8}")
    numbers = to_numpy(pc.fill_null(values, pa.scalar(0.0, values.type))).view(bits)
    ordered = np.where(numbers < 0, numbers ^ np.iinfo(bits).max, numbers)
    return pa.array(ordered, mask=to_numpy(pc.is_null(values)) if values.null_count else None)
