"""One mutant: what is replaced where, the cause of wrong answers that it stands for, and who should notice."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.mutants.anchors import Place, holders, locate

ROOT = Path(__file__).resolve().parents[2]
NATIVE = (".pyx", ".pxd", ".c", ".h")


@dataclass(frozen=True)
class Mutant:
    """``find`` stands exactly once in the definition ``where`` and is replaced by ``put``.

    ``where`` is an anchor (:mod:`tests.mutants.anchors`): ``core:Range.located``, ``c:tf_keyset_add``. Only the tokens
    of ``find`` count: not white space, line breaks, comments, quotes or a comma before a closing bracket. The lines of
    ``put`` are indented relative to the line in which ``find`` begins.

    ``cause`` says what a naive reader does. ``killers`` are test files (or test ids) of which one should fail; where
    none does, all of :data:`tests.mutants.runner.FALLBACK` are asked. A test file is named by the end of its path
    below ``tests``.
    """

    name: str
    where: str
    find: str
    put: str
    cause: str
    killers: tuple[str, ...]

    @property
    def file(self) -> str:
        """The file that holds the definition, relative to the repository."""
        return self.located().file

    @property
    def is_native(self) -> bool:
        """Whether extensions must be built again."""
        return self.file.endswith(NATIVE)

    def located(self, root: Path = ROOT) -> Place:
        """The definition. Raises ValueError unless there is exactly one."""
        try:
            return locate(self.where, root, self.find)
        except ValueError as error:
            raise ValueError(f"mutant {self.name}: {error}{_hint(self.find, root)}") from None

    def mutated(self, root: Path = ROOT) -> str:
        """The file's text with the mutant in it. Raises ValueError unless ``find`` stands there exactly once."""
        place = self.located(root)
        found = place.occurrences(self.find)
        if len(found) != 1:
            hint = "" if found else _hint(self.find, root)
            raise ValueError(f"mutant {self.name}: {self.find!r} stands {len(found)} times in {place}, not once{hint}")
        (start, end), text = found[0], place.source.text
        line = text[text.rfind("\n", 0, start) + 1 :]
        indentation = re.match(r"[ \t]*", line)
        put = self.put.replace("\n", "\n" + (indentation.group() if indentation else ""))
        return text[:start] + put + text[end:]

    def killing_tests(self, root: Path = ROOT) -> list[str]:
        """``killers`` with whole paths, relative to ``root``. Raises ValueError unless each names one file."""
        return [_test(killer, root) for killer in self.killers]


def _hint(find: str, root: Path) -> str:
    found = holders(find, root)
    return f"; {find!r} stands once in {', '.join(found)}" if found else f"; {find!r} stands nowhere once"


def _test(killer: str, root: Path) -> str:
    end, colons, test = killer.partition("::")
    files = [file for file in _test_files(root) if f"/{file}".endswith(f"/{end}")]
    if len(files) != 1:
        raise ValueError(f"{end!r} is the end of {len(files)} test files, not of one: {', '.join(files)}")
    return f"{files[0]}{colons}{test}"


@cache
def _test_files(root: Path) -> list[str]:
    return sorted(file.relative_to(root).as_posix() for file in (root / "tests").rglob("test_*.py"))


__all__ = ["NATIVE", "ROOT", "Mutant"]
