"""The entries of one manifest, and of several read as one: what they inherit, what they weigh, and what is refused."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import fastavro
import numpy as np
import pyarrow as pa
import pytest
from tableformats_iceberg.avro.container import read_header
from tableformats_iceberg.manifests.entries import (
    Entries,
    EntriesRequest,
    Inherited,
    check_against_list,
    entry_positions,
    manifest_spec_id,
    read_entries,
    read_entries_of_manifests,
    with_entry_positions,
)
from tableformats_iceberg.manifests.manifest_list import DATA, DELETES, Manifest

import tableformats as tf
from tableformats.errors import CorruptMetadataError
from tableformats.plugin import PartitionField, PartitionSpec, parse_transform, primitive
from tableformats.plugin.report import ScanReport
from tests.support.iceberg_manifests import SYNC, entry, entry_schema, manifest_bytes
from tests.support.iceberg_tables import table_with

UNPARTITIONED = {0: PartitionSpec(0, ())}
FILE_PATH = 2147483546
"""The id of the column of position deletes that names data files."""


def listed(content: int = DATA, **more: Any) -> Manifest:
    """A row of a manifest list: its counts and its length are unknown."""
    known: dict[str, Any] = dict.fromkeys(Manifest._fields, -1)
    known |= {"path": "m", "spec_id": 0, "content": content, "sequence_number": 5, "min_sequence_number": 0}
    return Manifest(**{**known, "added_snapshot_id": 7, "first_row_id": None, **more})


def entries_of(*files: dict[str, Any], row: Manifest | None = None, every: bool = False, **options: Any) -> Entries:
    data = manifest_bytes(files, **options)
    return read_entries(data, "m", row or listed(), EntriesRequest(UNPARTITIONED, all_statuses=every))


# ---- one manifest ---------------------------------------------------------------------------------------------------


def test_files_and_what_is_read_of_them() -> None:
    found = entries_of(
        entry("a", records=3, file_size_in_bytes=7, split_offsets=[4, 8]),
        entry("gone", status=2),
        entry("b", status=0, sequence_number=2, first_row_id=90, split_offsets=[]),
        row=listed(first_row_id=40),
    )
    assert found.files.to_pylist() == [
        {
            "path": path,
            "size_bytes": size,
            "record_count": records,
            "partition": {},
            "split_offsets": splits,
            "data_sequence_number": number,
            "first_row_id": first,
        }
        for path, size, records, splits, number, first in (("a", 7, 3, [4, 8], 5, 40), ("b", 100, 10, [], 2, 90))
    ]
    assert found.status.tolist() == [1, 0] and found.snapshot_ids.to_pylist() == [7, 7]
    assert (found.spec_id, found.added_by) == (0, 7)


def test_which_entries_a_snapshot_added_or_deleted() -> None:
    own, other = {"snapshot_id": 7}, {"snapshot_id": 8}
    files = [entry("a"), entry("b", status=2), entry("c"), entry("d", status=0, sequence_number=1)]
    found = entries_of(*({**f, **by} for f, by in zip(files, (own, own, other, {}), strict=True)), every=True)
    assert found.snapshot_ids.to_pylist() == [7, 7, 8, 7]
    given = {(status, by): found.given(status, by).tolist() for status in (0, 1, 2) for by in (7, 8, 9)}
    assert {key: rows for key, rows in given.items() if rows} == {(0, 7): [3], (1, 7): [0], (1, 8): [2], (2, 7): [1]}
    unknown = entries_of(entry("a"), row=listed(added_snapshot_id=None))
    assert unknown.snapshot_ids.to_pylist() == [None] and unknown.given(1, 7).tolist() == []


def test_chosen_entries() -> None:
    found = entries_of(entry("a"), entry("b"), entry("c", status=0, sequence_number=1))
    assert found.take(np.array([0, 1, 2])) is found
    two = found.take(np.array([2, 1]))
    assert (two.files["path"].to_pylist(), two.status.tolist()) == (["c", "b"], [0, 1])
    one = two.take(np.array([0]))
    assert (one.files["path"].to_pylist(), one.status.tolist()) == (["c"], [0])
    part = found.slice(listed(added_snapshot_id=9), 1, 3)
    assert (part.files["path"].to_pylist(), part.status.tolist(), part.added_by) == (["b", "c"], [1, 0], 9)
    assert part.snapshot_ids.to_pylist() == [9, 9]


def test_memory_of_entries() -> None:
    """Their files, and their part of the columns that they share with others."""
    found = entries_of(*(entry(f"data/{i}") for i in range(4)))
    columns = found.columns.nbytes
    assert columns > 0 and found.nbytes == found.files.nbytes + columns
    half = found.slice(listed(), 1, 3)
    assert half.nbytes == half.files.nbytes + columns // 2
    alone = entries_of(entry("a"))
    assert alone.nbytes == alone.files.nbytes + alone.columns.nbytes
    nothing = entries_of()
    assert nothing.nbytes == nothing.files.nbytes


def test_file_formats() -> None:
    assert "file_format" not in entries_of(entry("a"), entry("b")).files.schema.names
    formats = ["PARQUET", "parquet", "ORC", "Avro"]
    found = entries_of(*(entry("a", file_format=name) for name in formats))
    assert found.files["file_format"].to_pylist() == ["parquet", "parquet", "orc", "avro"]
    for others in (["PARQUET", "PARQUEX"], ["PARQUETP", "ARQUET"]):
        found = entries_of(*(entry("a", file_format=name) for name in others))
        assert found.files["file_format"].to_pylist() == [name.lower() for name in others]


@pytest.mark.parametrize(
    ("stored", "in_list", "default", "spec_id"),
    [("3", None, 1, 3), ("3", 2, 1, 2), (None, None, 1, 1), (None, 0, 1, 0), ("x", None, 1, 1), ("0", None, 1, 0)],
)
def test_the_spec_of_a_manifest(stored: str | None, in_list: int | None, default: int, spec_id: int) -> None:
    metadata = {} if stored is None else {"partition-spec-id": stored}
    header = read_header(manifest_bytes([entry("a")], metadata=metadata), "m")
    assert manifest_spec_id(header, listed(spec_id=in_list), default) == spec_id


@pytest.mark.parametrize(
    ("content", "file", "words", "field"),
    [
        (DATA, entry("a", status=3), "an entry has an unknown status", "status"),
        (DATA, entry("a", status=-1), "an entry has an unknown status", "status"),
        (DATA, entry("a", content=1), "a file's content does not fit its manifest's", "content"),
        (DATA, entry("a", content=2), "a file's content does not fit its manifest's", "content"),
        (DELETES, entry("a", content=0), "a file's content does not fit its manifest's", "content"),
        (DELETES, entry("a", content=3), "a file's content does not fit its manifest's", "content"),
        (DATA, entry("a", records=-1), "a file has a negative size or record count", "record_count"),
        (DATA, entry("a", file_size_in_bytes=-1), "a file has a negative size or record count", "record_count"),
    ],
)
def test_entries_that_are_none(content: int, file: dict[str, Any], words: str, field: str) -> None:
    with pytest.raises(CorruptMetadataError, match=words) as caught:
        entries_of(entry("ok", content=content), file, row=listed(content))
    assert (caught.value.field, caught.value.path) == (field, "m")


@pytest.mark.parametrize(("octet", "words"), [(b"\0", "a string holds NUL"), (b"\xff", "a string is not UTF-8")])
def test_paths_that_are_no_text(octet: bytes, words: str) -> None:
    data = manifest_bytes([entry("a*b")]).replace(b"a*b", b"a" + octet + b"b")
    with pytest.raises(CorruptMetadataError, match=words) as caught:
        read_entries(data, "m", listed(), EntriesRequest(UNPARTITIONED))
    assert (caught.value.field, caught.value.path) == ("file_path", "m")


def test_the_least_that_entries_may_say() -> None:
    found = entries_of(entry("a", status=0, sequence_number=0, records=0, file_size_in_bytes=0), entry("b", status=2))
    assert found.files.select(["size_bytes", "record_count"]).to_pylist() == [{"size_bytes": 0, "record_count": 0}]


@pytest.mark.parametrize(
    ("number", "status", "found"), [(5, 1, 5), (5, 2, 5), (0, 0, 0), (0, 1, 0), (5, 0, None), (-1, 0, None)]
)
def test_sequence_numbers_that_are_inherited(number: int, status: int, found: int | None) -> None:
    """An existing file has its own, unless its manifest's is 0: it was made by version 1."""
    row = listed(sequence_number=number)
    if found is None:
        with pytest.raises(CorruptMetadataError, match="an existing file has no sequence number") as caught:
            entries_of(entry("a", status=status), row=row)
        assert caught.value.field == "sequence_number"
    else:
        entries = entries_of(entry("a", status=status), entry("b", status=0, sequence_number=3), row=row, every=True)
        assert entries.files["data_sequence_number"].to_pylist() == [found, 3]


