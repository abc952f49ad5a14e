"""The values of Arrow columns as texts: JSON for programs, single lines for people.

A listing of a table has a row for each file, so nothing here is called once a value where it can be called once a
column. What is written is what :func:`~tableformats.cli.values.json_value` makes of each value.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from json.encoder import encode_basestring
from typing import TYPE_CHECKING, Any

from ..inspect.text import printable
from .values import json_value, value_text, values_of

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["json_objects", "printables", "slices", "texts_of"]

_SLICE = 16384
"""Rows that are written at once: a reader has the first ones early, and a closed pipe ends the work."""
_NULL = "null"


def slices(table: pa.Table) -> Iterator[pa.Table]:
    """The table in parts of some thousand rows."""
    for start in range(0, table.num_rows, _SLICE):
        yield table.slice(start, _SLICE)


def json_objects(table: pa.Table, indent: str | None = None) -> list[str]:
    """The rows as JSON objects, as ``json.dumps`` writes them.

    Parameters
    ----------
    table : pa.Table
    indent : str, optional
        The white space before the objects, where a document is indented by two. None: each is one line.
    """
    names, columns = table.column_names, [column.combine_chunks() for column in table.columns]
    return _objects(names, columns, table.num_rows, None if indent is None else f"\n{indent}")


def texts_of(column: pa.ChunkedArray | pa.Array, null: str = "") -> list[str]:
    """Each value as one line of text, ``null`` for NULL; see :func:`~tableformats.cli.values.value_text`."""
    from pyarrow import types

    kind = column.type
    if types.is_string(kind) or types.is_large_string(kind):
        return printables([null if value is None else value for value in values_of(column)])
    if types.is_integer(kind) or types.is_boolean(kind) or types.is_nested(kind):
        array = _whole(column)
        return printables(_with_nulls(_json_column(array, None), array, null))
    return _each(_whole(column), value_text, null)


def printables(texts: Sequence[str]) -> list[str]:
    """:func:`printable` of each."""
    return list(texts) if "".join(texts).isprintable() else list(map(printable, texts))


def _json_column(values: pa.Array, line: str | None) -> list[str]:
    """The values as JSON. ``line``: what begins a line of the object around them; None: all is one line."""
    from pyarrow import types

    kind = values.type
    if types.is_boolean(kind):
        return [_NULL if value is None else "true" if value else "false" for value in values.to_pylist()]
    if types.is_integer(kind):
        return [_NULL if value is None else str(value) for value in values.to_pylist()]
    if types.is_struct(kind):
        names = [kind.field(i).name for i in range(kind.num_fields)]
        found = _objects(names, values.flatten(), len(values), line)
        return _with_nulls(found, values)
    if types.is_list(kind) or types.is_large_list(kind):
        return _with_nulls(_lists(values, line), values)
    if types.is_string(kind) or types.is_large_string(kind):
        try:
            return [_NULL if value is None else encode_basestring(value) for value in values.to_pylist()]
        except UnicodeDecodeError:
            pass

    def text(value: Any) -> str:
        found = json.dumps(json_value(value), indent=2 if line else None, ensure_ascii=False)
        return found if line is None else found.replace("\n", line)

    return _each(values, text, _NULL)


def _whole(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    return column.combine_chunks() if hasattr(column, "chunks") else column


def _each(values: pa.Array, text: Callable[[Any], str], null: str) -> list[str]:
    """The text of each value; that of a value which occurs many times is made once."""
    from pyarrow import types

    from ..columnar import compute as pc

    if types.is_nested(values.type):
        return [null if value is None else text(value) for value in values_of(values)]
    encoded = pc.dictionary_encode(values)
    texts = [null if value is None else text(value) for value in values_of(encoded.dictionary)]
    return [null if i is None else texts[i] for i in encoded.indices.to_pylist()]


def _with_nulls(found: list[str], values: pa.Array, null: str = _NULL) -> list[str]:
    from ..columnar import compute as pc

    if not values.null_count:
        return found
    return [text if is_valid else null for text, is_valid in zip(found, pc.is_valid(values).to_pylist(), strict=True)]


def _objects(names: Sequence[str], columns: Sequence[pa.Array], n: int, line: str | None) -> list[str]:
    if not names:
        return ["{}"] * n
    inner = None if line is None else f"{line}  "
    by_name = dict(zip(names, columns, strict=True))  # the last one of a name counts
    begin, between, end = ("{", ", ", "}") if line is None else (f"{{{inner}", f",{inner}", f"{line}}}")
    members = (f"{encode_basestring(name)}: ".replace("%", "%%") + "%s" for name in by_name)
    template = f"{begin}{between.join(members)}{end}"
    return [template % row for row in zip(*(_json_column(column, inner) for column in by_name.values()), strict=True)]


def _lists(values: pa.Array, line: str | None) -> list[str]:
    inner = None if line is None else f"{line}  "
    begin, between, end = ("[", ", ", "]") if line is None else (f"[{inner}", f",{inner}", f"{line}]")
    offsets = values.offsets.to_pylist()
    first = offsets[0]
    members = _json_column(values.values[first : offsets[-1]], inner)
    return [
        f"{begin}{between.join(members[start - first : stop - first])}{end}" if start < stop else "[]"
        for start, stop in zip(offsets[:-1], offsets[1:], strict=True)
    ]
