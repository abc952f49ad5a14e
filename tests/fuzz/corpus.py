"""The corpus in the repository: small inputs by target, made by the formats' writers or kept from the fuzzers.

``corpus/<target>/seed-*`` are what the targets' own ``seeds`` make, ``grown-*`` reached code that no seed reaches, and
``finding-*`` is an input that the library once failed on: it stays for good.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from .kernel_seeds import KERNEL_SEEDS
from .targets import TARGETS

__all__ = ["ALL_TARGETS", "FOLDER", "inputs", "keep", "write_seeds"]

FOLDER = Path(__file__).parent / "corpus"
ALL_TARGETS = (*KERNEL_SEEDS, *TARGETS)
MAX_GROWN = 32 << 10
"""Bytes of the inputs that a target keeps from the fuzzers."""


def inputs(target: str) -> list[Path]:
    """The files of a target's corpus, in an order that does not change."""
    return sorted((FOLDER / target).iterdir())


def seeds_of(target: str) -> Mapping[str, bytes]:
    return KERNEL_SEEDS[target]() if target in KERNEL_SEEDS else TARGETS[target].seeds()


def write_seeds(target: str) -> None:
    """Make a target's seeds anew; what was grown and found stays."""
    folder = FOLDER / target
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("seed-*"):
        path.unlink()
    for name, data in seeds_of(target).items():
        (folder / f"seed-{name}").write_bytes(data)


def keep(target: str, grown: Path) -> None:
    """Keep the smallest of the inputs in ``grown``, up to a number of bytes, in place of those that were kept."""
    known = {path.read_bytes() for path in inputs(target) if not path.name.startswith("grown-")}
    for path in (FOLDER / target).glob("grown-*"):
        path.unlink()
    left = MAX_GROWN
    for data in sorted({path.read_bytes() for path in grown.iterdir()} - known, key=lambda data: (len(data), data)):
        left -= len(data)
        if left < 0:
            break
        (FOLDER / target / f"grown-{hashlib.sha1(data, usedforsecurity=False).hexdigest()[:12]}").write_bytes(data)
