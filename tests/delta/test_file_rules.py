"""The verifier's rules for statistics, partition values and protocols: what is just allowed, and what is not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tableformats_delta.verification.commit_rules import protocol_violations
from tableformats_delta.verification.file_rules import partition_violations, record_count, statistics_violations

from tableformats.plugin import Field, PrimitiveType

Json = dict[str, Any]


def broken(stats: Any, **more: Any) -> list[str]:
    text = stats if stats is None or isinstance(stats, str) else json.dumps(stats)
    found = statistics_violations({"path": "f", "stats": text, **more}, "log", 1)
    return [f"{one.rule}: {one.what}" for one in found]


def bounds(least: Any, greatest: Any, **more: Any) -> Json:
    return {"numRecords": 2, "minValues": {"x": least}, "maxValues": {"x": greatest}, "nullCount": {}, **more}


@pytest.mark.parametrize(
    "stats",
    [
        None,
        "",
        {},
        {"numRecords": 0},
        {"numRecords": 2**63 - 1},
        bounds(1, 1),
        bounds(1, 1.5),
        bounds("a", "a"),
        bounds("\uffff", "\U0001f600"),
        bounds("z", 1),
        bounds(True, False),
        bounds(2, None),
        bounds([2], [1]),
        bounds({"y": 1, "z": None}, {"y": 1, "w": 0}),
        bounds(1, 2, nullCount={"x": 2, "y": 0}),
        bounds(1, 2, nullCount={"x": 3}, tightBounds=False),
        {"nullCount": {"x": 3}},
        {"minValues": {"x": 1}},
        {"numRecords": 1, "minValues": [], "maxValues": 7, "nullCount": None},
    ],
)
def test_statistics_that_are_allowed(stats: Any) -> None:
    assert broken(stats) == []


ABOVE = ["statistics: minValues.x of 'f' is above maxValues"]


@pytest.mark.parametrize(
    ("stats", "said"),
    [
        ("[]", ["statistics: those of 'f' are no JSON object"]),
        ("{", ["statistics: those of 'f' are no JSON object"]),
        ("[" * 100_000, ["statistics: those of 'f' are no JSON object"]),
        ({"numRecords": -1}, ["statistics: numRecords of 'f' is -1"]),
        ({"numRecords": 2**63}, [f"statistics: numRecords of 'f' is {2**63}"]),
        ({"numRecords": True}, ["statistics: numRecords of 'f' is True"]),
        ({"numRecords": 1.0}, ["statistics: numRecords of 'f' is 1.0"]),
        (bounds(2, 1), ABOVE),
        (bounds(1.5, 1), ABOVE),
        (bounds("b", "a"), ABOVE),
        (bounds("\U0001f600", "\uffff"), ABOVE),
        (bounds({"y": 2}, {"y": 1}), ["statistics: minValues.x.y of 'f' is above maxValues"]),
        (bounds(1, 2, nullCount={"x": 3}), ["statistics: nullCount.x of 'f' is 3, of 2 rows"]),
        (bounds(1, 2, nullCount={"x": -1}), ["statistics: nullCount.x of 'f' is -1, of 2 rows"]),
        (bounds(1, 2, nullCount={"x": "1"}), ["statistics: nullCount.x of 'f' is '1', of 2 rows"]),
        (bounds(1, 2, nullCount={"x": {"y": 3}}), ["statistics: nullCount.x.y of 'f' is 3, of 2 rows"]),
        (bounds(1, 2, nullCount={"x": -1}, tightBounds=False), ["statistics: nullCount.x of 'f' is -1, of 2 rows"]),
        (bounds(2, 1, tightBounds=False), ABOVE),
    ],
)
def test_statistics_that_are_not(stats: Any, said: list[str]) -> None:
    assert broken(stats) == said


@pytest.mark.parametrize(
    ("deleted", "stats", "said"),
    [
        (2, {"numRecords": 2}, []),
        (3, {"numRecords": 2}, ["deletion-vector: 'f': 3 of 2 rows are deleted"]),
        ("3", {"numRecords": 2}, []),
        (1, {}, ["statistics: numRecords of 'f', which has a deletion vector, is missing"]),
        (1, None, ["statistics: numRecords of 'f', which has a deletion vector, is missing"]),
    ],
)
def test_statistics_of_files_with_vectors(deleted: Any, stats: Any, said: list[str]) -> None:
    assert broken(stats, deletionVector={"cardinality": deleted}) == said


def test_counts_of_rows() -> None:
    texts = ['{"numRecords": 3}', '{"numRecords": "3"}', "{}", "3", "{", None, 3]
    assert [record_count({"stats": text}) for text in texts] == [3, None, None, None, None, None, None]


def test_partition_values() -> None:
    columns = [Field(1, "p", PrimitiveType("int")), Field(2, "q", PrimitiveType("string"))]
    values = [{"p": "1", "q": "x"}, {"p": None, "q": ""}, {"p": "x", "r": "1"}, {}, None, {"p": 1, "q": "x"}]
    adds = [{"path": str(at), "partitionValues": one} for at, one in enumerate(values)]
    assert [f"{one.rule}: {one.what}" for one in partition_violations(adds, columns, "log", 1)] == [
        "partition-keys: '2' without 'q'",
        "partition-keys: '2' with an unknown 'r'",
        "partition-keys: '3' without 'p'",
        "partition-keys: '3' without 'q'",
        "partition-keys: '4' without 'p'",
        "partition-keys: '4' without 'q'",
        "partition-value: '2': 'x' is no int",
    ]


LISTS = "feature-lists: {}Features go with {} version {}, and only with it"
ALONE = "reader-feature-for-writers: {!r} is in {}Features alone"


@pytest.mark.parametrize(
    ("reader", "writer", "for_readers", "for_writers", "said"),
    [
        (1, 2, None, None, []),
        (2, 5, None, None, []),
        (3, 7, ["deletionVectors"], ["deletionVectors", "appendOnly"], []),
        (3, 7, [], ["timestampNtz"], [ALONE.format("timestampNtz", "writer")]),
        (1, 7, None, ["appendOnly"], []),
        (2, 7, None, ["columnMapping"], []),
        (1, 7, None, ["columnMapping"], [ALONE.format("columnMapping", "writer")]),
        (2, 7, None, ["deletionVectors"], [ALONE.format("deletionVectors", "writer")]),
        (3, 7, ["b", "a"], [], [ALONE.format("a", "reader"), ALONE.format("b", "reader")]),
        (3, 7, None, None, [LISTS.format("reader", "reader", 3), LISTS.format("writer", "writer", 7)]),
        (2, 6, [], [], [LISTS.format("reader", "reader", 3), LISTS.format("writer", "writer", 7)]),
        (3, 6, [], None, ["feature-lists: reader version 3 needs writer version 7"]),
    ],
)
def test_protocols(reader: int, writer: int, for_readers: Any, for_writers: Any, said: list[str]) -> None:
    protocol = {"minReaderVersion": reader, "minWriterVersion": writer}
    protocol |= {"readerFeatures": for_readers, "writerFeatures": for_writers}
    assert [f"{one.rule}: {one.what}" for one in protocol_violations(protocol, "log", 1)] == said
