"""The deletion bitmap kernels against sets and pyroaring, on good, damaged and hostile bytes."""

from __future__ import annotations

import struct
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyroaring import BitMap64

from tableformats._core import bitmap as compiled
from tableformats._core import reference
from tableformats._core.pyroaring_bitmaps import bitmap_of
from tableformats.errors import CorruptMetadataError
from tests.support.bitmaps import BAD, GOOD
from tests.support.conformance import ROOT, needs_tables
from tests.support.examples import examples

Rows = set[int]


def _serialized(rows: Rows, optimize: bool = True) -> bytes:
    """pyroaring's serialisation, the portable one; ``optimize`` makes run containers."""
    bitmap = BitMap64(sorted(rows))
    if optimize:
        bitmap.run_optimize()
    return bitmap.serialize()


@st.composite
def deleted_rows(draw: st.DrawFn) -> Rows:
    """Rows of all container kinds, in one or several 32-bit bitmaps."""
    rows: Rows = set()
    for _ in range(draw(st.integers(0, 4))):
        base = draw(st.integers(0, 3)) << 16 | draw(st.sampled_from([0, 0, 0, 1, 5, 2**31 - 1])) << 32
        kind = draw(st.sampled_from(["array", "runs", "bitset"]))
        if kind == "array":
            rows |= {base + v for v in draw(st.lists(st.integers(0, 65535), max_size=20))}
        elif kind == "runs":
            for first in draw(st.lists(st.integers(0, 65535), max_size=4)):
                rows |= set(range(base + first, base + min(first + draw(st.integers(1, 300)), 65536)))
        else:
            step, at = draw(st.integers(2, 13)), draw(st.integers(0, 200))
            rows |= set(range(base + at, base + at + step * 4200, step))
    return rows


