"""The figures of pictures: files by size, by partition and by their share of deleted rows, and commits over time.

Each is counted in one pass over columns, so that a picture has a few bars, however many files a table has.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

from ...dataclass import dataclass
from ...display import shortened
from ...plugin.format import utc_datetime
from ...plugin.partitions import partition_members
from ...schema.datetimes import DATETIME_MS
from ...schema.scalar_text import python_value
from ..files import partitions_of
from ..health import SMALL_BYTES
from ..text import bytes_text, changed_rows_text, time_text

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from ...planning.plan import FilePlan

__all__ = [
    "PartitionSize",
    "SizeBin",
    "Timeline",
    "commit_columns",
    "deleted_shares",
    "partition_sizes",
    "size_bins",
    "timeline",
]

_MOST_BINS = 16
_MOST_OPERATIONS = 4
_OTHER = "other"
_EDGES = tuple(2**k * unit for unit in (1, 1000, 1000**2, 1000**3, 1000**4, 1000**5) for k in range(10))
"""1 B, 2 B, ..., 512 B, 1 kB, 2 kB, ...: each size is about twice the one before."""
_SHARES = (0.01, 0.1, 0.5)


@dataclass(frozen=True)
class SizeBin:
    """The files of ``least`` bytes or more, and of fewer than ``end``."""

    least: int
    end: int
    files: int
    size_bytes: int

    @property
    def is_small(self) -> bool:
        """Whether compaction would merge these files."""
        return self.end <= SMALL_BYTES

    def __str__(self) -> str:
        return f"{_edge_text(self.least)} to {_edge_text(self.end)}"


@dataclass(frozen=True)
class Timeline:
    """Commits by time and operation.

    Attributes
    ----------
    edges : int64[n + 1]
        Where the steps of time begin, and the end of the last one, in milliseconds since the epoch.
    operations : list of str
        The most frequent operations, then ``other``, printable.
    counts : int64[operations, n]
    """

    edges: np.ndarray
    operations: list[str]
    counts: np.ndarray

    @property
    def commits(self) -> int:
        return int(self.counts.sum())

    def moment(self, edge: int) -> dt.datetime:
        """The time of ``edges[edge]``, in UTC; of a time that Python lacks the nearest that it has."""
        return utc_datetime(min(max(int(self.edges[edge]), DATETIME_MS[0]), DATETIME_MS[-1]))


@dataclass(frozen=True)
class PartitionSize:
    """The files of one partition; ``label`` is like ``country=BR, day=2024-01-31``, printable."""

    label: str
    files: int
    size_bytes: int


def size_bins(sizes: pa.ChunkedArray) -> list[SizeBin]:
    """Bins of doubling size, from the smallest to the largest file; where these are many, of four or more times it.

    All files are in one of them.
    """
    import numpy as np

    from ...columnar.arrays import to_numpy

    known = to_numpy(sizes)
    if not len(known):
        return []
    edges = np.array(_EDGES, np.int64)
    at = np.clip(np.searchsorted(edges, known, side="right") - 1, 0, len(edges) - 2)
    first, last = int(at.min()), int(at.max())
    step = -(-(last + 1 - first) // _MOST_BINS)
    anchor = _EDGES.index(SMALL_BYTES) % step  # no bin has small files and others
    groups = (at - anchor) // step
    first_group, count = int(groups.min()), int(groups.max() - groups.min()) + 1
    files = np.bincount(groups - first_group, minlength=count)
    total = np.zeros(count, np.int64)
    np.add.at(total, groups - first_group, known)
    begins = anchor + step * (first_group + np.arange(count + 1))
    bounds = edges[np.clip(begins, 0, len(edges) - 1)].tolist()
    bounds[0] = 0 if begins[0] <= 0 else bounds[0]
    return [SizeBin(*row) for row in zip(bounds, bounds[1:], files.tolist(), total.tolist(), strict=False)]


def timeline(history: pa.Table, steps: int = 48) -> Timeline:
    """The commits of ``history`` (see :meth:`tableformats.Table.history`), in at most ``steps`` steps of time. Commits
    of which the time is not known, or is none that Python has, are left out."""
    import numpy as np
    import pyarrow as pa

    from ...columnar import compute as pc
    from ...columnar.arrays import scalar, to_numpy

    times = pc.cast(pc.cast(history["timestamp"], pa.timestamp("ms", "UTC")), pa.int64())
    first_ms, last_ms = (scalar(ms, pa.int64()) for ms in (DATETIME_MS[0], DATETIME_MS[-1]))
    is_known = pc.and_(pc.greater_equal(times, first_ms), pc.less_equal(times, last_ms))
    known, moments = pc.filter(history, is_known), to_numpy(pc.filter(times, is_known))
    if not len(moments):
        return Timeline(np.zeros(1, np.int64), [], np.zeros((0, 0), np.int64))
    first = int(moments.min())
    span = int(moments.max()) + 1 - first
    step = -(-span // steps)
    n = -(-span // step)
    edges = first + step * np.arange(n + 1, dtype=np.int64)
    names, which = _operations(known["operation"])
    counts = np.zeros((len(names), n), np.int64)
    np.add.at(counts, (which, (moments - first) // step), 1)
    return Timeline(edges, names, counts)


def _operations(column: pa.ChunkedArray) -> tuple[list[str], np.ndarray]:
    """The names of the most frequent operations, with the one of each row."""
    import numpy as np

    from ...columnar import compute as pc
    from ...columnar.arrays import flat, to_numpy

    encoded = pc.dictionary_encode(flat(column), null_encoding="encode")
    codes, texts = to_numpy(encoded.indices), [text or "unknown" for text in encoded.dictionary.to_pylist()]
    order = np.argsort(-np.bincount(codes, minlength=len(texts)), kind="stable")
    kept = len(texts) if len(texts) <= _MOST_OPERATIONS + 1 else _MOST_OPERATIONS
    rank = np.empty(len(texts), np.int64)
    rank[order] = np.minimum(np.arange(len(texts)), kept)
    names = [shortened(texts[i], 40) for i in order[:kept]]
    return names + ([_OTHER] if kept < len(texts) else []), rank[codes]


def commit_columns(history: pa.Table) -> dict[str, list[str]]:
    """Some versions of a history as texts: ``version``, ``time``, ``operation`` and, where one has any, ``rows`` and
    ``user``."""
    import pyarrow as pa

    from ...columnar import compute as pc

    moments = pc.cast(pc.cast(history["timestamp"], pa.timestamp("ms", "UTC")), pa.int64()).to_pylist()
    names = [name for name in ("added_rows", "deleted_rows", "updated_rows", "user") if name in history.column_names]
    more = history.select(names).to_pylist()
    found = {
        "version": [str(version) for version in history["version"].to_pylist()],
        "time": [time_text(utc_datetime(ms) if ms is not None and ms in DATETIME_MS else None) for ms in moments],
        "operation": [shortened(operation or "unknown") for operation in history["operation"].to_pylist()],
        "rows": [changed_rows_text(row) for row in more],
        "user": [shortened(row.get("user") or "") for row in more],
    }
    return {name: texts for name, texts in found.items() if any(texts)}


def partition_sizes(plan: FilePlan, most: int = 12) -> tuple[list[PartitionSize], int]:
    """The partitions with the most bytes among the files of ``plan``, the largest first, and how many there are."""
    import numpy as np

    from ...columnar.arrays import flat, to_numpy

    files, specs = plan.survivors, plan.snapshot.format_snapshot.specs
    members = partition_members(specs)
    if not files.num_rows or not members:
        return [], 0
    codes, first = partitions_of(files)
    sizes, counts = np.bincount(codes, weights=to_numpy(files["size_bytes"])), np.bincount(codes)
    arrays, found = flat(files["partition"]).flatten(), []
    for code in np.argsort(-sizes, kind="stable")[:most].tolist():
        row = int(first[code])
        spec = specs.get(files["spec_id"][row].as_py())
        used = {f.id for f in spec.fields} if spec else set()
        values = [f"{f.name}={_value_text(a[row])}" for f, a in zip(members, arrays, strict=True) if f.id in used]
        label = shortened(", ".join(values), 60) or "without partition"
        found.append(PartitionSize(label, int(counts[code]), int(sizes[code])))
    return found, len(first)


def _value_text(scalar: pa.Scalar) -> str:
    """A value as text, whatever its bytes are."""
    value = python_value(scalar)
    return "NULL" if value is None else str(value)


def deleted_shares(plan: FilePlan) -> list[tuple[str, int]]:
    """How many files of ``plan`` have which share of their rows deleted, as labels with counts; empty where no file has
    deletes. Equality deletes do not say how many rows they delete."""
    import numpy as np

    deletes, n = plan.delete_files, len(plan)
    counts = np.diff(deletes.offsets)
    if not counts.any():
        return []
    cardinality = _floats(deletes.files["cardinality"])
    deleted = np.zeros(n)
    np.add.at(deleted, np.repeat(np.arange(n), counts), cardinality[deletes.indices])
    rows = _floats(plan.record_counts)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = deleted / rows
    has = counts > 0
    is_known = has & ~np.isnan(share)
    bins = np.searchsorted(_SHARES, share[is_known], side="left")
    found = np.bincount(bins, minlength=len(_SHARES) + 1).tolist()
    labels = ["no deletes", "up to 1 %", "1 % to 10 %", "10 % to 50 %", "above 50 %", "an unknown share"]
    values = [int(np.count_nonzero(~has)), *found, int(np.count_nonzero(has & ~is_known))]
    return list(zip(labels, values, strict=True))


def _floats(column: Any) -> np.ndarray:
    """float64[n]; NaN: unknown."""
    import numpy as np
    import pyarrow as pa

    from ...columnar import compute as pc
    from ...columnar.arrays import to_numpy

    return np.where(to_numpy(pc.is_valid(column)), to_numpy(pc.cast(column, pa.float64())), np.nan)


def _edge_text(size: int) -> str:
    return bytes_text(size).replace(".0 ", " ")
