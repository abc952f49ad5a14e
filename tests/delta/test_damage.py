"""Damaged logs: cut at every byte and flipped at every bit, a table gives an answer or one typed error."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tableformats_delta.log.listing import list_log
from tableformats_delta.snapshot.table_state import load_state

import tableformats as tf
from tableformats.errors import CorruptMetadataError, TableFormatsError
from tableformats.io._thrift import read_struct
from tableformats.io._thrift_write import write_struct
from tableformats.io.storage import Storage
from tableformats.plugin import Bounds
from tests.support.delta_log import (
    WITH_VECTORS,
    DeltaLog,
    add,
    deleted,
    field,
    first_actions,
    live_files,
    remove,
    request,
    schema_string,
    stats,
    vector,
)

COMMIT = f"{2:020d}.json"
CHECKPOINT = f"{1:020d}.checkpoint.parquet"
MANIFEST = f"{1:020d}.checkpoint.3a0d65cd-4056-49b8-937b-95f9e3ee90e5.json"


@pytest.fixture
def log(tmp_path: Path) -> DeltaLog:
    """Version 1 is a checkpoint, version 2 a commit; the log before is gone, so both are needed."""
    log = DeltaLog(tmp_path / "t")
    first = first_actions(WITH_VECTORS, partition=("p",))
    first[1]["metaData"]["schemaString"] = schema_string(field("c", "long"), field("p", "integer"))
    rows = [
        add(f"f{i}", partitionValues={"p": str(i)}, stats=stats(i + 3, minValues={"c": i}, maxValues={"c": i + 1}))
        for i in range(3)
    ]
    log.checkpoint(CHECKPOINT, *first, *rows)
    new = add("g", partitionValues={"p": "9"}, stats=stats(7, minValues={"c": 5}), deletionVector=vector())
    log.commit(2, {"commitInfo": {"operation": "WRITE"}}, new, remove("f1"))
    return log


def answer(log: DeltaLog) -> list[Any]:
    """All that planning reads: files, bounds, vectors' descriptors, history."""
    snapshot = log.snapshot()
    files = sorted(repr(row) for row in live_files(snapshot))
    for batch in snapshot.read(request()):
        assert batch.statistics is not None
        bounds: Bounds = batch.statistics.bounds(list(snapshot.schema), None)
        for arrays in (bounds.lower, bounds.upper, bounds.null_count, bounds.value_count):
            for array in arrays.values():
                array.validate(full=True)
                array.to_pylist()
    log.table().history().to_pylist()
    return files


def flips(size: int, most: int) -> list[int]:
    bits = list(range(size * 8))
    return bits if len(bits) <= most else sorted(random.Random(size).sample(bits, most))


def test_sound(log: DeltaLog) -> None:
    assert len(answer(log)) == 3


def test_a_checkpoint_whose_chunk_is_of_another_type(log: DeltaLog) -> None:
    """Arrow's C++ exception about the chunk's statistics would end the process: nobody asks for them."""
    path = log.directory / CHECKPOINT
    data = path.read_bytes()
    start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    footer = read_struct(data[start:-8])
    for chunk in footer[4][1][1][0][1][1][1]:  # the column chunks of the first row group
        metadata = chunk[3][1]
        if metadata[3][1][1][0] == b"metaData":
            metadata[1] = metadata[1][0], 7 if metadata[1][1] == 6 else 6  # FIXED_LEN_BYTE_ARRAY for BYTE_ARRAY
    damaged = write_struct(footer)
    path.write_bytes(data[:start] + damaged + len(damaged).to_bytes(4, "little") + b"PAR1")
    program = "import sys, tableformats as tf; print(tf.open_table(sys.argv[1]).inspect.domains().num_rows)"
    done = subprocess.run([sys.executable, "-c", program, log.root], capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, "0"), done.stderr[-500:]


def test_commit_cut_at_every_byte(log: DeltaLog) -> None:
    """A cut between two lines leaves a commit that is whole by itself; every other cut is an error with its offset."""
    data = (log.directory / COMMIT).read_bytes()
    whole = answer(log)
    for length in range(len(data)):
        log.write(COMMIT, data[:length])
        between = data[:length].endswith(b"}") and data[length : length + 1] == b"\n"
        if length and (between or data[:length].endswith(b"\n")):
            files = answer(log)
            assert (files == whole) == (length == len(data) - 1)
            continue
        with pytest.raises(CorruptMetadataError) as caught:
            answer(log)
        assert caught.value.path == str(log.directory / COMMIT)
        assert caught.value.offset is not None
        assert 0 <= caught.value.offset <= length


