"""The readable twins of the compiled kernels: same names, same signatures, plain loops. The specification.

NumPy arrays come in and go out; in between there are Python numbers, bytes and sets only, so that what a kernel
promises can be read here. Tests run every case over both twins; nothing else calls this module.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from .masks import AND_TABLE, MAY_ANY, MAY_FALSE, MAY_NULL, MAY_TRUE, NOT_TABLE, OR_TABLE, VERDICT_TABLE

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
UInt8 = npt.NDArray[np.uint8]

# --- pruning: codes ---------------------------------------------------------------------------------------------


def _expect(n: int, needed: int, name: str) -> None:
    if n != needed:
        raise ValueError(f"{name} has {n} entries where {needed} are needed")


def _locate(values: list[Any], literals: list[Any], out: Int32) -> None:
    """``code(v) = 2 * #(literals < v) + (v in literals)``, by Python's own order."""
    _expect(len(out), len(values), "out")
    if any(not a < b for a, b in zip(literals, literals[1:], strict=False)):
        raise ValueError("the literals are not strictly ascending")
    for i, v in enumerate(values):
        out[i] = 2 * sum(literal < v for literal in literals) + (v in literals)


def locate_int64(values: Int64, literals: Int64, out: Int32) -> None:
    _locate(values.tolist(), literals.tolist(), out)


def locate_float64(values: npt.NDArray[np.float64], literals: npt.NDArray[np.float64], out: Int32) -> None:
    def ordered(v: float) -> tuple[bool, float]:
        """NaN after all numbers, and equal to itself; -0.0 == 0.0 as Python has it."""
        return (True, 0.0) if v != v else (False, v)

    _locate([ordered(v) for v in values.tolist()], [ordered(v) for v in literals.tolist()], out)


def locate_decimal128(values: UInt8, literals: UInt8, out: Int32) -> None:
    def unscaled(data: UInt8, name: str) -> list[int]:
        _expect(len(data) % 16, 0, f"the last, partial decimal of {name}")
        raw = data.tobytes()
        return [int.from_bytes(raw[i : i + 16], "little", signed=True) for i in range(0, len(raw), 16)]

    _locate(unscaled(values, "values"), unscaled(literals, "literals"), out)


def locate_bytes(
    offsets: Int32 | Int64, data: UInt8, literal_offsets: Int32, literal_data: UInt8, out: Int32
) -> None:
    values = _entries(offsets, data, "offsets")
    _locate(values, _entries(literal_offsets, literal_data, "literal_offsets"), out)


def _entries(offsets: Int32 | Int64, data: UInt8, name: str) -> list[bytes]:
    """The entries of an Arrow binary array."""
    raw, bounds = data.tobytes(), offsets.tolist()
    for i, (previous, offset) in enumerate(zip([0, *bounds], bounds, strict=False)):
        if offset < previous or offset > len(raw):
            raise ValueError(
                f"{name}[{i}] is {offset}: it descends, or is not within the {len(raw)} bytes of data"
            )
    return [raw[a:b] for a, b in zip(bounds, bounds[1:], strict=False)]


# --- pruning: outcomes ------------------------------------------------------------------------------------------


def leaf_mask(
    lower_code: Int32,
    upper_code: Int32,
    top: int,
    may_value: UInt8,
    may_null: UInt8,
    first: int,
    last: int,
    odd_only: bool,
    negate: bool,
    out: UInt8,
) -> None:
    accepted = set(range(1, top, 2)) if odd_only else set(range(first, last + 1))
    for name, array in (
        ("lower_code", lower_code), ("upper_code", upper_code), ("may_value", may_value), ("may_null", may_null)
    ):  # fmt: skip
        _expect(len(array), len(out), name)
    for i in range(len(out)):
        low, high = int(lower_code[i]), int(upper_code[i])
        if low > high:
            low, high = 0, top
        mask = 0
        for code in range(low, high + 1) if may_value[i] else ():
            mask |= MAY_TRUE if (code in accepted) != negate else MAY_FALSE
        out[i] = mask | (MAY_NULL if may_null[i] else 0)


def and_masks(a: UInt8, b: UInt8, out: UInt8) -> None:
    _combine(lambda x, y: AND_TABLE[8 * x + y], a, b, out)


def or_masks(a: UInt8, b: UInt8, out: UInt8) -> None:
    _combine(lambda x, y: OR_TABLE[8 * x + y], a, b, out)


def intersect_masks(a: UInt8, b: UInt8, out: UInt8) -> None:
    _combine(lambda x, y: x & y, a, b, out)


def not_mask(mask: UInt8, out: UInt8) -> None:
    _combine(lambda x, _: NOT_TABLE[x], mask, mask, out)


def verdicts(mask: UInt8, out: UInt8) -> None:
    _combine(lambda x, _: VERDICT_TABLE[x], mask, mask, out)


def _combine(operator: Callable[[int, int], int], a: UInt8, b: UInt8, out: UInt8) -> None:
    _expect(len(a), len(out), "a")
    _expect(len(b), len(out), "b")
    for i in range(len(out)):
        out[i] = operator(int(a[i]) & MAY_ANY, int(b[i]) & MAY_ANY)
