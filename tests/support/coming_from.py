"""The tables of docs/coming-from.md: pairs of Python code, which tests run."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

_PAGE = Path(__file__).resolve().parents[2] / "docs" / "coming-from.md"
_CELL = re.compile(r"``(.+?)``|`([^`]+)`")


def pairs(title: str) -> list[tuple[str, str]]:
    """(the other library's code, ours) of each row below the heading ``title``."""
    text = _PAGE.read_text("utf-8").split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]
    lines = [line for line in text.splitlines() if line.startswith("| `")]
    found = [tuple(a or b for a, b in _CELL.findall(line)) for line in lines]
    assert found and all(len(cells) == 2 for cells in found), title
    return [(theirs, ours) for theirs, ours in found]


def run(code: str, names: dict[str, Any]) -> Any:
    """Run the statements, and return the value of the last one."""
    *first, last = ast.parse(code).body
    assert isinstance(last, ast.Expr)
    exec(compile(ast.Module(first, []), code, "exec"), names)
    return eval(compile(ast.Expression(last.value), code, "eval"), names)
