"""Numbers in the metadata of a Delta table that are none: a commit that needs one names it, and nothing is written."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tableformats as tf
from tests.support.delta_log import DeltaLog, field, metadata

GREATEST_ID = "delta.columnMapping.maxColumnId"
MARK = "delta.identity.highWaterMark"
IDENTITY = {"delta.identity.start": 1, "delta.identity.step": 1, "delta.identity.allowExplicitInsert": True}
ROWS = pa.table({"id": pa.array([1], pa.int64())})
Verb = Callable[[tf.Table], Any]


def refused(log: DeltaLog, verb: Verb) -> str | None:
    """The field that an error names."""
    before = sorted(log.root.rglob("*"))
    with pytest.raises(tf.CorruptMetadataError) as caught:
        verb(tf.open_table(log.root))
    assert sorted(log.root.rglob("*")) == before
    return caught.value.field


@pytest.mark.parametrize("text", ["x", "1.5", "", "-1", "9" * 30, "9" * 5000])
@pytest.mark.parametrize(
    ("is_mapped", "verb"),
    [
        (True, lambda t: t.alter.add_columns(pa.schema([("x", pa.int64())]))),
        (True, lambda t: t.restore(0)),
        (False, lambda t: t.alter.set_properties({"delta.columnMapping.mode": "name"})),
    ],
    ids=["add", "restore", "mode"],
)
def test_the_greatest_id_of_a_column(tmp_path: Path, is_mapped: bool, verb: Verb, text: str) -> None:
    names = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "id"} if is_mapped else {}
    configuration = {GREATEST_ID: text, **({"delta.columnMapping.mode": "name"} if is_mapped else {})}
    log = DeltaLog(tmp_path / "t")
    described = metadata(field("id", "long", names), configuration=configuration)
    log.commit(0, {"protocol": {"minReaderVersion": 2, "minWriterVersion": 5}}, {"metaData": described})
    assert refused(log, verb) == GREATEST_ID


def described(**numbers: Any) -> dict[str, Any]:
    """A schema with an identity column; text that is given in bytes is JSON."""
    told = {**IDENTITY, **{f"delta.identity.{name}": number for name, number in numbers.items()}}
    marked = {key: f"@{value.decode()}@" if isinstance(value, bytes) else value for key, value in told.items()}
    found = metadata(field("id", "long", marked))
    return {**found, "schemaString": found["schemaString"].replace('"@', "").replace('@"', "")}


PROTOCOL = {"minReaderVersion": 1, "minWriterVersion": 6}


@pytest.mark.parametrize("name", ["start", "step", "highWaterMark"])
@pytest.mark.parametrize("number", [b"1e400", b"-1e400", b"1.0", True, "1e5", [1], 2**63, -(2**63) - 1, "9" * 5000])
def test_numbers_of_identity_columns(tmp_path: Path, name: str, number: Any) -> None:
    log = DeltaLog(tmp_path / "t").commit(0, {"protocol": PROTOCOL}, {"metaData": described(**{name: number})})
    assert refused(log, lambda table: table.append(ROWS)) == "id"


@pytest.mark.parametrize(("older", "newer"), [("x", 5), (5, "x"), ([1], 5), (5, [1]), (5, b"1e400"), (None, "x")])
def test_marks_of_identity_columns_that_are_restored(tmp_path: Path, older: Any, newer: Any) -> None:
    log = DeltaLog(tmp_path / "t")
    first = described() if older is None else described(highWaterMark=older)
    log.commit(0, {"protocol": PROTOCOL}, {"metaData": first}).commit(1, {"metaData": described(highWaterMark=newer)})
    assert refused(log, lambda table: table.restore(0)) == "id"


@pytest.mark.parametrize("mark", [2**63 - 1, -(2**63), "7"])
def test_numbers_that_are_some(tmp_path: Path, mark: Any) -> None:
    log = DeltaLog(tmp_path / "t").commit(0, {"protocol": PROTOCOL}, {"metaData": described(highWaterMark=mark)})
    tf.open_table(log.root).append(ROWS)
    assert json.loads(log.actions(0)[1]["metaData"]["schemaString"])["fields"][0]["metadata"][MARK] == mark
