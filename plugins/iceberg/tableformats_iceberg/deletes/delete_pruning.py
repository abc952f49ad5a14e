"""Leaves out deletes that cannot apply to the planned files.

- A delete manifest is needed only if its partition summaries overlap with the partitions of some planned file. A delete
  applies inside its own spec and partition, unless its spec is unpartitioned.
- A delete that names one data file is needed only if that file is planned.
- An equality delete applies to a file only if both may have a common value in each key column: NULL in both, NaN in
  both, or values in ranges that overlap.

Unknown bounds, counts and summaries rule nothing out.
Source: Iceberg spec, "Scan Planning", "Manifest Lists"; ``DeleteFileIndex`` of the Java reference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tableformats.plugin import (
    FALSE,
    TRUE,
    ZERO,
    Bounds,
    Field,
    FileKeySet,
    PartitionSpec,
    ScanReport,
    Statistics,
    arrow_type,
    distinct,
    flat,
    scalar,
    text_buffers,
    to_arrow,
    to_numpy,
)
from tableformats.plugin import compute as pc

from ..files.paths import common_prefix
from ..manifests.entries import Entries
from ..manifests.manifest_list import DELETES, Manifest, ManifestList, Summaries
from .delete_index import Pairs, is_unpartitioned
from .delete_table import EQUALITY, SpecDeletes

__all__ = ["DeleteStatistics", "PlannedPaths", "needed_manifests", "without_disjoint"]

ReadEntries = Callable[[int, Sequence[int]], Entries]
"""Reads the live entries of the manifest at an index of the manifest list, with statistics of some columns (ids)."""


class Range(NamedTuple):
    """What groups of rows may have in one column, [n] each.

    ``lower`` and ``upper`` bound the values that are neither NULL nor NaN (null: unknown). The others (bool) say
    whether there may be such values, NULLs and NaNs.
    """

    lower: pa.Array
    upper: pa.Array
    may_value: pa.Array
    may_null: pa.Array
    may_nan: pa.Array


def needed_manifests(
    manifest_list: ManifestList, files: pa.Table, specs: Mapping[int, PartitionSpec], report: ScanReport
) -> list[Manifest]:
    """The delete manifests that may apply to the data files ``files``, which is what ``attach_deletes`` gets.

    All delete manifests, and those that are left out, are counted in ``report``.
    """
    manifests = manifest_list.manifests
    rows = [i for i, m in enumerate(manifests) if m.content == DELETES]
    live = [i for i in rows if manifests[i].has_live_files]
    report.delete_manifests_total += len(rows)
    if not files.num_rows:
        report.delete_manifests_skipped += len(rows)
        return []
    spec_ids = to_numpy(files["spec_id"])
    needed = set(live)
    for spec in specs.values():
        group = np.array([i for i in live if manifests[i].spec_id == spec.id], np.int64)
        if not len(group) or is_unpartitioned(spec):
            continue
        partition = files["partition"]
        if (spec_ids != spec.id).any():
            partition = pc.filter(partition, to_arrow(spec_ids == spec.id))
        summaries = manifest_list.summaries(group, spec)
        if not len(partition):
            needed.difference_update(group.tolist())
        elif summaries is not None and len(summaries.rows):
            apart = _partitions_apart(partition, summaries, spec) & summaries.sound
            needed.difference_update(group[summaries.rows[apart]].tolist())
    report.delete_manifests_skipped += len(rows) - len(needed)
    return [manifests[i] for i in sorted(needed)]


def _partitions_apart(partition: pa.ChunkedArray, summaries: Summaries, spec: PartitionSpec) -> np.ndarray:
    """bool[manifests]: whether some partition field has no value in common with all the partitions."""
    apart = np.zeros(len(summaries.rows), bool)
    for field in spec.fields:
        if field.transform.name == "unknown":
            continue  # The order of its values is unknown, and how they are written into a summary.
        lower, upper = summaries.lower[field.id], summaries.upper[field.id]
        may_null, may_nan = (pc.fill_null(c[field.id], TRUE) for c in (summaries.contains_null, summaries.contains_nan))
        of_manifests = Range(lower, upper, pc.is_valid(lower), may_null, may_nan)
        apart |= _apart(_repeated_range(pc.struct_field(partition, str(field.id)), len(lower)), of_manifests)
    return apart


def _repeated_range(values: pa.ChunkedArray, n: int) -> Range:
    """The range of the values, repeated ``n`` times."""
    nulls, present = values.null_count, values
    if pa.types.is_floating(values.type):
        present = pc.filter(values, pc.invert(pc.is_nan(values)))  # This also drops the nulls.
    try:
        ends = pc.min_max(present)
        lower, upper = (pa.repeat(ends[name], n) for name in ("min", "max"))
    except pa.ArrowNotImplementedError:
        lower = upper = pa.nulls(n, values.type)
    n_present = len(present) - present.null_count
    may = [to_arrow(np.full(n, flag)) for flag in (n_present > 0, nulls > 0, n_present + nulls < len(values))]
    return Range(lower, upper, *may)


class PlannedPaths:
    """The paths of the planned data files. Leaves out deletes of other files, on any thread.

    Parameters
    ----------
    paths : string[n]
        The paths as stored in the metadata.
    """

    def __init__(self, paths: pa.ChunkedArray) -> None:
        self._prefix = common_prefix(paths)
        self._keys = FileKeySet()
        for chunk in paths.chunks if self._prefix is not None else ():
            self._keys.add_batch(*text_buffers(chunk))

    def only(self, deletes: SpecDeletes) -> SpecDeletes:
        """The deletes that name no data file, or a planned one. All if one file's path may have several spellings."""
        named = flat(deletes.table["referenced_data_file"])
        if self._prefix is None or common_prefix(named) != self._prefix:
            return deletes
        is_other = self._keys.probe_batch(*text_buffers(named)) == 1
        rows = np.flatnonzero(~is_other | to_numpy(pc.is_null(named)))
        return deletes._replace(table=pc.take(deletes.table, to_arrow(rows)))


