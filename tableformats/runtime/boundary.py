"""The boundary between a table's bytes and callers: foreign exceptions become CorruptMetadataError.

A reader that trips over hostile bytes may raise whatever Python or a library raises on the way. Callers are promised
our errors only. So what plugins and readers raise passes :class:`boundary`. An exception here is a defect of a reader
all the same: tests, fuzzers and the build with sanitizers let it through (``TABLEFORMATS_LET_THROUGH=1``), so that it
is found and mended at its root.

What is no fault of the bytes passes as it is: errors of ours, of the operating system (OSError), memory that cannot be
had (MemoryError), threads that cannot be started, libraries that are not installed (ImportError).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, TypeVar

from ..errors import CorruptMetadataError, TableFormatsError
from ..lazy_pattern import lazy_pattern

__all__ = ["boundary", "guarded_methods", "is_fault_of_machine", "lets_through", "note_path", "passes_boundary"]

Call = TypeVar("Call", bound=Callable[..., Any])

_HINT = (
    "The table's own files are damaged, or the reader has a defect: restore them or read an older version, and report "
    "the traceback"
)
_LET_THROUGH = "TABLEFORMATS_LET_THROUGH"
_PASSING = (TableFormatsError, OSError, MemoryError, ImportError)
_CLAIMED = lazy_pattern(r"(?:malloc|realloc) of size (-?\d+) failed")
_ORC_READ = lazy_pattern(r"(?:Arrow error: )?IOError: Error reading bytes from file\. Detail: \[errno \d+\] [\w ,/-]+")
_MOST_CLAIMED = 1 << 31
"""No page has more bytes, so a larger allocation is a claim of damaged bytes and no lack of memory."""
_local = threading.local()


def note_path(path: str) -> None:
    """Remember the file that this thread reads, for the error of a boundary around it."""
    _local.path = path


def passes_boundary(error: BaseException) -> bool:
    """Whether an exception is ours, or says nothing about a table's bytes."""
    if not isinstance(error, Exception) or isinstance(error, _PASSING):
        return True
    return isinstance(error, RuntimeError) and "start new thread" in str(error)


def is_fault_of_machine(error: BaseException) -> bool:
    """Whether memory that cannot be had or the operating system, and not a file's bytes, made Arrow raise this."""
    if isinstance(error, MemoryError):
        claimed = _CLAIMED.search(str(error))
        return claimed is None or 0 <= int(claimed.group(1)) < _MOST_CLAIMED
    if not isinstance(error, OSError):
        return False
    # Arrow's errors over bytes have no number. Its reader of ORC keeps that of the operating system in the text alone.
    return error.errno is not None or _ORC_READ.fullmatch(str(error)) is not None


def lets_through() -> bool:
    """Whether foreign exceptions pass the boundary, so that tests and fuzzers see them."""
    return os.environ.get(_LET_THROUGH) == "1"


class boundary:
    """A context in which an exception that is not ours becomes CorruptMetadataError, with the exception as its cause.

    Parameters
    ----------
    what : str
        What is being read, for the error.
    path : str, optional
        Where, if no file was opened within the context.
    """

    __slots__ = ("_before", "_path", "_what")

    def __init__(self, what: str, path: str | None = None) -> None:
        self._what = what
        self._path = path

    def __enter__(self) -> None:
        self._before = getattr(_local, "path", None)
        _local.path = None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        read = getattr(_local, "path", None)
        _local.path = read or self._before
        if error is None or passes_boundary(error) or lets_through():
            return
        said = str(error)[:300]
        raise CorruptMetadataError(
            f"{self._what} cannot be read: {type(error).__name__}{': ' if said else ''}{said}",
            path=read or self._path,
            hint=_HINT,
        ) from error


def guarded_methods(cls: type, names: tuple[str, ...], what: str) -> None:
    """Put a boundary around the methods ``names`` that ``cls`` itself defines, and around iterators that they return.

    Parameters
    ----------
    what : str
        What the methods read. The name of the method follows it in errors.
    """
    for name in names:
        method = cls.__dict__.get(name)
        is_inherited = any(getattr(base, name, None) is method for base in cls.__mro__[1:])
        if callable(method) and not is_inherited:
            setattr(cls, name, _guarded(method, f"{what} ({name})"))


def _guarded(method: Call, what: str) -> Call:
    @wraps(method)
    def call(self: Any, *arguments: Any, **options: Any) -> Any:
        with boundary(what, _location(self, arguments)):
            found = method(self, *arguments, **options)
        return _guarded_items(found, what, _location(self, arguments)) if hasattr(found, "__next__") else found

    return call  # type: ignore[return-value]


def _guarded_items(items: Iterator[Any], what: str, path: str | None) -> Iterator[Any]:
    end = object()
    while True:
        with boundary(what, path):
            item = next(items, end)
        if item is end:
            return
        yield item


def _location(owner: Any, arguments: tuple[Any, ...]) -> str | None:
    """The root of the table that a method reads: ``location`` of its owner, or the root of the storage it is given."""
    found = getattr(owner, "location", None) or getattr(arguments[0] if arguments else None, "root", None)
    return found if isinstance(found, str) else None
