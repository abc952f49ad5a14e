"""The columns of a checkpoint's row groups: which rows are adds, how types are read, and what is read of statistics."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tableformats_delta.checkpoints import row_group_reader
from tableformats_delta.checkpoints.row_group_reader import (
    ForwardCursor,
    RowGroup,
    RowGroupReader,
    _columns,
    _ends,
    _GroupStatistics,
    _is_action,
    member_of,
    typed,
    vector_lists,
)
from tableformats_delta.log.file_actions import file_schema
from tableformats_delta.statistics.stats_json import Leaf

import tableformats as tf
from tableformats.plugin import primitive
from tests.support.delta_log import ADD, VECTOR_TYPE, add, stats, vector

FILE = "/t/_delta_log/x.parquet"
TEXT, NUMBER = pa.string(), pa.int64()
CODES = pa.dictionary(pa.int32(), TEXT)


def structs(*values: Any, **members: pa.DataType) -> pa.StructArray:
    return pa.array(values, pa.struct(list(members.items())))


def test_rows_that_are_adds() -> None:
    found = _is_action(structs({"path": "a", "size": 1}, None, {"path": None}, path=TEXT, size=NUMBER), FILE)
    assert found.to_pylist() == [True, False, False]
    assert _is_action(structs({"path": "a"}, None, path=TEXT), FILE).to_pylist() == [True, False]


@pytest.mark.parametrize(
    "column", [structs({"size": 1}, size=NUMBER), structs({"path": "a"}, {"size": 1}, path=TEXT, size=NUMBER)]
)
def test_an_add_without_a_path(column: pa.StructArray) -> None:
    with pytest.raises(tf.CorruptMetadataError) as caught:
        _is_action(column, FILE)
    assert (caught.value.path, caught.value.field) == (FILE, "add.path")


@pytest.mark.parametrize(
    ("mask", "ends"),
    [("", (0, 0)), ("1", (0, 1)), ("0", (0, 0)), ("111", (0, 3)), ("0110", (1, 3)), ("1001", (0, 4)), ("001", (2, 3))],
)
def test_ends_of_what_is_true(mask: str, ends: tuple[int, int]) -> None:
    assert _ends(pa.array([one == "1" for one in mask], pa.bool_())) == ends


@pytest.mark.parametrize(
    ("found", "wanted", "values"),
    [
        (None, NUMBER, [None, None]),
        (pa.array(["a", None]), TEXT, ["a", None]),
        (pa.array(["a", None]).dictionary_encode(), TEXT, ["a", None]),
        (pa.array(["a", None], pa.large_string()), TEXT, ["a", None]),
        (pa.array([b"a", None]), TEXT, ["a", None]),
        (pa.array([1, None], pa.int8()), NUMBER, [1, None]),
        (pa.array([1.0, None]), NUMBER, [1, None]),
    ],
)
def test_columns_of_other_types(found: pa.Array | None, wanted: pa.DataType, values: list[Any]) -> None:
    made = typed(found, 2, wanted, "add.x", FILE)
    assert (made.type, made.to_pylist()) == (wanted, values)


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (pa.array([1, 2]), TEXT),
        (pa.array([True]), TEXT),
        (pa.array([1.5]), NUMBER),
        (pa.array([2**63], pa.uint64()), NUMBER),
        (pa.array(["x"]), NUMBER),
        (pa.array([b"\xff"]), TEXT),
        (pa.array([[1]]), NUMBER),
        (pa.array([{"a": 1}]), TEXT),
    ],
)
def test_columns_of_wrong_types(found: pa.Array, wanted: pa.DataType) -> None:
    with pytest.raises(tf.CorruptMetadataError) as caught:
        typed(found, len(found), wanted, "add.x", FILE)
    assert (caught.value.path, caught.value.field) == (FILE, "add.x")


@pytest.mark.parametrize(
    ("keys", "items", "stays"),
    [(TEXT, TEXT, True), (CODES, TEXT, True), (TEXT, CODES, True), (CODES, CODES, True), (TEXT, pa.binary(), False)],
)
def test_maps_of_codes_stay_as_they_are(keys: pa.DataType, items: pa.DataType, stays: bool) -> None:
    found = pa.MapArray.from_arrays(
        pa.array([0, 1], pa.int32()), pa.array(["k"]).cast(keys), pa.array(["v"]).cast(items)
    )
    wanted = pa.map_(TEXT, TEXT)
    made = typed(found, 1, wanted, "add.partitionValues", FILE)
    assert made.type == (found.type if stays else wanted) and made.cast(wanted).to_pylist() == [[("k", "v")]]


def test_members() -> None:
    found = structs({"a": 1}, None, a=NUMBER)
    assert member_of(found, "a").to_pylist() == [1, None]
    assert member_of(found, "b") is None and member_of(pa.array([1]), "a") is None


def test_vectors() -> None:
    """A struct without a storage type is no vector."""
    empty = dict.fromkeys(vector())
    found = vector_lists(structs({"v": vector()}, {"v": empty}, {"v": None}, None, v=VECTOR_TYPE), "v", FILE)
    assert found.to_pylist() == [[vector()], [], [], []]
    for column in (
        structs({"v": empty}, {"v": None}, v=VECTOR_TYPE),
        structs({"x": 1}, None, x=NUMBER),
        structs({"v": 1}, None, v=NUMBER),
    ):
        assert vector_lists(column, "v", FILE).to_pylist() == [[], []]
    with pytest.raises(tf.CorruptMetadataError) as caught:
        vector_lists(structs({"v": {**vector(), "pathOrInlineDv": None}}, v=VECTOR_TYPE), "v", FILE)
    assert caught.value.field == "add.v.pathOrInlineDv"


def test_files_as_rows() -> None:
    wanted = [field for field in file_schema() if field.name in ("path", "size", "deletion_vector", "base_row_id")]
    column = pa.array([add("a", size=5, deletionVector=vector())["add"]], ADD)
    assert _columns(column, wanted, FILE).to_pylist() == [
        {"path": "a", "size": 5, "deletion_vector": [vector()], "base_row_id": None}
    ]
    with pytest.raises(tf.CorruptMetadataError) as caught:
        _columns(pa.array([add("a", size=None)["add"]], ADD), wanted, FILE)
    assert (caught.value.path, caught.value.field) == (FILE, "add.size")


def test_texts_that_are_none() -> None:
    """What pages hold need not be UTF-8."""
    wrong = pa.Array.from_buffers(TEXT, 1, [None, pa.array([0, 1], pa.int32()).buffers()[1], pa.py_buffer(b"\xff")])
    column = pa.StructArray.from_arrays([wrong, pa.array([1])], ["path", "size"])
    wanted = [field for field in file_schema() if field.name in ("path", "size")]
    with pytest.raises(pa.ArrowInvalid):
        _columns(column, wanted, FILE)


# ---- pieces ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def stored(tmp_path: Path) -> str:
    """Two row groups: 7 rows of adds, every third of them none, then 3 adds."""
    rows = [add(f"f{n}", size=n, stats=stats(n))["add"] if n % 3 or n > 6 else None for n in range(10)]
    table = pa.table({"add": pa.array(rows, ADD), "txn": pa.array([{"n": n} for n in range(10)])})
    path = str(tmp_path / "x.parquet")
    with pq.ParquetWriter(path, table.schema) as writer:
        writer.write_table(table.slice(0, 7))
        writer.write_table(table.slice(7))
    return path


def group_of(stored: str, number: int = 0, kind: pa.DataType = ADD) -> RowGroup:
    return RowGroup(lambda: pq.ParquetFile(stored), stored, number, [7, 3][number], kind)


def sizes(pieces: Iterator[tuple[int, pa.StructArray]]) -> list[tuple[int, list[Any]]]:
    return [(place, member_of(piece, "size").to_pylist()) for place, piece in pieces]


@pytest.mark.parametrize("is_ahead", [False, True])
def test_a_cursor_goes_forwards(stored: str, is_ahead: bool) -> None:
    cursor = ForwardCursor(lambda: pq.ParquetFile(stored), 0, ["add.size"], 3, is_ahead)
    assert cursor.position == 0 and not cursor.is_at_end
    assert sizes(cursor.pieces(1, 2)) == [(1, [1])] and cursor.position == 2
    assert sizes(cursor.pieces(2, 2)) == []
    assert sizes(cursor.pieces(4, 5)) == [(4, [4])] and cursor.position == 5
    assert sizes(cursor.pieces(5, 99)) == [(5, [5]), (6, [None])] and cursor.is_at_end and cursor.position == 7
    assert sizes(cursor.pieces(7, 99)) == []


def test_a_cursor_closes_its_file_at_the_end(stored: str) -> None:
    file = pq.ParquetFile(stored)
    cursor = ForwardCursor(lambda: file, 1, ["add.size"], 2, False)
    assert sizes(cursor.pieces(0, 2)) == [(0, [7, 8])] and not file.closed
    assert sizes(cursor.pieces(2, 3)) == [(2, [9])]
    assert file.closed and cursor.is_at_end


def test_a_cursor_closes_its_file_where_rows_lack() -> None:
    """The footer counts five of them."""
    batches = [pa.record_batch({"add": pa.array([{"size": n} for n in range(3)])})]
    closed: list[bool] = []
    file: Any = SimpleNamespace(
        metadata=SimpleNamespace(row_group=lambda number: SimpleNamespace(num_rows=5)),
        iter_batches=lambda *given, **named: iter(batches),
        close=lambda: closed.append(True),
    )
    cursor = ForwardCursor(lambda: file, 0, ["add.size"], 9, False)
    assert sizes(cursor.pieces(0, 3)) == [(0, [0, 1, 2])] and not closed and not cursor.is_at_end
    assert sizes(cursor.pieces(3, 5)) == [] and closed == [True] and cursor.is_at_end


def test_columns_that_are_not_there(stored: str) -> None:
    cursor = ForwardCursor(lambda: pq.ParquetFile(stored), 0, ["add.unknown"], 3, False)
    assert sizes(cursor.pieces(0, 7)) == []


def test_cursors_are_kept(stored: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """For the rows behind, of the same columns; not for rows before, and not at the end."""
    made = []
    cursor = row_group_reader.ForwardCursor

    def noted(*given: Any) -> ForwardCursor:
        made.append(tuple(given[2]))
        return cursor(*given)

    monkeypatch.setattr(row_group_reader, "ForwardCursor", noted)
    monkeypatch.setattr(row_group_reader, "_BATCH_ROWS", 3)
    reader = RowGroupReader(group_of(stored))
    asked = ["add.size"]
    assert sizes(reader.pieces(asked, 0, 2, 2)) == [(0, [None, 1])] and len(made) == 1
    assert sizes(reader.pieces(asked, 2, 6, 2)) == [(2, [2, None]), (4, [4, 5])] and len(made) == 1
    assert sizes(reader.pieces(asked, 4, 5, 2)) == [(4, [4])] and len(made) == 2
    assert sizes(reader.pieces(["add.size", "add.path"], 5, 6, 9)) == [(5, [5])] and len(made) == 3
    assert {key: one.position for key, one in reader._cursors.items()} == {
        ("add.size",): 5,
        ("add.size", "add.path"): 6,
    }
    assert sizes(reader.pieces(asked, 6, 7, 2)) == [(6, [None])] and len(made) == 3
    assert [*reader._cursors] == [("add.size", "add.path")]
    reader.after_fork()
    assert reader._cursors == {}


@pytest.mark.parametrize(("rows", "batch", "last"), [(7, 3, 6), (6, 3, 3), (1, 3, 0), (0, 3, 0), (3, 3, 0), (4, 3, 3)])
def test_where_the_last_batch_begins(rows: int, batch: int, last: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_group_reader, "_BATCH_ROWS", batch)
    group = RowGroup(lambda: None, FILE, 0, rows, ADD)  # type: ignore[arg-type, return-value]
    reader = RowGroupReader(group, True)
    assert reader._last_batch == last and reader._decode_ahead == (rows > batch)
    assert not RowGroupReader(group)._decode_ahead


def test_members_that_a_group_has() -> None:
    def has(kind: pa.DataType, name: str) -> bool:
        return RowGroupReader(RowGroup(lambda: None, FILE, 0, 1, kind)).has(name)  # type: ignore[arg-type, return-value]

    assert has(ADD, "path") and has(ADD, "stats") and not has(ADD, "stats_parsed") and not has(NUMBER, "path")


LEAF = Leaf(1, ("id",), primitive("long"), False)


@pytest.mark.parametrize("batch", [2, 3, 100])
@pytest.mark.parametrize("rows", [None, [0], [1, 3], [0, 1, 2, 3], []])
def test_statistics_of_some_rows(
    stored: str, batch: int, rows: list[int] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the adds of all batches, whose numbers of records are 1, 2, 4 and 5."""
    monkeypatch.setattr(row_group_reader, "_BATCH_ROWS", batch)
    monkeypatch.setattr(row_group_reader, "PIECE_ROWS", 2)
    first, found, paths = 0, [], []
    for one in RowGroupReader(group_of(stored)).batches():
        n = one.rows.num_rows
        paths += one.rows.column("path").to_pylist()
        chosen = None if rows is None else np.array([r - first for r in rows if 0 <= r - first < n], np.int64)
        first += n
        if chosen is None or len(chosen):
            found += one.statistics.scan([LEAF], chosen).record_counts.to_pylist()
    assert paths == ["f1", "f2", "f4", "f5"]
    assert found == [[1, 2, 4, 5][row] for row in (range(4) if rows is None else rows)]


