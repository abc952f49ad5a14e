"""The files of one table: read them whole or in ranges, list folders, and write, wherever the table is stored.

A :class:`Storage` belongs to one table. It has the table's location, the credentials that open its store, the limits
for what is read, and the :class:`~tableformats.io.path_policy.PathPolicy` that says which paths the metadata may name.
Local files are read directly; all else by the stores in ``stores/``.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import CorruptMetadataError, TableNotFoundError
from ..limits import DEFAULT_LIMITS, Limits
from ..runtime.concurrency import cached_property
from ..runtime.pickling import Portable
from .local_writes import link_local, write_local
from .path_policy import PathPolicy
from .paths import normalize, scheme_of, strip_trailing
from .redaction import HiddenOptions, Redactor, without_credentials
from .stores.base import FileInfo, ObjectStore, PutOutcome, TooLongError, past_the_end
from .stores.file_system import open_file_system, store_of_object
from .stores.opening import open_store
from .stores.remote_file import RemoteFile

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.fs

__all__ = ["FileInfo", "PutOutcome", "Storage", "missing_file"]


def missing_file(what: str, path: str) -> CorruptMetadataError:
    """The error for a file that a table names and its store does not have."""
    return CorruptMetadataError(
        f"{what} is missing",
        path=path,
        hint="It may have been cleaned up since the table was opened: open it again. If the table was moved, open it "
        "with relocate=True or relocate={old: new}",
    )


class Storage(Portable):
    """The files of one table.

    Credentials stay inside: no repr, error or pickle has them. Another process opens the store with what it finds in
    its own environment.

    Parameters
    ----------
    location : str or path
        A directory or file: a local path, a ``file:`` URI or a URI of a store. Credentials in it
        (``s3://key:secret@bucket``, a query) open the store and are no part of :attr:`root`.
    storage_options : mapping, optional
        Options of the store, in the spellings of docs/stores.md. ``filesystem``: a file system of fsspec or pyarrow.
    allow_paths : str or sequence of str, optional
        Prefixes of further locations that the table's metadata may name.
    limits : Limits
        What may be read of the table. Readers find the limits here.

    Raises
    ------
    TableNotFoundError
        ``location`` is empty (and not the current directory), or holds NUL.
    TypeError
        An argument has another type.
    """

    def __init__(
        self,
        location: str | os.PathLike[str],
        storage_options: Mapping[str, Any] | None = None,
        allow_paths: str | Sequence[str] | None = None,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        self.limits = limits
        text = normalize(os.fspath(location))
        if not text or "\0" in text:
            raise TableNotFoundError(f"{text!r} is no location", path=text, hint="Give a directory, a file or a URI")
        # A string is also a sequence of characters, which nobody means.
        allowed = [allow_paths] if isinstance(allow_paths, str) else list(allow_paths or ())
        if scheme_of(text) is None:
            text = os.path.abspath(os.path.expanduser(text))
        self._uri = text
        self.root = strip_trailing(without_credentials(text))
        self._options = dict(storage_options or {})
        self._redactor = Redactor(self._options, [text, *allowed])
        self._paths = PathPolicy(self.root, allowed)
        self._stores: dict[str, ObjectStore] = {}

    def __repr__(self) -> str:
        return f"Storage({self.root!r})"

    def _state(self) -> dict[str, Any]:
        state = {name: getattr(self, name) for name in ("limits", "root", "_paths")}
        return {**state, "_uri": self.root, "_options": {}, "_redactor": Redactor({}, ()), "_stores": {}}

    @property
    def is_local(self) -> bool:
        """Whether the root is on the local file system."""
        return scheme_of(self.root) is None

    @property
    def options(self) -> dict[str, Any]:
        """The ``storage_options``, to open the same store elsewhere. Their repr shows the names alone."""
        return HiddenOptions(self._options)

    # ---- stores -----------------------------------------------------------------------------------------------------

    def store_of(self, path: str) -> ObjectStore:
        """The store of an absolute path that is not local; it is opened once."""
        authority = "/".join(path.split("/", 3)[:3])
        if authority not in self._stores:
            is_own = authority == "/".join(self.root.split("/", 3)[:3])
            # Only the scheme and the bucket are used of what a table names: a query could name another endpoint.
            uri = self._uri if is_own else authority
            self._stores.setdefault(authority, open_store(uri, self._options, self._redactor))
        return self._stores[authority]

    @cached_property
    def filesystem(self) -> pyarrow.fs.FileSystem:
        """The file system of the root, for what pyarrow writes itself."""
        return self._filesystem(self._uri)

    def _filesystem(self, path: str) -> pyarrow.fs.FileSystem:
        from pyarrow import fs

        if scheme_of(path) is None:
            return fs.LocalFileSystem()
        if (given := self._options.get("filesystem")) is not None:
            return store_of_object(given, without_credentials(path), self._redactor).filesystem
        return open_file_system(path, self._options, self._redactor).filesystem

    def filesystem_path(self, path: str) -> tuple[pyarrow.fs.FileSystem, str]:
        """The file system of an absolute ``path``, and the path as that file system spells it."""
        path = normalize(path)
        same = scheme_of(path) == scheme_of(self.root)
        # Only the scheme and the bucket are used of what a table names: a query could name another endpoint.
        filesystem = self.filesystem if same else self._filesystem("/".join(path.split("/", 3)[:3]))
        return filesystem, path if scheme_of(path) is None else path.split("://", 1)[-1]

    # ---- reading ----------------------------------------------------------------------------------------------------

    def read_bytes(self, path: str, offset: int = 0, length: int | None = None) -> bytes:
        """The bytes of an absolute path, or of a range of it.

        Parameters
        ----------
        offset, length : int
            Bytes. ``length`` None: to the end of the file.

        Raises
        ------
        FileNotFoundError
            There is no such file. Callers say what that means.
        OSError
            The range passes the end of the file.
        StoreError
            The store failed or refused.
        LimitExceededError
            The range is longer than the limit ``metadata_bytes``.
        """
        if scheme_of(path) is not None:
            return bytes(self._get(path, offset, length))
        with self.open_file(path) as source:
            size = source.size()
            wanted = size - offset if length is None else length
            if offset < 0 or wanted < 0 or wanted > size - offset:
                raise past_the_end(path, offset, wanted, size)
            self.limits.check("metadata_bytes", wanted, "bytes", path=path)
            return bytes(source.read_at(wanted, offset))

    def read_into(self, path: str, allocate: Callable[[int], memoryview]) -> memoryview:
        """The bytes of an absolute path, in memory that the caller gives.

        Parameters
        ----------
        allocate : callable
            Takes a number of bytes n and returns uint8[n], writable; see :meth:`ReusableBuffer.reserve`.

        Raises
        ------
        FileNotFoundError, StoreError, LimitExceededError
            As :meth:`read_bytes`.
        """
        if scheme_of(path) is not None:
            data = self._get(path)
            view = allocate(len(data))
            view[: len(data)] = data
            return view[: len(data)]
        with self.open_file(path) as source:
            wanted = source.size()
            self.limits.check("metadata_bytes", wanted, "bytes", path=path)
            view = allocate(wanted)
            return view[: source.readinto(view)]

    def _get(self, path: str, offset: int = 0, length: int | None = None) -> memoryview:
        """The bytes of a remote file, within the limits, by one request."""
        if offset < 0 or (length or 0) < 0:
            raise past_the_end(path, offset, length or 0, 0)
        try:
            return self.store_of(path).get(path, offset, length, self.limits.metadata_bytes)
        except TooLongError as error:
            raise self.limits.exceeded("metadata_bytes", f"{error.size} bytes", path=path) from None

    def open_file(self, path: str) -> pa.NativeFile:
        """A random-access file over an absolute path. Raises FileNotFoundError, StoreError; OSError if it is local."""
        import pyarrow as pa

        if scheme_of(path) is None:
            filesystem, inner = self.filesystem_path(path)
            return filesystem.open_input_file(inner)
        return pa.PythonFile(RemoteFile(self.store_of(path), path, lambda size: None), "r")

    # ---- listing ----------------------------------------------------------------------------------------------------

    def list(self, path: str) -> list[FileInfo]:
        """The files directly in directory ``path`` (absolute), by name. Empty where there is no directory.

        Nothing is cached: what other processes have written before the call is listed.
        """
        from pyarrow import fs

        if scheme_of(path) is not None:
            return [*self.store_of(path).list(path)]
        found = []
        for info in self.filesystem_path(path)[0].get_file_info(fs.FileSelector(path, allow_not_found=True)):
            if info.type == fs.FileType.File:
                mtime = (info.mtime_ns or 0) // 1_000_000
                found.append(FileInfo(info.base_name, f"{path}/{info.base_name}", info.size or 0, mtime))
        return sorted(found, key=lambda info: info.name)

    def is_file(self, path: str) -> bool:
        """Whether a file is at an absolute path."""
        if scheme_of(path) is None:
            return self._local_type(path) == "File"
        try:
            self.store_of(path).head(path)
        except FileNotFoundError:
            return False
        return True

    def is_dir(self, path: str) -> bool:
        """Whether a directory is at an absolute path; in a store without directories, whether a file is below it."""
        if scheme_of(path) is None:
            return self._local_type(path) == "Directory"
        return self.store_of(path).has_files_below(path)

    def _local_type(self, path: str) -> str:
        filesystem, inner = self.filesystem_path(path)
        return str(filesystem.get_file_info([inner])[0].type.name)

    def require_root(self) -> None:
        """Raise TableNotFoundError unless something is at the root."""
        if not self.is_dir(self.root) and not self.is_file(self.root):
            raise TableNotFoundError("nothing is at the location", path=self.root, hint="Check the path")

    # ---- writing ----------------------------------------------------------------------------------------------------

    def put(self, path: str, data: bytes) -> None:
        """Write a file, whole or not at all, over whatever is there. Raises StoreError; OSError if it is local."""
        if scheme_of(path) is None:
            write_local(path, data)
        else:
            self.store_of(path).put(path, data)

    def put_if_absent(self, path: str, data: bytes) -> PutOutcome:
        """Write a file, whole or not at all, if there is none.

        Returns
        -------
        PutOutcome
            UNKNOWN where the answer of the store was lost.

        Raises
        ------
        UnsupportedFeatureError
            The store cannot do this.
        StoreError
            The store refused. OSError if it is local.
        """
        if scheme_of(path) is None:
            return link_local(path, data)
        return self.store_of(path).put_if_absent(path, data)

    def delete(self, path: str) -> None:
        """Delete a file. That there is none is no error. Raises StoreError; OSError if it is local."""
        if scheme_of(path) is not None:
            self.store_of(path).delete(path)
            return
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)

    # ---- paths that the metadata names ------------------------------------------------------------------------------

    @property
    def allow_paths(self) -> tuple[str, ...]:
        """The prefixes of further locations that the table's metadata may name."""
        return self._paths.allow_paths

    @property
    def moves(self) -> dict[str, str]:
        """{old prefix: new prefix}, as :meth:`relocate` was told."""
        return self._paths.moves

    def join(self, *parts: str) -> str:
        """An absolute path below the root."""
        return self._paths.join(*parts)

    def relocate(self, old: str, new: str) -> None:
        """Let stored paths below ``old`` mean the same paths below ``new``. The longest prefix wins."""
        self._paths.relocate(old, new)

    def resolve_one(self, stored: str, *, encoded: bool = False) -> str:
        """See :meth:`PathPolicy.resolve_one`."""
        return self._paths.resolve_one(stored, encoded=encoded)

    def resolve(self, stored: pa.Array, *, encoded: bool = False) -> pa.Array:
        """See :meth:`PathPolicy.resolve`."""
        return self._paths.resolve(stored, encoded=encoded)

    def check(self, stored: pa.Array, *, encoded: bool = False) -> None:
        """See :meth:`PathPolicy.check`."""
        self._paths.check(stored, encoded=encoded)

    def passes_quick_check(self, stored: pa.Array, *, encoded: bool = False) -> bool:
        """See :meth:`PathPolicy.passes_quick_check`."""
        return self._paths.passes_quick_check(stored, encoded=encoded)
