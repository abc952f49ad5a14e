"""CHAR(n) columns: which strings of a schema are padded with spaces when they are read.

Spark stores a CHAR or VARCHAR column as a string and keeps its type as text in the field's metadata; for a nested
column the text is that of the whole type, such as ``struct<a:char(3),b:int>``. Its writers store values without the
padding, and its readers add it. VARCHAR is not padded. Source: Spark, ``CharVarcharUtils``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from tableformats.plugin import Field, ListType, MapType, StructType, UnsupportedFeatureError, lazy_pattern

__all__ = ["CHAR_TYPE", "char_length", "char_lengths", "longest_texts", "with_char_lengths"]

CHAR_TYPE = "__CHAR_VARCHAR_TYPE_STRING"
"""The key of a field's metadata that holds the type as Spark has it."""
_CHAR = lazy_pattern(r"char\(\s*(\d+)\s*\)", re.ASCII | re.IGNORECASE)
_BOUNDED = lazy_pattern(r"(?:var)?char\(\s*(\d{1,9})\s*\)", re.ASCII | re.IGNORECASE)
_LEAF = lazy_pattern(r"[^<>:,()]+(?:\([\d\s,]*\))?(?: collate \w+)?", re.ASCII | re.IGNORECASE)
_NAME = lazy_pattern(r"(?:`(?:[^`]|``)*`|[^<>:,`]+):")
_MOST_CHARACTERS = 4096
"""Padding needs memory for every value. Databases that have CHAR allow 255 to 2000 characters."""


def char_length(kind: Any, column: str, path: str) -> int | None:
    """``n`` where ``kind`` is the type ``char(n)``, else None.

    Raises
    ------
    UnsupportedFeatureError
        ``n`` is greater than this reader pads to.
    """
    match = _CHAR.fullmatch(kind) if isinstance(kind, str) else None
    if match is None:
        return None
    if len(match[1]) > 9 or int(match[1]) > _MOST_CHARACTERS:
        raise UnsupportedFeatureError(
            f"values of CHAR({match[1][:20]}) are not padded: this reader pads to {_MOST_CHARACTERS} characters",
            path=path,
            field=column,
        )
    return int(match[1]) or None


def with_char_lengths(f: Field, column: str, path: str) -> Field:
    """``f`` with the lengths of the CHAR types that its metadata names.

    Members of structs are found by position, as Spark finds them. A text that does not describe the type of ``f``, as
    after a member was added, is not used. Raises as :func:`char_length`.
    """
    text = f.metadata.get(CHAR_TYPE)
    if not isinstance(text, str):
        return f
    try:
        found, end = _Text(text, column, path).type(f, 0)
    except ValueError:
        return f
    return found if end == len(text) else f


def longest_texts(f: Field, column: str, path: str) -> dict[tuple[str, ...], int] | None:
    """The most characters of the CHAR and VARCHAR strings that the metadata of ``f`` names, by the path inside of it.

    None where the text does not describe the type of ``f``. Raises as :func:`char_length`.
    """
    text = f.metadata[CHAR_TYPE]
    reader = _Text(text, column, path)
    try:
        _, end = reader.type(f, 0)
    except ValueError:
        return None
    return reader.longest if end == len(text) else None


class _Text:
    """Reads a type of Spark (``catalogString``) along the field that it describes.

    ``longest`` has the lengths of CHAR and VARCHAR that were read, by the names inside of the field.
    """

    def __init__(self, text: str, column: str, path: str) -> None:
        self.longest: dict[tuple[str, ...], int] = {}
        self._text = text
        self._column = column
        self._path = path

    def type(self, f: Field, at: int, inner: tuple[str, ...] = ()) -> tuple[Field, int]:
        """``f`` with its lengths, and where its type ends. Raises ValueError where the text has another type."""
        if isinstance(f.type, StructType):
            members, at = self._members("struct", f.type.fields, at, inner)
            return replace(f, type=StructType(tuple(members))), at
        if isinstance(f.type, ListType):
            members, at = self._members("array", f.type.members, at, inner)
            return replace(f, type=ListType(members[0])), at
        if isinstance(f.type, MapType):
            members, at = self._members("map", f.type.members, at, inner)
            return replace(f, type=MapType(members[0], members[1])), at
        match = _LEAF.match(self._text, at)
        if match is None:
            raise ValueError(self._text)
        bounded = _BOUNDED.fullmatch(match[0])
        if bounded is not None and str(f.type) == "string":
            self.longest[inner] = int(bounded[1])
        length = char_length(match[0], self._column, self._path) if str(f.type) == "string" else None
        return (f if length is None else replace(f, char_length=length)), match.end()

    def _members(self, kind: str, fields: Sequence[Field], at: int, inner: tuple[str, ...]) -> tuple[list[Field], int]:
        at = self._expect(f"{kind}<", at)
        members = []
        for i, member in enumerate(fields):
            at = self._expect(",", at) if i else at
            if kind == "struct":
                at = self._after_name(member.name, at)
            found, at = self.type(member, at, (*inner, member.name))
            members.append(found)
        return members, self._expect(">", at)

    def _after_name(self, name: str, at: int) -> int:
        if self._text.startswith(f"{name}:", at):
            return at + len(name) + 1
        match = _NAME.match(self._text, at)
        if match is None:
            raise ValueError(self._text)
        return match.end()

    def _expect(self, text: str, at: int) -> int:
        if not self._text.startswith(text, at):
            raise ValueError(self._text)
        return at + len(text)


def char_lengths(fields: Sequence[Field]) -> Iterator[tuple[int, int]]:
    """Id and length of each CHAR column at every depth."""
    for f in fields:
        if f.char_length is not None:
            yield f.id, f.char_length
        yield from char_lengths(f.type.members)
