"""Spark's answers are the row model's: for translated predicates in a far time zone, and for the SQL that was read."""

from __future__ import annotations

import datetime as dt
import itertools
import math
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from tableformats.errors import UnsupportedFeatureError
from tableformats.expressions import (
    And,
    BoundColumn,
    Comparison,
    Expression,
    In,
    IsNull,
    Literal,
    Not,
    Or,
    Reference,
    col,
)
from tableformats.expressions.binding import bind
from tableformats.expressions.parse import parse_filter
from tableformats.schema import DecimalType, Field, Schema, StructType, primitive
from tests.support import rowmodel
from tests.support.examples import one_of

pytestmark = pytest.mark.spark

NAMES = ["tiny", "i", "big", "f", "d", "price", "huge", "flag", "s", "bin", "day", "ts", "ntz", "j"]
TYPES = [
    primitive("byte"),
    primitive("int"),
    primitive("long"),
    primitive("float"),
    primitive("double"),
    DecimalType(5, 2),
    DecimalType(38, 0),
    primitive("boolean"),
    primitive("string"),
    primitive("binary"),
    primitive("date"),
    primitive("timestamp"),
    primitive("timestamp_ntz"),
    primitive("int"),
]
MEMBER = Field(51, "a.b `c", primitive("int"))
SCHEMA = Schema(
    (
        *(Field(i, n, t) for i, (n, t) in enumerate(zip(NAMES, TYPES, strict=True), 1)),
        Field(50, "st", StructType((MEMBER,))),
    )
)

NOON = 1_704_110_400_000_000  # 2024-01-01 12:00:00 UTC
FLOAT_TENTH = 0.10000000149011612
VALUES: dict[str, list[Any]] = {
    "tiny": [-128, 0, 1, 127, None],
    "i": [-(2**31), -1, 0, 1, 2, 2**31 - 1, None],
    "j": [1, None, 0, 2, -1],
    "big": [-(2**63), 0, 1, 9007199254740993, 2**63 - 1, None],
    "f": [math.nan, -0.0, 0.0, FLOAT_TENTH, math.inf, -math.inf, 1.0, None],
    "d": [math.nan, 0.0, -0.0, 0.1, math.inf, -math.inf, 1.0, 5e-324, None],
    "price": [Decimal("-999.99"), Decimal("0.00"), Decimal("1.10"), Decimal("999.99"), None],
    "huge": [Decimal(-(10**38) + 1), Decimal(0), Decimal(1), Decimal(10**38 - 1), None],
    "flag": [True, False, None],
    "s": ["", "a", "a%b", "ab", "a\nb", "\U0001f600", "\uff5e", "A", "it's \\", None],
    "bin": [b"", b"\x00", b"a", b"\xff", None],
    "day": [-719162, -1, 0, 19723, 2932896, None],
    "ts": [-62135596800000000 + 10**12, -1, 0, NOON, NOON + 1, None],
    "ntz": [-62135596800000000 + 10**12, -1, 0, NOON, NOON + 1, None],
    "st": [1, None, "null struct"],
}


def _rows() -> Iterator[dict[int, Any]]:
    ids = {field.name: field.id for field in SCHEMA}
    for i in range(max(map(len, VALUES.values()))):
        row = {ids[name]: VALUES[name][i % len(VALUES[name])] for name in NAMES}
        member = VALUES["st"][i % 3]
        yield {0: i, **row, 50: None if member == "null struct" else True, 51: member if member == 1 else None}


ROWS = list(_rows())


def _leaves() -> Iterator[Expression]:
    """Every comparison of every column with each of its own values, and of every two columns that compare."""
    columns = [BoundColumn(path) for path in SCHEMA.leaves()]
    for column in columns:
        literals = [Literal(v, column.type) for v in VALUES.get(column.field.name, [1, None]) if v is not None]
        for op, literal in itertools.product(["=", "<=>", "!=", "<", "<=", ">", ">="], literals):
            yield bind(Comparison(op, column, literal), SCHEMA)
        yield bind(In(column, tuple(literals[:3])), SCHEMA)
        yield IsNull(column)
    numbers = ["tiny", "i", "big", "f", "d", "price", "j"]
    pairs = [*itertools.combinations(numbers, 2), ("huge", "i"), *itertools.permutations(["day", "ts", "ntz"], 2)]
    for (a, b), op in itertools.product(pairs, ["=", "<=>", "<", ">="]):
        yield bind(Comparison(op, Reference((a,)), Reference((b,))), SCHEMA)
    for pattern in ("a%", "a%b", "_", "%\\%%", "%\n%", "%", "it's %", "%\\\\"):
        yield bind(col("s").like(pattern), SCHEMA)
    yield bind(col("d").is_nan(), SCHEMA)
    yield bind(col("f").is_nan(), SCHEMA)
    yield bind(col("st").is_null(), SCHEMA)


