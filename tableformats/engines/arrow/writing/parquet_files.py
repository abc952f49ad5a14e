"""Write rows as one Parquet file, laid out as a target asks."""

from __future__ import annotations

import contextlib
import inspect
import math
from collections.abc import Iterator, Sequence, Set
from functools import lru_cache
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ....plugin.writing.parquet_options import BloomFilter
from ....plugin.writing.write_target import WriteTarget, is_repeated, stored_leaves
from ....schema import is_floating

__all__ = ["ParquetLayout"]

_FEWEST_ROWS = 100
"""Of a row group, unless no more are there: so many rows the Java reference writes before it looks at the size."""
_FEW_BYTES = 1 << 10
"""Columns of so few bytes are not worth the time that zstd takes to begin each page."""
_PAGE_ROWS = 20_000
"""The rows of a page, where nothing else is asked. A file of several has a page index, as the Java reference writes."""
_HASHES = 8
"""Bits that a value sets in a block of a Bloom filter. Source: Parquet format, "Bloom Filter"."""


class ParquetLayout:
    """Writes the files of a target.

    Parameters
    ----------
    target : WriteTarget
    schema : pyarrow.Schema
        Of the files, as they store it.
    """

    def __init__(self, target: WriteTarget, schema: pa.Schema) -> None:
        self._target = target
        self._schema = schema
        self._options = _writer_options(target, schema)
        self._floats = _float_leaves(target)

    def write(self, table: pa.Table, sink: pa.NativeFile) -> tuple[pq.FileMetaData, frozenset[int]]:
        """Write the rows, which have the schema of the files. Returns the footer, and which leaves have NaN."""
        footers: list[pq.FileMetaData] = []
        with_nan = frozenset(number for number, at in self._floats if _has_nan(table, at))
        options = {**self._options, **self._filters(table.num_rows), **self._without_statistics(with_nan)}
        options["write_page_index"] = table.num_rows > _PAGE_ROWS
        if options["compression"] == "zstd" and self._target.parquet.compression_level is None and _is_few(table):
            options["compression"] = "snappy"
        writer = pq.ParquetWriter(sink, self._schema, metadata_collector=footers, **options)
        try:
            for group in self._row_groups(table, sink):
                writer.write_table(group, row_group_size=self._target.row_group_rows)
            writer.close()
        except BaseException:
            with contextlib.suppress(RuntimeError, OSError):  # that there is no footer now is not what went wrong
                writer.close()
            raise
        return footers[0], with_nan

    def _row_groups(self, table: pa.Table, sink: pa.NativeFile) -> Iterator[pa.Table]:
        """The rows in pieces that make a row group at most. Each is measured in the file before the next is cut.

        The first is cut by the size of its rows in memory, which is hardly ever less than that in the file.
        """
        most = self._target.parquet.row_group_bytes
        if most is None:
            yield table
            return
        start = 0
        row_bytes = table.nbytes / max(table.num_rows, 1)
        while start < table.num_rows:
            before = sink.tell()
            count = min(max(int(most / max(row_bytes, 1e-9)), _FEWEST_ROWS), self._target.row_group_rows)
            yield table.slice(start, count)
            start += count
            row_bytes = (sink.tell() - before) / count

    def _without_statistics(self, with_nan: Set[int]) -> dict[str, Any]:
        """The option by which columns with NaN get no statistics.

        Arrow leaves NaN out of bounds, as the Parquet format allows. Spark takes NaN for the greatest number, and would
        pass over row groups whose bounds are less than what it looks for.
        """
        if not with_nan:
            return {}
        left_out = self._target.parquet.without_statistics
        nameless = {self._paths[number][0] for number in with_nan}  # also of a column `a.b` beside a member b of `a`
        return {"write_statistics": [path for path, i in self._paths if path not in nameless and i not in left_out]}

    def _filters(self, rows: int) -> dict[str, Any]:
        """The options of Bloom filters, which depend on how many rows a row group may have."""
        asked = self._target.parquet.bloom_filters
        if not asked or "bloom_filter_options" not in _known_options():
            return {}
        group = min(rows, self._target.row_group_rows)
        most = self._target.parquet.bloom_filter_bytes
        return {"bloom_filter_options": {path: _filter(asked[i], group, most) for path, i in self._paths if i in asked}}

    @property
    def _paths(self) -> list[tuple[str, int]]:
        return _leaf_paths(self._target, self._schema)


def _float_leaves(target: WriteTarget) -> list[tuple[int, list[int]]]:
    """Floating-point leaves outside of lists and maps: their number, and the positions that lead down to each."""
    found = []
    for number, path in enumerate(stored_leaves(target)):
        if is_floating(path[-1].type) and not is_repeated(path):
            below = [above.type.members.index(member) for above, member in pairwise(path)]
            found.append((number, [target.stored_fields.index(path[0]), *below]))
    return found


def _has_nan(table: pa.Table, at: Sequence[int]) -> bool:
    column = table.column(at[0])
    for position in at[1:]:
        column = pc.struct_field(column, [position])
    return pc.any(pc.is_nan(column)).as_py() is True


def _is_few(table: pa.Table) -> bool:
    return bool(table.nbytes < _FEW_BYTES * table.num_columns)


def _writer_options(target: WriteTarget, schema: pa.Schema) -> dict[str, Any]:
    """What :class:`pyarrow.parquet.ParquetWriter` is given. Older ones know less, and are not asked for it."""
    asked = target.parquet
    found: dict[str, Any] = {"compression": target.compression, "data_page_version": asked.page_version}
    optional = {
        "compression_level": asked.compression_level,
        "data_page_size": asked.page_bytes,
        "max_rows_per_page": asked.page_rows,
        "dictionary_pagesize_limit": asked.dictionary_bytes,
    }
    found |= {name: value for name, value in optional.items() if value is not None and name in _known_options()}
    for name, left_out in (
        ("use_dictionary", asked.without_dictionary),
        ("write_statistics", asked.without_statistics),
    ):
        if left_out:
            found[name] = [path for path, i in _leaf_paths(target, schema) if i not in left_out]
    return found


@lru_cache(maxsize=1)
def _known_options() -> frozenset[str]:
    return frozenset(inspect.signature(pq.ParquetWriter.__init__).parameters)


def _leaf_paths(target: WriteTarget, schema: pa.Schema) -> list[tuple[str, int]]:
    """The leaves of a file as Parquet names them, and their field ids."""
    footers: list[pq.FileMetaData] = []
    with pq.ParquetWriter(pa.BufferOutputStream(), schema, metadata_collector=footers):
        pass
    stored = footers[0].schema
    paths = [stored.column(i).path for i in range(len(stored))]
    return [(path, leaf[-1].id) for path, leaf in zip(paths, stored_leaves(target), strict=True)]


def _filter(asked: BloomFilter, rows: int, most_bytes: int) -> dict[str, Any]:
    """The options of one filter: it is for no more values than a row group has, and than ``most_bytes`` have room for.

    A filter for n values takes -8 n / ln(1 - p^(1/8)) bits, rounded up to a power of two. Source: Parquet format.
    """
    bits = 8 * (1 << (max(most_bytes, 32).bit_length() - 1))
    room = int(-bits * math.log(1 - asked.false_positives ** (1 / _HASHES)) / _HASHES)
    wanted = min(asked.distinct_values or rows, rows)
    return {"ndv": max(min(wanted, room), 1), "fpp": asked.false_positives}
