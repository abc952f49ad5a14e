"""Passes over the statistics of many files at once: which of them must be looked at one by one.

Arrow's reader of JSON takes the texts, with the members that some of them have. It refuses what others have beyond
these, and what is no JSON; then every text of the block is looked at.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tableformats.plugin import FALSE, TRUE, scalar, to_arrow, to_numpy
from tableformats.plugin import compute as pc

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["LEAST_TEXTS", "doubtful_statistics"]

LEAST_TEXTS = 64
"""Fewer texts are looked at one by one in less time."""
_SAMPLES = 16
_BLOCK = 1 << 13
_MOST_MEMBERS = 2000
_MOST_LEVELS = 32
_START = '{"'
_MARK = "tableformats.row"
"""A member that is added to each text. Within another text it is refused, so as many objects as texts are the texts."""
_EXACT = float(2**53)
"""From here on two numbers may be equal as doubles, and differ."""
_BOUNDS = ("minValues", "maxValues")

_Shape = dict[str, Any]
"""By name the shape of an object, or the type of a value."""


def doubtful_statistics(texts: pa.Array, deleted: pa.Array | None = None) -> np.ndarray:
    """Where statistics may break a rule.

    Parameters
    ----------
    texts : string[n]
        The statistics of files as JSON; null where a file has none.
    deleted : int64[n], optional
        The deleted rows of files; null where a file has no deletion vector.

    Returns
    -------
    bool[n]
        False where it is sure that statistics are a JSON object, and that neither counts nor bounds nor the deletion
        vector contradict one another.
    """
    found = [
        _of_block(texts.slice(at, _BLOCK), None if deleted is None else deleted.slice(at, _BLOCK))
        for at in range(0, len(texts), _BLOCK)
    ]
    return np.concatenate([np.empty(0, bool), *found])


def _of_block(texts: pa.Array, deleted: pa.Array | None) -> np.ndarray:
    rows = np.flatnonzero(_true(pc.starts_with(texts, _START)))
    doubtful = _true(pc.is_valid(texts)).copy()
    if deleted is not None:
        doubtful |= _true(pc.is_valid(deleted))
    read = _read(pc.take(texts, to_arrow(rows))) if len(rows) >= LEAST_TEXTS else None
    if read is not None:
        doubtful[rows] = _contradicted(read, None if deleted is None else pc.take(deleted, to_arrow(rows)))
    return doubtful


def _true(flags: pa.Array) -> np.ndarray:
    found: np.ndarray = to_numpy(pc.fill_null(flags, FALSE))
    return found


# ---- reading --------------------------------------------------------------------------------------------------------


def _read(texts: pa.Array) -> pa.StructArray | None:
    """The texts as objects; None where they are not all objects of the same members.

    Arrow's reader calls itself for each level of a text. It goes no deeper than the members that it is told of.
    """
    import pyarrow as pa
    import pyarrow.json

    schema = _schema_of([texts[int(row)].as_py() for row in np.linspace(0, len(texts) - 1, _SAMPLES)])
    if schema is None:
        return None
    marked = pc.binary_replace_slice(texts, start=0, stop=1, replacement=f'{{"{_MARK}":0,')
    every = pa.ListArray.from_arrays(to_arrow(np.array([0, len(texts)], np.int32)), marked)
    lines = pc.binary_join(every, scalar("\n", texts.type))[0].as_buffer()
    try:
        found = pyarrow.json.read_json(
            pa.BufferReader(lines),
            read_options=pyarrow.json.ReadOptions(block_size=lines.size),
            parse_options=pyarrow.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="error"),
        )
    except pa.ArrowInvalid:
        return None
    return found.to_struct_array().combine_chunks() if len(found) == len(texts) else None


def _schema_of(samples: list[str]) -> pa.Schema | None:
    """The members of some statistics; None where one has several types, or where there are too many."""
    import pyarrow as pa

    shape: _Shape = {}
    try:
        for text in samples:
            row = json.loads(text)
            if _MARK in row:
                return None
            for name, value in row.items():
                # Bounds are compared, so both have the same types.
                for alike in _BOUNDS if name in _BOUNDS else (name,):
                    shape[alike] = _merged(shape.get(alike), value)
        found = pa.schema([(_MARK, pa.int64()), *((name, _type_of(one)) for name, one in shape.items())])
    except (ValueError, AttributeError, RecursionError):
        return None
    return found if sum(1 for _ in _leaf_types(pa.struct(list(found)))) <= _MOST_MEMBERS else None


def _merged(known: Any, value: Any, level: int = 0) -> Any:
    """The shape of two values. Raises ValueError where they have none in common, and where it is too deep."""
    if isinstance(value, dict):
        if not isinstance(known, (dict, type(None))) or _MARK in value or level == _MOST_LEVELS:
            raise ValueError(known)
        known = dict(known or ())
        for name, one in value.items():
            known[name] = _merged(known.get(name), one, level + 1)
        return known
    if value is None or known is type(value):
        return known
    if known is None:
        return type(value)
    if known in (int, float) and type(value) in (int, float):
        return float
    raise ValueError(value)


def _type_of(shape: Any) -> pa.DataType:
    """The type of a shape. Raises ValueError for a list."""
    import pyarrow as pa

    if isinstance(shape, dict):
        return pa.struct([(name, _type_of(one)) for name, one in shape.items()])
    found = {None: pa.null(), str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}.get(shape)
    if found is None:
        raise ValueError(shape)
    return found


def _leaf_types(kind: pa.DataType) -> Iterator[pa.DataType]:
    import pyarrow as pa

    if not pa.types.is_struct(kind):
        yield kind
        return
    for i in range(kind.num_fields):
        yield from _leaf_types(kind.field(i).type)


# ---- judging --------------------------------------------------------------------------------------------------------


def _contradicted(read: pa.StructArray, deleted: pa.Array | None) -> np.ndarray:
    """Where the members of statistics may contradict one another, or the deleted rows."""
    import pyarrow as pa

    members = dict(zip((read.type.field(i).name for i in range(read.type.num_fields)), read.flatten(), strict=True))
    rows, tight = members.get("numRecords"), members.get("tightBounds")
    objects = [members[name] for name in ("nullCount", *_BOUNDS) if name in members]
    known_types = all(pa.types.is_struct(one.type) or pa.types.is_null(one.type) for one in objects)
    if rows is None or rows.type != pa.int64() or not known_types:
        return np.ones(len(read), bool)
    zero = scalar(0, pa.int64())
    doubtful = ~_true(pc.greater_equal(rows, zero))
    if deleted is not None:
        doubtful |= _true(pc.greater(deleted, rows))
    is_loose = tight is not None and tight.type == pa.bool_()
    most = pc.if_else(pc.fill_null(tight, TRUE), rows, scalar(2**63 - 1, pa.int64())) if is_loose else rows
    for _, count in _leaves(members.get("nullCount")):
        if count.type == pa.int64():
            doubtful |= _true(pc.or_(pc.less(count, zero), pc.greater(count, most)))
        else:
            doubtful |= _true(pc.is_valid(count))
    upper = dict(_leaves(members.get("maxValues")))
    for name, lower in _leaves(members.get("minValues")):
        doubtful |= _may_cross(lower, upper[name])
    return doubtful


def _may_cross(lower: pa.Array, upper: pa.Array) -> np.ndarray:
    """Where a lower bound may be above the upper one of the same type."""
    import pyarrow as pa

    if lower.type not in (pa.string(), pa.int64(), pa.float64()):
        return np.zeros(len(lower), bool)
    crossed = _true(pc.greater(lower, upper))
    if lower.type == pa.float64():
        crossed |= _true(
            pc.and_(pc.equal(lower, upper), pc.greater_equal(pc.abs(lower), scalar(float(_EXACT), pa.float64())))
        )
    return crossed


def _leaves(values: pa.Array | None, name: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], pa.Array]]:
    """The members within structs within structs, with their paths."""
    import pyarrow as pa

    if values is None or pa.types.is_null(values.type):
        return
    if not pa.types.is_struct(values.type):
        yield name, values
        return
    for i, member in enumerate(values.flatten()):
        yield from _leaves(member, (*name, values.type.field(i).name))
