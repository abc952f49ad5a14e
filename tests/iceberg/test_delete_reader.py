"""What is read of delete files, and kept; and the table of deletes that entries of manifests give."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tableformats_iceberg.deletes import delete_files, delete_manifests
from tableformats_iceberg.deletes.delete_files import DeleteReader, _check_rows, _concat_within_limit, _group_by_path
from tableformats_iceberg.deletes.delete_index import DeleteIndex
from tableformats_iceberg.deletes.delete_manifests import DeleteManifestReader
from tableformats_iceberg.deletes.delete_table import ManifestSlice, SpecDeletes, deletes_of
from tableformats_iceberg.files.table_files import TableFiles
from tableformats_iceberg.manifests.entries import FILE_PATH_ID, EntriesRequest, read_entries
from tableformats_iceberg.manifests.manifest_list import DELETES, Manifest

import tableformats as tf
from tableformats.cache.metadata_cache import MetadataCache
from tableformats.io.storage import Storage
from tableformats.plugin import Field, PartitionSpec, primitive
from tableformats.plugin.report import ScanReport
from tests.iceberg.test_deletes import blob
from tests.support.iceberg_manifests import entry, manifest_bytes
from tests.support.iceberg_tables import parse


class Reader(DeleteReader):
    """Tells which files it reads."""

    def __init__(self, folder: Path, limits: tf.Limits | None = None, cache: MetadataCache | None = None) -> None:
        storage = Storage(folder, limits=limits or tf.Limits())
        files = TableFiles(storage, parse().location, str(folder), None, cache or MetadataCache(0))
        super().__init__(files, {1: Field(1, "a", primitive("long"))}.get)
        self.read: list[str] = []

    def _read(self, path: str, *more: Any) -> list[pa.Array]:
        self.read.append(path.rpartition("/")[2])
        return super()._read(path, *more)


def position_file(folder: Path, name: str, *pairs: tuple[str | None, int | None]) -> dict[str, Any]:
    """Write a file of positions; its row in the table of deletes."""
    paths, rows = ([pair[i] for pair in pairs] for i in (0, 1))
    pq.write_table(
        pa.table({"file_path": pa.array(paths, pa.string()), "pos": pa.array(rows, pa.int64())}), folder / name
    )
    return {"kind": "position", "path": str(folder / name), "file_format": "parquet"}


def positions(reader: DeleteReader, path: str, *rows: dict[str, Any]) -> list[int]:
    names = dict.fromkeys(name for row in rows for name in row)
    table = pa.table({name: [row.get(name) for row in rows] for name in names})
    return list(reader.deleted_positions(path, None, table))


def test_files_that_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as have room, those that were asked for last."""
    rows = [position_file(tmp_path, name, ("/f", n), ("/g", 9)) for n, name in enumerate("abc")]
    reader = Reader(tmp_path)
    assert [positions(reader, "/f", row) for row in rows] == [[0], [1], [2]]
    assert positions(reader, "/g", *rows) == [9] and reader.read == ["a", "b", "c"]
    size = reader._load(rows[0]).nbytes  # type: ignore[arg-type]
    assert size > 4 * 8
    monkeypatch.setattr(delete_files, "MAX_CACHED_BYTES", 2 * size)
    reader = Reader(tmp_path)
    for number in (0, 1, 0, 2, 0, 1, 2):
        positions(reader, "/f", rows[number])
    assert reader.read == ["a", "b", "c", "b", "c"], "at the third the one that was asked for last stays"
    monkeypatch.setattr(delete_files, "MAX_CACHED_BYTES", 2 * size - 1)
    reader = Reader(tmp_path)
    for number in (0, 0, 1, 1, 0):
        positions(reader, "/f", rows[number])
    assert reader.read == ["a", "b", "a"]
    monkeypatch.setattr(delete_files, "MAX_CACHED_BYTES", 0)
    reader = Reader(tmp_path)
    assert positions(reader, "/f", rows[0]) == positions(reader, "/f", rows[0]) == [0] and reader.read == ["a"]
    reader.after_fork()
    assert positions(reader, "/f", rows[0]) == [0] and reader.read == ["a", "a"]


