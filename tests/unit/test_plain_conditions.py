"""Conditions that are read without sqlglot mean what sqlglot reads in them."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot.dialects.dialect import Dialect

from tableformats.errors import TableFormatsError
from tableformats.expressions import Expression
from tableformats.predicates import sql
from tableformats.predicates.lexing import lex
from tableformats.predicates.plain import plain_condition

CONSTANTS = ["0", "007", "-5", "- 5", "123456789012345678", "1234567890123456789", "1.5", "1e3", "5L", "'x'",
             "'it\\'s'", "''", "'AND b = 1'", "r'\\n'",
             "X'00ff'", "1.5BD", "NULL", "b", "DATE '2024-01-01'"]  # fmt: skip
OPERATORS = ["=", "==", "<=>", "<", "<=", ">", ">=", "!=", "<>", " = ", "\n<\t", "=-", "<-", " IS "]
COMPARED = st.builds(lambda *parts: "".join(parts), st.sampled_from(["a", "_1", "Day", "date", "a.b", "`a`", "é", "5"]),
                     st.sampled_from(OPERATORS), st.sampled_from(CONSTANTS))  # fmt: skip
BETWEEN = st.builds("{} BETWEEN {} and {}".format, st.sampled_from(["a", "date"]), st.sampled_from(CONSTANTS),
                    st.sampled_from(CONSTANTS))  # fmt: skip
JOINED = st.lists(COMPARED | BETWEEN, min_size=1, max_size=3).flatmap(
    lambda terms: st.sampled_from([" AND ", " and ", "\nAnd  ", " OR ", "AND", " AND NOT ", " AND /* c */ "]).map(
        lambda join: join.join(terms)
    )
)


def parsed(text: str) -> Expression:
    lexed = lex(text)
    return sql._Reader(lexed).predicate(sql._parse(lexed))


def same(text: str) -> bool:
    """Asserts that both agree where the plain reader has an answer; whether it has."""
    try:
        found = plain_condition(lex(text))
    except TableFormatsError:
        return False
    if found is not None:
        assert repr(found) == repr(parsed(text)), text
    return found is not None


@given(JOINED)
def test_both_readers_agree(text: str) -> None:
    same(text)


@pytest.mark.parametrize("text", ["id >= 600 AND id < 700", "a = 'x'", "a between -1 and 'y' AND _b <=> 007", " a<>5 "])
def test_what_is_plain(text: str) -> None:
    assert same(text)


def words() -> list[str]:
    """All that sqlglot's tokenizers and parsers take for more than a name."""
    found: set[str] = set()
    for name in ("", "spark"):
        dialect = Dialect.get_or_raise(name)
        parser = dialect.parser_class
        found |= {*dialect.tokenizer_class.KEYWORDS, *parser.FUNCTIONS, *parser.NO_PAREN_FUNCTION_PARSERS}
        found |= {token.name for token in parser.NO_PAREN_FUNCTIONS}
    return sorted(word.lower() for word in found if word.isidentifier() and word.isascii())


def test_words_of_sql() -> None:
    assert len(words()) > 500
    for word in words():
        for text in (f"{word} >= 5", f"a < 6 AND {word} = 'x'", f"{word} BETWEEN 3 AND 4"):
            same(text)


def test_plain_conditions_load_no_parser() -> None:
    code = ("import sys; from tableformats.predicates.sql import parse_sql; parse_sql('id >= 5 AND day < \\'x\\''); "
            "assert 'sqlglot' not in sys.modules")  # fmt: skip
    subprocess.run([sys.executable, "-c", code], check=True)
