"""What arguments may be: those of ``open_table``, and those that select versions and rows."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Mapping
from typing import Any

from ..errors import SnapshotNotFoundError
from ..limits import Limits
from ..schema.datetimes import DATETIME_MS

__all__ = ["Timestamp", "check_limit", "check_types", "epoch_ms", "frozen", "location_of"]

Timestamp = dt.datetime | str | int


def location_of(location: Any) -> str | os.PathLike[str]:
    """A location, or that of another library's table: its metadata file, or else its root."""
    for name in ("metadata_location", "table_uri"):
        known = getattr(location, name, None)
        if isinstance(known, str) and known:
            return known
    if isinstance(location, (str, os.PathLike)):
        return location
    raise TypeError(f"a location is text, a path, or a table of deltalake or PyIceberg, not {type(location).__name__}")


def check_types(*, relocate: Any, cache: Any, limits: Any, format_options: Any) -> None:
    """Raise TypeError for what would be an error without words later, or be taken for True."""
    from ..cache.metadata_cache import MetadataCache

    if isinstance(relocate, Mapping):
        is_known = all(isinstance(prefix, str) for move in relocate.items() for prefix in move)
    else:
        is_known = relocate is None or isinstance(relocate, bool)
    if not is_known:
        raise TypeError(f"relocate is True or {{old prefix: new prefix}}, not {relocate!r}")
    if not isinstance(cache, (bool, MetadataCache)):
        raise TypeError(f"cache is True, False or a MetadataCache, not {cache!r}")
    if not isinstance(limits, Limits):
        raise TypeError(f"limits is a tableformats.Limits, not {limits!r}")
    if format_options is not None and not isinstance(format_options, Mapping):
        raise TypeError(f"format_options is a mapping of names to values, not {format_options!r}")


def frozen(options: Any) -> Any:
    return tuple(sorted((str(k), repr(v)) for k, v in options.items())) if isinstance(options, Mapping) else options


def check_limit(limit: int | None, what: str) -> None:
    """Raise ValueError where ``limit`` is no number of ``what``."""
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 0):
        raise ValueError(f"limit must be a number of {what}, not {limit!r}")


def epoch_ms(timestamp: Timestamp | None) -> int | None:
    """Milliseconds since the epoch; a datetime or text without a zone is UTC. Raises SnapshotNotFoundError."""
    if timestamp is None:
        return None
    if isinstance(timestamp, int) and not isinstance(timestamp, bool):
        if timestamp not in DATETIME_MS:
            raise SnapshotNotFoundError(
                f"the time {timestamp} ms lies outside of the years 1 to 9999", hint="Give milliseconds since the epoch"
            )
        return timestamp
    moment = timestamp
    if isinstance(timestamp, str):
        text = timestamp.strip()
        try:
            # Python 3.10 reads no trailing Z.
            moment = dt.datetime.fromisoformat(text[:-1] + "+00:00" if text.endswith(("Z", "z")) else text)
        except ValueError as error:
            raise SnapshotNotFoundError(
                f"{timestamp!r} is no timestamp", hint="Write ISO 8601, such as '2024-01-31T12:00:00Z'"
            ) from error
    if not isinstance(moment, dt.datetime):
        raise TypeError(f"a timestamp is a datetime, ISO 8601 text or epoch milliseconds, not {timestamp!r}")
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=dt.timezone.utc)
    return (moment - dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)) // dt.timedelta(milliseconds=1)
