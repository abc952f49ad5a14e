"""Which files of a block may match, and what is counted of the others: by partition values, then by bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tableformats.expressions.binding import bind
from tableformats.expressions.parse import parse_filter
from tableformats.planning.block_pruning import BlockContext, prune_block
from tableformats.planning.blocks import Block, BlockBuilder, ReadBatch
from tableformats.plugin import Bounds, FileBatch, PartitionField, PartitionSpec, Statistics, primitive
from tableformats.plugin.report import ScanReport
from tableformats.pruning.compiled_predicate import CompiledPredicate
from tableformats.schema import Field, Schema
from tableformats.schema.transforms import Transform

LONG = primitive("long")
SPEC = PartitionSpec(0, (PartitionField(1000, "p", 1, Transform("identity"), LONG),))
SCHEMA = Schema([Field(1, "p", LONG), Field(2, "a", LONG), Field(3, "x", primitive("double"))])
SIZES = [1, 10, 100, 1000, 10**4, 10**5, 10**6, 10**7]


class Numbered(Statistics):
    """The file ``i`` has values from ``10 * i`` to ``10 * i + 9`` of the columns ``a`` and ``x``, and ``i + 1`` rows.

    Nobody has counted the NaN of ``x``.
    """

    def bounds(self, columns: Any, rows: np.ndarray | None) -> Bounds:
        numbers = np.arange(8) if rows is None else rows
        lower, upper = pa.array(10 * numbers), pa.array(10 * numbers + 9)
        nothing = pa.array(0 * numbers)
        sides = [{2: side, 3: side.cast(pa.float64())} for side in (lower, upper)]
        return Bounds(*sides, {2: nothing, 3: nothing}, record_count=pa.array(numbers + 1))


def block_of(counts: list[int | None] | None) -> Any:
    columns: dict[str, Any] = {
        "path": pa.array([f"f{i}" for i in range(8)]),
        "size_bytes": pa.array(SIZES),
        "partition": pa.array([{"1000": i % 2} for i in range(8)], pa.struct([("1000", pa.int64())])),
    }
    if counts is not None:
        columns["record_count"] = pa.array(counts, pa.int64())
    builder = BlockBuilder({0: SPEC})
    batch = FileBatch(pa.record_batch(columns), 0, Numbered())
    full = builder.add(ReadBatch("part", 0, batch, None, None))
    return full or builder.finish()


class Witness:
    """Remembers which files were compared, and which of all are dropped."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str, bool]] = []

    def add_groups(self, *given: Any) -> None:
        raise AssertionError(given)

    def add_files(self, found: Any) -> None:
        compared = np.ones(len(found.dropped), bool) if found.compared is None else found.compared
        self.told.append((text_of(compared), text_of(found.dropped), found.is_early))


def text_of(flags: np.ndarray) -> str:
    return "".join(map(str, flags.astype(int).tolist()))


