"""The file of the progress of ``verify_stats``: what is written to it, taken from it, and refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tableformats as tf
from tableformats.inspect.statistics_progress import ProgressFile, resumed_version

KIND = "tableformats verify-stats"
ASKED = {"location": "/t", "version": 7, "deep": False, "columns": ["a"]}
FINDING = {"rule": "bounds", "column": "a", "what": "wrong", "filter": None}


def line(path: Any = "/t/f", read: Any = "rows", not_compared: Any = (), found: Any = ()) -> dict[str, Any]:
    return {"path": path, "read": read, "not_compared": list(not_compared), "found": list(found)}


def written(path: Path, *documents: Any, end: str = "\n") -> Path:
    path.write_text("\n".join(map(json.dumps, documents)) + end)
    return path


def test_a_run_goes_on_where_another_one_ended(tmp_path: Path) -> None:
    path, lines = tmp_path / "p", [line("/t/f"), line("/t/g", "footer", ["b"], [FINDING])]
    with ProgressFile(path, ASKED) as file:
        assert file.known == {}
        for one in lines:
            file.add(one)
    with ProgressFile(path, ASKED) as file:
        assert file.known == {"/t/f": lines[0], "/t/g": lines[1]} and list(file.known) == ["/t/f", "/t/g"]
        file.add(line("/t/h"))
    assert list(map(json.loads, path.read_text().splitlines())) == [{"kind": KIND, **ASKED}, *lines, line("/t/h")]
    assert resumed_version(path) == 7 and list(tmp_path.iterdir()) == [path]


def test_a_run_without_a_file_writes_nothing() -> None:
    with ProgressFile(None, ASKED) as file:
        file.add(line())
        assert file.known == {}


@pytest.mark.parametrize("end", ["", '{"path": "/t/g", "re', "[1]\n", "x\n"])
def test_a_line_that_was_not_finished_is_forgotten(tmp_path: Path, end: str) -> None:
    path = written(tmp_path / "p", {"kind": KIND, **ASKED}, line("/t/f"), end=f"\n{end}")
    with ProgressFile(path, ASKED) as file:
        assert list(file.known) == ["/t/f"]
    cut = written(tmp_path / "q", {"kind": KIND, **ASKED}, line("/t/f"), end="")
    with ProgressFile(cut, ASKED) as file:
        assert file.known == {}


@pytest.mark.parametrize(
    ("first", "said", "field"),
    [
        ({"a": 1}, "the file is no progress file", "kind"),
        ({"kind": KIND, **ASKED, "version": 8}, "the file has the progress of another version", "version"),
        ({"kind": KIND, **ASKED, "deep": True}, "the file has the progress of another deep", "deep"),
        ({"kind": KIND, "location": "/t"}, "the file has the progress of another version", "version"),
    ],
)
def test_a_file_of_something_else(tmp_path: Path, first: dict[str, Any], said: str, field: str) -> None:
    path = written(tmp_path / "p", first, line())
    before = path.read_text()
    with pytest.raises(tf.TableFormatsError, match=said) as caught:
        ProgressFile(path, ASKED)
    assert (caught.value.path, caught.value.field) == (str(path), field) and path.read_text() == before


@pytest.mark.parametrize(
    "damaged",
    [
        {},
        line(5),
        {**line(), "found": None},
        {**line(), "not_compared": "a"},
        line(not_compared=[1]),
        line(found=[1]),
        line(found=[{"rule": "bounds"}]),
        line(found=[{**FINDING, "more": 1}]),
        {name: value for name, value in line().items() if name != "read"},
    ],
)
def test_a_line_that_is_of_no_data_file(tmp_path: Path, damaged: dict[str, Any]) -> None:
    path = written(tmp_path / "p", {"kind": KIND, **ASKED}, damaged, line("/t/g"))
    with pytest.raises(tf.TableFormatsError, match="the file is no progress file") as caught:
        ProgressFile(path, ASKED)
    assert caught.value.field == "kind"


@pytest.mark.parametrize(
    ("first", "version"),
    [({"kind": KIND, "version": 0}, 0), ({"kind": KIND, "version": "7"}, None), ({"version": 7}, None), ({}, None)],
)
def test_the_version_that_is_resumed(tmp_path: Path, first: dict[str, Any], version: int | None) -> None:
    assert resumed_version(written(tmp_path / "p", first, {"kind": KIND, "version": 9})) == version
    assert resumed_version(tmp_path / "none") is None
