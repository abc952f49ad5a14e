"""Where bytes come from: read, list and resolve paths over pyarrow.fs and fsspec, under one path policy.

A :class:`Storage` belongs to one table. Paths that a table's metadata names pass through :meth:`Storage.resolve`,
which makes them absolute, decodes them once where the format encodes them, relocates them where the caller asked,
and refuses those that the caller did not allow, before anything is requested.

The policy: a table may name paths of its own root's scheme (clones and sibling folders are legal; over HTTP and its
like only of the same host), and nothing else unless ``allow_paths`` lists a prefix of it. A local table is a scheme of
its own. Paths that climb with ``..`` or hold NUL are refused wherever they lead.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from ..errors import CorruptMetadataError, PathNotAllowedError, TableFormatsError, TableNotFoundError
from ..limits import DEFAULT_LIMITS, Limits
from ..runtime.concurrency import cached_property
from ..runtime.pickling import Portable
from .secrets import Guarded, HiddenOptions, Scrubber, without_secrets

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    import pyarrow.fs

__all__ = [
    "FileInfo",
    "ReusableBuffer",
    "Storage",
    "missing_file",
    "normalize",
    "normalize_all",
    "scheme_of",
    "strip_trailing",
]

# RFC 3986: a scheme has two letters or more here, so that C:\ is a path; ':' inside a relative name is no scheme.
_SCHEME = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]+):/")
_STORE = re.compile(r"/|file:(?:///|/)|[A-Za-z][A-Za-z0-9+.-]+://[^/]*/")
"""What an absolute path says of its store: the root of the local file system, or a scheme and an authority."""
_OF_HOSTS = frozenset({"http", "https", "ftp", "sftp", "ssh", "smb", "github"})
"""Schemes in which the authority is a host to connect to; in others it is a bucket of one store, or its name."""
_MOST_SCRATCH = 8 << 20
"""Bytes of a :class:`ReusableBuffer`, at most."""
_SAME_STORE = {"s3a": "s3", "s3n": "s3", "abfss": "abfs", "wasbs": "wasb", "gcs": "gs"}


@dataclass(frozen=True)
class FileInfo:
    """A file of a listing: ``path`` is absolute, ``mtime_ms`` milliseconds since the epoch (0 = unknown)."""

    name: str
    path: str
    size: int
    mtime_ms: int


def missing_file(what: str, path: str) -> CorruptMetadataError:
    """The error for a file that a table names and its store does not have."""
    return CorruptMetadataError(
        f"{what} is missing",
        path=path,
        hint="It may have been cleaned up since the table was opened: open it again. If the table was moved, open it "
        "with relocate=True or relocate={old: new}",
    )


def scheme_of(path: str) -> str | None:
    """The URI scheme of ``path``, or None for relative and local paths (``file:`` is local)."""
    match = _SCHEME.match(path)
    if match is None or match.group(1).lower() == "file":
        return None
    scheme = match.group(1).lower()
    return _SAME_STORE.get(scheme, scheme)


def normalize(path: str) -> str:
    """One spelling for one file: ``file:/x``, ``file:///x`` and ``/x`` are ``/x``; s3a and s3n are s3."""
    match = _SCHEME.match(path)
    if match is None:
        return path
    scheme = match.group(1).lower()
    if scheme == "file":
        rest = path[5:]
        return "/" + rest.lstrip("/") if not rest.startswith("//") or rest.startswith("///") else _after_host(rest)
    return _SAME_STORE.get(scheme, scheme) + path[len(scheme) :]


def _after_host(rest: str) -> str:
    # file://host/x: only the local host is served, as in RFC 8089.
    host, slash, path = rest[2:].partition("/")
    return "/" + path if slash and host in ("", "localhost") else "//" + host + slash + path


