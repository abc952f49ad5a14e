"""What the core reads itself: predicates in SQL, stored paths, compressed blocks, texts in pages of Parquet."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tableformats.engines.arrow.key_sets import IntegerSet
from tableformats.errors import PathNotAllowedError
from tableformats.expressions.binding import bind
from tableformats.expressions.parse import parse_filter
from tableformats.io.compression import AVRO_CODECS, INFLATE_ERRORS, inflate_avro
from tableformats.io.parquet.data_pages import StoredPage
from tableformats.io.parquet.fixed_width import fixed_width_values, integers_without
from tableformats.io.parquet.page_values import is_decoded
from tableformats.io.parquet.pages import PageColumn, PageStream
from tableformats.io.parquet.texts import texts_of
from tableformats.io.paths import scheme_of
from tableformats.io.storage import Storage
from tableformats.schema import Field, Schema, primitive
from tests.fuzz.targets.base import Finding, Target
from tests.support.iceberg_manifests import compress

__all__ = ["CORE_TARGETS"]

NAMES = {"c": "long", "s": "string", "d": "date", "x": "double", "t": "timestamp", "b": "boolean", "y": "binary"}
SCHEMA = Schema(tuple(Field(i, name, primitive(kind)) for i, (name, kind) in enumerate(NAMES.items(), 1)))
ROOTS = ("/tables/t", "s3://bucket/t")
INFLATED = 1 << 20
PAGE_ROWS = 100
SOME = 8
"""The bit of the first byte of pages that leaves out rows."""
PAGE_CODECS = (0, 1, 6, 2)
"""The numbers of no codec, Snappy, Zstandard and gzip."""


def sql(data: bytes) -> None:
    parsed = parse_filter(data.decode(errors="replace"))
    if parsed is not None:
        bound = bind(parsed, SCHEMA)
        if bind(bound, SCHEMA) != bound:
            raise Finding("binding a bound predicate changes it")


def sql_seeds() -> dict[str, bytes]:
    texts = {
        "compare": 'c = 1 AND s <> "it\'s" OR NOT (x >= 1.5e3)',
        "in": "c IN (1, 2, NULL) AND s NOT IN ('a')",
        "between": "d BETWEEN DATE'2020-01-01' AND '2020-02-29'",
        "like": r"s LIKE 'a\%b%' OR s LIKE '_'",
        "null": "c IS NOT NULL AND b IS TRUE AND x <=> NULL",
        "time": "t < TIMESTAMP'2020-01-01T00:00:00.5+02:00'",
        "quoted": "`c` > -9223372036854775808 /* a */ -- b",
        "functions": "isnan(x) OR startswith(s, 'é')",
        "cast": "CAST('1' AS BIGINT) = c",
        "hex": "y = X'00ff' OR 0.1BD < x",
        "columns": 'c < x AND s = "q"',
    }
    return {name: text.encode() for name, text in texts.items()}


def paths(data: bytes) -> None:
    """A stored path may only lead to the root's own store, never up, and by itself as among others."""
    stored = data.decode(errors="replace")
    for root in ROOTS:
        for encoded in (False, True):
            storage = Storage(root)
            one = many = None
            with suppress(PathNotAllowedError):
                one = storage.resolve_one(stored, encoded=encoded)
            with suppress(PathNotAllowedError):
                many = storage.resolve(pa.array(["plain", stored]), encoded=encoded)[1].as_py()
            if one != many:
                raise Finding(f"{stored!r} is {one!r} by itself and {many!r} among others")
            if one is not None and (".." in one.split("/") or scheme_of(one) != scheme_of(root)):
                raise Finding(f"{stored!r} leads from {root} to {one}")


def path_seeds() -> dict[str, bytes]:
    texts = (
        "part-0.parquet",
        "p=a%20b/f",
        "../x",
        "%2e%2e/x",
        "%252e%252e/x",
        "/abs/f",
        "file:/x",
        "file:///x",
        "file://host/x",
        "FILE:/x",
        "s3://bucket/t/f",
        "s3a://other/f",
        "http://x/y",
        "a/./b//c",
        "a:b/c",
        "%",
        "%zz",
        "é%C3%A9",
        "a\0b",
        "C:\\x",
        "s3:/bucket",
        "%2Fetc/passwd",
        "a/..%2fb",
        "S3://bucket/f",
        "file:%2e%2e/x",
    )
    return {f"{i:02}": text.encode() for i, text in enumerate(texts)}


def codecs(data: bytes) -> None:
    """A byte of codec, then a block: never more than the bound."""
    codec = AVRO_CODECS[data[0] % len(AVRO_CODECS)] if data else "deflate"
    try:
        plain = inflate_avro(codec, data[1:], INFLATED)
    except INFLATE_ERRORS:
        return
    if plain is not None and len(plain) > INFLATED:
        raise Finding(f"{len(plain)} bytes came out of {codec}")


