"""How paths are spelled: schemes and their aliases, authorities, ``file:`` URIs, and moves from one prefix to another.

Everything here works on text alone. Which paths a table may name is decided in ``path_policy.py``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..lazy_pattern import lazy_pattern

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "SCHEME_ALIASES",
    "authority_of",
    "common_move",
    "is_on_another_host",
    "normalize",
    "normalize_all",
    "percent_decoded",
    "scheme_of",
    "strip_trailing",
]

# RFC 3986, but a scheme has two letters or more here, so that C:\ is a path. ':' inside a relative name is no scheme.
_SCHEME = lazy_pattern(r"^([A-Za-z][A-Za-z0-9+.-]+):/")
SCHEME_ALIASES = {"s3a": "s3", "s3n": "s3", "abfs": "abfss", "wasb": "wasbs", "gcs": "gs"}
"""Schemes that name the same store, each with the scheme that stands for it here."""


def scheme_of(path: str) -> str | None:
    """The URI scheme of ``path``. None for relative and local paths (``file:`` is local)."""
    match = _SCHEME.match(path)
    if match is None or match.group(1).lower() == "file":
        return None
    scheme = match.group(1).lower()
    return SCHEME_ALIASES.get(scheme, scheme)


def authority_of(path: str) -> str:
    """``host:port`` or the bucket of a normalized path, in lower case. Empty where there is none."""
    return path.split("://", 1)[1].partition("/")[0].lower() if "://" in path else ""


def is_on_another_host(path: str) -> bool:
    """Whether a normalized path is local to another machine: ``//host/x``."""
    return scheme_of(path) is None and path.startswith("//")


def percent_decoded(text: str) -> str:
    """``text`` with ``%20`` as a blank, and so on. Bytes that are no UTF-8 become U+FFFD."""
    if "%" not in text:
        return text
    from urllib.parse import unquote  # slow to import, and few paths need it

    return unquote(text)


def normalize(path: str) -> str:
    """One spelling for one file: ``file:/x``, ``file:///x`` and ``/x`` become ``/x``; s3a and s3n become s3."""
    match = _SCHEME.match(path)
    if match is None:
        return path
    scheme = match.group(1).lower()
    if scheme == "file":
        rest = path[5:]
        return "/" + rest.lstrip("/") if not rest.startswith("//") or rest.startswith("///") else _after_host(rest)
    return SCHEME_ALIASES.get(scheme, scheme) + path[len(scheme) :]


def _after_host(rest: str) -> str:
    # file://host/x: only the local host is served, as in RFC 8089.
    host, slash, path = rest[2:].partition("/")
    return "/" + path if slash and host in ("", "localhost") else "//" + host + slash + path


def normalize_all(paths: pa.Array) -> pa.Array:
    """:func:`normalize` for a whole column.

    Parameters
    ----------
    paths : pyarrow.Array
        string[n]. Nulls stay null.
    """
    from ..columnar import compute as pc
    from ..columnar.arrays import FALSE, strings

    for alias, scheme in SCHEME_ALIASES.items():
        paths = pc.replace_substring_regex(paths, f"^{alias}:/", f"{scheme}:/")
    paths = pc.replace_substring_regex(paths, "^file:(?:///+|//localhost/)", "/")
    paths = pc.replace_substring_regex(paths, "^file:/([^/]|$)", r"/\1")
    # Other hosts and schemes in capitals are rare. They are normalized one by one.
    rare = pc.fill_null(pc.match_substring_regex(paths, "^(?:file:/|[^:/]*[A-Z][^:/]*:/)"), FALSE)
    if pc.any(rare).as_py():
        singly = [normalize(p) for p in pc.filter(paths, rare).to_pylist()]
        paths = pc.replace_with_mask(paths, rare, strings(singly))
    return paths


def strip_trailing(path: str) -> str:
    """``path`` without trailing slashes, but never the empty string."""
    return path.rstrip("/") or "/"


def common_move(old: str, new: str) -> Iterable[tuple[str, str]]:
    """The moves that ``old`` -> ``new`` implies: of the table itself, and of what stood beside it.

    Equal trailing segments are dropped, so that siblings of a moved table (``.../t_data01`` beside ``.../t``) are
    found beside its new location.
    """
    yield old, new
    old_parts, new_parts = old.split("/"), new.split("/")
    # The host, or the bucket, stays.
    old_least, new_least = (3 if "://" in path or is_on_another_host(path) else 1 for path in (old, new))
    while len(old_parts) > old_least and len(new_parts) > new_least and old_parts[-1] == new_parts[-1]:
        old_parts.pop()
        new_parts.pop()
    parent = "/".join(old_parts)
    if scheme_of(parent + "/x") == scheme_of(old) and parent not in ("", old):
        yield parent, "/".join(new_parts) or "/"
