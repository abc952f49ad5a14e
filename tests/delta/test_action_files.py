"""The Parquet files of actions that a checkpoint consists of: their columns, row groups, codecs and statistics."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tableformats_delta.maintenance import action_file
from tableformats_delta.maintenance.action_file import ActionFile, _plain, action_rows
from tableformats_delta.maintenance.copied_groups import CopiedGroups, _OlderFile, copied_groups

import tableformats as tf
from tableformats.io.parquet.groups import ParquetFooter

TEXTS = pa.map_(pa.string(), pa.string())
ADD = pa.struct(
    [("path", pa.string()), ("size", pa.int64()), ("stats", pa.string()), ("clusteringProvider", pa.string())]
)
TYPES = {"txn": pa.struct([("appId", pa.string()), ("version", pa.int64())]), "add": ADD}


@pytest.mark.parametrize(
    ("value", "kind", "plain"),
    [
        (None, TEXTS, None),
        ({"a": "b"}, TEXTS, [("a", "b")]),
        ([("a", "b")], TEXTS, [("a", "b")]),
        ({"a": 1, "more": 2}, pa.struct([("a", pa.int64()), ("b", pa.int64())]), {"a": 1, "b": None}),
        ({"a": {"x": {"k": "v"}}}, pa.struct([("a", pa.struct([("x", TEXTS)]))]), {"a": {"x": [("k", "v")]}}),
        (["a"], pa.list_(pa.string()), ["a"]),
        (("a",), pa.list_(pa.string()), ("a",)),
        ("a", pa.string(), "a"),
        (5, pa.string(), 5),
    ],
)
def test_values_as_arrow_takes_them(value: Any, kind: pa.DataType, plain: Any) -> None:
    assert _plain(value, kind) == plain


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("ab", pa.list_(pa.string())),
        ({"a": "b"}, pa.list_(pa.string())),
        ([1], pa.struct([("a", pa.int64())])),
        (1, TEXTS),
    ],
)
def test_values_of_another_shape(value: Any, kind: pa.DataType) -> None:
    with pytest.raises(TypeError):
        _plain(value, kind)


def test_actions_as_columns() -> None:
    """Fields that the protocol does not know stay, if all their values are of one type."""
    txns = [{"appId": "a", "version": 1, "own": "x", "odd": 1}, {"appId": "b", "lastUpdated": 5, "odd": "y"}]
    found = action_rows({"txn": txns, "domainMetadata": []}, "/t")
    assert found["txn"].to_pylist() == [
        {"appId": "a", "version": 1, "lastUpdated": None, "own": "x"},
        {"appId": "b", "version": None, "lastUpdated": 5, "own": None},
    ]
    assert found["domainMetadata"].to_pylist() == [] and [*found] == ["txn", "domainMetadata"]
    with pytest.raises(tf.CorruptMetadataError) as caught:
        action_rows({"txn": [{"appId": "a", "version": "x"}]}, "/t")
    assert (caught.value.path, caught.value.field) == ("/t", "txn")


def adds(*numbers: int) -> pa.StructArray:
    return pa.array([{"path": f"f{n}", "size": n, "stats": "{}"} for n in numbers], ADD)


def txns(*numbers: int) -> pa.StructArray:
    return pa.array([{"appId": f"a{n}", "version": n} for n in numbers], TYPES["txn"])


def groups(data: Any) -> list[list[Any]]:
    """The version of a transaction or the size of a file of each row, by row group."""
    file = pq.ParquetFile(pa.BufferReader(data))
    found = []
    for number in range(file.num_row_groups):
        rows = file.read_row_group(number).to_pylist()
        found.append([row["txn"]["version"] if row["txn"] else row["add"]["size"] for row in rows])
    return found


def test_row_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Adds stand apart, as soon as there are enough; what is left is the last row group."""
    monkeypatch.setattr(action_file, "ROW_GROUP_ROWS", 3)
    file = ActionFile(TYPES)
    for name, actions in (("add", adds(1, 2)), ("txn", txns(10)), ("add", adds()), ("add", adds(3)), ("add", adds(4))):
        file.write(name, actions)
    assert file.rows == 5
    assert groups(file.finish()) == [[1, 2, 3], [10, 4]]
    assert file._has_adds_alone == [True, False]
    assert file.in_memory is None, "it is one of two row groups"


def test_row_groups_are_counted_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(action_file, "ROW_GROUP_ROWS", 3)
    file = ActionFile(TYPES)
    for numbers in ((1, 2, 3), (4, 5), (6,), (7, 8)):
        file.write("add", adds(*numbers))
    assert groups(file.finish()) == [[1, 2, 3], [4, 5, 6], [7, 8]]


