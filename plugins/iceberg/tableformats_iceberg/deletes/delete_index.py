"""Which deletes apply to which data files. Both are matched as columns, at no cost for pairs that do not apply.

The rules, where ``d`` is the data sequence number of the data file and ``s`` that of the delete (Iceberg spec, "Scan
Planning"):

================== ============ =======================================================================
deletion vector    ``d <= s``   its ``referenced_data_file`` is the file; same spec and partition
position deletes   ``d <= s``   same spec and partition; if they name one file, that file only; not if the file has a
                                deletion vector
equality deletes   ``d < s``    same spec and partition, or the delete's spec is unpartitioned
================== ============ =======================================================================

Partition values are equal by their bits; all NaNs are one value. A position delete file names one file by
``referenced_data_file`` or by equal bounds of its ``file_path`` column.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pyarrow as pa

from tableformats.plugin import (
    CorruptMetadataError,
    DeleteFiles,
    FileKeySet,
    PartitionSpec,
    distinct,
    flat,
    scalar,
    text_buffers,
    to_arrow,
    to_numpy,
)
from tableformats.plugin import compute as pc

from ..files.paths import comparable
from .delete_table import DELETION_VECTOR, EQUALITY, SpecDeletes, no_deletes
from .partition_codes import find_in_sorted, row_codes

__all__ = ["DeleteIndex", "Pairs", "is_unpartitioned"]

_DELETION_VECTOR, _EQUALITY = (scalar(text, pa.string()) for text in (DELETION_VECTOR, EQUALITY))

_RUN = 64
"""Rows are sliced instead of copied only if their runs have at least so many rows on average. Shorter runs would make
too many chunks for those who read the table."""

Pairs = tuple[np.ndarray, np.ndarray]
"""Rows of data files and rows of deletes that belong together, int64 of one length."""
_NO_PAIRS: Pairs = np.zeros(0, np.int64), np.zeros(0, np.int64)


class DeleteIndex:
    """The live deletes of some manifests, for matching with data files.

    Attributes
    ----------
    files : pyarrow.Table, optional
        One row a delete; the columns of :class:`SpecDeletes` without ``partition``. None: there are no deletes.
    """

    def __init__(self, deletes: Iterable[SpecDeletes], specs: Mapping[int, PartitionSpec]) -> None:
        self._specs = specs
        self._tables = [found for found in deletes if found.table.num_rows]
        self.files = pa.concat_tables([t.drop_columns("partition") for _, t in self._tables]) if self._tables else None

    def attached(self, pairs: Pairs, n_files: int) -> DeleteFiles:
        """The deletes of ``n_files`` files as :meth:`pairs` says, without deletes that apply to none of them."""
        data, deletes = pairs
        if self.files is None or not len(data):
            return DeleteFiles(no_deletes(), np.zeros(n_files + 1, np.int64), np.zeros(0, np.int32))
        is_used = np.zeros(self.files.num_rows, bool)
        is_used[deletes] = True
        indices = (np.cumsum(is_used, dtype=np.int32) - 1)[deletes]
        offsets = np.zeros(n_files + 1, np.int64)
        np.add.at(offsets, data + 1, 1)
        np.cumsum(offsets, out=offsets)
        return DeleteFiles(_rows_of(self.files, is_used), offsets, indices)

    def pairs(self, files: pa.Table) -> Pairs:
        """Which rows of :attr:`files` apply to which rows of the data files ``files``, ordered by data file.

        Parameters
        ----------
        files : pyarrow.Table
            ``path``, ``data_sequence_number``, ``spec_id``, and ``partition`` with a member for each partition field
            id.

        Raises
        ------
        CorruptMetadataError
            Two deletion vectors are written for one data file.

        Notes
        -----
        Cost: O(files + deletes log deletes + matches).
        """
        if self.files is None or not files.num_rows:
            return _NO_PAIRS
        kind = self.files["kind"]
        is_vector, is_equality = (to_numpy(pc.equal(kind, value)) for value in (_DELETION_VECTOR, _EQUALITY))
        is_scoped = to_numpy(pc.is_valid(self.files["referenced_data_file"]))
        is_global = is_equality & self._is_unpartitioned()
        is_local = ~is_vector & ~is_scoped & ~is_global
        delete_seq = to_numpy(self.files["data_sequence_number"])

        def match(chosen: np.ndarray, data: np.ndarray, deletes: np.ndarray, strict: bool) -> Pairs:
            rows = np.flatnonzero(chosen)
            if not len(rows):
                return _NO_PAIRS
            return _match(data, to_numpy(files["data_sequence_number"]), rows, deletes[rows], delete_seq[rows], strict)

        named = self._by_path(files, delete_seq, is_vector)
        # If every delete names its file, only the partitions of these files have to be compared.
        rows = np.arange(files.num_rows) if is_local.any() else named[0][np.diff(named[0], prepend=-1) > 0]
        data_partition, delete_partition = self._partition_codes(files, rows)
        same = data_partition[np.searchsorted(rows, named[0])] == delete_partition[named[1]]
        named = named[0][same], named[1][same]
        has_vector = np.zeros(files.num_rows, bool)
        has_vector[named[0][is_vector[named[1]]]] = True
        unnamed = match(is_local & ~is_equality, data_partition, delete_partition, False)
        found = [
            _where(named, ~has_vector[named[0]] | is_vector[named[1]]),
            _where(unnamed, ~has_vector[unnamed[0]]),
            match(is_local & is_equality, data_partition, delete_partition, True),
        ]
        if is_global.any():
            # All files and all these deletes are in one partition.
            data_zeros, delete_zeros = np.zeros(files.num_rows, np.int64), np.zeros(len(delete_seq), np.int64)
            found.append(match(is_global, data_zeros, delete_zeros, True))
        return _in_order(found)

    def _by_path(self, files: pa.Table, delete_seq: np.ndarray, is_vector: np.ndarray) -> Pairs:
        """Pairs of data files and the deletes that name them, of any partition."""
        assert self.files is not None
        named = self.files["referenced_data_file"]
        if named.null_count == len(named):
            return _NO_PAIRS
        data, named = comparable(files["path"], named)
        names = FileKeySet()
        for chunk in named.chunks:
            names.add_batch(*text_buffers(chunk), to_numpy(pc.is_valid(chunk)).view(np.uint8))
        hits, hit_codes = _in(names, data)
        if not len(hits):
            return _NO_PAIRS
        rows, codes = _in(names, named)
        present, _ = find_in_sorted(np.unique(hit_codes, return_counts=True)[0], codes)
        rows, codes = rows[present], codes[present]
        self._check_vectors(rows[is_vector[rows]], codes[is_vector[rows]])
        data_seq = to_numpy(_taken(files["data_sequence_number"], hits))
        data_rows, deletes = _match(hit_codes, data_seq, rows, codes, delete_seq[rows], False)
        return hits[data_rows], deletes

    def _check_vectors(self, rows: np.ndarray, codes: np.ndarray) -> None:
        """Refuse two vectors for one data file, among the deletes at ``rows``. ``codes`` identify their data files."""
        assert self.files is not None
        _, first, counts = np.unique(codes, return_index=True, return_counts=True)
        if (counts > 1).any():
            row = int(rows[first[counts > 1][0]])
            raise CorruptMetadataError(
                "two deletion vectors are written for one data file",
                path=self.files["referenced_data_file"][row].as_py(),
                field="referenced_data_file",
            )

    def _is_unpartitioned(self) -> np.ndarray:
        assert self.files is not None
        spec_ids = to_numpy(self.files["spec_id"])
        return np.isin(spec_ids, [i for i, spec in self._specs.items() if is_unpartitioned(spec)])

    def _partition_codes(self, files: pa.Table, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Codes that are equal where spec and partition are, of the data files at ``rows`` and of all deletes."""
        specs = to_numpy(_taken(files["spec_id"], rows))
        data_codes = np.empty(len(rows), np.int64)
        delete_codes: dict[int, np.ndarray] = {}
        used = 0
        for spec_id in dict.fromkeys([*distinct(specs), *(i for i, _ in self._tables)]):
            of_spec = np.flatnonzero(specs == spec_id)
            partitions = [_taken(files["partition"], rows[of_spec])]
            partitions += [flat(t["partition"]) for i, t in self._tables if i == spec_id]
            fields = self._specs[spec_id].fields if spec_id in self._specs else ()
            columns = [[pc.struct_field(p, str(f.id)) for p in partitions] for f in fields]
            codes, bound = row_codes(columns, sum(map(len, partitions)))
            data_codes[of_spec] = codes[: len(of_spec)] + used
            delete_codes[spec_id] = codes[len(of_spec) :] + used
            used += bound
        return data_codes, self._in_table_order(delete_codes)

    def _in_table_order(self, by_spec: dict[int, np.ndarray]) -> np.ndarray:
        """Put codes that were computed for each spec into the order of the tables."""
        taken = dict.fromkeys(by_spec, 0)
        ordered = []
        for spec_id, table in self._tables:
            start = taken[spec_id]
            taken[spec_id] = start + table.num_rows
            ordered.append(by_spec[spec_id][start : taken[spec_id]])
        return np.concatenate(ordered)


