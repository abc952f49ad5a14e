"""One Parquet file of actions: a checkpoint, or a sidecar of one.

Source: Delta PROTOCOL.md, "Checkpoints", "Checkpoint Schema", "Sidecar File Information".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from tableformats.plugin import CorruptMetadataError, ParquetFooter

from .copied_groups import CopiedGroups, with_copied_groups
from .file_columns import text_map

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

__all__ = ["ActionFile", "action_rows"]

ROW_GROUP_ROWS = 1 << 14
"""Actions of a row group: readers take these one by one, and so does this writer, which bounds its memory. The fewer
they are, the more row groups stay as they are when files are removed."""
_CODEC, _CODEC_OF_FEW = "zstd", "snappy"
_FEW_BYTES = 1 << 18
"""zstd and dictionaries take more time to begin with each column than they save bytes of so few."""
_KEPT_BYTES = 4 << 20
"""A file of so few stays in memory, so that the next one is made without reading it."""
_PAGE_BYTES, _PAGE_STEP_ROWS = 1 << 17, 1 << 8
"""A page is closed after so many bytes, which are looked at every so many rows: what one page takes, as it is and
compressed, stays in the processor's cache, and its memory is used again. Pages of a megabyte take longer to write."""
_DIFFERENT = ("stats", "path", "size", "modificationTime", "deletionTimestamp", "baseRowId")
"""Members whose values differ from file to file: no dictionary is tried for them."""


@cache
def _known_types() -> dict[str, pa.StructType]:
    import pyarrow as pa

    text, number, flag, texts = pa.string(), pa.int64(), pa.bool_(), pa.list_(pa.string())
    return {
        "protocol": pa.struct(
            [
                ("minReaderVersion", pa.int32()),
                ("minWriterVersion", pa.int32()),
                ("readerFeatures", texts),
                ("writerFeatures", texts),
            ]
        ),
        "metaData": pa.struct(
            [
                ("id", text),
                ("name", text),
                ("description", text),
                ("format", pa.struct([("provider", text), ("options", text_map())])),
                ("schemaString", text),
                ("partitionColumns", texts),
                ("configuration", text_map()),
                ("createdTime", number),
            ]
        ),
        "txn": pa.struct([("appId", text), ("version", number), ("lastUpdated", number)]),
        "domainMetadata": pa.struct([("domain", text), ("configuration", text), ("removed", flag)]),
        "checkpointMetadata": pa.struct([("version", number), ("tags", text_map())]),
        "sidecar": pa.struct(
            [("path", text), ("sizeInBytes", number), ("modificationTime", number), ("tags", text_map())]
        ),
    }


def action_rows(actions: Mapping[str, Sequence[Mapping[str, Any]]], path: str) -> dict[str, pa.StructArray]:
    """Actions that are no file actions as columns, by name: each with the fields that the protocol knows, and others.

    A field that the protocol does not know is kept where all its values are of one type of JSON's scalars. Raises
    CorruptMetadataError, with ``path``, where a known field has a value of another type.
    """
    import pyarrow as pa

    found = {}
    for name, values in actions.items():
        known = _known_types()[name]
        names = {member.name for member in known}
        unknown = dict.fromkeys(field for value in values for field in value if field not in names)
        more = [(field, kind) for field in unknown if (kind := _scalar_type([value.get(field) for value in values]))]
        kind = pa.struct([*known, *(pa.field(field, type_) for field, type_ in more)])
        try:
            found[name] = pa.array([_plain(value, kind) for value in values], kind)
        except (TypeError, ValueError, OverflowError) as error:  # Arrow's are among them
            raise CorruptMetadataError(
                f"an action has a field of the wrong type: {str(error)[:200]}", path=path, field=name
            ) from None
    return found


def _scalar_type(values: Sequence[Any]) -> pa.DataType | None:
    import pyarrow as pa

    classes = {type(value) for value in values if value is not None}
    if len(classes) != 1:
        return None
    kinds = {str: pa.string(), bool: pa.bool_(), float: pa.float64()}
    (one,) = classes
    if one is int and all(value is None or value in range(-(2**63), 2**63) for value in values):
        return pa.int64()
    return kinds.get(one)


def _plain(value: Any, kind: pa.DataType) -> Any:
    """A value of JSON as pyarrow takes it: maps as pairs, structs without what the type does not have.

    Raises TypeError for what is no map, struct or list.
    """
    from pyarrow import types

    if value is None:
        return None
    if types.is_map(kind):
        return list(dict(value).items())
    if types.is_struct(kind):
        if not isinstance(value, Mapping):
            raise TypeError(f"{value!r} is no object")
        return {member.name: _plain(value.get(member.name), member.type) for member in kind}
    if types.is_list(kind) and not isinstance(value, (list, tuple)):
        raise TypeError(f"{value!r} is no list")
    return value


