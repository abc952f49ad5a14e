"""Commits a second and rows a second of appends to Delta tables, beside deltalake and beside Parquet alone.

Each writer appends to a table of its own, in turns, so that both meet the same disk. Ours syncs data files and the
commit to the disk before it answers; deltalake does not. ``TF_BENCH_DIRECTORY`` names a directory for the tables: in
one of memory (``/dev/shm``) syncs cost nothing, and what is left is the work of the processor.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import tableformats as tf
from tableformats.io.storage import Storage
from tableformats.io.stores.base import PutOutcome
from tableformats.schema import arrow_type

from . import QUICK, sizes
from .generate import DeltaTable, build
from .planning import best_of

ROW = pa.table({"id": [1], "s": ["x"], "f": [0.5]})
_TURN = 20
_COMMITS = 5 if QUICK else 200


def _ours(root: Path, properties: dict[str, str] | None = None) -> Callable[[], object]:
    table = tf.create_table(root, ROW.schema, format="delta", properties=properties)
    return lambda: table.append(ROW)


def _deltalake(root: Path, properties: dict[str, str] | None = None) -> Callable[[], object]:
    import deltalake

    deltalake.write_deltalake(str(root), ROW, configuration=properties)
    table = deltalake.DeltaTable(str(root))
    return lambda: deltalake.write_deltalake(table, ROW, mode="append")


WRITERS = {"ours": _ours, "deltalake": _deltalake}


class _Directory:
    def setup(self, *_: Any, **__: Any) -> None:  # those of subclasses have parameters
        self.root = Path(tempfile.mkdtemp(dir=os.environ.get("TF_BENCH_DIRECTORY")))

    def teardown(self, *_: object) -> None:
        shutil.rmtree(self.root)


class OneRow(_Directory):
    """Appends of one row by one writer: the commits cost all of it.

    Each writer keeps its table open and makes the same number of commits, in turns of 20, all of which count: an append
    may cost more the more files a table has.
    """

    params = sizes(40, 200)
    param_names = ["commits"]
    timeout = 300

    def _measure(self, commits: int, properties: dict[str, str] | None = None) -> dict[str, tuple[float, float]]:
        """(commits a second, seconds of the processor a commit) of each writer."""
        append = {name: make(self.root / name, properties) for name, make in WRITERS.items()}
        spent = {name: [0.0, 0.0] for name in WRITERS}
        for _ in range(max(1, commits // _TURN)):
            for name, call in append.items():
                start, used = time.perf_counter(), time.process_time()
                for _ in range(_TURN):
                    call()
                spent[name][0] += time.perf_counter() - start
                spent[name][1] += time.process_time() - used
        return {name: (commits / wall, cpu / commits) for name, (wall, cpu) in spent.items()}

    def track_commits_a_second(self, commits: int) -> float:
        return self._measure(commits)["ours"][0]

    def track_ratio_vs_deltalake(self, commits: int) -> float:
        found = self._measure(commits)
        return found["ours"][0] / found["deltalake"][0]

    def track_processor_ratio_vs_deltalake(self, commits: int) -> float:
        found = self._measure(commits)
        return found["deltalake"][1] / found["ours"][1]

    def track_processor_milliseconds(self, commits: int) -> float:
        return 1e3 * self._measure(commits)["ours"][1]

    track_processor_milliseconds.unit = "ms"  # type: ignore[attr-defined]


class OneRowFloor(_Directory):
    """What one commit cannot do without: a Parquet file of one row, and a file of 700 bytes that only one may write."""

    def setup(self) -> None:
        super().setup()
        self.storage = Storage(str(self.root))

    def _commit(self, number: int) -> None:
        sink = pa.BufferOutputStream()
        pq.write_table(ROW, sink, compression="snappy")
        self.storage.put_new(f"{self.root}/{number}.parquet", memoryview(sink.getvalue()))
        assert self.storage.put_if_absent(f"{self.root}/_delta_log/{number}.json", bytes(700)) is PutOutcome.WON

    def _measure(self) -> tuple[float, float]:
        start, used = time.perf_counter(), time.process_time()
        for number in range(_COMMITS):
            self._commit(number)
        return _COMMITS / (time.perf_counter() - start), (time.process_time() - used) / _COMMITS

    def track_commits_a_second(self) -> float:
        return self._measure()[0]

    def track_processor_milliseconds(self) -> float:
        return 1e3 * self._measure()[1]

    track_processor_milliseconds.unit = "ms"  # type: ignore[attr-defined]


class ManyRows(_Directory):
    """One append of many rows: Parquet costs nearly all of it."""

    params = [sizes(100_000, 2_000_000)]
    param_names = ["rows"]
    timeout = 300

    def setup(self, rows: int) -> None:
        super().setup()
        random = np.random.default_rng(7)
        self.rows = pa.table(
            {
                "id": np.arange(rows),
                "k": random.integers(0, 1000, rows),
                "f": random.random(rows),
                "s": pa.array([f"name-{i % 5000}" for i in range(rows)]),
                "d": pa.array(random.integers(0, 20_000, rows).astype(np.int32)).cast(pa.date32()),
            }
        )

    def track_ratio_vs_parquet(self, rows: int) -> float:
        """The time of an append over that of one Parquet file: 1.1 is a tenth more."""
        table = tf.create_table(self.root / "t", self.rows.schema, format="delta")
        file = self.root / "alone.parquet"
        alone = best_of(lambda: pq.write_table(self.rows, file, compression="zstd"))
        return best_of(lambda: table.append(self.rows)) / alone


class ManyPartitions(_Directory):
    """One append of rows that go to 2,000 partitions, in no order."""

    params = [sizes(100_000, 5_000_000)]
    param_names = ["rows"]
    timeout = 300

    def setup(self, rows: int) -> None:
        super().setup()
        random = np.random.default_rng(7)
        numbers = {name: random.random(rows) for name in "xyz"}
        self.rows = pa.table({"id": np.arange(rows), "p": random.integers(0, 50 if QUICK else 2000, rows), **numbers})

    def track_ratio_vs_deltalake(self, rows: int) -> float:
        """The time of an append over that of deltalake, which keeps all rows in memory, and does not sync."""
        import deltalake

        table = tf.create_table(self.root / "t", self.rows.schema, format="delta", partition_by=["p"])
        other = str(self.root / "other")
        theirs = best_of(lambda: deltalake.write_deltalake(other, self.rows, partition_by=["p"], mode="append"))
        return best_of(lambda: table.append(self.rows)) / theirs


class OntoManyFiles:
    """An append of one row to an open table that has a checkpoint of many files, and a hundred commits behind it."""

    params = sizes(1_000, 100_000)
    param_names = ["files"]
    timeout = 600

    def setup(self, files: int) -> None:
        self.parent = Path(tempfile.mkdtemp(dir=os.environ.get("TF_BENCH_DIRECTORY")))
        folder = self.parent / "t"
        shutil.copytree(build(DeltaTable(files)).folder, folder)
        self.table = tf.open_table(folder)
        # The checkpoint that an append would write has a benchmark of its own.
        self.table.alter.set_properties({"delta.checkpointInterval": "100000"})
        self.row = pa.table({f.name: pa.array([None], arrow_type(f.type)) for f in self.table.schema.fields})
        for _ in range(80):
            self.table.append(self.row)

    def teardown(self, files: int) -> None:
        shutil.rmtree(self.parent)

    def track_processor_milliseconds(self, files: int) -> float:
        """Of one append to a table that was just opened, the best of some."""
        found = []
        for _ in range(2 if QUICK else 10):
            table = tf.open_table(self.table.location)
            table.snapshot()
            started = time.process_time()
            table.append(self.row)
            found.append(time.process_time() - started)
        return 1e3 * min(found)

    track_processor_milliseconds.unit = "ms"  # type: ignore[attr-defined]
