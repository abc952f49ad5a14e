"""State that threads share and that a forked child can still use: cached properties, and locks.

A forked child has one thread, the one that forked. A lock that another thread held at that moment would stay held in
the child for ever. So locks are replaced in the child, and cached properties use no lock.
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
    """``functools.cached_property`` as of Python 3.12, for older versions too.

    Before 3.12 it holds one lock for all instances while a value is computed. This one has no lock: threads that ask
    at the same time may each compute the value, and all get the one that was stored first.
    """

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
    """An object with a lock. ``after_fork`` is called in a forked child, after the lock was replaced."""

    _lock: Any

    def after_fork(self) -> None: ...


_OWNERS: WeakSet[Any] = WeakSet()


def free_after_fork(owner: HasLock) -> None:
    """Replace the lock of ``owner`` in every forked child from now on."""
    _OWNERS.add(owner)


def _free_locks() -> None:
    for owner in list(_OWNERS):
        owner._lock = Lock()
        owner.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_free_locks)