# ---- deletes --------------------------------------------------------------------------------------------------------


def bound(value: bytes) -> list[dict[str, Any]]:
    return [{"key": FILE_PATH, "value": value}]


def test_delete_files() -> None:
    more = {"referenced_data_file": "d", "content_offset": 4, "content_size_in_bytes": 9, "file_format": "PUFFIN"}
    found = entries_of(
        entry("p", content=1, **more), entry("e", content=2, equality_ids=[3, 1]), row=listed(DELETES, first_row_id=4)
    ).files
    names = ["content", "equality_ids", "referenced_data_file", "content_offset", "content_size_in_bytes"]
    assert [tuple(row.values()) for row in found.select([*names, "file_format", "first_row_id"]).to_pylist()] == [
        (1, [], "d", 4, 9, "puffin", None),
        (2, [3, 1], None, None, None, "parquet", None),
    ]
    assert found.schema.field("content").type == pa.int32()


@pytest.mark.parametrize(
    ("bounds", "paths"),
    [
        ([(b"d", b"d"), (b"e", b"e")], ["d", "e"]),
        ([(b"d", b"d"), (b"d", b"e")], ["d", None]),
        ([(b"d", b"d"), (None, b"e")], ["d", None]),
        ([(None, b"d"), (None, b"e")], [None, None]),
        ([(b"d", b"d"), (b"\xff", b"\xff")], [None, None]),
    ],
)
def test_the_only_data_file_of_position_deletes(
    bounds: list[tuple[bytes | None, bytes | None]], paths: list[str | None]
) -> None:
    files = [
        entry(
            str(i),
            content=1,
            **({} if low is None else {"lower_bounds": bound(low)}),
            **({} if high is None else {"upper_bounds": bound(high)}),
        )
        for i, (low, high) in enumerate(bounds)
    ]
    request = EntriesRequest(UNPARTITIONED, columns=[FILE_PATH])
    found = read_entries(manifest_bytes(files), "m", listed(DELETES), request)
    assert found.files["only_path"].to_pylist() == paths
    # The bounds are not kept: they are most of the memory, and nobody asks for them again.
    assert [found.columns.map_columns((2, i)) for i in (125, 128)] == [{}, {}]


