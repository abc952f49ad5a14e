"""Rows at the edges of every type, and expressions over them, for which Spark's answers are stored.

``python -m tests.support.function_cases`` asks Spark, with and without ANSI mode, and writes the answers to
``tests/golden/function_answers.json``: for each expression its type, and a text for each row (NULL is null, an error is
false). It takes some minutes.
"""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

ANSWERS = Path(__file__).resolve().parents[1] / "golden" / "function_answers.json"

UTC = dt.timezone.utc
SCHEMA = pa.schema(
    [
        ("row", pa.int32()),
        ("i", pa.int32()),
        ("l", pa.int64()),
        ("small", pa.int16()),
        ("tiny", pa.int8()),
        ("d", pa.float64()),
        ("f", pa.float32()),
        ("m", pa.decimal128(10, 2)),
        ("w", pa.decimal128(38, 18)),
        ("s", pa.string()),
        ("n", pa.string()),
        ("day", pa.date32()),
        ("t", pa.timestamp("us", "UTC")),
        ("z", pa.timestamp("us")),
        ("b", pa.bool_()),
        ("x", pa.binary()),
        ("list", pa.list_(pa.int32())),
        ("map", pa.map_(pa.string(), pa.int32())),
    ]
)


def _columns() -> dict[str, list[Any]]:
    nan, inf = float("nan"), float("inf")
    instants = [
        dt.datetime(2024, 2, 29, 23, 59, 59, 999999),
        dt.datetime(1970, 1, 1),
        dt.datetime(1969, 12, 31, 23, 59, 59, 500000),
        dt.datetime(2023, 12, 31, 12, 30),
        dt.datetime(1900, 3, 1, 0, 0, 1),
        dt.datetime(9999, 12, 31, 23, 59, 59),
        None,
        dt.datetime(2000, 1, 1, 6, 0),
        dt.datetime(1583, 1, 31, 3, 4, 5, 678901),
        dt.datetime(2021, 3, 31, 1, 2, 3),
        dt.datetime(2016, 1, 3, 10, 20, 30, 400000),
        dt.datetime(2024, 12, 30, 0, 0),
    ]
    return {
        "i": [0, 1, -1, 2**31 - 1, -(2**31), 7, None, 42, -7, 100, 2024, 15],
        "l": [0, 1, -1, 2**63 - 1, -(2**63), 10, None, 2**53 + 1, -3, 86400, 1706745600, 5],
        "small": [0, 1, -1, 2**15 - 1, -(2**15), 7, None, 42, -7, 100, 2024, 2],
        "tiny": [0, 1, -1, 127, -128, 7, None, 42, -7, 100, 20, 3],
        "d": [0.0, -0.0, 1.5, nan, inf, -inf, None, 2.5, -2.5, 1e300, 1e-7, 123456789.125],
        "f": [0.0, 0.1, 1.5, nan, inf, -inf, None, 2.5, -2.5, 3e38, 1e-7, 16777216.0],
        "m": [
            Decimal(v) if v else None
            for v in [
                "0.00",
                "1.50",
                "-1.50",
                "99999999.99",
                "-99999999.99",
                "2.50",
                None,
                "0.01",
                "-2.50",
                "12.34",
                "100.00",
                "19.99",
            ]
        ],
        "w": [
            Decimal(v) if v else None
            for v in [
                "0",
                "1.5",
                "-1.5",
                "99999999999999999999.999999999999999999",
                "-99999999999999999999.999999999999999999",
                "0.000000000000000001",
                None,
                "3",
                "7.25",
                "-0.5",
                "123456.789",
                "2",
            ]
        ],
        "s": [
            "",
            "a",
            "  Ab c ",
            "straße ÄÖ",
            "ΑΣ Σ",
            "日本語テキスト",
            None,
            "a,b,,c",
            "o'neil %_\\",
            "x@gmail.com",
            "😀 smile",
            "foo-bar BAZ\n",
        ],
        "n": [
            "0",
            " 12 ",
            "-1.5",
            "abc",
            "1e3",
            "2024-02-29",
            None,
            "true",
            "2024-02-29 10:11:12.5",
            "9223372036854775808",
            "NaN",
            "2024-13-01",
        ],
        "day": [instant and instant.date() for instant in instants],
        "t": [instant and instant.replace(tzinfo=UTC) for instant in instants],
        "z": instants,
        "b": [True, False, None, True, False, True, None, False, True, True, False, None],
        "x": [b"", b"a", b"\x00\x01", b"abc", b"12", b"Zz", None, b" ", b"\x7f", b"q", b"hello", b"0"],
        "list": [[], [1], [1, None], [3, 2, 1], None, [7, 7], [None], [42], [0, -7], [100, 5], [2024], [15, 16]],
        "map": [
            [],
            [("a", 1)],
            [("b", None)],
            [("a", 2), ("b", 3)],
            None,
            [("", 7)],
            [("a", None)],
            [("c", 1)],
            [("a", 9)],
            [("d", 4)],
            [("b", 5)],
            [("a", 15)],
        ],
    }


