"""Figures for people: counts, bytes, shares and times, and what the parts of a filter dropped and kept."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from tableformats.inspect.text import bytes_text, changed_rows_text, count_text, counted, percent_text, time_text
from tableformats.inspect.why import part_lines, part_rows
from tableformats.planning.attribution import Attribution
from tableformats.planning.attribution.parts import PartCounts
from tableformats.planning.attribution.reasons import Reason


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (1049, "1.0 kB"),
        (12_345, "12.3 kB"),
        (999_949, "999.9 kB"),
        (999_950, "1.0 MB"),
        (1_500_000_000, "1.5 GB"),
        (999_950_000_000, "1.0 TB"),
        (10**15, "1.0 PB"),
        (1_234 * 10**15, "1,234.0 PB"),
    ],
)
def test_bytes(size: int, text: str) -> None:
    assert bytes_text(size) == text


@pytest.mark.parametrize(
    ("count", "alone", "files", "boxes"),
    [
        (None, "unknown", "unknown files", "unknown boxes"),
        (0, "0", "0 files", "0 boxes"),
        (1, "1", "1 file", "1 file"),
        (2, "2", "2 files", "2 boxes"),
        (1827, "1,827", "1,827 files", "1,827 boxes"),
    ],
)
def test_counts(count: int | None, alone: str, files: str, boxes: str) -> None:
    assert (count_text(count), counted(count, "file"), counted(count, "file", "boxes")) == (alone, files, boxes)


@pytest.mark.parametrize(
    ("part", "whole", "text"),
    [
        (None, 5, ""),
        (5, None, ""),
        (0, 0, ""),
        (0, 7, "0.0 %"),
        (1, 10_000, "< 0.1 %"),
        (499, 1_000_000, "< 0.1 %"),
        (5, 10_000, "0.1 %"),
        (3, 200, "1.5 %"),
        (9994, 10_000, "99.9 %"),
        (9995, 10_000, "> 99.9 %"),
        (9999, 10_000, "> 99.9 %"),
        (7, 7, "100.0 %"),
        (8, 7, "114.3 %"),
    ],
)
def test_shares(part: int | None, whole: int | None, text: str) -> None:
    assert percent_text(part, whole) == text


@pytest.mark.parametrize(
    ("micros", "text"),
    [(0, ""), (999, ""), (1000, ".001"), (1999, ".001"), (20_000, ".020"), (999_999, ".999")],
)
def test_times(micros: int, text: str) -> None:
    moment = dt.datetime(2024, 1, 31, 12, 0, 5, micros, tzinfo=dt.timezone.utc)
    assert time_text(moment) == f"2024-01-31 12:00:05{text} UTC"
    assert time_text(None) == "unknown"


@pytest.mark.parametrize(
    ("version", "text"),
    [
        ({}, ""),
        ({"added_rows": 0, "deleted_rows": None}, ""),
        ({"added_rows": 72, "deleted_rows": 3}, "+72 -3"),
        ({"added_rows": 1, "deleted_rows": 1234, "updated_rows": 5}, "+1 -1,234 ~5"),
    ],
)
def test_changed_rows(version: dict[str, Any], text: str) -> None:
    assert changed_rows_text(version) == text


WIDE, NULLS = Reason.WIDE_BOUNDS, Reason.ALL_ROWS_MATCH
MANY = PartCounts("a > 1", ("a", "b"), 2, 5, 5, 0, {NULLS: 1, WIDE: 3}, {WIDE: ("b",)})


def lines(*parts: PartCounts, together: int = 0) -> list[str]:
    found = Attribution([*parts], files=9, groups=4, dropped_together=together)
    return [line.removeprefix("        ") for line in part_lines(found)]


def test_what_one_part_of_a_filter_did() -> None:
    found = lines(MANY)
    assert found[:3] == ["  a > 1", "skips 2 of 4 manifests", "drops 5 of 9 files"]
    assert found[3].startswith("keeps 3: ") and "b" in found[3], "what keeps the most comes first"
    assert found[4] == "  -> each of these files has values from all over: rewrite them sorted or clustered by b"
    assert found[5].startswith("keeps 1: ") and len(found) == 6


@pytest.mark.parametrize(
    ("dropped", "alone", "end"), [(5, 5, ", all of them alone"), (5, 2, ", 2 of them alone"), (5, 0, ""), (0, 0, "")]
)
def test_what_several_parts_did(dropped: int, alone: int, end: str) -> None:
    part = PartCounts("a > 1", ("a",), 0, dropped, alone, 4)
    found = lines(part, PartCounts("b > 1"))
    assert found[1:3] == [f"drops {dropped} of 9 files{end}", "not compared: 4 that other parts dropped first"]
    assert lines(part)[1] == f"drops {dropped} of 9 files"
    assert lines(part, together=1)[-1] == "  1 file dropped by several parts together, by none of them alone"
    assert found[-1] == "drops 0 of 9 files"


def test_rows_of_the_parts_of_a_filter() -> None:
    """The part stands in its first row alone."""
    found = Attribution([MANY, PartCounts("b > 1", not_compared=6)], files=9)
    first, second, other, last = part_rows(found)
    assert (
        first[:2] == ("a > 1", "5 of 9") and first[2].startswith("3: ") and first[3].startswith("each of these files")
    )
    assert second[:2] == ("", "") and second[2].startswith("1: ") and second[3] == ""
    assert other == ("b > 1", "0 of 9", "", "")
    assert last == ("", "", "6 not compared: other parts dropped them first", "")


def test_reasons_of_as_many_files_are_in_one_order() -> None:
    for order in ((WIDE, NULLS), (NULLS, WIDE)):
        part = PartCounts("a > 1", ("a",), kept=dict.fromkeys(order, 2))
        assert lines(part) == lines(PartCounts("a > 1", ("a",), kept={reason: 2 for reason in sorted(order)}))