def _in(names: FileKeySet, paths: pa.ChunkedArray) -> tuple[np.ndarray, np.ndarray]:
    """The rows of ``paths`` that are among ``names``, and for each the number of the name."""
    rows, codes, start = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], 0
    for chunk in paths.chunks:
        found = names.find_batch(*text_buffers(chunk))
        hits = np.flatnonzero((found >= 0) & to_numpy(pc.is_valid(chunk)))
        rows.append(hits + start)
        codes.append(found[hits])
        start += len(chunk)
    return np.concatenate(rows), np.concatenate(codes)


def _taken(column: pa.ChunkedArray, rows: np.ndarray) -> pa.Array:
    """The values at ``rows`` (int64, ascending). Arrow's own function would concatenate the chunks first."""
    if len(rows) == len(column):
        return flat(column)
    ends = np.cumsum([len(chunk) for chunk in column.chunks])
    stops = np.searchsorted(rows, ends)
    found, start, first = [column.chunk(0).slice(0, 0)], 0, 0
    for chunk, end, stop in zip(column.chunks, ends.tolist(), stops.tolist(), strict=True):
        if stop > start:
            found.append(pc.take(chunk, to_arrow(rows[start:stop] - first), boundscheck=False))
        start, first = stop, end
    return pa.concat_arrays(found)


