"""Types by their names, as Spark's DDL and ``str(type)`` spell them: ``decimal(10,2)``, ``array<struct<a:int>>``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ..lazy_pattern import lazy_pattern
from .types import PRIMITIVE_NAMES, DecimalType, Field, FixedType, ListType, MapType, StructType, Type, primitive

__all__ = ["parse_type"]

_ALIASES = {
    **{name: name for name in PRIMITIVE_NAMES if name != "unknown"},
    "tinyint": "byte",
    "smallint": "short",
    "integer": "int",
    "bigint": "long",
    "real": "float",
    "timestamptz": "timestamp",
    "timestamp_ltz": "timestamp",
}
_TOKEN = lazy_pattern(r"\s*(`(?:[^`]|``)+`|\w+|[<>(),:\[\]])")
_MOST_DEPTH = 100
_Item = TypeVar("_Item")


def parse_type(text: str) -> Type:
    """The type that ``text`` names. Fields inside of it have the id 0; ``NOT NULL`` makes a member required.

    Raises
    ------
    ValueError
        There is no such type; the message says where.
    """
    reader = _Reader(text)
    found = reader.type(0)
    if reader.at < len(reader.tokens):
        raise reader.wrong()
    return found


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self.tokens: list[str] = []
        self.at = position = 0
        end = len(text.rstrip())
        while position < end:
            match = _TOKEN.match(text, position)
            if match is None:
                raise ValueError(f"{text[:200]!r} is no type: {text[position : position + 20]!r} has no meaning in it")
            self.tokens.append(match[1])
            position = match.end()

    def type(self, depth: int) -> Type:
        if depth > _MOST_DEPTH:
            raise ValueError(f"a type nests deeper than {_MOST_DEPTH} levels")
        word = self._take().lower()
        if word == "struct":
            return StructType(tuple(self._listed(lambda: self._member(depth))))
        if word in ("array", "list"):
            [element] = self._listed(lambda: self.type(depth + 1), 1)
            return ListType(Field(0, "element", element))
        if word == "map":
            key, value = self._listed(lambda: self.type(depth + 1), 2)
            return MapType(Field(0, "key", key, required=True), Field(0, "value", value))
        if word in ("decimal", "dec", "numeric"):
            sizes = self._numbers() or [10]
            precision, scale = [*sizes, 0][:2]
            if len(sizes) > 2 or not (1 <= precision <= 38 and scale <= precision):
                raise ValueError(f"there is no decimal({precision},{scale}): it has 1 to 38 digits")
            return DecimalType(precision, scale)
        if word == "fixed":
            lengths = self._numbers()
            if len(lengths) != 1 or lengths[0] < 1:
                raise ValueError("fixed has one length, as in fixed[16]")
            return FixedType(lengths[0])
        if word not in _ALIASES:
            self.at -= 1
            raise self.wrong()
        return primitive(_ALIASES[word])

    def _member(self, depth: int) -> Field:
        name = self._take()
        name = name[1:-1].replace("``", "`") if name.startswith("`") else name
        if self._sees(":"):
            self.at += 1
        kind = self.type(depth + 1)
        required = [token.lower() for token in self.tokens[self.at : self.at + 2]] == ["not", "null"]
        self.at += 2 * required
        return Field(0, name, kind, required)

    def _listed(self, read: Callable[[], _Item], count: int | None = None) -> list[_Item]:
        """What stands between ``<`` and ``>``, separated by commas."""
        self._expect("<")
        found = [read()]
        while self._sees(","):
            self.at += 1
            found.append(read())
        if count is not None and len(found) != count:
            raise self.wrong()
        self._expect(">")
        return found

    def _numbers(self) -> list[int]:
        """The numbers in parentheses or brackets, if these are next."""
        if not (self._sees("(") or self._sees("[")):
            return []
        self.at += 1
        found = [self._number()]
        while self._sees(","):
            self.at += 1
            found.append(self._number())
        if not (self._sees(")") or self._sees("]")):
            raise self.wrong()
        self.at += 1
        return found

    def _number(self) -> int:
        token = self._take()
        if not (token.isascii() and token.isdecimal() and len(token) < 10):
            self.at -= 1
            raise self.wrong()
        return int(token)

    def _take(self) -> str:
        if self.at == len(self.tokens):
            raise self.wrong()
        self.at += 1
        return self.tokens[self.at - 1]

    def _sees(self, token: str) -> bool:
        return self.at < len(self.tokens) and self.tokens[self.at] == token

    def _expect(self, token: str) -> None:
        if not self._sees(token):
            raise self.wrong()
        self.at += 1

    def wrong(self) -> ValueError:
        """The error for the next token."""
        if self.at == len(self.tokens):
            return ValueError(f"{self._text[:200]!r} is no type: it ends too early")
        return ValueError(f"{self._text[:200]!r} is no type: {self.tokens[self.at]!r} has no meaning there")
