"""``plan.explain()`` says what the report counted, aligned, and nothing that must not be shown."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest

import tableformats as tf
from tableformats.inspect.text import bytes_text, count_text, location_text, percent_text, printable, time_text
from tableformats.inspect.why import verdict_lines
from tableformats.plugin.report import ScanReport
from tests.support.delta_log import DeltaLog, add, field, stats
from tests.support.golden import TABLES


@pytest.fixture
def plan() -> tf.scan.ScanPlan:
    table = tf.open_table(TABLES / "delta-evolved" / "table")
    return table.scan(f"`{table.snapshot().schema.names[0]}` IS NOT NULL").plan()


def figures(text: str) -> dict[str, str]:
    """Label -> figure of the aligned lines."""
    found = {}
    before, _, after = text.partition("Parts of the filter\n")
    for line in (before + after.partition("\n\n")[2]).splitlines():
        if line.startswith("  ") and not line.startswith(" " * 8) and len(line) > 34:
            found[line[:34].strip()] = line[34:48].strip()
    return found


def test_shows_every_counter(plan: tf.scan.ScanPlan) -> None:
    plan.report = report = ScanReport(
        format="x",
        version=7,
        filter="a = 1",
        metadata_files_read=3,
        metadata_bytes_read=12_345,
        log_files_read=1,
        checkpoint_files_read=2,
        manifests_total=40,
        manifests_skipped=30,
        files_total=2000,
        files_skipped_with_manifests=1000,
        files_dropped_by_partition=500,
        files_dropped_by_bounds=400,
        files_planned=100,
        files_fully_matched=60,
        files_with_deletes=50,
        delete_files=70,
        bytes_listed=5 * 10**9,
        bytes_planned=10**6,
        rows_listed=None,
        count_planned=lambda: 80_000,
        seconds={"metadata": 0.0012, "total": 0.0034},
        notes=["one\nline", "another"],
    )
    text = plan.explain()
    assert figures(text) == {
        "log files read": "1",
        "checkpoint files read": "2",
        "manifests": "40",
        "- skipped": "30",
        "= read": "10",
        "metadata files read": "3",
        "metadata bytes read": "12.3 kB",
        "total": "3.4 ms",
        "- skipped with their manifests": "1,000",
        "- dropped by partition": "500",
        "- dropped by bounds": "400",
        "= planned": "100",
        "fully matched": "60",
        "with deletes": "50",
        "delete files": "70",
        "bytes in manifests read": "5.0 GB",
        "bytes planned": "1.0 MB",
        "rows in total": "not counted",
        "rows planned": "80,000",
        "metadata": "1.2 ms",
    }
    assert "  total                                    2,000   100.0 %" in text
    assert "x, version 7" in text and "Filter  a = 1" in text
    assert "  - one\\nline\n  - another\n" in text
    assert report.files_total == 2000


def test_real_funnels_add_up(plan: tf.scan.ScanPlan) -> None:
    shown = figures(plan.explain())
    report = plan.report
    groups = {"manifests": report.manifests_total, "row groups": report.row_groups_total}
    stages = [f"- skipped with their {group}" for group, n in groups.items() if n]
    assert [name for name in shown if name.startswith("- skipped with")] == stages, "only what the table has"
    stages += ["- dropped by partition", "- dropped by bounds", "= planned"]
    assert sum(int(shown[name]) for name in stages) == report.files_total == report.funnel["all files"]
    assert len(report.funnel) == len(stages) + 1


def test_the_limit_has_a_line_of_its_own() -> None:
    table = tf.open_table(TABLES / "delta-evolved" / "table")
    whole = table.scan().plan()
    limited = table.scan(limit=1).plan()
    assert len(limited) < len(whole), "the table shows nothing here"
    assert figures(limited.explain())["- not needed for the limit"] == str(len(whole) - len(limited))
    assert "- not needed for the limit" not in whole.explain()


def test_a_decided_filter_leaves_nothing(plan: tf.scan.ScanPlan) -> None:
    everything = plan.snapshot.scan().plan().explain()
    assert "Filter  none" in everything
    assert "Left to check on rows\n  nothing" in everything
    assert "fully matched" not in everything


def test_each_part_of_the_filter_is_explained(tmp_path: Path) -> None:
    bounds = {"minValues": {"i": 1}, "maxValues": {"i": 9}, "nullCount": {"i": 0}}
    log = DeltaLog(tmp_path / "t").start(field("p", "integer"), field("i", "integer"), partition=("p",))
    files = [add(f"f{p}{i}", partitionValues={"p": str(p)}, stats=stats(9, **bounds)) for p in (1, 2) for i in (1, 2)]
    log.commit(1, *files, add("bare", partitionValues={"p": "2"}))
    plan = tf.open_table(log.root).scan("p = 2 AND i > 5").plan()
    assert """
