"""Footers of checkpoints that pyarrow may be asked about: sound ones all, and no damaged one that ends the process."""

from __future__ import annotations

import base64
import datetime as dt
import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tableformats.errors import CorruptMetadataError, LimitExceededError
from tableformats.io._thrift import codecs_of, path_cost, read_struct
from tableformats.io.parquet import chunks
from tableformats.io.parquet.chunks import _is_tame, check_footer, check_pages
from tableformats.io.parquet.footers import _Struct, arrow_schemas_of, has_sound_chunks
from tableformats.limits import Limits
from tests.support.examples import some_of

GOLDEN = Path(__file__).parents[1] / "golden"
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
KIND = pa.struct(
    [
        ("path", pa.string()),
        ("b", pa.bool_()),
        ("i", pa.int32()),
        ("l", pa.int64()),
        ("f", pa.float32()),
        ("d", pa.float64()),
        ("x", pa.binary(3)),
        ("day", pa.date32()),
        ("list", pa.list_(pa.int16())),
        ("n", pa.decimal128(9, 2)),
        ("t", pa.timestamp("us", "UTC")),
        pa.field("r", pa.int64(), False),
    ]
)
ROW = {
    "path": "a",
    "b": True,
    "i": 1,
    "l": 2,
    "f": 1.5,
    "d": 2.5,
    "x": b"abc",
    "day": EPOCH.date(),
    "list": [1, 2],
    "n": Decimal("1.20"),
    "t": EPOCH,
    "r": 7,
}


def footer_of(stored: bytes) -> bytes:
    """What the length before the last four bytes counts, and what follows."""
    return stored[-8 - int.from_bytes(stored[-8:-4], "little") :]


def written(**options: Any) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"add": pa.array([ROW, None, ROW], KIND)}), sink, row_group_size=2, **options)
    return sink.getvalue().to_pybytes()


@pytest.mark.parametrize("path", sorted(GOLDEN.rglob("*.parquet")), ids=lambda path: path.name[-40:])
def test_files_of_real_writers(path: Path) -> None:
    assert has_sound_chunks(footer_of(path.read_bytes()))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"version": "1.0"},
        {"write_statistics": False},
        {"data_page_version": "2.0"},
        {"write_page_index": True},
        {"use_deprecated_int96_timestamps": True},
        {"use_dictionary": False},
    ],
)
def test_files_of_arrow(options: dict[str, Any]) -> None:
    assert has_sound_chunks(footer_of(written(**options)))


@pytest.mark.parametrize("seed", range(2))
def test_no_damage_ends_the_process(seed: int) -> None:
    """Every byte of a footer changed: where it is sound, all of it may be looked at."""
    stored, chance = written(store_schema=False), random.Random(seed)
    start = len(stored) - len(footer_of(stored))
    outcomes = dict.fromkeys(("refused", "unsound", "sound"), 0)
    for i in range(start, len(stored) - 8):
        damaged = bytearray(stored)
        damaged[i] = chance.choice([damaged[i] ^ 1 << chance.randrange(8), chance.randrange(256), 1, 8, 24])
        outcomes[_looked_at(bytes(damaged), start)] += 1
    assert min(outcomes.values()) > 100, outcomes


def _looked_at(stored: bytes, start: int) -> str:
    try:
        footer = pq.read_metadata(pa.BufferReader(stored))
    except (pa.ArrowException, OSError, ValueError):
        return "refused"
    if not has_sound_chunks(stored[start:]):
        return "unsound"
    for number in range(footer.num_row_groups):
        for place in range(footer.num_columns):
            try:
                assert footer.row_group(number).column(place).compression
                found = footer.row_group(number).column(place).statistics
                if found is not None and found.has_min_max:
                    found.min, found.max  # noqa: B018
            except (pa.ArrowException, OSError, ValueError, OverflowError):
                continue
    return "sound"


def test_damage_is_what_a_plain_look_finds() -> None:
    footer, chance = footer_of(written(store_schema=False)), random.Random(5)
    seen = {True: 0, False: 0}
    for place in range(len(footer) - 8):
        for _ in range(3):
            damaged = bytearray(footer)
            damaged[place] = chance.choice([damaged[place] ^ 1 << chance.randrange(8), chance.randrange(256), 5, 12])
            sound = has_sound_chunks(bytes(damaged))
            assert sound == _is_sound_at_a_plain_look(bytes(damaged)), (place, damaged[place])
            seen[sound] += 1
    assert min(seen.values()) > 300, seen


