"""How well a table is clustered by a column: in how many files a value of it may be.

The *depth* of a value is the number of files whose bounds contain it, which is what ``column = value`` reads. The depth
of a file is the greatest depth of a value within its bounds: 1 where no other file overlaps it. All depths of a column
come from one pass over its sorted bounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from ..dataclass import dataclass
from ..display import ShownList, bars, grid, page, shortened
from .file_ranges import RangedFiles, bounded_columns, columns_named, ranged_files
from .text import count_text

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from ..expressions import BoundColumn
    from ..planning.handle import SnapshotHandle

__all__ = ["Clustering", "ColumnClustering", "clustering", "clusterings_of", "overlap_depths"]


@dataclass(frozen=True)
class ColumnClustering:
    """How the files of a table lie to each other in one column.

    ``files = files_without_bounds + files_without_values + the files of the histogram``.

    Attributes
    ----------
    column : str
    files : int
    files_without_bounds : int
        Files of which the lower or the upper bound is not known: every value may be in them, and no depth counts them.
    files_without_values : int
        Files that have NULL or NaN in all rows.
    max_depth : int
        The most files that one value may be in.
    average_depth : float
        The mean of the files' depths. 1: no files overlap. 0: no file has bounds.
    depths : int64[n]
        The depth of each file that has bounds, ascending.
    """

    column: str
    files: int
    files_without_bounds: int
    files_without_values: int
    max_depth: int
    average_depth: float
    depths: np.ndarray = field(repr=False, compare=False)

    @property
    def histogram(self) -> pa.Table:
        """``depth_from``, ``depth_to`` (both included) and ``files``; the steps double: 1, 2, 3 to 4, 5 to 8, ..."""
        import numpy as np
        import pyarrow as pa

        from ..columnar.arrays import to_arrow

        steps = np.ceil(np.log2(np.maximum(self.depths, 1))).astype(np.int64)
        counts = np.bincount(steps) if len(steps) else np.zeros(0, np.int64)
        last = 2 ** np.arange(len(counts), dtype=np.int64)
        first = np.concatenate([[1], last[:-1] + 1])[: len(counts)].astype(np.int64)
        columns = {"depth_from": first, "depth_to": last, "files": counts.astype(np.int64)}
        return pa.table({name: to_arrow(values) for name, values in columns.items()})

    def __repr__(self) -> str:
        files = f"{count_text(self.max_depth)} of {count_text(self.files)} files"
        return f"ColumnClustering({shortened(self.column)}: at most {files}, {self.average_depth:.1f} on average)"

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        plain = {name: value for name, value in self.__dict__.items() if name != "depths"}
        return {**plain, "histogram": self.histogram.to_pylist()}

    def _repr_html_(self) -> str:
        rows = (
            (
                f"in {depth_text(row['depth_from'], row['depth_to'])}",
                row["files"],
                f"{count_text(row['files'])} files",
                row["depth_to"] <= 2,
            )
            for row in self.histogram.to_pylist()
        )
        reads = f"{self.average_depth:,.1f} files on average, in {count_text(self.max_depth)} at most"
        unknown = f"; {count_text(self.files_without_bounds)} files have no bounds" if self.files_without_bounds else ""
        about = f"a value of {self.column} may be in {reads}{unknown}"
        return page("Clustering", about, bars(rows, len(self.depths)))


class Clustering(ShownList[ColumnClustering]):
    """The clustering of some columns, which a notebook shows as a table."""

    def _repr_html_(self) -> str:
        names = ["column", "files", "average depth", "greatest depth", "without bounds", "without values"]
        about = "in how many files one value of a column may be"
        return page("Clustering", about, grid(names, [list(map(str, row)) for row in clustering_rows(self)]))


def clustering_rows(found: Sequence[ColumnClustering]) -> Iterator[tuple[str, ...]]:
    """One row of texts for each column, for people."""
    for one in found:
        counts = (one.max_depth, one.files_without_bounds, one.files_without_values)
        yield one.column, count_text(one.files), f"{one.average_depth:,.1f}", *map(count_text, counts)


def depth_text(first: int, last: int) -> str:
    """``1``, ``3 to 4``"""
    return count_text(first) if first == last else f"{count_text(first)} to {count_text(last)}"


def clustering(snapshot: SnapshotHandle, columns: str | Sequence[str] | None = None) -> Clustering:
    """The clustering of ``columns`` (None: all that may have bounds) over the files of ``snapshot``.

    Raises
    ------
    InvalidPredicateError
        There is no such column.
    CorruptMetadataError, UnsupportedFeatureError
        As the metadata is read.

    Notes
    -----
    Cost: reads the bounds of these columns, then O(n log n) for n files and each column. No data file is opened.
    """
    chosen = bounded_columns(snapshot) if columns is None else columns_named(snapshot, columns)
    return Clustering(clusterings_of(ranged_files(snapshot, chosen), chosen))


def clusterings_of(found: Sequence[RangedFiles], columns: Iterable[BoundColumn]) -> list[ColumnClustering]:
    """The clustering of files by each of some columns, of which their ranges are known. On several threads."""
    from ..runtime.threads import in_order

    return list(in_order(lambda column: clustering_of(found, column), columns))


def clustering_of(found: Sequence[RangedFiles], column: BoundColumn) -> ColumnClustering:
    """The clustering of files by one column, of which their ranges are known."""
    import numpy as np
    import pyarrow as pa

    from ..pruning.column_ranges import is_null
    from ..schema import arrow_type

    kind = arrow_type(column.type)
    empty = pa.nulls(0, kind)
    lowers, uppers, without_values = [empty], [empty], 0
    for files in found:
        lower, upper, has_values = _bounds(files, column.id, kind)
        without_values += int(np.count_nonzero(~has_values))
        lowers.append(_filtered(lower, has_values))
        uppers.append(_filtered(upper, has_values))
    lower, upper = pa.concat_arrays(lowers), pa.concat_arrays(uppers)
    is_known = ~(is_null(lower) | is_null(upper))
    depths = np.sort(overlap_depths(_filtered(lower, is_known), _filtered(upper, is_known)))
    return ColumnClustering(
        str(column),
        sum(files.n for files in found),
        int(np.count_nonzero(~is_known)),
        without_values,
        int(depths[-1]) if len(depths) else 0,
        float(depths.mean()) if len(depths) else 0.0,
        depths,
    )


def _filtered(values: pa.Array, mask: np.ndarray) -> pa.Array:
    """``values`` where ``mask`` (bool[n]) is True."""
    from ..columnar import compute as pc
    from ..columnar.arrays import to_arrow

    return values if mask.all() else pc.filter(values, to_arrow(mask))


def _bounds(files: RangedFiles, column: int, kind: pa.DataType) -> tuple[pa.Array, pa.Array, np.ndarray]:
    """The bounds of files, by statistics or else by partition values, and bool[n]: whether they may have values."""
    import numpy as np
    import pyarrow as pa

    from ..columnar import compute as pc
    from ..columnar.arrays import FALSE, scalar, to_numpy

    lower = upper = pa.nulls(files.n, kind)
    has_values = np.ones(files.n, bool)
    for _, known in files.ranges[column]:
        lower, upper = pc.coalesce(lower, known.lower), pc.coalesce(upper, known.upper)
        has_values &= known.may_value.astype(bool)
    if pa.types.is_floating(kind):  # bounds are NaN where all values are
        has_values &= ~to_numpy(pc.fill_null(pc.is_nan(lower), FALSE))
        zero = scalar(0.0, kind)
        lower, upper = pc.add(lower, zero), pc.add(upper, zero)  # -0.0 becomes 0.0, which it equals
    return lower, upper, has_values


def overlap_depths(lower: pa.Array, upper: pa.Array) -> np.ndarray:
    """int64[n]: for each interval [lower, upper] the greatest number of intervals that have a value of it in common.

    Bounds are not null, and of a type that Arrow sorts.
    """
    import numpy as np
    import pyarrow as pa

    n = len(lower)
    if not n:
        return np.zeros(0, np.int64)
    ranks = _ranks(pa.concat_arrays([lower, upper]))
    first, last = ranks[:n], np.maximum(ranks[n:], ranks[:n])
    width = int(ranks.max()) + 1
    starts, ends = np.bincount(first, minlength=width), np.bincount(last, minlength=width)
    depth = np.cumsum(starts) - np.concatenate([[0], np.cumsum(ends)[:-1]])
    return _range_max(depth.astype(np.int64), first, last)


def _ranks(values: pa.Array) -> np.ndarray:
    """int64[n]: the number of distinct values that are less than each value."""
    import pyarrow as pa

    from ..columnar import compute as pc
    from ..columnar.arrays import to_numpy

    if pa.types.is_boolean(values.type):
        values = pc.cast(values, pa.int8())
    if pa.types.is_fixed_size_binary(values.type):
        values = pc.cast(values, pa.binary())
    return to_numpy(pc.rank(values, sort_keys="ascending", tiebreaker="dense")).astype("int64") - 1


def _range_max(values: np.ndarray, first: np.ndarray, last: np.ndarray) -> np.ndarray:
    """The greatest of ``values[first : last + 1]`` for each pair: two windows of a power of two cover each range."""
    import numpy as np

    level_of = np.floor(np.log2(last - first + 1)).astype(np.int64)
    found = np.zeros(len(first), np.int64)
    window, level = values, 0
    while True:
        own = np.flatnonzero(level_of == level)
        found[own] = np.maximum(window[first[own]], window[last[own] - (1 << level) + 1])
        if (2 << level) > len(values):
            return found
        window, level = np.maximum(window[: -(1 << level)], window[1 << level :]), level + 1
