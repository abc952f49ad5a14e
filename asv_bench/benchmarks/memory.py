"""The machine's memory: how much of it a process had, how much is left, and some that was in use just before.

Nothing is imported here that a planner does not need, for it would count as its memory.
"""

from __future__ import annotations

import sys
from pathlib import Path

KEEP_FREE = 1.5e9
"""Bytes of memory that a measurement must leave to the machine."""
TOUCHED = 3 << 30
"""Bytes of memory that are used ahead of a measurement."""


def peak_mib() -> float:
    """The most memory that this process had, in MiB, as ``ru_maxrss`` is told in KiB."""
    # Linux counts the parent's memory into ru_maxrss, for a child begins as its copy.
    status = Path("/proc/self/status")
    if status.exists():
        lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
        return int(lines["VmHWM"].split()[0]) / 1024
    import resource

    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def available_memory() -> float:
    """Bytes that processes can still get; endless where the system does not say."""
    info = Path("/proc/meminfo")
    if not info.exists():
        return float("inf")
    line = next(line for line in info.read_text().splitlines() if line.startswith("MemAvailable"))
    return int(line.split()[1]) * 1024


def touch_memory() -> None:
    """Use much memory and let go of it, in a process of its own: one that starts next finds pages that are there.

    A virtual machine gives its free memory back to the host after a second or two; who touches it next waits for it,
    1.5 to 2 s a GB of time in the system, which is the host's and no planner's. Done right before what is measured
    it disturbs: a plan of a thousand commits then took 0.51 s with 0.42 s of CPU, and 0.27 s with 0.32 s otherwise.
    """
    import subprocess

    size = int(min(TOUCHED, available_memory() - KEEP_FREE))
    if size > 0:
        subprocess.run([sys.executable, "-S", "-c", f"size = {size}; b'1' * size"], check=True)