def codec_seeds() -> dict[str, bytes]:
    plain = b"manifest entries, of which many are alike; " * 9
    return {codec: bytes([i]) + compress(plain, codec) for i, codec in enumerate(AVRO_CODECS)}


def page_texts(data: bytes) -> None:
    """A byte of the codec, of whether there are NULLs and of whether all rows are wanted, then the pages of a chunk.

    They have ``PAGE_ROWS`` texts.
    """
    found = chunk_of(data, 6)
    if found is None:
        return
    column, pages, dictionary = found
    try:
        chosen = some_rows(sum(page.rows for page in pages), data)
        texts = texts_of(pa.binary(), column, pages, dictionary, chosen)
    except ValueError:
        return
    if texts.ends[-1] < INFLATED:
        texts.array(0, len(texts.ends) - 1).validate(full=True)


def page_numbers(data: bytes) -> None:
    """As :func:`page_texts`, of integers."""
    found = chunk_of(data, 2)
    if found is None:
        return
    column, pages, dictionary = found
    try:
        edges = [0, PAGE_ROWS // 3, PAGE_ROWS // 2, PAGE_ROWS] if data[0] & SOME else [0, PAGE_ROWS]
        runs = np.array(edges, np.int64).reshape(-1, 2)
        numbers = fixed_width_values(pa.int64(), column, pages, dictionary, runs)
    except ValueError:
        return
    if len(numbers) > INFLATED or numbers.null_count != numbers.is_null().sum().as_py():
        raise Finding(f"{numbers.null_count} of {len(numbers)} numbers are NULL")
    values = numbers.to_pylist()
    keys = {0, 1, 2**40, *values[:2]} - {None}
    table = IntegerSet(pa.array(sorted(keys), pa.int64())).table
    left, places = integers_without(pa.int64(), column, pages, dictionary, runs, table)
    if left.to_pylist() != [value for value in values if value not in keys]:
        raise Finding(f"{len(left)} of {len(values)} numbers are no keys")
    if places.tolist() != [place for place, value in enumerate(values) if value in keys]:
        raise Finding(f"{len(places)} of {len(values)} numbers are keys")


def some_rows(rows: int, data: bytes) -> np.ndarray | None:
    """Every third of so many rows; None: all."""
    return (np.arange(rows) % 3 == 0).view(np.uint8) if data[0] & SOME else None


def chunk_of(data: bytes, physical: int) -> tuple[PageColumn, list[StoredPage], StoredPage | None] | None:
    """The pages of a column chunk; None: they are damaged, or Arrow decodes them."""
    flags, stored = data[0] if data else 0, data[1:]
    element = {1: (5, physical), 3: (5, flags & 1), 4: (8, b"t")}
    column = PageColumn(0, element, {4: (5, PAGE_CODECS[flags >> 1 & 3])}, 0, len(stored), None, None, None)
    try:
        stream = PageStream(column, PAGE_ROWS, lambda offset, size: stored[offset : offset + size])
        pages = [page for _, page in stream.until(0, PAGE_ROWS)]
    except ValueError:
        return None
    return (column, pages, stream.dictionary) if all(map(is_decoded, pages)) else None


def page_seeds(values: pa.Array, page_bytes: int = 100) -> dict[str, bytes]:
    """A chunk of some values, of every codec and version of pages; all of its rows are wanted, or some."""
    seeds = {}
    for number, codec in enumerate(("none", "snappy", "zstd", "gzip")):
        for version in ("1.0", "2.0"):
            out = pa.BufferOutputStream()
            options = {"data_page_version": version, "dictionary_pagesize_limit": 150, "write_batch_size": 10}
            pq.write_table(pa.table({"t": values}), out, compression=codec, data_page_size=page_bytes, **options)
            file = out.getvalue()
            chunk = pq.ParquetFile(file).metadata.row_group(0).column(0)
            start = chunk.dictionary_page_offset
            stored = file.slice(start, chunk.total_compressed_size).to_pybytes()
            seeds[f"{codec}-{version[0]}"] = bytes([number << 1 | 1]) + stored
            seeds[f"{codec}-{version[0]}-some"] = bytes([number << 1 | 1 | SOME]) + stored
    return seeds


def page_text_seeds() -> dict[str, bytes]:
    return page_seeds(pa.array([None if i % 7 == 3 else f"text {i * i % 50}" for i in range(PAGE_ROWS)]))


def page_number_seeds() -> dict[str, bytes]:
    mixed = page_seeds(pa.array([None if i % 7 == 3 else i * i % 50 for i in range(PAGE_ROWS)]))
    ascending = page_seeds(pa.array(range(PAGE_ROWS)), 1 << 12)
    return {**mixed, **{f"{name}-ascending": seed for name, seed in ascending.items()}}


CORE_TARGETS = (
    Target("sql", sql, sql_seeds),
    Target("paths", paths, path_seeds),
    Target("codecs", codecs, codec_seeds),
    Target("page_texts", page_texts, page_text_seeds),
    Target("page_numbers", page_numbers, page_number_seeds),
)