def test_files_of_later_queries(tmp_path: Path) -> None:
    """They are read once; a local file that was replaced is read again."""
    cache = MetadataCache()
    row = position_file(tmp_path, "a", ("/f", 1))
    pq.write_table(pa.table({"a": pa.array([5, 6])}), tmp_path / "k")
    keys = {"kind": "equality", "path": str(tmp_path / "k"), "file_format": "parquet", "equality_ids": [1]}
    for read in (["a", "k"], []):
        reader = Reader(tmp_path, cache=cache)
        assert positions(reader, "/f", row) == [1]
        assert reader.equality_deletes(keys).to_pydict() == {"1": [5, 6]} and reader.read == read
    assert cache.used_bytes >= 4 * 8
    position_file(tmp_path, "a", *(("/f", n) for n in range(100)))
    pq.write_table(pa.table({"a": pa.array(range(100))}), tmp_path / "k")
    reader = Reader(tmp_path, cache=cache)
    assert positions(reader, "/f", row) == list(range(100))
    assert reader.equality_deletes(keys).num_rows == 100 and reader.read == ["a", "k"]


def test_many_positions_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delete_files, "_COPIED_POSITIONS", 2)
    row = position_file(tmp_path, "d", *(("/f", n) for n in (7, 3, 1, 5, 3)), ("/g", 2))
    assert positions(Reader(tmp_path), "/f", row) == [1, 3, 5, 7]


def test_deletes_of_all_kinds_together(tmp_path: Path) -> None:
    """Equality deletes have no positions."""
    (tmp_path / "v.puffin").write_bytes(blob([3, 8]))
    vector = {"kind": "deletion_vector", "path": str(tmp_path / "v.puffin"), "offset": 0, "cardinality": 2}
    vector["size_bytes"] = len(blob([3, 8]))
    row = position_file(tmp_path, "d", ("/f", 5))
    key = {"kind": "equality", "path": str(tmp_path / "nothing")}
    assert positions(Reader(tmp_path), "/f", vector, key, row) == [3, 5, 8]
    for wrong in ({"offset": -1}, {"size_bytes": -1}):
        with pytest.raises(tf.CorruptMetadataError, match="negative offset or size"):
            positions(Reader(tmp_path), "/f", {**vector, **wrong})
    with pytest.raises(tf.CorruptMetadataError) as caught:
        positions(Reader(tmp_path), "/f", {**vector, "size_bytes": 0})
    assert "negative" not in str(caught.value)


@pytest.mark.parametrize("encoded", [False, True])
def test_paths_that_are_not_utf_8(tmp_path: Path, encoded: bool) -> None:
    """Also where they stand in a dictionary."""
    good = pa.array([b"/f", b"/f"])
    bad = pa.Array.from_buffers(pa.string(), 2, pa.array([b"/f", b"\xff"]).buffers())
    for paths, is_right in ((good.cast(pa.string()), True), (bad, False)):
        pq.write_table(pa.table({"file_path": paths, "pos": [1, 2]}), tmp_path / "d", use_dictionary=encoded)
        row = {"kind": "position", "path": str(tmp_path / "d"), "file_format": "parquet"}
        if is_right:
            assert positions(Reader(tmp_path), "/f", row) == [1, 2]
            continue
        with pytest.raises(tf.CorruptMetadataError, match="not UTF-8") as caught:
            positions(Reader(tmp_path), "/f", row)
        assert caught.value.field == "file_path"


@pytest.mark.parametrize(
    ("limits", "name"),
    [
        ({}, None),
        ({"deleted_rows": 2}, None),
        ({"deleted_rows": 1}, "deleted_rows"),
        ({"file_rows": 8}, None),
        ({"file_rows": 7}, "file_rows"),
    ],
)
def test_limits_of_one_file(tmp_path: Path, limits: dict[str, int], name: str | None) -> None:
    """Rows 4 and 7 are deleted, so that the file has 8 rows at least."""
    row = position_file(tmp_path, "d", ("/f", 4), ("/f", 7), ("/g", 900))
    reader = Reader(tmp_path, tf.Limits(**limits))
    if name is None:
        assert positions(reader, "/f", row) == [4, 7]
        return
    with pytest.raises(tf.LimitExceededError, match=f"the limit {name} of") as caught:
        positions(reader, "/f", row)
    assert caught.value.path == str(tmp_path / "d")
    assert positions(reader, "/none", row) == []


