"""The laboratory: tables that live through random operations are read at every version as the row model says.

For each version: the rows, the rows of random filters, counts from metadata, and the verdict on every file; and
once more after the directory was moved.
``TABLEFORMATS_EXAMPLES`` sets how many tables each test makes (the plain run: a few, the nightly one: thousands).
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

import tableformats as tf
from tests.support import rowmodel
from tests.support.examples import examples
from tests.support.lab import Lab, Version
from tests.support.lab_delta import DeltaLab
from tests.support.lab_iceberg import IcebergLab
from tests.support.strategies import predicates_over
from tests.support.summary import CASES

EXAMPLES = int(os.environ.get("TABLEFORMATS_EXAMPLES", examples(60)))
FILTERS = 3


def canonical(table: pa.Table) -> list[str]:
    """Rows that compare: NaN is itself, -0.0 is not 0.0, no order."""
    return sorted(map(repr, zip(*(column.to_pylist() for column in table.columns), strict=True)))


def check_rows(scan: tf.Scan, version: Version, wanted: Iterable[Any]) -> None:
    expected = version.to_arrow(wanted)
    found = scan.to_arrow()
    assert found.column_names == expected.column_names
    assert canonical(found) == canonical(expected), (version.number, scan.filter)
    assert scan.count() == expected.num_rows


def check_files(plan: tf.ScanPlan, version: Version, predicate: Any) -> None:
    """A dropped file holds no live row that matches, a fully matched one none that does not."""
    matched = dict(zip((Path(p).name for p in plan.file_uris()), plan.files["fully_matched"].to_pylist(), strict=True))
    for path, rows in version.files.items():
        outcomes = [rowmodel.is_kept(predicate, row) for row in rows]
        assert path in matched or not any(outcomes), f"{path} was dropped although a row matches {predicate}"
        assert not matched.get(path) or all(outcomes), f"{path} is no full match of {predicate}"
        event("dropped" if path not in matched else "kept")


def check_parts(plan: tf.ScanPlan, target_size: int) -> None:
    """The parts of the files have every row once, whatever their size, and so have all groups of them."""
    whole = canonical(plan.to_arrow())
    groups = plan.splits(target_size, open_cost=0)
    parts = [plan.scan.schema.to_arrow().empty_table(), *map(plan.to_arrow, groups)]
    assert canonical(pa.concat_tables(parts)) == whole
    event(f"parts {sum(map(len, groups)) > len(plan)}")


def check_version(table: tf.Table, version: Version, number: Any, draw: Any) -> None:
    CASES["versions read by the laboratory"] += 1
    check_rows(table.scan(version=number), version, version.rows)
    columns = {c.name: (c.kind, [r[c.id] for r in version.rows if r[c.id] is not None]) for c in version.columns}
    for _ in range(FILTERS):
        CASES["tables and predicates judged by the row model"] += 1
        scan = table.scan(draw(predicates_over(columns)), version=number)
        kept = [row for row in version.rows if rowmodel.is_kept(scan.filter, row)]
        check_rows(scan, version, kept)
        check_files(scan.plan(), version, scan.filter)
    check_parts(scan.plan(), draw(st.integers(100, 2000)))


@settings(max_examples=EXAMPLES)
@pytest.mark.parametrize("laboratory", [DeltaLab, IcebergLab], ids=lambda lab: lab.__name__)
@given(data=st.data())
def test_every_version_is_read_as_the_model_says(laboratory: type[Lab], data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        lab = laboratory(Path(folder) / "t", data.draw)
        lab.run()
        table = tf.open_table(lab.root)
        last = lab.versions[-1]
        check_version(table, last, None, data.draw)
        older = [v for v in lab.versions if v.number is not None]
        for version in {id(v): v for v in (data.draw(st.sampled_from(older)), older[-1])}.values():
            check_version(table, version, version.number, data.draw)
        if data.draw(st.booleans()):
            moved = lab.root.rename(lab.root.with_name("moved"))
            table = tf.open_table(moved, relocate=True)
            check_version(table, last, None, data.draw)
