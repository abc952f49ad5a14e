"""The history of a Delta table: what each field of ``commitInfo`` becomes, and what is said of times outside of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tableformats as tf
from tests.support.delta_log import PROTOCOL, DeltaLog, metadata

Json = dict[str, Any]


def history(log: DeltaLog, limit: int | None = None) -> pa.Table:
    return log.table().history(limit)


def told(folder: Path, **info: Any) -> Json:
    """The row of a commit that says this of itself."""
    log = DeltaLog(folder / "t").start().commit(1, {"commitInfo": info}, mtime_ms=10**13)
    row: Json = history(log).to_pylist()[0]
    return row


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (5, 5),
        (0, 0),
        (-1, -1),
        (2**63 - 1, 2**63 - 1),
        (1 - 2**63, 1 - 2**63),
        (2**63, None),
        (-(2**63), None),
        (2**70, None),
        (True, None),
        (5.0, None),
        ("5", None),
        (None, None),
    ],
)
def test_the_version_that_was_read(tmp_path: Path, value: Any, number: int | None) -> None:
    assert told(tmp_path, readVersion=value)["readVersion"] == number


@pytest.mark.parametrize(("value", "flag"), [(True, True), (False, False), (1, None), ("true", None), (None, None)])
def test_blind_appends(tmp_path: Path, value: Any, flag: bool | None) -> None:
    assert told(tmp_path, isBlindAppend=value)["isBlindAppend"] is flag


@pytest.mark.parametrize(
    ("value", "text"),
    [("é", "é"), ("", ""), (7, "7"), (None, None), ({"a": [1]}, '{"a": [1]}'), (True, "true"), ("\ud800x", "?x")],
)
def test_texts(tmp_path: Path, value: Any, text: str | None) -> None:
    row = told(tmp_path, operation=value, engineInfo=value, isolationLevel=value)
    assert row["operation"] == row["engineInfo"] == row["isolationLevel"] == text


@pytest.mark.parametrize(
    ("value", "pairs"),
    [
        (
            {"a": "1", "b": 2, "c": None, "d": [1], "\ud800": "x"},
            [("a", "1"), ("b", "2"), ("c", None), ("d", "[1]"), ("?", "x")],
        ),
        ({}, []),
        ([], None),
        ("x", None),
        (None, None),
    ],
)
def test_maps(tmp_path: Path, value: Any, pairs: Any) -> None:
    row = told(tmp_path, operationParameters=value, operationMetrics=value)
    assert row["operationParameters"] == row["operationMetrics"] == pairs


@pytest.mark.parametrize(("name", "number", "user"), [("n", "7", "n"), (None, "7", "7"), (None, None, None)])
def test_users(tmp_path: Path, name: str | None, number: str | None, user: str | None) -> None:
    assert told(tmp_path, userName=name, userId=number)["user"] == user


def test_commits_that_say_nothing(tmp_path: Path) -> None:
    log = DeltaLog(tmp_path / "t").commit(0, {"protocol": PROTOCOL}, {"metaData": metadata()}, mtime_ms=5000)
    log.commit(1, {"metaData": metadata()}, {"commitInfo": {"operation": "LATE"}}, mtime_ms=7000)
    log.commit(2, {"txn": {"appId": "x", "version": 1}}, mtime_ms=9000)
    found = history(log)
    assert found["version"].to_pylist() == [2, 1, 0] and found["operation"].to_pylist() == [None, "LATE", None]
    assert found["timestamp"].cast(pa.int64()).to_pylist() == [9000, 7000, 5000]
    assert found["added_rows"].null_count == found["readVersion"].null_count == 3
    for limit, versions in ((0, []), (1, [2]), (2, [2, 1]), (3, [2, 1, 0]), (9, [2, 1, 0])):
        assert history(log, limit)["version"].to_pylist() == versions


def test_times_outside_of_the_log(tmp_path: Path) -> None:
    log = DeltaLog(tmp_path / "t")
    for version, second in enumerate((10, 20, 30)):
        log.commit(version, {"protocol": PROTOCOL}, {"metaData": metadata()}, mtime_ms=second * 1000)
    commits = "whose commits are from 1970-01-01T00:00:10+00:00 to 1970-01-01T00:00:30+00:00"
    for time, where in ((9_999, "before the earliest"), (30_001, "after the newest")):
        with pytest.raises(tf.SnapshotNotFoundError) as caught:
            log.snapshot(timestamp_ms=time)
        assert f"is {where} version of the table, {commits}" in str(caught.value)
    assert [log.snapshot(timestamp_ms=time).version for time in (10_000, 19_999, 20_000, 30_000)] == [0, 0, 1, 2]


def test_a_commit_of_the_first_moment_of_1970(tmp_path: Path) -> None:
    started = metadata(configuration={"delta.enableInCommitTimestamps": "true"})
    log = DeltaLog(tmp_path / "t")
    for version, time in enumerate((-5, 0, 4)):
        first = [{"protocol": PROTOCOL}, {"metaData": started}] * (not version)
        log.commit(version, {"commitInfo": {"inCommitTimestamp": time}}, *first)
    assert [log.snapshot(timestamp_ms=time).version for time in (-5, -1, 0, 3, 4)] == [0, 0, 1, 1, 2]
    with pytest.raises(tf.SnapshotNotFoundError):
        log.snapshot(timestamp_ms=5)
