"""The invariants of the published models of both formats: each is broken once in the files of a table, and found.

ValidDeltaLog and ConsistentRead are those of the TLA+ model of Delta, SequentialSequenceNumbers,
NoDanglingDeleteFiles and AllSnapshotsCommitted those of the Fizzbee model of Iceberg.
"""

from __future__ import annotations

import copy
import io
import json
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq

from .checker import check
from .failing import FIRST
from .history import History, Recorder
from .ledger import Cache
from .tables import MemoryTable, Op, ledger_of, perform

V1, V2 = (f"metadata/v{number}.metadata.json" for number in (2, 3))


def files_of(format: str) -> dict[str, bytes]:
    with MemoryTable.made(format, FIRST) as table:
        files = table.files
    assert ledger_of(format, files).violations == []
    return files


def violations(format: str, files: dict[str, bytes], cache: Cache | None = None) -> list[str]:
    return [what.partition(":")[0] for what in ledger_of(format, files, cache).violations]


def test_valid_delta_log() -> None:
    files = files_of("delta")
    added = [line for line in files["_delta_log/00000000000000000001.json"].splitlines() if line.startswith(b'{"add"')]
    for again in (
        added[:1],
        [added[0].replace(b'"path":"', b'"path":"x'), added[0].replace(b'"path":"', b'"path":"x')],
    ):
        damaged = {**files, "_delta_log/00000000000000000002.json": b"\n".join(again)}
        assert "ValidDeltaLog" in violations("delta", damaged)
    path = json.loads(added[0])["add"]["path"]
    gone = json.dumps({"remove": {"path": path + "x", "dataChange": True}}).encode()
    assert violations("delta", {**files, "_delta_log/00000000000000000002.json": gone}) == ["ValidDeltaLog"]


def test_consistent_read() -> None:
    recorder = Recorder()
    with MemoryTable.made("delta", FIRST) as table:
        perform(table.location, "delta", Op("r", "read"), recorder, 1, level="serializable")
        ledger = table.ledger()
    assert check(History.of("delta", "serializable", 2, recorder.events), ledger) == []
    for change in ({"read": 0}, {"read": 7}, {"rows": recorder.events[-1]["rows"][1:]}):
        events = [recorder.events[0], {**recorder.events[1], **change}]
        found = check(History.of("delta", "serializable", 2, events), ledger)
        assert [what.partition(":")[0] for what in found] == ["ConsistentRead"]


def changed(files: dict[str, bytes], path: str, **values: Any) -> dict[str, bytes]:
    metadata = json.loads(files[path])
    return {**files, path: json.dumps({**metadata, **values}).encode()}


def test_sequential_sequence_numbers() -> None:
    files = files_of("iceberg")
    (snapshot,) = json.loads(files[V1])["snapshots"]
    later = changed(files, V1, snapshots=[{**snapshot, "sequence-number": 5}], **{"last-sequence-number": 5})
    assert violations("iceberg", later) == ["SequentialSequenceNumbers"]
    assert violations("iceberg", changed(files, V1, **{"last-sequence-number": 9})) == ["SequentialSequenceNumbers"]


def test_all_snapshots_committed() -> None:
    files = files_of("iceberg")
    lost = {"snapshots": [], "refs": {}, "current-snapshot-id": -1, "last-sequence-number": 0}
    assert violations("iceberg", changed({**files, V2: files[V1]}, V2, **lost)) == ["AllSnapshotsCommitted"]


def test_no_dangling_delete_files() -> None:
    files = files_of("iceberg")
    (manifest,) = [path for path in files if path.endswith(".avro") and "/snap-" not in path]
    entries = list(fastavro.reader(io.BytesIO(files[manifest])))
    data_file = entries[0]["data_file"]["file_path"]
    root = json.loads(files[V1])["location"]
    for name, expected in ((data_file, []), (data_file + "x", ["NoDanglingDeleteFiles"])):
        out = io.BytesIO()
        pq.write_table(pa.table({"file_path": [name], "pos": [0]}), out)
        delete = copy.deepcopy(entries[0])
        delete["data_file"] |= {"content": 1, "file_format": "PARQUET", "file_path": f"{root}/data/delete.parquet"}
        cache = Cache()
        cache.of(manifest, lambda delete=delete: [*entries, delete])
        assert violations("iceberg", {**files, "data/delete.parquet": out.getvalue()}, cache) == expected