Parts of the filter
  p = 2
        drops 2 of 5 files, all of them alone
        keeps 3: every row matches
  i > 5
        drops 0 of 5 files
        keeps 2: the bounds of i allow matching rows
          -> narrow bounds drop more: sort or cluster the table by i
        keeps 1: no statistics for i
          -> let the writer collect statistics for i, then rewrite these files
        not compared: 2 that other parts dropped first

""" in plan.explain()
    assert "Parts of the filter" not in plan.explain(why=False)
    assert (
        "\n".join(verdict_lines(plan.why("f21")))
        == f"""\
File     {log.root}/f21
Verdict  planned

  p = 2
        keeps it: every row matches
        partition of p: 2

  i > 5
        keeps it: the bounds of i allow matching rows
        bounds of i: 1 to 9"""
    )


def test_names_in_the_explanation_are_escaped(tmp_path: Path) -> None:
    log = DeltaLog(tmp_path / "t").start(field("a\x1b[2J", "integer")).commit(1, add("f"))
    assert "\x1b" not in tf.open_table(log.root).scan("`a\x1b[2J` > 5").plan().explain()


def test_html_is_escaped(plan: tf.scan.ScanPlan) -> None:
    plan.report.note("<script>")
    assert "&lt;script&gt;" in plan._repr_html_()


@pytest.mark.parametrize(
    ("location", "shown"),
    [
        ("/data/what?/events", "/data/what?/events"),
        ("s3://bucket/events", "s3://bucket/events"),
        ("s3://key:secret@bucket/events", "s3://…@bucket/events"),
        ("https://host/events?sig=secret&x=1", "https://host/events?…"),
        ("s3://key:sec/r@t@bucket/events", "s3://…@bucket/events"),
        ("https://token@host/events#sig=secret", "https://…@host/events?…"),
        ("https://host/events?secret", "https://host/events?…"),
        ("abfss://container@account.example/events", "abfss://container@account.example/events"),
        ("/data/\x1b[2J", "/data/\\x1b[2J"),
    ],
)
def test_locations_show_no_secret(location: str, shown: str) -> None:
    assert location_text(location) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [("abc äß 表", "abc äß 表"), ("a\tb\r\n", "a\\tb\\r\\n"), ("\u202e", "\\u202e"), ("\ud800", "\\ud800")],
)
def test_printable(text: str, shown: str) -> None:
    assert printable(text) == shown


@pytest.mark.parametrize(
    ("size", "shown"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (999_949, "999.9 kB"),
        (999_950, "1.0 MB"),
        (5 * 10**18, "5,000.0 PB"),
    ],
)
def test_bytes(size: int, shown: str) -> None:
    assert bytes_text(size) == shown


@pytest.mark.parametrize(
    ("part", "whole", "shown"),
    [
        (0, 10, "0.0 %"),
        (10, 10, "100.0 %"),
        (1, 10**6, "< 0.1 %"),
        (10**6 - 1, 10**6, "> 99.9 %"),
        (1, 3, "33.3 %"),
        (0, 0, ""),
        (None, 3, ""),
        (3, None, ""),
    ],
)
def test_percentages(part: int | None, whole: int | None, shown: str) -> None:
    assert percent_text(part, whole) == shown


def test_counts_and_times() -> None:
    assert (count_text(1827), count_text(None)) == ("1,827", "unknown")
    moment = dt.datetime(2024, 1, 31, 12, tzinfo=dt.timezone.utc)
    assert time_text(moment) == "2024-01-31 12:00:00 UTC"
    assert time_text(moment.replace(microsecond=1500)) == "2024-01-31 12:00:00.001 UTC"
    assert time_text(None) == "unknown"
