"""The command: answers on standard output, errors in one line on standard error, JSON that a machine can read."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tableformats as tf
from tableformats.cli import main
from tableformats.cli.app import cli
from tests.support.golden import TABLES

DELTA = TABLES / "delta-evolved" / "table"
ICEBERG = TABLES / "iceberg-evolved" / "table"
BOTH = pytest.mark.parametrize("location", [DELTA, ICEBERG], ids=["delta", "iceberg"])
TABLE_COMMANDS = ["describe", "schema", "history", "files", "plan", "count", "read", "health"]


class Shell:
    """Runs the command in this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def run(self, *arguments: Any) -> tuple[int, str, str]:
        code = main([str(a) for a in arguments])
        out, err = self._capsys.readouterr()
        return code, out, err

    def ok(self, *arguments: Any) -> str:
        code, out, err = self.run(*arguments)
        assert (code, err) == (0, ""), err
        return out

    def json(self, *arguments: Any) -> Any:
        return strict_json(self.ok(*arguments, "--json"))

    def fails(self, code: int, *arguments: Any) -> str:
        found, out, err = self.run(*arguments)
        assert (found, out) == (code, ""), err
        assert "Traceback" not in err
        return err


def strict_json(text: str) -> Any:
    """JSON as the standard has it: no NaN."""

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is no JSON")

    return json.loads(text, parse_constant=refuse)


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


def opened(location: Path) -> tf.Table:
    return tf.open_table(location, relocate=True)


@BOTH
@pytest.mark.parametrize("command", TABLE_COMMANDS)
def test_every_command_answers_in_text_and_json(shell: Shell, location: Path, command: str) -> None:
    assert shell.ok(command, location, "--relocate").strip()
    answer = shell.json(command, location, "--relocate")
    assert answer["format"] == opened(location).format
    assert answer["location"] == str(location)


@BOTH
def test_describe(shell: Shell, location: Path) -> None:
    snapshot = opened(location).snapshot()
    report = snapshot.scan().plan().report
    answer = shell.json("describe", location, "--relocate")
    assert answer["version"] == snapshot.version
    assert [f["name"] for f in answer["schema"]] == snapshot.schema.names
    assert (answer["files"], answer["record_count"]) == (report.files_planned, report.rows_planned)
    text = shell.ok("describe", location, "--relocate")
    assert str(snapshot.version) in text
    for name in snapshot.schema.names:
        assert f"  {name}: " in text


@BOTH
def test_plan_is_the_plan(shell: Shell, location: Path) -> None:
    name = opened(location).snapshot().schema.names[0]
    condition = f"`{name}` IS NOT NULL"
    plan = opened(location).scan(condition).plan()
    answer = shell.json("plan", location, "--relocate", "-w", condition)
    assert [f["path"] for f in answer["files"]] == plan.file_uris()
    counters = {k: v for k, v in answer["report"].items() if k != "seconds"}
    assert counters == {k: v for k, v in plan.report.as_dict().items() if k != "seconds"}
    text = shell.ok("plan", location, "--relocate", "-w", condition)
    assert f"Filter  {plan.report.filter}" in text
    for path in plan.file_uris()[:20]:
        assert f"\n{path}  " in text, "paths are whole where the output is no terminal"


@BOTH
def test_plan_says_why_file_by_file(shell: Shell, location: Path) -> None:
    everything = {f["path"]: f for f in shell.json("plan", location, "--relocate", "-w", "id < 3", "--files")["files"]}
    planned = {f["path"] for f in shell.json("files", location, "--relocate", "-w", "id < 3")["files"]}
    assert 0 < len(planned) < len(everything)
    assert {path for path, f in everything.items() if f["verdict"] == "planned"} == planned
    assert all(f["dropped_by"] == ([] if path in planned else ["id < 3"]) for path, f in everything.items())
    for path in everything:
        found = shell.json("plan", location, "--relocate", "-w", "id < 3", "--why", Path(path).name)
        assert (found["path"], found["verdict"]) == (path, everything[path]["verdict"])
        text = shell.ok("plan", location, "--relocate", "-w", "id < 3", "--why", path)
        assert ("drops the file" in text) == (path not in planned) and "bounds of id" in text
    assert "no such data file" in shell.fails(2, "plan", location, "--relocate", "--why", "nope")


