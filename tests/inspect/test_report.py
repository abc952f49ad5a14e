"""The page of ``tableformats report`` loads and runs nothing, its figures are the table's, and its text is escaped."""

from __future__ import annotations

import datetime as dt
import html
import re
import subprocess
import sys
import unicodedata
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import jsonschema
import pyarrow as pa
import pytest
from tableformats_delta.statistics.log_statistics import LogStatistics

import tableformats as tf
from tableformats.inspect.pictures.report import MOST_VERSIONS, report_page
from tests.cli.test_commands import BOTH, DELTA, ICEBERG, Shell, opened, shell
from tests.cli.test_schemas import JVM, SCHEMAS
from tests.support.delta_log import DeltaLog, add, field, stats

__all__ = ["shell"]

HOSTILE = "\x1b[2J\u202e\u2066\x9b\u2028</style><script>alert(1)</script><img src=x>&amp;\"'"
VOID = {"meta"}
KNOWN = {
    *("html", "head", "meta", "title", "style", "body", "h1", "h2", "h3", "p", "div", "span", "br", "b", "code"),
    *("strong", "table", "tr", "th", "td", "details", "summary"),
}


class Page(HTMLParser):
    """Fails where an element is not closed or not known, or where anything could be loaded or run."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in KNOWN, tag
        assert {name for name, _ in attrs} <= {"style", "class", "charset", "name", "content", "lang"}
        assert not re.search(r"url|expression|import", " ".join(value or "" for _, value in attrs))
        if tag not in VOID | {"br"}:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" in self.open:
            assert "url" not in data and "@import" not in data
        else:
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(self.words)


def page_of(table: tf.Table, where: str | None = None) -> str:
    return report_page(table.scan(where), table.history(MOST_VERSIONS))


@pytest.mark.parametrize("where", [None, "id > 2 AND id < 9", "false"])
@pytest.mark.parametrize(
    "location",
    [DELTA, ICEBERG, *(JVM / name / "table" for name in ("delta-deletion-vectors", "iceberg-equality-deletes"))],
    ids=lambda path: path.parent.name,
)
def test_the_figures_are_those_of_the_table(location: Path, where: str | None) -> None:
    table = opened(location)
    text = Page(page_of(table, where)).text
    detail, plan = table.detail(), table.plan(where)
    assert f"Files {detail.files:,}" in text and f"{detail.files_with_deletes:,}" in text
    assert ("Deleted rows" in text) == (detail.files_with_deletes > 0)
    assert text.count("UTC") > min(table.history().num_rows, 10)
    assert all(finding.figure in text for finding in opened(location).health())
    assert ("The query" in text) == (where is not None)
    if where is not None:
        assert f"It reads {plan.report.files_planned:,} of {plan.report.files_total:,} file" in text
        assert all(advice.evidence in text for advice in table.scan(where).diagnose())
        assert all(part.filter in text for part in plan.attribution.parts)
    for one in table.clustering()[:8]:
        assert one.column in text
    assert all(name in text for name in table.schema.names)


def hostile_table(root: Path) -> tf.Table:
    log = DeltaLog(root / f"t{'x' * 50}")
    columns = [field("id", "long"), field(HOSTILE, "string", {"comment": HOSTILE}), field("p" + HOSTILE, "string")]
    log.start(*columns, partition=("p" + HOSTILE,), configuration={HOSTILE: HOSTILE})
    info = {"commitInfo": {"operation": HOSTILE, "operationParameters": {HOSTILE: HOSTILE}, "userName": HOSTILE}}
    bounds = {"minValues": {"id": 1, HOSTILE: HOSTILE}, "maxValues": {"id": 2}, "nullCount": {"id": 0, HOSTILE: 0}}
    file = add("a%1b.parquet", partitionValues={"p" + HOSTILE: HOSTILE}, stats=stats(2, **bounds))
    log.commit(1, info, file, add("b", partitionValues={"p" + HOSTILE: None}, stats=stats(2)))
    return tf.open_table(log.root)


def test_hostile_names_are_text(tmp_path: Path) -> None:
    table = hostile_table(tmp_path)
    where = f"`{HOSTILE}` > 'a' AND `p{HOSTILE}` IS NOT NULL AND id > 1"
    page = page_of(table, where)
    text = Page(page).text
    assert "<script" not in page and "<img" not in page and page.count("</style>") == 1
    assert [c for c in page if unicodedata.category(c) in ("Cc", "Cf", "Zl") and c != "\n"] == []
    assert html.unescape("\\x1b[2J\\u202e") in text and "\\u202e" in page


def test_statistics_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = DeltaLog(tmp_path / "t").start(field("id", "long"), field("x", "long"))
    bounds = {"minValues": {"id": 1, "x": 1}, "maxValues": {"id": 2, "x": 2}, "nullCount": {"id": 0, "x": 0}}
    log.commit(1, *(add(name, stats=stats(2, **bounds)) for name in "abc"))
    asked: list[str] = []
    for name in ("bounds_or_counts", "record_counts"):
        original = getattr(LogStatistics, name)

        def counted(self: LogStatistics, *arguments: object, name: str = name, original: Any = original) -> Any:
            asked.append(name)
            return original(self, *arguments)

        monkeypatch.setattr(LogStatistics, name, counted)
    assert "It reads 3 of 3 files" in Page(page_of(tf.open_table(log.root), "x > 1")).text
    assert asked == ["bounds_or_counts"]


def test_a_table_without_files(tmp_path: Path) -> None:
    log = DeltaLog(tmp_path / "t").start(field("id", "long"))
    text = Page(page_of(tf.open_table(log.root), "id = 1")).text
    assert "The table has no data files." in text and "It reads 0 of 0 files" in text
    assert "over time" not in text and "The newest ones" in text, "one commit is no chart"


def test_a_table_without_a_snapshot(tmp_path: Path) -> None:
    table = tf.create_table(tmp_path / "t", pa.schema({"id": pa.int64()}), format="iceberg")
    text = Page(page_of(table, "id = 1")).text
    assert "no snapshot yet" in text and "The table has no commits yet." in text and "no data files" in text


def test_a_table_without_statistics(tmp_path: Path) -> None:
    log = DeltaLog(tmp_path / "t").start(field("id", "long"))
    log.commit(1, *({"add": {**add(f"f{i}")["add"], "stats": None}} for i in range(3)))
    text = Page(page_of(tf.open_table(log.root), "id = 1")).text
    assert "no file has bounds, so 3 files are read" in text
    assert "let the writer collect statistics for id" in text and "unknown rows stored" in text


def test_commits_of_times_that_python_lacks(tmp_path: Path) -> None:
    table = tf.open_table(DeltaLog(tmp_path / "t").start(field("id", "long")).root)
    times = pa.array([2**62, None, 86_400_000, 0], pa.timestamp("ms", "UTC"))
    operations = ["WRITE", None, "WRITE", "WRITE"]
    history = pa.table({"version": [3, 2, 1, 0], "timestamp": times, "operation": operations})
    text = re.sub(r"\s+", " ", Page(report_page(table.scan(), history)).text)
    assert "2 commits over time" in text and "1970-01-01 00:00:00 UTC" in text and "9999" not in text
    assert " 3 unknown WRITE 2 unknown unknown 1 1970-01-02" in text


def test_steps_of_time_reach_from_the_first_commit_to_the_last(tmp_path: Path) -> None:
    table = tf.open_table(DeltaLog(tmp_path / "t").start(field("id", "long")).root)
    times = pa.array([2 * 86_400_000 - 1, 86_400_000, 0], pa.timestamp("ms", "UTC"))
    history = pa.table({"version": [2, 1, 0], "timestamp": times, "operation": ["WRITE"] * 3})
    words = Page(report_page(table.scan(), history)).words
    assert "3 commits over time, at most 1 in one step of 60 minutes." in words
    assert [word for word in words if word.endswith(" 00:00:00 UTC")][:2] == [
        "1970-01-01 00:00:00 UTC",
        "1970-01-03 00:00:00 UTC",
    ]


def test_times_and_names_are_those_of_the_call(tmp_path: Path) -> None:
    table = tf.open_table(DeltaLog(tmp_path / "orders").start(field("id", "long")).root)
    now = dt.datetime(2024, 5, 6, 7, 8, 9, tzinfo=dt.timezone.utc)
    page = report_page(table.scan(), table.history(), now)
    assert "Written by tableformats" in page and "2024-05-06 07:08:09 UTC" in page
    assert "<title>orders - tableformats report</title>" in page


def test_the_page_is_named_after_the_table(tmp_path: Path) -> None:
    tf.write_table(pa.table({"id": [1]}), tmp_path / "orders", format="iceberg")
    (newest,) = sorted((tmp_path / "orders" / "metadata").glob("*.metadata.json"))[-1:]
    assert "<title>orders - tableformats report" in page_of(tf.open_table(newest))


@BOTH
def test_the_command_writes_the_page(shell: Shell, location: Path, tmp_path: Path) -> None:
    to = tmp_path / "report.html"
    said = shell.ok("report", location, "--relocate", "--where", "id > 2", "-o", to)
    assert said.startswith(f"Wrote {to}, ")
    page = to.read_text("utf-8")
    assert "The query" in Page(page).text
    printed = shell.ok("report", location, "--relocate", "-w", "id > 2")
    assert printed.rpartition("Written by")[0] == page.rpartition("Written by")[0]
    answer = shell.json("report", location, "--relocate", "-o", to)
    jsonschema.Draft202012Validator(SCHEMAS["report"]).validate(answer)
    assert (answer["path"], answer["size_bytes"]) == (str(to), to.stat().st_size)
    assert "The query" not in Page(to.read_text("utf-8")).text


def test_what_the_command_refuses(shell: Shell, tmp_path: Path) -> None:
    assert "name the file of the page" in shell.fails(2, "report", DELTA, "--json")
    assert str(tmp_path) in shell.fails(1, "report", DELTA, "--relocate", "-o", tmp_path)
    assert "no column 'x'" in shell.fails(2, "report", DELTA, "--relocate", "-w", "x = 1")


def test_no_slow_library_is_imported() -> None:
    """pyarrow's conversions of Python values import pandas, its methods of arrays all its functions: long imports."""
    commands = [["history"], ["detail"], ["describe"], ["health"], ["clustering"], ["diagnose", "-w", "id > 2"]]
    commands += [["plan", "-w", "id > 2"], ["plan", "--files"], ["report", "-w", "id > 2"], ["files"], ["schema"]]
    calls = [[*command, str(location), "--relocate"] for command in commands for location in (DELTA, ICEBERG)]
    for location in (DELTA, ICEBERG):
        table = opened(location)
        calls.append(["plan", str(location), "--relocate", "--why", table.plan().file_uris()[0]])
        calls.append(["diff", str(location), str(table.history()["version"][-1]), "--relocate"])
    code = f"import sys\nfrom tableformats.cli import main\nassert not any(map(main, {calls!r}))\n"
    slow = {"pandas", "matplotlib", "pyarrow.dataset", "pyarrow.compute", "rich"}
    code += f"print(sorted({slow!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_page_of_many_files_is_as_small(tmp_path: Path) -> None:
    log = DeltaLog(tmp_path / "t").start(field("id", "long"), field("p", "integer"), partition=("p",))
    for version, count in ((1, 10), (2, 3000)):
        bounds = [{"minValues": {"id": i}, "maxValues": {"id": i + 5}, "nullCount": {"id": 0}} for i in range(count)]
        files = [
            add(f"{version}-{i}", size=1000 * i, partitionValues={"p": str(i % 500)}, stats=stats(9, **known))
            for i, known in enumerate(bounds)
        ]
        log.commit(version, *files)
    table = tf.open_table(log.root)
    few, many = (report_page(table.snapshot(v).scan("id > 50"), table.history()) for v in (1, 2))
    assert len(many) < len(few) + 5000
