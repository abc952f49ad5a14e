"""Makes a finding small: pieces are left out as long as the target still fails."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

__all__ = ["fails_in_child", "fails_in_program", "minimised", "smaller_file"]


def minimised(data: bytes, fails: Callable[[bytes], bool], seconds: float = 60.0) -> bytes:
    """The smallest input found in that time by leaving out pieces, each half as long as the last ones.

    ``fails`` says whether an input is still a finding. ``data`` itself is given back where it is none.
    """
    end = time.monotonic() + seconds
    if not fails(data):
        return data
    size = max(len(data) // 2, 1)
    while True:
        at, before = 0, len(data)
        while at < len(data):
            if time.monotonic() > end:
                return data
            shorter = data[:at] + data[at + size :]
            if fails(shorter):
                data = shorter
            else:
                at += size
        if size == 1 and len(data) == before:
            return data
        size = max(size // 2, 1)


def fails_in_program(command: Sequence[str]) -> Callable[[bytes], bool]:
    """For a fuzz target that is a program: it takes a file and ends with another status than 0."""

    def fails(data: bytes) -> bool:
        with tempfile.NamedTemporaryFile() as file:
            file.write(data)
            file.flush()
            return subprocess.run([*command, file.name], capture_output=True).returncode != 0

    return fails


def fails_in_child(call: Callable[[bytes], object]) -> Callable[[bytes], bool]:
    """For a target in Python: ``call`` raises, or ends its process."""

    def fails(data: bytes) -> bool:
        child = os.fork()
        if not child:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 2)
            try:
                call(data)
            except BaseException:
                os._exit(1)
            os._exit(0)
        return os.waitpid(child, 0)[1] != 0

    return fails


def smaller_file(finding: Path, fails: Callable[[bytes], bool], seconds: float = 60.0) -> Path:
    """Minimise a finding into a file beside it, with ``.min`` at its end."""
    target = finding.with_name(finding.name + ".min")
    target.write_bytes(minimised(finding.read_bytes(), fails, seconds))
    return target