@BOTH
def test_count_counts(shell: Shell, location: Path) -> None:
    rows = opened(location).scan().to_arrow().num_rows
    assert shell.ok("count", location, "--relocate") == f"{rows}\n"
    assert shell.json("count", location, "--relocate")["count"] == rows


@BOTH
def test_read_reads(shell: Shell, location: Path) -> None:
    rows = opened(location).scan().to_arrow()
    name = rows.column_names[0]
    values = rows[name].to_pylist()
    assert [row[name] for row in shell.json("read", location, "--relocate")["rows"]] == values
    lines = [line.strip() for line in shell.ok("read", location, "--relocate", "--columns", name).splitlines()]
    more = ["The first 20 rows; --limit shows more"] if len(values) > 20 else []
    assert lines == [name, *map(str, values[:20]), *more]
    assert len(shell.ok("read", location, "--relocate", "--limit", 22).splitlines()) == 1 + min(len(values), 22)


@BOTH
def test_diff_of_versions(shell: Shell, location: Path) -> None:
    table = opened(location)
    versions = table.history()["version"].to_pylist()
    paths = {v: set(table.snapshot(v).scan().plan().file_uris()) for v in versions}
    for first in versions:
        answer = shell.json("diff", location, first, "--relocate")
        assert (answer["first"]["version"], answer["last"]["version"]) == (first, versions[0])
        assert {f["path"] for f in answer["added"]} == paths[versions[0]] - paths[first]
        assert {f["path"] for f in answer["removed"]} == paths[first] - paths[versions[0]]
    oldest, newest = versions[-1], versions[0]
    assert "column: nothing -> note: string" in shell.ok("diff", location, oldest, newest, "--relocate")
    assert "column: note: string -> nothing" in shell.ok("diff", location, newest, oldest, "--relocate")


def test_a_renamed_column_is_one_column(shell: Shell) -> None:
    versions = opened(ICEBERG).history()["version"].to_pylist()
    metadata = shell.json("diff", ICEBERG, versions[-1], "--relocate")["metadata"]
    assert {"kind": "column", "before": "name: string", "after": "title: string"} in metadata


@pytest.mark.parametrize("name", ["delta-deletion-vectors", "iceberg-position-deletes"])
def test_deletes_are_seen(shell: Shell, name: str) -> None:
    """The same file with other deletes is neither added nor removed; health says what there is to rewrite."""
    location = TABLES.with_name("tables_jvm") / name / "table"
    versions = opened(location).history()["version"].to_pylist()
    first = versions[1]  # the newest commits of both tables delete rows
    files = {v: opened(location).snapshot(v).scan().plan().files.to_pylist() for v in (versions[0], first)}
    had, have = ({f["path"]: f["deletes"] for f in files[v]} for v in (first, versions[0]))
    expected = {path for path in had.keys() & have.keys() if had[path] != have[path]}
    assert expected
    answer = shell.json("diff", location, first, "--relocate")
    assert {f["path"] for f in answer["deletes_changed"]} == expected
    findings = {f["subject"]: f for f in shell.json("health", location, "--relocate")["findings"]}
    assert findings["files with deletes"]["figure"].startswith(f"{sum(map(bool, have.values()))} ")
    assert findings["files with deletes"]["advice"]


@BOTH
def test_health_counts(shell: Shell, location: Path) -> None:
    report = opened(location).scan().plan().report
    findings = {f["subject"]: f for f in shell.json("health", location, "--relocate")["findings"]}
    assert findings["files"]["figure"].startswith(f"{report.files_planned}, ")
    assert findings["files with deletes"] == {
        "subject": "files with deletes",
        "figure": "0 (0.0 %)",
        "advice": None,
        "check": "files-with-deletes",
        "value": 0.0,
        "threshold": 0.1,
    }
    assert not findings["files below 32.0 MB"]["advice"], "one file a partition is as few as can be"


