"""The row of a table in the database of a SQL catalog: it alone is asked and changed, and only in its old state."""

from __future__ import annotations

import itertools
import sqlite3
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tableformats.catalog.pyiceberg_commits import is_sql
from tableformats.catalog.swaps import sql as swaps
from tableformats.io.stores.base import PutOutcome

NAMES = list(itertools.product("ab", "nm", "tu"))
"""Catalogs, namespaces and names: each with a table of its own, all in one database."""


@pytest.fixture
def catalogs(tmp_path: Path) -> dict[str, Any]:
    pyiceberg = pytest.importorskip("pyiceberg.catalog.sql")
    pytest.importorskip("sqlalchemy")
    given = {"uri": f"sqlite:///{tmp_path}/c.db", "warehouse": str(tmp_path)}
    found = {name: pyiceberg.SqlCatalog(name, **given) for name in "ab"}
    rows = pyiceberg.IcebergTables.__table__
    with found["a"].engine.begin() as connection:
        for catalog, namespace, name in NAMES:
            values = {"catalog_name": catalog, "table_namespace": namespace, "table_name": name}
            connection.execute(rows.insert().values(**values, metadata_location=f"{catalog}{namespace}{name}-0"))
    return found


def locations(catalogs: dict[str, Any]) -> list[str | None]:
    return [swaps.located(catalogs[catalog], (namespace, name)) for catalog, namespace, name in NAMES]


@pytest.mark.parametrize("at", range(len(NAMES)))
def test_one_row_is_changed(catalogs: dict[str, Any], at: int) -> None:
    expected = [f"{''.join(names)}-0" for names in NAMES]
    assert locations(catalogs) == expected
    catalog, namespace, name = NAMES[at]
    given = catalogs[catalog], (namespace, name)
    assert swaps.swap(*given, "another", "new") is PutOutcome.LOST
    assert swaps.swap(*given, expected[at - 1], "new") is PutOutcome.LOST
    assert locations(catalogs) == expected
    assert swaps.swap(*given, expected[at], "new") is PutOutcome.WON
    expected[at] = "new"
    assert locations(catalogs) == expected
    with catalogs[catalog].engine.connect() as connection:
        asked = "SELECT previous_metadata_location FROM iceberg_tables WHERE metadata_location = 'new'"
        found = connection.exec_driver_sql(asked).fetchall()
    assert found == [(f"{catalog}{namespace}{name}-0",)]


def test_a_table_that_is_not_there(catalogs: dict[str, Any]) -> None:
    assert swaps.located(catalogs["a"], ("n", "nowhere")) is None
    assert swaps.swap(catalogs["a"], ("n", "nowhere"), "anm-0", "new") is PutOutcome.LOST


def test_a_database_that_does_not_count_what_it_changed_is_not_trusted(
    catalogs: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog = catalogs["a"]
    assert is_sql(catalog)
    monkeypatch.setattr(catalog.engine.dialect, "supports_sane_rowcount", False)
    assert not is_sql(catalog) and not is_sql(object.__new__(type(catalog)))


class Failed:
    """A connection of SQLAlchemy on which a commit failed."""

    def __init__(self, driven: Any, fault: Exception | None = None) -> None:
        self.dbapi_connection, self.fault = driven, fault
        self.done: list[str] = []

    def rollback(self) -> None:
        self.done.append("rolled back")
        if self.fault is not None:
            raise self.fault

    def invalidate(self) -> None:
        self.done.append("given up")


@pytest.mark.parametrize("is_open", [False, True])
def test_what_sqlite_says_of_a_commit_that_failed(is_open: bool) -> None:
    driven = sqlite3.connect(":memory:", isolation_level=None)
    if is_open:
        driven.execute("BEGIN")
    for fault in (None, OSError("gone")):
        connection = Failed(driven, fault)
        outcome = PutOutcome.LOST if is_open and fault is None else PutOutcome.UNKNOWN
        assert swaps._rolled_back(connection) is outcome
        assert connection.done == (["rolled back"] if fault is None else ["rolled back", "given up"])
    driven.close()


@pytest.mark.parametrize("is_open", [False, True])
def test_what_other_databases_say_of_a_commit_that_failed(is_open: bool) -> None:
    assert swaps._rolled_back(Failed(SimpleNamespace(in_transaction=is_open))) is PutOutcome.UNKNOWN


@pytest.mark.parametrize(("version", "has_types"), [("v0", False), ("v1", True), (None, False)])
def test_rows_that_say_that_they_are_tables(version: str | None, has_types: bool) -> None:
    assert swaps._has_types(SimpleNamespace(_schema_version=version)) is has_types
    assert swaps._has_types(SimpleNamespace()) is False
