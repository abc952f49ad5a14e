"""Thousands of parses of sound and damaged bytes leave the process as large as it was: no error path keeps anything."""

from __future__ import annotations

import gc
import os
import random
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from pyroaring import BitMap64
from tableformats_delta.deletes.deletion_vectors import _Place, _positions
from tableformats_delta.log.actions import parse_actions
from tableformats_delta.log.commit_buffer import CommitBuffer
from tableformats_delta.log.commit_lines import read_lines
from tableformats_delta.schema.schema_string import parse_schema
from tableformats_iceberg.avro.container import Want, read_columns
from tableformats_iceberg.deletes.puffin import parse_deletion_vector
from tableformats_iceberg.manifests.manifest_list import parse_manifest_list
from tableformats_iceberg.metadata.table_metadata import parse_metadata

from tableformats.errors import CorruptMetadataError, TableFormatsError
from tableformats.io.compression import INFLATE_ERRORS, compress_avro, inflate_avro
from tableformats.io.parquet.footers import has_sound_chunks
from tableformats.limits import DEFAULT_LIMITS
from tests.support.examples import examples

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
STATUS = Path("/proc/self/statm")
PARSES, WARM = examples(10_000), 2_000
MOST_GROWTH = 4 << 20
"""Bytes. A leak of half a kilobyte a parse is as much; pages of the allocator come and go."""
WANTS = [
    Want(0, ("status",)),
    Want(
        2,
        ("data_file",),
        shape="record",
        members=(
            Want(100, ("file_path",), "text"),
            Want(125, ("lower_bounds",), shape="map", members=(Want(126, ("key",)), Want(127, ("value",), "bytes"))),
        ),
    ),
]
SCHEMA = (
    b'{"type":"struct","fields":[{"name":"a","type":{"type":"array","elementType":"long","containsNull":true},'
    b'"nullable":true,"metadata":{}},{"name":"d","type":"decimal(12,2)","nullable":true,"metadata":{}}]}'
)
DELETED = BitMap64([*range(0, 300, 7), *range(70_000, 71_000), 2**33])
BITMAP = b"\xd1\xd3\x39\x64" + DELETED.serialize()


def smallest(pattern: str) -> bytes:
    return min(GOLDEN.glob(pattern), key=lambda path: path.stat().st_size).read_bytes()


def vector(data: bytes) -> object:
    """Framed anew, so that damage reaches the bitmap's own checks."""
    framed = struct.pack(">I", len(data)) + data + struct.pack(">I", zlib.crc32(data))
    return parse_deletion_vector(framed, "p", 0)


def log_vector(data: bytes) -> object:
    return _positions(data.ljust(4, b"\0"), _Place("p", 0), len(DELETED), None, DEFAULT_LIMITS)


def block(data: bytes) -> object:
    try:
        return inflate_avro("zstandard", data, 1 << 20)
    except INFLATE_ERRORS as error:
        raise CorruptMetadataError(str(error)) from error


def footer(data: bytes) -> object:
    return has_sound_chunks(data[-int.from_bytes(data[-8:-4], "little") - 8 :])


PARSERS: dict[str, tuple[Callable[[], bytes], Callable[[bytes], object]]] = {
    "commit, by action": (lambda: smallest("tables/delta-*/table/_delta_log/*.json"), lambda d: parse_actions(d, "p")),
    "commit, in columns": (
        lambda: smallest("tables/delta-*/table/_delta_log/*.json"),
        lambda d: read_lines(CommitBuffer([d, d])),
    ),
    "schema of a log": (lambda: SCHEMA, lambda d: parse_schema(d.decode(errors="replace"), "none", "p")),
    "vector of a log": (lambda: BITMAP, log_vector),
    "footer": (lambda: smallest("tables/delta-*/table/_delta_log/*.checkpoint.parquet"), footer),
    "metadata.json": (lambda: smallest("tables/iceberg-*/table/metadata/*.json"), lambda d: parse_metadata(d, "p")),
    "manifest list": (
        lambda: smallest("tables/iceberg-*/table/metadata/snap-*.avro"),
        lambda d: parse_manifest_list(d, "p"),
    ),
    "manifest": (
        lambda: smallest("tables/iceberg-*/table/metadata/*-m0.avro"),
        lambda d: read_columns(d, WANTS, [1, 2], "p"),
    ),
    "block in zstandard": (lambda: compress_avro("zstandard", b"block" * 100), block),
    "vector of a Puffin file": (lambda: BITMAP, vector),
}
COSTLY = {"footer": 50, "commit, in columns": 50, "metadata.json": 10, "manifest": 4, "manifest list": 4}
"""Parsers of which so many times fewer calls are made: each call makes as many more objects that could stay."""


def damaged(data: bytes, rng: random.Random) -> bytes:
    """The bytes as they are, with some changed, or cut."""
    kind = rng.randrange(4)
    if not kind:
        return data
    if kind == 1:
        return data[: rng.randrange(len(data))]
    changed = bytearray(data)
    for _ in range(kind):
        changed[rng.randrange(len(data))] = rng.randrange(256)
    return bytes(changed)


def resident() -> int:
    gc.collect()
    return int(STATUS.read_text().split()[1]) * 4096


@pytest.mark.skipif(not STATUS.exists(), reason="/proc tells what a process takes")
@pytest.mark.skipif("libasan" in os.environ.get("LD_PRELOAD", ""), reason="the sanitizer holds on to freed memory")
@pytest.mark.parametrize("name", PARSERS)
def test_parses_leave_nothing_behind(name: str) -> None:
    sample, parse = PARSERS[name]
    data, rng, fewer = sample(), random.Random(7), COSTLY.get(name, 1)
    failed = 0
    before = 0
    for i in range(PARSES // fewer):
        if i == WARM // fewer:
            before = resident()
        try:
            parse(damaged(data, rng))
        except TableFormatsError:
            failed += 1
    assert name in ("footer", "commit, in columns") or failed > PARSES // fewer // 10
    assert resident() - before < MOST_GROWTH