@pytest.mark.parametrize("encoded", [False, True])
def test_positions_by_file(encoded: bool) -> None:
    """In the file's order; rows without a path delete nothing."""
    paths = pa.array(["b", None, "a", "b", "b"])
    found = _group_by_path(paths.dictionary_encode() if encoded else paths, pa.array([5, None, 0, 2, 5]), "d")
    grouped = {
        name: found.rows[start:stop].tolist()
        for name, start, stop in zip(found.paths.to_pylist(), found.offsets[:-1], found.offsets[1:], strict=True)
    }
    assert {name: rows for name, rows in grouped.items() if rows} == {"a": [0], "b": [5, 2, 5]}
    assert (
        found.offsets.dtype == np.int64
        and found.nbytes == found.rows.nbytes + found.offsets.nbytes + found.paths.nbytes
    )
    for wrong in ([5, 0, -1], [5, 0, None]):
        with pytest.raises(tf.CorruptMetadataError) as caught:
            _group_by_path(pa.array(["b", "a", "b"]), pa.array(wrong, pa.int64()), "d")
        assert (caught.value.field, caught.value.path) == ("pos", "d")
    nothing = _group_by_path(pa.array([None], pa.string()), pa.array([-1]), "d")
    assert nothing.offsets.tolist() == [0] and len(nothing.rows) == 0


def test_rows_that_a_file_may_have() -> None:
    """48 bytes each, of what may be made of its own bytes."""
    limits: Any = SimpleNamespace(
        check=lambda *_, **__: None, budget=lambda stored: 2 * stored, exceeded=lambda name, *_, **__: ValueError(name)
    )
    _check_rows(10, 240, "d", limits)
    with pytest.raises(ValueError, match="expansion"):
        _check_rows(11, 263, "d", limits)
    _check_rows(4, 1 << 20, "d", tf.Limits(entries=4))
    with pytest.raises(tf.LimitExceededError, match="the limit entries of 4"):
        _check_rows(5, 1 << 20, "d", tf.Limits(entries=4))


def test_batches_within_the_limit() -> None:
    batch = pa.record_batch({"a": pa.array([1, 2], pa.int64())})
    asked = []

    def batches() -> Any:
        for number in range(9):
            asked.append(number)
            yield batch

    limits: Any = SimpleNamespace(
        within=lambda stored: SimpleNamespace(decoded_bytes=stored), exceeded=lambda name, *_, **__: ValueError(name)
    )
    assert _concat_within_limit(batches(), batch.schema, "d", limits, 9 * 16).num_rows == 18
    asked.clear()
    with pytest.raises(ValueError, match="decoded_bytes"):
        _concat_within_limit(batches(), batch.schema, "d", limits, 3 * 16)
    assert asked == [0, 1, 2, 3], "one batch more than the limit"
    assert _concat_within_limit([], batch.schema, "d", limits, 0).schema == batch.schema


@pytest.mark.parametrize(("ids", "field"), [(None, "equality_ids"), ([], "equality_ids"), ([1, 7], "7")])
def test_keys_that_are_not_known(tmp_path: Path, ids: list[int] | None, field: str) -> None:
    with pytest.raises(tf.CorruptMetadataError) as caught:
        Reader(tmp_path).equality_deletes({"path": str(tmp_path / "e"), "file_format": "parquet", "equality_ids": ids})
    assert (caught.value.field, caught.value.path) == (field, str(tmp_path / "e"))


# ---- the table of deletes -------------------------------------------------------------------------------------------

SPECS = {0: PartitionSpec(0, ())}


