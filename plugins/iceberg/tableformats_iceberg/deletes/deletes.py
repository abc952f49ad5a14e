"""Which deletes apply to which data files: matched by columns, without a step for every pair that does not apply.

The rules (Iceberg spec, "Scan Planning"), ``d`` the data file's data sequence number and ``s`` the delete's:

================== ============ =======================================================================
deletion vector    ``d <= s``   its ``referenced_data_file`` is the file; same spec and partition
position deletes   ``d <= s``   same spec and partition; where they name one file, that file; not where the file has a
                                deletion vector
equality deletes   ``d < s``    same spec and partition, or the delete's spec is unpartitioned
================== ============ =======================================================================

Partitions are equal by bits, NaN being one value. A position delete file names one file by ``referenced_data_file``
or by equal bounds of its ``file_path`` column.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

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

from ..manifests.entries import EQUALITY_DELETES, Entries, places_of
from ..metadata.paths import comparable
from .partition_codes import places, row_codes

__all__ = [
    "DeleteIndex",
    "DeletesOf",
    "DELETION_VECTOR",
    "EQUALITY",
    "POSITION",
    "Stretch",
    "deletes_of",
    "is_unpartitioned",
    "no_deletes",
]

DELETION_VECTOR, POSITION, EQUALITY = "deletion_vector", "position", "equality"
_DELETION_VECTOR, _POSITION, _EQUALITY, _PUFFIN = (
    scalar(text, pa.string()) for text in (DELETION_VECTOR, POSITION, EQUALITY, "puffin")
)

_RUN = 64
"""Rows that a run has on average at least, where rows are cut out and not copied: shorter ones would make more chunks
than are worth it to whoever reads them."""

Pairs = tuple[np.ndarray, np.ndarray]
"""Row numbers of data files and of deletes, of one length."""
_NO_PAIRS: Pairs = np.zeros(0, np.int64), np.zeros(0, np.int64)


class DeleteIndex:
    """Live deletes of some manifests, of each of them by :func:`deletes_of`.

    Raises
    ------
    CorruptMetadataError : two deletion vectors for one data file
    """

    def __init__(self, deletes: Iterable[DeletesOf], specs: Mapping[int, PartitionSpec]) -> None:
        self._specs = specs
        self._tables = [one for one in deletes if one.table.num_rows]
        self.files = pa.concat_tables([t.drop_columns("partition") for _, t in self._tables]) if self._tables else None

    def attached(self, pairs: Pairs, n_files: int) -> DeleteFiles:
        """The deletes of ``n_files`` files by :meth:`pairs`; those that apply to nothing are left out."""
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
        """Which rows of ``files`` and of :attr:`files` belong together, in the order of the data files.

        ``files`` has path, data_sequence_number, spec_id, and partition with members called by partition field id.
        Cost: O(files + deletes log deletes + matches).
        """
        if self.files is None or not files.num_rows:
            return _NO_PAIRS
        kind = self.files["kind"]
        is_vector, is_equality = (to_numpy(pc.equal(kind, one)) for one in (_DELETION_VECTOR, _EQUALITY))
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
        # Partitions are compared for all files only where a delete is not bound to one of them.
        rows = np.arange(files.num_rows) if is_local.any() else named[0][np.diff(named[0], prepend=-1) > 0]
        data_partition, delete_partition = self._partition_codes(files, rows)
        same = data_partition[np.searchsorted(rows, named[0])] == delete_partition[named[1]]
        named = named[0][same], named[1][same]
        has_vector = np.zeros(files.num_rows, bool)
        has_vector[named[0][is_vector[named[1]]]] = True
        loose = match(is_local & ~is_equality, data_partition, delete_partition, False)
        found = [
            _where(named, ~has_vector[named[0]] | is_vector[named[1]]),
            _where(loose, ~has_vector[loose[0]]),
            match(is_local & is_equality, data_partition, delete_partition, True),
        ]
        if is_global.any():
            every, each = np.zeros(files.num_rows, np.int64), np.zeros(len(delete_seq), np.int64)
            found.append(match(is_global, every, each, True))
        return _in_order(found)

    def _by_path(self, files: pa.Table, delete_seq: np.ndarray, is_vector: np.ndarray) -> Pairs:
        """Pairs by the path that a delete names, whatever their partitions."""
        assert self.files is not None
        scope = self.files["referenced_data_file"]
        if scope.null_count == len(scope):
            return _NO_PAIRS
        data, scope = comparable(files["path"], scope)
        names = FileKeySet()
        for chunk in scope.chunks:
            names.add_batch(*text_buffers(chunk), to_numpy(pc.is_valid(chunk)).view(np.uint8))
        hits, hit_codes = _in(names, data)
        if not len(hits):
            return _NO_PAIRS
        rows, codes = _in(names, scope)
        present, _ = places(np.unique(hit_codes, return_counts=True)[0], codes)
        rows, codes = rows[present], codes[present]
        self._check_vectors(rows[is_vector[rows]], codes[is_vector[rows]])
        data_seq = to_numpy(_taken(files["data_sequence_number"], hits))
        data_rows, deletes = _match(hit_codes, data_seq, rows, codes, delete_seq[rows], False)
        return hits[data_rows], deletes

    def _check_vectors(self, rows: np.ndarray, codes: np.ndarray) -> None:
        """At most one vector a data file, among the ``rows`` of files that are planned; ``codes`` tell the files."""
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
        """A number for each distinct (spec, partition), of the data files in ``rows`` and of all deletes."""
        specs = to_numpy(_taken(files["spec_id"], rows))
        data_codes = np.empty(len(rows), np.int64)
        delete_codes: dict[int, np.ndarray] = {}
        used = 0
        for spec_id in dict.fromkeys([*distinct(specs), *(i for i, _ in self._tables)]):
            own = np.flatnonzero(specs == spec_id)
            chosen = _taken(files["partition"], rows[own])
            parts = [flat(t["partition"]) for i, t in self._tables if i == spec_id]
            columns = (
                [[pc.struct_field(p, str(f.id)) for p in (chosen, *parts)] for f in self._specs[spec_id].fields]
                if spec_id in self._specs
                else []
            )
            codes, bound = row_codes(columns, len(own) + sum(len(p) for p in parts))
            data_codes[own] = codes[: len(own)] + used
            delete_codes[spec_id] = codes[len(own) :] + used
            used += bound
        return data_codes, self._in_table_order(delete_codes)

    def _in_table_order(self, by_spec: dict[int, np.ndarray]) -> np.ndarray:
        """Codes that were made spec by spec, put back into the order of the tables."""
        taken = dict.fromkeys(by_spec, 0)
        ordered = []
        for spec_id, table in self._tables:
            start = taken[spec_id]
            taken[spec_id] = start + table.num_rows
            ordered.append(by_spec[spec_id][start : taken[spec_id]])
        return np.concatenate(ordered)


def _in(names: FileKeySet, paths: pa.ChunkedArray) -> tuple[np.ndarray, np.ndarray]:
    """The rows of ``paths`` that are among ``names``, and the name's number of each."""
    rows, codes, start = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], 0
    for chunk in paths.chunks:
        found = names.find_batch(*text_buffers(chunk))
        own = np.flatnonzero((found >= 0) & to_numpy(pc.is_valid(chunk)))
        rows.append(own + start)
        codes.append(found[own])
        start += len(chunk)
    return np.concatenate(rows), np.concatenate(codes)


