"""The files that hold the changes between two versions, as a snapshot that planning and engines read like any other.

What kind of change a file holds, and in which version and when it was committed, are partition values of it: constants
that prune, and that every engine gives as columns. Where only the rows between two sets of deletes changed, all other
positions of the file count as deleted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..engines.arrow.matching import KeyMatcher
from ..errors import CorruptMetadataError, StoreError, UnsupportedFeatureError
from ..expressions import TRUE
from ..planning.tasks import ScanTask
from ..plugin.changes import ChangeBatch, FormatChanges
from ..plugin.deletes import EQUALITY, DeleteFiles
from ..plugin.files import FileBatch
from ..plugin.partitions import PartitionField
from ..plugin.snapshot import FormatSnapshot, ReadRequest
from ..plugin.statistics import Bounds, Statistics
from ..runtime.boundary import is_fault_of_machine
from ..runtime.concurrency import cached_property
from ..schema import Field, ListType, MapType, Schema, StructType, Type, arrow_type, primitive
from ..schema.transforms import parse_transform

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from pyroaring import BitMap64

    from ..io.path_policy import SharedPrefix
    from ..io.storage import Storage

__all__ = ["CHANGE_COLUMNS", "SELECTED", "ChangesSnapshot", "struct_of"]

# Ids of tables' own columns are positive.
_TYPE = Field(-104, "_change_type", primitive("string"), True, "_change_type")
_VERSION = Field(-105, "_commit_version", primitive("long"), True, "_commit_version")
_TIMESTAMP = Field(-106, "_commit_timestamp", primitive("timestamp"), False, "_commit_timestamp")

CHANGE_COLUMNS = (_TYPE, _VERSION, _TIMESTAMP)
"""The columns behind those of the table. Source: Delta PROTOCOL.md, "Reader Requirements for AddCDCFile"."""

SELECTED = "selected_rows"
"""Kind of a delete in ``Changes.files``: the rows that it deletes are those that changed, no others are read."""

_OF_DATA_FILE = ("data_file_format", "data_spec_id", "data_partition")
"""Columns of ``DeleteFiles.files``: what an equality delete that selects rows says of the data file it selects from."""


class ChangesSnapshot(FormatSnapshot):
    """The files that hold the changes of ``changes``, as a snapshot: see :class:`tableformats.plugin.FormatSnapshot`.

    Parameters
    ----------
    listing : give the files that were added instead, see :meth:`FormatChanges.added_files`

    Raises
    ------
    UnsupportedFeatureError : a column of the table has the name of a change column (``field``)
    """

    def __init__(self, changes: FormatChanges, storage: Storage, listing: bool = False) -> None:
        base = changes.snapshot
        self.changes = changes
        self._base = base
        self._storage = storage
        self._listing = listing
        self.version, self.timestamp_ms = base.version, base.timestamp_ms
        self.properties = base.properties
        self.schema = _with_change_columns(base.schema, storage.root)
        self.schema_history, self.schema_history_is_complete = base.schema_history, base.schema_history_is_complete
        self.name_mapping = replace(base.name_mapping, by_name=base.name_mapping.by_name | {_TYPE.id})
        self.extra_columns = (*base.extra_columns, "data_change") if listing else base.extra_columns
        self._spec_ids = {spec_id: 2 * i for i, spec_id in enumerate(changes.specs)}
        self.specs = {}
        for spec_id, spec in changes.specs.items():
            for number, columns in enumerate((CHANGE_COLUMNS, CHANGE_COLUMNS[1:])):
                own = self._spec_ids[spec_id] + number
                self.specs[own] = replace(spec, id=own, fields=(*spec.fields, *map(_constant, columns)))
        self.default_spec_id = self._spec_ids.get(base.default_spec_id, 0)

    def __getstate__(self) -> dict[str, Any]:
        """See :meth:`tableformats.plugin.FormatSnapshot.__getstate__`."""
        return {k: v for k, v in self.__dict__.items() if k not in ("changes", "_matcher")}

    def read(self, request: ReadRequest) -> Iterator[FileBatch]:
        """See :meth:`tableformats.plugin.FormatSnapshot.read`: oldest version first, and no keys to reconcile."""
        of_table = tuple(f for f in request.columns if f not in CHANGE_COLUMNS)
        asked = replace(request, columns=of_table, manifest_filter=None)
        batches = self.changes.added_files(asked) if self._listing else self.changes.read(asked)
        return map(self._with_constants, batches)

    def _with_constants(self, found: ChangeBatch) -> FileBatch:
        import pyarrow as pa

        files = found.batch.files
        partition = files.column("partition")
        members = dict(zip((f.name for f in partition.type), partition.flatten(), strict=True))
        if found.change_types is not None:
            members[str(_TYPE.id)] = found.change_types
        members[str(_VERSION.id)] = found.versions
        members[str(_TIMESTAMP.id)] = found.timestamps_ms.cast(pa.timestamp("ms", "UTC")).cast(
            arrow_type(_TIMESTAMP.type)
        )
        index = files.schema.get_field_index("partition")
        files = files.set_column(index, "partition", struct_of(members, files.num_rows))
        spec_id = self._spec_ids[found.batch.spec_id] + (found.change_types is None)
        statistics = found.batch.statistics
        return FileBatch(files, spec_id, None if statistics is None else _TableStatistics(statistics))

    def attach_deletes(self, files: pa.Table, request: ReadRequest) -> DeleteFiles:
        """See :meth:`tableformats.plugin.FormatSnapshot.attach_deletes`; what selects rows is of kind SELECTED."""
        from ..columnar import compute as pc

        found = _with_data_files(self.changes.attach_deletes(files, request), files)
        kind, selects = found.files["kind"], found.files["selects"]
        table = found.files.append_column("own_kind", kind)
        index = table.column_names.index("kind")
        table = table.set_column(index, "kind", pc.if_else(selects, SELECTED, kind))
        return DeleteFiles(table, found.offsets, found.indices)

    def resolve_paths(self, paths: pa.Array) -> pa.Array:
        """See :meth:`tableformats.plugin.FormatSnapshot.resolve_paths`."""
        return self._base.resolve_paths(paths)

    def check_paths(self, paths: pa.Array) -> SharedPrefix | None:
        """See :meth:`tableformats.plugin.FormatSnapshot.check_paths`."""
        return self._base.check_paths(paths)

    def deleted_positions(self, path: str, record_count: int | None, deletes: pa.Table) -> BitMap64:
        """See :meth:`tableformats.plugin.FormatSnapshot.deleted_positions`: all rows but those that changed.

        Raises
        ------
        LimitExceededError : some rows changed of more than the limit ``file_rows``
        """
        from pyroaring import BitMap64

        from ..columnar import compute as pc

        own = deletes.set_column(deletes.column_names.index("kind"), "kind", deletes["own_kind"])
        selecting, others = own.filter(own["selects"]), own.filter(pc.invert(own["selects"]))
        if selecting.num_rows and record_count is None:
            record_count = self._physical_rows(path)
        left_out = self._positions(path, record_count, others)
        if not selecting.num_rows:
            return left_out
        assert record_count is not None
        self._storage.limits.check("file_rows", record_count, "rows of a file of which some changed", path=path)
        by_key = pc.equal(selecting["kind"], EQUALITY)
        changed = self._positions(path, record_count, selecting.filter(pc.invert(by_key)))
        changed |= self._matching(path, record_count, selecting.filter(by_key))
        changed -= left_out
        unchanged = BitMap64()
        unchanged.add_range(0, record_count)
        return unchanged - changed

    def _positions(self, path: str, record_count: int | None, deletes: pa.Table) -> BitMap64:
        from pyroaring import BitMap64

        return self._base.deleted_positions(path, record_count, deletes) if deletes.num_rows else BitMap64()

    def _matching(self, path: str, record_count: int, deletes: pa.Table) -> BitMap64:
        """The positions of the rows of one file that equality deletes match; reads the file's key columns."""
        import pyarrow as pa
        from pyroaring import BitMap64

        if not deletes.num_rows:
            return BitMap64()
        file_format, spec_id, partition = (deletes[name][0] for name in _OF_DATA_FILE)
        task = ScanTask(
            index=0,
            path=self.resolve_paths(pa.array([path]))[0].as_py(),
            stored_path=path,
            size_bytes=0,
            start=0,
            length=0,
            record_count=record_count,
            file_format=file_format.as_py(),
            spec_id=spec_id.as_py(),
            partition={int(name): partition[name] for name in partition},
            deletes=deletes,
            residual=TRUE,
        )
        return self._matcher.positions(task)

    @cached_property
    def _matcher(self) -> KeyMatcher:
        return KeyMatcher(self, self._base.schema, self._storage)

    def _physical_rows(self, path: str) -> int:
        import pyarrow as pa

        from ..io.parquet.chunks import count_rows

        absolute = self.resolve_paths(pa.array([path]))[0].as_py()
        try:
            with self._storage.open_file(absolute) as source:
                return count_rows(source, absolute, self._storage.limits)
        except StoreError:
            raise
        except (OSError, pa.ArrowException) as error:
            if is_fault_of_machine(error) and not isinstance(error, FileNotFoundError):
                raise
            raise CorruptMetadataError(
                f"the rows of a data file cannot be counted: {error}",
                path=absolute,
                hint="It may have been vacuumed: ask for the changes of newer versions",
            ) from error

    def equality_deletes(self, delete: Any) -> pa.Table:
        """See :meth:`tableformats.plugin.FormatSnapshot.equality_deletes`."""
        return self._base.equality_deletes(delete)


