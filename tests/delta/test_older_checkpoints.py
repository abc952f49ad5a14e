"""What a checkpoint takes over from an older one that has it in another form."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tableformats_delta.maintenance.stored_statistics import StoredStatistics
from tableformats_delta.statistics.stats_struct import stats_columns, stats_type

import tableformats as tf
from tableformats.schema import Field, PrimitiveType, Schema

from ..support.delta_log import ADD_FIELDS, PROTOCOL, DeltaLog, add, field, first_actions, metadata
from .test_checkpoint_writing import FORMS


@pytest.mark.parametrize("form", FORMS)
def test_statistics_that_are_known_in_several_forms(form: str) -> None:
    """Of each file those are kept that one of the forms has; a struct is not rounded by way of a text."""
    schema = Schema((Field(1, "t", PrimitiveType("timestamp")),))
    own = StoredStatistics.of(schema, (), FORMS[form])
    kind = stats_type(stats_columns(schema, (), {}))
    exact = {"numRecords": 3, "minValues": {"t": dt.datetime(1970, 1, 1, 0, 0, 1, 1, dt.timezone.utc)}}
    parsed, text = pa.array([exact, None, exact, None], kind), '{"numRecords":5}'
    texts = pa.array([text, text, None, None])
    for has_texts, has_structs, counts in [
        (True, True, [5, 5, 3, None]),
        (True, False, [5, 5, None, None]),
        (False, True, [3, None, 3, None]),
        (False, False, [None] * 4),
    ]:
        made = own.made(4, texts if has_texts else None, parsed if has_structs else None)
        assert made.keys() == own.members.keys()
        found = {"stats_parsed": [], **{name: column.to_pylist() for name, column in made.items()}}
        for stored in (found["stats_parsed"], [one and json.loads(one) for one in found.get("stats", [])]):
            assert not stored or [one and one["numRecords"] for one in stored] == counts
        assert not found["stats_parsed"] or has_texts or not has_structs or made["stats_parsed"].equals(parsed)


@pytest.mark.parametrize("has_value", [True, False])
def test_maps_whose_values_are_required(has_value: bool, tmp_path: Path) -> None:
    kind = pa.map_(pa.string(), pa.field("value", pa.string(), nullable=False))
    members = [(name, kind if name == "partitionValues" else other) for name, other in ADD_FIELDS]
    values = {"p": "1"} if has_value else {}
    columns = [field("id", "long"), field("p", "string")]
    first = [{"protocol": PROTOCOL}, {"metaData": metadata(*columns, partition=("p",))}]
    log = DeltaLog(tmp_path / "t").commit(1, *first)
    kept = add("a", partitionValues=[*values.items()])
    log.checkpoint(f"{1:020d}.checkpoint.parquet", *first, kept, add_type=pa.struct(members))
    log.commit(2, add("b", partitionValues={"p": "2"}))
    table = tf.open_table(log.root, format="delta")
    assert table.checkpoint().files == 2
    stored = pq.read_table(log.directory / f"{2:020d}.checkpoint.parquet").column("add").to_pylist()
    assert [row["partitionValues"] for row in stored if row and row["path"] == "a"] == [[*values.items()]]


def test_a_file_without_a_time(tmp_path: Path) -> None:
    timeless = {"add": {**add("a")["add"], "modificationTime": None}}
    log = DeltaLog(tmp_path / "t").checkpoint(f"{0:020d}.checkpoint.parquet", *first_actions(), timeless)
    log.commit(1, add("b", modificationTime=7))
    path = Path(tf.open_table(log.root, format="delta").checkpoint().path)
    rows = pq.read_table(path)["add"].to_pylist()
    assert {row["path"]: row["modificationTime"] for row in rows if row and row["path"]} == {"a": 0, "b": 7}
