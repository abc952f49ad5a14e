"""The manifests of a commit: encoded once for all tries, stored when named, deleted where nobody names them."""

from __future__ import annotations

import io
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import fastavro
import numpy as np
import pyarrow as pa
import pytest
from tableformats_iceberg.manifests.manifest_list import DATA
from tableformats_iceberg.write.commit.manifest_merging import bins_to_merge
from tableformats_iceberg.write.commit.manifest_store import ManifestStore, current_schema, metadata_directory
from tableformats_iceberg.write.encode.added_entries import NewFiles, added_entries
from tableformats_iceberg.write.encode.entry_batches import EntryBatch

from tableformats.plugin import PartitionSpec
from tests.iceberg.commits.test_manifest_lists import row
from tests.support.iceberg_tables import metadata_json

SPEC = PartitionSpec(0, ())


class Files:
    """A table's directory in memory, below another root."""

    def __init__(self) -> None:
        self.content: dict[str, bytes] = {}
        self.storage = SimpleNamespace(put_new=self.content.__setitem__, delete=self.content.__delitem__)

    def locate(self, path: str) -> str:
        return path.replace("/old/t", "/table")


def entries(count: int) -> EntryBatch:
    paths, empty = pa.array([f"/t/{n}" for n in range(count)]), pa.array([{}] * count, pa.struct([]))
    files = NewFiles(paths, np.full(count, 70), np.full(count, 1), empty)
    return added_entries(files, 2, SPEC, 5, {}, {})


def store() -> tuple[ManifestStore, Files]:
    files: Any = Files()
    return ManifestStore(files, 5, "commit"), files


def encode(made: ManifestStore, key: str, count: int = 1, **changes: Any) -> list[Any]:
    return made.encode(key, entries(count), SPEC, DATA, metadata_json(**changes))


def test_what_is_encoded_is_stored_when_it_is_named() -> None:
    made, files = store()
    (first,), (second,) = encode(made, "a"), encode(made, "b", 2)
    assert made.find("a") == [first] and made.find("c") is None
    assert [one.row.path for one in (first, second)] == [f"/old/t/metadata/commit-m{n}.avro" for n in (0, 1)]
    assert [one.row.added_snapshot_id for one in (first, second)] == [5, 5]
    assert [len(one.entries) for one in (first, second)] == [1, 2]
    made.flush()
    assert files.content == {}
    made.add("/old/t/list", b"list")
    made.choose([second.row.path, "/old/t/list", "/old/t/unknown"])
    made.flush()
    assert sorted(files.content) == ["/table/list", "/table/metadata/commit-m1.avro"] == sorted(made.written)
    assert files.content["/table/list"] == b"list"
    files.content.clear()
    made.flush()
    made.choose([first.row.path, second.row.path])
    made.flush()
    assert sorted(files.content) == ["/table/metadata/commit-m0.avro"], "what is stored is not stored again"
    made.discard_unnamed()
    assert len(files.content) == 1


def test_what_is_stored_early_and_named_by_nobody() -> None:
    made, files = store()
    (first,), (second,) = encode(made, "a"), encode(made, "b")
    made.flush_early()
    assert len(files.content) == 2
    (third,) = encode(made, "c")
    made.flush_early()
    assert len(files.content) == 3
    made.choose([second.row.path])
    made.flush()
    made.discard_unnamed()
    assert sorted(files.content) == [files.locate(second.row.path)] and first.row.path != third.row.path


def test_entries_of_every_status() -> None:
    made, _ = store()
    every = replace(entries(6), status=np.array([1, 0, 0, 2, 2, 2]), sequence_number=np.array([-1, 1, 1, 1, 1, 1]))
    (found,) = made.encode("a", every, SPEC, DATA, metadata_json())
    assert len(found.entries) == 6 and (*found.row[7:10],) == (1, 2, 3)


def test_several_manifests_of_one_key() -> None:
    made, _ = store()
    count = 40_000
    found = encode(made, "a", count, properties={"commit.manifest.target-size-bytes": "1"})
    assert len(found) > 1 and sum(len(one.entries) for one in found) == count
    assert [one.row.path[-8:] for one in found[:2]] == ["-m0.avro", "-m1.avro"]
    ends = np.cumsum([one.row.added_files for one in found]).tolist()
    firsts = [one.entries.members[100][0].as_py()[1:].decode() for one in found]
    assert firsts == [f"/t/{end}" for end in [0, *ends[:-1]]]
    (after,) = encode(made, "b")
    assert after.row.path.endswith(f"-m{len(found)}.avro")


