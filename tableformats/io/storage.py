"""The files of one table: read them whole or in ranges, list folders, and write, wherever the table is stored.

A :class:`Storage` belongs to one table. It has the table's location, the credentials that open its store, the limits
for what is read, and the :class:`~tableformats.io.path_policy.PathPolicy` that says which paths the metadata may name.
Local files are read directly; all else by the stores in ``stores/``.
"""

from __future__ import annotations

import builtins
import contextlib
import os
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import TableNotFoundError
from ..limits import DEFAULT_LIMITS, Limits
from ..runtime.boundary import note_path
from ..runtime.concurrency import cached_property
from ..runtime.io_threads import Finish, Request, on_thread
from ..runtime.pickling import Portable
from .local_reads import files_in, is_local_dir, is_local_file, missing_hint, open_local
from .local_writes import create_local, link_local, write_local
from .path_policy import PathPolicy, SharedPrefix
from .paths import normalize, scheme_of, strip_trailing
from .recent_bytes import RecentBytes
from .redaction import HiddenOptions, Redactor, without_credentials
from .request_meter import RequestMeter
from .requests_ahead import RequestsAhead
from .stores.base import FileInfo, ObjectStore, PutOutcome, Tail, TooLongError, past_the_end
from .stores.remote_file import TAIL_BYTES, RemoteFile, tail_bytes

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.fs

    from .stores.renewing import RenewedOptions

__all__ = ["WHOLE_BYTES", "FileInfo", "PutOutcome", "Storage"]

