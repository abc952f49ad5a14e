"""Parts of the commands by themselves: options, lists that are cut, and what is told of commits and checks."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pyarrow as pa
import pytest

import tableformats as tf
from tableformats.cli import app, main
from tableformats.cli.app import _asks_for_json
from tableformats.cli.commands import _kinds_text, _partition_texts, _tell_rest, _threshold, _thresholds
from tableformats.cli.options import _moves, names, pairs
from tableformats.cli.output import print_error
from tableformats.cli.writing import _kind, _tell, _tell_check
from tableformats.errors import CorruptMetadataError, InvalidPredicateError

CONTEXT: Any = None


@pytest.mark.parametrize(
    ("arguments", "asks"),
    [
        ([], False),
        (["plan", "t"], False),
        (["plan", "t", "--json"], True),
        (["plan", "--output=json", "t"], True),
        (["plan", "--output", "json"], True),
        (["plan", "--output", "jsonl"], False),
        (["plan", "--output"], False),
        (["--output", "tsv", "json"], False),
    ],
)
def test_whether_json_is_asked_for(arguments: list[str], asks: bool) -> None:
    assert _asks_for_json(arguments) is asks


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ((), {}),
        (("a",), {"a": None}),
        (("a=2.5", "b"), {"a": 2.5, "b": None}),
        (("all",), {"a": None, "b": None}),
        (("a=3", "all"), {"a": 3.0, "b": None}),
        (("all", "a=3"), {"a": 3.0, "b": None}),
        (("a=inf",), {"a": float("inf")}),
    ],
)
def test_checks_that_fail_a_command(given: tuple[str, ...], found: dict[str, float | None]) -> None:
    assert _thresholds(given, {"a": 1.0, "b": 2.0}) == found


@pytest.mark.parametrize("given", ["c", "all=1", "a=", "a=x", "a=nan", "c=1"])
def test_checks_that_there_are_not(given: str) -> None:
    with pytest.raises(click.BadParameter):
        _thresholds([given], {"a": 1.0, "b": 2.0})
    assert _threshold("a=1", "1") == 1.0


@pytest.mark.parametrize(
    ("given", "moves"), [(None, None), ("\0", True), ("a=b", {"a": "b"}), ("s3://b?x=1=/t", {"s3://b?x=1": "/t"})]
)
def test_prefixes_that_are_moved(given: str | None, moves: Any) -> None:
    assert _moves(CONTEXT, CONTEXT, given) == moves


@pytest.mark.parametrize("given", ["", "a", "a=", "=b"])
def test_prefixes_that_are_none(given: str) -> None:
    with pytest.raises(click.BadParameter, match="OLD=NEW"):
        _moves(CONTEXT, CONTEXT, given)


def test_options_of_several_values() -> None:
    assert pairs(CONTEXT, CONTEXT, ("a=1", "b=", "c=x=y", "a=2")) == {"a": "2", "b": "", "c": "x=y"}
    for wrong in ("a", "=1", ""):
        with pytest.raises(click.BadParameter, match="KEY=VALUE"):
            pairs(CONTEXT, CONTEXT, (wrong,))
    assert names(CONTEXT, CONTEXT, None) is None
    assert names(CONTEXT, CONTEXT, " a, b ,,c") == ["a", "b", "c"] and names(CONTEXT, CONTEXT, "") == []


@pytest.mark.parametrize(
    ("shown", "total", "option", "text"),
    [
        (5, 5, "--all", ""),
        (0, 0, "--limit", ""),
        (4, 5, "--all", "1 more; --all lists them\n"),
        (5, 2005, "--limit", "2,000 more; --limit chooses how many\n"),
    ],
)
def test_how_many_are_left(shown: int, total: int, option: str, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    _tell_rest(shown, total, option)
    assert capsys.readouterr().out == text


def test_texts_of_deletes_and_partitions() -> None:
    kinds = [{"kind": kind} for kind in ("equality", "deletion_vector", "equality", "position")]
    assert _kinds_text(kinds) == "equality, position, vector" and _kinds_text(None) == _kinds_text([]) == ""
    partition = pa.array([{"day": 3, "k\x1b": None}, {"day": None, "k\x1b": "x"}])
    assert _partition_texts(partition) == ["day=3, k\\x1b=null", "day=null, k\\x1b=x"]
    assert _partition_texts(pa.array([{}, {}], pa.struct([]))) == ["", ""]


@pytest.mark.parametrize(
    ("file", "kind"),
    [("a.PARQUET", "parquet"), ("a.feather", "ipc"), ("a.csv", "csv"), ("a.json.jsonl", "json"), ("x.ndjson", "json")],
)
def test_kinds_of_files(file: str, kind: str) -> None:
    assert _kind(file) == kind


@pytest.mark.parametrize(
    ("attempts", "metrics", "text"),
    [
        (0, {}, "There was nothing to commit; the table has version 7"),
        (1, {"added_rows": 1, "added_files": 1, "added_bytes": 5}, "WRITE is version 7: 1 row in 1 file, 5 B"),
        (
            2,
            {"added_rows": 2, "added_files": 3, "added_bytes": 5, "removed_files": 1},
            "WRITE is version 7: 2 rows in 3 files, 5 B; 1 file removed",
        ),
        (1, {"removed_files": 0}, "WRITE is version 7: 0 rows in 0 files, 0 B"),
    ],
)
def test_what_is_told_of_a_commit(
    attempts: int, metrics: dict[str, int], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    commit: Any = SimpleNamespace(version=7, operation="WRITE", attempts=attempts, metrics=metrics)
    table: Any = SimpleNamespace(location="/t")
    _tell(commit, table, False)
    assert capsys.readouterr().out == f"{text}\n"
    _tell(commit, table, True)
    told = json.loads(capsys.readouterr().out)
    assert told == {
        "output_schema": "commit/1",
        "location": "/t",
        "version": 7,
        "operation": "WRITE",
        "attempts": attempts,
        "metrics": metrics,
        "dry_run": False,
    }


def test_what_is_told_of_a_check(capsys: pytest.CaptureFixture[str]) -> None:
    table: Any = SimpleNamespace(location="/t", snapshot=lambda: SimpleNamespace(version=7))
    _tell_check(1, table, False)
    assert capsys.readouterr().out == "1 row can be written; nothing was (the table has version 7).\n"
    _tell_check(2, table, False, 0)
    told = "2 rows can be written; nothing was (the table has version 7). Rows of up to 0 files would be replaced.\n"
    assert capsys.readouterr().out == told
    _tell_check(2, table, True, 0)
    found = json.loads(capsys.readouterr().out)
    assert (found["version"], found["rows"], found["files_with_replaced_rows"], found["dry_run"]) == (7, 2, 0, True)


@pytest.mark.parametrize(
    ("error", "lines"),
    [
        (CorruptMetadataError("bad", path="/t", offset=0, field="f"), ["Error: bad (path /t, offset 0, field f)"]),
        (CorruptMetadataError("bad", offset=7, hint="Look"), ["Error: bad (offset 7)", "Hint: Look"]),
        (InvalidPredicateError("b\x1bd", hint="L\x1bk"), ["Error: b\\x1bd", "Hint: L\\x1bk"]),
        (click.UsageError("wrong"), ["Error: wrong"]),
        (CorruptMetadataError("größer"), ["Error: größer"]),
        (
            ValueError("x"),
            ["Error: ValueError: x", "Hint: This is unexpected; run again with --debug for the traceback"],
        ),
    ],
)
def test_errors(error: Exception, lines: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    print_error(error, False)
    found = capsys.readouterr()
    assert found.out == "" and found.err.splitlines()[: len(lines)] == lines
    print_error(error, True)
    shown = capsys.readouterr().err
    document = json.loads(shown)
    assert shown.isascii()
    assert document["output_schema"] == "error/1" and document["error"]["type"] == type(error).__name__
    assert document["error"]["offset"] == getattr(error, "offset", None)


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> tf.Table:
    """A table of 22 versions, 21 files and 42 rows."""
    table = tf.create_table(tmp_path_factory.mktemp("many") / "t", pa.schema({"id": pa.int64()}), format="delta")
    for i in range(21):
        table.append(pa.table({"id": [2 * i, 2 * i + 1]}))
    return table


def lines_of(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> list[str]:
    assert main([str(one) for one in arguments]) == 0
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize(
    ("arguments", "count", "last"),
    [
        (["history"], 22, "The newest 20 versions; --limit shows more"),
        (["history", "--limit", "22"], 23, None),
        (["history", "--limit", "3"], 4, None),
        (["read"], 22, "The first 20 rows; --limit shows more"),
        (["read", "-w", "id < 20"], 21, None),
        (["read", "-w", "id < 21"], 22, "The first 20 rows; --limit shows more"),
        (["read", "--limit", "21"], 22, None),
        (["files"], 22, None),
        (["files", "--limit", "20"], 22, "1 more; --limit chooses how many"),
        (["files", "--limit", "21"], 22, None),
        (["plan", "--files"], 22, "1 more; --all lists them"),
        (["plan", "--files", "--all"], 22, None),
        (["describe", "--limit", "0"], None, "1 more; --limit chooses how many"),
        (["diff", "0"], None, "1 more; --all lists them"),
        (["diff", "0", "--all"], None, None),
        (["diff", "0", "--limit", "21"], None, None),
    ],
)
def test_long_lists_are_cut(
    many: tf.Table, arguments: list[str], count: int | None, last: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    command, *options = arguments
    versions = [options.pop(0)] if command == "diff" else []
    lines = lines_of(capsys, command, many.location, *versions, *options)
    assert count is None or len(lines) == count
    assert [line for line in lines if " more" in line] == ([] if last is None else [last])


def test_planned_files_are_cut(many: tf.Table, capsys: pytest.CaptureFixture[str]) -> None:
    lines = lines_of(capsys, "plan", many.location)
    listed = lines[lines.index("Planned files") + 1 :]
    assert len(listed) == 22 and listed[-1] == "1 more; --all lists them"
    lines = lines_of(capsys, "plan", many.location, "--all")
    assert len(lines[lines.index("Planned files") + 1 :]) == 22 and not any(" more;" in line for line in lines)
    lines = lines_of(capsys, "plan", many.location, "-w", "id < 6")
    listed = lines[lines.index("Planned files") + 1 :]
    assert len(listed) == 4 and listed[0].split() == ["path", "size", "rows", "all", "match"]
    assert [line.split()[-1] for line in listed[1:]] == ["yes"] * 3


@pytest.mark.parametrize(
    ("outcome", "code", "message"),
    [
        (None, 0, ""),
        (0, 0, ""),
        (3, 3, ""),
        ("text", 0, ""),
        (click.Abort(), 130, ""),
        (BrokenPipeError(), 0, ""),
        (SystemExit(1), 0, ""),  # what click makes of a closed pipe
        (click.UsageError("wrong"), 2, "Error: wrong"),
        (InvalidPredicateError("no column"), 2, "Error: no column"),
        (CorruptMetadataError("bad"), 1, "Error: bad"),
        (OSError("full"), 1, "Error: "),
    ],
)
def test_exit_codes(
    outcome: Any, code: int, message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(arguments: list[str], **more: Any) -> Any:
        assert arguments == ["plan", "t"]
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    replaced: list[tuple[int, int]] = []
    monkeypatch.setattr(app.cli, "main", run)
    monkeypatch.setattr(os, "open", lambda path, flags: -7)
    monkeypatch.setattr(os, "dup2", lambda old, new: replaced.append((old, new)))
    monkeypatch.setattr(sys.stdout, "fileno", lambda: 1, raising=False)
    found = main(["plan", "t"])
    monkeypatch.undo()
    assert found == code
    assert replaced == ([(-7, 1)] if isinstance(outcome, (BrokenPipeError, SystemExit)) else [])
    said = capsys.readouterr()
    assert said.out == "" and said.err.startswith(message) and bool(said.err) is bool(message)


def test_a_call_without_arguments_is_one_for_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert capsys.readouterr().out.startswith("Usage: tableformats [OPTIONS] COMMAND [ARGS]...")


@pytest.mark.parametrize(
    ("filter", "residual"),
    [(None, None), ("id > 4", "id > 4"), ("id >= 0", None), ("id = 4 OR id = 5", "id = 4 OR id = 5")],
)
def test_what_is_left_of_a_filter(
    many: tf.Table, filter: str | None, residual: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    options = [] if filter is None else ["-w", filter]
    assert main(["plan", many.location, *options, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["residual"] == residual


def test_a_table_without_snapshots_is_described(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tf.create_table(tmp_path / "t", pa.schema({"x": pa.int64()}), format="iceberg")
    lines = lines_of(capsys, "describe", tmp_path / "t")
    assert lines[1:3] == ["Format          iceberg", "Version         no snapshot yet"]
    assert "Partitioned by  nothing" in lines and "Columns         1" in lines and "  x: bigint" in lines
