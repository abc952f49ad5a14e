"""What a format implements so that rows can be appended to its tables.

The core writes the data files, which changes nothing that readers see. The format then makes all of them visible by one
atomic write. The core decides when to try, when to wait and when to give up; see ``tableformats/write``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..io.stores.base import PutOutcome
from ..schema import Field, Schema, arrow_type

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Commit", "FormatAppend", "added_files_schema"]


@dataclass(frozen=True)
class Commit:
    """What a verb that writes did.

    Attributes
    ----------
    version : int
        The version that it made; without rows to write, the version that is current.
    operation : str
        As the table's history names it.
    metrics : mapping of str to int
        ``added_files``, ``added_rows``, ``added_bytes``.
    attempts : int
        How often the commit was tried; 0: there was nothing to commit.
    """

    version: int
    operation: str
    metrics: Mapping[str, int] = field(default_factory=dict)
    attempts: int = 1


class FormatAppend(ABC):
    """One append, from the version that it was begun at until it is committed or given up.

    Attributes
    ----------
    version : int
        The version that the next try is made upon; after a won try, the version that it made.
    operation : str
        The name of the operation in the table's history.
    schema : Schema
        The columns of the rows, partition columns included.
    partition_fields : sequence of Field
        Columns whose values are one a data file, and are not stored in it.
    """

    version: int
    operation: str
    schema: Schema
    partition_fields: Sequence[Field]

    @abstractmethod
    def partition_text(self, column: Field, value: object) -> str:
        """A partition value other than NULL as text, for the directory of a file.

        Raises
        ------
        ConstraintViolationError
            The format cannot store the value.
        """

    @abstractmethod
    def try_commit(self, files: pa.Table) -> PutOutcome:
        """Make files visible by one atomic write upon :attr:`version`.

        Parameters
        ----------
        files : pyarrow.Table
            As :func:`added_files_schema` says.

        Returns
        -------
        PutOutcome
            LOST: certainly nothing was committed. UNKNOWN: nobody can say.
        """

    @abstractmethod
    def rebase(self) -> None:
        """Move :attr:`version` on to the current version, after a lost try.

        Raises
        ------
        CommitConflictError
            What other writers committed is in conflict with this append.
        UnsupportedFeatureError
            They enabled a feature that is not honoured.
        """


def added_files_schema(schema: Schema, partition_fields: Sequence[Field]) -> pa.Schema:
    """The columns of written data files, one row a file.

    ``path`` is relative to the table's root and not encoded. ``partition``, ``lower``, ``upper`` and ``null_count`` are
    structs by column name; the last three have the columns that are no partition columns and have a primitive type.
    NULL in a bound is unknown. A bound is NULL where the column has a NaN.
    """
    import pyarrow as pa

    names = {f.name for f in partition_fields}
    leaves = [f for f in schema.fields if f.name not in names and not f.type.is_nested]
    bounds = pa.struct([pa.field(f.name, arrow_type(f.type)) for f in leaves])
    return pa.schema(
        [
            pa.field("path", pa.string()),
            pa.field("size_bytes", pa.int64()),
            pa.field("record_count", pa.int64()),
            pa.field("partition", pa.struct([pa.field(f.name, arrow_type(f.type)) for f in partition_fields])),
            pa.field("lower", bounds),
            pa.field("upper", bounds),
            pa.field("null_count", pa.struct([pa.field(f.name, pa.int64()) for f in leaves])),
        ]
    )