def test_position_deletes_with_bounds_of_one_side() -> None:
    """The writer's schema has no map of the other bounds."""
    for side in ("lower_bounds", "upper_bounds"):
        schema = entry_schema()
        file = schema["fields"][-1]["type"]
        file["fields"] = [f for f in file["fields"] if f["name"] != side]
        other = ({"lower_bounds", "upper_bounds"} - {side}).pop()
        data = encoded(schema, entry("p", content=1, **{other: bound(b"d")}))
        found = read_entries(data, "m", listed(DELETES), EntriesRequest(UNPARTITIONED, columns=[FILE_PATH]))
        assert found.files["only_path"].to_pylist() == [None]


def test_files_without_a_path() -> None:
    schema = entry_schema()
    for member in schema["fields"][-1]["type"]["fields"]:
        if member["name"] == "file_path":
            member["type"] = ["null", "string"]
    data = encoded(schema, {**entry("a"), "data_file": {**entry("a")["data_file"], "file_path": None}})
    with pytest.raises(CorruptMetadataError, match="a required field is missing or null") as caught:
        read_entries(data, "m", listed(), EntriesRequest(UNPARTITIONED))
    assert caught.value.field == "file_path"


@pytest.mark.parametrize("content", [0, 2])
@pytest.mark.parametrize("number", [2**31, 2**32 + 1, -(2**31) - 1])
def test_field_ids_of_more_than_32_bits(tmp_path: Path, content: int, number: int) -> None:
    """They would be those of other columns. Data files have none, so that planning does not look at theirs."""
    schema = entry_schema()
    for member in schema["fields"][-1]["type"]["fields"]:
        if member["name"] == "equality_ids":
            member["type"][1]["items"] = "long"
    files = [entry(f"/old/t/{i}", content=content, sequence_number=1, equality_ids=[2**31 - 1, i]) for i in (1, number)]
    row = {"content": int(content > 0), "sequence_number": 1}
    table = tf.open_table(table_with(tmp_path, (encoded(schema, *files), row)), relocate=True)
    calls: list[Any] = [table.inspect.files, table.inspect.entries]
    if content:
        calls.append(lambda: table.snapshot().format_snapshot.delete_index)
    for call in calls:
        with pytest.raises(CorruptMetadataError, match="a field id does not fit into 32 bits") as caught:
            call()
        assert (caught.value.field, caught.value.path) == ("equality_ids", f"{tmp_path}/metadata/m0.avro")


