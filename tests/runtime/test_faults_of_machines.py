"""Which errors say something of a machine, and which methods get a boundary."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from typing import Any

import pytest

from tableformats.errors import CorruptMetadataError
from tableformats.runtime.boundary import guarded_methods, is_fault_of_machine, passes_boundary


@pytest.mark.parametrize(
    ("error", "is_fault"),
    [
        (MemoryError(), True),
        (MemoryError("malloc of size 0 failed"), True),
        (MemoryError("malloc of size 5 failed"), True),
        (MemoryError(f"realloc of size {2**31 - 1} failed"), True),
        (MemoryError(f"malloc of size {2**31} failed"), False),
        (MemoryError("malloc of size -1 failed"), False),
        (OSError(errno.EIO, "no"), True),
        (OSError("a page is damaged"), False),
        (OSError("IOError: Error reading bytes from file. Detail: [errno 5] Input/output error"), True),
        (OSError("Arrow error: IOError: Error reading bytes from file. Detail: [errno 5] no"), True),
        (OSError("IOError: Error reading bytes from file. Detail: [errno 5] no; more"), False),
        (ValueError("no"), False),
    ],
    ids=str,
)
def test_faults(error: Exception, is_fault: bool) -> None:
    assert is_fault_of_machine(error) is is_fault


@pytest.mark.parametrize(
    ("error", "passes"),
    [
        (KeyboardInterrupt(), True),
        (CorruptMetadataError("x"), True),
        (OSError("x"), True),
        (MemoryError(), True),
        (ImportError(), True),
        (RuntimeError("can't start new thread"), True),
        (RuntimeError("x"), False),
        (ValueError("can't start new thread"), False),
        (KeyError(1), False),
    ],
    ids=repr,
)
def test_what_passes(error: BaseException, passes: bool) -> None:
    assert passes_boundary(error) is passes


def test_only_methods_of_the_class_itself_are_guarded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TABLEFORMATS_LET_THROUGH", raising=False)

    class Base:
        location = "/base"

        def own(self) -> Any:
            raise KeyError("base")

        def inherited(self) -> Any:
            raise KeyError("inherited")

    class Reader(Base):
        value = 5
        inherited = Base.inherited

        def own(self) -> Any:
            raise KeyError("own")

        def items(self) -> Iterator[int]:
            yield 1
            raise KeyError("item")

    guarded_methods(Reader, ("own", "inherited", "value", "items", "none"), "reading")
    reader = Reader()
    assert reader.value == 5 and not hasattr(Reader, "none")
    for call in (Base().own, reader.inherited):
        with pytest.raises(KeyError):
            call()
    with pytest.raises(CorruptMetadataError, match=r"reading \(own\) cannot be read: KeyError: 'own'") as caught:
        reader.own()
    assert caught.value.path == "/base"
    items = reader.items()
    assert next(items) == 1
    with pytest.raises(CorruptMetadataError, match=r"reading \(items\)"):
        next(items)
