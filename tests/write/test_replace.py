"""``if_exists="replace"`` and ``mode="replace"``: rows and definition go in one commit, and older versions stay."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tableformats as tf

from .test_append import LOG, files_below

ROWS = pa.table({"id": [1, 2, 3], "p": ["a", "b", None]})
OTHER = pa.table({"p": pa.array([7], pa.int32()), "x": [0.5]})


def actions(path: Path, version: int) -> list[tuple[str, dict[str, Any]]]:
    lines = (path / LOG / f"{version:020d}.json").read_text().splitlines()
    return [item for line in lines for item in json.loads(line).items()]


@pytest.mark.parametrize("properties", [{}, {"delta.columnMapping.mode": "name"}, {"delta.enableRowTracking": "true"}])
def test_a_table_is_replaced_as_others_read_it(tmp_path: Path, properties: dict[str, str]) -> None:
    deltalake = pytest.importorskip("deltalake")
    asked = {"format": "delta", "partition_by": "p", "properties": {"delta.checkpointInterval": "2", **properties}}
    tf.write_table(ROWS, tmp_path, **asked)
    table = tf.open_table(tmp_path)
    table.append(ROWS)
    table.append(ROWS)  # a checkpoint follows
    table.append(ROWS)
    commit = tf.write_table(OTHER, tmp_path, mode="replace", properties={"mine": "1"})
    assert (commit.version, commit.operation) == (4, "CREATE OR REPLACE TABLE AS SELECT")
    assert table.to_arrow().to_pylist() == OTHER.to_pylist() == tf.open_table(tmp_path).to_arrow().to_pylist()
    found = table.snapshot()
    assert (found.schema.names, list(found.partition_fields)) == (["p", "x"], [])
    assert dict(found.properties) == {"mine": "1"}
    assert sorted(table.scan(version=3).to_arrow()["id"].to_pylist()) == sorted(4 * [1, 2, 3])
    removed = [content for kind, content in actions(tmp_path, 4) if kind == "remove"]
    assert len(removed) == 12 and all(content["partitionValues"] for content in removed)
    assert not list(table.verify(deep=True))
    if not properties:
        theirs = deltalake.DeltaTable(str(tmp_path))
        assert theirs.to_pyarrow_table().to_pylist() == OTHER.to_pylist()
        assert theirs.metadata().id == deltalake.DeltaTable(str(tmp_path), version=0).metadata().id
    table.append(OTHER)
    assert table.count() == 2


def test_ids_of_columns_and_of_rows_are_not_given_out_again(tmp_path: Path) -> None:
    properties = {"delta.columnMapping.mode": "id", "delta.enableRowTracking": "true"}
    for mode in ("error", "replace"):
        tf.write_table(ROWS, tmp_path, mode=mode, format="delta", properties=properties)
    table = tf.open_table(tmp_path)
    assert table.snapshot().properties["delta.columnMapping.maxColumnId"] == "4"
    ids = table.scan(columns=["_metadata.row_id"]).to_arrow().column(0).to_pylist()
    assert sorted(ids) == [3, 4, 5]
    table.alter.add_columns({"new": "int"})
    assert not list(table.verify(deep=True))


def test_features_stay_and_domains_go(tmp_path: Path) -> None:
    tf.write_table(ROWS, tmp_path, format="delta", properties={"delta.feature.domainMetadata": "supported"})
    domain = {"domain": "mine", "configuration": "{}", "removed": False}
    info = {"commitInfo": {"operation": "x"}}
    text = "\n".join(json.dumps(action) for action in (info, {"domainMetadata": domain})) + "\n"
    (tmp_path / LOG / f"{1:020d}.json").write_text(text)
    table = tf.create_table(tmp_path, OTHER.schema, if_exists="replace")
    assert [c for kind, c in actions(tmp_path, 2) if kind == "domainMetadata"] == [{**domain, "removed": True}]
    assert "protocol" not in dict(actions(tmp_path, 2)), "features of a protocol are not taken back"
    assert table.count() == 0 and not list(table.verify())


def test_where_no_table_is_one_is_created(tmp_path: Path) -> None:
    table = tf.create_table(tmp_path / "t", ROWS.schema, format="delta", if_exists="replace")
    assert (table.snapshot().version, table.count()) == (0, 0)
    commit = tf.write_table(ROWS, tmp_path / "u", format="delta", mode="replace", application=("job", 1))
    assert (commit.version, commit.attempts) == (0, 1)
    again = tf.write_table(OTHER, tmp_path / "u", mode="replace", application=("job", 1))
    assert (again.attempts, tf.open_table(tmp_path / "u").schema.names) == (0, ["id", "p"])
    again = tf.write_table(ROWS, tmp_path / "u", mode="append", application=("job", 1))
    assert again.attempts == 0, "the transaction of an application counts for what creates the table, too"


def test_what_is_not_replaced(tmp_path: Path) -> None:
    tf.write_table(ROWS, tmp_path, format="delta", properties={"delta.appendOnly": "true"})
    before = files_below(tmp_path)
    with pytest.raises(tf.UnsupportedFeatureError) as refused:
        tf.write_table(OTHER, tmp_path, mode="replace")
    assert refused.value.field == "appendOnly"
    with pytest.raises(tf.TableExistsError):
        tf.create_table(tmp_path, OTHER.schema, format="iceberg", if_exists="replace")
    with pytest.raises(tf.UnsupportedFeatureError) as refused:
        tf.write_table(OTHER, tmp_path, mode="replace", branch="b")
    assert refused.value.field == "branch"
    with pytest.raises(tf.ConstraintViolationError):
        tf.create_table(tmp_path, OTHER.schema, partition_by="no", if_exists="replace")
    assert files_below(tmp_path) == before


@pytest.mark.parametrize("winner", ["append", "alter", "replace"])
def test_a_winner(tmp_path: Path, winner: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An append counts as if it came before: its rows go, too. A new definition is a conflict."""
    from tableformats.table import create

    table = tf.create_table(tmp_path, ROWS.schema, format="delta")
    begun = create._begun

    def late(*arguments: Any) -> Any:
        monkeypatch.setattr(create, "_begun", begun)
        made = begun(*arguments)
        if winner == "append":
            table.append(ROWS)
        elif winner == "alter":
            table.alter.set_properties({"mine": "1"})
        else:
            tf.write_table(OTHER, tmp_path, mode="replace")
        return made

    monkeypatch.setattr(create, "_begun", late)
    if winner == "append":
        commit = tf.write_table(OTHER, tmp_path, mode="replace")
        assert (commit.version, commit.attempts) == (2, 1)
        assert tf.open_table(tmp_path).to_arrow().to_pylist() == OTHER.to_pylist()
    else:
        with pytest.raises(tf.CommitConflictError):
            tf.write_table(OTHER, tmp_path, mode="replace")
        assert tf.open_table(tmp_path).snapshot().version == 1
    assert not list(tf.open_table(tmp_path).verify(deep=True))


def test_an_append_under_way_meets_a_replaced_table(tmp_path: Path) -> None:
    table = tf.create_table(tmp_path, ROWS.schema, format="delta")
    with pytest.raises(tf.CommitConflictError), table.transaction() as txn:
        txn.append(ROWS)
        tf.write_table(OTHER, tmp_path, mode="replace")
    assert tf.open_table(tmp_path).to_arrow().to_pylist() == OTHER.to_pylist()
