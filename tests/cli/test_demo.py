"""``tableformats demo``: both tables are written, planned and read, and every way that it cannot is said."""

from __future__ import annotations

import datetime as dt
import importlib.util
import shutil
from pathlib import Path

import pytest

import tableformats as tf
from tableformats.cli import demo as demo_module
from tableformats.cli import main
from tests.support.writers import needs_writers


@pytest.fixture
def without_java(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")


@needs_writers
def test_without_java_spark_alone_is_missing_and_it_is_said(
    tmp_path: Path, without_java: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["demo", str(tmp_path)]) == 1
    out, err = capsys.readouterr()
    assert out.count("as written") == 4
    assert "SPARK WAS NOT TRIED" in err and "Java" in err


@needs_writers
def test_the_tables_are_what_the_demo_promises(tmp_path: Path) -> None:
    delta, iceberg = (tf.open_table(place) for place in demo_module.write_tables(tmp_path).values())
    assert [f.name for f in delta.snapshot().partition_fields] == ["country"]
    assert [str(f.transform) for f in iceberg.snapshot().partition_fields] == ["day"]
    assert delta.history()["operation"].to_pylist()[0] == "DELETE"
    assert len(list(Path(delta.location, "_delta_log").glob("*.checkpoint.parquet"))) == 1
    assert set(delta.snapshot().schema.names) == set(iceberg.snapshot().schema.names)
    for table in (delta, iceberg):
        report = table.scan(demo_module.PREDICATE).plan().report
        assert 0 < report.files_planned < report.files_total
        assert (
            report.files_planned
            + report.files_dropped_by_partition
            + report.files_dropped_by_bounds
            + (report.files_skipped_with_manifests)
            == report.files_total
        )
    assert delta.scan().count() == iceberg.scan().count()


@needs_writers
def test_a_wrong_answer_is_an_error(
    tmp_path: Path, without_java: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    right = demo_module._by_arrow
    monkeypatch.setattr(demo_module, "_by_arrow", lambda scan: right(scan)[1:])
    assert main(["demo", str(tmp_path)]) == 1
    out, err = capsys.readouterr()
    assert "WRONG" in out
    assert "these answers are wrong: delta with Arrow, iceberg with Arrow" in err


def test_expected_rows_are_a_choice() -> None:
    everything = sum(demo_module.demo_rows(i).num_rows for i in range(demo_module._APPENDS))
    assert 0 < len(demo_module.expected_rows()) < everything // 10


@needs_writers
def test_only_an_earlier_demo_is_replaced(tmp_path: Path, without_java: None) -> None:
    assert main(["demo", str(tmp_path)]) == 1
    (tmp_path / "delta" / "leftover").write_text("of the first demo")
    assert main(["demo", str(tmp_path)]) == 1
    assert not (tmp_path / "delta" / "leftover").exists()
    (tmp_path / "mine.txt").write_text("precious")
    assert main(["demo", str(tmp_path)]) == 1
    assert (tmp_path / "mine.txt").read_text() == "precious"
    assert (tmp_path / "delta").is_dir(), "nothing is removed where something is refused"


@needs_writers
@pytest.mark.parametrize("name", ["delta", "data.csv"])
def test_a_directory_with_other_things_is_refused(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).mkdir()
    assert main(["demo", str(tmp_path)]) == 1
    assert "holds what no demo wrote" in capsys.readouterr().err
    assert [entry.name for entry in tmp_path.iterdir()] == [name]


def test_missing_readers_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert main(["demo", str(tmp_path / "demo")]) == 1
    err = capsys.readouterr().err
    assert "deltalake" in err and "pip install 'tableformats[demo]'" in err
    assert not (tmp_path / "demo").exists()


def test_the_rows_of_the_demo() -> None:
    """Docs show some of them."""
    first, last = demo_module.demo_rows(0), demo_module.demo_rows(7)
    assert first.num_rows == last.num_rows == 72
    assert first.slice(6, 2).to_pylist() == [
        {"id": 6, "ts": dt.datetime(2024, 1, 1, 6, tzinfo=dt.timezone.utc), "country": "IN", "amount": 22.2},
        {"id": 7, "ts": dt.datetime(2024, 1, 1, 7, tzinfo=dt.timezone.utc), "country": "JP", "amount": None},
    ]
    assert [row["id"] for row in first.to_pylist() if row["amount"] is None] == [7, 57]
    assert last.slice(69).to_pydict() == {
        "id": [573, 574, 575],
        "ts": [dt.datetime(2024, 1, 24, hour, tzinfo=dt.timezone.utc) for hour in (21, 22, 23)],
        "country": ["DE", "IN", "JP"],
        "amount": [20.1, 23.8, 27.5],
        "channel": ["shop", "web", "web"],
    }
    assert [demo_module.demo_rows(i).num_columns for i in range(8)] == [4, 4, 4, 4, 5, 5, 5, 5]
    assert len(demo_module.expected_rows()) == 15


def test_a_directory_is_made_with_those_above_it(tmp_path: Path) -> None:
    place = tmp_path / "a" / "b"
    for _ in range(2):
        demo_module._prepare(place)
        assert [entry.name for entry in place.iterdir()] == [demo_module._MARKER]


def test_a_file_is_no_directory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "f").write_text("mine")
    assert main(["demo", str(tmp_path / "f")]) == 2
    assert "is a file" in capsys.readouterr().err and (tmp_path / "f").read_text() == "mine"


@pytest.mark.parametrize(
    ("pyspark", "home", "path", "missing"),
    [
        (True, True, False, None),
        (True, False, True, None),
        (True, True, True, None),
        (True, False, False, "there is no Java"),
        (True, None, False, "there is no Java"),
        (True, None, True, None),
        (False, True, True, "PySpark is not installed"),
    ],
)
def test_what_spark_lacks(
    pyspark: bool, home: bool | None, path: bool, missing: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Java is that of ``JAVA_HOME``, which may name a folder without one, or it is on the path."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object() if pyspark else None)
    monkeypatch.setattr(shutil, "which", lambda name: "/usr/bin/java" if path else None)
    (tmp_path / "bin").mkdir()
    if home:
        (tmp_path / "bin" / "java").touch()
    monkeypatch.delenv("JAVA_HOME", raising=False)
    if home is not None:
        monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    found = demo_module._missing_for_spark()
    assert found is None if missing is None else found is not None and found.startswith(missing)
