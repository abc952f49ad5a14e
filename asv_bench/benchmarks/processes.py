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
from .planners import Planner

STOP_SECONDS = 400
KEEP_FREE = 1.5e9
"""Bytes of memory that a measurement must leave to the machine."""
TOUCHED = 3 << 30
"""Bytes of memory that are used right before a measurement."""
FOLDER = Path(__file__).parents[1]
"""Where ``python -m benchmarks...`` runs."""


def run_module(name: str, *arguments: str) -> str:
    """What ``python -m name`` prints. Raises CalledProcessError."""
    command = [sys.executable, "-m", name, *arguments]
    return subprocess.run(command, cwd=FOLDER, check=True, stdout=subprocess.PIPE, text=True).stdout


def run_worker(case: Case, planner: Planner, files: int, *options: str) -> dict[str, Any]:
    """One measurement, or ``{"error": why}``."""
    if case.how == "process":
        command = [sys.executable, "-c", worker.script(case, planner)]
    else:
        command = [sys.executable, "-m", "benchmarks.worker", str(files), case.key, planner.name, *options]
    touch_memory()
    start = time.perf_counter()
    # Files, because a pipe that is not read while we watch the memory would fill up.
    with open(os.devnull) as nothing, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(command, cwd=FOLDER, env=_environment(), stdin=nothing, stdout=out, stderr=err)
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
    return {"wall": wall} if case.how == "process" else dict(json.loads(text.splitlines()[-1]))


def _environment() -> dict[str, str]:
    """Ours, in which Python keeps bytecode, as that of installed packages is kept."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def touch_memory() -> None:
    """Use much memory and let go of it, in a process of its own, so that a measurement finds pages that are there.

    A virtual machine gives its free memory back to the host after a second or two; who touches it next waits for it,
    1.5 to 2 s a GB of time in the system, which is the host's and no planner's.
    """
    size = int(min(TOUCHED, available_memory() - KEEP_FREE))
    if size > 0:
        subprocess.run([sys.executable, "-S", "-c", f"size = {size}; b'1' * size"], check=True)


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


def available_memory() -> float:
    """Bytes that processes can still get; endless where the system does not say."""
    info = Path("/proc/meminfo")
    if not info.exists():
        return float("inf")
    line = next(line for line in info.read_text().splitlines() if line.startswith("MemAvailable"))
    return int(line.split()[1]) * 1024
