"""Keys and positions of deletes by themselves, and the first rows of a stream."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyroaring import BitMap64

from tableformats.engines.arrow import matching, reader
from tableformats.engines.arrow.deletes import DeleteLoader, deleted_positions, positions_within
from tableformats.engines.arrow.files.column_tree import Selection, file_tree
from tableformats.engines.arrow.key_sets import KeySet
from tableformats.engines.arrow.reader import ReadOptions, _first_rows
from tableformats.errors import CorruptMetadataError
from tableformats.plugin import NameMapping
from tableformats.schema import Field, Schema, primitive

NAN = math.nan


@pytest.mark.parametrize(
    ("kind", "keys", "rows", "found"),
    [
        (pa.int64(), [5, 2, 5], [1, 2, 3, 5, None], [0, 1, 0, 1, 0]),
        (pa.int64(), [5, None], [5, None, 0], [1, 1, 0]),
        (pa.int64(), [None], [0, None], [0, 1]),
        (pa.int64(), [0], [0, None], [1, 0]),
        (pa.int64(), [-(2**63), 2**63 - 1], [-(2**63), 2**63 - 1, 0, -1], [1, 1, 0, 0]),
        (pa.int32(), [-1, 7], [-1, 7, 0], [1, 1, 0]),
        (pa.int8(), [-1, 7], [-1, 7, 0, None], [1, 1, 0, 0]),
        (pa.uint64(), [2**64 - 1], [2**64 - 1, 0], [1, 0]),
        (pa.date32(), [dt.date(2024, 1, 1)], [dt.date(2024, 1, 1), dt.date(1970, 1, 1), None], [1, 0, 0]),
        (pa.timestamp("us"), [dt.datetime(2024, 1, 1)], [dt.datetime(2024, 1, 1), None], [1, 0]),
        (pa.time64("us"), [dt.time(1)], [dt.time(1), dt.time(2)], [1, 0]),
        (pa.float64(), [0.0, NAN], [-0.0, NAN, 1.0, None], [1, 1, 0, 0]),
        (pa.float32(), [-0.0], [0.0, NAN], [1, 0]),
        (pa.string(), ["a", None], ["a", "", None], [1, 0, 1]),
        (pa.binary(), [b"a"], [b"a", b"A"], [1, 0]),
        (pa.bool_(), [True], [True, False, None], [1, 0, 0]),
        (pa.decimal128(5, 2), [Decimal("1.50")], [Decimal("1.50"), Decimal("1.51")], [1, 0]),
        (pa.string(), [], ["a"], [0]),
        (pa.int64(), [7], [], []),
    ],
)
def test_keys_of_one_column(kind: pa.DataType, keys: list[Any], rows: list[Any], found: list[int]) -> None:
    made = KeySet([pa.array(keys, kind)])
    assert made.positions([pa.array(rows, kind)]).tolist() == np.flatnonzero([bool(one) for one in found]).tolist()
    for start in range(len(rows)):
        assert (
            made.positions([pa.array(rows, kind).slice(start)]).tolist()
            == np.flatnonzero([bool(one) for one in found[start:]]).tolist()
        )


def test_keys_of_several_columns() -> None:
    keys = [(1, "a", 0.0), (1, "b", NAN), (2, "a", None), (None, "c", 1.0)]
    rows = [
        (1, "a", -0.0),
        (1, "a", NAN),
        (1, "b", NAN),
        (2, "b", NAN),
        (2, "a", None),
        (None, "c", 1.0),
        (1, "c", 1.0),
    ]

    def columns(tuples: list[Any]) -> list[pa.Array]:
        kinds = pa.int64(), pa.string(), pa.float64()
        return [pa.array(values, kind) for values, kind in zip(zip(*tuples, strict=True), kinds, strict=True)]

    found = KeySet(columns(keys)).positions(columns(rows))
    assert found.tolist() == [0, 2, 4, 5]


@pytest.mark.parametrize("count", [1, 63, 64, 65, 1000])
def test_many_integers(count: int) -> None:
    keys = [7 * i for i in range(count)]
    rows = list(range(-8, 7 * count + 8))
    found = KeySet([pa.array(keys, pa.int64())]).positions([pa.array(rows, pa.int64())])
    assert found.tolist() == [i for i, row in enumerate(rows) if row % 7 == 0 and 0 <= row < 7 * count]
    others = pa.array([sign * i for i in range(7 * count, 7 * count + 5000) for sign in (1, -1)], pa.int64())
    assert not len(KeySet([pa.array(keys, pa.int64())]).positions([others]))


@pytest.mark.parametrize(
    ("start", "stop", "found"), [(0, 3, [0, 2]), (1, 2, []), (2, 3, [2]), (3, 2**33 + 1, [5, 2**33]), (5, 5, [])]
)
def test_positions_of_some_rows(start: int, stop: int, found: list[int]) -> None:
    assert positions_within(BitMap64([0, 2, 5, 2**33]), start, stop).tolist() == found


def positions(rows: int, deleted: list[int], kinds: tuple[str, ...] = ("position",), count: int | None = None) -> Any:
    asked: list[Any] = []

    def load(path: str, num_rows: int, deletes: pa.Table) -> BitMap64:
        asked.append((path, num_rows, deletes["kind"].to_pylist()))
        return BitMap64(deleted)

    snapshot: Any = SimpleNamespace(deleted_positions=load)
    task: Any = SimpleNamespace(
        path="/t/f", stored_path="f", record_count=count, deletes=pa.table({"kind": pa.array(kinds, pa.string())})
    )
    return deleted_positions(snapshot, task, rows), asked


def test_positions_that_are_deleted() -> None:
    found, asked = positions(3, [0, 2], ("position", "equality", "deletion_vector"), 3)
    assert list(found) == [0, 2] and asked == [("f", 3, ["position", "deletion_vector"])]
    for kinds in ((), ("equality",)):
        found, asked = positions(3, [0], kinds, 99)
        assert not found and not asked
    assert not positions(0, [])[0]


def test_positions_that_mean_nothing() -> None:
    with pytest.raises(CorruptMetadataError, match="row 3 of the file is deleted, but it has 3 rows") as caught:
        positions(3, [1, 3])
    assert caught.value.path == "/t/f"
    with pytest.raises(CorruptMetadataError, match="the file has 3 rows where the metadata counts 4"):
        positions(3, [1], count=4)


@pytest.mark.parametrize(
    ("limit", "lengths"),
    [(0, []), (-1, []), (1, [1]), (2, [2]), (3, [2, 1]), (5, [2, 3]), (6, [2, 3, 1]), (99, [2, 3, 4])],
)
def test_the_first_rows_of_a_stream(limit: int, lengths: list[int]) -> None:
    taken: list[int] = []

    def batches() -> Any:
        for length in (2, 3, 4):
            taken.append(length)
            yield pa.record_batch({"x": list(range(length))})

    found = list(_first_rows(batches(), limit))
    assert [batch.num_rows for batch in found] == lengths
    assert len(taken) == len(lengths), "no batch is made that is not needed"


@pytest.mark.parametrize("given", [0, -1, True, 1.5, None])
def test_memory_that_is_none(given: Any) -> None:
    with pytest.raises(ValueError, match="memory_bytes is a positive number of bytes"):
        ReadOptions(given)
    assert ReadOptions(1).memory_bytes == 1 and ReadOptions().ordered


class BatchedFile:
    """A file whose rows come in batches."""

    def __init__(self, *batches: list[int]) -> None:
        self.batches = batches
        self.root = file_tree(pa.schema([("id", pa.int64()), ("x", pa.int64())]), b"id", "f")
        self.selected: frozenset[int] = frozenset()

    def __enter__(self) -> BatchedFile:
        return self

    def __exit__(self, *error: object) -> None:
        return None

    def select(self, leaves: frozenset[int]) -> Selection:
        self.selected = leaves
        return Selection(self.root, leaves)

    def rows(self, selection: Selection) -> Any:
        first = 0
        for batch in self.batches:
            yield first, pa.StructArray.from_arrays([pa.array(batch, pa.int64())], ["id"])
            first += len(batch)


def test_positions_of_rows_with_deleted_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    file = BatchedFile([5, 6, 7], [], [7, 5], [8, 6])
    monkeypatch.setattr(matching, "open_data_file", lambda storage, task, mapping: file)
    loaded: list[Any] = []

    def keys_of(delete: dict[str, Any]) -> pa.Table:
        loaded.append(delete["path"])
        return pa.table({"1": pa.array({"d": [5], "e": [8, 99]}[delete["path"]], pa.int64())})

    snapshot: Any = SimpleNamespace(name_mapping=NameMapping("name"), specs={}, equality_deletes=keys_of)
    matcher = matching.KeyMatcher(snapshot, Schema((Field(1, "id", primitive("long")),)), None)  # type: ignore[arg-type]
    kinds = {"kind": ["equality", "position", "equality"], "path": ["d", "p", "e"], "offset": [None] * 3}
    task: Any = SimpleNamespace(path="/t/f", spec_id=0, partition={}, deletes=pa.table(kinds))
    assert list(matcher.positions(task)) == [0, 4, 5]
    assert file.selected == {0} and loaded == ["d", "e"]
    assert list(matcher.positions(task)) == [0, 4, 5] and loaded == ["d", "e"]


def test_delete_files_are_read_once_and_neighbours_share_their_keys() -> None:
    """A set of keys is made for each list of delete files that follows another one."""
    read: list[str] = []

    def load(delete: dict[str, Any]) -> pa.Table:
        read.append(delete["path"])
        return pa.table({"2": ["x"], "1": pa.array([len(read)], pa.int64())})

    def deletes(*paths: str) -> pa.Table:
        return pa.table({"path": list(paths), "offset": pa.nulls(len(paths), pa.int64())})

    snapshot: Any = SimpleNamespace(equality_deletes=load)
    loader = DeleteLoader(snapshot, Schema([Field(1, "a", primitive("long")), Field(2, "b", primitive("string"))]))
    first = loader._key_sets(deletes("p", "q"))
    assert loader._key_sets(deletes("p", "q")) is first
    ((schema, keys),) = first.items()
    assert schema.names == ["1", "2"]
    assert keys.positions([pa.array([1, 2, 3]), pa.array(["x", "x", "x"])]).tolist() == [0, 1]
    (other,) = loader._key_sets(deletes("q")).values()
    assert other.positions([pa.array([1, 2, 3]), pa.array(["x", "y", "x"])]).tolist() == []
    assert other.positions([pa.array([1, 2, 3]), pa.array(["x", "x", "x"])]).tolist() == [1]
    assert read == ["p", "q"]


@pytest.mark.parametrize(("is_local", "cores", "threads"), [(True, 2, 2), (False, 2, 5), (False, 9, 9)])
def test_half_of_the_memory_is_for_what_waits(
    is_local: bool, cores: int, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[dict[str, Any]] = []
    monkeypatch.setattr(reader, "merged_streams", lambda *positional, **named: given.append(named))
    monkeypatch.setattr(reader, "thread_count", lambda: cores)
    monkeypatch.setattr(reader, "_STORE_THREADS", 5)
    storage = SimpleNamespace(is_local=is_local)
    scan: Any = SimpleNamespace(snapshot=SimpleNamespace(storage=storage, format_snapshot=None, schema=None))
    reader._Reader(scan, (), ReadOptions(101, ordered=False)).batches([])
    assert given == [{"threads": threads, "budget_bytes": 50, "ordered": False}]
