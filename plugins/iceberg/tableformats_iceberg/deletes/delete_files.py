"""Reads the contents of delete files (Parquet, ORC or Avro): positions by data file, and keys of equality deletes.

Decoded delete files are cached: one position delete file may apply to all data files of a partition, and a later query
reads the same files.
Source: Iceberg spec, "Position Delete Files", "Equality Delete Files", "Reserved Field IDs".
"""

from __future__ import annotations

from array import array
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING, TypedDict, cast

import numpy as np
import pyarrow as pa

from tableformats.plugin import (
    FOOTER_ITEMS,
    CorruptMetadataError,
    Field,
    Limits,
    OrcTail,
    StoreError,
    TableFormatsError,
    Type,
    UnsupportedFeatureError,
    arrow_type,
    check_footer,
    check_pages,
    dataclass,
    free_after_fork,
    is_fault_of_machine,
    missing_file,
    primitive,
    strings,
    to_numpy,
)
from tableformats.plugin import compute as pc

from ..avro.container import Want, read_columns
from ..files.paths import comparable
from ..manifests.entries import FILE_PATH_ID
from ..manifests.values import decode_partition
from .delete_table import DELETION_VECTOR, EQUALITY
from .puffin import parse_deletion_vector

if TYPE_CHECKING:
    from pyroaring import BitMap64

    from ..files.table_files import TableFiles

__all__ = ["DeleteReader"]

POS_ID = 2147483545
"""Reserved id of the column ``pos`` in position delete files."""
_BATCH_ROWS = 4096
_ROW_BYTES = 48
"""What a row of a position delete file takes while rows are put in order."""
MAX_CACHED_BYTES = 256 << 20
_COPIED_POSITIONS = 1 << 20
"""At most so many positions are copied at the same time."""


@dataclass
class _Positions:
    """A position delete file. ``rows[offsets[i]:offsets[i + 1]]`` are deleted from ``paths[i]``."""

    paths: pa.Array
    offsets: np.ndarray
    rows: np.ndarray

    @property
    def nbytes(self) -> int:
        return int(self.rows.nbytes + self.offsets.nbytes + self.paths.nbytes)


class _Delete(TypedDict):
    """A row of the table of deletes, see :mod:`tableformats_iceberg.deletes.delete_table`."""

    kind: str
    path: str
    offset: int
    size_bytes: int
    cardinality: int
    file_format: str
    equality_ids: list[int] | None


def _all_of(bitmaps: list[BitMap64]) -> BitMap64:
    """The positions of all; the first one is changed."""
    from pyroaring import BitMap64

    found = bitmaps[0] if bitmaps else BitMap64()
    for bitmap in bitmaps[1:]:
        found |= bitmap
    return found


