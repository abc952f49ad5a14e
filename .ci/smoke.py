"""Smoke test of an installed wheel: what it brings, its entry points, its command, and a table of each format.

    python smoke.py tests/golden/tables

Run outside of the checkout (.ci/wheel does), so that the installed packages are imported.
"""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import distribution, entry_points
from importlib.util import find_spec
from pathlib import Path

import tableformats as tf

PACKAGES = ("tableformats", "tableformats_delta", "tableformats_iceberg")
FORMATS = {"delta", "iceberg"}


def check_files() -> None:
    """Everything is imported from this environment, and data files came along."""
    for name in (*PACKAGES, "pyspark_tableformats"):
        spec = find_spec(name)
        assert spec is not None and spec.origin is not None, f"{name} is not installed"
        assert Path(spec.origin).is_relative_to(sys.prefix), f"{name} comes from {spec.origin}"
    installed = {str(path) for path in distribution("tableformats").files or ()}
    for package in PACKAGES:
        assert f"{package}/py.typed" in installed, f"{package} has no py.typed"
    assert any(path.endswith(".java") for path in installed), "the wheel has no Java sources"
    assert not [path for path in installed if path.startswith(("tests/", "csrc/", "asv_bench/"))]
    assert distribution("tableformats").version == tf.__version__


def check_plugins() -> None:
    """Both formats are found through their entry points, and the command says so."""
    assert {point.name for point in entry_points(group="tableformats")} >= FORMATS
    # POSIX has the command beside the interpreter, Windows too: both lie in Scripts of a virtual environment.
    command = Path(sys.executable).with_name("tableformats")
    shown = subprocess.run([str(command), "plugins", "--json"], check=True, capture_output=True, text=True).stdout
    plugins = json.loads(shown)["plugins"]
    assert {name for plugin in plugins for name in plugin["formats"]} >= FORMATS, plugins
    assert not [plugin for plugin in plugins if plugin["error"]], plugins
    print(subprocess.run([str(command), "plugins"], check=True, capture_output=True, text=True).stdout)


def check_table(folder: Path) -> str:
    """Plan and read every version of a golden table. Returns the table's format."""
    expected = json.loads((folder / "expected.json").read_text("utf-8"))
    table = tf.open_table(folder / "table", relocate=True)
    assert table.format == expected["format"]
    for version, rows in expected["versions"].items():
        scan = table.scan(version=int(version))
        assert scan.to_arrow().num_rows == scan.count() == len(rows), (folder.name, version)
    filtered = table.scan("id = 3")
    assert len(filtered.plan()) < len(table.scan().plan()), f"{folder.name}: no file was dropped"
    assert filtered.to_arrow()["id"].to_pylist() == [3]
    print(f"{folder.name}: {len(expected['versions'])} versions")
    return table.format


def main() -> None:
    check_files()
    check_plugins()
    tables = Path(sys.argv[1])
    assert {check_table(folder) for folder in sorted(tables.iterdir()) if folder.is_dir()} == FORMATS


if __name__ == "__main__":
    main()