def normalize_all(paths: pa.Array) -> pa.Array:
    """:func:`normalize` of string[n], in columns; nulls stay."""
    from ..columnar import compute as pc
    from ..columnar.arrays import FALSE, strings

    for alias, scheme in _SAME_STORE.items():
        paths = pc.replace_substring_regex(paths, f"^{alias}:/", f"{scheme}:/")
    paths = pc.replace_substring_regex(paths, "^file:(?:///+|//localhost/)", "/")
    paths = pc.replace_substring_regex(paths, "^file:/([^/]|$)", r"/\1")
    # Other hosts and schemes in capitals are rare enough to go one by one.
    rest = pc.fill_null(pc.match_substring_regex(paths, "^(?:file:/|[^:/]*[A-Z][^:/]*:/)"), FALSE)
    if pc.any(rest).as_py():
        singly = [normalize(p) for p in pc.filter(paths, rest).to_pylist()]
        paths = pc.replace_with_mask(paths, rest, strings(singly))
    return paths


def strip_trailing(path: str) -> str:
    """Without trailing slashes, but never the empty string."""
    return path.rstrip("/") or "/"


class ReusableBuffer:
    """Memory for one file after the other, that one thread reads, decodes and lets go of.

    The system clears new memory before anybody has it, which takes as long as reading what then stands there.
    """

    def __init__(self) -> None:
        self._memory = _untouched(0)

    def reserve(self, size: int) -> memoryview:
        """uint8[size], to be written to; that which was given before is given again."""
        if size > _MOST_SCRATCH:
            return _untouched(size)
        if size > len(self._memory):
            self._memory = _untouched(min(2 * size, _MOST_SCRATCH))
        return self._memory[:size]


def _untouched(size: int) -> memoryview:
    """uint8[size] that the system need not clear before it is written to."""
    import numpy as np

    return np.empty(size, np.uint8).data


