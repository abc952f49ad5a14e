"""Bytes are inflated up to a limit, and nothing that is cut short or goes on behind its end is taken for whole."""

from __future__ import annotations

import gzip
import zlib

import pyarrow as pa
import pytest

from tableformats.io import compression
from tableformats.io.buffers import ReusableBuffer
from tableformats.io.compression import AVRO_CODECS, INFLATE_ERRORS, compress_avro, inflate, inflate_avro

TEXT = b"a" * 50 + bytes(range(50))
LONG = (bytes(i * i % 251 for i in range(251)) * 12_600)[: 3 << 20]


def raw(data: bytes) -> bytes:
    deflater = zlib.compressobj(9, zlib.DEFLATED, -15)
    return deflater.compress(data) + deflater.flush()


def of_arrow(codec: str, data: bytes) -> bytes:
    return bytes(pa.Codec(codec).compress(data, asbytes=True))


COMPRESSED = {
    "null": lambda data: data,
    "deflate": raw,
    "gzip": gzip.compress,
    "snappy": lambda data: of_arrow("snappy", data),
    "zstandard": lambda data: of_arrow("zstd", data),
}


@pytest.mark.parametrize("codec", COMPRESSED)
@pytest.mark.parametrize("data", [b"", b"x", TEXT, LONG], ids=len)
def test_just_as_many_bytes_as_the_limit_allows(codec: str, data: bytes) -> None:
    stored = COMPRESSED[codec](data)
    for given in (stored, memoryview(stored)):
        found = inflate(codec, given, len(data))
        assert found is not None and bytes(found) == data
    assert bytes(inflate(codec, stored, len(data) + 1) or b"") == data
    if data:
        assert inflate(codec, stored, len(data) - 1) is None


@pytest.mark.parametrize("codec", [*COMPRESSED][1:])
def test_what_is_cut_short_is_refused(codec: str) -> None:
    stored = COMPRESSED[codec](TEXT)
    for length in (0, 1, len(stored) // 2, len(stored) - 1):
        if codec == "zstandard" and not length:
            continue  # no frame at all is no text
        with pytest.raises(INFLATE_ERRORS):
            inflate(codec, stored[:length], 1000)


def test_bytes_of_a_checksum_may_follow_deflate_data_and_no_others() -> None:
    """Python's Avro writers cut deflate data out of a zlib stream and leave bytes of its checksum behind."""
    checksum = zlib.adler32(TEXT).to_bytes(4, "big")
    for count in range(5):
        assert inflate("deflate", raw(TEXT) + checksum[:count], 1000) == TEXT
    for behind in (checksum + b"x", checksum[:3] + b"x", b"x", checksum[1:], zlib.adler32(TEXT).to_bytes(4, "little")):
        with pytest.raises(ValueError, match=f"^{len(behind)} bytes follow its end"):
            inflate("deflate", raw(TEXT) + behind, 1000)


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (b"\x80\x80\x80\x80\x80", "its size is no number"),
        (b"\x80\x80\x80\x80\x80\x01", "its size is no number"),
        (b"\xff", "its size is no number"),
        (b"", "its size is no number"),
    ],
)
def test_a_size_without_end(size: bytes, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        inflate("snappy", size, 1000)


@pytest.mark.parametrize("length", [0, 1, 127, 128, 16_383, 16_384, 1 << 21])
def test_sizes_of_snappy_data(length: int) -> None:
    stored = of_arrow("snappy", bytes(length))
    assert inflate("snappy", stored, length) == bytes(length)
    if length:
        assert inflate("snappy", stored, length - 1) is None


def test_a_size_of_five_bytes_is_read_before_anything_is_inflated() -> None:
    assert inflate("snappy", b"\x80\x80\x80\x80\x01", (1 << 28) - 1) is None
    assert inflate("snappy", b"\xff\xff\xff\xff\x0f", (1 << 32) - 2) is None


@pytest.mark.parametrize("codec", AVRO_CODECS)
@pytest.mark.parametrize("level", [None, 1, 9])
def test_an_avro_block_is_inflated_to_what_it_was(codec: str, level: int | None) -> None:
    stored = compress_avro(codec, TEXT, level)
    assert bytes(inflate_avro(codec, stored, len(TEXT)) or b"") == TEXT
    assert inflate_avro(codec, stored, len(TEXT) - 1) is None


@pytest.mark.parametrize("level", [None, -100, -1, 0, 1, 9, 100])
def test_deflate_data_have_no_head(level: int | None) -> None:
    assert zlib.decompress(compress_avro("deflate", TEXT, level), -15) == TEXT


@pytest.mark.parametrize(("level", "same"), [(-100, -1), (100, 9), (0, 0), (1, 1), (5, 5)])
def test_levels_beyond_those_of_zlib(level: int, same: int) -> None:
    deflater = zlib.compressobj(same, zlib.DEFLATED, -15)
    assert compress_avro("deflate", LONG[:10_000], level) == deflater.compress(LONG[:10_000]) + deflater.flush()


def test_without_isa_l_the_fastest_level_of_zlib_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compression, "deflate", zlib)
    words = b" ".join(f"{i * i % 997} {i % 31}".encode() for i in range(5000))
    deflaters = [zlib.compressobj(level, zlib.DEFLATED, -15) for level in (1, 2)]
    fastest, next_one = (deflater.compress(words) + deflater.flush() for deflater in deflaters)
    assert compress_avro("deflate", words) == fastest != next_one


def test_the_checksum_of_a_snappy_block() -> None:
    stored = compress_avro("snappy", TEXT)
    assert stored[-4:] == zlib.crc32(TEXT).to_bytes(4, "big") and stored[:-4] == of_arrow("snappy", TEXT)
    for wrong in (stored[:-1] + bytes([stored[-1] ^ 1]), stored[:-4] + stored[-4:][::-1]):
        with pytest.raises(ValueError, match="its checksum does not match"):
            inflate_avro("snappy", wrong, 1000)
    assert inflate_avro("snappy", stored[:-1] + b"?", len(TEXT) - 1) is None, "too long in any case"


def test_memory_is_used_again_for_one_file_after_the_other() -> None:
    """A buffer grows to twice what is asked, up to 8 MB, and gives longer files memory of their own."""
    buffer, most = ReusableBuffer(), 8 << 20
    assert len(buffer.reserve(0)) == 0
    first = buffer.reserve(100)
    first[:3] = b"abc"
    again = buffer.reserve(200)
    assert len(first) == 100 and len(again) == 200 and again[:3] == b"abc"
    assert buffer.reserve(50).obj is again.obj
    more = buffer.reserve(201)
    assert more.obj is not again.obj and len(more) == 201
    whole = buffer.reserve(most)
    assert len(whole) == most and buffer.reserve(5).obj is whole.obj
    alone = buffer.reserve(most + 1)
    assert len(alone) == most + 1 and alone.obj is not whole.obj and buffer.reserve(5).obj is whole.obj
