"""Functions of texts. Characters are code points, positions start at 1, and a trim takes spaces alone, as in Spark.

Arrow's own functions are used where all texts are ASCII; other texts are computed one distinct value at a time.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
import zlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ...errors import UnsupportedFeatureError
from ...schema import Field, ListType, Type
from ..tree import Function, Literal, like_parts, with_backslashes
from . import comparing
from .coercion import BINARY, BOOLEAN, INT, LONG, STRING, implicit, is_void, mismatch, type_of
from .definitions import Computed, Definition
from .regular import java_pattern, java_replacement
from .vectors import RowError, Vector, each

__all__ = ["FUNCTIONS"]


def _takes(gives: Type, *kinds: Type) -> Callable[[Function], Function]:
    """A rule: the arguments become ``kinds``."""

    def rule(node: Function) -> Function:
        arguments = tuple(implicit(node, i, kinds[i]) for i in range(len(node.arguments)))
        return replace(node, arguments=arguments, type=gives)

    return rule


def _scalar(function: Callable[..., Any]) -> Callable[[Function, Sequence[Vector], int], Computed]:
    """A kernel that calls ``function`` for distinct values."""

    def kernel(node: Function, arguments: Sequence[Vector], n: int) -> Computed:
        assert node.type is not None
        return each(function, arguments, node.type, n)

    return kernel


def _is_ascii(values: pa.Array) -> bool:
    return bool(pc.all(pc.string_is_ascii(values), min_count=0).as_py())


def _fast(
    arrow: Callable[..., pa.Array], function: Callable[..., Any]
) -> Callable[[Function, Sequence[Vector], int], Computed]:
    """A kernel of one text: ``arrow`` where all texts are ASCII, else ``function``."""

    def kernel(node: Function, arguments: Sequence[Vector], n: int) -> Computed:
        assert node.type is not None
        values = arguments[0].values
        if pa.types.is_string(values.type) and _is_ascii(values):
            return arrow(values), {}
        return each(function, arguments, node.type, n)

    return kernel


_NEWER_CASE = "\u019b\u0264\ua7d3\ua7d5"
"""Old characters to which Unicode 15 and 16 gave a capital letter. All others agree, one by one."""


def _is_no_character(c: str) -> bool:
    """Whether ``c`` will never be a character. Source: the Unicode standard, "Noncharacters"."""
    return ord(c) & 0xFFFE == 0xFFFE or "\ufdd0" <= c <= "\ufdef"


def _known(text: str) -> str:
    """``text``, if this Python knows all its characters, so that it changes their case as Spark does."""
    for c in text:
        if not c.isascii() and (c in _NEWER_CASE or (unicodedata.category(c) == "Cn" and not _is_no_character(c))):
            raise UnsupportedFeatureError(
                f"the case of the character U+{ord(c):04X}, which is newer than Python's Unicode "
                f"{unicodedata.unidata_version}",
                field=text[:40],
                hint="Read with to_spark.",
            )
    return text


def _lower(text: str) -> str:
    return _known(text).lower()


def _upper(text: str) -> str:
    return _known(text).upper()


def _initcap(text: str) -> str:
    if not text.isascii():
        raise UnsupportedFeatureError(
            "initcap() of a text that is not ASCII", field=text[:40], hint="Read with to_spark."
        )
    return " ".join(word.capitalize() for word in text.split(" "))


def _bytes_or_text(gives: Type | None, *rest: Type) -> Callable[[Function], Function]:
    """A rule: the first argument is a text or binary, and the result is what it is, or ``gives``."""

    def rule(node: Function) -> Function:
        kind = BINARY if type_of(node.arguments[0]) == BINARY else STRING
        kinds = (kind, *rest)
        arguments = tuple(implicit(node, i, kinds[i]) for i in range(len(node.arguments)))
        return replace(node, arguments=arguments, type=gives or kind)

    return rule


def _bind_search(node: Function) -> Function:
    """``contains``, ``startswith`` and ``endswith``: of two texts or of two binary values."""
    both = all(type_of(a) == BINARY for a in node.arguments)
    kind = BINARY if both else STRING
    return replace(node, arguments=tuple(implicit(node, i, kind) for i in (0, 1)), type=BOOLEAN)


def _search(node: Function, arguments: Sequence[Vector], n: int) -> Computed:
    """By bytes, which finds the same as by characters."""
    values, wanted = (Vector(BINARY, a.values.view(pa.binary()), a.is_constant) for a in arguments)
    if wanted.is_constant:
        found = {"contains": pc.match_substring, "startswith": pc.starts_with, "endswith": pc.ends_with}[node.name]
        needle = wanted.values[0].as_py()
        if needle is None:
            return pa.nulls(n, pa.bool_()), {}
        return found(values.values, pattern=needle), {}
    tests: dict[str, Callable[[bytes, bytes], bool]] = {
        "contains": lambda text, part: part in text,
        "startswith": bytes.startswith,
        "endswith": bytes.endswith,
    }
    return each(tests[node.name], (values, wanted), BOOLEAN, n)


def _substring(text: Any, position: int, length: int = 2**31 - 1) -> Any:
    start = max(position - 1, 0) if position >= 0 else len(text) + position
    return text[max(start, 0) : max(start + length, 0)]


def _locate(node: Function, arguments: Sequence[Vector], n: int) -> Computed:
    """``locate(part, text, start)`` and ``instr(text, part)``; a NULL start gives 0."""

    def located(part: str | None, text: str | None, start: int | None) -> int | None:
        if start is None:
            return 0
        if part is None or text is None:
            return None
        return 0 if start < 1 else 1 if not part else text.find(part, start - 1) + 1

    if node.name == "instr":
        return each(lambda text, part: text.find(part) + 1, arguments, INT, n)
    if len(arguments) == 2:
        return each(lambda part, text: text.find(part) + 1, arguments, INT, n)
    return each(located, arguments, INT, n, takes_null=True)


_MOST_CHARACTERS = 1 << 24


def _check_length(characters: int) -> None:
    """A few letters of a filter may ask for all memory."""
    if characters > _MOST_CHARACTERS:
        raise UnsupportedFeatureError(
            f"a text of {characters} characters is not made, of {_MOST_CHARACTERS} it is",
            field="filter",
            hint="Read with to_spark",
        )


def _repeat(text: str, count: int) -> str:
    _check_length(len(text) * count)
    return text * max(count, 0)


def _pad(node: Function, arguments: Sequence[Vector], n: int) -> Computed:
    def padded(text: str, length: int, pad: str = " ") -> str:
        if length <= len(text) or not pad:
            return text[: max(length, 0)]
        _check_length(length)
        missing = length - len(text)
        filler = (pad * (missing // len(pad) + 1))[:missing]
        return filler + text if node.name == "lpad" else text + filler

    return each(padded, arguments, STRING, n)


def _bind_concat(node: Function) -> Function:
    kinds = [type_of(a) for a in node.arguments]
    if any(kind.is_nested for kind in kinds):
        raise mismatch(node)
    if kinds and all(kind == BINARY for kind in kinds):
        return replace(node, type=BINARY)
    return replace(node, arguments=tuple(implicit(node, i, STRING) for i in range(len(kinds))), type=STRING)


def _concat(node: Function, arguments: Sequence[Vector], n: int) -> Computed:
    values = [a.spread(n).values.view(pa.binary()) for a in arguments]
    if not values:
        return pa.array([""] * n, pa.string()), {}
    joined = pc.binary_join_element_wise(*values, pa.scalar(b""))
    return joined if node.type == BINARY else joined.view(pa.string()), {}


def _bind_concat_ws(node: Function) -> Function:
    arguments = [
        argument if i and _lists_texts(type_of(argument)) else implicit(node, i, STRING)
        for i, argument in enumerate(node.arguments)
    ]
    return replace(node, arguments=tuple(arguments), type=STRING)


def _lists_texts(kind: Type) -> bool:
    return isinstance(kind, ListType) and kind.element.type == STRING


def _concat_ws(separator: str | None, *parts: Any) -> str | None:
    if separator is None:
        return None
    listed = [item for part in parts for item in (part if isinstance(part, list) else [part])]
    return separator.join(item for item in listed if item is not None)


def _split_part(text: str, separator: str, position: int) -> str:
    parts = text.split(separator) if separator else [text]
    if position > 0:
        index = position - 1
    elif position < 0:
        index = len(parts) + position
    else:
        raise RowError("the position 0; the first part has the position 1")
    return parts[index] if 0 <= index < len(parts) else ""


def _substring_index(text: str, separator: str, count: int) -> str:
    if not separator:
        return ""
    if count >= 0:
        return separator.join(text.split(separator)[:count])
    return separator.join(text.rsplit(separator, -count)[count:])


def _translate(text: str, letters: str, others: str) -> str:
    table: dict[int, str | None] = {}
    for i, c in enumerate(letters):
        table.setdefault(ord(c), others[i] if i < len(others) else None)
    return text.translate(table)


def _levenshtein(left: str, right: str) -> int:
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        previous, row[0] = row[0], i
        for j, b in enumerate(right, 1):
            previous, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, previous + (a != b))
    return row[-1]


def _sha2(data: bytes, bits: int) -> str | None:
    name = {0: "sha256", 224: "sha224", 256: "sha256", 384: "sha384", 512: "sha512"}.get(bits)
    return None if name is None else hashlib.new(name, data).hexdigest()


def _chr(code: int) -> str:
    return "" if code < 0 else chr(code & 0xFF)


def _bind_hex(node: Function) -> Function:
    kind = type_of(node.arguments[0])
    wanted = BINARY if is_void(kind) else kind if kind in (STRING, BINARY) else LONG
    return replace(node, arguments=(implicit(node, 0, wanted),), type=STRING)


def _hex(value: Any) -> str:
    if isinstance(value, int):
        return f"{value & (1 << 64) - 1:X}"
    return (value.encode() if isinstance(value, str) else value).hex().upper()


def _like(node: Function, arguments: Sequence[Vector], n: int) -> Computed:
    """``like`` and ``ilike``, with an escape character."""
    values, pattern = arguments[:2]
    escape = _escape_of(node)
    if node.name == "ilike":
        lowered = Function("lower", ())
        kernel = _fast(pc.ascii_lower, _lower)
        values, pattern = (
            replace(v, values=kernel(replace(lowered, type=STRING), [v], len(v.values))[0]) for v in (values, pattern)
        )
    if pattern.is_constant:
        text = pattern.values[0].as_py()
        if text is None:
            return pa.nulls(n, pa.bool_()), {}
        return comparing.like(values.values, with_backslashes(text, escape)), {}
    return each(lambda value, text: _matches(value, with_backslashes(text, escape)), (values, pattern), BOOLEAN, n)


def _escape_of(node: Function) -> str:
    """The third argument, which parsing has seen to be one character."""
    escape = node.arguments[2] if len(node.arguments) == 3 else Literal("\\")
    assert isinstance(escape, Literal)
    return str(escape.value)


def _matches(text: str, pattern: str) -> bool:
    pieces = [(".*" if c == "%" else ".") if is_wildcard else re.escape(c) for c, is_wildcard in like_parts(pattern)]
    return re.fullmatch("".join(pieces), text, re.DOTALL) is not None


def _bind_like(node: Function) -> Function:
    arguments = [implicit(node, i, STRING) for i in range(len(node.arguments))]
    node = replace(node, arguments=tuple(arguments), type=BOOLEAN)
    pattern = arguments[1]
    if isinstance(pattern, Literal) and isinstance(pattern.value, str):
        like_parts(with_backslashes(pattern.value, _escape_of(node)))
    return node


def _rlike(text: str, pattern: str) -> bool:
    return java_pattern(pattern).search(text) is not None


def _regexp_extract(text: str, pattern: str, group: int = 1) -> str:
    compiled = java_pattern(pattern)
    if not 0 <= group <= compiled.groups:
        raise RowError(f"the pattern {pattern!r} has no group {group}")
    match = compiled.search(text)
    return "" if match is None else match[group] or ""


def _regexp_replace(text: str, pattern: str, replacement: str, position: int = 1) -> str:
    compiled = java_pattern(pattern)
    if position != 1 or compiled.search("") is not None:
        raise UnsupportedFeatureError(
            f"regexp_replace with the pattern {pattern!r}, which matches the empty text, or from another position",
            field=pattern,
            hint="Read with to_spark.",
        )
    return compiled.sub(java_replacement(replacement, compiled.groups), text)


def _regexp_count(text: str, pattern: str) -> int:
    return sum(1 for _ in java_pattern(pattern).finditer(text))


def _bind_split(node: Function) -> Function:
    arguments = (
        implicit(node, 0, STRING),
        implicit(node, 1, STRING),
        *(implicit(node, 2, INT) for _ in node.arguments[2:]),
    )
    return replace(node, arguments=arguments, type=ListType(Field(0, "element", STRING)))


def _split(text: str, pattern: str, limit: int = -1) -> list[str | None]:
    compiled = java_pattern(pattern)
    if compiled.groups or compiled.search("") is not None:
        raise UnsupportedFeatureError(
            f"split() by the pattern {pattern!r}, which has groups or matches the empty text",
            field=pattern,
            hint="Read with to_spark.",
        )
    return [text] if limit == 1 else list(compiled.split(text, maxsplit=max(limit - 1, 0)))


def _trimmed(method: str) -> Callable[..., str]:
    return lambda text, letters=" ": getattr(text, method)(letters)


_TEXT = _takes(STRING, STRING)
FUNCTIONS: dict[str, Definition] = {
    "lower": Definition(_TEXT, _fast(pc.ascii_lower, _lower)),
    "upper": Definition(_TEXT, _fast(pc.ascii_upper, _upper)),
    "initcap": Definition(_TEXT, _scalar(_initcap)),
    "reverse": Definition(_TEXT, _scalar(lambda text: text[::-1])),
    "length": Definition(_bytes_or_text(INT), _fast(pc.binary_length, len)),
    "octet_length": Definition(_bytes_or_text(INT), lambda node, a, n: (pc.binary_length(a[0].values), {})),
    "bit_length": Definition(
        _bytes_or_text(INT),
        lambda node, a, n: (pc.multiply(pc.binary_length(a[0].values), pa.scalar(8, pa.int32())), {}),
    ),
    **{
        name: Definition(_takes(STRING, STRING, STRING), _scalar(_trimmed(method)))
        for name, method in (("trim", "strip"), ("btrim", "strip"), ("ltrim", "lstrip"), ("rtrim", "rstrip"))
    },
    **dict.fromkeys(("contains", "startswith", "endswith"), Definition(_bind_search, _search)),
    "substring": Definition(_bytes_or_text(None, INT, INT), _scalar(_substring)),
    "left": Definition(_bytes_or_text(None, INT), _scalar(lambda text, n: text[: max(n, 0)])),
    "right": Definition(
        _takes(STRING, STRING, INT), _scalar(lambda text, n: text[max(len(text) - n, 0) :] if n > 0 else "")
    ),
    "instr": Definition(_takes(INT, STRING, STRING), _locate),
    "locate": Definition(_takes(INT, STRING, STRING, INT), _locate),
    **dict.fromkeys(("lpad", "rpad"), Definition(_takes(STRING, STRING, INT, STRING), _pad)),
    "replace": Definition(
        _takes(STRING, STRING, STRING, STRING),
        _scalar(lambda text, old, new="": text.replace(old, new) if old else text),
    ),
    "repeat": Definition(_takes(STRING, STRING, INT), _scalar(_repeat)),
    "space": Definition(_takes(STRING, INT), _scalar(lambda n: _repeat(" ", n))),
    "concat": Definition(_bind_concat, _concat),
    "concat_ws": Definition(_bind_concat_ws, lambda node, a, n: each(_concat_ws, a, STRING, n, takes_null=True)),
    "split_part": Definition(_takes(STRING, STRING, STRING, INT), _scalar(_split_part)),
    "substring_index": Definition(_takes(STRING, STRING, STRING, INT), _scalar(_substring_index)),
    "translate": Definition(_takes(STRING, STRING, STRING, STRING), _scalar(_translate)),
    "levenshtein": Definition(_takes(INT, STRING, STRING), _scalar(_levenshtein)),
    "ascii": Definition(_takes(INT, STRING), _scalar(lambda text: ord(text[0]) if text else 0)),
    "chr": Definition(_takes(STRING, LONG), _scalar(_chr)),
    "md5": Definition(
        _takes(STRING, BINARY), _scalar(lambda data: hashlib.md5(data, usedforsecurity=False).hexdigest())
    ),
    "sha1": Definition(
        _takes(STRING, BINARY), _scalar(lambda data: hashlib.sha1(data, usedforsecurity=False).hexdigest())
    ),
    "sha2": Definition(_takes(STRING, BINARY, INT), _scalar(_sha2)),
    "crc32": Definition(_takes(LONG, BINARY), _scalar(zlib.crc32)),
    "hex": Definition(_bind_hex, _scalar(_hex)),
    **dict.fromkeys(("like", "ilike"), Definition(_bind_like, _like)),
    "rlike": Definition(_takes(BOOLEAN, STRING, STRING), _scalar(_rlike)),
    "regexp_extract": Definition(_takes(STRING, STRING, STRING, INT), _scalar(_regexp_extract)),
    "regexp_replace": Definition(_takes(STRING, STRING, STRING, STRING, INT), _scalar(_regexp_replace)),
    "regexp_count": Definition(_takes(INT, STRING, STRING), _scalar(_regexp_count)),
    "split": Definition(_bind_split, _scalar(_split)),
    "parse_url": Definition(_takes(STRING, STRING, STRING, STRING)),
}
