"""What commands tell people: lines behind a table, paths below a location, and which options reach the library."""

from __future__ import annotations

import datetime as dt
import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pyarrow as pa
import pytest

import tableformats as tf
from tableformats.cli import main, options, output, upkeep, writing
from tableformats.cli.output import print_columns, print_json, print_records, print_table
from tableformats.table import create as creation
from tableformats.table import table as tables
from tests.support.delta_log import DeltaLog, add, field, stats

CONTEXT: Any = None


def lines_of(capsys: pytest.CaptureFixture[str], code: int, *arguments: Any) -> list[str]:
    assert main([str(one) for one in arguments]) == code
    return capsys.readouterr().out.splitlines()


# ---- lines behind a table -------------------------------------------------------------------------------------------


def test_rules_that_are_broken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sound = tf.create_table(tmp_path / "sound", pa.schema({"id": pa.int64()}), format="delta")
    assert lines_of(capsys, 0, "verify", sound.location) == ["No rule is broken"]
    log = DeltaLog(tmp_path / "t").start(field("id", "long")).commit(1, add("a"), add("b", stats="{"))
    whole = lines_of(capsys, 3, "verify", log.root)
    count = len(whole) - 1
    assert count > 1 and not any(line.endswith(" more") or "No rule" in line for line in whole)
    assert lines_of(capsys, 3, "verify", log.root, "--limit", count) == whole
    cut = lines_of(capsys, 3, "verify", log.root, "--limit", 1)
    assert len(cut) == 3 and cut[-1] == f"{count - 1} more"
    assert lines_of(capsys, 3, "verify", log.root, "--limit", 0) == [f"{count} more"]


def test_files_with_wrong_statistics(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tf.create_table(tmp_path / "t", pa.schema({"id": pa.int64()}), format="delta")
    table.append(pa.table({"id": [1, 2]}))
    lines = lines_of(capsys, 0, "verify-stats", table.location)
    assert lines[0].startswith("Version 1, 1 file") and lines[1:] == ["0 files have wrong statistics or cannot be read"]
    wrong = stats(2, minValues={"id": 5}, maxValues={"id": 9}, nullCount={"id": 0})
    log = Path(table.location) / "_delta_log" / f"{1:020}.json"
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    for action in actions:
        if "add" in action:
            action["add"]["stats"] = wrong
    log.write_text("".join(json.dumps(action) + "\n" for action in actions))
    whole = lines_of(capsys, 3, "verify-stats", table.location)
    assert whole[-1] == "1 file has wrong statistics or cannot be read" and whole[-3] == ""
    assert not any(line.endswith(" more") for line in whole)
    findings = len(whole) - 4
    if findings > 1:
        cut = lines_of(capsys, 3, "verify-stats", table.location, "--limit", 1)
        assert cut[2:4] == [f"{findings - 1} more", ""]
    none = lines_of(capsys, 3, "verify-stats", table.location, "--limit", 0)
    assert none == whole[-2:]


def test_files_that_nothing_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = DeltaLog(tmp_path / "t").start(field("id", "long"))
    none = ["0 files that nothing names, 0 B. Nothing was deleted"]
    assert lines_of(capsys, 0, "orphans", log.root, "--older-than", "0m") == none
    for name in ("a", "b"):
        (log.root / f"{name}.parquet").write_bytes(b"12345")
        os.utime(log.root / f"{name}.parquet", (1_700_000_000, 1_700_000_000))
    last = "2 files that nothing names, 10 B. Nothing was deleted"
    lines = lines_of(capsys, 0, "orphans", log.root, "--older-than", "0m")
    assert len(lines) == 4 and lines[0].split() == ["path", "size", "modified"] and lines[3] == last
    assert lines_of(capsys, 0, "orphans", log.root, "--older-than", "0m", "--limit", 2) == lines
    assert lines_of(capsys, 0, "orphans", log.root, "--older-than", "0m", "--limit", 1) == [*lines[:2], "1 more", last]
    assert lines_of(capsys, 0, "orphans", log.root, "--older-than", "0m", "--limit", 0) == ["2 more", last]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (None, None),
        ("", ""),
        ("h", "h"),
        ("12h", dt.timedelta(hours=12)),
        ("7d", dt.timedelta(days=7)),
        ("0m", dt.timedelta(0)),
        ("-1d", "-1d"),
        ("1.5d", "1.5d"),
        ("7w", "7w"),
        ("2024-01-01", "2024-01-01"),
        ("\u0663d", "\u0663d"),
    ],
)
def test_times_and_ages(text: str | None, found: Any) -> None:
    assert upkeep._time_or_age(CONTEXT, CONTEXT, text) == found


