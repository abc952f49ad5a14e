"""Commits to Iceberg tables with many manifests, beside PyIceberg on copies of the same table of an SQL catalog.

What dominates: reading the manifest list and the metadata file, and with merging the decoding and encoding of all
entries. ``python -m benchmarks.writing_iceberg`` prints the figures of docs/performance.md: CPU time, which the load of
the machine does not change much, and the time that passes.
"""

from __future__ import annotations

import math
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import tableformats as tf

from . import QUICK, sizes

FILES = 100
"""Data files of a manifest."""
COLUMNS = ("long", "string", "double", "timestamp", "int")
PROPERTIES = {"format-version": "2"}


def added_table(target: Any, start: int, count: int) -> pa.Table:
    """Files as a writer of data files gives them; there is nothing at their paths."""
    from tableformats.plugin import added_files_schema

    numbers = np.arange(start, start + count)
    texts = [f"{n:012d}" for n in numbers.tolist()]

    def column(f: pa.Field) -> pa.Array:
        if pa.types.is_struct(f.type):
            members = [column(pa.field(m.name, m.type)) for m in f.type]
            return (
                pa.StructArray.from_arrays(members, fields=list(f.type)) if members else pa.array([{}] * count, f.type)
            )
        if f.name == "path":
            return pa.array([f"data/part-{text}-0123456789abcdef.parquet" for text in texts])
        if f.name == "split_offsets":
            return pa.array([[4]] * count, f.type)
        return pa.array(texts) if pa.types.is_string(f.type) else pa.array(numbers).cast(f.type)

    schema = added_files_schema(target)
    return pa.Table.from_arrays([column(f) for f in schema], schema=schema)


def build(catalog: Any, name: str, manifests: int) -> None:
    """A table of ``manifests`` manifests in one snapshot."""
    from tableformats_iceberg.manifests.manifest_list import DATA
    from tableformats_iceberg.write.commit.snapshot_producer import new_files
    from tableformats_iceberg.write.encode.added_entries import added_entries
    from tableformats_iceberg.write.encode.metrics import metrics_modes

    from tableformats.plugin import TableChange

    kinds = {"long": pa.int64(), "string": pa.string(), "double": pa.float64(), "int": pa.int32()}
    kinds["timestamp"] = pa.timestamp("us", "UTC")
    schema = pa.schema([pa.field(f"c{i}", kinds[kind]) for i, kind in enumerate(COLUMNS)])
    catalog.create_table(name, schema, properties={**PROPERTIES, "commit.manifest-merge.enabled": "false"})
    begun: Any = tf.open_table(name, catalog=catalog)._opened.begin()
    producer, metadata = begun._producer, begun.snapshot.metadata
    files = new_files(added_table(begun.target, 0, manifests * FILES), metadata.location, 0)
    modes = metrics_modes(begun.target.schema, {})
    columns = {f.id: f for f in begun.target.schema.fields}
    spec = metadata.specs[begun.target.spec_id]
    entries = added_entries(files, 2, spec, producer.snapshot_id, columns, modes)
    found = []
    for start in range(0, manifests * FILES, FILES):
        part = entries.slice(start, start + FILES)
        found += producer.store.encode(start, part, spec, DATA, begun._state.json)
    producer._added = lambda *_: found
    assert begun.try_commit(TableChange("append", added=added_table(begun.target, 0, 1))).name == "WON"


class Tables:
    """A warehouse in a temporary directory, and tables that are copies of one another."""

    def __init__(self, manifests: int) -> None:
        from pyiceberg.catalog.sql import SqlCatalog

        self.folder = Path(tempfile.mkdtemp())
        where = {"uri": f"sqlite:///{self.folder}/catalog.db", "warehouse": f"file://{self.folder}/warehouse"}
        self.catalog = SqlCatalog("bench", **where)
        self.catalog.create_namespace("n")
        self.manifests = manifests
        self._number = 0

    def new(self, merging: bool) -> tuple[str, Any]:
        """A name of a new table, and its schema."""
        self._number += 1
        name = f"n.t{self._number}"
        build(self.catalog, name, self.manifests)
        table = self.catalog.load_table(name)
        if merging:
            with table.transaction() as transaction:
                transaction.set_properties({"commit.manifest-merge.enabled": "true"})
        return name, table.schema().as_arrow()

    def close(self) -> None:
        shutil.rmtree(self.folder)


def one_row(schema: pa.Schema) -> pa.Table:
    return pa.table(
        [pa.array([0]).cast(f.type) if f.type != pa.string() else pa.array(["x"]) for f in schema], schema.names
    )


def measured(call: Callable[[], Any], rounds: int) -> tuple[float, float]:
    """The least CPU time and the least time of some rounds, in seconds."""
    cpu = wall = math.inf
    for _ in range(rounds):
        c, w = time.process_time(), time.perf_counter()
        call()
        cpu, wall = min(cpu, time.process_time() - c), min(wall, time.perf_counter() - w)
    return cpu, wall


def figures(manifests: int) -> Iterator[tuple[str, tuple[float, float], tuple[float, float]]]:
    """(what, ours, theirs): CPU time and time in seconds."""
    tables = Tables(manifests)
    try:
        name, schema = tables.new(merging=False)
        rows = one_row(schema)
        ours, theirs = tf.open_table(name, catalog=tables.catalog), tables.catalog.load_table(name)
        ours.append(rows)  # what a process does once
        first = measured(lambda: ours.append(rows), 5)
        theirs.refresh()
        theirs_rows = rows.cast(theirs.schema().as_arrow())
        theirs.append(theirs_rows)
        yield "append", first, measured(lambda: theirs.append(theirs_rows), 5)
        ours = ours.refresh()
        found = measured(lambda: ours.delete("c0 = -1"), 3)
        yield "delete that matches nothing", found, measured(lambda: theirs.delete("c0 = -1"), 1)
        name, _ = tables.new(merging=True)
        ours = tf.open_table(name, catalog=tables.catalog)
        found = measured(lambda: ours.append(rows), 1)
        name, _ = tables.new(merging=True)
        theirs = tables.catalog.load_table(name)
        yield "append that merges", found, measured(lambda: theirs.append(theirs_rows), 1)
    finally:
        tables.close()


Measured = dict[tuple[int, str], tuple[float, float]]


class Commits:
    """CPU seconds, and how many times as many PyIceberg needs."""

    params: list[Any] = [sizes(100, 1_000), ["append", "delete that matches nothing", "append that merges"]]
    param_names = ["manifests", "commit"]
    timeout = 600

    def setup_cache(self) -> Measured:
        return {(n, what): (ours[0], theirs[0]) for n in self.params[0] for what, ours, theirs in figures(n)}

    def track_cpu_seconds(self, cache: Measured, manifests: int, commit: str) -> float:
        return cache[manifests, commit][0]

    def track_ratio_vs_pyiceberg(self, cache: Measured, manifests: int, commit: str) -> float:
        ours, theirs = cache[manifests, commit]
        return theirs / ours


def main(arguments: list[str]) -> None:
    for manifests in map(int, arguments or ["100"] if QUICK else arguments or ["100", "1000"]):
        for what, ours, theirs in figures(manifests):
            told = [f"{cpu * 1000:.0f} ms CPU ({wall * 1000:.0f} ms)" for cpu, wall in (ours, theirs)]
            print(f"{manifests} manifests, {manifests * FILES} files: {what}: {told[0]}, PyIceberg {told[1]}")


if __name__ == "__main__":
    main(sys.argv[1:])
