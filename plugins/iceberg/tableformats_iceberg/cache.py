"""Decoded manifests, kept between plans: manifests never change, so their columns need not be made twice."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .entries import Entries
    from .manifests import Manifest

__all__ = ["ManifestCache"]


class ManifestCache:
    """The entries of the manifests of one table that were used last, up to ``budget`` bytes.

    A row of a manifest list is the key, because files inherit from it; an entry serves every plan that asks for the
    statistics of no further columns. Threads may share a cache.
    """

    def __init__(self, budget: int = 256 << 20) -> None:
        self._budget = budget
        self._found: OrderedDict[Manifest, tuple[frozenset[int], Entries]] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def get(self, manifest: Manifest, columns: Iterable[int]) -> Entries | None:
        """The entries of ``manifest`` with statistics of at least ``columns``, or None."""
        with self._lock:
            kept, entries = self._found.get(manifest, (frozenset(), None))
            if entries is None or not kept.issuperset(columns):
                return None
            self._found.move_to_end(manifest)
            return entries

    def put(self, manifest: Manifest, columns: Iterable[int], entries: Entries) -> None:
        """Keep ``entries``; those used longest ago make room."""
        with self._lock:
            if manifest in self._found:
                self._size -= self._found.pop(manifest)[1].nbytes
            if entries.nbytes > self._budget:
                return
            self._found[manifest] = (frozenset(columns), entries)
            self._size += entries.nbytes
            while self._size > self._budget:
                self._size -= self._found.popitem(last=False)[1][1].nbytes
