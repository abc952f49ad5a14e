"""Parse filters that are expressions of pyarrow: ``(pc.field("a") > 1) & pc.field("b").is_valid()``.

They keep Arrow's meaning where Spark's differs: NaN is not greater than a number, and IN is never NULL. What cannot be
said so is refused by name. Of an expression pyarrow shows only its serialised form: a record batch of its constants,
whose schema's metadata is the tree, depth first. Sources: Arrow C++, compute/expression.h (Serialize); Arrow C data
interface, ArrowSchema.metadata.
"""

from __future__ import annotations

import ctypes
import math
import struct
from typing import TYPE_CHECKING, Any

from ...errors import InvalidPredicateError, UnsupportedFeatureError
from ..tree import And, Comparison, Constant, Expression, In, IsNull, Literal, Not, Or, Reference, StartsWith

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["parse_pyarrow"]

_COMPARISONS = {
    "equal": "=",
    "not_equal": "!=",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
}
_TURNED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_NAN = Literal(math.nan)
_HINT = "Write the filter in SQL, or as tf.col('a') > 1."
_MATCH, _SKIP = 0, 1
"""How ``is_in`` treats NULL: as a value of the set, or as no member."""


def parse_pyarrow(filter: Any) -> Expression:
    """The unbound predicate.

    Raises
    ------
    InvalidPredicateError
        It is no expression, or no condition.
    UnsupportedFeatureError
        An operation has no exact counterpart; ``field`` names it. Or this pyarrow serialises expressions otherwise.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if not isinstance(filter, pc.Expression):
        raise InvalidPredicateError(f"{filter!r} of type {type(filter).__name__} is no filter", hint=_HINT)
    try:
        batch = pa.ipc.open_file(filter.__reduce__()[1][0]).get_batch(0)
        return _condition(_Tree(batch).read())
    except (pa.ArrowException, StopIteration, IndexError, TypeError, ValueError) as error:
        if isinstance(error, InvalidPredicateError):
            raise
        raise _refused(f"{filter}", str(error)) from error


class _Call:
    """A function with its arguments (calls, references, scalars) and its options."""

    def __init__(self, name: str, arguments: list[Any], options: dict[str, Any]) -> None:
        self.name, self.arguments, self.options = name, arguments, options


class _Tree:
    """Reads the serialised tree once, from its begin to its end."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self._batch = batch
        self._items = iter(_metadata_pairs(batch.schema))

    def read(self) -> Any:
        """A call, a reference or a scalar."""
        return self._node(*next(self._items))

    def _node(self, kind: str, value: str) -> Any:
        if kind == "literal":
            return self._batch.column(int(value))[0]
        if kind == "field_ref":
            return Reference((value,))
        if kind == "nested_field_ref":
            return Reference(tuple(part for _ in range(int(value)) for part in self.read().parts))
        if kind != "call":
            raise ValueError(f"unknown part {kind!r}")
        arguments, options = [], {}
        for kind, below in self._items:
            if kind == "end":
                break
            if kind == "options":
                options = self._batch.column(int(below))[0].as_py()
            else:
                arguments.append(self._node(kind, below))
        return _Call(value, arguments, options)


def _metadata_pairs(schema: pa.Schema) -> list[tuple[str, str]]:
    """The metadata of a schema with keys that stand there several times; pyarrow's own mapping has only one of each."""
    capsule = schema.__arrow_c_schema__()
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    # struct ArrowSchema begins with the pointers format, name and metadata.
    at = (ctypes.c_void_p * 3).from_address(pointer_of(capsule, b"arrow_schema"))[2]
    if at is None:
        return []

    def number() -> int:
        nonlocal at
        (found,) = struct.unpack("=i", ctypes.string_at(at, 4))
        at += 4
        return int(found)

    def text() -> str:
        nonlocal at
        length = number()
        found = ctypes.string_at(at, length).decode()
        at += length
        return found

    return [(text(), text()) for _ in range(number())]


def _condition(node: Any) -> Expression:
    if isinstance(node, Reference):
        return Comparison("=", node, Literal(True))
    if not isinstance(node, _Call):
        value = node.as_py()
        if value is None or isinstance(value, bool):
            return Constant(value)
        raise InvalidPredicateError(f"{value!r} is no condition", hint=_HINT)
    if node.name in ("and_kleene", "or_kleene"):
        return (And if node.name == "and_kleene" else Or)(tuple(map(_condition, node.arguments)))
    if node.name == "invert":
        return Not(_condition(*node.arguments))
    if node.name in _COMPARISONS:
        return _comparison(_COMPARISONS[node.name], *node.arguments)
    return _test(node, _column(node.arguments[0]))


def _test(node: _Call, column: Reference) -> Expression:
    """A condition on one column."""
    options = node.options
    if node.name == "is_valid":
        return Not(IsNull(column))
    if node.name == "is_null":
        is_nan = Comparison("=", column, _NAN)
        return Or((IsNull(column), is_nan)) if options["nan_is_null"] else IsNull(column)
    if node.name == "is_nan":
        return Comparison("=", column, _NAN)  # of NULL it is NULL
    if node.name == "starts_with" and not options["ignore_case"]:
        return StartsWith(column, options["pattern"])
    if node.name == "is_in" and options["null_matching_behavior"] in (_MATCH, _SKIP):
        values = [value for value in options["value_set"] if value is not None]
        member = And((Not(IsNull(column)), In(column, tuple(map(_literal, values)))) if values else (Constant(False),))
        has_null = len(values) < len(options["value_set"]) and options["null_matching_behavior"] == _MATCH
        return Or((IsNull(column), member)) if has_null else member
    raise _refused(node.name)


def _comparison(op: str, left: Any, right: Any) -> Expression:
    if isinstance(right, Reference) and not isinstance(left, (Reference, _Call)):
        op, left, right = _TURNED[op], right, left
    column = _column(left)
    if isinstance(right, (Reference, _Call)):
        raise _refused("a comparison of two columns", "NaN would be ordered otherwise")
    literal = _literal(right.as_py())
    found = Comparison(op, column, literal)
    if op in (">", ">=") and not isinstance(literal.value, bool) and isinstance(literal.value, _numbers()):
        return And((found, Comparison("<", column, _NAN)))  # Spark's NaN is greater than every number
    return found


def _numbers() -> tuple[type, ...]:
    from decimal import Decimal

    return (int, float, Decimal)


def _literal(value: Any) -> Literal:
    if isinstance(value, float) and math.isnan(value):
        raise _refused("a comparison with NaN", "it is equal to nothing for Arrow")
    return Literal(value)


def _column(node: Any) -> Reference:
    if isinstance(node, Reference):
        return node
    raise _refused(node.name if isinstance(node, _Call) else "a condition without a column")


def _refused(what: str, why: str = "") -> UnsupportedFeatureError:
    return UnsupportedFeatureError(
        f"filters of pyarrow with {what} are not read{': ' if why else ''}{why}", field=f"pyarrow {what}", hint=_HINT
    )
