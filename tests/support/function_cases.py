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
        "m": [Decimal(v) if v else None for v in ["0.00", "1.50", "-1.50", "99999999.99", "-99999999.99", "2.50", None, "0.01", "-2.50", "12.34", "100.00", "19.99"]],  # fmt: off
        "w": [Decimal(v) if v else None for v in ["0", "1.5", "-1.5", "99999999999999999999.999999999999999999", "-99999999999999999999.999999999999999999", "0.000000000000000001", None, "3", "7.25", "-0.5", "123456.789", "2"]],  # fmt: off
        "s": ["", "a", "  Ab c ", "straße ÄÖ", "ΑΣ Σ", "日本語テキスト", None, "a,b,,c", "o'neil %_\\", "x@gmail.com", "😀 smile", "foo-bar BAZ\n"],  # fmt: off
        "n": ["0", " 12 ", "-1.5", "abc", "1e3", "2024-02-29", None, "true", "2024-02-29 10:11:12.5", "9223372036854775808", "NaN", "2024-13-01"],  # fmt: off
        "day": [instant and instant.date() for instant in instants],
        "t": [instant and instant.replace(tzinfo=UTC) for instant in instants],
        "z": instants,
        "b": [True, False, None, True, False, True, None, False, True, True, False, None],
        "x": [b"", b"a", b"\x00\x01", b"abc", b"12", b"Zz", None, b" ", b"\x7f", b"q", b"hello", b"0"],
        "list": [[], [1], [1, None], [3, 2, 1], None, [7, 7], [None], [42], [0, -7], [100, 5], [2024], [15, 16]],
        "map": [[], [("a", 1)], [("b", None)], [("a", 2), ("b", 3)], None, [("", 7)], [("a", None)], [("c", 1)], [("a", 9)], [("d", 4)], [("b", 5)], [("a", 15)]],  # fmt: off
    }


def table() -> pa.Table:
    """The rows."""
    columns = _columns()
    columns["row"] = list(range(len(columns["i"])))
    return pa.table({field.name: pa.array(columns[field.name], field.type) for field in SCHEMA})


