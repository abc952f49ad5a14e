"""Generated partition columns: what their values say of the source column never excludes a row that made them.

The rows' generated values are computed here, by :mod:`datetime` and :mod:`zoneinfo`, in zones that the reader does
not know.
"""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tableformats_delta.schema.partition_spec import partition_spec
from tableformats_delta.schema.schema_string import parse_schema
from tableformats_delta.schema.sql_expressions import Call, Column, parse

from tableformats import open_table
from tableformats.plugin import Implied, ImpliedBounds
from tableformats.schema import Schema, arrow_type
from tests.support.delta_log import DeltaLog, add, field, schema_string, stats
from tests.support.examples import examples

UTC = dt.timezone.utc
REGIONS = ("America/Los_Angeles", "Asia/Kolkata", "Pacific/Apia", "Pacific/Kiritimati")
ZONES = [UTC, *map(ZoneInfo, REGIONS), *(dt.timezone(dt.timedelta(hours=h)) for h in (18, -18))]


def generated(name: str, kind: str, expression: str) -> dict[str, Any]:
    return field(name, kind, {"delta.generationExpression": expression})


def spec_of(source: str, *columns: dict[str, Any]) -> tuple[Schema, tuple[ImpliedBounds, ...]]:
    nested = {"type": "struct", "fields": [field("inner", source)]}
    schema = parse_schema(schema_string(field("Src", source), *columns, field("s", nested)), "none", "log")
    return schema, partition_spec([c["name"] for c in columns], schema, "log")[0].implied


def says(source: str, kind: str, expression: str, *values: Any) -> list[tuple[Any, Any, int, int]] | None:
    """(lower, upper, may hold a value, may hold NULL) for each partition value; None where nothing is implied."""
    known = implied_by(source, kind, expression, *values)
    return (
        None
        if known is None
        else list(
            zip(
                known.lower.to_pylist(),
                known.upper.to_pylist(),
                known.may_value.tolist(),
                known.may_null.tolist(),
                strict=True,
            )
        )
    )


def implied_by(source: str, kind: str, expression: str, *values: Any) -> Implied | None:
    schema, implied = spec_of(source, generated("p", kind, expression))
    if not implied:
        return None
    column = schema.find_id(implied[0].source_id)
    assert column is not None
    known = implied[0].of([pa.array(values, arrow_type(schema.fields[1].type))], column.type)
    assert known.lower.type == known.upper.type == arrow_type(column.type)
    return known


def ntz(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text)


DAY = dt.date(2024, 2, 29)


