"""Heads and values of data pages: the kernels beside readable twins, pages of every kind, and damaged bytes."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from random import Random
from types import SimpleNamespace
from typing import Any

import cramjam
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tableformats.engines.arrow.key_sets import IntegerSet
from tableformats.io._thrift import read_struct_at
from tableformats.io._thrift_write import write_struct
from tableformats.io.parquet import data_pages
from tableformats.io.parquet._page_heads import PageHead
from tableformats.io.parquet._page_values import decompress_pages, mark_runs, read_fixed_width, read_integers_without
from tableformats.io.parquet.data_pages import StoredPage, decompress
from tableformats.io.parquet.fixed_width import coded_values, fixed_width_values, integers_without, is_fixed_width
from tableformats.io.parquet.pages import PageColumn
from tests.io.test_page_texts import packed, repeated
from tests.support.examples import examples

TRUE, FALSE, I32, I64, BINARY, STRUCT = 1, 2, 5, 6, 8, 12
DATA, DICTIONARY, DATA_V2 = 0, 2, 3
PLAIN, RLE, RLE_DICTIONARY = 0, 3, 8
INT32, INT64, FLOAT, DOUBLE = 1, 2, 4, 5
NONE, SNAPPY = 0, 1
FORMS = {INT32: "<i", INT64: "<q", FLOAT: "<f", DOUBLE: "<d"}
KINDS = {INT32: pa.int32(), INT64: pa.int64(), FLOAT: pa.float32(), DOUBLE: pa.float64()}
Fields = dict[int, tuple[int, Any]]


def column(physical: int, is_optional: bool = True, codec: int = 0) -> PageColumn:
    element = {1: (I32, physical), 3: (I32, int(is_optional)), 4: (BINARY, b"c")}
    return PageColumn(0, element, {4: (I32, codec)}, 0, 0, None, None, None)


def page_bytes(kind: int, body: bytes, fields: Fields, size: int | None = None) -> bytes:
    key = {DATA: 5, DICTIONARY: 7, DATA_V2: 8}[kind]
    head = {1: (I32, kind), 2: (I32, len(body) if size is None else size), 3: (I32, len(body)), key: (STRUCT, fields)}
    return write_struct(dict(sorted(head.items()))) + body


def numbers(fields: Sequence[int]) -> Fields:
    return {key: (I32, value) for key, value in enumerate(fields, 1)}


def data_page(
    values: bytes, defined: Sequence[int] | None, rows: int, encoding: int, version: int, codec: int = NONE
) -> bytes:
    levels = b"" if defined is None else packed(defined, 1)
    if defined and all(defined):
        levels = repeated(1, rows, 1)
    compress = bytes if codec == NONE else lambda data: bytes(cramjam.snappy.compress_raw(data))
    if version == 2:
        counts = [rows, 0, rows, encoding, len(levels), 0]
        fields = {**numbers(counts), **({7: (FALSE, False)} if codec == NONE else {})}
        return page_bytes(DATA_V2, levels + compress(values), fields, len(levels) + len(values))
    body = values if defined is None else struct.pack("<i", len(levels)) + levels + values
    return page_bytes(DATA, compress(body), numbers([rows, encoding, RLE, RLE]), len(body))


def all_rows(pages: Sequence[StoredPage]) -> Any:
    rows = sum(page.rows for page in pages)
    return np.array([[0, rows]] if rows else np.empty((0, 2)), np.int64)


def some_runs(draw: st.DrawFn, rows: int) -> Any:
    """Runs of rows: all, or those between some edges."""
    edges = draw(st.just([0, rows]) | st.lists(st.integers(0, rows), unique=True, max_size=12))
    edges = sorted(set(edges)) if rows else []
    return np.array(edges[: len(edges) // 2 * 2], np.int64).reshape(-1, 2)


VALUES = st.lists(st.none() | st.integers(-(2**31), 2**31 - 1), max_size=40)


@st.composite
def chunks(draw: st.DrawFn) -> tuple[PageColumn, list[int | None], list[bytes], bytes | None]:
    """A column, its values, its pages, and its dictionary."""
    physical, is_optional = draw(st.sampled_from([INT32, INT64])), draw(st.booleans())
    codec = draw(st.sampled_from([NONE, SNAPPY]))
    form, every, pages = FORMS[physical], [], []
    entries = draw(st.lists(st.integers(-(2**31), 2**31 - 1), min_size=1, max_size=5))
    has_dictionary = draw(st.booleans())
    for _ in range(draw(st.integers(1, 4))):
        version, is_coded = draw(st.integers(1, 2)), has_dictionary and draw(st.booleans())
        values = draw(st.lists(st.none() | st.sampled_from(entries), max_size=20) if is_coded else VALUES)
        if not is_optional:
            values = [value or entries[0] for value in values] if is_coded else [value or 0 for value in values]
        known = [value for value in values if value is not None]
        defined = [int(value is not None) for value in values] if is_optional else None
        stored = b"".join(struct.pack(form, value) for value in known)
        if is_coded:
            stored = bytes([3]) + packed([entries.index(value) for value in known], 3)
        pages.append(data_page(stored, defined, len(values), RLE_DICTIONARY if is_coded else PLAIN, version, codec))
        every += values
    dictionary = b"".join(struct.pack(form, entry) for entry in entries)
    body = dictionary if codec == NONE else bytes(cramjam.snappy.compress_raw(dictionary))
    head = page_bytes(DICTIONARY, body, numbers([len(entries), PLAIN]), len(dictionary))
    return column(physical, is_optional, codec), every, pages, head if has_dictionary else None


@settings(max_examples=examples(500), deadline=None)
@given(chunks(), st.data())
def test_values_of_pages(
    chunk: tuple[PageColumn, list[int | None], list[bytes], bytes | None], data: st.DataObject
) -> None:
    stored_column, every, pages, dictionary = chunk
    physical = stored_column.physical_type
    runs = data.draw(st.composite(some_runs)(len(every)))
    values = [value for start, stop in runs.tolist() for value in every[start:stop]]
    found = fixed_width_values(
        KINDS[physical],
        stored_column,
        [StoredPage(page, 0) for page in pages],
        None if dictionary is None else StoredPage(dictionary, 0),
        runs,
    )
    found.validate(full=True)
    assert found.to_pylist() == values
    assert found.null_count == values.count(None)
    zeros = np.frombuffer(found.buffers()[1], FORMS[physical])[: len(values)]
    assert [number for number, value in zip(zeros.tolist(), values, strict=True) if value is None] == [
        0
    ] * values.count(None)


@settings(max_examples=examples(500), deadline=None)
@given(chunks(), st.lists(st.integers(-(2**31), 2**31 - 1), max_size=3), st.data())
def test_integers_that_are_no_keys(
    chunk: tuple[PageColumn, list[int | None], list[bytes], bytes | None], others: list[int], data: st.DataObject
) -> None:
    """Keys are some of the values and ``others``; which rows are left out is told by plain Python."""
    stored_column, every, pages, dictionary = chunk
    runs = data.draw(st.composite(some_runs)(len(every)))
    values = [value for start, stop in runs.tolist() for value in every[start:stop]]
    known = sorted({value for value in values if value is not None})
    keys = sorted({*others, *(data.draw(st.lists(st.sampled_from(known))) if known else [])})
    kind = KINDS[stored_column.physical_type]
    found, places = integers_without(
        kind,
        stored_column,
        [StoredPage(page, 0) for page in pages],
        None if dictionary is None else StoredPage(dictionary, 0),
        runs,
        IntegerSet(pa.array(keys, kind)).table,
    )
    found.validate(full=True)
    assert found.to_pylist() == [value for value in values if value not in keys]
    assert found.null_count == values.count(None) and found.type == kind
    assert places.tolist() == [place for place, value in enumerate(values) if value in keys]


def test_keys_that_share_a_slot() -> None:
    """A value in the slot of a key is left out only if it is that key; NULL, which is stored as 0, never is."""
    page = StoredPage(data_page(struct.pack("<3q", 5, 6, 7), [1, 0, 1, 1], 4, PLAIN, 1), 0)
    bits = np.array([2**64 - 1, 0], np.uint64)
    for keys, left in (([6, 8], [5, None, 7]), ([0, 5, 7], [None, 6])):
        table = bits, 0, 1, 60, np.array(keys, np.int64)
        found, places = integers_without(pa.int64(), column(INT64), [page], None, all_rows([page]), table)
        assert found.to_pylist() == left
        assert places.tolist() == [i for i, value in enumerate([5, None, 6, 7]) if value in keys]
    keys = np.arange(64)
    found, places = integers_without(pa.int64(), column(INT64), [page], None, all_rows([page]), (bits, 0, 1, 0, keys))
    assert found.to_pylist() == [None] and places.tolist() == [0, 2, 3]


STEPS = ([1], [0, 1, 1, 2], [0, 1, 3, 100], [1, 2**20, 2**40], [1, 2**57], [1, 2**62], [*[1] * 50, -7])


@st.composite
def ascending(draw: st.DrawFn, physical: int) -> list[int]:
    """Integers that ascend by steps of one kind; after the greatest one the least follows."""
    limit = 2 ** (31 if physical == INT32 else 63)
    steps, random = draw(st.sampled_from(STEPS)), Random(draw(st.integers(0, 1000)))
    values = [draw(st.sampled_from([-limit, -70, 0, limit - 90]))]
    for step in random.choices(steps, k=draw(st.sampled_from([63, 64, 199, 399]))):
        values.append((values[-1] + step + limit) % (2 * limit) - limit)
    return values


@settings(max_examples=examples(300), deadline=None)
@given(st.data(), st.sampled_from([INT32, INT64]), st.sampled_from([0.0, 0.01, 0.1, 0.5, 1.0]))
def test_integers_that_ascend(data: st.DataObject, physical: int, share: float) -> None:
    """Values of several pages that ascend are merged with keys, which some of them are; plain Python tells which."""
    values = [data.draw(ascending(physical)) for _ in range(2)]
    random, flat = Random(data.draw(st.integers(0, 1000))), [value for part in values for value in part]
    near = {value + step for value in flat for step in (0, 0, 1) if random.random() < share}
    limit = 2 ** (31 if physical == INT32 else 63)
    keys = sorted(value for value in near if -limit <= value < limit)
    form = "i" if physical == INT32 else "q"
    pages = [
        StoredPage(data_page(struct.pack(f"<{len(part)}{form}", *part), None, len(part), PLAIN, 1), 0)
        for part in values
    ]
    kind = KINDS[physical]
    table = IntegerSet(pa.array(keys, kind)).table
    found, places = integers_without(kind, column(physical, False), pages, None, all_rows(pages), table)
    assert places.tolist() == [place for place, value in enumerate(flat) if value in near]
    assert found.to_pylist() == [value for value in flat if value not in near]


def test_integers_that_ascend_beside_null() -> None:
    """NULL, which is stored as 0, is no key among values that ascend."""
    values = [*range(-40, 0), *range(60)]
    defined = [int(value % 7 != 3) for value in values]
    stored = struct.pack(f"<{sum(defined)}q", *(v for v, is_there in zip(values, defined, strict=True) if is_there))
    page = StoredPage(data_page(stored, defined, len(values), PLAIN, 1), 0)
    keys = [-39, 0, 5, 30]
    table = IntegerSet(pa.array(keys, pa.int64())).table
    found, places = integers_without(pa.int64(), column(INT64), [page], None, all_rows([page]), table)
    every = [value if is_there else None for value, is_there in zip(values, defined, strict=True)]
    assert places.tolist() == [place for place, value in enumerate(every) if value in keys]
    assert found.to_pylist() == [value for value in every if value not in keys]


@settings(max_examples=examples(300), deadline=None)
@given(chunks(), st.data())
def test_damaged_pages_are_values_or_an_error(
    chunk: tuple[PageColumn, list[int | None], list[bytes], bytes | None], data: st.DataObject
) -> None:
    stored_column, _, pages, dictionary = chunk
    number = data.draw(st.integers(0, len(pages) - 1))
    page = bytearray(pages[number])
    for _ in range(data.draw(st.integers(1, 3))):
        page[data.draw(st.integers(0, len(page) - 1))] = data.draw(st.integers(0, 255))
    try:
        found = [StoredPage(bytes(page) if i == number else stored, 0) for i, stored in enumerate(pages)]
        if sum(one.rows for one in found) > 10_000:
            return
        entries = None if dictionary is None else StoredPage(dictionary, 0)
        runs = all_rows(found)
        fixed_width_values(KINDS[stored_column.physical_type], stored_column, found, entries, runs).validate(full=True)
    except ValueError:
        pass


@pytest.mark.parametrize(("physical", "width"), [(FLOAT, 4), (DOUBLE, 8)])
def test_floating_point_numbers_keep_their_bits(physical: int, width: int) -> None:
    stored = bytes(range(1, 1 + 3 * width))
    page = StoredPage(data_page(stored, [1, 0, 1, 1], 4, PLAIN, 1), 0)
    found = fixed_width_values(KINDS[physical], column(physical), [page], None, all_rows([page]))
    assert found.buffers()[1].to_pybytes()[: 4 * width] == stored[:width] + bytes(width) + stored[width:]


@pytest.mark.parametrize(
    ("values", "defined", "encoding", "message"),
    [
        (bytes(7), [1, 1], PLAIN, "the values of a page end after 1 of 2 rows"),
        (bytes(3), [0, 1], PLAIN, "the values of a page end after 1 of 2 rows"),
        (bytes([33]), [1, 1], RLE_DICTIONARY, "the codes of a page have more than 32 bits"),
        (bytes([3]) + repeated(1, 1, 3), [1, 1], RLE_DICTIONARY, "the codes of a page end after 1 of 2 values"),
        (bytes([3]) + packed([1, 2], 3), [1, 1], RLE_DICTIONARY, "row 1 of a page has no code of its dictionary of 2"),
        (bytes([3]) + packed([2], 3), [0, 1], RLE_DICTIONARY, "row 1 of a page has no code of its dictionary of 2"),
    ],
)
def test_pages_that_lack_values(values: bytes, defined: list[int], encoding: int, message: str) -> None:
    page = StoredPage(data_page(values, defined, 2, encoding, 1), 0)
    dictionary = StoredPage(page_bytes(DICTIONARY, bytes(8), numbers([2, PLAIN])), 0)
    with pytest.raises(ValueError, match=message):
        fixed_width_values(pa.int32(), column(INT32), [page], dictionary, all_rows([page]))


def test_levels_that_are_cut() -> None:
    short = StoredPage(page_bytes(DATA, struct.pack("<i", 9) + bytes(4), numbers([1, PLAIN, RLE, RLE])), 0)
    with pytest.raises(ValueError, match="the levels of a page are longer than the page"):
        fixed_width_values(pa.int32(), column(INT32), [short], None, all_rows([short]))
    missing = StoredPage(page_bytes(DATA, bytes(3), numbers([1, PLAIN, RLE, RLE])), 0)
    with pytest.raises(ValueError, match="the levels of a page are longer than the page"):
        fixed_width_values(pa.int32(), column(INT32), [missing], None, all_rows([missing]))
    level = repeated(1, 1, 1)
    few = StoredPage(page_bytes(DATA_V2, level + bytes(8), numbers([2, 0, 2, PLAIN, len(level), 0])), 0)
    with pytest.raises(ValueError, match="the definition levels of a page end after 1 of 2 rows"):
        fixed_width_values(pa.int32(), column(INT32), [few], None, all_rows([few]))


def test_what_kernels_refuse() -> None:
    page = StoredPage(data_page(bytes(8), None, 2, PLAIN, 1), 0)
    levels, out, runs = np.empty(2, np.uint8), np.empty(8, np.uint8), np.array([[0, 2]], np.int64)
    with pytest.raises(ValueError, match="a page was not decompressed"):
        read_fixed_width([page], None, False, 4, b"", runs, out, levels)
    decompress([page], 0)
    assert read_fixed_width([page], None, False, 4, b"", runs, out, levels) == 0
    assert read_fixed_width([page, page], None, False, 4, b"", runs + 1, out, levels) == 0
    with pytest.raises(ValueError, match="width must be 4 or 8"):
        read_fixed_width([page], None, False, 2, b"", runs, out[:4], levels)
    with pytest.raises(ValueError, match="out"):
        read_fixed_width([page], None, False, 4, b"", runs, out[:4], levels)
    with pytest.raises(ValueError, match="levels"):
        read_fixed_width([page], None, False, 4, b"", runs, out[:4], levels[:1])
    for wrong in (runs + 1, runs + 2):
        with pytest.raises(ValueError, match="pages have only 2 rows"):
            read_fixed_width([page], None, False, 4, b"", wrong, out, levels)
    with pytest.raises(ValueError, match="pages have only 0 rows"):
        read_fixed_width([], None, False, 4, b"", runs, out, levels)
    for places, number in (([[1, 1]], 0), ([[-1, 1]], 0), ([[2, 1]], 0), ([[0, 2], [1, 3]], 1)):
        with pytest.raises(ValueError, match=rf"runs\[{number}\] does not ascend"):
            read_fixed_width([page], None, False, 4, b"", np.array(places, np.int64), out, levels)
    with pytest.raises(ValueError, match="runs"):
        read_fixed_width([page], None, False, 4, b"", np.array([[0, 1, 2]], np.int64), out, levels)


ALL_DEFINED = [1] * 40


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(
    ("rows", "runs", "is_there"),
    [
        (ALL_DEFINED, [[0, 80]], True),
        (ALL_DEFINED, [[0, 31], [40, 80]], True),
        (ALL_DEFINED, [[0, 29], [40, 80]], False),
        (ALL_DEFINED, [[1, 2], [3, 39], [41, 80]], True),
        (None, [[0, 80]], True),
        ([0, 0] + [1] * 38, [[0, 80]], False),
    ],
)
def test_most_pages_are_decompressed_to_the_place_of_their_values(
    version: int, rows: list[int] | None, runs: list[list[int]], is_there: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last one is kept, so the first of two; not where more than a quarter is not wanted, or rows are NULL."""
    asked: list[int] = []

    def into(stored: memoryview, out: memoryview) -> int:
        asked.append(np.frombuffer(out, np.uint8).__array_interface__["data"][0])
        return int(cramjam.snappy.decompress_raw_into(stored, out))

    monkeypatch.setattr(data_pages, "_snappy", lambda: SimpleNamespace(decompress_raw_into=into))
    values = list(range(100, 180))
    stored = [struct.pack("<40q", *values[:40]), struct.pack("<40q", *values[40:])]
    first = b"".join(stored[0][8 * i : 8 * i + 8] for i in range(40) if rows is None or rows[i])
    levels = None if rows is None else ALL_DEFINED
    pages = [
        data_page(first, rows, 40, PLAIN, version, SNAPPY),
        data_page(stored[1], levels, 40, PLAIN, version, SNAPPY),
    ]
    places = np.array(runs, np.int64)
    kept = column(INT64, rows is not None, SNAPPY)
    found = fixed_width_values(pa.int64(), kept, [StoredPage(page, 0) for page in pages], None, places)
    wanted = [i for start, stop in runs for i in range(start, stop)]
    assert found.to_pylist() == [None if i < 40 and rows and not rows[i] else values[i] for i in wanted]
    start = found.buffers()[1].address
    assert len(asked) == 2 and (start - 64 <= asked[1] <= start) == is_there