def _is_sound_at_a_plain_look(footer: bytes) -> bool:
    """The rules once more, over all values of a footer."""
    try:
        whole = read_struct(footer)
        if whole.keys() & {8, 9}:
            return False
        leaves = _leaves(_Struct(whole).list(2, 12))
        kind, groups = _Struct(whole).one(4, 9)
        return kind == 12 and all(
            _listed(group, 1, 12) and len(group[1][1][1]) == len(leaves) and all(map(_chunk, group[1][1][1], leaves))
            for group in groups
        )
    except (ValueError, IndexError):
        return False


_I32 = 5  # of the compact protocol
_REQUIRED, _OPTIONAL, _REPEATED = range(3)
_FIXED = 7
_WIDTHS = {0: 1, 1: 4, 2: 8, 3: 12, 4: 4, 5: 8}
"""The width in bytes of each physical type that has one."""


def _leaves(schema: list[_Struct]) -> list[tuple[int, int, int, int]]:
    """The leaf columns of a schema, given as its elements in depth-first order.

    Returns
    -------
    list of (physical type, width in bytes or -1 for any, highest repetition level, highest definition level)

    Source: parquet.thrift, SchemaElement.
    """
    found = []
    above = [(schema[0].one(5, _I32), 0, 0)]
    for element in schema[1:]:
        while not above[-1][0]:
            above.pop()
        left, repetition, definition = above.pop()
        above.append((left - 1, repetition, definition))
        repeats, children = element.one(3, _I32), element.one(5, _I32, 0)
        element.one(1, _I32, 0), element.one(2, _I32, 0)
        if repeats not in (_REQUIRED, _OPTIONAL, _REPEATED) or children < 0:
            raise ValueError("an element of the schema is invalid")
        repetition, definition = repetition + (repeats == _REPEATED), definition + (repeats != _REQUIRED)
        if children:
            above.append((children, repetition, definition))
        else:
            kind = element.one(1, _I32)
            width = element.one(2, _I32) if kind == _FIXED else _WIDTHS.get(kind, -1)
            if kind == _FIXED and width < 0:
                raise ValueError("the width of a type is negative")
            found.append((kind, width, repetition, definition))
    return found


def _listed(fields: dict[int, tuple[int, Any]], key: int, kind: int) -> bool:
    return key in fields and fields[key][0] == 9 and fields[key][1][0] == kind


def _chunk(chunk: dict[int, tuple[int, Any]], leaf: tuple[int, int, int, int]) -> bool:
    kind, width, repetition, definition = leaf
    if 8 in chunk or chunk.get(3, (0, None))[0] != 12:
        return False
    column = chunk[3][1]
    codec, number = column.get(4, (5, 0))
    if codec != 5 or not 0 <= number <= 7:
        return False
    if 17 in column or column.get(1) != (5, kind) or any(column.get(key, (12, {}))[0] != 12 for key in (12, 16)):
        return False
    bounds, sizes = column.get(12, (12, {}))[1], column.get(16, (12, {}))[1]
    if width >= 0 and any(bounds[key][0] != 8 or len(bounds[key][1]) != width for key in {1, 2, 5, 6} & bounds.keys()):
        return False
    if 1 in sizes and kind != 6:
        return False
    return all(
        _listed(sizes, key, 6) and len(sizes[key][1][1]) in (0, highest + 1)
        for key, highest in ((2, repetition), (3, definition))
        if key in sizes
    )


@pytest.mark.parametrize("size", [0, 1, 20, 200])
def test_cut_short(size: int) -> None:
    assert not has_sound_chunks(footer_of(written())[:size])


@pytest.mark.parametrize(
    "footer",
    [
        b"\x00",
        b"\x19\xfc\xff\xff\xff\xff\x0f",
        b"\x1c" * 5000,
        b"\x18" + b"\xff" * 9 + b"\x7f",
        b"\x15" + b"\xff" * 20,
        b"\x2b\xff\xff\xff\xff\x0f",
        b"\x19" * 3_000_000,
    ],
    ids=["nothing", "long list", "deep", "long text", "long number", "map", "deep lists"],
)
def test_what_is_none(footer: bytes) -> None:
    assert not has_sound_chunks(footer)


