"""The committed tables of real writers: rows at every version equal what the reference reader answered."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tableformats as tf
from tests.support.golden import TABLES, answers

CASES = [
    (folder.name, version)
    for folder in sorted(TABLES.iterdir())
    for version in json.loads((folder / "expected.json").read_text())["versions"]
]


def load(name: str) -> tuple[tf.Table, dict[str, Any]]:
    folder: Path = TABLES / name
    return tf.open_table(folder / "table", relocate=True), json.loads((folder / "expected.json").read_text())


@pytest.mark.parametrize(("name", "version"), CASES)
def test_rows_of_every_version(name: str, version: str) -> None:
    table, expected = load(name)
    assert table.format == expected["format"]
    scan = table.scan(version=int(version))
    wanted = expected["versions"][version]
    assert answers(scan.to_arrow()) == wanted
    assert scan.count() == len(wanted)


@pytest.mark.parametrize("name", sorted({name for name, _ in CASES}))
@pytest.mark.parametrize(
    ("filter", "matches"),
    [
        ("id >= 5 AND id < 12", lambda r: 5 <= r["id"] < 12),
        ("day = DATE '2024-01-02'", lambda r: r["day"] == "2024-01-02"),
        ("ts < '2024-01-02T00:00:00Z' OR note = 'x'", lambda r: r["ts"] < "2024-01-02" or r.get("note") == "x"),
        ("place.city = 'Oslo' AND ok IS NULL", lambda r: (r["place"] or {}).get("city") == "Oslo" and r["ok"] is None),
        ("amount BETWEEN 19.99 AND 59.97", lambda r: 19.99 <= float(r["amount"]) <= 59.97),
        ("score > 1e6", lambda r: r["score"] == "nan"),
        ("NOT (id > 3)", lambda r: r["id"] <= 3),
        ("id IN (1, 9, 17, 99)", lambda r: r["id"] in (1, 9, 17, 99)),
        ("note IS NULL AND id > 15", lambda r: r.get("note") is None and r["id"] > 15),
    ],
)
def test_filtered_rows(name: str, filter: str, matches: Any) -> None:
    table, expected = load(name)
    current = str(table.snapshot().version)
    wanted = [row for row in expected["versions"][current] if matches(row)]
    scan = table.scan(filter)
    assert answers(scan.to_arrow()) == wanted
    assert scan.count() == len(wanted)
    assert len(scan.plan()) <= len(table.scan().plan())


@pytest.mark.parametrize("name", sorted({name for name, _ in CASES}))
def test_filters_prune(name: str) -> None:
    table, _ = load(name)
    total = len(table.scan().plan())
    assert 0 < len(table.scan("ts < '2024-01-02T00:00:00Z'").plan()) < total
    assert len(table.scan("id = 3").plan()) < total / 2
    assert len(table.scan("id < 0").plan()) == 0
    assert table.scan("id < 0").to_arrow().num_rows == 0
