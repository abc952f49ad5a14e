"""Java's regular expressions in the syntax that Python's ``re`` reads, where both mean the same.

Accepted are literals, classes, groups, alternatives, greedy and lazy repetition, ``^``, ``$``, ``.``, and the classes
``\\d \\w \\s`` (of ASCII, as in Java). Everything else, such as lookaround, back references, ``\\p{..}`` and possessive
repetition, is refused by name: Java and Arrow read it differently or not at all. Source: java.util.regex.Pattern.
"""

from __future__ import annotations

import re
from functools import lru_cache

from ...errors import InvalidPredicateError, UnsupportedFeatureError
from ...lazy_pattern import lazy_pattern

__all__ = ["java_pattern", "java_replacement"]

_ENDS = "\\n\\r\\x85\\u2028\\u2029"
_CLASSES = {"d": "0-9", "w": "a-zA-Z_0-9", "s": " \\t\\n\\x0b\\f\\r"}
_CONTROLS = {"t": "\\t", "n": "\\n", "r": "\\r", "f": "\\f"}
_REPEAT = lazy_pattern(r"[*+?]|\{[0-9]{1,3}(?:,[0-9]{0,3})?\}")


@lru_cache(maxsize=256)
def java_pattern(pattern: str) -> re.Pattern[str]:
    """A compiled pattern that finds what Java's finds.

    Raises
    ------
    UnsupportedFeatureError
        The pattern uses what Java and Arrow read differently.
    InvalidPredicateError
        It is no regular expression.
    """
    text = _Translator(pattern).translate()
    try:
        return re.compile(text)
    except (re.error, RecursionError, OverflowError) as error:
        raise InvalidPredicateError(f"{pattern!r} is no regular expression: {error}", field=pattern) from None


def java_replacement(replacement: str, groups: int) -> str:
    """Java's replacement text as Python's: ``$1`` is a group. Raises UnsupportedFeatureError for what is not built."""
    pieces = []
    for part in re.split(r"(\$[0-9]+)", replacement):
        if re.fullmatch(r"\$[0-9]", part) and int(part[1:]) <= groups:
            pieces.append(f"\\g<{part[1:]}>")
        elif "$" in part or "\\" in part:
            raise _refused(replacement, part)
        else:
            pieces.append(part)
    return "".join(pieces)


def _refused(pattern: str, what: str) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(
        f"the regular expression {pattern!r} has {what!r}, which Java and Arrow read differently",
        field=pattern,
        hint="Read with to_spark, which evaluates it, or write it without.",
    )


class _Translator:
    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0
        self._folds = False

    def translate(self) -> str:
        pattern = self._pattern
        if pattern.startswith("(?i)"):
            self._folds, self._at = True, 4
        pieces = []
        while self._at < len(pattern):
            pieces.append(self._piece())
        return "".join(pieces)

    def _piece(self) -> str:
        pattern, c = self._pattern, self._pattern[self._at]
        self._at += 1
        if c == "\\":
            return self._repeated(self._escape())
        if c == "[":
            return self._repeated(self._class())
        if c == "(":
            return self._group()
        if c == ")":
            return self._repeated(")")
        if c == "|":
            return c
        if c == "^":
            return "\\A"
        if c == "$":
            return "(?=(?:\\r\\n|(?<!\\r)\\n|[\\r\\x85\\u2028\\u2029])?\\Z)"
        if c == ".":
            return self._repeated(f"[^{_ENDS}]")
        if c in "*+?{":
            raise _refused(pattern, pattern[self._at - 1 : self._at + 2])
        return self._repeated(self._literal(c))

    def _literal(self, c: str) -> str:
        if self._folds and c.isascii() and c.isalpha():
            return f"[{c.lower()}{c.upper()}]"
        return re.escape(c)

    def _escape(self) -> str:
        c = self._pattern[self._at : self._at + 1]
        self._at += 1
        if c in _CLASSES:
            return f"[{_CLASSES[c]}]"
        if c.lower() in _CLASSES and c:
            return f"[^{_CLASSES[c.lower()]}]"
        if c in _CONTROLS and c:
            return _CONTROLS[c]
        if not c or c.isalnum():
            raise _refused(self._pattern, "\\" + c)
        return re.escape(c)

    def _group(self) -> str:
        rest = self._pattern[self._at : self._at + 2]
        if rest == "?:":
            self._at += 2
            return "(?:"
        if rest[:1] == "?":
            raise _refused(self._pattern, "(" + self._pattern[self._at : self._at + 3])
        return "("

    def _repeated(self, piece: str) -> str:
        match = _REPEAT.match(self._pattern, self._at)
        if match is None:
            return piece
        self._at = match.end()
        rest = self._pattern[self._at : self._at + 1]
        if rest == "?":
            self._at += 1
            return f"{piece}{match[0]}?"
        if rest in ("+", "*", "{"):
            raise _refused(self._pattern, match[0] + rest)
        return piece + match[0]

    def _class(self) -> str:
        pattern, start = self._pattern, self._at - 1
        negated = pattern[self._at : self._at + 1] == "^"
        self._at += negated
        pieces: list[str] = []
        while True:
            c = pattern[self._at : self._at + 1]
            self._at += 1
            if c == "]" and pieces:
                return f"[{'^' if negated else ''}{''.join(pieces)}]"
            if not c or c in "[]" or (c == "&" and pattern[self._at : self._at + 1] == "&"):
                raise _refused(pattern, pattern[start : self._at])
            pieces.append(self._member(c))

    def _member(self, c: str) -> str:
        """A character of a class, a range, or ``\\d`` and its kind."""
        if c == "\\":
            escaped = self._pattern[self._at : self._at + 1]
            if escaped in _CLASSES and escaped:
                self._at += 1
                return _CLASSES[escaped]
            first = self._escape()
            if first.startswith("["):
                raise _refused(self._pattern, "\\" + escaped)
        else:
            first = re.escape(c)
        following = self._pattern[self._at : self._at + 2]
        if len(following) < 2 or following[0] != "-" or following[1] == "]":
            return self._folded(first, first)
        if following[1] in "[\\":
            raise _refused(self._pattern, c + following)
        self._at += 2
        last = re.escape(following[1])
        return self._folded(first, last)

    def _folded(self, first: str, last: str) -> str:
        text = first if first == last else f"{first}-{last}"
        if not self._folds or not (first.isascii() and first.isalpha()):
            if self._folds and first != last:
                raise _refused(self._pattern, f"(?i) with {text}")
            return text
        if not (last.isascii() and last.isalpha() and first.islower() == last.islower()):
            raise _refused(self._pattern, f"(?i) with {text}")
        return f"{text.lower()}{text.upper()}"