class PlainReader:
    """Thrift's compact protocol once more, as the specification says it, without a look at limits."""

    def __init__(self, octets: bytes) -> None:
        self.rest = iter(octets)

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = next(self.rest)
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def number(self) -> int:
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def octets(self, size: int) -> bytes:
        return bytes(next(self.rest) for _ in range(size))

    def value(self, kind: int) -> Any:
        if kind in (1, 2, 3):
            return next(self.rest)
        if kind in (4, 5, 6):
            return self.number()
        if kind in (7, 8):
            return self.octets(8 if kind == 7 else self.varint())
        if kind in (9, 10):
            head = next(self.rest)
            size = head >> 4 if head >> 4 != 15 else self.varint()
            return head & 15, [self.value(head & 15) for _ in range(size)]
        assert kind == 12
        return self.struct()

    def struct(self) -> dict[int, tuple[int, Any]]:
        found: dict[int, tuple[int, Any]] = {}
        key = 0
        while head := next(self.rest):
            key = key + (head >> 4) if head >> 4 else self.number()
            kind = head & 15
            assert key not in found
            found[key] = kind, (kind == 1 if kind in (1, 2) else self.value(kind))
        return found


def test_structs_are_those_of_a_plain_reader() -> None:
    """Wherever a footer is damaged, what the compiled reader takes is what the bytes say; one place in three for each
    change, and each at night."""
    footer, chance = footer_of(written()), random.Random(3)
    assert read_struct(footer) == PlainReader(footer).struct()
    taken = 0
    places = some_of(3, range(len(footer) - 8))
    for place in places:
        damaged = bytearray(footer)
        damaged[place] = chance.choice([damaged[place] ^ 1 << chance.randrange(8), chance.randrange(256)])
        try:
            found = read_struct(bytes(damaged))
        except ValueError:
            continue
        assert found == PlainReader(bytes(damaged)).struct()
        taken += 1
    assert 30 < taken < len(places) - 30


@pytest.mark.parametrize(
    "octets",
    [b"\x16" + b"\xff" * 9 + b"\x02\0", b"\x06\x80\x80\x04\x02\0", b"\x16\x02\x06\x02\x02\0", b"\x1b\0\0", b"\x10\0"],
    ids=["65 bits", "field 32768", "a field twice", "map", "no type"],
)
def test_structs_that_are_none(octets: bytes) -> None:
    with pytest.raises(ValueError, match=r"field|number|type"):
        read_struct(octets)


def test_one_field_of_a_struct() -> None:
    """The others are looked at all the same."""
    footer = footer_of(written())
    whole = read_struct(footer)
    assert read_struct(footer, only=2) == {
        key: (kind, value if key == 2 else None) for key, (kind, value) in whole.items()
    }
    for octets in (b"\x19" * 3_000_000, b"\x1c" * 5000, b"\x18\x7f", b"\x1b\0\0", b"\x16\x02\x06\x02\x02\0"):
        with pytest.raises(ValueError, match=r"nested|cut|type|twice"):
            read_struct(octets, only=2)


def test_the_greatest_numbers() -> None:
    assert read_struct(b"\x16" + b"\xff" * 9 + b"\x01\0") == {1: (6, -(2**63))}
    assert read_struct(b"\x16\xfe" + b"\xff" * 8 + b"\x01\0") == {1: (6, 2**63 - 1)}
    assert read_struct(b"\x06\xfe\xff\x03\x02\0") == {32767: (6, 1)}


@pytest.mark.parametrize("codec", ["none", "snappy", "gzip", "zstd", "brotli", "lz4"])
def test_codecs(codec: str) -> None:
    numbers = {"none": 0, "snappy": 1, "gzip": 2, "brotli": 4, "zstd": 6, "lz4": 7}
    assert codecs_of(footer_of(written(compression=codec))) == 1 << numbers[codec]


