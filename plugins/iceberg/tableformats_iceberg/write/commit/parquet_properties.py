"""The properties ``write.parquet.*``: how the insides of data files are laid out.

Source: Iceberg documentation, "Configuration", "Write properties".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tableformats.plugin import (
    BloomFilter,
    Field,
    ParquetOptions,
    PrimitiveType,
    Schema,
    lazy_pattern,
)

from ..properties import Choice, Flag, Number, refused_value

__all__ = ["CODEC", "ROW_GROUP_ROWS", "parquet_options"]

_PREFIX = "write.parquet."
CODEC = Choice(
    f"{_PREFIX}compression-codec",
    "zstd",
    {
        "zstd": "zstd",
        "gzip": "gzip",
        "snappy": "snappy",
        "lz4": "lz4",
        "lz4_raw": "lz4",
        "brotli": "brotli",
        "uncompressed": "none",
    },
)
_LEVEL = f"{_PREFIX}compression-level"
_LEVELS = {"zstd": (-131_072, 22), "gzip": (1, 9), "brotli": (0, 11)}
"""The levels of each codec that has some; the others do without, as in the Java reference."""
_ROW_GROUP_BYTES = Number(f"{_PREFIX}row-group-size-bytes", 128 << 20)
ROW_GROUP_ROWS = Number(f"{_PREFIX}row-group-limit", 1 << 20)
_PAGE_BYTES = Number(f"{_PREFIX}page-size-bytes", 1 << 20, most=(1 << 31) - 1)
_PAGE_ROWS = Number(f"{_PREFIX}page-row-limit", 20_000, most=(1 << 31) - 1)
_PAGE_VERSION = Choice(f"{_PREFIX}page-version", "v1", {"v1": "1.0", "v2": "2.0"})
_DICTIONARY_BYTES = Number(f"{_PREFIX}dict-size-bytes", 2 << 20, most=(1 << 31) - 1)
_FILTER_BYTES = Number(f"{_PREFIX}bloom-filter-max-bytes", 1 << 20, most=(1 << 31) - 1)
_FILTERS = f"{_PREFIX}bloom-filter-enabled.column."
_FILTER_RATES = f"{_PREFIX}bloom-filter-fpp.column."
_FILTER_VALUES = f"{_PREFIX}bloom-filter-ndv.column."
_DICTIONARIES = f"{_PREFIX}dict-encoding-enabled.column."
_STATISTICS = f"{_PREFIX}stats-enabled.column."
_OF_COLUMNS = (_FILTERS, _FILTER_RATES, _FILTER_VALUES, _DICTIONARIES, _STATISTICS)
_RATE = lazy_pattern(r"([0-9]+(\.[0-9]+)?|\.[0-9]+)([eE]-?[0-9]{1,3})?")
_WITHOUT_FILTERS = ("boolean", "variant", "unknown")
"""Types of whose values Parquet makes no Bloom filters."""


def parquet_options(schema: Schema, properties: Mapping[str, str]) -> ParquetOptions:
    """What a table asks for. What it does not ask for is as the writer does it.

    Raises
    ------
    UnsupportedFeatureError
        A property has an unknown value; ``field`` names it.
    """
    of_columns = any(name.startswith(_OF_COLUMNS) for name in properties)
    leaves = dict(_leaves(schema.fields, "")) if of_columns else {}
    numbers = {one.name: one.of(properties) for one in (_ROW_GROUP_BYTES, _PAGE_BYTES, _PAGE_ROWS, _DICTIONARY_BYTES)}
    return ParquetOptions(
        compression_level=_level(properties),
        row_group_bytes=numbers[_ROW_GROUP_BYTES.name] if _ROW_GROUP_BYTES.name in properties else None,
        page_bytes=numbers[_PAGE_BYTES.name] if _PAGE_BYTES.name in properties else None,
        page_rows=numbers[_PAGE_ROWS.name] if _PAGE_ROWS.name in properties else None,
        page_version=_PAGE_VERSION.of(properties),
        dictionary_bytes=numbers[_DICTIONARY_BYTES.name] if _DICTIONARY_BYTES.name in properties else None,
        without_dictionary=_switched(properties, _DICTIONARIES, leaves, False),
        without_statistics=_switched(properties, _STATISTICS, leaves, False),
        bloom_filters=_filters(properties, leaves),
        bloom_filter_bytes=_FILTER_BYTES.of(properties),
    )


def _level(properties: Mapping[str, str]) -> int | None:
    codec = CODEC.of(properties)
    if _LEVEL not in properties or codec not in _LEVELS:
        return None
    least, most = _LEVELS[codec]
    return Number(_LEVEL, 0, least, most).of(properties)


def _switched(properties: Mapping[str, str], prefix: str, leaves: Mapping[str, Field], value: bool) -> frozenset[int]:
    """The field ids of the columns for which ``prefix`` has that value. Columns that are not there do not matter."""
    found = {name[len(prefix) :]: Flag(name, True).of(properties) for name in properties if name.startswith(prefix)}
    return frozenset(leaves[name].id for name, is_on in found.items() if is_on is value and name in leaves)


def _filters(properties: Mapping[str, str], leaves: Mapping[str, Field]) -> dict[int, BloomFilter]:
    asked = _switched(properties, _FILTERS, leaves, True)
    rates = {k[len(_FILTER_RATES) :]: _rate(k, v) for k, v in properties.items() if k.startswith(_FILTER_RATES)}
    counts = {k[len(_FILTER_VALUES) :]: Number(k, 1).of(properties) for k in properties if k.startswith(_FILTER_VALUES)}
    return {
        leaf.id: BloomFilter(rates.get(name, BloomFilter.false_positives), counts.get(name))
        for name, leaf in leaves.items()
        if leaf.id in asked and not (isinstance(leaf.type, PrimitiveType) and leaf.type.name in _WITHOUT_FILTERS)
    }


def _rate(name: str, text: str) -> float:
    if _RATE.fullmatch(text) is None or not 0.0 < float(text) < 1.0:
        raise refused_value(name, text, "a number between 0 and 1")
    return float(text)


def _leaves(fields: tuple[Field, ...], prefix: str) -> Iterator[tuple[str, Field]]:
    """The leaves, in lists and maps too, by their names with dots."""
    for f in fields:
        members = f.type.members
        if members:
            yield from _leaves(tuple(members), f"{prefix}{f.name}.")
        else:
            yield prefix + f.name, f