def _rows_of(table: pa.Table, chosen: np.ndarray) -> pa.Table:
    """The ``chosen`` rows (bool[n]): slices if they are most of the rows and in few runs, otherwise a copy."""
    ends = np.flatnonzero(np.diff(chosen, prepend=False, append=False)).reshape(-1, 2)
    rows = np.flatnonzero(chosen)
    if 2 * len(rows) < len(chosen) or _RUN * len(ends) > len(rows):
        return pc.take(table, to_arrow(rows))
    return pa.concat_tables([table.slice(start, stop - start) for start, stop in ends.tolist()])


def _where(pairs: Pairs, chosen: np.ndarray) -> Pairs:
    return pairs if chosen.all() else (pairs[0][chosen], pairs[1][chosen])


def _in_order(found: Sequence[Pairs]) -> Pairs:
    found = [pairs for pairs in found if len(pairs[0])]
    if len(found) == 1:
        return found[0]
    data = np.concatenate([np.zeros(0, np.int64), *(p[0] for p in found)])
    deletes = np.concatenate([np.zeros(0, np.int64), *(p[1] for p in found)])
    order = np.argsort(data, kind="stable")
    return data[order], deletes[order]


def is_unpartitioned(spec: PartitionSpec) -> bool:
    """Whether the spec has no fields but ``void`` ones."""
    return all(f.transform.name == "void" for f in spec.fields)


def _match(
    data_partition: np.ndarray,
    data_seq: np.ndarray,
    rows: np.ndarray,
    partition: np.ndarray,
    seq: np.ndarray,
    strict: bool,
) -> Pairs:
    """Pairs of data files and deletes of one partition, ordered by data file.

    The deletes are sorted by partition, then sequence number. Those of one data file are then a run, which two binary
    searches find.

    Parameters
    ----------
    data_partition, data_seq : int64[n files]
        The partition code and the data sequence number of each data file.
    rows, partition, seq : int64[n deletes]
        The row, partition code and data sequence number of each delete.
    strict : bool
        The delete's sequence number must be greater than the file's; otherwise it may be equal.
    """
    if not len(rows):
        return _NO_PAIRS
    partitions, of_delete = np.unique(partition, return_inverse=True)
    chosen, index = find_in_sorted(partitions, data_partition)
    numbers, rank_of_delete = np.unique(seq, return_inverse=True)
    step = len(numbers) + 1
    key = of_delete * step + rank_of_delete
    order = np.argsort(key, kind="stable")
    key, rows = key[order], rows[order]
    rank = np.searchsorted(numbers, data_seq[chosen], side="right" if strict else "left")
    start = np.searchsorted(key, index * step + rank)
    count = np.searchsorted(key, (index + 1) * step) - start
    data = np.repeat(chosen, count)
    within = np.arange(len(data)) - np.repeat(np.cumsum(count) - count, count)
    return data, rows[np.repeat(start, count) + within]
