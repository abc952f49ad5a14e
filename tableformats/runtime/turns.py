"""Let the writers of one machine commit to a table one after the other, so that they do not lose races to each other.

This saves work and decides nothing: the store or the catalog decides who wins. A writer that cannot take a turn, or has
waited too long for it, goes on without.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

__all__ = ["local_turn"]

_LONGEST_WAIT_S = 1.0
_STAMP_BYTES = 8


@contextmanager
def local_turn(key: str, since_ns: int | None = None, meanwhile: Callable[[], None] | None = None) -> Iterator[bool]:
    """A block that one writer of this user and machine is in at a time, for each ``key``.

    Parameters
    ----------
    since_ns : int, optional
        A time of :func:`time.monotonic_ns`, which is one clock for all processes of a machine. None: the call.
    meanwhile : callable, optional
        Work that is done only while others are waited for. What it raises ends the wait.

    Yields
    ------
    bool
        Whether others were in it since ``since_ns``, or may be in it still: at most a second is waited for them.
    """
    try:
        handle = os.open(_lock_file(key), os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
    except (OSError, AttributeError):
        yield False
        return
    try:
        yield _wait_for(handle, meanwhile) or _is_ended_since(handle, since_ns)
    finally:
        _stamp(handle)
        os.close(handle)  # which ends the turn, as the end of the process does


def _lock_file(key: str) -> str:
    """The file that is locked, in a directory of the user alone. Raises OSError, AttributeError (Windows)."""
    directory = os.path.join(tempfile.gettempdir(), f"tableformats-turns-{os.getuid()}")
    os.makedirs(directory, mode=0o700, exist_ok=True)
    found = os.lstat(directory)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise PermissionError(directory)
    return os.path.join(directory, hashlib.sha256(key.encode(errors="surrogatepass")).hexdigest()[:32])


def _is_ended_since(handle: int, since_ns: int | None) -> bool:
    """Whether a turn ended after ``since_ns``. The file says when the last one did; after a restart it may be wrong."""
    if since_ns is None:
        return False
    try:
        found = os.pread(handle, _STAMP_BYTES, 0)
    except OSError:
        return False
    return len(found) == _STAMP_BYTES and int.from_bytes(found, "little") > since_ns


def _stamp(handle: int) -> None:
    """Say in the file that a turn ends now."""
    with suppress(OSError):  # others then take the table for as new as they know it
        os.pwrite(handle, time.monotonic_ns().to_bytes(_STAMP_BYTES, "little"), 0)


def _wait_for(handle: int, meanwhile: Callable[[], None] | None) -> bool:
    """Lock the file, or wait for it no longer than a turn may take. Whether there was anything to wait for."""
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return False
    except BlockingIOError:
        pass
    except OSError:  # a file system without locks
        return False
    waiting = os.dup(handle)
    done = threading.Event()

    def wait() -> None:
        # The lock belongs to both handles. So if nobody waits any more, it ends when this one is closed.
        try:
            fcntl.flock(waiting, fcntl.LOCK_EX)
        except OSError:
            pass
        finally:
            os.close(waiting)
            done.set()

    try:
        threading.Thread(target=wait, daemon=True, name="tableformats-turn").start()
    except RuntimeError:  # the interpreter is ending, or there are too many
        os.close(waiting)
        return True
    if meanwhile is not None:
        meanwhile()
    done.wait(_LONGEST_WAIT_S)
    return True