def _taken(column: pa.ChunkedArray, rows: np.ndarray) -> pa.Array:
    """The values in ``rows`` (int64, ascending), chunk by chunk: Arrow would join the chunks first."""
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
    """The rows that are ``chosen`` (bool[n]); not copied where they are most, and in few runs."""
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
    return all(f.transform.name == "void" for f in spec.fields)


def _match(
    data_group: np.ndarray, data_seq: np.ndarray, rows: np.ndarray, group: np.ndarray, seq: np.ndarray, strict: bool
) -> Pairs:
    """Pairs of data files and deletes (``rows``) of one group, where the delete's sequence number is not less than
    (``strict``: greater than) the file's; in the order of the data files.

    Deletes are sorted by group, then sequence number: those of one file are a run, found by two binary searches.
    """
    if not len(rows):
        return _NO_PAIRS
    groups, of_delete = np.unique(group, return_inverse=True)
    chosen, place = places(groups, data_group)
    numbers, rank_of_delete = np.unique(seq, return_inverse=True)
    step = len(numbers) + 1
    key = of_delete * step + rank_of_delete
    order = np.argsort(key, kind="stable")
    key, rows = key[order], rows[order]
    rank = np.searchsorted(numbers, data_seq[chosen], side="right" if strict else "left")
    start = np.searchsorted(key, place * step + rank)
    count = np.searchsorted(key, (place + 1) * step) - start
    data = np.repeat(chosen, count)
    within = np.arange(len(data)) - np.repeat(np.cumsum(count) - count, count)
    return data, rows[np.repeat(start, count) + within]


