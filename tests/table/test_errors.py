"""What an error says: its message, where it is, what to do, and what became of a commit, as sentences."""

from __future__ import annotations

import pytest

import tableformats as tf


@pytest.mark.parametrize("stop", ["", "."])
@pytest.mark.parametrize(
    ("committed", "end"),
    [
        (None, ""),
        (False, ". Nothing was committed"),
        (True, ". The commit was made: do not run it again"),
    ],
)
def test_one_full_stop_stands_between_sentences(stop: str, committed: bool | None, end: str) -> None:
    error = tf.TableFormatsError("the value is wrong", path="a/b", field="c", hint=f"Write another{stop}")
    error.committed = committed
    assert str(error) == f"the value is wrong (path 'a/b', field 'c'). Write another{end or stop}"


def test_an_ellipsis_stays() -> None:
    assert str(tf.TableFormatsError("cut off...", hint="Read it whole")) == "cut off... Read it whole"
