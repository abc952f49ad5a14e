"""Changed columns of a schema: added, renamed, dropped, moved, retyped. What keeps its id is the same column.

A path is the names from the top-level column down, without regard to case; ``element``, ``key`` and ``value`` lead into
lists and maps. New columns have the id 0, for the format to number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ..dataclass import dataclass
from .schema import Schema
from .types import Field, ListType, MapType, StructType, Type

__all__ = ["Position", "add_column", "change_column", "drop_column", "find_column", "move_column", "type_without_ids"]

Siblings = tuple[Field, ...]


@dataclass(frozen=True)
class Position:
    """Where a column stands among those beside it: first, behind the column ``after``, or else last."""

    first: bool = False
    after: str | None = None

    def place(self, column: Field, others: Sequence[Field]) -> Siblings:
        """``others`` with ``column`` in its place. Raises LookupError where there is no column ``after``."""
        if self.first:
            return (column, *others)
        at = len(others) if self.after is None else _index(others, self.after) + 1
        return (*others[:at], column, *others[at:])


def find_column(schema: Schema, path: Sequence[str]) -> Field:
    """The field at a path. Raises LookupError."""
    found: list[Field] = []

    def remember(f: Field) -> Field:
        found.append(f)
        return f

    change_column(schema, path, remember)
    return found[0]


def change_column(schema: Schema, path: Sequence[str], change: Callable[[Field], Field]) -> Schema:
    """The schema with another field at a path. Raises LookupError."""

    def at(siblings: Siblings, index: int) -> Siblings:
        return (*siblings[:index], change(siblings[index]), *siblings[index + 1 :])

    return replace(schema, fields=_edited(schema.fields, tuple(path), at))


def add_column(schema: Schema, above: Sequence[str], column: Field, position: Position) -> Schema:
    """The schema with a further column: at the top, or in the struct at the path ``above``.

    Raises
    ------
    LookupError
        There is no such struct, or no column behind which the new one is to stand.
    """
    if not above:
        return replace(schema, fields=position.place(column, schema.fields))

    def extended(f: Field) -> Field:
        if not isinstance(f.type, StructType):
            raise LookupError(f"{'.'.join(above)!r} is no struct but {f.type}")
        return replace(f, type=StructType(position.place(column, f.type.fields)))

    return change_column(schema, above, extended)


def drop_column(schema: Schema, path: Sequence[str]) -> Schema:
    """The schema without a column, or without a member of a struct. Raises LookupError."""
    return replace(schema, fields=_edited(schema.fields, tuple(path), lambda all, i: (*all[:i], *all[i + 1 :])))


def move_column(schema: Schema, path: Sequence[str], position: Position) -> Schema:
    """The schema with a column in another place beside the same columns. Raises LookupError."""

    def moved(siblings: Siblings, index: int) -> Siblings:
        return position.place(siblings[index], (*siblings[:index], *siblings[index + 1 :]))

    return replace(schema, fields=_edited(schema.fields, tuple(path), moved))


def type_without_ids(kind: Type) -> Type:
    """The type of a new field: with the id 0 for all that is inside of it."""
    if isinstance(kind, StructType):
        return StructType(tuple(map(_without_ids, kind.fields)))
    if isinstance(kind, ListType):
        return ListType(_without_ids(kind.element))
    return MapType(_without_ids(kind.key), _without_ids(kind.value)) if isinstance(kind, MapType) else kind


def _without_ids(f: Field) -> Field:
    return replace(f, id=0, physical_name=None, metadata={}, type=type_without_ids(f.type))


def _edited(fields: Siblings, path: tuple[str, ...], change: Callable[[Siblings, int], Siblings]) -> Siblings:
    index = _index(fields, path[0])
    if len(path) == 1:
        return change(fields, index)
    f = fields[index]
    if not f.type.is_nested:
        raise LookupError(f"{f.name!r} has no members: it is {f.type}")
    members = _edited(f.type.members, path[1:], change)
    if isinstance(f.type, StructType):
        kind: Type = StructType(members)
    elif [m.name for m in members] != [m.name for m in f.type.members]:
        raise LookupError(f"the members of {f.name!r}, which is {f.type}, are not renamed, dropped or moved")
    else:
        kind = ListType(*members) if isinstance(f.type, ListType) else MapType(*members)
    return (*fields[:index], replace(f, type=kind), *fields[index + 1 :])


def _index(fields: Sequence[Field], name: str) -> int:
    exact = [i for i, f in enumerate(fields) if f.name == name]
    found = exact or [i for i, f in enumerate(fields) if f.name.lower() == name.lower()]
    if len(found) == 1:
        return found[0]
    known = ", ".join(f.name for f in fields)
    raise LookupError(f"there is no column {name!r}; there are {known}" if not found else f"{name!r} is ambiguous")
