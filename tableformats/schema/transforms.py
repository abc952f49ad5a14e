"""Partition transforms: identity, bucket, truncate, year, month, day, hour, void. Any other name is unknown.

:meth:`Transform.preimage` turns a transform back: for a partition value it gives the range of the source values that
have it. So partition values become bounds of the source column, and one pruning pass serves files, manifests and every
transform. ``bucket`` cannot be turned back; :meth:`Transform.bucket` applies it to literals instead.

Source: Iceberg spec, "Partition Transforms" and appendix B, "32-bit Hash Requirements".
"""

from __future__ import annotations

import decimal
import struct
from typing import TYPE_CHECKING, Any

from ..dataclass import dataclass
from ..lazy_pattern import lazy_pattern
from .arrow_types import arrow_type
from .datetimes import DAY_US
from .types import EXACT, DecimalType, Type, primitive

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

__all__ = ["Transform", "hash_bytes", "parse_transform"]

_PARAMETER = lazy_pattern(r"^(bucket|truncate)\[(\d{1,10})\]$")
_WITHOUT_PARAMETER = ("identity", "year", "month", "day", "hour", "void")
_MICROS = {"day": DAY_US, "hour": DAY_US // 24}


@dataclass(frozen=True)
class Transform:
    """A partition transform.

    Attributes
    ----------
    name : str
        identity, bucket, truncate, year, month, day, hour, void or unknown.
    width : int
        The number of buckets, or the width of truncate.
    text : str
        The spelling in the metadata.
    """

    name: str
    width: int = 0
    text: str = ""

    def __str__(self) -> str:
        return self.text or self.name

    def result_type(self, source: Type) -> Type:
        """The type of the partition values.

        ``day`` gives dates, as Iceberg's reference implementation does. Writers store int or date.
        """
        if self.name in ("identity", "truncate", "void", "unknown"):
            return source
        return primitive("date" if self.name == "day" else "int")

    @property
    def is_order_preserving(self) -> bool:
        """Whether a greater source value never has a smaller partition value."""
        return self.name in ("identity", "truncate", "year", "month", "day", "hour")

    def preimage(self, values: pa.Array, source: Type) -> tuple[pa.Array, pa.Array]:
        """The least and the greatest source value that the transform maps to each partition value.

        Parameters
        ----------
        values : pyarrow.Array
            [n], partition values of :meth:`result_type`.
        source : Type
            The type that the source column has now.

        Returns
        -------
        lower, upper : pyarrow.Array
            [n] each, in the Arrow type of ``source``, inclusive. Null means unknown; NULL partition values are unknown.

        Notes
        -----
        Writers before Iceberg 0.11 rounded negative time values towards zero, so a stored unit of 0 or less may mean
        the unit before it. The Java implementation widens the range in the same way. Cost: O(n) in passes over
        columns; only strings of ``truncate`` are handled one by one.
        """
        import pyarrow as pa

        target = arrow_type(source)
        unknown = pa.nulls(len(values), target)
        if self.name == "identity":
            same = values if values.type == target else _cast_or_null(values, target)
            return same, same
        if self.name == "truncate":
            return self._preimage_truncate(values, source, target)
        if self.name in ("year", "month", "day", "hour"):
            lower, upper = self._preimage_time(values, str(source))
            return _cast_or_null(lower, target), _cast_or_null(upper, target)
        return unknown, unknown

    def may_have_overflowed(self, values: pa.Array) -> pa.Array | None:
        """Where a partition value may come from an integer that overflowed when it was truncated.

        Writers truncate integers without a check for overflow. An integer near the type's least value then wraps
        around to the type's upper end. Such a partition value is mostly no multiple of the width, and always one of
        the type's greatest numbers.

        Parameters
        ----------
        values : pyarrow.Array
            [n], upper bounds of partition values.

        Returns
        -------
        pyarrow.Array, or None
            bool[n]: whether a value up to this one may have overflowed. None: nowhere.
        """
        import pyarrow as pa

        from ..columnar import compute as pc
        from ..columnar.arrays import FALSE, scalar

        if self.name != "truncate" or not pa.types.is_integer(values.type):
            return None
        limit = 1 << (values.type.bit_width - 1)
        if self.width >= limit:
            return pc.is_valid(values)
        width, greatest = (scalar(number, values.type) for number in (self.width, limit - 1 - self.width))
        rest = pc.subtract(values, pc.multiply(pc.divide(values, width), width))
        found = pc.fill_null(pc.or_(pc.not_equal(rest, scalar(0, rest.type)), pc.greater(values, greatest)), FALSE)
        return found if pc.any(found).as_py() else None

    def _preimage_truncate(self, values: pa.Array, source: Type, target: pa.DataType) -> tuple[pa.Array, pa.Array]:
        import pyarrow as pa

        from ..columnar import compute as pc
        from ..columnar.arrays import scalar

        values = values if values.type == target else _cast_or_null(values, target)
        name = str(source)
        if name in ("string", "binary"):
            return values, _prefix_upper(values, self.width, target)
        if isinstance(source, DecimalType):
            step = decimal.Decimal(self.width - 1).scaleb(-source.scale, EXACT)
            wide = pc.cast(values, pa.decimal256(min(source.precision + 12, 76), source.scale))
            upper = pc.add(wide, scalar(step, pa.decimal256(12, source.scale)))
            limit = scalar(source.greatest, upper.type)
            return values, pc.cast(pc.if_else(pc.greater(upper, limit), limit, upper), target)
        if name not in ("tinyint", "smallint", "int", "bigint"):
            return pa.nulls(len(values), target), pa.nulls(len(values), target)
        as_long = pc.cast(values, pa.int64())
        step, limit = scalar(self.width - 1, pa.int64()), (1 << (target.bit_width - 1)) - 1
        full = pc.greater(as_long, scalar(limit - (self.width - 1), pa.int64()))
        upper = pc.if_else(full, scalar(limit, pa.int64()), pc.add(as_long, step))
        # Other values than multiples of the width have overflowed (see may_have_overflowed) and prove nothing.
        width = scalar(self.width, pa.int64())
        is_multiple = pc.equal(pc.multiply_checked(pc.divide(as_long, width), width), as_long)
        lower, upper = (pc.if_else(is_multiple, side, scalar(None, pa.int64())) for side in (as_long, upper))
        return pc.cast(lower, target), pc.cast(upper, target)

    def _preimage_time(self, values: pa.Array, source: str) -> tuple[pa.Array, pa.Array]:
        """Bounds as int64: days for dates, microseconds or nanoseconds for timestamps."""
        import numpy as np

        from ..columnar.arrays import to_arrow

        units, valid = _as_int64(values)
        # An old writer stored unit -1 as 0 and unit -2 as -1: see Notes of preimage.
        first_us = self._unit_start(np.where(units <= 0, units - 1, units))
        end_us, fits = self._unit_start(units + 1), _fits(units, self.name)
        valid = valid & fits
        if source == "date":
            first, end = np.floor_divide(first_us, _MICROS["day"]), np.floor_divide(end_us, _MICROS["day"])
        elif source.endswith("_ns"):
            limit = np.iinfo(np.int64).max // 1000
            valid = valid & (first_us > -limit) & (end_us < limit)
            first, end = np.where(valid, first_us, 0) * 1000, np.where(valid, end_us, 0) * 1000
        else:
            first, end = first_us, end_us
        return to_arrow(first, valid=valid), to_arrow(end - 1, valid=valid)

    def _unit_start(self, units: np.ndarray) -> np.ndarray:
        """Microseconds since the epoch at which each year, month, day or hour begins."""
        import numpy as np

        safe = np.where(_fits(units, self.name), units, 0)
        if self.name in ("year", "month"):
            code = "Y" if self.name == "year" else "M"
            starts = safe.astype(f"datetime64[{code}]").astype("datetime64[us]")
            return np.asarray(starts.astype(np.int64))
        return np.asarray(safe * _MICROS[self.name])

    def bucket(self, value: Any, source: Type) -> int:
        """The bucket of a canonical value (see :class:`tableformats.expressions.tree.Literal`) of type ``source``.

        Raises ValueError where the transform is no bucket, or the type cannot be hashed.
        """
        if self.name != "bucket" or self.width <= 0:
            raise ValueError(f"{self} is no bucket transform")
        return (hash_bytes(_hash_input(value, source)) & 0x7FFFFFFF) % self.width


def parse_transform(text: str) -> Transform:
    """The transform that a partition spec names. One that is not known, or has a bad width, becomes ``unknown``."""
    match = _PARAMETER.match(text)
    if match and 0 < int(match.group(2)) < 2**31:
        return Transform(match.group(1), int(match.group(2)), text)
    return Transform(text if text in _WITHOUT_PARAMETER else "unknown", 0, text)


def _fits(units: np.ndarray, name: str) -> np.ndarray:
    """bool[n]: whether the unit's first and last instant fit into int64 microseconds. Other values prove nothing."""
    import numpy as np

    limit = {"year": 290_000, "month": 290_000 * 12, "day": 106_000_000, "hour": 2_540_000_000}[name]
    return np.asarray((units > -limit) & (units < limit))


def _as_int64(values: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Partition values as int64[n], and bool[n]: where there is one."""
    import numpy as np
    import pyarrow as pa

    from ..columnar import compute as pc
    from ..columnar.arrays import to_numpy

    if not (pa.types.is_date32(values.type) or pa.types.is_integer(values.type)) or values.null_count == len(values):
        return np.zeros(len(values), np.int64), np.zeros(len(values), bool)
    numbers = to_numpy(values).astype(np.int64, copy=False)
    if not values.null_count:
        return numbers, np.ones(len(values), bool)
    valid = to_numpy(pc.is_valid(values))
    return np.where(valid, numbers, 0), valid


def _cast_or_null(values: pa.Array, target: pa.DataType) -> pa.Array:
    """``values`` as ``target``, or nulls (unknown) if any value does not fit."""
    import pyarrow as pa

    from ..columnar import compute as pc

    try:
        if pa.types.is_timestamp(target) or pa.types.is_date32(target):
            if pa.types.is_integer(values.type):
                narrow = pa.int32() if pa.types.is_date32(target) else pa.int64()
                return pc.cast(pc.cast(values, narrow), target)
        return pc.cast(values, target)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return pa.nulls(len(values), target)


def _prefix_upper(values: pa.Array, width: int, target: pa.DataType) -> pa.Array:
    """An upper bound of the values that truncate to each prefix: [n], null = unknown.

    A value that is shorter than the width was not truncated and is its own bound. Otherwise the bound is the prefix's
    successor, which is greater than every extension of the prefix. For binary the last byte is raised; for strings the
    last code point is raised, so that the bound is valid UTF-8.
    """
    from ..columnar.arrays import array_of

    out: list[Any] = []
    for value in values.to_pylist():
        if value is None:
            out.append(None)
        elif len(value) < width:
            out.append(value)
        else:
            out.append(_successor(value))
    return array_of(out, target)


def _successor(prefix: str | bytes) -> str | bytes | None:
    """The least value that is greater than every extension of ``prefix``. None where there is none."""
    if isinstance(prefix, bytes):
        cut = prefix.rstrip(b"\xff")
        return cut[:-1] + bytes([cut[-1] + 1]) if cut else None
    cut_text = prefix.rstrip("\U0010ffff")
    if not cut_text:
        return None
    raised = ord(cut_text[-1]) + 1
    return cut_text[:-1] + chr(0xE000 if 0xD800 <= raised <= 0xDFFF else raised)


def _hash_input(value: Any, source: Type) -> bytes:
    """The bytes of a value that its bucket is the hash of. Source: Iceberg spec, appendix B."""
    name = str(source)
    if isinstance(source, DecimalType):
        unscaled = source.unscaled(decimal.Decimal(value))
        return unscaled.to_bytes((unscaled + (unscaled < 0)).bit_length() // 8 + 1, "big", signed=True)
    if name == "string":
        return str(value).encode()
    if isinstance(value, bytes):
        return value
    if name.endswith("_ns"):
        # Nanoseconds hash as microseconds (appendix B).
        value = value // 1000
    if isinstance(value, (bool, float)) or not isinstance(value, int):
        raise ValueError(f"values of type {source} have no bucket")
    if not -(2**63) <= value < 2**63:
        raise ValueError(f"{value} is no 64-bit integer")
    return struct.pack("<q", value)


def hash_bytes(data: bytes) -> int:
    """murmur3_x86_32 with seed 0, as an unsigned 32-bit integer. Source: Iceberg spec, appendix B."""
    h = 0
    whole = len(data) - len(data) % 4
    for (block,) in struct.iter_unpack("<I", data[:whole]):
        h ^= _scramble(block)
        h = (_rotate(h, 13) * 5 + 0xE6546B64) & 0xFFFFFFFF
    h ^= _scramble(int.from_bytes(data[whole:], "little"))  # nothing changes where nothing is left
    h ^= len(data)
    h = ((h ^ (h >> 16)) * 0x85EBCA6B) & 0xFFFFFFFF
    h = ((h ^ (h >> 13)) * 0xC2B2AE35) & 0xFFFFFFFF
    return h ^ (h >> 16)


def _scramble(block: int) -> int:
    return (_rotate((block * 0xCC9E2D51) & 0xFFFFFFFF, 15) * 0x1B873593) & 0xFFFFFFFF


def _rotate(value: int, by: int) -> int:
    return ((value << by) | (value >> (32 - by))) & 0xFFFFFFFF
