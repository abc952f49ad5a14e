"""How columns are found in data files, and columns that no file has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..schema import Field, Schema

__all__ = ["MetadataColumn", "NameMapping"]


@dataclass(frozen=True)
class NameMapping:
    """How columns are found in a data file.

    ``by`` is ``"name"`` (``Field.stored_name``; nested members too) or ``"id"`` (Parquet ``field_id``). With
    ``"id"``, files that carry no ids fall back to ``names``: {dotted name in the file: field id}, or where that is
    empty to ``undropped``. Source: Iceberg spec, "Column Projection" and "Name Mapping"; Delta PROTOCOL.md, "Column
    Mapping".
    """

    by: str = "name"
    names: Mapping[str, int] = field(default_factory=dict)
    partition_values_first: bool = False
    """True: identity partition values replace what the file holds (Delta: partition columns live in the log alone).
    False: they stand in only for columns that the file lacks (Iceberg)."""
    by_name: frozenset[int] = frozenset()
    """Ids of the columns that are found by name whatever ``by`` says, because files give them no id."""
    undropped: Schema | None = None
    """The snapshot's schema where it has every column that the table ever had, numbered by position from 1 on. Files
    without ids that ``names`` is silent about are numbered by it if their columns stand where it has them; Iceberg's
    reference finds them by position (Parquet) or by name (ORC, Avro), which then is the same."""


@dataclass(frozen=True)
class MetadataColumn:
    """A column of no file's schema, given where a scan names it: a row has it by its file and its place there.

    ``field`` has an id that no column of the schema has: a negative one, or one that the format reserves. A row's
    value is that of the file's own column ``stored_name`` or ``stored_id`` (None: there is none) where that holds one.
    Otherwise it is the file's value in ``per_file`` (None: there is none), and with ``counts_rows`` (then it is a long)
    the row's position in the file on top of it. ``per_file`` is an int64 column of :attr:`FileBatch.files`, or
    ``path`` (absolute), ``spec_id`` or ``partition``, whose members are :func:`partition_members`.
    """

    field: Field
    per_file: str | None
    counts_rows: bool = False
    stored_name: str | None = None
    stored_id: int | None = None
    null_without: str | None = None
    """An int64 column of :attr:`FileBatch.files`: all rows of a file that has NULL there have NULL, whatever the file
    stores. None: a file without a value in ``per_file`` has to store all of its own, or it is damaged."""
