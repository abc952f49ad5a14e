"""Resolves anchors: ``home:name`` is a definition anywhere below a home's folder, whatever file it stands in.

``home/stem:name`` says in which file (the end of its path, without the ending), where several define the name and hold
what is replaced.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from tests.mutants.definitions import Definition, Source
from tests.mutants.tokens import occurrences, tokenize

HOMES = {
    "core": ("tableformats", (".py", ".pyx", ".pxd", ".java")),
    "delta": ("plugins/delta", (".py", ".pyx", ".pxd")),
    "iceberg": ("plugins/iceberg", (".py", ".pyx", ".pxd")),
    "c": ("csrc", (".c", ".h")),
}
"""The folder of each home, and the endings of its sources."""


class Place(NamedTuple):
    """A definition in its file, which is relative to the repository."""

    file: str
    source: Source
    definition: Definition

    def __str__(self) -> str:
        return f"{self.definition.name} ({self.file}:{self.source.line(self.definition.start)})"

    def occurrences(self, find: str) -> list[tuple[int, int]]:
        """Start and end of each place in the definition where the tokens of ``find`` stand."""
        sought = tokenize(find, self.source.file.suffix)
        return occurrences(self.source.tokens_of(self.definition), sought)


@cache
def places(root: Path, home: str) -> tuple[Place, ...]:
    """All definitions of a home. The files are read once for each ``root``."""
    folder, endings = HOMES[home]
    files = sorted(file for file in (root / folder).rglob("*") if file.suffix in endings)
    sources = [(file.relative_to(root).as_posix(), Source(file)) for file in files]
    return tuple(Place(file, source, found) for file, source in sources for found in source.definitions)


def locate(where: str, root: Path, find: str | None = None) -> Place:
    """The definition that an anchor names; of several the one in which ``find`` stands exactly once.

    Raises ValueError if there is none, or more than one.
    """
    home, _, stem = where.partition(":")[0].partition("/")
    name = where.partition(":")[2]
    if home not in HOMES:
        raise ValueError(f"{where!r} is in none of {', '.join(HOMES)}")
    named = [place for place in places(root, home) if place.definition.name == name]
    found = [place for place in named if not stem or _ends_with(place.file, stem)]
    if len(found) > 1 and find is not None:
        found = [place for place in found if len(place.occurrences(find)) == 1] or found
    if len(found) == 1:
        return found[0]
    if found:
        raise ValueError(f"{where!r} is ambiguous: {', '.join(map(str, found))}")
    last = name.rpartition(".")[2]
    alike = named or [place for place in places(root, home) if place.definition.name.rpartition(".")[2] == last]
    raise ValueError(f"{where!r} is not defined" + "".join(f"; there is {place}" for place in alike))


def holders(find: str, root: Path) -> list[str]:
    """Anchors of the smallest definitions that hold ``find`` exactly once, with their files."""
    found = []
    for home in HOMES:
        held = [place for place in places(root, home) if len(place.occurrences(find)) == 1]
        found += [f"{home}:{place}" for place in held if not any(_is_within(inner, place) for inner in held)]
    return found


def _ends_with(file: str, stem: str) -> bool:
    return f"/{PurePosixPath(file).with_suffix('')}".endswith(f"/{stem}")


def _is_within(inner: Place, outer: Place) -> bool:
    a, b = inner.definition, outer.definition
    return inner.file == outer.file and a != b and b.start <= a.start and a.end <= b.end


__all__ = ["HOMES", "Place", "holders", "locate", "places"]
