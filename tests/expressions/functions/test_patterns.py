"""Patterns of Java's regular expressions: what Python's are made of them, and which part of one is refused.

Which rows they match is compared with Spark's answers elsewhere.
"""

from __future__ import annotations

import pytest

from tableformats.errors import InvalidPredicateError, UnsupportedFeatureError
from tableformats.expressions.functions.regular import java_pattern

TRANSLATED = {
    "a": "a",
    "a.c": "a[^\\n\\r\\x85\\u2028\\u2029]c",
    "^a$": "\\Aa(?=(?:\\r\\n|(?<!\\r)\\n|[\\r\\x85\\u2028\\u2029])?\\Z)",
    "\\d+": "[0-9]+",
    "\\D": "[^0-9]",
    "\\w": "[a-zA-Z_0-9]",
    "\\W\\s\\S": "[^a-zA-Z_0-9][ \\t\\n\\x0b\\f\\r][^ \\t\\n\\x0b\\f\\r]",
    "[abc]": "[abc]",
    "[^abc]": "[^abc]",
    "[a-z0-9]": "[a-z0-9]",
    "[a&b]": "[a\\&b]",
    "[\\d.]": "[0-9\\.]",
    "[^\\w-]": "[^a-zA-Z_0-9\\-]",
    "[\\]]": "[\\]]",
    "[a-]": "[a\\-]",
    "\\t\\n": "\\t\\n",
    "(?i)a": "[aA]",
    "(?i)Straße": "[sS][tT][rR][aA]ß[eE]",
    "(?i)[a-cX-Z]": "[a-cA-Cx-zX-Z]",
    "(?i)[B5é]": "[bB5é]",
    "(?:a|b)": "(?:a|b)",
    "a??b": "a??b",
    "a{2}?b+": "a{2}?b+",
    "a{2}": "a{2}",
    "a{2,}": "a{2,}",
    "a{2,3}": "a{2,3}",
    "a|b": "a|b",
    "é": "é",
    "😀": "😀",
    "a\\.b": "a\\.b",
    "[.]": "[\\.]",
}
REFUSED = {
    "\\h": "\\h",
    "\\R": "\\R",
    "\\bword\\B": "\\b",
    "\\Aa\\z": "\\A",
    "a\\Z": "\\Z",
    "[]a]": "[]",
    "[a": "[a",
    "[[a]b]": "[[",
    "[a&&b]": "[a&",
    "[\\p{L}]": "\\p",
    "\\p{Lu}": "\\p",
    "\\pL": "\\p",
    "\\x41": "\\x",
    "\\u0041": "\\u",
    "\\Qa.b\\E": "\\Q",
    "\\Qa": "\\Q",
    "(a)(b)\\2": "\\2",
    "(?<n>a)": "(?<n",
    "(?=a)b": "(?=a",
    "(?<!a)b": "(?<!",
    "(?>a)": "(?>a",
    "(?x) a": "(?x)",
    "a*+": "*+",
    "a{": "{",
    "*a": "*a",
    "+": "+",
    "?": "?",
    "a**": "**",
    "a?{2}": "?{",
    "(?i)[a-C]": "(?i) with a-C",
    "(?i)[A-z]": "(?i) with A-z",
    "(?i)[a-é]": "(?i) with a-é",
    "(?i)[a-~]": "(?i) with a-\\~",
    "(?i)[1-3]": "(?i) with 1-3",
    "\\": "\\",
    "\\y": "\\y",
    "\\1": "\\1",
    "\\k<n>": "\\k",
    "[a-z&&[^b]]": "[a-z&",
    "(?s).": "(?s)",
    "(?m)^a": "(?m)",
}
"""Patterns, and the part that the error names."""
WRONG = ["[z-a]", "a{3,2}", "(a", "a)"]


@pytest.mark.parametrize("pattern", TRANSLATED)
def test_translations(pattern: str) -> None:
    assert java_pattern(pattern).pattern == TRANSLATED[pattern]


@pytest.mark.parametrize("pattern", REFUSED)
def test_refusals(pattern: str) -> None:
    with pytest.raises(UnsupportedFeatureError) as caught:
        java_pattern(pattern)
    what = f"the regular expression {pattern!r} has {REFUSED[pattern]!r}, which Java and Arrow read differently"
    assert str(caught.value).startswith(f"{what} (field {pattern!r}). Read with to_spark")


@pytest.mark.parametrize("pattern", WRONG)
def test_what_is_no_pattern(pattern: str) -> None:
    with pytest.raises(InvalidPredicateError) as caught:
        java_pattern(pattern)
    assert str(caught.value).startswith(f"{pattern!r} is no regular expression: ")
