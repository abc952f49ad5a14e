"""Every function of constants of every type: the value, what is left to be computed, or the error.

``python -m tests.expressions.functions.constant_cases`` writes it to ``constant_outcomes.json``: {function: {arguments:
outcome}} for one argument, and a digest for more. Read what has changed there.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from tableformats.errors import TableFormatsError
from tableformats.expressions.binding import bind
from tableformats.expressions.functions.signatures import SIGNATURES
from tableformats.expressions.parse import parse_filter
from tableformats.schema import Field, Schema, primitive
from tests.support import leaves

PINNED = Path(__file__).with_name("constant_outcomes.json")
SCHEMA = Schema((Field(1, "x", primitive("string")),))
NOW = 1_700_000_000_000_000
CONSTANTS = [
    *("NULL", "true", "0", "1", "-1", "2", "7", "-128Y", "32767S", "-2147483648", "9223372036854775807L"),
    *("0D", "-0.0D", "0.5D", "-2.5D", "1e300D", "CAST('NaN' AS DOUBLE)", "CAST('-Infinity' AS DOUBLE)", "1.5F"),
    *("1.25", "-99.995", "0.00", "12345678901234567890.123456789"),
    *(
        "''",
        "'a'",
        "'aB c'",
        "' 12 '",
        "'a,b,,c'",
        "'2024-02-29'",
        "'yyyy-MM-dd'",
        "'month'",
        "'(a)(b)?'",
        "'%a_'",
        "'\u00e9\u0130'",
    ),
    *(
        "DATE'2024-02-29'",
        "DATE'1582-10-04'",
        "TIMESTAMP'2024-12-31 23:59:59.999999Z'",
        "TIMESTAMP'1969-12-31 23:59:59Z'",
    ),
    *("INTERVAL 1 MONTH", "INTERVAL -1 DAY", "X'00ff'"),
]
PAIRS, TRIPLES = 24, 16


def outcome(call: str, ansi: bool) -> str:
    try:
        return str(bind(parse_filter(f"x = CAST({call} AS STRING)", ansi=ansi), SCHEMA, True, ansi, NOW))
    except TableFormatsError as error:
        return f"{type(error).__name__}: {error}"


def calls(name: str) -> Iterator[list[str]]:
    """The call without arguments and with each constant; with some pairs and triples of them."""
    chance = random.Random(name)
    yield [f"{name}()", *(f"{name}({one})" for one in CONSTANTS)]
    for count, size in ((PAIRS, 2), (TRIPLES, 3)):
        yield [f"{name}({', '.join(chance.choices(CONSTANTS, k=size))})" for _ in range(count)]


def outcomes(names: list[str]) -> dict[str, dict[str, str]]:
    """{function: {a digest for each number of arguments: how many of the calls have a value}}."""
    found: dict[str, dict[str, str]] = {}
    for name in names:
        for number, some in enumerate(calls(name)):
            said = [outcome(call, number == 1) for call in some]
            kept = [text for text in said if "Error: " not in text]
            found.setdefault(name, {})[leaves.digest(said)] = f"{len(kept)} of {len(said)}, {' | '.join(kept)[:200]}"
    return found


OPERATORS = [
    "+",
    "-",
    "*",
    "/",
    "%",
    "&",
    "|",
    "^",
    "||",
    "=",
    "<>",
    "<",
    "<=",
    ">",
    ">=",
    "<=>",
    "<<",
    "DIV",
    "LIKE",
    "RLIKE",
]
TYPES = [
    "BOOLEAN",
    "TINYINT",
    "SMALLINT",
    "INT",
    "BIGINT",
    "FLOAT",
    "DOUBLE",
    "DECIMAL(5,2)",
    "DECIMAL(38,0)",
    "STRING",
    "BINARY",
    "DATE",
    "TIMESTAMP",
]


def of_operators() -> dict[str, dict[str, str]]:
    """{operator: {a digest of what pairs of constants become: how many have a value}}."""
    found: dict[str, dict[str, str]] = {}
    for operator in OPERATORS:
        chance = random.Random(operator)
        pairs = [chance.choices(CONSTANTS, k=2) for _ in range(50)]
        said = [outcome(f"({a} {operator} {b})", ansi) for ansi in (True, False) for a, b in pairs]
        kept = [text for text in said if "Error: " not in text]
        found[operator] = {leaves.digest(said): f"{len(kept)} of {len(said)}, {' | '.join(kept)[:200]}"}
    return found


def of_casts() -> dict[str, dict[str, str]]:
    """{type: {cast: a digest of what the constants become}}."""
    found: dict[str, dict[str, str]] = {}
    for kind in TYPES:
        for cast in ("CAST", "TRY_CAST"):
            said = [outcome(f"{cast}({one} AS {kind})", ansi) for ansi in (True, False) for one in CONSTANTS]
            found.setdefault(kind, {})[cast] = leaves.digest(said)
    return found


NAMES = [name for name in sorted(SIGNATURES) if name.isidentifier()]


def main() -> None:
    leaves.write(PINNED, {"functions": outcomes(NAMES), "operators": of_operators(), "casts": of_casts()})


if __name__ == "__main__":
    main()