@pytest.fixture(scope="module")
def frame(spark: Any) -> Any:
    """The rows as a DataFrame: dates and timestamps made of integers inside of Spark."""
    from pyspark.sql import functions as F
    from pyspark.sql import types as T

    raw = T.StructType.fromJson(
        {
            "type": "struct",
            "fields": [
                {"name": name, "nullable": True, "metadata": {}, "type": kind}
                for name, kind in (
                    ("id", "integer"),
                    *((n, _raw_type(t)) for n, t in zip(NAMES, TYPES, strict=True)),
                    ("is_struct", "boolean"),
                    ("member", "integer"),
                )
            ],
        }
    )
    data = [(r[0], *(r[f.id] for f in SCHEMA.fields[:-1]), r[50] is not None, r[51]) for r in ROWS]
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    frame = spark.createDataFrame(data, raw)
    frame = frame.withColumns(
        {
            "day": F.date_from_unix_date("day"),
            "ts": F.timestamp_micros("ts"),
            "ntz": F.timestamp_micros("ntz").cast("timestamp_ntz"),
            "st": F.when(F.col("is_struct"), F.struct(F.col("member").alias(MEMBER.name))),
        }
    ).drop("is_struct", "member")
    # Through the JVM's rows, so that no later change of the zone reaches the values.
    return frame.localCheckpoint()


def _raw_type(kind: Any) -> str:
    names = {
        "tinyint": "byte",
        "int": "integer",
        "bigint": "long",
        "date": "integer",
        "timestamp": "long",
        "timestamp_ntz": "long",
    }
    return names.get(str(kind), str(kind))


def _answers(frame: Any, columns: list[Any]) -> list[list[bool | None]]:
    """The truth values of many conditions at once: one list a condition, one value a row."""
    named = [c.alias(f"c{i}") for i, c in enumerate(columns)]
    rows = frame.select("id", *named).orderBy("id").collect()
    return [[row[i + 1] for row in rows] for i in range(len(columns))]


@pytest.mark.parametrize(("zone", "ansi"), one_of(2, [("America/St_Johns", "true"), ("Asia/Kolkata", "false")]))
def test_every_condition_has_the_truth_value_of_the_row_model(spark, frame, zone, ansi):
    from tableformats.engines.spark.filters import to_spark_column

    spark.conf.set("spark.sql.session.timeZone", zone)
    spark.conf.set("spark.sql.ansi.enabled", ansi)
    leaves = list(_leaves())
    leaves += [And((a, Not(b))) for a, b in itertools.pairwise(leaves[::9])]
    leaves += [Or((a, b)) for a, b in itertools.pairwise(leaves[::17])]
    for start in range(0, len(leaves), 100):
        chunk = leaves[start : start + 100]
        answers = _answers(frame, [to_spark_column(e) for e in chunk])
        for expression, answer in zip(chunk, answers, strict=True):
            assert answer == [rowmodel.evaluate(expression, row) for row in ROWS], str(expression)