def test_what_the_kernel_of_keys_refuses() -> None:
    page = StoredPage(data_page(bytes(8), None, 2, PLAIN, 1), 0)
    levels, out, runs = np.empty(2, np.uint8), np.empty(8, np.uint8), np.array([[0, 2]], np.int64)
    bits, places = np.zeros(2, np.uint64), np.empty(3, np.int64)
    decompress([page], 0)
    given = [[page], None, False, 4, b"", runs, out, levels, (bits, 0, 1, 0, None), places]
    assert read_integers_without(*given) == (0, False)
    for at, wrong, message in (
        (3, 2, "width must be 4 or 8"),
        (9, places[:2], "places has 2 entries where 3 are needed"),
        (8, (bits[:0], 0, 1, 0, None), "bits does not end with a word of 0"),
        (8, (bits, 0, 1, 64, None), "shift is 64"),
        (8, (bits, 0, 1, 0), "unpack"),
    ):
        with pytest.raises(ValueError, match=message):
            read_integers_without(*given[:at], wrong, *given[at + 1 :])


@pytest.mark.parametrize(
    ("runs", "found"),
    [
        ([], [0, 0, 0, 0, 0]),
        ([[0, 5]], [1, 1, 1, 1, 1]),
        ([[1, 2], [3, 5]], [0, 1, 0, 1, 1]),
        ([[0, 1], [1, 2]], [1, 1, 0, 0, 0]),
    ],
)
def test_rows_of_runs_are_marked(runs: list[list[int]], found: list[int]) -> None:
    places, out = np.array(runs, np.int64).reshape(-1, 2), np.full(5, 7, np.uint8)
    mark_runs(places, out)
    assert out.tolist() == found
    if runs:
        with pytest.raises(ValueError, match="runs go beyond 1 rows"):
            mark_runs(places, out[:1])
    mark_runs(places[:0], out[:0])


