"""What ``table.verify_stats()`` gives: files whose statistics would drop a matching row, each with such a filter."""

from __future__ import annotations

from collections import Counter
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from ..dataclass import dataclass
from ..display import grid, page
from .text import count_text, counted

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["COLUMNS", "StatisticsCheck", "WrongStatistics"]

COLUMNS = ("path", "rule", "column", "what", "filter", "read")


@dataclass(frozen=True)
class WrongStatistics:
    """Something that the metadata of a file say otherwise than the file.

    Attributes
    ----------
    path : str
        The data file.
    rule : str
        ``bounds``, ``null-count``, ``nan-count`` (a matching row is dropped), ``record-count`` (counts are wrong), or
        ``unreadable-file``.
    column : str or None
    what : str
        What is wrong, in one line.
    filter : str or None
        A filter that drops the file, although a row of it matches.
    read : str
        What proves it: ``footer`` or ``rows``; ``nothing`` where the file cannot be read.
    """

    path: str
    rule: str
    column: str | None
    what: str
    filter: str | None
    read: str


class StatisticsCheck(list[WrongStatistics]):
    """What :meth:`tableformats.Table.verify_stats` found; empty where all statistics hold.

    ``files = by_footer + by_rows + unreadable``.

    Attributes
    ----------
    version : int
        What was looked at.
    files : int
        The files of this version.
    by_footer, by_rows, unreadable : int
        How many files were decided by what.
    not_compared : dict of str to int
        By column, the files whose metadata say something of it that their footer cannot confirm; ``deep`` would.
    """

    def __init__(self, version: int, files: int) -> None:
        super().__init__()
        self.version = version
        self.files = files
        self.by_footer = self.by_rows = self.unreadable = 0
        self.not_compared: dict[str, int] = {}

    @property
    def wrong_files(self) -> list[str]:
        """The paths of files with a finding, in order, each once."""
        return list(dict.fromkeys(one.path for one in self))

    def to_arrow(self) -> pa.Table:
        """One row a finding, with the attributes of :class:`WrongStatistics` as columns of strings."""
        import pyarrow as pa

        from ..columnar.arrays import strings

        return pa.table({name: strings(list(map(attrgetter(name), self))) for name in COLUMNS})

    def as_dicts(self) -> list[dict[str, Any]]:
        """Plain values, for JSON."""
        return [{name: getattr(one, name) for name in COLUMNS} for one in self]

    def summary(self) -> str:
        """``4 files: 3 compared with their footers, 1 with its rows``"""
        parts = [f"{count_text(self.by_footer)} compared with their footers", f"{count_text(self.by_rows)} with rows"]
        if self.unreadable:
            parts.append(f"{count_text(self.unreadable)} unreadable")
        return f"{counted(self.files, 'file')}: {', '.join(parts)}"

    def __repr__(self) -> str:
        rules = ", ".join(f"{rule}: {n}" for rule, n in Counter(one.rule for one in self).most_common())
        return f"StatisticsCheck({self.summary()}; {rules or 'nothing wrong'})"

    def _repr_html_(self) -> str:
        rows = [(one.path, one.rule, one.what, one.filter or "") for one in self]
        return page("Statistics", self.summary(), grid(["path", "rule", "what", "filter that loses rows"], rows))

    def add(self, done: dict[str, Any]) -> None:
        """Count one file, as a line of the progress file has it."""
        self.by_footer += done["read"] == "footer"
        self.by_rows += done["read"] == "rows"
        self.unreadable += done["read"] == "nothing"
        for column in done["not_compared"]:
            self.not_compared[column] = self.not_compared.get(column, 0) + 1
        self.extend(WrongStatistics(done["path"], read=done["read"], **one) for one in done["found"])
