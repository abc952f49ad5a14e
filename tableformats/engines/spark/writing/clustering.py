"""Bring the rows of a partition together before they are written, so that a partition gets few files.

Where the table asks for no other distribution, the hint ``rebalance`` shuffles rows by the partition values; adaptive
execution then cuts great partitions and joins small ones. A sort within the tasks leaves each one file open at a time.
Both are for few files only: a task computes the partition of every row itself, so an expression here may join
partitions. The buckets of texts, which SQL cannot say, are computed in Python before the shuffle. What is equal for all
rows of a partition leaves its files sorted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from ....plugin.partitions import PartitionField
from ....plugin.writing.write_target import SortColumn, WriteTarget
from ....schema import DecimalType, Field, Type, arrow_type, is_integer
from ....schema.transform_values import transformed
from ....schema.transforms import Transform

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["clustered", "hash_seed_zero", "in_spark", "partition_key"]

_DAY_US, _HOUR_US = 86_400_000_000, 3_600_000_000
_MASK = (1 << 32) - 1
_SPARK_SEED = 42


def clustered(frame: DataFrame, target: WriteTarget, columns: Mapping[str, str]) -> DataFrame:
    """The rows of ``frame``, those of a partition together and in the table's order.

    ``columns``: the names of the frame's columns by the lower-case names of the table's. Names are plain.
    """
    from pyspark.sql import functions

    found = [(f, path, name) for f, path, name in _partitions(target, columns) if f.transform.name != "void"]
    keys = [partition_key(f, path[-1].type, _member(path, name)) for f, path, name in found]
    order = _order(target, columns)
    kept = frame.columns
    buckets = [
        (number, kept.index(name), f.transform, path[0].type)
        for number, (f, path, name) in enumerate(found)
        if keys[number] is None and f.transform.name == "bucket" and len(path) == 1
    ]
    if buckets:
        frame = _with_buckets(frame, buckets)
    for number, key in enumerate(keys):
        if key is not None:
            frame = frame.withColumn(f"p{number}", functions.expr(key))
    names = [f"p{number}" for number in range(len(keys)) if f"p{number}" in frame.columns]
    if not names and not order:
        return frame
    if target.distribution == "range":
        frame = frame.repartitionByRange(*names, *order)
    elif target.distribution == "hash" and names:
        frame = _rebalanced(frame, names)
    return frame.sortWithinPartitions(*names, *order).select(*kept)


def _rebalanced(frame: DataFrame, names: Sequence[str]) -> DataFrame:
    from pyspark.errors import PySparkTypeError
    from pyspark.sql import functions

    try:
        return frame.hint("rebalance", *map(functions.col, names))
    except PySparkTypeError:  # Spark 3.5 takes columns in SQL alone
        return frame.sparkSession.sql(f"SELECT /*+ REBALANCE({', '.join(names)}) */ * FROM {{frame}}", frame=frame)


def _partitions(
    target: WriteTarget, columns: Mapping[str, str]
) -> Iterator[tuple[PartitionField, tuple[Field, ...], str]]:
    """The partition fields whose column the frame has: the field, the fields down to its source, the frame's name."""
    for f in target.partitioning:
        if target.schema.find_id(f.source_id) is None:  # dropped; the transform is void
            continue
        path = target.schema.path_of(f.source_id)
        name = columns.get(path[0].name.lower())
        if name is not None:
            yield f, path, name


def _member(path: Sequence[Field], name: str) -> str:
    return name + "".join(f".`{part.name.replace('`', '``')}`" for part in path[1:])


_Bucket = tuple[int, int, Transform, Type]


def _with_buckets(frame: DataFrame, buckets: Sequence[_Bucket]) -> DataFrame:
    """The frame with the buckets of columns, computed in Python: (number of the key, column, transform, type) each."""
    from pyspark.sql.types import IntegerType, StructType

    schema = StructType(list(frame.schema.fields))
    for number, *_ in buckets:
        schema = schema.add(f"p{number}", IntegerType())
    return frame.mapInArrow(partial(_add_buckets, buckets, schema.names), schema)


def _add_buckets(
    buckets: Sequence[_Bucket], names: Sequence[str], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        found = [_buckets(batch.column(at), transform, kind) for _, at, transform, kind in buckets]
        yield pa.RecordBatch.from_arrays([*batch.columns, *found], names=list(names))


def _buckets(values: pa.Array, transform: Transform, kind: Type) -> pa.Array:
    try:
        return transformed(transform, values.cast(arrow_type(kind)), kind)
    except pa.ArrowInvalid:  # a value that does not fit: the task that writes it tells the error
        return pa.nulls(len(values), pa.int32())


def _order(target: WriteTarget, columns: Mapping[str, str]) -> list[Column]:
    from pyspark.sql import functions

    found = []
    for sort in in_spark(target):
        name = columns.get(target.schema.path_of(sort.source_id)[0].name.lower())
        if name is None:
            continue
        column = functions.col(name)
        nulls = "first" if sort.nulls_first else "last"
        found.append(getattr(column, f"{'desc' if sort.descending else 'asc'}_nulls_{nulls}")())
    return found


def in_spark(target: WriteTarget) -> tuple[SortColumn, ...]:
    """The first columns of a target's order that Spark sorts by: whole columns. A task sorts by the others."""
    found = []
    for sort in target.sort_by:
        if sort.transform is not None or len(target.schema.path_of(sort.source_id)) > 1:
            break
        found.append(sort)
    return tuple(found)


def partition_key(partition: PartitionField, source: Type, column: str) -> str | None:
    """SQL that is equal for all rows of one partition; None where SQL cannot say it."""
    name, width = partition.transform.name, partition.transform.width
    if name == "identity":
        return column
    if name == "bucket":
        hashed = _hashed(str(source), column)
        return hashed and f"pmod({hashed} & 2147483647, {width})"
    if name == "truncate":
        if is_integer(source):
            return _floored(column, width)
        return None if isinstance(source, DecimalType) else f"substring({column}, 1, {width})"
    return _unit_of_time(name, str(source), column)


def _unit_of_time(unit: str, source: str, column: str) -> str | None:
    """SQL for a date or time cut to a unit. That of a timestamp is UTC's, whatever the session's zone is."""
    if unit not in ("year", "month", "day", "hour"):
        return None
    if unit == "hour":
        is_instant = source == "timestamp"
        return _floored(f"unix_micros({column})", _HOUR_US) if is_instant else f"date_trunc('HOUR', {column})"
    day = f"CAST({column} AS DATE)"
    if source == "timestamp":
        day = f"date_from_unix_date(CAST({_floored(f'unix_micros({column})', _DAY_US)} AS INT))"
    return day if unit == "day" else f"trunc({day}, '{unit.upper()}')"


def _floored(number: str, divisor: int) -> str:
    """SQL for the greatest integer that is not above a quotient; ``DIV`` alone cuts towards 0."""
    return f"({number} DIV {divisor} - IF({number} < 0 AND {number} % {divisor} <> 0, 1, 0))"


def _hashed(source: str, column: str) -> str | None:
    """SQL for Iceberg's hash of what has 8 or 16 bytes, which Spark's ``hash`` treats alike but for its seed. Other
    lengths it hashes otherwise."""
    hashed = {
        "int": f"CAST({column} AS BIGINT)",
        "bigint": column,
        "date": f"CAST(unix_date({column}) AS BIGINT)",
        "timestamp": f"unix_micros({column})",
        "uuid": f"unhex(replace({column}, '-', ''))",
    }
    return f"hash({hash_seed_zero()}, {hashed[source]})" if source in hashed else None


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
