"""Checks that Spark can represent a column: its name, its type and its collation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ....errors import UnsupportedFeatureError
from ....schema import Field, ListType, MapType, PrimitiveType
from .naming import HIDDEN, ROW_INDEX, struct_paths
from .spark_types import COLLATION

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["check_collation", "check_readable", "check_times", "has_time"]

_REFUSED = ("timestamp_ns", "timestamp_ntz_ns")
_HAS_TIME = (4, 1)
_TIME_SETTING = "spark.sql.timeType.enabled"
_HAS_VARIANT = (4, 0)
_HAS_COLLATIONS = (4, 0)


def has_time(spark: SparkSession, version: tuple[int, int]) -> bool:
    """Whether a session of that Spark has the type TIME, which a setting turns on."""
    return version >= _HAS_TIME and str(spark.conf.get(_TIME_SETTING, "false")).lower() == "true"


def check_times(fields: Iterable[Field], spark: SparkSession) -> None:
    """Check that a session of Spark 4.1 or later reads those of the columns that are of type TIME, at any depth.

    Raises
    ------
    UnsupportedFeatureError
        The setting that turns the type on is off; ``field`` names the column.
    """
    for f in fields:
        for path in struct_paths([f], ()):
            if any(str(leaf.type) == "time" for leaf in _leaves(path[-1])) and not has_time(spark, _HAS_TIME):
                raise _no_times(".".join(part.name for part in path))


def _no_times(name: str) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(
        "the session reads no columns of type TIME",
        field=name,
        hint=f"Set {_TIME_SETTING} to true, leave the column out with columns=[...], or read with to_arrow()",
    )


def check_readable(f: Field, version: tuple[int, int] = (3, 5), with_time: bool = False) -> None:
    """Check that Spark's file readers can read a column and all columns inside of it.

    Parameters
    ----------
    f : Field
        A top-level column.
    version : tuple[int, int]
        Of the session's Spark. From 4.0 on it has variants, shredded ones too, and collations.
    with_time : bool
        Whether the session has the type TIME.

    Raises
    ------
    UnsupportedFeatureError
        It cannot; ``field`` names the column.
    """
    if f.name.lower().startswith(HIDDEN) or ROW_INDEX in (f.name.lower(), f.stored_name.lower()):
        raise UnsupportedFeatureError(
            "the column has a name that the reader needs for itself", field=f.name, hint="Rename the column"
        )
    for path in struct_paths([f], ()):
        name = ".".join(part.name for part in path)
        for leaf in _leaves(path[-1]):
            kind = str(leaf.type)
            check_collation(leaf, name, version)
            if kind == "time" and not with_time and version >= _HAS_TIME:
                raise _no_times(name)
            is_time = kind == "time" and not with_time
            if kind in _REFUSED or is_time or (kind == "variant" and version < _HAS_VARIANT):
                raise UnsupportedFeatureError(
                    f"columns of type {kind} are not read with Spark yet",
                    field=name,
                    hint="Leave the column out with columns=[...], or read with to_arrow()",
                )
            nested = len(path) > 1 or path[-1].type.is_nested
            if kind == "uuid" and nested:
                raise UnsupportedFeatureError(
                    f"values of type {kind} inside of a nested column are not read with Spark yet",
                    field=name,
                    hint="Leave the column out with columns=[...], or read with to_arrow()",
                )


def check_collation(f: Field, name: str, version: tuple[int, int]) -> None:
    """Check that Spark knows the collation of a column.

    As plain strings the values would compare by bytes, and filters would give other rows.

    Parameters
    ----------
    f : Field
        The field that may have a collation.
    name : str
        The column's name, for the error.
    version : tuple[int, int]
        Of Spark.

    Raises
    ------
    UnsupportedFeatureError
        Spark does not know it.
    """
    if f.collation is None:
        return
    if version < _HAS_COLLATIONS:
        reason, hint = "which Spark has from 4.0 on", "Read with Spark 4"
    elif not COLLATION.fullmatch(f.collation):
        reason, hint = "which Spark does not know", "Read with to_arrow()"
    else:
        return
    raise UnsupportedFeatureError(
        f"the column compares by the collation {f.collation!r}, {reason}",
        field=name,
        hint=f"{hint}, or leave the column out with columns=[...]",
    )


def _leaves(f: Field) -> Iterator[Field]:
    """The fields of primitive types in a field, through lists and maps but not through structs."""
    if isinstance(f.type, ListType):
        yield from _leaves(f.type.element)
    elif isinstance(f.type, MapType):
        yield from _leaves(f.type.key)
        yield from _leaves(f.type.value)
    elif isinstance(f.type, PrimitiveType):
        yield f
