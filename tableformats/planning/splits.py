"""Cuts the files of a plan into parts and packs these into groups of about one size, for engines to share out.

The rules are Iceberg's: a file is cut where its row groups begin if the metadata says where that is, else every
``target_size`` bytes; a part weighs its bytes and those of its deletes, at least ``open_cost`` for each file that is
opened for it; it goes into the first open group that has room, and where more than ``lookback`` of them are open, the
heaviest one is closed. Source: Iceberg documentation, "Configuration", "Read properties"; ``TableScanUtil`` and
``BinPacking`` of its Java reference.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import field, replace

import numpy as np

from ..columnar import compute as pc
from ..columnar.arrays import ZERO, to_numpy
from ..dataclass import dataclass
from ..limits import Limits
from ..plugin.snapshot import SplitOptions
from .plan import FilePlan
from .tasks import ScanTask, tasks_of

__all__ = ["splits"]

SPLITTABLE = frozenset({"parquet", "orc", "avro"})


def splits(
    plan: FilePlan, target_size: str | int | None, open_cost: str | int | None, lookback: int | None
) -> list[list[ScanTask]]:
    """The files of ``plan`` in parts, packed into groups; see :meth:`tableformats.ScanPlan.splits`."""
    given = None not in (target_size, open_cost, lookback)
    defaults = SplitOptions() if given else plan.snapshot.format_snapshot.split_options
    target = defaults.target_size if target_size is None else size_in_bytes(target_size)
    cost = defaults.open_cost if open_cost is None else size_in_bytes(open_cost)
    window = defaults.lookback if lookback is None else lookback
    if target <= 0 or cost < 0 or window <= 0:
        raise ValueError("target_size and lookback are greater than 0, and open_cost is not below it")
    tasks = list(tasks_of(plan))
    deletes = _weights_of_deletes(plan)
    counts = np.diff(plan.delete_files.offsets).tolist()
    limits = plan.snapshot.storage.limits
    parts = (
        _Part(i, start, end, max(weight + deletes[i], cost * (1 + counts[i])))
        for i, offsets in enumerate(_split_offsets(plan))
        for start, end, weight in _cut(tasks[i], offsets, target, limits)
    )
    return [[_task(tasks[p.file], p) for p in _merged(group)] for group in _pack(parts, target, window)]


@dataclass(frozen=True)
class _Part:
    """The bytes from ``start`` to ``end`` of a file of the plan."""

    file: int
    start: int
    end: int
    weight: int


@dataclass
class _Bin:
    weight: int = 0
    parts: list[_Part] = field(default_factory=list)

    def add(self, part: _Part) -> None:
        self.weight += part.weight
        self.parts.append(part)


def _task(task: ScanTask, part: _Part) -> ScanTask:
    return replace(task, start=part.start, length=part.end - part.start)


def _cut(task: ScanTask, offsets: list[int], target: int, limits: Limits) -> Iterator[tuple[int, int, int]]:
    """(start, end, bytes that weigh) of the parts of a file: from its first byte to its last, without gaps.

    What lies before the first offset weighs nothing, but it belongs to the first part: should the offsets be wrong, a
    row group that they leave out is read nevertheless.
    """
    size = task.size_bytes
    if task.file_format not in SPLITTABLE or size <= 0:
        yield 0, size, size
        return
    if not _well_defined(offsets, size):
        # Its size is what the metadata claims.
        limits.check("file_parts", -(-size // target), f"parts of target_size {target}", path=task.path)
        offsets = list(range(0, size, target))
    for start, end in zip(offsets, [*offsets[1:], size], strict=True):
        yield (0 if start == offsets[0] else start), end, end - start


def _well_defined(offsets: list[int], size: int) -> bool:
    """Whether the offsets ascend within the file; others are not used."""
    ascend = all(a < b for a, b in zip(offsets, offsets[1:], strict=False))
    return bool(offsets) and ascend and offsets[0] >= 0 and offsets[-1] < size


def _pack(parts: Iterable[_Part], target: int, lookback: int) -> Iterator[list[_Part]]:
    open_bins: list[_Bin] = []
    for part in parts:
        fitting = next((b for b in open_bins if b.weight + part.weight <= target), None)
        if fitting is None:
            fitting = _Bin()
            open_bins.append(fitting)
        fitting.add(part)
        if len(open_bins) > lookback:
            # The first of the heaviest.
            yield open_bins.pop(max(range(len(open_bins)), key=lambda i: (open_bins[i].weight, -i))).parts
    yield from (b.parts for b in open_bins)


def _merged(parts: list[_Part]) -> Iterator[_Part]:
    """Neighbours of one file become one part."""
    last = parts[0]
    for part in parts[1:]:
        if (part.file, part.start) == (last.file, last.end):
            last = replace(last, end=part.end)
        else:
            yield last
            last = part
    yield last


def _split_offsets(plan: FilePlan) -> list[list[int]]:
    """Where the row groups of each file begin; empty where the metadata does not say."""
    if "split_offsets" not in plan.survivors.column_names:
        return [[]] * len(plan)
    return [offsets or [] for offsets in plan.survivors["split_offsets"].to_pylist()]


def _weights_of_deletes(plan: FilePlan) -> list[int]:
    """Bytes of the deletes of each file."""
    deletes = plan.delete_files
    if "size_bytes" not in deletes.files.column_names or not len(deletes.indices):
        return [0] * len(plan)
    sizes = to_numpy(pc.fill_null(deletes.files["size_bytes"], ZERO)).astype(np.int64)
    before = np.concatenate([[0], np.cumsum(sizes[deletes.indices])])
    weights: list[int] = (before[deletes.offsets[1:]] - before[deletes.offsets[:-1]]).tolist()
    return weights


def size_in_bytes(size: str | int) -> int:
    """``"128MB"`` as Spark reads it (1 MB = 1,048,576 bytes); a number is bytes. Raises ValueError."""
    if isinstance(size, int) and not isinstance(size, bool):
        return size
    text = size.strip().lower() if isinstance(size, str) else ""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)b?", text)
    if match is None:
        raise ValueError(f"{size!r} is no size; write bytes, or a number with kb, mb, gb or tb")
    return int(float(match.group(1)) * 2 ** (10 * " kmgt".index(match.group(2) or " ")))
