"""Python's collector of cycles, which looks at all objects again and again while many of them are made."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["importing", "uncollected"]


@contextmanager
def uncollected() -> Iterator[None]:
    """Keep the collector of cycles from looking at very many new objects that stay."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextmanager
def importing() -> Iterator[None]:
    """Import modules without the collector of cycles: what they make stays, and counts as old at once.

    The collector would look at the new objects twice before it takes them for old ones.
    """
    known = len(sys.modules)
    with uncollected():
        yield
        if len(sys.modules) > known and not gc.get_freeze_count():
            gc.freeze()  # all objects leave the young generations,
            gc.unfreeze()  # and join the oldest one, which is collected as before
