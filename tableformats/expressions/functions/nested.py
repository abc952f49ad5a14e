"""Elements of lists and maps, and members of structs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...columnar.arrays import to_arrow, to_numpy
from ...schema import Field, ListType, MapType, StructType, Type, is_integer
from ..tree import Function, Literal
from .coercion import BOOLEAN, INT, LONG, STRING, as_kind, comparison_kinds, implicit, is_void, mismatch, type_of
from .comparing import comparable, compare
from .definitions import Computed, Definition
from .vectors import Vector, flags, numbers, stored_type, with_nulls

__all__ = ["FUNCTIONS"]


def _bind_element(node: Function) -> Function:
    """``a[i]``, ``get``, ``element_at``, ``try_element_at``."""
    kind = type_of(node.arguments[0])
    if isinstance(kind, ListType):
        if not is_integer(type_of(node.arguments[1])):
            raise mismatch(node, "the position in a list is an integer")
        return replace(node, arguments=(node.arguments[0], implicit(node, 1, LONG)), type=kind.element.type)
    if isinstance(kind, MapType) and node.name != "get":
        return replace(node, arguments=_with_key(node, kind), type=kind.value.type)
    if isinstance(kind, StructType) and node.name == "[]":
        return _bind_member(replace(node, name="."))
    raise mismatch(node, hint="Name a list or a map.")


def _with_key(node: Function, kind: MapType) -> tuple[Any, Any]:
    """The map and the key, in the type of the map's keys."""
    key = node.arguments[1]
    wider = comparison_kinds(Literal(None, kind.key.type), key, node.ansi)
    if wider is None or kind.key.type.is_nested:
        raise mismatch(node, f"the keys are {kind.key.type}")
    if wider != kind.key.type and type_of(key) != STRING:
        raise mismatch(node, f"the keys are {kind.key.type}", f"CAST the key AS {str(kind.key.type).upper()}.")
    return (node.arguments[0], as_kind(key, kind.key.type, node.ansi))


def _element(node: Function, arguments: Sequence[Vector], n: int) -> Computed:
    nested, key = (argument.spread(n) for argument in arguments)
    if isinstance(nested.kind, MapType):
        return _map_value(nested, nested.kind, key, n), {}
    assert isinstance(nested.kind, ListType)
    starts, sizes, valid = _extent(nested.values)
    position, has_position = numbers(key.values)
    valid = valid & has_position
    counts_from_one = node.name.endswith("element_at")
    index = np.where(position < 0, sizes + position, position - 1) if counts_from_one else position
    failed = {}
    inside = (index >= 0) & (index < sizes)
    if counts_from_one and (zero := valid & (position == 0)).any():
        failed["the position 0; the first element has the position 1"] = zero
    strict = node.ansi and node.name in ("[]", "element_at")
    outside = valid & ~inside & ~(position == 0 if counts_from_one else np.zeros(n, bool))
    if strict and outside.any():
        failed["the position is outside of the list"] = outside
    return _taken(nested.values.values, starts + index, valid & inside, nested.kind.element.type), failed


