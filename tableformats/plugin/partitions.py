"""Partition specs of a table, and what partition values say of other columns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ..dataclass import dataclass
from ..display import shortened
from ..schema import Field, Type
from ..schema.transforms import Transform

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa


__all__ = ["Implied", "ImpliedBounds", "PartitionField", "PartitionSpec", "partition_members"]


@dataclass(frozen=True)
class PartitionField:
    """A column of the partition tuple: a transform of a column of the table.

    Attributes
    ----------
    id : int
        Unique over all specs of the table (Iceberg: 1000 and up; other formats number likewise).
    name : str
    source_id : int
        The id of the column that is transformed.
    transform : Transform
    type : Type
        Of the partition values, as the transform gives them.

    Examples
    --------
    >>> tf.open_table("events").snapshot().partition_fields
    [PartitionField(id=1000, name='day', transform='identity', source_id=2, type='bigint')]
    """

    id: int
    name: str
    source_id: int
    transform: Transform
    type: Type

    def __repr__(self) -> str:
        made = f"transform={str(self.transform)!r}, source_id={self.source_id}, type={str(self.type)!r}"
        return f"PartitionField(id={self.id}, name={shortened(self.name)!r}, {made})"


@dataclass(frozen=True)
class Implied:
    """What partition values say of another column, one row a file.

    Nothing is said of NaN, so the column is no floating-point one.

    Attributes
    ----------
    lower, upper : array[n]
        In the Arrow type of the column, inclusive; null means unknown.
    may_value, may_null : uint8[n]
        0 where no row can hold a value, or a NULL.
    """

    lower: pa.Array
    upper: pa.Array
    may_value: np.ndarray
    may_null: np.ndarray


class ImpliedBounds(ABC):
    """Bounds of a column that follow from partition columns, which the writers computed from it.

    Attributes
    ----------
    source_id : int
        The column that is bounded.
    field_ids : tuple of int
        The partition fields whose values say so, one or more.
    """

    source_id: int
    field_ids: tuple[int, ...]

    @abstractmethod
    def of(self, values: Sequence[pa.Array], source: Type) -> Implied:
        """What partition values say of the column.

        Parameters
        ----------
        values : sequence of array[n]
            The values of each of the ``field_ids``, in the type of the field.
        source : Type
            The type of the column.
        """


@dataclass(frozen=True)
class PartitionSpec:
    """How files are partitioned.

    Attributes
    ----------
    id : int
    fields : tuple of PartitionField
        The partition tuple.
    implied : tuple of ImpliedBounds
        What the partition values say of further columns. Used for pruning only.
    """

    id: int
    fields: tuple[PartitionField, ...]
    implied: tuple[ImpliedBounds, ...] = ()


def partition_members(specs: Mapping[int, PartitionSpec]) -> tuple[Field, ...]:
    """The partition fields of all specs, each id once, in order of id, as members of a struct.

    Where evolved specs use a name for two fields, the second one is called by its name and id.
    """
    fields = {f.id: f for spec in specs.values() for f in spec.fields}
    members: dict[str, Field] = {}
    for _, f in sorted(fields.items()):
        name = f.name if f.name not in members else f"{f.name}_{f.id}"
        members[name] = Field(f.id, name, f.type)
    return tuple(members.values())