@pytest.mark.parametrize(
    ("members", "directory"),
    [
        ({}, "/old/t/metadata"),
        ({"location": "/old/t//"}, "/old/t/metadata"),
        ({"properties": {"write.metadata.path": "s3://b/m/"}}, "s3://b/m"),
        ({"properties": {"write.metadata.path": ""}}, "/old/t/metadata"),
        ({"properties": None}, "/old/t/metadata"),
    ],
)
def test_directories(members: dict[str, Any], directory: str) -> None:
    assert metadata_directory(metadata_json(**members)) == directory


FIRST = {"type": "struct", "schema-id": 4, "fields": [1]}


@pytest.mark.parametrize(
    ("members", "schema_id"),
    [
        ({"schemas": [{"schema-id": 1}, FIRST], "current-schema-id": 4}, 4),
        ({"schemas": [{"fields": []}, FIRST], "current-schema-id": 0}, None),
        ({"schemas": [FIRST], "current-schema-id": 9, "schema": {"schema-id": 7}}, 7),
        ({"schemas": None, "schema": {"schema-id": 7}}, 7),
    ],
)
def test_current_schemas(members: dict[str, Any], schema_id: int | None) -> None:
    assert current_schema(members).get("schema-id") == schema_id


@pytest.mark.parametrize(
    ("members", "head"),
    [
        ({}, ("[]", "0")),
        ({"partition-specs": [{"spec-id": 3, "fields": [1]}, {"spec-id": 0, "fields": [2]}]}, ("[2]", "0")),
        ({"partition-specs": [{"spec-id": 3, "fields": [1]}], "partition-spec": [5]}, ("[5]", "0")),
        ({"partition-specs": None}, ("[]", "0")),
        ({"schemas": [{"type": "struct", "fields": []}]}, ("[]", "0")),
        ({"schemas": [{"type": "struct", "schema-id": 6, "fields": []}], "current-schema-id": 6}, ("[]", "6")),
    ],
)
def test_heads(members: dict[str, Any], head: tuple[str, str]) -> None:
    made, files = store()
    encode(made, "a", **members)
    made.flush_early()
    (data,) = files.content.values()
    found = fastavro.reader(io.BytesIO(data)).metadata
    assert (found["partition-spec"], found["schema-id"]) == head


# ---- merging --------------------------------------------------------------------------------------------------------

SIZE, COUNT = "commit.manifest.target-size-bytes", "commit.manifest.min-count-to-merge"


@pytest.mark.parametrize(
    ("lengths", "properties", "groups"),
    [
        ([], {}, []),
        ([10], {COUNT: "1"}, []),
        ([10] * 99, {}, []),
        ([10] * 100, {}, [list(range(100))]),
        ([10] * 100, {"commit.manifest-merge.enabled": "false"}, []),
        ([10, 10], {COUNT: "2"}, [[0, 1]]),
        ([10, 10], {COUNT: "3"}, []),
        ([10, 10, 10], {COUNT: "2", SIZE: "20"}, [[1, 2]]),
        ([10, 10, 10, 10], {COUNT: "2", SIZE: "20"}, [[0, 1], [2, 3]]),
        ([10, 10, 10, 10], {COUNT: "3", SIZE: "20"}, [[2, 3]]),
        ([10, 11, 10], {COUNT: "2", SIZE: "20"}, []),
        ([5, 10, 11, 9], {COUNT: "2", SIZE: "20"}, [[0, 1], [2, 3]]),
        ([30, 10, 10], {COUNT: "2", SIZE: "20"}, [[1, 2]]),
        ([10, -1, 10], {COUNT: "2", SIZE: "20"}, [[0, 1, 2]]),
    ],
)
def test_groups(lengths: list[int], properties: dict[str, str], groups: list[list[int]]) -> None:
    """From the last manifest on; the group of the first one is merged only if there are enough."""
    listed = [row(str(n), length=length) for n, length in enumerate(lengths)]
    assert bins_to_merge(listed, properties) == groups


def test_groups_are_of_one_spec() -> None:
    listed = [row(str(n), length=1, spec_id=spec) for n, spec in enumerate((0, 1, 0, 1, None, None))]
    assert sorted(bins_to_merge(listed, {COUNT: "2"})) == [[0, 2], [1, 3], [4, 5]]
    assert sorted(bins_to_merge(listed, {COUNT: "3"})) == [[1, 3], [4, 5]]
