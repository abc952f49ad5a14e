"""Codes of literals: which types have them."""

from __future__ import annotations

from tableformats.expressions import Literal
from tableformats.pruning.literal_codes import codes_matching_comparison, codes_matching_in, domain_of
from tableformats.schema import Field, ListType, primitive


def test_values_without_an_order_have_no_codes() -> None:
    for kind in (primitive("variant"), primitive("unknown"), ListType(Field(1, "a", primitive("long")))):
        assert domain_of(kind) is None
        assert codes_matching_comparison("=", Literal(1), kind) is codes_matching_in([Literal(1)], kind) is None
