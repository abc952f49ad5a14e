"""Pairs of types of values: whether one is cast to the other, and in which type both meet.

``python -m tests.expressions.functions.kind_cases`` writes it to ``kind_outcomes.json``: {rule: {type: {outcome: other
types}}}. Read what has changed there.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tableformats.expressions.functions import coercion
from tableformats.expressions.functions.intervals import IntervalType
from tableformats.expressions.tree import BoundColumn, Literal, Value
from tableformats.schema import DecimalType, Field, FixedType, ListType, StructType, Type, primitive
from tests.support import leaves

PINNED = Path(__file__).with_name("kind_outcomes.json")
NAMES = (
    "boolean byte short int long float double string binary date timestamp timestamp_ntz timestamp_ns time uuid unknown"
)
KINDS: list[Type] = [
    *map(primitive, NAMES.split()),
    *(
        DecimalType(precision, scale)
        for precision, scale in ((3, 0), (5, 2), (10, 0), (20, 0), (38, 0), (38, 38), (30, 15))
    ),
    FixedType(4),
    *map(IntervalType, ("month", "day", "microsecond")),
    ListType(Field(0, "element", primitive("int"))),
    StructType((Field(0, "a", primitive("int")),)),
]
NUMBERS = [Literal(value, kind) for value, kind in ((7, primitive("int")), (-1000, primitive("long")))]


def column(kind: Type) -> Value:
    return BoundColumn((Field(1, "x", kind),))


RULES: dict[str, Callable[[Type, Type, bool], object]] = {
    "cast": lambda a, b, ansi: coercion.has_cast(a, b),
    "meet": lambda a, b, ansi: coercion.wider_kind([a, b], ansi),
    "meet without texts": lambda a, b, ansi: coercion.wider_kind([a, b], ansi, promotes_text=False),
    "meet of three": lambda a, b, ansi: coercion.wider_kind([a, primitive("string"), b], ansi),
    "compared": lambda a, b, ansi: coercion.comparison_kinds(column(a), column(b), ansi),
    "compared with numbers": lambda a, b, ansi: [coercion.comparison_kinds(column(a), one, ansi) for one in NUMBERS],
    "wider number": lambda a, b, ansi: coercion.wider_numeric(a, b, ansi),
}


def outcomes() -> dict[str, dict[str, dict[str, str]]]:
    found: dict[str, dict[str, dict[str, list[str]]]] = {}
    for ansi in (True, False):
        for rule, of in RULES.items():
            for left in KINDS:
                one = found.setdefault(f"{rule}{' ansi' if ansi else ''}", {}).setdefault(str(left), {})
                for right in KINDS:
                    text = str(of(left, right, ansi))
                    one.setdefault(str(right) if text == str(right) else text, []).append(str(right))
    return {
        rule: {left: {text: ", ".join(names) for text, names in one.items()} for left, one in lefts.items()}
        for rule, lefts in found.items()
    }


def main() -> None:
    leaves.write(PINNED, outcomes())


if __name__ == "__main__":
    main()