class DeleteReader:
    """Reads the delete files of one snapshot. Caches decoded position delete files, up to ``MAX_CACHED_BYTES``.

    Those of earlier queries, and keys of equality deletes, are in the metadata cache, within its budget. Several
    threads may use it; each position delete file is read by one of them.

    Parameters
    ----------
    files : TableFiles
    find_field : callable
        Finds a field of the table by its id.
    """

    def __init__(self, files: TableFiles, find_field: Callable[[int], Field | None]) -> None:
        self._files = files
        self._limits = files.storage.limits
        self._find_field = find_field
        self._cache: OrderedDict[str, _Positions] = OrderedDict()
        self._lock = Lock()
        free_after_fork(self)

    def after_fork(self) -> None:
        """Forget what another thread of the parent may have been changing."""
        self._cache = OrderedDict()

    # ---- positions ----------------------------------------------------------------------------------------------

    def deleted_positions(self, path: str, record_count: int | None, deletes: pa.Table) -> BitMap64:
        """See :meth:`tableformats.plugin.FormatSnapshot.deleted_positions`."""

        found = []
        rows: list[_Delete] = deletes.to_pylist()
        for row in rows:
            if row["kind"] == DELETION_VECTOR:
                found.append(self._vector(row, record_count))
            elif row["kind"] != EQUALITY:
                found.append(self._positions_of(path, row))
        return _all_of(found)

    def _vector(self, row: _Delete, record_count: int | None) -> BitMap64:
        path = self._files.locate(row["path"])
        offset, length = row["offset"], row["size_bytes"]
        if offset < 0 or length < 0:
            raise CorruptMetadataError("a deletion vector has a negative offset or size", path=path, offset=offset)
        try:
            blob = self._files.storage.read_bytes(path, offset, length)
        except FileNotFoundError:
            raise missing_file("a delete file", path) from None
        except StoreError:
            raise
        except OSError as error:
            if is_fault_of_machine(error):
                raise
            raise CorruptMetadataError(
                f"a deletion vector cannot be read: {str(error)[:200]}", path=path, offset=offset
            ) from None
        return parse_deletion_vector(blob, path, offset, row["cardinality"], record_count, self._limits)

    def _positions_of(self, path: str, row: _Delete) -> BitMap64:
        from pyroaring import BitMap64

        positions = self._load(row)
        wanted, known = comparable(pa.chunked_array([strings([path])]), pa.chunked_array([positions.paths]))
        matching = np.flatnonzero(to_numpy(pc.equal(known, wanted[0])))
        parts = []
        for i in matching.tolist():
            rows = positions.rows[positions.offsets[i] : positions.offsets[i + 1]]
            for start in range(0, len(rows), _COPIED_POSITIONS):
                parts.append(BitMap64(array("Q", rows[start : start + _COPIED_POSITIONS].tobytes())))
        found = _all_of(parts)
        if found:
            limits, path = self._limits, self._files.locate(row["path"])
            limits.check("deleted_rows", len(found), "deleted rows of a file", path=path)
            limits.check("file_rows", found.max() + 1, "rows or more of a file with deleted ones", path=path)
        return found

    def _load(self, row: _Delete) -> _Positions:
        path = self._files.locate(row["path"])
        # Data files that are read at the same time mostly share their delete files, so one thread loads for all.
        with self._lock:
            if path in self._cache:
                self._cache.move_to_end(path)
                return self._cache[path]
            loaded = self._files.cache.get(
                self._key(path, row["file_format"], (_PATH_COLUMN, _POS_COLUMN)),
                lambda: self._read_positions(path, row["file_format"]),
                lambda found: found.nbytes,
            )
            self._cache[path] = loaded
            while len(self._cache) > 1 and sum(p.nbytes for p in self._cache.values()) > MAX_CACHED_BYTES:
                self._cache.popitem(last=False)
            return loaded

    def _read_positions(self, path: str, file_format: str) -> _Positions:
        paths, rows = self._read(path, file_format, (_PATH_COLUMN, _POS_COLUMN))
        return _group_by_path(paths, rows, path)

    # ---- equality -----------------------------------------------------------------------------------------------

    def equality_deletes(self, delete: Mapping[str, object]) -> pa.Table:
        """See :meth:`tableformats.plugin.FormatSnapshot.equality_deletes`."""
        row = cast("_Delete", delete)
        path = self._files.locate(row["path"])
        ids = list(row["equality_ids"] or ())
        if not ids:
            raise CorruptMetadataError("an equality delete file names no key columns", path=path, field="equality_ids")
        wanted = []
        for field_id in ids:
            found = self._find_field(field_id)
            if found is None:
                raise CorruptMetadataError(
                    "a key column of an equality delete file is in no schema of the table",
                    path=path,
                    field=str(field_id),
                )
            wanted.append(_Column(field_id, found.name, found.type))
        return self._files.cache.get(
            self._key(path, row["file_format"], wanted),
            lambda: pa.table(self._read(path, row["file_format"], wanted), names=[str(i) for i in ids]),
            lambda found: found.nbytes,
        )

    def _key(self, path: str, file_format: str, columns: Sequence[_Column]) -> Hashable:
        """Names what is read of a delete file, in the metadata cache. A local file that is replaced has another one."""
        try:
            stamp = self._files.storage.stamp_of(path)
        except (OSError, ValueError):  # in a store, where delete files never change, or not there
            stamp = None
        return "deletes", path, file_format, tuple(columns), stamp

    # ---- files --------------------------------------------------------------------------------------------------

    def _read(self, path: str, file_format: str, columns: Sequence[_Column]) -> list[pa.Array]:
        """Read columns, by field id or else by name, in their Arrow types."""
        readers = {"parquet": _read_parquet, "orc": _read_orc, "avro": _read_avro}
        if file_format not in readers:
            raise UnsupportedFeatureError(f"a delete file has the format {file_format!r}", path=path, field=file_format)
        try:
            with self._files.storage.open_file(path) as source:
                return readers[file_format](source, path, columns, self._limits)
        except FileNotFoundError:
            raise missing_file("a delete file", path) from None
        except TableFormatsError:
            raise
        except (pa.ArrowException, OSError, ValueError) as error:
            if is_fault_of_machine(error):
                raise
            raise CorruptMetadataError(f"a delete file cannot be read: {str(error)[:300]}", path=path) from None


