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

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import tableformats as tf
from tableformats.schema import arrow_type

from . import QUICK, sizes
from .generate import DeltaTable, build
from .planning import best_of

ROW = pa.table({"id": [1], "s": ["x"], "f": [0.5]})
_ROUNDS = 2 if QUICK else 5
_COMMITS = 5 if QUICK else 40


def _ours(root: Path) -> Callable[[], object]:
    table = tf.create_table(root, ROW.schema, format="delta")
    return lambda: table.append(ROW)


def _deltalake(root: Path) -> Callable[[], object]:
    import deltalake

    deltalake.write_deltalake(str(root), ROW)
    table = deltalake.DeltaTable(str(root))
    return lambda: deltalake.write_deltalake(table, ROW, mode="append")


WRITERS = {"ours": _ours, "deltalake": _deltalake}


class _Directory:
    def setup(self, *_: object) -> None:
        self.root = Path(tempfile.mkdtemp(dir=os.environ.get("TF_BENCH_DIRECTORY")))

    def teardown(self, *_: object) -> None:
        shutil.rmtree(self.root)


class OneRow(_Directory):
    """Appends of one row by one writer: the commits cost all of it."""

    timeout = 300

    def _measure(self) -> dict[str, tuple[float, float]]:
        """(commits a second, seconds of the processor a commit) of each writer, the best of the rounds."""
        append = {name: make(self.root / name) for name, make in WRITERS.items()}
        found = dict.fromkeys(WRITERS, (0.0, float("inf")))
        for _ in range(_ROUNDS):
            for name, call in append.items():
                start, used = time.perf_counter(), time.process_time()
                for _ in range(_COMMITS):
                    call()
                wall, cpu = time.perf_counter() - start, time.process_time() - used
                rate, least = found[name]
                found[name] = max(rate, _COMMITS / wall), min(least, cpu / _COMMITS)
        return found

    def track_commits_a_second(self) -> float:
        return self._measure()["ours"][0]

    def track_ratio_vs_deltalake(self) -> float:
        found = self._measure()
        return found["ours"][0] / found["deltalake"][0]

    def track_processor_ratio_vs_deltalake(self) -> float:
        found = self._measure()
        return found["deltalake"][1] / found["ours"][1]


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
