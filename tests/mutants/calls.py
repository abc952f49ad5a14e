"""A plugin of pytest that writes down which functions of the product each test calls: ``-p tests.mutants.calls``.

``TABLEFORMATS_CALLS`` names the file: JSON, {test: [seconds, [[file, first line of the function], ...]]}.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

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
    started = time.perf_counter()
    threading.setprofile(_note)
    sys.setprofile(_note)
    yield
    sys.setprofile(None)
    threading.setprofile(None)  # type: ignore[arg-type]
    own = [(code.co_filename, code.co_firstlineno) for code in set(_called) if code.co_filename.startswith(PRODUCT)]
    seconds = round(time.perf_counter() - started, 3)
    _found[item.nodeid] = seconds, [(str(Path(name).relative_to(ROOT)), line) for name, line in own]


def pytest_sessionfinish() -> None:
    if name := os.environ.get("TABLEFORMATS_CALLS"):
        Path(name).write_text(json.dumps(_found))