def test_many_actions_of_other_kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(action_file, "ROW_GROUP_ROWS", 2)
    file = ActionFile(TYPES)
    for name, actions in (("txn", txns(10, 11)), ("add", adds(1)), ("add", adds(2, 3))):
        file.write(name, actions)
    assert groups(file.finish()) == [[10, 11], [1, 2, 3]] and file._has_adds_alone == [False, True]


@pytest.mark.parametrize("is_kept", [True, False])
def test_a_small_file_stays_in_memory(is_kept: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not is_kept:
        monkeypatch.setattr(action_file, "_KEPT_BYTES", 8)
    file = ActionFile(TYPES)
    file.write("txn", txns(1))
    file.write("add", adds(2, 3))
    assert groups(file.finish()) == [[1, 2, 3]]
    if is_kept:
        assert file.in_memory is not None
        assert [row["txn"] and row["txn"]["appId"] for row in file.in_memory.to_pylist()] == ["a1", None, None]
    else:
        assert file.in_memory is None


@pytest.mark.parametrize(("few", "codec", "has_dictionary"), [(1 << 20, "SNAPPY", False), (1, "ZSTD", True)])
def test_how_files_are_encoded(few: int, codec: str, has_dictionary: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts of statistics have no bounds. Members that differ from file to file have no dictionary."""
    monkeypatch.setattr(action_file, "_FEW_BYTES", few)
    file = ActionFile(TYPES)
    file.write("add", pa.array([{"path": "a", "size": 1, "stats": "{}", "clusteringProvider": "c"}], ADD))
    footer = pq.read_metadata(pa.BufferReader(file.finish()))
    columns = {column["path_in_schema"]: column for column in footer.row_group(0).to_dict()["columns"]}
    assert {column["compression"] for column in columns.values()} == {codec}
    assert columns["add.stats"]["statistics"] is None and columns["add.path"]["statistics"]["max"] == "a"
    dictionaries = {name for name, column in columns.items() if "RLE_DICTIONARY" in column["encodings"]}
    assert dictionaries == ({"add.clusteringProvider", "txn.appId", "txn.version"} if has_dictionary else set())
    assert footer.metadata is None, "no schema of Arrow"


def test_the_note_of_row_groups_that_may_be_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file without a row group of adds alone has none."""
    monkeypatch.setattr(action_file, "ROW_GROUP_ROWS", 2)
    noted = []
    for numbers in ((1,), (1, 2)):
        file = ActionFile(TYPES)
        file.write("add", adds(*numbers))
        file.write("txn", txns(9))
        data = file.finish_upon(None, "layout")
        assert sorted(one for group in groups(data) for one in group) == [*numbers, 9] and file.rows == len(numbers) + 1
        noted.append((pq.read_metadata(pa.BufferReader(data)).metadata or {}).keys())
    assert noted == [set(), {b"tableformats.checkpoint"}]
    file = ActionFile(TYPES)
    file.write("txn", txns(9))
    file.finish_upon(CopiedGroups(files=4), "layout")
    assert file.rows == 5


# ---- row groups of an older file -------------------------------------------------------------------------------------


KEY = b"tableformats.checkpoint"


def older(monkeypatch: pytest.MonkeyPatch, *changes: tuple[str, Any]) -> tuple[Any, dict[int, Any]]:
    """A file of two row groups, of which the first may be copied, with these changes of its note, and its frame."""
    monkeypatch.setattr(action_file, "ROW_GROUP_ROWS", 2)
    file = ActionFile(TYPES)
    file.write("add", adds(1, 2))
    file.write("txn", txns(9))
    data = bytes(file.finish_upon(None, "layout"))
    note = json.loads((pq.read_metadata(pa.BufferReader(data)).metadata or {})[KEY])
    text = json.dumps({**note, **dict(changes)}).encode()
    assert file.frame is not None
    found = SimpleNamespace(
        path="/x",
        is_json=False,
        pairs=lambda: {KEY: text},
        stored_footer=lambda: (data, len(data)),
        open_source=lambda: pa.BufferReader(data),
    )
    return found, file.frame


def test_a_file_in_the_same_layout(monkeypatch: pytest.MonkeyPatch) -> None:
    file, frame = older(monkeypatch)
    found = _OlderFile.of(file, "layout", frame)
    assert found is not None and [number is None for number in found.checksums] == [False, True]
    assert [group.rows for group in found.footer.groups] == [2, 1]
    assert _OlderFile.of(file, "another", frame) is None
    assert _OlderFile.of(file, "layout", {**frame, 99: 1}) is None
    file.pairs = lambda: {}
    assert _OlderFile.of(file, "layout", frame) is None


@pytest.mark.parametrize(
    "change",
    [
        ("format", 2),
        ("layout", "x"),
        ("footer", 5),
        ("groups", None),
        ("groups", {"0": 1, "1": 2}),
        ("groups", [1]),
        ("groups", [1, None, None]),
    ],
)
def test_notes_that_are_not_as_they_were_written(change: tuple[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    file, frame = older(monkeypatch, change)
    assert _OlderFile.of(file, "layout", frame) is None


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"{}", b"1", b"[" * 100_000])
def test_notes_that_are_none(text: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    file, frame = older(monkeypatch)
    file.pairs = lambda: {KEY: text}
    assert _OlderFile.of(file, "layout", frame) is None


def test_what_is_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    file, frame = older(monkeypatch)
    asked = []

    def bytes_if_live(of: Any, number: int, rows: int) -> int | None:
        asked.append((of is file, number, rows))
        return 30

    replay: Any = SimpleNamespace(bytes_if_live=bytes_if_live)
    found = copied_groups([file], replay, "layout", frame)
    assert found is not None and asked == [(True, 0, 2)]
    assert (found.numbers, found.files, found.size_bytes) == ([0], 2, 30)
    assert found.checksums == json.loads(file.pairs()[KEY])["groups"][:1]
    for others in ([], [file, file]):
        assert copied_groups(others, replay, "layout", frame) is None
    assert copied_groups([file], replay, "layout", None) is None
    replay.bytes_if_live = lambda *_: None
    assert copied_groups([file], replay, "layout", frame) is None
    file.is_json = True
    assert copied_groups([file], replay, "layout", frame) is None


def test_bytes_that_are_not_those_that_were_written(monkeypatch: pytest.MonkeyPatch) -> None:
    file, frame = older(monkeypatch, ("groups", [1, None]))
    replay: Any = SimpleNamespace(bytes_if_live=lambda *_: 30)
    with pytest.raises(tf.CorruptMetadataError, match="row group 0") as caught:
        copied_groups([file], replay, "layout", frame)
    data, _ = file.stored_footer()
    first = ParquetFooter.of_file(memoryview(data)).groups[0]
    assert (caught.value.path, caught.value.offset) == ("/x", first.start)


def test_many_row_groups_of_which_few_are_live() -> None:
    """After four of them, as soon as fewer than a quarter of those are live, the others are not looked at."""
    for live, seen in (
        (set(), 4),
        ({0}, 5),
        ({0, 4}, 9),
        ({0, 3}, 9),
        ({1, 2, 3, 4}, 12),
    ):
        asked: list[int] = []

        def bytes_if_live(
            of: Any, number: int, rows: int, live: set[int] = live, asked: list[int] = asked
        ) -> int | None:
            asked.append(number)
            return 1 if number in live else None

        footer = SimpleNamespace(groups=[SimpleNamespace(rows=1)] * 12)
        file: Any = _OlderFile(SimpleNamespace(path="/x"), footer, [0] * 12)  # type: ignore[arg-type]
        object.__setattr__(file, "_read", lambda numbers: ())
        file.copied(SimpleNamespace(bytes_if_live=bytes_if_live))
        assert len(asked) == seen, live


class Source:
    """Bytes of which each stands for its place, and what is read of them."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, int]] = []

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *error: object) -> None:
        return None

    def read_at(self, size: int, start: int) -> bytes:
        self.asked.append((start, size))
        return bytes(range(start, start + size))


@pytest.mark.parametrize(
    ("most", "asked"),
    [
        (40, [(4, 36)]),
        (39, [(4, 26), (30, 10)]),
        (30, [(4, 26), (30, 10)]),
        (29, [(4, 10), (20, 20)]),
        (26, [(4, 10), (20, 20)]),
        (25, [(4, 10), (20, 10), (30, 10)]),
    ],
)
def test_neighbours_are_read_together(most: int, asked: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch) -> None:
    """What is before them counts as well."""
    monkeypatch.setattr("tableformats_delta.maintenance.copied_groups._READ_BYTES", most)
    groups = [SimpleNamespace(start=start, size=size) for start, size in ((4, 10), (14, 6), (20, 10), (30, 10))]
    source = Source()
    file: Any = SimpleNamespace(path="/x", open_source=lambda: source)
    read = [*_OlderFile(file, SimpleNamespace(groups=groups), [])._read([0, 2, 3])]  # type: ignore[arg-type]
    assert [(number, bytes(data)) for number, data in read] == [
        (0, bytes(range(4, 14))),
        (2, bytes(range(20, 30))),
        (3, bytes(range(30, 40))),
    ]
    assert source.asked == asked
