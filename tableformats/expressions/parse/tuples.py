"""Parse filters that are tuples in disjunctive normal form, as pyarrow, deltalake and pandas take them.

``[("a", ">", 1), ("b", "=", "x")]`` is AND; a list of such lists is OR of them. Besides the comparison operators
there are ``in``, ``not in``, ``is null``, ``is not null``, and ``is`` and ``is not`` with None. As in SQL, ``=`` and
``in`` never hold for NULL. Source: pyarrow documentation, ``pyarrow.parquet.filters_to_expression``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...errors import InvalidPredicateError
from ..columns import split_name
from ..tree import And, Comparison, Expression, In, IsNull, Literal, Not, Or, Reference

__all__ = ["parse_tuples"]

_COMPARISONS = {
    "=": "=",
    "==": "=",
    "<=>": "<=>",
    "!=": "!=",
    "<>": "!=",
    "<": "<",
    "<=": "<=",
    ">": ">",
    ">=": ">=",
}
_NULL_TESTS = {"is null": True, "is": True, "is not null": False, "is not": False}
_OPERATORS = ", ".join([*_COMPARISONS, "in", "not in", *_NULL_TESTS])
_HINT = f"A condition is (column, operator, value); the operators are {_OPERATORS}."


def parse_tuples(filter: Sequence[Any]) -> Expression | None:
    """The unbound predicate. None for an empty list. A single tuple is a condition, too.

    Raises InvalidPredicateError, which says where in the lists the error is.
    """
    if _is_condition(filter):
        return _condition(filter, "filter")
    if not filter:
        return None
    if all(isinstance(item, (list, tuple)) and not _is_condition(item) for item in filter):
        return _joined(Or, [_all_of(item, f"filter[{i}]") for i, item in enumerate(filter)])
    return _all_of(filter, "filter")


def _is_condition(item: Sequence[Any]) -> bool:
    """Whether ``item`` is a tuple whose first part names a column. Lists contain conditions."""
    return isinstance(item, tuple) and bool(item) and not isinstance(item[0], list)


def _all_of(items: Sequence[Any], where: str) -> Expression:
    if not items:
        raise InvalidPredicateError(f"{where} is an empty list of conditions", hint=_HINT)
    return _joined(And, [_condition(item, f"{where}[{i}]") for i, item in enumerate(items)])


def _joined(kind: type[And] | type[Or], parts: list[Expression]) -> Expression:
    return parts[0] if len(parts) == 1 else kind(tuple(parts))


def _condition(item: Any, where: str) -> Expression:
    if isinstance(item, Expression):
        return item
    if not isinstance(item, (list, tuple)) or len(item) not in (2, 3):
        raise InvalidPredicateError(f"{where} is {item!r}, no condition", hint=_HINT)
    column = _column(item[0], where)
    op = " ".join(item[1].lower().split()) if isinstance(item[1], str) else ""
    if op in _NULL_TESTS and (len(item) == 3 or op.endswith("null")):
        if len(item) == 3 and item[2] is not None:
            raise InvalidPredicateError(
                f"{where} compares by {item[1]!r} with {item[2]!r}", hint="Give None, or use =."
            )
        return IsNull(column) if _NULL_TESTS[op] else Not(IsNull(column))
    if len(item) == 3 and op in _COMPARISONS:
        return Comparison(_COMPARISONS[op], column, _literal(item[2], where))
    if len(item) == 3 and op in ("in", "not in"):
        if not isinstance(item[2], (list, tuple, set, frozenset, range)):
            raise InvalidPredicateError(f"{where} needs a list after {item[1]!r}, not {item[2]!r}", hint=_HINT)
        found = In(column, tuple(_literal(value, where) for value in item[2]))
        return found if op == "in" else Not(found)
    raise InvalidPredicateError(f"{where} has no operator {item[1]!r}", hint=_HINT)


def _column(name: Any, where: str) -> Reference:
    if isinstance(name, str) and name:
        return Reference(split_name(name))
    if isinstance(name, tuple) and name and all(isinstance(part, str) for part in name):
        return Reference(name)
    raise InvalidPredicateError(f"{where} names no column: {name!r}", hint=_HINT)


def _literal(value: Any, where: str) -> Literal:
    if isinstance(value, (list, tuple, set, frozenset, dict)):
        raise InvalidPredicateError(f"{where} compares with {value!r}, which is no single value", hint="Use in.")
    return value if isinstance(value, Literal) else Literal(value)
