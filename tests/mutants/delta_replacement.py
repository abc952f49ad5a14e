"""Mutants of the commit that replaces the definition of a Delta table."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_REPLACE = ("write/test_replace.py",)

MUTANTS = (
    Mutant(
        "rows-of-a-replaced-table-stay",
        "delta:replaced_actions",
        'if kind == "add":',
        'if kind == "remove":',
        "files of the old columns are rows of the new ones",
        _REPLACE,
    ),
    Mutant(
        "ids-of-a-replaced-table-are-given-out-again",
        "delta:created_definition",
        "if replaced is not None and _is_mapped(request.properties) and GREATEST_ID in replaced.properties:",
        "if replaced is None and _is_mapped(request.properties) and GREATEST_ID in replaced.properties:",
        "two columns of a table's versions have one id",
        _REPLACE,
    ),
)
