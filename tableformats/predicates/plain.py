"""Conditions so plain that they need no parser: comparisons of a column with a number or a string, joined by AND.

Most filters are such, and importing sqlglot takes a sixth of the time of a process that plans a small table. What is
not recognised here to its last character, sqlglot reads; what is means the same to both.
"""

from __future__ import annotations

import re

from ..expressions import And, Comparison, Expression, Literal, Reference
from .lexing import STAND_IN, Lexed

__all__ = ["plain_condition"]

_CONSTANT = rf"-?[0-9]{{1,18}}(?![\w.])|{STAND_IN.pattern}"
_TERM = re.compile(
    rf"""\s*(?P<name>[a-z_][a-z0-9_]*)
      (?:\s*(?P<operator><=>|<=|>=|!=|<>|==|=|<|>)\s*(?P<constant>{_CONSTANT})
        |\s+BETWEEN\s+(?P<low>{_CONSTANT})\s+AND\s+(?P<high>{_CONSTANT}))
      \s*(?P<end>\Z|AND(?=\s))""",
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)
_OPERATORS = {"==": "=", "<>": "!="}
_NO_NAME = re.compile(
    r"""alter|and|any|as|between|case|connect_by_root|create|cross|current_date|current_timestamp|current_user|describe|
      distinct|drop|else|except|false|fetch|for|from|glob|grant|having|if|ilike|inner|insert|intersect|into|join|
      lateral|like|minus|not|notnull|null|on|or|outer|partitioned_by|qualify|regexp|returning|revoke|rlike|rollback|
      select|serdeproperties|session_user|tablesample|then|true|uncache|union|using|values|when|where|with|xor""",
    re.VERBOSE | re.IGNORECASE,
)
"""Words that are no column's name without backticks."""


def plain_condition(lexed: Lexed) -> Expression | None:
    """The unbound predicate; None for what is left to the parser."""
    terms: list[Expression] = []
    at, ended = 0, False
    while not ended:
        term = _TERM.match(lexed.sql, at)
        if term is None or _NO_NAME.fullmatch(term["name"]):
            return None
        column = Reference((term["name"],))
        if term["operator"]:
            operator = _OPERATORS.get(term["operator"], term["operator"])
            terms.append(Comparison(operator, column, _literal(term["constant"], lexed)))
        else:
            low, high = (_literal(term[side], lexed) for side in ("low", "high"))
            terms.append(And((Comparison(">=", column, low), Comparison("<=", column, high))))
        at, ended = term.end(), not term["end"]
    return terms[0] if len(terms) == 1 else And(tuple(terms))


def _literal(text: str, lexed: Lexed) -> Literal:
    return lexed.literal(text[1:-1]) if text.startswith("'") else Literal(int(text))
