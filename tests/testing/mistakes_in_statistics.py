"""Mistakes in bounds and counts."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from tableformats.plugin import Bounds
from tests.testing.hive import FooterStatistics, HiveSnapshot
from tests.testing.planting import (
    BATCHES,
    BOUNDS,
    COUNTS,
    FILTERED_ROWS,
    FILTERS,
    RECORDS,
    SUBSETS,
    Patch,
    change,
    change_bounds,
    found_by,
)


@found_by(
    {
        BOUNDS: "column id, lower bound: found 41, wanted at most 40",
        FILTERS: "id < 41, .*: found it dropped .lower 41, .*, wanted it planned: .* 1 rows, with 40",
        FILTERED_ROWS: r"id < \d+, rows: found \d+, wanted \d+ .missing: ",
    }
)
def lower_bounds_are_one_too_high(patch: Patch) -> None:
    change_bounds(patch, "lower", "id", lambda value: value + 1)


@found_by(
    {
        BOUNDS: "column id, upper bound: found 44, wanted at least 45",
        FILTERS: "id > 44, .*: found it dropped .*upper 44, .*, wanted it planned: .* 1 rows, with 45",
        FILTERED_ROWS: r"id > \d+, count\(\): found \d+, wanted \d+",
    }
)
def upper_bounds_are_one_too_low(patch: Patch) -> None:
    change_bounds(patch, "upper", "id", lambda value: value - 1)


@found_by(
    {
        BOUNDS: "column amount, upper bound: found 7.75, wanted at least 8.25",
        FILTERS: "id > 14, .*part-1.parquet: found it dropped",
    }
)
def upper_bounds_are_those_of_the_first_row_group(patch: Patch) -> None:
    def of_first(found: Any, statistics: FooterStatistics, footer: Any, field: Any) -> Any:
        group = footer.row_group(0)
        chunks = [group.column(i) for i in range(footer.num_columns)]
        first = next((c.statistics for c in chunks if c.path_in_schema == statistics.names[field.id]), None)
        return (found[0], first.max, *found[2:]) if first is not None and first.has_min_max else found

    change(patch, FooterStatistics, "of_column", of_first)


@found_by(
    {
        BOUNDS: "column note, upper bound: found note 04, wanted at least note 045 é",
        FILTERS: "note > 'note 04', .*: found it dropped",
    }
)
def bounds_of_texts_are_cut(patch: Patch) -> None:
    """A prefix is a lower bound, but no upper one."""
    for side in ("lower", "upper"):
        change_bounds(patch, side, "note", lambda value: value[:7])


@found_by(
    {
        BOUNDS: r"column at, upper bound: found .*:00\+00:00, wanted at least .*:00.0000",
        FILTERS: "at > TIMESTAMP .*: found it dropped",
    }
)
def upper_bounds_of_instants_are_cut_to_milliseconds(patch: Patch) -> None:
    change_bounds(patch, "upper", "at", lambda value: value.replace(microsecond=value.microsecond // 1000 * 1000))


@found_by(
    {
        BOUNDS: "column price, lower bound: found 0.00, wanted at most -0.93",
        FILTERS: "price < 0.00, .*: found it dropped",
    }
)
def bounds_of_decimals_are_whole_numbers(patch: Patch) -> None:
    for side in ("lower", "upper"):
        change_bounds(patch, side, "price", lambda value: Decimal(int(value)))


@found_by(
    {
        BOUNDS: "column place.zip, upper bound: found 5, wanted at least 1044",
        FILTERS: "place.zip > 5, .*: found it dropped",
    }
)
def members_have_the_bounds_of_a_namesake(patch: Patch) -> None:
    """A member is looked up by its last name: ``place.zip`` gets the bounds of another ``zip``."""
    for side in ("lower", "upper"):
        change_bounds(patch, side, "zip", lambda value: 5)


@found_by(
    {
        BATCHES: r"type of lower of column zip by bounds\(\): found int64, wanted int32",
        BOUNDS: "column place.zip, type of the lower bound: found int64, wanted int32",
    }
)
def bounds_have_another_type(patch: Patch) -> None:
    def as_long(bounds: Bounds, _: Any, columns: Any, rows: Any) -> Bounds:
        for field in columns:
            if field.name == "zip":
                bounds.lower[field.id] = bounds.lower[field.id].cast(pa.int64())
        return bounds

    change(patch, FooterStatistics, "bounds", as_long)


@found_by({BATCHES: "length of lower of column id .*: found 3, wanted 2"})
def bounds_of_some_rows_are_those_of_all(patch: Patch) -> None:
    sound = FooterStatistics.bounds
    patch.setattr(FooterStatistics, "bounds", lambda self, columns, rows: sound(self, columns, None))


@found_by({SUBSETS: r"part-6.parquet, column id, lower of rows \[0, 2\]: found 50, wanted 60"})
def bounds_of_some_rows_are_those_of_the_first(patch: Patch) -> None:
    sound = FooterStatistics.bounds

    def of_first(self: Any, columns: Any, rows: Any) -> Bounds:
        return sound(self, columns, None if rows is None else np.arange(len(rows)))

    patch.setattr(FooterStatistics, "bounds", of_first)


@found_by(
    {
        BOUNDS: "part-0.parquet, column id, lower bound: found 50, wanted at most 0",
        RECORDS: "part-0.parquet, record_count by Bounds.record_count: found 5, wanted 10",
        FILTERS: "id < .*: found it dropped",
    }
)
def statistics_are_shifted_by_one_file(patch: Patch) -> None:
    sound = HiveSnapshot.statistics
    patch.setattr(HiveSnapshot, "statistics", lambda self, footers: sound(self, [*footers[1:], *footers[:1]]))


@found_by(
    {
        COUNTS: "column note, null_count: found 0, wanted 1",
        FILTERS: "note IS NULL, .*: found it dropped .*null_count 0",
    }
)
def null_counts_are_zero(patch: Patch) -> None:
    change_bounds(patch, "null_count", "note", lambda count: 0)


@found_by({COUNTS: "column note, null_count: found 1, wanted 2"})
def null_counts_are_one_too_few(patch: Patch) -> None:
    change_bounds(patch, "null_count", "note", lambda count: max(count - 1, 0))


@found_by(
    {
        COUNTS: "column id, null_count: found 6, wanted 0",
        FILTERS: "id IS NULL, .*: found it fully matched",
    }
)
def null_counts_are_counts_of_values(patch: Patch) -> None:
    """So that every row seems to be NULL."""

    def with_values(bounds: Bounds, *_: Any) -> Bounds:
        return replace(bounds, null_count=dict(bounds.value_count))

    change(patch, FooterStatistics, "bounds", with_values)


@found_by({COUNTS: "column note, value_count: found 9, wanted 10"})
def value_counts_leave_out_nulls(patch: Patch) -> None:
    change_bounds(patch, "value_count", "note", lambda count: count - 1)


@found_by(
    {
        COUNTS: "column amount, nan_count: found 0, wanted 1",
        FILTERS: r"isnan\(amount\), .*: found it dropped",
    }
)
def nan_counts_claim_that_there_are_none(patch: Patch) -> None:
    """Footers do not count NaN: its count is unknown."""

    def with_counts(bounds: Bounds, _: Any, columns: Any, rows: Any) -> Bounds:
        for field in columns:
            if field.name == "amount":
                bounds.nan_count[field.id] = pa.array([0] * len(bounds.lower[field.id]), pa.int64())
        return bounds

    change(patch, FooterStatistics, "bounds", with_counts)


@found_by({BATCHES: r"null_count of column note by bounds_or_counts\(\): found \[0.*\], wanted \[1"})
def counts_by_themselves_are_others(patch: Patch) -> None:
    def without(self: FooterStatistics, columns: Any, rows: Any, counted: Any) -> Bounds:
        bounds = self.bounds(columns, rows)
        return replace(bounds, null_count={i: pa.array([0] * len(c), pa.int64()) for i, c in bounds.null_count.items()})

    patch.setattr(FooterStatistics, "bounds_or_counts", without)