class Storage(Portable):
    """The files of one table.

    Credentials stay inside: no repr, error or pickle has them. In another process the store is opened by what that
    process finds in its own environment.

    Parameters
    ----------
    location : directory or file; a local path, a ``file:`` URI or a URI of a store. Credentials in it
        (``s3://key:secret@bucket``, a query) open the store and are no part of :attr:`root`
    storage_options : options of the fsspec file system
    allow_paths : a prefix, or prefixes, of further locations that the table's metadata may name
    limits : what may be read of the table; readers find them here

    Raises
    ------
    TableNotFoundError : ``location`` is empty (and not the current directory), or holds NUL
    TypeError : an argument is of another type than it says
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
        # A text is a sequence too: of characters, none of which is meant.
        allowed = [allow_paths] if isinstance(allow_paths, str) else list(allow_paths or ())
        if scheme_of(text) is None:
            text = os.path.abspath(os.path.expanduser(text))
        self._uri = text
        self.root = strip_trailing(without_secrets(text))
        self._options = dict(storage_options or {})
        self._scrubber = Scrubber(self._options, [text, *allowed])
        # Without their last slash, so that of the local root nothing is left; an empty text is no prefix.
        self._allowed = [without_secrets(normalize(p)).rstrip("/") for p in allowed if p]
        self._moved: list[tuple[str, str]] = []

    def __repr__(self) -> str:
        return f"Storage({self.root!r})"

    def _state(self) -> dict[str, Any]:
        kept = {name: getattr(self, name) for name in ("limits", "root", "_allowed", "_moved")}
        return {**kept, "_uri": self.root, "_options": {}, "_scrubber": Scrubber({}, ())}

    @property
    def is_local(self) -> bool:
        return scheme_of(self.root) is None

    @cached_property
    def filesystem(self) -> pyarrow.fs.FileSystem:
        """The file system of the root, for engines that read data files themselves."""
        return self._filesystem(self._uri)

    def _filesystem(self, path: str) -> pyarrow.fs.FileSystem:
        from pyarrow import fs

        scheme = scheme_of(path)
        if scheme is None:
            return fs.LocalFileSystem()
        if not self._options:
            try:
                return fs.FileSystem.from_uri(path)[0]
            except Exception:  # pyarrow has no such store: fsspec may have
                pass
        try:
            import fsspec
        except ImportError as error:
            raise TableFormatsError(
                f"no file system for {scheme}:// paths",
                path=without_secrets(path),
                hint="Install fsspec and its package for the store",
            ) from error
        try:
            made = fsspec.core.url_to_fs(path, **self._options)[0]
        except Exception as error:
            self._scrubber.error(error)
            raise TableFormatsError(
                f"the file system of {scheme}:// paths cannot be made: {error}",
                path=without_secrets(path),
                hint="Check storage_options, and that the package for the store is installed",
            ) from error
        return fs.PyFileSystem(fs.FSSpecHandler(Guarded(made, self._scrubber) if self._scrubber else made))

    def filesystem_path(self, path: str) -> tuple[pyarrow.fs.FileSystem, str]:
        """The file system of an absolute ``path``, and the path as that file system spells it."""
        path = normalize(path)
        same = scheme_of(path) == scheme_of(self.root)
        # Of what a table names, no more than the store: a query could name another endpoint.
        filesystem = self.filesystem if same else self._filesystem("/".join(path.split("/", 3)[:3]))
        return filesystem, path if scheme_of(path) is None else path.split("://", 1)[-1]

    def join(self, *parts: str) -> str:
        """An absolute path below the root."""
        return "/".join((self.root if self.root != "/" else "", *parts))

    def read_bytes(self, path: str, offset: int = 0, length: int | None = None) -> bytes:
        """The bytes of an absolute path, or of a range of it.

        Raises
        ------
        FileNotFoundError : there is no such file (callers say what it means)
        OSError : the store failed; a range that passes the end of the file
        LimitExceededError : more than the limit ``metadata_bytes``
        """
        with self.open_file(path) as source:
            size = source.size()
            wanted = size - offset if length is None else length
            if offset < 0 or wanted < 0 or wanted > size - offset:
                raise OSError(f"bytes {offset} to {offset + wanted} asked of {path!r}, which has {size}")
            self.limits.check("metadata_bytes", wanted, "bytes", path=path)
            return bytes(source.read_at(wanted, offset))

    def read_into(self, path: str, room: Callable[[int], memoryview]) -> memoryview:
        """The bytes (uint8) of an absolute path, in what ``room`` gives for so many (uint8[n], to be written to).
        Raises as :meth:`read_bytes` does."""
        with self.open_file(path) as source:
            wanted = source.size()
            self.limits.check("metadata_bytes", wanted, "bytes", path=path)
            view = room(wanted)
            return view[: source.readinto(view)]

    def open_file(self, path: str) -> pa.NativeFile:
        """A random-access file over an absolute path. Raises FileNotFoundError, OSError."""
        filesystem, inner = self.filesystem_path(path)
        return filesystem.open_input_file(inner)

    def list(self, path: str) -> list[FileInfo]:
        """The files directly in directory ``path`` (absolute), by name; empty where there is no directory."""
        from pyarrow import fs

        filesystem, inner = self.filesystem_path(path)
        selector = fs.FileSelector(inner, allow_not_found=True)
        found = []
        for info in filesystem.get_file_info(selector):
            if info.type == fs.FileType.File:
                mtime = (info.mtime_ns or 0) // 1_000_000
                found.append(FileInfo(info.base_name, f"{path}/{info.base_name}", info.size or 0, mtime))
        return sorted(found, key=lambda info: info.name)

    def is_file(self, path: str) -> bool:
        from pyarrow import fs

        filesystem, inner = self.filesystem_path(path)
        return bool(filesystem.get_file_info([inner])[0].type == fs.FileType.File)

    def is_dir(self, path: str) -> bool:
        from pyarrow import fs

        filesystem, inner = self.filesystem_path(path)
        return bool(filesystem.get_file_info([inner])[0].type == fs.FileType.Directory)

    def require_root(self) -> None:
        """Raise TableNotFoundError unless something is at the root."""
        if not self.is_dir(self.root) and not self.is_file(self.root):
            raise TableNotFoundError("nothing is at the location", path=self.root, hint="Check the path")

    @property
    def options(self) -> dict[str, Any]:
        """What ``storage_options`` were: to open the same store elsewhere. Its repr shows the names alone."""
        return HiddenOptions(self._options)

    @property
    def allow_paths(self) -> tuple[str, ...]:
        """The prefixes of further locations that the table's metadata may name."""
        return tuple(prefix or "/" for prefix in self._allowed)

    @property
    def moves(self) -> dict[str, str]:
        """{old prefix: new prefix}, as :meth:`relocate` was told."""
        return {old or "/": new or "/" for old, new in reversed(self._moved)}

    def relocate(self, old: str, new: str) -> None:
        """From now on, stored paths below ``old`` mean the same paths below ``new``; the longest prefix wins."""
        # Without their last slash, so that of the local root nothing is left.
        self._moved.append((without_secrets(normalize(old)).rstrip("/"), without_secrets(new).rstrip("/")))
        self._moved.sort(key=lambda pair: -len(pair[0]))

    def resolve_one(self, stored: str, *, encoded: bool = False) -> str:
        """One stored path made absolute; see :meth:`resolve`."""
        path = normalize(unquote(stored) if encoded else stored)
        _refuse_climbing(path)
        for old, new in self._moved:
            if path.startswith(old + "/") or path == old != "":
                return new + path[len(old) :]
        if scheme_of(path) is None and not path.startswith("/"):
            path = self.join(path)
        self._check(path)
        return path

    def resolve(self, stored: pa.Array, *, encoded: bool = False) -> pa.Array:
        """Stored paths made absolute: decoded (once, where ``encoded``), relocated, joined with the root, allowed.

        Parameters
        ----------
        stored : string[n], as the metadata holds them
        encoded : the format percent-encodes paths (Delta: RFC 2396 URIs; Iceberg does not)

        Raises
        ------
        PathNotAllowedError : a path of another store that ``allow_paths`` does not list; climbing with ``..``
        """
        import pyarrow as pa

        from ..columnar import compute as pc
        from ..columnar.arrays import scalar, strings, to_arrow

        # Columns where they do: below a known prefix, or relative to the root. Python, path by path, for the rest.
        kinds = _path_kinds(stored, encoded)
        if not self._moved and not kinds.any():
            return self._below_root(stored)
        if not self._moved and (kinds == 1).all() and pc.all(pc.starts_with(stored, self.root + "/")).as_py():
            return stored
        left = to_arrow(kinds != 2)
        resolved = pa.nulls(len(stored), pa.string())
        for old, new in self._spelled_prefixes(stored, kinds):
            if self._moved:
                # What is no less than a moved prefix: a file that was moved by its name.
                left = pc.and_not(left, pc.equal(stored, scalar(old[:-1], pa.string())))
            below = pc.and_(left, pc.starts_with(stored, old))
            if pc.any(below).as_py():
                stop = len(old.encode())
                moved = stored if old == new else pc.binary_replace_slice(stored, start=0, stop=stop, replacement=new)
                if pc.all(below).as_py():
                    return moved
                resolved, left = pc.if_else(below, moved, resolved), pc.and_not(left, below)
        relative = pc.and_(left, to_arrow(kinds == 0))
        if pc.any(relative).as_py():
            resolved = pc.if_else(relative, self._below_root(stored), resolved)
        rest = pc.is_null(resolved)
        if pc.any(rest).as_py():
            singly = [self.resolve_one(p, encoded=encoded) for p in pc.filter(stored, rest).to_pylist()]
            resolved = pc.replace_with_mask(resolved, rest, strings(singly))
        return resolved

    def _below_root(self, stored: pa.Array) -> pa.Array:
        from ..columnar import compute as pc

        # A fourth of the time that Arrow takes to join texts.
        return pc.binary_replace_slice(stored, start=0, stop=0, replacement=self.join(""))

    def check(self, stored: pa.Array, *, encoded: bool = False) -> None:
        """Raises what :meth:`resolve` would; makes no paths where one look tells that nothing is wrong."""
        if not self.are_fine(stored, encoded=encoded):
            self.resolve(stored, encoded=encoded)

    def are_fine(self, stored: pa.Array, *, encoded: bool = False) -> bool:
        """Whether these paths are relative, all of them, or all below one prefix that is. False says nothing."""
        from ..columnar import compute as pc

        kinds = _path_kinds(stored, encoded)
        if not kinds.any():
            return True
        if (kinds != 1).any():
            return False
        first = stored[0].as_py()
        below = next((old for old, _ in self._spelled_prefixes(stored, kinds) if first.startswith(old)), None)
        return below is not None and bool(pc.all(pc.starts_with(stored, below)).as_py())

    def _spelled_prefixes(self, stored: pa.Array, kinds: np.ndarray) -> Iterator[tuple[str, str]]:
        """Every spelling of a prefix that needs no other check, up to a slash, with what it means.

        The moved prefixes stand first, the longest of them before the others; then the root, and what is allowed.
        The last is the store of the first absolute path among ``stored``, where the root lies there too.
        """
        own = [self.root.rstrip("/"), *self._allowed]
        for pair in [*self._moved, *((prefix, prefix) for prefix in own)]:
            old, new = (prefix + "/" for prefix in pair)
            yield old, new
            if old.startswith("/"):
                yield f"file://{old}", new
                yield f"file:{old}", new
            for alias, scheme in _SAME_STORE.items():
                if scheme_of(old) == scheme:
                    yield alias + old[len(scheme) :], new
        absolute = (kinds == 1).nonzero()[0]
        if self._moved or not len(absolute):
            return
        store = _STORE.match(stored[int(absolute[0])].as_py())
        if store is not None and self._is_own(store.group()):
            yield store.group(), normalize(store.group())

    def _check(self, path: str) -> None:
        if self._is_own(path) or any(path == allowed or path.startswith(allowed + "/") for allowed in self._allowed):
            return
        raise PathNotAllowedError(
            f"the table at {self.root!r} names a path of another store",
            path=path,
            hint="If the table was moved, open it with relocate=True or relocate={old: new}; "
            "if the path is right, allow it with allow_paths=[prefix]",
        )

    def _is_own(self, path: str) -> bool:
        """Whether the root lies in the same store, which is a host only where many share a scheme."""
        scheme = scheme_of(path)
        same_store = scheme == scheme_of(self.root) and _authority_is_local(path)
        return same_store and (scheme not in _OF_HOSTS or _authority(path) == _authority(self.root))


