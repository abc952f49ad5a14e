"""The columns of a data file as a tree: names, field ids and the range of leaf columns below each node.

A leaf is a column of values, numbered depth first as in Parquet. A :class:`Selection` is the set of leaves that is
read. It knows the index of a node among those of its siblings that the reader returns, so neither duplicate names nor
dots in names matter. Sources: Parquet format, "Nested Encoding"; Iceberg spec, "Column Projection".
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import count

import pyarrow as pa
from pyarrow import types

from ....dataclass import dataclass
from ....limits import DEFAULT_LIMITS, Limits
from ....runtime.concurrency import cached_property
from ....schema import Field, ListType, MapType, Schema, StructType, Type
from ..values.calendars import OldCalendar
from ..values.casts import storage_of

__all__ = ["FileNode", "Selection", "file_tree", "numbered_as"]


@dataclass(frozen=True, eq=False)
class FileNode:
    """A column of a file, a member of a struct, an element of a list, or a key or value of a map.

    Attributes
    ----------
    name : str
        Its name in the file.
    type : pa.DataType
        Its type without extensions and dictionaries.
    id : int or None
        Its field id.
    leaves : range
        The numbers of the leaves below it; of a leaf its own.
    children : tuple[FileNode, ...]
        A list has one child, a map two, whatever their names.
    calendar : OldCalendar or None
        Of a leaf whose dates were stored in another calendar than Arrow's.
    """

    name: str
    type: pa.DataType
    id: int | None
    leaves: range
    children: tuple[FileNode, ...] = ()
    calendar: OldCalendar | None = None

    @property
    def is_struct(self) -> bool:
        return bool(types.is_struct(self.type))

    @property
    def is_list(self) -> bool:
        return _is_list(self.type)

    @property
    def is_map(self) -> bool:
        return bool(types.is_map(self.type))

    def walk(self) -> Iterator[FileNode]:
        """The node and all below it, depth first."""
        yield self
        for child in self.children:
            yield from child.walk()

    @cached_property
    def has_ids(self) -> bool:
        return any(node.id is not None for node in self.walk())

    def find(self, field_id: int) -> tuple[FileNode, ...] | None:
        """The path of nodes, through structs only, down to the one with that id; None if there is none."""
        for child in self.children:
            if child.id == field_id:
                return (child,)
            rest = child.find(field_id) if child.is_struct else None
            if rest:
                return (child, *rest)
        return None

    def with_calendars(self, calendar_of: Callable[[int, pa.DataType], OldCalendar | None]) -> FileNode:
        """The same tree with calendars; ``calendar_of`` takes a leaf's number and type."""
        if not self.children:
            return replace(self, calendar=calendar_of(self.leaves.start, self.type))
        return replace(self, children=tuple(child.with_calendars(calendar_of) for child in self.children))

    def with_ids(self, ids: Mapping[str, int], prefix: str = "") -> FileNode:
        """The same tree with the field ids of a name mapping.

        Parameters
        ----------
        ids : Mapping[str, int]
            Field ids by dotted name; children of lists and maps are called ``element``, ``key`` and ``value``.
        prefix : str
            Prepended to the names of the children.

        Source: Iceberg spec, "Name Mapping Serialization".
        """
        fixed_names = ("element",) if self.is_list else ("key", "value") if self.is_map else ()
        children = []
        for i, child in enumerate(self.children):
            name = prefix + (fixed_names[i] if fixed_names else child.name)
            children.append(replace(child.with_ids(ids, name + "."), id=ids.get(name)))
        return replace(self, children=tuple(children))


def numbered_as(root: FileNode, schema: Schema) -> FileNode | None:
    """The columns of a file without ids, with the ids of ``schema``; None where name and position do not agree.

    The id that a top-level column gets by its name must be its position, counted from 1, and a struct must have the
    first members of the schema's struct, in order. Then finding columns by position or by name gives the same.
    """
    by_name = {f.name: f.id for f in schema}
    for i, column in enumerate(root.children):
        if by_name.get(column.name) != (i + 1 if i + 1 in by_name.values() else None):
            return None
    columns = {f.name: f for f in schema}
    if not all(_is_laid_out_as(c, columns[c.name].type) for c in root.children if c.name in columns):
        return None
    return root.with_ids(dict(_dotted_names(StructType(schema.fields), "")))


