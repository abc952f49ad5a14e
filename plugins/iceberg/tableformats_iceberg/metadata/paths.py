"""When two stored paths mean one file.

Paths are compared as stored, but for the spellings of one store (``s3a`` and ``s3``, ``file:/x`` and ``/x``). Some
writers put a scheme and authority into position delete files and none into the metadata, or the other way round:
where one side has none, both are compared without.
"""

from __future__ import annotations

import re

import pyarrow as pa

from tableformats.plugin import compute as pc
from tableformats.plugin import flat, normalize, normalize_all, scheme_of

__all__ = ["comparable", "spelled_from", "without_authority"]

_ROOT = re.compile(r"(?:[a-z][a-z0-9+.-]+://[^/]*|file:)?/[^/]")
"""Scheme and authority, or none, and the first character of a name."""
_AUTHORITY = r"^[A-Za-z][A-Za-z0-9+.-]+:/(?:/[^/]*)?/?"


def without_authority(path: str) -> str:
    """A path without scheme and authority."""
    path = normalize(path)
    if scheme_of(path) is None:
        return path
    rest = path.split(":", 1)[1]
    return "/" + rest[2:].partition("/")[2] if rest.startswith("//") else rest


def comparable(left: pa.ChunkedArray, right: pa.ChunkedArray) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
    """Two columns of paths (string[n], string[m]; nulls stay) in spellings that are equal where the files are."""
    start = spelled_from(left)
    if start is not None and (right.null_count == len(right) or start == spelled_from(right)):
        return left, right
    both = [normalize_all(flat(paths)) for paths in (left, right)]
    schemes = {_have_scheme(paths) for paths in both}
    if len(schemes) > 1 or None in schemes:
        both = [pc.replace_substring_regex(paths, pattern=_AUTHORITY, replacement="/") for paths in both]
    first, second = (pa.chunked_array([paths]) for paths in both)
    return first, second


def spelled_from(paths: pa.ChunkedArray | pa.Array) -> str | None:
    """The scheme and authority, or the directory at the root, with which all these paths (string[n]; nulls do not
    count) begin in one spelling; None where they differ. Paths of one such start are equal where they are the same."""
    first = next((path.as_py() for path in pc.drop_null(paths)[:1]), "")
    start = _ROOT.match(first)
    same = start is not None and pc.all(pc.starts_with(paths, start.group()), min_count=0).as_py()
    return start.group() if start is not None and same else None


def _have_scheme(paths: pa.Array) -> bool | None:
    """Whether all paths have a scheme (True) or none has (False); None where it differs."""
    schemes = pc.match_substring_regex(paths, r"^[A-Za-z][A-Za-z0-9+.-]+:/")
    if pc.all(schemes).as_py() in (True, None):
        return True
    return None if pc.any(schemes).as_py() else False