def test_statistics_of_no_rows(stored: str) -> None:
    (one,) = RowGroupReader(group_of(stored)).batches()
    assert len(one.statistics.scan([LEAF], np.array([], np.int64)).record_counts) == 0
    assert one.statistics.parsed([("numRecords",)], None) is None


def test_row_groups_without_texts(stored: str) -> None:
    kind = pa.struct([("path", TEXT), ("size", NUMBER)])
    (one,) = RowGroupReader(group_of(stored, kind=kind)).batches()
    assert one.statistics.scan([LEAF], None).record_counts.to_pylist() == [None] * 4
    assert one.statistics.scan([LEAF], np.array([0, 2])).record_counts.to_pylist() == [None] * 2


@pytest.mark.parametrize("rows", [None, [1], [0, 2]])
@pytest.mark.parametrize("batch", [2, 100])
def test_parsed_statistics_of_some_rows(
    tmp_path: Path, rows: list[int] | None, batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_group_reader, "_BATCH_ROWS", batch)
    kind = pa.struct([*ADD, ("stats_parsed", pa.struct([("numRecords", NUMBER), ("more", NUMBER)]))])
    values = [None, *({**add(f"f{n}")["add"], "stats_parsed": {"numRecords": n, "more": 0}} for n in (1, 2, 3)), None]
    path = str(tmp_path / "x.parquet")
    pq.write_table(pa.table({"add": pa.array(values, kind)}), path)
    found: list[Any] = []
    first = 0
    for one in RowGroupReader(RowGroup(lambda: pq.ParquetFile(path), path, 0, 5, kind)).batches():
        n = one.rows.num_rows
        chosen = None if rows is None else np.array([r - first for r in rows if 0 <= r - first < n], np.int64)
        first += n
        if chosen is not None and not len(chosen):
            continue
        parsed = one.statistics.parsed([("numRecords",)], chosen)
        assert parsed is None or parsed.type == pa.struct([("numRecords", NUMBER)])
        found += [] if parsed is None else [value["numRecords"] for value in parsed.to_pylist()]
    assert found == [[1, 2, 3][row] for row in (range(3) if rows is None else rows)]