def test_bounds_are_decoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those that came where counts alone were asked, and those of a column that has none."""
    asked: list[list[str]] = []
    bounds = Numbered.bounds

    def counted_bounds(self: Numbered, columns: Any, rows: np.ndarray | None) -> Bounds:
        asked.append([field.name for field in columns])
        found = bounds(self, columns, rows)
        return Bounds({2: found.lower[2]}, {2: found.upper[2]}, found.null_count, record_count=found.record_count)

    monkeypatch.setattr(Numbered, "bounds", counted_bounds)
    fresh = block_of(None)
    for filter in ("a IS NULL", "a > 5", "a > 5 AND x > 3", "a = 4 AND x IS NULL", "x > 2"):
        predicate = CompiledPredicate(bind(parse_filter(filter), SCHEMA))
        prune_block(BlockContext(fresh.block, SPEC, None, fresh.batch_of), predicate, ScanReport())
    assert asked == [["a"], ["x"]]


def pruned(
    filter: str | None, live: str | None = None, counts: Any = None, nan_is_absent: bool = False
) -> tuple[Any, ScanReport, Witness]:
    parsed = None if filter is None else parse_filter(filter)
    predicate = None if parsed is None else CompiledPredicate(bind(parsed, SCHEMA), nan_is_absent)
    fresh, report, witness = block_of(counts), ScanReport(), Witness()
    block: Block = fresh.block
    mask = None if live is None else np.array([letter == "1" for letter in live])
    return prune_block(BlockContext(block, SPEC, mask, fresh.batch_of), predicate, report, witness), report, witness


@pytest.mark.parametrize(
    ("filter", "live", "rows", "matched", "by_partition", "by_bounds", "told"),
    [
        (None, None, [0, 1, 2, 3, 4, 5, 6, 7], "11111111", 0, 0, []),
        (None, "11100000", [0, 1, 2], "111", 0, 0, []),
        ("p = 1", None, [1, 3, 5, 7], "1111", 4, 0, [("11111111", "10101010", True)]),
        ("p = 1", "11111100", [1, 3, 5], "111", 3, 0, [("11111100", "10101010", True)]),
        ("p = 1", "11100000", [1], "1", 2, 0, [("111", "101", True)]),
        ("p = 9", None, [], "", 8, 0, [("11111111", "11111111", True)]),
        ("a < 25", None, [0, 1, 2], "110", 0, 5, [("11111111", "00011111", False)]),
        ("a < 25", "11111101", [0, 1, 2], "110", 0, 4, [("1111111", "0001111", False)]),
        ("a < 25", "01110000", [1, 2], "10", 0, 1, [("111", "001", False)]),
        (
            "p = 1 AND a < 35",
            None,
            [1, 3],
            "10",
            4,
            2,
            [("10101010", "10101010", True), ("1111", "0011", False)],
        ),
        (
            "p = 1 AND a < 35",
            "11111101",
            [1, 3],
            "10",
            3,
            2,
            [("10101000", "10101010", True), ("1111", "0011", False)],
        ),
        ("p >= 0 AND a < 25", None, [0, 1, 2], "110", 0, 5, [("11111111", "00011111", False)]),
    ],
)
def test_files_that_may_match(
    filter: str | None,
    live: str | None,
    rows: list[int],
    matched: str,
    by_partition: int,
    by_bounds: int,
    told: list[tuple[str, str, bool]],
) -> None:
    found, report, witness = pruned(filter, live)
    assert found.rows.tolist() == rows and text_of(found.matched) == matched
    assert (report.files_dropped_by_partition, report.files_dropped_by_bounds) == (by_partition, by_bounds)
    sizes = [size for i, size in enumerate(SIZES) if live is None or live[i] == "1"]
    assert (report.files_total, report.bytes_listed) == (len(sizes), sum(sizes))
    assert witness.told == told


COUNTS = [2 * i + 2 for i in range(8)]
"""Other counts than those of the statistics."""


@pytest.mark.parametrize(
    ("filter", "live", "counts", "listed", "left"),
    [
        ("p = 1", None, COUNTS, 72, [4, 8, 12, 16]),
        ("p = 1", "11111100", COUNTS, 42, [4, 8, 12]),
        ("a < 25", None, COUNTS, 72, [2, 4, 6]),
        ("p = 9", None, COUNTS, 72, None),
        (None, "11100000", COUNTS, 12, [2, 4, 6]),
        ("a < 25", None, None, 36, [1, 2, 3]),  # what the statistics say
        ("a < 25", "11111101", None, 29, [1, 2, 3]),
        ("p = 1", None, None, None, None),
        ("p = 1 AND a < 35", None, None, None, [2, 4]),
        (None, None, None, None, None),
        (None, None, [None, *COUNTS[1:]], None, [None, *COUNTS[1:]]),
    ],
)
def test_rows_that_are_counted(filter: str | None, live: str | None, counts: Any, listed: Any, left: Any) -> None:
    """Those of all files are known if nobody has to read statistics for them alone."""
    found, report, _ = pruned(filter, live, counts)
    assert report.rows_listed == listed
    assert (None if found.counts is None else found.counts.to_pylist()) == left


@pytest.mark.parametrize(
    ("filter", "live", "absent", "rows", "for_nan", "by_bounds"),
    [
        ("x > 45", None, False, [0, 1, 2, 3, 4, 5, 6, 7], 4, 0),
        ("x > 45", None, True, [4, 5, 6, 7], 0, 4),
        ("x > 45", "11111100", False, [0, 1, 2, 3, 4, 5], 4, 0),
        ("x > 45", "11111100", True, [4, 5], 0, 4),
        ("p = 1 AND x > 45", None, False, [1, 3, 5, 7], 2, 0),
        ("p = 1 AND x > 45", None, True, [5, 7], 0, 2),
        ("x < 45", None, False, [0, 1, 2, 3, 4], 0, 3),
        ("x < 45", None, True, [0, 1, 2, 3, 4], 0, 3),
    ],
)
def test_files_that_are_kept_for_a_nan(
    filter: str, live: str | None, absent: bool, rows: list[int], for_nan: int, by_bounds: int
) -> None:
    found, report, witness = pruned(filter, live, None, absent)
    assert found.rows.tolist() == rows
    assert (report.files_kept_for_nan, report.files_dropped_by_bounds) == (for_nan, by_bounds)
    assert witness.told[-1][1].count("1") == by_bounds
