"""The readable twin of the compiled module ``_json``, for tests only.

It gives the same answers, text by text. One difference is allowed: it may convert values that the compiled module
leaves to its caller.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from .values import INT_RANGES, fit_decimal

__all__ = ["DEPTH", "NUMBER", "Cells", "MemberColumns", "line_starts"]

DEPTH = 128
"""The greatest nesting of objects and arrays."""
NUMBER = 1024
"""The greatest length of a number, in characters."""

_ABSENT, _NULL, _FALSE, _TRUE, _INTEGER, _REAL, _TEXT, _ESCAPED, _OBJECT, _ARRAY = range(10)
_NONE, _VALUE, _LEFT = range(3)


class _Number(str):
    """The spelling of a number."""


class _Object(list[tuple[str, Any]]):
    """The members of an object in their order, with duplicates."""


class MemberColumns:
    """See ``_json.MemberColumns``."""

    def __init__(
        self,
        offsets: np.ndarray,
        data: np.ndarray,
        members: Sequence[tuple[bytes, int, int, int]],
        columns: int,
        chosen: np.ndarray | None = None,
    ) -> None:
        joined = data.tobytes()
        texts = [joined[start:stop] for start, stop in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)]
        self._members = members
        self._rows = [self._read(texts[i]) for i in (range(len(texts)) if chosen is None else chosen.tolist())]
        self.sound = np.array([row is not None for row in self._rows], np.uint8)

    def _read(self, text: bytes) -> dict[int, Any] | None:
        """Value by column; None where the text is malformed or ambiguous."""
        try:
            value = json.loads(
                text.decode(), parse_int=_number, parse_float=_number, parse_constant=_Number, object_pairs_hook=_Object
            )
            if not isinstance(value, _Object) or _depth(value) > DEPTH:
                return None
            found: dict[int, Any] = {}
            self._walk(value, 0, found)
        except (ValueError, RecursionError):
            return None
        return found

    def _walk(self, value: _Object, place: int, found: dict[int, Any]) -> None:
        _, first, count, _ = self._members[place]
        for child in range(first, first + count):
            name, _, inner, column = self._members[child]
            values = [v for k, v in value if k.encode("utf-8", "surrogatepass") == name]
            if len(values) > 1:
                raise ValueError("a wanted member stands twice")
            if values and inner and isinstance(values[0], _Object):
                self._walk(values[0], child, found)
            if values and column >= 0:
                found[column] = values[0]

    def _column(self, column: int) -> list[Any]:
        """The values of a column; None where a value is null or absent."""
        return [None if row is None else row.get(column) for row in self._rows]

    def kinds(self, column: int) -> np.ndarray:
        return np.array([_ABSENT if row is None else _kind(row, column) for row in self._rows], np.uint8)

    def int64(self, column: int) -> tuple[np.ndarray, np.ndarray]:
        cells: list[tuple[int, int]] = []
        for value in self._column(column):
            is_integer = isinstance(value, _Number) and value.lstrip("-").isdigit()
            fits = is_integer and int(value) in INT_RANGES["long"]
            left = isinstance(value, _Number) and not is_integer
            cells.append((int(value), _VALUE) if fits else (0, _LEFT if left else _NONE))
        return _filled(cells, np.int64)

    def _double(self, column: int) -> tuple[np.ndarray, np.ndarray]:
        return _filled(
            [
                (float(v), _VALUE) if isinstance(v, _Number) else (0.0, _LEFT if isinstance(v, str) else _NONE)
                for v in self._column(column)
            ],
            np.float64,
        )

    def _decimal(self, column: int, scale: int) -> tuple[np.ndarray, np.ndarray]:
        column_cells = []
        for value in self._column(column):
            words, cell = (0, 0), _LEFT if isinstance(value, str) else _NONE
            if isinstance(value, _Number) and value.lstrip("-").replace(".", "").isdigit():
                try:
                    fitted = fit_decimal(Decimal(value), 38, scale).as_tuple()
                    unscaled = int(Decimal((fitted.sign, fitted.digits, 0)))
                    words, cell = (unscaled & (1 << 64) - 1, unscaled >> 64 & (1 << 64) - 1), _VALUE
                except ValueError:
                    pass
            column_cells.append((words, cell))
        values = np.array([words for words, _ in column_cells], np.uint64).reshape(-1, 2)
        return values, np.array([cell for _, cell in column_cells], np.uint8)

    def text(self, column: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        texts = [_encoded(value) for value in self._column(column)]
        offsets, data = _joined([text or b"" for text in texts])
        return offsets, data, np.array([text is not None for text in texts], np.uint8)

    def raw(self, column: int, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        left = [value for value, cell in zip(self._column(column), cells.tolist(), strict=True) if cell == _LEFT]
        return _joined([(v if isinstance(v, _Number) else json.dumps(v)[1:-1]).encode() for v in left])


class Cells:
    """See ``_json.Cells``."""

    def __init__(self, types: Sequence[tuple[str, int]], n: int) -> None:
        self._types = types
        self._most = n
        self.count = 0
        dtypes = {"boolean": np.uint8, "int64": np.int64, "double": np.float64, "decimal": np.uint64, "text": object}
        self._values = [np.zeros((n, 2) if name == "decimal" else n, dtypes[name]) for name, _ in types]
        self._cells = [np.zeros(n, np.uint8) for _ in types]

    def take(self, members: MemberColumns) -> bool:
        n = len(members.sound)
        if n > self._most - self.count:
            raise ValueError("there are more texts than cells")
        here = slice(self.count, self.count + n)
        for column, (name, scale) in enumerate(self._types):
            values, cells = self._values[column][here], self._cells[column][here]
            if name == "boolean":
                kinds = members.kinds(column)
                values[:], cells[:] = kinds == _TRUE, (kinds == _TRUE) | (kinds == _FALSE)
            elif name == "text":
                offsets, data, cells[:] = members.text(column)
                values[:] = [data[i:j].tobytes() for i, j in zip(offsets[:-1], offsets[1:], strict=True)]
            elif name == "int64":
                values[:], cells[:] = members.int64(column)
            elif name == "double":
                values[:], cells[:] = members._double(column)
            else:
                values[:], cells[:] = members._decimal(column, scale)
        self.count += n
        return any((cells[here] == _LEFT).any() for cells in self._cells)

    def cells(self, column: int) -> np.ndarray:
        return self._cells[column][: self.count]

    def values(self, column: int) -> np.ndarray:
        return self._values[column][: self.count]

    def text(self, column: int) -> tuple[np.ndarray, np.ndarray]:
        return _joined(self._values[column][: self.count].tolist())


def line_starts(data: np.ndarray, heads: Sequence[bytes]) -> tuple[np.ndarray, np.ndarray]:
    """See ``_json.line_starts``."""
    lines = data.tobytes().split(b"\n")[:-1]
    kinds = [next((i for i, head in enumerate(heads) if line.startswith(head)), -1) for line in lines]
    return np.cumsum([0, *(len(line) + 1 for line in lines)]), np.array(kinds, np.int8)


def _number(text: str) -> _Number:
    if len(text) > NUMBER:
        raise ValueError("a number without end")
    return _Number(text)


def _depth(value: Any) -> int:
    if isinstance(value, _Object):
        return 1 + max((_depth(v) for _, v in value), default=0)
    return 1 + max(map(_depth, value), default=0) if isinstance(value, list) else 0


def _kind(row: dict[int, Any], column: int) -> int:
    if column not in row:
        return _ABSENT
    value = row[column]
    if value is None:
        return _NULL
    if isinstance(value, bool):
        return _TRUE if value else _FALSE
    if isinstance(value, _Number):
        return _INTEGER if value.lstrip("-").isdigit() else _REAL
    if isinstance(value, str):
        return _TEXT  # the twin does not tell escaped strings from others
    return _OBJECT if isinstance(value, _Object) else _ARRAY


def _encoded(value: Any) -> bytes | None:
    try:
        return value.encode() if isinstance(value, str) and not isinstance(value, _Number) else None
    except UnicodeEncodeError:
        return None


def _filled(cells: list[tuple[Any, int]], kind: Any) -> tuple[np.ndarray, np.ndarray]:
    return np.array([value for value, _ in cells], kind), np.array([cell for _, cell in cells], np.uint8)


def _joined(texts: list[bytes]) -> tuple[np.ndarray, np.ndarray]:
    ends = np.cumsum([0, *map(len, texts)], dtype=np.int32)
    return ends.astype(np.int32), np.frombuffer(b"".join(texts) or b"\0", np.uint8)
