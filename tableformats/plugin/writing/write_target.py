"""How data files of a table are written, and what is known of each written file: :class:`WriteTarget`.

A format makes a target, and whoever writes data files (Arrow here, or Spark's tasks) obeys it. A target is plain data
that can be pickled, so that other processes get it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING

from ...dataclass import dataclass
from ...runtime.concurrency import cached_property
from ...schema import Field, ListType, MapType, Schema, arrow_type, is_floating
from ...schema.transforms import Transform
from ..partitions import PartitionField
from .parquet_options import ParquetOptions
from .row_rules import RowRules

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["SortColumn", "WriteTarget", "added_files_schema", "stored_leaves"]


@dataclass(frozen=True)
class SortColumn:
    """A column outside of lists and maps by which the rows of a file are sorted, by its field id.

    ``transform``: rows are sorted by what it makes of the column. None: by the column itself.
    """

    source_id: int
    descending: bool = False
    nulls_first: bool = True
    transform: Transform | None = None


@dataclass(frozen=True)
class WriteTarget:
    """How the data files of a table are written.

    Attributes
    ----------
    schema : Schema
        The columns of the rows, partition columns included. A nullable column that the rows lack is NULL, or what
        ``rules`` make of it.
    partitioning : tuple of PartitionField
        A data file has one tuple of their values. Delta's are identities.
    spec_id : int
        The partition spec of the files.
    partition_text : callable, optional
        (partition field, value other than NULL) -> its text in the name of a directory. A function of a module, so that
        it can be pickled. It raises ConstraintViolationError for a value that the format cannot store. None: no
        directories.
    partition_columns_in_files : bool
        Whether data files store the columns that are partition fields by identity.
    stored_names : mapping of field id to str
        The names in the files of fields at any depth, where they are not the names of the schema.
    with_field_ids : bool
        Whether the files have the field ids (``PARQUET:field_id``).
    unnumbered : frozenset of int
        The ids that no file has, because they were made up for fields to which the table gives none.
    root : str, optional
        The absolute directory that paths of files count from. None: the table's root as it was opened.
    directory : str
        Below the root, without slashes at its ends; the files of the partitions' directories lie in it.
    place : callable, optional
        Path of a file below ``directory`` -> the path that it gets there. A function of a module, or a partial one, so
        that it can be pickled. None: the path stays.
    bounded : frozenset of int, optional
        The field ids of the leaves of which bounds are wanted. None: all. Counts of NULL are made of all.
    with_layout : bool
        Whether it is wanted how many values and bytes each leaf has, and where row groups begin.
    target_file_size : int
        Bytes; about the size of a data file.
    row_group_rows : int
        The most rows of a row group.
    compression : str
        A codec of Parquet.
    parquet : ParquetOptions
        How files are laid out inside, where the table asks for it.
    sort_by : tuple of SortColumn
        The order of rows in a file.
    distribution : str
        How engines that write in many tasks bring rows to them: "hash" (those of a partition together), "range" (sorted
        over all tasks by partition and ``sort_by``) or "none" (where they are).
    rules : RowRules
        What rows must fulfil, and what is computed, beside NOT NULL, which ``Field.required`` says at every depth.
    changes : WriteTarget, optional
        How files of a change data feed are written, where rows of files are rewritten. None: none are. The schema has
        a column ``_change_type`` behind those of the table.
    carried : tuple of Field
        Metadata columns whose values rows keep when they are written again: files have them under ``stored_names``.
    """

    schema: Schema
    partitioning: tuple[PartitionField, ...] = ()
    spec_id: int = 0
    partition_text: Callable[[PartitionField, object], str] | None = None
    partition_columns_in_files: bool = False
    stored_names: Mapping[int, str] = field(default_factory=dict)
    with_field_ids: bool = False
    unnumbered: frozenset[int] = frozenset()
    root: str | None = None
    directory: str = ""
    place: Callable[[str], str] | None = None
    bounded: frozenset[int] | None = None
    with_layout: bool = True
    target_file_size: int = 256 << 20
    row_group_rows: int = 1 << 20
    compression: str = "zstd"
    parquet: ParquetOptions = field(default_factory=ParquetOptions)
    sort_by: tuple[SortColumn, ...] = ()
    distribution: str = "hash"
    rules: RowRules = field(default_factory=RowRules)
    changes: WriteTarget | None = None
    carried: tuple[Field, ...] = ()

    @property
    def rewriting(self) -> WriteTarget:
        """The target of rows that are written again: with the carried columns behind the others, and without rules."""
        schema = replace(self.schema, fields=(*self.schema.fields, *self.carried))
        return replace(self, schema=schema, rules=RowRules(), carried=(), changes=None)

    @cached_property
    def stored_fields(self) -> tuple[Field, ...]:
        """The top-level columns that data files store, by the names of the schema."""
        if self.partition_columns_in_files:
            return self.schema.fields
        left_out = {f.source_id for f in self.partitioning}
        return tuple(f for f in self.schema.fields if f.id not in left_out)

    @cached_property
    def derived(self) -> dict[str, object]:
        """What writers derive from the target, by names of their own, and make once: many commits share a target."""
        return {}

    @cached_property
    def _stored_leaves(self) -> list[tuple[Field, ...]]:
        return _leaves_of(self.stored_fields)

    @cached_property
    def _stored_files_schema(self) -> pa.Schema:
        return _schema_of_added(self)


def stored_leaves(target: WriteTarget) -> list[tuple[Field, ...]]:
    """The leaves of the stored columns in the order of a Parquet file's columns: the fields down from the column.

    Members of lists and maps are leaves too, as in Parquet. A variant is no leaf here.
    """
    return target._stored_leaves


def _leaves_of(fields: Sequence[Field]) -> list[tuple[Field, ...]]:
    def below(path: tuple[Field, ...]) -> list[tuple[Field, ...]]:
        members = path[-1].type.members
        return [leaf for member in members for leaf in below((*path, member))] if members else [path]

    return [leaf for f in fields for leaf in below((f,))]


def is_repeated(path: Sequence[Field]) -> bool:
    """Whether a leaf lies in a list or a map, so that its bounds are not kept and its values are no rows."""
    return any(isinstance(f.type, (ListType, MapType)) for f in path)


def added_files_schema(target: WriteTarget) -> pa.Schema:
    """The columns of written data files, one row a file.

    ``path`` (string) is relative to the target's root and not encoded, ``size_bytes`` and ``record_count`` are int64.
    ``partition`` is a struct of the typed partition values; its members are called by the partition field's id
    (``"1000"``), as in :class:`FileBatch`. The structs ``lower``, ``upper``, ``null_count`` and ``nan_count``, and
    if the target is ``with_layout`` also ``value_count`` and ``column_sizes``, have the leaves as members, called by
    the field's id (``"3"``):

    - ``lower`` and ``upper`` the wanted leaves outside of lists and maps, in the Arrow type of the field; inclusive and
      not cut; NaN is left out. NULL: unknown, or no value.
    - ``null_count``, ``value_count`` (NULL and NaN included) and ``column_sizes`` (bytes in the file) all leaves.
      NULL: unknown.
    - ``nan_count`` the leaves of a floating-point type outside of lists and maps.

    With them ``split_offsets`` (list<int64>) has the bytes at which row groups begin.
    """
    return target._stored_files_schema


def _schema_of_added(target: WriteTarget) -> pa.Schema:
    import pyarrow as pa

    leaves = stored_leaves(target)
    plain = [path[-1] for path in leaves if not is_repeated(path)]
    bounded = [f for f in plain if target.bounded is None or f.id in target.bounded]
    bounds = pa.struct([pa.field(str(f.id), arrow_type(f.type)) for f in bounded])

    def counts(fields: list[Field]) -> pa.StructType:
        return pa.struct([pa.field(str(f.id), pa.int64()) for f in fields])

    every = [path[-1] for path in leaves]
    layout = [
        pa.field("value_count", counts(every)),
        pa.field("column_sizes", counts(every)),
        pa.field("split_offsets", pa.list_(pa.int64())),
    ]
    return pa.schema(
        [
            pa.field("path", pa.string()),
            pa.field("size_bytes", pa.int64()),
            pa.field("record_count", pa.int64()),
            pa.field("partition", pa.struct([pa.field(str(f.id), arrow_type(f.type)) for f in target.partitioning])),
            pa.field("lower", bounds),
            pa.field("upper", bounds),
            pa.field("null_count", counts(every)),
            pa.field("nan_count", counts([f for f in plain if is_floating(f.type)])),
            *(layout if target.with_layout else ()),
        ]
    )
