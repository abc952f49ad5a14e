"""Iceberg's expression JSON as our tree, and residuals in one order."""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import Any

from tableformats._core.masks import MAY_FALSE
from tableformats.expressions import tree as ex
from tableformats.planning.residuals import residual
from tableformats.schema import Schema

_OPERATORS = {"eq": "=", "not-eq": "!=", "lt": "<", "lt-eq": "<=", "gt": ">", "gt-eq": ">="}


def convert(filter: Any, schema: Schema) -> ex.Expression:
    """Iceberg's expression JSON as our tree."""
    if isinstance(filter, bool):
        return ex.Constant(filter)
    kind = filter["type"]
    if kind in ("and", "or"):
        node = ex.And if kind == "and" else ex.Or
        return node((convert(filter["left"], schema), convert(filter["right"], schema)))
    if kind == "not":
        return ex.Not(convert(filter["child"], schema))
    column = ex.Reference(tuple(filter["term"].split(".")))
    if kind in ("is-null", "not-null"):
        return ex.IsNull(column) if kind == "is-null" else ex.Not(ex.IsNull(column))
    if kind in ("is-nan", "not-nan"):
        return ex.IsNaN(column) if kind == "is-nan" else ex.Not(ex.IsNaN(column))
    if kind in ("starts-with", "not-starts-with"):
        prefix = ex.StartsWith(column, filter["value"])
        return prefix if kind == "starts-with" else ex.Not(prefix)
    if kind in ("in", "not-in"):
        member = ex.In(column, tuple(literal(v, column, schema) for v in filter["values"]))
        return member if kind == "in" else ex.Not(member)
    return ex.Comparison(_OPERATORS[kind], column, literal(filter["value"], column, schema))


def literal(value: Any, column: ex.Reference, schema: Schema) -> ex.Literal:
    path = schema.resolve(column.parts)
    if path is None:
        return ex.Literal(value)
    kind = str(path[-1].type)
    if kind == "float":
        # Iceberg rounds a literal to the column's type, Spark compares as doubles.
        return ex.Literal(struct.unpack("<f", struct.pack("<f", float(value)))[0])
    if kind in ("date", "time") or kind.startswith("timestamp"):
        # Filters have texts, residuals what they count.
        return ex.Literal(value, path[-1].type) if isinstance(value, int) else ex.Literal(value)
    if kind == "binary" or kind.startswith("fixed"):
        return ex.Literal(bytes.fromhex(value))
    return ex.Literal(value)


def simplified(predicate: ex.Expression) -> ex.Expression:
    """What is TRUE for the same rows: IN lists in one order, and no NULL test of a column that is never NULL."""
    required: dict[ex.Expression, int] = {
        leaf: MAY_FALSE
        for leaf in ex.walk(predicate)
        if isinstance(leaf, ex.IsNull)
        and isinstance(leaf.column, ex.BoundColumn)
        and all(f.required for f in leaf.column.path)
    }
    return ordered(residual(predicate, required))


def ordered(node: ex.Expression) -> ex.Expression:
    if isinstance(node, ex.In):
        return replace(node, literals=tuple(sorted(node.literals, key=str)))
    if isinstance(node, ex.Not):
        return ex.Not(ordered(node.child))
    return replace(node, children=tuple(map(ordered, node.children))) if isinstance(node, (ex.And, ex.Or)) else node
