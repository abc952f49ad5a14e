"""docs/coming-from.md: what other libraries' users write and what it is here give the same, on the same tables."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tableformats as tf
from tests.support.coming_from import pairs, run

DAYS = (1, 2)
ROWS_DIFFER = ("load_cdf", "get_add_actions", "inspect.files", "history", "list_tables")
"""Calls whose results are tables with other columns than here."""


def rows_of(day: int) -> pa.Table:
    return pa.table({"id": pa.array(range(3 * day - 3, 3 * day), pa.int64()), "day": pa.array([day] * 3, pa.int64())})


def comparable(value: Any) -> Any:
    """Rows in order, or a number; None for what has no common form."""
    if isinstance(value, int):
        return value
    if hasattr(value, "to_arrow_table"):  # DuckDB's
        value = value.to_arrow_table()
    if type(value).__name__ == "DataFrame":
        value = pa.Table.from_pandas(value, preserve_index=False) if hasattr(value, "iloc") else value.to_arrow()
    elif not isinstance(value, pa.Table):
        return None
    return sorted(tuple(sorted(row.items())) for row in value.to_pylist())


class Tables:
    """Tables in the working directory, which are put back after a run that wrote."""

    def __init__(self, place: Path) -> None:
        self._place, self._kept = place, place.with_name("kept")
        shutil.copytree(place, self._kept)
        self._state = self._files()

    def run(self, code: str, location: Any, names: dict[str, Any]) -> tuple[Any, Any]:
        """What the code gives, and the rows that are then in the table and in one that it makes; None: as before."""
        found = comparable(run(code, names))
        if self._files() == self._state:
            return found, None
        made = [tf.open_table("new").to_arrow()] if (self._place / "new").exists() else []
        left = [comparable(t) for t in [tf.open_table(location(), cache=False).to_arrow(), *made]]
        for path in self._place.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        shutil.copytree(self._kept, self._place, dirs_exist_ok=True)
        self._state = self._files()
        return found, left

    def _files(self) -> set[tuple[Path, int]]:
        return {(path, path.stat().st_mtime_ns) for path in self._place.rglob("*")}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return work


def check(tables: Tables, theirs: str, ours: str, location: Any, names: Any) -> None:
    expected = tables.run(theirs, location, names())
    found = tables.run(ours, location, names())
    if any(call in theirs for call in ROWS_DIFFER):
        expected, found = (None, expected[1]), (None, found[1])
    assert found == expected, f"{theirs}\n{ours}\n{expected}\n{found}"


def test_deltalake(place: Path) -> None:
    deltalake = pytest.importorskip("deltalake")
    make_events()
    tables = Tables(place)

    def names() -> dict[str, Any]:
        dt, table = deltalake.DeltaTable("events"), tf.open_table("events", cache=False)
        return {**vars(deltalake), "tf": tf, "table": table, "dt": dt, "more": rows_of(3)}

    for theirs, ours in pairs("deltalake"):
        check(tables, theirs, ours, lambda: "events", names)


def test_polars_and_duckdb(place: Path) -> None:
    pl, duckdb = pytest.importorskip("polars"), pytest.importorskip("duckdb")
    pytest.importorskip("deltalake")
    make_events()
    tables = Tables(place)

    def names() -> dict[str, Any]:
        more = pl.from_arrow(rows_of(3))
        return {
            "tf": tf,
            "table": tf.open_table("events", cache=False),
            "pl": pl,
            "duckdb": duckdb,
            "more_polars": more,
        }

    for theirs, ours in pairs("polars and DuckDB"):
        if "delta_scan" in theirs:  # needs an extension, which DuckDB downloads
            theirs = 'pl.read_delta("events").filter(pl.col("day") == 2)'
        check(tables, theirs, ours, lambda: "events", names)


def make_events() -> None:
    for day in DAYS:
        tf.write_table(
            rows_of(day),
            "events",
            format="delta",
            mode="append",
            partition_by="day",
            properties={"delta.enableChangeDataFeed": "true"},
        )


def test_pyiceberg(place: Path) -> None:
    pytest.importorskip("sqlalchemy")
    from pyiceberg import expressions
    from pyiceberg.catalog.sql import SqlCatalog
    from pyiceberg.table import StaticTable

    def prod() -> Any:
        return SqlCatalog("prod", uri=f"sqlite:///{place}/catalog.db", warehouse=f"file://{place}")

    catalog = prod()
    catalog.create_namespace("db")
    table = catalog.create_table("db.orders", rows_of(1).schema)
    with table.update_spec() as update:
        update.add_identity("day")
    for day in DAYS:
        table.append(rows_of(day))
    first, metadata = table.history()[0].snapshot_id, table.metadata_location
    catalog.close()
    tables = Tables(place)

    def names() -> dict[str, Any]:
        catalog = prod()
        tbl = catalog.load_table("db.orders")
        found = {"tf": tf, "prod": catalog, "tbl": tbl, "first": first, "metadata": metadata, "more": rows_of(3)}
        table = tf.open_table("db.orders", catalog=catalog, cache=False)
        return {**vars(expressions), "StaticTable": StaticTable, **found, "table": table}

    for theirs, ours in pairs("PyIceberg"):
        check(tables, theirs, ours, lambda: prod().load_table("db.orders"), names)
