"""Generated tables through Spark: those that live through random operations, and those that PyIceberg wrote.

Spark must give the rows that Arrow gives; the laboratory's row model says which these are.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tableformats as tf
from tests.support import rowmodel
from tests.support.examples import one_of
from tests.support.lab import Lab
from tests.support.lab_delta import DeltaLab
from tests.support.lab_iceberg import IcebergLab
from tests.support.pyiceberg_tables import VALUES, catalog, evolving
from tests.support.rows import rows, spark_rows
from tests.support.strategies import predicates_over

EXAMPLES = int(os.environ.get("TABLEFORMATS_EXAMPLES", 50)) // 10
__all__ = ["catalog"]


@settings(max_examples=EXAMPLES)
@pytest.mark.parametrize("laboratory", [DeltaLab, IcebergLab], ids=lambda lab: lab.__name__)
@given(data=st.data())
def test_tables_that_live(spark: Any, laboratory: type[Lab], data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        lab = laboratory(Path(folder) / "t", data.draw)
        # Hadoop opens no local file whose name has a colon: its checksum's name would be that of a store.
        lab.odd_names = [name for name in lab.odd_names if ":" not in name]
        lab.run()
        version = lab.versions[-1]
        columns = {c.name: (c.kind, [r[c.id] for r in version.rows if r[c.id] is not None]) for c in version.columns}
        scan = tf.open_table(lab.root).scan()
        assert spark_rows(scan.to_spark(spark)) == rows(version.to_arrow(version.rows))
        filtered = scan.where(data.draw(predicates_over(columns)))
        kept = [row for row in version.rows if rowmodel.is_kept(filtered.filter, row)]
        assert spark_rows(filtered.to_spark(spark)) == rows(version.to_arrow(kept)), filtered.filter


# Times are behind a setting, see test_times.py.
@pytest.mark.parametrize("kind", one_of(3, [kind for kind in VALUES if kind != "time"]))
def test_every_transform_on_a_type(spark: Any, catalog: Any, kind: str) -> None:
    table, times = evolving(catalog, kind)
    table.delete("id = 0")
    scan = tf.open_table(table.metadata_location).scan()
    frame = scan.to_spark(spark)
    assert frame.count() == times * len(VALUES[kind][1])
    assert spark_rows(frame, scan.schema.to_arrow()) == rows(scan.to_arrow())
    column = next(f.name for f in scan.schema if f.id == 2)
    missing = scan.where(tf.col(f"`{column}`").is_null())
    assert spark_rows(missing.to_spark(spark), scan.schema.to_arrow()) == rows(missing.to_arrow())
    assert missing.to_spark(spark).count() == times