def without_disjoint(
    pairs: Pairs, files: pa.Table, deletes: pa.Table, find_field: Callable[[int], Field | None], read: ReadEntries
) -> Pairs:
    """Remove the pairs whose equality delete cannot apply, because the keys and the file have no value in common.

    Parameters
    ----------
    pairs : Pairs
        Rows of ``files`` and of ``deletes``.
    files, deletes : pyarrow.Table
        ``manifest`` and ``entry`` of each row say which entry has its statistics.
    find_field : callable
        Finds a field of the table by its id.
    read : ReadEntries
    """
    may_apply = np.ones(len(pairs[0]), bool)
    for fields, chosen in _key_columns(pairs[1], deletes, find_field):
        file_rows, of_file = np.unique(pairs[0][chosen], return_inverse=True)
        delete_rows, of_delete = np.unique(pairs[1][chosen], return_inverse=True)
        left, right = _ranges(files, file_rows, fields, read), _ranges(deletes, delete_rows, fields, read)
        for field in fields:
            may_apply[chosen] &= ~_apart(_take(left[field.id], of_file), _take(right[field.id], of_delete))
    return pairs[0][may_apply], pairs[1][may_apply]


class DeleteStatistics(Statistics):
    """Bounds and counts over the rows that each of ``deletes`` deletes.

    Only the key columns of an equality delete are used, because its other columns need not have the values of the
    deleted rows. Other columns of a position delete file have the values of the deleted rows.
    Source: Iceberg spec, "Position Delete Files", "Equality Delete Files".
    """

    def __init__(self, deletes: pa.Table, read: ReadEntries) -> None:
        self._deletes = deletes
        self._read = read

    def bounds(self, columns: Sequence[Field], rows: np.ndarray | None) -> Bounds:
        """See :meth:`tableformats.plugin.Statistics.bounds`."""
        at = np.arange(self._deletes.num_rows) if rows is None else rows
        found = _bounds(self._deletes, at, columns, self._read)
        is_equality = to_numpy(pc.equal(self._deletes["kind"], scalar(EQUALITY, pa.string())))[at]
        keys = pc.take(self._deletes["equality_ids"], to_arrow(at)).to_pylist()
        for field in columns:
            known = ~is_equality | np.array([field.id in (ids or ()) for ids in keys], bool)
            if not known.all():
                for side in (found.lower, found.upper, found.null_count, found.nan_count, found.value_count):
                    if field.id in side:
                        values = side[field.id]
                        side[field.id] = pc.if_else(to_arrow(known), values, scalar(None, values.type))
        return found