def _with_data_files(found: DeleteFiles, files: pa.Table) -> DeleteFiles:
    """``found`` with a row of its own for each file from which an equality delete selects rows, in which stands what
    must be known to read that file."""
    import numpy as np
    import pyarrow as pa

    from ..columnar import compute as pc

    table = found.files
    by_key = pc.and_(table["selects"], pc.equal(table["kind"], EQUALITY)).to_numpy()
    owners = np.repeat(np.arange(files.num_rows), np.diff(found.offsets))
    chosen = by_key[found.indices]
    if not chosen.any():
        return found
    rows = np.concatenate([np.arange(table.num_rows), found.indices[chosen]])
    data_files = pa.array(np.concatenate([np.zeros(table.num_rows, np.int64), owners[chosen]]))
    table = table.take(pa.array(rows))
    for name in _OF_DATA_FILE:
        table = table.append_column(name, files[name.removeprefix("data_")].take(data_files))
    indices = found.indices.astype(np.int64)
    indices[chosen] = len(by_key) + np.arange(int(chosen.sum()))
    used, indices = np.unique(indices, return_inverse=True)
    return replace(found, files=table.take(pa.array(used)), indices=indices.astype(np.int32))


class _TableStatistics(Statistics):
    """A format's statistics, asked only for what the table's columns are: constants need none."""

    def __init__(self, inner: Statistics) -> None:
        self._inner = inner

    def bounds(self, columns: Sequence[Field], rows: np.ndarray | None) -> Bounds:
        return self._inner.bounds([f for f in columns if f not in CHANGE_COLUMNS], rows)

    def record_counts(self, rows: np.ndarray) -> pa.Int64Array:
        return self._inner.record_counts(rows)


