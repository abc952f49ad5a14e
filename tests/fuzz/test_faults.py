"""Memory, reads, threads and fsync that fail: one right answer or one error, and the next call works.

A sample; ``python -m tests.fuzz.faults`` makes every fault, in the nightly.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz.faults import environment


@pytest.mark.parametrize(
    ("kinds", "only", "step"),
    [
        (("read", "thread", "own"), "deletion-vectors: rows", 3),
        (("fsync",), "append", 1),
        (("arrow",), "deletion-vectors: rows", 97),
        (("python",), "iceberg-deletion-vectors: plan", 997),
    ],
)
def test_the_nth_call_fails(kinds: tuple[str, ...], only: str, step: int, tmp_path: Path) -> None:
    variables = environment(tmp_path)
    if variables is None:
        pytest.skip("faults need Linux, glibc and gcc")
    command = [sys.executable, "-m", "tests.fuzz.faults", "--only", only, "--step", str(step), "--kinds", *kinds]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    # Every kind met a fault somewhere: else nothing was tested.
    for kind in kinds:
        assert re.search(rf", {kind}: .*'error'", done.stdout), done.stdout