def test_decompressed_pages_are_parts_of_one_memory() -> None:
    pages = [StoredPage(page_bytes(DATA, body, numbers([1, PLAIN, RLE, RLE]), 3), 0) for body in (b"ab", b"c")]
    room = memoryview(bytearray(6))

    def into(stored: memoryview, out: memoryview) -> int:
        out[:] = bytes(stored).ljust(3, b".")
        return len(out)

    decompress_pages(pages, into, room)
    assert [bytes(page.cached or b"") for page in pages] == [b"ab.", b"c.."]
    with pytest.raises(ValueError, match="a page has 2 bytes where its head says 3"):
        decompress_pages(pages, lambda stored, out: 2, room)
    with pytest.raises(ValueError, match="room"):
        decompress_pages(pages[:1], lambda stored, out: 3, room)


def test_codes_of_texts() -> None:
    entries = pa.array(["a", "b", "c"])
    page = StoredPage(data_page(bytes([2]) + packed([2, 0, 2], 2), [1, 1, 0, 1], 4, RLE_DICTIONARY, 1), 0)
    found = coded_values(column(6), [page, page], entries, all_rows([page, page]))
    found.validate(full=True)
    assert found.to_pylist() == ["c", "a", None, "c"] * 2
    with pytest.raises(ValueError, match="row 0 of a page has no code of its dictionary of 2 values"):
        coded_values(column(6), [page], entries[:2], all_rows([page]))


