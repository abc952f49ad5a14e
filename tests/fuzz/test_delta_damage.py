"""Every byte of every kind of file in a Delta log changed in its turn: an answer or one typed error, nothing else.

The tables are as small as they can be with one file of each kind. Cuts, runs of random bytes and what single files
must say to a change stand in the plugin's tests. With ``TF_FUZZ_ALL=1`` no position is left out (some minutes); else
every thirteenth is taken.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tableformats import open_table
from tableformats.errors import TableFormatsError
from tests.fuzz.checkpoint_types import KINDS
from tests.support.delta_log import (
    UUIDS,
    DeltaLog,
    add,
    compaction_name,
    first_actions,
    portable,
    remove,
    schema_string,
    stats,
    vector,
    vector_file,
)
from tests.support.delta_log import field as column

FEATURES = ["deletionVectors", "v2Checkpoint"]
PROTOCOL = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": FEATURES, "writerFeatures": FEATURES}
VECTOR = portable([1, 4])
VECTOR_FILE = f"deletion_vector_{UUIDS[0]}.bin"
CLASSIC, NAMED = f"{0:020d}.checkpoint.parquet", f"{0:020d}.checkpoint.{UUIDS[0]}"
STEP = 1 if os.environ.get("TF_FUZZ_ALL") else 13
FILES = [("a", 0), ("z", 30)]
"""Files of version 0, and the least value of column ``c`` in each."""


def described(path: str, low: int, **more: Any) -> dict[str, Any]:
    text = stats(6, minValues={"c": low}, maxValues={"c": low + 5}, nullCount={"c": 0})
    return add(path, partitionValues={"p": str(low)}, stats=text, **more)


def first_version() -> list[dict[str, Any]]:
    protocol, metadata = first_actions(PROTOCOL, partition=("p",))
    metadata["metaData"]["schemaString"] = schema_string(column("c", "long"), column("p", "integer"))
    return [protocol, metadata]


def parquet(log: DeltaLog, name: str, *actions: dict[str, Any]) -> None:
    """A checkpoint file of the fewest bytes: without compression, and columns that no action has are left out."""
    kinds = {kind: type for kind, type in KINDS.items() if any(kind in action for action in actions)}
    rows = [
        {kind: {f.name: content[f.name] for f in KINDS[kind] if f.name in content} for kind, content in action.items()}
        for action in actions
    ]
    path = log.directory / name
    path.parent.mkdir(exist_ok=True)
    table = pa.Table.from_pylist(rows, pa.schema(list(kinds.items())))
    pq.write_table(table, path, compression="none", write_statistics=False, use_dictionary=False, store_schema=False)


def classic(log: DeltaLog) -> None:
    parquet(log, CLASSIC, *first_version(), *(described(*file) for file in FILES))


def with_manifest(log: DeltaLog, form: str) -> None:
    parquet(log, "_sidecars/s.parquet", *(described(*file) for file in FILES))
    size = (log.directory / "_sidecars/s.parquet").stat().st_size
    manifest = [*first_version(), {"sidecar": {"path": "s.parquet", "sizeInBytes": size, "modificationTime": 1}}]
    if form == "parquet":
        parquet(log, f"{NAMED}.parquet", *manifest)
    else:
        text = "\n".join(map(json.dumps, [{"checkpointMetadata": {"version": 0}}, *manifest]))
        log.write(f"{NAMED}.json", text.encode())


def compacted(log: DeltaLog) -> None:
    classic(log)
    log.compact(1, 2)


def counted(log: DeltaLog) -> None:
    classic(log)
    metadata = first_version()[1]["metaData"]
    content = {
        "tableSizeBytes": 30,
        "numFiles": 3,
        "numMetadata": 1,
        "numProtocol": 1,
        "metadata": metadata,
        "protocol": PROTOCOL,
    }
    log.write(f"{2:020d}.crc", json.dumps(content).encode())


def hinted(log: DeltaLog) -> None:
    classic(log)
    log.write("_last_checkpoint", b'{"version":0,"size":4,"sizeInBytes":99,"checksum":"d2"}')


CASES: dict[str, tuple[str, Callable[[DeltaLog], None]]] = {
    "commit": (f"{1:020d}.json", classic),
    "classic checkpoint": (CLASSIC, classic),
    "manifest in JSON": (f"{NAMED}.json", lambda log: with_manifest(log, "json")),
    "manifest in Parquet": (f"{NAMED}.parquet", lambda log: with_manifest(log, "parquet")),
    "sidecar": ("_sidecars/s.parquet", lambda log: with_manifest(log, "json")),
    "compaction": (compaction_name(1, 2), compacted),
    "checksum": (f"{2:020d}.crc", counted),
    "hint": ("_last_checkpoint", hinted),
    "deletion vector": (f"../{VECTOR_FILE}", classic),
}


def small(root: Path, complete: Callable[[DeltaLog], None]) -> DeltaLog:
    """A table whose commits add, remove, and delete rows; its version 0 is a checkpoint alone."""
    log = DeltaLog(root)
    content, (offset,) = vector_file(VECTOR)
    (root / VECTOR_FILE).write_bytes(content)
    stored = vector(0, cardinality=2, size=len(VECTOR), offset=offset)
    log.commit(1, {"commitInfo": {"operation": "WRITE", "timestamp": 7}}, described("b", 10, deletionVector=stored))
    log.commit(2, remove("a"), described("é%20", 20))
    complete(log)
    return log


def answer(log: DeltaLog) -> list[Any]:
    """What a scan takes from the log: the files, their bounds and partition values, and the rows that are deleted."""
    scan = open_table(log.root, format="delta", cache=False).scan("c BETWEEN 11 AND 12 OR p >= 20")
    return [
        (task.path, scan.snapshot.format_snapshot.deleted_positions(task.stored_path, task.record_count, task.deletes))
        for task in scan.plan().tasks()
    ]


@pytest.mark.parametrize("kind", CASES)
def test_every_byte(tmp_path: Path, kind: str) -> None:
    name, complete = CASES[kind]
    log = small(tmp_path / "t", complete)
    sound = answer(log)
    found = sorted((os.path.basename(path), list(rows)) for path, rows in sound)
    assert found == [("b", [1, 4]), ("z", []), ("é ", [])]
    path, chance = log.directory / name, random.Random(kind)
    stored = path.read_bytes()
    outcomes = {"the same": 0, "another": 0, "error": 0}
    for i in range(0, len(stored), STEP):
        changed = stored[i] ^ (1 << chance.randrange(8)) if i % 2 else chance.randrange(256)
        path.write_bytes(stored[:i] + bytes([changed]) + stored[i + 1 :])
        try:
            found = answer(log)
        except TableFormatsError as error:
            assert error.path is not None or error.field is not None
            outcomes["error"] += 1
        else:
            outcomes["the same" if found == sound else "another"] += 1
    if kind == "hint":
        assert not outcomes["another"] and not outcomes["error"]
    else:
        assert outcomes["error"]
    assert kind != "deletion vector" or not outcomes["another"]
