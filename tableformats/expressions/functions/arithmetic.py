"""Arithmetic: ``+ - * / div %`` and functions of numbers.

Integers overflow into an error, or wrap without ANSI. Decimals are computed exactly and rounded once (half up) to the
precision and scale of the result. A division by zero is an error, or NULL without ANSI. Source: Spark SQL reference,
"ANSI Compliance" (Arithmetic Operations), and Spark's DecimalPrecision.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow.compute as pc

from ...schema import INTEGER_RANGES, DecimalType, Type, is_floating, is_integer, is_numeric
from ..numbers import decimal_step, nearest_float
from ..tree import Function, Literal
from .coercion import (
    DOUBLE,
    INT,
    LONG,
    STRING,
    as_kind,
    decimal_of,
    implicit,
    is_void,
    mismatch,
    name_of,
    refuse_unusual,
    type_of,
    wider_numeric,
)
from .definitions import Computed, Definition
from .intervals import IntervalType
from .vectors import RowError, Vector, each, numbers, stored_type, with_nulls

__all__ = ["FUNCTIONS", "bind_operator"]

_EXACT = decimal.Context(prec=800, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN, traps=[])
_DIVISION = decimal.Context(prec=39, rounding=decimal.ROUND_DOWN, Emax=10_000, Emin=-10_000, traps=[])
OVERFLOW = "the result is out of range"
BY_ZERO = "division by zero"
_BITS = {"byte": 8, "short": 16, "int": 32, "long": 64}


def bind_operator(node: Function) -> Function:
    """``+ - * / div %``, pmod and try_add and its kind, of two numbers."""
    node = _as_numbers(node)
    left, right = node.arguments
    op = _TRIED.get(node.name, node.name)
    a, b = decimal_of(left), decimal_of(right)
    kinds = (type_of(left), type_of(right))
    if any(isinstance(kind, DecimalType) for kind in kinds) and a is not None and b is not None:
        arguments = (as_kind(left, a), as_kind(right, b))
        kind: Type = LONG if op == "div" else _decimal_result(op, a, b)
        return replace(node, arguments=arguments, type=kind)
    wider = wider_numeric(*kinds, node.ansi)
    assert wider is not None
    if op == "/":
        wider = DOUBLE
    if op == "div":
        if is_floating(wider):
            raise mismatch(node, hint="Use FLOOR(a / b).")
        wider = LONG
    return replace(node, arguments=(as_kind(left, wider), as_kind(right, wider)), type=wider)


_TRIED = {"try_add": "+", "try_subtract": "-", "try_multiply": "*", "try_divide": "/", "try_mod": "%", "pmod": "%"}


def _as_numbers(node: Function) -> Function:
    """The operands as numbers: texts become numbers as Spark has it, NULL becomes the other's type."""
    kinds = [type_of(a) for a in node.arguments]
    for kind in kinds:
        refuse_unusual(kind)
    known = [kind for kind in kinds if not is_void(kind)] or [DOUBLE]
    arguments = []
    for argument, kind, other in zip(node.arguments, kinds, reversed(kinds), strict=True):
        if is_void(kind):
            argument = as_kind(argument, known[0] if known[0] != STRING else DOUBLE)
        elif kind == STRING:
            if node.ansi and other == STRING:
                raise mismatch(node)
            argument = as_kind(argument, LONG if node.ansi and is_integer(other) else DOUBLE, node.ansi)
        elif not is_numeric(kind):
            raise mismatch(node)
        arguments.append(argument)
    return replace(node, arguments=tuple(arguments))


def _decimal_result(op: str, a: DecimalType, b: DecimalType) -> DecimalType:
    scale = max(a.scale, b.scale)
    whole_a, whole_b = a.precision - a.scale, b.precision - b.scale
    if op in ("+", "-"):
        return bounded(max(whole_a, whole_b) + scale + 1, scale)
    if op == "*":
        return bounded(a.precision + b.precision + 1, a.scale + b.scale)
    if op == "/":
        scale = max(6, a.scale + b.precision + 1)
        return bounded(whole_a + b.scale + scale, scale)
    return bounded(min(whole_a, whole_b) + scale, scale)


