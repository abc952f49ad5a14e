"""Small input, large output: each class of it costs at most a second and a fixed amount of memory by default."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.fuzz.attacks import ATTACKS

SECONDS = 1.0
PEAK = 256 << 20
STORED = 1100 << 10
"""Bytes of an attack: about 1 MiB. More would be a fair price for what it costs."""

SLOW = {
    "checkpoint_with_a_schema_of_spaces",
    "deletes_of_one_row",
    "deletes_with_a_path_of_spaces",
    "gzip_spaces",
    "gzip_wide_characters",
}
"""To build these takes seconds; they run in the nightly (``TF_FUZZ_ALL=1``)."""
FOOTERS = [name for name in ATTACKS if name.startswith("footer_of_")]
"""The same footers in each of three places; by day each of them is in one, the nightly has all."""
TWICE = {name for i, name in enumerate(FOOTERS) if i % (len(FOOTERS) // 3) % 3 != i // (len(FOOTERS) // 3)}
RUN = [name for name in ATTACKS if name not in SLOW | TWICE or os.environ.get("TF_FUZZ_ALL")]

pytestmark = pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="peaks are measured on Linux")


@pytest.fixture(scope="module")
def figures() -> dict[str, dict[str, Any]]:
    """Attacks that took long run a second time: a busy machine is no finding."""
    found = run(RUN)
    slow = [name for name, one in found.items() if one["seconds"] > SECONDS]
    return {**found, **(run(slow) if slow else {})}


def run(names: list[str]) -> dict[str, dict[str, Any]]:
    command = [sys.executable, "-m", "tests.fuzz.attacks", *names]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
    return {one["name"]: one for one in map(json.loads, done.stdout.splitlines())}


@pytest.mark.parametrize("name", RUN)
def test_an_attack_is_cheap(name: str, figures: dict[str, dict[str, Any]]) -> None:
    one = figures[name]
    assert one["ours"], one
    assert one["bytes"] <= STORED, one
    assert one["seconds"] <= SECONDS, one
    assert one["peak"] <= PEAK, one


def test_the_page_names_every_attack() -> None:
    page = (Path(__file__).parents[2] / "docs" / "measured" / "attacks.md").read_text()
    assert [name for name in ATTACKS if f"| `{name}` |" not in page] == []
