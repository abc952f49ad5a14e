"""Texts in data pages: the kernels beside a readable twin, pages of every kind, and damaged bytes."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tableformats.io._thrift_write import write_struct
from tableformats.io.parquet import data_pages
from tableformats.io.parquet._page_values import find_values
from tableformats.io.parquet._rle import read_codes
from tableformats.io.parquet._texts import coded_places, copy_texts, plain_places, plain_texts
from tableformats.io.parquet.data_pages import (
    StoredPage,
    decompress_into,
    decompressed,
    decompresses,
    decompresses_quickly,
)
from tableformats.io.parquet.texts import StoredTexts
from tests.support.examples import examples

Numbers = Sequence[int]
TEXTS = st.lists(st.none() | st.binary(max_size=20) | st.sampled_from([b"", b"x" * 16, b"y" * 17]), max_size=40)
SNAPPY, ZSTD = 1, 6


def varint(number: int) -> bytes:
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])


def packed(values: Numbers, bits: int) -> bytes:
    """Values of ``bits`` each, the lowest bit first, in whole groups of eight values."""
    values = [*values, *[0] * (-len(values) % 8)]
    number = sum(value << i * bits for i, value in enumerate(values))
    return varint(len(values) // 8 << 1 | 1) + number.to_bytes(len(values) * bits // 8, "little")


def repeated(value: int, count: int, bits: int) -> bytes:
    return varint(count << 1) + value.to_bytes((bits + 7) // 8, "little")


@st.composite
def hybrids(draw: st.DrawFn, bits: int) -> tuple[bytes, list[int]]:
    """Runs of both kinds, and their values."""
    data, values = b"", []
    number = st.integers(0, (1 << bits) - 1)
    for _ in range(draw(st.integers(0, 5))):
        if draw(st.booleans()):
            value, count = draw(number), draw(st.integers(1, 300))
            data += repeated(value, count, bits)
            values += [value] * count
        else:
            some = draw(st.lists(number, min_size=8, max_size=24).map(lambda found: found[: len(found) // 8 * 8]))
            data += packed(some, bits)
            values += some
    return data, values


@settings(max_examples=examples(200), deadline=None)
@given(st.data())
def test_codes_of_every_width(data: st.DataObject) -> None:
    bits = data.draw(st.integers(0, 32))
    stored, values = data.draw(hybrids(bits))
    count = data.draw(st.integers(0, len(values)))
    out = np.zeros(count, np.uint32)
    read_codes(bytes([bits]) + stored, out)
    assert out.tolist() == values[:count]
    with pytest.raises(ValueError, match=f"the codes of a page end after {len(values)} of {len(values) + 1} values"):
        read_codes(bytes([bits]) + stored, np.zeros(len(values) + 1, np.uint32))


def read_levels(stored: bytes, out: npt.NDArray[np.uint8]) -> int:
    """The definition levels of a page of version 2: how many are 1."""
    one = page(3, len(stored), stored, f1=len(out), f2=0, f3=len(out), f4=0, f5=len(stored), f6=0)
    one.cached = memoryview(b"")
    starts, counts = np.full((2, 1), -7)
    find_values([one], True, starts, counts, out)
    assert starts.tolist() == [0]
    return int(counts[0])


@settings(max_examples=examples(200), deadline=None)
@given(st.data())
def test_levels(data: st.DataObject) -> None:
    stored, values = data.draw(hybrids(1))
    count = data.draw(st.integers(0, len(values)))
    out = np.full(count, 9, np.uint8)
    assert read_levels(stored, out) == sum(values[:count])
    assert out.tolist() == values[:count]
    with pytest.raises(ValueError, match=f"levels of a page end after {len(values)} of {len(values) + 1} rows"):
        read_levels(stored, np.zeros(len(values) + 1, np.uint8))


def test_a_last_group_may_be_cut_to_its_values() -> None:
    """Writers leave out the bytes of a bit-packed run that no value needs."""
    out = np.zeros(3, np.uint32)
    read_codes(bytes([8]) + varint(1 << 1 | 1) + bytes([5, 6, 7]), out)
    assert out.tolist() == [5, 6, 7]
    levels = np.zeros(9, np.uint8)
    assert read_levels(varint(2 << 1 | 1) + bytes([255, 1]), levels) == 9


@pytest.mark.parametrize(
    "stored",
    [b"", b"\x21", bytes([33]) + b"\x04\x01", bytes([8]), bytes([8, 0x80]), bytes([8]) + b"\xff" * 9, b"\x08\x00"],
)
def test_codes_that_are_none(stored: bytes) -> None:
    with pytest.raises(ValueError, match="the codes of a page"):
        read_codes(stored, np.zeros(2, np.uint32))


def masks(count: int) -> st.SearchStrategy[npt.NDArray[np.uint8] | None]:
    return st.none() | st.lists(st.integers(0, 1), min_size=count, max_size=count).map(lambda x: np.array(x, np.uint8))


def copied(values: bytes, starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]) -> list[bytes]:
    """The texts, as the kernel copies them."""
    out = np.zeros(int(ends[-1] - ends[0]), np.uint8)
    copy_texts(values, starts, ends, out)
    shifted = (ends - ends[0]).tolist()
    return [out.tobytes()[a:b] for a, b in zip(shifted, shifted[1:], strict=False)]


@settings(max_examples=examples(300), deadline=None)
@given(TEXTS, st.data())
def test_plain_texts(texts: list[bytes | None], data: st.DataObject) -> None:
    chosen = data.draw(masks(len(texts)))
    wanted = [text for i, text in enumerate(texts) if chosen is None or chosen[i]]
    defined = None if None not in texts else np.array([text is not None for text in texts], np.uint8)
    values = b"".join(struct.pack("<i", len(text)) + text for text in texts if text is not None)
    starts, ends = np.empty(len(wanted), np.int64), np.full(len(wanted) + 1, 7, np.int64)
    plain_places(values, len(texts), defined, chosen, starts, ends)
    assert copied(values, starts, ends) == [text or b"" for text in wanted]
    if values:
        with pytest.raises(ValueError, match="the texts of a page end after"):
            plain_places(values[:-1], len(texts), defined, chosen, starts, ends)


def stored_page(texts: Sequence[bytes | None], prefix: bytes = b"") -> StoredPage:
    """A page of texts that is decompressed already, with something before the texts."""
    found = page(0, 0, b"", f1=len(texts), f2=0, f3=3)
    found.cached = memoryview(
        prefix + b"".join(struct.pack("<i", len(text)) + text for text in texts if text is not None)
    )
    return found


@settings(max_examples=examples(400), deadline=None)
@given(
    st.lists(st.tuples(TEXTS, st.binary(max_size=3)), max_size=3), st.binary(max_size=20), st.integers(0, 40), st.data()
)
def test_copied_plain_texts(
    stored: list[tuple[list[bytes | None], bytes]], before: bytes, room: int, data: st.DataObject
) -> None:
    pages, starts = [stored_page(*one) for one in stored], np.array([len(prefix) for _, prefix in stored], np.int64)
    texts = [text for some, _ in stored for text in some]
    chosen = data.draw(masks(len(texts)))
    defined = None if None not in texts else np.array([text is not None for text in texts], np.uint8)
    wanted = [text or b"" for i, text in enumerate(texts) if chosen is None or chosen[i]]
    offsets = np.full(len(wanted) + 1, len(before), np.int32)
    out = np.frombuffer(bytearray(before + bytes(sum(map(len, wanted)) + room)), np.uint8)
    plain_texts(pages, starts, defined, chosen, offsets, out)
    end = int(offsets[-1])
    assert out.tobytes()[:end] == before + b"".join(wanted)
    assert np.diff(offsets).tolist() == list(map(len, wanted))
    if any(wanted):
        with pytest.raises(ValueError, match="the texts of a page end after"):
            plain_texts(pages, starts, defined, chosen, offsets, out[: end - 1])
    for wrong in (offsets[:-1], np.append(offsets, offsets[-1:])):
        with pytest.raises(ValueError, match="offsets has"):
            plain_texts(pages, starts, defined, chosen, wrong, out)
    if len(pages):
        with pytest.raises(ValueError, match="starts has"):
            plain_texts(pages, starts[:-1], defined, chosen, offsets, out)
        for place in (-1, len(pages[-1].cached) + 1):
            starts[-1] = place
            with pytest.raises(ValueError, match="its values begin outside of it"):
                plain_texts(pages, starts, defined, chosen, offsets, out)
        starts[-1] = len(stored[-1][1])
        if len(pages[-1].cached) > starts[-1]:
            pages[-1].cached = pages[-1].cached[:-1]
            with pytest.raises(ValueError, match="the texts of a page end after"):
                plain_texts(pages, starts, defined, chosen, offsets, out)
        pages[-1].cached = None
        with pytest.raises(ValueError, match="a page was not decompressed"):
            plain_texts(pages, starts, defined, chosen, offsets, out)
    for start in (-1, len(out) + 1):
        offsets[0] = start
        with pytest.raises(ValueError, match="out has no room"):
            plain_texts(pages, starts, defined, chosen, offsets, out)


def test_where_values_begin() -> None:
    """Behind the length and the levels of version 1; of version 2 the levels are not part of what is compressed."""
    levels = repeated(1, 3, 1)
    first = page(0, 0, b"", f1=3, f2=0, f3=3)
    first.cached = memoryview(struct.pack("<i", len(levels)) + levels + b"values")
    second = page(3, 9, packed([1, 0], 1), f1=2, f2=0, f3=2, f4=0, f5=2, f6=0)
    second.cached = memoryview(b"more")
    starts, counts, found = *np.full((2, 2), -7), np.full(5, 9, np.uint8)
    find_values([first, second], True, starts, counts, found)
    assert (starts.tolist(), counts.tolist(), found.tolist()) == ([6, 0], [3, 1], [1, 1, 1, 1, 0])
    find_values([first, second], False, starts, counts, found[:0])
    assert (starts.tolist(), counts.tolist()) == ([0, 0], [3, 2])
    for wrong in (
        (starts[:1], counts, found, True),
        (starts, counts[:1], found, True),
        (starts, counts, found[:4], True),
        (starts, counts, found, False),
    ):
        with pytest.raises(ValueError, match="entries where"):
            find_values([first, second], wrong[3], *wrong[:3])
    second.cached = None
    with pytest.raises(ValueError, match="a page was not decompressed"):
        find_values([first, second], True, starts, counts, found)
    first.cached = first.cached[:5]
    with pytest.raises(ValueError, match="the levels of a page are longer than the page"):
        find_values([first], True, starts[:1], counts[:1], found[:3])


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(st.binary(max_size=20), min_size=1, max_size=5), st.data())
def test_coded_texts(entries: list[bytes], data: st.DataObject) -> None:
    codes = data.draw(st.lists(st.none() | st.integers(0, len(entries) - 1), max_size=30))
    chosen = data.draw(masks(len(codes)))
    values = b"".join(struct.pack("<i", len(text)) + text for text in entries)
    entry_starts, entry_ends = np.empty(len(entries), np.int64), np.zeros(len(entries) + 1, np.int64)
    plain_places(values, len(entries), None, None, entry_starts, entry_ends)
    wanted = [code for i, code in enumerate(codes) if chosen is None or chosen[i]]
    starts, ends = np.empty(len(wanted), np.int64), np.full(len(wanted) + 1, 3, np.int64)
    defined = np.array([code is not None for code in codes], np.uint8)
    present = np.array([code for code in codes if code is not None], np.uint32)
    coded_places(present, entry_starts, entry_ends, len(codes), defined, chosen, starts, ends)
    assert copied(values, starts, ends) == [b"" if code is None else entries[code] for code in wanted]
    if len(present):
        for wrong in (present[:-1], np.append(present[:-1], len(entries)).astype(np.uint32)):
            with pytest.raises(ValueError, match="has no code of their dictionary"):
                coded_places(wrong, entry_starts, entry_ends, len(codes), defined, chosen, starts, ends)


def test_arrays_of_other_lengths() -> None:
    starts, ends, one = np.zeros(1, np.int64), np.zeros(2, np.int64), np.ones(1, np.uint8)
    plain_places(b"\0\0\0\0", 1, one, one, starts, ends)
    for arguments in (
        (b"\0\0\0\0", 1, np.ones(2, np.uint8), None, starts, ends),
        (b"\0\0\0\0", 1, None, np.ones(2, np.uint8), starts, ends),
        (b"\0\0\0\0", 1, None, None, starts, starts),
        (b"\0\0\0\0", 1, None, np.zeros(1, np.uint8), starts, ends),
        (b"\0\0\0\0" * 2, 2, None, None, starts, ends),
    ):
        with pytest.raises(ValueError, match="entries where"):
            plain_places(*arguments)
    with pytest.raises(ValueError, match="entry_ends has 1 entries where 2 are needed"):
        coded_places(np.zeros(1, np.uint32), starts, starts, 1, None, None, starts, ends)


@pytest.mark.parametrize(
    ("starts", "ends", "room"),
    [
        ([0], [0, 5], 5),
        ([-1], [0, 1], 1),
        ([4], [0, 1], 1),
        ([1], [0, 4], 4),
        ([0], [2, 1], 0),
        ([0], [0, 2], 3),
        ([0], [0, 2], 1),
    ],
)
def test_nothing_outside_is_copied(starts: list[int], ends: list[int], room: int) -> None:
    with pytest.raises(ValueError, match=f"the texts do not fill {room} bytes"):
        copy_texts(b"abcd", np.array(starts, np.int64), np.array(ends, np.int64), np.zeros(room, np.uint8))


@settings(max_examples=examples(300), deadline=None)
@given(st.binary(max_size=60), st.integers(0, 40))
def test_any_bytes_are_read_or_refused(data: bytes, rows: int) -> None:
    levels, codes = np.zeros(rows, np.uint8), np.zeros(rows, np.uint32)
    starts, ends = np.empty(rows, np.int64), np.zeros(rows + 1, np.int64)
    for read in (
        lambda: read_levels(data, levels),
        lambda: read_codes(data, codes),
        lambda: plain_places(data, rows, None, None, starts, ends),
        lambda: plain_places(data, rows, levels & 1, None, starts, ends),
    ):
        try:
            read()
        except ValueError as error:
            assert "page" in str(error)


def test_snappy() -> None:
    pytest.importorskip("cramjam")
    text = b"abcdefgh" * 1_000
    stored = pa.Codec("snappy").compress(text, asbytes=True)
    assert decompresses_quickly(SNAPPY) and decompresses(SNAPPY)
    out = memoryview(bytearray(len(text)))
    decompress_into(memoryview(stored), out)
    assert bytes(out) == text
    for wrong in (memoryview(stored[:-3]), memoryview(b"\xff" * 20), memoryview(b"")):
        with pytest.raises(ValueError, match="page"):
            decompress_into(wrong, out)


def test_snappy_without_cramjam(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_pages, "_snappy", lambda: None)
    assert not decompresses_quickly(SNAPPY) and not decompresses(SNAPPY)
    with pytest.raises(ValueError, match="pages in the codec 1 are not read"):
        decompressed(SNAPPY, memoryview(b"\x00"), 0)


def test_snappy_of_another_length() -> None:
    pytest.importorskip("cramjam")
    stored = memoryview(pa.Codec("snappy").compress(b"abc" * 100, asbytes=True))
    with pytest.raises(ValueError, match="a page has 300 bytes where its head says 301"):
        decompress_into(stored, memoryview(bytearray(301)))
    with pytest.raises(ValueError, match="cannot be decompressed"):
        decompress_into(stored, memoryview(bytearray(299)))


def test_zstd() -> None:
    text = b"abcdefgh" * 1_000
    stored = pa.Codec("zstd").compress(text, asbytes=True)
    assert decompresses(ZSTD) and not decompresses_quickly(ZSTD) and decompresses(0)
    assert bytes(decompressed(ZSTD, memoryview(stored), len(text))) == text
    for size in (0, len(text) - 1, len(text) + 1, len(text) + 5_000):
        with pytest.raises(ValueError, match="a page cannot be decompressed"):
            decompressed(ZSTD, memoryview(stored), size)
    with pytest.raises(ValueError, match="a page cannot be decompressed"):
        decompressed(ZSTD, memoryview(stored[:-1]), len(text))


@pytest.mark.parametrize("codec", [2, 4, 5, 7, 99])
def test_codecs_that_do_not_tell_sizes(codec: int) -> None:
    assert not decompresses(codec)
    with pytest.raises(ValueError, match=f"pages in the codec {codec} are not read"):
        decompressed(codec, memoryview(b""), 10)


I32, STRUCT, BOOLEAN = 5, 12, 1


def page(kind: int, size: int, body: bytes, **of_kind: int | bool) -> StoredPage:
    """A page of nothing but its head and its body."""
    key = {0: 5, 2: 7, 3: 8}[kind]
    fields = {int(name[1:]): (BOOLEAN if isinstance(v, bool) else I32, v) for name, v in of_kind.items()}
    head = {1: (I32, kind), 2: (I32, size), 3: (I32, len(body)), key: (STRUCT, fields)}
    return StoredPage(write_struct(dict(sorted(head.items()))) + body, 0)


def test_sizes_of_values() -> None:
    """The head says how many bytes are compressed; what is not compressed is as long as it is."""
    first = {"f1": 1, "f2": 0, "f3": 3}
    second = {"f1": 1, "f2": 0, "f3": 1, "f4": 0, "f5": 1, "f6": 1}
    assert page(0, 240, b"0123456789", **first).values_size(SNAPPY) == 240
    assert page(0, 1 << 30, b"0123456789", **first).values_size(ZSTD) == 1 << 30
    assert page(0, 9, b"0123456789", **first).values_size(0) == 10
    assert page(3, 194, b"0123456789", **second).values_size(SNAPPY) == 192
    assert page(3, 99, b"0123456789", **second, f7=False).values_size(SNAPPY) == 8
    with pytest.raises(ValueError, match="10 bytes of Snappy do not become 241"):
        page(0, 241, b"0123456789", **first).values_size(SNAPPY)
    with pytest.raises(ValueError, match="8 bytes of Snappy do not become 193"):
        page(3, 195, b"0123456789", **second).values_size(SNAPPY)


def test_heads_that_lack_something() -> None:
    with pytest.raises(ValueError, match="a page is of another kind"):
        StoredPage(write_struct({1: (I32, 1), 2: (I32, 0), 3: (I32, 0)}), 0)
    with pytest.raises(ValueError, match="a number is missing or negative"):
        page(0, 1, b"a", f2=0, f3=3)
    with pytest.raises(ValueError, match="a number of a page has more than 32 bits"):
        page(0, 1 << 31, b"a", f1=1, f2=0, f3=3)
    with pytest.raises(ValueError, match="levels of a page are longer than the page"):
        page(3, 4, b"abcd", f1=1, f2=0, f3=1, f4=0, f5=3, f6=2)


@pytest.mark.parametrize("defined", [None, [1, 1, 0, 1, 1]])
def test_a_part_of_the_texts_of_several_pages(defined: list[int] | None) -> None:
    """What lies between the texts, as before the first one of a page, is none of them."""
    pages = [(memoryview(b"-a-bc"), 2), (memoryview(b""), 1), (memoryview(b"def-g"), 2)]
    starts, ends = np.array([1, 3, 0, 0, 4], np.int64), np.array([0, 1, 3, 3, 6, 7], np.int64)
    mask = None if defined is None else np.array(defined, np.uint8)
    texts = StoredTexts(pa.string(), pages, starts, ends, mask)
    every = ["a", "bc", "" if defined is None else None, "def", "g"]
    for start in range(5):
        for stop in range(start, 6):
            assert texts.array(start, stop).to_pylist() == every[start:stop]
