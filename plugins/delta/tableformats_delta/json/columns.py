"""Members of JSON texts as Arrow columns, whatever else the texts hold.

The kernel reads the texts and converts what is usual; what it leaves (integers written with a fraction or an exponent,
doubles of many digits, numbers within strings) is converted here, by the same rules. What has no value of the asked
type is null. Decimals never pass through a double.
"""

from __future__ import annotations

import decimal
import json
from collections.abc import Iterator, Mapping, Sequence
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
    "INTEGER",
    "NULL",
    "OBJECT",
    "TEXT",
    "JsonColumns",
    "JsonTable",
    "Path",
    "member_tree",
]

Path = tuple[str, ...]
Member = tuple[bytes, int, int, int]

_NULL, _VALUE, _LEFT = range(3)
# What stands in a cell: tf_json_kind in csrc/tf_json.h.
ABSENT, NULL, _, _, INTEGER, _, TEXT, ESCAPED, OBJECT, _ = range(10)


@cache
def member_tree(paths: tuple[Path, ...]) -> tuple[Member, ...]:
    """The members on ``paths`` as the kernel takes them: (name, first child, number of children, column).

    Number 0 is the text itself; children follow each other. Column i is the last member of ``paths[i]``.
    """
    columns = {path: column for column, path in enumerate(paths)}
    below: dict[Path, dict[Path, None]] = {}
    for path in paths:
        for depth in range(len(path)):
            below.setdefault(path[:depth], {})[path[: depth + 1]] = None
    members: list[Member] = [(b"", 0, 0, -1)]
    waiting: list[Path] = [()]
    for place, path in enumerate(waiting):  # which grows meanwhile
        children = below.get(path, {})
        members[place] = (members[place][0], len(members), len(children), columns.get(path, -1))
        # No text means half a surrogate pair, so a name with one is never found.
        members += [(child[-1].encode("utf-8", "surrogatepass"), 0, 0, -1) for child in children]
        waiting += children
    return tuple(members)


class JsonColumns:
    """The members of n texts that stand on ``paths``.

    Parameters
    ----------
    text : string[n_texts]; null is no text
    paths : names from the top level down, none of them twice
    rows : int64[n], the texts that are read, ascending; None: all

    Notes
    -----
    A text that is no JSON object, that is malformed, or that names one of the members twice has none of them.
    Cost: O(bytes of the texts), GIL released. Arrays are of length n.
    """

    def __init__(self, text: pa.StringArray, paths: Sequence[Path], rows: np.ndarray | None = None) -> None:
        import numpy as np

        offsets, data = _texts(text)
        self._columns = {path: i for i, path in enumerate(paths)}
        self._members = MemberColumns(offsets, data, member_tree(tuple(paths)), len(paths), rows)
        self.sound: np.ndarray = self._members.sound.view(np.bool_)

    def kinds(self, path: Path) -> np.ndarray:
        """uint8[n]: what stands there, :data:`ABSENT` and the like."""
        return self._members.kinds(self._columns[path])

    def spans(self, path: Path) -> tuple[np.ndarray, np.ndarray]:
        """(int64[n], int64[n]): where it stands in the bytes of the texts, and its size; unspecified where absent."""
        return self._members.spans(self._columns[path])

    def entries(self, path: Path) -> tuple[np.ndarray, JsonColumns]:
        """(offsets int32[n + 1], columns ``("name",)`` and ``("value",)``): the entries of the objects there, one a row
        of the columns; those of object i are from offsets[i] to offsets[i + 1]."""
        found = JsonColumns.__new__(JsonColumns)
        offsets, found._members = self._members.entries(self._columns[path])
        found._columns = {("name",): 0, ("value",): 1}
        found.sound = found._members.sound.view(bool)
        return offsets, found

    def texts(self, path: Path) -> pa.StringArray:
        """Strings, unescaped."""
        import pyarrow as pa

        offsets, data, cells = self._members.text(self._columns[path])
        buffers = [_bitmap(cells), pa.py_buffer(offsets), pa.py_buffer(data)]
        return pa.StringArray.from_buffers(len(cells), buffers[1], buffers[2], buffers[0])

    def integers(self, path: Path) -> pa.Int64Array:
        """Numbers of 64 bits without a fraction, however they are spelled."""
        import pyarrow as pa

        column = self._columns[path]
        values, cells = self._members.int64(column)
        _settle_integers(self._members, column, values, cells)
        return _numbers(pa.int64(), values, cells)


