"""Says when two stored paths mean one file.

Paths are compared as stored, except that the spellings of one store are equal (``s3a`` and ``s3``, ``file:/x`` and
``/x``). Some writers put a scheme and authority into position delete files but not into the metadata, or the other way
round. If one side has none, both are compared without.
"""

from __future__ import annotations

import pyarrow as pa

from tableformats.plugin import compute as pc
from tableformats.plugin import flat, lazy_pattern, normalize, normalize_all, scheme_of

__all__ = ["common_prefix", "comparable", "without_authority"]

_PREFIX = lazy_pattern(r"(?:[a-z][a-z0-9+.-]+://[^/]*|file:)?/[^/]")
"""The scheme and authority if there are any, and the first character of a name."""
_AUTHORITY = r"^[A-Za-z][A-Za-z0-9+.-]+:/(?:/[^/]*)?/?"


def without_authority(path: str) -> str:
    """A path without scheme and authority."""
    path = normalize(path)
    if scheme_of(path) is None:
        return path
    rest = path.split(":", 1)[1]
    return "/" + rest[2:].partition("/")[2] if rest.startswith("//") else rest


def comparable(left: pa.ChunkedArray, right: pa.ChunkedArray) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
    """Normalize two columns of paths (string[n], string[m]), so that paths of one file are equal. Nulls stay null."""
    prefix = common_prefix(left)
    if prefix is not None and (right.null_count == len(right) or prefix == common_prefix(right)):
        return left, right
    both = [normalize_all(flat(paths)) for paths in (left, right)]
    schemes = {_have_scheme(paths) for paths in both}
    if len(schemes) > 1 or None in schemes:
        both = [pc.replace_substring_regex(paths, pattern=_AUTHORITY, replacement="/") for paths in both]
    first, second = (pa.chunked_array([paths]) for paths in both)
    return first, second


def common_prefix(paths: pa.ChunkedArray | pa.Array) -> str | None:
    """The scheme and authority with which all paths (string[n], nulls left out) begin, and a character of the name.

    None: the paths differ in it. Paths with one such prefix mean one file exactly if they are the same text.
    """
    first = next((path.as_py() for path in pc.drop_null(paths)[:1]), "")
    prefix = _PREFIX.match(first)
    is_common = prefix is not None and pc.all(pc.starts_with(paths, prefix.group())).as_py()
    return prefix.group() if prefix is not None and is_common else None


def _have_scheme(paths: pa.Array) -> bool | None:
    """True: all paths have a scheme. False: none has. None: some have."""
    schemes = pc.match_substring_regex(paths, r"^[A-Za-z][A-Za-z0-9+.-]+:/")
    if pc.all(schemes).as_py() in (True, None):
        return True
    return None if pc.any(schemes).as_py() else False
