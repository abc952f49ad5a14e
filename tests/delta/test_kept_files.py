"""Which files of a table's directory nothing has to name, as VACUUM leaves them, and which files a log names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tableformats_delta.log.listing import list_log
from tableformats_delta.maintenance.kept_files import _is_kept, kept_files, member_names

from tableformats.io.storage import Storage
from tests.support.delta_changes import inline_vector
from tests.support.delta_log import (
    METADATA_TYPE,
    PROTOCOL_TYPE,
    UUIDS,
    WITH_VECTORS,
    DeltaLog,
    add,
    first_actions,
    remove,
    vector,
)

KEPT = [
    "_delta_log/00000000000000000000.json",
    "_delta_log/_last_checkpoint",
    "_delta_log/_commits/00000000000000000001.x.json",
    "_delta_log/_sidecars/.x.parquet.crc",
    "_delta_log/_sidecars",
    "_delta_logs/x.parquet",
    "_hidden/x.parquet",
    ".hidden/x.parquet",
    "a/_hidden/x.parquet",
    "a/.x.parquet.crc",
    "_x.parquet",
    "a/_x=1",
    "_x=1",
    "_change_data",
    "a/_change_data/x.parquet",
    "p=1/_change_data/x.parquet",
    "_p=1/_x.parquet",
]
NAMED = [
    "x.parquet",
    "a/x.parquet",
    "p=1/x.parquet",
    "_p=1/x.parquet",
    ".p=1/q=2/x.parquet",
    "a/_p=1/x.parquet",
    "_change_data/x.parquet",
    "_change_data/_p=1/x.parquet",
    "_delta_log/_sidecars/x.parquet",
]


@pytest.mark.parametrize("path", KEPT)
def test_what_is_kept(path: str) -> None:
    assert _is_kept(path)


@pytest.mark.parametrize("path", NAMED)
def test_what_must_be_named(path: str) -> None:
    assert not _is_kept(path)


# ---- what the log names ----------------------------------------------------------------------------------------------


@pytest.fixture
def log(tmp_path: Path) -> DeltaLog:
    return DeltaLog(tmp_path / "t").start(protocol=WITH_VECTORS)


def named(log: DeltaLog) -> list[str]:
    """Relative to the table."""
    storage = Storage(log.root)
    found = kept_files(storage, list_log(storage), log.snapshot())
    return sorted(path.removeprefix(f"{log.root}/") for array in found.named for path in array.to_pylist())


def vector_name(number: int) -> str:
    return f"deletion_vector_{UUIDS[number]}.bin"


def in_checkpoint(action: dict[str, Any]) -> dict[str, Any]:
    return {kind: {**content, "partitionValues": []} for kind, content in action.items()}


def checkpoint_name(version: int) -> str:
    return f"{version:020d}.checkpoint.parquet"


def test_files_of_commits_and_compactions(log: DeltaLog) -> None:
    """Of adds, removes and changes, and the files of their vectors. A vector that stands in the log is no file."""
    log.commit(1, add("a%20b"), add("b", deletionVector=vector(0)), add("c", deletionVector=inline_vector(1)))
    log.commit(
        2, remove("b", deletionVector=vector(1)), {"cdc": {"path": "_change_data/d", "partitionValues": {}, "size": 1}}
    )
    elsewhere = {**vector(2), "storageType": "p", "pathOrInlineDv": f"{log.root}/vectors/e%20f.bin"}
    log.commit(3, add("b", deletionVector=elsewhere))
    found = ["_change_data/d", "a b", "b", "b", "b", "c", vector_name(0), vector_name(1), "vectors/e f.bin"]
    assert named(log) == found
    log.write(f"{1:020d}.{2:020d}.compacted.json", json.dumps(add("e")).encode())
    assert named(log) == sorted([*found, "e"])


@pytest.mark.parametrize(
    ("gone", "read"),
    [((), []), ((0,), ["one"]), ((0, 1), ["one"]), ((0, 1, 2), ["one", "three"]), ((0, 1, 2, 3), ["one", "three"])],
)
def test_checkpoints_of_which_commits_are_gone(log: DeltaLog, gone: tuple[int, ...], read: list[str]) -> None:
    """A checkpoint is read where the commits up to it, from the last one on, do not say all that it says."""
    for version in (1, 2, 3):
        log.commit(version, add(f"f{version}"))
    for version, name in ((1, "one"), (3, "three")):
        log.checkpoint(checkpoint_name(version), *first_actions(protocol=WITH_VECTORS), in_checkpoint(add(name)))
    for version in gone:
        (log.directory / f"{version:020d}.json").unlink()
    commits = [f"f{version}" for version in (1, 2, 3) if version not in gone]
    assert named(log) == sorted([*(f"_delta_log/{checkpoint_name(n)}" for n in (1, 3)), *commits, *read])


def only_checkpoint(log: DeltaLog) -> DeltaLog:
    (log.directory / f"{0:020d}.json").unlink()
    return log


def test_files_of_a_checkpoint(log: DeltaLog) -> None:
    adds = [add("a", deletionVector=vector(0)), add("b")]
    log.checkpoint(checkpoint_name(0), *first_actions(protocol=WITH_VECTORS), *map(in_checkpoint, adds))
    assert named(only_checkpoint(log)) == [f"_delta_log/{checkpoint_name(0)}", "a", "b", vector_name(0)]


def write_tombstones(log: DeltaLog, column: pa.Array) -> None:
    """A checkpoint whose last row is one, and that has no column of adds."""
    protocol, metadata = first_actions(protocol=WITH_VECTORS)
    columns = {
        "protocol": pa.array([protocol["protocol"], None, None], PROTOCOL_TYPE),
        "metaData": pa.array([None, metadata["metaData"], None], METADATA_TYPE),
    }
    pq.write_table(pa.table({**columns, "remove": column}), log.directory / checkpoint_name(0))


def test_tombstones_of_a_checkpoint(log: DeltaLog) -> None:
    write_tombstones(log, pa.array([None, None, {"path": "gone", "deletionVector": vector(2)}]))
    assert named(only_checkpoint(log)) == [f"_delta_log/{checkpoint_name(0)}", vector_name(2), "gone"]


@pytest.mark.parametrize(
    ("column", "found"),
    [
        (pa.array([None, None, {"path": "a"}]), ["a"]),
        (pa.array([None, None, {"size": 1}]), []),
        (pa.array([None, None, {"deletionVector": {"storageType": "u"}}]), []),
        (pa.array([None, None, 5]), []),
    ],
)
def test_columns_without_paths(log: DeltaLog, column: pa.Array, found: list[str]) -> None:
    write_tombstones(log, column)
    assert named(only_checkpoint(log)) == [f"_delta_log/{checkpoint_name(0)}", *found]


def test_manifests_of_json_and_sidecars(log: DeltaLog) -> None:
    manifest, sidecar = f"{0:020d}.checkpoint.{UUIDS[0]}.json", "s.parquet"
    protocol, metadata = log.actions(0)
    actions = [
        protocol,
        metadata,
        {"checkpointMetadata": {"version": 0}},
        add("a", deletionVector=vector(3)),
        remove("b"),
        {"sidecar": {"path": sidecar, "sizeInBytes": 1, "modificationTime": 1}},
    ]
    log.write(manifest, "".join(json.dumps(one) + "\n" for one in actions).encode())
    log.checkpoint(f"_sidecars/{sidecar}", in_checkpoint(add("c")))
    names = [f"_delta_log/{manifest}", f"_delta_log/_sidecars/{sidecar}", "a", "b", "c", vector_name(3)]
    assert named(only_checkpoint(log)) == sorted(names)


def test_members_of_a_struct() -> None:
    assert member_names(pa.struct({"a": pa.int8(), "b": pa.struct({"c": pa.int8()})})) == {"a", "b"}
    assert member_names(pa.int8()) == set()
