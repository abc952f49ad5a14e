"""Delta tables that are created with identity, generated and default columns, as the metadata of Arrow fields say."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tableformats as tf

TIME = pa.timestamp("us", "UTC")
DAY = dt.datetime(2024, 5, 1, 7, tzinfo=dt.timezone.utc)
IDENTITY = {"delta.identity.start": "5", "delta.identity.step": "10"}


def schema_of(**columns: tuple[pa.DataType, dict[str, str]]) -> pa.Schema:
    return pa.schema([pa.field(name, kind, metadata=told or None) for name, (kind, told) in columns.items()])


SCHEMA = schema_of(
    k=(pa.int64(), IDENTITY),
    t=(TIME, {}),
    day=(pa.int32(), {"delta.generationExpression": "day(t)"}),
    kind=(pa.string(), {"CURRENT_DEFAULT": "'new'", "comment": "what it is"}),
)


@pytest.mark.parametrize("mode", ["none", "name", "id"])
def test_rows_get_what_they_lack(tmp_path: Path, mode: str) -> None:
    given = {} if mode == "none" else {"delta.columnMapping.mode": mode}
    table = tf.create_table(tmp_path / "t", SCHEMA, format="delta", partition_by="day", properties=given)
    table.append(pa.table({"t": pa.array([DAY, None], TIME)}))
    table.append(pa.table({"t": pa.array([DAY], TIME), "kind": ["x"], "day": pa.array([1], pa.int32())}))
    assert sorted(map(str, table.to_arrow().select(["k", "day", "kind"]).to_pylist())) == [
        "{'k': 15, 'day': None, 'kind': 'new'}",
        "{'k': 25, 'day': 1, 'kind': 'x'}",
        "{'k': 5, 'day': 1, 'kind': 'new'}",
    ]
    assert not list(table.verify(deep=True))
    with pytest.raises(tf.ConstraintViolationError):
        table.append(pa.table({"t": pa.array([DAY], TIME), "day": pa.array([2], pa.int32())}))
    with pytest.raises(tf.ConstraintViolationError):
        table.append(pa.table({"k": [1], "t": pa.array([DAY], TIME)}))


def test_what_the_log_has(tmp_path: Path) -> None:
    tf.create_table(tmp_path / "t", SCHEMA, format="delta")
    lines = (tmp_path / "t" / "_delta_log" / f"{0:020d}.json").read_text().splitlines()
    found = {name: content for line in lines for name, content in json.loads(line).items()}
    fields = json.loads(found["metaData"]["schemaString"])["fields"]
    identity = {"delta.identity.start": 5, "delta.identity.step": 10, "delta.identity.allowExplicitInsert": False}
    assert [f["metadata"] for f in fields] == [
        identity,
        {},
        {"delta.generationExpression": "day(t)"},
        {"comment": "what it is", "CURRENT_DEFAULT": "'new'"},
    ]
    assert {"generatedColumns", "identityColumns", "allowColumnDefaults"} < set(found["protocol"]["writerFeatures"])


def test_a_schema_of_deltalake(tmp_path: Path) -> None:
    deltalake = pytest.importorskip("deltalake")
    computed = deltalake.Field("g", "long", metadata={"delta.generationExpression": "a + 1"})
    schema = deltalake.Schema([deltalake.Field("a", "long"), computed])
    tf.create_table(tmp_path / "t", schema, format="delta").append(pa.table({"a": [1]}))
    assert deltalake.DeltaTable(tmp_path / "t").to_pyarrow_table().to_pylist() == [{"a": 1, "g": 2}]


@pytest.mark.parametrize(
    "told",
    [
        {"delta.identity.step": "0"},
        {"delta.identity.start": "x"},
        {"delta.identity.start": str(2**63)},
        {"delta.identity.allowExplicitInsert": "maybe"},
        {**IDENTITY, "CURRENT_DEFAULT": "1"},
        {"delta.generationExpression": "1", "CURRENT_DEFAULT": "1"},
        {"delta.generationExpression": "missing + 1"},
        {"delta.generationExpression": "rand()"},
        {"delta.generationExpression": "g + 1"},
        {"delta.generationExpression": "other + 1"},
        {"CURRENT_DEFAULT": "((("},
        {"CURRENT_DEFAULT": "a"},
    ],
)
def test_what_is_not_computed_is_refused(tmp_path: Path, told: dict[str, Any]) -> None:
    other = (pa.int64(), {"delta.generationExpression": "a"})
    with pytest.raises(tf.UnsupportedFeatureError) as caught:
        tf.create_table(
            tmp_path / "t", schema_of(a=(pa.int64(), {}), other=other, g=(pa.int64(), told)), format="delta"
        )
    assert caught.value.field == "g"
    assert not (tmp_path / "t").exists()


def test_an_identity_is_a_bigint(tmp_path: Path) -> None:
    with pytest.raises(tf.UnsupportedFeatureError, match="bigint"):
        tf.create_table(tmp_path / "t", schema_of(a=(pa.int64(), {}), g=(pa.int32(), IDENTITY)), format="delta")
