"""Import paths of releases before 0.2, so that an import of one says in a sentence where the names are now."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import ModuleType

__all__ = ["MOVED", "install"]

_PLUGIN = "tableformats.plugin"
MOVED: dict[str, str] = {
    "tableformats.arrays": _PLUGIN,
    "tableformats.arrow": "tableformats.engines.arrow",
    "tableformats.changes": "tableformats",
    "tableformats.compute": _PLUGIN,
    "tableformats.concurrency": _PLUGIN,
    "tableformats.datetimes": _PLUGIN,
    "tableformats.inflate": _PLUGIN,
    "tableformats.orc_tail": _PLUGIN,
    "tableformats.plugin.base": _PLUGIN,
    "tableformats.plugin.cache": _PLUGIN,
    "tableformats.plugin.directory": "tableformats.cache.directory",
    "tableformats.plugin.manager": "tableformats.plugin.registry",
    "tableformats.plugin.prefetch": _PLUGIN,
    "tableformats.predicates": "tableformats.expressions.parse",
    "tableformats.report": _PLUGIN,
    "tableformats.scan": "tableformats",
    "tableformats.spark.distributed": "tableformats.engines.spark.distributed",
    "tableformats.spark.modes": "tableformats.spark",
    "tableformats.spark.native": "tableformats.spark",
    "tableformats.spark.portable": "tableformats.spark",
    "tableformats.storage": _PLUGIN,
    "tableformats.transforms": _PLUGIN,
}
"""Old module -> the module from which its names are imported now."""


class _MovedFinder:
    """Asked last, for modules that nobody else finds."""

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> None:
        """None, unless the module was moved. Raises ModuleNotFoundError, which names the new place."""
        if fullname in MOVED:
            raise ModuleNotFoundError(f"{fullname} was moved: import its names from {MOVED[fullname]}", name=fullname)
        return None


def install() -> None:
    """Let imports of old paths say where the names are now."""
    if not any(isinstance(finder, _MovedFinder) for finder in sys.meta_path):
        sys.meta_path.append(_MovedFinder())  # type: ignore[arg-type]  # importlib.abc takes 5 ms
