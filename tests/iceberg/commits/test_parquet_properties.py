"""The properties ``write.parquet.*``, one by one: what each becomes, and which values are refused."""

from __future__ import annotations

from typing import Any

import pytest
from tableformats_iceberg.write.commit.parquet_properties import CODEC, parquet_options

import tableformats as tf
from tableformats.plugin import BloomFilter, Field, ListType, ParquetOptions, Schema, StructType, primitive

SCHEMA = Schema(
    (
        Field(1, "a", primitive("long")),
        Field(2, "flag", primitive("boolean")),
        Field(3, "s", StructType((Field(4, "x", primitive("string")), Field(5, "b", primitive("boolean"))))),
        Field(6, "l", ListType(Field(7, "element", primitive("int")))),
    )
)
MOST = 2**31 - 1


def options(**properties: str) -> ParquetOptions:
    """The names have ``_`` for ``-`` and ``__`` for a point."""
    given = {"write.parquet." + k.replace("__", ".").replace("_", "-"): v for k, v in properties.items()}
    return parquet_options(SCHEMA, given)


def test_what_is_not_asked_for() -> None:
    found = options()
    assert (found.compression_level, found.row_group_bytes, found.page_bytes, found.page_rows) == (None,) * 4
    assert (found.page_version, found.dictionary_bytes, found.bloom_filter_bytes) == ("1.0", None, 1 << 20)
    assert (found.without_dictionary, found.without_statistics, found.bloom_filters) == (frozenset(), frozenset(), {})


@pytest.mark.parametrize(
    ("name", "attribute", "most"),
    [
        ("row_group_size_bytes", "row_group_bytes", None),
        ("page_size_bytes", "page_bytes", MOST),
        ("page_row_limit", "page_rows", MOST),
        ("dict_size_bytes", "dictionary_bytes", MOST),
        ("bloom_filter_max_bytes", "bloom_filter_bytes", MOST),
    ],
)
def test_numbers(name: str, attribute: str, most: int | None) -> None:
    for value in (1, 77, MOST):
        assert getattr(options(**{name: str(value)}), attribute) == value
    for wrong in ("0", "-1", "x", "", *([] if most is None else [str(most + 1)])):
        with pytest.raises(tf.UnsupportedFeatureError) as caught:
            options(**{name: wrong})
        assert caught.value.field == "write.parquet." + name.replace("_", "-")


@pytest.mark.parametrize(
    ("codec", "level", "found"),
    [
        ("zstd", "22", 22),
        ("zstd", "23", "refused"),
        ("zstd", "-131072", -131072),
        ("zstd", "-131073", "refused"),
        ("gzip", "1", 1),
        ("gzip", "0", "refused"),
        ("gzip", "9", 9),
        ("gzip", "10", "refused"),
        ("brotli", "0", 0),
        ("brotli", "11", 11),
        ("brotli", "12", "refused"),
        ("brotli", "-1", "refused"),
        ("snappy", "5", None),
        ("lz4", "x", None),
        ("uncompressed", "1", None),
        (None, "7", 7),
    ],
)
def test_levels(codec: str | None, level: str, found: Any) -> None:
    given = {"compression_level": level, **({} if codec is None else {"compression_codec": codec})}
    if found == "refused":
        with pytest.raises(tf.UnsupportedFeatureError) as caught:
            options(**given)
        assert caught.value.field == "write.parquet.compression-level"
        return
    assert options(**given).compression_level == found


def test_codecs_and_pages() -> None:
    assert CODEC.of({}) == "zstd" and CODEC.of({CODEC.name: "LZ4_RAW"}) == "lz4"
    assert CODEC.of({CODEC.name: "uncompressed"}) == "none"
    assert options(page_version="v2").page_version == "2.0"
    with pytest.raises(tf.UnsupportedFeatureError):
        options(page_version="2.0")


@pytest.mark.parametrize(
    ("switch", "attribute"),
    [("dict_encoding_enabled", "without_dictionary"), ("stats_enabled", "without_statistics")],
)
def test_columns_that_are_switched_off(switch: str, attribute: str) -> None:
    """By the names of leaves with points; a column that is not there does not matter, but its value does."""
    given = {"a": "false", "s__x": "FALSE", "flag": "true", "l__element": "false", "gone": "false", "s": "false"}
    found = options(**{f"{switch}__column__{name}": value for name, value in given.items()})
    assert getattr(found, attribute) == {1, 4, 7}
    other = "without_statistics" if attribute == "without_dictionary" else "without_dictionary"
    assert getattr(found, other) == frozenset()
    with pytest.raises(tf.UnsupportedFeatureError):
        options(**{f"{switch}__column__gone": "no"})


def test_bloom_filters() -> None:
    """There are none of booleans."""
    given = {f"bloom_filter_enabled__column__{name}": "true" for name in ("a", "flag", "s__x", "s__b", "gone", "s")}
    given["bloom_filter_enabled__column__l__element"] = "false"
    usual = BloomFilter.false_positives
    assert options(**given).bloom_filters == {1: BloomFilter(usual, None), 4: BloomFilter(usual, None)}
    given |= {"bloom_filter_fpp__column__a": "1e-3", "bloom_filter_ndv__column__s__x": "9"}
    assert options(**given).bloom_filters == {1: BloomFilter(0.001, None), 4: BloomFilter(usual, 9)}
    assert options(bloom_filter_fpp__column__a="0.5").bloom_filters == {}


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("0.5", 0.5),
        (".5", 0.5),
        ("5e-1", 0.5),
        ("0.999", 0.999),
        ("0", None),
        ("0.0", None),
        ("1", None),
        ("1.0", None),
        ("-0.5", None),
        ("", None),
        ("nan", None),
        ("1e-1000", None),
        ("0,5", None),
        ("5.", None),
        (".", None),
        pytest.param("0" * 200_000 + "x", None, id="many digits and a letter"),
        pytest.param("0" * 200_000 + ".5", 0.5, id="many digits"),
    ],
)
def test_rates_of_false_positives(text: str, rate: float | None) -> None:
    given = {"bloom_filter_enabled__column__a": "true", "bloom_filter_fpp__column__a": text}
    if rate is not None:
        assert options(**given).bloom_filters == {1: BloomFilter(rate, None)}
        return
    with pytest.raises(tf.UnsupportedFeatureError) as caught:
        options(**given)
    assert caught.value.field == "write.parquet.bloom-filter-fpp.column.a"


def test_numbers_of_distinct_values() -> None:
    for wrong in ("0", "x"):
        with pytest.raises(tf.UnsupportedFeatureError) as caught:
            options(bloom_filter_ndv__column__gone=wrong)
        assert caught.value.field == "write.parquet.bloom-filter-ndv.column.gone"
