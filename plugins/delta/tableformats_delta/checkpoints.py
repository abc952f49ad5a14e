"""Checkpoints: classic, multi-part and V2 ones, Parquet or JSON, read column by column in batches of bounded size.

Only what planning needs is decoded: statistics as text, parsed statistics when they are asked for, removes never.
Absent columns are nulls. Source: Delta PROTOCOL.md, "Checkpoints", "Checkpoint Schema", "Sidecar Files".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from tableformats.errors import CorruptMetadataError
from tableformats.plugin import MetadataCache
from tableformats.storage import missing_file

from .actions import file_rows, file_schema
from .commits import Actions, parse_actions
from .log import LOG_DIRECTORY, Checkpoint, read_log_file
from .parquet_footers import has_sound_chunks
from .row_groups import GroupFilter, RowGroup

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from tableformats.storage import Storage

__all__ = ["CheckpointFile", "CheckpointRows", "expand", "read_metadata"]

_BATCH_ROWS = 131_072
_HINT = "Restore the file from a copy; if the commits before it are still there, remove it and they are read instead"
_VECTOR = {
    "dv_storage": "storageType", "dv_path": "pathOrInlineDv", "dv_offset": "offset", "dv_size": "sizeInBytes",
    "dv_cardinality": "cardinality",
}  # fmt: skip
_PLAIN = {
    "path": "path", "partition_values": "partitionValues", "size": "size", "modification_time": "modificationTime",
    "stats": "stats", "base_row_id": "baseRowId", "row_commit_version": "defaultRowCommitVersion",
}  # fmt: skip
_ADD_COLUMNS = [f"add.{name}" for name in _PLAIN.values()] + ["add.deletionVector"]

ParsedStatistics = Callable[[Sequence[Sequence[str]]], "pa.StructArray | None"]


@dataclass
class CheckpointRows:
    """The add actions of one batch.

    ``rows`` follows :func:`file_schema`. ``parsed`` gives ``add.stats_parsed`` of these rows, of it only the leaves
    that are asked for by their path below it; None where the file has none.
    """

    rows: pa.RecordBatch
    parsed: ParsedStatistics | None = None

    @property
    def size_bytes(self) -> int:
        """Bytes in memory."""
        return int(self.rows.nbytes)


@dataclass
class CheckpointFile:
    """One file of a checkpoint: the checkpoint itself, a part, a V2 manifest or a sidecar."""

    storage: Storage
    path: str
    size: int
    mtime_ms: int = 0
    cache: MetadataCache = field(default_factory=lambda: MetadataCache(0))
    _kept: tuple[Any, pa.StructArray | None] | None = None
    _footer: tuple[pq.FileMetaData, pa.Schema] | None = None
    _sound: bool | None = None

    @property
    def key(self) -> tuple[str, int, int]:
        """What tells the file's content from every other."""
        return self.path, self.size, self.mtime_ms

    @property
    def is_json(self) -> bool:
        return self.path.endswith(".json")

    def actions(self) -> Actions:
        """A JSON manifest's actions. Raises CorruptMetadataError."""
        return parse_actions(read_log_file(self.storage, self.path), self.path)

    def structs(self, name: str) -> list[dict[str, Any]]:
        """The non-null values of the top-level struct ``name`` of a Parquet file. Raises CorruptMetadataError."""
        import pyarrow as pa

        with _guard(self.path), self._open() as parquet:
            if name not in parquet.schema_arrow.names:
                return []
            if not pa.types.is_struct(parquet.schema_arrow.field(name).type):
                raise _damaged(self.path, name)
            column = parquet.read(columns=[name]).column(name)
            return [v for v in column.drop_null().to_pylist() if any(part is not None for part in v.values())]

    def judge(self, groups: GroupFilter) -> tuple[int, list[RowGroup]]:
        """How many row groups the file has, and those that hold nothing that is needed. Raises CorruptMetadataError."""
        if self.is_json:
            return 0, []
        with _guard(self.path):
            footer, schema = self._read_footer()
            if "add" not in schema.names or not self._has_sound_chunks():
                return footer.num_row_groups, []
            return footer.num_row_groups, groups.skipped(footer, schema.field("add").type)

    def groups(self) -> list[tuple[int | None, int | None]]:
        """(number, rows) of the file's row groups; of a JSON file both are None. Raises CorruptMetadataError."""
        if self.is_json:
            return [(None, None)]
        with _guard(self.path):
            footer = self._read_footer()[0]
            return [(i, footer.row_group(i).num_rows) for i in range(footer.num_row_groups)]

    def group(self, number: int | None) -> Iterator[CheckpointRows]:
        """The add actions of a row group in batches. Raises CorruptMetadataError."""
        return self._json_rows() if number is None else self._group_rows(number)

    def files(self) -> Iterator[CheckpointRows]:
        """The add actions of all row groups in batches. Raises CorruptMetadataError."""
        for number, _ in self.groups():
            yield from self.group(number)

    def _json_rows(self) -> Iterator[CheckpointRows]:
        yield CheckpointRows(file_rows(self.actions().adds, "add", self.path))

    def _group_rows(self, group: int) -> Iterator[CheckpointRows]:
        with _guard(self.path), self._open() as parquet:
            names = parquet.schema_arrow
            if "add" not in names.names:
                return
            parsed = _has_member(names.field("add").type, "stats_parsed")
            start = 0
            # Not a whole row group: Arrow has no strings of more than 2 GiB in a struct.
            for batch in parquet.iter_batches(_BATCH_ROWS, [group], _ADD_COLUMNS):
                add = batch.column("add")
                mask = self._mask(add)
                rows = _columns(add.filter(mask), self.path)
                load = _parsed_loader(self, group, start, mask) if parsed else None
                start += len(add)
                yield CheckpointRows(rows, load)

    def parsed_statistics(self, group: int, leaves: Sequence[Sequence[str]]) -> pa.StructArray | None:
        """``add`` of a row group with these leaves of ``stats_parsed``; the last answer is kept for the next batch."""
        columns = tuple(".".join(("add", "stats_parsed", *leaf)) for leaf in leaves)
        kept = self._kept
        if kept is None or kept[0] != (group, columns):
            found = self.cache.get(
                (self.key, group, columns),
                lambda: self._read_add(group, columns),
                lambda add: 0 if add is None else add.nbytes,
            )
            self._kept = kept = (group, columns), found
        return kept[1]

    def _read_add(self, group: int, columns: Sequence[str]) -> pa.StructArray | None:
        with _guard(self.path), self._open() as parquet:
            table = parquet.read_row_group(group, columns=list(columns))
        return _one(table.column("add")) if "add" in table.column_names else None

    def _mask(self, add: pa.StructArray) -> pa.BooleanArray:
        """Which rows are add actions: a struct that is not null and whose path is not."""
        import pyarrow as pa
        import pyarrow.compute as pc

        path, size = (_member(add, name) for name in ("path", "size"))
        if path is None:
            raise _damaged(self.path, "add.path")
        if size is not None and pc.any(pc.and_(pc.is_null(path), pc.is_valid(size))).as_py():
            raise _damaged(self.path, "add.path")
        return pa.array(pc.is_valid(path))

    def _open(self) -> pq.ParquetFile:
        import pyarrow.parquet as pq

        try:
            source = self.storage.open_file(self.path)
        except FileNotFoundError as error:
            raise missing_file("a file of the log", self.path) from error
        # int96 as nanoseconds wraps around outside of 1677 to 2262.
        known = None if self._footer is None else self._footer[0]
        return pq.ParquetFile(source, metadata=known, coerce_int96_timestamp_unit="us")

    def _read_footer(self) -> tuple[pq.FileMetaData, pa.Schema]:
        if self._footer is None:
            with self._open() as parquet:
                self._footer = parquet.metadata, parquet.schema_arrow
        return self._footer

    def _has_sound_chunks(self) -> bool:
        """Whether Arrow may be asked what the footer says of column chunks: see :mod:`.parquet_footers`."""
        if self._sound is None:
            with self.storage.open_file(self.path) as source:
                size = min(self._read_footer()[0].serialized_size + 8, source.size())
                self._sound = has_sound_chunks(bytes(source.read_at(size, source.size() - size)))
        return self._sound


