"""``detail``, ``clustering`` and ``diagnose`` at a terminal: what the library says, in every form of output."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from tableformats.cli.options import FORMS
from tests.cli.test_commands import BOTH, DELTA, Shell, opened, shell, strict_json
from tests.support.delta_log import DeltaLog, add, field, stats

__all__ = ["shell"]

CALLS = pytest.mark.parametrize(
    "call", [("detail",), ("clustering",), ("diagnose", "-w", "id > 2")], ids=lambda call: call[0]
)


@BOTH
@CALLS
def test_every_form_has_the_same_rows(shell: Shell, location: Path, call: tuple[str, ...]) -> None:
    whole = (call[0], location, *call[1:], "--relocate")
    answer = shell.json(*whole)
    assert answer == strict_json(shell.ok(*whole, "--output", "json"))
    assert (answer["format"], answer["version"]) == (opened(location).format, opened(location).snapshot().version)
    assert answer.pop("output_schema") == f"{call[0]}/1"
    rows = answer.get("columns" if call[0] == "clustering" else "advice", [answer])
    rows = [answer] if call[0] == "detail" else rows
    lines = shell.ok(*whole, "--output", "jsonl").splitlines()
    assert [strict_json(line) for line in lines] == rows
    read = csv.DictReader(io.StringIO(shell.ok(*whole, "--output", "tsv")), delimiter="\t", quoting=csv.QUOTE_NONE)
    found = list(read)
    assert len(found) == len(rows) > 0
    for text, row in zip(found, rows, strict=True):
        assert text == {name: shown(row[name]) for name in text}
    assert len(shell.ok(*whole).splitlines()) > len(rows)


def shown(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False)


@BOTH
def test_detail_and_clustering_say_what_the_library_says(shell: Shell, location: Path) -> None:
    table = opened(location)
    detail, (column,) = table.detail(), table.clustering("id")
    answer = shell.json("detail", location, "--relocate")
    assert (answer["files"], answer["rows"], answer["deleted_rows"]) == (detail.files, detail.rows, detail.deleted_rows)
    assert answer["partition_columns"] == list(detail.partition_columns)
    assert shell.json("clustering", location, "id", "--relocate")["columns"] == [column.as_dict()]
    first = table.history()["version"].to_pylist()[-1]
    known = table.snapshot(first).detail().files
    assert shell.json("detail", location, "--relocate", "--version", first)["files"] == known


def test_wrong_names_and_forms_exit_with_2(shell: Shell) -> None:
    assert shell.fails(2, "clustering", DELTA, "idx").startswith("Error: no column")
    assert shell.fails(2, "diagnose", DELTA, "-w", "idx > 1").startswith("Error: there is no column 'idx'")
    said = shell.fails(2, "detail", DELTA, "--output", "xml")
    assert all(form in said for form in FORMS)


@CALLS
def test_a_table_without_files(shell: Shell, tmp_path: Path, call: tuple[str, ...]) -> None:
    log = DeltaLog(tmp_path / "t").start(field("id", "integer"))
    for form in FORMS:
        out = shell.ok(call[0], log.root, *call[1:], "--output", form)
        assert out.strip() or (call[0], form) == ("diagnose", "jsonl")
    if call[0] == "diagnose":
        assert shell.ok(call[0], log.root, *call[1:]) == "Nothing to gain\n"


@CALLS
@pytest.mark.parametrize("form", FORMS)
def test_names_from_a_table_move_no_cursor(shell: Shell, tmp_path: Path, call: tuple[str, ...], form: str) -> None:
    name = "a\x1b[2J\tb\n\u202e<b>"
    log = DeltaLog(tmp_path / "t").start(field("id", "integer"), field(name, "integer"), partition=(name,))
    counts = stats(9, minValues={"id": 1}, maxValues={"id": 5}, nullCount={"id": 0})
    log.commit(1, *(add(f"f{i}", partitionValues={name: str(i)}, size=10**9, stats=counts) for i in range(3)))
    out = shell.ok(call[0], log.root, *call[1:], "--output", form)
    assert "\x1b" not in out
    if form in ("table", "tsv"):
        assert "\u202e" not in out
        in_list = call[0] == "detail" and form == "tsv"  # partition columns are a JSON list there
        assert ("a\\u001b" if in_list else r"\x1b") + r"[2J\tb\n\u202e<b>" in out
    if form == "tsv":
        assert len({line.count("\t") for line in out.splitlines()}) == 1
