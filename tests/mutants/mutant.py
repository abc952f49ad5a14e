"""One mutant: what is replaced where, the cause of wrong answers that it stands for, and who should notice."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NATIVE = (".pyx", ".pxd", ".c", ".h")


@dataclass(frozen=True)
class Mutant:
    """``find`` stands exactly once in ``file`` (relative to the repository) and is replaced by ``put``.

    ``cause`` says what a naive reader does. ``killers`` are test files (or test ids) of which one should fail; where
    none does, all of :data:`tests.mutants.runner.FALLBACK` are asked.
    """

    name: str
    file: str
    find: str
    put: str
    cause: str
    killers: tuple[str, ...]

    @property
    def is_native(self) -> bool:
        """Whether extensions must be built again."""
        return self.file.endswith(NATIVE)

    def mutated(self, root: Path = ROOT) -> str:
        """The file's text with the mutant in it. Raises ValueError unless ``find`` stands there exactly once."""
        text = (root / self.file).read_text()
        if (count := text.count(self.find)) != 1:
            raise ValueError(f"mutant {self.name}: {self.find!r} stands {count} times in {self.file}, not once")
        return text.replace(self.find, self.put)


__all__ = ["NATIVE", "ROOT", "Mutant"]
