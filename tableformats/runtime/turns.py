"""Let the writers of one machine commit to a table one after the other, so that they do not lose races to each other.

This saves work and decides nothing: the store or the catalog decides who wins. A writer that cannot take a turn, or has
waited too long for it, goes on without.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["local_turn"]

_LONGEST_WAIT_S, _PAUSE_S = 1.0, 0.002


@contextmanager
def local_turn(key: str) -> Iterator[bool]:
    """A block that one writer of this user and machine is in at a time, for each ``key``.

    Yields
    ------
    bool
        Whether others were in it since the call, or may be in it still: at most a second is waited for them.
    """
    try:
        handle = os.open(_lock_file(key), os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
    except (OSError, AttributeError):
        yield False
        return
    try:
        yield _wait_for(handle)
    finally:
        os.close(handle)  # which ends the turn, as the end of the process does


def _lock_file(key: str) -> str:
    """The file that is locked, in a directory of the user alone. Raises OSError, AttributeError (Windows)."""
    directory = os.path.join(tempfile.gettempdir(), f"tableformats-turns-{os.getuid()}")
    os.makedirs(directory, mode=0o700, exist_ok=True)
    found = os.lstat(directory)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise PermissionError(directory)
    return os.path.join(directory, hashlib.sha256(key.encode(errors="surrogatepass")).hexdigest()[:32])


def _wait_for(handle: int) -> bool:
    import fcntl

    end = time.monotonic() + _LONGEST_WAIT_S
    has_waited = False
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return has_waited
        except BlockingIOError:
            has_waited = True
        except OSError:  # a file system without locks
            return has_waited
        if time.monotonic() >= end:
            return True
        time.sleep(_PAUSE_S)