@dataclass(frozen=True)
class _Column:
    id: int
    name: str
    type: Type


_PATH_COLUMN = _Column(FILE_PATH_ID, "file_path", primitive("string"))
_POS_COLUMN = _Column(POS_ID, "pos", primitive("long"))


def _group_by_path(paths: pa.Array, rows: pa.Array, path: str) -> _Positions:
    """Group positions by data file. Rows without a path delete nothing; some writers leave such rows."""
    named = pc.is_valid(paths)
    paths, rows = paths.filter(named), rows.filter(named)
    if rows.null_count or (len(rows) and pc.min(rows).as_py() < 0):
        raise CorruptMetadataError("a position delete has no position, or a negative one", path=path, field="pos")
    encoded = paths if pa.types.is_dictionary(paths.type) else paths.dictionary_encode()
    codes = encoded.indices.to_numpy(zero_copy_only=False)
    numbers = rows.to_numpy(zero_copy_only=False)
    if (codes[1:] < codes[:-1]).any():
        numbers = numbers[np.argsort(codes, kind="stable")]
    counts = np.bincount(codes, minlength=len(encoded.dictionary)) if len(codes) else np.zeros(0, np.int64)
    return _Positions(encoded.dictionary, np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), numbers)


def _read_parquet(source: pa.NativeFile, path: str, columns: Sequence[_Column], limits: Limits) -> list[pa.Array]:
    import pyarrow.parquet as pq

    check_footer(source, path, limits)
    with pq.ParquetFile(source, thrift_container_size_limit=FOOTER_ITEMS) as file:
        groups = sum(file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups))
        _check_rows(max(file.metadata.num_rows, groups), source.size(), path, limits)
        check_pages(source, file.metadata, path, limits)
        members = [_find(file.schema_arrow, c, b"PARQUET:field_id", path) for c in columns]
        footer = file.metadata
    # In a dictionary, a few bytes may stand for one text in millions of rows. So texts stay encoded as dictionaries.
    # Arrow cannot do that for nested columns. These are read in small batches, and their size is checked.
    names = [".".join(names) for names in members]
    is_nested = any(len(names) > 1 for names in members)
    texts = [name for name, c in zip(names, columns, strict=True) if arrow_type(c.type) in (pa.string(), pa.binary())]
    with pq.ParquetFile(source, metadata=footer, read_dictionary=None if is_nested else texts) as file:
        if is_nested:
            batches = file.iter_batches(_BATCH_ROWS, columns=names, use_threads=False)
            table = _concat_within_limit(batches, file.schema_arrow, path, limits, source.size())
        else:
            table = file.read(columns=names, use_threads=False)
    return [_member(table, names, c, path, limits) for names, c in zip(members, columns, strict=True)]


def _check_rows(n_rows: int, stored: int, path: str, limits: Limits) -> None:
    """Raise LimitExceededError for more rows than the limits allow, or than a file of ``stored`` bytes may become."""
    limits.check("entries", n_rows, "rows of a delete file", path=path)
    if n_rows * _ROW_BYTES > limits.budget(stored):
        raise limits.exceeded("expansion", f"{n_rows} rows of a delete file from {stored} bytes", path=path)


def _concat_within_limit(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, path: str, limits: Limits, stored: int
) -> pa.Table:
    """Concatenate the batches of a file with that schema. Decodes at most one batch more than the limit allows."""
    found, size, bounds = [], 0, limits.within(stored)
    for batch in batches:
        size += batch.nbytes
        if size > bounds.decoded_bytes:
            raise limits.exceeded("decoded_bytes", f"{size} bytes of a delete file", path=path, stored=stored)
        found.append(batch)
    return pa.Table.from_batches(found) if found else schema.empty_table()


