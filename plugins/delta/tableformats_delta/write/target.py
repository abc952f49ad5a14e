"""How the data files of a Delta table are written: :func:`target_of`.

Source: Delta PROTOCOL.md, "Per-file Statistics", "Column Mapping", "Materialize Partition Columns".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from tableformats.plugin import (
    Field,
    PartitionField,
    RowRules,
    StructType,
    WriteTarget,
    primitive,
    stored_leaves,
    whole_number,
)

from ..evolution.properties import is_true
from ..evolution.protocol_upgrade import supports
from ..schema.row_tracking import row_tracking_columns
from ..statistics.indexed_columns import indexed_leaves
from .rules import row_rules
from .texts import partition_text

if TYPE_CHECKING:
    from .definition import TableDefinition

__all__ = ["partition_value_text", "target_of", "wanted_leaves"]

_BOUNDED = ("byte", "short", "int", "long", "float", "double", "string", "date", "timestamp", "timestamp_ntz")
_UNITS = {"b": 1, "k": 1 << 10, "kb": 1 << 10, "m": 1 << 20, "mb": 1 << 20, "g": 1 << 30, "gb": 1 << 30}


def target_of(definition: TableDefinition, path: str = "") -> WriteTarget:
    """The target of new files of a table; ``path`` is its location, for errors.

    Raises
    ------
    UnsupportedFeatureError, CorruptMetadataError
        As :func:`.rules.row_rules`.
    """
    schema, properties = definition.table_metadata.schema, definition.properties
    spec = definition.table_metadata.spec
    is_mapped = definition.table_metadata.mapping_mode != "none"
    target = WriteTarget(
        schema,
        spec.fields,
        spec.id,
        partition_value_text,
        partition_columns_in_files=supports(definition.protocol, "materializePartitionColumns"),
        stored_names=dict(_stored_names(schema.fields)) if is_mapped else {},
        with_field_ids=is_mapped,
        unnumbered=frozenset(_unnumbered(schema.fields)) if is_mapped else frozenset(),
        with_layout=False,
        target_file_size=_bytes_of(properties.get("delta.targetFileSize", ""), WriteTarget.target_file_size),
        rules=row_rules(schema, properties, path),
    )
    carried = [c for c in row_tracking_columns(properties) if c.stored_name is not None]
    target = replace(
        target,
        stored_names={**target.stored_names, **{c.field.id: c.stored_name for c in carried if c.stored_name}},
        unnumbered=target.unnumbered | {c.field.id for c in carried},
        carried=tuple(c.field for c in carried),
    )
    bounded = frozenset(leaf[-1].id for leaf in wanted_leaves(target, definition) if _has_bounds(leaf[-1]))
    # An identity column's high-water mark is taken from the bounds of the new files.
    target = replace(target, bounded=bounded | {rule.column.id for rule in target.rules.identities})
    if not is_true(properties, "delta.enableChangeDataFeed"):
        return target
    return replace(target, changes=_changes_target(target))


def _changes_target(target: WriteTarget) -> WriteTarget:
    """How files of the change data feed are written: with the kind of the change behind the table's columns."""
    kind = Field(max(_ids(target.schema.fields)) + 1, "_change_type", primitive("string"))
    return replace(
        target,
        schema=replace(target.schema, fields=(*target.schema.fields, kind)),
        unnumbered=target.unnumbered | {kind.id},
        directory="_change_data",
        bounded=frozenset(),
        rules=RowRules(),
        carried=(),
    )


def _ids(fields: Iterable[Field]) -> Iterator[int]:
    for f in fields:
        yield f.id
        yield from _ids(f.type.members)


def wanted_leaves(target: WriteTarget, definition: TableDefinition) -> list[tuple[Field, ...]]:
    """The leaves of which files have statistics: as the properties say, and the columns of a clustered table."""
    leaves = [leaf for leaf in stored_leaves(target) if leaf[0].id not in _identity_sources(target)]
    found = indexed_leaves(leaves, definition.properties)
    clustered = definition.clustering
    if not clustered:
        return found
    known = {leaf[-1].id for leaf in found}
    return [leaf for leaf in leaves if leaf[-1].id in known or tuple(f.stored_name for f in leaf) in clustered]


def _identity_sources(target: WriteTarget) -> frozenset[int]:
    """The partition columns, which have no statistics even where files store them."""
    return frozenset(f.source_id for f in target.partitioning)


def _stored_names(fields: Iterable[Field]) -> Iterator[tuple[int, str]]:
    for f in fields:
        if f.physical_name is not None:
            yield f.id, f.physical_name
        yield from _stored_names(f.type.members)


def _unnumbered(fields: Iterable[Field]) -> Iterator[int]:
    """Elements of lists and members of maps have ids for Iceberg alone."""
    for f in fields:
        if not isinstance(f.type, StructType):
            yield from (member.id for member in f.type.members)
        yield from _unnumbered(f.type.members)


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
    return (whole_number(number) or 0) * _UNITS.get(unit.strip() or "b", 0) or default
