"""What an error says: its message, where it is, what to do, and what became of a commit, as sentences."""

from __future__ import annotations

import pickle

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


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ({}, "wrong"),
        ({"path": ""}, "wrong (path '')"),
        ({"offset": 0}, "wrong (offset 0)"),
        ({"field": ""}, "wrong (field '')"),
        ({"path": "a", "offset": 7, "field": "b"}, "wrong (path 'a', offset 7, field 'b')"),
        ({"path": "a\x1b\n"}, "wrong (path 'a\\x1b\\n')"),
    ],
)
def test_the_place_is_named(place: dict[str, object], text: str) -> None:
    error = tf.TableFormatsError("wrong", **place)  # type: ignore[arg-type]
    assert str(error) == text
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is tf.TableFormatsError and again.__dict__ == error.__dict__ and str(again) == text


def test_what_a_message_quotes_cannot_control_a_terminal() -> None:
    assert str(tf.TableFormatsError("a\x1b[2J\nb \u2028é")) == "a\\x1b[2J\\nb \\u2028é"


@pytest.mark.parametrize(
    ("hint", "found"),
    [(None, "Nothing was read; another reader may know the feature"), ("Do this", "Do this"), ("", "")],
)
def test_a_hint_of_its_own_comes_instead_of_that_of_the_kind(hint: str | None, found: str) -> None:
    error = tf.UnsupportedFeatureError("wrong", hint=hint)
    assert error.hint == found
    assert str(error) == (f"wrong. {found}" if found else "wrong")


@pytest.mark.parametrize("said", ["Nothing was committed", "nothing was written at all"])
def test_that_nothing_was_done_is_said_once(said: str) -> None:
    error = tf.TableFormatsError(said, hint="Do this")
    error.committed = False
    assert str(error) == f"{said}. Do this"