def bounded(precision: int, scale: int) -> DecimalType:
    """The decimal type of at most 38 digits: digits after the point give way, but for six of them."""
    if precision <= 38:
        return DecimalType(precision, scale)
    return DecimalType(38, max(38 - (precision - scale), min(scale, 6)))


def _operator(node: Function, arguments: Sequence[Vector], n: int) -> Computed:
    op = node.name if node.name == "pmod" else _TRIED.get(node.name, node.name)
    kind = arguments[0].kind
    is_tried = node.name.startswith("try_")
    strict = node.ansi and not is_tried
    if isinstance(kind, DecimalType):
        assert node.type is not None
        return each(_decimal_operator(op, node.type, strict), arguments, node.type, n)
    (a, a_valid), (b, b_valid) = (numbers(v.values) for v in arguments)
    valid = np.broadcast_to(a_valid & b_valid, n)
    failed: dict[str, np.ndarray] = {}
    if op in ("/", "div", "%", "pmod"):
        by_zero = np.broadcast_to(b == 0, n) & valid
        failed = {BY_ZERO: by_zero} if strict else {}
        valid = valid & ~by_zero
    with np.errstate(all="ignore"):
        if is_floating(kind):
            return with_nulls(np.broadcast_to(_floats(op, a, b), n), valid, kind), failed
        values, overflows = _integers(op, a, b, name_of(kind))
    if strict:
        failed[OVERFLOW] = overflows & valid
    if strict or is_tried:
        valid = valid & ~overflows
    assert node.type is not None
    return with_nulls(np.broadcast_to(values, n), valid, node.type), failed


def _floats(op: str, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    if op == "%":
        return np.fmod(a, b)
    if op == "pmod":
        rest = np.fmod(a, b)
        return np.where(rest < 0, np.fmod(rest + b, b), rest)
    found: np.ndarray = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}[op](a, b)
    return found


