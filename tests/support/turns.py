"""Writers of one machine mostly know that others were faster before they lose a race. Tests of lost races forget it."""

from __future__ import annotations

import pytest

from tableformats.runtime import turns

__all__ = ["forget_ends", "know_ends"]

_KNOWN = turns._is_ended_since


def forget_ends(patch: pytest.MonkeyPatch) -> None:
    """Only who waited for a turn knows that there was another one."""
    patch.setattr(turns, "_is_ended_since", lambda handle, since_ns: False)


def know_ends(patch: pytest.MonkeyPatch) -> None:
    """As outside of tests."""
    patch.setattr(turns, "_is_ended_since", _KNOWN)
