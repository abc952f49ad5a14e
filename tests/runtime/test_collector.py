"""What imports make is old at once; all else is collected as ever."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Iterator

import pytest

from tableformats.runtime.collector import importing, uncollected


class Cycle:
    def __init__(self) -> None:
        self.own = self


@pytest.fixture(autouse=True)
def nothing_frozen() -> Iterator[None]:
    """The tests' own conftest freezes what it has imported."""
    was_frozen = gc.get_freeze_count() > 0
    gc.unfreeze()
    yield
    gc.enable()
    gc.unfreeze()
    if was_frozen:
        gc.freeze()


def is_young(made: object) -> bool:
    return any(one is made for one in gc.get_objects(generation=0))


@pytest.mark.parametrize("is_new", [True, False])
def test_only_imports_make_objects_old(is_new: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    gc.collect()
    with importing():
        made = Cycle()
        if is_new:
            monkeypatch.setitem(sys.modules, "a_new_module", sys)
        assert not gc.isenabled()
    assert gc.isenabled() and is_young(made) is not is_new
    found = weakref.ref(made)
    del made
    gc.collect()
    assert found() is None, "the old are collected, too"


def test_what_the_user_has_frozen_stays_so(monkeypatch: pytest.MonkeyPatch) -> None:
    gc.freeze()
    frozen = gc.get_freeze_count()
    with importing():
        monkeypatch.setitem(sys.modules, "a_new_module", sys)
    assert gc.get_freeze_count() >= frozen > 0


@pytest.mark.parametrize("block", [uncollected, importing])
def test_a_collector_that_is_off_stays_off(block: type) -> None:
    gc.disable()
    with pytest.raises(KeyError), block():
        raise KeyError
    assert not gc.isenabled()
    gc.enable()
    with block(), block():
        pass
    assert gc.isenabled()
