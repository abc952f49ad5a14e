"""The plugin host: every plugin is loaded on its own, and what is wrong with one is said where it matters.

Plugins are faked without installing anything: entry points over modules written to a temporary directory.
"""

from __future__ import annotations

import inspect
import json
import os
import pathlib
import sys
from collections.abc import Callable, Iterator
from importlib import metadata
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from tableformats.errors import (
    AmbiguousFormatError,
    PluginContractError,
    PluginLoadError,
    TableNotFoundError,
    UnknownFormatError,
)
from tableformats.io.storage import Storage
from tableformats.plugin import OpenOptions, TableFormat, hookspecs
from tableformats.plugin.registry import ENTRY_POINT_GROUP, PluginHost, PluginRecord, host
from tableformats.runtime.entry_points import AnyEntryPoint, InstalledEntryPoint, entry_points
from tests.support.conformance import ROOT, needs_tables
from tests.support.memory_store import MemoryStore, memory_storage

Install = Callable[..., EntryPoint]

FORMAT = """
from tableformats.plugin import TableFormat, hookimpl

class {cls}(TableFormat):
    name = {name!r}
    def detect(self, storage, options):
        {detect}
    def open(self, storage, options):
        raise NotImplementedError

@hookimpl
def tableformats_register_formats():
    return [{cls}]
"""


