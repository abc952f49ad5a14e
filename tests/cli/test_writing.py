"""``tableformats create``, ``append`` and ``overwrite``: asked before rows go, and dry runs write nothing."""

from __future__ import annotations

import json
import re
import sys
import time
from pathlib import Path
from typing import Any

import click
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import tableformats as tf
from tableformats.cli import progress
from tableformats.cli.app import main

from ..write.test_append import files_below

ROWS = pa.table({"id": [1, 2], "p": ["a", "b"]})


@pytest.fixture
def files(tmp_path: Path) -> Path:
    root = tmp_path / "files"
    root.mkdir()
    pq.write_table(ROWS, root / "a.parquet")
    pyarrow.feather.write_feather(ROWS, str(root / "a.arrow"))
    pyarrow.csv.write_csv(ROWS, root / "a.csv")
    (root / "a.jsonl").write_text('{"id": 1, "p": "a"}\n{"id": 2, "p": "b"}\n')
    pq.write_table(pa.table({"id": [7], "p": ["a"]}), root / "other.parquet")
    pq.write_table(pa.table({"id": ["x"]}), root / "bad.parquet")
    return root


@pytest.fixture
def table(tmp_path: Path) -> tf.Table:
    return tf.create_table(tmp_path / "t", ROWS.schema, format="delta", partition_by="p")


def ids(table: tf.Table) -> list[int]:
    return sorted(table.to_arrow()["id"].to_pylist())


def test_a_table_by_its_columns_or_those_of_a_file(
    tmp_path: Path, files: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    new = str(tmp_path / "new")
    columns = ["--column", "id", "bigint", "--column", "p", "string", "--partition-by", "p"]
    assert main(["create", new, "--format", "delta", *columns, "--dry-run"]) == 0
    assert "can be created" in capsys.readouterr().out and not (tmp_path / "new").exists()
    assert main(["create", new, "--format", "delta", *columns, "--set-property", "mine=1"]) == 0
    found = tf.open_table(new).snapshot()
    assert str(found.schema) == "id: bigint\np: string" and found.properties["mine"] == "1"
    assert main(["create", new, "--format", "delta", *columns]) == 1
    assert "is there" in capsys.readouterr().err
    assert main(["create", new, "--format", "delta", *columns, "--if-exists", "ignore", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["version"] == 0
    replaced = ["create", new, "--format", "delta", "--column", "x", "int", "--if-exists", "replace"]
    monkeypatch.setattr("click.confirm", lambda *_, **__: (_ for _ in ()).throw(click.Abort()))
    assert main([*replaced, "--dry-run"]) == 0 and main(replaced) != 0
    assert str(tf.open_table(new).schema) == "id: bigint\np: string"
    assert main([*replaced, "--yes"]) == 0 and str(tf.open_table(new).schema) == "x: int"
    like = str(tmp_path / "like")
    assert main(["create", like, "--format", "delta", "--like", str(files / "a.csv")]) == 0
    assert str(tf.open_table(like).schema) == "id: bigint\np: string"
    for wrong in ([], [*columns, "--like", "x.csv"], ["--column", "id", "no type"]):
        assert main(["create", like, "--format", "delta", *wrong]) == 2


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow", "a.csv", "a.jsonl"])
def test_rows_of_files(table: tf.Table, files: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["append", table.location, str(files / name), "--dry-run"]) == 0
    assert "2 rows can be written" in capsys.readouterr().out and table.snapshot().version == 0
    assert main(["append", table.location, str(files / name), str(files / name)]) == 0
    assert "WRITE is version 1: 4 rows in 2 files" in capsys.readouterr().out
    assert ids(table) == [1, 1, 2, 2]


def test_what_is_no_file_of_rows(table: tf.Table, files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, code in (
        (["no.txt"], 2),
        ([str(files / "a.csv"), str(files / "a.parquet")], 2),
        ([str(files / "missing.parquet")], 1),
        ([str(files / "bad.parquet")], 1),
        ([str(files / "bad.parquet"), "--dry-run"], 1),
    ):
        before = files_below(Path(table.location))
        assert main(["append", table.location, *arguments]) == code
        assert "unexpected" not in capsys.readouterr().err
        assert files_below(Path(table.location)) == before


def test_rows_go_only_when_asked(
    table: tf.Table, files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    table.append(ROWS)
    location, other = table.location, str(files / "other.parquet")
    asked: list[str] = []

    def refuse(text: str, **options: object) -> None:
        asked.append(text)
        raise click.Abort

    monkeypatch.setattr(click, "confirm", refuse)
    for more in ([], ["--where", "p = 'a'"], ["--dynamic"]):
        assert main(["overwrite", location, other, *more]) != 0
    assert ids(table) == [1, 2] and "all rows" in asked[0] and "p = 'a'" in asked[1] and "partitions" in asked[2]
    capsys.readouterr()
    assert main(["overwrite", location, other, "-w", "p = 'a'", "--dry-run"]) == 0
    assert "Rows of up to 1 file would be replaced" in capsys.readouterr().out and ids(table) == [1, 2]
    assert main(["overwrite", location, other, "-w", "p = 'b'", "--dry-run"]) == 1
    assert main(["overwrite", location, other, "-w", "p = 'a'", "--dynamic"]) == 2
    assert main(["overwrite", location, other, "--dynamic", "--yes"]) == 0
    assert ids(table) == [2, 7]
    capsys.readouterr()
    assert main(["overwrite", location, other, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["version"], told["metrics"]["removed_files"], ids(table)) == (3, 2, [7])


def test_who_waits_is_told_how_many_rows_were_read_also_after_a_question(
    table: tf.Table, files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "_PATIENCE", 0.01)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(click, "confirm", lambda text, **options: None)
    write = tf.Table.overwrite

    def slowly(*arguments: Any, **more: Any) -> Any:
        commit = write(*arguments, **more)
        time.sleep(0.1)
        return commit

    monkeypatch.setattr(tf.Table, "overwrite", slowly)
    assert main(["overwrite", table.location, str(files / "other.parquet")]) == 0
    assert re.search(r"overwrite: \d+ s, [1-9]\d* rows read", capsys.readouterr().err)