@BOTH
def test_health_fails_on_chosen_checks(shell: Shell, location: Path) -> None:
    health = ("health", location, "--relocate")
    assert shell.run(*health, "--fail-on", "files-with-deletes")[0] == 0
    code, out, err = shell.run(*health, "--fail-on", "files-with-deletes=-1", "--fail-on", "small-files=0.99")
    assert (code, err) == (3, "Failed: files-with-deletes\n")
    assert "files with deletes" in out
    code, out, err = shell.run(*health, "--fail-on", "small-files=-1", "--fail-on", "all", "--json")
    assert (code, err) == (3, "")
    assert strict_json(out)["failed"] == ["small-files"], "a threshold that is given stays"
    assert shell.json(*health)["failed"] == []
    assert "the checks are small-files" in shell.fails(2, *health, "--fail-on", "small")
    assert "no number" in shell.fails(2, *health, "--fail-on", "small-files=many")
    assert "no number" in shell.fails(2, *health, "--fail-on", "small-files=nan")


@BOTH
def test_versions_are_selected(shell: Shell, location: Path) -> None:
    table = opened(location)
    for version in table.history()["version"].to_pylist():
        expected = table.snapshot(version).scan().count()
        assert shell.json("count", location, "--relocate", "--version", version)["count"] == expected


@BOTH
def test_history_is_limited(shell: Shell, location: Path) -> None:
    versions = shell.json("history", location, "--relocate", "--limit", 1)["versions"]
    assert [v["version"] for v in versions] == opened(location).history(1)["version"].to_pylist()
    assert versions[0]["timestamp"].endswith("Z")


def test_columns_and_limit(shell: Shell) -> None:
    name = opened(DELTA).snapshot().schema.names[0]
    report = shell.json("plan", DELTA, "--columns", name, "--limit", 1)["report"]
    assert report["files_planned"] <= report["files_total"]
    assert shell.fails(2, "plan", DELTA, "--columns", name + "x").startswith("Error: no column")
    assert "--limit" in shell.fails(2, "plan", DELTA, "--limit", "-1")


@pytest.mark.parametrize("command", ["describe", "schema", "history", "files", "diff", "health", "plugins"])
def test_rows_are_limited(shell: Shell, command: str) -> None:
    location = [] if command == "plugins" else [DELTA]
    versions = ["0"] if command == "diff" else []
    whole = shell.json(command, *location, *versions)
    cut = shell.json(command, *location, *versions, "--limit", "1")
    names = ("schema", "fields", "versions", "files", "added", "findings", "plugins")
    rows = {name: whole[name] for name in names if isinstance(whole.get(name), list) and whole[name]}
    assert rows and all(cut[name] == found[:1] for name, found in rows.items())


def test_every_command_of_rows_has_a_limit(shell: Shell) -> None:
    without = [c.name for c in cli.commands.values() if _has(c, "form") and not _has(c, "limit")]
    assert without == []


def _has(command: Any, name: str) -> bool:
    return any(parameter.name == name for parameter in command.params)


def test_plugins(shell: Shell) -> None:
    found = {p["name"]: p for p in shell.json("plugins")["plugins"]}
    assert found["delta"]["formats"] == ["delta"]
    assert found["iceberg"]["error"] is None
    assert "tableformats_delta" in shell.ok("plugins")


