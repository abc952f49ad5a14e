"""Convert dates and timestamps that Spark stored in the Julian calendar to the proleptic Gregorian calendar.

Spark before 3.0 counted days before 1582-10-15 in the Julian calendar, as ``java.sql.Date`` does. Later versions still
do so if asked (``spark.sql.parquet.datetimeRebaseModeInWrite``, ``int96RebaseModeInWrite``). The date 0001-01-01 is
then stored as -719164, which every other reader takes for 0000-12-30. The file's footer says which calendar was used.
Timestamps before 1900 are shifted by the same days, and also by changes of the zone's offset that the old Java classes
did not know.

Source: Spark, ``DataSourceUtils.datetimeRebaseSpec`` and ``int96RebaseSpec`` (when), ``RebaseDateTime`` (how).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from ....columnar.arrays import to_arrow, to_numpy
from ....dataclass import dataclass
from ....errors import UnsupportedFeatureError
from ....schema.datetimes import DAY_S, FIRST_GREGORIAN_DAY, YEAR_1900_S

__all__ = ["OldCalendar", "OldCalendars", "proleptic_days"]

_MARCH_OF_YEAR_0 = -719_470
"""0000-03-01 of the Julian calendar. Years that begin in March end with their leap day."""
_UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_UTC = frozenset(("Etc/GMT", "Etc/UTC", "GMT", "UCT", "UTC", "Z", "Zulu"))
_VERSION, _ZONE = b"org.apache.spark.version", b"org.apache.spark.timeZone"
_NEWER = (9999, 0)


@dataclass(frozen=True)
class OldCalendar:
    """The calendar of one column; ``zone`` is the writer's time zone, None where the file does not name it."""

    zone: str | None

    def proleptic(self, values: pa.Array, column: str) -> pa.Array:
        """Dates or timestamps in the proleptic Gregorian calendar.

        Parameters
        ----------
        values : pa.Array
            Dates or timestamps, which may be dictionary-encoded; the result is not.
        column : str
            Where they are stored, for errors.

        Raises
        ------
        UnsupportedFeatureError
            Timestamps before 1900 from another zone than UTC.
        """
        if types.is_dictionary(values.type):
            values = values.dictionary_decode()
        if types.is_date(values.type):
            values = values.cast(pa.date32())
            return _like(values, proleptic_days(_numbers(values)).astype(np.int32))
        unit = _UNITS[values.type.unit]
        numbers = _numbers(values)
        if (numbers >= YEAR_1900_S * unit).all():
            return values
        if self.zone not in _UTC:
            raise UnsupportedFeatureError(
                "the file holds instants before 1900 in the calendar of old Java classes, whose offsets of the zone "
                f"{self.zone or 'of the writer, which it does not name,'} are not known here",
                field=column,
                hint="Select the other columns, read the table with Spark, or rewrite the file with a newer Spark",
            )
        days = numbers // (DAY_S * unit)
        return _like(values, numbers + (proleptic_days(days) - days) * (DAY_S * unit))


@dataclass(frozen=True)
class OldCalendars:
    """Which columns of a Parquet file use the old calendar: dates and timestamps, or timestamps stored as int96."""

    zone: str | None
    has_dates: bool
    has_int96: bool

    @classmethod
    def of(cls, footer: Mapping[bytes, bytes] | None) -> OldCalendars | None:
        """What the key-value metadata of a file's ``footer`` says; None: no column uses the old calendar."""
        if not footer or _VERSION not in footer:
            return None
        found = re.match(rb"(\d{1,4})\.(\d{1,4})", footer[_VERSION])
        version = (int(found[1]), int(found[2])) if found else _NEWER
        has_dates = version < (3, 0) or b"org.apache.spark.legacyDateTime" in footer
        has_int96 = version < (3, 1) or b"org.apache.spark.legacyINT96" in footer
        zone = footer.get(_ZONE)
        if not (has_dates or has_int96):
            return None
        return cls(None if zone is None else zone.decode(errors="replace"), has_dates, has_int96)

    def of_column(self, physical: str, kind: pa.DataType) -> OldCalendar | None:
        """The calendar of a column, by its physical type in Parquet and its Arrow type.

        Timestamps without time zone never use the old calendar: Spark has had them only since 3.4.
        """
        if physical == "INT96":
            is_old = self.has_int96
        else:
            is_old = self.has_dates and (types.is_date(kind) or (types.is_timestamp(kind) and kind.tz is not None))
        return OldCalendar(self.zone) if is_old else None


def proleptic_days(stored: np.ndarray) -> np.ndarray:
    """Convert days to the Gregorian calendar, keeping year, month and day.

    A leap day that only the Julian calendar has becomes March 1.

    Parameters
    ----------
    stored : np.ndarray
        int64[n], days since 1970-01-01; days before 1582-10-15 are counted in the Julian calendar.

    Returns
    -------
    np.ndarray
        int64[n], days since 1970-01-01.
    """
    # The Gregorian calendar drops leap days at the end of a century, in February. The number of centuries counts them.
    years = (4 * (stored - _MARCH_OF_YEAR_0) + 3) // 1461
    return np.where(stored < FIRST_GREGORIAN_DAY, stored - (years // 100 - years // 400 - 2), stored)


def _numbers(values: pa.Array) -> np.ndarray:
    """int64[n]; NULL becomes 0, the epoch, which is the same in both calendars."""
    return to_numpy(pc.fill_null(values, pa.scalar(0, values.type))).astype(np.int64, copy=False)


def _like(values: pa.Array, numbers: np.ndarray) -> pa.Array:
    """``numbers`` in the type of ``values``, NULL where these are NULL."""
    return to_arrow(numbers, values.type, to_numpy(values.is_valid()))