@pytest.mark.parametrize(
    ("source", "kind", "expression", "value", "lower", "upper"),
    [
        ("timestamp_ntz", "date", "CAST(Src AS DATE)", DAY, ntz("2024-02-29"), ntz("2024-02-29T23:59:59.999999")),
        ("timestamp_ntz", "date", "to_date(`src`)", DAY, ntz("2024-02-29"), ntz("2024-02-29T23:59:59.999999")),
        ("date", "date", "date(src)", DAY, DAY, DAY),
        ("date", "date", "date(src)", dt.date(2024, 5, 7), dt.date(2024, 5, 7), dt.date(2024, 5, 7)),
        # Writers convert what has no zone through that of their session, whose gaps are a day long at most.
        (
            "timestamp_ntz",
            "string",
            "date_format(src, 'yyyyMM')",
            "202402",
            ntz("2024-01-31"),
            ntz("2024-03-01T23:59:59.999999"),
        ),
        ("date", "string", "date_format(src, 'yyyy')", "2024", dt.date(2023, 12, 31), dt.date(2025, 1, 1)),
        ("date", "date", "src", DAY, DAY, DAY),
        (
            "timestamp_ntz",
            "integer",
            "YEAR(CAST(src AS DATE))",
            2024,
            ntz("2024-01-01"),
            ntz("2024-12-31T23:59:59.999999"),
        ),
        ("date", "integer", "year(src)", 1, dt.date(1, 1, 1), dt.date(1, 12, 31)),
        ("date", "integer", "year(src)", 9999, dt.date(9999, 1, 1), dt.date(9999, 12, 31)),
        ("date", "date", "trunc(src, 'MM')", dt.date(2024, 2, 1), dt.date(2024, 2, 1), DAY),
        ("date", "date", "trunc(src, 'quarter')", dt.date(2024, 4, 1), dt.date(2024, 4, 1), dt.date(2024, 6, 30)),
        ("date", "date", "trunc(src, 'WEEK')", dt.date(2024, 4, 1), dt.date(2024, 4, 1), dt.date(2024, 4, 7)),
        ("date", "date", "TRUNC(src, 'year')", dt.date(1969, 1, 1), dt.date(1969, 1, 1), dt.date(1969, 12, 31)),
        ("string", "string", "SUBSTRING(src, 0, 3)", "abc", "abc", "abd"),
        ("string", "string", "substr(src, 1, 3)", "ab", "ab", "ab"),
        ("string", "string", "left(src, 2)", "\U0001f600b", "\U0001f600b", "\U0001f600c"),
        ("string", "string", "left(src, 1)", "a", "a", "b"),
        ("string", "string", "Src", "abc", "abc", "abc"),
        ("long", "long", "src", 7, 7, 7),
    ],
)
def test_exact(source: str, kind: str, expression: str, value: Any, lower: Any, upper: Any) -> None:
    assert says(source, kind, expression, value) == [(lower, upper, 1, 0)]


@pytest.mark.parametrize(
    ("expression", "kind", "value", "first", "end", "hours"),
    [
        ("CAST(src AS DATE)", "date", DAY, "2024-02-29", "2024-03-01", 18),
        ("date_format(src, 'yyyy-MM')", "string", "2024-02", "2024-02-01", "2024-03-01", 18),
        ("date_format(src, 'yyyy-MM-dd')", "string", "2024-02-29", "2024-02-29", "2024-03-01", 18),
        ('DATE_FORMAT(src, "yyyy-MM-dd-HH")', "string", "2024-02-29-23", "2024-02-29T23", "2024-03-01", 18),
        (
            "date_trunc('HOUR', src)",
            "timestamp",
            dt.datetime(2024, 2, 29, 5, tzinfo=UTC),
            "2024-02-29T05",
            "2024-02-29T06",
            42,
        ),
        ("date_trunc('month', src)", "timestamp", dt.datetime(2024, 2, 1, tzinfo=UTC), "2024-02-01", "2024-03-03", 42),
        ("year(to_date(src))", "integer", 2024, "2024-01-01", "2025-01-01", 18),
        ("Src", "timestamp", dt.datetime(2024, 2, 1, tzinfo=UTC), "2024-02-01", "2024-02-01T00:00:00.000001", 18),
    ],
)
def test_instants_reach_as_far_as_any_zone(
    expression: str, kind: str, value: Any, first: str, end: str, hours: int
) -> None:
    margin = dt.timedelta(hours=hours)
    lower = ntz(first if "T" not in first or ":" in first else first + ":00").replace(tzinfo=UTC) - margin
    upper = ntz(end if "T" not in end or ":" in end else end + ":00").replace(tzinfo=UTC) + margin
    assert says("timestamp", kind, expression, value) == [(lower, upper - dt.timedelta(microseconds=1), 1, 0)]