def _extent(values: pa.Array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(where each list or map starts in its values, how many it has, whether it is not NULL), each [n]."""
    offsets = to_numpy(values.offsets).astype(np.int64)
    return offsets[:-1], np.diff(offsets), to_numpy(pc.is_valid(values))


def _taken(values: pa.Array, at: np.ndarray, valid: np.ndarray, kind: Type) -> pa.Array:
    found = pc.take(values, to_arrow(at.astype(np.int64), None, valid))
    return found if kind.is_nested else found.cast(stored_type(kind))


def _entries(values: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """(the row of each entry, the entry's index in the child array), without those of NULL rows."""
    starts, sizes, valid = _extent(values)
    sizes = np.where(valid, sizes, 0)
    rows = np.repeat(np.arange(len(values)), sizes)
    first = np.cumsum(sizes) - sizes
    return rows, np.arange(len(rows)) - first[rows] + starts[rows]


def _matches(child: pa.Array, kind: Type, wanted: Vector, rows: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Which entries equal the value that their row wants, bool[entries]."""
    entries = pc.take(child, to_arrow(at.astype(np.int64))).cast(stored_type(kind))
    asked = pc.take(wanted.values, to_arrow(rows.astype(np.int64)))
    return flags(compare("=", comparable(entries, kind), comparable(asked, kind)))


def _map_value(nested: Vector, kind: MapType, key: Vector, n: int) -> pa.Array:
    rows, at = _entries(nested.values)
    hit = np.flatnonzero(_matches(nested.values.keys, kind.key.type, key, rows, at))[::-1]
    found = np.zeros(n, np.int64)
    has = np.zeros(n, bool)
    found[rows[hit]] = at[hit]
    has[rows[hit]] = True
    return _taken(nested.values.items, found, has, kind.value.type)


def _bind_size(node: Function) -> Function:
    kind = type_of(node.arguments[0])
    if not (isinstance(kind, (ListType, MapType)) or is_void(kind)) or (
        node.name == "array_size" and isinstance(kind, MapType)
    ):
        raise mismatch(node, hint="Name a list or a map; a text has a length().")
    return replace(node, type=INT)


def _size(node: Function, arguments: Sequence[Vector], n: int) -> Computed:
    values = arguments[0].values
    if is_void(arguments[0].kind):
        sizes, valid = np.zeros(len(values), np.int64), np.zeros(len(values), bool)
    else:
        _, sizes, valid = _extent(values)
    if node.name == "size" and not node.ansi:
        return with_nulls(np.where(valid, sizes, -1), np.ones(len(values), bool), INT), {}
    return with_nulls(sizes, valid, INT), {}


def _bind_contains(node: Function) -> Function:
    """``array_contains``, ``array_position`` and ``map_contains_key``."""
    kind = type_of(node.arguments[0])
    gives = LONG if node.name == "array_position" else BOOLEAN
    if node.name == "map_contains_key" and isinstance(kind, MapType):
        return replace(node, arguments=_with_key(node, kind), type=BOOLEAN)
    if node.name == "map_contains_key" or not isinstance(kind, ListType) or kind.element.type.is_nested:
        raise mismatch(node)
    value = node.arguments[1]
    element = kind.element.type
    wider = comparison_kinds(Literal(None, element), value, node.ansi)
    if wider != element or (type_of(value) == STRING) != (element == STRING):
        raise mismatch(node, hint=f"CAST the value AS {str(element).upper()}.")
    return replace(node, arguments=(node.arguments[0], as_kind(value, element)), type=gives)


def _contains(node: Function, arguments: Sequence[Vector], n: int) -> Computed:
    nested, wanted = (argument.spread(n) for argument in arguments)
    rows, at = _entries(nested.values)
    is_map = isinstance(nested.kind, MapType)
    child = nested.values.keys if is_map else nested.values.values
    kind = nested.kind.key.type if isinstance(nested.kind, MapType) else nested.kind.members[0].type
    hit = _matches(child, kind, wanted, rows, at)
    valid = flags(pc.is_valid(nested.values)) & flags(pc.is_valid(wanted.values))
    if node.name == "array_position":
        position = np.zeros(n, np.int64)
        starts = to_numpy(nested.values.offsets).astype(np.int64)[:-1]
        for_rows = np.flatnonzero(hit)[::-1]
        position[rows[for_rows]] = at[for_rows] - starts[rows[for_rows]] + 1
        return with_nulls(position, valid, LONG), {}
    found = np.zeros(n, bool)
    found[rows[hit]] = True
    if not is_map:
        empty = flags(pc.is_null(pc.take(child, to_arrow(at.astype(np.int64)))))
        unsure = np.zeros(n, bool)
        unsure[rows[empty]] = True
        valid = valid & (found | ~unsure)
    return with_nulls(found, valid, BOOLEAN), {}


def _bind_entries(node: Function) -> Function:
    kind = type_of(node.arguments[0])
    if not isinstance(kind, MapType):
        raise mismatch(node)
    field: Field = kind.key if node.name == "map_keys" else kind.value
    return replace(node, type=ListType(replace(field, name="element")))


def _map_entries(node: Function, arguments: Sequence[Vector], n: int) -> Computed:
    values = arguments[0].values
    _, at = _entries(values)
    child = values.keys if node.name == "map_keys" else values.items
    _, sizes, valid = _extent(values)
    offsets = np.concatenate([[0], np.cumsum(np.where(valid, sizes, 0))]).astype(np.int32)
    items = pc.take(child, to_arrow(at.astype(np.int64)))
    return pa.ListArray.from_arrays(to_arrow(offsets), items, mask=to_arrow(~valid)), {}


def _bind_member(node: Function) -> Function:
    kind, name = type_of(node.arguments[0]), node.arguments[1]
    if not isinstance(kind, StructType) or not isinstance(name, Literal):
        raise mismatch(node, hint="Name a member of a struct.")
    for field in kind.fields:
        if field.name.lower() == str(name.value).lower():
            return replace(node, arguments=(node.arguments[0], Literal(field.name, STRING)), type=field.type)
    raise mismatch(node, f"there is no member {name.value!r}")


def _member(node: Function, arguments: Sequence[Vector], n: int) -> Computed:
    values = arguments[0].values
    name = arguments[1].values[0].as_py()
    found = pc.struct_field(values, [values.type.get_field_index(name)])
    assert node.type is not None
    return found if node.type.is_nested else found.cast(stored_type(node.type)), {}


FUNCTIONS: dict[str, Definition] = {
    **dict.fromkeys(("[]", "get", "element_at", "try_element_at"), Definition(_bind_element, _element)),
    **dict.fromkeys(("size", "array_size"), Definition(_bind_size, _size)),
    **dict.fromkeys(("array_contains", "array_position", "map_contains_key"), Definition(_bind_contains, _contains)),
    **dict.fromkeys(("map_keys", "map_values"), Definition(_bind_entries, _map_entries)),
    ".": Definition(_bind_member, _member),
}