_LINES = """
i + 1; i - 1; i * 2; i / 2; i % 3; i div 2; -i; abs(i); i + small; i + l; l + 1; l * 3; l - i; l / 0; i % 0; small + tiny
tiny * tiny; l div 7; l % -3; pmod(i, 3); pmod(l, -4); pmod(m, 3); i + d; i + f; f + f; f * m; m + 1; m + 1.5; m * m
m / 3; m / i; w + w; w * w; w / m; w % m; m % 7; m div 2; w - 0.5; i + 1.25; l * 1.1; i + n; m + n; d + 1; d / 0; d % 2
d * f; sign(i); sign(d); sign(m); sqrt(d); sqrt(i); pow(tiny, 2); round(d); round(d, 1); round(m); round(m, 1)
round(m, -1); round(i, -1); round(l, -2); bround(m, 1); bround(d); floor(d); floor(m); floor(i); ceil(d); ceil(m); ceil(f)
floor(m, 1); ceil(w, 2); round(f, 1); abs(m); abs(d); negative(m); greatest(i, 5); least(i, l); greatest(d, 1.0D, f)
least(m, 2); greatest(s, 'b'); least(day, DATE'2000-01-01'); greatest(t, z); try_add(i, 1); try_subtract(l, 1)
try_multiply(i, i); try_divide(i, 0); i & 3; i | l; i ^ 5; ~i; shiftleft(i, 3); shiftright(l, 2); shiftrightunsigned(i, 1)
i > 1.5; l = 1; d > f; m >= 1.5; i = '42'; d = '2.5'; m < '2'; b = 'true'; day = '2024-02-29'; t < '2000-01-01'
day < t; z >= day; i <=> NULL; s <=> n; s < n; x = 'abc'; x > X'61'; i IN (1, 7, NULL); m IN (1, 2.5); s IN ('a', n)
d IN (1.5, 'NaN'); day IN ('2024-02-29'); i BETWEEN 0 AND l; isnull(i + 1); isnan(f); nanvl(d, 0); b AND i > 0; b OR i / 0 > 1
i <> 0 AND 10 / i > 1; CASE WHEN i = 0 THEN 0 ELSE 100 / i END; CASE WHEN b THEN i WHEN i > 0 THEN l END
CASE i WHEN 1 THEN 'one' WHEN 7 THEN 'seven' ELSE s END; if(b, i, m); if(d > 0, 'pos', s); coalesce(i, 0); coalesce(m, i, 1)
coalesce(s, n, 'z'); nvl(day, DATE'2020-01-01'); nvl2(b, i, l); nullif(i, 7); nullif(s, ''); coalesce(i, n); coalesce(l, d)
CAST(i AS STRING); CAST(l AS INT); CAST(i AS SMALLINT); CAST(i AS TINYINT); CAST(d AS INT); CAST(d AS BIGINT); CAST(f AS INT)
CAST(d AS FLOAT); CAST(f AS DOUBLE); CAST(m AS INT); CAST(m AS STRING); CAST(w AS STRING); CAST(w AS DECIMAL(10,2))
CAST(m AS DECIMAL(12,4)); CAST(m AS DECIMAL(6,1)); CAST(w AS BIGINT); CAST(w AS DOUBLE); CAST(m AS FLOAT); CAST(d AS STRING)
CAST(f AS STRING); CAST(d AS DECIMAL(10,3)); CAST(f AS DECIMAL(12,6)); CAST(l AS DECIMAL(10,0)); CAST(i AS DECIMAL(4,1))
CAST(n AS INT); CAST(n AS BIGINT); CAST(n AS DOUBLE); CAST(n AS FLOAT); CAST(n AS DECIMAL(10,2)); CAST(n AS DATE)
CAST(n AS TIMESTAMP); CAST(n AS TIMESTAMP_NTZ); CAST(n AS BOOLEAN); TRY_CAST(n AS INT); TRY_CAST(n AS DATE)
TRY_CAST(n AS TIMESTAMP); TRY_CAST(l AS INT); TRY_CAST(n AS BOOLEAN); TRY_CAST(n AS DECIMAL(4,1)); CAST(b AS INT)
CAST(b AS STRING); CAST(i AS BOOLEAN); CAST(d AS BOOLEAN); CAST(m AS BOOLEAN); CAST(day AS STRING); CAST(t AS STRING)
CAST(z AS STRING); CAST(day AS TIMESTAMP); CAST(t AS DATE); CAST(z AS DATE); CAST(t AS TIMESTAMP_NTZ); CAST(z AS TIMESTAMP)
CAST(t AS BIGINT); CAST(t AS DOUBLE); CAST(t AS DECIMAL(20,6)); CAST(i AS TIMESTAMP); CAST(m AS TIMESTAMP); CAST(s AS BINARY)
CAST(x AS STRING); CAST(small AS DOUBLE); CAST(l AS FLOAT); CAST(l AS DOUBLE); CAST(i AS FLOAT); day::string; int(m); string(i)
lower(s); upper(s); initcap(n); trim(s); ltrim(s); rtrim(s); btrim(s, ' a'); trim(BOTH 'a' FROM s); substring(s, 2); left(s, 2)
substring(s, 2, 3); substring(s, -3, 2); substring(s, 0, 1); substring(n, i, 2); right(s, 2); length(s); length(x); length(i)
octet_length(s); bit_length(s); concat(s, n); s || '!' || i; concat(s, i, m, b, day); concat_ws('-', s, n, i); replace(s, 'a', 'bb')
replace(s, ','); contains(s, 'a'); contains(s, n); startswith(s, 'a'); endswith(s, 'c'); endswith(x, X'63'); instr(s, 'b')
locate('a', s); locate('a', s, 2); position('b' IN s); lpad(s, 5, '*'); rpad(s, 3); lpad(i, 6, '0'); split_part(s, ',', 2)
split_part(s, ',', -1); substring_index(s, ',', 2); substring_index(s, ',', -1); translate(s, 'abc', 'x'); reverse(s)
repeat(s, 2); ascii(s); chr(i); md5(s); sha2(s, 256); sha1(s); crc32(s); hex(s); hex(i); hex(x); levenshtein(s, n); space(tiny % 5)
s LIKE 'a%'; s LIKE '%b%'; s LIKE n; s LIKE '%!%%' ESCAPE '!'; s ILIKE 'A%'; s ILIKE '%BAR%'; s RLIKE '^[a-z]'; s RLIKE '[a-z]$'
s RLIKE '\\\\d|@'; s RLIKE '(?i)AB'; n RLIKE '^-?[0-9]+(\\\\.[0-9]+)?$'; s RLIKE '\\\\s.'; s RLIKE 'z.?$'
regexp_replace(s, '[a-z]', '#'); regexp_replace(n, '([0-9]+)-', '<$1>'); regexp_extract(n, '([0-9]+)-([0-9]+)', 2)
regexp_extract(s, 'b'  , 0); regexp_count(s, 'a|b'); split(s, ',')[1]; split(s, '[,@]')[0]; i LIKE '1%'; left(n, tiny % 4)
year(day); month(day); day(day); dayofweek(day); weekday(day); dayofyear(day); weekofyear(day); quarter(day); year(t); month(z)
extract(YEAROFWEEK FROM day); hour(t); minute(t); second(t); hour(z); extract(SECOND FROM t); extract(DOW FROM t); last_day(day)
extract(DAYOFWEEK_ISO FROM day); date_part('minute', t); dayname(day); monthname(day); date_add(day, 30); date_sub(day, tiny)
day + 1; day - 1; datediff(day, DATE'2000-01-01'); datediff(t, day); day - DATE'2000-01-01' > INTERVAL 1 DAY; add_months(day, 1)
add_months(day, tiny); months_between(t, TIMESTAMP'2000-01-31 12:00:00Z'); next_day(day, 'MON'); trunc(day, 'MM'); trunc(day, 'week')
trunc(day, 'year'); trunc(day, 'Q'); trunc(day, 'quarter'); date_trunc('year', t); date_trunc('MONTH', t); date_trunc('week', t)
date_trunc('day', t); date_trunc('hour', t); date_trunc('minute', t); date_trunc('second', t); date_trunc('quarter', z)
date_trunc('nope', t); to_date(n); to_date(t); to_timestamp(n); to_date(n, 'yyyy-MM-dd'); to_timestamp(n, 'yyyy-MM-dd HH:mm:ss.S')
try_to_timestamp(n, 'yyyy-MM-dd'); date_format(t, 'yyyy-MM'); date_format(day, 'yyyyMMdd'); date_format(t, 'HH:mm:ss.SSS')
date_format(t, 'EEE, d MMM yyyy hh:mm a'); date_format(day, 'EEEE MMMM D'); date_format(t, "yyyy-MM-dd'T'HH"); unix_timestamp(t)
unix_timestamp(day); unix_timestamp(n, 'yyyy-MM-dd'); from_unixtime(i); from_unixtime(i, 'yyyy-MM-dd'); unix_date(day)
unix_seconds(t); unix_millis(t); unix_micros(t); timestamp_seconds(i); timestamp_seconds(d); timestamp_millis(i)
timestamp_micros(l); date_from_unix_date(small); make_date(i, 2, 29); make_date(2024, tiny, 1); make_timestamp(2024, 2, tiny, 1, 2, 3.5)
t + INTERVAL 1 DAY; t - INTERVAL 1 HOUR; t + INTERVAL 1 MONTH; day + INTERVAL 1 MONTH; day - INTERVAL 3 DAYS; day + INTERVAL 2 HOURS
z + INTERVAL '1-2' YEAR TO MONTH; n + INTERVAL 1 DAY; t - TIMESTAMP'2000-01-01 00:00:00Z' > INTERVAL 10 DAYS; t - z = INTERVAL 0 SECOND
timestampadd(MONTH, tiny, t); timestampadd(HOUR, i, t); dateadd(DAY, 3, day); timestampdiff(HOUR, z, t); timestampdiff(DAY, day, t)
timestampdiff(MONTH, TIMESTAMP'2000-01-31 00:00:00Z', t); timestampdiff(YEAR, t, TIMESTAMP'2000-02-29 00:00:00Z')
from_utc_timestamp(t, 'Europe/Berlin'); to_utc_timestamp(t, 'America/New_York'); from_utc_timestamp(t, '+02:00')
list[0]; list[1]; get(list, 1); element_at(list, 1); element_at(list, -1); try_element_at(list, 2); size(list); cardinality(map)
map['a']; element_at(map, 'b'); map[s]; array_contains(list, 1); array_contains(list, i); map_contains_key(map, 'a'); list[tiny]
array_position(list, 1); size(map_keys(map)); map_values(map)[0]; array_size(list); map.a; map['a'] + 1; coalesce(map['a'], 0) > 1
"""

EXPRESSIONS = [text.strip() for line in _LINES.strip().splitlines() for text in line.split("; ")]


def rows_with_errors(answers: dict[str, Any], mode: str) -> set[int]:
    """The rows for which an expression is an error."""
    listed = answers[mode]
    return set(range(table().num_rows)) if listed is False else {i for i, text in enumerate(listed) if text is False}


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