@pytest.mark.parametrize(
    ("physical", "kind", "is_same"),
    [
        (INT32, pa.int32(), True),
        (INT32, pa.date32(), True),
        (INT32, pa.int16(), False),
        (INT32, pa.uint32(), False),
        (INT32, pa.float32(), False),
        (INT32, pa.decimal128(9, 2), False),
        (INT64, pa.int64(), True),
        (INT64, pa.timestamp("us"), False),
        (INT64, pa.int32(), False),
        (FLOAT, pa.float32(), True),
        (FLOAT, pa.float64(), False),
        (DOUBLE, pa.float64(), True),
        (0, pa.bool_(), False),
        (3, pa.timestamp("ns"), False),
        (7, pa.binary(4), False),
    ],
)
def test_what_is_stored_as_arrow_has_it(physical: int, kind: pa.DataType, is_same: bool) -> None:
    assert is_fixed_width(kind, column(physical)) is is_same


@pytest.mark.parametrize(
    ("fields", "unit"),
    [
        ({6: (I32, 9)}, "ms"),
        ({6: (I32, 10)}, "us"),
        ({6: (I32, 18)}, None),
        ({10: (STRUCT, {8: (STRUCT, {2: (STRUCT, {1: (STRUCT, {})})})})}, "ms"),
        ({10: (STRUCT, {8: (STRUCT, {2: (STRUCT, {2: (STRUCT, {})})})})}, "us"),
        ({10: (STRUCT, {8: (STRUCT, {2: (STRUCT, {3: (STRUCT, {})})})})}, "ns"),
        ({6: (I32, 10), 10: (STRUCT, {8: (STRUCT, {2: (STRUCT, {3: (STRUCT, {})})})})}, "ns"),
        ({6: (I32, 10), 10: (STRUCT, {8: (STRUCT, {})})}, None),
        ({6: (I32, 10), 10: (STRUCT, {7: (STRUCT, {})})}, None),
        ({6: (I32, 10), 10: (STRUCT, {8: (I32, 2)})}, None),
        ({6: (I32, 10), 10: (STRUCT, {8: (STRUCT, {2: (BINARY, b"")})})}, None),
        ({6: (I32, 10), 10: (I32, 8)}, "us"),
        ({6: (BINARY, b"")}, None),
    ],
)
def test_the_unit_of_timestamps(fields: Fields, unit: str | None) -> None:
    """Arrow may give them another one than the file has."""
    stored = column(INT64)
    stored.element.update(fields)
    assert [one for one in ("s", "ms", "us", "ns") if is_fixed_width(pa.timestamp(one, "UTC"), stored)] == (
        [] if unit is None else [unit]
    )
    assert not is_fixed_width(pa.timestamp(unit or "us"), column(3))