class Pieces:
    """A row group whose statistics come in pieces of two rows."""

    path = FILE

    def has(self, name: str) -> bool:
        return True

    def pieces(self, columns: Any, start: int, stop: int, n_rows: int) -> Iterator[tuple[int, pa.StructArray]]:
        for place in range(start, stop, 2):
            numbers = [{"numRecords": n} for n in range(place, place + 2)]
            rows = [{"stats": stats(one["numRecords"]), "stats_parsed": one} for one in numbers]
            yield (
                place,
                pa.array(rows, pa.struct([("stats", TEXT), ("stats_parsed", pa.struct([("numRecords", NUMBER)]))])),
            )


@pytest.mark.parametrize(
    ("mask", "rows", "found"),
    [
        ("111111", None, [10, 11, 12, 13, 14, 15]),
        ("111111", [1, 3, 4], [11, 13, 14]),
        ("111111", [0, 2], [10, 12]),
        ("111111", [1], [11]),
        ("101101", None, [10, 12, 13, 15]),
        ("101101", [1, 3], [12, 15]),
        ("100001", [1], [15]),
    ],
)
def test_statistics_of_several_pieces(mask: str, rows: list[int] | None, found: list[int]) -> None:
    source = _GroupStatistics(Pieces(), 10, pa.array([one == "1" for one in mask]))  # type: ignore[arg-type]
    chosen = None if rows is None else np.array(rows, np.int64)
    parsed = source.parsed([("numRecords",)], chosen)
    assert parsed is not None and parsed.field("numRecords").to_pylist() == found
    assert source.scan([], chosen).record_counts.to_pylist() == found
