"""Predicates: what a filter says, independent of the form in which it was written.

``tree.py`` has the nodes of a predicate, and ``columns.py`` the :func:`col` that builds them. ``binding.py`` looks up
names in a schema. ``literals.py`` gives the value that a Python object means, and ``fitting.py`` the value of a
column's type that it compares as. ``simplify.py`` removes what has no effect. ``sql_text.py`` prints names and literals
as Spark SQL. The package ``parse`` reads the forms that users write: SQL, tuples, PyIceberg. ``value_binding.py`` binds
what is computed from columns, with the package ``functions``, and ``rewrites.py`` turns it into conditions on columns
where it can. ``evaluation.py`` computes bound predicates over Arrow arrays; pruning and Spark walk the bound tree.
"""

from .columns import Column, col, split_name
from .tree import (
    COMPARISONS,
    FALSE,
    TRUE,
    And,
    AnyColumn,
    BoundColumn,
    Comparison,
    Constant,
    Expression,
    Function,
    Holds,
    In,
    IsNaN,
    IsNull,
    IsTrue,
    Like,
    Literal,
    Not,
    Or,
    Reference,
    StartsWith,
    Value,
    columns_of,
    conjunction,
    depth,
    like_parts,
    walk,
)

__all__ = [
    "And",
    "AnyColumn",
    "BoundColumn",
    "COMPARISONS",
    "Column",
    "Comparison",
    "Constant",
    "Expression",
    "FALSE",
    "Function",
    "Holds",
    "In",
    "IsNaN",
    "IsNull",
    "IsTrue",
    "Like",
    "Literal",
    "Not",
    "Or",
    "Reference",
    "StartsWith",
    "TRUE",
    "Value",
    "col",
    "columns_of",
    "conjunction",
    "depth",
    "like_parts",
    "split_name",
    "walk",
]
