"""Texts of partition values and statistics as values, and which types become which."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from tableformats_delta.json.values import (
    INT_RANGES,
    fit_decimal,
    parse_date,
    parse_decimal,
    parse_float,
    parse_instant,
    parse_int,
    parse_local,
)
from tableformats_delta.maintenance.action_file import _scalar_type
from tableformats_delta.schema.type_changes import can_widen, check_type_changes

import tableformats as tf


@pytest.mark.parametrize(("kind", "bits"), [("byte", 8), ("short", 16), ("int", 32), ("long", 64)])
def test_integers(kind: str, bits: int) -> None:
    most = 2 ** (bits - 1)
    for text, number in [(str(most - 1), most - 1), (str(-most), -most), ("+07", 7), ("0" * 39 + "1", 1)]:
        assert parse_int(text, kind) == number in INT_RANGES[kind]
    for text in (str(most), str(-most - 1), "", "1.0", " 1", "1e1", "0" * 40 + "1", "٣", "--1"):
        with pytest.raises(ValueError):
            parse_int(text, kind)


def test_floats() -> None:
    for text, value in [("NaN", "nan"), ("-INF", "-inf"), ("+Infinity", "inf"), ("1.", "1.0"), (".5e-3", "0.0005")]:
        assert str(parse_float(text)) == value
    for text in ("", "+", "nan1", "0x1", "1e", "1_0", " 1", ".", "1e100000", "1" * 401, "--inf"):
        with pytest.raises(ValueError):
            parse_float(text)


@pytest.mark.parametrize(
    ("text", "precision", "scale", "value"),
    [
        ("1.50", 3, 1, "1.5"),
        ("99.9", 3, 1, "99.9"),
        ("100", 3, 1, None),
        ("-99.9", 3, 1, "-99.9"),
        ("1.55", 3, 1, None),
        ("0.05", 3, 1, None),
        ("0", 1, 1, "0.0"),
        ("0.9", 1, 1, "0.9"),
        ("1", 1, 1, None),
        ("1e2", 3, 0, "100"),
        ("1e3", 3, 0, None),
        ("0e99", 3, 0, None),
        ("1e51", 38, 0, None),
        ("9" * 38, 38, 0, "9" * 38),
        ("", 3, 0, None),
        ("NaN", 3, 0, None),
    ],
)
def test_decimals(text: str, precision: int, scale: int, value: str | None) -> None:
    if value is None:
        with pytest.raises(ValueError):
            parse_decimal(text, precision, scale)
    else:
        found = parse_decimal(text, precision, scale)
        assert str(found) == value and fit_decimal(Decimal(value), precision, scale) == found
    for special in ("NaN", "Infinity"):
        with pytest.raises(ValueError):
            fit_decimal(Decimal(special), 38, 0)


def test_dates_and_times() -> None:
    assert (parse_date("1970-01-02"), parse_date("1969-12-31")) == (1, -1)
    assert parse_instant("1970-01-01 00:00:00.000001") == (1, False)
    assert parse_instant("1970-01-01 01:00:00", "+01:00") == (0, False)
    assert parse_instant("1970-01-01T00:00:00Z", "+01:00") == (0, True)
    assert parse_instant("1969-12-31T23:59:59.999999Z") == (-1, True)
    assert parse_instant("9999-12-31T23:59:59.999999Z") == (253_402_300_799_999_999, True)
    assert parse_local("1970-01-01T00:00:01Z") == parse_local("1970-01-01 00:00:01") == 1_000_000
    wrong: list[tuple[Any, str]] = [(parse_date, "x"), (parse_instant, "x"), (parse_local, "1970-01-01T00:00:00+01:00")]
    for call, text in wrong:
        with pytest.raises(ValueError):
            call(text)


@pytest.mark.parametrize(
    ("old", "new", "is_wider"),
    [
        ("byte", "short", True),
        ("byte", "integer", True),
        ("short", "byte", False),
        ("integer", "long", True),
        ("long", "double", False),
        ("float", "double", True),
        ("date", "timestamp_ntz", True),
        ("date", "timestamp", False),
        ("integer", "integer", False),
        ("decimal(5,2)", "decimal(6,3)", True),
        ("decimal(5,2)", "decimal( 5 , 2 )", True),
        ("decimal(5,2)", "decimal(5,3)", False),
        ("decimal(5,2)", "decimal(6,1)", False),
        ("decimal(5,2)", "decimal(8,2)", True),
        ("byte", "decimal(3,0)", True),
        ("byte", "decimal(4,1)", True),
        ("byte", "decimal(3,1)", False),
        ("byte", "decimal(2,0)", False),
        ("short", "decimal(5,0)", True),
        ("short", "decimal(4,0)", False),
        ("integer", "decimal(10,0)", True),
        ("integer", "decimal(9,0)", False),
        ("long", "decimal(20,0)", True),
        ("long", "decimal(19,0)", False),
        ("double", "decimal(38,0)", False),
        ("decimal(5,2)", "double", False),
    ],
)
def test_types_that_become_others(old: str, new: str, is_wider: bool) -> None:
    assert can_widen(old, new) is is_wider
    found = {"delta.typeChanges": [{"fromType": "byte", "toType": "short"}, {"fromType": old, "toType": new}]}
    if is_wider:
        check_type_changes(found, ("a", "b"), "/t")
    else:
        with pytest.raises(tf.UnsupportedFeatureError, match="no known widening") as caught:
            check_type_changes(found, ("a", "b"), "/t")
        assert (caught.value.field, caught.value.path) == ("a.b", "/t")


@pytest.mark.parametrize("changes", ["x", {}, [1], [{}], [{"fromType": "byte"}], [None]])
def test_changes_of_types_that_are_none(changes: Any) -> None:
    check_type_changes({}, ("a",), "/t")
    with pytest.raises(tf.UnsupportedFeatureError, match="no known widening"):
        check_type_changes({"delta.typeChanges": changes}, ("a",), "/t")


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, None], "int64"),
        ([2**63 - 1, -(2**63)], "int64"),
        ([2**63], None),
        ([-(2**63) - 1, 0], None),
        (["a", None], "string"),
        ([True], "bool"),
        ([1.5, None], "double"),
        ([1, 1.5], None),
        ([1, True], None),
        ([None], None),
        ([], None),
        ([[1]], None),
    ],
)
def test_types_of_unknown_fields(values: list[Any], kind: str | None) -> None:
    found = _scalar_type(values)
    assert (None if found is None else str(found)) == kind
