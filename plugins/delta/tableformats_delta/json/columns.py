"""Members of JSON texts as Arrow columns.

The kernel reads the texts and converts the usual spellings of values. It leaves the rare ones to this module: integers
with a fraction or an exponent, doubles of many digits, numbers within strings. Both follow the same rules: a value that
is not of the wanted type is null, and decimals never pass through a double.
"""

from __future__ import annotations

import decimal
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from tableformats.plugin import EXACT, strings, text_buffers, to_arrow, to_numpy

from ._json import Cells, MemberColumns
from .values import INT_RANGES, fit_decimal, parse_float

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

__all__ = [
    "ABSENT",
    "ESCAPED",
    "FALSE",
    "INTEGER",
    "NULL",
    "OBJECT",
    "TEXT",
    "TRUE",
    "JsonColumns",
    "JsonTable",
    "Path",
    "member_tree",
]

Path = tuple[str, ...]
Member = tuple[bytes, int, int, int]

# The state of a converted cell: tf_cell in csrc/tf_json_values.h. The kernel leaves _LEFT cells to this module.
_NULL, _VALUE, _LEFT = range(3)
# The kinds of JSON values: tf_json_kind in csrc/tf_json.h.
ABSENT, NULL, FALSE, TRUE, INTEGER, _, TEXT, ESCAPED, OBJECT, _ = range(10)


@cache
def member_tree(paths: tuple[Path, ...]) -> tuple[Member, ...]:
    """The members on ``paths`` as a tree in the form that the kernel reads.

    Returns
    -------
    tuple of (name, first child, number of children, column)
        Number 0 is the text itself. The children of a member follow each other. Column i is the last member of
        ``paths[i]``; members that no path ends with have column -1.
    """
    columns = {path: column for column, path in enumerate(paths)}
    below: dict[Path, dict[Path, None]] = {}
    for path in paths:
        for depth in range(len(path)):
            below.setdefault(path[:depth], {})[path[: depth + 1]] = None
    members: list[Member] = []
    waiting: list[Path] = [()]
    for path in waiting:  # the loop appends to it
        children = below.get(path, {})
        # Valid JSON text has no half of a surrogate pair, so a name with one is never found.
        name = "".join(path[-1:]).encode("utf-8", "surrogatepass")
        members.append((name, len(waiting), len(children), columns.get(path, -1)))
        waiting += children
    return tuple(members)


class JsonColumns:
    """Members of n JSON texts, converted to arrays of length n on demand.

    Parameters
    ----------
    text : pyarrow.StringArray
        The texts; null is no text.
    paths : sequence of tuple of str
        The wanted members: names from the top level down, no path twice.
    rows : int64[n], optional
        The texts to read, ascending; all where it is None.

    Attributes
    ----------
    sound : bool[n]
        False where the text is malformed, is no object, or names a wanted member twice. Such a text has no members.

    Notes
    -----
    Cost: O(bytes of the texts), GIL released.
    """

    def __init__(self, text: pa.StringArray, paths: Sequence[Path], rows: np.ndarray | None = None) -> None:
        import numpy as np

        offsets, data = _texts(text)
        self._columns = {path: i for i, path in enumerate(paths)}
        self._members = MemberColumns(offsets, data, member_tree(tuple(paths)), len(paths), rows)
        self.sound: np.ndarray = self._members.sound.view(np.bool_)

    def kinds(self, path: Path) -> np.ndarray:
        """The kind of each value, uint8[n]: :data:`ABSENT`, :data:`NULL`, and so on."""
        return self._members.kinds(self._columns[path])

    def spans(self, path: Path) -> tuple[np.ndarray, np.ndarray]:
        """Offset in the bytes of the texts and size of each value, both int64[n]; unspecified where it is absent."""
        return self._members.spans(self._columns[path])

    def entries(self, path: Path) -> tuple[np.ndarray, JsonColumns]:
        """The entries of the objects in a column.

        Returns
        -------
        offsets : int32[n + 1]
            The entries of object i are the rows ``offsets[i]`` to ``offsets[i + 1]`` of ``columns``.
        columns : JsonColumns
            One row per entry, with the columns ``("name",)`` and ``("value",)``.
        """
        found = JsonColumns.__new__(JsonColumns)
        offsets, found._members = self._members.entries(self._columns[path])
        found._columns = {("name",): 0, ("value",): 1}
        found.sound = found._members.sound.view(bool)
        return offsets, found

    def texts(self, path: Path) -> pa.StringArray:
        """The strings of a column, unescaped; null where the value is no string."""
        import pyarrow as pa

        offsets, data, cells = self._members.text(self._columns[path])
        buffers = [_bitmap(cells), pa.py_buffer(offsets), pa.py_buffer(data)]
        return pa.StringArray.from_buffers(len(cells), buffers[1], buffers[2], buffers[0])

    def integers(self, path: Path) -> pa.Int64Array:
        """The 64-bit integers of a column, in any spelling; null where the value is none."""
        import pyarrow as pa

        column = self._columns[path]
        values, cells = self._members.int64(column)
        _fill_integers(self._members, column, values, cells)
        return _numbers(pa.int64(), values, cells)


