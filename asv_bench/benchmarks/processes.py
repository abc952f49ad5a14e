"""One measurement, one process: started, watched, and stopped where it takes too long or too much memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from . import worker
from .cases import Case
from .generate import build
from .memory import KEEP_FREE, available_memory, touch_memory
from .planners import Planner

STOP_SECONDS = 400
FOLDER = Path(__file__).parents[1]
"""Where ``python -m benchmarks...`` runs."""


def run_module(name: str, *arguments: str) -> str:
    """What ``python -m name`` prints. Raises CalledProcessError."""
    command = [sys.executable, "-m", name, *arguments]
    return subprocess.run(command, cwd=FOLDER, check=True, stdout=subprocess.PIPE, text=True).stdout


def run_worker(case: Case, planner: Planner, files: int, *options: str) -> dict[str, Any]:
    """One measurement, or ``{"error": why}``."""
    if case.is_process:
        command = [sys.executable, "-c", worker.script(case, planner)]
    else:
        command = [sys.executable, "-m", "benchmarks.worker", str(files), case.key, planner.name, *options]
    # The first to be asked would pay for files that the system has dropped from its cache since the last round.
    for spec in (case.warm_up, case.spec):
        build(spec).warm()
    touch_memory()
    start = time.perf_counter()
    # Files, because a pipe that is not read while we watch the memory would fill up.
    with open(os.devnull) as nothing, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(command, cwd=FOLDER, env=environment(), stdin=nothing, stdout=out, stderr=err)
        why = _watch(process, start)
        wall = time.perf_counter() - start
        if process.returncode and why is None:
            err.seek(0)
            lines = err.read().decode(errors="replace").strip().splitlines()
            why = lines[-1][:300] if lines else f"exit code {process.returncode}"
        out.seek(0)
        text = out.read().decode()
    if why is not None:
        return {"error": why}
    return {"wall": wall} if case.is_process else dict(json.loads(text.splitlines()[-1]))


def environment() -> dict[str, str]:
    """Ours, in which Python keeps bytecode, as that of installed packages is kept."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def _watch(process: subprocess.Popen[bytes], start: float) -> str | None:
    """Wait for the end; kill the process where it takes too long or too much, and say so."""
    while True:
        try:
            process.wait(0.25 if time.perf_counter() - start > 2 else 0.002)
            return None
        except subprocess.TimeoutExpired:
            why = None
            if time.perf_counter() - start > STOP_SECONDS:
                why = f"stopped after {STOP_SECONDS} s"
            elif available_memory() < KEEP_FREE:
                why = "stopped: out of memory"
            if why is not None:
                process.kill()
                process.wait()
                return why
