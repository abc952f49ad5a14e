"""Entry points are those that importlib.metadata finds, without importing it."""

from __future__ import annotations

import sys
from importlib import metadata
from pathlib import Path

import pytest

from tableformats.runtime import entry_points as module
from tableformats.runtime.entry_points import InstalledEntryPoint, _distribution, entry_points

TEXT = """
[other]
a = os:sep

[group]
# b = os:none
b = os.path:join
c=os.path : sep [extra]
 d = json

[last]
e = os:none
"""
FOUND = {"b": "os.path:join", "c": "os.path : sep [extra]", "d": "json"}


def installed(folder: Path, name: str, text: str | None) -> None:
    (folder / name).mkdir(parents=True)
    if text is not None:
        (folder / name / "entry_points.txt").write_text(text)
    (folder / name / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name.partition('-')[0]}\nVersion: 1.0\n")


def names(group: str = "group") -> dict[str, str]:
    return {point.name: point.value for point in entry_points(group)}


def test_lines_of_one_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(tmp_path, "some_thing-1.0.dist-info", TEXT)
    installed(tmp_path, "nothing-1.0.dist-info", None)
    installed(tmp_path, "else-1.0.egg-info", "[group]\nz = os:sep\n")
    installed(tmp_path, "no-1.0.info", "[group]\ny = os:sep\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), str(tmp_path / "missing")])
    theirs = {point.name: point.value for point in metadata.entry_points(group="group")}
    monkeypatch.setattr(metadata, "entry_points", None)  # which is not asked
    assert names() == {**FOUND, "z": "os:sep"} == theirs
    assert names("last") == {"e": "os:none"} and names("none") == names("grou") == {}


@pytest.mark.parametrize("second", ["Some.Thing-2.0.dist-info", "some_thing-2.0.egg-info", "some--thing-2.dist-info"])
def test_the_first_directory_of_a_distribution_counts(
    second: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(tmp_path / "a", "some_thing-1.0.dist-info", TEXT)
    installed(tmp_path / "b", second, "[group]\nz = os:sep\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path / "a"), str(tmp_path / "b")])
    assert names() == (FOUND if second != "some--thing-2.dist-info" else {**FOUND, "z": "os:sep"})


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("Some.Thing-2.0.dist-info", "some_thing"),
        ("a_b.c-1.dist-info", "a_b_c"),
        ("x.egg-info", "x"),
        ("A__B-1.2-py3.egg-info", "a_b"),
    ],
)
def test_names_of_distributions(folder: str, name: str) -> None:
    assert _distribution(folder) == name


def test_the_current_folder_is_an_empty_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(tmp_path, "some_thing-1.0.dist-info", TEXT)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [""])
    assert names() == FOUND


@pytest.mark.parametrize("how", ["egg", "archive", "finder"])
def test_the_library_is_asked_where_distributions_are_found_otherwise(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(tmp_path, "some_thing-1.0.dist-info", TEXT)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    if how == "egg":
        (tmp_path / "x.egg").mkdir()
    elif how == "archive":
        (tmp_path / "x.zip").write_bytes(b"")
        sys.path.append(str(tmp_path / "x.zip"))
    else:

        class Finder:
            find_distributions = staticmethod(lambda context=None: iter(()))
            find_spec = staticmethod(lambda *arguments: None)

        monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder])
    asked: list[str] = []
    monkeypatch.setattr(metadata, "entry_points", lambda group: asked.append(group) or [])
    assert names() == {} and asked == ["group"]


def test_the_object_of_an_entry_point(tmp_path: Path) -> None:
    import json
    import os.path

    for value, found in (
        ("json", json),
        ("os.path:join", os.path.join),
        ("os:path.sep", os.sep),
        ("os.path : sep [extra]", os.sep),
        ("json [a, b]", json),
    ):
        assert InstalledEntryPoint("x", value, str(tmp_path)).load() == found
    for value in ("", "os:", "os path", ":x", "os:a b"):
        with pytest.raises(ValueError, match="names no module"):
            InstalledEntryPoint("x", value, str(tmp_path)).load()


def test_the_distribution_of_an_entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(tmp_path, "some_thing-1.0.dist-info", "[group]\nb = json\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    (point,) = module.entry_points("group")
    assert point.dist.name == "some_thing" and "dist-info" not in repr(point)  # type: ignore[attr-defined]
