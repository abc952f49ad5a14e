"""What the kit makes of the fixtures that authors supply, and of those that they leave out."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pytest

from tableformats.io.storage import Storage
from tableformats.plugin import OpenOptions, SnapshotSelector, hookimpl
from tableformats.table.table import Snapshot, Table
from tableformats.testing import FormatConformance
from tests.testing import hive

KIT = FormatConformance()


@pytest.fixture
def expected(tmp_path: Path) -> pa.Table:
    return hive.write_table(tmp_path)


@pytest.fixture
def snapshot(tmp_path: Path, expected: pa.Table) -> Snapshot:
    storage = Storage(tmp_path)
    opened = hive.HiveFormat().open(storage, OpenOptions())
    return Snapshot(Table(opened, storage), opened.snapshot(SnapshotSelector()))


def test_rows_in_other_widths_and_orders_are_the_same(snapshot: Snapshot, expected: pa.Table) -> None:
    wider = expected.set_column(0, "id", expected["id"].cast(pa.int16()))
    wider = wider.set_column(2, "note", wider["note"].cast(pa.large_string()))
    wider = wider.set_column(4, "at", wider["at"].cast(pa.timestamp("us", "America/New_York")))
    at = wider.column_names.index("area")
    wider = wider.set_column(at, "area", wider["area"].dictionary_encode())
    KIT.test_every_row_is_there_once(snapshot, wider.select(wider.column_names[::-1])[::-1])


@pytest.mark.parametrize("as_dicts", [False, True])
@pytest.mark.parametrize(
    ("name", "values", "says"),
    [
        ("shop", pa.array(["3"] * 49), "type of column shop: found int32, wanted"),
        ("note", pa.array([1] * 49), "type of column note: found string, wanted"),
        (
            "id",
            pa.array([0] * 49),
            r"values of column id: found 49, wanted 49 \(missing: 0 \(48 times\); not wanted: \d+, ",
        ),
    ],
)
def test_other_rows_are_named(
    snapshot: Snapshot, expected: pa.Table, name: str, values: pa.Array, says: str, as_dicts: bool
) -> None:
    rows = expected.set_column(expected.column_names.index(name), name, values)
    with pytest.raises(AssertionError, match=says):
        KIT.test_every_row_is_there_once(snapshot, rows.to_pylist() if as_dicts else rows)


def test_other_columns_are_named(snapshot: Snapshot, expected: pa.Table) -> None:
    with pytest.raises(AssertionError, match=r"columns of the rows: found .*'shop'.*, wanted "):
        KIT.test_every_row_is_there_once(snapshot, expected.drop_columns(["shop"]))


def test_rows_that_differ_in_combination_only(snapshot: Snapshot, expected: pa.Table) -> None:
    ids = expected["id"].to_pylist()
    swapped = expected.set_column(0, "id", pa.array([ids[1], ids[0], *ids[2:]]))
    with pytest.raises(AssertionError, match=r"rows \(id, amount, .*\): found 49, wanted 49"):
        KIT.test_every_row_is_there_once(snapshot, swapped)


def test_the_hook_is_found_in_the_format_s_module(monkeypatch: pytest.MonkeyPatch) -> None:
    KIT.test_the_plugin_registers_its_format(None, hive.HiveFormat)
    monkeypatch.delattr(hive, "tableformats_register_formats")
    with pytest.raises(pytest.skip.Exception, match="plugin_module"):
        KIT.test_the_plugin_registers_its_format(None, hive.HiveFormat)
    monkeypatch.setattr(hive, "tableformats_registers_formats", hookimpl(lambda: [hive.HiveFormat]), raising=False)
    with pytest.raises(AssertionError, match="unknown hook 'tableformats_registers_formats'"):
        KIT.test_the_plugin_registers_its_format(None, hive.HiveFormat)


def test_the_hook_of_a_package_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    package, module = ModuleType("a_package"), ModuleType("a_package.formats")

    class Format(hive.HiveFormat):
        name = "packed"

    Format.__module__ = module.__name__
    monkeypatch.setitem(sys.modules, "a_package", package)
    monkeypatch.setitem(sys.modules, "a_package.formats", module)
    package.tableformats_register_formats = hookimpl(lambda: [Format])  # type: ignore[attr-defined]
    KIT.test_the_plugin_registers_its_format(None, Format)
    package.tableformats_register_formats = hookimpl(lambda: [])  # type: ignore[attr-defined]
    with pytest.raises(AssertionError, match=r"registers: found \[\], wanted \['packed'\]"):
        KIT.test_the_plugin_registers_its_format(None, Format)


def test_files_by_other_names_are_named(snapshot: Snapshot, tmp_path: Path) -> None:
    opened: Any = (snapshot.table._opened, snapshot.storage)
    paths = snapshot.scan().plan().file_uris()
    arguments = opened, snapshot.format_snapshot, snapshot
    relative = [Path(path).relative_to(tmp_path) for path in paths[:3]]
    KIT.test_the_files_are_the_expected_ones(*arguments, [*relative, *paths[3:-1], f"file://{paths[-1]}"])
    with pytest.raises(AssertionError, match=r"found 7, wanted 6 \(missing: nothing; not wanted: .*\)"):
        KIT.test_the_files_are_the_expected_ones(*arguments, paths[1:])
    with pytest.raises(AssertionError, match=r"found 7, wanted 8 \(missing: .*more.parquet; not wanted: nothing\)"):
        KIT.test_the_files_are_the_expected_ones(*arguments, [*paths, "more.parquet"])