def test_heads_of_pages_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the heads say is what the pages become."""
    table = pa.table({"s": ["x" * 5000, "y" * 7000] * 20})
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd", use_dictionary=False)
    source = pa.BufferReader(sink.getvalue())
    metadata = pq.read_metadata(source)
    claimed = metadata.row_group(0).column(0).total_uncompressed_size
    assert 20 * 12_000 < claimed < 21 * 12_000
    check_pages(source, metadata, "p", Limits())
    big = pa.table({"s": [" " * (60 << 20)]})
    sink = pa.BufferOutputStream()
    pq.write_table(big, sink, compression="zstd", use_dictionary=False)
    source = pa.BufferReader(sink.getvalue())
    with pytest.raises(LimitExceededError, match="expansion") as caught:
        check_pages(source, pq.read_metadata(source), "p", Limits())
    assert caught.value.path == "p"
    check_pages(source, pq.read_metadata(source), "p", Limits(expansion=300))
    monkeypatch.setattr(chunks, "_MOST_CHECKED", source.size())
    with pytest.raises(LimitExceededError, match="expansion"):
        check_pages(source, pq.read_metadata(source), "p", Limits())
    monkeypatch.setattr(chunks, "_MOST_CHECKED", source.size() - 1)
    check_pages(source, pq.read_metadata(source), "p", Limits())


class Source:
    """Stored bytes as :func:`check_footer` reads them."""

    def __init__(self, stored: bytes) -> None:
        self.stored = stored

    def size(self) -> int:
        return len(self.stored)

    def read_at(self, size: int, offset: int) -> bytes:
        return self.stored[offset : offset + size]


def stored_names(length: int) -> bytes:
    sink = pa.BufferOutputStream()
    struct = {f"m{i}": 1 for i in range(50)}
    pq.write_table(pa.table({"n" * length: [struct]}), sink, store_schema=False, write_statistics=False)
    return sink.getvalue().to_pybytes()


def test_long_names_of_groups_are_counted_for_each_column() -> None:
    small = stored_names(3)
    # Two levels (the root and the struct) and four copies.
    assert path_cost(footer_of(small)) == sum(6 * len(f"nnn.m{i}") for i in range(50))
    check_footer(Source(small), "f", Limits(expansion=1))
    large = stored_names(4000)
    with pytest.raises(LimitExceededError, match="names of a Parquet file") as error:
        check_footer(Source(large), "f", Limits(expansion=1))
    assert error.value.limit == "expansion"
    check_footer(Source(large), "f", Limits(expansion=2))
    footer = footer_of(large)  # Arrow reads a file that is a footer alone
    with pytest.raises(LimitExceededError, match="names of a Parquet file"):
        check_footer(Source(footer + len(footer).to_bytes(4, "little") + b"PAR1"), "f", Limits(expansion=1))


def test_what_takes_just_the_budget_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    stored = stored_names(40)
    cost = path_cost(footer_of(stored))
    monkeypatch.setattr(Limits, "budget", lambda self, size: cost - 1 + self.expansion)
    check_footer(Source(stored), "f", Limits(expansion=1))
    monkeypatch.setattr(Limits, "budget", lambda self, size: cost - self.expansion)
    with pytest.raises(LimitExceededError, match=f"{cost} bytes of names"):
        check_footer(Source(stored), "f", Limits(expansion=1))


def test_only_footers_of_parquet_are_looked_at() -> None:
    for stored in (b"", b"PAR1", b"\0" * 20, b"PAR1\xff\xff\xff\x7fPAR1", b"PARE\0\0\0\0PARE"):
        check_footer(Source(stored), "f", Limits())
    with pytest.raises(CorruptMetadataError, match="footer"):
        check_footer(Source(b"PAR1\x19\x02\0\0\0PAR1"), "f", Limits())


def test_arrow_schemas_of_footers() -> None:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"ARROW:schema": [1]}), sink, store_schema=False)
    assert arrow_schemas_of(footer_of(sink.getvalue().to_pybytes())) == []  # a column of this name
    sink = pa.BufferOutputStream()
    table = pa.table({"c": [1]})
    pq.write_table(table.replace_schema_metadata({"a": "b"}), sink)
    (stored,) = arrow_schemas_of(footer_of(sink.getvalue().to_pybytes()))
    assert pa.ipc.read_schema(pa.py_buffer(base64.b64decode(stored))) == table.schema


@pytest.mark.parametrize(("codec", "is_tame"), [("none", True), ("snappy", True), ("gzip", False), ("zstd", False)])
def test_codecs_that_inflate_little(codec: str, is_tame: bool) -> None:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"a": [1], "b": [2]}), sink, compression=codec)
    assert _is_tame(footer_of(sink.getvalue().to_pybytes())) is is_tame
    assert not _is_tame(b"\xff")
