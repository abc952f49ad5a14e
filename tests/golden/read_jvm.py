"""Writes Delta tables with features that other Python readers lack, and has Delta for Spark read and extend them.

    python -m tests.golden.read_jvm FOLDER            # tables of this module, which Delta for Spark extends, too
    python -m tests.golden.read_jvm FOLDER --tests    # all tables that the tests of TESTED, or named ones, leave there

Each table is written by this library. Then Delta for Spark reads all rows, appends one, and reads again; and so does
this library. Of the tables of tests, Spark also counts rows and finds the least and the greatest values of columns,
which it takes from the statistics in the log alone. The command exits with the names of tables whose answers differ.

It needs PySpark 4.0 or 4.1, Java 17, and the JARs of :data:`DELTA` in the local Maven repository; see
:mod:`tests.golden.write_jvm`.
"""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

import tableformats as tf
from tests.golden.write_jvm import JARS, session
from tests.support.delta_log import field
from tests.support.rows import rows, spark_rows
from tests.write.test_append import ROWS, local_table, with_features
from tests.write.test_features import mapped, tracked_table


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


def with_defaults_of_later(path: Path) -> str:
    table = local_table(path, field("id", "long"), field("kind", "string"), field("n", "integer"))
    table.append(pa.table({"id": [1]}))
    table.alter.set_default("kind", "'new'")
    table.alter.set_default("n", "3 + 4")
    table.append(pa.table({"id": [2]}))
    table.alter.set_default("n", None)
    table.append(pa.table({"id": [3]}))
    return "(id) VALUES (10)"


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
    with_defaults_of_later,
)


_KERNEL = tuple(f"io.delta:delta-kernel-{part}:4.4.0" for part in ("api", "defaults", "unitycatalog"))
DELTA = {
    "4.0": JARS,
    "4.1": ("io.delta:delta-spark_4.1_2.13:4.4.0", "io.delta:delta-storage:4.4.0", *_KERNEL),
}
"""The JARs, by the version of Spark."""
NOT_WRITTEN = "DELTA_UNSUPPORTED_FEATURES_FOR_WRITE"
TESTED = (
    "tests/write",
    "tests/delta/test_checkpoint_writing.py",
    "tests/delta/test_copied_groups.py",
    "tests/delta/test_evolution.py",
)


def delta_session() -> Any:
    """Spark with Delta. Exits where there is no Delta for this version of it."""
    import pyspark

    version = ".".join(pyspark.__version__.split(".")[:2])
    if version not in DELTA:
        sys.exit(f"there is no Delta for Spark {version} here: use PySpark {' or '.join(DELTA)}")
    return session(DELTA[version])


def _answers(spark: Any, path: Path) -> tuple[list[str], list[str]]:
    """(the rows as Spark reads them, as we do), in one order."""
    return spark_rows(spark.sql(f"SELECT * FROM delta.`{path}`")), rows(tf.open_table(path).to_arrow())


def extend_own_tables(folder: Path) -> list[str]:
    """Write the tables of :data:`CASES`, have Spark read and extend each, and say which answers differ."""
    spark, wrong = delta_session(), []
    for case in CASES:
        path = folder / case.__name__
        values = case(path)
        before = _answers(spark, path)
        told = "the same rows"
        try:
            spark.sql(f"INSERT INTO delta.`{path}` {values}")
            after = _answers(spark, path)
            differs = before[0] != before[1] or after[0] != after[1] or len(after[0]) != len(before[0]) + 1
        except Exception as error:
            if NOT_WRITTEN not in str(error):
                raise
            after, differs, told = before, before[0] != before[1], "the same rows; not extended by this Delta"
        if differs:
            wrong.append(f"{case.__name__}: {before} {after}")
        print(f"{case.__name__}: {'differs' if differs else told}", flush=True)
    return wrong