@pytest.mark.parametrize(
    ("source", "kind", "expression"),
    [
        ("timestamp", "integer", "month(src)"),
        ("timestamp", "integer", "hour(src)"),
        ("timestamp", "integer", "year(hour(src))"),
        ("timestamp", "integer", "year(cast(src AS string))"),
        ("timestamp", "date", "src"),
        ("timestamp", "string", "date_format(src, 'MM-yyyy')"),
        ("timestamp", "string", "date_format(src, 'YYYY-MM')"),
        ("timestamp", "string", "CAST(src AS DATE)"),
        ("timestamp", "string", "year(src)"),
        ("string", "date", "CAST(src AS DATE)"),
        ("string", "string", "substring(src, 2, 3)"),
        ("string", "string", "substring(src, 1, 0)"),
        ("string", "string", "substring(src, 1)"),
        ("string", "string", "upper(src)"),
        ("double", "double", "src"),
        ("long", "long", "src + 1"),
        ("long", "long", "missing"),
        ("timestamp", "date", "CAST(other AS DATE)"),
        ("timestamp", "date", "trunc(src, 'century')"),
        ("timestamp", "date", "date_add(src, 1)"),
        ("timestamp", "date", "CAST(src AS DATE"),
        ("timestamp", "date", "'"),
        ("timestamp", "date", ""),
        ("timestamp", "date", "(" * 5000),
        ("timestamp", "string", "date_format(src, 'yyyy\\-MM')"),
        ("timestamp", "string", "date_format(src)"),
        ("timestamp", "string", "date_format(src, 'yyyy-MM', 'x')"),
        ("timestamp", "string", "to_char(src, 'yyyy-MM')"),
        ("timestamp", "integer", "date_format(src, 'yyyy-MM')"),
        ("string", "string", "date_format(src, 'yyyy-MM')"),
        ("string", "string", "right(src, 2)"),
        ("string", "string", "left(src)"),
        ("string", "string", "left(src, 2, 3)"),
        ("string", "string", "substring(src, 1, 2, 3)"),
        ("string", "string", "overlay(src, 1, 2)"),
        ("string", "long", "left(src, 2)"),
        ("timestamp", "date", "trunc(src)"),
        ("timestamp", "date", "trunc(src, 'month', 'x')"),
        ("timestamp", "date", "next_day(src, 'month')"),
        ("timestamp", "timestamp", "trunc(src, 'month')"),
        ("timestamp", "timestamp", "date_trunc('month')"),
        ("timestamp", "timestamp", "date_trunc('month', src, 'x')"),
        ("timestamp", "timestamp", "other('month', src)"),
        ("timestamp", "date", "date_trunc('month', src)"),
    ],
)
def test_nothing_is_implied(source: str, kind: str, expression: str) -> None:
    assert says(source, kind, expression) is None


def test_nested_source() -> None:
    schema, (implied,) = spec_of("date", generated("p", "date", "CAST(s.Inner AS DATE)"))
    assert [f.name for f in schema.path_of(implied.source_id)] == ["s", "inner"]


def test_nulls() -> None:
    """A date that is NULL was NULL; a string that is NULL may have been empty."""
    assert says("date", "date", "date(src)", None) == [(None, None, 0, 1)]
    assert says("timestamp", "string", "date_format(src, 'yyyy-MM')", None) == [(None, None, 0, 1)]
    assert says("string", "string", "substring(src, 1, 3)", None) == [(None, None, 1, 1)]
    assert says("string", "string", "src", None) == [(None, None, 1, 1)]
    assert says("long", "long", "src", None) == [(None, None, 0, 1)]


@pytest.mark.parametrize("text", ["2024-13", "2024-00", "24-01", "2024-1", "", "0007-01", "1582-12", "+12024-01", "x"])
def test_values_that_are_none(text: str) -> None:
    assert says("date", "string", "date_format(src, 'yyyy-MM')", text) == [(None, None, 1, 0)]


