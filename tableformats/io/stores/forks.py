"""Refuses requests of a child that was forked from a process with obstore: its threads are the parent's alone."""

from __future__ import annotations

import os

from ...errors import UnsupportedFeatureError
from ..redaction import without_credentials

__all__ = ["check_not_forked"]

_PARENT_USED, _USED = "obstore ran before the fork", "obstore runs"
_state = ""


def check_not_forked(location: str) -> None:
    """Say that obstore is used in this process. Raises UnsupportedFeatureError where it was used before a fork."""
    global _state
    if _state == _PARENT_USED:
        raise UnsupportedFeatureError(
            "a forked process cannot read a store that its parent has read before the fork",
            path=without_credentials(location),
            field="fork",
            hint="Start processes by multiprocessing's method 'spawn' or 'forkserver', or fork before the first table "
            "in a store is opened",
        )
    _state = _USED


def _after_fork() -> None:
    global _state
    _state = _state and _PARENT_USED


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