SQL = [
    "i < 1.5",
    "i = 1.5",
    "i != 1.5",
    "i > -1e0",
    "i IN (1, 2.5, NULL)",
    "i NOT IN (1, 2)",
    "i NOT IN (1, NULL)",
    "i <=> NULL",
    "i = NULL",
    "i BETWEEN 0 AND 1",
    "i NOT BETWEEN 0 AND 1",
    "NOT (i > 0 OR flag)",
    "tiny < 1000",
    "big = 9007199254740993",
    "big > 9223372036854775807",
    "big < 1e300",
    "price > 1.005",
    "price = 1.1",
    "price < 10000000",
    "huge > 1.5",
    "d = double('NaN')",
    "d > 1",
    "d >= double('NaN')",
    "d < double('NaN')",
    "isnan(d)",
    "f = 0.1",
    "f = 0.1F",
    "f >= 0.1D",
    "d = 0.1",
    "d = -0.0",
    "d <=> NULL",
    "d IN (double('NaN'), 0)",
    "flag",
    "NOT flag",
    "flag IS TRUE",
    "flag IS NOT TRUE",
    "flag IS NOT FALSE",
    "flag = TRUE",
    "flag IS NULL",
    "s = ''",
    "s > 'a'",
    "s > '\\uff5e'",
    "s LIKE 'a%'",
    "s LIKE 'a\\%b'",
    "s LIKE 'a_b'",
    "s NOT LIKE '%b'",
    "s LIKE 'a/%%' ESCAPE '/'",
    "startswith(s, 'a')",
    "s = 'it\\'s \\\\'",
    "s IS DISTINCT FROM 'a'",
    "s IS NOT DISTINCT FROM NULL",
    's <= "ab"',
    "s = r'it'",
    "bin > X'00'",
    "bin = X'ff'",
    "day = DATE '2024-01-01'",
    "day > '2023-12'",
    "day < CAST('1970' AS DATE)",
    "day < TIMESTAMP '2024-01-01 10:00:00'",
    "day = TIMESTAMP '2024-01-01 10:00:00'",
    "day >= TIMESTAMP '2024-01-01'",
    "ts = TIMESTAMP '2024-01-01 12:00:00'",
    "ts > TIMESTAMP '2024-01-01 13:00:00+01:00'",
    "ts >= DATE '2024-01-01'",
    "ts < '2024-01-01T12:00:00.0000011'",
    "ts <= '1970-01-01 00:00:00 UTC'",
    "ntz = TIMESTAMP_NTZ '2024-01-01 12:00:00'",
    "ntz > DATE '1970-01-01'",
    "ntz < TIMESTAMP '2024-01-01 12:00:00.000001'",
    "ntz >= '2024-01-01 12'",
    "ts < ntz",
    "day <= ts",
    "st.`a.b ``c` = 1",
    "st IS NULL",
    "st.`a.b ``c` IS NOT NULL",
    "i < j",
    "5 > i",
    "i = 1L",
    "i = '1'",
    "1 = 1 AND i > 0",
    "i = 1 OR j = 1 AND NOT flag",
    "NOT i = 1 AND j = 1",
    "!flag OR i = 1",
    "isnull(i)",
    "isnotnull(i)",
    "d = 1e0",
    "i <> -2147483648",
    "price = CAST(1.1 AS DECIMAL(5,1))",
    "NOT (i = 1 AND NULL)",
    "flag = 'yes'",
    "price = 1.10BD",
]
OVERFLOWS_IN_SPARK_3 = "huge > 1.5"
"""Spark 3.5 compares them as decimal(38, 1), which has no room for all of them."""


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_spark_reads_the_same_sql_the_same_way(spark, frame, ansi):
    """What our parser and binder make of a text is what Spark makes of it, with UTC as the session's zone."""
    from pyspark.sql import functions as F

    spark.conf.set("spark.sql.session.timeZone", "UTC")
    spark.conf.set("spark.sql.ansi.enabled", ansi)
    asked = [sql for sql in SQL if sql != OVERFLOWS_IN_SPARK_3 or not spark.version.startswith("3.")]
    for sql, answer in zip(asked, _answers(frame, [F.expr(sql) for sql in asked]), strict=True):
        expression = bind(parse_filter(sql), SCHEMA)
        assert [rowmodel.evaluate(expression, row) for row in ROWS] == answer, f"{sql} was read as {expression}"


@pytest.mark.nightly
def test_a_long_chain_does_not_exhaust_catalyst(frame):
    from tableformats.engines.spark.filters import to_spark_column

    expression = bind(parse_filter(" AND ".join(f"i != {i}" for i in range(3, 1003))), SCHEMA)
    assert frame.where(to_spark_column(expression)).count() == sum(rowmodel.is_kept(expression, row) for row in ROWS)


def test_types_that_spark_lacks_are_refused():
    from tableformats.engines.spark.filters import to_spark_column

    schema = Schema((Field(1, "t", primitive("timestamp_ns")),))
    with pytest.raises(UnsupportedFeatureError, match="timestamp_ns"):
        to_spark_column(bind(col("t") == dt.datetime(2024, 1, 1), schema))
