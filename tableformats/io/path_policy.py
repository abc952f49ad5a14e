"""Which paths a table's metadata may name, and what they mean: absolute, decoded, relocated.

The policy: a table may name paths in the store of its own root (clones and sibling folders are legal), and others only
below a prefix that the caller allowed with ``allow_paths``. The store is the scheme, and for HTTP and its like also
the host. Local paths are a store of their own. Paths that climb with ``..`` or hold NUL are always refused.

Every rule exists twice: :meth:`PathPolicy.resolve_one` applies it to one path, :meth:`PathPolicy.resolve` to a column.
A column is resolved by prefixes that all its paths share; only unusual paths are resolved one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..errors import PathNotAllowedError
from ..lazy_pattern import lazy_pattern
from .paths import SCHEME_ALIASES, authority_of, is_on_another_host, normalize, percent_decoded, scheme_of
from .redaction import without_credentials

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

__all__ = ["PathPolicy", "SharedPrefix"]

_STORE = lazy_pattern(r"/|file:(?:///|/)|[A-Za-z][A-Za-z0-9+.-]+://[^/]*/")
"""What an absolute path says of its store: the root of the local file system, or a scheme and an authority."""
_SCHEMES_OF_HOSTS = frozenset({"http", "https", "ftp", "sftp", "ssh", "smb", "github"})
"""Schemes in which the authority is a host to connect to. In others it is a bucket of one store, or its name."""
_RELATIVE, _ABSOLUTE, _UNUSUAL = 0, 1, 2
"""What :func:`tableformats._core.paths.path_kinds` returns."""


class SharedPrefix(NamedTuple):
    """What all paths of a column begin with, and what stands in place of it once they are absolute."""

    stored: str
    resolved: str

    def resolve(self, stored: pa.Array) -> pa.Array:
        """The paths (string[n], all with the prefix) made absolute."""
        from ..columnar import compute as pc

        if self.stored == self.resolved:
            return stored
        stop = len(self.stored.encode())
        return pc.binary_replace_slice(stored, start=0, stop=stop, replacement=self.resolved)

    def texts(self, stored: pa.Array) -> list[str]:
        """What :meth:`resolve` gives, as a list. It costs less than making that first."""
        from .._core.paths import texts_with_prefix
        from ..columnar.arrays import text_buffers

        return texts_with_prefix(*text_buffers(stored), self.resolved.encode(), len(self.stored.encode()))


class PathPolicy:
    """The paths that the table at ``root`` may name.

    Parameters
    ----------
    root : str
        The table's location: absolute, normalized, without a trailing slash.
    allow_paths : sequence of str
        Prefixes of further locations.
    """

    def __init__(self, root: str, allow_paths: Sequence[str]) -> None:
        self.root = root
        # Prefixes have no last slash, so that nothing is left of the local root. An empty text is no prefix.
        self._allowed = [without_credentials(normalize(p)).rstrip("/") for p in allow_paths if p]
        self._moves: list[tuple[str, str]] = []

    @property
    def allow_paths(self) -> tuple[str, ...]:
        """The prefixes that the caller allowed, normalized."""
        return tuple(prefix or "/" for prefix in self._allowed)

    @property
    def moves(self) -> dict[str, str]:
        """{old prefix: new prefix}, as :meth:`relocate` was told."""
        return {old or "/": new or "/" for old, new in reversed(self._moves)}

    def join(self, *parts: str) -> str:
        """An absolute path below the root."""
        return "/".join((self.root if self.root != "/" else "", *parts))

    def relocate(self, old: str, new: str) -> None:
        """Let stored paths below ``old`` mean the same paths below ``new``. The longest prefix wins."""
        self._moves.append((without_credentials(normalize(old)).rstrip("/"), without_credentials(new).rstrip("/")))
        self._moves.sort(key=lambda pair: -len(pair[0]))

    def resolve_one(self, stored: str, *, encoded: bool = False) -> str:
        """One stored path made absolute; see :meth:`resolve`."""
        path = normalize(percent_decoded(stored) if encoded else stored)
        _refuse_climbing(path)
        for old, new in self._moves:
            if path.startswith(old + "/") or path == old != "":
                return new + path[len(old) :]
        if scheme_of(path) is None and not path.startswith("/"):
            path = self.join(path)
        self._require_allowed(path)
        return path

    def resolve(self, stored: pa.Array, *, encoded: bool = False) -> pa.Array:
        """Stored paths made absolute: decoded once, relocated, joined with the root, and checked.

        Parameters
        ----------
        stored : pyarrow.Array
            string[n], as the metadata holds them.
        encoded : bool
            Whether the format percent-encodes paths (Delta: RFC 2396 URIs; Iceberg does not).

        Returns
        -------
        pyarrow.Array
            string[n].

        Raises
        ------
        PathNotAllowedError
            A path is in another store and below no allowed prefix, climbs with ``..``, or holds NUL.
        """
        import pyarrow as pa

        from ..columnar import compute as pc
        from ..columnar.arrays import scalar, strings, to_arrow

        kinds = _path_kinds(stored, encoded)
        if not self._moves and not kinds.any():
            return self._below_root(stored)
        alike = self._alike(stored, kinds)
        if alike is not None:
            return alike
        left = to_arrow(kinds != _UNUSUAL)
        resolved = pa.nulls(len(stored), pa.string())
        for old, new in self._spelled_prefixes(stored, kinds):
            if self._moves:
                # A path that equals a moved prefix is a file that was moved by its name.
                left = pc.and_not(left, pc.equal(stored, scalar(old[:-1], pa.string())))
            below = pc.and_(left, _starts_with(stored, old))
            if pc.any(below).as_py():
                stop = len(old.encode())
                moved = stored if old == new else pc.binary_replace_slice(stored, start=0, stop=stop, replacement=new)
                if pc.all(below).as_py():
                    return moved
                resolved, left = pc.if_else(below, moved, resolved), pc.and_not(left, below)
        relative = pc.and_(left, to_arrow(kinds == _RELATIVE))
        if pc.any(relative).as_py():
            resolved = pc.if_else(relative, self._below_root(stored), resolved)
        rest = pc.is_null(resolved)
        if pc.any(rest).as_py():
            singly = [self.resolve_one(p, encoded=encoded) for p in pc.filter(stored, rest).to_pylist()]
            resolved = pc.replace_with_mask(resolved, rest, strings(singly))
        return resolved

    def _alike(self, stored: pa.Array, kinds: np.ndarray) -> pa.Array | None:
        """The paths made absolute, where all of them have one spelling of one prefix; None for others."""
        from ..columnar import compute as pc

        if self._moves or (kinds != _ABSOLUTE).any():
            return None
        first = stored[0].as_py()
        for old, new in self._spelled_prefixes(stored, kinds):
            if first.startswith(old):
                if not pc.all(_starts_with(stored, old)).as_py():
                    return None
                stop = len(old.encode())
                return stored if old == new else pc.binary_replace_slice(stored, start=0, stop=stop, replacement=new)
        return None

    def _below_root(self, stored: pa.Array) -> pa.Array:
        from ..columnar import compute as pc

        # This takes a fourth of the time of Arrow's function that joins strings.
        return pc.binary_replace_slice(stored, start=0, stop=0, replacement=self.join(""))

    def check(self, stored: pa.Array, *, encoded: bool = False) -> SharedPrefix | None:
        """Raise what :meth:`resolve` would raise. Paths are made only where :meth:`quick_check` decides nothing.

        Returns
        -------
        SharedPrefix or None
            With it :meth:`SharedPrefix.resolve` gives the paths, and some of them, that :meth:`resolve` gives.
        """
        is_allowed, shared = self.quick_check(stored, encoded=encoded)
        if not is_allowed:
            self.resolve(stored, encoded=encoded)
        return shared

    def quick_check(self, stored: pa.Array, *, encoded: bool = False) -> tuple[bool, SharedPrefix | None]:
        """Whether a few passes over the column show that all paths are allowed: all are relative, or all are below one
        prefix that is allowed.

        Returns
        -------
        (bool, SharedPrefix or None)
            False decides nothing. The prefix is None also where paths are resolved in several ways.
        """
        from ..columnar import compute as pc

        kinds = _path_kinds(stored, encoded)
        if not kinds.any():
            return True, None if self._moves else SharedPrefix("", self.join(""))
        if (kinds != _ABSOLUTE).any():
            return False, None
        first = stored[0].as_py()
        old, new = next((pair for pair in self._spelled_prefixes(stored, kinds) if first.startswith(pair[0])), ("", ""))
        if not old or not pc.all(_starts_with(stored, old)).as_py():
            return False, None
        longest = not self._moves or len(self._moves[0][0]) < len(normalize(old))
        return True, SharedPrefix(old, new) if longest else None

    def _spelled_prefixes(self, stored: pa.Array, kinds: np.ndarray) -> Iterator[tuple[str, str]]:
        """Every spelling of a prefix below which nothing needs a check, with its meaning; both end with a slash.

        The moved prefixes come first, the longest of them before the others; then the root, and what is allowed. The
        last one is the store of the first absolute path in ``stored``, if the root is in that store.
        """
        own = [self.root.rstrip("/"), *self._allowed]
        for pair in [*self._moves, *((prefix, prefix) for prefix in own)]:
            old, new = (prefix + "/" for prefix in pair)
            yield old, new
            if old.startswith("/"):
                yield f"file://{old}", new
                yield f"file:{old}", new
            for alias, scheme in SCHEME_ALIASES.items():
                if scheme_of(old) == scheme:
                    yield alias + old[len(scheme) :], new
        absolute = (kinds == _ABSOLUTE).nonzero()[0]
        if self._moves or not len(absolute):
            return
        store = _STORE.match(stored[int(absolute[0])].as_py())
        if store is not None and self._is_own(store.group()):
            yield store.group(), normalize(store.group())

    def _require_allowed(self, path: str) -> None:
        if self._is_own(path) or any(path == allowed or path.startswith(allowed + "/") for allowed in self._allowed):
            return
        raise PathNotAllowedError(
            f"the table at {self.root!r} names a path of another store",
            path=path,
            hint="If the table was moved, open it with relocate=True or relocate={old: new}; "
            "if the path is right, allow it with allow_paths=[prefix]",
        )

    def _is_own(self, path: str) -> bool:
        """Whether the path is in the store of the root."""
        scheme = scheme_of(path)
        same_store = scheme == scheme_of(self.root) and not is_on_another_host(path)
        return same_store and (scheme not in _SCHEMES_OF_HOSTS or authority_of(path) == authority_of(self.root))


def _starts_with(paths: pa.Array, prefix: str) -> pa.Array:
    """Where paths begin with ``prefix``. ``file:/`` does not count as the beginning of ``file:///x``."""
    from ..columnar import compute as pc

    found = pc.starts_with(paths, prefix)
    return pc.and_not(found, pc.starts_with(paths, "file://")) if prefix == "file:/" else found


def _path_kinds(paths: pa.Array, encoded: bool) -> np.ndarray:
    """See :func:`tableformats._core.paths.path_kinds`."""
    from .._core.paths import path_kinds
    from ..columnar.arrays import text_buffers

    return path_kinds(*text_buffers(paths), encoded)


def _refuse_climbing(path: str) -> None:
    # A backslash separates segments in some stores and systems. No writer has file names like that.
    climbs = ".." in path and ".." in path.replace("\\", "/").split("/")
    if climbs or "\0" in path:
        raise PathNotAllowedError(
            f"the table's metadata names a path that {'climbs with ..' if climbs else 'holds NUL'}",
            path=path,
            hint="The table is not safe to read",
        )
