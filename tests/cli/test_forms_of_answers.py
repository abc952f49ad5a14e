"""What commands about one table write, line by line: for people, and as tabs between values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tableformats as tf
from tableformats.cli import main


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> tf.Table:
    """Orders by day: two files, a comment, a required column, and a property."""
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("day", pa.int32()), ("name", pa.string())])
    found = tf.create_table(
        tmp_path_factory.mktemp("forms") / "t", schema, format="iceberg", partition_by=["day"], properties={"mine": "1"}
    )
    found.append(pa.table({"id": [1, 2], "day": [1, 1], "name": ["a", None]}, schema=schema))
    found.append(pa.table({"id": [3], "day": pa.array([2], pa.int32()), "name": ["b"]}, schema=schema))
    found.alter.set_comment("name", "who")
    return found


def lines_of(capsys: pytest.CaptureFixture[str], *arguments: Any) -> list[str]:
    assert main([str(one) for one in arguments]) == 0
    return capsys.readouterr().out.splitlines()


def document_of(capsys: pytest.CaptureFixture[str], *arguments: Any) -> dict[str, Any]:
    return json.loads("\n".join(lines_of(capsys, *arguments, "--json")))  # type: ignore[no-any-return]


def test_columns(table: tf.Table, capsys: pytest.CaptureFixture[str]) -> None:
    assert [line.split() for line in lines_of(capsys, "schema", table.location)] == [
        ["id", "name", "type", "nullable", "partitioned", "by", "comment"],
        ["1", "id", "bigint", "no"],
        ["2", "day", "int", "yes", "identity"],
        ["3", "name", "string", "yes", "who"],
    ]
    fields = document_of(capsys, "schema", table.location, "--limit", 2)["fields"]
    assert [(f["name"], f["required"], f["partitioned_by"]) for f in fields] == [
        ("id", True, []),
        ("day", False, ["identity"]),
    ]
    tsv = lines_of(capsys, "schema", table.location, "--output", "tsv")
    assert tsv == [
        "id\tname\ttype\trequired\tdoc\tpartitioned_by",
        "1\tid\tbigint\ttrue\t\t[]",
        '2\tday\tint\tfalse\t\t["identity"]',
        "3\tname\tstring\tfalse\twho\t[]",
    ]


def test_a_description(table: tf.Table, capsys: pytest.CaptureFixture[str]) -> None:
    lines = lines_of(capsys, "describe", table.location)
    at = {line[:16].strip(): line[16:] for line in lines if not line.startswith("  ") or line.startswith("  with")}
    assert (at["Format"], at["Partitioned by"], at["Files"], at["with deletes"]) == ("iceberg", "day", "2", "0")
    assert (at["Rows stored"], at["Columns"]) == ("3", "3")
    assert lines[10:13] == ["  id: bigint not null", "  day: int", "  name: string"]
    assert lines[13] == "Properties" and "  mine = 1" in lines and not any(" more" in line for line in lines)
    found = document_of(capsys, "describe", table.location)
    assert (found["files"], found["record_count"], found["files_with_deletes"]) == (2, 3, 0)
    (partition,) = found["partition_fields"]
    assert (partition["name"], partition["transform"], partition["source"]) == ("day", "identity", "day")


def test_files(table: tf.Table, capsys: pytest.CaptureFixture[str]) -> None:
    lines = lines_of(capsys, "files", table.location)
    assert lines[0].split() == ["path", "size", "rows", "partition"] and len(lines) == 3
    assert sorted(line.split()[-2:] for line in lines[1:]) == [["1", "day=2"], ["2", "day=1"]]
    lines = lines_of(capsys, "files", table.location, "-w", "id > 1")
    assert lines[0].split() == ["path", "size", "rows", "partition", "all", "match"]
    assert sorted(line.split()[-2:] for line in lines[1:]) == [["day=1", "no"], ["day=2", "yes"]]
    tsv = lines_of(capsys, "files", table.location, "--output", "tsv")
    assert tsv[0].split("\t")[:3] == ["path", "size_bytes", "record_count"] and len(tsv) == 3


def test_a_plan_file_by_file(table: tf.Table, capsys: pytest.CaptureFixture[str]) -> None:
    lines = lines_of(capsys, "plan", table.location, "-w", "day = 2 AND id > 0", "--files")
    assert lines[0].split("  ")[0] == "path" and len(lines) == 3
    assert sorted(line.split(maxsplit=1)[1].strip() for line in lines[1:]) == [
        "dropped by partition  day = 2",
        "planned",
    ]
    name = next(line.split()[0] for line in lines if line.endswith("planned"))
    parts = lines_of(capsys, "plan", table.location, "-w", "day = 2 AND id > 0", "--why", name, "--output", "tsv")
    assert parts[0] == "filter\treason\tknown" and [line.split("\t")[0] for line in parts[1:]] == ["day = 2", "id > 0"]
    without = lines_of(capsys, "plan", table.location, "--why", name, "--output", "tsv")
    assert without == ["format\tlocation\tversion\ttimestamp\tpath\tverdict\tparts"]
    found = document_of(capsys, "plan", table.location, "-w", "day = 2", "--why", name)
    assert (found["verdict"], len(found["parts"])) == ("planned", 1)


def test_a_plan(table: tf.Table, capsys: pytest.CaptureFixture[str]) -> None:
    found = document_of(capsys, "plan", table.location, "-w", "day = 2")
    assert found["residual"] is None and found["filter_parts"]["planned"] == 1 and len(found["files"]) == 1
    rows = lines_of(capsys, "plan", table.location, "-w", "day = 2", "--output", "jsonl")
    assert [json.loads(row)["record_count"] for row in rows] == [1]


def test_differences(table: tf.Table, capsys: pytest.CaptureFixture[str]) -> None:
    history = table.history()["version"].to_pylist()
    newest, oldest = history[0], history[-1]
    lines = lines_of(capsys, "diff", table.location, oldest, newest)
    assert lines[0].startswith(f"From version {oldest}, ") and lines[1].startswith(f"to   version {newest}, ")
    assert "Files removed: 0" in lines and "Files with other deletes: 0" in lines
    at = lines.index("Files added: 1")
    assert lines[at + 1].split()[0] == "path" and lines[at + 2].endswith("day=2")
    tsv = lines_of(capsys, "diff", table.location, oldest, newest, "--output", "tsv")
    assert tsv[0].startswith("change\tpath\tsize_bytes") and [row.split("\t")[0] for row in tsv[1:]] == ["added"]
    assert document_of(capsys, "diff", table.location, oldest, newest)["removed"] == []


def test_numbers_of_rows(table: tf.Table, capsys: pytest.CaptureFixture[str]) -> None:
    assert lines_of(capsys, "count", table.location) == ["3"]
    assert lines_of(capsys, "count", table.location, "-w", "day = 1", "--limit", 1) == ["1"]
    tsv = lines_of(capsys, "count", table.location, "--output", "tsv")
    assert tsv[0].split("\t")[-1] == "count" and tsv[1].split("\t")[-1] == "3"


def test_rows(table: tf.Table, capsys: pytest.CaptureFixture[str]) -> None:
    lines = lines_of(capsys, "read", table.location, "-w", "day = 1")
    assert lines == ["id  day  name", " 1    1  a", " 2    1"]
    assert lines_of(capsys, "read", table.location, "--columns", "name", "--output", "tsv", "-w", "id = 3") == [
        "name",
        "b",
    ]


def test_versions(table: tf.Table, capsys: pytest.CaptureFixture[str]) -> None:
    lines = lines_of(capsys, "history", table.location)
    names = lines[0].split()
    assert names[:4] == ["version", "time", "operation", "rows"] and len(lines) == 1 + table.history().num_rows
    assert [line.split()[-1] for line in lines[1:3]] == ["+1", "+2"]


def test_plugins(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    lines = lines_of(capsys, "plugins")
    assert lines[0].split()[:3] == ["name", "formats", "module"] and len(lines) >= 3
    assert len(lines_of(capsys, "plugins", "--limit", 1)) == 2
