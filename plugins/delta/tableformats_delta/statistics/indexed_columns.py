"""Which columns a table wants statistics of.

Source: Delta documentation, "Table properties reference".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tableformats.plugin import Field, StructType, whole_number

__all__ = ["indexed_leaves"]


def indexed_leaves(leaves: Sequence[tuple[Field, ...]], properties: Mapping[str, str]) -> list[tuple[Field, ...]]:
    """The leaves outside of lists and maps that the table's properties want statistics of, in the given order.

    A struct that ``delta.dataSkippingStatsColumns`` names stands for all of its members.
    """
    found = [path for path in leaves if all(isinstance(f.type, StructType) for f in path[:-1])]
    chosen = properties.get("delta.dataSkippingStatsColumns")
    if chosen is not None:
        wanted = {_bare(name).lower() for name in chosen.split(",")}
        return [path for path in found if any(name in wanted for name in _dotted(path))]
    count = properties.get("delta.dataSkippingNumIndexedCols", "32").strip()
    return found if count == "-1" else found[: whole_number(count) or 0]


def _dotted(path: Sequence[Field]) -> list[str]:
    """The dotted names of a leaf and of all that it lies in."""
    return [".".join(f.name for f in path[: n + 1]).lower() for n in range(len(path))]


def _bare(name: str) -> str:
    return ".".join(part.strip().strip("`") for part in name.split("."))
