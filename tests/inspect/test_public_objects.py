"""Every object that a user can get is short in a shell; names of other libraries are answered with ours.

The objects are found by walking: from tables along attributes and methods, to all of this package that they give.
"""

from __future__ import annotations

import inspect
import pickle
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

import tableformats as tf
from tableformats.display import ShownList
from tableformats.habits import HABITS, NOT_HERE
from tests.inspect.test_display import HOSTILE, Balanced

MOST = 420
FILTER = f"id > 50 AND day = 2 AND `{HOSTILE}` IS NULL"
WITH_HTML = {
    *("Table", "Snapshot", "Scan", "ScanPlan", "ScanReport", "Schema", "Commit", "Findings", "Diagnosis", "Clustering"),
    *("ColumnClustering", "TableDetail", "SnapshotDiff", "Violations", "Changes"),
}
CALLS: dict[str, tuple[Any, ...]] = {
    "clustering": ("id",),
    "find_id": (1,),
    "where": ("id < 90",),
    "select": ("id",),
    "snapshot": (),
    "scan": (FILTER,),
    "plan": (),
    "bind": ("id = 1",),
    "project": (["id"],),
    "health": (),
    "verify": (),
    "resolve": (["id"],),
    "path_of": (1,),
    "cast": ("int",),
    "isin": ([1, 2],),
    "between": (1, 2),
    "like": ("a%",),
}
"""The arguments of methods that need some."""
SKIPPED = {"checkpoint", "refresh", "update", "updated", "compact_log", "write_target", "statistics"}
"""Methods that are not called on the way: they write, read again, or are a format's."""
CLOSED = ("FormatSnapshot", "Statistics")
"""What a format gives to planning; its own attributes are not for users."""


def tables(root: Path) -> Iterator[tf.Table]:
    rows = {"id": range(100), "day": [i % 4 for i in range(100)], "s": [{"a" * 300: i} for i in range(100)]}
    for format in ("delta", "iceberg"):
        location = root / f"{format}{'x' * 100}"
        data = pa.table({**rows, HOSTILE: pa.nulls(100, pa.string())})
        properties = {"delta.columnMapping.mode": "name"} if format == "delta" else None
        tf.create_table(location, data.schema, format=format, partition_by=["day"], properties=properties)
        table = tf.open_table(location)
        table.append(data)
        table.delete("id = 3")
        yield table


def first_objects(table: tf.Table) -> list[Any]:
    from tableformats.inspect.diff import diff

    versions = table.history()["version"].to_pylist()
    plan = table.plan(FILTER)
    with table.transaction() as transaction:
        transaction.append(pa.table({"id": [7], "day": [1]}))
    return [
        *(table, table.alter, transaction, table.checkpoint() if table.format == "delta" else None),
        *(
            diff(table.snapshot(versions[-1]), table.snapshot()),
            table.changes(versions[-2]),
            plan.why(plan.file_uris()[0]),
        ),
        *(
            tf.col("a"),
            tf.col("a") > 1,
            tf.Limits(),
            tf.MetadataCache(),
            tf.CatalogTransaction(SimpleNamespace(name=HOSTILE), {"tries": 1, "timeout": 1.0}, None),
            plan.splits(),
            tf.Schema.from_arrow(pa.schema({"a": pa.int32()})),
        ),
    ]


def attributes(value: Any) -> Iterator[tuple[str, Any]]:
    for name in dir(type(value)) + list(getattr(value, "__dict__", ())):
        if name.startswith("_") or name in SKIPPED:
            continue
        member = inspect.getattr_static(type(value), name, None)
        if inspect.isfunction(member):
            parameters = list(inspect.signature(member).parameters.values())[1:]
            needs = [
                p for p in parameters if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
            ]
            if needs and name not in CALLS:
                continue
            arguments = CALLS.get(name, ()) if needs or name in ("scan", "clustering") else ()
            try:
                yield f"{name}()", member(value, *arguments)
            except Exception:  # what this table does not have
                continue
        elif not isinstance(member, (classmethod, staticmethod)):
            try:
                yield name, getattr(value, name)
            except Exception:
                continue


def walk(values: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """Each object of another type, or of another attribute, that can be reached from ``values``, with the way to it."""
    waiting = deque((type(value).__name__, value) for value in values)
    seen: set[type] = set()
    while waiting:
        way, value = waiting.popleft()
        if isinstance(value, Iterator):
            value = next(value, None)
        if isinstance(value, (list, tuple)):
            waiting.extend((f"{way}[0]", item) for item in value[:1])
        if isinstance(value, dict):
            waiting.extend((f"{way}[...]", item) for item in list(value.values())[:1])
        if type(value).__module__.startswith("tableformats") and not isinstance(value, type):
            yield way, value
            is_closed = any(kind.__name__ in CLOSED for kind in type(value).__mro__)
            if type(value) not in seen and not is_closed:
                seen.add(type(value))
                waiting.extend((f"{way}.{name}", found) for name, found in attributes(value))


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, Any]]:
    found = []
    for table in tables(tmp_path_factory.mktemp("t")):
        found += list(walk(first_objects(table)))
    return found


