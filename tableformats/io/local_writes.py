"""Write local files whole or not at all, and durably: a file appears under its name when its bytes are on the disk."""

from __future__ import annotations

import contextlib
import os
import tempfile

from .stores.base import PutOutcome

__all__ = ["link_local", "write_local"]


def write_local(path: str, data: bytes) -> None:
    """Write a file over whatever is there. Its directory is made. Raises OSError."""
    temporary = _temporary(path, data)
    try:
        os.replace(temporary, path)
    except OSError:
        os.unlink(temporary)
        raise
    _sync_directory(path)


def link_local(path: str, data: bytes) -> PutOutcome:
    """Write a file if there is none: WON or LOST. Its directory is made. Raises OSError.

    A hard link either makes the name or fails, on network file systems too.
    """
    temporary = _temporary(path, data)
    try:
        os.link(temporary, path)
    except FileExistsError:
        return PutOutcome.LOST
    finally:
        os.unlink(temporary)
    _sync_directory(path)
    return PutOutcome.WON


def _temporary(path: str, data: bytes) -> str:
    """A file with the data beside ``path``, on the disk."""
    directory = os.path.dirname(path)
    os.makedirs(directory, exist_ok=True)
    # Readers of both formats ignore names that begin with a dot.
    handle, name = tempfile.mkstemp(prefix=f".{os.path.basename(path)}.", suffix=".tmp", dir=directory)
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        os.chmod(name, 0o666 & ~_umask())
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
    return name


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _sync_directory(path: str) -> None:
    if os.name == "nt":  # directories cannot be opened there
        return
    handle = os.open(os.path.dirname(path), os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
