"""Check that Spark's ORC reader reads the columns of a file rightly; other columns are refused by name.

Unless a file says otherwise, Spark takes ORC's dates and timestamps for those of the Julian calendar. It also converts
timestamps with time zone through local time of the process's zone, which is unreliable before 1900. So the file's
statistics must show that it holds no such values. Timestamps without time zone are not read by Spark at all.
Source: ORC specification v1, "Column Statistics", "File Tail"; Spark, ``OrcColumnVector``, ``OrcUtils``; compared with
Arrow's reader.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pyarrow as pa
from pyarrow import types

from ....errors import UnsupportedFeatureError
from ....io.orc_tail import OrcTail
from ....schema import DecimalType, Field, FixedType, ListType, MapType, PrimitiveType, StructType
from ....schema.datetimes import DAY_S, FIRST_GREGORIAN_DAY, YEAR_1900_S
from ...arrow.files.column_tree import FileNode

__all__ = ["check_orc"]

_NO_NAMES = "_col"
_READS_INSTANTS = (4, 3)
"""Spark 4.3 was tested and reads them; 3.5 and 4.0 fail on the type's name (``OrcUtils.toCatalystSchema``)."""
# The first values that are the same in both calendars and in all time zones: a day, and milliseconds in UTC.
_FIRST = {"date": ("1582-10-15", FIRST_GREGORIAN_DAY), "timestamp": ("1900-01-02", (YEAR_1900_S + DAY_S) * 1_000)}
_WIDTHS = {"byte": 8, "short": 16, "int": 32, "long": 64}
_STORED: dict[str, Callable[[pa.DataType], bool]] = {
    "boolean": types.is_boolean,
    "string": types.is_string,
    "binary": types.is_binary,
    "uuid": types.is_binary,
    "date": types.is_date32,
    "timestamp": lambda stored: _is_instant(stored),
    "float": types.is_float32,
    "double": types.is_floating,
}
_HINT = 'Use mode="portable" or to_arrow(), leave the column out with columns=[...], or rewrite the table to Parquet'


def check_orc(
    root: FileNode,
    source: pa.NativeFile,
    columns: Iterable[tuple[Field, FileNode]],
    path: str,
    version: tuple[int, int],
) -> None:
    """Check that Spark reads the columns of an ORC file rightly.

    Parameters
    ----------
    root : FileNode
        The file's columns.
    source : pa.NativeFile
        The open file.
    columns : Iterable[tuple[Field, FileNode]]
        The columns that are read, at every depth, each with the table's field.
    path : str
        Path of the file, for errors.
    version : tuple[int, int]
        Of Spark.

    Raises
    ------
    UnsupportedFeatureError
        Spark would read other values, or fail.
    """
    if version < _READS_INSTANTS and any(_is_instant(node.type) for node in root.walk()):
        raise UnsupportedFeatureError(
            "ORC files with instants are not read with this Spark, whichever of their columns is asked for",
            path=path,
            field="instants in ORC files",
            hint='Use mode="portable", to_arrow() or Spark 4.3',
        )
    if root.children and all(child.name.startswith(_NO_NAMES) for child in root.children):
        raise UnsupportedFeatureError(
            f"ORC files whose columns are all called {_NO_NAMES}... are read by position with Spark",
            path=path,
            field=root.children[0].name,
            hint='Use mode="portable" or to_arrow(), or rename a column',
        )
    numbers = {node: number for number, node in enumerate(root.walk())}
    tail: OrcTail | None = None
    for f, node in columns:
        if not _is_readable(f, node):
            raise UnsupportedFeatureError(
                f"values stored as {node.type} in ORC files are not read as {f.type} with Spark",
                path=path,
                field=f.name,
                hint=_HINT,
            )
        if str(f.type) in _FIRST:
            tail = OrcTail(source) if tail is None else tail
            _check_least(tail.least(numbers[node], len(numbers)), f, path)


def _is_instant(stored: pa.DataType) -> bool:
    return bool(types.is_timestamp(stored)) and stored.tz is not None


def _check_least(found: tuple[bool, int | None], f: Field, path: str) -> None:
    is_known, least = found
    text, first = _FIRST[str(f.type)]
    if not is_known or (least is not None and least < first):
        raise UnsupportedFeatureError(
            f"the file's statistics do not tell that no value is before {text}, and Spark reads such values as others",
            path=path,
            field=f.name,
            hint=_HINT,
        )


def _is_readable(f: Field, node: FileNode) -> bool:
    kind, stored = f.type, node.type
    if isinstance(kind, StructType):
        return node.is_struct
    if isinstance(kind, (ListType, MapType)):
        return node.is_list if isinstance(kind, ListType) else node.is_map
    if isinstance(kind, DecimalType):
        return bool(types.is_decimal(stored)) and stored.scale == kind.scale and stored.precision <= kind.precision
    if isinstance(kind, FixedType):
        return bool(types.is_binary(stored))
    assert isinstance(kind, PrimitiveType)
    if kind.name in _WIDTHS:
        return bool(types.is_integer(stored)) and stored.bit_width <= _WIDTHS[kind.name]
    return kind.name in _STORED and bool(_STORED[kind.name](stored))