class ActionFile:
    """A Parquet file of actions under construction, in memory.

    The adds of a large file stand in row groups of their own, and all else in the last one, with what is left of them:
    so row groups of adds can be copied into the next checkpoint while they are live.

    Parameters
    ----------
    types : mapping of str to pyarrow.StructType
        The columns.

    Attributes
    ----------
    rows : int
        The actions so far.
    in_memory : pyarrow.RecordBatch or None
        All of them, once the file is finished, if they are one row group of not too many bytes.

    Notes
    -----
    Memory: the bytes of the file, compressed, and of the actions of one row group.
    """

    def __init__(self, types: Mapping[str, pa.DataType]) -> None:
        import pyarrow as pa

        self._schema = pa.schema(list(types.items()))
        self._sink = pa.BufferOutputStream()
        self._writer: pq.ParquetWriter | None = None
        self._adds, self._others = _Pending(), _Pending()
        self._has_adds_alone: list[bool] = []
        self.rows = 0
        self.in_memory: pa.RecordBatch | None = None

    @cached_property
    def frame(self) -> dict[int, Any] | None:
        """What the footer says beside row groups; see :class:`tableformats.plugin.ParquetFooter`. None: unknown."""
        return _frame(self._schema)

    def write(self, name: str, actions: pa.StructArray) -> None:
        """Append actions of one kind."""
        import pyarrow as pa

        if not len(actions):
            return
        columns = [actions if field.name == name else pa.nulls(len(actions), field.type) for field in self._schema]
        pending = self._adds if name == "add" else self._others
        pending.append(pa.RecordBatch.from_arrays(columns, schema=self._schema))
        self.rows += len(actions)
        if pending.rows >= ROW_GROUP_ROWS:
            self._flush(pending.taken(), pending is self._adds)

    def finish(self) -> pa.Buffer:
        """The bytes of the file."""
        self._flush([*self._others.taken(), *self._adds.taken()], False)
        assert self._writer is not None, "every file has actions"
        self._writer.close()
        return self._sink.getvalue()

    def finish_upon(self, copied: CopiedGroups | None, layout: str) -> memoryview:
        """The bytes of the file: the row groups that are copied, then those of the actions.

        Parameters
        ----------
        layout : str
            What the adds depend on beside their actions. It is noted where row groups may be copied from this file.
        """
        data = memoryview(self.finish())
        if copied is None and (self.frame is None or not any(self._has_adds_alone)):
            return data
        copied = copied or CopiedGroups()
        self.rows += copied.files
        return with_copied_groups(copied, data, self._has_adds_alone, layout)

    def _flush(self, batches: list[pa.RecordBatch], has_adds_alone: bool) -> None:
        import pyarrow as pa

        if not batches:
            return
        table = pa.Table.from_batches(batches)
        self.in_memory = None
        if self._writer is None:
            if (size := table.nbytes) < _KEPT_BYTES:
                table = table.combine_chunks()  # which takes less time than to write each batch
                [self.in_memory] = table.to_batches()
            self._writer = self._writer_of(is_small=size < _FEW_BYTES)
        self._writer.write_table(table, row_group_size=table.num_rows)
        self._has_adds_alone.append(has_adds_alone)

    def _writer_of(self, is_small: bool) -> pq.ParquetWriter:
        import pyarrow.parquet as pq

        leaves = _leaves(self._schema)
        return pq.ParquetWriter(
            self._sink,
            self._schema,
            compression=_CODEC_OF_FEW if is_small else _CODEC,
            use_dictionary=not is_small and [leaf for leaf in leaves if leaf.rpartition(".")[2] not in _DIFFERENT],
            write_statistics=[leaf for leaf in leaves if not leaf.endswith(".stats")],
            store_schema=False,
            data_page_size=_PAGE_BYTES,
            write_batch_size=_PAGE_STEP_ROWS,
        )


class _Pending:
    """Actions that are not written yet."""

    def __init__(self) -> None:
        self._batches: list[pa.RecordBatch] = []
        self.rows = 0

    def append(self, batch: pa.RecordBatch) -> None:
        self._batches.append(batch)
        self.rows += batch.num_rows

    def taken(self) -> list[pa.RecordBatch]:
        """All of them, which are forgotten."""
        batches, self._batches, self.rows = self._batches, [], 0
        return batches


@lru_cache(maxsize=16)
def _empty_file(schema: pa.Schema) -> pa.Buffer:
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(sink, schema, store_schema=False):
        pass
    return sink.getvalue()


@lru_cache(maxsize=16)
def _leaves(schema: pa.Schema) -> list[str]:
    """The paths of the leaf columns, as Parquet's writer spells them."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    footer = pq.read_metadata(pa.BufferReader(_empty_file(schema)))
    return [footer.schema.column(i).path for i in range(footer.num_columns)]


@lru_cache(maxsize=16)
def _frame(schema: pa.Schema) -> dict[int, Any] | None:
    try:
        return ParquetFooter.of_file(_empty_file(schema)).frame
    except ValueError:  # a release of Arrow that writes what is not known here
        return None
