"""All functions of predicates by name: how each is typed and computed."""

from __future__ import annotations

from ...errors import InvalidPredicateError
from . import arithmetic, casting, comparisons, nested, text
from .definitions import Definition
from .signatures import ALIASES, SIGNATURES
from .temporal import datetimes, instants

__all__ = ["definition"]

_FUNCTIONS: dict[str, Definition] = {
    **arithmetic.FUNCTIONS,
    **casting.FUNCTIONS,
    **comparisons.FUNCTIONS,
    **datetimes.FUNCTIONS,
    **instants.FUNCTIONS,
    **nested.FUNCTIONS,
    **text.FUNCTIONS,
}


def definition(name: str) -> Definition:
    """The function called ``name``. Raises InvalidPredicateError if there is none."""
    found = _FUNCTIONS.get(name)
    if found is None:
        import difflib

        near = difflib.get_close_matches(name, [*SIGNATURES, *ALIASES], 3)
        raise InvalidPredicateError(
            f"there is no function {name}() in predicates", hint=f"Did you mean {', '.join(near)}?" if near else None
        )
    return found
