"""The rules of its format's specification that a table breaks, as a table: ``table.verify()``.

The format names the rules (:meth:`tableformats.plugin.FormatTable.verify`); what every format's statistics must be is
compared with the rows by :mod:`tableformats.engines.arrow.row_checks`. Nothing here knows a format.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
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

__all__ = ["COLUMNS", "Violations", "RangesByPath"]

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

        from ..columnar.arrays import array_of

        kinds = {name: pa.int64() if name == "version" else pa.string() for name in COLUMNS}
        return pa.table({name: array_of(list(map(attrgetter(name), self)), kind) for name, kind in kinds.items()})

    def as_dicts(self) -> list[dict[str, Any]]:
        """Plain values, for JSON."""
        return [{name: getattr(one, name) for name in COLUMNS} for one in self]

    def __repr__(self) -> str:
        counts = ", ".join(f"{rule}: {count}" for rule, count in self.rules.items())
        return f"Violations({counts})"

    def _repr_html_(self) -> str:
        rows = [(one.rule, one.path or "", "" if one.version is None else str(one.version), one.what) for one in self]
        return page("Violations", f"{count_text(len(self))} found", grid(["rule", "path", "version", "what"], rows))


class RangesByPath(Mapping[str, "Mapping[int, list[Range]]"]):
    """By absolute path and field id, what the metadata of a file say of columns: ranges of one file, made when asked.

    Parameters
    ----------
    snapshot : SnapshotHandle
    columns : sequence of BoundColumn
    sources : tuple of str
        ``statistics``, ``partition`` or both.

    Raises
    ------
    CorruptMetadataError, UnsupportedFeatureError
        As the metadata is read.
    """

    def __init__(
        self, snapshot: SnapshotHandle, columns: Sequence[BoundColumn], sources: Sequence[str] = (STATISTICS,)
    ) -> None:
        self._blocks: list[dict[int, list[Range]]] = []
        self._rows: dict[str, tuple[int, int]] = {}
        for number, files in enumerate(ranged_files(snapshot, columns, with_files=True)):
            assert files.files is not None
            paths = snapshot.format_snapshot.resolve_paths(files.files["path"].combine_chunks()).to_pylist()
            self._rows.update((path, (number, row)) for row, path in enumerate(paths))
            kept = {
                id: [range_.of_files() for source, range_ in ranges if source in sources]
                for id, ranges in files.ranges.items()
            }
            self._blocks.append(kept)

    def __getitem__(self, path: str) -> Mapping[int, list[Range]]:
        import numpy as np

        block, row = self._rows[path]
        at = np.array([row])
        return {id: [range_.take(at) for range_ in ranges] for id, ranges in self._blocks[block].items()}

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)