def expand(storage: Storage, checkpoint: Checkpoint, cache: MetadataCache) -> list[CheckpointFile]:
    """The files that hold the checkpoint's add actions: its own, then the sidecars that it names.

    Raises
    ------
    CorruptMetadataError : it is damaged
    PathNotAllowedError : a sidecar of another store
    """
    own = [CheckpointFile(storage, file.path, file.size, file.mtime_ms, cache) for file in checkpoint.files]
    sidecars: list[CheckpointFile] = []
    for file in own:
        named = file.actions().sidecars if file.is_json else file.structs("sidecar")
        for sidecar in named:
            sidecars.append(_sidecar(storage, sidecar, file.path, cache))
    return own + sidecars


def _sidecar(storage: Storage, action: dict[str, Any], manifest: str, cache: MetadataCache) -> CheckpointFile:
    stored, size = action.get("path"), action.get("sizeInBytes")
    if not isinstance(stored, str):
        raise CorruptMetadataError("a sidecar has no path", path=manifest, field="sidecar.path", hint=_HINT)
    # Only the name is usual: sidecars live in _delta_log/_sidecars and nowhere else.
    name = unquote(stored)
    if "/" in name:
        path = storage.resolve_one(stored, encoded=True)
    else:
        path = storage.join(LOG_DIRECTORY, "_sidecars", name)
    time = action.get("modificationTime")
    return CheckpointFile(
        storage, path, size if isinstance(size, int) else 0, time if isinstance(time, int) else 0, cache
    )


