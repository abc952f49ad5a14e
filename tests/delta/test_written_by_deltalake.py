"""Tables as delta-rs writes them, with what it makes of bounds: predicates leave the rows that the row model leaves."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tableformats import open_table
from tests.support import rowmodel
from tests.support.examples import examples
from tests.support.strategies import VALUES, predicates_over, to_array, type_of

deltalake = pytest.importorskip("deltalake", reason="needs the extra [test]")

Rows = list[dict[str, Any]]


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[str], list[Rows]]:
    """Kinds, which are the columns' names too, and the rows of some files, of few values a file."""
    kinds = draw(st.lists(st.sampled_from(sorted(VALUES)), min_size=1, max_size=4, unique=True))
    files = []
    for _ in range(draw(st.integers(1, 4))):
        few = {kind: draw(st.lists(st.none() | VALUES[kind], min_size=1, max_size=2)) for kind in kinds}
        row = st.fixed_dictionaries({kind: st.sampled_from(values) for kind, values in few.items()})
        files.append(draw(st.lists(row, min_size=1, max_size=3)))
    return kinds, files


@settings(max_examples=examples(60), deadline=None)
@pytest.mark.parametrize("settled", ["commits", "text", "struct"])
@given(drawn=tables(), data=st.data())
def test_rows(settled: str, drawn: tuple[list[str], list[Rows]], data: st.DataObject) -> None:
    """The log is commits, or a checkpoint with statistics as text or as ``stats_parsed``."""
    kinds, files = drawn
    with TemporaryDirectory() as folder:
        root = str(Path(folder) / "t")
        for rows in files:
            deltalake.write_deltalake(root, _table(kinds, rows), mode="append", configuration=_SETTINGS[settled])
        if settled != "commits":
            deltalake.DeltaTable(root).create_checkpoint()
        scan = open_table(root).scan()
        every = [row for rows in files for row in rows]
        columns = {kind: (kind, [row[kind] for row in every if row[kind] is not None]) for kind in kinds}
        ids = {field.name: field.id for field in scan.schema}
        for _ in range(3):
            filtered = scan.where(data.draw(predicates_over(columns)))
            kept = [row for row in every if rowmodel.is_kept(filtered.filter, {ids[k]: row[k] for k in kinds})]
            assert _rows(filtered.to_arrow(), kinds) == _rows(_table(kinds, kept), kinds), filtered.filter


_SETTINGS = {
    "commits": None,
    "text": {"delta.checkpoint.writeStatsAsStruct": "false"},
    "struct": {"delta.checkpoint.writeStatsAsStruct": "true", "delta.checkpoint.writeStatsAsJson": "false"},
}


def _table(kinds: list[str], rows: Rows) -> pa.Table:
    return pa.table({kind: to_array([row[kind] for row in rows], type_of(kind)) for kind in kinds})


def _rows(table: pa.Table, kinds: list[str]) -> list[str]:
    return sorted(map(repr, zip(*(table[kind].to_pylist() for kind in kinds), strict=True)))