@pytest.mark.parametrize("number", [2**31, 2**32 + 1, -(2**31) - 1])
def test_sort_orders_of_more_than_32_bits(tmp_path: Path, number: int) -> None:
    """They would be shown as other orders."""
    schema = entry_schema()
    for member in schema["fields"][-1]["type"]["fields"]:
        if member["name"] == "sort_order_id":
            member["type"] = ["null", "long"]
    files = [entry(f"/old/t/{i}", sequence_number=1, sort_order_id=i) for i in (1, number)]
    row = {"content": 0, "sequence_number": 1}
    table = tf.open_table(table_with(tmp_path, (encoded(schema, *files), row)), relocate=True)
    for call in (table.inspect.files, table.inspect.entries):
        with pytest.raises(CorruptMetadataError, match="a sort order does not fit into 32 bits") as caught:
            call()
        assert (caught.value.field, caught.value.path) == ("sort_order_id", f"{tmp_path}/metadata/m0.avro")


def encoded(schema: dict[str, Any], *files: dict[str, Any]) -> bytes:
    out = io.BytesIO()
    fastavro.writer(out, fastavro.parse_schema(schema), files, sync_marker=SYNC)
    return out.getvalue()


# ---- several manifests ----------------------------------------------------------------------------------------------


def read_together(*manifests: tuple[Manifest, list[dict[str, Any]]]) -> tuple[Entries, list[int]]:
    stored = [(manifest_bytes(files), row) for row, files in manifests]
    found = ((data, read_header(data, "m"), row) for data, row in stored)
    rows = [row for row, _ in manifests]
    decoded = read_entries_of_manifests(found, rows, UNPARTITIONED[0], EntriesRequest(UNPARTITIONED))
    assert decoded is not None
    return decoded


def test_numbers_of_several_manifests() -> None:
    entries, ends = read_together(
        (listed(sequence_number=4, first_row_id=100), [entry("a", records=3), entry("b", records=5)]),
        (listed(sequence_number=6), [entry("c", records=2)]),
        (listed(sequence_number=0, first_row_id=0), [entry("d", records=7, first_row_id=50), entry("e")]),
    )
    assert (ends, entries.added_by) == ([2, 3, 5], None)
    assert entries.files["path"].to_pylist() == ["a", "b", "c", "d", "e"]
    assert entries.files["data_sequence_number"].to_pylist() == [4, 4, 6, 0, 0]
    assert entries.files["first_row_id"].to_pylist() == [100, 103, None, 50, 0]


def test_one_manifest_of_several() -> None:
    entries, ends = read_together((listed(first_row_id=7), [entry("a")]))
    assert (entries.files["first_row_id"].to_pylist(), ends) == ([7], [1])


def test_what_manifests_give_to_their_entries() -> None:
    found = Inherited([listed(DELETES), listed(DELETES), listed(DELETES)], [2, 2, 5])
    assert (found.content, found.starts.tolist()) == (DELETES, [0, 2, 2])
    assert found.expand([10, 11, 12]).tolist() == [10, 10, 12, 12, 12]


def test_positions_of_entries() -> None:
    found = entry_positions([4, 7, 9], [2, 0, 3])
    assert {name: values.to_pylist() for name, values in found.items()} == {
        "manifest": [4, 4, 9, 9, 9],
        "entry": [0, 1, 0, 1, 2],
    }
    assert {values.type for values in found.values()} == {pa.int32()}
    files = pa.RecordBatch.from_pydict({"path": ["a", "b"]})
    assert with_entry_positions(files, [3, 5], [1, 1]).to_pylist() == [
        {"path": "a", "manifest": 3, "entry": 0},
        {"path": "b", "manifest": 5, "entry": 0},
    ]


@pytest.mark.parametrize(
    "damaged", [entry("x", status=3), entry("x", records=-1), entry("x", content=1)], ids=["status", "count", "content"]
)
def test_a_damaged_manifest_among_several(damaged: dict[str, Any]) -> None:
    """None: each is read by itself then, and the damaged one is named."""
    stored = [(manifest_bytes([entry("a")]), listed()), (manifest_bytes([damaged]), listed())]
    found = ((data, read_header(data, "m"), row) for data, row in stored)
    request = EntriesRequest(UNPARTITIONED)
    assert read_entries_of_manifests(found, [row for _, row in stored], UNPARTITIONED[0], request) is None