@pytest.mark.parametrize(
    ("form", "text", "start", "end"),
    [
        ("yyyy", "1583", "1583-01-01", "1584-01-01"),
        ("yyyy", "1582", None, None),
        ("yyyy-MM", "2024-01", "2024-01-01", "2024-02-01"),
        ("yyyy-MM", "2024-12", "2024-12-01", "2025-01-01"),
        ("yyyy-MM", "2024-00", None, None),
        ("yyyy-MM", "2024-13", None, None),
        ("yyyyMMdd", "20240101", "2024-01-01", "2024-01-02"),
        ("yyyyMMdd", "20241231", "2024-12-31", "2025-01-01"),
        ("yyyyMMdd", "20240100", None, None),
        ("yyyyMMdd", "20240431", None, None),
        ("yyyyMMdd", "20240132", None, None),
        ("yyyyMMddHH", "2024010100", "2024-01-01T00:00", "2024-01-01T01:00"),
        ("yyyyMMddHH", "2024010123", "2024-01-01T23:00", "2024-01-02T00:00"),
        ("yyyyMMddHH", "2024010124", None, None),
    ],
)
def test_ends_of_times_in_texts(form: str, text: str, start: str | None, end: str | None) -> None:
    found = says("timestamp_ntz", "string", f"date_format(src, '{form}')", "2024", text)
    gap = dt.timedelta(days=1)
    sides = (
        (None, None) if start is None or end is None else (ntz(start) - gap, ntz(end) + gap - dt.timedelta.resolution)
    )
    assert found is not None and found[1] == (*sides, 1, 0)


def test_parts_speak_together() -> None:
    columns = [generated(name, "integer", f"{name}(src)") for name in ("day", "year", "month")]
    schema, (implied,) = spec_of("date", *columns)
    assert implied.field_ids == (1001, 1002, 1000)  # year, month, day
    found = implied.of(
        [
            pa.array(v, pa.int32())
            for v in ([2024, 2023, 2024, None, 10_000], [2, 2, None, None, 1], [29, 29, 3, None, 1])
        ],
        schema.fields[0].type,
    )
    assert found.lower.to_pylist() == [DAY, None, None, None, None]
    assert found.upper.to_pylist() == [DAY, None, None, None, None]
    assert found.may_value.tolist() == [1, 1, 1, 0, 1]
    assert found.may_null.tolist() == [0, 0, 1, 1, 0]


def test_parts_without_their_greater_ones_say_nothing() -> None:
    assert spec_of("date", generated("m", "integer", "month(src)"), generated("d", "integer", "day(src)"))[1] == ()
    (implied,) = spec_of("timestamp", generated("y", "integer", "year(src)"), generated("d", "integer", "day(src)"))[1]
    assert implied.field_ids == (1000,)


@pytest.mark.parametrize(("hour", "count"), [("hour(src)", 4), ("hour(CAST(src AS DATE))", 3), ("hour(date(src))", 3)])
def test_the_hour_of_a_date_is_none_of_the_time(hour: str, count: int) -> None:
    parts = [generated(name, "integer", f"{name}(CAST(src AS DATE))") for name in ("year", "month", "day")]
    (implied,) = spec_of("timestamp", *parts, generated("h", "integer", hour))[1]
    assert implied.field_ids == tuple(range(1000, 1000 + count))


# ---- rows against what is implied -----------------------------------------------------------------------------------


