"""Literals and bounds as codes: where a value stands among a leaf's sorted literals.

With k sorted, distinct literals ``code(v) = 2 * #(literals < v) + (v in literals)``, from 0 to 2k. A comparison then
accepts an interval of codes, IN accepts the odd ones, and every type's order is used in one place, the ``locate``
kernels. Literals are those of a bound predicate: values of their column's type.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from .._core import pruning as kernels
from ..columnar import compute as pc
from ..columnar.arrays import binaries, text_buffers, to_numpy
from ..expressions import Literal
from ..schema import DecimalType, FixedType, PrimitiveType, Type

__all__ = [
    "Accepted",
    "accept_comparison",
    "accept_in",
    "accept_prefix",
    "domain_of",
    "into_domain",
    "locate",
    "validity_of",
]

_INTEGERS = (
    "boolean",
    "byte",
    "short",
    "int",
    "long",
    "date",
    "time",
    "timestamp",
    "timestamp_ntz",
    "timestamp_ns",
    "timestamp_ntz_ns",
)
# A decimal has 38 digits at most; shifting one must not round it.


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
    first, last = {"<": (0, 0), "<=": (0, 1), "=": (1, 1), ">": (2, 2), ">=": (1, 2)}[op]
    return Accepted(domain, (into_domain(literal.value, kind, domain),), first, last)


def accept_in(literals: Iterable[Literal], kind: Type) -> Accepted | None:
    """Codes for ``column IN (literals)``. None: values of ``kind`` have no order here."""
    domain = domain_of(kind)
    if domain is None:
        return None
    distinct = {into_domain(literal.value, kind, domain) for literal in literals}
    return Accepted(domain, _ascending(distinct), 1, 0, odd_only=True)


def accept_prefix(prefix: str | bytes) -> Accepted:
    """Codes for values that start with ``prefix`` (strings as UTF-8)."""
    start = prefix.encode("utf-8", "surrogatepass") if isinstance(prefix, str) else prefix
    cut = start.rstrip(b"\xff")
    if not cut:
        # Nothing stands above every extension: from the prefix to the end.
        return Accepted("bytes", (start,), 1, 2)
    return Accepted("bytes", (start, cut[:-1] + bytes([cut[-1] + 1])), 1, 2)


def into_domain(value: Any, kind: Type, domain: str) -> Any:
    """A value of type ``kind`` as :attr:`Accepted.literals` has it."""
    if domain == "bytes":
        return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else bytes(value)
    if isinstance(kind, DecimalType):
        return kind.unscaled(value)
    return float(value) if domain == "float64" else int(value)


def _ascending(values: set[Any]) -> tuple[Any, ...]:
    nan = (math.nan,) if any(v != v for v in values) else ()
    return (*sorted(v for v in values if v == v), *nan)


def locate(values: pa.Array, accepted: Accepted, unknown: int) -> np.ndarray:
    """int32[n]: the code of every value, ``unknown`` of nulls.

    ``values`` has the Arrow type of the column (see :func:`tableformats.schema.types.arrow_type`).
    """
    if values.null_count == len(values):
        return np.full(len(values), unknown, np.int32)
    out = np.empty(len(values), np.int32)
    literals = accepted.literals
    if accepted.domain == "int64":
        kernels.locate_int64(_integers(values), np.array(literals, np.int64), out)
    elif accepted.domain == "float64":
        kernels.locate_float64(to_numpy(pc.cast(values, pa.float64())), np.array(literals, np.float64), out)
    elif accepted.domain == "decimal":
        packed = b"".join(v.to_bytes(16, "little", signed=True) for v in literals)
        kernels.locate_decimal128(_decimals(values), np.frombuffer(packed, np.uint8), out)
    else:
        offsets, data = _bytes(values)
        literal_offsets, literal_data = _bytes(binaries(literals))
        kernels.locate_bytes(offsets, data, literal_offsets, literal_data, out)
    validity, first = validity_of(values)
    kernels.fill_unknown(out, validity, first, unknown)
    return out


def validity_of(values: pa.Array) -> tuple[np.ndarray | None, int]:
    """Arrow's validity bitmap (uint8; None: no nulls) and the bit of the first value."""
    bitmap = values.buffers()[0] if values.null_count else None
    return None if bitmap is None else np.frombuffer(bitmap, np.uint8), values.offset


def _integers(values: pa.Array) -> np.ndarray:
    if pa.types.is_boolean(values.type):
        values = pc.cast(values, pa.int8())
    elif pa.types.is_date32(values.type):
        values = values.view(pa.int32())
    elif values.type.bit_width == 64:
        values = values.view(pa.int64())
    return to_numpy(values if values.type == pa.int64() else pc.cast(values, pa.int64()))


def _decimals(values: pa.Array) -> np.ndarray:
    start = values.offset * 16
    return np.frombuffer(values.buffers()[1], np.uint8)[start : start + len(values) * 16]


def _bytes(values: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    return text_buffers(pc.cast(values, pa.binary()))