# ---- what the list says ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "live", "row", "noted"),
    [
        (100, 3, {"length": 100, "added_files": 1, "existing_files": 2}, []),
        (100, 3, {"length": 100, "added_files": 1, "existing_files": 1}, ["has 3 live files, its list says 2"]),
        (100, 3, {"length": 100}, []),
        (100, 3, {"length": 100, "added_files": 9}, []),
        (100, 3, {"length": 100, "existing_files": 9}, []),
        (100, 3, {}, []),
        (100, 0, {"length": 0, "added_files": 0, "existing_files": 0}, ["has 100 bytes, its list says 0"]),
        (90, 3, {"length": 100, "added_files": 3, "existing_files": 0}, ["has 90 bytes, its list says 100"]),
        (90, 3, {"length": 100, "added_files": 0, "existing_files": 3}, ["has 90 bytes, its list says 100"]),
        (110, 3, {"length": 100, "added_files": 0, "existing_files": 3}, ["has 110 bytes, its list says 100"]),
        (110, 3, {"length": 100}, ["has 110 bytes, its list says 100"]),
        (90, 3, {"length": 100, "added_files": 2, "existing_files": 0}, "has 90 bytes, its list says 100"),
        (90, 3, {"length": 100}, "has 90 bytes, its list says 100"),
        (90, 3, {"length": 100, "added_files": 3}, "has 90 bytes, its list says 100"),
        (90, 3, {"length": 100, "existing_files": 3}, "has 90 bytes, its list says 100"),
        (110, 3, {"length": 100, "added_files": 2, "existing_files": 0}, "has 110 bytes and 3 live files"),
        (1, 3, {"length": 0, "added_files": 2, "existing_files": 0}, "has 1 bytes and 3 live files"),
    ],
)
def test_manifests_and_their_lists(size: int, live: int, row: dict[str, Any], noted: list[str] | str) -> None:
    """Notes where it is the manifest of the list all the same; else the error."""
    report = ScanReport()
    if isinstance(noted, list):
        check_against_list(size, live, "p", listed(**row), report)
        assert report.notes == [f"the manifest 'p' {note}" for note in noted]
        check_against_list(size, live, "p", listed(**row), None)
        return
    with pytest.raises(CorruptMetadataError, match=noted) as caught:
        check_against_list(size, live, "p", listed(**row), report)
    assert (caught.value.field, caught.value.path) == ("manifest_length", "p")
    assert caught.value.offset == (size if size < row["length"] else None)


def test_a_manifest_that_was_cut_is_called_so_whatever_does_not_decode() -> None:
    data = manifest_bytes([entry("a", status=3)])
    request = EntriesRequest(UNPARTITIONED)
    with pytest.raises(CorruptMetadataError, match="an entry has an unknown status"):
        read_entries(data, "m", listed(length=len(data)), request)
    with pytest.raises(CorruptMetadataError, match="its list says") as caught:
        read_entries(data, "m", listed(length=len(data) + 1), request)
    assert isinstance(caught.value.__cause__, CorruptMetadataError) and caught.value.__cause__.field == "status"


def test_deleted_entries_are_no_live_ones() -> None:
    """Also where all entries are shown, only live ones are compared with the list's counts."""
    files = [entry("a"), entry("b", status=2), entry("c", status=0, sequence_number=1)]
    data = manifest_bytes(files)
    row = listed(length=len(data), added_files=1, existing_files=1)
    for every in (True, False):
        report = ScanReport()
        found = read_entries(data, "m", row, EntriesRequest(UNPARTITIONED, all_statuses=every), report)
        assert (found.files.num_rows, report.notes) == (3 if every else 2, [])


def test_a_spec_that_the_table_does_not_have() -> None:
    with pytest.raises(CorruptMetadataError, match="the table has no partition spec 4") as caught:
        entries_of(entry("a"), row=listed(spec_id=4))
    assert caught.value.field == "partition_spec_id"


def test_partition_values_by_field_id() -> None:
    identity = parse_transform("identity")
    spec = PartitionSpec(0, (PartitionField(1000, "p", 1, identity, primitive("long")),))
    data = manifest_bytes([entry("a", partition={"p": 5}), entry("b", partition={"p": None})], [("p", 1000, "int")])
    found = read_entries(data, "m", listed(), EntriesRequest({0: spec}))
    assert found.files["partition"].to_pylist() == [{"1000": 5}, {"1000": None}]
    assert found.files["partition"].type == pa.struct([("1000", pa.int64())])


def test_columns_whose_statistics_are_asked_for() -> None:
    assert EntriesRequest({}, columns=[3, 1, 3]).keys == [1, 3]
