"""The functions of ``pyarrow.compute``, each of them made when it is first called.

``import pyarrow.compute`` makes a documented Python function of each of Arrow's 300 functions. That is a twelfth of the
time of a process that plans one small table and calls thirty of them. Arguments, options and results here are those of
``pyarrow.compute``. Some methods of arrays (``array.filter``, ``take``, ``cast``, ``fill_null``, ``is_null``) import
that module too, so planning calls these functions instead. Arrow's expressions are not offered here.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import pyarrow as pa

try:
    from pyarrow import _compute as arrow
except ImportError:  # the module is private to pyarrow and may move
    import pyarrow.compute as arrow

__all__ = ["cast", "fill_null", "take"]


def cast(values: Any, target_type: pa.DataType, safe: bool = True) -> Any:
    """``values`` as ``target_type``. If ``safe``, raises pa.ArrowInvalid where a value does not fit."""
    if values.type == target_type:
        return values
    kind = arrow.CastOptions
    return arrow.call_function("cast", [values], kind.safe(target_type) if safe else kind.unsafe(target_type))


def fill_null(values: Any, fill_value: Any) -> Any:
    """``values`` with nulls replaced by ``fill_value``, which is of their type or can be converted to it."""
    if not isinstance(fill_value, (pa.Array, pa.ChunkedArray, pa.Scalar)):
        fill_value = pa.scalar(fill_value, values.type)
    elif fill_value.type != values.type:
        fill_value = pa.scalar(fill_value.as_py(), values.type)
    return arrow.call_function("coalesce", [values, fill_value])


def take(values: Any, indices: pa.Array, *, boundscheck: bool = True) -> Any:
    """The rows ``indices`` of an array, a batch or a table. Raises pa.ArrowIndexError for an index out of range."""
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
    """A Python function for a function of Arrow's registry: its arguments, then options by position or by name."""

    def call(*arguments: Any, **options: Any) -> Any:
        more = () if arity is Ellipsis else arguments[arity:]
        if not (more or options):
            return function.call(arguments)
        return function.call(arguments[: len(arguments) - len(more)], options_class(*more, **options))

    return call
