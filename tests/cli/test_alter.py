"""``tableformats alter``: one change a call, asked before columns go, and nothing committed by ``--dry-run``."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest

import tableformats as tf
from tableformats.cli.app import main

from ..support.delta_log import field
from ..write.test_append import ROWS, local_table


@pytest.fixture
def table(tmp_path: Path) -> tf.Table:
    found = local_table(tmp_path, field("id", "long"), field("s", "string"))
    found.append(ROWS)
    return found


def run(table: tf.Table, *arguments: str) -> int:
    return main(["alter", table.location, *arguments])


def test_each_change(table: tf.Table, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(table, "--set-property", "delta.columnMapping.mode=name", "--set-property", "mine=1") == 0
    assert run(table, "--add-column", "n", "int", "--add-column", "d", "date", "--first") == 0
    assert run(table, "--set-property", "delta.enableTypeWidening=true") == 0
    assert run(table, "--change-type", "n", "bigint") == 0
    assert run(table, "--rename-column", "n", "m") == 0
    assert run(table, "--move-column", "m", "--after", "s") == 0
    assert run(table, "--set-comment", "m", "a number") == 0
    assert run(table, "--set-default", "m", "7") == 0
    assert run(table, "--drop-default", "m") == 0
    assert run(table, "--set-required", "id") == 0
    assert run(table, "--add-constraint", "few", "id < 4") == 0
    assert run(table, "--drop-constraint", "few") == 0
    assert run(table, "--set-nullable", "id") == 0
    assert run(table, "--unset-property", "mine") == 0
    assert run(table, "--drop-column", "d", "--yes") == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "SET TBLPROPERTIES is version 2" and out[-1] == "DROP COLUMNS is version 16"
    assert (
        str(table.snapshot().schema) == "id: bigint\ns: string\nm: bigint" and table.schema.fields[2].doc == "a number"
    )
    assert "mine" not in table.snapshot().properties


def test_dropping_asks(table: tf.Table, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    run(table, "--set-property", "delta.columnMapping.mode=name")
    asked: list[str] = []

    def no(text: str, **options: object) -> None:
        asked.append(text)
        raise click.Abort

    monkeypatch.setattr(click, "confirm", no)
    assert run(table, "--drop-column", "s") == 130 and "Drop s from" in asked[0]
    assert table.snapshot().version == 2
    assert run(table, "--drop-column", "s", "--json") == 0
    assert "DROP COLUMNS" in capsys.readouterr().out
    assert table.snapshot().version == 3


def test_a_dry_run_checks_and_commits_nothing(table: tf.Table, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(table, "--add-column", "n", "int", "--dry-run") == 0
    assert "nothing was" in capsys.readouterr().out
    assert run(table, "--add-constraint", "few", "id < 3", "--dry-run") == 1
    assert "id = 3" in capsys.readouterr().err
    assert run(table, "--add-constraint", "few", "id < 4", "--dry-run", "--json") == 0
    assert json.loads(capsys.readouterr().out)["attempts"] == 0
    assert table.snapshot().version == 1


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ([], 2, "Nothing to change"),
        (["--drop-column", "s", "--set-required", "id"], 2, "several changes"),
        (["--drop-column", "s", "--first"], 2, "do not go with"),
        (["--set-property", "x"], 2, "KEY=VALUE"),
        (["--drop-column", "s", "--yes"], 1, "column mapping"),
        (["--add-column", "n", "number"], 2, "no type"),
        (["--set-required", "nothing"], 1, "no column"),
        (["--set-property", "delta.appendOnly=yes"], 1, "true or false"),
    ],
)
def test_what_is_wrong(
    table: tf.Table, arguments: list[str], code: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(table, *arguments) == code
    out, err = capsys.readouterr()
    assert words in err and not out and table.snapshot().version == 1


@pytest.mark.parametrize("arguments", [["--add-column", "n", "NO_TYPE"], ["--change-type", "id", "decimal(99,0)"]])
def test_what_is_no_type(table: tf.Table, capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    assert run(table, *arguments) == 2
    err = capsys.readouterr().err
    assert f"column {arguments[1]}: " in err and "unexpected" not in err and table.snapshot().version == 1
