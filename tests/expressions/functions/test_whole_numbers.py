"""Arithmetic of whole numbers at the limits of their types, against Python's integers and Java's promotions."""

from __future__ import annotations

import math
from collections.abc import Callable

import pyarrow as pa
import pytest

from tests.support.expressions import answers

BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
OPERATORS: dict[str, Callable[[int, int], int]] = {
    "a + b": lambda a, b: a + b,
    "a - b": lambda a, b: a - b,
    "a * b": lambda a, b: a * b,
    "a DIV b": lambda a, b: abs(a) // abs(b) * (-1 if (a < 0) != (b < 0) else 1),
    "a % b": lambda a, b: abs(a) % abs(b) * (-1 if a < 0 else 1),
}

TRIED = {"try_add(a, b)": "a + b", "try_subtract(a, b)": "a - b", "try_multiply(a, b)": "a * b"}


def wrapped(value: int, bits: int) -> int:
    return (value + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)


def remainder(a: int, b: int, bits: int) -> int:
    """Java's ``(a % b + b) % b`` where ``a % b`` is negative: the sum has 32 bits at least, and wraps around."""
    rest = OPERATORS["a % b"](a, b)
    return OPERATORS["a % b"](wrapped(rest + b, max(bits, 32)), b) if rest < 0 else rest


def outcomes(text: str, kind: str, ansi: bool, rows: list[tuple[int, int]]) -> list[int | str | None]:
    """The value for each row, or that it is an error."""
    columns = {
        name: pa.array(side, f"int{BITS[kind]}") for name, side in zip("ab", zip(*rows, strict=True), strict=True)
    }
    gives, found = answers(text, columns, ansi)
    assert gives == ("bigint" if "DIV" in text else kind)
    return ["an error" if isinstance(one, str) else one for one in found]


@pytest.mark.parametrize("kind", BITS)
@pytest.mark.parametrize("text", [*OPERATORS, "pmod(a, b)", *TRIED])
def test_whole_numbers_at_the_limits(text: str, kind: str) -> None:
    bits = BITS[kind]
    least, root = -(1 << bits - 1), math.isqrt(1 << bits - 1)
    edges = [least, least + 1, least // 2, -root - 1, -root, -3, -2, -1, 0, 1, 2, 3, root, root + 1, -(least // 2)]
    edges += [-least - 2, -least - 1]
    rows = [(a, b) for a in edges for b in edges]
    same = TRIED.get(text, text)
    for ansi in (True, False):
        wanted: list[int | str | None] = []
        fails = "an error" if ansi and same == text else None
        for a, b in rows:
            if b == 0 and same not in ("a + b", "a - b", "a * b"):
                wanted.append(fails)
                continue
            exact = remainder(a, b, bits) if same == "pmod(a, b)" else OPERATORS[same](a, b)
            around = wrapped(exact, 64 if "DIV" in text else bits)
            wanted.append(around if exact == around or (not ansi and same == text) else fails)
        assert outcomes(text, kind, ansi, rows) == wanted
