"""Literals and bounds as codes: the position of a value among the sorted literals of a leaf.

With k sorted, distinct literals ``code(v) = 2 * #(literals < v) + (v in literals)``, from 0 to 2k. Then a comparison
matches an interval of codes, IN matches the odd codes, and only the ``locate`` kernels know the order of each type.
The literals are those of a bound predicate: values of their column's type.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa

from .._core import pruning as kernels
from ..columnar import compute as pc
from ..columnar.arrays import binaries, text_buffers, to_numpy
from ..dataclass import dataclass
from ..expressions import Literal
from ..schema import DecimalType, FixedType, PrimitiveType, Type

__all__ = [
    "MatchingCodes",
    "ascending",
    "codes_matching_comparison",
    "codes_matching_in",
    "codes_matching_nan",
    "codes_matching_prefix",
    "domain_of",
    "locate",
    "to_domain",
    "validity_of",
]

_STORED_AS_INT64 = (
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


@dataclass(frozen=True)
class MatchingCodes:
    """The literals of a leaf, and the codes of the values for which the leaf is TRUE.

    Attributes
    ----------
    domain : str
        The order of the literals; see :func:`domain_of`.
    literals : tuple
        Ascending and distinct.
    first, last : int
        The matching codes; none where ``first > last``, as by default. Ignored with ``odd_only`` and ``accepted``.
    odd_only : bool
        Every odd code matches: every value that equals a literal.
    accepted : tuple of bool, optional
        Whether each code matches, where the matching codes are neither of these.
    """

    domain: str
    literals: tuple[Any, ...]
    first: int = 1
    last: int = 0
    odd_only: bool = False
    accepted: tuple[bool, ...] | None = None

    @property
    def top(self) -> int:
        """The greatest code."""
        return 2 * len(self.literals)

    @property
    def greatest_number(self) -> int:
        """The greatest code of a value that is not NaN."""
        has_nan = self.domain == "float64" and self.literals and self.literals[-1] != self.literals[-1]
        return self.top - 2 if has_nan else self.top

    @property
    def nan(self) -> int:
        """The code of NaN."""
        return min(self.top, self.greatest_number + 1)

    @property
    def is_never(self) -> bool:
        """Whether no code matches."""
        return not self.odd_only and self.accepted is None and self.first > self.last

    @property
    def is_always(self) -> bool:
        """Whether every code matches."""
        return not self.odd_only and self.accepted is None and self.first == 0 and self.last == self.top

    def matches(self, code: int) -> bool:
        """Whether values of this code match."""
        if self.accepted is not None:
            return self.accepted[code]
        return code % 2 == 1 if self.odd_only else self.first <= code <= self.last

    def counts_below(self) -> np.ndarray:
        """int32[top + 2]: how many of the codes below each code match. For :attr:`accepted` codes only."""
        assert self.accepted is not None
        return np.concatenate([[0], np.cumsum(self.accepted)]).astype(np.int32)


def domain_of(kind: Type) -> str | None:
    """The order of the values of ``kind``: int64, float64, decimal or bytes. None: no order that pruning uses."""
    if isinstance(kind, DecimalType):
        return "decimal"
    if isinstance(kind, FixedType):
        return "bytes"
    if not isinstance(kind, PrimitiveType):
        return None
    if kind.name in _STORED_AS_INT64:
        return "int64"
    if kind.name in ("float", "double"):
        return "float64"
    return "bytes" if kind.name in ("string", "binary", "uuid") else None


def codes_matching_comparison(op: str, literal: Literal, kind: Type) -> MatchingCodes | None:
    """The codes for ``column op literal``; ``op`` is one of = < <= > >=. None: the column's type has no order here."""
    domain = domain_of(kind)
    if domain is None:
        return None
    first, last = {"<": (0, 0), "<=": (0, 1), "=": (1, 1), ">": (2, 2), ">=": (1, 2)}[op]
    return MatchingCodes(domain, (to_domain(literal.value, kind, domain),), first, last)


def codes_matching_in(literals: Iterable[Literal], kind: Type) -> MatchingCodes | None:
    """The codes for ``column IN (literals)``. None: the column's type has no order here."""
    domain = domain_of(kind)
    if domain is None:
        return None
    distinct = {to_domain(literal.value, kind, domain) for literal in literals}
    return MatchingCodes(domain, ascending(distinct), odd_only=True)


def codes_matching_nan() -> MatchingCodes:
    """The codes for ``isnan(column)``."""
    return MatchingCodes("float64", (math.nan,), 1, 1)


def codes_matching_prefix(prefix: str | bytes) -> MatchingCodes:
    """The codes for values that start with ``prefix`` (strings as UTF-8)."""
    start = prefix.encode("utf-8", "surrogatepass") if isinstance(prefix, str) else prefix
    cut = start.rstrip(b"\xff")
    if not cut:
        # No value is greater than every extension of the prefix: everything from the prefix on matches.
        return MatchingCodes("bytes", (start,), 1, 2)
    return MatchingCodes("bytes", (start, cut[:-1] + bytes([cut[-1] + 1])), 1, 2)


def to_domain(value: Any, kind: Type, domain: str) -> Any:
    """A value of type ``kind`` in the form of :attr:`MatchingCodes.literals`."""
    if domain == "bytes":
        return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else bytes(value)
    if isinstance(kind, DecimalType):
        return kind.unscaled(value)
    return float(value) if domain == "float64" else int(value)


def ascending(values: set[Any]) -> tuple[Any, ...]:
    """The values of a domain in its order, with at most one NaN, which is last."""
    nan = (math.nan,) if any(v != v for v in values) else ()
    return (*sorted(v for v in values if v == v), *nan)


def locate(values: pa.Array, matching: MatchingCodes, unknown: int) -> np.ndarray:
    """The codes of a column of values.

    Parameters
    ----------
    values : pyarrow.Array
        [n], in the column's Arrow type (:func:`tableformats.schema.arrow_type`).
    unknown : int
        The code of nulls.

    Returns
    -------
    int32[n]
    """
    if values.null_count == len(values):
        return np.full(len(values), unknown, np.int32)
    out = np.empty(len(values), np.int32)
    literals = matching.literals
    if matching.domain == "int64":
        kernels.locate_int64(_integers(values), np.array(literals, np.int64), out)
    elif matching.domain == "float64":
        kernels.locate_float64(to_numpy(values).astype(np.float64, copy=False), np.array(literals, np.float64), out)
    elif matching.domain == "decimal":
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
    """Arrow's validity bitmap (uint8[any]; None: no nulls), and the number of the first value's bit."""
    bitmap = values.buffers()[0] if values.null_count else None
    return None if bitmap is None else np.frombuffer(bitmap, np.uint8), values.offset


def _integers(values: pa.Array) -> np.ndarray:
    """int64[n]: the integers that stand for numbers, booleans, dates and times."""
    return to_numpy(values).astype(np.int64, copy=False)


def _decimals(values: pa.Array) -> np.ndarray:
    """uint8[16 n]: unscaled decimals, little-endian."""
    start = values.offset * 16
    return np.frombuffer(values.buffers()[1], np.uint8)[start : start + len(values) * 16]


def _bytes(values: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    # Strings and binary values have the same buffers.
    return text_buffers(values if pa.types.is_string(values.type) else pc.cast(values, pa.binary()))
