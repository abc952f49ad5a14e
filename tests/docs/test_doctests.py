"""The examples of docstrings run, each on new tables: ``events`` (Delta) and ``orders`` (Iceberg), of six rows each."""

from __future__ import annotations

import doctest
import inspect
import shutil
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tableformats as tf
from tests.support.delta_log import DeltaLog, add, field, stats

ROOT = Path(tf.__file__).parents[1]
MODULES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for path in Path(tf.__file__).parent.rglob("*.py")
    if ">>> " in path.read_text("utf-8")
)
NEEDS = {"to_pandas(": "pandas", "to_polars(": "polars", "to_duckdb(": "duckdb", ".plot": "matplotlib"}
SHOWN = (tf.Table, tf.Snapshot, tf.Scan, tf.ScanPlan, tf.Changes, tf.Column, tf.Inspector)
"""Classes of which every public method has an example."""
WITHOUT = {
    *("format", "location", "version", "timestamp", "schema", "partition_fields", "properties", "residual"),
    *("starting_version", "ending_version", "snapshot", "limit"),
    # Shown by the examples of the class and of the package.
    *("incremental_append_scan", "scan", "update"),
    # What planning and engines use of them.
    *("all_rows", "counts", "detached", "has_schema_of_version", "metadata_columns", "narrowed", "of", "path_chunks"),
    *("paths", "project", "reader", "reattached", "record_counts", "showing", "take", "updated"),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("docs")
    log = DeltaLog(root / "events").start(field("id", "long"), field("day", "long"), partition=("day",))
    for day in (1, 2):
        ids = list(range(3 * day - 3, 3 * day))
        path = log.root / f"f{day}"
        pq.write_table(pa.table({"id": ids}), path)
        known = stats(3, minValues={"id": ids[0]}, maxValues={"id": ids[-1]}, nullCount={"id": 0})
        partition = {"day": str(day)}
        log.commit(day, add(path.name, partitionValues=partition, size=path.stat().st_size, stats=known))
    make_orders(root)
    return root


def make_orders(root: Path) -> None:
    """The same rows; an Iceberg table that is written to cannot be a copy."""
    for day in (1, 2):
        rows = pa.table({"id": range(3 * day - 3, 3 * day), "day": [day] * 3})
        tf.write_table(rows, root / "orders", format="iceberg", mode="append", partition_by=["day"])


def examples() -> Iterator[Any]:
    finder = doctest.DocTestFinder(exclude_empty=True)
    for name in MODULES:
        module = import_module(name)
        found = finder.find(module, extraglobs={"tf": tf, "pa": pa})
        yield from (pytest.param(one, id=one.name) for one in found if one.examples)


@pytest.mark.parametrize("example", list(examples()))
def test_the_example_runs(
    example: doctest.DocTest, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for call, library in NEEDS.items():
        if any(call in one.source for one in example.examples):
            pytest.importorskip(library)
    shutil.copytree(made / "events", tmp_path / "events")
    if "reference_verbs" in example.name:
        make_orders(tmp_path)
    else:
        shutil.copytree(made / "orders", tmp_path / "orders")
    monkeypatch.chdir(tmp_path)
    said: list[str] = []
    done = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example, out=said.append)
    assert not done.failed, "".join(said)


def test_every_public_class_and_what_users_call_has_an_example() -> None:
    missing = []
    for name in tf.__all__:
        value = getattr(tf, name)
        if (inspect.isclass(value) and not issubclass(value, Exception)) or inspect.isfunction(value):
            missing += [name] if ">>> " not in (value.__doc__ or "") else []
    for cls in SHOWN:
        for name, member in inspect.getmembers(cls):
            if name.startswith("_") or name in WITHOUT or not (callable(member) or hasattr(member, "__get__")):
                continue
            documented = inspect.getattr_static(cls, name)
            if ">>> " not in (inspect.getdoc(documented) or ""):
                missing.append(f"{cls.__name__}.{name}")
    assert not missing


def test_help_of_the_package_begins_with_a_guide_that_fits_a_screen() -> None:
    guide = inspect.getdoc(tf) or ""
    assert len(guide.splitlines()) <= 20 and max(map(len, guide.splitlines())) <= 120
