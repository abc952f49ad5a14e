"""Tables for people: nothing is lost where there is room, and every line fits where there is not."""

from __future__ import annotations

import datetime as dt
import io
import os
import pty
import subprocess
import sys
import time
from pathlib import Path

import click
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tableformats as tf
from tableformats.cli import output, progress
from tableformats.cli.layout import _fitted, _wrapped, column_lines, folded, table_lines, width_of
from tableformats.cli.values import values_of
from tests.cli.test_commands import DELTA, Shell, shell
from tests.support.delta_log import DeltaLog, add, field

__all__ = ["shell"]

TEXTS = st.text(st.characters(exclude_categories=["C", "Zl", "Zp", "M"]), max_size=40)
ROWS = st.integers(1, 4).flatmap(
    lambda n: st.tuples(
        st.lists(TEXTS.filter(str.strip), min_size=n, max_size=n, unique=True),
        st.lists(st.lists(TEXTS, min_size=n, max_size=n), max_size=4),
    )
)


@given(ROWS, st.integers(2, 100))
def test_every_line_fits(table: tuple[list[str], list[list[str]]], width: int) -> None:
    columns, rows = table
    lines = list(table_lines(columns, rows, width=width, paths=columns[:1], numeric=columns[1:2]))
    assert all(width_of(line) <= width for line in lines), lines
    if len(columns) > 1 and not any(len(row[0]) > 20 for row in [columns, *rows]):
        # What is no path loses nothing but white space.
        found = "".join("".join(lines).split())
        for row in rows:
            for text in row[1:]:
                assert set(text.split()) <= set(text.split()) and all(c in found for c in "".join(text.split()))


@given(ROWS)
def test_nothing_is_cut_without_a_terminal(table: tuple[list[str], list[list[str]]]) -> None:
    columns, rows = table
    lines = list(table_lines(columns, rows))
    assert len(lines) == 1 + len(rows)
    for line, row in zip(lines, [columns, *rows], strict=True):
        at = 0
        for text in row:
            assert text.rstrip() in line[at:]
            at = line.index(text.rstrip(), at)


@given(st.lists(TEXTS, max_size=5).map("\n".join), st.integers(1, 60))
def test_folded_lines_fit_and_lose_white_space_alone(text: str, width: int) -> None:
    lines = folded(text, width).split("\n")
    assert all(width_of(line) <= width or 2 * width_of(line.rpartition(" ")[2]) > width for line in lines), lines
    assert "".join("".join(lines).split()) == "".join(text.split())
    assert folded(text, None) == text


def test_figures_stay_beside_their_labels() -> None:
    text = "Files\n  total                                    12   100.0 %\n        -> rewrite them sorted by id"
    assert folded(text, 20).split("\n") == [
        "Files",
        "  total  12  100.0 %",
        "      -> rewrite",
        "      them sorted by",
        "      id",
    ]


def test_a_path_stays_beside_its_label() -> None:
    line = f"Table   /{'x' * 30}"
    assert folded(line, 20) == line and folded(f"a b c d e f g h i j {line}", 20).split("\n")[-1] == line[8:]


def test_paths_give_way_first() -> None:
    path = "day=2024-01-01/part-00000-81f40f96-7bd0-4a5a-9a9d-bd7db9866bb5-c000.snappy.parquet"
    lines = list(table_lines(["path", "advice"], [[path, "one two three"]], width=60, paths=["path"]))
    assert lines[1].endswith("one two three") and "…" in lines[1]
    assert lines[1].startswith("day=2024-01-01/part-") and ".snappy.parquet" in lines[1]


