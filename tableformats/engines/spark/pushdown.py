"""Catalyst's filters become predicates of ours, which narrow the files of a plan that a query reads.

``CatalystFilters.java`` sends filters as lists, over the names that a relation reads columns under. A filter that
cannot be translated keeps every file.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from ...expressions import tree as ex
from ...planning.narrowing import keep_mask
from ...schema import Field, StructType
from .columns.naming import Naming

if TYPE_CHECKING:
    import numpy as np

    from ...planning.plan import FilePlan

__all__ = ["FilterReader", "PlanPruner"]

_LOG = logging.getLogger(__name__)
_COMPARISONS = ("=", "<=>", "<", "<=", ">", ">=")
_MAX_MASKS = 32


class FilterReader:
    """Translates filters over one relation.

    Parameters
    ----------
    fields : Iterable[Field]
        The relation's top-level columns.
    naming : Naming
        The names that the relation reads them under.
    """

    def __init__(self, fields: Iterable[Field], naming: Naming) -> None:
        self._naming = naming
        self._fields = {naming.name(f): f for f in fields}

    def read(self, text: str) -> ex.Expression:
        """The conjunction of the filters in ``text`` (JSON), bound. Filters without a counterpart are left out."""
        return ex.conjunction(*map(self._filter, json.loads(text)))

    def _filter(self, node: Sequence[Any]) -> ex.Expression:
        try:
            return self._predicate(node)
        except (KeyError, StopIteration, ValueError, ArithmeticError) as error:
            _LOG.debug("the filter %s was not planned: %r", node, error)
            return ex.TRUE

    def _predicate(self, node: Sequence[Any]) -> ex.Expression:
        operator, *operands = node
        if operator == "and":
            return ex.And(tuple(map(self._predicate, operands)))
        if operator == "or":
            return ex.Or(tuple(map(self._predicate, operands)))
        if operator == "not":
            return ex.Not(self._predicate(operands[0]))
        column = self._column(operands[0])
        if operator == "isnull":
            return ex.IsNull(column)
        if operator == "isnan":
            return ex.IsNaN(column)
        _check_padding(operands, column)
        if operator == "startswith":
            return ex.StartsWith(column, _literal(operands[1], column).value)
        _check_lengths(operands, column)
        if operator == "in":
            return ex.In(column, tuple(_literal(item, column) for item in operands[1:]))
        if operator not in _COMPARISONS:
            raise ValueError(operator)
        other = operands[1]
        right = self._column(other) if other[0] in ("column", "padded") else _literal(other, column)
        return ex.Comparison(operator, column, right)

    def _column(self, node: Sequence[str]) -> ex.BoundColumn:
        node = node[2] if node[0] == "padded" else node
        path = [self._fields[node[1]]]
        for name in node[2:]:
            kind = path[-1].type
            if not isinstance(kind, StructType):
                raise ValueError(name)
            path.append(next(f for f in kind.fields if self._naming.name(f) == name))
        return ex.BoundColumn(tuple(path))


def _check_padding(operands: Sequence[Sequence[Any]], column: ex.BoundColumn) -> None:
    """Raise ValueError where columns are not padded to the length that ``column`` has in predicates."""
    for node in operands:
        if node[0] == "padded" and int(node[1]) != column.field.char_length:
            raise ValueError(f"padded to {node[1]}")
        if node[0] == "column" and column.field.char_length is not None:
            raise ValueError("not padded")


def _check_lengths(operands: Sequence[Sequence[Any]], column: ex.BoundColumn) -> None:
    """Raise ValueError where a literal would be padded: Catalyst compares with what it wrote."""
    texts = [node[2] for node in operands if node[0] == "literal" and node[2] is not None]
    if column.padded_length is not None and any(len(text) != column.padded_length for text in texts):
        raise ValueError("literals of another length")


def _literal(node: Sequence[Any], column: ex.BoundColumn) -> ex.Literal:
    """The literal as a bound one. It has the column's type, because Catalyst casts literals to it."""
    _, kind, text = node
    if text is None:
        return ex.Literal(None)
    return ex.Literal(_LITERALS[kind.partition("(")[0]](text), column.type)


_LITERALS: Mapping[str, Callable[[str], Any]] = {
    "boolean": {"true": True, "false": False}.__getitem__,
    "byte": int,
    "short": int,
    "integer": int,
    "long": int,
    "float": float,
    "double": float,
    "decimal": Decimal,
    "string": str,
    "binary": bytes.fromhex,
    "date": int,
    "timestamp": int,
    "timestamp_ntz": int,
    "time": lambda text: _microseconds(int(text)),
}


def _microseconds(nanoseconds: int) -> int:
    """Catalyst counts times in nanoseconds, whatever their precision."""
    if nanoseconds % 1000:
        raise ValueError("more precise than the column")
    return nanoseconds // 1000


def _conjuncts(expression: ex.Expression) -> tuple[ex.Expression, ...]:
    if isinstance(expression, ex.And):
        return tuple(part for child in expression.children for part in _conjuncts(child))
    return (expression,)


class PlanPruner:
    """Narrows the files of one plan by further predicates. Results are cached for the next queries."""

    def __init__(self, plan: FilePlan) -> None:
        self._plan = plan
        self._known = set(_conjuncts(plan.scan.filter))
        self._masks: dict[frozenset[ex.Expression], np.ndarray | None] = {}

    def callback(self, reader: FilterReader, rows: np.ndarray) -> Callable[[str], bytes | None]:
        """``keep`` of a :class:`Relation` over the plan's files ``rows`` (int64[n])."""

        def keep(text: str) -> bytes | None:
            try:
                mask = self.mask(reader.read(text))
            except Exception:
                # Without pruning the query is still right; an error would end it during Spark's planning.
                _LOG.debug("Catalyst's filters %s were not planned", text, exc_info=True)
                return None
            return None if mask is None else mask[rows].tobytes()

        return keep

    def mask(self, predicate: ex.Expression) -> np.ndarray | None:
        """The plan's files in which a row may match ``predicate``, as bool[n]; None if the plan implies it."""
        new = _drop_implied(_conjuncts(predicate), self._known)
        if ex.conjunction(*new) == ex.TRUE:
            return None
        key = frozenset(new)  # a set, because Spark asks again with the same terms in another order
        if key not in self._masks:
            if len(self._masks) >= _MAX_MASKS:
                self._masks.clear()
            self._masks[key] = keep_mask(self._plan, ex.conjunction(*new))
        return self._masks[key]


def _drop_implied(parts: Iterable[ex.Expression], known: set[ex.Expression]) -> list[ex.Expression]:
    """The terms that ``known`` does not imply. Catalyst repeats a scan's own filter, and adds IS NOT NULL to it."""
    not_null = {
        ex.Not(ex.IsNull(column))
        for part in known
        if (isinstance(part, ex.Comparison) and part.op != "<=>") or isinstance(part, (ex.In, ex.StartsWith))
        for column in ex.columns_of(part)
    }
    return [part for part in parts if part not in known and part not in not_null]
