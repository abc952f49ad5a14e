"""The rules for counts and bounds of the files of one manifest, and for partition values that contradict bounds.

Source: Iceberg spec, "Field-level Metrics and Statistics", "Data File Fields", "Partition Transforms".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from tableformats.plugin import FALSE, Bounds, to_numpy
from tableformats.plugin import compute as pc

from .manifest_file import DATA, ManifestFile

if TYPE_CHECKING:
    from .manifest_file import TableFacts

__all__ = ["statistics_violations"]

Found = Iterator[tuple[str, str]]
"""Rule, and what is wrong."""


def statistics_violations(manifest: ManifestFile, facts: TableFacts) -> Found:
    """Rule, and what is wrong with the statistics of a manifest's files."""
    for row, field_id in manifest.nan_bounds(facts.fields):
        yield "metrics", f"a bound of field {field_id} of {manifest.entries[row].path!r} is NaN"
    bounds = manifest.statistics.bounds(list(facts.fields.values()), None)
    yield from _counts(manifest, facts, bounds)
    yield from _bounds(manifest, facts, bounds)
    yield from _partitions(manifest, facts, bounds)


def _counts(manifest: ManifestFile, facts: TableFacts, bounds: Bounds) -> Found:
    """Counts that contradict one another. Of columns below a list or map there are other numbers than rows."""
    single = {path[-1].id for schema in facts.metadata.schemas.values() for path in schema.leaves() if len(path) == 1}
    rows = np.array([entry.record_count for entry in manifest.entries], np.int64)
    is_data = np.array([entry.content == DATA for entry in manifest.entries], bool)
    for id in facts.fields:
        values = _known(bounds.value_count.get(id), len(rows))
        nulls, nans = _known(bounds.null_count.get(id), len(rows)), _known(bounds.nan_count.get(id), len(rows))
        without_value = np.nan_to_num(nulls) + np.nan_to_num(nans)
        wrong = np.isfinite(values) & (without_value > values)
        if id in single:
            wrong |= is_data & ((np.isfinite(values) & (values != rows)) | (without_value > rows))
        for row in np.flatnonzero(wrong).tolist():
            what = f"{values[row]:.0f} values, {nulls[row]:.0f} NULL, {nans[row]:.0f} NaN, of {rows[row]} rows"
            yield "metrics", f"field {id} of {manifest.entries[row].path!r} has {what}"


def _bounds(manifest: ManifestFile, facts: TableFacts, bounds: Bounds) -> Found:
    for id in facts.fields:
        lower, upper = bounds.lower.get(id), bounds.upper.get(id)
        if lower is None or upper is None:
            continue
        for row in np.flatnonzero(_true(pc.greater(lower, upper))).tolist():
            yield "metrics", f"the lower bound of field {id} of {manifest.entries[row].path!r} is above the upper"


def _partitions(manifest: ManifestFile, facts: TableFacts, bounds: Bounds) -> Found:
    """Partition values that no row can have: the values of the column that have them lie outside of its bounds."""
    for position, f in enumerate(manifest.spec.fields):
        source = facts.fields.get(f.source_id)
        if source is None or not f.transform.is_order_preserving:
            continue
        lower, upper = bounds.lower.get(source.id), bounds.upper.get(source.id)
        if lower is None and upper is None:
            continue
        least, greatest = f.transform.preimage(manifest.partition[position], source.type)
        wrong = _true(pc.greater(least, upper)) | _true(pc.less(greatest, lower))  # a side that is None says nothing
        for row in np.flatnonzero(wrong).tolist():
            value = manifest.partition[position][row].as_py()
            what = f"{f.name!r} is {value!r}, and no value within the bounds has it"
            yield "partition-tuple", f"{manifest.entries[row].path!r}: {what}"


def _known(values: pa.Array | None, count: int) -> np.ndarray:
    """float64[count]: NaN where nothing is known."""
    if values is None:
        return np.full(count, np.nan)
    known: np.ndarray = np.where(to_numpy(pc.is_valid(values)), to_numpy(values), np.nan)
    return known


def _true(flags: pa.Array) -> np.ndarray:
    found: np.ndarray = to_numpy(pc.fill_null(flags, FALSE))
    return found
