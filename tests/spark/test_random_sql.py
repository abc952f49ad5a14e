"""Random SQL over values that are special to their types: a filter leaves the rows for which Spark says it is true.

Spark rewrites a filter before our pruning sees it. What is compared is a projection over the same rows, which prunes
nothing. Outside of ANSI mode, where no text is an error.
"""

from __future__ import annotations

import datetime as dt
import os
import random
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings

import tableformats as tf
from tests.spark.support.sql_texts import predicates
from tests.support.examples import examples

deltalake = pytest.importorskip("deltalake", reason="needs the extra [test]")

EXAMPLES = int(os.environ.get("TABLEFORMATS_EXAMPLES", examples(150))) // 3
FILES = 14
UTC = dt.timezone.utc
SCHEMA = pa.schema(
    [
        ("row", pa.int64()),
        ("n", pa.int32()),
        ("big", pa.int64()),
        ("x", pa.float64()),
        ("f", pa.float32()),
        ("amount", pa.decimal128(9, 2)),
        ("wide", pa.decimal128(38, 0)),
        ("s", pa.string()),
        ("d", pa.date32()),
        ("t", pa.timestamp("us", "UTC")),
        ("b", pa.bool_()),
        ("bin", pa.binary()),
        ("p", pa.int32()),
        ("pd", pa.date32()),
        ("pt", pa.timestamp("us", "UTC")),
        ("pw", pa.string()),
    ]
)
PARTITION = {"p": "n", "pd": "d", "pt": "t", "pw": "s"}
VALUES: dict[str, list[Any]] = {
    "n": [0, 1, -1, 5, 25, 26, 100, -(2**31), 2**31 - 1, None],
    "big": [0, 25, 2**33, 2**53, 2**53 + 1, -(2**63), 2**63 - 1, None],
    "x": [0.0, -0.0, 1.5, 25.0, 25.5, float("nan"), float("inf"), float("-inf"), 1e308, 5e-324, None],
    "f": [0.0, -0.0, 25.0, float("nan"), float("inf"), 16777216.0, 0.10000000149011612, None],
    "amount": [Decimal("0.00"), Decimal("-0.01"), Decimal("25.00"), Decimal("25.25"), Decimal("9999999.99"), None],
    "wide": [Decimal(0), Decimal(25), Decimal(10**25), Decimal(-(10**25)), Decimal(2**63), None],
    "s": [
        "",
        "a",
        "A",
        "ab",
        "abc",
        "b",
        "25",
        "025",
        " 25 ",
        "é",
        "\U0001f600",
        "zz",
        "a%b",
        "a_b",
        "true",
        "a" * 40,
        "a" * 40 + "z",
        "2024-03-01",
        None,
    ],
    "d": [
        dt.date(2024, 3, 1),
        dt.date(2024, 3, 2),
        dt.date(1970, 1, 1),
        dt.date(1969, 12, 31),
        dt.date(1, 1, 1),
        dt.date(1582, 10, 4),
        dt.date(9999, 12, 31),
        None,
    ],
    "t": [
        *(dt.datetime(2024, 3, 1, *time, tzinfo=UTC) for time in ((0,), (8,), (7, 59, 59, 999999))),
        *(
            dt.datetime(*time, tzinfo=UTC)
            for time in (
                (2024, 3, 10, 10),
                (2024, 11, 3, 9, 30),
                (1970, 1, 1),
                (1969, 12, 31, 23, 59, 59, 999999),
                (1900, 1, 1),
                (9999, 12, 30, 23),
            )
        ),
        None,
    ],
    "b": [True, False, None],
    "bin": [b"", b"a", b"ab", b"\xff", b"\x00", None],
}


def _files() -> list[pa.Table]:
    """Few values a file, so that its bounds say something, and the same ones in every run."""
    chance, files, number = random.Random(1), [], 0
    for _ in range(FILES):
        # An empty text is no partition value of Delta's.
        fixed = {name: chance.choice(VALUES[source]) or None for name, source in PARTITION.items()}
        few = {name: chance.choices(values, k=chance.choice([1, 1, 2, 3])) for name, values in VALUES.items()}
        rows = []
        for _ in range(chance.choice([1, 2, 4])):
            rows.append({"row": number, **{name: chance.choice(some) for name, some in few.items()}, **fixed})
            number += 1
        files.append(pa.Table.from_pylist(rows, SCHEMA))
    return files


def _delta(root: Path, files: list[pa.Table]) -> str:
    for rows in files:
        deltalake.write_deltalake(str(root), rows, mode="append", partition_by=["p", "pt"])
    return str(root)


def _iceberg(root: Path, files: list[pa.Table]) -> str:
    from pyiceberg.catalog.sql import SqlCatalog
    from pyiceberg.transforms import BucketTransform, IdentityTransform, MonthTransform, TruncateTransform

    root.mkdir()
    catalog = SqlCatalog("c", uri=f"sqlite:///{root}/catalog.db", warehouse=f"file://{root}")
    catalog.create_namespace("n")
    table = catalog.create_table("n.t", schema=SCHEMA)
    with table.update_spec() as update:
        update.add_field("n", BucketTransform(4), "n4")
        update.add_field("s", TruncateTransform(2), "s2")
        update.add_field("pd", MonthTransform(), "months")
        update.add_field("pw", IdentityTransform(), "words")
    for rows in files:
        table.append(rows)
    return str(table.metadata_location)


@pytest.fixture(scope="module")
def frames(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, list[Any]]]:
    """(the rows, where nothing is pruned; the tables)"""
    root, files = tmp_path_factory.mktemp("random"), _files()
    pq.write_table(pa.concat_tables(files), root / "rows.parquet")
    before = spark.conf.get("spark.sql.ansi.enabled")
    spark.conf.set("spark.sql.ansi.enabled", "false")
    plain = spark.read.parquet(str(root / "rows.parquet")).cache()
    tables = [_delta(root / "delta", files), _iceberg(root / "iceberg", files)]
    yield plain, [tf.open_table(table).scan().to_spark(spark) for table in tables]
    plain.unpersist()
    spark.conf.set("spark.sql.ansi.enabled", before)


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(where=predicates())
def test_rows(frames: tuple[Any, list[Any]], where: str) -> None:
    from pyspark.errors import AnalysisException

    plain, tables = frames
    try:
        answers = plain.selectExpr("row", f"({where}) AS kept")
    except AnalysisException:  # types that do not go together
        return
    wanted = sorted(row["row"] for row in answers.collect() if row["kept"])
    for frame in tables:
        assert sorted(row["row"] for row in frame.where(where).select("row").collect()) == wanted