def _path_kinds(paths: pa.Array, encoded: bool) -> np.ndarray:
    """See :func:`tableformats._core.paths.path_kinds`."""
    from .._core.paths import path_kinds
    from ..columnar.arrays import text_buffers

    return path_kinds(*text_buffers(paths), encoded)


def _refuse_climbing(path: str) -> None:
    # A backslash separates where some stores and systems say so, and no writer names a file like that.
    climbs = ".." in path and ".." in path.replace("\\", "/").split("/")
    if climbs or "\0" in path:
        raise PathNotAllowedError(
            f"the table's metadata names a path that {'climbs with ..' if climbs else 'holds NUL'}",
            path=path,
            hint="The table is not safe to read",
        )


def _authority(path: str) -> str:
    """``host:port`` or the bucket; the empty string where there is none."""
    return path.split("://", 1)[1].partition("/")[0].lower() if "://" in path else ""


def _authority_is_local(path: str) -> bool:
    return scheme_of(path) is not None or not path.startswith("//")


def common_move(old: str, new: str) -> Iterable[tuple[str, str]]:
    """The moves that ``old`` -> ``new`` implies: the table itself, and what stood beside it.

    Equal trailing segments are dropped, so that siblings of a moved table (``.../t_data01`` beside ``.../t``)
    are found beside its new place.
    """
    yield old, new
    old_parts, new_parts = old.split("/"), new.split("/")
    while len(old_parts) > 1 and len(new_parts) > 1 and old_parts[-1] == new_parts[-1]:
        old_parts.pop()
        new_parts.pop()
    parent = "/".join(old_parts)
    if scheme_of(parent + "/x") == scheme_of(old) and parent not in ("", old):
        yield parent, "/".join(new_parts) or "/"
