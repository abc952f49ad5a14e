"""Open local files for reading: regular files only.

A table may name any path. To open a pipe waits for a writer that never comes, a device never ends, and a directory has
no bytes. So what is no regular file is refused before it is opened.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ..errors import CorruptMetadataError
from ..lazy_pattern import lazy_pattern
from .stores.base import FileInfo

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["files_below", "files_in", "is_local_dir", "is_local_file", "local_stats", "missing_hint", "open_local"]

_KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFDIR: "a directory",
}
_NO_PATHS = {
    errno.ELOOP: "its symbolic links go round in a circle",
    errno.ENAMETOOLONG: "the path is longer than the file system allows",
    errno.EINVAL: "the file system does not allow the path",
    errno.EILSEQ: "the file system does not allow the path",
}
"""What the path itself, and no fault of the machine, makes of opening it."""
_MOST_NAMES = 1_000
_ENCODED = lazy_pattern("%[0-9a-fA-F]{2}")


def is_local_file(path: str) -> bool:
    """Whether a regular file is at a local path. Raises OSError where that cannot be known."""
    found = _state(path)
    return found is not None and stat.S_ISREG(found.st_mode)


def is_local_dir(path: str) -> bool:
    """Whether a directory is at a local path. Raises OSError where that cannot be known."""
    found = _state(path)
    return found is not None and stat.S_ISDIR(found.st_mode)


def _state(path: str | os.DirEntry[str]) -> os.stat_result | None:
    """What is at a path; None for nothing, and for a link to nothing or in a circle."""
    # Arrow's file systems would say it, too. To import them takes a twentieth of the time of a first plan.
    try:
        return os.stat(path)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            return None
        raise


def missing_hint(path: str) -> str:
    """What to do where nothing is at ``path``: names like it, or the part of a local path that is there."""
    if not path.startswith("/"):
        encoded = _ENCODED.search(path)
        return f"Check the path: it is taken as it is, {encoded[0]} too" if encoded else "Check the path"
    above, _, name = path.rpartition("/")
    try:
        with os.scandir(above or "/") as entries:
            names = [entry.name for _, entry in zip(range(_MOST_NAMES), entries, strict=False)]
    except OSError:
        while above and not os.path.isdir(above):
            above = above.rpartition("/")[0]
        return f"Check the path: {above or '/'} is there, the rest of it is not"
    import difflib

    near = difflib.get_close_matches(name, names, n=3)
    return f"Check the path. Near names: {', '.join(near)}" if near else "Check the path"


def open_local(path: str) -> pa.NativeFile:
    """A random-access file over an absolute local path.

    Raises
    ------
    FileNotFoundError
        There is no such file.
    CorruptMetadataError
        The path names what is no regular file, or cannot name a file.
    OSError
        The operating system refuses.
    """
    try:
        mode = os.stat(path).st_mode
    except NotADirectoryError:
        raise FileNotFoundError(errno.ENOENT, "There is no such file", path) from None
    except OSError as error:
        if error.errno not in _NO_PATHS:
            raise
        raise _refused(f"a path leads to no file: {_NO_PATHS[error.errno]}", path) from error
    except ValueError as error:  # NUL, or a lone surrogate that the file system cannot encode
        raise _refused("a path leads to no file: the file system does not allow it", path) from error
    if not stat.S_ISREG(mode):
        raise _refused(f"a path leads to {_KINDS.get(stat.S_IFMT(mode), 'no file')}, not to a regular file", path)
    import pyarrow as pa

    return pa.OSFile(path)


def files_in(directory: str, file_suffixes: tuple[str, ...]) -> list[FileInfo]:
    """The files directly in a directory; empty where there is none.

    Links are followed. What has one of ``file_suffixes`` is listed also if it is no file (a pipe, a directory): who
    reads it gets an error. Links to nothing and names that are no text are left out. Raises OSError.
    """
    found: list[FileInfo] = []
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                state = _state(entry) if _is_text(entry.name) else None
                if state is not None and (entry.name.endswith(file_suffixes) or not stat.S_ISDIR(state.st_mode)):
                    size = 0 if stat.S_ISDIR(state.st_mode) else state.st_size
                    path, time = f"{directory}/{entry.name}", state.st_mtime_ns // 1_000_000
                    found.append(FileInfo(entry.name, path, size, time))
    except (FileNotFoundError, NotADirectoryError):
        if os.path.exists(directory):
            raise
    return found


def files_below(directory: str) -> Iterator[list[FileInfo]]:
    """The regular files below a directory at every depth, each directory's in one list.

    Links are not followed. What is deleted meanwhile is left out, and names that are no text. Raises OSError.
    """
    waiting = [directory]
    while waiting:
        above = waiting.pop()
        found: list[FileInfo] = []
        try:
            with os.scandir(above) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(f"{above.rstrip('/')}/{entry.name}")
                    elif entry.is_file(follow_symlinks=False) and _is_text(entry.name):
                        state = entry.stat(follow_symlinks=False)
                        path, time = f"{above.rstrip('/')}/{entry.name}", state.st_mtime_ns // 1_000_000
                        found.append(FileInfo(entry.name, path, state.st_size, time))
        except FileNotFoundError:
            continue
        yield found


def local_stats(paths: Iterable[str]) -> Iterator[os.stat_result | OSError | ValueError]:
    """What ``os.stat`` says of each absolute path: a result, or its error.

    A directory that is missing is looked for once. Of a table that was not copied whole, this is most of the time.
    """
    directories: dict[str, FileNotFoundError | None] = {}
    for path in paths:
        directory = path.rpartition("/")[0] or "/"
        found: os.stat_result | OSError | ValueError | None = directories.get(directory)
        if found is None:
            try:
                found = os.stat(path)
            except (OSError, ValueError) as error:
                found = error.with_traceback(None)
                if isinstance(found, FileNotFoundError) and directory not in directories:
                    directories[directory] = None if os.path.isdir(directory) else found
        yield found


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _refused(message: str, path: str) -> CorruptMetadataError:
    return CorruptMetadataError(
        message, path=path, hint="Tables consist of regular files: restore the one that is meant"
    )