def _read_orc(source: pa.NativeFile, path: str, columns: Sequence[_Column], limits: Limits) -> list[pa.Array]:
    from pyarrow import orc
    from pyarrow.dataset import OrcFileFormat

    file = orc.ORCFile(source)
    _check_rows(file.nrows, source.size(), path, limits)
    members = [_find(file.schema, c, b"iceberg.id", path) for c in columns]
    has_times = any(pa.types.is_timestamp(arrow_type(c.type)) for c in columns)
    doubt = OrcTail(source).timestamp_problem(file.schema, {names[0] for names in members}) if has_times else None
    if doubt is not None:
        raise UnsupportedFeatureError(
            f"timestamps of an ORC delete file are not read: {doubt}",
            path=path,
            field="ORC timestamps",
            hint="Rewrite the delete file, or the data files that it deletes from",
        )
    # Arrow's ORC reader decodes whole stripes, in which a few bytes may stand for one text in millions of rows. Its
    # dataset reader gives small batches instead. Their texts are encoded as dictionaries again.
    scanner = (
        OrcFileFormat()
        .make_fragment(source)
        .scanner(columns=list(dict.fromkeys(names[0] for names in members)), batch_size=_BATCH_ROWS, use_threads=False)
    )
    table = _concat_within_limit(map(_encoded, scanner.to_batches()), file.schema, path, limits, source.size())
    return [_member(table, names, c, path, limits) for names, c in zip(members, columns, strict=True)]


def _encoded(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch with its string and binary columns as dictionaries."""
    columns = [c.dictionary_encode() if c.type in (pa.string(), pa.binary()) else c for c in batch.columns]
    return pa.RecordBatch.from_arrays(columns, batch.schema.names)


def _read_avro(source: pa.NativeFile, path: str, columns: Sequence[_Column], limits: Limits) -> list[pa.Array]:
    wants = [Want(c.id, (c.name,), "any") for c in columns]
    limits.check("metadata_bytes", source.size(), "bytes", path=path)
    raw = read_columns(bytes(source.read()), wants, (), path, limits=limits)
    for c in columns:
        if not raw.has((c.id,)):
            raise CorruptMetadataError("a delete file lacks a column", path=path, field=c.name)
    return [decode_partition(raw[(c.id,)], c.type, path, c.name) for c in columns]


def _find(schema: pa.Schema, column: _Column, key: bytes, path: str) -> list[str]:
    """The names from the top-level column to the field with the id. In a file without ids, the column of the name."""
    stack: list[tuple[list[str], pa.Field]] = [([f.name], f) for f in schema]
    has_ids = False
    while stack:
        names, found = stack.pop()
        field_id = (found.metadata or {}).get(key)
        has_ids |= field_id is not None
        if field_id == str(column.id).encode():
            return names
        if pa.types.is_struct(found.type):
            stack += [([*names, found.type.field(i).name], found.type.field(i)) for i in range(found.type.num_fields)]
    if not has_ids and schema.get_field_index(column.name) >= 0:
        return [column.name]
    raise CorruptMetadataError("a delete file lacks a column", path=path, field=column.name)


def _member(table: pa.Table, names: list[str], column: _Column, path: str, limits: Limits) -> pa.Array:
    found = table[names[0]].unify_dictionaries().combine_chunks()
    array: pa.Array = found if isinstance(found, pa.Array) else pa.concat_arrays(found.chunks)
    for name in names[1:]:
        array = pc.struct_field(array, name)
    if isinstance(array.type, pa.BaseExtensionType):
        array = array.storage
    try:
        (array.dictionary if pa.types.is_dictionary(array.type) else array).validate(full=True)
    except pa.ArrowInvalid:
        raise CorruptMetadataError(
            "a delete file's column of texts is not UTF-8", path=path, field=column.name
        ) from None
    if pa.types.is_dictionary(array.type):
        if column is _PATH_COLUMN and array.type.value_type == pa.string():
            return array
        size = pc.sum(pc.binary_length(array.dictionary).take(array.indices), min_count=0).as_py()
        limits.check("decoded_bytes", size, "bytes of a column of a delete file", path=path, field=column.name)
        array = array.dictionary_decode()
    target = arrow_type(column.type)
    try:
        return array if array.type == target else array.cast(target)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise CorruptMetadataError(
            f"a delete file's column of type {array.type} is no {column.type}", path=path, field=column.name
        ) from None
