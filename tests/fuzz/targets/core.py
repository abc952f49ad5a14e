"""What the core reads itself: predicates in SQL, stored paths, compressed blocks."""

from __future__ import annotations

from contextlib import suppress

import pyarrow as pa

from tableformats.errors import PathNotAllowedError
from tableformats.expressions.binding import bind
from tableformats.expressions.parse import parse_filter
from tableformats.io.compression import AVRO_CODECS, INFLATE_ERRORS, inflate_avro
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


CORE_TARGETS = (
    Target("sql", sql, sql_seeds),
    Target("paths", paths, path_seeds),
    Target("codecs", codecs, codec_seeds),
)
