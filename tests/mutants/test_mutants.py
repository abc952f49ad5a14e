"""The list of mutants fits the code: what each replaces stands there once, and what it puts there is other code.

``python -m tests.mutants`` runs them; here nothing is run.
"""

from __future__ import annotations

import ast
from functools import cache

import pytest

from tests.mutants import Mutant, every
from tests.mutants.mutant import ROOT
from tests.mutants.runner import Result, table
from tests.mutants.tokens import tokenize
from tests.support.marks import between


@pytest.mark.parametrize("mutant", every(), ids=lambda mutant: mutant.name)
def test_a_mutant_changes_one_place(mutant: Mutant) -> None:
    mutated = mutant.mutated()
    if not mutant.file.endswith(".py"):
        sound = mutant.located().source
        assert tokenize(mutated, sound.file.suffix) != sound.tokens, "it changes comments alone"
    else:
        assert ast.dump(ast.parse(mutated)) != _tree(mutant.file), "it changes comments alone"


@pytest.mark.parametrize("mutant", every(), ids=lambda mutant: mutant.name)
def test_killers_exist(mutant: Mutant) -> None:
    assert mutant.killing_tests()


def test_names_are_unique() -> None:
    names = [mutant.name for mutant in every()]
    assert len(set(names)) == len(names)


def test_the_table_names_survivors() -> None:
    mutants = [Mutant("a", "core:f", "x", "y", "one", ()), Mutant("b", "core:f", "x", "y", "two", ())]
    results = {"a": Result("killed", "tests/core/test_x.py::test_y[1-2]", 1.0), "b": Result("survived", "", 1.0)}
    assert table(mutants, results).splitlines()[2:] == [
        "| a | one | `core/test_x.py::test_y` |",
        "| b | two | **survived** |",
    ]


def test_the_document_has_every_mutant() -> None:
    told = between(ROOT / "docs/measured/mutants.md", "mutants")
    missing = [m.name for m in every() if f"| {m.name} | {m.cause} |" not in told]
    assert not missing, "run `python -m tests.mutants --missing --write docs/measured/mutants.md`"


@cache
def _tree(file: str) -> str:
    return ast.dump(ast.parse((ROOT / file).read_text()))
