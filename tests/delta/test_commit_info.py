"""What the log says of each verb: its operation, parameters and metrics, as the history of the table shows them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tableformats as tf

SCHEMA = pa.schema([("id", pa.int64()), ("é", pa.string())])
FIRST = pa.table({"id": [1, 2, 3], "é": ["a", "a", "b"]}, SCHEMA)
ONE = pa.table({"id": [9], "é": ["c"]}, SCHEMA)
BY = {"partitionBy": '["é"]'}
Verb = Callable[[tf.Table], Any]


def new_table(folder: Path) -> tf.Table:
    table = tf.create_table(folder, SCHEMA, format="delta", partition_by=["é"])
    table.append(FIRST)
    return table


def last_commit(folder: Path) -> dict[str, Any]:
    """The commit info of the newest version, and what its actions add up to."""
    path = max((folder / "_delta_log").glob("*.json"))
    actions = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    found: dict[str, Any] = actions[0]["commitInfo"]
    sizes = {kind: sum(a[kind]["size"] for a in actions if kind in a) for kind in ("add", "remove")}
    for name, kind in (("numOutputBytes", "add"), ("numRemovedBytes", "remove")):
        assert int(found["operationMetrics"].pop(name, 0)) == sizes[kind]
    return found


CASES: list[tuple[str, Verb, dict[str, str], bool, dict[str, int]]] = [
    ("WRITE", lambda t: t.append(ONE), {"mode": "Append", **BY}, True, {"numFiles": 1, "numOutputRows": 1}),
    (
        "WRITE",
        lambda t: t.overwrite(ONE),
        {"mode": "Overwrite", **BY},
        False,
        {"numRemovedFiles": 2, "numFiles": 1, "numOutputRows": 1, "numDeletedRows": 3},
    ),
    (
        "WRITE",
        lambda t: t.overwrite(ONE, "é = 'c' OR id = 9"),
        {"mode": "Overwrite", **BY, "predicate": "[\"`é` = 'c' OR id = 9\"]"},
        False,
        {"numRemovedFiles": 0, "numDeletedRows": 0, "numFiles": 1, "numOutputRows": 1},
    ),
    (
        "DELETE",
        lambda t: t.delete("id = 1"),
        {"predicate": '["id = 1"]'},
        False,
        {
            **{"numRemovedFiles": 1, "numAddedFiles": 1, "numOutputRows": 1},
            **{"numDeletedRows": 1, "numCopiedRows": 1},
        },
    ),
    (
        "DELETE",
        lambda t: t.delete("é = 'b'"),
        {"predicate": "[\"`é` = 'b'\"]"},
        False,
        {"numRemovedFiles": 1, "numDeletedRows": 1},
    ),
    (
        "DELETE",
        lambda t: t.delete("TRUE"),
        {"predicate": '["TRUE"]'},
        False,
        {"numRemovedFiles": 2, "numDeletedRows": 3},
    ),
]


@pytest.mark.parametrize(("operation", "verb", "parameters", "is_blind", "metrics"), CASES)
def test_verbs(
    tmp_path: Path, operation: str, verb: Verb, parameters: dict[str, str], is_blind: bool, metrics: dict[str, int]
) -> None:
    verb(new_table(tmp_path))
    found = last_commit(tmp_path)
    assert (found["operation"], found["operationParameters"]) == (operation, parameters)
    assert (found["readVersion"], found["isBlindAppend"]) == (1, is_blind)
    assert found["operationMetrics"] == {name: str(count) for name, count in metrics.items()}
    assert found["isolationLevel"] == "WriteSerializable"
    assert not {"userMetadata", "inCommitTimestamp", "tags"} & {*found}


def test_a_new_table_and_what_the_user_says(tmp_path: Path) -> None:
    tf.create_table(tmp_path, SCHEMA, format="delta", partition_by=["é"])
    found = last_commit(tmp_path)
    assert (found["operation"], found["operationParameters"], found["operationMetrics"]) == ("CREATE TABLE", BY, {})
    assert "readVersion" not in found and found["isBlindAppend"] is False
    tf.open_table(tmp_path).append(ONE, properties={"job": "é"})
    assert last_commit(tmp_path)["userMetadata"] == '{"job": "é"}'


@pytest.mark.parametrize(
    ("verb", "operation", "parameters"),
    [
        (
            lambda t: t.alter.set_properties({"a": "é", "b": True}),
            "SET TBLPROPERTIES",
            {"properties": '{"a": "é", "b": "true"}'},
        ),
        (lambda t: t.alter.unset_properties("é"), "UNSET TBLPROPERTIES", {"properties": '["é"]'}),
        (lambda t: t.alter.set_comment("id", "é"), "CHANGE COLUMN", {"column": "id"}),
    ],
)
def test_changes_of_the_definition(tmp_path: Path, verb: Verb, operation: str, parameters: dict[str, str]) -> None:
    verb(new_table(tmp_path))
    found = last_commit(tmp_path)
    assert (found["operation"], found["operationParameters"]) == (operation, parameters)
    assert (found["isBlindAppend"], found["operationMetrics"]) == (False, {})
