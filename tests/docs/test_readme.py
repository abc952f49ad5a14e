"""The README and the pages beside it are true: examples run and print what they show, tables are those of the code."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import tableformats as tf
from tableformats.plugin.registry import ENTRY_POINT_GROUP, PluginHost
from tableformats.testing import FormatConformance

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text("utf-8")
SUPPORT = (ROOT / "docs" / "support.md").read_text("utf-8")
PLUGINS = (ROOT / "docs" / "plugins.md").read_text("utf-8")
HOME = "/home/you"  # where the README's reader is


def section(title: str) -> str:
    """The text below a heading of the README, up to the next one."""
    return README.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def steady(output: str) -> str:
    """Output without what differs from run to run (times) and from writer to writer (sizes)."""
    output = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{3})? UTC", "<time>", output)
    output = re.sub(r" +[\d,.]+ ms", " <duration>", output)
    return re.sub(r" +[\d,.]+ [kM]?B\b( +[\d.]+ %)?", " <size>", output)


def test_the_example_prints_what_the_readme_shows(tmp_path: Path) -> None:
    pytest.importorskip("deltalake", reason="the example writes its table with deltalake: pip install '.[test]'")
    text = section("In Python")
    code, shown = blocks(text, "python")[0], blocks(text, "text")[0]
    assert len(code.strip().splitlines()) <= 16
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert steady(done.stdout.replace(str(tmp_path), HOME)) == steady(shown)
    assert re.search(r"total +\d+\.\d ms", shown), "the README shows an output that was really printed"


def test_the_other_calls_of_the_readme_are_there() -> None:
    code = blocks(section("In Python"), "python")[1]
    for name in re.findall(r"table\.(\w+)", code):
        assert hasattr(tf.Table, name)
    for name in re.findall(r"`(to_\w+)`", section("In Python")):
        from tableformats.table.scan import Scan

        assert hasattr(Scan, name)


def test_the_delta_matrix_is_the_plugins_own() -> None:
    from tableformats_delta.schema.features import READER_FEATURES, WRITER_FEATURES

    for_readers = [
        f"| `{name}` | {'read' if feature.read else 'refused'} | {feature.note} |"
        for name, feature in READER_FEATURES.items()
    ]
    for_writers = [f"| `{name}` | {note} |" for name, note in WRITER_FEATURES.items()]
    for name, rows in (("reader", for_readers), ("writer", for_writers)):
        table = SUPPORT.split(f"| Delta {name} feature |", 1)[1].split("\n\n", 1)[0]
        assert table.splitlines()[2:] == rows, "copy these rows into docs/support.md:\n" + "\n".join(rows)


def test_the_errors_are_all_named() -> None:
    for name in tf.__all__:
        if name.endswith("Error"):
            assert f"`{name}`" in README or f"`tf.{name}`" in README


def test_the_commands_are_there() -> None:
    from tableformats.cli.app import cli

    listed = re.search(r"`tableformats ((?:[\w-]+ \|\s+)+\w+)`", README)
    assert listed
    assert set(re.split(r" \|\s+", listed.group(1))) | {"demo"} == set(cli.commands)


def test_the_python_versions_are_those_of_the_package() -> None:
    classifiers = re.findall(r'Python :: (3\.\d+)"', (ROOT / "pyproject.toml").read_text("utf-8"))
    assert f"Python {classifiers[0]} to {classifiers[-1]}" in README


@pytest.fixture
def plugin(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The plugin of docs/plugins.md, as a module that an entry point names."""
    module = ModuleType("example_plugin")
    exec(compile(blocks(PLUGINS, "python")[0], "plugins.md", "exec"), vars(module))
    monkeypatch.setitem(sys.modules, "example_plugin", module)
    host = PluginHost([EntryPoint("listed", "example_plugin", ENTRY_POINT_GROUP)])
    assert [record.error for record in host.plugins] == [None]
    monkeypatch.setattr("tableformats.plugin.registry.host", lambda: host)
    return module


@pytest.fixture
def listed_table(tmp_path: Path) -> Path:
    import pyarrow as pa
    import pyarrow.parquet as pq

    for number in range(3):
        ids = range(10 * number, 10 * number + 10)
        pq.write_table(pa.table({"id": ids, "even": [i % 2 == 0 for i in ids]}), tmp_path / f"{number}.parquet")
    (tmp_path / "files.txt").write_text("0.parquet\n2.parquet\n")
    return tmp_path


def test_the_plugin_example_reads_its_tables(plugin: Any, listed_table: Path) -> None:
    table = tf.open_table(listed_table)
    assert table.format == "listed"
    assert table.scan().count() == 20
    assert table.scan("id > 4 AND even").to_arrow()["id"].to_pylist() == [6, 8, 20, 22, 24, 26, 28]
    assert "listed" in table.scan("id > 4").plan().explain()


class TestPluginExample(FormatConformance):
    """The plugin of docs/plugins.md keeps the contract of the conformance kit."""

    @pytest.fixture
    def format_class(self, plugin: Any) -> Any:
        return plugin.ListedFormat

    @pytest.fixture
    def location(self, listed_table: Path) -> Path:  # type: ignore[override]
        return listed_table


def test_no_path_of_a_machine() -> None:
    for page in (README, SUPPORT, PLUGINS):
        assert os.sep + "tmp" + os.sep not in page


def test_links_between_the_documents_lead_somewhere() -> None:
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        for target in re.findall(r"\]\(([\w./-]+(?:\.md|/))(?:#[\w-]+)?\)", page.read_text("utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_pictures_of_the_documents_are_there_and_small() -> None:
    """They are written by ``python -m tests.docs.pictures --write docs/pictures``."""
    shown = set()
    for page in sorted((ROOT / "docs").glob("*.md")):
        shown |= {page.parent / target for target in re.findall(r"\]\(([\w./-]+\.png)\)", page.read_text("utf-8"))}
    assert shown == set((ROOT / "docs").rglob("*.png"))
    assert all(picture.stat().st_size < 150_000 for picture in shown)
