"""The list of mutants fits the code: each text is there once, and what replaces it is other Python.

``python -m tests.mutants`` runs them; here nothing is run.
"""

from __future__ import annotations

import ast

import pytest

from tests.marks import between
from tests.mutants import Mutant, every
from tests.mutants.mutant import ROOT
from tests.mutants.runner import Result, table


@pytest.mark.parametrize("mutant", every(), ids=lambda mutant: mutant.name)
def test_the_text_stands_once(mutant: Mutant) -> None:
    sound, mutated = (ROOT / mutant.file).read_text(), mutant.mutated()
    assert mutated != sound
    if not mutant.is_native:
        assert ast.dump(ast.parse(mutated)) != ast.dump(ast.parse(sound)), "it changes comments alone"
    for test in mutant.killers:
        assert (ROOT / test.partition("::")[0]).exists(), test


def test_names_are_unique() -> None:
    names = [mutant.name for mutant in every()]
    assert len(set(names)) == len(names)


def test_a_text_that_moved_is_an_error() -> None:
    for text in ("no such text", "def "):
        with pytest.raises(ValueError, match=r"times in tableformats/codes\.py, not once"):
            Mutant("m", "tableformats/codes.py", text, "", "", ()).mutated()


def test_the_table_names_survivors() -> None:
    mutants = [Mutant("a", "f", "x", "y", "one", ()), Mutant("b", "f", "x", "y", "two", ())]
    results = {"a": Result("killed", "tests/core/test_x.py::test_y[1-2]", 1.0), "b": Result("survived", "", 1.0)}
    assert table(mutants, results).splitlines()[2:] == [
        "| a | one | `core/test_x.py::test_y` |",
        "| b | two | **survived** |",
    ]


def test_the_document_has_every_mutant() -> None:
    told = between(ROOT / "docs/correctness.md", "mutants")
    missing = [m.name for m in every() if f"| {m.name} | {m.cause} |" not in told]
    assert not missing, "run `python -m tests.mutants --missing --write docs/correctness.md`"
