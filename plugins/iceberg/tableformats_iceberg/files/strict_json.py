"""Strict JSON: CorruptMetadataError for all that is not plain, bounded JSON.

Refused are invalid UTF-8, lone surrogates, NUL, duplicate keys, NaN and infinities, numbers that are too large, nesting
that exhausts the stack, and empty or truncated texts. :class:`Node` gives typed access to the result. Its errors name
the field that is missing or has the wrong type.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NoReturn

from tableformats.plugin import DEFAULT_LIMITS, CorruptMetadataError, Limits, uncollected

__all__ = ["Node", "object_cost", "parse_json"]


_COSTS = ((b"{", 184), (b"[", 100), (b",", 40), (b":", 40), (b'"', 25))
"""Bytes of the Python objects that each such character may stand for; more for lists, which take time beside memory."""


def object_cost(data: bytes) -> int:
    """About how many bytes of memory the objects of a JSON text take, with its copies as text; rather more."""
    copies = 2 if data.isascii() else 5
    return copies * len(data) + sum(cost * data.count(mark) for mark, cost in _COSTS)


def parse_json(data: bytes, path: str, limits: Limits = DEFAULT_LIMITS, stored: int | None = None) -> Any:
    """Parse a JSON text.

    Parameters
    ----------
    stored : int, optional
        The bytes of the file from which the text was inflated. None: the text itself is stored.

    Raises
    ------
    CorruptMetadataError
        It is not strict JSON. ``offset`` is the byte, where it is known.
    LimitExceededError
        Its objects take more memory than the limit ``expansion`` allows.
    """
    stored = len(data) if stored is None else stored
    if (cost := object_cost(data)) > limits.budget(stored):
        what = f"about {cost} bytes of JSON values from {stored} bytes"
        raise limits.exceeded("expansion", what, path=path)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CorruptMetadataError("the JSON is not UTF-8", path=path, offset=error.start) from None
    try:
        value = _loaded(text)
        if "\\u" in text:  # Only an escape can give a lone surrogate or NUL.
            _check_texts(value)
    except json.JSONDecodeError as error:
        offset = len(text[: error.pos].encode(errors="surrogatepass"))
        raise CorruptMetadataError(f"the JSON is malformed: {error.msg}", path=path, offset=offset) from None
    except (RecursionError, ValueError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)[:200]
        raise CorruptMetadataError(f"the JSON is malformed: {reason}", path=path) from None
    return value


def _loaded(text: str) -> Any:
    """The value of a JSON text. To look for cycles among its objects, which have none, takes most of the time."""
    with uncollected():
        return json.loads(text, parse_constant=_no_constant, parse_float=_float, object_pairs_hook=_object)


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is no JSON number")


def _float(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError("a number is too large")
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise ValueError(f"the key {key[:100]!r} stands twice in one object")
            seen.add(key)
    return found


def _check_texts(value: Any) -> None:
    """Check every name and string in ``value``."""
    left = [value]
    while left:
        value = left.pop()
        if isinstance(value, str):
            _check_text(value)
        elif isinstance(value, dict):
            left += value
            left += value.values()
        elif isinstance(value, list):
            left += value


def _check_text(text: str) -> None:
    if text.isascii():
        if "\0" in text:
            raise ValueError("a string holds NUL")
        return
    if "\0" in text or any(0xD800 <= ord(c) <= 0xDFFF for c in text):
        raise ValueError("a string holds NUL or a lone surrogate")


class Node:
    """A JSON value and the name of its field. Access is typed, and raises CorruptMetadataError.

    ``limits`` are the table's, for readers of nested values.
    """

    __slots__ = ("field", "limits", "path", "value")

    def __init__(self, value: Any, path: str, field: str = "", limits: Limits = DEFAULT_LIMITS) -> None:
        self.value = value
        self.path = path
        self.field = field
        self.limits = limits

    def fail(self, message: str) -> NoReturn:
        """Raise CorruptMetadataError for this value."""
        raise CorruptMetadataError(message, path=self.path, field=self.field or None)

    def _child(self, key: str) -> Node:
        name = f"{self.field}.{key}" if self.field else key
        return Node(self.mapping().get(key), self.path, name, self.limits)

    def mapping(self) -> dict[str, Any]:
        """The value as an object."""
        if not isinstance(self.value, dict):
            self.fail("a JSON object is expected here")
        return self.value

    def __contains__(self, key: str) -> bool:
        return self.mapping().get(key) is not None

    def child(self, key: str) -> Node:
        """The required member ``key``."""
        node = self._child(key)
        if node.value is None:
            node.fail("a required field is missing")
        return node

    def items(self, key: str, start: int = 0) -> Iterator[Node]:
        """The elements of the array ``key`` from ``start`` on; no elements if it is absent."""
        node = self._child(key)
        if node.value is None:
            return
        if not isinstance(node.value, list):
            node.fail("a JSON array is expected here")
        for index in range(start, len(node.value)):
            yield Node(node.value[index], self.path, f"{node.field}[{index}]", self.limits)

    def integer(self, key: str, bits: int = 64) -> int:
        """The required integer ``key`` of at most ``bits`` bits."""
        node = self.child(key)
        if isinstance(node.value, bool) or not isinstance(node.value, int):
            node.fail("an integer is expected here")
        if not -(1 << (bits - 1)) <= node.value < 1 << (bits - 1):
            node.fail(f"{node.value} does not fit into {bits} bits")
        return node.value

    def optional_integer(self, key: str, bits: int = 64) -> int | None:
        """The integer ``key``. None: it is absent or null."""
        return self.integer(key, bits) if key in self else None

    def text(self, key: str) -> str:
        """The required string ``key``."""
        node = self.child(key)
        if not isinstance(node.value, str):
            node.fail("a string is expected here")
        return node.value

    def optional_text(self, key: str) -> str | None:
        """The string ``key``. None: it is absent or null."""
        return self.text(key) if key in self else None

    def boolean(self, key: str, default: bool = False) -> bool:
        """The boolean ``key``, or ``default`` if it is absent or null."""
        node = self._child(key)
        if node.value is None:
            return default
        if not isinstance(node.value, bool):
            node.fail("a boolean is expected here")
        return node.value

    def texts(self, key: str) -> dict[str, str]:
        """The object ``key`` of strings. Empty: it is absent. Numbers and booleans become their JSON texts."""
        node = self._child(key)
        if node.value is None:
            return {}
        found = node.mapping()
        return {name: v if isinstance(v, str) else json.dumps(v) for name, v in found.items() if v is not None}
