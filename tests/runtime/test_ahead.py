"""``ahead`` gives what the iterator gives, errors and the end in their places, and lets its thread go."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from tableformats.runtime.threads import ahead


@pytest.mark.parametrize("count", [1, 3, 100])
def test_the_items_in_their_order(count: int) -> None:
    assert list(ahead(range(20), count)) == list(range(20))
    assert list(ahead([], count)) == []


def test_no_more_items_than_asked_are_made_before() -> None:
    made: list[int] = []

    def items() -> Iterator[int]:
        for i in range(20):
            made.append(i)
            yield i

    found = ahead(items(), 2)
    for i in range(10):
        assert next(found) == i
        assert len(made) <= i + 4
    found.close()  # type: ignore[attr-defined]
    assert len(made) < 20


def test_an_error_comes_in_its_place() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise ValueError("damaged")

    found = ahead(items(), 3)
    assert next(found) == 1
    with pytest.raises(ValueError, match="damaged"):
        next(found)
    assert list(found) == []


@pytest.mark.thread_unsafe(reason="counts the threads of the process")
def test_its_thread_ends_with_it() -> None:
    before = threading.active_count()
    found = ahead(iter(range(10)), 2)
    next(found)
    del found
    assert threading.active_count() == before
