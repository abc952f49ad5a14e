"""Damaged commits, cut at many bytes and flipped at random bits (more with TF_FUZZ_ALL): answers or one typed error."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tableformats as tf
from tableformats.engines.spark.deletes.positions import deleted_pages
from tests.support.arrow_schema import parquet_with, schema_message
from tests.support.delta_changes import change_file, id_file, inline_vector
from tests.support.delta_log import WITH_VECTORS, DeltaLog, field, metadata, remove

COMMITS = range(4)


@pytest.fixture
def log(tmp_path: Path) -> DeltaLog:
    """A schema that changes, a partition column, rows between two vectors, a change data file."""
    log = DeltaLog(tmp_path / "t")
    log.start(field("id", "long"), field("p", "integer"), partition=("p",), protocol=WITH_VECTORS)
    file = id_file(log, "1", range(9), partitionValues={"p": "5"})["add"]
    log.commit(1, {"commitInfo": {"operation": "WRITE"}}, {"add": {**file, "deletionVector": inline_vector(1)}})
    wider = metadata(field("id", "long"), field("p", "long"), field("q", "string"), partition=("p",))
    log.commit(2, {"metaData": wider}, {"add": file}, remove("1", deletionVector=inline_vector(1)))
    rows = pa.table({"id": pa.array([3], pa.int64()), "_change_type": ["delete"]})
    return log.commit(3, change_file(log, "_change_data/c", rows, partitionValues={"p": "5"}))


def answer(log: DeltaLog) -> list[Any]:
    changes = tf.open_table(log.root).changes(0)
    filtered = changes.where("id > 3 AND p = 5 AND _commit_version < 3")
    return [
        changes.to_arrow().to_pylist(),
        filtered.to_arrow().num_rows,
        changes.added_files().num_rows,
        changes.count(),
        changes.files.num_rows,
    ]


def test_whole(log: DeltaLog) -> None:
    rows, *counts = answer(log)
    assert len(rows) == 8 + 1 + 1 and counts == [5, 2, 10, 3]


def test_rows_are_counted_in_sound_footers_alone(log: DeltaLog) -> None:
    """A file whose rows nobody counted, and whose footer would become gigabytes."""
    file = id_file(log, "2", range(9), partitionValues={"p": "5"})["add"]
    del file["stats"]
    log.commit(4, {"add": file}).commit(
        5, {"add": {**file, "deletionVector": inline_vector(1)}}, remove("2", partitionValues={"p": "5"})
    )
    assert tf.open_table(log.root).changes(5, 5).to_arrow().num_rows == 1
    (log.root / "2").write_bytes(parquet_with(schema_message("n" * 100_000, 10_000)))
    changes = tf.open_table(log.root).changes(5, 5)
    with pytest.raises(tf.LimitExceededError, match="Arrow schema"):
        changes.count()
    with pytest.raises(tf.LimitExceededError, match="Arrow schema"):  # as Spark has them counted
        list(deleted_pages(changes.plan(), np.arange(1)))


@pytest.mark.parametrize("version", COMMITS)
def test_cut_off(log: DeltaLog, version: int) -> None:
    path = log.directory / f"{version:020d}.json"
    whole, expected = path.read_bytes(), answer(log)
    ends = {end for i, byte in enumerate(whole) if byte == ord("\n") for end in (i, i + 1)}
    for size in range(version, len(whole), 1 if "TF_FUZZ_ALL" in os.environ else 7):
        path.write_bytes(whole[:size])
        try:
            found = answer(log)
        except tf.TableFormatsError as error:
            assert error.path is not None or error.field is not None
        else:
            assert size in ends or found == expected


@pytest.mark.parametrize("version", COMMITS)
def test_flipped_bits(log: DeltaLog, version: int) -> None:
    path = log.directory / f"{version:020d}.json"
    whole, chance = path.read_bytes(), random.Random(version)
    for _ in range(1000 if "TF_FUZZ_ALL" in os.environ else 40):
        damaged = bytearray(whole)
        damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
        path.write_bytes(damaged)
        _answer_or_error(log)


ODD = [None, True, 0, -1, 2**63, 2**70, 1.5, "", "x", "\ud800", [], [None], {}, {"a": None}, "1" * 5000]


@pytest.mark.parametrize("version", COMMITS)
def test_fields_of_other_types(log: DeltaLog, version: int) -> None:
    """Each field has every fifth of the odd values, and the next field those after them; all with TF_FUZZ_ALL."""
    path = log.directory / f"{version:020d}.json"
    actions = log.actions(version)
    step = 1 if "TF_FUZZ_ALL" in os.environ else 5
    for place, action in enumerate(actions):
        for number, keys in enumerate(_keys(action), place):
            for odd in ODD[number % step :: step]:
                copy = json.loads(json.dumps(actions))
                holder = copy[place]
                for key in keys[:-1]:
                    holder = holder[key]
                holder[keys[-1]] = odd
                path.write_text("".join(json.dumps(a) + "\n" for a in copy))
                _answer_or_error(log)


def _answer_or_error(log: DeltaLog) -> None:
    try:
        answer(log)
    except tf.TableFormatsError as error:
        assert error.path is not None or error.field is not None, error


def _keys(value: Any) -> list[list[str]]:
    """The paths of keys to all that stands in a JSON object."""
    found = []
    for key, item in value.items():
        found.append([key])
        if isinstance(item, dict):
            found += [[key, *rest] for rest in _keys(item)]
    return found
