"""The columns of a table: found by id or by name, and numbered where the format stores no ids."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING

from ..dataclass import dataclass
from ..display import grid, page, shortened
from ..runtime.concurrency import cached_property
from .arrow_types import arrow_field, field_of_arrow
from .spark_types import spark_type
from .types import Field, ListType, MapType, StructType

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Schema", "number_fields"]


@dataclass(frozen=True)
class Schema:
    """The columns of a table at one version. ``id`` is the format's schema id, None where it has none.

    >>> schema = tf.open_table("events").schema
    >>> schema
    Schema(id: bigint, day: bigint)
    >>> [(field.id, field.name, str(field.type)) for field in schema]
    [(1, 'id', 'bigint'), (2, 'day', 'bigint')]
    """

    fields: tuple[Field, ...]
    id: int | None = None

    def __iter__(self) -> Iterator[Field]:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)

    def __repr__(self) -> str:
        return f"Schema({shortened(', '.join(f'{f.name}: {f.type}' for f in self.fields), 100)})"

    def _repr_html_(self) -> str:
        rows = [(str(f.id), f.name, str(f.type), "no" if f.required else "yes", f.doc or "") for f in self.fields]
        return page("Schema", f"{len(rows)} columns", grid(["id", "name", "type", "nullable", "comment"], rows))

    def __str__(self) -> str:
        return "\n".join(f"{f.name}: {f.type}{' not null' if f.required else ''}" for f in self.fields)

    @property
    def names(self) -> list[str]:
        """Top-level column names, in order.

        >>> tf.open_table("events").schema.names
        ['id', 'day']
        """
        return [f.name for f in self.fields]

    @cached_property
    def _paths_by_id(self) -> dict[int, tuple[Field, ...]]:
        return {path[-1].id: path for path in _walk(self.fields, ())}

    def find_id(self, field_id: int) -> Field | None:
        """The field with that id at any depth, or None.

        >>> tf.open_table("events").schema.find_id(2)
        Field(id=2, name='day', type='bigint')
        """
        path = self._paths_by_id.get(field_id)
        return path[-1] if path else None

    def path_of(self, field_id: int) -> tuple[Field, ...]:
        """The fields from the top-level column down to ``field_id``. Raises KeyError."""
        return self._paths_by_id[field_id]

    def resolve(self, parts: Sequence[str], case_sensitive: bool = False) -> tuple[Field, ...] | None:
        """The fields from the top-level column down that the parts of a dotted name mean. Only structs are entered.

        None where there is no such field. Spark's rule: names compare without case, unless ``case_sensitive``. Two
        columns whose names differ only in case are resolved by the exact spelling; any other spelling is ambiguous
        (None).

        >>> tf.open_table("events").schema.resolve(["DAY"])
        (Field(id=2, name='day', type='bigint'),)
        """
        fields: Iterable[Field] = self.fields
        path: list[Field] = []
        for part in parts:
            found = _pick(fields, part, case_sensitive)
            if found is None:
                return None
            path.append(found)
            fields = found.type.fields if isinstance(found.type, StructType) else ()
        return tuple(path) or None

    def near_names(self, name: str, limit: int = 3) -> list[str]:
        """Dotted names of leaf columns that resemble ``name``, best first: for error messages."""
        import difflib

        names = {".".join(f.name for f in path): None for path in _walk(self.fields, ())}
        lowered = {n.lower(): n for n in names}
        close = difflib.get_close_matches(name.lower(), list(lowered), n=limit, cutoff=0.5)
        return [lowered[n] for n in close]

    def leaves(self) -> list[tuple[Field, ...]]:
        """Paths of all primitive fields reachable through structs, depth first: the columns that have bounds.

        >>> [".".join(f.name for f in path) for path in tf.open_table("events").schema.leaves()]
        ['id', 'day']
        """
        return [p for p in _walk(self.fields, (), structs_only=True) if not p[-1].type.is_nested]

    def to_arrow(self) -> pa.Schema:
        """The Arrow schema of a scan's rows (instants as ``timestamp[us, UTC]``, uuid as 16 fixed bytes).

        >>> tf.open_table("events").schema.to_arrow().field("id").type
        DataType(int64)
        """
        import pyarrow as pa

        return pa.schema([arrow_field(f) for f in self.fields])

    @classmethod
    def from_arrow(cls, schema: pa.Schema) -> Schema:
        """A schema of the same columns, numbered from 1. Raises UnsupportedFeatureError for other types.

        >>> tf.Schema.from_arrow(pa.schema({"a": pa.list_(pa.int32())}))
        Schema(a: array<int>)
        """
        fields = tuple(field_of_arrow(f) for f in schema)
        return cls(number_fields(fields))

    def to_spark_json(self) -> str:
        """Spark's ``StructType`` in JSON; uuid becomes string. Raises UnsupportedFeatureError for other types.

        >>> tf.open_table("events").schema.to_spark_json()[:33]
        '{"type": "struct", "fields": [{"n'
        """
        return json.dumps(spark_type(StructType(self.fields)))


def _pick(fields: Iterable[Field], name: str, case_sensitive: bool) -> Field | None:
    """The field that ``name`` means; None where there is none, or more than one."""
    candidates = list(fields)
    exact = [f for f in candidates if f.name == name]
    if exact or case_sensitive:
        return exact[0] if exact else None
    folded = [f for f in candidates if f.name.lower() == name.lower()]
    return folded[0] if len(folded) == 1 else None


def _walk(
    fields: Iterable[Field], prefix: tuple[Field, ...], structs_only: bool = False
) -> Iterator[tuple[Field, ...]]:
    """The path of every field, depth first, parents before their members."""
    for f in fields:
        path = (*prefix, f)
        yield path
        if isinstance(f.type, StructType):
            yield from _walk(f.type.fields, path, structs_only)
        elif isinstance(f.type, ListType) and not structs_only:
            yield from _walk((f.type.element,), path)
        elif isinstance(f.type, MapType) and not structs_only:
            yield from _walk((f.type.key, f.type.value), path)


def number_fields(fields: Iterable[Field], start: int = 1) -> tuple[Field, ...]:
    """The same fields with ids in depth-first order from ``start``, for formats that store no ids."""
    counter = count(start)

    def renumber(f: Field) -> Field:
        numbered = replace(f, id=next(counter))
        kind = f.type
        if isinstance(kind, StructType):
            return replace(numbered, type=StructType(tuple(renumber(child) for child in kind.fields)))
        if isinstance(kind, ListType):
            return replace(numbered, type=ListType(renumber(kind.element)))
        if isinstance(kind, MapType):
            return replace(numbered, type=MapType(renumber(kind.key), renumber(kind.value)))
        return numbered

    return tuple(renumber(f) for f in fields)