Found = TypeVar("Found")
WHOLE_BYTES = 8 << 20
"""Immutable remote files of at most this size are read whole, by one request."""
_FILE_SUFFIXES = (".json", ".parquet", ".avro")
_RECENT_BYTES = 64 << 20
_KEYS_PER_PAGE = 1000


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
    renewed : RenewedOptions, optional
        Takes the place of ``storage_options``, where these expire.

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
        renewed: RenewedOptions | None = None,
    ) -> None:
        self.limits = limits
        self._renewed = renewed
        text = normalize(os.fspath(location))
        if not text or "\0" in text:
            raise TableNotFoundError(f"{text!r} is no location", path=text, hint="Give a directory, a file or a URI")
        # A string is also a sequence of characters, which nobody means.
        allowed = [allow_paths] if isinstance(allow_paths, str) else list(allow_paths or ())
        if scheme_of(text) is None:
            text = os.path.abspath(os.path.expanduser(text))
        self._uri = text
        self.root = strip_trailing(without_credentials(text))
        if scheme_of(text) != scheme_of(self.root):
            from .stores.opening import no_bucket

            raise no_bucket(text)
        self._options = dict((storage_options if renewed is None else renewed.current()[1]) or {})
        self._redactor = Redactor(self._options, [text, *allowed])
        self._paths = PathPolicy(self.root, allowed)
        self._stores: dict[str, ObjectStore] = {}
        self._fresh_state()

    def _fresh_state(self) -> None:
        """What belongs to this process alone."""
        self.meter = RequestMeter()
        self._recent = RecentBytes(_RECENT_BYTES)
        self._ahead = RequestsAhead()
        self._remembered: dict[tuple[str, str], Future[Any]] | None = None
        self._provided: dict[str, bytes] = {}

    def __repr__(self) -> str:
        return f"Storage({self.root!r})"

    def _state(self) -> dict[str, Any]:
        state = {name: getattr(self, name) for name in ("limits", "root", "_paths")}
        return {
            **state,
            "_uri": self.root,
            "_options": {},
            "_redactor": Redactor({}, ()),
            "_stores": {},
            "_renewed": None,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._fresh_state()

    @cached_property
    def is_local(self) -> bool:
        """Whether the root is on the local file system."""
        return scheme_of(self.root) is None

    @property
    def options(self) -> dict[str, Any]:
        """The ``storage_options``, to open the same store elsewhere. Their repr shows the names alone."""
        return HiddenOptions(self._options if self._renewed is None else self._renewed.current()[1])

    def options_of(self, path: str) -> dict[str, Any]:
        """:attr:`options`, and before them the credentials that the location of the table carries for its own store."""
        from .stores.addresses import credentials_of

        is_own = path.split("/", 3)[:3] == self.root.split("/", 3)[:3]
        return HiddenOptions({**(credentials_of(self._uri) if is_own else {}), **self.options})

    def redact(self, text: str) -> str:
        """``text`` without the values of options, and without the credentials of the location."""
        return self._redactor.redact(text)

    # ---- stores -----------------------------------------------------------------------------------------------------

    def store_of(self, path: str) -> ObjectStore:
        """The store of an absolute path that is not local; it is opened once."""
        authority = "/".join(path.split("/", 3)[:3])
        if authority not in self._stores:
            is_own = authority == "/".join(self.root.split("/", 3)[:3])
            # Only the scheme and the bucket are used of what a table names: a query could name another endpoint.
            uri = self._uri if is_own else authority
            # To make a client takes longer than many requests: it reads the system's certificates.
            self._stores.setdefault(authority, self._asked_once("store", authority, lambda: self._opened(uri)))
        return self._stores[authority]

    def _opened(self, uri: str) -> ObjectStore:
        from .stores.opening import open_store
        from .stores.renewing import RenewingStore

        if self._renewed is None:
            return open_store(uri, self._options, self._redactor)
        return RenewingStore(self._renewed, lambda options: open_store(uri, options, Redactor(options, [uri])))

    @cached_property
    def filesystem(self) -> pyarrow.fs.FileSystem:
        """The file system of the root, for what pyarrow writes itself."""
        return self._filesystem(self._uri)

    def _filesystem(self, path: str) -> pyarrow.fs.FileSystem:
        from pyarrow import fs

        if scheme_of(path) is None:
            return fs.LocalFileSystem()
        from .stores.file_system import open_file_system, store_of_object

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

    def provide(self, path: str, data: bytes) -> None:
        """The content of a file that never changes, known from elsewhere: :meth:`read_bytes` takes it from here."""
        self._provided[path] = data

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
        note_path(path)
        if offset == 0 and length is None and (provided := self._provided.get(path)) is not None:
            self.limits.check("metadata_bytes", len(provided), "bytes", path=path)
            return provided
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
        note_path(path)
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
        if offset == 0 and length is None and (found := self._ahead.take(path)) is not None:
            return found  # type: ignore[no-any-return]
        return self._request(path, offset, length, self.meter.chain)

    def _request(self, path: str, offset: int, length: int | None, waited_for: int) -> memoryview:
        get = partial(self.store_of(path).get, path, offset, length, self.limits.metadata_bytes)
        return self._counted(path, waited_for, get)

    def _begin(self, path: str, size: int, waited_for: int, finish: Finish[memoryview]) -> None:
        """Begin to read a whole file of about ``size`` bytes."""

        def count(answer: Callable[[], memoryview]) -> None:
            finish(partial(self._counted, path, waited_for, answer))

        self.store_of(path).begin_get(path, size, self.limits.metadata_bytes, count)

    def _begin_pages(self, path: str, waited_for: int, finish: Finish[tuple[int, Iterator[Any]]]) -> None:
        self.store_of(path).begin_pages(path, lambda answer: finish(lambda: (waited_for, answer())))

    def _counted(self, path: str, waited_for: int, answer: Callable[[], memoryview]) -> memoryview:
        try:
            data = answer()
        except TooLongError as error:
            raise self.limits.exceeded("metadata_bytes", f"{error.size} bytes", path=path) from None
        self.meter.count(waited_for, len(data))
        return data

    def _request_tail(self, path: str, waited_for: int, length: int = TAIL_BYTES) -> Tail:
        found = self.store_of(path).tail(path, length)
        self.meter.count(waited_for, len(found[0]))
        return found

    def open_file(self, path: str, size: int = 0, tail: Tail | None = None) -> pa.NativeFile:
        """A random-access file over an absolute path.

        Raises FileNotFoundError and StoreError; for a local path OSError, and CorruptMetadataError where it names
        what is no regular file.

        ``size`` is what the metadata say that the file has, 0 where they do not: a small remote file is read at once.
        ``tail`` is the end of a remote file that was read before; it is not read again.
        """
        note_path(path)
        if scheme_of(path) is None:
            return open_local(normalize(path))
        return self._open_remote(path, lambda: tail or self._request_tail(path, self.meter.chain, tail_bytes(size)))

    def _open_remote(self, path: str, tail: Callable[[], Tail]) -> pa.NativeFile:
        from .stores.remote_source import RemoteSource

        meter = self.meter
        file = RemoteFile(self.store_of(path), path, tail(), lambda n: meter.count(meter.chain, n))
        return RemoteSource(file)

    def open_immutable(self, path: str, size: int, mtime_ms: int, whole: bool = True) -> pa.NativeFile:
        """:meth:`open_file` for a file whose content never changes, and that is opened several times.

        A small remote file is read whole. The bytes of those that were read last are kept in memory.

        Parameters
        ----------
        size, mtime_ms : int
            What a listing or the metadata say of the file; a file with others is another file.
        whole : bool
            Whether a remote file of at most :data:`WHOLE_BYTES` is read whole.
        """
        import pyarrow as pa

        note_path(path)
        if scheme_of(path) is None:
            return self.open_file(path)
        if whole and 0 < size <= WHOLE_BYTES:
            data = self._recent.get((path, size, mtime_ms), lambda: self._get(path), len)
            return pa.BufferReader(pa.py_buffer(data))

        def read() -> Tail:
            found: Tail | None = self._ahead.take((path, "tail"))
            return found or self._request_tail(path, self.meter.chain)

        return self._open_remote(
            path, lambda: self._recent.get((path, size, mtime_ms, "tail"), read, lambda found: len(found[0]))
        )

    # ---- reading ahead ----------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def reading_ahead(
        self,
        files: Iterable[tuple[str, int]] = (),
        immutable: Iterable[FileInfo] = (),
        whole: bool = True,
        listed: Iterable[str] = (),
    ) -> Iterator[None]:
        """Within this context remote files are being read before they are asked for, all together.

        Nothing happens for local files, nor for what a context around this one reads already. A file that nobody asks
        for was read in vain.

        Parameters
        ----------
        files : iterable of (path, bytes)
            Absolute paths, in the order in which :meth:`read_bytes` or :meth:`read_into` will ask for them, with about
            the sizes.
        immutable : iterable of FileInfo
            Files for :meth:`open_immutable`. Of large ones the end is read.
        whole : bool
            As :meth:`open_immutable` will be told.
        listed : iterable of str
            Directories that :meth:`pages` will be asked for. They are listed first.
        """
        if self.is_local:
            yield
            return
        base, most = self.meter.chain, self.store_of(self.root).concurrency
        wanted: dict[Hashable, Request[Any]] = {
            (path, "pages"): (1, partial(self._begin_pages, path, base)) for path in listed
        }
        for path, size in files:
            wanted[path] = max(size, 1), partial(self._begin, path, size, base)
        for file in immutable:
            key = file.path, file.size, file.mtime_ms
            if whole and 0 < file.size <= WHOLE_BYTES:
                if key not in self._recent:
                    wanted[file.path] = file.size, partial(self._begin, file.path, file.size, base)
            elif (*key, "tail") not in self._recent:
                tail = partial(self._request_tail, file.path, base)
                wanted[file.path, "tail"] = TAIL_BYTES, partial(on_thread, tail, most.threads)
        for name in list(wanted):
            if scheme_of(name if isinstance(name, str) else name[0]) is None:  # type: ignore[index]
                del wanted[name]
        with self._ahead.sending(wanted, most):
            yield

    def wait_for(self, path: str) -> None:
        """Wait until a file has come that is being read ahead. To wait for the last one of many is to wait once."""
        self._ahead.wait(path)

    @contextlib.contextmanager
    def remembering(self) -> Iterator[None]:
        """Within this context, which lasts while a table is opened, a remote store is asked each question once.

        Nothing that was remembered outlives the context, so later calls see what other processes have written.
        """
        self._remembered = None if self.is_local else {}
        try:
            yield
        finally:
            self._remembered = None

    def _asked_once(self, question: str, path: str, ask: Callable[[], Found]) -> Found:
        """The answer to a question about a path; threads that ask the same at the same time wait for one request."""
        remembered = self._remembered
        if remembered is None:
            return ask()
        mine: Future[Found] = Future()
        found: Future[Found] = remembered.setdefault((question, path), mine)
        if found is mine:
            try:
                mine.set_result(ask())
            except BaseException as error:
                mine.set_exception(error)
        return found.result()

    # ---- listing ----------------------------------------------------------------------------------------------------

    def list(self, path: str) -> list[FileInfo]:
        """The files directly in directory ``path`` (absolute), by name. Empty where there is no directory.

        Nothing is cached: what other processes have written before the call is listed.
        """
        if scheme_of(path) is not None:
            return self._asked_once("list", path, lambda: self._listed(path))
        return sorted(files_in(path, _FILE_SUFFIXES), key=lambda info: info.name)

    def _listed(self, path: str) -> builtins.list[FileInfo]:
        waited_for = self.meter.chain
        found = [*self.store_of(path).list(path)]
        for page in range(1 + len(found) // _KEYS_PER_PAGE):
            self.meter.count(waited_for + page, 0)
        return found

    def pages(self, path: str, start_after: str | None = None) -> Iterator[Sequence[FileInfo]]:
        """:meth:`list` in the pages in which the store lists them; a page is requested when the iterator comes to it.

        Parameters
        ----------
        start_after : str, optional
            Only files whose names are greater, in the order of their bytes.
        """
        if scheme_of(path) is None:
            yield [info for info in self.list(path) if start_after is None or info.name > start_after]
            return
        begun = None if start_after is not None else self._ahead.take((path, "pages"))
        waited_for, pages = begun or (self.meter.chain, self.store_of(path).pages(path, start_after))
        is_first = True
        while (page := next(pages, None)) is not None or is_first:
            self.meter.count(waited_for, 0)
            yield page or ()
            waited_for, is_first = self.meter.chain, False

    def first_page(self, path: str) -> Sequence[FileInfo]:
        """The first of :meth:`pages`; all files of a local directory. Asked once while a table is opened."""
        return self._asked_once("page", path, lambda: next(iter(self.pages(path)), ()))

    def is_file(self, path: str) -> bool:
        """Whether a file is at an absolute path."""
        if scheme_of(path) is None:
            return is_local_file(normalize(path))
        return self._asked_once("file", path, lambda: self.size_of(path) is not None)

    def size_of(self, path: str) -> int | None:
        """The bytes of a file at an absolute path; None where there is none. Raises StoreError; OSError if local."""
        if scheme_of(path) is None:
            try:
                return os.stat(path).st_size if os.path.isfile(path) else None
            except FileNotFoundError:
                return None
        waited_for = self.meter.chain
        try:
            return self.store_of(path).head(path).size
        except FileNotFoundError:
            return None
        finally:
            self.meter.count(waited_for, 0)

    def stamp_of(self, path: str) -> tuple[int, int]:
        """The bytes of a local file, and its modification time in nanoseconds. Another file hardly ever has both.

        Raises OSError.
        """
        found = os.stat(path)
        return found.st_size, found.st_mtime_ns

    def _has_below(self, path: str) -> bool:
        waited_for = self.meter.chain
        try:
            return self.store_of(path).has_files_below(path)
        finally:
            self.meter.count(waited_for, 0)

    def is_dir(self, path: str) -> bool:
        """Whether a directory is at an absolute path; in a store without directories, whether a file is below it."""
        if scheme_of(path) is None:
            return is_local_dir(normalize(path))
        return self._asked_once("directory", path, lambda: self._has_below(path))

    def require_root(self) -> None:
        """Raise TableNotFoundError unless something is at the root."""
        if not self.is_dir(self.root) and not self.is_file(self.root):
            raise TableNotFoundError("nothing is at the location", path=self.root, hint=missing_hint(self.root))

    # ---- writing ----------------------------------------------------------------------------------------------------

    def put(self, path: str, data: bytes | memoryview) -> None:
        """Write a file, whole or not at all, over whatever is there. Raises StoreError; OSError if it is local."""
        if scheme_of(path) is None:
            write_local(path, data)
        else:
            self.store_of(path).put(path, data)

    def put_new(self, path: str, data: bytes | memoryview) -> None:
        """Write a file under a name that nobody else uses, such as a random one. Errors are those of :meth:`put`.

        Cheaper than :meth:`put`; after an error or a crash a part of the file may be there.
        """
        if scheme_of(path) is None:
            create_local(path, data)
        else:
            self.store_of(path).put(path, data)

    def put_if_absent(self, path: str, data: bytes | memoryview, is_durable: bool = True) -> PutOutcome:
        """Write a file, whole or not at all, if there is none.

        ``is_durable`` is false for what readers do without: after a crash it may be gone or cut off, if it is local.

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
            return link_local(path, data, is_durable)
        return self.store_of(path).put_if_absent(path, bytes(data))

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

    def check(self, stored: pa.Array, *, encoded: bool = False) -> SharedPrefix | None:
        """See :meth:`PathPolicy.check`."""
        return self._paths.check(stored, encoded=encoded)

    def quick_check(self, stored: pa.Array, *, encoded: bool = False) -> tuple[bool, SharedPrefix | None]:
        """See :meth:`PathPolicy.quick_check`."""
        return self._paths.quick_check(stored, encoded=encoded)
