"""Row groups that move from file to file are read as before, and footers that are not known are refused."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tableformats.io._thrift import read_struct
from tableformats.io._thrift_write import write_struct
from tableformats.io.parquet.footers import has_sound_chunks
from tableformats.io.parquet.groups import GroupFile, ParquetFooter

GOLDEN = Path(__file__).parents[1] / "golden"
TABLE = pa.table(
    {
        "n": pa.array(range(100), pa.int64()),
        "s": [None if n % 7 == 0 else f"text {n % 5}" for n in range(100)],
        "l": [list(range(n % 4)) or None for n in range(100)],
        "x": pa.array([{"a": n / 2, "b": n % 3 == 0} if n % 5 else None for n in range(100)]),
    }
)


def written(**options: Any) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(TABLE, sink, row_group_size=10, store_schema=False, **options)
    return sink.getvalue().to_pybytes()


def moved(data: bytes, numbers: list[int], pairs: dict[bytes, bytes]) -> bytes:
    footer, file = ParquetFooter.of_file(data), GroupFile()
    for group in (footer.groups[number] for number in numbers):
        file.add(group, memoryview(data)[group.start : group.start + group.size])
    return bytes(file.finish(footer.frame, pairs))


@pytest.mark.parametrize(
    "options",
    [{}, {"compression": "zstd", "use_dictionary": False}, {"data_page_version": "2.0", "data_page_size": 64}],
)
def test_row_groups_move(options: dict[str, Any]) -> None:
    data = written(**options)
    found = moved(data, [3, 0, 9, 9], {b"k": b"v", b"": b"\xff"})
    expected = pa.concat_tables([TABLE.slice(10 * number, 10) for number in (3, 0, 9, 9)])
    assert pq.read_table(pa.BufferReader(found)).to_pylist() == expected.to_pylist()
    old, new = (pq.read_metadata(pa.BufferReader(file)) for file in (data, found))
    assert new.num_rows == 40 and new.created_by == old.created_by and new.metadata == {b"k": b"v", b"": b"\xff"}
    for place, number in enumerate([3, 0, 9, 9]):
        for column in range(old.num_columns):
            a, b = old.row_group(number).column(column), new.row_group(place).column(column)
            assert a.statistics == b.statistics and a.total_compressed_size == b.total_compressed_size
    again = ParquetFooter.of_file(found)
    assert again.pairs == new.metadata and has_sound_chunks(found[-again_size(found) :])
    # Moved back, they are what they were.
    assert moved(data, list(range(10)), {}) == data


def again_size(file: bytes) -> int:
    return 8 + int.from_bytes(file[-8:-4], "little")


def test_checksum() -> None:
    """It is of all but the key-value metadata, and does not depend on who encoded the footer."""
    data = written()
    checksums = [ParquetFooter.of_file(moved(data, numbers, {})).checksum() for numbers in ([1, 2], [2, 1], [1])]
    assert len({*checksums, ParquetFooter.of_file(data).checksum()}) == 4
    assert ParquetFooter.of_file(moved(data, [1, 2], {b"k": b"v"})).checksum() == checksums[0]


@pytest.mark.parametrize(
    "options", [{"write_page_index": True}, {"use_content_defined_chunking": False, "bloom": True}]
)
def test_offsets_that_are_not_known(options: dict[str, Any]) -> None:
    if options.pop("bloom", False):
        options = {"bloom_filter_options": {"n": True}}
    try:
        data = written(**options)
    except TypeError:
        pytest.skip("this release of Arrow does not write them")
    with pytest.raises(ValueError, match="not known here"):
        ParquetFooter.of_file(data)


def test_damage() -> None:
    """Bytes of a footer changed: refused, or the row groups lie in the file and do not overlap."""
    data, chance = written(), random.Random(3)
    start, outcomes = len(data) - again_size(data), {"refused": 0, "read": 0}
    for place in range(start, len(data), 4):
        damaged = bytearray(data)
        damaged[place] ^= 1 << chance.randrange(8)
        try:
            groups = ParquetFooter.of_file(bytes(damaged)).groups
        except ValueError:
            outcomes["refused"] += 1
            continue
        outcomes["read"] += 1
        ends = [4, *(group.start + group.size for group in groups)]
        assert all(end <= group.start for end, group in zip(ends, groups, strict=False)) and ends[-1] <= len(data)
        assert all(group.size > 0 and group.rows > 0 for group in groups)
    assert min(outcomes.values()) > 50, outcomes


@pytest.mark.parametrize("size", [0, 4, 8, 11, 100])
def test_a_file_that_is_cut_off(size: int) -> None:
    data = written()
    for part in (data[:size], data[len(data) - size :]):
        with pytest.raises(ValueError):
            ParquetFooter.of_file(part)


# ---- Thrift --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", sorted(GOLDEN.rglob("*.parquet"))[::5], ids=lambda path: path.name[-40:])
def test_footers_are_written_as_they_were(path: Path) -> None:
    data = path.read_bytes()
    footer = data[-again_size(data) : -8]
    assert write_struct(read_struct(footer)) == footer


def test_all_types() -> None:
    chance = random.Random(4)
    for _ in range(300):
        fields = struct(chance, 0)
        assert read_struct(write_struct(fields)) == fields


def struct(chance: random.Random, depth: int) -> dict[int, tuple[int, Any]]:
    keys = sorted(chance.sample([*range(-3, 60), 32767], chance.randrange(6)), key=lambda key: (not 0 <= key < 64, key))
    found = {}
    for key in keys:
        kind = chance.choice([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12])
        found[key] = (kind, kind == 1) if kind < 3 else (kind, value(chance, kind, depth))
    return found


def value(chance: random.Random, kind: int, depth: int) -> Any:
    if kind in (4, 5, 6):
        return chance.choice([0, 1, -1, 63, 64, -64, -65, 2**63 - 1, -(2**63), chance.randrange(-(2**40), 2**40)])
    if kind in (7, 8):
        return chance.randbytes(8 if kind == 7 else chance.choice([0, 1, 127, 128, 300]))
    if kind in (9, 10):
        of = chance.choice([1, 3, 6, 8, *([12] if depth < 3 else [])])
        return of, [value(chance, of, depth + 1) for _ in range(chance.choice([0, 1, 14, 15, 16]) if depth < 2 else 1)]
    return struct(chance, depth + 1) if kind == 12 else chance.randrange(256)


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({1: (11, {})}, ValueError),
        ({1: (8, "text")}, TypeError),
        ({1: (6, 2**63)}, OverflowError),
        ({1: (9, (11, [1]))}, ValueError),
        ({1: 5}, TypeError),
    ],
)
def test_what_is_no_struct(fields: dict[int, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        write_struct(fields)
    deep: dict[int, Any] = {}
    for _ in range(40):
        deep = {1: (12, deep)}
    with pytest.raises(ValueError, match="deeply"):
        write_struct(deep)


@pytest.mark.parametrize(("length", "taken"), [(0, 8), (5, 13), (20, 28), (21, 28), (0x01000000, 28), (0xFFFFFFFF, 28)])
def test_the_footer_of_a_whole_file(monkeypatch: pytest.MonkeyPatch, length: int, taken: int) -> None:
    """The end of the file, as long as its last bytes say; but no more than there is."""
    data = bytes(range(20)) + length.to_bytes(4, "little") + b"PAR1"
    monkeypatch.setattr(ParquetFooter, "of", lambda *given: given)
    assert ParquetFooter.of_file(data) == (data[-taken:], 28) == ParquetFooter.of_file(memoryview(data))


def test_the_length_of_a_footer_has_four_bytes() -> None:
    data = bytearray(written())
    assert ParquetFooter.of_file(data).groups == ParquetFooter.of(bytes(data), len(data)).groups
    data[-5] = 1  # sixteen megabytes more than it is
    with pytest.raises(ValueError, match="does not end with a footer"):
        ParquetFooter.of_file(data)
    with pytest.raises(ValueError, match="does not end with a footer"):
        ParquetFooter.of(bytes(data), len(data))
