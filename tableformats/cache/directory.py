"""A cache on disk for later processes: a directory of entries, each complete and undamaged or not there.

An entry is written to a temporary file and then renamed, so that other processes see all of it or nothing. It has a
checksum; a truncated or changed file is no entry. The directory belongs to the user alone (mode 0700, entries 0600),
so an entry is trusted if its checksum is right. The least recently used entries are removed first.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable, Mapping
from threading import Lock
from typing import TYPE_CHECKING, Any

from ..runtime.concurrency import free_after_fork

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["ALIGNMENT", "DIRECTORY_BYTES", "CacheDirectory", "telling_options"]

DIRECTORY_BYTES = 4 << 30
_MAGIC = b"tableformats 2\n\0"
_DIGEST_BYTES = 32
ALIGNMENT = 16
"""The bytes of an entry start at a multiple of this, in the file and in memory."""
_ENTRY, _UNFINISHED = ".entry", ".unfinished"
_ABANDONED_SECONDS = 3600
_SECRET = ("key", "secret", "token", "pass", "credential", "sas", "auth", "sign", "cert", "connection_string")


class CacheDirectory:
    """Bytes by key; any number of threads and processes may use the directory at once.

    Parameters
    ----------
    path : path
        The directory. It is created if it does not exist.
    budget_bytes : int
        The most bytes that the entries take together. What other processes write at the same time may exceed it.

    Raises
    ------
    ValueError
        Other users may write into the directory.
    OSError
        The directory cannot be created.
    """

    def __init__(self, path: str | os.PathLike[str], budget_bytes: int = DIRECTORY_BYTES) -> None:
        from pathlib import Path  # slow to import, and most processes keep no cache on disk

        self.path = Path(path).absolute()
        self.budget_bytes = budget_bytes
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = self.path.stat()
        if os.name == "posix" and (status.st_uid != os.geteuid() or status.st_mode & 0o022):
            raise ValueError(f"others may write into the cache directory {str(self.path)!r}: choose one of your own")
        self._used: int | None = None
        self._lock = Lock()
        free_after_fork(self)

    def after_fork(self) -> None:
        """Count the entries again: another thread may have been changing the number."""
        self._used = None

    def read(self, key: str) -> memoryview | None:
        """The entry of ``key``. None where there is none, or it is damaged."""
        path = self._path(key)
        try:
            with open(path, "rb") as file:
                found = memoryview(file.read())
            os.utime(path)
        except OSError:
            return None
        start = len(_MAGIC) + _DIGEST_BYTES
        payload = found[start:]
        if found[: len(_MAGIC)] != _MAGIC or found[len(_MAGIC) : start] != _digest(key, [payload]):
            return None
        return payload

    def write(self, key: str, parts: Iterable[bytes | memoryview]) -> None:
        """Write the joined ``parts`` as the entry of ``key``. If that fails there is no entry, and no error."""
        import tempfile

        parts = list(parts)
        size = len(_MAGIC) + _DIGEST_BYTES + sum(len(part) for part in parts)
        if size > self.budget_bytes:
            return
        unfinished = None
        try:
            handle, unfinished = tempfile.mkstemp(_UNFINISHED, dir=self.path)  # mode 0600
            with open(handle, "wb") as file:
                file.write(_MAGIC + _digest(key, parts))
                file.writelines(parts)
            os.replace(unfinished, self._path(key))
        except OSError:
            if unfinished is not None:
                with contextlib.suppress(OSError):
                    os.unlink(unfinished)
            return
        with self._lock:
            self._used = None if self._used is None else self._used + size
            if self._used is None or self._used > self.budget_bytes:
                self._evict()

    def _path(self, key: str) -> Path:
        import hashlib

        return self.path / (hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest() + _ENTRY)

    def _evict(self) -> None:
        """Count the bytes of all entries, and remove the least recently used ones until the budget holds."""
        entries, now = [], time.time()
        with contextlib.suppress(OSError), os.scandir(self.path) as found:
            for item in found:
                with contextlib.suppress(OSError):  # another process may have removed it
                    status = item.stat()
                    if item.name.endswith(_ENTRY):
                        entries.append((status.st_mtime, status.st_size, item.path))
                    elif item.name.endswith(_UNFINISHED) and now - status.st_mtime > _ABANDONED_SECONDS:
                        os.unlink(item.path)
        used = sum(size for _, size, _ in entries)
        for _, size, path in sorted(entries):
            if used <= self.budget_bytes:
                break
            with contextlib.suppress(OSError):
                os.unlink(path)
            used -= size
        self._used = used


def telling_options(options: Any) -> Any:
    """Options of a store without secrets, sorted, to tell stores from each other.

    An option is left out, at any depth, if its name says that it is secret.
    """
    if not isinstance(options, Mapping):
        return repr(options)
    named = sorted((str(name), value) for name, value in options.items())
    return tuple((n, telling_options(v)) for n, v in named if not any(word in n.lower() for word in _SECRET))


def _digest(key: str, parts: Iterable[bytes | memoryview]) -> bytes:
    import hashlib

    digest = hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES)
    for part in parts:
        digest.update(part)
    return digest.digest()
