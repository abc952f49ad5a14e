"""Half a surrogate pair, which texts of Python may hold and UTF-8 does not: the error says so, nothing is written."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tableformats as tf
from tests.support.delta_log import DeltaLog, field, metadata

HALF = "\ud800"
ROWS = pa.table({"id": pa.array([1], pa.int64())})
Verb = Callable[[tf.Table], Any]


@pytest.mark.parametrize("format", ["delta", "iceberg"])
@pytest.mark.parametrize(
    "verb",
    [
        lambda table: table.append(ROWS, properties={"a": HALF}),
        lambda table: table.append(ROWS, application=(HALF, 1)),
    ],
    ids=["properties", "application"],
)
def test_what_a_commit_says(tmp_path: Path, format: str, verb: Verb) -> None:
    table = tf.create_table(tmp_path / "t", ROWS.schema, format=format)
    table.append(ROWS)
    before = sorted(tmp_path.rglob("*.parquet")), sorted(tmp_path.rglob("*.json"))
    with pytest.raises(tf.ConstraintViolationError, match="half a surrogate pair") as caught:
        verb(table)
    assert caught.value.committed is False
    assert (sorted(tmp_path.rglob("*.parquet")), sorted(tmp_path.rglob("*.json"))) == before
    assert table.append(ROWS).attempts == 1 and tf.open_table(tmp_path / "t").count() == 2


@pytest.mark.parametrize(
    ("verb", "kind"),
    [
        (lambda table: table.alter.set_properties({"a": HALF}), "commitInfo"),
        (lambda table: table.alter.set_properties({HALF: "a"}), "commitInfo"),
        (lambda table: table.alter.set_comment("id", HALF), "metaData"),
    ],
)
def test_definitions_of_delta_tables(tmp_path: Path, verb: Verb, kind: str) -> None:
    table = tf.create_table(tmp_path / "t", ROWS.schema, format="delta")
    with pytest.raises(tf.ConstraintViolationError, match="half a surrogate pair") as caught:
        verb(table)
    assert caught.value.field == kind and len([*(tmp_path / "t" / "_delta_log").glob("*.json")]) == 1
    with pytest.raises(tf.ConstraintViolationError, match="half a surrogate pair"):
        tf.create_table(tmp_path / "u", ROWS.schema, format="delta", properties={"a": HALF})


@pytest.mark.parametrize(
    "changes",
    [{"description": HALF}, {"name": HALF}, {"configuration": {HALF: "x"}}, {"schemaString": None}],
    ids=["description", "name", "configuration", "schema"],
)
def test_delta_tables_of_other_writers(tmp_path: Path, changes: dict[str, Any]) -> None:
    found = {**metadata(field("id", "long", {"comment": HALF})), **{k: v for k, v in changes.items() if v is not None}}
    if changes.get("schemaString", "") is not None:
        found["schemaString"] = metadata()["schemaString"]
    log = DeltaLog(tmp_path / "t")
    log.commit(0, {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}, {"metaData": found})
    assert "ud800" in json.dumps(log.actions(0))
    table = tf.open_table(log.root)
    with pytest.raises(tf.ConstraintViolationError, match="half a surrogate pair") as caught:
        table.alter.set_properties({"a": "b"})
    assert caught.value.field == "metaData"
    assert table.append(ROWS).version == 1, "which leaves the metadata"
