"""Tests of tables and snapshots: finding, opening, versions, history, updates, and the plugin's hook."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pytest

from ..errors import SnapshotNotFoundError, TableFormatsError, TableNotFoundError
from ..io.storage import Storage
from ..plugin import FormatSnapshot, FormatTable, OpenOptions, SnapshotSelector
from ..plugin.registry import ENTRY_POINT_GROUP, PluginHost
from ..runtime.entry_points import entry_points
from ..schema import Field, Schema
from .findings import Findings, expect, expect_error
from .fixtures import ConformanceFixtures

__all__ = ["TableChecks"]

_VERSIONS = 3
"""How many versions of the history are selected."""
_MARK, _HOOKS = "tableformats_impl", "tableformats_register"
"""The attribute that the marker of hooks gives a function, and how hooks begin."""


class TableChecks(ConformanceFixtures):
    """Part of :class:`FormatConformance`."""

    def test_the_plugin_registers_its_format(self, plugin_module: Any, format_class: Any) -> None:
        """The module registers the format under its name. A misspelt hook, or one without the marker, does not."""
        entries = _entry_points_of(format_class) if plugin_module is None else [_EntryPoint(plugin_module)]
        if not entries:
            pytest.skip("supply the fixture plugin_module: without it nobody notices a hook that is misspelt")
        host = PluginHost(entries)
        for plugin in host.plugins:
            if plugin.error is not None:
                cause = plugin.error.__cause__ or plugin.error
                raise AssertionError(
                    f"module {plugin.module}: found {type(cause).__name__}: {cause}, wanted a plugin that loads"
                ) from plugin.error
        where = f"formats that the hook tableformats_register_formats of {entries[0].value} registers"
        expect(where, sorted(host.formats), sorted({*host.formats, format_class().name}))

    def test_it_claims_its_table_and_nothing_else(
        self, format_class: Any, location: Any, options: OpenOptions, tmp_path: Path
    ) -> None:
        """``detect`` is true for the table and false for an empty directory."""
        for what, place, wanted in (("the table", location, True), ("an empty directory", _empty(tmp_path), False)):
            found = format_class().detect(Storage(place), options)
            if found is not wanted:
                raise AssertionError(f"detect() of {what} {place}: found {found!r}, wanted {wanted}")
        name = format_class().name
        if not (isinstance(name, str) and name):
            raise AssertionError(f"name of the format: found {name!r}, wanted a text that is not empty")

    def test_opening_what_is_no_table_is_a_typed_error(
        self, format_class: Any, options: OpenOptions, tmp_path: Path
    ) -> None:
        """An empty directory is no empty table."""
        empty = _empty(tmp_path)
        error = expect_error(
            "open() of an empty directory, and its snapshot",
            lambda: format_class().open(Storage(empty), options).snapshot(SnapshotSelector()),
            TableNotFoundError,
        )
        if not getattr(error, "path", None):
            raise AssertionError(f"path of the TableNotFoundError: found none, wanted {str(empty)!r}")

    def test_an_update_without_news_changes_nothing(
        self, opened: tuple[FormatTable, Storage], snapshot: FormatSnapshot
    ) -> None:
        """``update`` gives the very snapshot where nothing is new."""
        updated = opened[0].update(snapshot)
        expect("version after an update() without news", updated.version, snapshot.version)
        if snapshot.version != -1 and updated is not snapshot:
            raise AssertionError(f"update() without news: found another {updated!r}, wanted the same snapshot")

    def test_an_update_of_an_older_snapshot_is_the_newest(
        self, opened: tuple[FormatTable, Storage], snapshot: FormatSnapshot
    ) -> None:
        """``update`` of an older version gives the current one."""
        for version, _ in _history(opened[0])[1:2]:
            older = _selected(opened[0], SnapshotSelector(version=version))
            if older is not None and version != snapshot.version:
                found = opened[0].update(older).version
                expect(f"version after an update() of version {version}", found, snapshot.version)
                return
        pytest.skip("the table of the fixture has no older version that can be selected")

    def test_a_snapshot_describes_itself(self, snapshot: FormatSnapshot) -> None:
        """The attributes of a snapshot have their types and fit together."""
        findings = Findings("a snapshot describes itself")
        stamp = snapshot.timestamp_ms
        for name, value, is_right, wanted in (
            ("version", snapshot.version, isinstance(snapshot.version, int), "an int"),
            ("timestamp_ms", stamp, stamp is None or isinstance(stamp, int), "an int or None"),
            ("schema", snapshot.schema, isinstance(snapshot.schema, Schema), "a Schema"),
            ("default_spec_id", snapshot.default_spec_id, snapshot.default_spec_id in snapshot.specs, "one of specs"),
            ("name_mapping.by", snapshot.name_mapping.by, snapshot.name_mapping.by in ("name", "id"), "'name' or 'id'"),
        ):
            if not is_right:
                findings.add(name, repr(value), wanted)
        findings.check()
        names: dict[int, str] = {}
        for name, field in _fields(snapshot.schema.fields):
            if field.id in names:
                findings.add(f"id of column {name}", f"{field.id}, which {names[field.id]} has", "an id of its own")
            names[field.id] = name
        findings.equal("names of schema.to_arrow()", snapshot.schema.to_arrow().names, snapshot.schema.names)
        for key, spec in snapshot.specs.items():
            findings.equal(f"id of specs[{key}]", spec.id, key)
        findings.check()

    def test_versions_that_do_not_exist_are_a_typed_error(self, opened: tuple[FormatTable, Storage]) -> None:
        """What is not there is no snapshot, and the error says what to do."""
        for selector in (SnapshotSelector(version=2**53), SnapshotSelector(timestamp_ms=0), SnapshotSelector(tag="?!")):

            def select(selector: SnapshotSelector = selector) -> str:
                return f"a snapshot of version {opened[0].snapshot(selector).version}"

            error = expect_error(f"snapshot({selector})", select, SnapshotNotFoundError, TableFormatsError)
            if not getattr(error, "hint", None):
                raise AssertionError(f"hint of the error of snapshot({selector}): found none, wanted what to do next")

    def test_history_is_newest_first(self, opened: tuple[FormatTable, Storage]) -> None:
        """``history`` has its columns, in order of time, and keeps its limit."""
        history = opened[0].history()
        findings = Findings("history() has the columns of the contract, newest version first")
        findings.equal("first columns", history.column_names[:3], ["version", "timestamp", "operation"])
        findings.check()
        kinds = {"version": pa.int64(), "timestamp": pa.timestamp("ms", "UTC"), "operation": pa.string()}
        for name, kind in kinds.items():
            findings.equal(f"type of {name}", history.schema.field(name).type, kind)
        stamps = [t for t in history["timestamp"].to_pylist() if t is not None]
        if stamps != sorted(stamps, reverse=True):
            findings.add("timestamps", ", ".join(map(str, stamps)), "the newest first")
        findings.equal("rows of history(1)", opened[0].history(1).num_rows, min(1, history.num_rows))
        findings.equal("row of history(1)", opened[0].history(1).to_pylist(), history.slice(0, 1).to_pylist())
        findings.check()

    def test_versions_of_the_history_can_be_selected(self, opened: tuple[FormatTable, Storage]) -> None:
        """A version that ``history`` lists is selected by its number and by its time, where the format has this."""
        known = _history(opened[0])
        findings = Findings("time travel gives the version that was asked for")
        selected = 0
        for version, stamp in known[:_VERSIONS]:
            found = _selected(opened[0], SnapshotSelector(version=version))
            if found is None:
                continue  # not there any more, or no time travel at all
            selected += 1
            findings.equal(f"snapshot(version={version}).version", found.version, version)
            if stamp is None or [at for _, at in known].count(stamp) > 1:
                continue
            then = _selected(opened[0], SnapshotSelector(timestamp_ms=stamp))
            if then is not None:
                findings.equal(f"snapshot(timestamp_ms={stamp}).version", then.version, version)
        findings.check()
        if not selected:
            pytest.skip("no version of the history can be selected")


class _EntryPoint:
    """An entry point as the plugin host reads it, without a distribution."""

    dist = None

    def __init__(self, module: ModuleType | str) -> None:
        self._module = module
        self.value = module if isinstance(module, str) else module.__name__
        self.name = self.value

    def load(self) -> ModuleType:
        return importlib.import_module(self._module) if isinstance(self._module, str) else self._module


def _entry_points_of(format_class: Any) -> list[_EntryPoint]:
    """The installed entry points of the format's package; else the format's module, or a package around it, that has a
    hook or what may be meant as one."""
    name = getattr(format_class, "__module__", "")
    installed = [entry.value for entry in entry_points(ENTRY_POINT_GROUP)]
    own = [value for value in installed if value.split(".")[0] == name.split(".")[0]]
    if own:
        return [_EntryPoint(value) for value in own]
    while name and not (name in sys.modules and _may_have_hooks(sys.modules[name])):
        name = name.rpartition(".")[0]
    return [_EntryPoint(name)] if name else []


def _may_have_hooks(module: ModuleType) -> bool:
    """Whether something of the module has the marker of hooks, or begins as they do."""
    found = vars(module).items()
    return any(_MARK in getattr(value, "__dict__", ()) or key.startswith(_HOOKS) for key, value in found)


def _empty(folder: Path) -> Path:
    empty = folder / "no table"
    empty.mkdir(exist_ok=True)
    return empty


def _history(table: FormatTable) -> list[tuple[int, int | None]]:
    """(version, milliseconds since the epoch) of each version, newest first."""
    history = table.history()
    return list(zip(history["version"].to_pylist(), history["timestamp"].cast(pa.int64()).to_pylist(), strict=True))


def _selected(table: FormatTable, selector: SnapshotSelector) -> FormatSnapshot | None:
    """The snapshot; None where the format says that it is not there."""
    try:
        return table.snapshot(selector)
    except SnapshotNotFoundError:
        return None


def _fields(fields: Sequence[Field], parent: str = "") -> Iterator[tuple[str, Field]]:
    """(dotted name, field) of all fields at every depth."""
    for field in fields:
        yield parent + field.name, field
        yield from _fields(field.type.members, f"{parent}{field.name}.")
