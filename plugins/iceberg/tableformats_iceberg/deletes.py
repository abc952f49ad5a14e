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

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tableformats.errors import CorruptMetadataError
from tableformats.plugin import DeleteFiles, PartitionSpec

from .entries import EQUALITY_DELETES, FILE, FILE_PATH_ID, Entries
from .paths import comparable

__all__ = ["DeleteIndex", "DELETION_VECTOR", "EQUALITY", "POSITION", "is_unpartitioned", "no_deletes"]

DELETION_VECTOR, POSITION, EQUALITY = "deletion_vector", "position", "equality"

Pairs = tuple[np.ndarray, np.ndarray]
"""Row numbers of data files and of deletes, of one length."""


class DeleteIndex:
    """All live deletes of some manifests.

    Parameters
    ----------
    entries : those of the manifests, whose places in the manifest list are ``manifests`` (None: all, in its order)

    Raises
    ------
    CorruptMetadataError : a deletion vector without path, offset or size; two of them for one data file
    """

    def __init__(
        self, entries: Sequence[Entries], specs: Mapping[int, PartitionSpec], manifests: Sequence[int] | None = None
    ) -> None:
        self._specs = specs
        found = zip(entries, range(len(entries)) if manifests is None else manifests, strict=True)
        self._tables = [(e.spec_id, _delete_table(e, place)) for e, place in found if e.files.num_rows]
        self.files = pa.concat_tables([t.drop_columns("partition") for _, t in self._tables]) if self._tables else None

    def attached(self, pairs: Pairs, n_files: int) -> DeleteFiles:
        """The deletes of ``n_files`` files by :meth:`pairs`; those that apply to nothing are left out."""
        data, deletes = pairs
        if self.files is None or not len(data):
            return DeleteFiles(no_deletes(), np.zeros(n_files + 1, np.int64), np.zeros(0, np.int32))
        used, indices = np.unique(deletes, return_inverse=True)
        offsets = np.zeros(n_files + 1, np.int64)
        np.cumsum(np.bincount(data, minlength=n_files), out=offsets[1:])
        return DeleteFiles(self.files.take(pa.array(used, pa.int64())), offsets, indices.astype(np.int32))

    def pairs(self, files: pa.Table) -> Pairs:
        """Which rows of ``files`` and of :attr:`files` belong together, by data file, then by delete.

        ``files`` has path, data_sequence_number, spec_id, and partition with members called by partition field id.
        Cost: O((files + deletes) log + matches).
        """
        if self.files is None or not files.num_rows:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        kind = np.asarray(self.files["kind"].to_numpy())
        is_vector, is_equality = kind == DELETION_VECTOR, kind == EQUALITY
        scope = self.files["referenced_data_file"].combine_chunks()
        is_scoped = pc.is_valid(scope).to_numpy(zero_copy_only=False)
        data_path, scope_path = _path_codes(files["path"], scope)
        self._check_vectors(scope_path, is_vector)
        data_partition, delete_partition = self._partition_codes(files)
        data_seq = _flat(files["data_sequence_number"]).to_numpy(zero_copy_only=False)
        delete_seq = self.files["data_sequence_number"].to_numpy()
        # One number for path and partition together; -1 where the file is named by no delete.
        width = int(max(data_partition.max(), delete_partition.max())) + 1
        data_both = np.where(data_path >= 0, data_path * width + data_partition, -1)
        delete_both = np.where(scope_path >= 0, scope_path * width + delete_partition, -2)
        everything = np.zeros(len(data_seq), np.int64)

        def match(chosen: np.ndarray, data: np.ndarray, deletes: np.ndarray, strict: bool = False) -> Pairs:
            rows = np.flatnonzero(chosen)
            return _match(data, data_seq, rows, deletes[rows], delete_seq[rows], strict)

        vectors = match(is_vector, data_both, delete_both)
        is_position = ~is_vector & ~is_equality
        is_global = is_equality & self._is_unpartitioned()
        positions = [
            match(is_position & is_scoped, data_both, delete_both),
            match(is_position & ~is_scoped, data_partition, delete_partition),
        ]
        has_vector = np.zeros(len(data_seq), bool)
        has_vector[vectors[0]] = True
        pairs = [vectors]
        pairs += [(d[~has_vector[d]], s[~has_vector[d]]) for d, s in positions]
        pairs.append(match(is_equality & ~is_global, data_partition, delete_partition, strict=True))
        pairs.append(match(is_global, everything, np.zeros(len(delete_seq), np.int64), strict=True))
        return _in_order(pairs)

    def _check_vectors(self, scope_path: np.ndarray, is_vector: np.ndarray) -> None:
        """At most one vector a data file, among the files that are planned."""
        assert self.files is not None
        found = scope_path[is_vector & (scope_path >= 0)]
        values, counts = np.unique(found, return_counts=True)
        if (counts > 1).any():
            row = int(np.flatnonzero(is_vector & (scope_path == values[counts > 1][0]))[0])
            raise CorruptMetadataError(
                "two deletion vectors are written for one data file",
                path=self.files["referenced_data_file"][row].as_py(), field="referenced_data_file",
            )  # fmt: skip

    def _is_unpartitioned(self) -> np.ndarray:
        assert self.files is not None
        spec_ids = self.files["spec_id"].to_numpy()
        return np.isin(spec_ids, [i for i, spec in self._specs.items() if is_unpartitioned(spec)])

    def _partition_codes(self, files: pa.Table) -> tuple[np.ndarray, np.ndarray]:
        """A number for each distinct (spec, partition), of data files and of deletes alike."""
        partition = _flat(files["partition"])
        data_spec = _flat(files["spec_id"]).to_numpy(zero_copy_only=False)
        data_codes = np.full(files.num_rows, -1, np.int64)
        delete_codes = []
        used = 0
        for spec_id in dict.fromkeys([*np.unique(data_spec).tolist(), *(i for i, _ in self._tables)]):
            data_rows = np.flatnonzero(data_spec == spec_id)
            parts = [_flat(t["partition"]) for i, t in self._tables if i == spec_id]
            columns = [
                (pc.struct_field(partition, str(f.id)).take(pa.array(data_rows)),
                 [pc.struct_field(p, str(f.id)) for p in parts])
                for f in self._specs[spec_id].fields
            ] if spec_id in self._specs else []  # fmt: skip
            count = len(data_rows) + sum(len(p) for p in parts)
            codes = _row_codes(columns, count) + used
            used += count + 1
            data_codes[data_rows] = codes[: len(data_rows)]
            delete_codes.append((spec_id, codes[len(data_rows) :]))
        return data_codes, self._in_table_order(dict(delete_codes))

    def _in_table_order(self, by_spec: dict[int, np.ndarray]) -> np.ndarray:
        """Codes that were made spec by spec, put back into the order of the tables."""
        taken = dict.fromkeys(by_spec, 0)
        ordered = []
        for spec_id, table in self._tables:
            start = taken[spec_id]
            taken[spec_id] = start + table.num_rows
            ordered.append(by_spec[spec_id][start : taken[spec_id]])
        return np.concatenate(ordered)


