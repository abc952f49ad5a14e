"""Casts of columns. What Arrow casts exactly as Spark is cast by Arrow; else each distinct value is cast by itself."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...errors import InvalidPredicateError
from ...schema import INTEGER_RANGES, DecimalType, Type, is_floating, is_integer
from ...schema.datetimes import DAY_US
from .. import casts
from ..tree import Function, Literal
from .coercion import (
    BINARY,
    BOOLEAN,
    DATE,
    NTZ,
    STRING,
    TIMESTAMP,
    has_cast,
    is_instant,
    is_void,
    name_of,
    refuse_unusual,
    type_of,
)
from .definitions import Computed, Definition
from .intervals import IntervalType
from .vectors import RowError, Vector, each, numbers, stored_type, with_nulls

__all__ = ["FUNCTIONS"]


def _bind_cast(node: Function) -> Function:
    target = node.type
    assert target is not None, "a cast has its target as type"
    source = type_of(node.arguments[0])
    if source != target and not is_void(source):
        refuse_unusual(source)
        refuse_unusual(target)
        if not has_cast(source, target):
            raise InvalidPredicateError(
                f"{node}: a {source} has no cast to {target}",
                field=str(node),
                hint="Use the functions unix_date, unix_seconds or date_from_unix_date for dates and timestamps."
                if is_instant(source) or is_instant(target)
                else None,
            )
    return node


def _cast(node: Function, arguments: Sequence[Vector], n: int) -> Computed:
    (argument,) = arguments
    source, target = argument.kind, node.type
    assert target is not None
    if source == target:
        return argument.values, {}
    if is_void(source):
        return pa.nulls(len(argument.values), stored_type(target)), {}
    fast = _by_arrow(argument, target)
    if fast is not None:
        return fast, {}
    if is_integer(target) and is_integer(source):
        return _narrowed(argument, target, node)
    return each(_scalar(source, target, node.ansi, node.name == "try_cast"), arguments, target, n)


def _by_arrow(argument: Vector, target: Type) -> pa.Array | None:
    """The values as ``target``, where Arrow's cast has no choice; else None."""
    source, values, wanted = argument.kind, argument.values, stored_type(target)
    if isinstance(source, IntervalType):
        return pc.multiply(values, DAY_US)
    if is_integer(source):
        if target in (STRING, BOOLEAN) or is_floating(target):
            return values.cast(wanted, safe=False)
        if is_integer(target) and INTEGER_RANGES[name_of(target)][1] >= INTEGER_RANGES[name_of(source)][1]:
            return values.cast(wanted)
        if isinstance(target, DecimalType) and target.precision - target.scale >= 19:
            return values.cast(wanted)
    if source == BOOLEAN and (is_integer(target) or is_floating(target)):
        return values.cast(pa.int8()).cast(wanted)
    if source == BOOLEAN and target == STRING:
        return values.cast(wanted)
    if name_of(source) == "float" and name_of(target) == "double":
        return values.cast(wanted)
    if source == STRING and target == BINARY:
        return values.cast(pa.binary())
    if source == BINARY and target == STRING:
        return values.view(pa.string())
    if source in (TIMESTAMP, NTZ) and target in (TIMESTAMP, NTZ):
        return values.view(wanted)
    if source in (TIMESTAMP, NTZ) and target == DATE:
        micros, valid = numbers(values)
        return with_nulls((micros // DAY_US).astype(np.int32), valid, DATE)
    if isinstance(source, DecimalType) and isinstance(target, DecimalType):
        fits = target.precision - target.scale >= source.precision - source.scale and target.scale >= source.scale
        return values.cast(wanted) if fits else None
    if isinstance(source, DecimalType) and is_floating(target) and name_of(target) == "double":
        return pc.cast(values.cast(pa.string()), pa.float64())
    return None


def _narrowed(argument: Vector, target: Type, node: Function) -> Computed:
    """Integers as a narrower type: out of range is an error, NULL of TRY_CAST, or high bits that are lost."""
    values, valid = numbers(argument.values)
    least, greatest = INTEGER_RANGES[name_of(target)]
    outside = ((values < least) | (values > greatest)) & valid
    narrow = values.astype(stored_type(target).to_pandas_dtype())
    if node.name == "try_cast":
        return with_nulls(narrow, valid & ~outside, target), {}
    if not node.ansi or not outside.any():
        return with_nulls(narrow, valid, target), {}
    return with_nulls(narrow, valid & ~outside, target), {f"a value is out of the range of {target}": outside}


def _scalar(source: Type, target: Type, ansi: bool, tries: bool) -> Callable[[Any], Any]:
    if str(source) == "uuid":
        return lambda value: _cast_value(str(uuid.UUID(bytes=value)), STRING, target, ansi, tries)
    return lambda value: _cast_value(value, source, target, ansi, tries)


def _cast_value(value: Any, source: Type, target: Type, ansi: bool, tries: bool) -> Any:
    if source == target:
        return value
    try:
        found = casts.cast(Literal(value, source), target, ansi or tries)
    except InvalidPredicateError as error:
        if tries:
            return None
        raise RowError(str(error).split("\n")[0]) from None
    if found.type is not None and str(found.type).endswith("_ns") and found.value is not None:
        return found.value // 1000  # Spark drops the digits behind microseconds
    return found.value


FUNCTIONS: dict[str, Definition] = {"cast": Definition(_bind_cast, _cast), "try_cast": Definition(_bind_cast, _cast)}
