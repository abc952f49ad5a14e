"""LIKE over strings whose bytes are not UTF-8: wildcards match what Java decodes these bytes to.

The answers are those of Spark 4.3, each by ``SELECT CAST(X'..' AS STRING) LIKE '..'``.
"""

from __future__ import annotations

import pyarrow as pa
import pytest

from tableformats.engines.arrow.filters import evaluate
from tableformats.errors import InvalidPredicateError, UnsupportedFeatureError
from tableformats.expressions import evaluation
from tableformats.expressions.binding import bind
from tableformats.expressions.functions.comparing import like
from tableformats.expressions.functions.text import _known
from tableformats.expressions.parse import parse_filter
from tableformats.schema import Field, Schema, primitive

CHARACTERS = {  # bytes, and how many U+FFFD Java makes of them
    b"\xff": 1,
    b"\xc3": 1,
    b"\xc0\x80": 2,
    b"\xe0\x80\x80": 3,
    b"\xe2\x82": 1,
    b"\xed\xa0\x80": 1,
    b"\xed\xa0": 1,
    b"\xf0\x9f\x98": 1,
    b"\xf4\x90\x80\x80": 4,
    b"\x80\x80": 2,
}


def texts(*values: bytes | None) -> pa.Array:
    return pa.array(values, pa.binary()).view(pa.string())


@pytest.mark.parametrize(("damaged", "length"), CHARACTERS.items())
def test_underscores_count_as_java_does(damaged: bytes, length: int) -> None:
    values = texts(b"a" + damaged + b"b", None)
    for number in range(6):
        assert like(values, f"a{'_' * number}b").to_pylist() == [number == length, None], number


def test_percent_matches_bytes_that_are_not_utf8() -> None:
    values = texts(b"a\xffb", b"ab", b"a\xff", None)
    assert like(values, "a%b").to_pylist() == [True, True, False, None]
    assert like(values, "%b").to_pylist() == [True, True, False, None]
    assert like(values.cast(pa.large_binary()).view(pa.large_string()), "_%_").to_pylist() == [True, True, True, None]


@pytest.mark.parametrize(
    ("text", "pattern", "matches"),
    [
        ("a%b", "a!%b", True),
        ("axb", "a!%b", False),
        ("a_!", "a!_!!", True),
        ("ab", "a%", True),
        (r"a\b", r"_\b", True),
        (r"a\b", r"a!\b", None),
        (r"a%b", r"a\%b", False),
        (r"a\xb", r"a\%b", True),
        ("a!", "a!", None),
    ],
)
@pytest.mark.parametrize("name", ["like", "ilike"])
def test_another_escape_character(text: str, pattern: str, matches: bool | None, name: str) -> None:
    """Of values that are computed; None: the pattern is refused. A backslash stands for itself."""
    sql = [one.replace("\\", "\\\\") for one in (text, pattern)]
    of_constants = f"'{sql[0]}' {name} '{sql[1]}' ESCAPE '!'"
    of_rows = f"concat(s, '') {name} '{sql[1]}' ESCAPE '!'"
    schema = Schema((Field(1, "s", primitive("string")),))
    for found in (of_constants, of_rows):
        if matches is None:
            with pytest.raises(InvalidPredicateError, match=r"the escape .*precedes"):
                bind(parse_filter(found), schema)
            continue
        bound = bind(parse_filter(found), schema)
        assert evaluate(bound, pa.record_batch({"s": [text]})).to_pylist() == [matches], found


def test_code_points_that_are_no_characters_have_no_case():
    for text in ("\uffff", "\U0010fffe", "\ufdd0\ufdef", "é"):
        assert _known(text) == text
    for text in ("\u0378", "a\u0380", "\U000e0fff"):  # no Unicode has these yet
        with pytest.raises(UnsupportedFeatureError, match="newer than Python's Unicode"):
            _known(text)


@pytest.mark.parametrize(
    ("text", "pattern", "matches"),
    [
        ("abc", "a%c", True),
        ("ac", "a%c", True),
        ("abc", "a_c", True),
        ("ac", "a_c", False),
        ("a\nc", "a_c", True),
        ("abc", "%", True),
        ("", "%", True),
        ("", "_", False),
        ("abc", "a.c", False),
        ("a%c", r"a\%c", True),
        ("abc", r"a\%c", False),
        (r"a\c", r"a\\c", True),
        ("a_c", r"a\_c", True),
        ("abc", r"a\_c", False),
    ],
)
def test_patterns_of_rows(text: str, pattern: str, matches: bool) -> None:
    """Where the pattern is a column, as where it is a constant."""
    columns = {1: pa.array([text, None, text]), 2: pa.array([pattern, pattern, None])}
    schema = Schema((Field(1, "a", primitive("string")), Field(2, "b", primitive("string"))))
    parsed = parse_filter("a LIKE b")
    assert parsed is not None
    found = evaluation.evaluate(bind(parsed, schema), lambda column: columns[column.id], 3)
    assert found.to_pylist() == [matches, None, None]
    assert like(columns[1], pattern).to_pylist() == [matches, None, matches]