def _integers(op: str, a: np.ndarray, b: np.ndarray, name: str) -> tuple[np.ndarray, np.ndarray]:
    """(the result, wrapped; where it was out of range)."""
    a, b = np.broadcast_arrays(a.astype(np.int64), b.astype(np.int64))
    least, greatest = INTEGER_RANGES[name]
    over = np.zeros(len(a), bool)
    if op == "+":
        wide = a + b
        over = ((a ^ wide) & (b ^ wide)) < 0
    elif op == "-":
        wide = a - b
        over = ((a ^ b) & (a ^ wide)) < 0
    elif op == "*":
        wide = a * b
        over = ((a != 0) & (wide // a != b)) | ((a == -1) & (b == np.iinfo(np.int64).min))
    else:
        divisor = np.abs(b)  # which leaves the rest as it is, and the least number divided by -1 has none
        wide = np.fmod(a, divisor)
        if op == "div":
            wide = (a - wide) // b
            over = (b == -1) & (a == np.iinfo(np.int64).min)
        elif op == "pmod":
            above = wide + b  # of the type INT in 32 bits, as in Java, where those of shorter types are promoted to it
            above = above.astype(np.int32) if name == "int" else above
            wide = np.where(wide < 0, np.fmod(above, divisor), wide)
    over = over | (wide < least) | (wide > greatest)
    return wide.astype(f"i{_BITS[name] // 8}"), over


def _decimal_operator(op: str, kind: Type, strict: bool) -> Callable[..., Any]:
    def compute(a: decimal.Decimal, b: decimal.Decimal) -> Any:
        if op in ("/", "div", "%", "pmod") and b == 0:
            if strict:
                raise RowError(BY_ZERO)
            return None
        if op == "div":
            whole = int(_EXACT.divide_int(a, b))
            least, greatest = INTEGER_RANGES["long"]
            if not least <= whole <= greatest:
                if strict:
                    raise RowError(OVERFLOW)
                return (whole - least) % (1 << 64) + least
            return whole
        assert isinstance(kind, DecimalType)
        return rounded(_decimal_value(op, a, b), kind, strict)

    return compute


def _decimal_value(op: str, a: decimal.Decimal, b: decimal.Decimal) -> decimal.Decimal:
    if op == "/":
        return _DIVISION.divide(a, b)
    if op in ("%", "pmod"):
        rest = _EXACT.remainder(a, b)
        return _EXACT.remainder(_EXACT.add(rest, b), b) if op == "pmod" and rest < 0 else rest
    return {"+": _EXACT.add, "-": _EXACT.subtract, "*": _EXACT.multiply}[op](a, b)


def rounded(value: decimal.Decimal, kind: DecimalType, strict: bool) -> decimal.Decimal | None:
    """``value`` as ``kind``, rounded half up. Out of range it is an error, or NULL if not ``strict``."""
    result = value.quantize(decimal_step(kind.scale), decimal.ROUND_HALF_UP, _EXACT)
    if result.is_nan() or abs(result) > kind.greatest:
        if strict:
            raise RowError(OVERFLOW)
        return None
    return result.copy_abs() if result == 0 else result


def _bind_same(*names: str) -> Callable[[Function], Function]:
    """A function of one number that gives its type (``abs``, ``negative``)."""

    def rule(node: Function) -> Function:
        kind = type_of(node.arguments[0])
        if isinstance(kind, IntervalType):
            return replace(node, type=kind)
        if kind == STRING or is_void(kind):
            node = replace(node, arguments=(as_kind(node.arguments[0], DOUBLE, node.ansi),))
            kind = DOUBLE
        if not is_numeric(kind):
            raise mismatch(node)
        return replace(node, type=kind)

    return rule


def _negate(node: Function, arguments: Sequence[Vector], n: int) -> Computed:
    argument = arguments[0]
    kind = argument.kind
    if isinstance(kind, DecimalType):
        return each(lambda v: abs(v) if node.name == "abs" else v.copy_negate() if v else v, arguments, kind, n)
    values, valid = numbers(argument.values)
    with np.errstate(all="ignore"):
        result = np.abs(values) if node.name == "abs" else -values
    failed = {}
    if not is_floating(kind):
        over = valid & (values == np.iinfo(values.dtype).min)
        if node.ansi and over.any():
            failed, valid = {OVERFLOW: over}, valid & ~over
    return with_nulls(result, valid, kind), failed


def _bind_double(node: Function) -> Function:
    arguments = tuple(implicit(node, i, DOUBLE) for i in range(len(node.arguments)))
    return replace(node, arguments=arguments, type=DOUBLE)


def _of_double(function: Callable[[np.ndarray], np.ndarray]) -> Callable[..., Computed]:
    def kernel(node: Function, arguments: Sequence[Vector], n: int) -> Computed:
        values, valid = numbers(arguments[0].values)
        with np.errstate(all="ignore"):
            return with_nulls(function(values), valid, DOUBLE), {}

    return kernel


def _power(node: Function, arguments: Sequence[Vector], n: int) -> Computed:
    from ...errors import UnsupportedFeatureError

    def power(base: float, exponent: float) -> float:
        if exponent == 0:
            return 1.0
        if exponent == 1 or base != base:
            return base
        # Java promises the exact result where both are integers and a double holds it.
        if base.is_integer() and exponent.is_integer() and 1 < exponent <= 1000 and abs(base) < 2**53:
            if abs(exact := int(base) ** int(exponent)) <= 2**53:
                return float(exact)
        raise UnsupportedFeatureError(
            f"{node} of numbers whose power no double holds exactly: Arrow may round it other than Spark",
            field=str(node),
            hint="Read with to_spark, or write a product.",
        )

    return each(power, arguments, DOUBLE, n)


def _bind_round(node: Function) -> Function:
    """``round``, ``bround``, ``floor`` and ``ceil``, with a number of digits or without."""
    value = node.arguments[0]
    kind = type_of(value)
    digits = _digits(node)
    cuts = node.name in ("floor", "ceil")
    if kind == STRING or is_void(kind):
        value, kind = as_kind(value, DOUBLE, node.ansi), DOUBLE
    if not is_numeric(kind):
        raise mismatch(node)
    if cuts and len(node.arguments) == 2:
        given = kind if isinstance(kind, DecimalType) else _FOR_DIGITS[name_of(kind)]
        value, kind = as_kind(value, given, node.ansi), given
        gives: Type = _rounded_type(given, digits)
    elif isinstance(kind, DecimalType):
        gives = bounded(kind.precision - kind.scale + 1, 0) if cuts else _rounded_type(kind, digits)
    elif cuts:
        value = value if is_integer(kind) or kind == DOUBLE else as_kind(value, DOUBLE, node.ansi)
        gives = LONG
    else:
        gives = kind
    rest = (Literal(digits, INT),) if len(node.arguments) == 2 else ()
    return replace(node, arguments=(value, *rest), type=gives)


_FOR_DIGITS = {
    "byte": DecimalType(3, 0),
    "short": DecimalType(5, 0),
    "int": DecimalType(10, 0),
    "long": DecimalType(20, 0),
    "float": DecimalType(14, 7),
    "double": DecimalType(30, 15),
}


def _digits(node: Function) -> int:
    if len(node.arguments) == 1:
        return 0
    digits = node.arguments[1]
    if not isinstance(digits, Literal) or not isinstance(digits.value, int) or not is_integer(type_of(digits)):
        raise mismatch(node, "the number of digits has to be a constant")
    if not -(2**31) <= digits.value < 2**31:
        raise mismatch(node, "the number of digits has 32 bits")
    return digits.value


def _rounded_type(kind: DecimalType, digits: int) -> DecimalType:
    whole = kind.precision - kind.scale + 1
    if digits < 0:
        return DecimalType(min(max(whole, -digits + 1), 38), 0)
    scale = min(kind.scale, digits)
    return DecimalType(min(whole + scale, 38), scale)


_MODES = {
    "round": decimal.ROUND_HALF_UP,
    "bround": decimal.ROUND_HALF_EVEN,
    "floor": decimal.ROUND_FLOOR,
    "ceil": decimal.ROUND_CEILING,
}


def _round(node: Function, arguments: Sequence[Vector], n: int) -> Computed:
    kind, gives = arguments[0].kind, node.type
    digits = _digits(node)
    mode = _MODES[node.name]
    assert gives is not None
    if is_floating(kind) and gives == LONG:
        values, valid = numbers(arguments[0].values)
        whole = np.floor(values) if node.name == "floor" else np.ceil(values)
        whole = np.where(np.isnan(whole), 0, whole)
        low, high = INTEGER_RANGES["long"]
        large, small = whole >= 2.0**63, whole < -(2.0**63)
        with np.errstate(invalid="ignore"):
            found = np.where(large, high, np.where(small, low, whole.astype(np.int64)))
        over = valid & (large | small)
        failed = {OVERFLOW: over} if node.ansi else {}
        return with_nulls(found, valid & ~(over & node.ansi), LONG), failed
    if is_integer(kind) and digits >= 0:
        return arguments[0].values.cast(stored_type(gives)), {}
    return each(lambda value: _rounded_number(value, digits, mode, gives, node.ansi), arguments[:1], gives, n)


def _rounded_number(value: Any, digits: int, mode: str, gives: Type, ansi: bool) -> Any:
    if isinstance(value, float):
        if not math.isfinite(value) or digits >= 400:
            return value + 0.0
        # The digits of a FLOAT are those of the DOUBLE that it is: 0.3499999940395355.
        result = decimal.Decimal(repr(value)).quantize(decimal_step(digits), mode, _EXACT)
        return (float(result) if gives == DOUBLE else nearest_float(result)) + 0.0  # never -0.0
    exact = decimal.Decimal(value).quantize(decimal_step(digits), mode, _EXACT)
    if isinstance(gives, DecimalType):
        return rounded(exact, gives, ansi)
    low, high = INTEGER_RANGES[name_of(gives)]
    if low <= exact <= high:
        return int(exact)
    if ansi:
        raise RowError(OVERFLOW)
    return (int(exact) - low) % (high - low + 1) + low


def _bind_bits(node: Function) -> Function:
    kinds = [type_of(a) for a in node.arguments]
    if node.name.startswith("shift"):
        shifted = LONG if kinds[0] == LONG else INT
        return replace(node, arguments=(implicit(node, 0, shifted), implicit(node, 1, INT)), type=shifted)
    kind = kinds[0]
    for other in kinds[1:]:
        kind = wider_numeric(kind, other) or kind
    if not all(is_integer(k) for k in kinds):
        raise mismatch(node, "bits are those of integers")
    return replace(node, arguments=tuple(as_kind(a, kind) for a in node.arguments), type=kind)


def _bits(node: Function, arguments: Sequence[Vector], n: int) -> Computed:
    found = [numbers(a.values) for a in arguments]
    valid = np.broadcast_to(np.logical_and.reduce([np.broadcast_to(v, n) for _, v in found]), n)
    values = [v for v, _ in found]
    a, b = values[0], values[-1]
    width = a.dtype.itemsize * 8
    if node.name == "bit_not":
        result = ~a
    elif node.name in _BITWISE:
        result = _BITWISE[node.name](a, b)
    elif node.name == "shiftleft":
        result = a << (b.astype(a.dtype) & (width - 1))
    elif node.name == "shiftright":
        result = a >> (b.astype(a.dtype) & (width - 1))
    else:
        unsigned = a.view(f"u{width // 8}") >> (b.astype(f"u{width // 8}") & (width - 1))
        result = unsigned.view(a.dtype)
    assert node.type is not None
    return with_nulls(np.broadcast_to(result, n), valid, node.type), {}


_BITWISE: dict[str, Callable[..., Any]] = {"&": np.bitwise_and, "|": np.bitwise_or, "^": np.bitwise_xor}


def _nanvl(node: Function, arguments: Sequence[Vector], n: int) -> Computed:
    first, second = (argument.spread(n).values for argument in arguments)
    return pc.if_else(pc.is_nan(first), second, first), {}


def _constant(value: float) -> Callable[..., Computed]:
    return lambda node, arguments, n: (with_nulls(np.full(n, value), np.ones(n, bool), DOUBLE), {})


_binary = Definition(bind_operator, _operator)
FUNCTIONS: dict[str, Definition] = {
    **dict.fromkeys(("*", "/", "div", "%", "pmod", *[name for name in _TRIED if name != "pmod"]), _binary),
    "abs": Definition(_bind_same(), _negate),
    "negative": Definition(_bind_same(), _negate),
    "sign": Definition(_bind_double, _of_double(lambda values: np.where(values == 0, values, np.sign(values)))),
    "sqrt": Definition(_bind_double, _of_double(np.sqrt)),
    "pow": Definition(_bind_double, _power),
    **dict.fromkeys(("exp", "ln", "log", "log10", "log2", "cbrt"), Definition(_bind_double)),
    **dict.fromkeys(("round", "bround", "floor", "ceil"), Definition(_bind_round, _round)),
    **dict.fromkeys(
        ("&", "|", "^", "bit_not", "shiftleft", "shiftright", "shiftrightunsigned"), Definition(_bind_bits, _bits)
    ),
    "nanvl": Definition(_bind_double, _nanvl),
    "pi": Definition(_bind_double, _constant(math.pi)),
    "e": Definition(_bind_double, _constant(math.e)),
}
NUMERIC_OPERATOR = _binary
"""For ``+`` and ``-``, which dates and timestamps have too."""
