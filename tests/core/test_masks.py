"""SQL's logic of three values, which all masks of verdicts are made from."""

from __future__ import annotations

import pytest

from tableformats._core.masks import _and, _not, _or

VALUES = (True, None, False)


@pytest.mark.parametrize("a", VALUES)
@pytest.mark.parametrize("b", VALUES)
def test_and_is_the_least_and_or_the_greatest(a: bool | None, b: bool | None) -> None:
    """With NULL between FALSE and TRUE."""
    at = {value: place for place, value in enumerate(VALUES)}
    assert _and(a, b) is VALUES[max(at[a], at[b])]
    assert _or(a, b) is VALUES[min(at[a], at[b])]


def test_not() -> None:
    assert [_not(value) for value in VALUES] == [False, None, True]
