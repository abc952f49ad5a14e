"""The entry points of a group, found as :mod:`importlib.metadata` finds them.

That module imports readers of mail and of archives, which takes as long as planning a small table. Entry points are
lines of ``entry_points.txt`` in the directories ``*.dist-info`` and ``*.egg-info`` of ``sys.path``; of two directories
of one distribution the first counts. Where distributions are found in another way (in an archive, in an egg, by a
finder of somebody else), :mod:`importlib.metadata` is asked.

Sources: "Entry points specification" and "Recording installed projects" of the Python Packaging User Guide.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import field
from importlib import import_module
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING, Any, Protocol

from ..dataclass import dataclass
from ..lazy_pattern import lazy_pattern

if TYPE_CHECKING:
    from importlib import metadata

__all__ = ["AnyEntryPoint", "InstalledEntryPoint", "entry_points"]

_KINDS = (".dist-info", ".egg-info")
_OBJECT = lazy_pattern(r"([\w.]+)\s*(?::\s*([\w.]+)\s*)?(?:\[.*\]\s*)?")
_SEPARATORS = lazy_pattern(r"[-_.]+")


class AnyEntryPoint(Protocol):
    """What is used of an ``importlib.metadata.EntryPoint``. It may have ``dist``, its distribution, too."""

    @property
    def name(self) -> str:
        """What the plugin is called."""

    @property
    def value(self) -> str:
        """The module, or the object of a module."""

    def load(self) -> Any:
        """The object. Raises as its import does."""


@dataclass(frozen=True)
class InstalledEntryPoint:
    """A line of the file ``entry_points.txt`` of the directory ``folder``."""

    name: str
    value: str
    folder: str = field(repr=False)

    def load(self) -> Any:
        """See :class:`AnyEntryPoint`. Raises ValueError where the line names no object."""
        match = _OBJECT.fullmatch(self.value)
        if match is None:
            raise ValueError(f"{self.value!r} names no module")
        found: Any = import_module(match[1])
        for name in filter(None, (match[2] or "").split(".")):
            found = getattr(found, name)
        return found

    @property
    def dist(self) -> metadata.Distribution:
        """The distribution; its metadata are read when they are asked for."""
        from importlib import metadata
        from pathlib import Path

        return metadata.PathDistribution(Path(self.folder))


def entry_points(group: str) -> list[AnyEntryPoint]:
    """The entry points of ``group`` of all installed distributions, in any order."""
    folders: dict[str, str] = {}
    is_known = all(finder is PathFinder or not hasattr(finder, "find_distributions") for finder in sys.meta_path)
    for path in sys.path if is_known else ():
        try:
            names = os.listdir(path or ".")
        except FileNotFoundError:
            continue
        except OSError:  # an archive, perhaps
            is_known = False
            break
        is_known = is_known and not any(name.endswith(".egg") for name in names)
        for name in names:
            if name.endswith(_KINDS):
                folders.setdefault(_distribution(name), os.path.join(path or ".", name))
    if not is_known:
        from importlib import metadata

        return list(metadata.entry_points(group=group))
    return [point for folder in folders.values() for point in _points(folder, group)]


def _distribution(folder: str) -> str:
    """The name of a distribution, in the spelling in which two of them are compared."""
    stem = os.path.splitext(folder)[0]
    return _SEPARATORS.sub("_", stem.partition("-")[0]).lower()


def _points(folder: str, group: str) -> Iterator[InstalledEntryPoint]:
    try:
        with open(os.path.join(folder, "entry_points.txt"), encoding="utf-8") as file:
            text = file.read()
    except OSError:  # it has none
        return
    section = None
    for line in map(str.strip, text.splitlines() if f"[{group}]" in text else ()):
        if line.startswith("[") and line.endswith("]"):
            section = line[1:-1]
        elif section == group and line and not line.startswith("#"):
            name, _, value = line.partition("=")
            yield InstalledEntryPoint(name.strip(), value.strip(), folder)
