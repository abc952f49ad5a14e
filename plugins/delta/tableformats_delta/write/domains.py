"""The domains of a table's metadata that writers must understand: clustering, and the high-water mark of row ids.

All other domains are kept as they are. Source: Delta PROTOCOL.md, "Domain Metadata", "Clustered Table", "Row Tracking".
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tableformats.plugin import CorruptMetadataError

from ..evolution.protocol_upgrade import supports

if TYPE_CHECKING:
    from ..snapshot.delta_snapshot import DeltaSnapshot

__all__ = ["ROW_TRACKING", "clustering_columns", "row_id_domain", "row_id_high_water", "with_row_ids"]

ROW_TRACKING = "delta.rowTracking"
_CLUSTERING = "delta.clustering"
_MARK = "rowIdHighWaterMark"


def clustering_columns(snapshot: DeltaSnapshot) -> frozenset[tuple[str, ...]]:
    """The physical names of the columns by which files are clustered, each by its parts.

    Raises CorruptMetadataError.
    """
    if not supports(snapshot.protocol, "clustering"):
        return frozenset()
    found = _domain(snapshot, _CLUSTERING).get("clusteringColumns", [])
    # delta-spark writes each column as the list of the parts of its name.
    parts = [[name] if isinstance(name, str) else name for name in found] if isinstance(found, list) else [None]
    if not all(isinstance(names, list) and names and all(isinstance(n, str) for n in names) for names in parts):
        raise CorruptMetadataError("the clustering columns are no names", field=_CLUSTERING)
    return frozenset(tuple(names) for names in parts if names is not None)


def row_id_high_water(snapshot: DeltaSnapshot | None) -> int:
    """The greatest row id that was given out; -1: none was. Raises CorruptMetadataError."""
    mark = -1 if snapshot is None else _domain(snapshot, ROW_TRACKING).get(_MARK, -1)
    if not isinstance(mark, int) or isinstance(mark, bool) or not -1 <= mark < 2**63:
        raise CorruptMetadataError("the high-water mark of row ids is no number", field=ROW_TRACKING)
    return mark


def row_id_domain(mark: int) -> dict[str, Any]:
    """The action that says that row ids up to ``mark`` are given out."""
    text = json.dumps({_MARK: mark}, separators=(",", ":"))
    return {"domainMetadata": {"domain": ROW_TRACKING, "configuration": text, "removed": False}}


def with_row_ids(adds: Sequence[dict[str, Any]], snapshot: DeltaSnapshot | None) -> list[dict[str, Any]]:
    """Give the new files ``adds``, which are changed, fresh row ids and their version.

    Returns
    -------
    list of dict
        The action of the new high-water mark, if there is one.

    Raises
    ------
    CorruptMetadataError
        The ids are used up, or the mark is none.
    """
    first = row_id_high_water(snapshot) + 1
    free = first
    version = 0 if snapshot is None else snapshot.version + 1
    for action in adds:
        action["add"].update(baseRowId=free, defaultRowCommitVersion=version)
        free += json.loads(action["add"]["stats"])["numRecords"]
    if free > 2**63:
        raise CorruptMetadataError("the row ids are used up", field=ROW_TRACKING)
    return [row_id_domain(free - 1)] if free > first else []


def _domain(snapshot: DeltaSnapshot, name: str) -> dict[str, Any]:
    """The configuration of a domain; empty where the table has none."""
    rows = snapshot.inspect("domains").to_pylist()
    texts = [row["configuration"] for row in rows if row["domain"] == name]
    try:
        found = json.loads(texts[0]) if texts else {}
    except (TypeError, ValueError, RecursionError):  # it has none, or it is no JSON
        found = None
    if not isinstance(found, dict):
        raise CorruptMetadataError("the configuration of a domain is no object of JSON", field=name)
    return found
