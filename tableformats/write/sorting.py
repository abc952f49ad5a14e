"""``sort_by``: the order of rows in the files of one write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..errors import ConstraintViolationError
from ..plugin.writing.write_target import SortColumn, WriteTarget

__all__ = ["sorted_target"]


def sorted_target(target: WriteTarget, names: Sequence[str]) -> WriteTarget:
    """``target`` with the order of ``names``, each perhaps with `` desc`` or `` asc`` behind it; none: as it is.

    NULLs come first where values ascend, and last where they descend, as in Spark.

    Raises ConstraintViolationError for a name of no column, and of a nested one.
    """
    if not names:
        return target
    order = []
    for text in names:
        name, _, direction = text.rpartition(" ")
        if direction.lower() not in ("asc", "desc"):
            name, direction = text, "asc"
        column = target.schema.resolve([name.strip()])
        if column is None or column[0].type.is_nested:
            raise ConstraintViolationError(
                "rows are sorted by columns that are not nested",
                field=name,
                hint=f"The table has {', '.join(target.schema.names)}",
            )
        is_descending = direction.lower() == "desc"
        order.append(SortColumn(column[0].id, is_descending, nulls_first=not is_descending))
    return replace(target, sort_by=tuple(order))