def read_tables_of_tests(folder: Path, tests: Sequence[str] = TESTED) -> list[str]:
    """Run tests that write Delta tables, have Spark read each table that they left, and say what differs."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--basetemp={folder}", *tests]
    if subprocess.run(command, check=False).returncode:
        return ["tests failed"]
    spark, wrong, counts = delta_session(), [], Counter()
    for path in sorted(log.parent for log in folder.rglob("_delta_log")):
        name = str(path.relative_to(folder))
        try:
            table = tf.open_table(path)
            expected = table.to_arrow()
        except tf.TableFormatsError as error:  # a test of damage, or of a feature that we do not read
            counts[f"refused by us: {type(error).__name__}"] += 1
            continue
        if (told := _left_by_no_writer(table)) is not None:
            counts[f"not compared: {told}, which no writer leaves"] += 1
            continue
        try:
            found = _difference(spark, path, expected)
        except Exception as error:
            text = str(error)
            known = next((word for word in NOT_READ if word in text), None)
            counts[f"not read by Spark: {known}"] += 1
            found = None if known else f"Spark cannot read it: {text[:300]}"
        counts["read"] += found is None
        if found:
            wrong.append(f"{name}: {found}")
            print(wrong[-1], flush=True)
    print("\n".join(f"{count:6d} {what}" for what, count in counts.most_common()))
    return wrong


NOT_READ = (
    "DELTA_UNSUPPORTED_FEATURES_FOR_READ",
    "DELTA_INVALID_PROTOCOL_VERSION",
    "DELTA_FEATURES_PROTOCOL_METADATA_MISMATCH",
    "DELTA_INVALID_INTERVAL",
    "DELTA_INVALID_CALENDAR_INTERVAL_EMPTY",
    "DELTA_IDENTITY_COLUMN_INCONSISTENT_METADATA",
    "EXPRESSION_DECODING_FAILED",
    "UnresolvedException",
    "nulls in input cannot be viewed as non-nullable",
    "is out of range",
)
"""What Delta for Spark says of tables with features that it does not have, and of first commits that tests make by
hand: features without those that they need, properties and expressions that are none. PySpark gives no NULL of a struct
with a member that is NOT NULL, and no years after 9999."""


def _left_by_no_writer(table: tf.Table) -> str | None:
    """What Delta for Spark takes for granted, and a table that a test made by hand does not have."""
    snapshot = table.snapshot()
    mode = snapshot.properties.get("delta.columnMapping.mode", "none")
    if mode == "none" and any("delta.columnMapping.physicalName" in f.metadata for f in table.schema):
        return "physical names in the mode none"  # under which Spark looks for partition values
    if any("month" in text for name, text in snapshot.properties.items() if name.endswith("Duration")):
        return "a duration in months"
    return None


def _difference(spark: Any, path: Path, expected: pa.Table) -> str | None:
    """What Spark answers otherwise than we do; None: nothing."""
    frame = spark.sql(f"SELECT * FROM delta.`{path}`")
    theirs, ours = spark_rows(frame), rows(expected)
    if theirs != ours:
        return f"rows: Spark {theirs[:3]}, ours {ours[:3]}"
    # Of these Spark reads no rows, but the counts and bounds in the log.
    count = spark.sql(f"SELECT count(*) AS n FROM delta.`{path}`").collect()[0].n
    if count != expected.num_rows:
        return f"count(*): {count} of {expected.num_rows}"
    for f in expected.schema:
        if pa.types.is_integer(f.type) or pa.types.is_date32(f.type):
            column = "`" + f.name.replace("`", "``") + "`"
            row = spark.sql(f"SELECT min({column}) AS low, max({column}) AS high FROM delta.`{path}`").collect()[0]
            bounds = pc.min_max(expected.column(f.name)).as_py()
            if (row.low, row.high) != (bounds["min"], bounds["max"]):
                return f"bounds of {f.name}: {row} of {bounds}"
    return None


def main(folder: Path, option: str = "", *tests: str) -> None:
    wrong = read_tables_of_tests(folder, tests or TESTED) if option == "--tests" else extend_own_tables(folder)
    if wrong:
        sys.exit("\n".join(wrong))
    print("all tables have the same rows")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), *sys.argv[2:])
