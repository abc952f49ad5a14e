"""The values that a function computes with: an Arrow array of one type, and the rows for which there is an error.

An error is no exception yet: ``CASE WHEN b = 0 THEN 0 ELSE a / b END`` divides by zero only where nobody asks for the
quotient. So each array carries its failures, whoever guards a branch clears them, and what is left when the condition
is complete is raised.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from ...columnar import compute as pc
from ...columnar.arrays import array_of, repeated, to_arrow, to_numpy
from ...dataclass import dataclass
from ...errors import InvalidPredicateError, UnsupportedFeatureError
from ...schema import DecimalType, PrimitiveType, Type, arrow_type
from ..error_places import placed
from .intervals import IntervalType

__all__ = [
    "Failure",
    "RowError",
    "Vector",
    "each",
    "flags",
    "numbers",
    "python_values",
    "raise_failures",
    "stored_type",
    "vector_of",
    "with_nulls",
]


class RowError(Exception):
    """A value that cannot be computed for one row, as Spark's ANSI mode has it."""


@dataclass(frozen=True)
class Failure:
    """The rows for which an expression has an error.

    Attributes
    ----------
    where : str
        The expression.
    reason : str
    rows : numpy.ndarray
        bool[n].
    place : (str, int), optional
        As that of :class:`tableformats.expressions.tree.Function`.
    """

    where: str
    reason: str
    rows: np.ndarray
    place: tuple[str, int] | None = None


@dataclass(frozen=True)
class Vector:
    """Values of one type for n rows; a constant has one value for all of them.

    Attributes
    ----------
    kind : Type
    values : pa.Array
        Of :func:`stored_type`; [n], of a constant [1].
    is_constant : bool
    failures : tuple of Failure
        Where ``values`` means nothing, and is NULL. Of rows as many as ``values`` has.
    """

    kind: Type
    values: pa.Array
    is_constant: bool = False
    failures: tuple[Failure, ...] = ()

    def spread(self, n: int) -> Vector:
        """The same for ``n`` rows, as no constant."""
        if not self.is_constant:
            return self
        failures = tuple(replace(f, rows=np.repeat(f.rows, n)) for f in self.failures)
        return Vector(self.kind, repeated(self.values[0], n), failures=failures)

    def guarded(self, asked: np.ndarray) -> Vector:
        """The same without the failures of the rows that are not ``asked`` (bool[n]) for."""
        kept = ((f, f.rows & asked) for f in self.failures)
        return replace(self, failures=tuple(replace(f, rows=rows) for f, rows in kept if rows.any()))


def stored_type(kind: Type) -> pa.DataType:
    """The Arrow type of a :class:`Vector`'s values."""
    return pa.int64() if isinstance(kind, IntervalType) else arrow_type(kind)


def vector_of(value: Any, kind: Type) -> Vector:
    """A constant: a canonical value of type ``kind``, or None."""
    return Vector(kind, from_python([value], kind), is_constant=True)


def raise_failures(vector: Vector) -> None:
    """Raise an InvalidPredicateError for the first failure, if there is one."""
    for failure in vector.failures:
        if failure.rows.any():
            error = InvalidPredicateError(
                f"{failure.where} cannot be computed for row {int(failure.rows.argmax())} of those that were read: "
                f"{failure.reason}",
                field=failure.where,
                hint="Leave such rows out first, as in CASE WHEN b <> 0 THEN a / b END, or use ansi=False or TRY_CAST.",
            )
            raise placed(error, failure.place)


def flags(values: pa.Array, null: bool = False) -> np.ndarray:
    """Booleans as bool[n], with ``null`` for NULL."""
    return to_numpy(pc.fill_null(values, null))


