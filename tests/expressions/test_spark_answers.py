"""Constants of other types than their column: Spark's rows, with ANSI mode and without.

The rows were seen in Spark 4.3.0, session time zone UTC, by ``spark.sql(f"SELECT id FROM t WHERE {condition}")``.
"""

from __future__ import annotations

import datetime as dt
import decimal
import math

import pyarrow as pa
import pytest

from tableformats.engines.arrow.filters import evaluate
from tableformats.errors import InvalidPredicateError
from tableformats.expressions.binding import bind
from tableformats.expressions.parse import parse_filter
from tableformats.schema import Schema

REFUSED = None
UTC = dt.timezone.utc


def decimals(*values: str) -> list[decimal.Decimal]:
    return [decimal.Decimal(value) for value in values]


TABLE = pa.record_batch(
    {
        "id": pa.array([1, 2, 3, 4, 5, 6], pa.int32()),
        "f": pa.array([0.10000000149011612, 0.20000000298023224, math.nan, 1e10, 100, math.inf], pa.float32()),
        "d": pa.array([0.1, 0.10000000149011612, math.nan, 1e-5, 100, 9999999.0]),
        "dec": pa.array(decimals("0.1", "0.25", "1", "0", "0", "0"), pa.decimal128(5, 2)),
        "d38": pa.array([*decimals("0", "1"), None, None, None, None], pa.decimal128(38, 18)),
        "i": pa.array([1, 2, 0, -1, -1, -1], pa.int32()),
        "l": pa.array([1, 2, 0, -1, -1, -1], pa.int64()),
        "b": pa.array([True, False, None, None, None, None]),
        "dt": pa.array([dt.date(2024, 1, 1), dt.date(2024, 1, 2), None, None, None, None]),
        "ts": pa.array(
            [dt.datetime(2024, 1, 1, tzinfo=UTC), dt.datetime(2024, 1, 1, 1, 0, 0, 500000, UTC), *[None] * 4],
            pa.timestamp("us", "UTC"),
        ),
        "s": pa.array(["x", "1", None, None, None, None]),
        "bin": pa.array([b"ab", b"ac", None, None, None, None]),
    }
)
SCHEMA = Schema.from_arrow(TABLE.schema)

