"""Column mapping: its mode, and how data files name their columns under it.

Source: Delta PROTOCOL.md, "Column Mapping".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tableformats.plugin import NameMapping, UnsupportedFeatureError

__all__ = ["mapping_mode", "name_mapping"]

_MODES = ("none", "name", "id")


def mapping_mode(configuration: Mapping[str, str], protocol: Mapping[str, Any], path: str) -> str:
    """The mode of a table: ``none``, ``name`` or ``id``.

    The property ``delta.columnMapping.mode`` counts only where the protocol supports column mapping.

    Raises
    ------
    UnsupportedFeatureError
        The property names another mode.
    """
    if protocol["minReaderVersion"] != 2 and "columnMapping" not in (protocol.get("readerFeatures") or ()):
        return "none"
    mode = configuration.get("delta.columnMapping.mode", "none")
    if mode not in _MODES:
        raise UnsupportedFeatureError(
            f"the table has the column mapping mode {mode!r}", path=path, field="delta.columnMapping.mode"
        )
    return mode


def name_mapping(mode: str) -> NameMapping:
    """How columns of data files are found: by field id in mode ``id``, else by physical name.

    Partition values of the log win over those in the files.
    """
    return NameMapping(by="id" if mode == "id" else "name", partition_values_first=True)