def _in_order(found: Sequence[Pairs]) -> Pairs:
    data = np.concatenate([p[0] for p in found])
    deletes = np.concatenate([p[1] for p in found])
    order = np.lexsort((deletes, data))
    return data[order], deletes[order]


def is_unpartitioned(spec: PartitionSpec) -> bool:
    return all(f.transform.name == "void" for f in spec.fields)


def _match(
    data_group: np.ndarray, data_seq: np.ndarray, rows: np.ndarray, group: np.ndarray, seq: np.ndarray, strict: bool
) -> Pairs:
    """Pairs of data files and deletes (``rows``) of one group, where the delete's sequence number is not less than
    (``strict``: greater than) the file's.

    Deletes are sorted by group, then sequence number: those of one file are a run, found by two binary searches.
    """
    if not len(rows):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    numbers = np.unique(seq)
    groups = np.unique(group)
    step = len(numbers) + 1
    key = np.searchsorted(groups, group) * step + np.searchsorted(numbers, seq)
    order = np.argsort(key, kind="stable")
    key, rows = key[order], rows[order]
    place = np.searchsorted(groups, data_group)
    known = (place < len(groups)) & (groups[np.minimum(place, len(groups) - 1)] == data_group)
    rank = np.searchsorted(numbers, data_seq, side="right" if strict else "left")
    start = np.searchsorted(key, place * step + rank)
    count = np.where(known, np.searchsorted(key, (place + 1) * step) - start, 0)
    data = np.repeat(np.arange(len(data_group)), count)
    within = np.arange(len(data)) - np.repeat(np.cumsum(count) - count, count)
    return data, rows[np.repeat(start, count) + within]