def deletes(*records: dict[str, Any], slices: list[ManifestSlice]) -> pa.Table:
    data = manifest_bytes(records)
    manifest = Manifest("m", len(data), 0, DELETES, 9, 0, 1, -1, -1, -1, -1, -1, -1, None)
    found = deletes_of(read_entries(data, "m", manifest, EntriesRequest(SPECS, 0, [FILE_PATH_ID])), slices)
    assert found.spec_id == 0
    return found.table


def bounds(name: str) -> dict[str, Any]:
    """Of the column of paths: the deletes are of this file alone."""
    return {side: [{"key": FILE_PATH_ID, "value": name.encode()}] for side in ("lower_bounds", "upper_bounds")}


VECTOR = {"file_format": "PUFFIN", "referenced_data_file": "f", "content_offset": 4, "content_size_in_bytes": 44}
ALL = (
    entry("p", content=1, records=7),
    entry("named", content=1, referenced_data_file="g", **bounds("h")),
    entry("bound", content=1, **bounds("h")),
    entry("v", content=1, records=3, **VECTOR),
    entry("e", content=2, records=2, equality_ids=[1, 2], **bounds("h")),
)


def test_the_table_of_deletes() -> None:
    """The file that a delete names is one by its member, or by equal bounds; equality deletes name none."""
    found = deletes(*ALL, slices=[ManifestSlice(4, 2, "m4"), ManifestSlice(7, 3, "m7")])
    assert found["kind"].to_pylist() == ["position"] * 3 + ["deletion_vector", "equality"]
    assert found["path"].to_pylist() == ["p", "named", "bound", "v", "e"]
    assert found["offset"].to_pylist() == [None, None, None, 4, None]
    assert found["size_bytes"].to_pylist() == [100, 100, 100, 44, 100]
    assert found["cardinality"].to_pylist() == [None, None, None, 3, None]
    assert found["record_count"].to_pylist() == [7, 10, 10, 3, 2]
    assert found["file_format"].to_pylist() == ["parquet"] * 3 + ["puffin", "parquet"]
    assert [ids or None for ids in found["equality_ids"].to_pylist()] == [None, None, None, None, [1, 2]]
    assert found["data_sequence_number"].to_pylist() == [9] * 5 and found["spec_id"].to_pylist() == [0] * 5
    assert found["referenced_data_file"].to_pylist() == [None, "g", "h", "f", None]
    assert found["manifest"].to_pylist() == [4, 4, 7, 7, 7] and found["entry"].to_pylist() == [0, 1, 0, 1, 2]


@pytest.mark.parametrize("chosen", [(0,), (2,), (3,), (4,), (0, 4), (2, 4), (1, 3)])
def test_tables_of_some_kinds(chosen: tuple[int, ...]) -> None:
    every = deletes(*ALL, slices=[ManifestSlice(0, 5, "m")])
    some = deletes(*(ALL[i] for i in chosen), slices=[ManifestSlice(0, len(chosen), "m")])
    assert some.drop_columns(["entry"]).equals(every.take(list(chosen)).drop_columns(["entry"]))


@pytest.mark.parametrize("name", ["referenced_data_file", "content_offset", "content_size_in_bytes"])
@pytest.mark.parametrize(("first", "second", "path"), [(2, 1, "m7"), (1, 2, "m7"), (3, 0, "m4")])
def test_the_manifest_of_a_vector_without_its_place(name: str, first: int, second: int, path: str) -> None:
    made = entry("w", content=1, **{k: v for k, v in VECTOR.items() if k != name})
    slices = [ManifestSlice(4, first, "m4"), ManifestSlice(7, second, "m7")]
    records = [ALL[0], ALL[3], made]
    if path == "m7" and first == 1:
        records = [ALL[0], made, ALL[3]]
    with pytest.raises(tf.CorruptMetadataError) as caught:
        deletes(*records, slices=slices)
    assert (caught.value.field, caught.value.path) == (name, path)


