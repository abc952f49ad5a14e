"""How the insides of Parquet data files are laid out, where a table asks for it: :class:`ParquetOptions`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from ...dataclass import dataclass

__all__ = ["BloomFilter", "ParquetOptions"]


@dataclass(frozen=True)
class BloomFilter:
    """A Bloom filter of a column, one in each row group.

    Attributes
    ----------
    false_positives : float
        Between 0 and 1: how often a value that is not there may seem to be.
    distinct_values : int, optional
        How many values to expect. None: one a row.
    """

    false_positives: float = 0.01
    distinct_values: int | None = None


@dataclass(frozen=True)
class ParquetOptions:
    """Columns are named by the field ids of their leaves. None: as the writer does it without being asked.

    Attributes
    ----------
    compression_level : int, optional
    row_group_bytes : int, optional
        About the most bytes of a row group in the file.
    page_bytes, page_rows : int, optional
        The most of a data page, about.
    page_version : str
        "1.0" or "2.0".
    dictionary_bytes : int, optional
        The most bytes of a dictionary; a column chunk with more values has none.
    without_dictionary, without_statistics : frozenset of int
    bloom_filters : mapping of int to BloomFilter
    bloom_filter_bytes : int
        The most bytes of a Bloom filter, whatever it is asked to hold.
    """

    compression_level: int | None = None
    row_group_bytes: int | None = None
    page_bytes: int | None = None
    page_rows: int | None = None
    page_version: str = "1.0"
    dictionary_bytes: int | None = None
    without_dictionary: frozenset[int] = frozenset()
    without_statistics: frozenset[int] = frozenset()
    bloom_filters: Mapping[int, BloomFilter] = field(default_factory=dict)
    bloom_filter_bytes: int = 1 << 20