def _is_laid_out_as(node: FileNode, kind: Type) -> bool:
    expected = _members(kind)[: len(node.children)]
    if isinstance(kind, StructType) and [c.name for c in node.children] != [name for name, _ in expected]:
        return False
    return all(_is_laid_out_as(c, f.type) for c, (_, f) in zip(node.children, expected, strict=False))


def _dotted_names(kind: Type, prefix: str) -> Iterator[tuple[str, int]]:
    for name, f in _members(kind):
        yield prefix + name, f.id
        yield from _dotted_names(f.type, f"{prefix}{name}.")


def _members(kind: Type) -> list[tuple[str, Field]]:
    """The fields directly below a type, under the names that name mappings use."""
    if isinstance(kind, StructType):
        return [(f.name, f) for f in kind.fields]
    if isinstance(kind, ListType):
        return [("element", kind.element)]
    return [("key", kind.key), ("value", kind.value)] if isinstance(kind, MapType) else []


class Selection:
    """Some leaves of a file, and the indexes of the nodes above them in a batch that holds only these leaves."""

    def __init__(self, root: FileNode, leaves: Iterable[int]) -> None:
        self.leaves = sorted(set(leaves))
        self._positions: dict[FileNode, int] = {}
        for node in root.walk():
            chosen = (child for child in node.children if self._touches(child))
            self._positions.update(zip(chosen, count()))

    def _touches(self, node: FileNode) -> bool:
        first = bisect_left(self.leaves, node.leaves.start)
        return first < len(self.leaves) and self.leaves[first] < node.leaves.stop

    def position(self, node: FileNode) -> int:
        """The index of ``node`` among those of its parent's children that are read.

        Raises KeyError if it is not read.
        """
        return self._positions[node]

    def columns(self, root: FileNode) -> list[FileNode]:
        """The top-level columns that are read, whole or in part, in the file's order."""
        return [child for child in root.children if child in self._positions]


def file_tree(schema: pa.Schema, id_key: bytes, path: str, limits: Limits = DEFAULT_LIMITS) -> FileNode:
    """The tree of a file's Arrow schema.

    Parameters
    ----------
    schema : pa.Schema
        The file's schema.
    id_key : bytes
        The key of the field id in a field's metadata.
    path : str
        Path of the file, for errors.
    limits : Limits
        What the schema may cost.

    Raises
    ------
    LimitExceededError
        It nests deeper than ``limits.nesting``.
    """

    def grow(field: pa.Field, first: int, depth: int) -> FileNode:
        if depth > limits.nesting:
            limits.check("nesting", depth, "levels of types or more in a file's schema", path=path)
        stored = storage_of(field.type)
        if not stored.num_fields:  # most: a file may have many columns
            return FileNode(field.name, stored, _field_id(field, id_key), range(first, first + 1))
        children: list[FileNode] = []
        stop = first
        for below in _children(stored):
            children.append(grow(below, stop, depth + 1))
            stop = children[-1].leaves.stop
        leaves = range(first, stop if children else first + 1)
        return FileNode(field.name, stored, _field_id(field, id_key), leaves, tuple(children))

    top: list[FileNode] = []
    fields = list(schema)
    stop = 0
    for field in fields:
        top.append(grow(field, stop, 1))
        stop = top[-1].leaves.stop
    return FileNode("", pa.struct(fields), None, range(stop), tuple(top))


def _children(stored: pa.DataType) -> list[pa.Field]:
    if types.is_struct(stored):
        return [stored.field(i) for i in range(stored.num_fields)]
    if types.is_map(stored):
        return [stored.key_field, stored.item_field]
    return [stored.value_field] if _is_list(stored) else []


def _is_list(stored: pa.DataType) -> bool:
    # List views are left out, and so refused: Arrow 26 casts their slices to wrong offsets.
    return bool(types.is_list(stored) or types.is_large_list(stored) or types.is_fixed_size_list(stored))


def _field_id(field: pa.Field, key: bytes) -> int | None:
    metadata = field.metadata
    text = metadata.get(key) if metadata else None
    return int(text) if text and re.fullmatch(rb"-?\d{1,10}", text) else None
