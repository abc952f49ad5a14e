"""The arguments of ``open_table``: what they may be."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from ..limits import Limits

__all__ = ["check_types", "frozen", "location_of"]


def location_of(location: Any) -> str | os.PathLike[str]:
    """A location, or that of another library's table: its metadata file, or else its root."""
    for name in ("metadata_location", "table_uri"):
        known = getattr(location, name, None)
        if isinstance(known, str) and known:
            return known
    if isinstance(location, (str, os.PathLike)):
        return location
    raise TypeError(f"a location is text, a path, or a table of deltalake or PyIceberg, not {type(location).__name__}")


def check_types(*, relocate: Any, cache: Any, limits: Any, format_options: Any) -> None:
    """Raise TypeError for what would be an error without words later, or be taken for True."""
    from ..cache.metadata_cache import MetadataCache

    if isinstance(relocate, Mapping):
        is_known = all(isinstance(prefix, str) for move in relocate.items() for prefix in move)
    else:
        is_known = relocate is None or isinstance(relocate, bool)
    if not is_known:
        raise TypeError(f"relocate is True or {{old prefix: new prefix}}, not {relocate!r}")
    if not isinstance(cache, (bool, MetadataCache)):
        raise TypeError(f"cache is True, False or a MetadataCache, not {cache!r}")
    if not isinstance(limits, Limits):
        raise TypeError(f"limits is a tableformats.Limits, not {limits!r}")
    if format_options is not None and not isinstance(format_options, Mapping):
        raise TypeError(f"format_options is a mapping of names to values, not {format_options!r}")


def frozen(options: Any) -> Any:
    return tuple(sorted((str(k), repr(v)) for k, v in options.items())) if isinstance(options, Mapping) else options
