"""A plugin of pytest that writes down which functions of the product each test calls: ``-p tests.mutants.calls``.

``TABLEFORMATS_CALLS`` names the file: JSON, {test: [seconds, [[file, qualified name of the function], ...]]}.
"""

from __future__ import annotations

import ast
import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

from tests.mutants.clock import waited

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = tuple(f"{ROOT}/{name}/" for name in ("tableformats", "plugins"))

_called: set[CodeType] = set()
_found: dict[str, tuple[float, list[tuple[str, int]]]] = {}


def _note(frame: FrameType, event: str, argument: Any) -> None:
    if event == "call":
        _called.add(frame.f_code)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    _called.clear()
    started = time.perf_counter() - waited()
    threading.setprofile(_note)
    sys.setprofile(_note)
    yield
    sys.setprofile(None)
    threading.setprofile(None)  # type: ignore[arg-type]
    own = [(code.co_filename, code.co_firstlineno) for code in set(_called) if code.co_filename.startswith(PRODUCT)]
    seconds = round(time.perf_counter() - waited() - started, 3)
    _found[item.nodeid] = seconds, [(str(Path(name).relative_to(ROOT)), line) for name, line in own]


def pytest_sessionfinish() -> None:
    if name := os.environ.get("TABLEFORMATS_CALLS"):
        named = {test: (seconds, named_functions(calls)) for test, (seconds, calls) in _found.items()}
        Path(name).write_text(json.dumps(named))


def named_functions(calls: list[tuple[str, int]]) -> list[tuple[str, str]]:
    """(file, qualified name) of the functions among (file, first line); lambdas and comprehensions are left out."""
    return [(file, found) for file, line in calls if (found := _functions_in(file).get(line))]


@cache
def _functions_in(file: str) -> dict[int, str]:
    return functions_of((ROOT / file).read_text())


def functions_of(text: str) -> dict[int, str]:
    """{first line, decorators included: qualified name} of the functions of a source."""
    found: dict[int, str] = {}

    def walk(node: ast.AST, names: tuple[str, ...]) -> None:
        for child in ast.iter_child_nodes(node):
            inner = names
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                inner = (*names, child.name)
                if not isinstance(child, ast.ClassDef):
                    found[min([child.lineno, *(d.lineno for d in child.decorator_list)])] = ".".join(inner)
            walk(child, inner)

    walk(ast.parse(text), ())
    return found
