"""Days and instants that Spark counted by the calendar of Java's old classes, against a calendar that counts on its
fingers, and in files that say so in their footers."""

from __future__ import annotations

import datetime as dt
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tableformats.engines.arrow.values.calendars import OldCalendar, OldCalendars, proleptic_days
from tableformats.errors import UnsupportedFeatureError
from tableformats.schema import Field, ListType, MapType, PrimitiveType, StructType, primitive
from tableformats.table.table import Snapshot
from tests.support.arrow_fakes import FakeFile, snapshot_of

EPOCH = dt.date(1970, 1, 1).toordinal()
LAST_JULIAN = dt.date(1582, 10, 4)
DATE, TIMESTAMP, NTZ = (PrimitiveType(name) for name in ("date", "timestamp", "timestamp_ntz"))
UTC = dt.timezone.utc
LEGACY = {"org.apache.spark.legacyDateTime": "", "org.apache.spark.legacyINT96": ""}


@cache
def julian_days() -> list[tuple[int, dt.date]]:
    """Every day of the Julian calendar since 0001-01-01, by the number that stands for it in a file, as the date of its
    year, month and day; a February 29 that Gregorian years lack is the day after the 28th."""
    # The day after 1582-10-04 is 1582-10-15: from there the numbers of the days before follow.
    days = [(y, m, d) for y in range(1, 1583) for m in range(1, 13) for d in range(1, length(y, m) + 1)]
    days = days[: days.index((1582, 10, 4)) + 1]
    first = dt.date(1582, 10, 15).toordinal() - EPOCH - len(days)
    return list(enumerate((dated(*day) for day in days), first))


def dated(year: int, month: int, day: int) -> dt.date:
    try:
        return dt.date(year, month, day)
    except ValueError:
        return dt.date(year, month, day - 1) + dt.timedelta(1)


def length(year: int, month: int) -> int:
    if month == 2:
        return 29 if year % 4 == 0 else 28
    return 30 if month in (4, 6, 9, 11) else 31


def test_every_julian_day() -> None:
    numbers, dates = zip(*julian_days(), strict=True)
    assert proleptic_days(np.array(numbers)).tolist() == [date.toordinal() - EPOCH for date in dates]


def test_days_since_1582_are_what_they_are() -> None:
    days = np.arange(dt.date(1582, 10, 15).toordinal(), dt.date(1700, 3, 2).toordinal()) - EPOCH
    assert proleptic_days(days).tolist() == days.tolist()


@cache
def numbers_of_days() -> dict[dt.date, int]:
    """The number that the old calendar has for a day; of two that became one, the second."""
    return {date: number for number, date in julian_days()}


def stored(date: dt.date) -> int:
    return numbers_of_days().get(date, date.toordinal() - EPOCH)


def micros(moment: dt.datetime) -> int:
    time = moment - dt.datetime.combine(moment.date(), dt.time())
    return stored(moment.date()) * 86_400_000_000 + time // dt.timedelta(microseconds=1)


DAYS = [dt.date(1, 1, 1), None, dt.date(1000, 2, 28), LAST_JULIAN, dt.date(2024, 2, 29)]
MOMENTS = [None if day is None else dt.datetime(day.year, day.month, day.day, 7, 30, 1, 5) for day in DAYS]
INSTANTS = [None if moment is None else moment.replace(tzinfo=UTC) for moment in MOMENTS]


def old_days() -> pa.Array:
    return pa.array([None if day is None else stored(day) for day in DAYS], pa.int32()).cast(pa.date32())


def old_instants() -> pa.Array:
    return pa.array([None if m is None else micros(m) for m in MOMENTS]).cast(pa.timestamp("us", "UTC"))


def snapshot(
    tmp_path: Path, columns: dict[str, pa.Array], fields: list[Field], version: str, int96: bool = False, **more: str
) -> Snapshot:
    """A file of Spark's ``version``, with ``more`` in its footer."""
    table, path = pa.table(columns), tmp_path / "f.parquet"
    with pq.ParquetWriter(path, table.schema, store_schema=False, use_deprecated_int96_timestamps=int96) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({"org.apache.spark.version": version, **more})
    return snapshot_of(tmp_path, fields, [FakeFile(str(path), len(table))])


def values(found: Snapshot, *columns: str, where: str | None = None) -> list[Any]:
    (column,) = found.scan(where, columns=columns).to_arrow().columns
    return column.to_pylist()


@pytest.mark.parametrize(
    ("version", "footer", "is_old"),
    [
        ("2.4.8", {}, True),
        ("3.0.0", {}, False),
        ("4.0.1", LEGACY, True),
        ("4.0.1", {}, False),
        ("10.0.0", {}, False),
        ("3.5.0", {"org.apache.spark.legacyINT96": ""}, False),
        ("odd", {}, False),
    ],
)
def test_dates(tmp_path: Path, version: str, footer: dict[str, str], is_old: bool) -> None:
    found = snapshot(tmp_path, {"d": old_days()}, [Field(1, "d", DATE)], version, **footer)
    numbers = found.scan().to_arrow()["d"].cast(pa.int32()).to_pylist()
    assert numbers == (pa.array(DAYS) if is_old else old_days()).cast(pa.int32()).to_pylist()
    assert (values(found, "d", where="d = DATE '1582-10-04'") == [LAST_JULIAN]) is is_old


