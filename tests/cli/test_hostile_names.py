"""Names and values of a table that would control a terminal or a page are escaped by every command and in all HTML."""

from __future__ import annotations

import html
import io
import json
import unicodedata
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tableformats as tf
from tableformats.cli.app import main
from tableformats.cli.values import values_of
from tableformats.inspect.diff import diff
from tests.support.delta_log import DeltaLog, add, field, stats

HOSTILE = "\x1b[2J\u202e\u2066\x9b31m\x7f\u200f\r\x08\u2028<script>alert(1)</script>&amp;\"'"
ESCAPED = "&lt;script&gt;alert(1)&lt;/script&gt;&amp;amp;"
CONTROLS = [c for c in HOSTILE if unicodedata.category(c) in ("Cc", "Cf", "Zl")]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    log = DeltaLog(tmp_path_factory.mktemp("names") / "t")
    comment = {"comment": HOSTILE}
    columns = [field("id", "long", comment), field(HOSTILE, "string", comment), field("p" + HOSTILE, "string", comment)]
    log.start(*columns, partition=("p" + HOSTILE,), configuration={HOSTILE: HOSTILE, "delta.appendOnly": HOSTILE})
    text = stats(2, minValues={"id": 1, HOSTILE: HOSTILE}, maxValues={"id": 2}, nullCount={"id": 0, HOSTILE: 0})
    info = {"commitInfo": {"operation": HOSTILE, "operationParameters": {HOSTILE: HOSTILE}, "userName": HOSTILE}}
    log.commit(1, info, add("a%1b.parquet", partitionValues={"p" + HOSTILE: HOSTILE}, stats=text))
    pq.write_table(pa.table({"id": [1, 2], HOSTILE: [HOSTILE, "x"]}), log.root / "a\x1b.parquet")
    return log.root


def shown(*arguments: str) -> str:
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = main(list(arguments))
    assert status in (0, 1, 3), err.getvalue()
    assert "unexpected" not in err.getvalue()
    return out.getvalue() + err.getvalue()


COMMANDS = [
    ("describe",),
    ("schema",),
    ("history",),
    ("files",),
    ("plan", "-w", "id > 1"),
    ("plan", "-w", "id > 1", "--files"),
    ("count",),
    ("read",),
    ("diff", "0"),
    ("health",),
    ("detail",),
    ("clustering",),
    ("diagnose", "-w", "id > 1"),
    ("verify-stats",),
    ("orphans", "--older-than", "0m"),
]


@pytest.mark.parametrize("as_json", [False, True], ids=["text", "json"])
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_commands(root: Path, command: tuple[str, ...], as_json: bool) -> None:
    text = shown(command[0], str(root), *command[1:], *(["--json"] if as_json else []))
    assert text
    assert [c for c in text if not c.isprintable() and c != "\n"] == []
    if as_json:
        json.loads(text)


@pytest.mark.parametrize("form", ["table", "tsv", "json", "jsonl"])
@pytest.mark.parametrize("command", ["detail", "clustering", "verify-stats"])
def test_forms_of_rows(root: Path, command: str, form: str) -> None:
    text = shown(command, str(root), "--output", form)
    assert [c for c in text if not c.isprintable() and c not in ("\n\t" if form == "tsv" else "\n")] == []


def test_json_gives_the_names_back(root: Path) -> None:
    rows = json.loads(shown("read", str(root), "--json"))
    text = json.dumps(rows)
    assert json.dumps(HOSTILE)[1:-1] in text


def test_an_error_about_a_hostile_name(root: Path, tmp_path: Path) -> None:
    for arguments in (("plan", str(root), "-w", f"`{HOSTILE}x` > 1"), ("describe", str(tmp_path / HOSTILE))):
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            assert main(list(arguments)) in (1, 2)
        assert [c for c in out.getvalue() + err.getvalue() if not c.isprintable() and c != "\n"] == []


