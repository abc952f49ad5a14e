"""Public objects are short in a shell and a page in a notebook, and neither shows markup or control characters."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest

import tableformats as tf
from tableformats.display import bars, facts, grid, page, shortened
from tableformats.inspect.diff import diff
from tableformats.inspect.health import health
from tests.support.delta_log import DeltaLog, add, field, stats

HOSTILE = "<script>\x1b[2J"


class Balanced(HTMLParser):
    """Fails where an element is not closed, and collects what could load or run something."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.tags.add(tag)
        assert {name for name, _ in attrs} <= {"style"}
        assert all("url" not in value for _, value in attrs)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture
def table(tmp_path: Path) -> tf.Table:
    log = DeltaLog(tmp_path / "t").start(field("p", "integer"), field(HOSTILE, "integer"), partition=("p",))
    bounds = {"minValues": {HOSTILE: 1}, "maxValues": {HOSTILE: 9}, "nullCount": {HOSTILE: 0}}
    log.commit(1, *(add(f"{'f' * 200}{p}", partitionValues={"p": str(p)}, stats=stats(9, **bounds)) for p in (1, 2)))
    return tf.open_table(log.root)


@pytest.fixture
def objects(table: tf.Table) -> SimpleNamespace:
    snapshot = table.snapshot()
    scan = table.scan(f"p = 2 AND `{HOSTILE}` > 5")
    plan = scan.plan()
    shown = {"table": table, "snapshot": snapshot, "scan": scan, "plan": plan, "report": plan.report}
    shown.update(schema=table.schema, health=health(snapshot), diff=diff(table.snapshot(0), snapshot))
    plain = {"task": next(plan.tasks()), "inspect": table.inspect, "filter": scan.filter, "changes": table.changes(0)}
    plain.update(attribution=plan.attribution, why=plan.why(plan.file_uris()[0]), column=tf.col("a"))
    return SimpleNamespace(shown=shown, all={**shown, **plain})


def test_reprs_are_short(objects):
    del objects.all["health"]  # a list
    lengths = {name: len(repr(value)) for name, value in objects.all.items()}
    assert max(lengths.values()) < 400, lengths
    assert not any("\n" in repr(value) or " at 0x" in repr(value) for value in objects.all.values())


def test_notebooks_get_pages_that_load_and_run_nothing(objects):
    for name, value in objects.shown.items():
        text = value._repr_html_()
        assert Balanced(text).tags <= {"div", "strong", "span", "table", "tr", "th", "td"}, name
        assert "\x1b" not in text and "<script" not in text
    assert all("&lt;script&gt;\\x1b[2J" in objects.shown[name]._repr_html_() for name in ("table", "schema", "plan"))


def shown_facts(value) -> dict[str, str]:
    """The facts of a page by name."""
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", value._repr_html_(), re.DOTALL)
    cells = [[re.sub(r"<[^>]*>", "", cell) for cell in re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row)] for row in rows]
    return {row[0]: row[1] for row in cells if len(row) == 2}


def test_facts_of_scans_and_plans(table):
    limited = shown_facts(table.scan("p = 2", limit=1200, columns=["p"]))
    assert limited == {"version": limited["version"], "filter": "p = 2", "columns": "p", "limit": "1,200"}
    every = shown_facts(table.scan())
    assert (every["filter"], every["limit"]) == ("none", "none") and every["version"].startswith("1")
    assert shown_facts(table.changes(0))["versions"] == "0 to 1"
    assert shown_facts(table.scan("p = 2").plan())["left to check on rows"] == "nothing"
    assert shown_facts(table.scan(f"`{HOSTILE}` = 2").plan())["left to check on rows"].endswith(" = 2")
    facts = shown_facts(table)
    assert (facts["format"], facts["partitioned by"]) == ("delta", "p")


def test_transforms_are_shown(tmp_path):
    fields = ["bucket(4, id)", "day"]
    schema = pa.schema({"id": pa.int64(), "day": pa.date32()})
    table = tf.create_table(tmp_path / "t", schema, format="iceberg", partition_by=fields)
    assert shown_facts(table)["partitioned by"] == "bucket[4](id), day"
    assert shown_facts(tf.create_table(tmp_path / "u", schema, format="iceberg"))["partitioned by"] == "nothing"


def test_the_funnel_is_bars(objects):
    text = objects.shown["plan"]._repr_html_()
    widths = re.findall(r"width:([0-9]+\.[0-9]+)%", text)
    assert widths == ["100.00", "50.00", "0.00", "50.00"]
    assert "2  (100.0 %)" in text


def test_a_table_without_files_has_a_page(tmp_path):
    table = tf.open_table(DeltaLog(tmp_path / "t").start().root)
    Balanced(table._repr_html_())
    Balanced(table.plan()._repr_html_())
    assert "width:0.00%" in table.plan().report._repr_html_()


def test_pieces():
    assert shortened("a" * 80) == "a" * 80
    assert shortened("ab" * 50, 9) == "abab…abab"
    Balanced(bars([("<b>", 0, "&", False)], 0))


def test_long_texts_and_tables_are_shown_in_part():
    shown = grid(["a", "b"], [(str(i), "x" * 5000) for i in range(1201)])
    Balanced(shown)
    assert shown.count("<tr") == 202 and "1,001 more" in shown and len(shown) < 400_000
    assert [row.count("<td") for row in shown.split("<tr")[2:]] == [2] * 201, "the last one says how many more"
    assert grid(["a"], [("1",)] * 200).count("<tr") == 201
    assert len(facts([("a", "b" * 10**6)])) < 2000 and len(page("t", "s" * 10**6)) < 2000
