"""Manifest lists that are written: rows of new manifests, rows that stay, first row ids, counts, and summaries."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any

import fastavro
import numpy as np
import pytest
from tableformats_iceberg.manifests.entries import EntriesRequest
from tableformats_iceberg.manifests.manifest_list import DATA, DELETES, Manifest
from tableformats_iceberg.write.encode.avro_files import Codec
from tableformats_iceberg.write.encode.entry_batches import FieldSummary
from tableformats_iceberg.write.encode.manifest_lists import NO_LIST, StoredList, counted, encode_list, read_list

from tableformats.plugin import DEFAULT_LIMITS, PartitionSpec
from tests.support.iceberg_manifests import SYNC, entry, fastavro_records, manifest_bytes, record
from tests.support.iceberg_tables import LIST

CODEC = Codec()


def row(path: str, content: int = DATA, first_row_id: int | None = None, **changes: Any) -> Manifest:
    found = Manifest(path, 11, 3, content, 9, 8, 42, 1, 2, 3, 10, 20, 30, first_row_id)
    return found._replace(**changes)


def encoded(
    stored: StoredList, kept: list[int], new: list[Manifest], version: int = 2, summaries: Any = (), first: int = 1000
) -> tuple[list[dict[str, Any]], int, bytes]:
    """(the rows as another reader has them, the next row id, the bytes)"""
    rows = [(one, summaries) for one in new]
    data, following = encode_list(stored, np.array(kept, np.int64), rows, {"a": "b"}, version, first, CODEC)
    return fastavro_records(data)[1], following, data


FIRST = {
    "manifest_path": "new",
    "manifest_length": 11,
    "partition_spec_id": 3,
    "content": DATA,
    "sequence_number": 9,
    "min_sequence_number": 8,
    "added_snapshot_id": 42,
    "added_files_count": 1,
    "existing_files_count": 2,
    "deleted_files_count": 3,
    "added_rows_count": 10,
    "existing_rows_count": 20,
    "deleted_rows_count": 30,
    "partitions": [],
    "key_metadata": None,
}


def test_rows_of_new_manifests() -> None:
    (found,), following, data = encoded(NO_LIST, [], [row("new")])
    assert found == FIRST and following == 1000
    header = fastavro.reader(io.BytesIO(data)).metadata
    assert (header["a"], header["format-version"]) == ("b", "2")
    (found,), _, _ = encoded(NO_LIST, [], [row("new")], 1)
    assert found == {k: v for k, v in FIRST.items() if k not in ("content", "sequence_number", "min_sequence_number")}
    assert encoded(NO_LIST, [], [])[0] == []


def test_ids_of_negative_snapshots() -> None:
    """They are any numbers; of all others -1 says that nothing is known, which version 1 allows for counts."""
    (found,), _, _ = encoded(NO_LIST, [], [row("new", added_snapshot_id=-5)])
    assert found["added_snapshot_id"] == -5
    (found,), _, _ = encoded(NO_LIST, [], [row("new", added_files=-1, deleted_rows=-1, existing_files=0)], 1)
    assert (found["added_files_count"], found["existing_files_count"], found["deleted_rows_count"]) == (None, 0, None)
    with pytest.raises(AssertionError):
        encoded(NO_LIST, [], [row("new", added_files=-1)])


def test_first_row_ids() -> None:
    """Data manifests without one get the next ones: one for each row that is added or that exists."""
    new = [row("a"), row("b", DELETES), row("c", first_row_id=7), row("d", existing_rows=0), row("e", first_row_id=0)]
    found, following, _ = encoded(NO_LIST, [], new, 3)
    assert [one["first_row_id"] for one in found] == [1000, None, 7, 1030, 0] and following == 1040
    found, following, data = encoded(NO_LIST, [], new, 2)
    assert "first_row_id" not in found[0] and following == 1000
    stored = read_list(data, "l", DEFAULT_LIMITS)
    found, following, data = encoded(stored, [0, 1, 3], [row("f")], 3)
    assert [(one["manifest_path"], one["first_row_id"]) for one in found] == [
        ("f", 1000),
        ("a", 1030),
        ("b", None),
        ("d", 1060),
    ]
    assert following == 1070
    stored = read_list(data, "l", DEFAULT_LIMITS)
    found, following, _ = encoded(stored, [0, 1, 2, 3], [], 3, first=5)
    assert [one["first_row_id"] for one in found] == [1000, 1030, None, 1060] and following == 5, "they stay"


SUMMARY = (FieldSummary(True, False, b"a", b"z"), FieldSummary(False, True, None, None))
STORED = [
    {"contains_null": True, "contains_nan": False, "lower_bound": b"a", "upper_bound": b"z"},
    {"contains_null": False, "contains_nan": True, "lower_bound": None, "upper_bound": None},
]


def test_summaries_of_new_manifests() -> None:
    found, _, data = encoded(NO_LIST, [], [row("a"), row("b")], 2, SUMMARY)
    assert [one["partitions"] for one in found] == [STORED, STORED]
    kept, _, _ = encoded(read_list(data, "l", DEFAULT_LIMITS), [1], [row("c")], 2, SUMMARY[:1])
    assert [one["partitions"] for one in kept] == [STORED[:1], STORED]


def list_of(fields: list[dict[str, Any]], *rows: dict[str, Any]) -> StoredList:
    """As another writer declares it."""
    out = io.BytesIO()
    fastavro.writer(out, fastavro.parse_schema({**LIST, "fields": fields}), rows, sync_marker=SYNC)
    return read_list(out.getvalue(), "l", DEFAULT_LIMITS)


PLAIN = [f for f in LIST["fields"] if f["name"] not in ("partitions", "first_row_id", "added_files_count")]
OF_OTHERS = {
    "manifest_path": "other",
    "manifest_length": 5,
    "partition_spec_id": 1,
    "content": 0,
    "sequence_number": 4,
    "added_snapshot_id": 6,
    "added_files_count": 1,
    "existing_files_count": 0,
    "added_rows_count": 2,
    "existing_rows_count": 0,
    "key_metadata": None,
}


def test_summaries_of_another_encoding() -> None:
    """They are encoded anew. Where it is not said whether there are nulls there may be some."""
    inner = record(
        ("contains_null", 509, ["null", "boolean"]),
        ("lower_bound", 510, ["bytes", "null"]),
        ("upper_bound", 511, ["null", "bytes"]),
        name="r508",
    )
    kind = ["null", {"type": "array", "items": inner, "element-id": 508}]
    fields = [*LIST["fields"][:-1], {"name": "partitions", "type": kind, "field-id": 507}]
    bounds = {"lower_bound": b"l", "upper_bound": None}
    rows = [
        {**OF_OTHERS, "manifest_path": "p", "partitions": [{"contains_null": None, **bounds}]},
        {**OF_OTHERS, "manifest_path": "q", "partitions": None},
        {**OF_OTHERS, "manifest_path": "r", "partitions": [{"contains_null": no, **bounds} for no in (False, True)]},
        {**OF_OTHERS, "manifest_path": "s", "partitions": []},
    ]
    stored = list_of(fields, *rows)
    stored = StoredList([one._replace(deleted_files=0, deleted_rows=0) for one in stored.rows], *_rest(stored))
    expected = [
        [{"contains_null": True, "contains_nan": None, **bounds}],
        None,
        [{"contains_null": no, "contains_nan": None, **bounds} for no in (False, True)],
        [],
    ]
    for kept in ([0, 1, 2, 3], [2], [0, 2], [1, 3], [1], [3]):
        found, _, _ = encoded(stored, kept, [])
        assert [one["partitions"] for one in found] == [expected[i] for i in kept]
        assert [one["manifest_path"] for one in found] == ["pqrs"[i] for i in kept]


def test_what_another_writer_says_of_nan() -> None:
    """It is kept as it is, where it is said at all."""
    inner = record(
        ("contains_null", 509, "boolean"),
        ("contains_nan", 518, ["boolean", "null"]),
        ("lower_bound", 510, ["null", "bytes"]),
        ("upper_bound", 511, ["null", "bytes"]),
        name="r508",
    )
    kind = ["null", {"type": "array", "items": inner, "element-id": 508}]
    fields = [*LIST["fields"][:-1], {"name": "partitions", "type": kind, "field-id": 507}]
    summaries = [
        {"contains_null": is_null, "contains_nan": nan, "lower_bound": b"l", "upper_bound": b"u"}
        for is_null, nan in ((True, True), (False, False), (True, None))
    ]
    stored = list_of(fields, {**OF_OTHERS, "partitions": summaries})
    stored = StoredList([one._replace(deleted_files=0, deleted_rows=0) for one in stored.rows], *_rest(stored))
    (found,), _, _ = encoded(stored, [0], [])
    assert found["partitions"] == summaries


def test_rows_of_another_writer_that_have_no_first_row_id() -> None:
    """Version 3 gives one to data manifests alone; those that have one keep it."""
    rows = [
        {**OF_OTHERS, "first_row_id": first, "content": content} for first, content in ((None, 0), (7, 0), (None, 1))
    ]
    stored = list_of([f for f in LIST["fields"] if f["name"] != "partitions"], *rows)
    kept = [one._replace(deleted_files=0, deleted_rows=0) for one in stored.rows]
    found, following, _ = encoded(StoredList(kept, *_rest(stored)), [0, 1, 2], [], 3, first=50)
    assert [one["first_row_id"] for one in found] == [50, 7, None] and following == 52


def _rest(stored: StoredList) -> tuple[Any, ...]:
    return stored.writers, stored.raw, stored.decoded


def test_members_that_a_writer_does_not_have() -> None:
    """Summaries are NULL, others are what the row says; members that are not known are kept as they are."""
    mine = {"name": "mine", "type": ["null", "string"], "field-id": 7000}
    stored = list_of([*PLAIN, mine], {**OF_OTHERS, "mine": "x"}, {**OF_OTHERS, "mine": None})
    rows = [one._replace(added_files=3, deleted_files=4, deleted_rows=5) for one in stored.rows]
    found, _, _ = encoded(StoredList(rows, *_rest(stored)), [0, 1], [row("new")])
    assert [one["partitions"] for one in found] == [[], None, None]
    assert [one["mine"] for one in found] == [None, "x", None]
    names = ("added_files_count", "deleted_files_count", "deleted_rows_count", "min_sequence_number")
    assert [found[1][name] for name in names] == [3, 4, 5, 0]


# ---- counts ---------------------------------------------------------------------------------------------------------

COUNTS = ("added_files", "existing_files", "deleted_files", "added_rows", "existing_rows", "deleted_rows")


@pytest.mark.parametrize("name", [None, *COUNTS])
def test_counts_that_a_list_lacks(name: str | None) -> None:
    """The manifest is read where one is missing, and says all of them."""
    entries = [entry(f"f{n}", status=status, records=10**n) for n, status in enumerate((1, 0, 2, 1, 0, 1))]
    reads = []

    def read_bytes(manifest: Manifest) -> tuple[bytes, str]:
        reads.append(manifest.path)
        return manifest_bytes([{**one, "sequence_number": 1} for one in entries]), manifest.path

    source: Any = SimpleNamespace(
        read_bytes=read_bytes,
        request=lambda columns, **more: EntriesRequest({0: PartitionSpec(0, ())}, 0, list(columns), **more),
    )
    known = dict(zip(COUNTS, (3, 2, 1, 101001, 10010, 100), strict=True))
    plain = row("m", spec_id=0, length=-1, **known)
    if name is None:
        assert counted(plain, source) is plain and reads == []
        zeros = plain._replace(**dict.fromkeys(COUNTS, 0))
        assert counted(zeros, source) is zeros and reads == []
        return
    lacking: dict[str, Any] = {name: -1}
    assert counted(plain._replace(**lacking), source) == plain and reads == ["m"]
