"""Write local files whole or not at all, and durably: a file appears under its name when its bytes are on the disk."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import uuid
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ..errors import CorruptMetadataError, UnsupportedFeatureError
from ..lazy_pattern import lazy_pattern
from .stores.base import PutOutcome

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor
    from typing import Any, BinaryIO

__all__ = ["create_local", "creating_local", "is_temporary", "link_local", "sync_local", "write_local"]

_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)
_MAY_BE_DONE = (errno.EIO, errno.ETIMEDOUT, errno.ESTALE)
"""A network file system lost the answer: the server may have made the link."""
_SYNCED_BYTES = 32 << 20
"""What is written of a file between two syncs."""
_NO_PATHS = {
    errno.EISDIR: "a directory is there",
    errno.ENOTDIR: "what is no directory stands above it",
    errno.ELOOP: "symbolic links go round in a circle",
    errno.ENAMETOOLONG: "the path is longer than the file system allows",
}
"""What lies at the path, and no fault of the machine, keeps a file from being written."""


_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_TEMPORARY = lazy_pattern(rf"\.(?:.+\.{_UUID}\.tmp|{_UUID}\.probe)")


def is_temporary(name: str) -> bool:
    """Whether a file has the name of one that a write makes and deletes again: a killed writer leaves it."""
    return _TEMPORARY.fullmatch(name) is not None


def create_local(path: str, data: bytes | memoryview) -> None:
    """Write a file under a name that nobody else uses. Its directory is made.

    After an error, or a crash, a part of it may be there. It costs one sync to the disk less than :func:`write_local`,
    because the name and the bytes go there together. Raises OSError; FileExistsError where there is a file;
    CorruptMetadataError where no file can be.
    """
    directory = os.path.dirname(path)
    with _writing(path):
        _write_below(directory, path, data)
        _sync_directory(directory)


@contextlib.contextmanager
def creating_local(path: str) -> Iterator[io.RawIOBase]:
    """A file as :func:`create_local` writes it, for bytes that come in pieces. It is on the disk after the block.

    After an error there is no file. Raises as :func:`create_local`.
    """
    from concurrent.futures import ThreadPoolExecutor

    directory = os.path.dirname(path)
    with _writing(path):
        _make_directory(directory)
        with (
            _new_file(path) as handle,
            os.fdopen(handle, "wb", closefd=False) as out,
            ThreadPoolExecutor(1, thread_name_prefix="tableformats-sync") as pool,
        ):
            file = _SyncedFile(out, pool)
            yield file
            file.sync()
        _sync_directory(directory)


class _SyncedFile(io.RawIOBase):
    """Writes to a file, and has a thread sync what was written now and then: the disk works while the processor does.

    The system tells an error of a sync once, to whoever asks first. So the errors of all syncs are kept.
    """

    def __init__(self, out: BinaryIO, pool: ThreadPoolExecutor) -> None:
        self._out = out
        self._pool = pool
        self._unsynced = 0
        self._syncs: list[Future[None]] = []

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        written = self._out.write(data)
        self._unsynced += written
        if self._unsynced >= _SYNCED_BYTES and all(sync.done() for sync in self._syncs):
            self._begin_sync()
        return written

    def tell(self) -> int:
        return self._out.tell()

    def sync(self) -> None:
        """Wait until all is on the disk. Raises OSError."""
        self._begin_sync()
        for sync in self._syncs:
            sync.result()

    def _begin_sync(self) -> None:
        self._out.flush()
        self._unsynced = 0
        self._syncs.append(self._pool.submit(os.fsync, self._out.fileno()))


def write_local(path: str, data: bytes | memoryview) -> None:
    """Write a file over whatever is there. Its directory is made.

    Hadoop keeps the checksum of a local file beside it. That of what was there goes, or Spark would refuse the file.

    Raises OSError; CorruptMetadataError where no file can be, as there is a directory.
    """
    with _writing(path):
        temporary = _temporary(path, data)
        directory, name = os.path.split(path)
        try:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(directory, f".{name}.crc"))
            os.replace(temporary, path)
        except OSError:
            os.unlink(temporary)
            raise
        _sync_directory(directory)


def link_local(path: str, data: bytes | memoryview, is_durable: bool = True) -> PutOutcome:
    """Write a file if there is none. Its directory is made.

    A hard link either makes the name or fails, on network file systems too. Without ``is_durable`` nothing waits for
    the disk: after a crash of the machine the file may be gone, or be cut off.

    Returns
    -------
    PutOutcome
        UNKNOWN: the file was made, and the disk did not confirm its name; or a file server did not answer.

    Raises
    ------
    UnsupportedFeatureError
        The file system has no hard links.
    CorruptMetadataError
        What stands above the path is no directory. Nothing was written.
    OSError
        Nothing was written.
    """
    with _writing(path):
        temporary = _temporary(path, data, is_durable)
    try:
        os.link(temporary, path)
    except FileExistsError:
        return PutOutcome.LOST
    except OSError as error:
        if error.errno in _MAY_BE_DONE:
            return PutOutcome.UNKNOWN
        if error.errno not in _NO_LINKS:
            raise
        raise UnsupportedFeatureError(
            "the file system has no hard links, so it cannot write a file only if there is none",
            path=path,
            field="put_if_absent",
            hint="Write to another file system",
        ) from error
    finally:
        # What was linked is whole. A temporary file that stays is no reason to report another outcome.
        with contextlib.suppress(OSError):
            os.unlink(temporary)
    try:
        if is_durable:
            _sync_directory(os.path.dirname(path))
    except OSError:
        return PutOutcome.UNKNOWN
    return PutOutcome.WON


def sync_local(directory: str, names: Iterable[str]) -> None:
    """Bring files of a new directory to the disk, which another process wrote. Raises OSError."""
    for name in names:
        handle = os.open(os.path.join(directory, name), os.O_RDWR)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    _sync_directory(directory)
    _sync_directory(os.path.dirname(directory))


@contextlib.contextmanager
def _writing(path: str) -> Iterator[None]:
    """Name what is in the way of a file."""
    try:
        yield
    except OSError as error:
        if error.errno not in _NO_PATHS:
            raise
        raise CorruptMetadataError(
            f"no file can be written: {_NO_PATHS[error.errno]}", path=path, hint="Remove what is in the way"
        ) from error


def _temporary(path: str, data: bytes | memoryview, is_durable: bool = True) -> str:
    """A file with the data beside ``path``, on the disk if ``is_durable``."""
    directory = os.path.dirname(path)
    # Readers of both formats ignore names that begin with a dot.
    name = os.path.join(directory, f".{os.path.basename(path)}.{uuid.uuid4()}.tmp")
    _write_below(directory, name, data, is_durable)
    return name


def _write_below(directory: str, name: str, data: bytes | memoryview, is_durable: bool = True) -> None:
    """A new file as of :func:`_write`; its directory is made if there is none."""
    try:
        _write(name, data, is_durable)
    except FileNotFoundError:
        _make_directory(directory)
        _write(name, data, is_durable)


def _write(name: str, data: bytes | memoryview, is_durable: bool = True) -> None:
    """A new file with the data, on the disk if ``is_durable``; none after an error."""
    with _new_file(name) as handle:
        left = memoryview(data).cast("B")
        while left:
            left = left[os.write(handle, left) :]
        if is_durable:
            os.fsync(handle)


@contextlib.contextmanager
def _new_file(name: str) -> Iterator[int]:
    """The handle of a new file; no file after an error."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    handle = os.open(name, flags, 0o666)
    try:
        try:
            yield handle
        finally:
            os.close(handle)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def _make_directory(directory: str) -> None:
    """Make a directory and what is above it, so that their names are on the disk too."""
    if os.path.isdir(directory):
        return
    above = os.path.dirname(directory)
    _make_directory(above)
    with contextlib.suppress(FileExistsError):
        os.mkdir(directory)
    _sync_directory(above)


def _sync_directory(directory: str) -> None:
    if os.name == "nt":  # directories cannot be opened there
        return
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