def at_terminal(arguments: list[str], columns: int) -> tuple[int, str]:
    """Run the command at a terminal of so many columns; its exit code and all that it writes there."""
    leader, follower = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(columns), "TERM": "xterm", "NO_COLOR": "1"}
    command = [sys.executable, "-m", "tableformats", *arguments]
    process = subprocess.Popen(command, stdout=follower, stderr=follower, stdin=subprocess.DEVNULL, env=environment)
    os.close(follower)
    found = b""
    while True:
        try:
            part = os.read(leader, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        found += part
    os.close(leader)
    text = found.decode().replace("\r\n", "\n")
    return process.wait(60), text.split("\x1b[2K")[-1].replace("\x1b[1m", "").replace("\x1b[0m", "")


@pytest.mark.parametrize("columns", [20, 80])
def test_at_a_terminal(columns: int) -> None:
    code, out = at_terminal(["plan", str(DELTA), "-w", "id > 3", "--files"], columns)
    assert code == 0
    lines = out.splitlines()
    below = next(i for i, line in enumerate(lines) if line.startswith("Paths are below"))
    assert max(map(len, lines[:below])) <= columns
    assert "day=2024-01-01/" in out and str(DELTA) not in "\n".join(lines[:below])
    code, out = at_terminal(["plan", str(DELTA), "-w", "id > 3"], columns)
    assert code == 0
    assert all(len(line) <= columns or len(line.rpartition(" ")[2]) > columns / 2 for line in out.splitlines())


def test_a_name_that_would_move_the_cursor(tmp_path: Path) -> None:
    log = DeltaLog(tmp_path / "t").start(field("id", "integer"), field("[red]p\x1b[2J", "string"))
    code, out = at_terminal(["schema", str(log.root)], 60)
    assert code == 0 and "[red]p" in out and "\x1b[2J" not in out


def test_many_files_are_listed_in_a_second(shell: Shell, tmp_path: Path) -> None:
    log = DeltaLog(tmp_path / "t").start(field("id", "integer"))
    log.commit(1, *(add(f"part-{n:05}.parquet") for n in range(5000)))
    seconds = []
    for _ in range(3):  # a busy machine may be slow once, and Python may collect the garbage of other tests
        start = time.process_time()
        out = shell.ok("files", log.root)
        seconds.append(time.process_time() - start)
    assert min(seconds) < 1.0
    assert len(out.splitlines()) == 5001
    assert len(shell.ok("files", log.root, "--output", "tsv").splitlines()) == 5001
    assert len(shell.ok("files", log.root, "--limit", "7").splitlines()) == 9


def test_a_closed_pipe_and_no_terminal() -> None:
    for command in ("files", "plan"):
        script = f'{sys.executable} -m tableformats {command} "$0" | head -n 1; exit "${{PIPESTATUS[0]}}"'
        done = subprocess.run(["bash", "-c", script, str(DELTA)], capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stderr) == (0, "") and done.stdout, command


def test_completion_of_shells() -> None:
    environment = {
        **os.environ,
        "_TABLEFORMATS_COMPLETE": "bash_complete",
        "COMP_WORDS": "tableformats ver",
        "COMP_CWORD": "1",
    }
    command = [sys.executable, "-c", "from tableformats.cli import main; main([])"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert {"plain,verify", "plain,verify-stats"} <= set(done.stdout.splitlines())


def test_history_says_how_many_rows_and_by_whom(shell: Shell, tmp_path: Path) -> None:
    log = DeltaLog(tmp_path / "t").start(field("id", "integer"))
    infos = [
        ("WRITE", {"numOutputRows": "9", "numCopiedRows": "4"}),
        ("DELETE", {"numDeletedRows": "2", "numOutputRows": "9"}),
        ("MERGE", {"numTargetRowsInserted": "3", "numTargetRowsUpdated": "4", "numTargetRowsDeleted": "0"}),
        ("WRITE", {"numOutputRows": "many"}),
        ("UPDATE", None),
    ]
    for version, (operation, metrics) in enumerate(infos, 1):
        info = {
            "operation": operation,
            "operationMetrics": metrics,
            "userName": f"u{version}\x1b" if version < 3 else None,
        }
        log.commit(version, {"commitInfo": info}, add(f"f{version}"))
    found = shell.json("history", log.root)["versions"]
    names = ("added_rows", "deleted_rows", "updated_rows", "user")
    none = (None,) * 4
    expected = [none, none, none, (3, 0, 4, None), (None, 2, None, "u2\x1b"), (5, None, None, "u1\x1b")]
    assert [tuple(v[name] for name in names) for v in found] == [none, none, *expected[3:], none][:6]
    text = shell.ok("history", log.root)
    assert all(words in text for words in ("+3 ~4", "-2", "u2\\x1b"))


def test_history_of_deletes_that_copy_rows(shell: Shell, tmp_path: Path) -> None:
    rows = pa.table({"id": range(10), "day": [1] * 5 + [2] * 5})
    table = tf.write_table(rows, tmp_path / "t", format="delta") and tf.open_table(tmp_path / "t")
    table.delete("id < 2")
    table.overwrite(rows.slice(9), where="day = 2")
    found = shell.json("history", tmp_path / "t")["versions"]
    assert [(v["added_rows"], v["deleted_rows"]) for v in found] == [(1, 5), (None, 2), (10, None)]


def test_paths_stay_apart_where_they_are_shortened() -> None:
    """Writers give all files the same end, and tell them apart in the middle."""
    names = [f"day=2024-01-0{i}/part-00000-{i}5cc9-{'0' * 20}-{i}f.c000.snappy.parquet" for i in range(3)]
    lines = list(column_lines(["path", "rows"], [[*names, "short"], ["1"] * 4], width=32, paths=["path"]))
    assert lines[1].split() == ["day=2024-01-…0000000000-0…", "1"] and lines[4].split() == ["short", "1"]
    assert len(set(lines)) == 5 and max(map(len, lines)) <= 32
    for same, shown in (([names[0]], "day=2024-01-…ppy.parquet"), ([names[0]] * 2, "day=2024-01-00/part-000…")):
        assert set(list(column_lines(["path"], [same], width=24, paths=["path"]))[1:]) == {shown}


def test_moments_are_those_of_arrow() -> None:
    moments = [dt.datetime(1, 1, 1), None, dt.datetime(1969, 12, 31, 23, 59, 59, 999000), dt.datetime(9999, 12, 31)]
    for unit in ("ms", "us"):
        for tz in (None, "UTC"):
            column = pa.chunked_array([pa.array(moments, pa.timestamp(unit, tz))])
            assert values_of(column) == column.to_pylist()
    late = pa.chunked_array([pa.array([2**60], pa.timestamp("us", "UTC"))])
    assert values_of(late) == ["+38504-08-17T21:30:06.846976Z"]


def test_moments_of_other_zones_and_units() -> None:
    """They are not read as those of UTC."""
    rome = pa.chunked_array([pa.array([0, None], pa.timestamp("us", "Europe/Rome"))])
    first, second = values_of(rome)
    assert first == dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc) and second is None
    assert first.utcoffset() == dt.timedelta(hours=1)


@pytest.mark.parametrize(
    ("columns", "is_shown", "width"), [(0, True, 1), (1, True, 1), (80, True, 80), (80, False, None)]
)
def test_how_wide_a_terminal_is(
    columns: int, is_shown: bool, width: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output, "is_terminal", lambda stream: is_shown)
    monkeypatch.setattr(output.shutil, "get_terminal_size", lambda: os.terminal_size((columns, 24)))
    assert output._terminal_width() == width


def test_closed_streams() -> None:
    for closed in (">&-", "2>&-", ">&- 2>&-"):
        done = subprocess.run(
            ["bash", "-c", f'{sys.executable} -m tableformats files "$0" {closed}', str(DELTA)],
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert (done.returncode, done.stderr) == (0, ""), closed


def test_progress_goes_on_behind_a_question(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(progress, "_PATIENCE", 0.01)
    monkeypatch.setattr(click, "confirm", lambda *_, **__: True)
    with progress.waiting("append"):
        progress.confirm("Replace?")
        deadline = time.monotonic() + 10
        while "append: 0 s" not in sys.stderr.getvalue() and time.monotonic() < deadline:  # type: ignore[attr-defined]
            time.sleep(0.01)
    assert "append: 0 s" in sys.stderr.getvalue()  # type: ignore[attr-defined]


def test_a_table_without_snapshots_says_so(tmp_path: Path, shell: Shell) -> None:
    """And neither names version -1, nor an unknown time."""
    tf.create_table(tmp_path / "t", pa.schema([("x", pa.int64())]), format="iceberg")
    checked, planned = (shell.ok(command, tmp_path / "t") for command in ("verify-stats", "plan"))
    assert checked.startswith("No snapshot yet, 0 files") and "-1" not in checked
    assert "        iceberg, no snapshot yet\n" in planned


@pytest.mark.parametrize(
    ("widths", "least", "paths", "width", "fitted"),
    [
        ([10, 10], [2, 2], "", 23, [10, 10]),
        ([10, 10], [2, 2], "", 22, [10, 10]),
        ([10, 10], [2, 2], "", 21, [9, 10]),
        ([10, 10], [2, 2], "", 19, [7, 10]),
        ([30, 10], [2, 2], "", 22, [10, 10]),
        ([30, 10], [12, 2], "", 22, [12, 8]),
        ([30, 10], [2, 2], "b", 40, [30, 8]),
        ([30, 10], [2, 4], "b", 30, [24, 4]),
        ([5, 5], [5, 5], "", 4, [5, 5]),
        ([9], [2], "", 5, [5]),
    ],
)
def test_wide_columns_give_way(widths: list[int], least: list[int], paths: str, width: int, fitted: list[int]) -> None:
    is_path = [name in paths for name in "ab"[: len(widths)]]
    assert _fitted(widths, least, is_path, width) == fitted
    assert widths == widths and (sum(fitted) + 2 * (len(fitted) - 1) <= width or fitted == least)


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("abcdefghij", 4, ["abcd", "efgh", "ij"]),
        ("abcd", 4, ["abcd"]),
        ("\u65e5\u672c\u8a9e\u672c", 5, ["\u65e5\u672c", "\u8a9e\u672c"]),
        ("\u65e5", 1, ["\u65e5"]),
        ("ab cd ef", 5, ["ab cd", "ef"]),
        ("ab cd ef", 4, ["ab", "cd", "ef"]),
        ("ab cdefgh", 4, ["ab", "cdef", "gh"]),
        ("", 4, [""]),
    ],
)
def test_texts_are_broken_behind_words(text: str, width: int, lines: list[str]) -> None:
    assert _wrapped(text, width) == lines
    assert _wrapped(text, 40) == [text] and all(width_of(line) <= max(width, 2) for line in lines)
    assert width_of("e\u0301\u65e5") == 3
    assert _wrapped("ab cdefgh", 4, cuts=False) == ["ab", "cdefgh"]