def _path_codes(data: pa.ChunkedArray, scope: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """A number for each distinct path that a delete names; -1 for other data files, and for deletes without one
    or whose file is not among ``data``."""
    if scope.null_count == len(scope):
        return np.full(len(data), -1, np.int64), np.full(len(scope), -1, np.int64)
    paths, scope = comparable(_flat(data), scope)
    distinct = pc.unique(scope.drop_null())
    data_codes = pc.fill_null(pc.index_in(paths, value_set=distinct), -1).to_numpy(zero_copy_only=False)
    scope_codes = pc.fill_null(pc.index_in(scope, value_set=distinct), -1).to_numpy(zero_copy_only=False)
    present = np.isin(scope_codes, data_codes)
    return data_codes.astype(np.int64), np.where(present, scope_codes, -1).astype(np.int64)


def _row_codes(columns: Sequence[tuple[pa.Array, list[pa.Array]]], count: int) -> np.ndarray:
    """int64[count]: equal numbers for rows that are equal in all columns, each below ``count``."""
    codes = np.zeros(count, np.int64)
    for first, others in columns:
        arrays = [_by_bits(first), *(_by_bits(a.cast(first.type)) for a in others)]
        encoded = pa.concat_arrays(arrays).dictionary_encode(null_encoding="encode")
        own = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        # Renumbered at every column, so that the product stays small.
        codes = np.unique(codes * (len(encoded.dictionary) + 1) + own, return_inverse=True)[1].astype(np.int64)
    return codes


def _by_bits(values: pa.Array) -> pa.Array:
    """Floats as the integers of their bits, with one NaN; other types as they are."""
    if pa.types.is_null(values.type):
        return values.cast(pa.int32())
    if not pa.types.is_floating(values.type):
        return values
    nan = pa.scalar(float("nan"), values.type)
    one = pc.if_else(pc.fill_null(pc.is_nan(values), False), nan, values)
    return one.view(pa.int32() if values.type == pa.float32() else pa.int64())


def _flat(column: pa.ChunkedArray) -> pa.Array:
    flat = column.combine_chunks()
    return flat if isinstance(flat, pa.Array) else pa.concat_arrays(flat.chunks)


# ---- the table of deletes -------------------------------------------------------------------------------------------


def no_deletes() -> pa.Table:
    """:attr:`DeleteIndex.files` of a snapshot without deletes."""
    return _delete_schema().empty_table()


def _delete_schema() -> pa.Schema:
    return pa.schema([
        ("kind", pa.string()), ("path", pa.string()), ("offset", pa.int64()), ("size_bytes", pa.int64()),
        ("cardinality", pa.int64()), ("record_count", pa.int64()),
        ("file_format", pa.string()), ("equality_ids", pa.list_(pa.int32())), ("data_sequence_number", pa.int64()),
        ("spec_id", pa.int32()), ("referenced_data_file", pa.string()),
        ("manifest", pa.int32()), ("entry", pa.int32()),
    ])  # fmt: skip


def _delete_table(entries: Entries, manifest: int) -> pa.Table:
    """One manifest's deletes in the columns of :attr:`DeleteFiles.files`, and their partition. ``manifest`` and
    ``entry`` are the places of the manifest in its list and of the file among the live entries."""
    files = entries.files
    is_equality = pc.equal(files["content"], EQUALITY_DELETES)
    is_vector = pc.and_(pc.invert(is_equality), pc.equal(files["file_format"], "puffin"))
    _check_vector_fields(entries, is_vector)
    null, no_path = pa.scalar(None, pa.int64()), pa.scalar(None, pa.string())
    named = pc.coalesce(files["referenced_data_file"], _one_path(entries))
    columns = {
        "kind": pc.if_else(is_equality, EQUALITY, pc.if_else(is_vector, DELETION_VECTOR, POSITION)),
        "path": files["path"],
        "offset": pc.if_else(is_vector, files["content_offset"], null),
        "size_bytes": pc.if_else(is_vector, files["content_size_in_bytes"], files["size_bytes"]),
        "cardinality": pc.if_else(is_vector, files["record_count"], null),
        "record_count": files["record_count"],
        "file_format": files["file_format"],
        "equality_ids": files["equality_ids"],
        "data_sequence_number": files["data_sequence_number"],
        "spec_id": pa.array(np.full(files.num_rows, entries.spec_id, np.int32)),
        "referenced_data_file": pc.if_else(is_equality, no_path, named),
        "manifest": pa.array(np.full(files.num_rows, manifest, np.int32)),
        "entry": pa.array(np.arange(files.num_rows, dtype=np.int32)),
        "partition": files["partition"],
    }  # fmt: skip
    table = pa.table(columns)
    wanted = _delete_schema()
    typed = pa.table([_flat(table[f.name]).cast(f.type) for f in wanted], schema=wanted)
    return typed.append_column("partition", table["partition"])


def _check_vector_fields(entries: Entries, is_vector: pa.Array) -> None:
    for name in ("referenced_data_file", "content_offset", "content_size_in_bytes"):
        if pc.any(pc.and_(is_vector, pc.is_null(entries.files[name]))).as_py():
            raise CorruptMetadataError(
                "a deletion vector lacks a required field", path=entries.columns.source, field=name
            )


def _one_path(entries: Entries) -> pa.Array:
    """string[n]: the only path that a position delete file names, where its bounds of ``file_path`` are equal."""
    lower = entries.columns.map_columns((FILE, 125)).get(FILE_PATH_ID)
    upper = entries.columns.map_columns((FILE, 128)).get(FILE_PATH_ID)
    if lower is None or upper is None:
        return pa.nulls(entries.files.num_rows, pa.string())
    low, high = (raw.take(entries.rows).bytes_array(pa.binary()) for raw in (lower, upper))
    same = pc.fill_null(pc.equal(low, high), False)
    values = pc.if_else(same, low, pa.scalar(None, pa.binary()))
    try:
        return values.cast(pa.string())
    except pa.ArrowInvalid:
        # Not UTF-8, so no path: these files are matched by partition.
        return pa.nulls(len(values), pa.string())