def test_checkpoint_cut_at_every_byte(log: DeltaLog) -> None:
    data = (log.directory / CHECKPOINT).read_bytes()
    for length in [*range(1, 64), *range(64, len(data) - 64, 61), *range(len(data) - 64, len(data))]:
        log.write(CHECKPOINT, data[:length])
        with pytest.raises(CorruptMetadataError) as caught:
            answer(log)
        assert caught.value.path == str(log.directory / CHECKPOINT)


def test_sidecar_and_manifest_cut(tmp_path: Path) -> None:
    log = DeltaLog(tmp_path / "t")
    log.checkpoint("_sidecars/s.parquet", add("a"), add("b"))
    sidecar = (log.directory / "_sidecars" / "s.parquet").read_bytes()
    named = {"sidecar": {"path": "s.parquet", "sizeInBytes": len(sidecar), "modificationTime": 1}}
    manifest = "\n".join(map(json.dumps, [*first_actions(), named])).encode()
    log.write(MANIFEST, manifest)
    assert log.paths() == ["a", "b"]
    for length in range(1, len(sidecar), 29):
        log.write("_sidecars/s.parquet", sidecar[:length])
        with pytest.raises(CorruptMetadataError):
            log.paths()
    log.write("_sidecars/s.parquet", sidecar)
    for length in range(1, len(manifest)):
        log.write(MANIFEST, manifest[:length])
        if manifest[length - 1 : length + 1] in (b"}\n", b"\n{"):
            continue
        with pytest.raises(CorruptMetadataError):
            log.paths()


@pytest.mark.parametrize(("name", "most"), [(COMMIT, 500), (CHECKPOINT, 500)])
def test_flipped_bits(log: DeltaLog, name: str, most: int) -> None:
    """A flipped bit may be a different, sound log; it is never another exception."""
    path = log.directory / name
    data = path.read_bytes()
    outcomes = {"answer": 0, "error": 0}
    for bit in flips(len(data), most):
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(bytes(damaged))
        try:
            answer(log)
            outcomes["answer"] += 1
        except TableFormatsError as error:
            assert error.path is not None or error.field is not None
            outcomes["error"] += 1
    assert outcomes["error"] > 20
    assert outcomes["answer"] > 0


@pytest.mark.parametrize("seed", range(2))
def test_random_bytes_in_a_checkpoint(log: DeltaLog, seed: int) -> None:
    """Runs of random bytes reach what single bits do not: page headers, lengths, dictionary indices."""
    path = log.directory / CHECKPOINT
    data, chance = path.read_bytes(), random.Random(seed)
    for _ in range(60):
        damaged = bytearray(data)
        start, length = chance.randrange(len(data)), chance.randrange(1, 16)
        damaged[start : start + length] = chance.randbytes(len(damaged[start : start + length]))
        path.write_bytes(bytes(damaged))
        try:
            answer(log)
        except TableFormatsError as error:
            assert str(error)


def test_last_checkpoint_flipped_and_cut(log: DeltaLog) -> None:
    whole = answer(log)
    hint = b'{"version":1,"size":5}'
    for damaged in [hint[:n] for n in range(len(hint))] + [hint[:n] + b"\xff" + hint[n:] for n in range(len(hint))]:
        log.write("_last_checkpoint", damaged)
        assert answer(log) == whole


def test_a_vector_that_is_gone(log: DeltaLog) -> None:
    snapshot = log.snapshot()
    (row,) = [row for row in live_files(snapshot) if row["vector"]]
    with pytest.raises(CorruptMetadataError, match="missing"):
        deleted(snapshot, row)


def test_files_that_go_after_the_listing(log: DeltaLog) -> None:
    listing = list_log(Storage(log.root))
    snapshot = log.snapshot()
    (log.directory / CHECKPOINT).unlink()
    with pytest.raises(CorruptMetadataError, match="missing"):
        live_files(snapshot)
    (log.directory / COMMIT).unlink()
    with pytest.raises(CorruptMetadataError, match="missing"):
        load_state(Storage(log.root), listing.segment(2), tf.MetadataCache(0))


def test_a_checkpoint_without_modification_times(tmp_path: Path) -> None:
    """The protocol asks for the column, so the file is damaged, or no checkpoint."""
    log = DeltaLog(tmp_path / "t").start(field("id", "long")).commit(1, add("a"))
    path = Path(tf.open_table(log.root, format="delta").checkpoint().path)
    read = pq.read_table(path)
    place, kind = read.schema.get_field_index("add"), read.schema.field("add").type
    kept = pa.struct([member for member in kind if member.name != "modificationTime"])
    pq.write_table(read.set_column(place, "add", pa.array(read["add"].to_pylist(), kept)), path)
    log.commit(2, add("b"))
    with pytest.raises(CorruptMetadataError, match="lacks a column") as caught:
        tf.open_table(log.root, format="delta").checkpoint()
    assert (caught.value.path, caught.value.field) == (str(path), "add.modificationTime")