def test_version_and_help(shell: Shell) -> None:
    assert shell.ok("--version") == f"tableformats, version {tf.__version__}\n"
    text = shell.ok("--help")
    assert "..." not in text.replace("[ARGS]...", ""), "a line says all that it begins"
    for command in (*TABLE_COMMANDS, "diff", "detail", "clustering", "diagnose", "ls", "plugins", "demo"):
        assert f"\n  {command} " in text
        assert "Usage: tableformats " in shell.ok(command, "--help")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["plan"], "Missing argument 'LOCATION'"),
        (["plan", DELTA, "--nope"], "No such option"),
        (["explode"], "No such command"),
        (["plan", DELTA, "--version", "1", "--tag", "x"], "--version and --tag exclude each other"),
        (["plan", "--relocate", DELTA], "write --relocate behind the location"),
        (["plan", DELTA, "--storage-option", "key"], "KEY=VALUE"),
        (["plan", DELTA, "-w", "id >"], "Error: "),
        (["plan", DELTA, "-w", "no_such_column = 1"], "no_such_column"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_wrong_calls_and_filters_exit_with_2(shell: Shell, arguments: list[Any], said: str) -> None:
    err = shell.fails(2, *arguments)
    assert said in err
    assert 1 <= len(err.splitlines()) <= 2
    error = strict_json(shell.fails(2, *arguments, "--json"))["error"]
    assert said.removeprefix("Error: ") in error["message"]
    assert set(error) == {"type", "message", "path", "offset", "field", "hint"}


def test_no_ansi_is_the_other_meaning_of_filters(shell: Shell) -> None:
    name = opened(DELTA).snapshot().schema.names[0]
    condition = f"CAST(concat(`{name}`, 'x') AS INT) IS NULL"
    assert "cannot be cast" in shell.fails(2, "count", DELTA, "-w", condition)
    assert "cannot be cast" in shell.fails(2, "count", DELTA, "-w", condition, "--ansi")
    assert shell.ok("count", DELTA, "-w", condition, "--no-ansi") == shell.ok("count", DELTA)


def test_table_errors_exit_with_1(shell: Shell, tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    err = shell.fails(1, "describe", missing)
    assert err.splitlines()[0] == f"Error: nothing is at the location (path {missing})"
    assert err.splitlines()[1].startswith("Hint: ")
    error = strict_json(shell.fails(1, "describe", missing, "--json"))["error"]
    assert (error["type"], error["path"]) == ("TableNotFoundError", str(missing))
    assert "can be asked for" in shell.fails(1, "plan", DELTA, "--version", 10**6)


def test_debug_shows_the_traceback(shell: Shell, tmp_path: Path) -> None:
    code, _, err = shell.run("describe", tmp_path / "missing", "--debug")
    assert code == 1
    assert "Traceback (most recent call last)" in err


def test_a_defect_is_one_line_too(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tableformats.table.table.Table.history", lambda *_: 1 / 0)
    err = shell.fails(1, "history", DELTA)
    assert err.splitlines() == [
        "Error: ZeroDivisionError: division by zero",
        "Hint: This is unexpected; run again with --debug for the traceback",
    ]


def test_foreign_text_moves_no_cursor(shell: Shell, tmp_path: Path) -> None:
    """A column name, a property and a partition value with control characters are shown escaped."""
    evil = "a\x1b[2J\u202e\n b"
    fields = [
        {"name": evil, "type": "string", "nullable": True, "metadata": {}},
        {"name": "[bold]", "type": "string", "nullable": True, "metadata": {}},
    ]
    actions = [
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
        {
            "metaData": {
                "id": "x",
                "format": {"provider": "parquet", "options": {}},
                "schemaString": json.dumps({"type": "struct", "fields": fields}),
                "partitionColumns": [evil],
                "configuration": {evil: evil},
            }
        },
        {
            "add": {
                "path": "part.parquet",
                "partitionValues": {evil: evil},
                "size": 1,
                "modificationTime": 0,
                "dataChange": True,
            }
        },
    ]
    (tmp_path / "_delta_log").mkdir()
    (tmp_path / "_delta_log" / f"{0:020d}.json").write_text("\n".join(map(json.dumps, actions)))
    for command in ("describe", "schema", "files", "plan", "history", "detail", "clustering", "diagnose"):
        out = shell.ok(command, tmp_path)
        assert "\x1b" not in out and "\u202e" not in out, command
    assert "[bold]" in shell.ok("schema", tmp_path), "names are no markup"
    assert shell.json("schema", tmp_path)["fields"][0]["name"] == evil
    err = shell.fails(2, "plan", tmp_path, "-w", "`a\x1b[31m` = 'x'")
    assert "\x1b" not in err


def test_values_that_json_lacks(capsys: pytest.CaptureFixture[str]) -> None:
    import datetime as dt
    from decimal import Decimal

    from tableformats.cli.output import print_json

    zone = dt.timezone(dt.timedelta(hours=2))
    print_json(
        "values",
        {
            "float": [1.5, float("nan"), float("inf"), float("-inf")],
            "decimal": Decimal("1.10"),
            "bytes": b"\x00\xff",
            "date": dt.date(2024, 1, 31),
            "instant": dt.datetime(2024, 1, 31, 2, tzinfo=zone),
            "local": dt.datetime(2024, 1, 31),
            "map": [("k", 1)],
            "long": 2**63 - 1,
            "half": "\ud800",
        },
    )
    assert strict_json(capsys.readouterr().out) == {
        "output_schema": "values/1",
        "float": [1.5, "NaN", "Infinity", "-Infinity"],
        "decimal": "1.10",
        "bytes": "AP8=",
        "date": "2024-01-31",
        "instant": "2024-01-31T00:00:00Z",
        "local": "2024-01-31T00:00:00",
        "map": [["k", 1]],
        "long": 2**63 - 1,
        "half": "\\ud800",
    }


@pytest.mark.parametrize(
    "command", [[sys.executable, "-m", "tableformats"], [str(Path(sys.executable).with_name("tableformats"))]]
)
def test_as_a_program(command: list[str]) -> None:
    done = subprocess.run([*command, "count", str(DELTA)], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) == opened(DELTA).scan().count()
    done = subprocess.run([*command, "count", "/no/such/table"], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (1, "")


def test_a_reader_that_stops_is_no_error() -> None:
    script = f'{sys.executable} -m tableformats files "$0" --json | head -n 1; exit "${{PIPESTATUS[0]}}"'
    done = subprocess.run(["bash", "-c", script, str(DELTA)], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("kind", ["date", "timestamp", "timestamp_ntz"])
def test_years_that_python_has_not(shell: Shell, tmp_path: Path, kind: str) -> None:
    """A table may hold them, in rows and in partition values."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from tests.support.delta_log import DeltaLog, add, field

    days = 3_789_392  # 12345-01-02
    arrow = {"date": pa.date32(), "timestamp": pa.timestamp("us", "UTC"), "timestamp_ntz": pa.timestamp("us")}[kind]
    number = pa.array([days], pa.int32()) if kind == "date" else pa.array([days * 86_400 * 10**6])
    both = number.cast(arrow)
    rows = pa.table({"v": both, "l": pa.ListArray.from_arrays([0, 1], both)})
    protocol = {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": ["timestampNtz"],
        "writerFeatures": ["timestampNtz"],
    }
    several = {"type": "array", "elementType": kind, "containsNull": True}
    log = DeltaLog(tmp_path / "t").start(
        field("p", kind), field("v", kind), field("l", several), partition=("p",), protocol=protocol
    )
    pq.write_table(rows, log.root / "f.parquet")
    text = "+12345-01-02" + ("" if kind == "date" else " 00:00:00")
    log.commit(1, add("f.parquet", size=(log.root / "f.parquet").stat().st_size, partitionValues={"p": text}))
    expected = "+12345-01-02" + {"date": "", "timestamp": "T00:00:00Z", "timestamp_ntz": "T00:00:00"}[kind]
    assert shell.json("read", log.root)["rows"] == [{"p": expected, "v": expected, "l": [expected]}]
    assert shell.json("files", log.root)["files"][0]["partition"] == {"p": expected}
    assert shell.json("diff", log.root, "0")["added"][0]["partition"] == {"p": expected}
    for command in ("read", "files", "plan"):
        assert expected in shell.ok(command, log.root)


def test_values_within_values_that_python_has_not() -> None:
    import datetime as dt

    import pyarrow as pa

    from tableformats.cli.values import values_of

    far, near = 10**15, 0
    pair = pa.struct([("d", pa.timestamp("ms")), ("n", pa.int8())])
    maps = [[("k", {"d": far, "n": 1}), ("l", None)], None, [("k", {"d": near, "n": None})]]
    column = pa.chunked_array([pa.array(maps, pa.map_(pa.string(), pair))])
    first, none, last = values_of(column)
    assert first == [("k", {"d": "+33658-09-27T01:46:40", "n": 1}), ("l", None)] and none is None
    assert last == [("k", {"d": dt.datetime(1970, 1, 1), "n": None})]
