"""Arrow's functions, as ``pyarrow.compute`` has them, of which each is made when it is first called.

``import pyarrow.compute`` makes a Python function of each of Arrow's three hundred, with a signature and a page of
documentation: a twelfth of the time of a process that plans one small table, which calls thirty of them. Planning takes
them from here; arguments, options and results are those of ``pyarrow.compute``. Methods of arrays that are functions of
Arrow's in truth (``array.filter``, ``take``, ``cast``, ``fill_null``, ``is_null``) import that module, and so planning
calls the functions. Expressions stay there.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import pyarrow as pa

try:
    from pyarrow import _compute as arrow
except ImportError:  # where it keeps them is pyarrow's own affair
    import pyarrow.compute as arrow

__all__ = ["cast", "fill_null", "take"]


def cast(values: Any, target_type: pa.DataType, safe: bool = True) -> Any:
    """``values`` as ``target_type``. Raises pa.ArrowInvalid where one of them does not fit, if ``safe``."""
    kind = arrow.CastOptions
    return arrow.call_function("cast", [values], kind.safe(target_type) if safe else kind.unsafe(target_type))


def fill_null(values: Any, fill_value: Any) -> Any:
    """``values`` with ``fill_value`` (of their type, or what becomes a scalar of it) in the places of nulls."""
    if not isinstance(fill_value, (pa.Array, pa.ChunkedArray, pa.Scalar)):
        fill_value = pa.scalar(fill_value, values.type)
    elif fill_value.type != values.type:
        fill_value = pa.scalar(fill_value.as_py(), values.type)
    return arrow.call_function("coalesce", [values, fill_value])


def take(values: Any, indices: pa.Array, *, boundscheck: bool = True) -> Any:
    """The values at ``indices``, of an array, a batch or a table. Raises pa.ArrowIndexError for one out of range."""
    return arrow.call_function("take", [values, indices], arrow.TakeOptions(boundscheck=boundscheck))


def __getattr__(name: str) -> Callable[..., Any]:
    if name.startswith("__"):
        raise AttributeError(name)
    try:
        function = arrow.function_registry().get_function(name.removesuffix("_"))
        made = _called(function, function.arity, getattr(arrow, function._doc.options_class or "", None))
    except (AttributeError, KeyError):
        made = getattr(import_module("pyarrow.compute"), name)
    globals()[name] = made
    return made


def _called(function: Any, arity: Any, options_class: Any) -> Callable[..., Any]:
    """``function`` of Arrow's registry, called with its arguments and, behind them or by name, with its options."""

    def call(*arguments: Any, **options: Any) -> Any:
        more = () if arity is Ellipsis else arguments[arity:]
        if not (more or options):
            return function.call(arguments)
        return function.call(arguments[: len(arguments) - len(more)], options_class(*more, **options))

    return call
