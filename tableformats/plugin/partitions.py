"""Partition specs of a table, and what partition values say of other columns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..schema import Field, Type
from ..schema.transforms import Transform

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa


__all__ = ["Implied", "ImpliedBounds", "PartitionField", "PartitionSpec", "partition_members"]


@dataclass(frozen=True)
class PartitionField:
    """A column of the partition tuple: ``transform`` applied to the column with id ``source_id``.

    ``id`` is unique over all specs of the table (Iceberg: 1000 and up; other formats number likewise).
    """

    id: int
    name: str
    source_id: int
    transform: Transform
    type: Type
    """Type of the partition values, as the transform gives it."""


@dataclass(frozen=True)
class Implied:
    """What partition values say of another column, a row a file.

    ``lower`` and ``upper`` [n] have the Arrow type of that column, inclusive, null = unknown. ``may_value`` and
    ``may_null`` (uint8[n]) are 0 where no row can hold a value, or a NULL. Nothing is said of NaN, so the column is
    no floating-point one.
    """

    lower: pa.Array
    upper: pa.Array
    may_value: np.ndarray
    may_null: np.ndarray


def partition_members(specs: Mapping[int, PartitionSpec]) -> tuple[Field, ...]:
    """The partition fields of all specs, each id once, in order of id, as members of a struct.

    Evolved specs may use a name again: it then gets the id behind it.
    """
    fields = {f.id: f for spec in specs.values() for f in spec.fields}
    members: dict[str, Field] = {}
    for _, f in sorted(fields.items()):
        name = f.name if f.name not in members else f"{f.name}_{f.id}"
        members[name] = Field(f.id, name, f.type)
    return tuple(members.values())


class ImpliedBounds(ABC):
    """Bounds of a column that follow from partition columns which the writers computed from it.

    Attributes
    ----------
    source_id : the column that is bounded
    field_ids : the partition fields whose values say so, one or more
    """

    source_id: int
    field_ids: tuple[int, ...]

    @abstractmethod
    def of(self, values: Sequence[pa.Array], source: Type) -> Implied:
        """What the values of the ``field_ids`` (each [n], in the field's type) say of the column of type ``source``."""


@dataclass(frozen=True)
class PartitionSpec:
    """``fields`` make the partition tuple; ``implied`` is what they say of yet other columns, for pruning alone."""

    id: int
    fields: tuple[PartitionField, ...]
    implied: tuple[ImpliedBounds, ...] = ()
