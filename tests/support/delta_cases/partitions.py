"""Cases of partition values."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa

from tests.support.delta_cases.case import EMOJI, MAX, TIMESTAMP, Case, instant
from tests.support.delta_changes import id_file
from tests.support.delta_log import PROTOCOL, DeltaLog, field
from tests.support.delta_types import features

Parts = tuple[str, pa.DataType, list[tuple[str | None, Any]], dict[str, list[int]]]
"""Type in the log and in Arrow, texts with their values (each the only row of a file), and answers."""
PARTITIONS: dict[str, Parts] = {
    "string": (
        "string",
        pa.string(),
        [
            ("a", "a"),
            ("", None),
            (None, None),
            ("A", "A"),
            (" a%20b/c=d ", " a%20b/c=d "),
            ("%", "%"),
            (EMOJI, EMOJI),
            ("null", "null"),
            ("it's \"\\", "it's \"\\"),
            ("__HIVE_DEFAULT_PARTITION__", "__HIVE_DEFAULT_PARTITION__"),
            ("a\nb:?*#", "a\nb:?*#"),
            (MAX, MAX),
        ],
        {
            "p = 'a'": [0],
            "p IS NULL": [1, 2],
            "p = ' a%20b/c=d '": [4],
            f"p > '{EMOJI}'": [11],
            "p = 'null'": [7],
            "p LIKE 'a%'": [0, 10],
            "p <=> NULL": [1, 2],
            "p IN ('A', '%')": [3, 5],
            "NOT (p >= ' ')": [],
        },
    ),
    "boolean": (
        "boolean",
        pa.bool_(),
        [("true", True), ("FALSE", False), ("True", True), ("fAlSe", False), ("", None)],
        {"p": [0, 2], "p = false": [1, 3], "p IS NULL": [4], "NOT p": [1, 3]},
    ),
    "byte": (
        "byte",
        pa.int8(),
        [("-128", -128), ("127", 127), ("", None), ("+5", 5)],
        {"p > 0": [1, 3], "p = -128": [0]},
    ),
    "short": (
        "short",
        pa.int16(),
        [("-32768", -(2**15)), ("007", 7), (None, None)],
        {"p = 7": [1], "p <= -32768": [0]},
    ),
    "integer": (
        "integer",
        pa.int32(),
        [("-2147483648", -(2**31)), ("0", 0), ("", None)],
        {"p < 0": [0], "p IS NULL": [2]},
    ),
    "long": (
        "long",
        pa.int64(),
        [(str(2**53 + 1), 2**53 + 1), (str(2**53), 2**53), (str(-(2**63)), -(2**63)), (None, None)],
        {"p = 9007199254740993": [0], "p < 9007199254740993": [1, 2], "p IS NULL": [3]},
    ),
    "float": (
        "float",
        pa.float32(),
        [("1.5", 1.5), ("NaN", math.nan), ("-Infinity", -math.inf), ("", None)],
        {"p > 1": [0, 1], "p < 0": [2], "isnan(p)": [1]},
    ),
    "double": (
        "double",
        pa.float64(),
        [("1E3", 1e3), ("NaN", math.nan), ("Infinity", math.inf), ("-0.0", -0.0), ("4.9E-324", 5e-324), (None, None)],
        {"p > 1000": [1, 2], "p = 0": [3], "p > 0 AND p < 1": [4], "p IS NULL": [5], "p = 1000": [0]},
    ),
    "decimal": (
        "decimal(10,5)",
        pa.decimal128(10, 5),
        [
            ("0.00004", Decimal("0.00004")),
            ("4E-5", Decimal("0.00004")),
            ("-12", Decimal("-12.00000")),
            ("99999.99999", Decimal("99999.99999")),
            ("", None),
        ],
        {"p = 0.00004": [0, 1], "p < 0": [2], "p > 0.00004": [3], "p IS NULL": [4]},
    ),
    "date": (
        "date",
        pa.date32(),
        [
            ("0001-01-01", dt.date(1, 1, 1)),
            ("1582-10-04", dt.date(1582, 10, 4)),
            ("1582-10-10", dt.date(1582, 10, 10)),
            ("9999-12-31", dt.date(9999, 12, 31)),
            ("", None),
        ],
        {"p < DATE '1582-10-05'": [0, 1], "p = DATE '1582-10-10'": [2], "p > DATE '9999-12-30'": [3], "p IS NULL": [4]},
    ),
    "timestamp": (
        "timestamp",
        TIMESTAMP,
        [
            ("2021-09-08 11:11:11", instant(2021, 9, 8, 11, 11, 11)),
            ("2021-09-08T11:11:11Z", instant(2021, 9, 8, 11, 11, 11)),
            ("2021-09-08T16:11:11.000001+05:00", instant(2021, 9, 8, 11, 11, 11, 1)),
            ("2021-09-08 03:11:10.5-08:00", instant(2021, 9, 8, 11, 11, 10, 500000)),
            ("0001-01-01 00:00:00", instant(1, 1, 1)),
            ("9999-12-31T23:59:59.999999Z", instant(9999, 12, 31, 23, 59, 59, 999999)),
            (None, None),
        ],
        {
            "p = '2021-09-08 11:11:11'": [0, 1],
            "p > '2021-09-08 11:11:11'": [2, 5],
            "p < '1582-01-01'": [4],
            "p <= '2021-09-08 11:11:10.5'": [3, 4],
            "p IS NULL": [6],
        },
    ),
    "timestamp_ntz": (
        "timestamp_ntz",
        pa.timestamp("us"),
        [
            ("2013-07-05 17:01:00.123456", dt.datetime(2013, 7, 5, 17, 1, 0, 123456)),
            ("1001-01-01T00:00:00", dt.datetime(1001, 1, 1)),
            ("", None),
        ],
        {"p > '2013-07-05 17:01:00.123455'": [0], "p < '1582-01-01'": [1], "p IS NULL": [2]},
    ),
    "binary": (
        "binary",
        pa.binary(),
        [("\u0001\u0002", b"\x01\x02"), ("é", "é".encode()), ("", None)],
        {"p IS NULL": [2], "p IS NOT NULL": [0, 1]},
    ),
}


def partition_case(kind: str, stored: pa.DataType, parts: list[Any], answers: dict[str, list[int]], root: Path) -> Case:
    """The folders of the files have names that need every kind of escape, and say nothing about the values."""
    protocol = features("timestampNtz") if kind == "timestamp_ntz" else PROTOCOL
    log = DeltaLog(root).start(field("id", "long"), field("p", kind), partition=("p",), protocol=protocol)
    for version, (text, _) in enumerate(parts):
        path = f"p=a%20b {EMOJI}+#?&=:é/{version}%2F"
        (action,) = id_file(log, path, [version]).values()
        log.commit(version + 1, {"add": {**action, "path": quote(path), "partitionValues": {"p": text}}})
    ids = pa.array(range(len(parts)), pa.int64())
    return Case(root, pa.table({"id": ids, "p": pa.array([value for _, value in parts], stored)}), answers)