def twin(stored: bytes, end: int) -> dict[str, Any] | None:
    """What a head says, by the reader of any struct; None: it is damaged."""
    try:
        head, body_start = read_struct_at(stored, 0)
        kind, size, stored_size = (_natural(head, key) for key in (1, 2, 3))
        of_kind = head[{DATA: 5, DICTIONARY: 7, DATA_V2: 8}[kind]][1]
        is_second = kind == DATA_V2
        found = {
            "kind": kind,
            "size": size,
            "body_start": body_start,
            "stop": body_start + stored_size,
            "rows": _natural(of_kind, 1),
            "encoding": _natural(of_kind, 4 if is_second else 2),
            "level_encoding": _natural(of_kind, 3) if kind == DATA else RLE,
            "repetition_bytes": _natural(of_kind, 6) if is_second else 0,
            "is_stored_plain": is_second and of_kind.get(7, (TRUE, True))[0] == FALSE,
        }
        found["level_bytes"] = _natural(of_kind, 5) + found["repetition_bytes"] if is_second else 0
        number, statistics = of_kind.get(8 if is_second else 5, (0, {}))
        statistics = statistics if number == STRUCT and kind != DICTIONARY else {}
        for name, key, expected in (("nulls", 3, I64), ("upper", 5, BINARY), ("lower", 6, BINARY)):
            number, value = statistics.get(key, (expected, None))
            found[name] = value if number == expected else None
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    is_inside = found["stop"] <= end and found["level_bytes"] <= min(stored_size, size)
    return found if is_inside and (found["nulls"] or 0) >= 0 else None


