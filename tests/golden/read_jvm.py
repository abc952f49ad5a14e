"""Writes Delta tables with features that other Python readers lack, and has Delta for Spark read and extend them.

    python -m tests.golden.read_jvm FOLDER

Each table is written by this library. Then Delta for Spark reads all rows, appends one, and reads again; and so does
this library. The command exits with the names of tables whose answers differ. It needs what
:mod:`tests.golden.write_jvm` needs.
"""

from __future__ import annotations

import datetime as dt
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

import tableformats as tf
from tests.golden.write_jvm import session
from tests.support.delta_log import field
from tests.support.rows import collect
from tests.write.test_append import ROWS, local_table, with_features
from tests.write.test_features import mapped, tracked_table

Rows = list[dict[str, Any]]


def mapped_by_alterations(path: Path) -> str:
    table = local_table(path, field("id", "long"), field("p", "string"), partition=("p",))
    table.append(pa.table({"id": [1, 2], "p": ["a", None]}))
    table.alter.set_properties({"delta.columnMapping.mode": "name"})
    table.alter.rename_column("p", "q r")
    table.alter.add_columns({"s": "struct<x:int>", "l": "array<struct<y:bigint>>"})
    table.append(pa.table({"id": [3], "q r": ["b"], "l": [[{"y": 5}]]}))
    table.alter.drop_columns("s")
    table.alter.add_columns({"s": "string"})
    return "(id, `q r`) VALUES (10, 'c')"


def mapped_by_id(path: Path) -> str:
    configuration = {"delta.columnMapping.mode": "id", "delta.columnMapping.maxColumnId": "3"}
    inside = {"type": "struct", "fields": [mapped("x", 3, "string")]}
    table = local_table(
        path,
        mapped("id", 1, "long"),
        mapped("s", 2, inside),
        protocol=with_features("columnMapping"),
        configuration=configuration,
    )
    table.append(pa.table({"id": [1], "s": [{"x": "u"}]}))
    return "(id) VALUES (10)"


def tracked(path: Path) -> str:
    table = tracked_table(path)
    table.append(ROWS)
    table.delete("id = 2")
    return "VALUES (10)"


def with_identity(path: Path) -> str:
    given = {"delta.identity.start": 5, "delta.identity.step": 10, "delta.identity.allowExplicitInsert": False}
    columns = field("i", "long", given), field("id", "long")
    local_table(path, *columns, protocol=with_features("identityColumns")).append(ROWS)
    return "(id) VALUES (10)"


def generated(path: Path) -> str:
    table = local_table(
        path,
        field("t", "timestamp"),
        field("day", "date", {"delta.generationExpression": "CAST(t AS DATE)"}),
        field("kind", "string", {"CURRENT_DEFAULT": "'new'"}),
        protocol=with_features("generatedColumns", "allowColumnDefaults"),
        partition=("day",),
    )
    table.append(pa.table({"t": [dt.datetime(2024, 5, 1, 23, tzinfo=dt.timezone.utc), None]}))
    return "(t) VALUES (TIMESTAMP'2024-05-02 01:00:00')"


def widened(path: Path) -> str:
    array = {"type": "array", "elementType": "integer", "containsNull": True}
    table = local_table(path, field("id", "integer"), field("l", array))
    table.append(pa.table({"id": pa.array([1], pa.int32()), "l": pa.array([[1]], pa.list_(pa.int32()))}))
    table.alter.set_properties({"delta.enableTypeWidening": "true"})
    table.alter.change_type("id", "bigint")
    table.alter.change_type("l.element", "double")
    table.append(pa.table({"id": [2**40], "l": [[0.5]]}))
    return "(id) VALUES (10)"


def constrained(path: Path) -> str:
    table = local_table(path)
    table.append(ROWS)
    table.alter.add_constraint("positive", "id > 0")
    table.alter.set_required("id")
    return "VALUES (10)"


def timed(path: Path) -> str:
    table = local_table(path)
    table.append(ROWS)
    table.alter.set_properties({"delta.enableInCommitTimestamps": True, "delta.enableChangeDataFeed": True})
    table.delete("id = 2")
    return "VALUES (10)"


def materialized(path: Path) -> str:
    columns = field("id", "long"), field("p", "string")
    table = local_table(path, *columns, protocol=with_features("materializePartitionColumns"), partition=("p",))
    table.append(pa.table({"id": [1], "p": ["a"]}))
    return "VALUES (10, 'z')"


def restored(path: Path) -> str:
    table = local_table(path)
    table.append(ROWS)
    table.delete("id = 2")
    table.append(pa.table({"id": [7]}))
    table.restore(2)
    return "VALUES (10)"


def tracked_later(path: Path) -> str:
    table = local_table(path)
    table.append(ROWS)
    table.checkpoint()
    table.alter.set_properties({"delta.enableRowTracking": "true"})
    table.delete("id = 2")
    table.restore(2)
    return "VALUES (10)"


def created_with_computed_columns(path: Path) -> str:
    columns = [
        pa.field("k", pa.int64(), metadata={"delta.identity.start": "5", "delta.identity.step": "10"}),
        pa.field("t", pa.timestamp("us", "UTC")),
        pa.field("day", pa.int32(), metadata={"delta.generationExpression": "day(t)"}),
        pa.field("kind", pa.string(), metadata={"CURRENT_DEFAULT": "'new'"}),
    ]
    table = tf.create_table(path, pa.schema(columns), format="delta", partition_by="day")
    table.append(pa.table({"t": [dt.datetime(2024, 5, 1, 23, tzinfo=dt.timezone.utc), None]}))
    return "(t) VALUES (TIMESTAMP'2024-05-02 01:00:00')"


CASES: tuple[Callable[[Path], str], ...] = (
    mapped_by_alterations,
    mapped_by_id,
    tracked,
    with_identity,
    generated,
    widened,
    constrained,
    timed,
    materialized,
    restored,
    tracked_later,
    created_with_computed_columns,
)


def _answers(spark: Any, path: Path) -> tuple[Rows, Rows]:
    """(the rows as Spark reads them, as we do), in one order."""
    theirs = collect(spark.sql(f"SELECT * FROM delta.`{path}`")).to_pylist()
    ours = tf.open_table(path).to_arrow().to_pylist()
    return sorted(theirs, key=repr), sorted(ours, key=repr)


def main(folder: Path) -> None:
    spark, wrong = session(), []
    for case in CASES:
        path = folder / case.__name__
        values = case(path)
        before = _answers(spark, path)
        spark.sql(f"INSERT INTO delta.`{path}` {values}")
        after = _answers(spark, path)
        differs = before[0] != before[1] or after[0] != after[1] or len(after[0]) != len(before[0]) + 1
        if differs:
            wrong.append(f"{case.__name__}: {before} {after}")
        print(f"{case.__name__}: {'differs' if differs else 'the same rows'}", flush=True)
    if wrong:
        sys.exit("\n".join(wrong))
    print(f"{len(CASES)} tables have the same rows")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
