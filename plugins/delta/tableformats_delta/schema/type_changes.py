"""Type widening: which changes of a column's type this reader can cast.

Source: Delta PROTOCOL.md, "Type Widening", "Type Change Metadata".
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from tableformats.plugin import UnsupportedFeatureError, lazy_pattern

__all__ = ["can_widen", "check_type_changes"]

_DECIMAL = lazy_pattern(r"decimal\(\s*(\d{1,2})\s*,\s*(\d{1,2})\s*\)", re.ASCII)
_WIDER = {
    "byte": ("short", "integer", "long", "double"),
    "short": ("integer", "long", "double"),
    "integer": ("long", "double"),
    "float": ("double",),
    "date": ("timestamp_ntz",),
}
# The smallest decimal that an integer type may become. The protocol asks for ten digits for all but long; previews of
# Spark wrote byte -> decimal(4,1), which holds every byte.
_AS_DECIMAL = {"byte": (3, 0), "short": (5, 0), "integer": (10, 0), "long": (20, 0)}


def check_type_changes(metadata: Mapping[str, Any], column: Sequence[str], path: str) -> None:
    """Check that ``delta.typeChanges`` of a field's metadata has known widenings only.

    Raises
    ------
    UnsupportedFeatureError
        ``field`` names the column.
    """
    changes = metadata.get("delta.typeChanges")
    if changes is None:
        return
    for change in changes if isinstance(changes, list) else [None]:
        names = [change.get(k) for k in ("fromType", "toType")] if isinstance(change, dict) else [None, None]
        old, new = map(str, names)
        if not can_widen(old, new):
            raise UnsupportedFeatureError(
                f"the type of a column was changed from {names[0]} to {names[1]}, which is no known widening",
                path=path,
                field=".".join(column),
            )


def can_widen(old: str, new: str) -> bool:
    """Whether a column of type ``old`` may be widened to type ``new``; both are spelled as in ``schemaString``."""
    return new in _WIDER.get(old, ()) or _is_wider_decimal(old, new)


def _is_wider_decimal(old: str, new: str) -> bool:
    """Whether ``new`` is a decimal with at least as many digits as ``old`` before and after the point."""
    wider, narrower = _decimal(new), _AS_DECIMAL.get(old) or _decimal(old)
    if wider is None or narrower is None:
        return False
    return wider[1] >= narrower[1] and wider[0] - wider[1] >= narrower[0] - narrower[1]


def _decimal(name: str) -> tuple[int, int] | None:
    match = _DECIMAL.fullmatch(name)
    return (int(match[1]), int(match[2])) if match else None
