"""How the data files of a Delta table are written: :func:`target_of`.

Source: Delta PROTOCOL.md, "Per-file Statistics", "Column Mapping", "Materialize Partition Columns".
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tableformats.plugin import Field, PartitionField, WriteTarget, stored_leaves

from .texts import indexed_leaves, partition_text

if TYPE_CHECKING:
    from ..snapshot.delta_snapshot import DeltaSnapshot

__all__ = ["partition_value_text", "target_of"]

_BOUNDED = ("byte", "short", "int", "long", "float", "double", "string", "date", "timestamp", "timestamp_ntz")
_UNITS = {"b": 1, "k": 1 << 10, "kb": 1 << 10, "m": 1 << 20, "mb": 1 << 20, "g": 1 << 30, "gb": 1 << 30}


def target_of(snapshot: DeltaSnapshot) -> WriteTarget:
    """The target of new files of the table at this version."""
    schema, properties = snapshot.schema, snapshot.properties
    spec = snapshot.specs[snapshot.default_spec_id]
    target = WriteTarget(
        schema,
        spec.fields,
        spec.id,
        partition_value_text,
        target_file_size=_bytes_of(properties.get("delta.targetFileSize", ""), WriteTarget.target_file_size),
    )
    leaves = indexed_leaves(stored_leaves(target), properties)
    bounded = frozenset(path[-1].id for path in leaves if _has_bounds(path[-1]))
    return replace(target, bounded=bounded)


def partition_value_text(column: PartitionField, value: object) -> str:
    """See :func:`.texts.partition_text`."""
    return partition_text(Field(column.source_id, column.name, column.type), value)


def _has_bounds(leaf: Field) -> bool:
    return str(getattr(leaf.type, "name", "long")) in _BOUNDED  # decimals have no name


def _bytes_of(text: str, default: int) -> int:
    """A size as properties spell it (``134217728``, ``128mb``); ``default`` for none, or what is no size."""
    number = text.strip().lower()
    unit = number.lstrip("0123456789")
    number = number.removesuffix(unit)
    return int(number) * _UNITS.get(unit.strip() or "b", 0) or default if number else default