def test_every_repr_is_one_short_printable_line(objects: list[tuple[str, Any]]) -> None:
    bad = {}
    for way, value in objects:
        text = repr(value)
        if len(text) > MOST or not text.isprintable() or " at 0x" in text:
            bad[way] = text[:MOST]
    assert not bad, "\n".join(f"{way}: {text}" for way, text in bad.items())


def test_the_walk_reaches_every_public_class(objects: list[tuple[str, Any]]) -> None:
    seen = {kind for _, value in objects for kind in type(value).__mro__}
    public = [getattr(tf, name) for name in tf.__all__]
    missed = [
        cls.__name__ for cls in public if inspect.isclass(cls) and not issubclass(cls, Exception) and cls not in seen
    ]
    assert not missed


def test_what_notebooks_show_is_there_and_escaped(objects: list[tuple[str, Any]]) -> None:
    shown = set()
    for way, value in objects:
        if hasattr(type(value), "_repr_html_"):
            text = value._repr_html_()
            Balanced(text)
            assert "<script" not in text and "\x1b" not in text and "<pre" not in text, way
            shown.add(type(value).__name__)
    assert shown >= WITH_HTML


def test_lists_show_their_first_items() -> None:
    assert repr(ShownList([1, 2])) == "[1, 2]" and repr(ShownList()) == "[]"
    assert repr(ShownList(range(2000))) == "[0, 1, 2, 3, 4, 5, 6, 7, ... 1,992 more]"


def test_a_plan_of_which_nobody_knows_all_bytes_has_a_repr(tmp_path: Path) -> None:
    rows = pa.table({"day": [1, 2]})
    for day in (1, 2):
        tf.write_table(
            rows.filter(pa.compute.field("day") == day),
            tmp_path / "t",
            format="iceberg",
            mode="append",
            partition_by=["day"],
        )
    plan = tf.open_table(tmp_path / "t").plan("day = 2")
    assert plan.report.bytes_total is None, "a manifest was skipped"
    assert repr(plan.report).startswith("ScanReport(1 of 2 files, ")


@pytest.mark.parametrize("name", HABITS["Table"])
def test_a_habit_is_told_what_it_is_called_here(name: str) -> None:
    table = object.__new__(tf.Table)
    with pytest.raises(AttributeError) as caught:
        getattr(table, name)
    assert str(caught.value) == f"Table has no attribute {name!r}: use {HABITS['Table'][name]}"


def test_a_habit_that_has_no_name_here_says_so() -> None:
    for name, why in NOT_HERE["Table"].items():
        with pytest.raises(AttributeError) as caught:
            getattr(object.__new__(tf.Table), name)
        assert str(caught.value) == f"Table has no attribute {name!r}: {why}"
        assert name not in HABITS["Table"] and name not in dir(tf.Table)


def test_names_that_others_have_are_answered() -> None:
    """Every public method of deltalake's and PyIceberg's tables is ours, or is answered."""
    deltalake, pyiceberg = pytest.importorskip("deltalake"), pytest.importorskip("pyiceberg.table")
    answered = {*dir(tf.Table), *HABITS["Table"], *NOT_HERE["Table"]}
    theirs = {*dir(deltalake.DeltaTable), *dir(pyiceberg.Table)}
    rare = {"create", "create_write_transaction", "last_partition_id", "location_provider", "to_bodo"}
    rare |= {"update_statistics", "metadata_location", "catalog", "io", "config", "identifier"}
    assert {name for name in theirs - answered - rare if not name.startswith("_")} == set()


def test_habits_name_what_there_is() -> None:
    """No habit hides a name that there is, and the first name of each piece of advice exists."""
    for kind, habits in HABITS.items():
        owner = tf if kind == "tableformats" else getattr(tf, kind)
        for name, instead in habits.items():
            assert name not in dir(owner) and name not in getattr(owner, "__dataclass_fields__", {}), name
            named = instead.split(" or ")[0].removeprefix("tf.").lstrip(".").split("(")[0].split(".")[0]
            known = {"table": tf.Table, "tf": tf}.get(instead.split(".")[0], owner)
            assert named == "table" or named in {*dir(known), *getattr(known, "__dataclass_fields__", {}), "scan"}, (
                instead
            )


def test_habits_of_the_package() -> None:
    with pytest.raises(AttributeError, match=r"has no attribute 'DeltaTable': use tf\.open_table\(location\)"):
        _ = tf.DeltaTable
    with pytest.raises(AttributeError, match=r"has no attribute 'nothing'$"):
        _ = tf.nothing


def test_other_names_fail_as_ever(objects: list[tuple[str, Any]]) -> None:
    table = next(value for _, value in objects if isinstance(value, tf.Table))
    with pytest.raises(AttributeError, match="object has no attribute 'nothing'"):
        _ = table.nothing
    assert not hasattr(table, "_repr_png_") and not hasattr(table, "to_pyarrow_table")
    assert pickle.loads(pickle.dumps(table)).location == table.location


def test_an_error_of_a_property_is_not_hidden() -> None:
    class Broken(tf.Table):
        @property
        def schema(self) -> Any:
            raise AttributeError("the reason")

    with pytest.raises(AttributeError, match="the reason"):
        _ = object.__new__(Broken).schema
