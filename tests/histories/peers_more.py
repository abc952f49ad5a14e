"""More known bugs, staged: checkpoints, two writers upon one version, and what a REST catalog's 503 means."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import tableformats as tf

from ..support.rest_catalog import RestCatalogStub

__all__ = ["MORE"]

ROWS = pa.table({"id": [7]})
Outcome = str


# ---- F6: checkpoints without compression -----------------------------------------------------------------------------


def _checkpoint(write: Callable[[str], None]) -> Outcome:
    with tempfile.TemporaryDirectory() as folder:
        tf.create_table(f"{folder}/t", ROWS.schema, format="delta", properties={"delta.checkpointInterval": "1000"})
        for number in range(3):
            tf.open_table(f"{folder}/t").append(pa.table({"id": [number]}))
        write(f"{folder}/t")
        (path,) = Path(folder, "t", "_delta_log").glob("*.checkpoint.parquet")
        group = pq.ParquetFile(path).metadata.row_group(0)
        found = {group.column(number).compression for number in range(group.num_columns)} - {"UNCOMPRESSED"}
    return f"right: {' and '.join(sorted(found)).lower()}" if found else "wrong: uncompressed"


def _checkpoint_by_deltalake(location: str) -> None:
    import deltalake

    deltalake.DeltaTable(location).create_checkpoint()


# ---- F7: the hint names a checkpoint that is gone --------------------------------------------------------------------


def _gone(read: Callable[[str], list[int]]) -> Outcome:
    with tempfile.TemporaryDirectory() as folder:
        tf.create_table(f"{folder}/t", ROWS.schema, format="delta").append(pa.table({"id": [1]}))
        tf.open_table(f"{folder}/t").checkpoint()
        for path in Path(folder, "t", "_delta_log").glob("*.checkpoint.parquet"):
            path.unlink()
        try:
            return f"right: rows {found}" if (found := read(f"{folder}/t")) == [1] else f"wrong: rows {found}"
        except Exception as error:
            return f"wrong: {type(error).__name__}, though all commits are there"


def _read_by_deltalake(location: str) -> list[int]:
    import deltalake

    return list(deltalake.DeltaTable(location).to_pyarrow_table()["id"].to_pylist())


def _read_by_us(location: str) -> list[int]:
    return list(tf.open_table(location).to_arrow()["id"].to_pylist())


# ---- F9: a REST catalog answers 503 to a commit that landed ----------------------------------------------------------


def _rest(write: Callable[[dict[str, str]], None]) -> Outcome:
    with tempfile.TemporaryDirectory() as folder, RestCatalogStub() as stub:
        stub.tables[("n", "other")] = {}
        stub.warehouse = folder
        properties = stub.properties()
        tf.create_table("n.t", ROWS.schema, format="iceberg", catalog=properties).append(pa.table({"id": [1]}))
        stub.commit_fault, told = (503, True), "success"
        try:
            write(properties)
        except Exception as error:
            told = type(error).__name__
        stub.commit_fault = None
        try:
            ids = sorted(tf.open_table("n.t", catalog=properties).to_arrow()["id"].to_pylist())
        except OSError:
            return f"wrong: {told}, and files that the table names are deleted"
    # PyIceberg has an error for an unknown outcome, which callers must not take for a failure.
    is_told = told in ("success", "CommitStateUnknownException")
    return f"{'right' if ids == [1, 7] and is_told else 'wrong'}: {told}, rows {ids}"


def _rest_by_pyiceberg(properties: dict[str, str]) -> None:
    from pyiceberg.catalog import load_catalog

    load_catalog(**properties).load_table("n.t").append(ROWS)


def _rest_by_us(properties: dict[str, str]) -> None:
    tf.open_table("n.t", catalog=properties).append(ROWS)


# ---- two writers upon one version ------------------------------------------------------------------------------------


def _judged(told: list[str], ids: list[int], explained: dict[int, list[int]]) -> Outcome:
    """``explained``: the rows after as many writers succeeded, the first one always."""
    done = told.count("success")
    return f"{'right' if explained.get(done) == ids else 'wrong'}: {', '.join(told)}, rows {ids}"


def _both(*writes: Callable[[], Any]) -> list[str]:
    told = []
    for write in writes:
        try:
            write()
            told.append("success")
        except Exception as error:
            told.append(type(error).__name__)
    return told


def _overwrites(begin: Callable[[str, int], Callable[[], Any]]) -> Outcome:
    """Two overwrites of all rows, both upon version 1 (delta-rs#3622)."""
    with tempfile.TemporaryDirectory() as folder:
        tf.create_table(f"{folder}/t", ROWS.schema, format="delta").append(pa.table({"id": [1]}))
        told = _both(begin(f"{folder}/t", 2), begin(f"{folder}/t", 3))
        return _judged(told, sorted(_read_by_us(f"{folder}/t")), {1: [2], 2: [3]})


def _overwrite_by_deltalake(location: str, number: int) -> Callable[[], Any]:
    import deltalake

    table = deltalake.DeltaTable(location)
    return lambda: deltalake.write_deltalake(table, pa.table({"id": [number]}), mode="overwrite")


def _overwrite_by_us(location: str, number: int) -> Callable[[], Any]:
    table = tf.open_table(location)
    transaction = table.transaction()
    transaction.__enter__()
    transaction.overwrite(pa.table({"id": [number]}))
    return lambda: transaction.__exit__(None, None, None)


def _append_and_overwrite(begin: Callable[[str, int], Callable[[], Any]]) -> Outcome:
    """An append and then an overwrite of all rows, both upon version 1 of a table that asks for Serializable.

    Delta documentation, "Isolation levels and write conflicts": versions have the order of a serial schedule.
    """
    with tempfile.TemporaryDirectory() as folder:
        serializable = {"delta.isolationLevel": "Serializable"}
        table = tf.create_table(f"{folder}/t", ROWS.schema, format="delta", properties=serializable)
        table.append(pa.table({"id": [1]}))
        overwrite = begin(f"{folder}/t", 2)
        told = _both(lambda: table.append(pa.table({"id": [4]})), overwrite)
        return _judged(told, sorted(_read_by_us(f"{folder}/t")), {1: [1, 4], 2: [2]})


def _deletes(begin: Callable[[str, str], Callable[[], Any]]) -> Outcome:
    """Two deletes of rows of one file, both upon version 1 (delta#7163, StarRocks#77709)."""
    with tempfile.TemporaryDirectory() as folder:
        tf.create_table(f"{folder}/t", ROWS.schema, format="delta").append(pa.table({"id": [1, 2, 3]}))
        told = _both(begin(f"{folder}/t", "id = 1"), begin(f"{folder}/t", "id = 2"))
        return _judged(told, sorted(_read_by_us(f"{folder}/t")), {1: [2, 3], 2: [3]})


def _delete_by_deltalake(location: str, where: str) -> Callable[[], Any]:
    import deltalake

    table = deltalake.DeltaTable(location)
    return lambda: table.delete(where)


def _delete_by_us(location: str, where: str) -> Callable[[], Any]:
    return _deleting(tf.open_table(location), where)


def _deleting(table: tf.Table, where: str) -> Callable[[], Any]:
    transaction = table.transaction()
    transaction.__enter__()
    transaction.delete(where)
    return lambda: transaction.__exit__(None, None, None)


def _catalog_deletes(begin: Callable[[Any, str], Callable[[], Any]]) -> Outcome:
    """Two deletes of rows of one file, both upon one snapshot (iceberg-python#3811, hive#5111)."""
    from pyiceberg.catalog.sql import SqlCatalog

    with tempfile.TemporaryDirectory() as folder:
        catalog = SqlCatalog("c", uri=f"sqlite:///{folder}/c.db", warehouse=f"file://{folder}/w")
        catalog.create_namespace("n")
        made = tf.create_table("n.t", ROWS.schema, format="iceberg", catalog=catalog)
        made.append(pa.table({"id": [1, 2, 3]}))
        told = _both(begin(catalog, "id = 1"), begin(catalog, "id = 2"))
        ids = sorted(catalog.load_table("n.t").scan().to_arrow()["id"].to_pylist())
        catalog.close()
    return _judged(told, ids, {1: [2, 3], 2: [3]})


def _catalog_delete_by_pyiceberg(catalog: Any, where: str) -> Callable[[], Any]:
    table = catalog.load_table("n.t")
    return lambda: table.delete(where)


# ---- the table -------------------------------------------------------------------------------------------------------

MORE: dict[str, tuple[str, str, Callable[[], Outcome], Callable[[], Outcome]]] = {
    "checkpoint": (
        "a checkpoint is written",
        "deltalake",
        lambda: _checkpoint(_checkpoint_by_deltalake),
        lambda: _checkpoint(lambda location: tf.open_table(location).checkpoint() and None),
    ),
    "checkpoint is gone": (
        "the hint names a checkpoint that is gone, and all commits are there (delta-rs#1863)",
        "deltalake",
        lambda: _gone(_read_by_deltalake),
        lambda: _gone(_read_by_us),
    ),
    "503 of a catalog": (
        "a REST catalog answers 503 to a commit that landed",
        "PyIceberg",
        lambda: _rest(_rest_by_pyiceberg),
        lambda: _rest(_rest_by_us),
    ),
    "two overwrites": (
        "two overwrites upon one version (delta-rs#3622)",
        "deltalake",
        lambda: _overwrites(_overwrite_by_deltalake),
        lambda: _overwrites(_overwrite_by_us),
    ),
    "append and overwrite": (
        "an append and then an overwrite of all rows upon one version of a serializable table",
        "deltalake",
        lambda: _append_and_overwrite(_overwrite_by_deltalake),
        lambda: _append_and_overwrite(_overwrite_by_us),
    ),
    "two deletes, Delta": (
        "two deletes of rows of one file upon one version (delta#7163, StarRocks#77709)",
        "deltalake",
        lambda: _deletes(_delete_by_deltalake),
        lambda: _deletes(_delete_by_us),
    ),
    "two deletes, Iceberg": (
        "two deletes of rows of one file upon one snapshot (iceberg-python#3811, hive#5111)",
        "PyIceberg",
        lambda: _catalog_deletes(_catalog_delete_by_pyiceberg),
        lambda: _catalog_deletes(lambda catalog, where: _deleting(tf.open_table("n.t", catalog=catalog), where)),
    ),
}
