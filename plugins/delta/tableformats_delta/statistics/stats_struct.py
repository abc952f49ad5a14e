"""Statistics of files as structs, as checkpoints store them in ``add.stats_parsed``: from their JSON text, and back.

The struct has the values that the text has, in the types of the columns; nothing is widened. What is no value of the
type is null, which means unknown. Source: Delta PROTOCOL.md, "Checkpoints", "Checkpoint Schema", "Per-file Statistics".
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tableformats.plugin import (
    DecimalType,
    Field,
    PrimitiveType,
    Schema,
    StructType,
    arrow_type,
    dataclass,
    flat,
    scalar,
)
from tableformats.plugin import compute as pc

from ..json.columns import JsonTable, Path
from .bounds import exact_values
from .indexed_columns import indexed_leaves
from .stats_json import PIECE_ROWS, Leaf, leaf_of

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["StatsColumn", "stats_columns", "stats_texts", "stats_type", "structs_of_texts"]

_BOUNDED = ("byte", "short", "int", "long", "float", "double", "string", "date", "timestamp", "timestamp_ntz")
_WITHOUT = ("unknown", "uuid", "time")
_SIDES = ("minValues", "maxValues", "nullCount")
_CONTROL = r"[\x00-\x1f]"


@dataclass(frozen=True)
class StatsColumn:
    """A leaf of the schema that has statistics.

    Attributes
    ----------
    path : tuple of str
        Physical names from the top level down.
    leaf : Leaf or None
        Where it has bounds; None: it has a null count alone.
    """

    path: tuple[str, ...]
    leaf: Leaf | None


def stats_columns(schema: Schema, partitioned: Collection[int], properties: Mapping[str, str]) -> list[StatsColumn]:
    """The leaves that the table's properties want statistics of, in the order of the schema.

    Parameters
    ----------
    partitioned : collection of int
        The ids of the partition columns, which have none.
    properties : mapping of str to str
        See :func:`indexed_leaves`.
    """
    fields = [field for field in schema.fields if field.id not in partitioned]
    return [_column(schema, path) for path in indexed_leaves(list(_leaves(fields, ())), properties)]


def _leaves(fields: Sequence[Field], above: tuple[Field, ...]) -> Iterator[tuple[Field, ...]]:
    for field in fields:
        path = (*above, field)
        if isinstance(field.type, StructType):
            yield from _leaves(field.type.fields, path)
        elif not isinstance(field.type, PrimitiveType) or field.type.name not in _WITHOUT:
            yield path


def _column(schema: Schema, path: tuple[Field, ...]) -> StatsColumn:
    kind = path[-1].type
    has_bounds = isinstance(kind, DecimalType) or (isinstance(kind, PrimitiveType) and kind.name in _BOUNDED)
    return StatsColumn(tuple(f.stored_name for f in path), leaf_of(schema, path[-1]) if has_bounds else None)


def _at(side: str, column: StatsColumn) -> Path:
    return (side, *column.path)


def stats_type(columns: Sequence[StatsColumn]) -> pa.StructType:
    """The type of ``stats_parsed``."""
    import pyarrow as pa

    members: list[tuple[str, pa.DataType]] = [("numRecords", pa.int64())]
    for side in _SIDES:
        kinds = {
            one.path: pa.int64() if side == "nullCount" else arrow_type(one.leaf.type)  # type: ignore[union-attr]
            for one in columns
            if side == "nullCount" or one.leaf is not None
        }
        if kinds:
            members.append((side, _nested_type(kinds)))
    return pa.struct([*members, ("tightBounds", pa.bool_())])


def _nested_type(kinds: Mapping[Path, pa.DataType]) -> pa.StructType:
    import pyarrow as pa

    return pa.struct(
        [(name, below if isinstance(below, pa.DataType) else _nested_type(below)) for name, below in _split(kinds)]
    )


def _split(leaves: Mapping[Path, Any]) -> Iterator[tuple[str, Any]]:
    """By first name: a leaf, or the leaves below it by the rest of their paths."""
    below: dict[str, dict[Path, Any]] = {}
    for path, value in leaves.items():
        below.setdefault(path[0], {})[path[1:]] = value
    for name, rest in below.items():
        yield name, rest.get((), rest)


def structs_of_texts(texts: pa.StringArray, columns: Sequence[StatsColumn]) -> pa.StructArray:
    """The texts as structs of :func:`stats_type`; null where there is no text, or a malformed one.

    Notes
    -----
    Cost: O(bytes of the texts), GIL released.
    """
    import pyarrow as pa

    wanted: dict[Path, pa.DataType] = {("numRecords",): pa.int64(), ("tightBounds",): pa.bool_()}
    for one in columns:
        wanted[_at("nullCount", one)] = pa.int64()
        if one.leaf is not None and one.leaf.raw_type is not None:
            for side in _SIDES[:2]:
                wanted[_at(side, one)] = one.leaf.raw_type
    table = JsonTable(wanted, len(texts))
    for start in range(0, len(texts), PIECE_ROWS):
        table.read(flat(texts.slice(start, PIECE_ROWS)))
    found = table.columns()
    for one in columns:
        if one.leaf is not None:
            for side in _SIDES[:2]:
                found[_at(side, one)] = exact_values(one.leaf, found[_at(side, one)])
    known = pc.is_valid(found["numRecords",])
    for one in columns:
        known = pc.or_(known, pc.is_valid(found[_at("nullCount", one)]))
    return _struct(stats_type(columns), found, pc.invert(known))


def _struct(kind: pa.StructType, found: Mapping[Path, pa.Array], mask: pa.BooleanArray | None = None) -> pa.StructArray:
    import pyarrow as pa

    arrays = []
    for name, below in _split(found):
        member = kind.field(name) if kind.get_field_index(name) >= 0 else None
        if member is None:
            continue
        arrays.append((name, _struct(member.type, below) if isinstance(below, dict) else below))
    by_name = dict(arrays)
    return pa.StructArray.from_arrays([by_name[f.name] for f in kind], fields=list(kind), mask=mask)


def stats_texts(parsed: pa.StructArray) -> pa.StringArray:
    """Statistics as JSON; null where the struct is null. No Python object is made for a file.

    Maxima of timestamps are rounded up to milliseconds, minima down.
    """
    members = []
    for i, field in enumerate(parsed.type):
        member = pc.struct_field(parsed, [i])
        text = _json(member, field.name == "maxValues")
        if text is not None:
            members.append(_named(field.name, text))
    return pc.if_else(pc.is_valid(parsed), _object(members), scalar(None, members[0].type))


def _object(members: Sequence[pa.StringArray]) -> pa.StringArray:
    """Members, each with a comma behind it or null, as an object."""
    nothing, start, end = (_text(part) for part in ("", "{", "}"))
    # Not with nulls that are skipped: Arrow 26 then leaves out rows in which all are null.
    joined = pc.binary_join_element_wise(*(pc.coalesce(member, nothing) for member in members), nothing)
    return pc.binary_join_element_wise(start, pc.utf8_rtrim(joined, characters=","), end, nothing)


def _named(name: str, text: pa.StringArray) -> pa.StringArray:
    return pc.binary_join_element_wise(_text(json.dumps(name, ensure_ascii=False) + ":"), text, _text(","), _text(""))


def _json(values: pa.Array, is_upper: bool) -> pa.StringArray | None:
    """The values as JSON; null where there is none. None: values of this type have no JSON."""
    from pyarrow import types

    kind = values.type
    if types.is_struct(kind):
        members = []
        for i, field in enumerate(kind):
            text = _json(pc.struct_field(values, [i]), is_upper)
            if text is not None:
                members.append(_named(field.name, text))
        return _object(members) if members else None
    if types.is_string(kind) or types.is_large_string(kind):
        return _quoted(_escaped(values))
    if types.is_timestamp(kind):
        return _quoted(_instants(values, is_upper))
    if types.is_date(kind):
        return _quoted(_cast_text(values))
    if types.is_floating(kind):
        return _cast_text(pc.if_else(pc.is_finite(values), values, scalar(None, kind)))
    if types.is_integer(kind) or types.is_decimal(kind) or types.is_boolean(kind):
        return _cast_text(values)
    return None


def _escaped(values: pa.StringArray) -> pa.StringArray:
    values = _cast_text(values)
    for plain, escape in (("\\", "\\\\"), ('"', '\\"')):
        values = pc.replace_substring(values, pattern=plain, replacement=escape)
    if pc.any(pc.match_substring_regex(values, pattern=_CONTROL)).as_py():
        for code in range(32):
            values = pc.replace_substring(values, pattern=chr(code), replacement=f"\\u{code:04x}")
    return values


def _instants(values: pa.TimestampArray, is_upper: bool) -> pa.StringArray:
    import pyarrow as pa

    zone = "Z" if values.type.tz else ""
    round_ = pc.ceil_temporal if is_upper else pc.floor_temporal
    rounded = pc.cast(round_(pc.cast(values, pa.timestamp("us")), unit="millisecond"), pa.timestamp("ms"))
    return pc.binary_join_element_wise(pc.strftime(rounded, format="%Y-%m-%dT%H:%M:%S"), _text(zone), _text(""))


def _quoted(texts: pa.StringArray) -> pa.StringArray:
    return pc.binary_join_element_wise(_text('"'), texts, _text('"'), _text(""))


def _cast_text(values: pa.Array) -> pa.StringArray:
    import pyarrow as pa

    return pc.cast(values, pa.string())


def _text(text: str) -> pa.StringScalar:
    import pyarrow as pa

    return scalar(text, pa.string())
