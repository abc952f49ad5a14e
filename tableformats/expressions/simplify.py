"""Remove the parts of a predicate that have no effect."""

from __future__ import annotations

from collections.abc import Iterable

from .tree import FALSE, TRUE, And, Constant, Expression, IsNaN, IsNull, IsTrue, Not, Or

__all__ = ["simplify"]


def simplify(expression: Expression) -> Expression:
    """The same predicate without inner constants, nested ANDs and ORs, double negations and repeated terms.

    The logic is three-valued: NULL AND x keeps its NULL, because x may be FALSE. Source: Spark SQL reference, "NULL
    Semantics", Logical operators.
    """
    if isinstance(expression, Not):
        child = simplify(expression.child)
        if isinstance(child, Constant):
            return child if child.value is None else Constant(not child.value)
        return child.child if isinstance(child, Not) else Not(child)
    if isinstance(expression, IsTrue):
        return _is_true(simplify(expression.child))
    if isinstance(expression, And):
        return _junction(And, expression.children, neutral=TRUE, absorbing=FALSE)
    if isinstance(expression, Or):
        return _junction(Or, expression.children, neutral=FALSE, absorbing=TRUE)
    return expression


def _is_true(child: Expression) -> Expression:
    if isinstance(child, Constant):
        return TRUE if child.value else FALSE
    inner = child.child if isinstance(child, Not) else child
    return child if isinstance(inner, (IsNull, IsNaN, IsTrue)) else IsTrue(child)  # these are never NULL


def _junction(
    kind: type[And] | type[Or], children: Iterable[Expression], neutral: Constant, absorbing: Constant
) -> Expression:
    terms: dict[Expression, None] = {}
    for child in map(simplify, children):
        for part in child.children if isinstance(child, kind) else (child,):
            if part == absorbing:
                return absorbing
            if part != neutral:
                terms[part] = None
    parts = tuple(terms)
    return neutral if not parts else parts[0] if len(parts) == 1 else kind(parts)