ANSWERS = [  # condition, rows with ANSI, rows without
    ("NOT (f = CAST('0.1' AS FLOAT) AND f <= float('0.1'))", [2, 3, 4, 5, 6], [2, 3, 4, 5, 6]),
    ("NOT (i = 'x')", REFUSED, []),
    ("b = 'maybe'", REFUSED, []),
    ("b = 'true'", [1], [1]),
    ("b = 'yes'", [1], [1]),
    ("b = CAST('maybe' AS BOOLEAN)", REFUSED, []),
    ("b = CAST(0 AS BOOLEAN)", [2], [2]),
    ("b = CAST(1.5 AS BOOLEAN)", [1], [1]),
    ("bin < 'ac'", [1], [1]),
    ("bin = 'ab'", [1], [1]),
    ("bin = CAST('ab' AS BINARY)", [1], [1]),
    ("d = '+nan'", REFUSED, []),
    ("d = '-NaN'", [3], [3]),
    ("d = '0x1.0p0'", [], []),
    ("d = '1_0'", REFUSED, []),
    ("d = 'İnf'", REFUSED, []),
    ("d = CAST('0.1' AS FLOAT)", [2], [2]),
    ("d = CAST(CAST('0.1' AS FLOAT) AS DECIMAL(5,2))", [1], [1]),
    ("d = CAST(CAST(0.1F AS STRING) AS DOUBLE)", [1], [1]),
    ("d = CAST(true AS DOUBLE)", [], []),
    ("d > CAST('0.1' AS FLOAT)", [3, 5, 6], [3, 5, 6]),
    ("d IN ('0.00001')", [4], []),
    ("d IN ('1.0E-5')", [4], [4]),
    ("d IN ('9999999.0')", [6], [6]),
    ("d IN ('x', 0.1)", REFUSED, [1]),
    ("d IN ('x', 0.10)", REFUSED, []),
    ("d IN (CAST('0.1' AS FLOAT), 7)", [2], [2]),
    ("d38 IN ('0')", [1], []),
    ("d38 IN ('0.000000000000000000')", [1], []),
    ("d38 IN ('0E-18')", [1], [1]),
    ("d38 IN ('1.000000000000000000')", [2], [2]),
    ("dec < 'Infinity'", [1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6]),
    ("dec < 'nan'", [1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6]),
    ("dec < CAST('0.1' AS FLOAT)", [1, 4, 5, 6], [1, 4, 5, 6]),
    ("dec <= '0.1'", [1, 4, 5, 6], [1, 4, 5, 6]),
    ("dec = '0.1'", [1], [1]),
    ("dec = '0.1000000000000000000001'", [1], [1]),
    ("dec = '0.1f'", [1], [1]),
    ("dec = 'nan'", [], []),
    ("dec = CAST(' 0.1 ' AS DECIMAL(5,2))", [1], [1]),
    ("dec = CAST('0.1' AS FLOAT)", [], []),
    ("dec = CAST('0.1f' AS DECIMAL(5,2))", REFUSED, []),
    ("dec = CAST('0.245' AS DECIMAL(5,2))", [2], [2]),
    ("dec = CAST('0.25' AS FLOAT)", [2], [2]),
    ("dec = CAST('0.255' AS DECIMAL(5,2))", [], []),
    ("dec = CAST('1e-1' AS DECIMAL(5,2))", [1], [1]),
    ("dec = CAST('x' AS DECIMAL(5,2))", REFUSED, []),
    ("dec = CAST(0.245D AS DECIMAL(5,2))", [2], [2]),
    ("dec = CAST(1 AS DECIMAL(2,2))", REFUSED, []),
    ("dec = TRY_CAST(1 AS DECIMAL(2,2))", [], []),
    ("dec > CAST('0.1' AS FLOAT)", [2, 3], [2, 3]),
    ("dec IN ('0.1','0.25')", [1, 2], [2]),
    ("dec IN ('0.1',0.25)", [1, 2], [2]),
    ("dec IN ('0.10')", [1], [1]),
    ("dec IN ('x', 0.25)", REFUSED, [2]),
    ("dt < '2024-1-2'", [1], [1]),
    ("dt = '2024'", [1], [1]),
    ("dt = '2024-01'", [1], [1]),
    ("dt = '2024-01-01 01:00:00'", [1], [1]),
    ("dt = '2024-01-01 foo'", [1], [1]),
    ("dt = '2024-01-01'", [1], [1]),
    ("dt = '2024-01-01T'", [1], [1]),
    ("dt = 'x'", REFUSED, []),
    ("dt = CAST('2024-01-01 10:00' AS DATE)", [1], [1]),
    ("dt = CAST(1 AS DATE)", REFUSED, REFUSED),
    ("dt = CAST(TIMESTAMP'2024-01-01 23:00:00' AS DATE)", [1], [1]),
    ("dt IN ('2024-01-01')", [1], [1]),
    ("dt IN ('2024-01-01', date'2024-01-02')", [1, 2], [1, 2]),
    ("dt IN ('2024-1-1')", [1], []),
    ("f != '0.1'", [1, 2, 3, 4, 5, 6], [2, 3, 4, 5, 6]),
    ("f != CAST('0.1' AS FLOAT)", [2, 3, 4, 5, 6], [2, 3, 4, 5, 6]),
    ("f < '+inf'", [1, 2, 4, 5], [1, 2, 4, 5]),
    ("f < '0.2'", [1], [1]),
    ("f < CAST('1e50' AS FLOAT)", [1, 2, 4, 5], [1, 2, 4, 5]),
    ("f < float('0.1')", [], []),
    ("f <= '0.1'", [], [1]),
    ("f <= float('0.1')", [1], [1]),
    ("f <=> '0.1'", [], [1]),
    ("f <=> NULL", [], []),
    ("f = '  0.1  '", [], [1]),
    ("f = '-Infinity'", [], []),
    ("f = '0.1'", [], [1]),
    ("f = '0.1'::FLOAT", [1], [1]),
    ("f = '0.100000001490116119384765625'", [1], [1]),
    ("f = '\\t0.1\\n'", [], [1]),
    ("f = '\\u00a00.1'", REFUSED, []),
    ("f = 'x'", REFUSED, []),
    ("f = 0.1", [], []),
    ("f = 0.1D", [], []),
    ("f = 0.1F", [1], [1]),
    ("f = 1e-1", [], []),
    ("f = CAST(' nan ' AS FLOAT)", [3], [3]),
    ("f = CAST('0.1' AS FLOAT)", [1], [1]),
    ("f = CAST('0.1' AS REAL)", [1], [1]),
    ("f = CAST('1.00000005960464477539062500000000000001' AS FLOAT)", [], []),
    ("f = CAST('1e50' AS FLOAT)", [6], [6]),
    ("f = CAST('x' AS FLOAT)", REFUSED, []),
    ("f = CAST(0.1 AS FLOAT)", [1], [1]),
    ("f = CAST(CAST('0.1' AS DOUBLE) AS FLOAT)", [1], [1]),
    ("f = CAST(CAST('0.1' AS FLOAT) AS DOUBLE)", [1], [1]),
    ("f = TRY_CAST('0.1' AS FLOAT)", [1], [1]),
    ("f = TRY_CAST('x' AS FLOAT)", [], []),
    ("f = float('0.1')", [1], [1]),
    ("f BETWEEN '0.1' AND 0.2", [1], [1]),
    ("f BETWEEN float('0.1') AND float('0.1')", [1], [1]),
    ("f IN ('0.1 ')", [], []),
    ("f IN ('0.1')", [], [1]),
    ("f IN ('0.1', 0.2)", [], [1, 2]),
    ("f IN ('0.1', 5)", [], [1]),
    ("f IN ('0.1','0.2')", [], [1, 2]),
    ("f IN ('1.0E10')", [4], [4]),
    ("f IN ('100')", [5], []),
    ("f IN ('100', 100)", [5], []),
    ("f IN ('100.0')", [5], [5]),
    ("f IN ('1e10')", [4], []),
    ("f IN ('Infinity')", [6], [6]),
    ("f IN ('NaN')", [3], [3]),
    ("f IN ('nan')", [3], []),
    ("f IN ('x', 100)", REFUSED, []),
    ("f IN ('x', 100.0)", REFUSED, [5]),
    ("f IN ('x', 100D)", REFUSED, [5]),
    ("f IN ('x', 1e10)", REFUSED, [4]),
    ("f IN ('x', NULL)", REFUSED, []),
    ("f IN (0.1, 0.2)", [], []),
    ("f IN (float('0.1'))", [1], [1]),
    ("f IN (float('0.1'), '0.2')", [1], [1, 2]),
    ("f IN (float('0.1'), 0.2)", [1], [1]),
    ("f IN (float('0.1'), 0.2D)", [1], [1]),
    ("i != 'x'", REFUSED, []),
    ("i < '1.5'", REFUSED, [3, 4, 5, 6]),
    ("i < '3000000000'", [1, 2, 3, 4, 5, 6], []),
    ("i <=> 'x'", REFUSED, []),
    ("i = ' 1 '", [1], [1]),
    ("i = ''", REFUSED, []),
    ("i = '+1'", [1], [1]),
    ("i = '-.5'", REFUSED, [3]),
    ("i = '-0.9'", REFUSED, [3]),
    ("i = '.'", REFUSED, [3]),
    ("i = '.5'", REFUSED, [3]),
    ("i = '1'", [1], [1]),
    ("i = '1.'", REFUSED, [1]),
    ("i = '1.0'", REFUSED, [1]),
    ("i = '1.5'", REFUSED, [1]),
    ("i = '1.x'", REFUSED, []),
    ("i = '1e0'", REFUSED, []),
    ("i = '3000000000'", [], []),
    ("i = CAST('1.5' AS FLOAT)", [], []),
    ("i = CAST('1.5' AS INT)", REFUSED, [1]),
    ("i = CAST('9999999999' AS INT)", REFUSED, []),
    ("i = CAST('NaN' AS INT)", REFUSED, []),
    ("i = CAST(-1.9 AS INT)", [4, 5, 6], [4, 5, 6]),
    ("i = CAST(1.5 AS INT)", [1], [1]),
    ("i = CAST(1.9D AS INT)", [1], [1]),
    ("i = CAST(1e30 AS INT)", REFUSED, []),
    ("i = CAST(300 AS TINYINT)", REFUSED, []),
    ("i = CAST(NULL AS INT)", [], []),
    ("i = CAST(double('NaN') AS INT)", REFUSED, [3]),
    ("i = CAST(true AS INT)", [1], [1]),
    ("i = TRY_CAST('1.5' AS INT)", [], []),
    ("i = TRY_CAST(300 AS TINYINT)", [], []),
    ("i = X'31'", REFUSED, REFUSED),
    ("i IN ('01')", [1], []),
    ("i IN ('1', '2')", [1, 2], [1, 2]),
    ("i IN ('1.5')", REFUSED, []),
    ("i IN ('x', 1)", REFUSED, [1]),
    ("i IN ('x', 1.0)", REFUSED, []),
    ("i IN ('x', NULL, 1)", REFUSED, [1]),
    ("i IN (1.0)", [1], [1]),
    ("i NOT IN ('x', 1)", REFUSED, [2, 3, 4, 5, 6]),
    ("l < '3000000000'", [1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6]),
    ("l < CAST(TIMESTAMP'2024-01-01' AS LONG)", [1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6]),
    ("l = CAST('1' AS FLOAT)", [1], [1]),
    ("s = '1'", [2], [2]),
    ("s = CAST(1 AS STRING)", [2], [2]),
    ("s = CAST(1.0 AS STRING)", [], []),
    ("ts = '2024'", [1], [1]),
    ("ts = '2024-01-01 00'", [1], [1]),
    ("ts = '2024-01-01 01:00:00.5'", [2], [2]),
    ("ts = CAST(1704067200 AS TIMESTAMP)", [1], [1]),
    ("ts = CAST(DATE'2024-01-01' AS TIMESTAMP)", [1], [1]),
    ("ts IN ('2024-01-01 00:00:00')", [1], [1]),
    ("ts IN ('2024-01-01 01:00:00.5')", [2], [2]),
    ("ts IN ('2024-01-01 01:00:00.500')", [2], []),
    ("ts IN ('2024-01-01')", [1], []),
    ("ts IN ('2024-01-01T00:00:00')", [1], []),
]


def rows(condition: str, ansi: bool) -> list[int]:
    parsed = parse_filter(condition, ansi)
    assert parsed is not None
    truths = evaluate(bind(parsed, SCHEMA, ansi=ansi), TABLE).to_pylist()
    return [i for i, truth in enumerate(truths, 1) if truth]


@pytest.mark.parametrize("ansi", [True, False])
@pytest.mark.parametrize(("condition", "with_ansi", "without"), ANSWERS, ids=[row[0] for row in ANSWERS])
def test_the_rows_are_sparks(condition, with_ansi, without, ansi):
    expected = with_ansi if ansi else without
    if expected is REFUSED:
        with pytest.raises(InvalidPredicateError):
            rows(condition, ansi)
    else:
        assert rows(condition, ansi) == expected
