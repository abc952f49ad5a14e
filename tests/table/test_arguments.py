"""Arguments of ``open_table`` and others: what is taken, and what is refused in words."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from tableformats.cache.metadata_cache import MetadataCache
from tableformats.errors import SnapshotNotFoundError
from tableformats.limits import DEFAULT_LIMITS
from tableformats.table.opening import check_limit, check_types, epoch_ms, frozen

GOOD: dict[str, Any] = {"relocate": None, "cache": True, "limits": DEFAULT_LIMITS, "format_options": None}


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("relocate", [None, True, False, {}, {"/a": "/b", "/c": "/d"}]),
        ("cache", [True, False, MetadataCache(0)]),
        ("format_options", [None, {}, {"a": 1}]),
    ],
)
def test_arguments_that_are_taken(name: str, values: list[Any]) -> None:
    for value in values:
        check_types(**{**GOOD, name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("relocate", "x"),
        ("relocate", 1),
        ("relocate", {"/a": 1}),
        ("relocate", {1: "/a"}),
        ("relocate", {"/a": "/b", "/c": None}),
        ("cache", None),
        ("cache", 1),
        ("limits", None),
        ("limits", 5),
        ("format_options", "x"),
        ("format_options", []),
    ],
)
def test_arguments_of_other_types(name: str, value: Any) -> None:
    with pytest.raises(TypeError, match=f"^{name} is "):
        check_types(**{**GOOD, name: value})


@pytest.mark.parametrize("limit", [None, 0, 1, 10**9])
def test_limits(limit: int | None) -> None:
    check_limit(limit, "rows")


@pytest.mark.parametrize("limit", [-1, True, False, 1.0, "1"])
def test_limits_that_are_none(limit: Any) -> None:
    with pytest.raises(ValueError, match="limit must be a number of rows"):
        check_limit(limit, "rows")


@pytest.mark.parametrize(
    ("given", "milliseconds"),
    [
        (None, None),
        (5, 5),
        (-1, -1),
        (253_402_300_799_999, 253_402_300_799_999),
        ("1970-01-01T00:00:01.500Z", 1500),
        (" 1970-01-01 00:00:01z ", 1000),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1970-01-02", 86_400_000),
        (dt.datetime(1970, 1, 1, 0, 0, 1, 999), 1000),
        (dt.datetime(1970, 1, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=1))), 0),
        (dt.datetime(1969, 12, 31, 23, 59, 59, 999_999), -1),
    ],
)
def test_times(given: Any, milliseconds: int | None) -> None:
    assert epoch_ms(given) == milliseconds


@pytest.mark.parametrize("given", [True, 1.5, dt.date(2020, 1, 1)])
def test_what_is_no_time(given: Any) -> None:
    with pytest.raises(TypeError, match="a timestamp is a datetime"):
        epoch_ms(given)


@pytest.mark.parametrize("given", [253_402_300_800_000, -(10**15), "yesterday", "", "Z"])
def test_times_that_are_none(given: Any) -> None:
    with pytest.raises(SnapshotNotFoundError):
        epoch_ms(given)


def test_options_in_any_order_are_the_same() -> None:
    assert frozen({"b": 1, "a": [2]}) == frozen({"a": [2], "b": 1}) == (("a", "[2]"), ("b", "1"))
    assert frozen(None) is None and frozen("x") == "x"
