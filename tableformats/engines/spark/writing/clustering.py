"""Bring the rows of a partition together before they are written, so that a partition gets few files.

The hint ``rebalance`` shuffles rows by the partition values; adaptive execution then cuts great partitions and joins
small ones. A sort within the tasks leaves each one file open at a time. Both are for few files only: a task computes
the partition of every row itself, so an expression here may join partitions, or leave one out that SQL cannot say.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ....plugin.partitions import PartitionField
from ....plugin.writing.write_target import WriteTarget
from ....schema import DecimalType, Type, is_integer

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["clustered", "hash_seed_zero", "partition_key"]

_DAY_US, _HOUR_US = 86_400_000_000, 3_600_000_000
_MASK = (1 << 32) - 1
_SPARK_SEED = 42


def clustered(frame: DataFrame, target: WriteTarget, columns: Mapping[str, str]) -> DataFrame:
    """The rows of ``frame``, those of a partition together and in the table's order.

    ``columns``: the names of the frame's columns by the lower-case names of the table's. Names are plain.
    """
    from pyspark.sql import functions

    keys = _keys(target, columns)
    order = _order(target, columns)
    if not keys and not order:
        return frame
    kept = frame.columns
    for number, key in enumerate(keys):
        frame = frame.withColumn(f"p{number}", functions.expr(key))
    names = [functions.col(f"p{number}") for number in range(len(keys))]
    if names:
        frame = frame.hint("rebalance", *names)
    return frame.sortWithinPartitions(*names, *order).select(*kept)


def _keys(target: WriteTarget, columns: Mapping[str, str]) -> list[str]:
    found = []
    for f in target.partitioning:
        path = target.schema.path_of(f.source_id)
        name = columns.get(path[0].name.lower())
        if name is not None:
            member = "".join(f".`{part.name.replace('`', '``')}`" for part in path[1:])
            found.append(partition_key(f, path[-1].type, name + member))
    return [key for key in found if key is not None]


def _order(target: WriteTarget, columns: Mapping[str, str]) -> list[Column]:
    from pyspark.sql import functions

    found = []
    for sort in target.sort_by:
        name = columns.get(target.schema.path_of(sort.source_id)[0].name.lower())
        if name is None:
            continue
        column = functions.col(name)
        nulls = "first" if sort.nulls_first else "last"
        found.append(getattr(column, f"{'desc' if sort.descending else 'asc'}_nulls_{nulls}")())
    return found


def partition_key(partition: PartitionField, source: Type, column: str) -> str | None:
    """SQL that is equal for rows of one partition; None where SQL cannot say it."""
    name, width = partition.transform.name, partition.transform.width
    if name == "identity":
        return column
    if name == "bucket":
        hashed = _hashed(str(source), column)
        return hashed and f"pmod({hashed} & 2147483647, {width})"
    if name == "truncate":
        if is_integer(source):
            return f"{column} DIV {width}"
        return None if isinstance(source, DecimalType) else f"substring({column}, 1, {width})"
    return _unit_of_time(name, str(source), column)


def _unit_of_time(unit: str, source: str, column: str) -> str | None:
    """SQL for a date or time cut to a unit. That of a timestamp is UTC's, whatever the session's zone is."""
    if unit not in ("year", "month", "day", "hour"):
        return None
    if unit == "hour":
        return f"unix_micros({column}) DIV {_HOUR_US}" if source == "timestamp" else f"date_trunc('HOUR', {column})"
    day = f"CAST({column} AS DATE)"
    if source == "timestamp":
        day = f"date_from_unix_date(CAST(unix_micros({column}) DIV {_DAY_US} AS INT))"
    return day if unit == "day" else f"trunc({day}, '{unit.upper()}')"


def _hashed(source: str, column: str) -> str | None:
    """SQL for Iceberg's hash of a number, date or timestamp, whose 8 bytes Spark's ``hash`` treats alike but for its
    seed. Other values are hashed otherwise."""
    as_long = {
        "int": f"CAST({column} AS BIGINT)",
        "bigint": column,
        "date": f"CAST(unix_date({column}) AS BIGINT)",
        "timestamp": f"unix_micros({column})",
    }
    return f"hash({hash_seed_zero()}, {as_long[source]})" if source in as_long else None


def hash_seed_zero() -> int:
    """The int whose hash by Spark is 0, so that what is hashed after it has the seed 0.

    Murmur3 of one int can be inverted. Source: Spark, ``Murmur3_x86_32.hashInt``; Iceberg spec, appendix B.
    """
    # fmix(h ^ 4) is 0 only for h = 4, because every step of fmix is one to one and maps 0 to 0.
    mixed = 4
    mixed = (mixed - 0xE6546B64) * pow(5, -1, 1 << 32) & _MASK
    mixed = _rotated(mixed, 32 - 13) ^ _SPARK_SEED
    mixed = mixed * pow(0x1B873593, -1, 1 << 32) & _MASK
    value = _rotated(mixed, 32 - 15) * pow(0xCC9E2D51, -1, 1 << 32) & _MASK
    return value - (1 << 32) if value >> 31 else value


def _rotated(value: int, bits: int) -> int:
    return (value << bits | value >> (32 - bits)) & _MASK
