"""What a footer may say of row groups that are moved: anything else is refused. See parquet.thrift."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tableformats.errors import LimitExceededError
from tableformats.io._thrift import read_struct
from tableformats.io._thrift_write import write_struct
from tableformats.io.parquet.chunks import RowGroups, check_footer
from tableformats.io.parquet.footers import _Struct
from tableformats.io.parquet.groups import GroupFile, ParquetFooter, StoredGroup
from tableformats.limits import DEFAULT_LIMITS

I16, I32, I64, BINARY, LIST, STRUCT = 4, 5, 6, 8, 9, 12


def data_of(rows: int = 20, group: int = 10) -> bytes:
    sink = pa.BufferOutputStream()
    table = pa.table({"n": pa.array(range(rows), pa.int64()), "s": [f"t{i % 3}" for i in range(rows)]})
    pq.write_table(table, sink, row_group_size=group, store_schema=False)
    return sink.getvalue().to_pybytes()


def fields_of(data: bytes) -> dict[int, Any]:
    length = int.from_bytes(data[-8:-4], "little")
    return read_struct(data[-8 - length : -8])


def stored(fields: dict[int, Any]) -> bytes:
    footer = write_struct(dict(sorted(fields.items())))
    return footer + len(footer).to_bytes(4, "little") + b"PAR1"


DATA = data_of()
FIELDS = fields_of(DATA)
GROUP = FIELDS[4][1][1][0]


def group_with(change: Callable[[dict[int, Any]], None]) -> dict[int, Any]:
    fields = copy.deepcopy(GROUP)
    change(fields)
    return fields


def chunk(fields: dict[int, Any], number: int) -> dict[int, Any]:
    return fields[1][1][1][number]  # type: ignore[no-any-return]


def data_fields(fields: dict[int, Any], number: int) -> dict[int, Any]:
    return chunk(fields, number)[3][1]  # type: ignore[no-any-return]


def put(fields: dict[int, Any], key: int, kind: int, value: Any) -> None:
    fields[key] = kind, value


def moved(fields: dict[int, Any], number: int, by: int) -> None:
    for key in (9, 11):
        if key in data_fields(fields, number):
            put(data_fields(fields, number), key, I64, data_fields(fields, number)[key][1] + by)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda f: put(f, 9, I64, 1), "not known here"),
        (lambda f: put(f, 3, I32, 1), "not known here"),
        (lambda f: f.pop(1), "a field is missing"),
        (lambda f: f.pop(3), "a field is missing"),
        (lambda f: put(f, 3, I64, 0), "is empty"),
        (lambda f: put(f, 3, I64, -1), "is empty"),
        (lambda f: put(f, 1, LIST, (STRUCT, [])), "is empty"),
        (lambda f: put(f, 1, LIST, (I32, [1])), "a list is of another type"),
        (lambda f: put(chunk(f, 0), 4, I64, 1), "not known here"),
        (lambda f: chunk(f, 0).pop(2), "a field is missing"),
        (lambda f: chunk(f, 0).pop(3), "a field is missing"),
        (lambda f: data_fields(f, 0).pop(7), "a field is missing"),
        (lambda f: data_fields(f, 0).pop(9), "a field is missing"),
        (lambda f: put(data_fields(f, 0), 14, I64, 1), "not known here"),
        (lambda f: moved(f, 1, 1), "do not follow each other"),
        (lambda f: moved(f, 1, -1), "do not follow each other"),
        (lambda f: moved(f, 0, -1), "do not follow each other"),
        (lambda f: put(data_fields(f, 1), 7, I64, 0), "do not follow each other"),
        (lambda f: put(data_fields(f, 1), 7, I64, -5), "do not follow each other"),
        (lambda f: put(data_fields(f, 1), 9, I64, data_fields(f, 1)[11][1] + data_fields(f, 1)[7][1]), "do not follow"),
    ],
)
def test_row_groups_that_are_not_moved(change: Callable[[dict[int, Any]], None], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        StoredGroup.of(group_with(change))


def test_a_row_group_as_it_is_and_elsewhere() -> None:
    group = StoredGroup.of(copy.deepcopy(GROUP))
    first, second = (data_fields(GROUP, number) for number in range(2))
    assert (group.start, group.rows) == (4, 10) and group.size == first[7][1] + second[7][1]
    found = group.fields_at(104)
    for number in range(2):
        before, after = data_fields(GROUP, number), data_fields(found, number)
        assert {key: after[key][1] - before[key][1] for key in (9, 11) if key in before} == dict.fromkeys(
            (key for key in (9, 11) if key in before), 100
        )
        assert {key: value for key, value in after.items() if key not in (9, 11)} == {
            key: value for key, value in before.items() if key not in (9, 11)
        }
        at = chunk(GROUP, number)[2][1]
        assert chunk(found, number)[2] == (I64, at and at + 100)
    assert 7 not in found and found[3] == GROUP[3]
    assert (5 in found) is (5 in GROUP) and (5 not in GROUP or found[5][1] == GROUP[5][1] + 100)
    without, named = copy.deepcopy(GROUP), copy.deepcopy(GROUP)
    without.pop(5, None)
    put(chunk(without, 0), 2, I64, 0)
    placed = StoredGroup.of(without).fields_at(104)
    assert 5 not in placed and chunk(placed, 0)[2] == (I64, 0)
    put(named, 5, I64, 4)
    put(chunk(named, 0), 2, I64, 4)
    placed = StoredGroup.of(named).fields_at(104)
    assert placed[5] == (I64, 104) and chunk(placed, 0)[2] == (I64, 104)


def footer_with(change: Callable[[dict[int, Any]], None], size: int | None = None) -> ParquetFooter:
    fields = copy.deepcopy(FIELDS)
    change(fields)
    end = stored(fields)
    length = int.from_bytes(DATA[-8:-4], "little")
    return ParquetFooter.of(end, len(DATA) - length - 8 + len(end) if size is None else size)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda f: put(f, 8, STRUCT, {1: (STRUCT, {})}), "not known here"),
        (lambda f: f.pop(2), "a field is missing"),
        (lambda f: f.pop(3), "a field is missing"),
        (lambda f: put(f, 3, I64, 19), "not those of the file"),
        (lambda f: f[4][1][1].reverse(), "have the same bytes"),
        (lambda f: f[4][1][1].append(f[4][1][1][1]), "have the same bytes"),
        (lambda f: put(f, 5, LIST, (STRUCT, [{2: (BINARY, b"v")}])), "a field is missing"),
        (lambda f: put(f, 5, LIST, (STRUCT, [{1: (BINARY, b"k"), 3: (I32, 1)}])), "not known here"),
    ],
)
def test_footers_that_are_not_taken(change: Callable[[dict[int, Any]], None], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        footer_with(change)


def test_a_footer_and_its_pairs() -> None:
    found = footer_with(
        lambda f: put(f, 5, LIST, (STRUCT, [{1: (BINARY, b"k"), 2: (BINARY, b"v")}, {1: (BINARY, b"n")}]))
    )
    assert found.pairs == {b"k": b"v", b"n": b""} and [group.rows for group in found.groups] == [10, 10]
    assert set(found.frame) == set(FIELDS) - {3, 4, 5}
    assert footer_with(lambda f: f.pop(5, None)).pairs == {}
    plain = ParquetFooter.of_file(DATA)
    assert plain.checksum() == footer_with(lambda f: None).checksum() == found.checksum()
    assert plain.checksum() != footer_with(lambda f: put(f, 6, BINARY, b"another")).checksum()


def test_groups_that_end_where_the_footer_begins() -> None:
    end = stored(copy.deepcopy(FIELDS))
    size = len(DATA) - int.from_bytes(DATA[-8:-4], "little") - 8 + len(end)
    assert len(footer_with(lambda f: None, size).groups) == 2
    with pytest.raises(ValueError, match="not those of the file"):
        footer_with(lambda f: None, size - 1)


def test_ends_of_files_that_are_none() -> None:
    end = stored(copy.deepcopy(FIELDS))
    length = len(end) - 8
    for wrong in (
        end[:-1] + b"2",
        end[:-8] + (length + 1).to_bytes(4, "little") + b"PAR1",
        end[:-8] + (length | 1 << 24).to_bytes(4, "little") + b"PAR1",
        b"PAR1",
        b"",
    ):
        with pytest.raises(ValueError, match="does not end with a footer"):
            ParquetFooter.of(wrong, 1 << 40)
    assert ParquetFooter.of(b"before" + end, 1 << 40).groups


def test_a_file_that_is_made_of_row_groups() -> None:
    footer, made = ParquetFooter.of_file(DATA), GroupFile()
    for number in (1, 0):
        group = footer.groups[number]
        made.add(group, memoryview(DATA)[group.start : group.start + group.size])
    assert [(group.start, group.rows) for group in made.footer(footer.frame).groups] == [
        (4, 10),
        (4 + footer.groups[1].size, 10),
    ]
    data = bytes(made.finish(footer.frame, {b"k": b"v"}))
    found = pq.read_table(pa.BufferReader(data))
    assert found["n"].to_pylist() == [*range(10, 20), *range(10)] and found.schema.metadata == {b"k": b"v"}


def test_sound_footers_are_asked_by_arrow() -> None:
    source = pa.BufferReader(DATA)
    metadata = pq.read_metadata(pa.BufferReader(DATA))
    groups = RowGroups(source, metadata, "p")
    assert groups.is_sound
    for number in range(2):
        column = groups.chunk_of(number)
        assert [column(i).total_compressed_size for i in range(2)] == [
            metadata.row_group(number).column(i).total_compressed_size for i in range(2)
        ]


@pytest.mark.parametrize("data", [b"", b"PAR1", b"\xff\xff\xff\xffPAR1", b"\x01\0\0\0PAR1", b"\0\0\0\0PARE", DATA])
def test_ends_that_arrow_judges_are_let_through(data: bytes) -> None:
    check_footer(pa.BufferReader(data), "p", DEFAULT_LIMITS)


def test_names_of_groups_are_counted_for_each_column_below() -> None:
    from dataclasses import replace

    wide = pa.schema([("x" * 1000, pa.struct([(f"c{i}", pa.int8()) for i in range(200)]))])
    sink = pa.BufferOutputStream()
    pq.write_table(wide.empty_table(), sink, store_schema=False)
    source = pa.BufferReader(sink.getvalue())
    check_footer(source, "p", DEFAULT_LIMITS)
    with pytest.raises(LimitExceededError, match="bytes of names of a Parquet file"):
        check_footer(source, "p", replace(DEFAULT_LIMITS, expansion=1))


def test_fields_of_another_type_are_damage() -> None:
    found = _Struct({1: (I32, 7), 2: (LIST, (I32, [1])), 3: (LIST, (STRUCT, [{1: (I32, 5)}])), 4: (I32, None)})
    assert found.one(1, I32) == 7 and found.one(9, I32, 3) == 3 and found.optional(9, I32) is None
    assert found.list(2, I32) == [1] and found.list(3, STRUCT)[0].one(1, I32) == 5
    for call in (
        lambda: found.one(1, I64),
        lambda: found.one(9, I32),
        lambda: found.one(4, I32),
        lambda: found.optional(1, I64),
        lambda: found.list(1, I32),
    ):
        with pytest.raises(ValueError, match="a field is missing, or of another type"):
            call()
    with pytest.raises(ValueError, match="a list is of another type"):
        found.list(2, I64)