def _key_columns(
    rows: np.ndarray, deletes: pa.Table, find_field: Callable[[int], Field | None]
) -> Iterator[tuple[list[Field], np.ndarray]]:
    """For each set of key columns: its fields with bounds, and the indices into ``rows`` of deletes by these keys."""
    if not pc.any(pc.greater(pc.list_value_length(deletes["equality_ids"]), ZERO)).as_py():
        return
    used, of_row = np.unique(rows, return_inverse=True)
    numbers: dict[tuple[int, ...], int] = {(): 0}
    lists = pc.take(deletes["equality_ids"], to_arrow(used)).to_pylist() if len(used) else []
    kinds = np.array([numbers.setdefault(tuple(ids or ()), len(numbers)) for ids in lists], np.int64)
    for ids, number in numbers.items():
        fields = [f for f in map(find_field, ids) if f is not None and not f.type.is_nested]
        if fields:
            yield fields, np.flatnonzero(kinds[of_row] == number)


def _ranges(table: pa.Table, rows: np.ndarray, fields: Sequence[Field], read: ReadEntries) -> dict[int, Range]:
    """The ranges of ``fields``, by id, from the statistics of the ``rows`` (ascending) of a table of files."""
    bounds = _bounds(table, rows, fields, read)
    return {field.id: _range(field, bounds, len(rows)) for field in fields}


def _bounds(table: pa.Table, rows: np.ndarray, fields: Sequence[Field], read: ReadEntries) -> Bounds:
    """The bounds of ``fields`` for the ``rows`` of a table, read manifest by manifest."""
    manifests, positions = (to_numpy(table[name])[rows] for name in ("manifest", "entry"))
    order = np.argsort(manifests, kind="stable")
    back, found, records = to_arrow(np.argsort(order)), [], []
    for manifest in distinct(manifests):
        at = positions[order][manifests[order] == manifest]
        entries = read(manifest, [f.id for f in fields])
        found.append((entries.statistics.bounds(fields, at), len(at)))
        records.append(pc.take(entries.files["record_count"], to_arrow(at)))
    merged = Bounds(record_count=pc.take(pa.concat_arrays(records), back) if records else pa.nulls(0, pa.int64()))
    for name in ("lower", "upper", "null_count", "nan_count", "value_count"):
        for field in fields:
            kind = arrow_type(field.type) if name in ("lower", "upper") else pa.int64()
            chunks = [getattr(bounds, name).get(field.id, pa.nulls(n, kind)) for bounds, n in found]
            if chunks:
                getattr(merged, name)[field.id] = pc.take(pa.concat_arrays(chunks), back)
    return merged


def _range(field: Field, bounds: Bounds, n: int) -> Range:
    """The ranges of one field for ``n`` files."""
    kind, counts = arrow_type(field.type), pa.nulls(n, pa.int64())
    lower, upper = (side.get(field.id, pa.nulls(n, kind)) for side in (bounds.lower, bounds.upper))
    nulls, records = bounds.null_count.get(field.id, counts), bounds.record_count
    values = pc.coalesce(bounds.value_count.get(field.id, counts), records)
    # If some rows were not counted, they may be NULL or have values.
    counted = pc.fill_null(pc.greater_equal(values, records), FALSE)
    may_null = pc.invert(pc.and_(counted, pc.fill_null(pc.equal(nulls, ZERO), FALSE)))
    may_value = pc.invert(pc.and_(counted, pc.fill_null(pc.equal(nulls, values), FALSE)))
    may_nan = to_arrow(np.zeros(n, bool))
    if pa.types.is_floating(kind):
        may_nan = pc.invert(pc.fill_null(pc.equal(bounds.nan_count.get(field.id, counts), ZERO), FALSE))
    return Range(lower, upper, may_value, may_null, may_nan)


def _take(ranges: Range, rows: np.ndarray) -> Range:
    return Range(*(pc.take(column, to_arrow(rows)) for column in ranges))


def _apart(left: Range, right: Range) -> np.ndarray:
    """bool[n]: whether two ranges have no value in common."""
    try:
        beyond = pc.or_(_less(left.upper, right.lower), _less(right.upper, left.lower))
    except pa.ArrowNotImplementedError:
        beyond = to_arrow(np.zeros(len(left.lower), bool))
    # A lower bound above the upper one is wrong, and proves nothing.
    sound = pc.invert(pc.or_(_less(left.upper, left.lower), _less(right.upper, right.lower)))
    values_meet = pc.and_(pc.and_(left.may_value, right.may_value), pc.invert(pc.and_(beyond, sound)))
    others_meet = pc.or_(pc.and_(left.may_null, right.may_null), pc.and_(left.may_nan, right.may_nan))
    return ~to_numpy(pc.or_(values_meet, others_meet))


def _less(left: pa.Array, right: pa.Array) -> pa.Array:
    """bool[n]: whether both are known, and the left is less."""
    return pc.fill_null(pc.less(left, right), FALSE)
