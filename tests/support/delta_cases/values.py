"""Cases of values and their statistics."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from tests.support.delta_cases.case import CUT, EMOJI, MAX, TIMESTAMP, Case, instant
from tests.support.delta_changes import data_file
from tests.support.delta_log import DeltaLog, field

Values = tuple[str, pa.DataType, list[Any], dict[str, list[int]]]
"""Type in the log and in the file, files (values, JSON of the least and greatest), and answers; rows count from 0."""
VALUES: dict[str, Values] = {
    "NaN passed over by the bounds": (
        "double",
        pa.float64(),
        [([0.5, math.nan], "0.5", "0.5"), ([2.0, 3.0], "2.0", "3.0"), ([-1.0], "-1.0", "-1.0")],
        {"c > 1": [1, 2, 3], "c >= 4": [1], "c < 1": [0, 4], "c = 2": [2], "isnan(c)": [1], "NOT (c > 1)": [0, 4]},
    ),
    "NaN as a bound": (
        "double",
        pa.float64(),
        [([0.5, math.nan], "0.5", '"NaN"'), ([math.nan], '"NaN"', '"NaN"'), ([2.0], "2.0", "2.0")],
        {"c > 1": [1, 2, 3], "c < 1": [0], "c = 2": [3], "isnan(c)": [1, 2], "c >= 4": [1, 2]},
    ),
    "infinite bounds": (
        "double",
        pa.float64(),
        [([-math.inf, 1.0], '"-Infinity"', "1.0"), ([5.0, math.inf], "5.0", '"Infinity"'), ([2.0], "2.0", "2.0")],
        {"c > 4": [2, 3], "c < 0": [0], "c > 1e308": [3], "c = 2": [4], "c < -1e308": [0], "c BETWEEN 2 AND 5": [2, 4]},
    ),
    "NaN and infinity as bare words": (
        "float",
        pa.float32(),
        [([1.0, math.nan], "1.0", "NaN"), ([-math.inf], "-Infinity", "-Infinity")],
        {"c > 5": [1], "c < 0": [2], "c = 1": [0]},
    ),
    "zeros of both signs": (
        "double",
        pa.float64(),
        [([-0.0], "-0.0", "-0.0"), ([0.0], "0.0", "0.0"), ([1.0], "1.0", "1.0")],
        {"c = 0": [0, 1], "c >= 0": [0, 1, 2], "c < 0": [], "c > 0": [2]},
    ),
    "emoji": (
        "string",
        pa.string(),
        [([EMOJI, "\uffee"], '"\uffee"', f'"{EMOJI}"'), (["a", MAX], '"a"', f'"{MAX}"'), (["b"], '"b"', '"b"')],
        {
            f"c = '{EMOJI}'": [0],
            f"c > '{EMOJI}'": [3],
            "c > '\uffef'": [0, 3],
            f"c >= '{MAX}'": [3],
            f"c LIKE '{EMOJI}%'": [0],
            "c < 'b'": [2],
        },
    ),
    "strings cut after 32 characters": (
        "string",
        pa.string(),
        [
            ([CUT + "a", CUT + "\U0001f600"], f'"{CUT}"', f'"{CUT}{MAX}"'),
            ([CUT], f'"{CUT}"', f'"{CUT}"'),
            (["a"], '"a"', '"a"'),
        ],
        {
            f"c > '{CUT}'": [0, 1],
            f"c = '{CUT}{EMOJI}'": [1],
            f"c >= '{CUT}\uffee'": [1],
            f"c <= '{CUT}'": [2, 3],
            "c < 'b'": [3],
            f"c LIKE '{CUT}_'": [0, 1],
        },
    ),
    "strings cut with the tie-break of old writers": (
        "string",
        pa.string(),
        [([CUT + EMOJI, CUT + "b"], f'"{CUT}"', f'"{CUT}\ufffd"'), (["a"], '"a"', '"a"')],
        {f"c = '{CUT}{EMOJI}'": [0], f"c > '{CUT}\ufffd'": [0], f"c < '{CUT}c'": [1, 2], "c = 'a'": [2]},
    ),
    "emoji cut in the middle of the string": (
        "string",
        pa.string(),
        [([EMOJI * 40], f'"{EMOJI * 32}"', f'"{EMOJI * 32}{MAX}"'), ([""], '""', '""')],
        {f"c = '{EMOJI * 40}'": [0], f"c > '{EMOJI * 32}'": [0], "c = ''": [1], f"c LIKE '{EMOJI * 33}%'": [0]},
    ),
    "integers above 2^53": (
        "long",
        pa.int64(),
        [
            ([2**53, 2**53 + 1], str(2**53), str(2**53 + 1)),
            ([2**53 + 2, 2**63 - 1], str(2**53 + 2), str(2**63 - 1)),
            ([-(2**63), -(2**53) - 1], str(-(2**63)), str(-(2**53) - 1)),
        ],
        {
            "c = 9007199254740993": [1],
            "c > 9007199254740993": [2, 3],
            "c = 9223372036854775807": [3],
            "c <= -9007199254740993": [4, 5],
            "c > -9007199254740993": [0, 1, 2, 3],
            "c < -9223372036854775807": [4],
        },
    ),
    "decimals as JSON numbers": (
        "decimal(38,10)",
        pa.decimal128(38, 10),
        [
            ([Decimal("1234567890123456789012345678.0123456789")], *["1234567890123456789012345678.0123456789"] * 2),
            ([Decimal("1234567890123456789012345678.0123456790")], *["1234567890123456789012345678.0123456790"] * 2),
            ([Decimal("0.0000000001"), Decimal("0.1")], "1E-10", "0.1"),
            ([Decimal("-7")], "-7", "-7.0"),
        ],
        {
            "c = 1234567890123456789012345678.0123456789": [0],
            "c > 1234567890123456789012345678.0123456789": [1],
            "c = 0.0000000001": [2],
            "c <= 0.0000000001": [2, 4],
            "c = 0.1": [3],
            "c < -6.9999999999": [4],
        },
    ),
    "dates at the ends of the calendar": (
        "date",
        pa.date32(),
        [
            ([dt.date(1, 1, 1), dt.date(1582, 10, 10)], '"0001-01-01"', '"1582-10-10"'),
            ([dt.date(1899, 12, 31), dt.date(1970, 1, 1)], '"1899-12-31"', '"1970-01-01"'),
            ([dt.date(9999, 12, 31)], '"9999-12-31"', '"9999-12-31"'),
        ],
        {
            "c = DATE '0001-01-01'": [0],
            "c > DATE '1582-10-10'": [2, 3, 4],
            "c < DATE '1900-01-01'": [0, 1, 2],
            "c >= DATE '9999-12-31'": [4],
            "c BETWEEN DATE '1582-10-05' AND DATE '1582-10-14'": [1],
        },
    ),
    "timestamps at the ends of the calendar": (
        "timestamp",
        TIMESTAMP,
        [
            (
                [instant(1, 1, 1), instant(1582, 10, 10, 1, 2, 3, 4)],
                '"0001-01-01T00:00:00.000Z"',
                '"1582-10-10T01:02:03.000Z"',
            ),
            ([instant(1899, 12, 31, 23, 59, 59, 999999)], *['"1899-12-31T23:59:59.999Z"'] * 2),
            ([instant(2024, 1, 1, 0, 0, 0, 123456)], *['"2024-01-01T00:00:00.123Z"'] * 2),
            ([instant(9999, 12, 31, 23, 59, 59, 999999)], *['"9999-12-31T23:59:59.999Z"'] * 2),
        ],
        {
            "c < '1582-10-10 01:02:03.000005'": [0, 1],
            "c = '1582-10-10 01:02:03.000004'": [1],
            "c >= '1899-12-31 23:59:59.999999'": [2, 3, 4],
            "c > '2024-01-01 00:00:00.123455'": [3, 4],
            "c = '9999-12-31 23:59:59.999999'": [4],
            "c = '0001-01-01 00:00:00'": [0],
        },
    ),
    "pre-1900 timestamps in a zone of local mean time": (
        # -07:52:58 as written by a formatter that knows hours and minutes only: 58 seconds are lost.
        "timestamp",
        TIMESTAMP,
        [
            ([instant(1883, 11, 1, 7, 52, 58)], *['"1883-11-01T00:00:00.000-07:52"'] * 2),
            ([instant(2024, 1, 1)], *['"2023-12-31T16:00:00.000-08:00"'] * 2),
        ],
        {"c = '1883-11-01 07:52:58'": [0], "c > '1883-11-01 07:52:30'": [0, 1], "c >= '2024-01-01'": [1]},
    ),
    "nulls only, and no statistics": (
        "long",
        pa.int64(),
        [([None, None], None, None), ([3], None, None), ([4], "4", "4")],
        {
            "c IS NULL": [0, 1],
            "c = 3": [2],
            "c > 3": [3],
            "c <=> NULL": [0, 1],
            "NOT (c = 3)": [3],
            "c IS NOT NULL": [2, 3],
        },
    ),
}


def values_case(kind: str, stored: pa.DataType, files: list[Any], answers: dict[str, list[int]], root: Path) -> Case:
    log = DeltaLog(root).start(field("id", "long"), field("c", kind))
    tables: list[pa.Table] = []
    for version, (values, low, high) in enumerate(files, 1):
        first = sum(t.num_rows for t in tables)
        ids = pa.array(range(first, first + len(values)), pa.int64())
        tables.append(pa.table({"id": ids, "c": pa.array(values, stored)}))
        bounds = f', "minValues": {{"c": {low}}}, "maxValues": {{"c": {high}}}' if low is not None else ""
        text = f'{{"numRecords": {len(values)}{bounds}, "nullCount": {{"c": {values.count(None)}}}}}'
        log.commit(version, data_file(log, f"f{version}", tables[-1], stats=text))
    return Case(root, pa.concat_tables(tables), answers)
