"""Every other store: by pyarrow.fs or fsspec, or by a file system that the caller hands over.

File systems of fsspec cache listings. What they cached is dropped before each question about what exists, so that what
other processes have written is seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...errors import TableFormatsError, UnsupportedFeatureError
from ..paths import scheme_of
from ..redaction import RedactingProxy, Redactor, without_credentials
from .base import FileInfo, ObjectStore, PutOutcome, Tail, TooLongError, past_the_end
from .faults import fault_of

if TYPE_CHECKING:
    import pyarrow.fs

__all__ = ["FileSystemStore", "open_file_system", "store_of_object"]


def open_file_system(path: str, options: Mapping[str, Any], redactor: Redactor) -> FileSystemStore:
    """The store of ``path`` by pyarrow, if it has one and there are no options, or else by fsspec.

    Raises
    ------
    TableFormatsError
        There is no file system for the scheme, or it cannot be made.
    """
    from pyarrow import fs

    if not options:
        try:
            return FileSystemStore(fs.FileSystem.from_uri(path)[0], redactor)
        except Exception:  # pyarrow has no such store; fsspec may have it
            pass
    scheme = scheme_of(path)
    try:
        import fsspec
    except ImportError as error:
        raise TableFormatsError(
            f"no file system for {scheme}:// paths",
            path=without_credentials(path),
            hint="Install fsspec and its package for the store",
        ) from error
    known = scheme in fsspec.available_protocols() or scheme in fsspec.registry
    try:
        made = fsspec.core.url_to_fs(path, **options)[0]
    except Exception as error:
        redactor.redact_error(error)
        what = f"the file system of {scheme}:// paths cannot be made: {error}"
        raise TableFormatsError(
            what if known else f"no store is known for {scheme}:// paths",
            path=without_credentials(path),
            hint="Check storage_options, and that the package for the store is installed"
            if known
            else "Check the scheme; s3, gs, az, abfss, http and https are built in, others come from fsspec's packages",
        ) from error
    return FileSystemStore(_of_fsspec(made, redactor), redactor, made)


def store_of_object(filesystem: Any, path: str, redactor: Redactor) -> FileSystemStore:
    """The store over a file system of fsspec or pyarrow. Raises TableFormatsError: it is neither."""
    from pyarrow import fs

    if isinstance(filesystem, fs.FileSystem):
        return FileSystemStore(filesystem, redactor)
    if hasattr(filesystem, "protocol") and hasattr(filesystem, "invalidate_cache"):
        return FileSystemStore(_of_fsspec(filesystem, redactor), redactor, filesystem)
    raise TableFormatsError(
        f"the storage option filesystem is a file system of fsspec or pyarrow, not {type(filesystem).__name__}",
        path=path,
        field="filesystem",
    )


def _of_fsspec(made: Any, redactor: Redactor) -> pyarrow.fs.FileSystem:
    from pyarrow import fs

    return fs.PyFileSystem(fs.FSSpecHandler(RedactingProxy(made, redactor) if redactor else made))


class FileSystemStore(ObjectStore):
    """A store over one pyarrow file system.

    Parameters
    ----------
    filesystem : pyarrow.fs.FileSystem
    redactor : Redactor
    fsspec_system : fsspec.AbstractFileSystem, optional
        What ``filesystem`` wraps.
    """

    def __init__(self, filesystem: pyarrow.fs.FileSystem, redactor: Redactor, fsspec_system: Any = None) -> None:
        self.filesystem = filesystem
        self._redactor = redactor
        self._fsspec = fsspec_system

    def __repr__(self) -> str:
        return f"FileSystemStore({self.filesystem.type_name!r})"

    def __reduce__(self) -> Any:
        raise TypeError("a store may hold credentials and is not pickled")

    def _fault(self, error: Exception, path: str) -> Exception:
        self._redactor.redact_error(error)
        return fault_of(error, path, self._redactor)

    def forget(self) -> None:
        """Drop the listings that fsspec has cached."""
        if self._fsspec is not None:
            self._fsspec.invalidate_cache()

    def _kind(self, path: str) -> Any:
        self.forget()
        try:
            return self.filesystem.get_file_info([_inner(path)])[0]
        except Exception as error:
            raise self._fault(error, path) from error

    def pages(self, directory: str, start_after: str | None = None) -> Iterator[list[FileInfo]]:
        """See :meth:`ObjectStore.pages`; all files are one page."""
        found = [info for info in self._listed(directory) if start_after is None or info.name > start_after]
        yield sorted(found, key=lambda info: info.name)

    def below(self, directory: str) -> Iterator[list[FileInfo]]:
        """See :meth:`ObjectStore.below`; all files are one page."""
        yield self._listed(directory, recursive=True)

    def _listed(self, directory: str, recursive: bool = False) -> list[FileInfo]:
        from pyarrow import fs

        self.forget()
        inner = _inner(directory)
        try:
            infos = self.filesystem.get_file_info(fs.FileSelector(inner, allow_not_found=True, recursive=recursive))
        except Exception as error:
            raise self._fault(error, directory) from error
        # The rest of a path is spelled as in the metadata; what stands before it, as the file system likes to.
        start = len(inner.strip("/"))
        return [
            FileInfo(
                one.base_name,
                f"{directory}{one.path.strip('/')[start:]}" if recursive else f"{directory}/{one.base_name}",
                one.size or 0,
                (one.mtime_ns or 0) // 1_000_000,
            )
            for one in infos
            if one.type == fs.FileType.File
        ]

    def get(
        self, path: str, offset: int = 0, length: int | None = None, limit: int | None = None, etag: str | None = None
    ) -> memoryview:
        """See :meth:`ObjectStore.get`. File systems have no ETags."""
        try:
            with self.filesystem.open_input_file(_inner(path)) as source:
                size = source.size()
                wanted = size - offset if length is None else length
                if offset < 0 or wanted < 0 or wanted > size - offset:
                    raise past_the_end(path, offset, wanted, size)
                if limit is not None and wanted > limit:
                    raise TooLongError(wanted)
                return memoryview(source.read_at(wanted, offset))
        except TooLongError:
            raise
        except Exception as error:
            if isinstance(error, OSError) and "asked of" in str(error):
                raise
            raise self._fault(error, path) from error

    def get_ranges(self, path: str, ranges: Sequence[tuple[int, int]]) -> list[memoryview]:
        """See :meth:`ObjectStore.get_ranges`."""
        return [self.get(path, offset, length) for offset, length in ranges]

    def tail(self, path: str, length: int) -> Tail:
        """See :meth:`ObjectStore.tail`."""
        size = self.head(path).size
        return Tail(self.get(path, max(size - length, 0), min(size, length)), size)

    def head(self, path: str) -> FileInfo:
        """See :meth:`ObjectStore.head`."""
        from pyarrow import fs

        info = self._kind(path)
        if info.type != fs.FileType.File:
            raise FileNotFoundError(2, "There is no such file", path)
        return FileInfo(info.base_name, path, info.size or 0, (info.mtime_ns or 0) // 1_000_000)

    def has_files_below(self, directory: str) -> bool:
        """See :meth:`ObjectStore.has_files_below`."""
        from pyarrow import fs

        return bool(self._kind(directory).type == fs.FileType.Directory)

    def put(self, path: str, data: bytes | memoryview) -> None:
        """See :meth:`ObjectStore.put`."""
        try:
            with self.filesystem.open_output_stream(_inner(path)) as out:
                out.write(data)
        except Exception as error:
            raise self._fault(error, path) from error

    def put_if_absent(self, path: str, data: bytes) -> PutOutcome:
        """See :meth:`ObjectStore.put_if_absent`. File systems promise nothing, so this is refused."""
        raise UnsupportedFeatureError(
            "this file system does not say that it can write a file only if there is none",
            path=path,
            field="put_if_absent",
            hint="Write to S3, GCS, Azure or a local directory",
        )

    def delete(self, path: str) -> None:
        """See :meth:`ObjectStore.delete`."""
        try:
            self.filesystem.delete_file(_inner(path))
        except FileNotFoundError:
            return
        except Exception as error:
            raise self._fault(error, path) from error


def _inner(path: str) -> str:
    return path if scheme_of(path) is None else path.split("://", 1)[-1]
