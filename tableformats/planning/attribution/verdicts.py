"""The verdict of a filter for each file of a snapshot, and for one file the values and bounds that decided.

Here every file is looked at, also those of manifests that planning skipped unread, by partition values and bounds of
all columns of the filter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import Any

import numpy as np
import pyarrow as pa

from ...columnar import compute as pc
from ...columnar.arrays import flat, scalar, strings, to_arrow, to_numpy
from ...dataclass import dataclass
from ...display import shortened
from ...errors import InvalidPredicateError
from ...expressions import BoundColumn, columns_of
from ...pruning.column_ranges import Range, RangeSource
from ...pruning.compiled_predicate import NONE, Masks, verdicts_of_outcomes
from ..block_pruning import BlockContext, block_ranges
from ..blocks import take_rows
from ..jobs import FileEvidence
from ..planner import visit_blocks
from ..request import ScanRequest
from .parts import Judge
from .reasons import Reason

__all__ = ["FileVerdict", "PartVerdict", "file_verdicts", "verdict_of"]

PLANNED, BY_PARTITION, BY_BOUNDS = "planned", "dropped by partition", "dropped by bounds"
_VERDICTS = pa.schema({"path": pa.string(), "verdict": pa.string(), "dropped_by": pa.list_(pa.string())})


@dataclass(frozen=True)
class KnownRange:
    """What the metadata say of one column in one file.

    Attributes
    ----------
    column : str
    source : str
        ``partition`` or ``bounds``.
    lower, upper : object
        Inclusive; None: unknown.
    may_be_null, may_be_nan : bool
    """

    column: str
    source: str
    lower: Any
    upper: Any
    may_be_null: bool
    may_be_nan: bool


@dataclass(frozen=True)
class PartVerdict:
    """What one part of a filter says of one file.

    Attributes
    ----------
    filter : str
        The part, as SQL.
    reason : Reason or None
        Why it keeps the file; None: it drops the file.
    known : tuple of KnownRange
        What the metadata say of its columns.
    """

    filter: str
    reason: Reason | None
    known: tuple[KnownRange, ...]

    def __repr__(self) -> str:
        says = "drops the file" if self.reason is None else f"keeps it: {self.reason.name.lower()}"
        return f"PartVerdict({shortened(self.filter)!r} {says})"


@dataclass(frozen=True)
class FileVerdict:
    """What a filter says of one file.

    Attributes
    ----------
    path : str
    verdict : str
        ``planned``, ``dropped by partition`` or ``dropped by bounds``.
    parts : tuple of PartVerdict
    """

    path: str
    verdict: str
    parts: tuple[PartVerdict, ...]

    def __repr__(self) -> str:
        dropped_by = [part.filter for part in self.parts if part.reason is None]
        by = f", dropped_by={shortened(str(dropped_by), 200)}" if dropped_by else ""
        return f"FileVerdict({shortened(self.path)!r}, {self.verdict!r}{by})"


def file_verdicts(scan: ScanRequest) -> pa.Table:
    """One row for each file of the snapshot of ``scan``, in its order: ``path``, ``verdict`` and ``dropped_by``
    (list<string>: the parts of the filter that drop the file, each alone). Raises as planning does."""
    found = _AllFiles(scan)
    visit_blocks(scan, found.add)
    return found.table()


def verdict_of(scan: ScanRequest, name: str) -> FileVerdict:
    """The verdict for the file ``name``: its path, or the end of it from a path separator on.

    Raises
    ------
    InvalidPredicateError
        The snapshot has no such file, or several.
    CorruptMetadataError, UnsupportedFeatureError, PathNotAllowedError
        As the metadata is read.
    """
    found = _OneFile(scan, name)
    visit_blocks(scan, found.add)
    if len(found.verdicts) == 1:
        return found.verdicts[0]
    if found.verdicts:
        message = f"{len(found.verdicts)} files end like this"
        hint = f"Give more of the path, as in {found.verdicts[0].path}"
    else:
        message = f"version {scan.snapshot.version} has no such data file"
        hint = "`tableformats files` lists its files; another version may have it"
    raise InvalidPredicateError(message, path=scan.snapshot.location, field=name, hint=hint)


class _Files(Judge):
    """What the verdicts of blocks are made of."""

    def __init__(self, scan: ScanRequest) -> None:
        super().__init__(scan)
        self._snapshot = scan.snapshot.format_snapshot
        self._lock = Lock()

    def _paths(self, files: pa.Table) -> pa.StringArray:
        return flat(pa.chunked_array(map(self._snapshot.resolve_paths, files["path"].chunks), pa.string()))

    def _evidence(self, context: BlockContext, rows: np.ndarray, counted: frozenset[int]) -> FileEvidence:
        """What decides these files of a block, if nobody drops them before their bounds are read."""
        columns, masks = self.whole.columns, Masks()
        sources = self.whole.range_sources(context.spec, take_rows(context.block.partition, rows))
        known = dict(context.block.ranges)
        ranges = block_ranges(context, known, columns, counted, rows)[0] if columns else {}
        verdicts = verdicts_of_outcomes(self.whole.outcomes_of(sources, ranges, masks))
        dropped = verdicts == NONE
        by_nan = self.whole.matches_by_nan_alone(sources, ranges, verdicts) if self.nan_is_absent else None
        if by_nan is not None:
            dropped |= by_nan
        return FileEvidence(sources, ranges, None, dropped, is_early=False, masks=masks)

    def _verdicts(self, found: FileEvidence) -> pa.StringArray:
        by_partition = self.whole.verdicts_of(found.sources, {}) == NONE
        return pc.take(
            strings([PLANNED, BY_BOUNDS, BY_PARTITION]), to_arrow(found.dropped.astype(np.int64) + by_partition)
        )


class _AllFiles(_Files):
    """Collects the verdicts of all files."""

    def __init__(self, scan: ScanRequest) -> None:
        super().__init__(scan)
        self._found: list[pa.Table] = []

    def add(self, context: BlockContext, files: Callable[[np.ndarray], pa.Table]) -> None:
        """Judge the files of one block. On any thread."""
        rows = context.live_rows()
        if not len(rows):
            return
        found = self._evidence(context, rows, self.whole.counted)
        columns = [self._paths(files(rows)), self._verdicts(found), self._dropped_by(self.drops(found)[0])]
        with self._lock:
            self._found.append(pa.table(columns, schema=_VERDICTS))

    def _dropped_by(self, dropped: np.ndarray) -> pa.ListArray:
        """list<string>[n]: the parts that drop each file, of bool[parts, n]."""
        offsets = np.concatenate([[0], np.cumsum(dropped.sum(axis=0))]).astype(np.int32)
        texts = strings([str(node) for node in self.nodes])
        return pa.ListArray.from_arrays(to_arrow(offsets), pc.take(texts, to_arrow(np.nonzero(dropped.T)[1])))

    def table(self) -> pa.Table:
        """All verdicts, by path."""
        found = pa.concat_tables(self._found) if self._found else _VERDICTS.empty_table()
        return pc.take(found, pc.array_sort_indices(flat(found["path"])))


class _OneFile(_Files):
    """Looks for one file by its name."""

    def __init__(self, scan: ScanRequest, name: str) -> None:
        super().__init__(scan)
        self._name = name
        self._end = name if name.startswith("/") else f"/{name}"
        self.verdicts: list[FileVerdict] = []

    def add(self, context: BlockContext, files: Callable[[np.ndarray], pa.Table]) -> None:
        """Look for the file in one block. On any thread."""
        rows = context.live_rows()
        if not len(rows):
            return
        paths = self._paths(files(rows))
        is_named = pc.or_(pc.equal(paths, scalar(self._name, pa.string())), pc.ends_with(paths, self._end))
        for i in np.flatnonzero(to_numpy(is_named)).tolist():
            verdict = self._judged(context, rows[i : i + 1], paths[i].as_py())
            with self._lock:
                self.verdicts.append(verdict)

    def _judged(self, context: BlockContext, row: np.ndarray, path: str) -> FileVerdict:
        found = self._evidence(context, row, frozenset())
        dropped, reasons = self.drops(found)
        parts = tuple(
            PartVerdict(
                str(node), None if own[0] else Reason(int(why[0])), tuple(_known(node, found.sources, found.ranges))
            )
            for node, own, why in zip(self.nodes, dropped, reasons, strict=True)
        )
        return FileVerdict(path, self._verdicts(found)[0].as_py(), parts)


def _known(node: Any, sources: Sequence[RangeSource], ranges: Mapping[int, Range]) -> list[KnownRange]:
    """What is known of the columns of a part of a filter in one file."""
    found = []
    for column in columns_of(node):
        if not isinstance(column, BoundColumn):
            continue
        by_source = [("partition", range_) for source in sources for range_ in source.ranges(column)]
        if column.id in ranges:
            by_source.append(("bounds", ranges[column.id]))
        for source, range_ in by_source:
            at = 0 if range_.indices is None else int(range_.indices[0])
            lower, upper = range_.lower[at].as_py(), range_.upper[at].as_py()
            flags = bool(range_.may_null[at]), bool(range_.may_nan[at])
            found.append(KnownRange(str(column), source, lower, upper, *flags))
    return found
