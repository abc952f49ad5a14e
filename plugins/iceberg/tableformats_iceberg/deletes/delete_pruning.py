"""Deletes that cannot touch the planned files: manifests are ruled out by their partitions, deletes of one file by its
path, equality deletes by bounds.

A delete applies inside its own spec and partition unless its spec is unpartitioned, so a delete manifest is needed only
where its partition summaries meet the partitions of some planned file. An equality delete touches a file only if, in
each of its key columns, the file and the delete may hold one value: NULL in both, NaN in both, or values in ranges that
meet. What is not known may be anything.
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

from ..manifests.entries import Entries
from ..manifests.manifest_list import DELETES, Manifest, ManifestList, Summaries
from ..metadata.paths import spelled_from
from .deletes import EQUALITY, DeletesOf, Pairs, is_unpartitioned

__all__ = ["DeleteStatistics", "PlannedPaths", "needed_manifests", "without_disjoint"]

ReadEntries = Callable[[int, Sequence[int]], Entries]


class Range(NamedTuple):
    """What some rows may hold of one column: bounds of the values that are neither NULL nor NaN (null = unknown), and
    whether there may be any values, NULLs and NaNs (bool)."""

    lower: pa.Array
    upper: pa.Array
    may_value: pa.Array
    may_null: pa.Array
    may_nan: pa.Array


def needed_manifests(
    manifest_list: ManifestList, files: pa.Table, specs: Mapping[int, PartitionSpec]
) -> tuple[list[Manifest], int]:
    """The delete manifests that may apply to ``files`` (as ``attach_deletes`` gets them), and how many there are."""
    every = manifest_list.manifests
    rows = [i for i, m in enumerate(every) if m.content == DELETES]
    live = [i for i in rows if every[i].has_live_files]
    if not files.num_rows:
        return [], len(rows)
    spec_ids = to_numpy(files["spec_id"])
    needed = set(live)
    for spec in specs.values():
        group = np.array([i for i in live if every[i].spec_id == spec.id], np.int64)
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
    return [every[i] for i in sorted(needed)], len(rows)


def _partitions_apart(partition: pa.ChunkedArray, summaries: Summaries, spec: PartitionSpec) -> np.ndarray:
    """bool[manifests]: whether some partition field has no value in common with any of the partitions."""
    apart = np.zeros(len(summaries.rows), bool)
    for field in spec.fields:
        if field.transform.name == "unknown":
            continue  # how its values are ordered, or written into a summary, is not known
        lower, upper = summaries.lower[field.id], summaries.upper[field.id]
        may_null, may_nan = (pc.fill_null(c[field.id], TRUE) for c in (summaries.contains_null, summaries.contains_nan))
        theirs = Range(lower, upper, pc.is_valid(lower), may_null, may_nan)
        apart |= _apart(_extremes(pc.struct_field(partition, str(field.id)), len(lower)), theirs)
    return apart


def _extremes(values: pa.ChunkedArray, n: int) -> Range:
    """``n`` times the range of the values."""
    nulls, present = values.null_count, values
    if pa.types.is_floating(values.type):
        present = pc.filter(values, pc.invert(pc.is_nan(values)))  # and without the nulls
    try:
        ends = pc.min_max(present)
        lower, upper = (pa.repeat(ends[name], n) for name in ("min", "max"))
    except pa.ArrowNotImplementedError:
        lower = upper = pa.nulls(n, values.type)
    n_present = len(present) - present.null_count
    may = [to_arrow(np.full(n, flag)) for flag in (n_present > 0, nulls > 0, n_present + nulls < len(values))]
    return Range(lower, upper, *may)


class PlannedPaths:
    """The paths of some files, to leave out deletes of others as soon as their manifest is read, on any thread.

    Parameters
    ----------
    paths : string[n], as the metadata has them
    """

    def __init__(self, paths: pa.ChunkedArray) -> None:
        self._start = spelled_from(paths)
        self._keys = FileKeySet()
        for chunk in paths.chunks if self._start is not None else ():
            self._keys.add_batch(*text_buffers(chunk))

    def only(self, deletes: DeletesOf) -> DeletesOf:
        """Those that name no path or one of these; all where paths may be spelled in several ways."""
        named = flat(deletes.table["referenced_data_file"])
        if self._start is None or spelled_from(named) != self._start:
            return deletes
        other = self._keys.probe_batch(*text_buffers(named)) == 1
        kept = np.flatnonzero(~other | to_numpy(pc.is_null(named)))
        return deletes._replace(table=pc.take(deletes.table, to_arrow(kept)))


def without_disjoint(
    pairs: Pairs, files: pa.Table, deletes: pa.Table, find_field: Callable[[int], Field | None], read: ReadEntries
) -> Pairs:
    """``pairs`` of rows of ``files`` and ``deletes`` without the equality deletes that cannot touch their file.

    Parameters
    ----------
    files, deletes : each row's ``manifest`` and ``entry`` say where its statistics are
    find_field : a field of the table by its id
    read : the live entries of a manifest (its place in the list) with statistics of these columns
    """
    kept = np.ones(len(pairs[0]), bool)
    for fields, chosen in _key_columns(pairs[1], deletes, find_field):
        file_rows, of_file = np.unique(pairs[0][chosen], return_inverse=True)
        delete_rows, of_delete = np.unique(pairs[1][chosen], return_inverse=True)
        left, right = _ranges(files, file_rows, fields, read), _ranges(deletes, delete_rows, fields, read)
        for field in fields:
            own = _take(left[field.id], of_file), _take(right[field.id], of_delete)
            kept[chosen] &= ~_apart(*own)
    return pairs[0][kept], pairs[1][kept]


class DeleteStatistics(Statistics):
    """Bounds and counts over the rows that delete files delete, for the rows of ``deletes``.

    Of an equality delete only the key columns count: what else it holds need not be what the deleted rows have. A
    position delete file that has other columns holds the deleted rows' own. Source: Iceberg spec, "Position Delete
    Files", "Equality Delete Files".
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
    """The key columns that have bounds, and the places in ``rows`` of the equality deletes by these columns."""
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
    """What the statistics of the ``rows`` (ascending) of a table say of ``fields``."""
    bounds = _bounds(table, rows, fields, read)
    return {field.id: _range(field, bounds, len(rows)) for field in fields}


