"""How often and how long a commit is tried again: pauses, the last try, and the end of the time."""

from __future__ import annotations

import random
import time

import pytest

import tableformats as tf
from tableformats.io.stores.base import PutOutcome
from tableformats.write.commit_loop import CommitOptions, race

LOST, WON = PutOutcome.LOST, PutOutcome.WON


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long the pauses might have been, from none; time goes on by them alone."""
    made: list[float] = []
    monkeypatch.setattr(random, "uniform", lambda low, high: high - low)
    monkeypatch.setattr(time, "sleep", made.append)
    monkeypatch.setattr(time, "monotonic", lambda: 7.0 + sum(made))
    return made


@pytest.mark.parametrize("lost", [0, 1, 3])
def test_the_try_that_won_is_told(pauses: list[float], lost: int) -> None:
    asked: list[int] = []

    def once(attempt: int) -> PutOutcome:
        asked.append(attempt)
        return WON if attempt > lost else LOST

    options = CommitOptions(tries=4, timeout=100, first_wait=1, longest_wait=3)
    assert race(once, options, "the prize") == lost + 1
    assert asked == list(range(1, lost + 2)) and pauses == [1, 2, 3][:lost]


@pytest.mark.parametrize(
    ("tries", "seconds", "made"),
    [(1, 100, []), (3, 100, [1, 2]), (9, 3, [1, 2]), (9, 2.9, [1, 2]), (9, 3.1, [1, 2, 4])],
)
def test_the_last_try(pauses: list[float], tries: int, seconds: float, made: list[float]) -> None:
    with pytest.raises(tf.CommitConflictError, match=rf"won {len(made) + 1} races for the prize") as caught:
        race(
            lambda attempt: LOST, CommitOptions(tries=tries, timeout=seconds, first_wait=1, longest_wait=9), "the prize"
        )
    assert pauses == made and caught.value.hint


@pytest.mark.parametrize("name", ["timeout", "first_wait", "longest_wait", "tries"])
def test_options_are_numbers_in_their_limits(name: str) -> None:
    least = 1 if name == "tries" else 0
    for value in (least, least + 1, *((0.5, 2.5) if name != "tries" else ())):
        assert getattr(CommitOptions(**{name: value}), name) == value
    for wrong in (least - 1, True, False, "1", None, float("nan"), *((1.5,) if name == "tries" else (-0.1,))):
        with pytest.raises(ValueError, match=f"{name} must be a number"):
            CommitOptions(**{name: wrong})
