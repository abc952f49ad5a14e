"""Writes golden tables with Delta and Iceberg for Spark, and what Spark answers from them.

    python -m tests.golden.write_jvm tests/golden/tables_jvm [delta-type-widening ...]

replaces the folder, or the named tables in it. Needs PySpark 4.0 with PyArrow, Java 17, and in the local Maven
repository the JARs below (each comes with ``mvn dependency:get -Dartifact=group:name:version -Dtransitive=false``).
Each table has an ``expected.json`` beside it: the rows of every version, and of filters, changes, refs and row ids
where it has them. The tables are written below ``/tmp/golden``, whose name stands in the metadata of Iceberg, and
then moved.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from tests.support.golden import answers
from tests.support.rows import collect

JARS = (
    "io.delta:delta-spark_2.13:4.0.0",
    "io.delta:delta-storage:4.0.0",
    "org.apache.iceberg:iceberg-spark-runtime-4.0_2.13:1.10.0",
)
SCRATCH = Path("/tmp/golden")
MAVEN = Path.home() / ".m2" / "repository"
Expected = dict[str, Any]


def jars(artifacts: Sequence[str] = JARS) -> list[str]:
    """The JARs' paths; exits with the names of those that are not there."""
    found, missing = [], []
    for artifact in artifacts:
        group, name, version = artifact.split(":")
        path = MAVEN.joinpath(*group.split("."), name, version, f"{name}-{version}.jar")
        found.append(str(path))
        if not path.exists():
            missing.append(artifact)
    if missing:
        sys.exit("\n".join(f"missing: mvn dependency:get -Dtransitive=false -Dartifact={m}" for m in missing))
    return found


