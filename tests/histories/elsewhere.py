"""Histories that porcupine judges, a checker of linearizability that others wrote, beside ours.

The program of ``porcupine/`` is built with Go, which fetches porcupine. Where Go or the module is missing,
:class:`Unavailable` says so.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from ..support.maven import CACHE, Unavailable
from .export import to_porcupine
from .failing import FIRST
from .history import History
from .interleaving import interleaved

__all__ = ["Unavailable", "damaged", "exported", "history_of", "verdicts"]

_SOURCE = Path(__file__).parent / "porcupine"


@lru_cache(maxsize=1)
def _program() -> Path:
    if (go := shutil.which("go")) is None:
        raise Unavailable("porcupine needs Go on the path")
    built = CACHE / "porcupine" / "judge"
    built.parent.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        [go, "build", "-o", built, "."], cwd=_SOURCE, capture_output=True, text=True, timeout=300, check=False
    )
    if done.returncode:
        raise Unavailable(f"Go does not build porcupine: {done.stderr.strip()[-300:]}")
    return built


def verdicts(exports: Sequence[str], folder: Path) -> list[str]:
    """What porcupine says of exported histories: "ok", "illegal", or "unknown" after a minute. Raises Unavailable."""
    paths = [folder / f"{number}.jsonl" for number in range(len(exports))]
    for path, text in zip(paths, exports, strict=True):
        path.write_text(text)
    done = subprocess.run([_program(), *paths], capture_output=True, text=True, check=True)
    return [line.rpartition(" ")[2] for line in done.stdout.splitlines()]


def exported(history: History) -> str:
    """The export of a history of :func:`history_of`."""
    return to_porcupine(history, FIRST)


def history_of(format: str, seed: int) -> History:
    """A history of interleaved writers that are serializable, which ends with a read."""
    return interleaved(format, "serializable", seed, writers=3, each=4, last_read=True).history


def damaged(history: History) -> str:
    """The export of a history with one more append, acknowledged before the last read, which does not find its row."""
    *lines, last = exported(history).splitlines()
    told = json.loads(last)
    rows = [{"id": 10**9, "p": 0, "k": 0}]
    lost = {"kind": "append", "rows": rows, "found": None, "process": 99}
    lost = {**told, **lost, "call": told["call"] - 2, "return": told["call"] - 1}
    return "".join(line + "\n" for line in (*lines, json.dumps(lost), last))