def _bounds(table: pa.Table, rows: np.ndarray, fields: Sequence[Field], read: ReadEntries) -> Bounds:
    manifests, places = (to_numpy(table[name])[rows] for name in ("manifest", "entry"))
    order = np.argsort(manifests, kind="stable")
    back, found, records = to_arrow(np.argsort(order)), [], []
    for manifest in distinct(manifests):
        at = places[order][manifests[order] == manifest]
        entries = read(manifest, [f.id for f in fields])
        found.append((entries.statistics.bounds(fields, at), len(at)))
        records.append(pc.take(entries.files["record_count"], to_arrow(at)))
    joined = Bounds(record_count=pc.take(pa.concat_arrays(records), back) if records else pa.nulls(0, pa.int64()))
    for name in ("lower", "upper", "null_count", "nan_count", "value_count"):
        for field in fields:
            kind = arrow_type(field.type) if name in ("lower", "upper") else pa.int64()
            parts = [getattr(bounds, name).get(field.id, pa.nulls(n, kind)) for bounds, n in found]
            if parts:
                getattr(joined, name)[field.id] = pc.take(pa.concat_arrays(parts), back)
    return joined


def _range(field: Field, bounds: Bounds, n: int) -> Range:
    kind, counts = arrow_type(field.type), pa.nulls(n, pa.int64())
    lower, upper = (side.get(field.id, pa.nulls(n, kind)) for side in (bounds.lower, bounds.upper))
    nulls, records = bounds.null_count.get(field.id, counts), bounds.record_count
    values = pc.coalesce(bounds.value_count.get(field.id, counts), records)
    # Rows that were not counted may hold anything.
    counted = pc.fill_null(pc.greater_equal(values, records), FALSE)
    may_null = pc.invert(pc.and_(counted, pc.fill_null(pc.equal(nulls, ZERO), FALSE)))
    may_value = pc.invert(pc.and_(counted, pc.fill_null(pc.equal(nulls, values), FALSE)))
    may_nan = to_arrow(np.zeros(n, bool))
    if pa.types.is_floating(kind):
        may_nan = pc.invert(pc.fill_null(pc.equal(bounds.nan_count.get(field.id, counts), ZERO), FALSE))
    return Range(lower, upper, may_value, may_null, may_nan)


def _take(known: Range, rows: np.ndarray) -> Range:
    return Range(*(pc.take(column, to_arrow(rows)) for column in known))


def _apart(left: Range, right: Range) -> np.ndarray:
    """bool[n]: whether the two hold no value in common."""
    try:
        beyond = pc.or_(_less(left.upper, right.lower), _less(right.upper, left.lower))
    except pa.ArrowNotImplementedError:
        beyond = to_arrow(np.zeros(len(left.lower), bool))
    # Bounds that contradict each other prove nothing.
    sound = pc.invert(pc.or_(_less(left.upper, left.lower), _less(right.upper, right.lower)))
    values_meet = pc.and_(pc.and_(left.may_value, right.may_value), pc.invert(pc.and_(beyond, sound)))
    others_meet = pc.or_(pc.and_(left.may_null, right.may_null), pc.and_(left.may_nan, right.may_nan))
    return ~to_numpy(pc.or_(values_meet, others_meet))


def _less(left: pa.Array, right: pa.Array) -> pa.Array:
    """Whether both are known and the left is less."""
    return pc.fill_null(pc.less(left, right), FALSE)
