"""How columns are found in data files, and columns that no file has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from ..dataclass import dataclass
from ..schema import Field, Schema

__all__ = ["MetadataColumn", "NameMapping"]


@dataclass(frozen=True)
class NameMapping:
    """How columns are found in a data file.

    Attributes
    ----------
    by : {"name", "id"}
        By ``Field.stored_name``, nested members too, or by the Parquet ``field_id``.
    names : mapping of dotted name in the file to field id
        With ``by="id"``, for files that carry no ids.
    partition_values_first : bool
        True: identity partition values replace what the file holds (Delta: the log alone has partition columns). False:
        they stand in only for columns that the file lacks (Iceberg).
    by_name : frozenset of int
        Columns that are found by name whatever ``by`` says, because files give them no id.
    undropped : Schema, optional
        The snapshot's schema where it has every column that the table ever had, numbered by position from 1 on. With
        ``by="id"``, files without ids that ``names`` does not cover are numbered by it, if their columns have the same
        names and positions.

    Notes
    -----
    Source: Iceberg spec, "Column Projection" and "Name Mapping"; Delta PROTOCOL.md, "Column Mapping". Iceberg's Java
    reference finds the columns of files without ids by position (Parquet) or by name (ORC, Avro); under the condition
    of ``undropped`` both are the same.
    """

    by: str = "name"
    names: Mapping[str, int] = field(default_factory=dict)
    partition_values_first: bool = False
    by_name: frozenset[int] = frozenset()
    undropped: Schema | None = None


@dataclass(frozen=True)
class MetadataColumn:
    """A column that is in no file's schema, such as ``_file`` or a row id. A scan gives it where it is named.

    The value of a row is the first of these that exists: what the file itself stores for the row; the value of the
    file in ``per_file``, plus the position of the row where ``counts_rows`` is set.

    Attributes
    ----------
    field : Field
        With an id that no column of the schema has: a negative one, or one that the format reserves.
    per_file : str, optional
        An int64 column of :attr:`FileBatch.files`, or ``path`` (absolute), ``spec_id``, or ``partition``, whose members
        are :func:`partition_members`. None: files have no value.
    counts_rows : bool
        Add the position of the row in the file. The column is a long then.
    stored_name, stored_id : str and int, optional
        The file's own column, by name or by id.
    null_without : str, optional
        An int64 column of :attr:`FileBatch.files`. All rows of a file that has NULL there have NULL, whatever the file
        stores. None: a file without a value in ``per_file`` must store all of its values, or it is damaged.
    """

    field: Field
    per_file: str | None
    counts_rows: bool = False
    stored_name: str | None = None
    stored_id: int | None = None
    null_without: str | None = None