def read_metadata(storage: Storage, checkpoint: Checkpoint) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """(protocol, metaData) of a checkpoint; each None where it has none.

    Raises
    ------
    CorruptMetadataError : it is damaged
    """
    protocol: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None
    for entry in checkpoint.files:
        file = CheckpointFile(storage, entry.path, entry.size)
        if file.is_json:
            actions = file.actions()
            protocol, metadata = protocol or actions.protocol, metadata or actions.metadata
            continue
        protocol = protocol or next(iter(file.structs("protocol")), None)
        if metadata is None and (found := file.structs("metaData")):
            metadata = dict(found[0])
            metadata["configuration"] = dict(metadata.get("configuration") or ())
        if protocol and metadata:
            break
    return protocol, metadata


def _parsed_loader(file: CheckpointFile, group: int, start: int, mask: pa.BooleanArray) -> ParsedStatistics:
    def load(leaves: Sequence[Sequence[str]]) -> pa.StructArray | None:
        add = file.parsed_statistics(group, leaves)
        return None if add is None else _member(add.slice(start, len(mask)).filter(mask), "stats_parsed")

    return load


def _columns(add: pa.StructArray, path: str) -> pa.RecordBatch:
    """The members of ``add`` as rows of :func:`file_schema`; absent ones are nulls."""
    import pyarrow as pa
    import pyarrow.compute as pc

    vector = _member(add, "deletionVector")
    arrays = []
    for wanted in file_schema():
        if wanted.name in _PLAIN:
            found = _member(add, _PLAIN[wanted.name])
        else:
            found = None if vector is None else _member(vector, _VECTOR[wanted.name])
        if found is None:
            arrays.append(pa.nulls(len(add), wanted.type))
            continue
        try:
            if pa.types.is_string(wanted.type) and pa.types.is_primitive(found.type):
                raise pa.ArrowTypeError("a number is no text")
            arrays.append(found if found.type.equals(wanted.type) else found.cast(wanted.type))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
            raise _damaged(path, f"add.{wanted.name}") from error
    rows = pa.RecordBatch.from_arrays(arrays, schema=file_schema())
    rows.validate(full=True)  # strings of damaged pages need not be UTF-8
    if rows.column("size").null_count:
        raise _damaged(path, "add.size")
    incomplete = pc.and_(pc.is_valid(rows.column("dv_storage")), pc.is_null(rows.column("dv_path")))
    if pc.any(incomplete).as_py():
        raise _damaged(path, "add.deletionVector.pathOrInlineDv")
    return rows


def _has_member(kind: pa.DataType, name: str) -> bool:
    import pyarrow as pa

    return pa.types.is_struct(kind) and kind.get_field_index(name) >= 0


def _member(array: pa.Array, name: str) -> pa.Array | None:
    """The member ``name`` of a struct column, null where the struct is; None where there is none."""
    import pyarrow.compute as pc

    if not _has_member(array.type, name):
        return None
    return pc.struct_field(array, [array.type.get_field_index(name)])


def _one(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _damaged(path: str, name: str) -> CorruptMetadataError:
    return CorruptMetadataError(
        "a checkpoint lacks a column or has one of the wrong type", path=path, field=name, hint=_HINT
    )


class _guard:
    """Turns what Parquet readers raise on damaged bytes into CorruptMetadataError."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        import pyarrow as pa

        if isinstance(error, CorruptMetadataError) or error is None:
            return
        if isinstance(error, (pa.ArrowException, OSError, ValueError, UnicodeDecodeError)):
            raise CorruptMetadataError(
                f"a checkpoint is damaged or cut off: {str(error).splitlines()[0] if str(error) else kind.__name__}",
                path=self.path, hint=_HINT,
            ) from error  # fmt: skip