def numbers(values: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """(the values, whether each is valid), both [n]. What is not valid is 0. Not for decimals."""
    valid = to_numpy(pc.is_valid(values))
    found = to_numpy(values)
    if not valid.all():
        found = np.where(valid, found, found.dtype.type(0))
    return found, valid


def with_nulls(values: np.ndarray, valid: np.ndarray, kind: Type) -> pa.Array:
    """The array of ``values`` [n] that is NULL where not ``valid``, in the type that stores ``kind``."""
    wanted = stored_type(kind)
    if pa.types.is_boolean(wanted):
        return to_arrow(np.ascontiguousarray(values, bool), None, valid)
    dtype = np.dtype(wanted.to_pandas_dtype()) if pa.types.is_integer(wanted) or pa.types.is_floating(wanted) else None
    if dtype is None:
        dtype = np.dtype(np.int32 if wanted == pa.date32() else np.int64)
    return to_arrow(np.ascontiguousarray(values, dtype), wanted, valid)


def python_values(values: pa.Array, kind: Type) -> list[Any]:
    """Canonical values (see :class:`~tableformats.expressions.tree.Literal`); None for NULL.

    Raises
    ------
    UnsupportedFeatureError
        A text is not UTF-8.
    """
    stored = values.type
    if pa.types.is_date32(stored):
        values = values.view(pa.int32())
    elif pa.types.is_timestamp(stored) or pa.types.is_time64(stored):
        values = values.view(pa.int64())
    try:
        found: list[Any] = values.to_pylist()
    except UnicodeDecodeError:
        raise UnsupportedFeatureError(
            "a text is not UTF-8, and Arrow has no characters of it",
            field=str(kind),
            hint="Read with to_spark, which computes with such texts.",
        ) from None
    return found


def from_python(values: Sequence[Any], kind: Type) -> pa.Array:
    """The array of canonical values. Inverse of :func:`python_values`."""
    wanted = stored_type(kind)
    if isinstance(kind, DecimalType):
        return pa.array(values, wanted)
    if kind.is_nested:
        return pa.array(values, wanted)
    if isinstance(kind, PrimitiveType) and kind.name == "unknown":
        return pa.nulls(len(values), wanted)
    return array_of(values, wanted)


def each(
    function: Callable[..., Any], arguments: Sequence[Vector], kind: Type, n: int, takes_null: bool = False
) -> tuple[pa.Array, dict[str, np.ndarray]]:
    """``function`` of each row, called once for all rows with the same arguments.

    Parameters
    ----------
    function : callable
        Takes and gives canonical values; gives None for NULL. Raises :class:`RowError` for an error.
    arguments : sequence of Vector
        At least one.
    takes_null : bool
        Whether it is called with None. If not, a NULL gives NULL.

    Returns
    -------
    values : pa.Array
        [n]
    failed : dict of str and numpy.ndarray
        The rows bool[n] of each error's text.
    """
    varying = [a for a in arguments if not a.is_constant]
    if len(varying) == 1 and not takes_null:
        encoded = pc.dictionary_encode(varying[0].values)
        distinct = Vector(varying[0].kind, encoded.dictionary)
        listed = [distinct if a is varying[0] else a for a in arguments]
        known, failed = _each(function, listed, kind, len(encoded.dictionary), takes_null)
        spots, valid = numbers(encoded.indices)
        return pc.take(known, encoded.indices), {why: rows[spots] & valid for why, rows in failed.items()}
    return _each(function, arguments, kind, n, takes_null)


def _each(
    function: Callable[..., Any], arguments: Sequence[Vector], kind: Type, n: int, takes_null: bool
) -> tuple[pa.Array, dict[str, np.ndarray]]:
    columns = [python_values(a.values, a.kind) * (n if a.is_constant else 1) for a in arguments]
    memoizes = not any(a.kind.is_nested for a in arguments)
    known: dict[Any, Any] = {}
    failed: dict[str, np.ndarray] = {}
    results: list[Any] = []
    for i, row in enumerate(zip(*columns, strict=True)):
        if None in row and not takes_null:
            results.append(None)
            continue
        key = tuple((value, str(value)) if isinstance(value, float) else value for value in row) if memoizes else i
        try:
            if key not in known:
                known[key] = function(*row)
            results.append(known[key])
        except RowError as error:
            results.append(None)
            failed.setdefault(str(error), np.zeros(n, bool))[i] = True
    return from_python(results, kind), failed
