"""Writes the tables of the comparison, once, with delta-spark and with Iceberg's Spark runtime."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import values
from .session import CACHE, JARS

GROUPS, SIZE = 8, 10
ROOT = CACHE / "tables"


@dataclass(frozen=True)
class Case:
    """A table: what is in its CREATE statement, and the statements that follow its first insert."""

    name: str
    partitions: str = ""
    properties: dict[str, str] = field(default_factory=dict)
    after: tuple[str, ...] = ()
    values: dict[str, list[str]] = field(default_factory=dict)
    without: tuple[str, ...] = ()
    renamed: dict[str, str] = field(default_factory=dict)

    @property
    def is_delta(self) -> bool:
        return self.name.startswith("delta")

    @property
    def folder(self) -> Path:
        return ROOT / self.name

    @property
    def sql_name(self) -> str:
        return f"delta.`{self.folder}`" if self.is_delta else f"ice.`{self.name}`"

    def columns(self) -> dict[str, str]:
        """The columns that predicates can name, with what they hold."""
        kept = {name: kind for name, kind in values.KINDS.items() if name.split(".")[0] not in self.without}
        return {self.renamed.get(name, name): kind for name, kind in kept.items()}


ALL_STATISTICS = {"delta.dataSkippingNumIndexedCols": "-1"}
DELETES = ("DELETE FROM {t} WHERE rid % 7 = 3", "UPDATE {t} SET i = 77, s = NULL WHERE rid % 11 = 5")
MERGE_ON_READ = {f"write.{verb}.mode": "merge-on-read" for verb in ("delete", "update", "merge")}
ODD = {"s": values.ODD_TEXTS}
MORE = "INSERT INTO {t} SELECT /*+ REPARTITION_BY_RANGE(3, rid) */ {columns} FROM more"

CASES = (
    Case("delta-plain", "", ALL_STATISTICS, (MORE,)),
    Case(
        "delta-few-statistics", "", {"delta.dataSkippingNumIndexedCols": "5", "delta.checkpointInterval": "2"}, (MORE,)
    ),
    Case("delta-odd-partitions", "s, d", ALL_STATISTICS, values=ODD),
    Case("delta-time-partitions", "t, e", ALL_STATISTICS),
    Case("delta-float-partitions", "x, f, b", ALL_STATISTICS),
    Case("delta-char-partitions", "c, i", ALL_STATISTICS, (MORE,)),
    Case("delta-ntz-partitions", "n, y", ALL_STATISTICS),
    Case("delta-binary-partitions", "w, v", ALL_STATISTICS),
    Case(
        "delta-vectors",
        "",
        {**ALL_STATISTICS, "delta.enableDeletionVectors": "true", "delta.checkpointInterval": "2"},
        (*DELETES, MORE, "DELETE FROM {t} WHERE i = 25"),
    ),
    Case(
        "delta-v2-checkpoint",
        "b",
        {
            **ALL_STATISTICS,
            "delta.checkpointPolicy": "v2",
            "delta.checkpointInterval": "2",
            "delta.enableDeletionVectors": "true",
        },
        (*DELETES, MORE),
    ),
    Case(
        "delta-evolved",
        "",
        {**ALL_STATISTICS, "delta.columnMapping.mode": "name", "delta.enableTypeWidening": "true"},
        (
            "ALTER TABLE {t} ALTER COLUMN y TYPE INT",
            "ALTER TABLE {t} ALTER COLUMN f TYPE DOUBLE",
            "ALTER TABLE {t} ALTER COLUMN i TYPE BIGINT",
            "ALTER TABLE {t} ALTER COLUMN e TYPE DECIMAL(20, 4)",
            "ALTER TABLE {t} ALTER COLUMN d TYPE TIMESTAMP_NTZ",
            "ALTER TABLE {t} RENAME COLUMN h TO small",
            MORE,
            "ALTER TABLE {t} DROP COLUMN v",
            "UPDATE {t} SET l = 3 WHERE rid % 9 = 1",
        ),
        without=("v", "d"),
        renamed={"h": "small"},
    ),
    Case("iceberg-full", "", {"write.metadata.metrics.default": "full"}, (MORE,)),
    Case("iceberg-truncated", "", {"write.metadata.metrics.default": "truncate(2)"}, (MORE,)),
    Case("iceberg-counts", "", {"write.metadata.metrics.default": "counts"}),
    Case("iceberg-none", "i", {"write.metadata.metrics.default": "none", "write.metadata.metrics.column.l": "full"}),
    Case("iceberg-identity", "s, d", values=ODD),
    Case("iceberg-identity-floats", "x, b"),
    Case("iceberg-identity-times", "t, e"),
    Case("iceberg-buckets", "bucket(4, l), bucket(3, s)"),
    Case("iceberg-buckets-more", "bucket(3, d), bucket(2, e), bucket(2, z)"),
    Case("iceberg-bucket-times", "bucket(3, t), bucket(2, n)"),
    Case("iceberg-truncate", "truncate(1, s), truncate(10, i)"),
    Case("iceberg-truncate-more", "truncate(50, e), truncate(1, z), truncate(1000, l)"),
    Case("iceberg-years", "years(d), months(t)"),
    Case("iceberg-days", "days(t), hours(n)"),
    Case("iceberg-months", "months(d), days(n)"),
    Case(
        "iceberg-position-deletes",
        "",
        {"format-version": "2", **MERGE_ON_READ},
        (*DELETES, MORE, "DELETE FROM {t} WHERE i = 25"),
    ),
    Case("iceberg-vectors", "truncate(10, i)", {"format-version": "3", **MERGE_ON_READ}, (*DELETES, MORE)),
    Case("iceberg-avro", "days(d)", {"write.format.default": "avro"}),
    Case("iceberg-orc", "bucket(2, i)", {"write.format.default": "orc"}),
    Case(
        "iceberg-evolved",
        "i",
        {"format-version": "2", **MERGE_ON_READ},
        (
            "ALTER TABLE {t} REPLACE PARTITION FIELD i WITH bucket(3, i)",
            "ALTER TABLE {t} ALTER COLUMN i TYPE BIGINT",
            "ALTER TABLE {t} ALTER COLUMN f TYPE DOUBLE",
            "ALTER TABLE {t} ALTER COLUMN e TYPE DECIMAL(20, 2)",
            "ALTER TABLE {t} RENAME COLUMN h TO small",
            MORE,
            "ALTER TABLE {t} DROP COLUMN v",
            "ALTER TABLE {t} ADD PARTITION FIELD truncate(1, s)",
            "DELETE FROM {t} WHERE rid % 9 = 1",
            "UPDATE {t} SET l = 3 WHERE rid % 9 = 2",
        ),
        without=("v",),
        renamed={"h": "small"},
    ),
)


def write_all(spark: Callable[[], Any], report: Callable[[str], None] = print) -> list[Case]:
    """Writes the tables that the cache lacks, and says which ones it wrote."""
    missing = [case for case in CASES if not _is_written(case)]
    for case in missing:
        shutil.rmtree(case.folder, ignore_errors=True)
        write(spark(), case)
        _stamp(case).write_text(version(case))
        report(f"wrote {case.name}")
    return list(CASES)


def write(spark: Any, case: Case) -> None:
    seed = sum(case.name.encode())
    first = values.rows(seed, GROUPS, SIZE, case.values)
    more = values.rows(seed + 1, 3, SIZE, case.values, first=1000)
    for view, rows in (("first", first), ("more", more)):
        text = f"SELECT * FROM VALUES {', '.join(rows)} AS r ({', '.join(values.TYPES)})"
        spark.sql(text).localCheckpoint().createOrReplaceTempView(view)
    for statement in _statements(case):
        spark.sql(statement.replace("{t}", case.sql_name).replace("{columns}", ", ".join(values.TYPES)))


def _statements(case: Case) -> Iterator[str]:
    types = ", ".join(f"{name} {_type(name, case.is_delta)}" for name, kind in values.TYPES.items())
    by = f" PARTITIONED BY ({case.partitions})" if case.partitions else ""
    properties = dict(case.properties)
    if not case.is_delta:
        properties |= {"write.distribution-mode": "none", "write.spark.fanout.enabled": "true"}
    elif "n" in values.TYPES:
        properties["delta.feature.timestampNtz"] = "supported"
    listed = ", ".join(f"'{key}' = '{value}'" for key, value in properties.items())
    yield f"CREATE TABLE {{t}} ({types}) USING {'delta' if case.is_delta else 'iceberg'}{by} TBLPROPERTIES ({listed})"
    yield f"INSERT INTO {{t}} SELECT /*+ REPARTITION_BY_RANGE({GROUPS}, rid) */ {{columns}} FROM first"
    yield from case.after


def _type(name: str, is_delta: bool) -> str:
    """Iceberg has no CHAR, no VARCHAR and no integers below 32 bits."""
    if is_delta:
        return values.TYPES[name]
    return {"c": "STRING", "v": "STRING", "y": "INT", "h": "INT"}.get(name, values.TYPES[name])


def _stamp(case: Case) -> Path:
    return ROOT / f"{case.name}.written"


def version(case: Case) -> str:
    """Changes where the table would be another one."""
    rows = values.rows(1, GROUPS, SIZE, case.values) + values.rows(2, 3, SIZE, case.values, first=1000)
    return hashlib.sha256(json.dumps([JARS, repr(case), list(_statements(case)), rows]).encode()).hexdigest()


def _is_written(case: Case) -> bool:
    return _stamp(case).is_file() and _stamp(case).read_text() == version(case)
