"""The columns ``add`` and ``remove`` of a checkpoint, from the actions of commits and of an older checkpoint.

All work is on columns. Fields that this library does not know are kept where an older checkpoint has them as columns.
Source: Delta PROTOCOL.md, "Checkpoints", "Checkpoint Schema", "Add File and Remove File".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import cache, cached_property
from typing import TYPE_CHECKING

from tableformats.plugin import FALSE, Field, ScanReport, arrow_type, dataclass, scalar, to_arrow, to_numpy
from tableformats.plugin import compute as pc

from ..checkpoints.damage import damaged_column
from ..checkpoints.row_group_reader import member_of, typed
from ..deletes.descriptors import has_vector, vectors_of
from ..schema.partition_values import PartitionValueErrors, partition_struct
from .stored_statistics import StoredStatistics

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["AddColumns", "FileColumns", "RemoveColumns", "text_map"]

_ROWS = {
    "path": "path",
    "partitionValues": "partition_values",
    "size": "size",
    "modificationTime": "modification_time",
    "tags": "tags",
    "baseRowId": "base_row_id",
    "defaultRowCommitVersion": "row_commit_version",
    "clusteringProvider": "clustering_provider",
    "deletionTimestamp": "deletion_timestamp",
    "extendedFileMetadata": "extended_file_metadata",
}
"""The columns of :func:`full_schema` by the names of the protocol."""


@cache
def text_map() -> pa.MapType:
    """The type of maps of texts."""
    import pyarrow as pa

    return pa.map_(pa.string(), pa.string())


@cache
def _vector_struct() -> pa.StructType:
    import pyarrow as pa

    numbers = {"offset": pa.int32(), "sizeInBytes": pa.int32(), "cardinality": pa.int64()}
    return pa.struct([("storageType", pa.string()), ("pathOrInlineDv", pa.string()), *numbers.items()])


class FileColumns:
    """Makes one of the columns; ``name`` is its name, ``type`` its struct."""

    name: str
    type: pa.StructType

    def needed(self, stored: pa.StructType) -> list[str]:
        """The members that are read of a column of an older checkpoint with the type ``stored``."""
        return [f"{self.name}.{member.name}" for member in stored if self.type.get_field_index(member.name) >= 0]

    def of_rows(self, rows: pa.RecordBatch, path: str) -> pa.StructArray:
        """Actions as rows of :func:`full_schema`. Raises CorruptMetadataError, with ``path``, for an invalid one."""
        found = {name: rows.column(column) for name, column in _ROWS.items() if self._has(name)}
        found["deletionVector"] = _vector_structs(rows.column("deletion_vector"))
        return self._made(found, rows.num_rows, path)

    def of_struct(self, stored: pa.StructArray, path: str) -> pa.StructArray:
        """Actions of a Parquet checkpoint. Raises CorruptMetadataError, with ``path``, for an invalid one."""
        found = {}
        for member in stored.type:
            if not self._has(member.name) or member.name in _MADE:
                continue
            kind = self.type.field(member.name).type
            name = f"{self.name}.{member.name}"
            values = typed(member_of(stored, member.name), len(stored), kind, name, path)
            if values.type != kind:  # a map whose values are required, or encoded
                values = pc.cast(values, kind)
            found[member.name] = _without_empty(values) if member.name == "deletionVector" else values
        return self._made(found, len(stored), path)

    def _has(self, name: str) -> bool:
        return self.type.get_field_index(name) >= 0

    def _made(self, found: dict[str, pa.Array], n: int, path: str) -> pa.StructArray:
        import pyarrow as pa

        for name in ("path", "size") if self.name == "add" else ("path",):
            if name not in found or found[name].null_count:
                raise damaged_column(path, f"{self.name}.{name}")
        # The flag speaks of a commit, so the reference writer stores false in checkpoints.
        found["dataChange"] = pa.repeat(FALSE, n)
        arrays = [found[m.name] if m.name in found else pa.nulls(n, m.type) for m in self.type]
        return pa.StructArray.from_arrays(arrays, fields=list(self.type))


_MADE = ("dataChange", "stats", "stats_parsed", "partitionValues_parsed")
"""Members that are not copied as they are."""


@dataclass(frozen=True)
class AddColumns(FileColumns):
    """The column ``add``.

    Attributes
    ----------
    partition_fields : mapping of int to Field
        The partition columns by partition field id.
    statistics : StoredStatistics
        With its structs there are ``partitionValues_parsed``, too.
    zone : str, optional
        The time zone of partition values that are timestamps without one.
    unknown : sequence of pyarrow.Field
        Members that an older checkpoint has, and the protocol does not know.
    """

    partition_fields: Mapping[int, Field]
    statistics: StoredStatistics
    zone: str | None = None
    unknown: Sequence[pa.Field] = ()
    report: ScanReport = field(default_factory=ScanReport)
    name = "add"

    @cached_property
    def type(self) -> pa.StructType:  # type: ignore[override]
        """The struct."""
        import pyarrow as pa

        members: dict[str, pa.DataType] = {
            "path": pa.string(),
            "partitionValues": text_map(),
            "size": pa.int64(),
            "modificationTime": pa.int64(),
            "dataChange": pa.bool_(),
            "tags": text_map(),
            "deletionVector": _vector_struct(),
            "baseRowId": pa.int64(),
            "defaultRowCommitVersion": pa.int64(),
            "clusteringProvider": pa.string(),
        }
        parsed = {} if self._parsed_type is None else {"partitionValues_parsed": self._parsed_type}
        unknown = {member.name: member.type for member in self.unknown}
        return pa.struct(list({**unknown, **members, **parsed, **self.statistics.members}.items()))

    @cached_property
    def _parsed_type(self) -> pa.StructType | None:
        import pyarrow as pa

        if self.statistics.columns is None or not self.partition_fields:
            return None
        return pa.struct([(f.stored_name, arrow_type(f.type)) for f in self.partition_fields.values()])

    def needed(self, stored: pa.StructType) -> list[str]:
        """See :meth:`FileColumns.needed`."""
        statistics = self.statistics.needed([member.name for member in stored])
        others = [name for name in super().needed(stored) if name.partition(".")[2] not in _MADE]
        return [*others, *(f"add.{name}" for name in sorted(statistics))]

    def of_rows(self, rows: pa.RecordBatch, path: str) -> pa.StructArray:
        """See :meth:`FileColumns.of_rows`."""
        return self._with_statistics(super().of_rows(rows, path), rows.column("stats"), None)

    def of_struct(self, stored: pa.StructArray, path: str) -> pa.StructArray:
        """See :meth:`FileColumns.of_struct`."""
        import pyarrow as pa

        texts = member_of(stored, "stats")
        texts = None if texts is None else typed(texts, len(stored), pa.string(), "add.stats", path)
        return self._with_statistics(super().of_struct(stored, path), texts, member_of(stored, "stats_parsed"))

    def _with_statistics(
        self, adds: pa.StructArray, texts: pa.StringArray | None, parsed: pa.StructArray | None
    ) -> pa.StructArray:
        import pyarrow as pa

        made = self.statistics.made(len(adds), texts, parsed)
        members = dict(zip((m.name for m in self.type), adds.flatten(), strict=True))
        return pa.StructArray.from_arrays([{**members, **made}[m.name] for m in self.type], fields=list(self.type))

    def _made(self, found: dict[str, pa.Array], n: int, path: str) -> pa.StructArray:
        import pyarrow as pa

        found.setdefault("partitionValues", pa.nulls(n, text_map()))
        if "modificationTime" not in found:
            raise damaged_column(path, "add.modificationTime")
        found["modificationTime"] = pc.fill_null(found["modificationTime"], scalar(0, pa.int64()))
        if self._parsed_type is not None:
            parsed, bad = partition_struct(found["partitionValues"], self.partition_fields, self.report, self.zone)
            if bad:
                errors = PartitionValueErrors(bad, path)
                raise errors.error_of(int(errors.rows[0]))
            fields = list(self._parsed_type)
            found["partitionValues_parsed"] = pa.StructArray.from_arrays(parsed.flatten(), fields=fields)
        found["partitionValues"] = _with_empty_maps(found["partitionValues"])
        return super()._made(found, n, path)


@dataclass(frozen=True)
class RemoveColumns(FileColumns):
    """The column ``remove``: tombstones, which have neither statistics nor tags."""

    unknown: Sequence[pa.Field] = ()
    name = "remove"

    @cached_property
    def type(self) -> pa.StructType:  # type: ignore[override]
        """The struct."""
        import pyarrow as pa

        members: dict[str, pa.DataType] = {
            "path": pa.string(),
            "deletionTimestamp": pa.int64(),
            "dataChange": pa.bool_(),
            "extendedFileMetadata": pa.bool_(),
            "partitionValues": text_map(),
            "size": pa.int64(),
            "deletionVector": _vector_struct(),
            "baseRowId": pa.int64(),
            "defaultRowCommitVersion": pa.int64(),
        }
        unknown = {member.name: member.type for member in self.unknown}
        return pa.struct(list({**unknown, **members}.items()))


def _vector_structs(column: pa.ListArray) -> pa.StructArray:
    """Lists of at most one descriptor as structs, null where there is none."""
    import numpy as np
    import pyarrow as pa

    vectors = vectors_of(column)
    kind = _vector_struct()
    if not vectors.num_rows:
        return pa.nulls(len(column), kind)
    present = to_numpy(has_vector(column))
    places = to_arrow(np.cumsum(present) - 1, valid=present)
    members = [pc.take(pc.cast(vectors.column(f.name), f.type), places) for f in kind]
    return pa.StructArray.from_arrays(members, fields=list(kind), mask=to_arrow(~present))


def _without_empty(vectors: pa.StructArray) -> pa.StructArray:
    """Descriptors with those null that have no storage type: some writers store structs of nulls for none."""
    import pyarrow as pa

    storage = pc.struct_field(vectors, [vectors.type.get_field_index("storageType")])
    if storage.null_count == vectors.null_count:
        return vectors
    return pa.StructArray.from_arrays(vectors.flatten(), fields=list(vectors.type), mask=pc.is_null(storage))


def _with_empty_maps(values: pa.MapArray) -> pa.MapArray:
    """Maps with empty ones in the place of nulls."""
    import numpy as np
    import pyarrow as pa

    if not values.null_count:
        return values
    empty = pa.array([[]], values.type)
    numbers = np.where(to_numpy(pc.is_null(values)), len(values), np.arange(len(values)))
    return pc.take(pa.concat_arrays([values, empty]), to_arrow(numbers))
