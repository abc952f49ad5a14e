"""Bounds from statistics: never tighter than the values, whatever writers cut, and unknown where in doubt.

Every case is decoded by the compiled reader of JSON and by its readable twin.
"""

from __future__ import annotations

import datetime as dt
import json
import math
from decimal import Context, Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tableformats_delta.json import _json
from tableformats_delta.json import columns as json_columns
from tableformats_delta.json import reference as json_reference
from tableformats_delta.log import commits
from tableformats_delta.statistics import log_statistics as statistics
from tableformats_delta.statistics import stats_json

from tableformats import open_table
from tableformats.plugin import Bounds
from tableformats.pruning.replaced_text import widened_texts
from tableformats.schema import Schema
from tests.support.delta_log import (
    WITH_VECTORS,
    DeltaLog,
    add,
    field,
    request,
    stats,
    vector,
)

UTC = dt.timezone.utc
MALFORMED = '{"numRecords":'
BESIDE = pytest.mark.parametrize("beside", [_json, json_reference], ids=["compiled", "reference"], indirect=True)


@pytest.fixture
def beside(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What stands beside the case: a text that is no JSON. All are read by one of the twins."""
    for name in ("Cells", "MemberColumns"):
        monkeypatch.setattr(json_columns, name, getattr(request.param, name))
    if request.param is json_reference:  # which knows no places within the lines of commits
        monkeypatch.setattr(commits, "read_lines", lambda texts, *_: [None] * len(texts))
    return [MALFORMED]


def bounds_of(
    tmp_path: Path, fields: list[dict[str, Any]], texts: list[Any], rows: list[int] | None = None, **more: Any
) -> tuple[Schema, Bounds]:
    log = DeltaLog(tmp_path / "t").start(*fields, **more)
    log.commit(1, *[add(f"f{i}", stats=text) for i, text in enumerate(texts)])
    snapshot = log.snapshot()
    (batch,) = snapshot.read(request())
    assert batch.statistics is not None
    leaves = [path[-1] for path in snapshot.schema.leaves()]
    return snapshot.schema, batch.statistics.bounds(leaves, None if rows is None else np.array(rows))


def pair_of(tmp_path: Path, kind: Any, low: Any, high: Any, beside: list[str], **metadata: Any) -> tuple[Any, Any]:
    """Lower and upper bound of a column; ``low`` and ``high`` are JSON texts, None leaves them out. NaN is unknown."""
    sides = [("minValues", low), ("maxValues", high)]
    members = "".join(f',"{name}":{{"c":{text}}}' for name, text in sides if text is not None)
    _, bounds = bounds_of(tmp_path, [field("c", kind, metadata)], [f'{{"numRecords":9{members}}}', *beside])
    low, high = (None if (found := side[1][0].as_py()) != found else found for side in (bounds.lower, bounds.upper))
    return low, high


@BESIDE
@pytest.mark.parametrize(
    ("kind", "low", "high"),
    [
        ("integer", -5, 7),
        ("long", -(2**63), 2**63 - 1),
        ("long", 2**53 + 1, 2**53 + 3),
        ("byte", -128, 127),
        ("short", 0, 0),
        ("float", 0.5, 1.5),
        ("double", -0.0, 1e300),
        ("double", 0.1, 0.1),
        ("double", 1, 2),
    ],
)
def test_numbers(tmp_path: Path, beside: list[str], kind: str, low: Any, high: Any) -> None:
    assert pair_of(tmp_path, kind, json.dumps(low), json.dumps(high), beside) == (low, high)


@BESIDE
@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("decimal(15,3)", "123456789012.345", "123456789012.345"),
        ("decimal(15,15)", "0.1", "0.100000000000000"),
        ("decimal(5,4)", "1E-4", "0.0001"),
        ("decimal(5,2)", '"1.5"', "1.50"),
        ("decimal(5,2)", "7", "7.00"),
    ],
)
def test_decimals_are_exact(tmp_path: Path, beside: list[str], kind: str, text: str, value: str) -> None:
    assert pair_of(tmp_path, kind, text, text, beside) == (Decimal(value), Decimal(value))


@BESIDE
@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("decimal(38,3)", "12345678901234567890123456789012345.678"),
        ("decimal(38,18)", "-0.100000000000000001"),
        ("decimal(20,0)", "12345678901234567891"),
        ("decimal(16,2)", "-12345678901234.56"),
        ("decimal(38,18)", "0"),
        ("decimal(38,18)", "5"),
        ("decimal(38,0)", "9223372036854775806"),
        ("decimal(38,1)", "9223372036854775807"),
        ("decimal(18,0)", "999999999999000000"),
    ],
)
def test_decimals_that_may_have_been_doubles(tmp_path: Path, beside: list[str], kind: str, text: str) -> None:
    """Both bounds lie as far from the number, which is read exactly: sixteen roundings of a double."""
    value, scale = Decimal(text), int(kind[:-1].split(",")[1])
    lost = (abs(value) / 2**49).quantize(Decimal(1).scaleb(-scale), context=Context(prec=60))
    low, high = pair_of(tmp_path, kind, text, text, beside)
    assert abs(value - low - lost) <= lost / 1000
    assert high - value == value - low


@BESIDE
@pytest.mark.parametrize(
    ("kind", "low", "high", "known"),
    [
        ("decimal(38,0)", "-9223372036854775808", "9223372036854775807", (False, False)),
        ("decimal(19,0)", "9223372036854775807", "9223372036854775807", (True, False)),
        ("decimal(19,0)", "-9223372036854775808", "-9223372036854775808", (False, True)),
        ("decimal(38,1)", "-9223372036854775808", "9223372036854775807", (True, True)),
        ("decimal(38,0)", "-" + 38 * "9", 38 * "9", (False, False)),
        ("decimal(38,0)", 38 * "9", 38 * "9", (True, False)),
        ("decimal(16,2)", "99999999999999.99", "99999999999999.99", (True, False)),
    ],
)
def test_decimals_that_stand_for_greater_ones(
    tmp_path: Path, beside: list[str], kind: str, low: str, high: str, known: tuple[bool, bool]
) -> None:
    """The ends of int64, and what with a margin leaves the type."""
    found = pair_of(tmp_path, kind, low, high, beside)
    assert tuple(bound is not None for bound in found) == known


def instant(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text).replace(tzinfo=UTC)


@BESIDE
@pytest.mark.parametrize(
    ("low", "high", "lower", "upper"),
    [
        (
            "2021-09-08T11:11:11.123Z",
            "2021-09-08T11:11:11.124Z",
            "2021-09-08T11:11:11.123",
            "2021-09-08T11:11:11.124999",
        ),
        (
            "2021-09-08T11:11:11.123+05:00",
            "2021-09-08T11:11:11.123+05:00",
            "2021-09-08T06:11:11.123",
            "2021-09-08T06:11:11.123999",
        ),
        ("2021-09-08T11:11:11.123-08:00", "2021-09-08T11:11:11-08:00", None, None),
        ("1899-12-31T23:59:59.000Z", "1899-12-31T23:59:59.000Z", "1899-12-31T23:58:59", "1900-01-01T00:00:59.000999"),
        ("1900-01-01T00:00:00.000Z", "1900-01-01T00:00:00.000Z", "1900-01-01T00:00:00", "1900-01-01T00:00:00.000999"),
        ("2021-09-08T11:11:11.123", "2021-09-08T11:11:11.123", None, None),
        ("soon", "2021-09-08T11:11:11.000Z", None, "2021-09-08T11:11:11.000999"),
    ],
)
def test_timestamps(
    tmp_path: Path, beside: list[str], low: str, high: str, lower: str | None, upper: str | None
) -> None:
    expected = tuple(None if text is None else instant(text) for text in (lower, upper))
    assert pair_of(tmp_path, "timestamp", json.dumps(low), json.dumps(high), beside) == expected


@BESIDE
def test_timestamps_without_zone(tmp_path: Path, beside: list[str]) -> None:
    low, high = pair_of(tmp_path, "timestamp_ntz", '"2021-09-08T11:11:11.123"', '"2021-09-08T11:11:11.999"', beside)
    assert low == dt.datetime(2021, 9, 8, 11, 11, 11, 123000)
    assert high == dt.datetime(2021, 9, 8, 11, 11, 11, 999999)


@BESIDE
def test_dates(tmp_path: Path, beside: list[str]) -> None:
    low, high = pair_of(tmp_path, "date", '"0001-01-01"', '"9999-12-31"', beside)
    assert (low, high) == (dt.date(1, 1, 1), dt.date(9999, 12, 31))


@BESIDE
@pytest.mark.parametrize(
    ("high", "upper"),
    [
        ("z" * 32 + "\u007f", "z" * 32 + "\u007f"),
        ("z" * 32 + "\ufffd", "z" * 32 + "\ufffd"),  # widened with all bounds that hold U+FFFD
        ("z" * 32 + "\U0010ffff", "z" * 32 + "\U0010ffff"),
        ("z" * 31 + "?\ufffd", None),
        ("z" * 31, "z" * 31),
        ("z" * 32, "z" * 32 + "\U0010ffff"),
        ("z" * 33, "z" * 33),
        ("\U0001f600" * 32, "\U0001f600" * 32 + "\U0010ffff"),
        ("\U0001f600" * 16, "\U0001f600" * 16),
        ("what? never", "what? never"),
        ("?" * 40, "?" * 40),
        ("\U0001f600", "\U0001f600"),
    ],
)
def test_strings(tmp_path: Path, beside: list[str], high: str, upper: str | None) -> None:
    assert pair_of(tmp_path, "string", json.dumps("!" * 32), json.dumps(high), beside) == ("!" * 32, upper)


def test_old_tie_break_is_above_every_character(tmp_path: Path) -> None:
    """The value that the old writer cut stands above its bound in UTF-8."""
    value = "z" * 32 + "\U0001f600" + "tail"
    low, high = pair_of(tmp_path, "string", '"a"', json.dumps("z" * 32 + "\ufffd"), [])
    (upper,) = widened_texts(pa.array([low]), pa.array([high]))[1].to_pylist()
    assert ("z" * 32 + "\ufffd").encode() < value.encode() <= upper.encode()


def test_replaced_texts_contradict_nothing(tmp_path: Path) -> None:
    """The values may be ``61 80 00`` and ``61 FF``."""
    assert pair_of(tmp_path, "string", json.dumps("a\ufffd\0"), json.dumps("a\ufffd"), []) == ("a\ufffd\0", "a\ufffd")


def test_a_maximum_that_ends_with_a_replacement_may_be_any_bytes(tmp_path: Path) -> None:
    """The value ``61 FF`` is above all texts that begin with ``a``."""
    low, high = pair_of(tmp_path, "string", json.dumps("a\ufffd"), json.dumps("a\ufffd"), [])
    assert [side.to_pylist() for side in widened_texts(pa.array([low]), pa.array([high]))] == [["a\x7f"], ["b"]]


def test_strings_compare_by_bytes(tmp_path: Path) -> None:
    """U+FFFF is below U+10000 in UTF-8 and above it in UTF-16: this pair is in order."""
    assert pair_of(tmp_path, "string", '"\\uffff"', '"\\ud800\\udc00"', []) == ("\uffff", "\U00010000")


@BESIDE
@pytest.mark.parametrize(
    ("kind", "low", "high", "expected"),
    [
        ("integer", "5", "3", (None, None)),
        ("string", '"b"', '"a"', (None, None)),
        ("date", '"2021-01-02"', '"2021-01-01"', (None, None)),
        ("timestamp", '"2021-01-01T00:00:00.001Z"', '"2021-01-01T00:00:00.000Z"', (None, None)),
        ("double", "2.0", "1.0", (None, None)),
        ("decimal(5,2)", "2", "1", (None, None)),
        ("integer", None, "3", (None, 3)),
        ("integer", "null", "3", (None, 3)),
        ("integer", '"1"', "3", (None, 3)),
        ("integer", "1.5", "3", (None, 3)),
        ("integer", "true", "3", (None, 3)),
        ("integer", "[1]", "3", (None, 3)),
        ("integer", "{}", "3", (None, 3)),
        ("integer", "-2147483649", "3", (None, 3)),
        ("integer", "1e400", "3", (None, 3)),
        ("integer", "1e999999999", "3", (None, 3)),
        ("long", "9223372036854775808", "3", (None, 3)),
        ("integer", "1" * 5000, "3", (None, None)),
        ("double", '"NaN"', "3.0", (None, 3.0)),
        ("double", "NaN", "3.0", (None, 3.0)),
        ("double", "-1e400", "1e400", (-math.inf, math.inf)),
        ("double", '"-Infinity"', '"Infinity"', (-math.inf, math.inf)),
        ("double", "-Infinity", "Infinity", (-math.inf, math.inf)),
        ("float", '"x"', "1.0", (None, 1.0)),
        ("decimal(5,2)", "1.234", "3", (None, Decimal(3))),
        ("decimal(5,2)", "-1000", "3", (None, Decimal(3))),
        ("decimal(5,2)", "1e999999999", "3", (None, Decimal(3))),
        ("decimal(5,2)", '"NaN"', "3", (None, Decimal(3))),
        ("string", "7", '"a"', (None, "a")),
        ("string", '"\\ud800"', '"a"', (None, "a")),
        ("date", "7", '"2021-01-01"', (None, dt.date(2021, 1, 1))),
        ("date", '"2021-02-30"', '"2021-01-01"', (None, dt.date(2021, 1, 1))),
        ("boolean", "true", "true", (None, None)),
        ("binary", '"a"', '"b"', (None, None)),
    ],
)
def test_unknown(tmp_path: Path, beside: list[str], kind: str, low: Any, high: Any, expected: Any) -> None:
    assert pair_of(tmp_path, kind, low, high, beside) == expected


def plan_of(log: DeltaLog, where: str) -> tuple[int, bool]:
    """How many files are planned, and whether all rows of all of them match."""
    plan = open_table(log.root).scan(where).plan()
    return len(plan), len(plan) > 0 and plan.report.files_fully_matched == len(plan)


@pytest.mark.parametrize(
    ("kind", "low", "high", "literal", "proven"),
    [
        ("long", 7, 7, "7", True),
        ("string", "abc", "abc", "'abc'", True),
        ("date", "2024-01-01", "2024-01-01", "DATE '2024-01-01'", True),
        # These may have been cut: equal bounds are no value.
        ("string", "z" * 32, "z" * 32, f"'{'z' * 32}'", False),
        ("timestamp", "2024-01-01T00:00:00.123Z", "2024-01-01T00:00:00.123Z", "'2024-01-01 00:00:00.123'", False),
        ("timestamp_ntz", "2024-01-01T00:00:00.123", "2024-01-01T00:00:00.123", "'2024-01-01 00:00:00.123'", False),
        ("double", 7.0, 7.0, "7", False),  # NaN may stand beside it
    ],
)
def test_equal_bounds(tmp_path: Path, kind: str, low: Any, high: Any, literal: str, proven: bool) -> None:
    log = DeltaLog(tmp_path / "t").start(field("c", kind))
    log.commit(1, add("f", stats=stats(9, minValues={"c": low}, maxValues={"c": high}, nullCount={"c": 0})))
    assert plan_of(log, f"c = {literal}") == (1, proven)
    assert plan_of(log, f"c != {literal}") == (0 if proven else 1, False)


@pytest.mark.parametrize(
    "configuration", [{"delta.dataSkippingNumIndexedCols": "1"}, {"delta.dataSkippingStatsColumns": "id"}]
)
def test_columns_left_out_of_statistics(tmp_path: Path, configuration: dict[str, str]) -> None:
    log = DeltaLog(tmp_path / "t").start(field("id", "long"), field("c", "long"), configuration=configuration)
    log.commit(1, add("f", stats=stats(9, minValues={"id": 1}, maxValues={"id": 5}, nullCount={"id": 0})))
    log.commit(
        2,
        add("g", stats=stats(9, minValues={"id": 1, "c": 1}, maxValues={"id": 5, "c": 5}, nullCount={"id": 0, "c": 0})),
    )
    for where in ("c = 9", "c IS NULL", "c < 0", "c IN (7, 8)", "NOT (c BETWEEN 1 AND 5)"):
        assert plan_of(log, where) == (1, False), where
    assert plan_of(log, "c = 9 AND id = 6") == plan_of(log, "id IS NULL") == (0, False)
    assert plan_of(log, "c IS NOT NULL") == (2, False)


def test_wide_bounds_prune_and_prove(tmp_path: Path) -> None:
    """Bounds beside a deletion vector hold for the rows that are left; counts speak only where they are 0 or all."""
    log = DeltaLog(tmp_path / "t").start(field("c", "long"), protocol=WITH_VECTORS)
    for version, (nulls, more) in enumerate(
        [(0, {"tightBounds": False}), (3, {"tightBounds": False}), (9, {}), (3, {})], 1
    ):
        text = stats(9, minValues={"c": 1}, maxValues={"c": 5}, nullCount={"c": nulls}, **more)
        log.commit(version, add(f"f{nulls}{len(more)}", stats=text, deletionVector=vector(version)))
    assert plan_of(log, "c > 5") == (0, False)
    assert plan_of(log, "c >= 1") == (3, False)  # in one of four files all is NULL, in one nothing
    assert open_table(log.root).scan("c >= 1").plan().report.files_fully_matched == 1
    assert plan_of(log, "c IS NULL") == (3, False)
    assert plan_of(log, "c IS NOT NULL") == (3, False)


class TestNothingIsParsedUnasked:
    @pytest.fixture
    def log(self, tmp_path: Path) -> DeltaLog:
        text = stats(9, minValues={"a": 1, "b": 1}, maxValues={"a": 5, "b": 5}, nullCount={"a": 0, "b": 0})
        log = DeltaLog(tmp_path / "t").start(
            field("a", "long"), field("b", "long"), field("p", "long"), partition=("p",)
        )
        return log.commit(1, *[add(f"f{i}", stats=text, partitionValues={"p": str(i)}) for i in range(5)])

    def asked(self, log: DeltaLog, monkeypatch: pytest.MonkeyPatch, where: str | None) -> list[tuple[set[int], int]]:
        """(ids of columns, texts) of every pass over the JSON."""
        passes = []

        def counting(pieces: Any, leaves: Any, n_files: int) -> Any:
            every = list(pieces)
            read = [text if rows is None else text.take(pa.array(rows)) for text, rows in every]
            passes.append(({leaf.id for leaf in leaves}, sum(len(some) - some.null_count for some in read)))
            return stats_json.scan(every, leaves, n_files)

        monkeypatch.setattr(statistics, "scan", counting)
        snapshot = open_table(log.root).snapshot()
        assert passes == [], "opening a snapshot parses none"
        snapshot.scan(where).plan()
        return passes

    @pytest.mark.parametrize(
        ("where", "expected"),
        [
            (None, []),
            ("a = 1", [({1}, 5)]),
            ("p = 3", []),
            ("p = 3 AND b = 1", [({2}, 1)]),
            ("a = 1 OR b = 2 OR p = 1", [({1, 2}, 5)]),
        ],
    )
    def test_passes(self, log: DeltaLog, monkeypatch: pytest.MonkeyPatch, where: str | None, expected: Any) -> None:
        assert self.asked(log, monkeypatch, where) == expected


@BESIDE
def test_collations_are_not_compared_by_bytes(tmp_path: Path, beside: list[str]) -> None:
    _, bounds = bounds_of(
        tmp_path,
        [field("c", "string", {"__COLLATIONS": {"c": "spark.UTF8_LCASE"}})],
        [stats(9, minValues={"c": "a"}, maxValues={"c": "b"}), *beside],
    )
    assert bounds.lower == bounds.upper == {}


class TestWidening:
    CHANGE = "delta.typeChanges"

    @BESIDE
    @pytest.mark.parametrize(
        ("old", "new", "low", "high", "expected"),
        [
            ("integer", "long", "1", "2", (1, 2)),
            ("integer", "double", "1", "2", (1.0, 2.0)),
            ("integer", "decimal(12,2)", "1", "2", (Decimal(1), Decimal(2))),
            ("decimal(4,1)", "decimal(12,2)", "1.5", "2.5", (Decimal("1.50"), Decimal("2.50"))),
            (
                "date",
                "timestamp_ntz",
                '"2021-01-01"',
                '"2021-01-02"',
                (dt.datetime(2021, 1, 1), dt.datetime(2021, 1, 2, 0, 0, 0, 999)),
            ),
        ],
    )
    def test_old_bounds_are_cast(
        self, tmp_path: Path, beside: list[str], old: str, new: str, low: str, high: str, expected: Any
    ) -> None:
        change = {self.CHANGE: [{"fromType": old, "toType": new}]}
        assert pair_of(tmp_path, new, low, high, beside, **change) == expected

    @BESIDE
    @pytest.mark.parametrize("value", [3.14, -3.14, 0.1, 16777217.5])
    def test_floats_written_in_short(self, tmp_path: Path, beside: list[str], value: float) -> None:
        change = {self.CHANGE: [{"fromType": "float", "toType": "double"}]}
        low, high = pair_of(tmp_path, "double", str(value), str(value), beside, **change)
        assert low <= float(np.float32(value)) <= high
        assert low <= value <= high


class TestCounts:
    def counts(self, tmp_path: Path, text: Any, **more: Any) -> tuple[Any, Any, Any]:
        log = DeltaLog(tmp_path / "t").start(field("c", "long"))
        log.commit(1, add("f", stats=text, **more))
        snapshot = log.snapshot()
        (batch,) = snapshot.read(request())
        assert batch.statistics is not None
        bounds = batch.statistics.bounds([snapshot.schema.fields[0]], None)
        assert bounds.nan_count == {}
        return bounds.null_count[1][0].as_py(), bounds.value_count[1][0].as_py(), bounds.lower[1][0].as_py()

    @pytest.mark.parametrize(
        ("nulls", "tight", "expected"),
        [
            (0, True, 0),
            (3, True, 3),
            (9, True, 9),
            (10, True, None),
            (-1, True, None),
            (0, False, 0),
            (3, False, None),
            (9, False, 9),
            (3, None, 3),
            ("3", True, None),
            (None, True, None),
            ({}, True, None),
        ],
    )
    def test_null_count(self, tmp_path: Path, nulls: Any, tight: bool | None, expected: int | None) -> None:
        more = {} if tight is None else {"tightBounds": tight}
        text = stats(9, nullCount={"c": nulls}, minValues={"c": 1}, maxValues={"c": 2}, **more)
        assert self.counts(tmp_path, text) == (expected, 9, 1)

    def test_null_count_beside_a_vector_is_wide(self, tmp_path: Path) -> None:
        text = stats(9, nullCount={"c": 3}, minValues={"c": 1})
        assert self.counts(tmp_path, text, deletionVector=vector()) == (None, 9, 1)

    @pytest.mark.parametrize("records", [None, -1, "9", 1.5, True, 2**63])
    def test_without_record_count_all_is_unknown(self, tmp_path: Path, records: Any) -> None:
        text = json.dumps({"numRecords": records, "nullCount": {"c": 0}, "minValues": {"c": 1}})
        assert self.counts(tmp_path, text) == (None, None, None)

    def test_the_old_spelling_is_not_read(self, tmp_path: Path) -> None:
        assert self.counts(tmp_path, stats(9, nullCounts={"c": 3})) == (None, 9, None)


def test_nested_dotted_and_physical_names(tmp_path: Path) -> None:
    def mapped(name: str, kind: Any, n: int) -> dict[str, Any]:
        return field(name, kind, {"delta.columnMapping.id": n, "delta.columnMapping.physicalName": f"p.{n}"})

    nested = {"type": "struct", "fields": [mapped("numRecords", "long", 3), mapped("x.y", "string", 4)]}
    text = stats(
        9,
        minValues={"p.2": {"p.3": 1, "p.4": "a"}, "s": {"numRecords": 7}, "p": {"2": 5}},
        maxValues={"p.2": {"p.3": 2, "p.4": "b"}},
        nullCount={"p.2": {"p.3": 4, "p.4": 5}},
    )
    _, bounds = bounds_of(
        tmp_path,
        [mapped("s", nested, 2)],
        [text],
        protocol={"minReaderVersion": 2, "minWriterVersion": 5},
        configuration={"delta.columnMapping.mode": "name"},
    )
    found = {
        i: (bounds.lower[i][0].as_py(), bounds.upper[i][0].as_py(), bounds.null_count[i][0].as_py()) for i in (3, 4)
    }
    assert found == {3: (1, 2, 4), 4: ("a", "b", 5)}


def test_names_compare_exactly(tmp_path: Path) -> None:
    _, bounds = bounds_of(tmp_path, [field("Col", "long")], [stats(9, minValues={"col": 1, "COL": 2})])
    assert bounds.lower[1].to_pylist() == [None]


def test_rows(tmp_path: Path) -> None:
    texts = [stats(i + 10, minValues={"c": i}) if i != 3 else None for i in range(6)]
    _, bounds = bounds_of(tmp_path, [field("c", "long")], texts, rows=[1, 3, 4])
    assert bounds.lower[1].to_pylist() == [1, None, 4]
    assert bounds.value_count[1].to_pylist() == [11, None, 14]


@pytest.mark.parametrize(
    "text",
    [
        '{} {"numRecords":7}',
        '{}}\n{"s":{"numRecords":7}',
        '{}} {"s":{"numRecords":7}',
        '{},"s":{"numRecords":7}',
        " ",
        "",
        "\n",
        '{"numRecords"\n:\r\n7}\n',
        '{}\n{"numRecords":7}',
        '{}}\n\n{"s":{}',
        '{"numRecords":7',
        '{"numRecords":7}}',
        '{"a":"',
        '{},"t":"',
        "null} {",
        '{"numRecords":7}\0',
        '"x"',
        "[{}]",
        '{"minValues":' + "[" * 100_000 + "]" * 100_000 + "}",
        '{"a":' * 100_000,
    ],
)
def test_no_text_shifts_the_rows_of_others(tmp_path: Path, text: str) -> None:
    good = [stats(n, minValues={"c": n}) for n in (1, 2, 3)]
    _, bounds = bounds_of(tmp_path, [field("c", "long")], [good[0], text, good[1], "  ", text, good[2]])
    for rows in (bounds.value_count[1].to_pylist(), bounds.lower[1].to_pylist()):
        assert [rows[0], rows[2], rows[5]] == [1, 2, 3]
        assert rows[1] in (None, 7)
        assert rows[3] is None


def test_rows_in_total_are_those_of_all_files(tmp_path: Path) -> None:
    """Of files, too, that their partition values or row groups dropped before their statistics were read."""
    log = DeltaLog(tmp_path / "t").start(field("id", "long"), field("p", "long"), partition=("p",))
    for i in range(1, 4):
        log.commit(i, add(f"f{i}", partitionValues={"p": str(i)}, stats=stats(10 * i)))
    table = open_table(log.root)
    for filter_ in ("p = 2", "id > 5 AND p < 3", "p = 9", None):
        plan = table.scan(filter_).plan()
        assert plan.report.rows_total == 60, filter_
        assert "rows in total                               60" in plan.explain()
    uncached = open_table(log.root, cache=False)
    assert uncached.scan("p = 2").plan().report.rows_total is None
    assert uncached.scan("id > 5").plan().report.rows_total == 60  # counted with the bounds of all files
    assert uncached.scan("id > 5 AND p = 2").plan().report.rows_total is None
    log.commit(4, add("f4", partitionValues={"p": "4"}))
    assert table.scan("p = 2").plan().report.rows_total is None