def _units(local: dt.datetime, unit: str) -> dt.datetime:
    midnight = local.replace(hour=0, minute=0, second=0, microsecond=0)
    return {
        "hour": local.replace(minute=0, second=0, microsecond=0),
        "day": midnight,
        "week": midnight - dt.timedelta(days=local.weekday()),
        "month": midnight.replace(day=1),
        "quarter": midnight.replace(day=1, month=(local.month - 1) // 3 * 3 + 1),
        "year": midnight.replace(day=1, month=1),
    }[unit]


Function = tuple[str, str, Callable[[dt.datetime], Any]]
UNITS = ("year", "quarter", "month", "week")
OF_LOCAL: list[Function] = [
    ("CAST(src AS DATE)", "date", lambda t: t.date()),
    ("year(src)", "integer", lambda t: t.year),
    ("date_format(src, 'yyyy')", "string", lambda t: f"{t.year:04d}"),
    ("date_format(src, 'yyyy-MM')", "string", lambda t: f"{t.year:04d}-{t.month:02d}"),
    ("date_format(src, 'yyyyMMdd')", "string", lambda t: t.date().isoformat().replace("-", "")),
    ("date_format(src, 'yyyy-MM-dd-HH')", "string", lambda t: f"{t.date().isoformat()}-{t.hour:02d}"),
    *[(f"trunc(src, '{u}')", "date", lambda t, u=u: _units(t, u).date()) for u in UNITS],  # type: ignore[misc]
]
INSTANTS = st.datetimes(dt.datetime(1, 1, 4), dt.datetime(9999, 12, 28))


def excluded(source: str, function: Function, generated_value: Any, value: Any) -> bool:
    """Whether the generated value rules out the value that it was made from; bounds may lie past Python's times."""
    known = implied_by(source, function[1], function[0], generated_value)
    assert known is not None
    number = pa.array([value], known.lower.type).cast(pa.int32() if source == "date" else pa.int64())[0].as_py()
    lower, upper = (
        side.cast(pa.int32() if source == "date" else pa.int64())[0].as_py() for side in (known.lower, known.upper)
    )
    inside = (lower is None or lower <= number) and (upper is None or number <= upper)
    return not (inside and known.may_value[0])


@given(INSTANTS, st.sampled_from(ZONES), st.sampled_from(OF_LOCAL))
def test_instants(moment: dt.datetime, zone: dt.tzinfo, function: Function) -> None:
    instant = moment.replace(tzinfo=UTC)
    assert not excluded("timestamp", function, function[2](instant.astimezone(zone)), instant)


@given(INSTANTS, st.sampled_from(OF_LOCAL))
def test_local_times(moment: dt.datetime, function: Function) -> None:
    assert not excluded("timestamp_ntz", function, function[2](moment), moment)


@given(INSTANTS, st.sampled_from(OF_LOCAL))
def test_dates(moment: dt.datetime, function: Function) -> None:
    day = moment.date()
    assert not excluded("date", function, function[2](dt.datetime(day.year, day.month, day.day)), day)


@given(INSTANTS, st.sampled_from(ZONES), st.sampled_from([*UNITS, "day", "hour"]), st.booleans())
def test_date_trunc(moment: dt.datetime, zone: dt.tzinfo, unit: str, without_zone: bool) -> None:
    instant = moment.replace(tzinfo=UTC)
    local = _units(instant.astimezone(zone).replace(tzinfo=None), unit)
    stored = local.replace(tzinfo=UTC) if without_zone else local.replace(tzinfo=zone).astimezone(UTC)
    function = (f"date_trunc('{unit}', src)", "timestamp", lambda t: t)
    assert not excluded("timestamp", function, stored, instant)


@given(st.text(max_size=6), st.integers(1, 4))
def test_prefixes(text: str, width: int) -> None:
    found = says("string", "string", f"substring(src, 1, {width})", text[:width] or None)
    assert found is not None
    lower, upper, may_value, _ = found[0]
    assert may_value
    assert lower is None or lower.encode() <= text.encode()
    assert upper is None or text.encode() <= upper.encode()


# ---- whole tables ---------------------------------------------------------------------------------------------------


def planned(log: DeltaLog, where: str) -> list[str]:
    plan = open_table(log.root).scan(where).plan()
    assert plan.report.files_total == plan.report.files_planned + plan.report.files_dropped_by_partition
    return [Path(uri).name for uri in plan.file_uris()]


def day_table(root: Path, source: str) -> DeltaLog:
    log = DeltaLog(root / "t").start(
        field("ts", source), generated("day", "date", "CAST(ts AS DATE)"), field("id", "long"), partition=("day",)
    )
    days = ["2024-01-01", "2024-01-05", "2024-01-09", None]
    return log.commit(1, *[add(f"f{i}", partitionValues={"day": d}, stats=stats(3)) for i, d in enumerate(days)])


@pytest.mark.parametrize("source", ["timestamp", "timestamp_ntz"])
def test_filters_on_the_source_prune_partitions(tmp_path: Path, source: str) -> None:
    log = day_table(tmp_path, source)
    assert planned(log, "ts >= '2024-01-06T18:00:00Z'" if source == "timestamp" else "ts >= '2024-01-06'") == ["f2"]
    assert planned(log, "ts = '2024-01-05 12:00:00'") == ["f1"]
    assert planned(log, "ts < '2024-01-03' OR day = '2024-01-09'") == ["f0", "f2"]
    assert planned(log, "ts IN ('2024-01-01 10:00:00', '2024-01-09 10:00:00')") == ["f0", "f2"]
    assert planned(log, "ts BETWEEN '2024-01-04' AND '2024-01-07'") == ["f1"]
    assert planned(log, "NOT (ts < '2024-01-07')") == ["f2"]
    assert planned(log, "ts IS NULL") == ["f3"]
    assert planned(log, "ts <=> NULL") == ["f3"]
    assert planned(log, "ts IS NOT NULL") == ["f0", "f1", "f2"]
    edge = ["f0", "f1"] if source == "timestamp" else ["f1"]
    assert planned(log, "ts >= '2024-01-02 17:00:00' AND ts < '2024-01-06'") == edge


@pytest.mark.parametrize(
    ("kind", "expression", "values"),
    [
        ("date", "CAST(ts AS DATE)", ["2024-01-01", None]),
        ("date", "trunc(ts, 'MM')", ["2024-01-01", None]),
        ("integer", "year(ts)", ["2024", None]),
        ("string", "date_format(ts, 'yyyy-MM')", ["2024-01", None]),
        ("timestamp", "date_trunc('HOUR', ts)", ["2024-01-01 05:00:00", None]),
        ("string", "left(name, 2)", ["ab"]),
        ("timestamp", "ts", ["2024-01-01 05:00:00", None]),
    ],
)
def test_pandas_stays_out_of_a_plan(tmp_path: Path, kind: str, expression: str, values: list[str | None]) -> None:
    log = DeltaLog(tmp_path / "t").start(
        field("ts", "timestamp"), field("name", "string"), generated("p", kind, expression), partition=("p",)
    )
    log.commit(1, *[add(f"f{i}", partitionValues={"p": v}, stats=stats(3)) for i, v in enumerate(values)])
    for file in (log.root / "_delta_log").iterdir():  # as writers spell JSON, so that it is read by columns
        file.write_text(file.read_text().replace('": ', '":').replace(', "', ',"'))
    code = "import sys, tableformats as tf\n"
    code += f"plan = tf.open_table({str(log.root)!r}).scan(\"ts > '2025-06-01' AND name > 'b'\").plan()\n"
    code += "print(plan.files.num_rows, 'pandas' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == ["0", "False"]


def test_only_partition_columns_are_shown(tmp_path: Path) -> None:
    snapshot = open_table(day_table(tmp_path, "timestamp").root).snapshot()
    assert [f.name for f in snapshot.partition_fields] == ["day"]
    plan = snapshot.scan("ts > '2024-01-06'").plan()
    assert plan.files.schema.field("partition").type == pa.struct([("day", pa.date32())])


def test_statistics_and_partitions_together(tmp_path: Path) -> None:
    log = day_table(tmp_path, "timestamp")
    text = stats(3, minValues={"ts": "2024-01-05T10:00:00.000Z"}, maxValues={"ts": "2024-01-05T11:00:00.000Z"})
    log.commit(2, add("g", partitionValues={"day": "2024-01-05"}, stats=text))
    scan = open_table(log.root).scan("ts > '2024-01-05 12:00:00' AND ts < '2024-01-06'")
    assert [Path(uri).name for uri in scan.plan().file_uris()] == ["f1"]


def _conditions(moments: list[dt.datetime]) -> st.SearchStrategy[tuple[str, Any]]:
    """SQL on ``ts``, and the same as a function of a row's instant (None for NULL)."""
    literal = st.sampled_from(moments)
    compare: dict[str, Any] = {
        "<": lambda a, b: a < b,
        "<=": lambda a, b: a <= b,
        ">": lambda a, b: a > b,
        ">=": lambda a, b: a >= b,
        "=": lambda a, b: a == b,
    }
    comparisons = st.tuples(st.sampled_from(list(compare)), literal).map(
        lambda pair: (
            f"ts {pair[0]} '{pair[1]:%Y-%m-%d %H:%M:%S.%f}Z'",
            lambda t: t is not None and compare[pair[0]](t, pair[1]),
        )
    )
    nulls = st.sampled_from([("ts IS NULL", lambda t: t is None), ("ts IS NOT NULL", lambda t: t is not None)])
    simple = comparisons | nulls
    return simple | st.tuples(simple, simple).map(
        lambda two: (f"{two[0][0]} OR {two[1][0]}", lambda t: two[0][1](t) or two[1][1](t))
    )


RECENT = st.datetimes(dt.datetime(2023, 12, 28), dt.datetime(2024, 1, 5))
ROWS = st.lists(st.none() | RECENT.map(lambda t: t.replace(tzinfo=UTC)), min_size=1, max_size=8)


@settings(max_examples=examples(60), deadline=None)
@given(ROWS, st.sampled_from(ZONES), st.sampled_from(OF_LOCAL), st.data())
def test_no_row_is_lost(rows: list[Any], zone: dt.tzinfo, function: Function, data: st.DataObject) -> None:
    """A writer in ``zone`` puts each row where its expression says; a reader without the zone finds it there."""
    expression, kind, compute = function
    files: dict[Any, list[Any]] = {}
    for moment in rows:
        value = None if moment is None else str(compute(moment.astimezone(zone)))
        files.setdefault(value, []).append(moment)
    where, holds = data.draw(_conditions([m for m in rows if m is not None] or [dt.datetime(2024, 1, 1, tzinfo=UTC)]))
    with TemporaryDirectory() as directory:
        columns = [field("ts", "timestamp"), generated("p", kind, expression.replace("src", "ts").replace("Src", "ts"))]
        log = DeltaLog(Path(directory) / "t").start(*columns, partition=("p",))
        actions = []
        for i, (value, moments) in enumerate(files.items()):
            table = pa.table({"ts": pa.array(moments, pa.timestamp("us", "UTC"))})
            pq.write_table(table, log.root / f"f{i}")
            size = (log.root / f"f{i}").stat().st_size
            actions.append(add(f"f{i}", partitionValues={"p": value}, size=size, stats=stats(len(moments))))
        log.commit(1, *actions)
        found = open_table(log.root).scan(where, columns=["ts"]).to_arrow().column("ts").to_pylist()
    assert sorted(map(str, found)) == sorted(str(m) for m in rows if holds(m))


# ---- the expressions ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("CAST(`a``b`.c AS DATE)", Call("cast", (Column(("a`b", "c")), "date"))),
        (" f ( 'x' , 12, (a) ) ", Call("f", ("x", 12, Column(("a",))))),
        ("f()", Call("f", ())),
        ("a b", None),
        ("f(a", None),
        ("f(a,)", None),
        ("1a", None),
        ("CAST(a DATE)", None),
        ("a.", None),
        ("a.'b'", None),
        ("-1", None),
        ("f(" * 30 + ")" * 30, None),
        ("a" * 1001, None),
        ("cast(a as decimal(1,2))", None),
        ("'a", None),
        ("f(a) f", None),
    ],
)
def test_expressions(text: str, tree: Any) -> None:
    assert parse(text) == tree


@given(st.text(alphabet="aAsS(),.'`\"1 \\castyear", max_size=40))
def test_any_text_is_a_tree_or_none(text: str) -> None:
    parse(text)


def test_how_long_and_how_deep_expressions_are() -> None:
    assert parse("a" * 1000) == Column(("a" * 1000,)) and parse("a" * 1001) is None
    assert parse("(" * 20 + "a" + ")" * 20) == Column(("a",)) and parse("(" * 21 + "a" + ")" * 21) is None
    nested = parse("f(" * 20 + "a" + ")" * 20)
    assert isinstance(nested, Call) and parse("f(" * 21 + "a" + ")" * 21) is None
