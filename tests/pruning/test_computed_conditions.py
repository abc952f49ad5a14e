"""Conditions on computed values: the verdicts for files with known bounds, one rule at a time."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tableformats.expressions.binding import bind
from tableformats.expressions.parse import parse_filter
from tableformats.planning.residuals import residual
from tableformats.plugin import Bounds, PartitionField, PartitionSpec
from tableformats.pruning.compiled_predicate import ALL, NONE, SOME, CompiledPredicate
from tableformats.schema import Field, Schema, primitive
from tableformats.schema.transforms import parse_transform
from tests.support.strategies import to_array

GREATEST = 2**31 - 1
DAY = 86_400_000_000
KINDS = {"a": "int", "b": "int", "d": "date", "ts": "timestamp", "x": "double", "s": "string", "f": "float"}
SCHEMA = Schema(tuple(Field(i, name, primitive(kind)) for i, (name, kind) in enumerate(KINDS.items(), 1)))
IDS = {f.name: f.id for f in SCHEMA}


def compiled(text: str, ansi: bool = True) -> CompiledPredicate:
    parsed = parse_filter(text)
    assert parsed is not None
    return CompiledPredicate(bind(parsed, SCHEMA, ansi=ansi))


def verdict(text: str, ansi: bool = True, nulls: int = 0, nans: int | None = 0, **sides: tuple[Any, Any]) -> int:
    """The verdict for a file of nine rows with these bounds of its columns."""
    bounds = Bounds()
    for name, (low, high) in sides.items():
        i, kind = IDS[name], primitive(KINDS[name])
        bounds.lower[i], bounds.upper[i] = to_array([low], kind), to_array([high], kind)
        bounds.null_count[i], bounds.value_count[i] = pa.array([nulls]), pa.array([9])
        bounds.nan_count[i] = pa.array([nans], pa.int64())
    nothing = pa.array([{}], pa.struct([]))
    return int(compiled(text, ansi).verdicts(PartitionSpec(0, ()), nothing, bounds, pa.array([9]))[0])


@pytest.mark.parametrize(
    ("text", "sides", "wanted"),
    [
        ("a + 1 > 5", {"a": (1, 4)}, NONE),
        ("a + 1 > 5", {"a": (1, 5)}, SOME),
        ("a + 1 > 5", {"a": (5, 9)}, ALL),
        ("a + b > 5", {"a": (1, 2), "b": (1, 3)}, NONE),
        ("a - b > 5", {"a": (7, 8), "b": (1, 3)}, SOME),
        ("a - b > 5", {"a": (7, 8), "b": (3, 4)}, NONE),
        ("a * -2 < -10", {"a": (6, 7)}, ALL),
        ("a * -2 < -10", {"a": (4, 5)}, NONE),
        ("abs(a) > 3", {"a": (-2, 3)}, NONE),
        ("abs(a) > 3", {"a": (-9, -4)}, ALL),
        ("a + 1 < b", {"a": (4, 5), "b": (2, 5)}, NONE),
        ("a / 2 >= 2.5", {"a": (5, 6)}, ALL),
        ("month(d) = 2", {"d": (19_723, 19_753)}, NONE),  # January 2024
        ("month(d) = 1", {"d": (19_723, 19_753)}, ALL),
        ("month(d) = 1", {"d": (19_722, 19_723)}, SOME),  # from December to January
        ("month(d) = 6", {"d": (19_722, 19_723)}, SOME),
        ("month(d) = 12", {"d": (19_417, 19_844)}, SOME),  # from a March to a May, over a December
        ("month(d) = 13", {"d": (0, 99_999)}, NONE),
        ("hour(ts) = 3", {"ts": (0, 3 * DAY // 24 - 1)}, NONE),
        ("hour(ts) = 3", {"ts": (3 * DAY // 24, 4 * DAY // 24 - 1)}, ALL),
        ("hour(ts) = 3", {"ts": (DAY - 1, DAY)}, SOME),
        ("CAST(ts AS DATE) = d", {"ts": (0, DAY - 1), "d": (1, 5)}, NONE),
        ("CAST(ts AS DATE) = d", {"ts": (0, DAY - 1), "d": (0, 0)}, ALL),
        ("date_add(d, 7) < DATE '1970-01-10'", {"d": (2, 5)}, NONE),
        ("datediff(DATE '1970-01-10', d) > 5", {"d": (4, 8)}, NONE),
        ("datediff(DATE '1970-01-10', d) > 5", {"d": (1, 3)}, ALL),
        ("coalesce(a, b) > 5", {"a": (1, 3), "b": (9, 9)}, NONE),  # a has no NULL
        ("greatest(a, b) > 5", {"a": (1, 3), "b": (2, 5)}, NONE),
        ("floor(x) = 2", {"x": (3.0, 9.5)}, NONE),
        ("upper(s) = 'A'", {"s": ("a", "b")}, SOME),
        ("upper(s) = 'B'", {"s": ("a", "a")}, NONE),  # one value in all rows
        ("lower(s) LIKE '%a%'", {"s": ("A", "A")}, ALL),
        ("a + 1 IN (3, 9)", {"a": (3, 7)}, NONE),
        ("CAST(x AS INT) > 4", {"x": (5.5, 6.0)}, ALL),
        ("length(s) IS NULL", {"s": ("a", "b")}, NONE),
        ("substring(s, 1, 2) > 'ac'", {"s": ("aba", "acz")}, NONE),
        ("substring(s, 0, 2) >= 'ab'", {"s": ("aba", "abz")}, ALL),
        ("substring(s, 2, 1) > 'c'", {"s": ("aba", "abz")}, SOME),
        ("substring(s, 1, 0) > 'a'", {"s": ("aba", "acz")}, NONE),
        ("left(s, 1) > 'a'", {"s": ("aba", "acz")}, NONE),
        ("unix_timestamp(s) > 86400", {"s": ("1970-01-01 00:00:00", "1970-01-01 01:00:00")}, SOME),
        ("unix_timestamp(ts) > 3600", {"ts": (0, 3600_999_999)}, NONE),
        ("ts + INTERVAL '1' DAY > TIMESTAMP'1970-01-02 00:00:00Z'", {"ts": (-DAY, 0)}, NONE),
        ("a DIV 1 > 5", {"a": (1, 5)}, NONE),
        ("a / -2 >= 2.5", {"a": (1, 6)}, SOME),
    ],
)
def test_ranges_decide(text: str, sides: dict[str, tuple[Any, Any]], wanted: int) -> None:
    assert verdict(text, **sides) == wanted
    if wanted == ALL:
        assert verdict(f"NOT ({text})", **sides) == NONE
        assert verdict(text, nulls=1, **sides) == SOME


@pytest.mark.parametrize("nans", [None, 2])
def test_a_nan_beside_the_bounds_stays_one_in_a_cast(nans: int | None) -> None:
    for text in ("isnan(CAST(f AS DOUBLE))", "isnan(abs(f))", "abs(f) > 1e30", "abs(f) = double('NaN')"):
        assert verdict(text, nans=nans, f=(1.0, 2.0)) == SOME
        assert verdict(text, nans=0, f=(1.0, 2.0)) == NONE
    for text in ("isnan(-x)", "isnan(abs(x))", "isnan(x + 1)"):
        assert verdict(text, nans=nans, x=(1.0, 2.0)) == verdict(f"NOT {text}", nans=nans, x=(1.0, 2.0)) == SOME
        assert verdict(text, nans=0, x=(1.0, 2.0)) == NONE and verdict(f"NOT {text}", nans=0, x=(1.0, 2.0)) == ALL


def day(text: str) -> int:
    """The days since the epoch of a date of the years 0000 to 9999, and days beside it: ``9999-12-31 + 1``."""
    date, _, more = text.partition(" ")
    return int(np.datetime64(date, "D").astype(int)) + int(more.replace(" ", "") or 0)


@pytest.mark.parametrize(
    ("text", "low", "high", "wanted"),
    [
        ("< '2'", "1999-12-31", "2001-01-01", SOME),
        ("< '2'", "2000-01-01", "2001-01-01", NONE),
        ("< '2'", "3000-01-01", "9999-12-31", NONE),
        ("< '2'", "3000-01-01", "9999-12-31 + 1", SOME),  # '+10000-01-01'
        ("< '2'", "3000-01-01", None, SOME),
        ("< '0'", "0000-01-01", "9999-12-31", NONE),
        ("< '0'", "0000-01-01 - 1", "9999-12-31", SOME),  # '-0001-12-31'
        ("> '3'", None, "2000-01-01", NONE),
        ("> '3'", "0000-01-01 - 1", "2000-01-01", NONE),
        ("> '3'", "0000-01-01 - 2", "0000-01-01 - 1", SOME),
        ("> '3'", "1000-01-01", "9999-12-31 + 1", SOME),
    ],
)
def test_texts_of_times_are_in_order_while_their_years_have_four_digits(
    text: str, low: str | None, high: str | None, wanted: int
) -> None:
    low_day, high_day = (None if one is None else day(one) for one in (low, high))
    assert verdict(f"CAST(d AS STRING) {text}", d=(low_day, high_day)) == wanted
    low_us, high_us = None if low_day is None else low_day * DAY, None if high_day is None else high_day * DAY + DAY - 1
    assert verdict(f"CAST(ts AS STRING) {text}", ts=(low_us, high_us)) == wanted


def test_null_where_another_value_stands_in() -> None:
    assert verdict("coalesce(a, b) > 5", nulls=1, a=(1, 3), b=(9, 9)) == SOME
    assert verdict("coalesce(a + 0, b) > 5", nulls=1, a=(1, 3), b=(2, 5)) == NONE


def test_a_sum_that_its_type_may_not_hold() -> None:
    """With ANSI such a row fails, without it the sum wraps around: so the file is not fully matched, or kept."""
    assert verdict("a + 1 > 5", a=(9, GREATEST)) == SOME
    assert verdict("a + 1 > 5", a=(9, GREATEST - 1)) == ALL
    assert verdict("a + 1 < 5", a=(9, GREATEST)) == NONE
    assert verdict("a + 1 < 5", ansi=False, a=(9, GREATEST)) == SOME
    assert verdict("a + 1 < 5", ansi=False, a=(9, GREATEST - 1)) == NONE
    assert verdict("abs(a) < 0", a=(-(2**31), 0)) == NONE
    assert verdict("abs(a) < 0", ansi=False, a=(-(2**31), 0)) == SOME
    assert verdict("abs(a) < 0", ansi=False, a=(-(2**31) + 1, 0)) == NONE
    assert verdict("abs(a) >= 0", ansi=False, a=(-(2**31) + 1, 0)) == ALL
    assert verdict("abs(a) < 3", ansi=False, a=(-9, -3)) == NONE
    assert verdict("-a < 5", a=(-(2**31), -9)) == NONE
    assert verdict("-a < 5", ansi=False, a=(-(2**31), -9)) == SOME
    assert verdict("CAST(a AS TINYINT) > 5", ansi=False, a=(1, 300)) == SOME
    assert verdict("CAST(a AS TINYINT) > 5", a=(1, 300)) == SOME
    assert verdict("CAST(a AS TINYINT) > 5", a=(-300, 3)) == NONE


def test_partition_values_decide_any_function_and_leave_no_residual() -> None:
    spec = PartitionSpec(0, (PartitionField(1000, "s", 6, parse_transform("identity"), primitive("string")),))
    partition = pa.StructArray.from_arrays([pa.array(["x1", "y2", None, "zz"])], names=["1000"])
    program = compiled("upper(substring(s, 1, 1)) = 'X' AND a + 1 > 5")
    assert program.uses_partitions(spec)
    assert program.decide(program.range_sources(spec, partition)).verdicts.tolist() == [SOME, NONE, NONE, NONE]
    outcomes = program.partition_outcomes(spec, partition)
    left = [residual(program.predicate, {leaf: int(mask[i]) for leaf, mask in outcomes.items()}) for i in range(4)]
    assert [str(node) for node in left] == ["((a + 1) > 5)", "FALSE", "FALSE", "FALSE"]


def test_a_partition_value_for_which_the_condition_fails_keeps_its_files() -> None:
    spec = PartitionSpec(0, (PartitionField(1000, "s", 6, parse_transform("identity"), primitive("string")),))
    partition = pa.StructArray.from_arrays([pa.array(["1", "2", "x"])], names=["1000"])
    program = compiled("CAST(s AS INT) = 1")
    assert program.decide(program.range_sources(spec, partition)).verdicts.tolist() == [ALL, NONE, SOME]
    turned = compiled("NOT (CAST(s AS INT) = 1)")
    assert turned.decide(turned.range_sources(spec, partition)).verdicts.tolist() == [NONE, ALL, SOME]


def test_notes_name_what_only_rows_decide() -> None:
    assert compiled("a + 1 > 5 AND year(d) = 2024").notes == []
    (note,) = compiled("upper(s) = 'A'").notes
    assert (
        note == "(upper(s) = 'A') is evaluated on rows: only files whose columns have one value each are pruned by it"
    )


@pytest.mark.parametrize(
    "text",
    [
        "coalesce(l, l) IS NULL",
        "IF(i > 1, l, l) IS NOT NULL",
        "size(coalesce(l, l)) > 2",
        "CASE WHEN i > 1 THEN st ELSE st END IS NULL",
        "coalesce(v, v) IS NULL",
        "nullif(NULL, i) IS NULL",
        "nullif(NULL, i) = 3",
        "IF(i > 1, NULL, NULL) IS NULL",
        "greatest(nullif(NULL, i), NULL) IS NOT NULL",
    ],
)
def test_values_without_an_order_have_no_bounds(text: str) -> None:
    members = {
        "l": pa.list_(pa.int32()),
        "m": pa.list_(pa.int32()),
        "st": pa.struct({"a": pa.int32()}),
        "i": pa.int32(),
    }
    fields = (*Schema.from_arrow(pa.schema(members)), Field(99, "v", primitive("variant")))
    parsed = parse_filter(text)
    assert parsed is not None
    program = CompiledPredicate(bind(parsed, Schema(fields)))
    nothing = pa.array([{}], pa.struct([]))
    assert program.verdicts(PartitionSpec(0, ()), nothing, Bounds(), pa.array([9])).tolist() == [SOME]


def test_predicates_without_functions_do_not_load_them() -> None:
    code = (
        "import sys; from tests.pruning.test_column_pairs import compiled, primitive; import tableformats;"
        "compiled('<', (primitive('int'),) * 2);"
        "print([m for m in sys.modules if m.endswith(('expressions.evaluation', 'pruning.computed_ranges'))])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