def table() -> pa.Table:
    """The rows."""
    columns = _columns()
    columns["row"] = list(range(len(columns["i"])))
    return pa.table({field.name: pa.array(columns[field.name], field.type) for field in SCHEMA})


EXPRESSIONS = ANSWERS.with_name("function_cases.txt").read_text("utf-8").splitlines()
"""Expressions in SQL, one a line."""


def answer_of_spark(spark: Any, text: str, kind: str, rows: list[int]) -> list[Any]:
    """Spark's values as texts for the rows."""
    shown = f"hex({text})" if kind == "binary" else f"CAST(({text}) AS STRING)"
    found = spark.sql(f"SELECT `row`, {shown} AS v FROM function_rows WHERE `row` IN ({', '.join(map(str, rows))})")
    by_row = {record[0]: record[1] for record in found.collect()}
    return [by_row[row] for row in rows]


def ask(spark: Any) -> dict[str, Any]:
    """Spark's answers to all expressions, in both modes."""
    rows = table()
    everything = list(range(rows.num_rows))
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    found: dict[str, Any] = {}
    for mode, setting in (("ansi", "true"), ("legacy", "false")):
        spark.conf.set("spark.sql.ansi.enabled", setting)
        for text in EXPRESSIONS:
            entry = found.setdefault(text, {})
            try:
                kind = spark.sql(f"SELECT typeof({text}) FROM function_rows LIMIT 1").collect()[0][0]
            except Exception:
                entry[mode] = False
                continue
            entry[f"{mode}_type"] = kind
            try:
                entry[mode] = answer_of_spark(spark, text, kind, everything)
            except Exception:
                entry[mode] = [_one(spark, text, kind, row) for row in everything]
    return found


def _one(spark: Any, text: str, kind: str, row: int) -> Any:
    try:
        return answer_of_spark(spark, text, kind, [row])[0]
    except Exception:
        return False


def make_view(spark: Any, folder: Path) -> None:
    """Name the rows ``function_rows`` in a session."""
    import pyarrow.parquet as pq

    path = folder / "rows.parquet"
    pq.write_table(table(), path)
    spark.read.parquet(str(path)).cache().createOrReplaceTempView("function_rows")


def main() -> None:
    import tempfile

    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.codegen.wholeStage", "false")
    builder = builder.config("spark.sql.codegen.factoryMode", "NO_CODEGEN")  # 20 times faster for so few rows
    spark = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    with tempfile.TemporaryDirectory() as folder:
        make_view(spark, Path(folder))
        answers = ask(spark)
    lines = [f"{json.dumps(text)}: {json.dumps(entry, ensure_ascii=False)}" for text, entry in answers.items()]
    ANSWERS.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")


if __name__ == "__main__":
    main()