def _natural(fields: Fields, key: int) -> int:
    kind, value = fields[key]
    if kind not in (4, I32, I64) or value < 0:
        raise ValueError
    return int(value)


NUMBER = st.tuples(st.sampled_from([I32, I64]), st.integers(-1, 70))
STATISTICS = st.fixed_dictionaries(
    {},
    optional={
        3: NUMBER,
        5: st.tuples(st.just(BINARY), st.binary(max_size=3)),
        6: st.tuples(st.just(BINARY), st.binary()),
    },
)
OF_KIND = st.fixed_dictionaries(
    {1: NUMBER, 2: NUMBER, 3: NUMBER, 4: NUMBER},
    optional={
        5: NUMBER | STATISTICS.map(lambda s: (STRUCT, s)),
        6: NUMBER,
        7: st.sampled_from([(TRUE, True), (FALSE, False)]),
    }
    | {8: STATISTICS.map(lambda s: (STRUCT, s))},
)
HEADS = st.fixed_dictionaries(
    {1: st.tuples(st.just(I32), st.integers(0, 4)), 2: NUMBER, 3: NUMBER},
    optional={4: NUMBER, **{key: OF_KIND.map(lambda s: (STRUCT, s)) for key in (5, 7, 8)}},
)


@settings(max_examples=examples(500), deadline=None)
@given(HEADS, st.data())
def test_heads(head: Fields, data: st.DataObject) -> None:
    stored = bytearray(write_struct(head))
    for _ in range(data.draw(st.integers(0, 2))):
        stored[data.draw(st.integers(0, len(stored) - 1))] = data.draw(st.integers(0, 255))
    end = data.draw(st.integers(0, len(stored) + 70))
    expected = twin(bytes(stored), end)
    try:
        found = PageHead(bytes(stored), 0, end)
    except ValueError:
        assert expected is None
        return
    assert expected == {name: getattr(found, name) for name in expected or {}}
    assert (found.block, found.start, found.cached) == (bytes(stored), 0, None)


def test_where_a_page_is() -> None:
    page = page_bytes(DATA, b"body", numbers([1, PLAIN, RLE, RLE]))
    found = PageHead(b"?" + page + b"rest", 1)
    assert (found.start, found.stop, found.block[found.body_start : found.stop]) == (1, 1 + len(page), b"body")
    for at, end in ((1, -1), (-1, -1), (0, len(page) - 1)):
        with pytest.raises(ValueError, match=r"a page ends after its column chunk|no such offset|cut short"):
            PageHead(page[:-1] if end == -1 else page, at if at < 1 else len(page) - 1, end)
    assert StoredPage(page, 0).stored == page
    assert StoredPage(page, 0).body == b"body"
