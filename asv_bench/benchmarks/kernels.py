"""The kernels alone, over arrays in memory; the throughput is the size over the time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from pyroaring import BitMap64
from tableformats_delta.statistics.stats_json import leaf_of, scan
from tableformats_iceberg.avro.container import AvroColumns, Want, read_columns

from tableformats._core.bitmap import live_mask, positions
from tableformats._core.filekeys import FileKeySet
from tableformats._core.pruning import leaf_mask, locate_int64

from . import QUICK, sizes
from .generate import DeltaTable, build
from .spark_tables import many_files


class PruningWideColumn:
    """Bounds of one integer column against literals; memory bandwidth dominates, then the search in the literals."""

    params = [sizes(1_000, 100_000, 1_000_000), [1, 100]]
    param_names = ["files", "literals"]

    def setup(self, n_files: int, n_literals: int) -> None:
        random = np.random.default_rng(7)
        self.values = random.integers(0, 2**40, n_files)
        self.literals = np.sort(random.choice(2**40, n_literals, replace=False)).astype(np.int64)
        self.codes = np.empty(n_files, np.int32)
        self.known = np.ones(n_files, np.uint8)
        self.unknown = np.zeros(n_files, np.uint8)
        self.mask = np.empty(n_files, np.uint8)
        self.verdicts = np.empty(n_files, np.uint8)
        self.time_locate_int64(n_files, n_literals)

    def time_locate_int64(self, n_files: int, n_literals: int) -> None:
        locate_int64(self.values, self.literals, self.codes)

    def time_leaf_mask(self, n_files: int, n_literals: int) -> None:
        leaf_mask(
            self.codes, self.codes, 2 * n_literals, self.known, self.unknown, 1, n_literals, False, False, self.mask
        )


class FileKeySetPaths:
    """Keys of a checkpoint's size: hashing, then a cache miss a key."""

    params = [sizes(1_000, 100_000, 1_000_000), [0.0, 0.5]]
    param_names = ["keys", "seen_rate"]

    def setup(self, n_keys: int, seen_rate: float) -> None:
        keys = [b"day=2024-01-01/part-%08d-9f1d7c1e-8a3b-4c58-b0a1-7d1f2c3e4a5b.parquet" % i for i in range(n_keys)]
        self.data = np.frombuffer(b"".join(keys), np.uint8)
        self.offsets = np.cumsum([0, *map(len, keys)]).astype(np.int32)
        self.seen = int(n_keys * seen_rate)

    def time_add_batch(self, n_keys: int, seen_rate: float) -> None:
        keys = FileKeySet()
        keys.add_batch(self.offsets[: self.seen + 1], self.data)
        keys.add_batch(self.offsets, self.data)


class StatisticsText:
    """Delta's statistics as JSON, scanned for some columns of eight: 480 bytes a file pass by once, values convert."""

    params = [[1, 8]]
    param_names = ["columns"]

    def setup(self, n_columns: int) -> None:
        import tableformats as tf

        table = build(DeltaTable(1_000 if QUICK else 100_000))
        (path,) = Path(table.entry, "_delta_log").glob("*.checkpoint.parquet")
        rows = pq.ParquetFile(path).read(["add.stats"])["add"].combine_chunks()
        self.text = rows.field("stats").filter(rows.is_valid())
        schema = tf.open_table(table.entry).snapshot().schema
        self.leaves = [leaf for field in schema if (leaf := leaf_of(schema, field)) is not None][:n_columns]
        self.time_scan(n_columns)

    def time_scan(self, n_columns: int) -> None:
        pieces = ((self.text.slice(start, 4096), None) for start in range(0, len(self.text), 4096))
        scan(pieces, self.leaves, len(self.text))


class SharedManifest:
    """The files of one manifest, decoded by one thread or by two: inflating and decoding, then copying what the second
    has."""

    params = [sizes(1_000, 100_000), [1, 2]]
    param_names = ["files", "threads"]

    def setup(self, n_files: int, threads: int) -> None:
        (manifest,) = Path(many_files(n_files)["iceberg"]).glob("metadata/data-*.avro")
        self.data = manifest.read_bytes()
        members = (Want(100, ("file_path",), "text"), Want(103, ("record_count",)), Want(104, ("file_size_in_bytes",)))
        self.wants = (Want(2, ("data_file",), "any", "record", members),)
        assert self._read(n_files, threads).rows == n_files

    def _read(self, n_files: int, threads: int) -> AvroColumns:
        return read_columns(self.data, self.wants, [], "manifest", expected=n_files, threads=threads)

    def time_read_columns(self, n_files: int, threads: int) -> None:
        self._read(n_files, threads)


class DeletionBitmapRows:
    """One deletion vector of a million rows; sparse ones are arrays, dense ones bitmaps, clustered ones runs."""

    params = [["sparse", "dense", "clustered"]]
    param_names = ["shape"]
    rows = 1_000_000

    def setup(self, shape: str) -> None:
        random = np.random.default_rng(11)
        chosen = {
            "sparse": lambda: random.choice(self.rows, self.rows // 1000, replace=False),
            "dense": lambda: random.choice(self.rows, self.rows // 3, replace=False),
            "clustered": lambda: np.arange(self.rows // 4, self.rows // 2),
        }[shape]()
        bitmap = BitMap64(chosen.tolist())
        bitmap.run_optimize()
        self.data = bitmap.serialize()

    def time_live_mask(self, shape: str) -> None:
        live_mask(self.data, 0, self.rows)

    def time_positions(self, shape: str) -> None:
        positions(self.data, 0, self.rows)
