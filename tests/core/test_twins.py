"""The stubs, which say what the compiled kernels look like, and the readable twins have the same signatures."""

from __future__ import annotations

import ast
import importlib
import inspect
from pathlib import Path

import pytest

from tableformats._core import reference


@pytest.mark.parametrize("name", ["pruning", "bitmap", "filekeys", "paths", "rows", "key_filter", "coded_texts"])
def test_stub_and_reference_have_the_same_parameters(name: str) -> None:
    stub = ast.parse((Path(reference.__file__).parent / f"{name}.pyi").read_text())
    functions = [node for node in ast.walk(stub) if isinstance(node, ast.FunctionDef)]
    classes = [node.name for node in stub.body if isinstance(node, ast.ClassDef)]
    assert functions
    for function in functions:
        owner = reference if function in stub.body else getattr(reference, classes[0])
        parameters = list(inspect.signature(getattr(owner, function.name)).parameters)
        arguments = [*function.args.args, *function.args.kwonlyargs]
        assert [argument.arg for argument in arguments] == parameters, function.name


@pytest.mark.parametrize("name", ["pruning", "bitmap", "filekeys", "paths", "rows", "key_filter", "coded_texts"])
def test_stub_and_compiled_module_have_the_same_parameters(name: str) -> None:
    """Cython puts the signature on the first line of each docstring."""
    owner = importlib.import_module(f"tableformats._core.{name}")
    stub = ast.parse((Path(reference.__file__).parent / f"{name}.pyi").read_text())
    owner = getattr(owner, "FileKeySet", owner)
    checked = 0
    for function in (node for node in ast.walk(stub) if isinstance(node, ast.FunctionDef)):
        if function.name.startswith("__"):
            continue
        line = getattr(owner, function.name).__doc__.splitlines()[0]
        inside = line[line.index("(") + 1 : line.rindex(")")].replace("[:, ", "[:")
        names = [part.split("=")[0].split()[-1] for part in inside.split(", ")]
        assert names == [argument.arg for argument in function.args.args], line
        checked += 1
    assert checked
