"""A case: a table, its rows, and the rows of filters."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

UTC = dt.timezone.utc
MAX = "\U0010ffff"
EMOJI = "\U0001f600"
CUT = "z" * 32
TIMESTAMP = pa.timestamp("us", "UTC")


@dataclass(frozen=True)
class Case:
    """``rows`` is the whole table; ``answers`` names for each filter the ids of its rows, in order.

    ``columns`` are the columns of ``rows`` where these are not those of the table.
    """

    root: Path
    rows: pa.Table
    answers: dict[str, list[Any]]
    columns: tuple[str, ...] | None = None


def instant(*parts: int) -> dt.datetime:
    return dt.datetime(*parts, tzinfo=UTC)  # type: ignore[misc, arg-type]
