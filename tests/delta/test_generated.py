"""Generated Delta tables read value by value, whole and filtered; a filter that can drop files does."""

from __future__ import annotations

from pathlib import Path

import pytest

from tableformats import open_table
from tests.support.delta_cases import CASES, PARTITIONS, VALUES, chosen
from tests.support.rows import rows


@pytest.mark.parametrize("name", CASES)
def test_rows(tmp_path: Path, name: str) -> None:
    case = CASES[name](tmp_path / "t")
    table = open_table(case.root)
    found = table.scan(columns=case.columns).to_arrow()
    assert found.column_names == case.rows.column_names
    assert rows(found) == rows(case.rows.cast(found.schema))
    assert table.scan().count() == case.rows.num_rows
    for where in case.answers:
        scan = table.scan(where, columns=case.columns)
        assert rows(scan.to_arrow()) == chosen(case, where, found.schema), where
        assert scan.count() == len(case.answers[where]), where


@pytest.mark.parametrize("name", [f"values: {n}" for n in VALUES] + [f"partitions: {n}" for n in PARTITIONS])
def test_files_are_dropped(tmp_path: Path, name: str) -> None:
    """What is read right is not read right by reading all."""
    case = CASES[name](tmp_path / "t")
    table = open_table(case.root)
    files = len(table.scan().plan())
    assert min(len(table.scan(where).plan()) for where in case.answers) < files
