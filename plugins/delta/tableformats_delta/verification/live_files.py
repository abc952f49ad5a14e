"""The live files of a version: add actions of commits, and rows of checkpoints."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, KeysView, Mapping
from itertools import accumulate, count
from typing import Any

from tableformats.plugin import cached_property

from .commit_file import FileKey, has_vector, path_of
from .stored_actions import StoredActions

__all__ = ["LiveFiles"]


class LiveFiles:
    """The live files by key. A row of a checkpoint is kept as its number: a checkpoint may have millions."""

    def __init__(self) -> None:
        self._actions: dict[FileKey, Mapping[str, Any] | int] = {}
        self._blocks: list[StoredActions] = []
        self._stored = 0

    def __len__(self) -> int:
        return len(self._actions)

    def __contains__(self, key: FileKey) -> bool:
        return key in self._actions

    def keys(self) -> KeysView[FileKey]:
        return self._actions.keys()

    @cached_property
    def _with_vector(self) -> Counter[str]:
        """The paths that are live with a deletion vector; most keys are paths, and there are none of them here."""
        return Counter(path_of(key) for key in self._actions if has_vector(key))

    def has_path(self, path: str) -> bool:
        """Whether a path is live, with whatever deletion vector."""
        return path in self._actions or self._with_vector[path] > 0

    def begin(self, block: StoredActions) -> None:
        """Take the add actions of a checkpoint, before any other."""
        self._actions.update(zip(block.keys, count(self._stored)))
        self._blocks.append(block)
        self._stored += len(block)

    def add(self, key: FileKey, action: Mapping[str, Any]) -> None:
        """Take an add action."""
        if has_vector(key):
            self._with_vector[path_of(key)] += key not in self._actions
        self._actions[key] = action

    def remove(self, key: FileKey) -> bool:
        """Forget a file; False where it is not live."""
        is_live = key in self._actions
        if is_live and has_vector(key):
            self._with_vector[path_of(key)] -= 1
        self._actions.pop(key, None)
        return is_live

    def values_of(self, name: str) -> list[Any]:
        """A member of all actions, which is no struct, map or list."""
        stored = [value for block in self._blocks for value in block.plain(name)]
        return [stored[one] if isinstance(one, int) else one.get(name) for one in self._actions.values()]

    def actions(self) -> Iterator[Mapping[str, Any]]:
        """All actions, as in commits."""
        starts = [0, *accumulate(map(len, self._blocks))]
        for one in self._actions.values():
            if isinstance(one, int):
                at = bisect_right(starts, one) - 1
                yield self._blocks[at].action(one - starts[at])
            else:
                yield one