def _with_change_columns(schema: Schema, location: str) -> Schema:
    for f in schema:
        if f.name.lower() in (column.name for column in CHANGE_COLUMNS):
            raise UnsupportedFeatureError(
                "a column of the table has the name of a change column",
                path=location,
                field=f.name,
                hint="Rename the column, or compare two snapshots instead",
            )
    return Schema((*map(_optional, schema.fields), *CHANGE_COLUMNS), schema.id)


def _optional(f: Field) -> Field:
    """The field where nothing is required: rows of older versions may lack what is required now."""
    return replace(f, type=_optional_type(f.type), required=False)


def _optional_type(kind: Type) -> Type:
    if isinstance(kind, StructType):
        return StructType(tuple(map(_optional, kind.fields)))
    if isinstance(kind, ListType):
        return ListType(_optional(kind.element))
    if isinstance(kind, MapType):
        return MapType(replace(kind.key, type=_optional_type(kind.key.type)), _optional(kind.value))
    return kind


def _constant(column: Field) -> PartitionField:
    return PartitionField(column.id, column.name, column.id, parse_transform("identity"), column.type)


def struct_of(members: dict[str, Any], length: int) -> pa.StructArray:
    """struct[length] with these members, which may be none."""
    import pyarrow as pa

    if not members:
        return pa.Array.from_buffers(pa.struct([]), length, [None], children=[])
    return pa.StructArray.from_arrays(list(members.values()), names=list(members))