def pages(table: Any) -> Iterator[tuple[str, str]]:
    scan = table.scan("id > 1")
    plan = scan.plan()
    things = {
        "table": table,
        "snapshot": table.snapshot(),
        "scan": scan,
        "plan": plan,
        "report": plan.report,
        "schema": table.schema,
        "diff": diff(table.snapshot(0), table.snapshot(1)),
        "health": table.health(),
        "detail": table.detail(),
        "clustering": table.clustering(),
    }
    for name, thing in things.items():
        if hasattr(thing, "_repr_html_"):
            yield name, thing._repr_html_()


def test_pages_of_notebooks(root: Path) -> None:
    found = dict(pages(tf.open_table(root)))
    assert {"table", "snapshot", "scan", "plan", "report"} <= set(found)
    for name, page in found.items():
        assert "<script" not in page, name
        assert [c for c in page if c in CONTROLS] == [], name
        assert "alert(1)" not in html.unescape(page) or "&lt;script&gt;" in page, name
    assert ESCAPED in found["table"]


def test_reprs_and_explain(root: Path) -> None:
    table = tf.open_table(root)
    plan = table.scan("id > 1").plan()
    assert [c for c in plan.explain() if c in CONTROLS] == []


def test_texts_that_are_not_utf8() -> None:
    stored = pa.array([b"ab", b"a\xff", None])
    text = pa.Array.from_buffers(pa.string(), 3, stored.buffers())
    column = pa.chunked_array([pa.StructArray.from_arrays([text], ["s"])])
    assert values_of(pa.chunked_array([text])) == ["ab", "a\ufffd", None]
    assert values_of(column) == [{"s": "ab"}, {"s": "a\ufffd"}, {"s": None}]


@pytest.mark.parametrize("as_json", [False, True], ids=["text", "json"])
def test_commands_that_write(tmp_path: Path, as_json: bool) -> None:
    log = DeltaLog(tmp_path / "t")
    log.start(field("id", "long"), field(HOSTILE, "string"), configuration={HOSTILE: HOSTILE})
    wrong = stats(2, minValues={"id": 5, HOSTILE: HOSTILE}, maxValues={"id": 2}, nullCount={"id": 9, HOSTILE: 0})
    twice = [{"txn": {"appId": HOSTILE, "version": 1}}, {"txn": {"appId": HOSTILE, "version": 2}}]
    log.commit(1, {"commitInfo": {"operation": HOSTILE}}, add(HOSTILE, stats=wrong), *twice)
    rows, others = tmp_path / "rows\u202e\x1b.parquet", tmp_path / "others.parquet"
    pq.write_table(pa.table({"id": [7], HOSTILE: [HOSTILE]}), rows)
    pq.write_table(pa.table({HOSTILE + "z": [HOSTILE]}), others)
    root = str(log.root)
    for arguments in (
        ("verify", root),
        ("verify", root, "--deep"),
        ("checkpoint", root),
        ("append", root, str(rows)),
        ("append", root, str(others)),
        ("append", root, str(tmp_path / HOSTILE)),
        ("overwrite", root, str(others), "--yes"),
        ("overwrite", root, str(rows), "-w", f"`{HOSTILE}x` > 1", "--yes"),
        ("alter", root, "--add-column", HOSTILE, "bigint"),
        ("alter", root, "--add-column", "x", HOSTILE),
        ("alter", root, "--drop-column", HOSTILE + "z", "--yes"),
        ("alter", root, "--set-property", f"{HOSTILE}={HOSTILE}"),
        ("alter", root, "--add-constraint", HOSTILE, f"`{HOSTILE}z` > 1"),
        ("create", str(tmp_path / HOSTILE), "--format", "delta", "--column", HOSTILE, "bigint"),
        ("ls", str(tmp_path / HOSTILE)),
    ):
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            main([*arguments, *(["--json"] if as_json else [])])
        text = out.getvalue() + err.getvalue()
        assert text, arguments
        assert [c for c in text if not c.isprintable() and c != "\n"] == [], arguments
