"""The corpus in the repository: small inputs by target, made by the formats' writers or found by the fuzzers.

``corpus/<target>/seed-*`` are what the targets' own ``seeds`` make; ``finding-*`` is an input that the library once
failed on, and stays for good.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tests.fuzz.kernel_seeds import KERNEL_SEEDS
from tests.fuzz.targets import TARGETS

__all__ = ["ALL_TARGETS", "FOLDER", "inputs", "write_seeds"]

FOLDER = Path(__file__).parent / "corpus"
ALL_TARGETS = (*KERNEL_SEEDS, *TARGETS)


def inputs(target: str) -> list[Path]:
    """The files of a target's corpus, in an order that does not change."""
    return sorted((FOLDER / target).iterdir())


def seeds_of(target: str) -> Mapping[str, bytes]:
    return KERNEL_SEEDS[target]() if target in KERNEL_SEEDS else TARGETS[target].seeds()


def write_seeds(target: str) -> None:
    """Make a target's seeds anew; what was found stays."""
    folder = FOLDER / target
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("seed-*"):
        path.unlink()
    for name, data in seeds_of(target).items():
        (folder / f"seed-{name}").write_bytes(data)
