"""What the native and the portable path both offer: DataFrames over planned data files.

A :class:`Relation` describes data files and the columns that Spark reads of them. A :class:`RelationReader` makes a
DataFrame of it: :class:`~tableformats.engines.spark.native.jvm.Bridge` in the JVM of a classic session,
:class:`~tableformats.engines.spark.portable.file_log.StagedFiles` in any other session.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from ...dataclass import dataclass
from .columns.naming import ROW_INDEX, StoredColumn
from .columns.spark_types import nullable_field, spark_struct

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from pyspark.sql import DataFrame


__all__ = ["READER_OPTIONS", "LiveTest", "Pages", "Relation", "RelationReader"]

# Planned files are never left out in silence, whatever the session's settings say.
_NO_FILE_IS_LEFT_OUT = {"ignoreMissingFiles": "false", "ignoreCorruptFiles": "false"}
READER_OPTIONS = {
    "parquet": {
        **_NO_FILE_IS_LEFT_OUT,
        "spark.sql.parquet.fieldId.read.enabled": "true",
        # A file without ids is an error, never a column of NULLs.
        "spark.sql.parquet.fieldId.read.ignoreMissing": "false",
        # Both formats count days and instants in the proleptic Gregorian calendar.
        "datetimeRebaseMode": "CORRECTED",
        "int96RebaseMode": "CORRECTED",
    },
    "orc": {**_NO_FILE_IS_LEFT_OUT, "orc.force.positional.evolution": "false"},
}
"""Options of Spark's reader, by file format. They win over the session's settings, for this DataFrame only."""


@dataclass(frozen=True)
class Pages:
    """The deleted rows of a file.

    Attributes
    ----------
    count : int
        Number of pages up to the one of the last deleted row.
    numbers : np.ndarray
        int64[k], ascending: the pages below ``count`` that have a deleted row.
    bits : np.ndarray
        uint64[k, 64], the bits of those pages: row ``r`` of a page is bit ``r & 63`` of its word ``r >> 6``.
    rows : int
        Number of deleted positions below the file's record count; of all deleted positions if it is unknown.
    """

    count: int
    numbers: np.ndarray
    bits: np.ndarray
    rows: int


@dataclass(frozen=True)
class LiveTest:
    """The test that a row of some files is not deleted.

    Attributes
    ----------
    fields : list[dict[str, Any]]
        Spark's JSON of the constants of each file that the test needs.
    constants : pa.Table
        Their values, a row for each file.
    condition : Any
        True for live rows, never NULL. It refers to ``fields`` and ROW_INDEX, and is valid only for the
        :class:`~tableformats.engines.spark.relations.RelationReader` that made it.
    """

    fields: list[dict[str, Any]]
    constants: pa.Table
    condition: Any


@dataclass
class Relation:
    """Data files and the columns that Spark reads of them.

    Attributes
    ----------
    table : str
        What EXPLAIN calls the table.
    files_total : int
        How many files the table has.
    file_format : str
        Of all files, ``parquet`` or ``orc``.
    files : pa.Table
        ``path`` (decoded, see :func:`~tableformats.engines.spark.hadoop_paths.hadoop_paths`), ``size`` (int64, bytes),
        then a column for each constant.
    constants : list[dict[str, Any]]
        Spark's JSON of the fields whose value is the same for all rows of a file.
    data : list[dict[str, Any]]
        Spark's JSON of the fields that are read from the files.
    keep : Callable[[str], bytes or None]
        Takes Catalyst's filters as JSON, a list of nodes as ``CatalystFilters.java`` describes them. Gives a byte for
        each file, zero to drop it; None to keep all.
    count : Callable[[bytes or None, bool], int]
        Takes a byte for each file, zero to leave it out, or None for all; and whether deleted rows are left out. Gives
        the number of rows, -1 where that is not known.
    live : LiveTest, optional
        The rows that are there; None: all.
    """

    table: str
    files_total: int
    file_format: str
    files: pa.Table
    keep: Callable[[str], bytes | None]
    count: Callable[[bytes | None, bool], int]
    constants: list[dict[str, Any]] = field(default_factory=list)
    data: list[dict[str, Any]] = field(default_factory=list)
    live: LiveTest | None = None

    def add_constant(self, stored: dict[str, Any], values: pa.Array | pa.ChunkedArray) -> None:
        """Add a field whose values are constants of the files, a value for each file."""
        self.constants.append(stored)
        self.files = self.files.append_column(stored["name"], values)

    def add_row_index(self) -> None:
        """Add the rows' positions, unless they were added before."""
        if all(stored["name"] != ROW_INDEX for stored in self.data):
            self.data.append(nullable_field(ROW_INDEX, "long"))

    def add_live_test(self, live: LiveTest) -> None:
        """Leave only the rows that pass ``live``, which needs the rows' positions and constants of its own."""
        self.live = live
        self.add_row_index()
        for stored in live.fields:
            self.add_constant(stored, live.constants[stored["name"]])

    @property
    def constant_schema(self) -> dict[str, Any]:
        """Spark's JSON of the struct of constants."""
        return spark_struct(self.constants)

    @property
    def data_schema(self) -> dict[str, Any]:
        """Spark's JSON of the struct of fields that are read from the files."""
        return spark_struct(self.data)

    @property
    def constant_columns(self) -> pa.Table:
        """The constants, a row for each file."""
        return self.files.drop_columns(["path", "size"])

    @property
    def has_field_ids(self) -> bool:
        """Whether some field is found by its Parquet field id."""
        return '"parquet.field.id"' in json.dumps(self.data)

    @property
    def is_nested(self) -> bool:
        """Whether a struct, list or map is read."""
        return any(isinstance(f["type"], Mapping) for f in self.data)


class RelationReader(ABC):
    """Makes DataFrames over data files in one session.

    Attributes
    ----------
    version : tuple[int, int]
        Spark's, major and minor.
    has_time : bool
        Whether the session has columns of type TIME: from Spark 4.1 on, where a setting turns them on.
    """

    version: tuple[int, int]
    has_time: bool = False

    @abstractmethod
    def relation_frame(self, relation: Relation, output: Sequence[StoredColumn] | None = None) -> DataFrame:
        """A DataFrame over the files of ``relation``.

        Parameters
        ----------
        relation : Relation
            The files and their columns.
        output : Sequence[StoredColumn], optional
            The columns of the DataFrame. None: all data columns, then all constants, under their stored names.

        Raises
        ------
        UnsupportedFeatureError
            The session cannot read these files rightly; ``field`` names what it lacks, or the setting.
        """

    @abstractmethod
    def live_test(self, deleted: Iterable[Pages]) -> LiveTest:
        """The test that rows of files are not deleted.

        Parameters
        ----------
        deleted : Iterable[Pages]
            The deleted rows of each file, in the order of the relation's files.
        """

    @abstractmethod
    def local_frame(self, table: pa.Table, schema: Mapping[str, Any]) -> DataFrame:
        """A DataFrame of rows that this process holds; ``schema`` is Spark's JSON of their struct."""

    def spark_type(self, kind: Any) -> Any:
        """Spark's JSON of a type as PySpark's type."""
        from pyspark.sql.types import _parse_datatype_json_string

        return _parse_datatype_json_string(json.dumps(kind))