def format_source(name: str, detect: str = "return False", cls: str = "Format") -> str:
    return FORMAT.format(name=name, detect=detect, cls=cls)


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """``install(name, source)`` writes a module and returns its entry point."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    written = []

    def write(name: str, source: str) -> EntryPoint:
        module = f"faked_{name}_{tmp_path.name}".replace("-", "_")
        (folder / f"{module}.py").write_text(source)
        written.append(module)
        return EntryPoint(name, module, ENTRY_POINT_GROUP)

    yield write
    for module in written:
        sys.modules.pop(module, None)


def record_of(plugins: PluginHost, name: str) -> PluginRecord:
    return next(record for record in plugins.plugins if record.name == name)


def load(plugins: PluginHost, name: str) -> PluginLoadError:
    """The error of asking for a format whose plugin is broken."""
    with pytest.raises(PluginLoadError) as caught:
        plugins.get(name)
    return caught.value


def test_loads_formats_by_their_own_name(install: Install) -> None:
    plugins = PluginHost([install("shop", format_source("till"))])
    assert plugins.get("till").name == "till"
    assert record_of(plugins, "shop").formats == ["till"]
    assert record_of(plugins, "shop").error is None


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("import module_that_is_not_there", "ModuleNotFoundError"),
        ("def broken(:", "SyntaxError"),
        ("raise RuntimeError('boom')", "boom"),
        ("raise SystemExit(3)", "SystemExit"),
        (format_source("x").replace("return [Format]", "raise KeyError('late')"), "late"),
        (format_source("x").replace("return [Format]", "return 7"), "TypeError"),
    ],
    ids=["import", "syntax", "raises", "exits", "hook raises", "hook returns a number"],
)
def test_a_broken_plugin_is_named_and_stops_no_other(install: Install, source: str, said: str) -> None:
    plugins = PluginHost([install("broken", source), install("sound", format_source("sound"))])
    assert plugins.get("sound").name == "sound"
    error = load(plugins, "broken")
    assert said in str(error)
    assert error.field == "broken"
    assert error.hint
    assert error.__cause__ is not None


def test_a_broken_plugin_names_its_distribution(install: Install) -> None:
    class Distribution:
        name, version = "tableformats-broken", "4.2"

    entry = install("broken", "raise RuntimeError('boom')")
    vars(entry).update(dist=Distribution())
    plugins = PluginHost([entry])
    assert "tableformats-broken 4.2" in str(load(plugins, "broken"))
    assert record_of(plugins, "broken").version == "4.2"


def test_a_misspelt_hook_is_an_error(install: Install) -> None:
    source = format_source("x").replace("tableformats_register_formats", "tableformats_register_format")
    plugins = PluginHost([install("typo", source), install("sound", format_source("sound"))])
    assert "tableformats_register_format" in str(load(plugins, "typo"))
    assert "unknown hook" in str(load(plugins, "typo"))
    assert plugins.get("sound").name == "sound"


def test_two_plugins_of_one_format_are_an_error_that_names_both(install: Install) -> None:
    plugins = PluginHost([install("one", format_source("same")), install("two", format_source("same"))])
    message = str(load(plugins, "same"))
    assert "'one'" in message and "'two'" in message
    assert record_of(plugins, "one").error is not None
    assert record_of(plugins, "two").error is not None


def test_a_plugin_that_registers_a_name_twice_is_broken(install: Install) -> None:
    source = format_source("twice").replace("return [Format]", "return [Format, Format]")
    plugins = PluginHost([install("twice", source), install("sound", format_source("sound"))])
    assert "both register format 'twice'" in str(load(plugins, "twice"))
    assert list(plugins.formats) == ["sound"]


def test_a_third_plugin_of_one_format_gets_no_turn(install: Install) -> None:
    plugins = PluginHost([install(name, format_source("same")) for name in ("one", "two", "three")])
    assert "same" not in plugins.formats


@pytest.mark.parametrize(
    ("returned", "said"),
    [("[object]", "no subclass of TableFormat"), ("['x']", "no subclass"), ("[Format()]", "no subclass")],
    ids=["another class", "text", "an instance"],
)
def test_what_is_no_format_class_is_refused(install: Install, returned: str, said: str) -> None:
    source = format_source("x").replace("return [Format]", f"return {returned}")
    plugins = PluginHost([install("wrong", source)])
    error = load(plugins, "wrong")
    assert said in str(error)
    assert isinstance(error.__cause__, PluginContractError)


@pytest.mark.parametrize("name", ["''", "None", "7"])
def test_a_format_without_a_name_is_refused(install: Install, name: str) -> None:
    source = format_source("x").replace("name = 'x'", f"name = {name}")
    assert "has no name" in str(load(PluginHost([install("nameless", source)]), "nameless"))


def test_an_abstract_format_is_refused(install: Install) -> None:
    source = format_source("x").replace("def open(", "def opens(")
    assert "abstract" in str(load(PluginHost([install("half", source)]), "half"))


def test_a_partly_good_plugin_keeps_nothing(install: Install) -> None:
    """A format of a plugin that failed later must not be used: its plugin says that it is broken."""
    source = format_source("first").replace("return [Format]", "return [Format, object]")
    plugins = PluginHost([install("partly", source)])
    assert plugins.formats == {}
    assert "no subclass" in str(load(plugins, "first"))


def test_an_unknown_format_lists_the_known_ones(install: Install) -> None:
    plugins = PluginHost([install("shop", format_source("till"))])
    with pytest.raises(UnknownFormatError) as caught:
        plugins.get("hudi")
    assert caught.value.field == "hudi"
    assert "till" in str(caught.value)


def test_a_broken_plugin_is_no_reason_for_other_formats(install: Install) -> None:
    plugins = PluginHost([install("broken", "raise RuntimeError"), install("shop", format_source("till"))])
    for name in ("hudi", "shop"):
        with pytest.raises(UnknownFormatError, match=f"no installed plugin has the format '{name}'"):
            plugins.get(name)
    assert plugins.get("till").name == "till"


def test_an_empty_place_in_a_store(install: Install) -> None:
    """Whether something is there is asked only where no format claims it."""
    storage = memory_storage(MemoryStore())
    with pytest.raises(TableNotFoundError, match="nothing is at the location"):
        PluginHost([install("no", format_source("no"))]).detect(storage, OpenOptions())
    assert (
        PluginHost([install("yes", format_source("yes", "return True"))]).detect(storage, OpenOptions()).name == "yes"
    )


def detected(plugins: PluginHost, location: Path) -> str:
    return plugins.detect(Storage(location), OpenOptions()).name


def test_detection_asks_every_format(install: Install, tmp_path: Path) -> None:
    plugins = PluginHost([install("no", format_source("no")), install("yes", format_source("yes", "return True"))])
    assert detected(plugins, tmp_path) == "yes"


def test_two_claims_are_ambiguous_in_any_order(install: Install, tmp_path: Path) -> None:
    entries = [install(name, format_source(name, "return True")) for name in ("zebra", "ant")]
    for order in (entries, entries[::-1]):
        with pytest.raises(AmbiguousFormatError) as caught:
            detected(PluginHost(order), tmp_path)
        assert "ant, zebra" in str(caught.value)
        assert "format=" in str(caught.value)
        assert caught.value.path == str(tmp_path)


def test_no_claim_is_unknown_and_names_broken_plugins(install: Install, tmp_path: Path) -> None:
    plugins = PluginHost([install("no", format_source("no")), install("broken", "raise RuntimeError")])
    with pytest.raises(UnknownFormatError) as caught:
        detected(plugins, tmp_path)
    assert "broken" in str(caught.value)
    assert caught.value.path == str(tmp_path)


def test_nothing_at_the_location(install: Install, tmp_path: Path) -> None:
    with pytest.raises(TableNotFoundError):
        detected(PluginHost([install("yes", format_source("yes", "return True"))]), tmp_path / "missing")


def test_a_format_that_fails_to_look_is_named(install: Install, tmp_path: Path) -> None:
    plugins = PluginHost([install("bad", format_source("bad", "return 1 / 0"))])
    with pytest.raises(PluginContractError) as caught:
        detected(plugins, tmp_path)
    assert caught.value.field == "bad"
    assert "ZeroDivisionError" in str(caught.value)


def test_installed_plugins_come_through_the_entry_points() -> None:
    plugins = host()
    assert {"delta", "iceberg"} <= set(plugins.formats)
    assert host() is plugins
    for name in ("delta", "iceberg"):
        record = record_of(plugins, name)
        assert (record.distribution, record.error) == ("tableformats", None)
        assert isinstance(plugins.get(name), TableFormat)


def test_entry_points_are_those_of_importlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder, text in {
        "one/Some_Plugin-1.0.dist-info": "[gui]\nx = y:z\n\n[tf.some]\n# no\na = pathlib\nb = os.path : join [x]\n",
        "one/legacy.egg-info": "[tf.some]\nc=json\n",
        "one/none-2.dist-info": "[other]\nd = json\n",
        "two/some.plugin-2.0.dist-info": "[tf.some]\nhidden = json\n",
    }.items():
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "entry_points.txt").write_text(text)
        (tmp_path / folder / "METADATA").write_text("Name: of-metadata\nVersion: 7\n")
        (tmp_path / folder / "PKG-INFO").write_text("Name: of-metadata\nVersion: 7\n")
    (tmp_path / "one" / "file.egg-info").write_text("Name: file\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path / "one"), str(tmp_path / "gone"), str(tmp_path / "two"), *sys.path])

    def same() -> list[AnyEntryPoint]:
        for group in ("tf.some", "tableformats", "gui", "pytest11"):
            found = entry_points(group)
            theirs = metadata.entry_points(group=group)
            assert sorted((e.name, e.value) for e in found) == sorted((e.name, e.value) for e in theirs), group
        return sorted(entry_points("tf.some"), key=lambda e: e.name)

    own = same()
    assert [type(e) for e in own] == [InstalledEntryPoint] * 3
    assert [e.load() for e in own] == [pathlib, os.path.join, json]
    record = PluginHost(own[:1]).plugins[0]
    assert (record.name, record.distribution, record.version) == ("a", "of-metadata", "7")
    (tmp_path / "two" / "old.egg" / "EGG-INFO").mkdir(parents=True)
    (tmp_path / "two" / "old.egg" / "EGG-INFO" / "entry_points.txt").write_text("[tf.some]\ne = json\n")
    assert all(isinstance(e, metadata.EntryPoint) for e in same()), "they are in an egg"


def test_an_entry_point_that_names_no_module() -> None:
    record = PluginHost([InstalledEntryPoint("bad", "not a module", "nowhere")]).plugins[0]
    assert record.error is not None and "'not a module' names no module" in str(record.error)
    assert record.distribution is None


@needs_tables
@pytest.mark.parametrize("name", ["databricks133/uniform_iceberg_v1", "databricks143/uniform_iceberg_v2"])
def test_a_table_of_two_formats_is_ambiguous(name: str) -> None:
    import tableformats as tf

    location = ROOT / "iceberg" / "trino-uniform" / name
    with pytest.raises(AmbiguousFormatError) as caught:
        tf.open_table(location)
    assert "delta, iceberg" in str(caught.value)
    tables = [tf.open_table(location, format=chosen, relocate=True) for chosen in ("delta", "iceberg")]
    assert [table.format for table in tables] == ["delta", "iceberg"]
    rows = [table.scan().to_arrow().to_pylist() for table in tables]
    assert rows[0] == rows[1] and len(rows[0]) == 1


def hooks() -> list[str]:
    return [name for name in vars(hookspecs) if name.startswith(hookspecs.PROJECT + "_")]


@pytest.mark.parametrize("name", hooks())
def test_every_hook_says_when_it_is_called_and_what_it_returns(name: str) -> None:
    text = inspect.getdoc(getattr(hookspecs, name)) or ""
    for promised in ("Called ", "Returns\n-------", "Since "):
        assert promised in text


@pytest.mark.parametrize("name", hooks())
def test_every_hook_is_used_by_a_test(name: str) -> None:
    assert hooks()
    assert f"def {name}(" in FORMAT
