"""The expressions of ``tests/golden/function_cases.txt`` with one token changed, and their values on the rows there.

Spark was not asked about these: they pin what was found, and that an argument that does not fit is refused.
``python -m tests.expressions.functions.damaged_cases`` writes it to ``damaged.json``: read what has changed there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tableformats.errors import InvalidPredicateError, UnsupportedFeatureError
from tests.expressions.functions.test_answers import our_answers
from tests.support import function_cases, leaves

PINNED = Path(__file__).with_name("damaged.json")
COLUMNS = {field.name for field in function_cases.SCHEMA}
_TOKEN = re.compile(r"'(?:[^'\\]|\\.)*'|[A-Za-z_][A-Za-z_0-9]*|\d+(?:\.\d+)?|<=>|<>|!=|<=|>=|\S")


def damaged(text: str) -> Iterator[str]:
    """The expression with another column, text, number or operator, for each of its tokens."""
    for token in _TOKEN.finditer(text):
        before = token.group()
        if before in COLUMNS:
            others = ["s", "d", "NULL"] if before in ("i", "l", "m", "w") else ["i", "s", "list"]
        elif before[0] == "'":
            others = ["''", f"{before[:-1]}x'", f"'{before[2:]}" if len(before) > 3 else "'y'"]
        elif before[0].isdigit():
            others = ["0", f"-{before}", "100"]
        elif before in "+-*/%<>=":
            others = ["-" if before == "+" else "+"]
        else:
            continue
        for other in others:
            if other != before:
                yield f"{text[: token.start()]}{other}{text[token.end() :]}"


def chosen(text: str) -> list[str]:
    """At most six of them, spread over the expression."""
    every = list(damaged(text))
    return every[:: max(1, -(-len(every) // 6))]


def outcome_of(text: str) -> str:
    """The type and the values, and which of them raise without ANSI mode, too; or the error."""
    try:
        (kind, values), (_, legacy) = our_answers(text, True), our_answers(text, False)
    except (InvalidPredicateError, UnsupportedFeatureError) as error:
        said = f"{type(error).__name__}: {error}".partition(",")[0]
        return said if len(said) < 100 else f"{said[:60]} {leaves.digest(said)}"
    return f"{kind} {leaves.digest([values, legacy])}"


def outcomes(text: str) -> dict[str, Any]:
    return {one: outcome_of(one) for one in chosen(text)}


def main() -> None:
    leaves.write(PINNED, {"expressions": {text: outcomes(text) for text in function_cases.EXPRESSIONS}})


if __name__ == "__main__":
    main()