class JsonTable:
    """Members of up to n texts in wanted types, read piece by piece.

    Each piece is converted when it is read, so its texts can be freed afterwards. Texts follow the rules of
    :class:`JsonColumns`.

    Parameters
    ----------
    wanted : mapping of tuple of str to pyarrow.DataType
        The type of each path: bool, int64, float64, decimal128(38, any) or string.
    n : int
        The greatest number of texts.
    """

    def __init__(self, wanted: Mapping[Path, pa.DataType], n: int) -> None:
        import pyarrow as pa

        names = {pa.bool_(): "boolean", pa.int64(): "int64", pa.float64(): "double", pa.string(): "text"}
        self._types = [(names.get(t, "decimal"), t.scale if pa.types.is_decimal(t) else 0) for t in wanted.values()]
        self._wanted = dict(wanted)
        self._tree = member_tree(tuple(wanted))
        self._cells = Cells(self._types, n)

    def read(self, text: pa.StringArray, rows: np.ndarray | None = None) -> None:
        """Read ``rows`` (int64; None: all) of the next texts. Cost: O(bytes of the texts), GIL released."""
        offsets, data = _texts(text)
        members = MemberColumns(offsets, data, self._tree, len(self._wanted), rows)
        first = self._cells.count
        if not self._cells.take(members):
            return
        for column, (name, scale) in enumerate(self._types):
            values, cells = self._cells.values(column)[first:], self._cells.cells(column)[first:]
            if name == "int64":
                _fill_integers(members, column, values, cells)
            elif name == "double":
                _fill_doubles(members, column, values, cells)
            elif name == "decimal":
                _fill_decimals(members, column, scale, values, cells)

    def columns(self) -> dict[Path, pa.Array]:
        """The columns of all texts that were read, by path."""
        import pyarrow as pa

        found: dict[Path, pa.Array] = {}
        for column, (path, kind) in enumerate(self._wanted.items()):
            cells = self._cells.cells(column)
            if pa.types.is_string(kind):
                offsets, data = self._cells.text(column)
                buffers = [_bitmap(cells), pa.py_buffer(offsets), pa.py_buffer(data)]
                found[path] = pa.Array.from_buffers(kind, len(cells), buffers)
            elif pa.types.is_boolean(kind):
                found[path] = to_arrow(self._cells.values(column).view(bool), valid=cells == _VALUE)
            else:
                found[path] = _numbers(kind, self._cells.values(column), cells)
        return found


def _numbers(kind: pa.DataType, values: np.ndarray, cells: np.ndarray) -> pa.Array:
    import pyarrow as pa

    return pa.Array.from_buffers(kind, len(cells), [_bitmap(cells), pa.py_buffer(values)])


def _fill_integers(members: MemberColumns, column: int, values: np.ndarray, cells: np.ndarray) -> None:
    """Convert the cells that the kernel left."""
    _fill(members, column, values, cells, _int64)


def _fill_doubles(members: MemberColumns, column: int, values: np.ndarray, cells: np.ndarray) -> None:
    """Convert the cells that the kernel left."""
    if not _cast_left(members, column, values, cells):
        _fill(members, column, values, cells, _double)


