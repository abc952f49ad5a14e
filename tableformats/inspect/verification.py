"""The rules of its format's specification that a table breaks, as a table: ``table.verify()``.

The format names the rules (:meth:`tableformats.plugin.FormatTable.verify`); what every format's statistics must be is
compared with the rows by :mod:`tableformats.engines.arrow.row_checks`. Nothing here knows a format.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ..display import grid, page
from ..plugin.verification import Violation
from .file_ranges import STATISTICS, ranged_files
from .text import count_text

if TYPE_CHECKING:
    import pyarrow as pa

    from ..expressions import BoundColumn
    from ..planning.handle import SnapshotHandle
    from ..pruning.column_ranges import Range

__all__ = ["COLUMNS", "Violations", "ranges_by_path"]

COLUMNS = ("rule", "path", "version", "what", "source")


class Violations(list[Violation]):
    """What :meth:`tableformats.Table.verify` found; empty where no rule is broken. A notebook shows it as a table."""

    @property
    def rules(self) -> dict[str, int]:
        """How often each rule is broken, the most frequent one first."""
        return dict(Counter(one.rule for one in self).most_common())

    def to_arrow(self) -> pa.Table:
        """One row a violation: ``rule``, ``path``, ``version`` (int64), ``what``, ``source``."""
        import pyarrow as pa

        kinds = {name: pa.int64() if name == "version" else pa.string() for name in COLUMNS}
        rows = self.as_dicts()
        return pa.table({name: pa.array([row[name] for row in rows], kind) for name, kind in kinds.items()})

    def as_dicts(self) -> list[dict[str, Any]]:
        """Plain values, for JSON."""
        return [{name: asdict(one)[name] for name in COLUMNS} for one in self]

    def __repr__(self) -> str:
        counts = ", ".join(f"{rule}: {count}" for rule, count in self.rules.items())
        return f"Violations({counts})"

    def _repr_html_(self) -> str:
        rows = [(one.rule, one.path or "", "" if one.version is None else str(one.version), one.what) for one in self]
        return page("Violations", f"{count_text(len(self))} found", grid(["rule", "path", "version", "what"], rows))


def ranges_by_path(snapshot: SnapshotHandle, columns: Sequence[BoundColumn]) -> dict[str, dict[int, list[Range]]]:
    """By absolute path and field id, what the statistics of a file say of a column: ranges of one file.

    Raises the errors of planning.
    """
    import numpy as np

    found: dict[str, dict[int, list[Range]]] = {}
    for files in ranged_files(snapshot, columns, with_files=True):
        assert files.files is not None
        paths = snapshot.format_snapshot.resolve_paths(files.files["path"].combine_chunks()).to_pylist()
        for row, path in enumerate(paths):
            at = np.array([row])
            found[path] = {
                id: [range_.of_files().take(at) for source, range_ in ranges if source == STATISTICS]
                for id, ranges in files.ranges.items()
            }
    return found