# ---- at a terminal --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("below", "width", "paths", "lines"),
    [
        ("/t", 80, ["path"], ["path     n", "d/a      1", "/else/b  2", "Paths are below /t/"]),
        ("/t/", 80, ["path"], ["path     n", "d/a      1", "/else/b  2", "Paths are below /t/"]),
        ("/u", 80, ["path"], ["path     n", "/t/d/a   1", "/else/b  2"]),
        (None, 80, ["path"], ["path     n", "/t/d/a   1", "/else/b  2"]),
        ("/t", 80, [], ["path     n", "/t/d/a   1", "/else/b  2"]),
        ("/t", None, ["path"], ["path     n", "/t/d/a   1", "/else/b  2"]),
    ],
)
def test_paths_below_a_location(
    below: str | None,
    width: int | None,
    paths: list[str],
    lines: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(output, "_terminal_width", lambda: width)
    given = [["/t/d/a", "/else/b"], ["1", "2"]]
    print_columns(["path", "n"], given, paths=paths, below=below)
    assert click.unstyle(capsys.readouterr().out).splitlines() == lines
    assert given == [["/t/d/a", "/else/b"], ["1", "2"]]


def test_the_head_of_a_table_is_bold_at_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    styled: list[Any] = []
    monkeypatch.setattr(click, "style", lambda text, **options: styled.append((text, options)) or text)
    for width, count in ((None, 0), (40, 1)):
        monkeypatch.setattr(output, "_terminal_width", lambda width=width: width)
        print_table(["a", "b"], [[1, None], ["x\n", 2.5]], numeric=["b"])
        assert capsys.readouterr().out.splitlines() == ["a      b", "1", "x\\n  2.5"] and len(styled) == count
    assert styled == [("a      b", {"bold": True})]


def test_tables_without_rows(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(["a", "b"], [])
    assert capsys.readouterr().out == "a  b\n"


# ---- for programs ---------------------------------------------------------------------------------------------------


def test_documents(capsys: pytest.CaptureFixture[str]) -> None:
    print_json("x", {"name": "é\x1b\u202e", "number": float("nan"), "none": None, "rows": pa.table({"a": [1, 2]})})
    rows = '  "rows": [\n    {\n      "a": 1\n    },\n    {\n      "a": 2\n    }\n  ]\n}\n'
    head = '{\n  "output_schema": "x/1",\n  "name": "é\\u001b\\u202e",\n  "number": "NaN",\n  "none": null,\n'
    assert capsys.readouterr().out == head + rows
    print_json("x", {})
    assert capsys.readouterr().out == '{\n  "output_schema": "x/1"\n}\n'


def test_records(capsys: pytest.CaptureFixture[str]) -> None:
    records = [{"a": 1, "b": "é\t"}, {"a": None, "b": [1]}]
    print_records("tsv", records, ["b", "a"])
    assert capsys.readouterr().out == "b\ta\né\\t\t1\n[1]\t\n"
    print_records("jsonl", records, ["b", "a"])
    assert capsys.readouterr().out == '{"a": 1, "b": "é\\t"}\n{"a": null, "b": [1]}\n'
    table = pa.table({"a": [1, None], "b": ["x", "y\t"]})
    print_records("tsv", table, ["b", "a"])
    assert capsys.readouterr().out == "b\ta\nx\t1\ny\\t\t\n"
    print_records("jsonl", table, [])
    assert capsys.readouterr().out == '{"a": 1, "b": "x"}\n{"a": null, "b": "y\\t"}\n'


# ---- options --------------------------------------------------------------------------------------------------------

CHOSEN = {
    "location": "/t",
    "format": None,
    "catalog": None,
    "relocate": None,
    "allow_paths": (),
    "storage_options": {},
    "version": None,
    "timestamp": None,
    "branch": None,
    "tag": None,
    "filter": None,
    "columns": None,
    "ansi": True,
}


class Opened:
    """A table that remembers what it is asked."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def __call__(self, *given: Any, **named: Any) -> Opened:
        self.asked.append((given, named))
        return self

    snapshot = scan = __call__


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Opened:
    found = Opened()
    monkeypatch.setattr(tables, "open_table", found)
    return found


def test_options_of_a_table(opened: Opened) -> None:
    options.opened_table(CHOSEN)
    nothing = dict.fromkeys(("format", "catalog", "relocate", "allow_paths", "storage_options"))
    assert opened.asked == [(("/t",), nothing)]
    more = {
        "format": "delta",
        "catalog": "c",
        "relocate": {"a": "b"},
        "allow_paths": ("x", "y"),
        "storage_options": {"k": "v"},
    }
    options.opened_table({**CHOSEN, **more})
    assert opened.asked[1] == (("/t",), {**more, "allow_paths": ["x", "y"]})


@pytest.mark.parametrize(
    ("given", "version", "selectors"),
    [
        ({}, None, {"timestamp": None, "branch": None, "tag": None}),
        ({"version": "7"}, 7, {"timestamp": None, "branch": None, "tag": None}),
        ({"version": "main"}, "main", {"timestamp": None, "branch": None, "tag": None}),
        ({"timestamp": "1700000000000"}, None, {"timestamp": 1700000000000, "branch": None, "tag": None}),
        ({"timestamp": "2024-01-01"}, None, {"timestamp": "2024-01-01", "branch": None, "tag": None}),
        ({"branch": "b"}, None, {"timestamp": None, "branch": "b", "tag": None}),
        ({"tag": "7"}, None, {"timestamp": None, "branch": None, "tag": "7"}),
    ],
)
def test_options_of_a_version(given: dict[str, str], version: Any, selectors: dict[str, Any], opened: Opened) -> None:
    options.opened_snapshot({**CHOSEN, **given})
    assert opened.asked[1] == ((version,), selectors)


def test_options_of_a_query(opened: Opened) -> None:
    options.opened_scan(CHOSEN)
    assert opened.asked[2] == ((None,), {"columns": None, "limit": None, "ansi": True})
    options.opened_scan({**CHOSEN, "filter": "x > 1", "columns": ["a"], "limit": 3, "ansi": False})
    assert opened.asked[5] == (("x > 1",), {"columns": ["a"], "limit": 3, "ansi": False})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"version": "1", "tag": "t"}, "--version and --tag exclude each other"),
        ({"timestamp": "1", "branch": "b", "tag": "t"}, "--timestamp and --branch and --tag exclude each other"),
    ],
)
def test_options_that_exclude_each_other(given: dict[str, str], message: str, opened: Opened) -> None:
    with click.Context(click.Command("x")), pytest.raises(click.UsageError, match=message):
        options.opened_snapshot({**CHOSEN, **given})
    assert opened.asked == []


def test_rows_are_told_as_they_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(writing, "tell_done", told.append)
    batches = [pa.record_batch({"x": pa.array(range(n), pa.int64())}) for n in (2, 1500, 0)]
    reader = writing._counted(pa.RecordBatchReader.from_batches(batches[0].schema, batches))
    assert told == [] and reader.schema == batches[0].schema
    assert reader.read_all().num_rows == 1502
    assert told == ["2 rows read", "1,502 rows read", "1,502 rows read"]


def test_columns_that_are_given() -> None:
    found = writing._columns([("a", "bigint"), ("b", "array<int>")])
    assert str(found) == "a: bigint\nb: array<int>" and [f.id for f in found] == [1, 2]
    with click.Context(click.Command("x")), pytest.raises(click.UsageError):
        writing._columns([("a", "biggest")])
    assert writing._version(SimpleNamespace(snapshot=lambda: SimpleNamespace(version=3))) == 3  # type: ignore[arg-type]


@pytest.mark.parametrize("is_dry", [True, False])
def test_options_of_a_new_table(
    is_dry: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made: list[Any] = []

    def make(location: str, schema: Any, **named: Any) -> Any:
        made.append((location, str(schema), named))
        return SimpleNamespace(location=location, snapshot=lambda: SimpleNamespace(version=0))

    monkeypatch.setattr(creation, "check_creation", make)
    monkeypatch.setattr(creation, "create_table", make)
    columns = ["create", "/t", "--format", "delta", "--column", "a", "bigint", *(["--dry-run"] if is_dry else [])]
    assert main(columns) == 0
    named = {"format": "delta", "if_exists": "error", "partition_by": (), "properties": {}, "storage_options": None}
    assert made == [("/t", "a: bigint", named)]
    told = "The table can be created; nothing was written" if is_dry else "/t has version 0"
    assert capsys.readouterr().out == f"{told}\n"
    more = ["--partition-by", "a", "--set-property", "k=v", "--storage-option", "s=1", "--if-exists", "ignore"]
    assert main([*columns, *more]) == 0
    given = {"partition_by": ("a",), "properties": {"k": "v"}, "storage_options": {"s": "1"}, "if_exists": "ignore"}
    assert made[1] == ("/t", "a: bigint", {**named, **given})