def _fill_decimals(members: MemberColumns, column: int, scale: int, values: np.ndarray, cells: np.ndarray) -> None:
    """Convert the cells that the kernel left."""

    def halves(number: Any) -> tuple[int, int] | None:
        fitted = _fitted(number, scale)
        if fitted is None:
            return None
        unscaled = int(fitted.scaleb(scale, EXACT)) & (1 << 128) - 1
        return unscaled & (1 << 64) - 1, unscaled >> 64

    _fill(members, column, values, cells, halves)


def _fill(
    members: MemberColumns, column: int, values: np.ndarray, cells: np.ndarray, value_of: Callable[[Any], Any]
) -> None:
    for row, number in _left(members, column, cells):
        value = value_of(number)
        cells[row] = _NULL
        if value is not None:
            values[row], cells[row] = value, _VALUE


def _left(members: MemberColumns, column: int, cells: np.ndarray) -> Iterator[tuple[int, Any]]:
    """Row and parsed value of the cells that the kernel left: Decimal or None, infinite float, int or str."""
    import numpy as np

    rows = np.flatnonzero(cells == _LEFT)
    if not len(rows):
        return
    offsets, data = members.raw(column, cells)
    quoted = np.isin(members.kinds(column)[rows], (TEXT, ESCAPED))
    for i, row in enumerate(rows.tolist()):
        spelled = data[offsets[i] : offsets[i + 1]].tobytes()
        if quoted[i]:
            spelled = b'"' + spelled + b'"'
        yield row, json.loads(spelled, parse_float=_decimal)


def _cast_left(members: MemberColumns, column: int, values: np.ndarray, cells: np.ndarray) -> bool:
    """Convert the left numbers with one cast; False where some of them need the slow way."""
    import numpy as np
    import pyarrow as pa

    from tableformats.plugin import compute as pc

    rows = np.flatnonzero(cells == _LEFT)
    if not len(rows):
        return True
    if np.isin(members.kinds(column)[rows], (TEXT, ESCAPED)).any():
        return False
    offsets, data = members.raw(column, cells)
    spelled = pa.StringArray.from_buffers(len(rows), pa.py_buffer(offsets), pa.py_buffer(data))
    try:
        values[rows] = to_numpy(pc.cast(spelled, pa.float64()))
    except pa.ArrowInvalid:
        return False
    cells[rows] = _VALUE
    return True


def _texts(text: pa.StringArray) -> tuple[np.ndarray, np.ndarray]:
    """Offsets and data of a string array. The kernel knows no nulls, so a null must be an empty text."""
    import numpy as np

    from tableformats.plugin import compute as pc

    offsets, data = text_buffers(text)
    if text.null_count:
        sizes = np.diff(offsets)
        if sizes[to_numpy(pc.is_null(text))].any():
            return text_buffers(strings(text.to_pylist()))
    return offsets, data


def _bitmap(cells: np.ndarray) -> pa.Buffer | None:
    """Arrow's validity bitmap; None where every cell has a value."""
    import numpy as np
    import pyarrow as pa

    valid = cells == _VALUE
    return None if valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))


def _decimal(text: str) -> decimal.Decimal | None:
    """The number; None where its exponent is beyond every type."""
    try:
        return decimal.Decimal(text)
    except decimal.InvalidOperation:
        return None


def _int64(number: Any) -> int | None:
    """A number as int64."""
    fitted = _fitted(number, 0)
    return int(fitted) if fitted is not None and int(fitted) in INT_RANGES["long"] else None


def _double(number: Any) -> float | None:
    """A number, or a string that spells one, as a double."""
    try:
        return parse_float(number) if isinstance(number, str) else float(number)
    except (ValueError, TypeError):
        return None
    except OverflowError:
        return float("-inf" if number < 0 else "inf")


def _fitted(number: Any, scale: int) -> decimal.Decimal | None:
    try:
        return fit_decimal(decimal.Decimal(number), 38, scale)
    except (ValueError, TypeError, ArithmeticError):
        return None
