"""Delta tables with data files for what no stored table covers: their rows, and the rows of filters, are known.

Each case writes its table below a folder and says what a reader must find there. Every table has a column ``id``
that tells its rows apart.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from tests.support.delta_cases.case import Case
from tests.support.delta_cases.histories import HISTORIES, column_mapping, odd_names
from tests.support.delta_cases.partitions import PARTITIONS, partition_case
from tests.support.delta_cases.values import VALUES, values_case
from tests.support.rows import rows

CASES: dict[str, Callable[[Path], Case]] = {
    **{f"values: {name}": partial(values_case, *case) for name, case in VALUES.items()},
    **{f"partitions: {name}": partial(partition_case, *case) for name, case in PARTITIONS.items()},
    **{f.__name__.replace("_", " "): f for f in HISTORIES},
    **{f"renamed and named again, mode {mode}": column_mapping(mode) for mode in ("name", "id")},
    **{f"odd names, mode {mode}": odd_names(mode) for mode in (None, "name", "id")},
}


def chosen(case: Case, where: str, schema: pa.Schema) -> list[str]:
    """The rows that a filter must give."""
    ids = pa.array(case.answers[where], pa.int64())
    return rows(case.rows.filter(pc.is_in(case.rows["id"], ids)).cast(schema))


__all__ = ["CASES", "PARTITIONS", "VALUES", "Case", "chosen"]
