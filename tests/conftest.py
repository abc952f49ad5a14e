"""Prints, after a run over the conformance tables, what was read and what was refused."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tests.conformance import OUTCOMES


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if not OUTCOMES:
        return
    terminalreporter.section("conformance tables")
    for outcome, count in sorted(Counter(OUTCOMES.values()).items(), key=lambda pair: -pair[1]):
        terminalreporter.write_line(f"{count:4}  {outcome}")
    if terminalreporter.config.getoption("verbose") > 0:
        for table, outcome in sorted(OUTCOMES.items()):
            terminalreporter.write_line(f"      {table}: {outcome}")
