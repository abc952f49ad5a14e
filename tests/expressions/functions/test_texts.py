"""Functions of texts at the edges of their arguments, by the documentation of Spark's functions."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tableformats.errors import InvalidPredicateError, UnsupportedFeatureError
from tests.support.expressions import answers, bound

ROWS = {"s": pa.array(["abc", None, "", "b", "é😀b"]), "p": pa.array(["b", "b", "", None, "😀"])}


def constant(call: str, ansi: bool = True) -> object:
    """The value of a call of constants, which is the same for three rows."""
    _, found = answers(call, {"s": pa.array(["x", "y", None])}, ansi)
    assert found == [found[0]] * 3
    return found[0]


@pytest.mark.parametrize(
    ("call", "value"),
    [
        ("substring('abc', 0)", "abc"),
        ("substring('abc', 0, 2)", "ab"),
        ("substring('abc', 1, 2)", "ab"),
        ("substring('abc', 2)", "bc"),
        ("substring('abc', 3, 9)", "c"),
        ("substring('abc', 4)", ""),
        ("substring('abc', -1)", "c"),
        ("substring('abc', -3, 2)", "ab"),
        ("substring('abc', -4, 2)", "a"),
        ("substring('abc', -5, 3)", "a"),
        ("substring('abc', -5, 2)", ""),
        ("substring('abc', -9)", "abc"),
        ("substring('abc', 2, 0)", ""),
        ("substring('abc', 2, -1)", ""),
        ("substring('abc', -9, -1)", ""),
        ("substring('abc', -2147483648, 2147483647)", "ab"),
        ("substring('abc', 3, 2147483647)", "c"),
        ("substring(X'010203', 2, 1)", b"\x02"),
        ("left('abc', 2)", "ab"),
        ("left('abc', 0)", ""),
        ("left('abc', -1)", ""),
        ("right('abc', 1)", "c"),
        ("right('abc', 3)", "abc"),
        ("right('abc', 4)", "abc"),
        ("right('abc', 0)", ""),
        ("locate('b', 'abcb')", 2),
        ("locate('b', 'abcb', 1)", 2),
        ("locate('b', 'abcb', 2)", 2),
        ("locate('b', 'abcb', 3)", 4),
        ("locate('b', 'abcb', 5)", 0),
        ("locate('a', 'abc', 0)", 0),
        ("locate('a', 'abc', -1)", 0),
        ("locate('', 'abc', 1)", 1),
        ("locate('', 'abc', 0)", 0),
        ("locate('x', 'abc', 1)", 0),
        ("locate('b', 'abc', CAST(NULL AS INT))", 0),
        ("locate(CAST(NULL AS STRING), 'abc', 1)", None),
        ("locate('b', CAST(NULL AS STRING), 1)", None),
        ("instr('abc', 'c')", 3),
        ("lpad('abc', 2, 'x')", "ab"),
        ("lpad('abc', 3, 'x')", "abc"),
        ("lpad('a', 5, 'xyz')", "xyzxa"),
        ("rpad('a', 4, 'xyz')", "axyz"),
        ("rpad('a', 5, 'xyz')", "axyzx"),
        ("rpad('a', 3)", "a  "),
        ("lpad('a', 3)", "  a"),
        ("lpad('a', 3, '')", "a"),
        ("lpad('abc', 0, 'x')", ""),
        ("lpad('abc', 1, '')", "a"),
        ("rpad('abc', -1, 'x')", ""),
        ("length(lpad('a', 16777216, repeat('x', 4096)))", 16777216),
        ("repeat('ab', 0)", ""),
        ("repeat('ab', 2)", "abab"),
        ("repeat('ab', -1)", ""),
        ("space(2)", "  "),
        ("concat()", ""),
        ("concat('a', 1)", "a1"),
        ("concat('a', NULL)", None),
        ("concat(X'01', X'ff')", b"\x01\xff"),
        ("concat(X'61', 'b')", "ab"),
        ("concat_ws('-')", ""),
        ("concat_ws('-', 'a', NULL, 'b')", "a-b"),
        ("concat_ws('-', split('a,b', ','), 'c')", "a-b-c"),
        ("concat_ws('-', 1, 'a')", "1-a"),
        ("concat_ws(1, 'a', 'b')", "a1b"),
        ("concat_ws(NULL, 'a')", None),
        ("split_part('a.b.c', '.', 1)", "a"),
        ("split_part('a.b.c', '.', 3)", "c"),
        ("split_part('a.b.c', '.', 4)", ""),
        ("split_part('a.b.c', '.', -1)", "c"),
        ("split_part('a.b.c', '.', -3)", "a"),
        ("split_part('a.b.c', '.', -4)", ""),
        ("split_part('a.b.c', '', 1)", "a.b.c"),
        ("translate('abcabc', 'abb', 'xy')", "xycxyc"),
        ("translate('abc', 'ac', 'x')", "xb"),
        ("levenshtein('kitten', 'sitting')", 3),
        ("levenshtein('', 'abc')", 3),
        ("levenshtein('abc', '')", 3),
        ("levenshtein('flaw', 'lawn')", 2),
        ("ascii('')", 0),
        ("ascii('a')", 97),
        ("chr(-1)", ""),
        ("chr(0)", "\0"),
        ("chr(97)", "a"),
        ("chr(256)", "\0"),
        ("chr(353)", "a"),
        ("chr(255)", "ÿ"),
        ("hex(17)", "11"),
        ("hex(-1)", "F" * 16),
        ("hex(-9223372036854775808L)", "8000000000000000"),
        ("hex(2.9D)", "2"),
        ("hex(CAST(10 AS TINYINT))", "A"),
        ("hex('a1')", "6131"),
        ("hex(X'0f')", "0F"),
        ("hex(NULL)", None),
        ("replace('aba', 'a')", "b"),
        ("replace('aba', 'a', 'xx')", "xxbxx"),
        ("replace('aba', '', 'x')", "aba"),
        ("trim('  a ')", "a"),
        ("ltrim('  a ')", "a "),
        ("rtrim('  a ')", "  a"),
        ("initcap('heLLO wORLD  x')", "Hello World  X"),
        ("bit_length('é')", 16),
        ("octet_length('é')", 2),
        ("length('é')", 1),
        ("length(X'c3a9')", 2),
        ("regexp_extract('a1b22', '([a-z])([0-9]+)')", "a"),
        ("regexp_extract('a1b22', '([a-z])([0-9]+)', 0)", "a1"),
        ("regexp_extract('a1b22', '([a-z])([0-9]+)', 2)", "1"),
        ("regexp_extract('a1b22', '(x)?a', 1)", ""),
        ("regexp_extract('a1b22', 'x', 0)", ""),
        ("regexp_replace('a1b22', '[0-9]', 'x')", "axbxx"),
        ("regexp_count('a1b22', '[0-9]+')", 2),
        ("regexp_count('a', 'b')", 0),
    ],
)
def test_calls_of_constants(call: str, value: object) -> None:
    assert constant(call) == value


@pytest.mark.parametrize(
    ("limit", "parts"),
    [
        ("", ["a", "b", "", "c"]),
        (", 0", ["a", "b", "", "c"]),
        (", 1", ["a,b,,c"]),
        (", 2", ["a", "b,,c"]),
        (", 3", ["a", "b", ",c"]),
        (", 4", ["a", "b", "", "c"]),
        (", 9", ["a", "b", "", "c"]),
    ],
)
def test_a_text_is_split_into_as_many_parts_as_asked(limit: str, parts: list[str]) -> None:
    assert answers(f"split('a,b,,c', ','{limit})", {"s": pa.array(["x"])})[1] == [parts]


@pytest.mark.parametrize(
    ("call", "values"),
    [
        ("contains(s, 'b')", [True, None, False, True, True]),
        ("contains('abc', p)", [True, True, True, None, False]),
        ("contains(s, p)", [True, None, True, None, True]),
        ("contains('abc', 'c')", [True] * 5),
        ("contains(s, CAST(NULL AS STRING))", [None] * 5),
        ("contains(CAST(s AS BINARY), X'62')", [True, None, False, True, True]),
        ("startswith(s, 'b')", [False, None, False, True, False]),
        ("startswith(s, p)", [False, None, True, None, False]),
        ("startswith('b', p)", [True, True, True, None, False]),
        ("endswith(s, 'b')", [False, None, False, True, True]),
        ("endswith('b', p)", [True, True, True, None, False]),
        ("like(s, 'a%')", [True, None, False, False, False]),
        ("like('abc', p)", [False, False, False, None, False]),
        ("like('b', p)", [True, True, False, None, False]),
        ("like(s, p)", [False, None, True, None, False]),
        ("like(s, concat(p, '%'))", [False, None, True, None, False]),
        ("like(s, concat('__', p))", [False, None, False, None, False]),
        ("like(s, concat('%', p, '_'))", [True, None, False, None, True]),
        ("like(s, reverse(CAST(NULL AS STRING)))", [None] * 5),
        ("like('abc', 'a%')", [True] * 5),
        ("ilike(s, 'B')", [False, None, False, True, False]),
        ("ilike(upper(s), p)", [False, None, True, None, False]),
        ("ilike('B', p)", [True, True, False, None, False]),
        ("upper(s)", ["ABC", None, "", "B", "É😀B"]),
        ("reverse(s)", ["cba", None, "", "b", "b😀é"]),
        ("length(s)", [3, None, 0, 1, 3]),
        ("concat(s, '-', p)", ["abc-b", None, "-", None, "é😀b-😀"]),
        ("concat()", [""] * 5),
        ("locate(p, s, 1)", [2, None, 1, None, 2]),
        ("locate(p, s)", [2, None, 1, None, 2]),
    ],
)
def test_calls_of_columns(call: str, values: list[object]) -> None:
    assert answers(call, ROWS)[1] == values


def test_no_rows() -> None:
    for call in ("lower(s)", "contains(s, 'a')", "like(s, 'a%')", "concat(s, 'a')", "substring(s, 2)"):
        assert answers(call, {"s": pa.array([], pa.string())})[1] == []


@pytest.mark.parametrize("character", ["\u019b", "\u0264", "\ua7d3", "\u0378"])
def test_characters_that_are_newer_than_python(character: str) -> None:
    for call in ("lower", "upper"):
        with pytest.raises(UnsupportedFeatureError, match=f"U\\+{ord(character):04X}"):
            answers(f"{call}(s)", {"s": pa.array([f"a{character}"])})


@pytest.mark.parametrize("character", ["\ufdd0", "\ufdef", "\ufffe", "\U0001ffff", "\u00df", "\u03c3"])
def test_characters_of_which_the_case_is_known(character: str) -> None:
    """Noncharacters stay what they are in every version of Unicode."""
    assert answers("upper(s)", {"s": pa.array([character])})[1] == [character.upper()]


@pytest.mark.parametrize(("pattern", "before"), [("a!b", "b"), ("a!", "nothing"), ("!x%", "x"), ("!!!", "nothing")])
def test_an_escape_before_a_letter_is_refused(pattern: str, before: str) -> None:
    said = f"in the LIKE pattern '{pattern}' the escape '!' precedes '{before}'"
    for given in (f"'{pattern}'", "p"):
        with pytest.raises(InvalidPredicateError, match=said):
            answers(f"like(s, {given}, '!')", {"s": pa.array(["a"]), "p": pa.array([pattern])})


@pytest.mark.parametrize(
    ("escape", "said"),
    [("''", "one character"), ("'!!'", "one character"), *((one, "a constant string") for one in ("s", "NULL", "1"))],
)
def test_an_escape_is_one_character(escape: str, said: str) -> None:
    for pattern in ("'a%'", "s"):
        with pytest.raises(InvalidPredicateError, match=f"ESCAPE .*{said}"):
            bound(f"like(s, {pattern}, {escape})", pa.schema({"s": pa.string()}))


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        ("split_part(s, '.', 0)", "the position 0; the first part has the position 1"),
        ("regexp_extract(s, '(a)', 2)", "the pattern '(a)' has no group 2"),
        ("regexp_extract(s, '(a)', -1)", "the pattern '(a)' has no group -1"),
    ],
)
def test_errors_of_rows(call: str, reason: str) -> None:
    assert answers(call, {"s": pa.array(["a.b", None])})[1] == [f"! {reason}", None]


@pytest.mark.parametrize(
    ("pattern", "matching", "other"),
    [("a!%", "a%", "ab"), ("!_!!", "_!", "b!"), ("a\\\\%", "a\\x", "a%"), ("%!%%", "1%2", "12"), ("a\\\\", "a\\", "a")],
)
def test_an_escape_of_ones_own(pattern: str, matching: str, other: str) -> None:
    """A backslash is then a letter. Both ways of matching agree: a constant pattern, and one of each row."""
    rows = {"s": pa.array([matching, other]), "p": pa.array([pattern.replace("\\\\", "\\")] * 2)}
    for given in (f"'{pattern}'", "p"):
        assert answers(f"like(s, {given}, '!')", rows)[1] == [True, False]


@pytest.mark.parametrize(
    "call",
    [
        "split(s, '(b)')",
        "split(s, 'x*')",
        "split(s, '(x)*')",
        "regexp_replace(s, 'x*', '-')",
        "regexp_replace(s, 'b', '-', 2)",
        "regexp_replace(s, 'x*', '-', 2)",
    ],
)
def test_patterns_that_are_left_to_spark(call: str) -> None:
    with pytest.raises(UnsupportedFeatureError, match="Read with to_spark"):
        answers(call, ROWS)
    assert answers("regexp_replace(s, 'b', '-', 1)", ROWS)[1] == ["a-c", None, "", "-", "é😀-"]


def test_a_long_text_is_cut_and_kept() -> None:
    """Texts of data may be longer than those that a filter makes."""
    long = "a" * ((1 << 24) + 1)
    rows = {"s": pa.array([long])}
    assert answers(f"length(lpad(s, {len(long)}, 'b'))", rows)[1] == [len(long)]
    assert answers("length(rpad(s, 2, 'b'))", rows)[1] == [2]
    with pytest.raises(UnsupportedFeatureError, match="is not made"):
        answers(f"lpad(s, {len(long) + 1}, 'b')", rows)
    for count in (1 << 22, (1 << 22) + 1):
        with pytest.raises(UnsupportedFeatureError, match=f"a text of {5 * count} characters is not made"):
            answers(f"repeat(s, {count})", {"s": pa.array(["abcde"])})


def test_lists_of_texts_are_joined() -> None:
    rows = {"s": pa.array(["x", None, "z"]), "list": pa.array([["a", None, "b"], [], None], pa.list_(pa.string()))}
    assert answers("concat_ws('-', list)", rows)[1] == ["a-b", "", ""]
    assert answers("concat_ws('-', s, list)", rows)[1] == ["x-a-b", "", "z"]
    assert answers("concat_ws(s, list)", rows)[1] == ["axb", None, ""]
