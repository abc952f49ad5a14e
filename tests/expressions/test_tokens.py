"""The tokens of SQL: numbers at the limits of their types, texts with escapes, comments, and what has no end."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from tableformats.errors import InvalidPredicateError
from tableformats.expressions.parse.cursor import Cursor
from tableformats.expressions.parse.lexing import MAX_NESTING, number, tokenize


@pytest.mark.parametrize(
    ("text", "value", "kind"),
    [
        ("0", 0, None),
        ("007", 7, None),
        ("9" * 38, 10**38 - 1, None),
        ("1.50", Decimal("1.50"), None),
        (".5", Decimal("0.5"), None),
        ("1.", Decimal("1"), None),
        ("0." + "1" * 38, Decimal("0." + "1" * 38), None),
        ("1e3", 1000.0, None),
        ("1E-3", 0.001, None),
        ("1.5e308", 1.5e308, None),
        ("1e-400", 0.0, None),
        ("2D", 2.0, None),
        ("2.5d", 2.5, None),
        ("1e2D", 100.0, None),
        ("0.1F", 0.10000000149011612, "float"),
        ("3.4028235e38f", 3.4028234663852886e38, "float"),
        ("1BD", Decimal(1), None),
        ("1.5bd", Decimal("1.5"), None),
        ("1e2bd", Decimal("1E+2"), None),
        ("127Y", 127, "tinyint"),
        ("32767s", 32767, "smallint"),
        ("9223372036854775807L", 2**63 - 1, "bigint"),
        ("0l", 0, "bigint"),
    ],
)
def test_numbers(text: str, value: Any, kind: str | None) -> None:
    found = number(text)
    assert repr(found.value) == repr(value) and (kind is None or str(found.type) == kind)
    opposite = number(text, minus=True).value
    assert opposite == (value.copy_negate() if isinstance(value, Decimal) else -value)
    assert type(opposite) is type(value)


@pytest.mark.parametrize(
    ("text", "kind"), [("128Y", "tinyint"), ("32768S", "smallint"), ("9223372036854775808L", "bigint")]
)
def test_the_least_integers_have_a_sign(text: str, kind: str) -> None:
    assert number(text, minus=True).value == -int(text[:-1]) and str(number(text, minus=True).type) == kind
    with pytest.raises(InvalidPredicateError, match=f"the number {text} is out of the range"):
        number(text)
    beyond = f"{int(text[:-1]) + 1}{text[-1]}"
    with pytest.raises(InvalidPredicateError, match="is out of the range"):
        number(beyond, minus=True)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1.5L", "the number 1.5L is out of the range of"),
        ("1e2Y", "the number 1e2Y is out of the range of"),
        ("1e309", "the number 1e309 is out of the range of doubles"),
        ("1e309D", "the number 1e309D is out of the range of doubles"),
        ("3.5e38F", "the number 3.5e38F is out of the range of floats"),
        ("1" * 39, f"the number {'1' * 39} has more than 38 digits"),
        ("0." + "1" * 39, f"the number 0.{'1' * 39} has more than 38 digits"),
        ("1e39BD", "the number 1e39BD has more than 38 digits"),
        ("1e-39BD", "the number 1e-39BD has more than 38 digits"),
        ("1" * 60, f"the number {'1' * 60} has more than 38 digits"),
        ("1" * 61, f"the number {'1' * 57}... has more than 38 digits"),
    ],
)
def test_numbers_that_are_none(text: str, said: str) -> None:
    for minus in (False, True):
        with pytest.raises(InvalidPredicateError) as caught:
            number(text, minus)
        assert str(caught.value).startswith(said)


def test_numbers_of_38_digits() -> None:
    assert number("1e38BD").value == Decimal("1e38") and number("1e-38BD").value == Decimal("1e-38")
    assert number("0e99BD").value == 0


def texts(sql: str) -> list[str | None]:
    return [token.value for token in tokenize(sql) if token.kind == "string"]


@pytest.mark.parametrize(
    ("sql", "value"),
    [
        ("'a'", "a"),
        ('"a"', "a"),
        ("''", ""),
        ("'it''s'", "it's"),
        ('"a""b"', 'a"b'),
        ("'a\"b'", 'a"b'),
        (r"'a\'b'", "a'b"),
        (r"'\''''", "''"),
        (r"'\'''''x'", "'''x"),
        (r"'\\''z'", "\\'z"),
        (r"'\\\'''y'", "\\''y"),
        (r"'a\\''b'", "a\\'b"),
        (r"'\n\t\r\b\0\Z'", "\n\t\r\b\0\x1a"),
        (r"'\%\_\q'", "\\%\\_q"),
        (r"'\101\377'", "A\xff"),
        (r"'\401'", "401"),
        (r"'\u00e9\U0001F600'", "\u00e9\U0001f600"),
        (r"'\uD83D\uDE00'", "\U0001f600"),
        (r"'\uD83Dx'", "?x"),
        (r"'\U0010FFFF'", "\U0010ffff"),
        (r"r'\n'", "\\n"),
        (r'R"a\\b"', "a\\\\b"),
        ("'a\nb'", "a\nb"),
    ],
)
def test_texts(sql: str, value: str) -> None:
    assert texts(sql) == [value]


@pytest.mark.parametrize(
    ("sql", "kinds"),
    [
        ("a = 1", ["word a", "operator =", "number 1", "end "]),
        ("`a``b` <=> 'x'", ["name a`b", "operator <=>", "string 'x'", "end "]),
        ("a -- b\n+ 1", ["word a", "operator +", "number 1", "end "]),
        ("a /* b /* c */ d */ b", ["word a", "word b", "end "]),
        ("a;", ["word a", "end "]),
        ("a ; \n;", ["word a", "end "]),
        ("", ["end "]),
        ("a @ b?", ["word a", "operator @", "word b", "operator ?", "end "]),
    ],
)
def test_kinds_of_tokens(sql: str, kinds: list[str]) -> None:
    found = tokenize(sql)
    assert [f"{token.kind} {token.text}" for token in found] == kinds
    assert all(0 <= token.start <= token.end <= len(sql) for token in found)


@pytest.mark.parametrize(
    ("sql", "said", "column"),
    [
        ("a = 'b", "the string that opens here has no end", 5),
        ('a = "b', "the string that opens here has no end", 5),
        ("`a = 1", "the name that opens here has no end", 1),
        ("a /* b /* */", "the comment that opens here has no end", 3),
        ("(a", "the parenthesis that opens here is not closed", 1),
        ("(a[1)", "the parenthesis that closes here was not opened", 5),
        ("a[1", "the bracket that opens here is not closed", 2),
        ("a)", "the parenthesis that closes here was not opened", 2),
        ("a]", "the bracket that closes here was not opened", 2),
        ("[a)", "the parenthesis that closes here was not opened", 3),
        ("a; b", "a filter is one condition, not several statements", 2),
        (r"'\U00110000'", r"\U00110000 is no Unicode character", 1),
    ],
)
def test_what_is_not_closed(sql: str, said: str, column: int) -> None:
    with pytest.raises(InvalidPredicateError) as caught:
        tokenize(sql)
    assert str(caught.value).startswith(f"{said}, at line 1, column {column} of the filter")


@pytest.mark.parametrize("one", ["(", "[", "NOT ", "- ", "~ "])
def test_how_deep_a_filter_may_nest(one: str) -> None:
    closing = {"(": ")", "[": "]"}.get(one, "")
    tokenize(one * MAX_NESTING + "a" + closing * MAX_NESTING)
    with pytest.raises(InvalidPredicateError, match=f"nests deeper than {MAX_NESTING} levels"):
        tokenize(one * (MAX_NESTING + 1) + "a" + closing * (MAX_NESTING + 1))
    tokenize("a AND ".join([one + "a" + closing + " "] * (MAX_NESTING + 1)))


def test_a_cursor_stays_at_the_end() -> None:
    cursor = Cursor("a AND b")
    assert [cursor.ahead(n).text for n in (0, 1, 2, 3, 4, 9)] == ["a", "AND", "b", "", "", ""]
    assert cursor.ahead().text == "AND"
    assert [cursor.take().text for _ in range(5)] == ["a", "AND", "b", "", ""]
    assert cursor.next.kind == "end" and cursor.ahead().kind == "end"


def test_words_that_are_taken() -> None:
    cursor = Cursor("is not null x")
    assert not cursor.take_all("IS", "NULL") and cursor.next.text == "is"
    assert cursor.take_all("IS", "NOT") and cursor.at("NULL") and not cursor.at("NOT", "X")
    assert cursor.take_if("NOT") is None and cursor.expect("NULL").text == "null"
    assert not cursor.take_all("X", "Y") and cursor.take_all("X") and cursor.next.kind == "end"


@pytest.mark.parametrize(
    ("sql", "taken", "what", "said"),
    [
        ("a b", 1, "", "does not parse at line 1, column 3: 'b' is not expected here"),
        ("a\n  b", 1, "THEN is missing before", "does not parse at line 2, column 3: THEN is missing before 'b'"),
        ("a = ", 2, "", "does not parse at line 1, column 5: it ends too early, after 'a ='"),
        ("a = ", 2, "x before", "does not parse at line 1, column 5: it ends too early, after 'a ='"),
        ("a " + "b" * 70, 1, "", f"'{'b' * 60}' is not expected here"),
        ("x" * 30, 1, "", f"it ends too early, after '{'x' * 20}'"),
    ],
)
def test_where_a_filter_does_not_parse(sql: str, taken: int, what: str, said: str) -> None:
    cursor = Cursor(sql)
    for _ in range(taken):
        cursor.take()
    with pytest.raises(InvalidPredicateError) as caught:
        cursor.fail_here(what)
    assert said in str(caught.value)


def test_the_text_since_a_token() -> None:
    cursor = Cursor("f( a,\n  b ) = 1")
    first = cursor.take()
    assert cursor.since(first) == "f"
    cursor.skip_parenthesis()
    assert cursor.next.text == "=" and cursor.since(first) == "f( a, b )"
    assert cursor.since(cursor.next) == "="
    for length, shown in ((80, "x" * 80), (81, "x" * 77 + "..."), (200, "x" * 77 + "...")):
        long = Cursor("x" * length)
        assert long.since(long.take()) == shown
    nested = Cursor("((a) + (b)) c")
    nested.skip_parenthesis()
    assert nested.next.text == "c"
    nested.skip_parenthesis()
    assert nested.next.text == "c"


def test_chains_that_are_too_long() -> None:
    cursor = Cursor("a b")
    cursor.check_length(MAX_NESTING, cursor.next)
    with pytest.raises(InvalidPredicateError, match=f"nests deeper than {MAX_NESTING} levels, at line 1, column 1"):
        cursor.check_length(MAX_NESTING + 1, cursor.next)
    refused = cursor.unsupported("it is not built", cursor.take())
    assert str(refused).startswith("'a' at line 1, column 1 of the filter: it is not built") and refused.field == "a"


def test_errors_have_one_place() -> None:
    cursor = Cursor("a b")
    first = cursor.take()
    with pytest.raises(InvalidPredicateError) as outer, cursor.located(first), cursor.located(cursor.next):
        raise InvalidPredicateError("it is wrong", field="f", hint="Mend it.")
    assert outer.value.message == "'b' at line 1, column 3 of the filter: it is wrong"
    assert (outer.value.field, outer.value.hint) == ("f", "Mend it.")
    for said in ("at line 9 of the filter", "it does not parse"):
        with pytest.raises(InvalidPredicateError) as kept, cursor.located(first):
            raise InvalidPredicateError(said)
        assert kept.value.message == said
