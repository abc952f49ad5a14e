"""Where data files lie: directories of partitions, names of files, and how many rows go into one."""

from __future__ import annotations

import datetime as dt
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tableformats as tf
from tableformats.engines.arrow.writing import data_files
from tableformats.engines.arrow.writing.data_files import FileWriter, discard_files
from tableformats.io.storage import Storage
from tableformats.plugin import PartitionField, Schema, WriteTarget, primitive
from tableformats.schema.transforms import Transform
from tests.support.memory_store import ROOT, MemoryStore, memory_storage

IDENTITY = Transform("identity")
NAME = r"part-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\.parquet"


def text_of(field: PartitionField, value: object) -> str:
    return str(value)


def writer_of(
    tmp_path: Path, schema: pa.Schema, *partitioning: PartitionField, buffer_bytes: int | None = None, **options: Any
) -> FileWriter:
    """Fields are numbered from 1 on, depth first."""
    options = {"partition_text": text_of, **options}
    target = WriteTarget(Schema.from_arrow(schema), partitioning=partitioning, **options)
    return FileWriter(Storage(tmp_path), target, buffer_bytes)


TEXTS = pa.schema([("s", pa.string()), ("n", pa.int64())])
BY_TEXT = PartitionField(1000, "s", 1, IDENTITY, primitive("string"))


@pytest.mark.parametrize(
    ("value", "directory"),
    [
        ("a b", "s=a b"),
        ("ü~-._()", "s=ü~-._()"),
        ("\"#%'*/:=?\\{[]^", "s=%22%23%25%27%2A%2F%3A%3D%3F%5C%7B%5B%5D%5E"),
        ("\x00\t\n\x1f\x7f\x80", "s=%00%09%0A%1F%7F\x80"),
        ("}|<>&!,;@+$`", "s=}|<>&!,;@+$`"),
        (None, "s=__HIVE_DEFAULT_PARTITION__"),
        ("x" * 198, "s=" + "x" * 198),
        ("x" * 199, None),
        ("ü" * 99, "s=" + "ü" * 99),
        ("ü" * 99 + "x", None),
        ("/" * 66, "s=" + "%2F" * 66),
        ("/" * 67, None),
    ],
)
def test_directories_of_texts(value: str | None, directory: str | None, tmp_path: Path) -> None:
    """As Hive escapes them; a name of more than 200 bytes is left out, and readers take values from the metadata."""
    path = writer_of(tmp_path, TEXTS, BY_TEXT)._path((value,))
    above, _, name = path.rpartition("/")
    assert re.fullmatch(NAME, name) and (above or None) == directory


def test_one_directory_of_each_partition_field(tmp_path: Path) -> None:
    odd = PartitionField(1001, "n=1", 2, IDENTITY, primitive("long"))
    writer = writer_of(tmp_path, TEXTS, BY_TEXT, odd)
    assert re.fullmatch(f"s=a/n%3D1=5/{NAME}", writer._path(("a", "5")))
    assert re.fullmatch(NAME, writer._path(("x" * 199, "5"))), "none, where one is too long"
    assert re.fullmatch(NAME, writer_of(tmp_path, TEXTS, BY_TEXT, partition_text=None)._path(("a",)))
    assert writer._path(("a", "5")) != writer._path(("a", "5"))


def test_files_lie_below_a_directory_where_the_table_places_them(tmp_path: Path) -> None:
    for directory, place, begin in (
        ("", None, "s=a/part-"),
        ("data", None, "data/s=a/part-"),
        ("data/x", lambda path: f"0/{path}", "data/x/0/s=a/part-"),
        ("", lambda path: f"0/{path}", "0/s=a/part-"),
    ):
        found = writer_of(tmp_path, TEXTS, BY_TEXT, directory=directory, place=place)._path(("a",))
        assert found.startswith(begin)


