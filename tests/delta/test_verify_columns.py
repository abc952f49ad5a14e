"""What the verifier judges in columns is judged as one by one: in each doubtful file, and in no other."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tableformats_delta.verification import column_rules
from tableformats_delta.verification.file_rules import statistics_violations
from tableformats_delta.verification.plain_statistics import doubtful_statistics
from tableformats_delta.verification.stored_actions import StoredActions, as_json

import tableformats as tf

from ..support.delta_log import PROTOCOL, DeltaLog, metadata, vector

FIELD = {"name": "x", "type": "long", "nullable": True, "metadata": {}}
PART = {"name": "p", "type": "integer", "nullable": True, "metadata": {}}
FILES = 70
"""More than the verifier would look at one by one."""


def stats(**changes: Any) -> str:
    plain = {
        "numRecords": 10,
        "minValues": {"x": 1, "d": 0.5, "s": "a", "t": "2024-01-01T00:00:00Z", "n": {"m": 1}},
        "maxValues": {"x": 2, "d": 0.5, "s": "b", "t": "2024-01-01T00:00:00Z", "n": {"m": 1}},
        "nullCount": {"x": 0, "d": 10, "s": 1, "t": 0, "n": {"m": 2}},
    }
    return json.dumps({name: value for name, value in {**plain, **changes}.items() if value is not ...})


WRONG = {
    "no rows": stats(numRecords=-1),
    "rows that are NULL": stats(numRecords=None),
    "rows that are no integer": stats(numRecords=1.5),
    "more rows than 63 bits": stats(numRecords=2**63),
    "more NULLs than rows": stats(nullCount={"x": 11}),
    "fewer NULLs than none": stats(nullCount={"x": -1}, tightBounds=False),
    "NULLs that are a text": stats(nullCount={"x": "1"}),
    "nested NULLs": stats(nullCount={"n": {"m": 11}}),
    "integers": stats(minValues={"x": 3}),
    "integers that are one double": stats(minValues={"x": 2**53 + 1}, maxValues={"x": 2**53}),
    "numbers": stats(minValues={"d": 0.75}),
    "numbers of two types": stats(minValues={"d": 2**53 + 1}, maxValues={"d": float(2**53)}),
    "texts": stats(minValues={"s": "b\U00010000"}, maxValues={"s": "b\uffee"}),
    "times": stats(minValues={"t": "2024-01-01 00:00:01Z"}, maxValues={"t": "2024-01-01 00:00:00Z"}),
    "nested bounds": stats(minValues={"n": {"m": 2}}),
    "a column that others lack": stats(minValues={"z": 2}, maxValues={"z": 1}),
    "no JSON": "{",
    "half of one": stats()[:-1],
    "a list": "[]",
    "two": stats() + stats(),
    "a control character": stats().replace('"a"', '"a\x01"'),
    "no escape": stats().replace('"a"', '"\\x"'),
}
PLAIN = {
    "other bounds": stats(minValues={"x": -5, "s": ""}),
    "no bounds": stats(minValues=..., maxValues=...),
    "bounds that are NULL": stats(minValues={"x": None}, maxValues={"x": None}),
    "rows alone": stats(minValues=..., maxValues=..., nullCount=...),
    "wide NULL counts": stats(nullCount={"x": 11}, tightBounds=False),
}


def one_by_one(text: str | None) -> bool:
    return bool(list(statistics_violations({"path": "f", "stats": text}, "log", 0)))


@pytest.mark.parametrize("name", WRONG)
def test_wrong_statistics_are_looked_at(name: str) -> None:
    assert one_by_one(WRONG[name])
    for number in (0, 40):  # among those that say which members there are, and among others
        texts = [stats()] * 99
        texts.insert(number, WRONG[name])
        assert doubtful_statistics(pa.array(texts))[number], number


@pytest.mark.parametrize("name", PLAIN)
def test_plain_statistics_are_not_looked_at(name: str) -> None:
    texts = [stats(tightBounds=True), *[stats()] * 99, PLAIN[name], None]
    assert not one_by_one(PLAIN[name])
    assert not doubtful_statistics(pa.array(texts)).any()


def test_one_text_is_not_taken_for_a_part_of_another() -> None:
    """Three lines that are three objects, and none of them is one by itself."""
    known = stats()
    wrong = ['{"numRecords":1,"minValues":', '{"x":1}}', '{"numRecords":1}{"numRecords":1}']
    texts = [*[known] * 40, *wrong, *[known] * 57]
    assert doubtful_statistics(pa.array(texts))[40:43].all()


def test_deep_statistics_end_nothing() -> None:
    deep = '{"minValues":' * 200_000
    for number in (0, 40):
        texts = [stats()] * 99
        texts.insert(number, deep)
        assert doubtful_statistics(pa.array(texts))[number]
    assert doubtful_statistics(pa.array([deep] * 99)).all()


def test_deleted_rows() -> None:
    texts, deleted = pa.array([stats()] * 99), np.full(99, 10)
    assert not doubtful_statistics(texts, pa.array(deleted)).any()
    deleted[7] = 11
    assert np.flatnonzero(doubtful_statistics(texts, pa.array(deleted))).tolist() == [7]
    assert doubtful_statistics(pa.nulls(1, pa.string()), pa.array([1])).all()


# ---- checkpoints ----------------------------------------------------------------------------------------------------


def checkpointed(root: Path, change: Callable[[list[dict[str, Any]]], Any]) -> None:
    """A table of many files that a checkpoint alone describes, with other add actions."""
    log, adds = DeltaLog(root), []
    for n in range(FILES):
        (root / f"f{n}").write_bytes(b"data")
        text = json.dumps({"numRecords": 2, "minValues": {"x": n}, "maxValues": {"x": n}, "nullCount": {"x": 0}})
        action = {"path": f"f{n}", "partitionValues": {"p": str(n)}, "size": 4, "modificationTime": 1}
        adds.append({"add": {**action, "dataChange": True, "stats": text}})
    with_vectors = {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": ["deletionVectors"],
        "writerFeatures": ["deletionVectors"],
    }
    adds[3]["add"]["deletionVector"] = vector()  # so that the checkpoint has the column
    log.commit(0, {"protocol": {**PROTOCOL, **with_vectors}}, {"metaData": metadata(FIELD, PART, partition=("p",))})
    log.commit(1, *adds)
    log.commit(2, {"remove": {"path": "gone", "dataChange": True, "deletionTimestamp": 2**42}})
    tf.open_table(root, format="delta").checkpoint()
    (path,) = log.directory.glob("*.checkpoint.parquet")
    table = pq.read_table(path)
    rows = table.to_pylist()
    change([row["add"] for row in rows if row["add"]])
    pq.write_table(pa.Table.from_pylist(rows, table.schema), path)
    for other in [*log.directory.glob("*.crc"), *(log.directory / f"{version:020d}.json" for version in range(2))]:
        other.unlink()


def at(number: int, **changes: Any) -> Callable[[list[dict[str, Any]]], None]:
    return lambda adds: adds[number].update(changes)


FAULTS: dict[str, tuple[set[str], Callable[[list[dict[str, Any]]], Any]]] = {
    "nothing": (set(), lambda adds: None),
    "an escape": ({"file-missing"}, at(40, path="f%20x")),
    "no size": ({"missing-field", "file-size"}, at(40, size=None)),
    "a space in a path": ({"path", "file-missing"}, at(40, path="f 1")),
    "half an escape": ({"path", "file-missing"}, at(40, path="f%1")),
    "an escape of other letters": ({"path", "file-missing"}, at(40, path="f%1gx")),
    "no path": ({"path", "file-missing"}, at(40, path="")),
    "a path in another store": ({"path"}, at(40, path="s3://bucket/f1")),
    "a wrong size": ({"file-size"}, at(40, size=5)),
    "a file twice": ({"duplicate-action"}, at(40, path="f41")),
    "a file twice, spelled in two ways": ({"duplicate-action"}, at(40, path="%6641")),
    "a file that is removed": ({"add-and-remove", "file-missing"}, at(40, path="gone")),
    "another partition column": ({"partition-keys"}, at(40, partitionValues=[("q", "1")])),
    "one partition column more": ({"partition-keys"}, at(40, partitionValues=[("p", "1"), ("q", "1")])),
    "no partition value": ({"partition-keys"}, at(40, partitionValues=[])),
    "a partition value of another type": ({"partition-value"}, at(40, partitionValues=[("p", "one")])),
    "bounds in the wrong order": ({"statistics"}, at(40, stats=stats(minValues={"x": 3}))),
    "no statistics of a file with a vector": ({"statistics"}, at(3, stats=None)),
    "a vector that deletes too much": ({"deletion-vector"}, at(3, deletionVector=vector(cardinality=3))),
    "a vector without a size": ({"missing-field"}, at(3, deletionVector={**vector(), "sizeInBytes": None})),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults_of_a_checkpoint(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rules, change = FAULTS[name]
    checkpointed(tmp_path, change)

    def found() -> list[tuple[str, str, str | None]]:
        violations = tf.open_table(tmp_path, format="delta").verify()
        return sorted((one.rule, one.what, one.path) for one in violations)

    in_columns = found()
    assert {rule for rule, *_ in in_columns} == rules
    monkeypatch.setattr(StoredActions, "can_hold", lambda *_: False)
    monkeypatch.setattr(column_rules, "LEAST_TEXTS", 1 << 30)
    assert found() == in_columns


def test_a_row_of_a_checkpoint_as_json() -> None:
    """Without what JSON does not have: NULL, and statistics as structs."""
    row = {
        "path": "a",
        "size": None,
        "stats_parsed": {"numRecords": 1},
        "partitionValues_parsed": None,
        "tags": [("k", "v"), (1, None)],
        "partitionValues": [],
        "deletionVector": {"storageType": "u", "offset": None},
        "format": {"provider": None},
    }
    found = {"path": "a", "tags": {"k": "v", "1": None}, "partitionValues": {}, "deletionVector": {"storageType": "u"}}
    assert as_json(row) == found
