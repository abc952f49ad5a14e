"""Convert columns of data files to columns of the table, at every level of nesting.

:class:`Resolver` finds each field in the file, by name or by id as the table says, and decides where the value of a
missing field comes from. The :class:`Projection` that it returns converts batches of that file to batches of the
table's columns, and those of other files with the same tree of columns. So its errors name no path: who reads a file
adds it (:func:`.files.data_file.typed_errors`).

Sources: Iceberg spec, "Column Projection"; Delta PROTOCOL.md, "Column Mapping".
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from ...columnar.arrays import pad_strings
from ...dataclass import dataclass
from ...errors import CorruptMetadataError, LimitExceededError, UnsupportedFeatureError
from ...plugin.columns import NameMapping
from ...runtime.concurrency import cached_property
from ...schema import Field, ListType, MapType, StructType, Type, arrow_type
from .files.column_tree import FileNode, Selection
from .values.casts import can_read, cast_values
from .values.variant_shredding import MalformedVariantError, unshredded

__all__ = ["Projection", "Resolver"]


@dataclass(frozen=True, eq=False)
class _Source:
    """Where the values of ``field`` come from; ``node`` is None where the file does not hold them."""

    field: Field
    node: FileNode | None
    column: str

    @property
    def leaves(self) -> frozenset[int]:
        return frozenset()

    def read(self, array: pa.Array | None, length: int, selection: Selection) -> pa.Array:
        """``length`` values in the field's Arrow type; ``array`` holds the file's values of ``node``."""
        raise NotImplementedError

    def fail(self, message: str, cause: Exception | None = None) -> NoReturn:
        raise CorruptMetadataError(
            message, field=self.column, hint="The data file contradicts the table's schema"
        ) from cause

    def check_required(self, values: pa.Array, parent: pa.Array | None = None) -> None:
        """Raise CorruptMetadataError for NULL in a required field, unless its struct ``parent`` is NULL too."""
        if not self.field.required or not values.null_count:
            return
        wrong = values.is_null() if parent is None else pc.and_(values.is_null(), parent.is_valid())
        if pc.any(wrong).as_py():
            self.fail("a required column holds NULL, or the file lacks it")


@dataclass(frozen=True, eq=False)
class _Constant(_Source):
    """One value for every row: a partition value, an initial default, or NULL."""

    value: pa.Scalar

    def read(self, array: pa.Array | None, length: int, selection: Selection) -> pa.Array:
        return _repeat(self.value, length)


@dataclass(frozen=True, eq=False)
class _Values(_Source):
    """A primitive column of the file."""

    @property
    def leaves(self) -> frozenset[int]:
        assert self.node is not None
        return frozenset(self.node.leaves)

    def read(self, array: pa.Array | None, length: int, selection: Selection) -> pa.Array:
        assert array is not None and self.node is not None
        if self.node.calendar is not None:
            array = self.node.calendar.proleptic(array, self.column)
        try:
            values = cast_values(array, self.field.type)
        except MemoryError:
            raise
        except pa.ArrowException as error:
            self.fail(f"a value stored as {array.type} is no {self.field.type}: {error}", error)
        return _padded(values, self.field)


@dataclass(frozen=True, eq=False)
class _Struct(_Source):
    members: tuple[_Source, ...] = ()

    @property
    def leaves(self) -> frozenset[int]:
        assert self.node is not None
        return _at_least_one(frozenset().union(*(m.leaves for m in self.members)), self.node)

    def read_members(self, array: pa.Array, selection: Selection) -> list[pa.Array]:
        columns = []
        for member in self.members:
            stored = None if member.node is None else array.field(selection.position(member.node))
            values = member.read(stored, len(array), selection)
            member.check_required(values, array)
            columns.append(values)
        return columns

    def read(self, array: pa.Array | None, length: int, selection: Selection) -> pa.Array:
        assert array is not None
        array = _without_extension(array)
        kind = arrow_type(self.field.type)
        return pa.Array.from_buffers(kind, len(array), [_validity(array)], children=self.read_members(array, selection))


@dataclass(frozen=True, eq=False)
class _Variant(_Source):
    """A variant, shredded or not; all of its columns are read."""

    @property
    def leaves(self) -> frozenset[int]:
        assert self.node is not None
        return frozenset(self.node.leaves)

    def read(self, array: pa.Array | None, length: int, selection: Selection) -> pa.Array:
        assert array is not None
        array = _without_extension(array)
        try:
            members = unshredded(array)
        except MemoryError:
            raise
        except (MalformedVariantError, pa.ArrowException) as error:
            self.fail(f"a variant is damaged: {error}", error)
        except OverflowError as error:
            raise LimitExceededError(
                f"{error}", field=self.column, hint="Rewrite the file with smaller row groups"
            ) from error
        buffers = [_validity(array)]
        return pa.Array.from_buffers(arrow_type(self.field.type), length, buffers, children=list(members))


@dataclass(frozen=True, eq=False)
class _List(_Source):
    element: _Source

    @property
    def leaves(self) -> frozenset[int]:
        assert self.node is not None
        return _at_least_one(self.element.leaves, self.node)

    def read(self, array: pa.Array | None, length: int, selection: Selection) -> pa.Array:
        assert array is not None
        array = _without_extension(array)
        if not types.is_list(array.type):
            array = array.cast(pa.list_(array.type.value_field))
        offsets, start, stop = _offsets(array)
        values = self.element.read(array.values.slice(start, stop - start), stop - start, selection)
        self.element.check_required(values)
        buffers = [_validity(array), offsets.buffers()[1]]
        return pa.Array.from_buffers(arrow_type(self.field.type), len(array), buffers, children=[values])


@dataclass(frozen=True, eq=False)
class _Map(_Source):
    key: _Source
    value: _Source

    @property
    def leaves(self) -> frozenset[int]:
        assert self.node is not None
        key, value = self.node.children
        # With leaves of only one side, Arrow would read the column as a list.
        return _at_least_one(self.key.leaves, key) | _at_least_one(self.value.leaves, value)

    def read(self, array: pa.Array | None, length: int, selection: Selection) -> pa.Array:
        assert array is not None
        array = _without_extension(array)
        offsets, start, stop = _offsets(array)
        columns = []
        for source, stored in ((self.key, array.keys), (self.value, array.items)):
            values = source.read(stored.slice(start, stop - start), stop - start, selection)
            source.check_required(values)
            columns.append(values)
        kind = arrow_type(self.field.type)
        entries = pa.Array.from_buffers(
            pa.struct([kind.key_field, kind.item_field]), stop - start, [None], children=columns
        )
        buffers = [_validity(array), offsets.buffers()[1]]
        return pa.Array.from_buffers(kind, len(array), buffers, children=[entries])


def _padded(values: pa.Array, f: Field) -> pa.Array:
    return values if f.char_length is None else pad_strings(values, f.char_length)


def _repeat(value: pa.Scalar, length: int) -> pa.Array:
    return pa.repeat(value, length) if value.is_valid else pa.nulls(length, value.type)


def _at_least_one(leaves: frozenset[int], node: FileNode) -> frozenset[int]:
    """``leaves``, or the first leaf of ``node``: nulls and list lengths of ``node`` are stored with its leaves."""
    return leaves or frozenset(node.leaves[:1])


def _without_extension(array: pa.Array) -> pa.Array:
    while isinstance(array, pa.ExtensionArray):
        array = array.storage
    return array


def _validity(array: pa.Array) -> pa.Buffer | None:
    """The validity bitmap of ``array``, starting at its first row; None where nothing is NULL."""
    if not array.null_count:
        return None
    return pc.invert(array.is_null()).buffers()[1]


def _offsets(array: pa.Array) -> tuple[pa.Array, int, int]:
    """The offsets of a list or map, shifted to start at 0 (int32[n + 1]), and the range of its children they cover."""
    offsets = array.offsets.to_numpy(zero_copy_only=False)
    start, stop = int(offsets[0]), int(offsets[-1])
    return pa.array(np.subtract(offsets, start, dtype=np.int32)), start, stop


class Projection:
    """Some columns of the table, read from files; made by :meth:`Resolver.project`."""

    def __init__(self, fields: Sequence[Field], root: _Struct) -> None:
        self._root = root
        self._kind = pa.struct(list(arrow_type(StructType(tuple(fields)))))

    @cached_property
    def leaves(self) -> frozenset[int]:
        """The leaf columns of the file that must be read; none if all columns are constants."""
        return frozenset().union(*(m.leaves for m in self._root.members))

    def stored_values(self) -> dict[int, tuple[Field, int]]:
        """The primitive columns, and members of structs, whose values are those of a leaf of the file, by field id.

        Columns whose values become others when they are read are left out.
        """
        return dict(_stored_values(self._root))

    def constant_values(self) -> dict[int, pa.Scalar]:
        """The columns that have one value in all rows of the file, as it does not hold them, by field id."""
        return dict(_constant_values(self._root))

    def plain_columns(self) -> list[tuple[Field, FileNode | pa.Scalar]] | None:
        """Where another reader finds the values of each column: in a column of the file, as they are, or a constant.

        Members of structs have the same names and order in the file. None: some column's values are converted, or
        checked, when they are read. Of a required column itself nobody has checked that it holds no NULL.
        """
        members = self._root.members
        if not all(map(_is_plain, members)):
            return None
        return [(m.field, m.value if isinstance(m, _Constant) else m.node) for m in members]  # type: ignore[misc]

    def read(self, rows: pa.StructArray, selection: Selection) -> pa.RecordBatch:
        """Rows of the file as the table's columns.

        Parameters
        ----------
        rows : pa.StructArray
            Rows with one member for each top-level column of ``selection``.
        selection : Selection
            The leaf columns of the file that were read.

        Raises
        ------
        CorruptMetadataError
            The column's type cannot hold a value; NULL in a required column.
        """
        columns = self._root.read_members(rows, selection)
        array = pa.Array.from_buffers(self._kind, len(rows), [None], children=columns)
        return pa.RecordBatch.from_struct_array(array)


def _stored_values(source: _Struct) -> Iterator[tuple[int, tuple[Field, int]]]:
    for member in source.members:
        if isinstance(member, _Struct):
            yield from _stored_values(member)
        elif isinstance(member, _Values) and member.node is not None:
            if member.node.calendar is None and member.field.char_length is None:
                yield member.field.id, (member.field, member.node.leaves.start)


def _constant_values(source: _Struct) -> Iterator[tuple[int, pa.Scalar]]:
    for member in source.members:
        if isinstance(member, _Struct):
            yield from _constant_values(member)
        elif isinstance(member, _Constant):
            yield member.field.id, member.value


_ONE_LAYOUT = {
    **dict.fromkeys((pa.large_string(), pa.string_view()), pa.string()),
    **dict.fromkeys((pa.large_binary(), pa.binary_view()), pa.binary()),
}
"""Layouts in memory of one type of values: what a file says of them is for Arrow alone."""


def _is_plain(source: _Source) -> bool:
    """Whether the values of a column are those that the file stores, as they are, or a constant without members."""
    f, node = source.field, source.node
    if isinstance(source, _Constant):
        return not f.type.is_nested and (source.value.is_valid or not f.required)
    if isinstance(source, _Values):
        if node is None or node.calendar is not None or f.char_length is not None:
            return False
        return _ONE_LAYOUT.get(node.type, node.type) == arrow_type(f.type)
    if isinstance(source, _List):
        is_list = node is not None and (types.is_list(node.type) or types.is_large_list(node.type))
        return bool(is_list) and _is_plain_below(source.element, node.type, 0)  # type: ignore[union-attr]
    if isinstance(source, _Map):
        return (
            node is not None
            and [child.name for child in node.children] == ["key", "value"]
            and _is_plain(source.key)
            and _is_plain_below(source.value, node.type, 1)
        )
    if not isinstance(source, _Struct) or node is None:
        return False
    if [child.name for child in node.children] != [m.field.name for m in source.members]:
        return False
    return all(m.node is not None and _is_plain_below(m, node.type, i) for i, m in enumerate(source.members))


def _is_plain_below(source: _Source, parent: pa.DataType, index: int) -> bool:
    """As :func:`_is_plain` for a field of ``parent``, of which the file promises what the table requires."""
    stored = parent.item_field if types.is_map(parent) else parent.field(index)
    return _is_plain(source) and not (source.field.required and stored.nullable)


@dataclass(frozen=True)
class Resolver:
    """Finds the table's fields in one file.

    Attributes
    ----------
    root : FileNode
        The file's columns, with field ids where it has any (see :func:`.files.opening.open_data_file`).
    mapping : NameMapping
        Whether columns are found by name or by id.
    constants : Mapping[int, pa.Scalar]
        Identity partition values by the id of their source field.
    """

    root: FileNode
    mapping: NameMapping
    constants: Mapping[int, pa.Scalar] = field(default_factory=dict)

    def project(self, fields: Sequence[Field]) -> Projection:
        """The projection onto ``fields``, in their order.

        Raises
        ------
        CorruptMetadataError
            A column is stored in a type that cannot be read as the table's; two columns of the file match a field.
        UnsupportedFeatureError
            The table finds columns by id, and the file carries none.
        """
        whole = Field(-1, "", StructType(tuple(fields)))
        members = self._members(whole.type, self.root, "")
        return Projection(fields, _Struct(whole, self.root, "", members))

    def _members(self, kind: Type, parent: FileNode, prefix: str) -> tuple[_Source, ...]:
        assert isinstance(kind, StructType)
        return tuple(self._member(f, parent, prefix + f.name) for f in kind.fields)

    def _member(self, f: Field, parent: FileNode, column: str) -> _Source:
        if f.id in self.constants and self.mapping.partition_values_first:
            return self._constant(f, column, self.constants[f.id])
        node = None if str(f.type) == "void" else self._find(f, parent, column)
        if node is not None:
            return self._source(f, node, column)
        if f.id in self.constants:
            return self._constant(f, column, self.constants[f.id])
        return self._constant(f, column, None)

    def _find(self, f: Field, parent: FileNode, column: str) -> FileNode | None:
        if self.mapping.by == "name" or f.id in self.mapping.by_name:
            found = [child for child in parent.children if child.name == f.stored_name]
            if not found and self.mapping.by == "name":
                # Case-insensitive writers produce such files, and Spark reads them.
                found = [child for child in parent.children if child.name.lower() == f.stored_name.lower()]
        else:
            self._require_ids(column)
            found = [child for child in parent.children if child.id == f.id]
        if len(found) > 1:
            raise CorruptMetadataError(f"{len(found)} columns of the file match", field=column, hint="Rewrite the file")
        return found[0] if found else None

    def _require_ids(self, column: str) -> None:
        # Without ids every column would be NULL, and a match by name may find a dropped column of the same name.
        if self.root.children and not self.root.has_ids and not self.mapping.names:
            raise UnsupportedFeatureError(
                f"column {column!r} is found by field id, but the file carries none and the table maps no names",
                field="data files without field ids",
                hint="Set a name mapping (schema.name-mapping.default) or rewrite the file",
            )

    def _source(self, f: Field, node: FileNode, column: str) -> _Source:
        if types.is_null(node.type):
            return _Constant(f, None, column, pa.nulls(1, arrow_type(f.type))[0])
        if str(f.type) == "variant" and node.is_struct:
            return _Variant(f, node, column)
        if isinstance(f.type, StructType) and node.is_struct:
            return _Struct(f, node, column, self._members(f.type, node, column + "."))
        if isinstance(f.type, ListType) and node.is_list:
            element = self._source(f.type.element, node.children[0], column + ".element")
            return _List(f, node, column, element)
        if isinstance(f.type, MapType) and node.is_map:
            key, value = node.children
            return _Map(
                f,
                node,
                column,
                self._source(f.type.key, key, column + ".key"),
                self._source(f.type.value, value, column + ".value"),
            )
        if f.type.is_nested or node.children or not can_read(node.type, f.type):
            raise CorruptMetadataError(
                f"a column stored as {node.type} cannot be read as {f.type}",
                field=column,
                hint="The data file contradicts the table's schema",
            )
        return _Values(f, node, column)

    def _constant(self, f: Field, column: str, value: pa.Scalar | None) -> _Source:
        try:
            one = default_values(f) if value is None else cast_values(_repeat(value, 1), f.type)
        except MemoryError:
            raise
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            raise CorruptMetadataError(
                f"the column's constant value is no {f.type}: {error}",
                field=column,
                hint="Check the table's partition values and defaults",
            ) from error
        return _Constant(f, None, column, _padded(one, f)[0])


def default_values(f: Field) -> pa.Array:
    """The field's value in files written before it existed, as an array of length 1.

    Raises
    ------
    TypeError, pa.ArrowInvalid
        The default is no value of the field's type.
    """
    kind = arrow_type(f.type)
    value = _plain_default(f)
    return pa.nulls(1, kind) if value is None else pa.array([value], kind)


def _plain_default(f: Field) -> Any:
    """The default as a Python value; missing members of a struct have their own.

    Source: Iceberg spec, "Default values".
    """
    value = f.initial_default
    if isinstance(f.type, StructType) and isinstance(value, Mapping):
        return {m.name: value[m.name] if m.name in value else _plain_default(m) for m in f.type.fields}
    return value.bytes if isinstance(value, uuid.UUID) else value
