"""What threads share, and what of it a forked child can use: values that are made once, and locks that are free there.

A child of a fork has one thread, the one that forked. A lock that another thread held at that moment would stay held
in it for ever, so locks are made anew there; and values that are made when they are asked for take no lock at all.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from threading import Lock
from typing import Any, Generic, Protocol, TypeVar, overload
from weakref import WeakSet

__all__ = ["cached_property", "free_after_fork"]

T = TypeVar("T")


class cached_property(Generic[T]):
    """``functools.cached_property`` as it is from Python 3.12 on; before, it holds one lock for all instances while a
    value is made. Threads that ask at once may each make the value; the first one that is kept stays."""

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make = make
        self._name = make.__name__
        self.__doc__ = make.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> cached_property[T]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> cached_property[T] | T:
        if instance is None:
            return self
        value: T = instance.__dict__.setdefault(self._name, self._make(instance))
        return value


class HasLock(Protocol):
    """Something with a lock of its own; ``after_fork`` is called in a child, once its lock is free."""

    _lock: Any

    def after_fork(self) -> None: ...


_OWNERS: WeakSet[Any] = WeakSet()


def free_after_fork(owner: HasLock) -> None:
    """From now on the lock of ``owner`` is free in every forked child."""
    _OWNERS.add(owner)


def _free_locks() -> None:
    for owner in list(_OWNERS):
        owner._lock = Lock()
        owner.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_free_locks)
