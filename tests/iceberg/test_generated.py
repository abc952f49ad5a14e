"""Tables that PyIceberg wrote: every transform on every type, with names and partition specs that change in between.

One table a type. Its snapshots append the same rows, each under another spec; the column is renamed and another one
added on the way. The row model (``tests/support/rowmodel.py``) says which rows a filter keeps.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

import tableformats as tf
from tableformats.expressions import tree as ex
from tableformats.schema import arrow_type
from tests.support.examples import one_of
from tests.support.pyiceberg_tables import VALUES, catalog, evolving
from tests.support.rowmodel import is_kept

__all__ = ["catalog"]


@pytest.mark.parametrize("kind", one_of(2, VALUES))
def test_every_transform_on_a_type(catalog: SqlCatalog, kind: str) -> None:
    values = VALUES[kind][1]
    table, times = evolving(catalog, kind)
    table.manage_snapshots().create_tag(table.snapshots()[0].snapshot_id, "first").commit()
    table.manage_snapshots().create_branch(table.snapshots()[-1].snapshot_id, "second").commit()
    opened = tf.open_table(table.metadata_location)
    check(opened.snapshot(), values, times)
    check(opened.snapshot(tag="first"), values, 1, most=3)
    check(opened.snapshot(branch="second"), values, times, most=3)
    table.delete("id = 0")
    check(tf.open_table(table.metadata_location).snapshot(), values, times, without=0, most=6)


def check(
    snapshot: tf.Snapshot, values: list[Any], times: int, without: int | None = None, most: int | None = None
) -> None:
    """Every filter by every value keeps the rows that the model keeps, ``times`` times."""
    column = next(f for f in snapshot.schema if f.id == 2)
    canonical = canonical_of(pa.array([*values, None], arrow_type(column.type)))
    model = [{1: i, 2: value} for i, value in enumerate(canonical) if i != without]
    ref = tf.col(f"`{column.name}`")
    filters: list[Any] = [None, ref.is_null(), ref.is_not_null()]
    literals = [ex.Literal(v, column.type) for v in canonical[:-1]]
    target = ex.Reference((column.name,))
    filters += [ex.Comparison(op, target, v) for v in literals for op in ("=", "<", ">=")]
    filters += [ex.Comparison("!=", target, literals[-1]), ex.In(target, (literals[0], literals[-1]))]
    dropped = 0
    for filter in filters[:most]:
        scan = snapshot.scan(filter, columns=["id"])
        kept = [row[1] for row in model if is_kept(scan.filter, row)]
        assert Counter(scan.to_arrow()["id"].to_pylist()) == Counter(kept * times), str(filter)
        assert scan.count() == len(kept) * times
        report = scan.plan().report
        dropped += report.files_total - report.files_planned
    assert dropped or times < 3 or most is not None


def canonical_of(values: pa.Array) -> list[Any]:
    """Values as literals hold them: dates, times and timestamps as what they count."""
    if pa.types.is_date32(values.type):
        return list(values.cast(pa.int32()).to_pylist())
    if pa.types.is_timestamp(values.type) or pa.types.is_time64(values.type):
        return list(values.cast(pa.int64()).to_pylist())
    return list(values.to_pylist())
