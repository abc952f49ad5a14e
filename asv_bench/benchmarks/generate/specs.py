"""What tables there are, and what is asked of them. Nothing here loads NumPy or Arrow, so that a measured process does
not have them either unless it needs them.
"""

from __future__ import annotations

import datetime as dt
import random
from dataclasses import dataclass
from typing import Any

DAYS = 365
FIRST_DAY = dt.date(2024, 1, 1)
ROWS_A_FILE = 100_000

LAYOUTS = ("classic", "multipart", "v2", "json")
STATISTICS = ("json", "both", "struct")
"""Of a checkpoint: as JSON text, as ``stats_parsed``, or both. Commits have JSON whatever it is."""
ORDERS = ("sorted", "shuffled")
"""Of files over manifests: by time, so that partition summaries tell manifests apart, or by chance."""
DELETES = ("file", "partition", "none")
"""Whether a position delete file names one data file by its bounds, or may mean all of its partition."""


@dataclass(frozen=True)
class DeltaTable:
    """What a table looks like; equal ones are equal byte for byte."""

    files: int
    layout: str = "classic"
    statistics: str = "json"
    commits: int = 1000
    """Of the layout "json"; other layouts have some commits behind a checkpoint."""

    format = "delta"

    @property
    def name(self) -> str:
        commits = f"-{self.commits}" if self.layout == "json" else ""
        return f"delta-{self.files}-{self.layout}{commits}-{self.statistics}"

    def entry(self, location: str) -> str:
        """What one opens."""
        return location


@dataclass(frozen=True)
class IcebergTable:
    """What a table looks like; equal ones are equal but for their location."""

    files: int
    order: str = "sorted"
    deletes: str = "file"
    codec: str = "deflate"

    format = "iceberg"

    @property
    def name(self) -> str:
        return f"iceberg-{self.files}-{self.order}-{self.deletes}-{self.codec}"

    def entry(self, location: str) -> str:
        """What one opens."""
        return f"{location}/metadata/v1.metadata.json"


Spec = DeltaTable | IcebergTable


@dataclass(frozen=True)
class Term:
    """``column op value``; ``op`` is one of =, <, <=, >, >=, "in" (value: a tuple) and "is null" (value: None)."""

    column: str
    op: str
    value: Any = None


Predicate = tuple[tuple[Term, ...], ...]
"""Alternatives (OR) of conjunctions (AND) of terms; none at all asks for every file."""

SHARES = (0.01, 0.1, 1.0)
"""Hit rates of the ranges that every table knows besides P0 to P5, as ``hit 0.1``."""


def questions(spec: Spec) -> dict[str, Predicate]:
    """P0 everything; P1 a day of 365; P2 a range on the clustered column, 0.1 %; P3 an equality on text, about 1 %;
    P4 IN with a hundred ids; P5 OR of ANDs, mixed; PZ a range below every id; and ranges by their hit rate.

    Iceberg's table has no column ``date``, and is asked by ``ts``.
    """

    def since(day: dt.date) -> Term:
        return Term("date", ">=", day) if spec.format == "delta" else Term("ts", ">=", _midnight(day))

    def on(day: dt.date) -> tuple[Term, ...]:
        if spec.format == "delta":
            return (Term("date", "=", day),)
        return since(day), Term("ts", "<", _midnight(day + dt.timedelta(days=1)))

    ids = random.Random(4).sample(range(spec.files * ROWS_A_FILE), 100)
    return {
        "P0": (),
        "P1": (on(dt.date(2024, 6, 15)),),
        "P2": id_range(spec.files, 0.001),
        "P3": ((Term("name", "=", "mcbdefghij"),),),
        "P4": ((Term("id", "in", tuple(sorted(ids))),),),
        "P5": (
            (Term("country", "=", "BR"), Term("amount", ">", 9990), since(dt.date(2024, 10, 1))),
            (Term("email", "is null"), *on(dt.date(2024, 3, 3))),
            (Term("quantity", "is null"), Term("name", "<", "b")),
        ),
        "PZ": ((Term("id", ">=", -1000), Term("id", "<", 0)),),
        **{f"hit {share}": id_range(spec.files, share) for share in SHARES},
    }


def id_range(n_files: int, share: float) -> Predicate:
    """Ids of about ``share`` of the files, at least of one."""
    count = max(1, round(n_files * share))
    first = min(n_files * 6 // 10, n_files - count)
    return ((Term("id", ">=", first * ROWS_A_FILE), Term("id", "<", (first + count) * ROWS_A_FILE)),)


def _midnight(day: dt.date) -> dt.datetime:
    return dt.datetime.combine(day, dt.time(), dt.timezone.utc)
