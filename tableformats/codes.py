"""Literals and bounds as codes: where a value stands among a leaf's sorted literals.

With k sorted, distinct literals ``code(v) = 2 * #(literals < v) + (v in literals)``, from 0 to 2k. A comparison then
accepts an interval of codes, IN accepts the odd ones, and every type's order is used in one place, the ``locate``
kernels. This module takes literals into the column's physical domain, exactly: a literal between two values of
the domain (``int_col > 3.5``) or beyond its range becomes an interval, never a rounded number.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ._core import pruning as kernels
from .expressions import Literal
from .schema import DecimalType, FixedType, PrimitiveType, Type

__all__ = ["Accepted", "accept_comparison", "accept_in", "accept_prefix", "domain_of", "locate"]

_INT64 = (-(2**63), 2**63 - 1)
_INT128 = (-(2**127), 2**127 - 1)
_INTEGERS = (
    "boolean", "byte", "short", "int", "long", "date", "time",
    "timestamp", "timestamp_ntz", "timestamp_ns", "timestamp_ntz_ns",
)  # fmt: skip
# Enough digits that no literal of SQL is rounded while it is shifted and floored.
_EXACT = Context(prec=400)


@dataclass(frozen=True)
class Accepted:
    """Literals of one domain (ascending, distinct) and the codes that make a leaf TRUE.

    Accepted are the codes from ``first`` to ``last`` (none where ``first > last``), or, with ``odd_only``, every
    odd code.
    """

    domain: str
    literals: tuple[Any, ...]
    first: int
    last: int
    odd_only: bool = False

    @property
    def top(self) -> int:
        """The greatest code."""
        return 2 * len(self.literals)


def domain_of(kind: Type) -> str | None:
    """The kernel that orders values of ``kind``: int64, float64, decimal or bytes; None: no order that we use."""
    if isinstance(kind, DecimalType):
        return "decimal"
    if isinstance(kind, FixedType):
        return "bytes"
    if not isinstance(kind, PrimitiveType):
        return None
    if kind.name in _INTEGERS:
        return "int64"
    if kind.name in ("float", "double"):
        return "float64"
    return "bytes" if kind.name in ("string", "binary", "uuid") else None


def accept_comparison(op: str, literal: Literal, kind: Type) -> Accepted | None:
    """Codes for ``column op literal``; ``op`` is one of = < <= > >=. None: values of ``kind`` have no order here."""
    domain = domain_of(kind)
    if domain is None:
        return None
    value, side = _into_domain(literal.value, kind, domain)
    first, last = _EXACT_CODES[op] if side == "equal" else _INEXACT_CODES[side][op]
    return Accepted(domain, (value,), first, last)


# Accepted codes by where the true literal stands against the domain's value: on it, between it and the next, or
# beyond either end of the domain (then every value is below, or above).
_EXACT_CODES = {"<": (0, 0), "<=": (0, 1), "=": (1, 1), ">": (2, 2), ">=": (1, 2)}
_NEVER, _ALWAYS = (1, 0), (0, 2)
_INEXACT_CODES = {
    "above": {"<": (0, 1), "<=": (0, 1), "=": _NEVER, ">": (2, 2), ">=": (2, 2)},
    "beyond": {"<": _ALWAYS, "<=": _ALWAYS, "=": _NEVER, ">": _NEVER, ">=": _NEVER},
    "before": {"<": _NEVER, "<=": _NEVER, "=": _NEVER, ">": _ALWAYS, ">=": _ALWAYS},
}


def accept_in(literals: Iterable[Literal], kind: Type) -> Accepted | None:
    """Codes for ``column IN (literals)``; literals that no value of ``kind`` can equal are left out."""
    domain = domain_of(kind)
    if domain is None:
        return None
    placed = (_into_domain(literal.value, kind, domain) for literal in literals)
    distinct = _ascending({value for value, side in placed if side == "equal"}, domain)
    return Accepted(domain, distinct, 1, 0, odd_only=True)


def accept_prefix(prefix: str | bytes) -> Accepted:
    """Codes for values that start with ``prefix`` (strings as UTF-8)."""
    start = prefix.encode("utf-8", "surrogatepass") if isinstance(prefix, str) else prefix
    cut = start.rstrip(b"\xff")
    if not cut:
        # Nothing stands above every extension: from the prefix to the end.
        return Accepted("bytes", (start,), 1, 2)
    return Accepted("bytes", (start, cut[:-1] + bytes([cut[-1] + 1])), 1, 2)


def _into_domain(value: Any, kind: Type, domain: str) -> tuple[Any, str]:
    """The greatest domain value not above ``value``, and the side on which ``value`` lies of it."""
    if domain == "bytes":
        return (value.encode("utf-8", "surrogatepass") if isinstance(value, str) else bytes(value)), "equal"
    if domain == "float64":
        # -0.0 equals 0.0; adding 0.0 makes them one literal.
        return float(value) + 0.0, "equal"
    shifted = _EXACT.scaleb(Decimal(value), kind.scale) if isinstance(kind, DecimalType) else value
    if isinstance(shifted, float):
        shifted = Decimal(shifted)
    if isinstance(shifted, Decimal) and not shifted.is_finite():
        return 0, "beyond" if shifted.is_nan() or shifted > 0 else "before"
    floor = math.floor(shifted) if not isinstance(shifted, Decimal) else _floor(shifted)
    low, high = _INT128 if domain == "decimal" else _INT64
    if floor > high:
        return high, "beyond"
    if floor < low:
        return low, "before"
    return floor, "equal" if floor == shifted else "above"


def _floor(value: Decimal) -> int:
    if value.adjusted() > 60:
        # Far outside of every domain; do not write out the digits of 1e999999.
        return 10**60 if value > 0 else -(10**60)
    return int(value.to_integral_value(ROUND_FLOOR, _EXACT))


def _ascending(values: Iterable[Any], domain: str) -> tuple[Any, ...]:
    if domain != "float64":
        return tuple(sorted(values))
    numbers = {v for v in values if v == v}
    nan = (math.nan,) if any(v != v for v in values) else ()
    return (*sorted(numbers), *nan)


def locate(values: pa.Array, accepted: Accepted) -> np.ndarray:
    """int32[n]: the code of every value; those of null values mean nothing.

    ``values`` has the Arrow type of the column (see :func:`tableformats.schema.arrow_type`).
    """
    out = np.zeros(len(values), np.int32)
    if not len(values):
        return out
    literals = accepted.literals
    if accepted.domain == "int64":
        kernels.locate_int64(_integers(values), np.array(literals, np.int64), out)
    elif accepted.domain == "float64":
        floats = pc.fill_null(values.cast(pa.float64()), 0.0).to_numpy(zero_copy_only=False)
        kernels.locate_float64(floats, np.array(literals, np.float64), out)
    elif accepted.domain == "decimal":
        packed = b"".join(v.to_bytes(16, "little", signed=True) for v in literals)
        kernels.locate_decimal128(_decimals(values), np.frombuffer(packed, np.uint8), out)
    else:
        offsets, data = _bytes(values)
        literal_offsets, literal_data = _bytes(pa.array(literals, pa.binary()))
        kernels.locate_bytes(offsets, data, literal_offsets, literal_data, out)
    return out


def _integers(values: pa.Array) -> np.ndarray:
    if pa.types.is_boolean(values.type):
        values = values.cast(pa.int8())
    elif pa.types.is_date32(values.type):
        values = values.view(pa.int32())
    elif values.type.bit_width == 64:
        values = values.view(pa.int64())
    return pc.fill_null(values.cast(pa.int64()), 0).to_numpy(zero_copy_only=False)


def _decimals(values: pa.Array) -> np.ndarray:
    buffer = values.buffers()[1]
    start = values.offset * 16
    return np.frombuffer(buffer, np.uint8)[start : start + len(values) * 16]


def _bytes(values: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    values = values.cast(pa.binary())
    _, offsets, data = values.buffers()
    window = np.frombuffer(offsets, np.int32)[values.offset : values.offset + len(values) + 1]
    return window, np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)
