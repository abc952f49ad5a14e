"""The ``metaData`` of a commit that gives out numbers of identity columns: with their new high-water marks.

Source: Delta PROTOCOL.md, "Identity Columns".
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tableformats.plugin import IdentityColumn, WriteTarget, compute

from .rules import HIGH_WATER_MARK

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["identity_metadata", "new_high_water"]

_LONG = range(-(2**63), 2**63)


def identity_metadata(
    metadata: Mapping[str, Any], target: WriteTarget, added: pa.Table | None
) -> dict[str, Any] | None:
    """The action with the marks after the files ``added``; None: it stays as it is.

    Numbers that rows brought count too, so that none of them is given out later.
    """
    marks: dict[str, int] = {}
    for rule in target.rules.identities if added is not None and added.num_rows else ():
        mark = new_high_water(rule, _farthest(rule, target, added))
        if mark is not None and mark != rule.high_water:
            marks[rule.column.name] = mark
    if not marks:
        return None
    struct = json.loads(metadata["schemaString"])
    for f in struct["fields"]:
        if f["name"] in marks:
            f["metadata"] = {**f["metadata"], HIGH_WATER_MARK: marks[f["name"]]}
    return {**metadata, "schemaString": json.dumps(struct, ensure_ascii=False, separators=(",", ":"))}


def new_high_water(rule: IdentityColumn, farthest: int | None) -> int | None:
    """The mark after numbers of which ``farthest`` is the one farthest along. None: none was ever given out.

    A number that lies between two that the column gives out counts as the next one.
    """
    if farthest is None or (farthest - rule.start) * rule.step < 0:
        return rule.high_water
    if rule.high_water is not None and (farthest - rule.high_water) * rule.step <= 0:
        return rule.high_water
    rounded = rule.start - (rule.start - farthest) // rule.step * rule.step
    return rounded if rounded in _LONG else farthest


def _farthest(rule: IdentityColumn, target: WriteTarget, added: pa.Table) -> int | None:
    key = next((str(f.id) for f in target.partitioning if f.source_id == rule.column.id), None)
    side = "partition" if key is not None else "upper" if rule.step > 0 else "lower"
    values = compute.struct_field(added.column(side), key or str(rule.column.id))
    found = compute.max(values) if rule.step > 0 else compute.min(values)
    number: int | None = found.as_py()
    return number