# ---- the table of deletes -------------------------------------------------------------------------------------------


def no_deletes() -> pa.Table:
    """:attr:`DeleteIndex.files` of a snapshot without deletes."""
    return pa.Table.from_batches([], _delete_schema())


def _delete_schema() -> pa.Schema:
    return pa.schema(
        [
            ("kind", pa.string()),
            ("path", pa.string()),
            ("offset", pa.int64()),
            ("size_bytes", pa.int64()),
            ("cardinality", pa.int64()),
            ("record_count", pa.int64()),
            ("file_format", pa.string()),
            ("equality_ids", pa.list_(pa.int32())),
            ("data_sequence_number", pa.int64()),
            ("spec_id", pa.int32()),
            ("referenced_data_file", pa.string()),
            ("manifest", pa.int32()),
            ("entry", pa.int32()),
        ]
    )


class DeletesOf(NamedTuple):
    """Deletes of one spec, in the columns of :attr:`DeleteFiles.files`, and their partition. ``manifest`` and ``entry``
    are the places of the manifest in its list and of the file among the manifest's live entries."""

    spec_id: int
    table: pa.Table


class Stretch(NamedTuple):
    """``n_files`` entries of one manifest: its place in the list, and its path."""

    manifest: int
    n_files: int
    path: str


def deletes_of(entries: Entries, stretches: Sequence[Stretch]) -> DeletesOf:
    """All deletes of manifests whose entries stand one behind the other.

    Raises CorruptMetadataError: a deletion vector without path, offset or size.
    """
    files = entries.files
    is_equality = pc.equal(files["content"], scalar(EQUALITY_DELETES, pa.int32()))
    is_vector = pc.and_(pc.invert(is_equality), pc.equal(files["file_format"], _PUFFIN))
    counts = [stretch.n_files for stretch in stretches]
    _check_vector_fields(files, is_vector, lambda row: stretches[bisect_right(list(accumulate(counts)), row)].path)
    null, no_path = scalar(None, pa.int64()), scalar(None, pa.string())
    named = files["only_path"]
    if files["referenced_data_file"].null_count < files.num_rows:
        named = pc.coalesce(files["referenced_data_file"], named)
    if pc.any(is_equality).as_py():
        named = pc.if_else(is_equality, no_path, named)
    columns = {
        "kind": pc.if_else(is_equality, _EQUALITY, pc.if_else(is_vector, _DELETION_VECTOR, _POSITION)),
        "path": files["path"],
        "offset": pc.if_else(is_vector, files["content_offset"], null),
        "size_bytes": pc.if_else(is_vector, files["content_size_in_bytes"], files["size_bytes"]),
        "cardinality": pc.if_else(is_vector, files["record_count"], null),
        "record_count": files["record_count"],
        "file_format": files["file_format"],
        "equality_ids": files["equality_ids"],
        "data_sequence_number": files["data_sequence_number"],
        "spec_id": to_arrow(np.full(files.num_rows, entries.spec_id, np.int32)),
        "referenced_data_file": named,
        **places_of([stretch.manifest for stretch in stretches], counts),
        "partition": files["partition"],
    }
    table = pa.table(columns)
    wanted = _delete_schema()
    typed = pa.table([pc.cast(flat(table[f.name]), f.type) for f in wanted], schema=wanted)
    return DeletesOf(entries.spec_id, typed.append_column("partition", table["partition"]))


def _check_vector_fields(files: pa.RecordBatch, is_vector: pa.Array, path_of: Callable[[int], str]) -> None:
    for name in ("referenced_data_file", "content_offset", "content_size_in_bytes"):
        lacks = to_numpy(pc.and_(is_vector, pc.is_null(files[name])))
        if lacks.any():
            raise CorruptMetadataError(
                "a deletion vector lacks a required field", path=path_of(int(np.argmax(lacks))), field=name
            )