class JsonTable:
    """Members of up to n texts in the types that are asked for, as :class:`JsonColumns` has them. Texts come piece by
    piece; what their members mean is in place when a piece is read, and nothing of the texts is needed afterwards.

    Parameters
    ----------
    wanted : Arrow types by path: bool, int64, float64, decimal128(38, any) or string
    """

    def __init__(self, wanted: Mapping[Path, pa.DataType], n: int) -> None:
        import pyarrow as pa

        names = {pa.bool_(): "boolean", pa.int64(): "int64", pa.float64(): "double", pa.string(): "text"}
        self._types = [(names.get(t, "decimal"), t.scale if pa.types.is_decimal(t) else 0) for t in wanted.values()]
        self._wanted = dict(wanted)
        self._tree = member_tree(tuple(wanted))
        self._cells = Cells(self._types, n)

    def read(self, text: pa.StringArray, rows: np.ndarray | None = None) -> None:
        """The next texts, of them ``rows`` (int64; None: all) alone. Cost: O(bytes of the texts), GIL released."""
        offsets, data = _texts(text)
        members = MemberColumns(offsets, data, self._tree, len(self._wanted), rows)
        first = self._cells.count
        if not self._cells.take(members):
            return
        for column, (name, scale) in enumerate(self._types):
            values, cells = self._cells.values(column)[first:], self._cells.cells(column)[first:]
            if name == "int64":
                _settle_integers(members, column, values, cells)
            elif name == "double":
                _settle_doubles(members, column, values, cells)
            elif name == "decimal":
                _settle_decimals(members, column, scale, values, cells)

    def columns(self) -> dict[Path, pa.Array]:
        """What was read, by path."""
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


def _settle_integers(members: MemberColumns, column: int, values: np.ndarray, cells: np.ndarray) -> None:
    """Fill in what the kernel left."""
    for row, number in _left(members, column, cells):
        values[row], cells[row] = _whole(number)


def _settle_doubles(members: MemberColumns, column: int, values: np.ndarray, cells: np.ndarray) -> None:
    """Fill in what the kernel left."""
    if (cells == _LEFT).any() and not _cast_left(members, column, values, cells):
        for row, number in _left(members, column, cells):
            values[row], cells[row] = _double(number)


def _settle_decimals(members: MemberColumns, column: int, scale: int, values: np.ndarray, cells: np.ndarray) -> None:
    """Fill in what the kernel left."""
    for row, number in _left(members, column, cells):
        cells[row] = _NULL
        fitted = _fitted(number, scale)
        if fitted is not None:
            unscaled = int(fitted.scaleb(scale, EXACT)) & (1 << 128) - 1
            values[row] = unscaled & (1 << 64) - 1, unscaled >> 64
            cells[row] = _VALUE


def _left(members: MemberColumns, column: int, cells: np.ndarray) -> Iterator[tuple[int, Any]]:
    """(row, value) of the cells that the kernel left: a Decimal, a float that is not finite, an int or a str."""
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
    """Fill in the numbers that are left at once; False where not all of them are taken so."""
    import numpy as np
    import pyarrow as pa

    from tableformats.plugin import compute as pc

    rows = np.flatnonzero(cells == _LEFT)
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
    """(offsets, data) of a string array; the kernel takes a null for an empty text, so it must be one."""
    import numpy as np

    from tableformats.plugin import compute as pc

    offsets, data = text_buffers(text)
    if text.null_count:
        sizes = np.diff(offsets)
        if sizes[to_numpy(pc.is_null(text))].any():
            return text_buffers(strings(text.to_pylist()))
    return offsets, data


def _bitmap(cells: np.ndarray) -> pa.Buffer | None:
    """Arrow's validity bitmap; None where all are values."""
    import numpy as np
    import pyarrow as pa

    valid = cells == _VALUE
    return None if valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))


def _decimal(text: str) -> decimal.Decimal | None:
    """The number; None where its exponent is beyond all types."""
    try:
        return decimal.Decimal(text)
    except decimal.InvalidOperation:
        return None


def _whole(number: Any) -> tuple[int, int]:
    """(value, cell) of a number as int64."""
    try:
        whole = int(fit_decimal(decimal.Decimal(number), 19, 0))
    except (ValueError, TypeError, ArithmeticError):
        return 0, _NULL
    return (whole, _VALUE) if whole in INT_RANGES["long"] else (0, _NULL)


def _double(number: Any) -> tuple[float, int]:
    """(value, cell) of a number, or of a string that spells one, as a double."""
    try:
        return (parse_float(number) if isinstance(number, str) else float(number)), _VALUE
    except (ValueError, TypeError):
        return 0.0, _NULL
    except OverflowError:
        return float("-inf" if number < 0 else "inf"), _VALUE


def _fitted(number: Any, scale: int) -> decimal.Decimal | None:
    try:
        return fit_decimal(decimal.Decimal(number), 38, scale)
    except (ValueError, TypeError, ArithmeticError):
        return None