@st.composite
def windows(draw: st.DrawFn, rows: Rows) -> tuple[int, int]:
    """An asked row range near the rows, a word's or a container's edge, or nowhere."""
    anchors = [*sorted(rows)[:: max(1, len(rows) // 8)], 0, 64, 65536, 131072, 2**32]
    start = max(0, draw(st.sampled_from(anchors)) + draw(st.integers(-130, 130)))
    return start, start + draw(st.integers(0, 200) | st.integers(0, 3000))


def _check_window(bitmap: ModuleType, data: bytes, rows: Rows, start: int, stop: int) -> None:
    inside = sorted(r for r in rows if start <= r < stop)
    found = bitmap.positions(data, start, stop)
    assert found.dtype == np.int64 and found.tolist() == inside
    live = bitmap.live_mask(data, start, stop)
    assert live.dtype == np.uint8 and live.tolist() == [r not in rows for r in range(start, stop)]
    bits = bitmap.words(data, start, stop)
    assert bits.dtype == np.uint64 and len(bits) == -(-(stop - start) // 64)
    set_bits = np.flatnonzero(np.unpackbits(bits.astype("<u8").view(np.uint8), bitorder="little"))
    assert set_bits.tolist() == [r - start for r in inside]
    starts, lengths = bitmap.ranges(data, start, stop)
    assert starts.dtype == lengths.dtype == np.int64
    runs = list(zip(starts.tolist(), lengths.tolist(), strict=True))
    assert [r for first, length in runs for r in range(first, first + length)] == inside
    assert all(first + length < following for (first, length), (following, _) in zip(runs, runs[1:], strict=False))


@settings(max_examples=examples(60), deadline=None)
@given(data=st.data())
def test_every_form_of_the_answer_is_the_set_of_rows(bitmap: ModuleType, data: st.DataObject) -> None:
    rows = data.draw(deleted_rows())
    raw = _serialized(rows, data.draw(st.booleans()))
    assert bitmap.validate(raw) == (len(rows), max(rows, default=-1))
    for _ in range(4):
        _check_window(bitmap, raw, rows, *data.draw(windows(rows)))


@pytest.mark.parametrize("optimize", [False, True], ids=["as-added", "run-optimised"])
@pytest.mark.parametrize(
    "rows",
    [
        set(),
        {0},
        {2**63 - 2},
        set(range(65536)),
        set(range(65530, 65540)),
        set(range(0, 65536, 2)),
        set(range(4096)),
        set(range(4097)),
        {v * 17 for v in range(4096)},
        {v * 15 for v in range(4097)},
        {b << 16 for b in range(3)},
        {b << 16 for b in range(4)},
        {b << 32 for b in range(5)},
        set(range(100)) | {b << 16 for b in range(1, 9)},
        set(range(63, 200_000)) - {64, 65536, 131071},
    ],
    ids=len,
)
def test_edges(bitmap: ModuleType, rows: Rows, optimize: bool) -> None:
    raw = _serialized(rows, optimize)
    last = max(rows, default=0)
    assert bitmap.validate(raw) == (len(rows), max(rows, default=-1))
    edges = [(0, 0), (0, 1), (0, 64), (0, 65), (1, 130), (63, 65), (65535, 65537), (65472, 65700), (4095, 4098)]
    for start, stop in [*edges, (max(0, last - 70), last), (max(0, last - 70), last + 1)]:
        _check_window(bitmap, raw, rows, start, stop)
    if last < 300_000:
        _check_window(bitmap, raw, rows, 0, last + 100)
        _check_window(bitmap, raw, rows, min(37, last), last + 1)


def test_last_row_of_all(bitmap: ModuleType) -> None:
    raw = _serialized({2**63 - 1})
    assert bitmap.validate(raw) == (1, 2**63 - 1)
    assert bitmap.positions(raw, 2**63 - 9, 2**63 - 1).tolist() == []


def test_whole_window_of_a_large_bitmap_needs_memory_for_the_answer_only(bitmap: ModuleType) -> None:
    raw = _serialized({1, 2**40, 2**62})
    assert bitmap.positions(raw, 0, 2**63 - 1).tolist() == [1, 2**40, 2**62]
    assert [a.tolist() for a in bitmap.ranges(raw, 0, 2**63 - 1)] == [[1, 2**40, 2**62], [1, 1, 1]]


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview, lambda raw: np.frombuffer(raw, np.uint8)])
def test_reads_any_buffer_of_bytes(bitmap: ModuleType, kind: Any) -> None:
    assert bitmap.positions(kind(_serialized({3, 70_000})), 0, 100_000).tolist() == [3, 70_000]


@pytest.mark.parametrize(("start", "stop"), [(-1, 5), (5, 4), (-2, -1)])
def test_refuses_what_is_no_range(bitmap: ModuleType, start: int, stop: int) -> None:
    for function in (bitmap.live_mask, bitmap.words, bitmap.positions, bitmap.ranges):
        with pytest.raises(ValueError, match="no range"):
            function(_serialized({1}), start, stop)


# --- Malformed bytes: written field by field, so that one field can lie -------------------------------------------


def _all_answers(module: Any, raw: bytes, stop: int = 300) -> dict[str, Any]:
    """What each function says of the bytes: the answer as plain lists, or where the error is."""

    def ask(function: Any, *window: int) -> Any:
        try:
            found = function(raw, *window)
        except CorruptMetadataError as error:
            return "corrupt", error.offset
        parts = found if isinstance(found, tuple) else (found,)
        return [part.tolist() if isinstance(part, np.ndarray) else part for part in parts]

    names = ("live_mask", "words", "positions", "ranges")
    return {"validate": ask(module.validate), **{name: ask(getattr(module, name), 0, stop) for name in names}}


@pytest.mark.parametrize("name", GOOD)
def test_reads_what_is_legal_though_rare(bitmap: ModuleType, name: str) -> None:
    raw, rows = GOOD[name]
    assert bitmap.validate(raw) == (len(rows), max(rows, default=-1))
    assert bitmap.positions(raw, 0, 2**62).tolist() == rows
    _check_window(bitmap, raw, set(rows), 0, 70_000)


@pytest.mark.parametrize("name", BAD)
def test_refuses_what_contradicts_the_format(bitmap: ModuleType, name: str) -> None:
    """With the place, from every function, and whatever the rows asked for."""
    raw, offset = BAD[name]
    for answer in _all_answers(bitmap, raw).values():
        assert answer == ("corrupt", offset)
    with pytest.raises(CorruptMetadataError):
        bitmap.live_mask(raw, 10**9, 10**9)


def test_the_error_says_what_to_do() -> None:
    with pytest.raises(CorruptMetadataError, match=r"runs of a container overlap.*offset 27.*fetch the file again"):
        compiled.validate(BAD["runs overlap"][0])


SEEDS = {
    "arrays": _serialized({1, 5, 70_000, 70_001, 2**32 + 9}),
    "runs": _serialized(set(range(5, 90)) | set(range(100, 105)) | set(range(65536, 65600))),
    "runs with offsets": GOOD["runs with offsets"][0],
    "empty buckets": GOOD["an empty 32-bit bitmap"][0],
}


@pytest.mark.parametrize("name", SEEDS)
def test_damage_at_every_byte_gives_the_same_answer_or_a_corrupt_error(name: str) -> None:
    """Each byte takes several values, and the bytes end at every place; both twins agree, offsets included."""
    raw = SEEDS[name]
    damaged = [raw[:i] for i in range(len(raw))]
    for i, value in enumerate(raw):
        damaged += [raw[:i] + bytes([new]) + raw[i + 1 :] for new in {0, 1, 255, value ^ 1, value ^ 128} - {value}]
    refused = 0
    for variant in damaged:
        answers = _all_answers(compiled, variant)
        assert answers == _all_answers(reference, variant), variant.hex()
        refused += answers["validate"] == ("corrupt", answers["validate"][1])
        _compare_with_pyroaring(variant, answers["validate"])
    assert len(raw) <= refused < len(damaged)


def _compare_with_pyroaring(raw: bytes, answer: Any) -> None:
    """What we accept, the oracle reads as the same rows (it may accept more: trailing bytes, false offsets)."""
    if answer[0] != "corrupt":
        oracle = BitMap64.deserialize(raw)
        assert answer == [len(oracle), max(oracle, default=-1)]


@settings(max_examples=examples(200), deadline=None)
@given(raw=st.binary(max_size=80) | st.sampled_from(sorted(SEEDS.values())), data=st.data())
def test_random_bytes_give_the_same_answer_or_a_corrupt_error(raw: bytes, data: st.DataObject) -> None:
    changed = bytearray(raw)
    for _ in range(data.draw(st.integers(0, 4))):
        if changed:
            changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    assert _all_answers(compiled, bytes(changed)) == _all_answers(reference, bytes(changed))


@settings(max_examples=20, deadline=None)
@given(step=st.integers(2, 13), place=st.integers(0, 8229), value=st.integers(0, 255))
def test_damaged_bitset(step: int, place: int, value: int) -> None:
    raw = bytearray(_serialized(set(range(0, step * 5000, step)) & set(range(65536)), optimize=False))
    raw[place % len(raw)] = value
    assert _all_answers(compiled, bytes(raw)) == _all_answers(reference, bytes(raw))


def _portable(raw: bytes) -> bytes:
    """The bitmap alone, without the length, magic and CRC of an Iceberg deletion-vector-v1 blob."""
    return raw[8:-4] if raw[4:8] == bytes.fromhex("d1d33964") else raw


@needs_tables
@pytest.mark.conformance
def test_files_of_other_writers() -> None:
    """Bitmaps that Iceberg and CRoaring wrote: pyroaring reads the same rows, or refuses them as we do."""
    read = set()
    for path in sorted(ROOT.glob("**/deletes/*.bin")):
        raw = _portable(path.read_bytes())
        try:
            expected = list(BitMap64.deserialize(raw))
        except ValueError:
            with pytest.raises(CorruptMetadataError):
                compiled.validate(raw)
            continue
        assert compiled.positions(raw, 0, 2**63 - 1).tolist() == expected, path
        assert _all_answers(compiled, raw, 70_000) == _all_answers(reference, raw, 70_000), path
        read.add(path.name)
    assert "all-container-types-position-index.bin" in read and "64mapspreadvals.bin" in read


def touching(pieces: list[tuple[int, int]]) -> bytes:
    """A bitmap of one run container with these runs (first, length), which may touch: pyroaring refuses it then."""
    runs = b"".join(struct.pack("<HH", first, length - 1) for first, length in pieces)
    size = sum(length for _, length in pieces)
    head = struct.pack("<QII", 1, 0, 12347) + b"\x01" + struct.pack("<HH", 0, size - 1)
    return head + struct.pack("<H", len(pieces)) + runs


@given(st.lists(st.tuples(st.integers(0, 70), st.integers(1, 90)), min_size=1, max_size=30))
def test_bitmaps_with_runs_that_touch(gaps: list[tuple[int, int]]) -> None:
    pieces, at = [], 0
    for gap, length in gaps:
        pieces.append((at + gap, length))
        at += gap + length
    wanted = BitMap64([row for first, length in pieces for row in range(first, first + length)])
    assert bitmap_of(touching(pieces)) == wanted


def test_runs_that_touch_are_what_pyroaring_refuses() -> None:
    data = touching([(0, 3), (3, 3), (9, 1)])
    with pytest.raises(ValueError, match="combined"):
        BitMap64.deserialize(data)
    assert list(bitmap_of(data)) == [0, 1, 2, 3, 4, 5, 9]


@pytest.mark.parametrize("name", GOOD)
def test_sound_bitmaps_as_pyroaring_has_them(name: str) -> None:
    data, rows = GOOD[name]
    assert set(bitmap_of(data)) == set(rows)


@pytest.mark.parametrize("name", BAD)
def test_damaged_bitmaps_are_not_made(name: str) -> None:
    with pytest.raises(CorruptMetadataError):
        bitmap_of(BAD[name][0])
