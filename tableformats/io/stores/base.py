"""The interface of a store. Paths are absolute, with scheme and bucket, as everywhere else.

No method caches anything: what another process has written before a call is seen by it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import field
from enum import Enum
from functools import partial
from itertools import chain, islice
from typing import NamedTuple

from ...dataclass import dataclass
from ...errors import CorruptMetadataError
from ...runtime.io_threads import Finish, on_thread

__all__ = ["Concurrency", "FileInfo", "ObjectStore", "PutOutcome", "Tail", "missing_file"]


@dataclass(frozen=True)
class FileInfo:
    """A file of a listing: ``path`` is absolute, ``mtime_ms`` milliseconds since the epoch (0 = unknown)."""

    name: str
    path: str
    size: int
    mtime_ms: int


def _most_small() -> int:
    """256, and at most half of the files that the process may have open: each request has a connection."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return 256
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 256 if soft == resource.RLIM_INFINITY else max(32, min(256, soft // 2))


@dataclass(frozen=True)
class Concurrency:
    """The most requests that are sent to a store at once: of those for many bytes, and where all are for few bytes."""

    large: int = 32
    small: int = field(default_factory=_most_small)

    @property
    def threads(self) -> int:
        """The most threads that wait for answers."""
        return max(self.large, self.small)


class Tail(NamedTuple):
    """The end of a file, and the size of all of it. ``etag`` names its content; None: the store does not."""

    data: memoryview
    size: int
    etag: str | None = None


class PutOutcome(Enum):
    """What became of a conditional put. UNKNOWN: the answer was lost; read the key to learn who wrote it."""

    WON = "won"
    LOST = "lost"
    UNKNOWN = "unknown"


class ObjectStore(ABC):
    """One bucket, container or host.

    Every method raises FileNotFoundError where there is no such file, and :class:`tableformats.errors.StoreError` where
    the store fails or refuses.
    """

    concurrency = Concurrency()
    """The most requests that are sent to the store at once."""

    @abstractmethod
    def pages(self, directory: str, start_after: str | None = None) -> Iterator[list[FileInfo]]:
        """The files directly in ``directory`` by name, in the pages in which the store lists them.

        A page is requested when the iterator comes to it. An absent directory has no files.

        Parameters
        ----------
        start_after : str, optional
            Only files whose names are greater, in the order of their bytes.
        """

    def begin_pages(self, directory: str, finish: Finish[Iterator[list[FileInfo]]]) -> None:
        """Request the first of :meth:`pages`, and hand on the iterator when it has come. ``finish`` must not wait."""

        def begun() -> Iterator[list[FileInfo]]:
            pages = self.pages(directory)
            first = [*islice(pages, 1)]
            return chain(first, pages)

        on_thread(begun, self.concurrency.threads, finish)

    @abstractmethod
    def below(self, directory: str) -> Iterator[list[FileInfo]]:
        """All files below ``directory``, at every depth, in pages and in any order."""

    @abstractmethod
    def get(
        self, path: str, offset: int = 0, length: int | None = None, limit: int | None = None, etag: str | None = None
    ) -> memoryview:
        """The bytes of a file, or of a range of it, with one request.

        Parameters
        ----------
        length : int, optional
            Bytes; None: to the end.
        limit : int, optional
            Nothing is read where more bytes than this would be.
        etag : str, optional
            What :meth:`tail` said of the file. A store that names contents refuses those of another file.

        Raises
        ------
        CorruptMetadataError
            The file was replaced since ``etag`` was asked for.
        TooLongError
            There are more bytes than ``limit``.
        OSError
            The range passes the end of the file.
        """

    def begin_get(self, path: str, size: int, limit: int, finish: Finish[memoryview]) -> None:
        """Begin :meth:`get` of a whole file.

        Parameters
        ----------
        size : int
            How many bytes it had when it was listed. It may have others now.
        finish : callable
            Gets the answer. It must not wait for anything.
        """
        on_thread(partial(self.get, path, 0, None, limit), self.concurrency.threads, finish)

    @abstractmethod
    def get_ranges(self, path: str, ranges: Sequence[tuple[int, int]]) -> list[memoryview]:
        """The bytes of several (offset, length) of one file. Neighbours share a request; others run at once."""

    @abstractmethod
    def tail(self, path: str, length: int) -> Tail:
        """The last ``length`` bytes of a file, or all of a shorter one."""

    @abstractmethod
    def head(self, path: str) -> FileInfo:
        """What the store knows of a file."""

    @abstractmethod
    def has_files_below(self, directory: str) -> bool:
        """Whether ``directory`` exists; in a store without directories, whether any file is below it."""

    @abstractmethod
    def put(self, path: str, data: bytes | memoryview) -> None:
        """Write a file, whole or not at all, over whatever is there."""

    @abstractmethod
    def put_if_absent(self, path: str, data: bytes) -> PutOutcome:
        """Write a file, whole or not at all, if there is none.

        Raises
        ------
        UnsupportedFeatureError
            The store cannot do this.
        """

    @abstractmethod
    def delete(self, path: str) -> None:
        """Delete a file. That there is none is no error."""

    def list(self, directory: str) -> Sequence[FileInfo]:
        """The files directly in ``directory`` by name."""
        return [info for page in self.pages(directory) for info in page]


class TooLongError(Exception):
    """There are ``size`` bytes, more than the caller's limit."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.size = size


def replaced(path: str) -> CorruptMetadataError:
    """The error for a file that is another one than when its end was read."""
    return CorruptMetadataError(
        "another writer replaced a file while it was read", path=path, hint="Nothing is lost: open the table again"
    )


def missing_file(what: str, path: str) -> CorruptMetadataError:
    """The error for a file that a table names and its store does not have."""
    return CorruptMetadataError(
        f"{what} is missing",
        path=path,
        hint="It may have been cleaned up since the table was opened: open it again. If the table was moved, open it "
        "with relocate=True or relocate={old: new}",
    )


def past_the_end(path: str, offset: int, length: int, size: int) -> OSError:
    """The error for a range that passes the end of a file."""
    return OSError(f"bytes {offset} to {offset + length} asked of {path!r}, which has {size}")
