"""Seeded mutants: known causes of wrong answers, each put into a copy of the code, which the tests must then refuse.

:mod:`.core`, :mod:`.delta` and :mod:`.iceberg` list them; ``python -m tests.mutants`` runs them. A mutant replaces a
text that stands exactly once in a file, so that the list fails loudly when code moves.
"""

from __future__ import annotations

from .mutant import Mutant


def every() -> list[Mutant]:
    """All mutants, in the order of the table in docs/correctness.md."""
    from . import core, delta, iceberg

    return [*core.MUTANTS, *delta.MUTANTS, *iceberg.MUTANTS]


__all__ = ["Mutant", "every"]