@pytest.mark.parametrize("root", [None, "elsewhere"])
def test_written_files_and_those_that_are_discarded(root: str | None, tmp_path: Path) -> None:
    absolute = None if root is None else f"{tmp_path}/{root}"
    place = tmp_path / (root or "table")
    (tmp_path / "table").mkdir()
    rows = pa.record_batch({"s": ["a", "b", "a", None], "n": [1, 2, 3, 4]}, schema=TEXTS)
    target = WriteTarget(
        Schema.from_arrow(TEXTS), partitioning=(BY_TEXT,), partition_text=text_of, root=absolute, directory="d"
    )
    writer = FileWriter(Storage(tmp_path / "table"), target)
    found = writer.write([rows]).to_pylist()
    assert sorted(path.relative_to(place).as_posix() for path in place.rglob("*.parquet")) == sorted(writer.written)
    rows_by_text = {one["partition"]["1000"]: one["record_count"] for one in found}
    assert rows_by_text == {"a": 2, "b": 1, None: 1}
    for one in found:
        assert (place / one["path"]).stat().st_size == one["size_bytes"]
        value = one["partition"]["1000"]
        assert one["path"].startswith(f"d/s={'__HIVE_DEFAULT_PARTITION__' if value is None else value}/part-")
    discard_files(Storage(tmp_path / "table"), target, ["d/none", *writer.written[:1]])
    assert len([*place.rglob("*.parquet")]) == 2
    writer.discard()
    assert not [*place.rglob("*.parquet")]


def pieces(tmp_path: Path, sizes: list[int], *partitioning: PartitionField) -> list[list[int]]:
    """The rows of the batches of at most 100 bytes, of which each row has 8."""
    schema = pa.schema([("n", pa.int64())])
    writer = writer_of(tmp_path, schema, *partitioning, buffer_bytes=800)
    numbers = iter(range(1000))
    batches = [pa.record_batch({"n": [next(numbers) for _ in range(size)]}, schema=schema) for size in sizes]
    return [batch.column(0).to_pylist() for batch in writer._in_chunks(batches)]


BY_NUMBER = PartitionField(1000, "n", 1, IDENTITY, primitive("long"))


@pytest.mark.parametrize(
    ("sizes", "apart", "together"),
    [
        ([], [], []),
        ([5], [5], [5]),
        ([12], [12], [12]),
        ([13], [12, 1], [13]),
        ([26], [12, 12, 2], [24, 2]),
        ([5, 5, 5], [5, 5, 5], [15]),
        ([5, 0, 9], [5, 9], [14]),
        ([13, 13], [12, 1, 12, 1], [13, 13]),
        ([0], [], []),
    ],
)
def test_batches_are_cut_and_those_of_partitions_joined(
    sizes: list[int], apart: list[int], together: list[int], tmp_path: Path
) -> None:
    """A piece has 100 bytes at most; with partitions, pieces are joined until they have as many."""
    for found, lengths in ((pieces(tmp_path, sizes), apart), (pieces(tmp_path, sizes, BY_NUMBER), together)):
        assert [len(one) for one in found] == lengths
        assert [number for one in found for number in one] == list(range(sum(sizes)))


@pytest.mark.parametrize(
    ("sizes", "joined"), [([99, 1, 99, 1], [100, 100]), ([99, 2, 98, 2], [101, 100]), ([100, 100], [100, 100])]
)
def test_pieces_are_joined_until_they_have_just_as_many_bytes(
    sizes: list[int], joined: list[int], tmp_path: Path
) -> None:
    schema = pa.schema([("n", pa.int8())])
    by_number = PartitionField(1000, "n", 1, IDENTITY, primitive("byte"))
    writer = writer_of(tmp_path, schema, by_number, buffer_bytes=800)
    batches = [pa.record_batch({"n": pa.array([1] * size, pa.int8())}) for size in sizes]
    assert [batch.num_rows for batch in writer._in_chunks(batches)] == joined


def test_a_row_of_many_bytes_is_a_piece_of_its_own(tmp_path: Path) -> None:
    schema = pa.schema([("s", pa.string())])
    writer = writer_of(tmp_path, schema, buffer_bytes=80)
    batch = pa.record_batch({"s": ["x" * 100, "y" * 100]}, schema=schema)
    assert [one.column(0).to_pylist() for one in writer._in_chunks([batch])] == [["x" * 100], ["y" * 100]]


NESTED = pa.schema(
    [
        ("p", pa.struct([("q", pa.struct([("x", pa.int64()), ("d", pa.date32())])), ("y", pa.string())])),
        ("a", pa.int64()),
    ]
)


