"""Texts in one piece of memory: each is there as it was read; what was taken before stays until they are cleared."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tableformats_delta.log.commit_buffer import CommitBuffer, buffer_of_thread

from tableformats.errors import LimitExceededError
from tableformats.io.storage import Storage
from tableformats.limits import Limits

GIVEN = [b"", b"one", b"two\n", b"x" * 5000, b""]


def test_texts_one_behind_the_other() -> None:
    texts = CommitBuffer(GIVEN)
    assert [texts[i] for i in range(len(texts))] == GIVEN
    assert texts.data().tobytes() == b"".join(text + b"\n" for text in GIVEN) + b"\0"
    assert texts.starts == [0, 1, 5, 10, 5011, 5012]
    for number in (-1, 5):
        with pytest.raises(IndexError):
            texts[number]


def test_room_that_is_not_used_is_given_again() -> None:
    texts = CommitBuffer([b"one"])
    texts.reserve(100)[:] = b"y" * 100
    texts.reserve(3)[:] = b"two"
    texts.end(2)
    assert (texts[0], texts[1], texts.data().tobytes()) == (b"one", b"tw", b"one\ntw\n\0")


def test_what_is_looked_at_survives_growth() -> None:
    texts = CommitBuffer([b"one"])
    before = texts.data()
    texts.reserve(1 << 16)[:] = b"z" * (1 << 16)
    texts.end(1 << 16)
    assert before.tobytes() == b"one\n\0"


def test_texts_that_are_expected_stay_in_one_piece_of_memory() -> None:
    texts = CommitBuffer([b"one"])
    texts.expect([len(text) for text in GIVEN])
    before = texts.data()
    for text in GIVEN:
        texts.reserve(len(text))[:] = text
        texts.end(len(text))
    assert np.shares_memory(before, texts.data())
    assert [texts[i] for i in range(len(texts))] == [b"one", *GIVEN]


@pytest.mark.parametrize("size", [10, 9 << 20])
def test_cleared_texts_begin_again(size: int) -> None:
    texts = CommitBuffer([b"x" * size])
    texts.clear()
    assert (len(texts), texts.data().tobytes()) == (0, b"\0")
    texts.reserve(1)[:] = b"y"
    texts.end(1)
    assert texts.data().tobytes() == b"y\n\0"


def test_a_thread_has_its_own_which_are_empty(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    storage, texts = Storage(tmp_path), buffer_of_thread()
    texts.end(len(storage.read_into(storage.join("a"), texts.reserve)))
    assert texts[0] == b"abc"
    assert buffer_of_thread() is texts
    assert len(texts) == 0
    with pytest.raises(LimitExceededError):
        Storage(tmp_path, limits=Limits(metadata_bytes=2)).read_into(storage.join("a"), texts.reserve)