@pytest.mark.parametrize(
    ("version", "int96", "footer", "is_old"),
    [
        ("4.0.1", False, LEGACY, True),
        ("2.4.8", False, {}, True),
        ("3.0.3", False, {}, False),
        ("3.0.3", True, {}, True),
        ("3.1.0", True, {}, False),
        ("3.2.0", True, {"org.apache.spark.legacyINT96": ""}, True),
        ("3.2.0", True, {"org.apache.spark.legacyDateTime": ""}, False),
        ("3.2.0", False, {"org.apache.spark.legacyINT96": ""}, False),
    ],
)
def test_instants_of_utc(tmp_path: Path, version: str, int96: bool, footer: dict[str, str], is_old: bool) -> None:
    footer = {**footer, "org.apache.spark.timeZone": "UTC"}
    found = snapshot(tmp_path, {"t": old_instants()}, [Field(1, "t", TIMESTAMP)], version, int96, **footer)
    wanted = pa.array(INSTANTS) if is_old else old_instants()
    assert found.scan().to_arrow()["t"].cast(pa.int64()).to_pylist() == wanted.cast(pa.int64()).to_pylist()
    assert (len(values(found, "t", where="t = TIMESTAMP '0001-01-01 07:30:01.000005Z'")) == 1) is is_old


DATES_ASKED, INT96_ASKED = b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96"


@pytest.mark.parametrize(
    ("version", "asked", "dates", "int96"),
    [
        (b"2.4.8", (), True, True),
        (b"2.10", (), True, True),
        (b"3.0.0", (), False, True),
        (b"3.0.3", (DATES_ASKED,), True, True),
        (b"3.1.0", (), False, False),
        (b"3.1.0", (DATES_ASKED,), True, False),
        (b"3.1.0", (INT96_ASKED,), False, True),
        (b"4.0.1", (DATES_ASKED, INT96_ASKED), True, True),
        (b"10.0.0", (), False, False),
        (b"odd", (), False, False),
        (b"odd", (INT96_ASKED,), False, True),
        (None, (DATES_ASKED, INT96_ASKED), False, False),
    ],
)
def test_columns_in_the_old_calendar(version: bytes | None, asked: tuple[bytes, ...], dates: bool, int96: bool) -> None:
    footer = dict.fromkeys(asked, b"") | ({} if version is None else {b"org.apache.spark.version": version})
    assert OldCalendars.of(footer) == (OldCalendars(None, dates, int96) if dates or int96 else None)
    zoned = OldCalendars.of({**footer, b"org.apache.spark.timeZone": b"Europe/\xff"})
    assert zoned is None or zoned.zone == "Europe/\N{REPLACEMENT CHARACTER}"
    for physical, kind, is_old in (
        ("INT96", pa.timestamp("ns"), int96),
        ("INT32", pa.date32(), dates),
        ("INT64", pa.timestamp("us", "UTC"), dates),
        ("INT64", pa.timestamp("us"), False),
        ("INT32", pa.int32(), False),
    ):
        assert zoned is None or zoned.of_column(physical, kind) == (OldCalendar(zoned.zone) if is_old else None)


@pytest.mark.parametrize("footer", [None, {}])
def test_footers_that_say_nothing(footer: dict[bytes, bytes] | None) -> None:
    assert OldCalendars.of(footer) is None


def test_timestamps_without_zone_are_younger(tmp_path: Path) -> None:
    moments = pa.array(MOMENTS, pa.timestamp("us"))
    found = snapshot(tmp_path, {"t": moments}, [Field(1, "t", NTZ)], "4.0.1", **LEGACY)
    assert values(found, "t") == MOMENTS


@pytest.mark.parametrize("zone", [{"org.apache.spark.timeZone": "Europe/Rome"}, {}])
def test_instants_of_other_zones_are_refused_before_1900(tmp_path: Path, zone: dict[str, str]) -> None:
    columns = {"n": pa.array([1, 2, 3, 4, 5]), "t": old_instants()}
    fields = [Field(1, "n", primitive("long")), Field(2, "t", TIMESTAMP)]
    found = snapshot(tmp_path, columns, fields, "2.4.8", True, **zone)
    with pytest.raises(UnsupportedFeatureError, match="before 1900") as caught:
        found.scan().to_arrow()
    assert caught.value.path == str(tmp_path / "f.parquet") and caught.value.field == "t"
    assert next(iter(zone.values()), "does not name") in str(caught.value)
    assert values(found, "n") == [1, 2, 3, 4, 5]


def test_instants_of_other_zones_since_1900(tmp_path: Path) -> None:
    moments = [dt.datetime(1900, 1, 1, tzinfo=UTC), None, dt.datetime(2024, 5, 6, 7, 8, 9, 10, tzinfo=UTC)]
    columns = {"t": pa.array(moments, pa.timestamp("us", "UTC"))}
    found = snapshot(tmp_path, columns, [Field(1, "t", TIMESTAMP)], "2.4.8", True)
    assert values(found, "t") == moments


def test_nested_days_and_a_wider_type(tmp_path: Path) -> None:
    days = old_days()
    columns = {
        "s": pa.StructArray.from_arrays([days], ["d"]),
        "l": pa.ListArray.from_arrays([0, 2, 2, 5, 5, 5], days),
        "m": pa.MapArray.from_arrays([0, 1, 1, 2, 2, 2], pa.array(["a", "b"]), days.slice(2, 2)),
        "w": days,
    }
    fields = [
        Field(1, "s", StructType((Field(2, "d", DATE),))),
        Field(3, "l", ListType(Field(4, "element", DATE))),
        Field(5, "m", MapType(Field(6, "key", primitive("string"), True), Field(7, "value", DATE))),
        Field(8, "w", NTZ),
    ]
    found = snapshot(tmp_path, columns, fields, "2.4.8")
    assert values(found, "s") == [{"d": day} for day in DAYS]
    assert values(found, "l") == [DAYS[:2], [], DAYS[2:], [], []]
    assert values(found, "m") == [[("a", DAYS[2])], [], [("b", DAYS[3])], [], []]
    midnights = [None if day is None else dt.datetime(day.year, day.month, day.day) for day in DAYS]
    assert values(found, "w") == midnights