def session(artifacts: Sequence[str] = JARS) -> Any:
    from pyspark.sql import SparkSession

    settings = {
        "driver.extraClassPath": ":".join(jars(artifacts)),
        "driver.memory": "1g",
        "ui.enabled": "false",
        "sql.shuffle.partitions": "1",
        "sql.session.timeZone": "UTC",
        "sql.warehouse.dir": str(SCRATCH / "warehouse"),
        "sql.extensions": "io.delta.sql.DeltaSparkSessionExtension,"
        "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog",
        "sql.catalog.ice.type": "hadoop",
        "sql.catalog.ice.warehouse": str(SCRATCH),
        "databricks.delta.snapshotPartitions": "1",
    }
    builder = SparkSession.builder.master("local[1]").appName("golden tables")
    for key, value in settings.items():
        builder = builder.config(f"spark.{key}", value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


class Writer:
    """One table being written: its name in SQL is ``{t}`` in every statement."""

    def __init__(self, spark: Any, name: str) -> None:
        self.spark = spark
        self.folder = SCRATCH / name
        self.is_delta = name.startswith("delta")
        self.name = f"delta.`{self.folder}`" if self.is_delta else f"ice.`{name}`"

    def run(self, *statements: str) -> None:
        for statement in statements:
            self.spark.sql(statement.replace("{t}", self.name))

    def fill(self, first: int, last: int, *columns: str) -> None:
        """Appends one file of the rows ``first`` to ``last`` - 1."""
        self.run(f"INSERT INTO {{t}} SELECT {', '.join(('id', *columns))} FROM range({first}, {last}, 1, 1)")

    def query(self, text: str) -> list[dict[str, Any]]:
        return answers(collect(self.spark.sql(text.replace("{t}", self.name))))

    def versions(self) -> list[int]:
        text = "DESCRIBE HISTORY {t}" if self.is_delta else "SELECT snapshot_id AS version FROM {t}.snapshots"
        found = self.spark.sql(text.replace("{t}", self.name)).collect()
        return sorted(row.version for row in found) if self.is_delta else [row.version for row in found]

    def expected(self, filters: Iterable[str]) -> Expected:
        return {
            "format": "delta" if self.is_delta else "iceberg",
            "writer": " ".join(JARS[:1] if self.is_delta else JARS[2:]) + f", Spark {self.spark.version}",
            "current": self.query("SELECT * FROM {t}"),
            "versions": {v: self.query(f"SELECT * FROM {{t}} VERSION AS OF {v}") for v in self.versions()},
            "filters": {f: [r["id"] for r in self.query(f"SELECT id FROM {{t}} WHERE {f}")] for f in filters},
        }


def delta_deletion_vectors(w: Writer) -> Expected:
    """Deletion vectors of DELETE, UPDATE and MERGE, classic checkpoints, a restored version, a compaction."""
    w.run(
        "CREATE TABLE {t} (id BIGINT, name STRING, amount DECIMAL(12, 2)) USING delta TBLPROPERTIES "
        "(delta.enableDeletionVectors = true, delta.checkpointInterval = 3)"
    )
    for first in (0, 20):
        w.fill(first, first + 20, "CONCAT('name-', id)", "CAST(id * 19.99 AS DECIMAL(12, 2))")
    w.run(
        "DELETE FROM {t} WHERE id % 5 = 0",
        "UPDATE {t} SET name = NULL WHERE id % 7 = 1",
        "MERGE INTO {t} USING (SELECT id * 3 AS id FROM range(10, 16)) s ON {t}.id = s.id "
        "WHEN MATCHED AND {t}.id < 38 THEN UPDATE SET amount = -1 WHEN MATCHED THEN DELETE "
        "WHEN NOT MATCHED THEN INSERT (id, name) VALUES (s.id, 'merged')",
        "RESTORE TABLE {t} TO VERSION AS OF 3",
        "DELETE FROM {t} WHERE id IN (1, 2, 3, 38)",
        "OPTIMIZE {t}",
        "DELETE FROM {t} WHERE id = 39",
    )
    return w.expected(["id > 30", "name IS NULL", "amount BETWEEN 100 AND 200", "id = 39", "NOT (amount < 500)"])


def delta_column_mapping(w: Writer) -> Expected:
    """Columns by name mapping: renamed (one in a struct), dropped, and added again under the old name."""
    w.run(
        "CREATE TABLE {t} (id BIGINT, name STRING, extra INT, place STRUCT<city: STRING, zip: INT>, day DATE) "
        "USING delta PARTITIONED BY (day) TBLPROPERTIES (delta.columnMapping.mode = 'name')"
    )
    place = "NAMED_STRUCT('city', CONCAT('city-', id % 3), 'zip', CAST(id AS INT))"
    day = "DATE_ADD(DATE '2024-01-01', CAST(id DIV 4 AS INT))"
    w.fill(0, 8, "CONCAT('n', id)", "CAST(id * 7 AS INT)", place, day)
    w.run("ALTER TABLE {t} RENAME COLUMN name TO title", "ALTER TABLE {t} RENAME COLUMN place.city TO town")
    w.fill(8, 12, "CONCAT('t', id)", "CAST(id * 7 AS INT)", place, day)
    w.run("ALTER TABLE {t} RENAME COLUMN day TO `on`", "ALTER TABLE {t} DROP COLUMN extra")
    w.run("ALTER TABLE {t} ADD COLUMN (extra STRING, `odd name.x` INT)")
    w.fill(12, 16, "CONCAT('u', id)", place, day, "CONCAT('extra-', id)", "CAST(id AS INT)")
    w.run("DELETE FROM {t} WHERE id = 9")
    return w.expected(
        ["title = 'n3'", "extra IS NULL", "extra = 'extra-13'", "place.town = 'city-1'", "`on` > DATE '2024-01-02'"]
    )


def delta_type_widening(w: Writer) -> Expected:
    """Types widened step by step, with files of every width."""
    w.run(
        "CREATE TABLE {t} (id BIGINT, small TINYINT, f FLOAT, n INT, d DECIMAL(8, 2), day DATE) USING delta "
        "TBLPROPERTIES (delta.enableTypeWidening = true, delta.feature.timestampNtz = 'supported')"
    )
    values = ("id - 2", "id / 4", "id * 1000", "id * 1.25", "DATE_ADD(DATE '2024-01-01', CAST(id AS INT))")
    w.fill(0, 4, *values)
    w.run("ALTER TABLE {t} ALTER COLUMN small TYPE SMALLINT", "ALTER TABLE {t} ALTER COLUMN f TYPE DOUBLE")
    w.fill(4, 8, "id * 1000", "id / 3", *values[2:])
    w.run(
        "ALTER TABLE {t} ALTER COLUMN small TYPE INT",
        "ALTER TABLE {t} ALTER COLUMN n TYPE DOUBLE",
        "ALTER TABLE {t} ALTER COLUMN d TYPE DECIMAL(20, 5)",
        "ALTER TABLE {t} ALTER COLUMN day TYPE TIMESTAMP_NTZ",
    )
    w.fill(8, 12, "id * 100000", "id / 3", "id + 0.5", "id * 1.23456", "TIMESTAMP_NTZ '2024-02-01 12:30:00.000001'")
    w.run("ALTER TABLE {t} ALTER COLUMN small TYPE BIGINT")
    w.fill(12, 14, "id * 10000000000", "id / 3", "id + 0.5", "id * 1.23456", "NULL")
    return w.expected(
        ["small < 1000", "f = 0.25", "n >= 7000", "d = 1.25", "day >= TIMESTAMP_NTZ '2024-01-05 00:00:00'"]
    )


def delta_generated_column(w: Writer) -> Expected:
    """Partitions generated from a timestamp, by which filters on the timestamp prune; constraints."""
    tables = w.spark._jvm.io.delta.tables.DeltaTable
    session = w.spark._jsparkSession
    day = tables.columnBuilder(session, "day").dataType("DATE").generatedAlwaysAs("CAST(ts AS DATE)").build()
    builder = tables.create(session).location(str(w.folder))
    builder = builder.addColumn("id", "BIGINT", False).addColumn("ts", "TIMESTAMP").addColumn(day)
    partitions = w.spark.sparkContext._gateway.new_array(w.spark._jvm.String, 1)
    partitions[0] = "day"
    builder.partitionedBy(partitions).execute()
    w.run("ALTER TABLE {t} ADD CONSTRAINT positive CHECK (id >= 0)")
    insert = "INSERT INTO {t} (id, ts) SELECT id, %s FROM range(%d, %d, 1, 1)"
    hours = "TIMESTAMP '2024-01-01 03:04:05.123456Z' + MAKE_INTERVAL(0, 0, 0, 0, CAST(id * 9 AS INT))"
    w.run(insert % (hours, 0, 8), insert % ("NULL", 8, 10), "UPDATE {t} SET ts = ts + INTERVAL 1 DAY WHERE id = 4")
    return w.expected(["ts < '2024-01-02 00:00:00'", "ts IS NULL", "ts = '2024-01-01 12:04:05.123456'", "day IS NULL"])


def delta_change_feed(w: Writer) -> Expected:
    """The change data feed of every kind of statement."""
    w.run(
        "CREATE TABLE {t} (id BIGINT, v STRING) USING delta "
        "TBLPROPERTIES (delta.enableChangeDataFeed = true, delta.enableDeletionVectors = true)"
    )
    w.fill(0, 10, "CONCAT('v', id)")
    w.run(
        "UPDATE {t} SET v = 'updated' WHERE id IN (2, 3)",
        "DELETE FROM {t} WHERE id = 4",
        "MERGE INTO {t} USING (SELECT id * 2 AS id FROM range(4, 7)) s ON {t}.id = s.id "
        "WHEN MATCHED AND s.id = 6 THEN DELETE WHEN MATCHED THEN UPDATE SET v = 'merged' "
        "WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, 'new')",
        "DELETE FROM {t}",
    )
    w.fill(20, 22, "NULL")
    feed = f"SELECT * EXCEPT (_commit_timestamp) FROM table_changes_by_path('{w.folder}', 0)"
    return {**w.expected(["v IS NULL"]), "changes": w.query(feed)}


def delta_v2_checkpoint(w: Writer) -> Expected:
    """V2 checkpoints with sidecars, row tracking, clustering, timestamps without zone."""
    w.run(
        "CREATE TABLE {t} (id BIGINT, local TIMESTAMP_NTZ, name STRING) USING delta CLUSTER BY (id, name) "
        "TBLPROPERTIES (delta.checkpointPolicy = 'v2', delta.checkpointInterval = 2, delta.enableRowTracking = true, "
        "delta.enableDeletionVectors = true)"
    )
    hours = "TIMESTAMP_NTZ '1969-12-31 20:00:00.5' + MAKE_INTERVAL(0, 0, 0, 0, CAST(id AS INT))"
    for first in (0, 5, 10):
        w.fill(first, first + 5, hours, "CONCAT('name-', id)")
    w.run("UPDATE {t} SET name = 'updated' WHERE id = 6", "DELETE FROM {t} WHERE id = 11", "OPTIMIZE {t} FULL")
    w.fill(15, 17, "NULL", "NULL")
    ids = "SELECT id, _metadata.row_id AS row_id, _metadata.row_commit_version AS row_commit_version FROM {t}"
    filters = ["local < TIMESTAMP_NTZ '1970-01-01 00:00:00'", "name = 'updated'", "local IS NULL", "id > 12"]
    return {**w.expected(filters), "row_ids": w.query(ids)}


def delta_shredded_variant(w: Writer) -> Expected:
    """Variants shredded by other schemas in every file, and in one not at all; every type; inside of an array."""
    w.run(
        "CREATE TABLE {t} (id BIGINT, v VARIANT, a ARRAY<VARIANT>) USING delta "
        "TBLPROPERTIES (delta.enableVariantShredding = true)"
    )
    documents = [
        '{"a": 1, "b": "x", "o": {"p": 1.5, "q": [1, 2, "z"]}}',
        '{"a": "text", "c": true}',
        "null",
        "3",
        '"é"',
        "[1, null]",
        "{}",
        '{"o": {"p": 12345678901234567890.5}, "z": null, "a": null}',
        '{"b": "' + 70 * "é" + '"}',
    ]
    listed = ", ".join(f"({i}, '{text}')" for i, text in enumerate(documents))
    schemas = [
        None,
        "a BIGINT, b STRING, o STRUCT<p DECIMAL(38, 18), q ARRAY<INT>>",
        "ARRAY<BIGINT>",
        "DECIMAL(9, 0)",
        "STRING",
    ]
    for number, schema in enumerate(schemas):
        _shred(w, schema)
        w.run(
            f"INSERT INTO {{t}} SELECT id + {10 * number}, PARSE_JSON(text), ARRAY(PARSE_JSON(text), NULL) "
            f"FROM VALUES {listed} AS s (id, text)"
        )
    typed = {
        "t": ("TIMESTAMP", "TIMESTAMP '2024-01-01 01:02:03.123456'"),
        "d": ("DATE", "DATE '0001-01-01'"),
        "n": ("TIMESTAMP_NTZ", "TIMESTAMP_NTZ '1500-01-01 00:00:00.000001'"),
        "f": ("FLOAT", "1.5"),
        "g": ("DOUBLE", "-0.1"),
        "y": ("TINYINT", "-128"),
        "w": ("SMALLINT", "300"),
        "i": ("INT", "-2147483648"),
        "x": ("BINARY", "X'0001FF'"),
        "k": ("BOOLEAN", "TRUE"),
        "s": ("DECIMAL(9, 2)", "-1.25"),
        "m": ("DECIMAL(18, 3)", "123456789012345.678"),
    }
    _shred(w, ", ".join(f"{name} {kind}" for name, (kind, _) in typed.items()))
    members = ", ".join(f"'{name}', CAST({value} AS {kind})" for name, (kind, value) in typed.items())
    w.run(f"INSERT INTO {{t}} SELECT 100, TO_VARIANT_OBJECT(NAMED_STRUCT({members})), NULL")
    _shred(w, None)
    w.run("DELETE FROM {t} WHERE id = 12")
    return w.expected(["v IS NULL", "id > 41", "a IS NULL"])


def _shred(w: Writer, schema: str | None) -> None:
    w.spark.conf.set("spark.sql.variant.allowReadingShredded", "true")
    w.spark.conf.set("spark.sql.variant.writeShredding.enabled", str(schema is not None).lower())
    w.spark.conf.set("spark.sql.variant.forceShreddingSchemaForTest", schema or "")


def delta_enabled_later(w: Writer) -> Expected:
    """Times in the commits, then row tracking, enabled on a table that has commits and files already."""
    w.run("CREATE TABLE {t} (id BIGINT, v STRING) USING delta TBLPROPERTIES (delta.enableDeletionVectors = true)")
    w.fill(0, 4, "'before'")
    w.run("ALTER TABLE {t} SET TBLPROPERTIES (delta.enableInCommitTimestamps = true)")
    w.fill(4, 8, "'times'")
    w.run("DELETE FROM {t} WHERE id = 1", "ALTER TABLE {t} SET TBLPROPERTIES (delta.enableRowTracking = true)")
    w.fill(8, 12, "'rows'")
    w.run("UPDATE {t} SET v = 'updated' WHERE id IN (2, 5, 9)", "OPTIMIZE {t}", "DELETE FROM {t} WHERE id = 3")
    ids = "SELECT id, _metadata.row_id AS row_id, _metadata.row_commit_version AS row_commit_version FROM {t}"
    history = w.spark.sql(f"DESCRIBE HISTORY {w.name}").collect()
    times = {row.version: int(row.timestamp.timestamp() * 1000) for row in history}
    (enabled,) = w.spark.sql(f"SHOW TBLPROPERTIES {w.name} (delta.inCommitTimestampEnablementVersion)").collect()
    in_commits = {version: time for version, time in times.items() if version >= int(enabled.value)}
    return {**w.expected(["v = 'updated'"]), "row_ids": w.query(ids), "times": in_commits}


def delta_old_calendar(w: Writer) -> Expected:
    """Days and instants as Spark 2 counted them: in int96 and int64, in structs, as partitions, beside newer files."""
    modes = ("datetimeRebaseModeInWrite", "int96RebaseModeInWrite")
    w.run(
        "CREATE TABLE {t} (id BIGINT, day DATE, at TIMESTAMP, place STRUCT<since: DATE>, part DATE) USING delta "
        "PARTITIONED BY (part) TBLPROPERTIES (delta.checkpointInterval = 2)"
    )
    day = "ELEMENT_AT(ARRAY(DATE '0001-01-01', DATE '1000-02-28', DATE '1582-10-04', DATE '2024-02-29'), 1 + id % 4)"
    columns = [
        part.replace("id", "CAST(id AS INT)")
        for part in (day, f"TIMESTAMP({day}) + INTERVAL 5 HOUR 7 SECOND", f"NAMED_STRUCT('since', {day})", day)
    ]
    for first, kind, mode in ((0, "INT96", "LEGACY"), (4, "TIMESTAMP_MICROS", "LEGACY"), (8, "INT96", "CORRECTED")):
        w.spark.conf.set("spark.sql.parquet.outputTimestampType", kind)
        for name in modes:
            w.spark.conf.set(f"spark.sql.parquet.{name}", mode)
        w.fill(first, first + 4, *columns)
    for name in ("outputTimestampType", *modes):
        w.spark.conf.unset(f"spark.sql.parquet.{name}")
    return w.expected(
        [
            "day = '0001-01-01'",
            "day = '1582-10-04'",
            "day < '1000-03-01'",
            "place.since = '1000-02-28'",
            "at = '0001-01-01 05:00:07'",
            "at < '1582-10-05'",
            "part = '1582-10-04'",
        ]
    )


def delta_char(w: Writer) -> Expected:
    """CHAR and VARCHAR columns, also nested and as a partition column; values stored with spaces and without."""
    w.run(
        "CREATE TABLE {t} (id BIGINT, c CHAR(3), d CHAR(5), v VARCHAR(4), s STRING, st STRUCT<a: CHAR(3), b: INT>, "
        "list ARRAY<CHAR(2)>, pairs MAP<CHAR(2), CHAR(3)>, p CHAR(3)) USING delta PARTITIONED BY (p)"
    )
    texts = ["a", "ab", "abc", None, "a\t", "", "é", "a ", "  a", "b\t"]
    for i, text in enumerate(texts):
        one = "NULL" if text is None else f"'{text}'"
        w.run(
            f"INSERT INTO {{t}} VALUES ({i}, {one}, {one}, {one}, {one}, NAMED_STRUCT('a', {one}, 'b', {i}), "
            f"ARRAY('x', NULL), MAP('k', {one}), {one})"
        )
    literals = ["''", "'a'", "'a '", "'a  '", "'a     '", "'a    b'", "'a    \t'", "'ab\t'", "'a\t'", "'abc'", "'é'"]
    operators = {"c": ("=", "!=", "<=>", "<", "<=", ">", ">="), "p": ("=", "!=", "<", ">="), "d": "=<", "v": "=<"}
    compared = [f"{c} {op} {x}" for c in operators for op in operators[c] for x in literals]
    # Spark 4 does not pad the literals of BETWEEN, nor those of IN beside NULL; we do.
    others = (
        "{c} IN ('a', 'ab  ')",
        "{c} NOT IN ('a', 'abc     ')",
        "{c} LIKE 'a'",
        "{c} LIKE 'a  '",
        "{c} NOT LIKE 'a'",
        "{c} LIKE 'a%'",
        "{c} LIKE 'a_'",
        "{c} LIKE '% '",
        "{c} IS NULL",
        "{c} = s",
        "{c} = d",
        "{c} < d",
        "{c} <=> d",
    )
    nested = [f"st.a {op} {x}" for op in "=<" for x in literals]
    return w.expected([*compared, *nested, *(text.format(c=c) for c in "cp" for text in others), "st.a = c"])


def iceberg_position_deletes(w: Writer) -> Expected:
    """Version 2, merge on read: position deletes of DELETE, UPDATE and MERGE, some compacted; three file formats."""
    w.run(
        "CREATE TABLE {t} (id BIGINT, name STRING, ts TIMESTAMP) USING iceberg PARTITIONED BY (bucket(2, id)) "
        "TBLPROPERTIES ('format-version' = '2', 'write.delete.mode' = 'merge-on-read', "
        "'write.update.mode' = 'merge-on-read', 'write.merge.mode' = 'merge-on-read')"
    )
    hours = "TIMESTAMP '2024-01-01 00:00:00Z' + MAKE_INTERVAL(0, 0, 0, 0, CAST(id AS INT))"
    for i, format in enumerate(("parquet", "avro", "orc")):
        w.run(f"ALTER TABLE {{t}} SET TBLPROPERTIES ('write.format.default' = '{format}')")
        w.fill(10 * i, 10 * i + 10, "CONCAT('name-', id)", hours)
    w.run(
        "DELETE FROM {t} WHERE id % 10 = 3",
        "ALTER TABLE {t} SET TBLPROPERTIES ('write.format.default' = 'parquet')",
        "UPDATE {t} SET name = NULL WHERE id IN (1, 11, 21)",
        "MERGE INTO {t} t USING (SELECT id * 4 AS id FROM range(5, 9)) s ON t.id = s.id "
        "WHEN MATCHED AND t.id = 24 THEN DELETE WHEN MATCHED THEN UPDATE SET name = 'merged' "
        "WHEN NOT MATCHED THEN INSERT (id, name, ts) VALUES (s.id, 'new', NULL)",
        f"CALL ice.system.rewrite_position_delete_files(table => '`{w.folder.name}`', "
        "options => map('rewrite-all', 'true'))",
    )
    return w.expected(["id = 13", "name IS NULL", "ts < '2024-01-01 05:00:00'", "name IN ('merged', 'new')", "id > 25"])


def iceberg_equality_deletes(w: Writer) -> Expected:
    """Equality deletes by one column and by two, written with Iceberg's Java API, between appends."""
    w.run("CREATE TABLE {t} (id INT, name STRING) USING iceberg TBLPROPERTIES ('format-version' = '2')")
    w.fill(0, 6, "IF(id = 2, NULL, CONCAT('name-', id))")
    _delete_equal(w, {"id": 1}, {"id": 4})
    w.fill(0, 6, "'again'")
    _delete_equal(w, {"id": 2, "name": None}, {"id": 3, "name": "again"})
    w.fill(6, 8, "NULL")
    return w.expected(["id = 1", "name IS NULL", "name = 'again'"])


def _delete_equal(w: Writer, *keys: dict[str, Any]) -> None:
    jvm, table = w.spark._jvm, _loaded(w)
    schema = table.schema().select(list(keys[0]))
    fields = w.spark.sparkContext._gateway.new_array(jvm.int, len(keys[0]))
    for i, name in enumerate(keys[0]):
        fields[i] = schema.findField(name).fieldId()
    factory = jvm.org.apache.iceberg.data.GenericAppenderFactory(table.schema(), table.spec(), fields, schema, None)
    files = jvm.org.apache.iceberg.io.OutputFileFactory.builderFor(table, 1, 1).build()
    parquet = jvm.org.apache.iceberg.FileFormat.PARQUET
    writer = factory.newEqDeleteWriter(files.newOutputFile(), parquet, None)
    for key in keys:
        record = jvm.org.apache.iceberg.data.GenericRecord.create(schema)
        for name, value in key.items():
            record.setField(name, value)
        writer.write(record)
    writer.close()
    table.newRowDelta().addDeletes(writer.toDeleteFile()).commit()
    w.run("REFRESH TABLE {t}")


def _loaded(w: Writer) -> Any:
    return w.spark._jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(w.spark._jsparkSession, w.name)


def iceberg_deletion_vectors(w: Writer) -> Expected:
    """Version 3: deletion vectors, row lineage, default values."""
    w.run(
        "CREATE TABLE {t} (id BIGINT, name STRING) USING iceberg TBLPROPERTIES ('format-version' = '3', "
        "'write.delete.mode' = 'merge-on-read', 'write.update.mode' = 'merge-on-read', "
        "'write.merge.mode' = 'merge-on-read', 'write.metadata.compression-codec' = 'gzip')"
    )
    for first in (0, 10):
        w.fill(first, first + 10, "CONCAT('name-', id)")
    w.run("DELETE FROM {t} WHERE id % 4 = 1", "UPDATE {t} SET name = NULL WHERE id IN (2, 12)")
    iceberg = w.spark._jvm.org.apache.iceberg
    seven = iceberg.expressions.Expressions.lit(7)
    _loaded(w).updateSchema().addColumn("level", iceberg.types.Types.IntegerType.get(), "", seven).commit()
    w.run("REFRESH TABLE {t}")
    w.fill(20, 24, "CONCAT('name-', id)", "IF(id = 21, NULL, CAST(id AS INT))")
    w.run(
        "MERGE INTO {t} t USING (SELECT id * 3 AS id FROM range(5, 10)) s ON t.id = s.id "
        "WHEN MATCHED AND t.id = 18 THEN DELETE WHEN MATCHED THEN UPDATE SET name = 'merged' "
        "WHEN NOT MATCHED THEN INSERT (id, name, level) VALUES (s.id, 'new', NULL)",
        f"CALL ice.system.rewrite_data_files(table => '`{w.folder.name}`', options => map('rewrite-all', 'true'))",
        "DELETE FROM {t} WHERE id = 0",
    )
    lineage = "SELECT id, _row_id, _last_updated_sequence_number FROM {t}"
    return {
        **w.expected(["level = 7", "level IS NULL", "name IS NULL", "id = 18", "level > 20 AND name <> 'merged'"]),
        "row_ids": w.query(lineage),
    }


def iceberg_evolution(w: Writer) -> Expected:
    """Partition specs (none, bucket, truncate, day to month) and the schema (rename, drop, add, promote) evolve."""
    w.run(
        "CREATE TABLE {t} (id INT, name STRING, f FLOAT, d DECIMAL(6, 2), ts TIMESTAMP, place STRUCT<city: STRING>) "
        "USING iceberg TBLPROPERTIES ('format-version' = '2', 'write.metadata.compression-codec' = 'gzip')"
    )
    values = [
        "CONCAT(CHR(97 + id % 5), '-name-', id)",
        "id / 8",
        "id * 1.25",
        "IF(id % 9 = 5, NULL, TIMESTAMP '2023-12-30 05:06:07.000008Z' + MAKE_INTERVAL(0, 0, 0, CAST(id AS INT)))",
        "NAMED_STRUCT('city', IF(id % 4 = 3, NULL, 'Oslo'))",
    ]
    w.fill(0, 4, *values)
    w.run("ALTER TABLE {t} ADD PARTITION FIELD bucket(2, id)", "ALTER TABLE {t} RENAME COLUMN name TO title")
    w.fill(4, 8, *values)
    w.run(
        "ALTER TABLE {t} REPLACE PARTITION FIELD bucket(2, id) WITH truncate(3, title)",
        "ALTER TABLE {t} ALTER COLUMN id TYPE BIGINT",
        "ALTER TABLE {t} ALTER COLUMN f TYPE DOUBLE",
        "ALTER TABLE {t} ALTER COLUMN d TYPE DECIMAL(12, 2)",
    )
    w.fill(8, 10, *values)
    w.run(
        "ALTER TABLE {t} ADD PARTITION FIELD days(ts)",
        "ALTER TABLE {t} ADD COLUMN place.zip INT",
        "ALTER TABLE {t} DROP COLUMN f",
        "ALTER TABLE {t} ADD COLUMN f STRING",
    )
    place = "NAMED_STRUCT('city', 'Rome', 'zip', CAST(id AS INT))"
    w.fill(10, 12, values[0], "id * 100000000.25", values[3], place, "'text'")
    w.run("ALTER TABLE {t} REPLACE PARTITION FIELD days(ts) WITH months(ts)")
    w.fill(12, 15, values[0], "0", values[3], place, "NULL")
    w.run("DELETE FROM {t} WHERE id IN (2, 9, 13)")
    filters = ["id = 5", "title LIKE 'b-name%'", "f IS NOT NULL", "d = 1.25", "ts >= '2024-01-08 00:00:00'"]
    return w.expected([*filters, "ts < '2024-01-01 00:00:00' OR ts IS NULL", "place.zip = 11", "place.city IS NULL"])


def iceberg_refs(w: Writer) -> Expected:
    """A branch with commits of its own, tags, a rollback."""
    w.run("CREATE TABLE {t} (id BIGINT, v STRING) USING iceberg")
    w.fill(0, 4, "'main'")
    w.run("ALTER TABLE {t} CREATE TAG first", "ALTER TABLE {t} CREATE BRANCH work")
    w.run("INSERT INTO {t}.branch_work SELECT id, 'work' FROM range(4, 6, 1, 1)")
    w.fill(10, 12, "'main'")
    w.run("ALTER TABLE {t} CREATE TAG second", "DELETE FROM {t}.branch_work WHERE id = 1")
    w.fill(12, 14, "'rolled back'")
    refs = {r.name: r.snapshot_id for r in w.spark.sql(f"SELECT name, snapshot_id FROM {w.name}.refs").collect()}
    w.run(f"CALL ice.system.rollback_to_snapshot('`{w.folder.name}`', {refs['second']})")
    w.run("ALTER TABLE {t} RENAME COLUMN v TO label", "INSERT INTO {t} VALUES (20, 'after')")
    names = ("first", "second", "work")
    return {
        **w.expected(["label = 'main'"]),
        "refs": {name: w.query(f"SELECT * FROM {{t}} VERSION AS OF '{name}'") for name in names},
    }


TABLES: tuple[Callable[[Writer], Expected], ...] = (
    delta_deletion_vectors,
    delta_column_mapping,
    delta_type_widening,
    delta_generated_column,
    delta_change_feed,
    delta_v2_checkpoint,
    delta_shredded_variant,
    delta_enabled_later,
    delta_old_calendar,
    delta_char,
    iceberg_position_deletes,
    iceberg_equality_deletes,
    iceberg_deletion_vectors,
    iceberg_evolution,
    iceberg_refs,
)


def save(w: Writer, expected: Expected, output: Path) -> None:
    """Copies the table and puts its answers beside it.

    Hadoop's checksum files and older versions of Iceberg's metadata are left out: no test reads them.
    """
    target = output / w.folder.name
    shutil.copytree(w.folder, target / "table", ignore=shutil.ignore_patterns(".*.crc"))
    metadata = target / "table" / "metadata"
    if metadata.is_dir():
        newest = f"v{(metadata / 'version-hint.text').read_text().strip()}."
        for file in metadata.glob("*.metadata.json"):
            if not file.name.startswith(newest):
                file.unlink()
    (target / "expected.json").write_text(json.dumps(expected, ensure_ascii=False) + "\n")


def main(output: Path, names: list[str]) -> None:
    shutil.rmtree(SCRATCH, ignore_errors=True)
    spark = session()
    for old in [output / name for name in names] or [output]:
        shutil.rmtree(old, ignore_errors=True)
    for write in TABLES:
        w = Writer(spark, write.__name__.replace("_", "-"))
        if names and w.folder.name not in names:
            continue
        save(w, write(w), output)
        files = [f for f in (output / w.folder.name).rglob("*") if f.is_file()]
        print(f"{w.folder.name}: {len(files)} files of {sum(f.stat().st_size for f in files)} bytes")
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