@pytest.mark.parametrize(
    ("field", "values"),
    [
        (PartitionField(1000, "x", 3, IDENTITY, primitive("long")), [None, None, None, 7]),
        (PartitionField(1000, "x", 3, Transform("truncate", 5), primitive("long")), [None, None, None, 5]),
        (PartitionField(1000, "y", 5, IDENTITY, primitive("string")), [None, "u", "v", None]),
        (PartitionField(1000, "d", 4, Transform("year"), primitive("int")), [None, None, None, 51]),
        (PartitionField(1000, "v", 3, Transform("void"), primitive("long")), [None] * 4),
        (PartitionField(1000, "v", 99, Transform("void"), primitive("long")), [None] * 4),
        (PartitionField(1000, "a", 6, IDENTITY, primitive("long")), [1, 2, 3, 4]),
    ],
    ids=str,
)
def test_partition_values_of_members(field: PartitionField, values: list[Any], tmp_path: Path) -> None:
    """A member of a NULL struct is NULL."""
    day = dt.date(2021, 5, 6)
    inner = [None, {"q": None, "y": "u"}, {"q": {"x": None, "d": None}, "y": "v"}, {"q": {"x": 7, "d": day}, "y": None}]
    batch = pa.record_batch([pa.array(inner, NESTED.field("p").type), pa.array([1, 2, 3, 4])], schema=NESTED)
    writer = writer_of(tmp_path, NESTED, field, partition_columns_in_files=True)
    found = {}
    for key, (value,), rows in writer._by_partition(batch):
        assert key == (None if value.as_py() is None else str(value.as_py()),)
        found.update(dict.fromkeys(rows["a"].to_pylist(), value.as_py()))
    assert [found[n] for n in range(1, 5)] == values
    assert [*writer._by_partition(batch.slice(0, 0))] == []


@pytest.mark.parametrize(
    ("field", "text"),
    [
        (PartitionField(1000, "x", 1, Transform("unknown"), primitive("long")), "are not partitioned by"),
        (PartitionField(1000, "x", 99, IDENTITY, primitive("long")), "the partition field's column was dropped"),
    ],
    ids=str,
)
def test_partition_fields_that_are_not_written(field: PartitionField, text: str, tmp_path: Path) -> None:
    with pytest.raises(tf.UnsupportedFeatureError, match=text) as caught:
        writer_of(tmp_path, TEXTS, field)
    assert caught.value.field == "x"


def test_partition_values_beyond_the_years_of_python(tmp_path: Path) -> None:
    """They are refused where a directory would be named by them."""
    schema = pa.schema([("d", pa.date32())])
    field = PartitionField(1000, "d", 1, IDENTITY, primitive("date"))
    far = pa.record_batch({"d": pa.array([5_000_000], pa.int32()).cast(pa.date32())})
    with pytest.raises(tf.ConstraintViolationError, match="outside of the years 1 to 9999") as caught:
        list(writer_of(tmp_path, schema, field)._by_partition(far))
    assert caught.value.field == "d"
    plain = writer_of(tmp_path, schema, field, partition_text=None)
    assert [key for key, _, _ in plain._by_partition(far)] == [("5000000",)]


@pytest.mark.parametrize("many", [0, 1 << 20])
def test_files_of_a_store(many: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those of many rows are made in memory; only local ones are written as they are made."""
    monkeypatch.setattr(data_files, "_MANY_BYTES", many)
    store = MemoryStore()
    target = WriteTarget(Schema.from_arrow(TEXTS), partitioning=(BY_TEXT,), partition_text=text_of)
    writer = FileWriter(memory_storage(store), target)
    rows = pa.record_batch({"s": ["a", "b", "a"], "n": [1, 2, 3]}, schema=TEXTS)
    found = writer.write([rows]).to_pylist()
    assert {f"{ROOT}/{one['path']}": one["size_bytes"] for one in found} == {p: len(d) for p, d in store.files.items()}
    assert len(store.files) == 2


def test_files_of_so_many_rows_are_written_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A partition is written once its rows take the bytes of a file; the rest at the end."""
    monkeypatch.setattr(data_files, "_ARRAY_BYTES", 0)
    schema = pa.schema([("n", pa.int64())])
    writer = writer_of(tmp_path, schema, target_file_size=800, buffer_bytes=1 << 20)
    batches = [pa.record_batch({"n": pa.array(range(50), pa.int64())}) for _ in range(5)]
    assert writer.write(batches)["record_count"].to_pylist() == [100, 100, 50]
