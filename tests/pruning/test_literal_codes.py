"""Codes of literals: which types have them."""

from __future__ import annotations

from tableformats.expressions import Literal
from tableformats.pruning.literal_codes import accept_comparison, accept_in, domain_of
from tableformats.schema import Field, ListType, primitive


def test_values_without_an_order_have_no_codes() -> None:
    for kind in (primitive("variant"), primitive("unknown"), ListType(Field(1, "a", primitive("long")))):
        assert domain_of(kind) is None
        assert accept_comparison("=", Literal(1), kind) is accept_in([Literal(1)], kind) is None
