"""Conditions of polars as ours: what is understood, what is left out, and what never may be."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from functools import reduce
from operator import and_, or_
from typing import Any

import pytest

from tableformats.engines.polars import predicates
from tableformats.engines.polars.predicates import implied_condition
from tableformats.schema import DecimalType, Field, StructType, primitive

pl = pytest.importorskip("polars")

FIELDS = [
    Field(1, "i", primitive("int")),
    Field(2, "x", primitive("double")),
    Field(3, "f", primitive("float")),
    Field(4, "s", primitive("string")),
    Field(5, "b", primitive("boolean")),
    Field(6, "d", primitive("date")),
    Field(7, "t", primitive("timestamp")),
    Field(8, "m", DecimalType(9, 2)),
    Field(9, "y", primitive("binary")),
    Field(10, "u", primitive("uuid")),
    Field(11, "st", StructType((Field(12, "v", primitive("int")),))),
    Field(13, "c", primitive("string"), collation="UNICODE_CI"),
    Field(14, "h", primitive("string"), char_length=3),
    Field(15, "n", primitive("timestamp_ns")),
    Field(16, "z", primitive("time")),
]
TYPES = {
    **{"i": pl.Int32, "x": pl.Float64, "f": pl.Float32, "s": pl.String, "b": pl.Boolean, "d": pl.Date},
    **{"t": pl.Datetime("us", "UTC"), "m": pl.Decimal(9, 2), "y": pl.Binary, "u": pl.Binary, "c": pl.String},
    **{"st": pl.Struct({"v": pl.Int32}), "h": pl.String, "n": pl.Datetime("ns", "UTC"), "z": pl.Time},
}


def handed_over(predicate: Any) -> Any:
    """The expression as polars gives it to a source: with casts and literals of its own."""
    found: list[Any] = []

    def source(columns: Any, given: Any, n_rows: Any, batch_size: Any) -> Any:
        found.append(given)
        yield pl.DataFrame(schema=TYPES)

    from polars.io.plugins import register_io_source

    register_io_source(source, schema=TYPES).filter(predicate).collect()
    return found[0]


def translated(predicate: Any) -> str | None:
    given = handed_over(predicate)
    found = None if given is None else implied_condition(given, FIELDS, TYPES)
    return None if found is None else str(found)


C = pl.col
MOMENT = dt.datetime(2024, 2, 29, 12, tzinfo=dt.timezone.utc)


@pytest.mark.skipif(pl.__version__.startswith("1."), reason="polars casts columns before it compares them")
@pytest.mark.parametrize(
    ("predicate", "text"),
    [
        (C("i") > 1, "i > 1"),
        (C("i") < 1, "i < 1"),
        (C("i") >= 1, "i >= 1"),
        (pl.lit(1, pl.Int32) < C("i"), "i > 1"),
        (pl.lit(1, pl.Int32) > C("i"), "i < 1"),
        (pl.lit(1, pl.Int32) == C("i"), "i = 1"),
        (C("x").is_nan(), "isnan(x) AND x IS NOT NULL"),
        (C("f").is_nan(), "isnan(f) AND f IS NOT NULL"),
        (C("i").is_between(1, 2, closed="right"), "i > 1 AND i <= 2"),
        (pl.lit(1, pl.Int32) <= C("i"), "i >= 1"),
        (C("i") != 1, "i != 1"),
        (C("x") == 1.5, "x = 1.5"),
        (C("x") <= 1, "x <= 1.0"),
        (C("s") == "a", "s = 'a'"),
        (C("d") < dt.date(2024, 2, 29), "d < DATE '2024-02-29'"),
        (C("t") >= MOMENT, "t >= TIMESTAMP '2024-02-29 12:00:00+00:00'"),
        (C("f") > 0.5, "f > 0.5"),
        (C("m") == Decimal("1.25"), "m = 1.25"),
        (C("m") > Decimal("1.255"), "m > 1.255"),
        (C("m").is_in([Decimal("1.25")]), "m IN (1.25)"),
        (C("y") == b"a", "y = X'61'"),
        (C("b"), "b = TRUE"),
        (~C("b"), "NOT (b = TRUE)"),
        (C("i").is_null(), "i IS NULL"),
        (C("i").is_not_null(), "i IS NOT NULL"),
        (C("i").is_in([1, 2]), "i IN (1, 2)"),
        (~C("i").is_in([1, 2]), "NOT (i IN (1, 2))"),
        (C("s").is_in(["a"]), "s IN ('a')"),
        (C("i").is_between(1, 2), "i >= 1 AND i <= 2"),
        (C("i").is_between(1, 2, closed="left"), "i >= 1 AND i < 2"),
        (C("i").is_between(1, 2, closed="none"), "i > 1 AND i < 2"),
        (C("s").str.starts_with("a"), "startswith(s, 'a')"),
        ((C("i") > 1) & (C("s") == "a"), "i > 1 AND s = 'a'"),
        ((C("i") > 1) | (C("s") == "a"), "i > 1 OR s = 'a'"),
        (~((C("i") > 1) | (C("s") == "a")), "i <= 1 AND s != 'a'"),
        ((C("i") > 1) & (C("s").str.len_chars() == 1), "i > 1"),
        ((C("i") > 1) & (C("s").str.len_chars() == 1) & C("b"), "b = TRUE AND i > 1"),
    ],
    ids=str,
)
def test_understood(predicate: Any, text: str) -> None:
    assert translated(predicate) == text


@pytest.mark.parametrize(
    "predicate",
    [
        C("i") > 1.5,
        C("i") == C("x"),
        C("i") + 1 > 2,
        C("i").is_in([1, None]),
        C("i").is_in([1, 2], nulls_equal=True),
        C("i").eq_missing(1),
        ~C("x").is_nan(),  # of NULL polars knows neither
        C("x").is_nan() | (C("i") > 1),
        C("i") == pl.lit(None, pl.Int32),
        C("s").str.contains("a"),
        C("s").str.ends_with("a"),
        C("s").str.to_uppercase() == "A",
        C("st").struct.field("v") > 1,
        C("c") == "a",
        C("h") == "a",
        C("u") == b"a",
        C("n") > MOMENT,
        C("z") > dt.time(1),
        C("d") > MOMENT.replace(tzinfo=None),
        C("d").dt.year() == 2024,
        (C("i") > 1) | (C("s").str.len_chars() == 1),
        ~((C("i") > 1) & (C("s").str.len_chars() == 1)),
        pl.when(C("b")).then(C("i") > 1).otherwise(C("i") < 1),
        (C("i") > 1).is_null(),
        (C("i") > 1) ^ C("b"),
        (C("i") > 1) == C("b"),
    ],
    ids=str,
)
def test_left_out(predicate: Any) -> None:
    assert translated(predicate) is None
    assert implied_condition(predicate, FIELDS, TYPES) is None, "before polars has looked at it"


def test_each_column_of_a_condition_is_one_of_the_table() -> None:
    assert implied_condition(C("i") > 1, FIELDS[1:], TYPES) is None
    assert implied_condition(C("b"), FIELDS[:4], TYPES) is None
    assert implied_condition(C("i"), FIELDS, TYPES) is None, "no condition"


def test_lists_of_each_row_are_left_out() -> None:
    assert implied_condition(C("i").is_in(pl.Series([[1], [2]])), FIELDS, TYPES) is None
    assert str(implied_condition(C("i").is_in(pl.Series([[1, 2]])), FIELDS, TYPES)) == "i IN (1, 2)"


@pytest.mark.parametrize(
    ("most", "text"), [(4, "i != 1 AND i != 2"), (3, "i != 1 AND i != 2"), (2, "i != 2"), (1, "None")]
)
def test_as_many_conditions_are_looked_at_as_allowed(most: int, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(predicates, "_MOST_NODES", most)
    assert str(implied_condition((C("i") != 1) & (C("i") != 2), FIELDS, TYPES)) == text


@pytest.mark.parametrize("joined", [and_, or_])
def test_long_filters_are_not_looked_through(joined: Any) -> None:
    """Of a conjunction the last conditions are understood."""
    short, long = (reduce(joined, [C("i") != n for n in range(count)]) for count in (20, 1000))
    assert (implied_condition(short, FIELDS, TYPES) is None) is False
    assert (implied_condition(long, FIELDS, TYPES) is None) is (joined is or_)