def test_two_vectors_of_one_file() -> None:
    """The file that has two is named, whichever others have one."""
    records = [entry(f"v{n}", content=1, **{**VECTOR, "referenced_data_file": name}) for n, name in enumerate("acb")]
    files = pa.table(
        {
            "path": ["a", "b", "c"],
            "data_sequence_number": pa.array([1, 1, 1], pa.int64()),
            "spec_id": pa.array([0, 0, 0], pa.int32()),
            "partition": pa.array([{}] * 3, pa.struct([])),
        }
    )
    one = SpecDeletes(0, deletes(*records, slices=[ManifestSlice(0, 3, "m")]))
    data, of_file = DeleteIndex([one], SPECS).pairs(files)
    assert (data.tolist(), of_file.tolist()) == ([0, 1, 2], [0, 2, 1])
    for name in "abc":
        again = entry("w", content=1, **{**VECTOR, "referenced_data_file": name})
        two = SpecDeletes(0, deletes(*records, again, slices=[ManifestSlice(0, 4, "m")]))
        with pytest.raises(tf.CorruptMetadataError, match="two deletion vectors") as caught:
            DeleteIndex([two], SPECS).pairs(files)
        assert (caught.value.path, caught.value.field) == (name, "referenced_data_file")


def test_entries_that_are_read_again_for_more_columns() -> None:
    """What was read once is kept with all columns that were asked for."""
    asked = []

    def counted(manifest: Any, columns: Any) -> Any:
        asked.append((manifest.path, list(columns)))
        return f"{manifest.path}{len(asked)}", ScanReport(metadata_files_read=1, metadata_bytes_read=7)

    source: Any = SimpleNamespace(counted_entries=counted)
    listed = [
        Manifest(path, 50, 0, content, 9, 0, 1, -1, -1, -1, -1, -1, -1, None)
        for path, content in (("d", DELETES), ("f", 0))
    ]
    report = ScanReport()
    reader = DeleteManifestReader(source, listed, report)
    assert [reader.read(0, columns) for columns in ([], [], [3], [3], [], [1], [1, 3], [3])] == [
        *["d1"] * 2,
        *["d2"] * 3,
        *["d3"] * 3,
    ]
    assert asked == [("d", []), ("d", [3]), ("d", [1, 3])]
    assert (report.metadata_files_read, report.metadata_bytes_read) == (1, 7), "it is counted once"
    assert reader.read(1, []) == "f4" and report.metadata_files_read == 1, "planning counted manifests of data"


def test_manifests_are_read_alone_where_one_of_them_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was kept is not read again with the others."""
    monkeypatch.setattr(delete_manifests, "ManifestBatchReader", None)
    listed = [Manifest(path, 50, 0, DELETES, 9, 0, 1, -1, -1, -1, -1, -1, -1, None) for path in "abc"]
    asked = []

    def counted(manifest: Any, columns: Any) -> Any:
        asked.append(manifest.path)
        return SimpleNamespace(columns=SimpleNamespace(source=f"/t/{manifest.path}")), ScanReport()

    source: Any = SimpleNamespace(counted_entries=counted, is_cached=lambda manifest: manifest.path == "b")
    found = list(DeleteManifestReader(source, listed, ScanReport())._read_many(listed, []))
    assert [[(one.manifest.path, one.path) for one in reads] for _, reads in found] == [
        [("a", "/t/a")],
        [("b", "/t/b")],
        [("c", "/t/c")],
    ]
    assert asked == ["a", "b", "c"]


@pytest.mark.parametrize("keys", [[], [None], ["a", None, "bc", "a"]])
def test_keys_that_are_texts(tmp_path: Path, keys: list[str | None]) -> None:
    """Also of a file without rows, or without texts."""
    pq.write_table(pa.table({"a": pa.array(keys, pa.string())}), tmp_path / "e")
    reader = Reader(tmp_path)
    reader._find_field = {1: Field(1, "a", primitive("string"))}.get
    found = reader.equality_deletes({"path": str(tmp_path / "e"), "file_format": "parquet", "equality_ids": [1]})
    assert found["1"].to_pylist() == keys and found["1"].type == pa.string()
