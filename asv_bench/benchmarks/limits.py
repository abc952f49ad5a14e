"""Prototypes of a plan: reading, decompressing, and one straight pass over the bytes, with two threads.

What they do nobody can leave out, so their time is a limit that was reached, not only added up. Parquet is read by
pyarrow, manifests are inflated by libdeflate, ``limits.c`` passes over JSON and Avro; the count must equal the truth.
They know how our tables were written: bounds of one integer column, partition by day, nothing checked.
"""

from __future__ import annotations

import ctypes
import hashlib
import shutil
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tableformats.runtime.allocator import quick_allocator

from .generate import Table, tables_folder
from .generate.avro import SYNC
from .generate.model import days
from .generate.specs import Predicate
from .planners import Planner

QUESTIONS = ("P0", "P1", "P2", "PZ")
THREADS = 2
_SOURCE = Path(__file__).with_name("limits.c")
_INFLATED = 8
"""No block of our tables grows by more."""


def missing(question: str) -> str | None:
    """Why there is no prototype for this question here."""
    if question not in QUESTIONS:
        return f"no prototype answers {question}"
    if shutil.which("cc") is None:
        return "there is no C compiler"
    try:
        import deflate  # type: ignore[import-not-found]  # noqa: F401
    except ImportError:
        return "deflate is not installed"
    return None


@lru_cache
def library() -> ctypes.CDLL:
    """``limits.c``, compiled once for its text."""
    built = tables_folder() / f"limits-{hashlib.sha1(_SOURCE.read_bytes()).hexdigest()[:12]}.so"
    if not built.exists():
        built.parent.mkdir(parents=True, exist_ok=True)
        making = built.with_suffix(".tmp")
        subprocess.run(["cc", "-O3", "-shared", "-fPIC", "-o", making, _SOURCE], check=True)
        making.rename(built)
    loaded = ctypes.CDLL(str(built))
    loaded.commit.restype = loaded.manifest.restype = ctypes.c_int64
    return loaded


@lru_cache
def libdeflate() -> ctypes.CDLL:
    """The C library inside the package deflate; calls to it hold no GIL."""
    from deflate import _deflate  # type: ignore[import-not-found]

    loaded = ctypes.CDLL(_deflate.__file__)
    loaded.libdeflate_alloc_decompressor.restype = ctypes.c_void_p
    return loaded


def pointer(array: np.ndarray) -> ctypes.c_void_p:
    return array.ctypes.data_as(ctypes.c_void_p)


def range_of(predicate: Predicate, column: str) -> tuple[int, int] | None:
    """[low, high) if the predicate asks for a range of this column."""
    bounds = {term.op: term.value for terms in predicate for term in terms if term.column == column}
    return (bounds[">="], bounds["<"]) if bounds.keys() >= {">=", "<"} else None


def prepare(table: Table, question: str) -> Callable[[], int]:
    library(), libdeflate()
    predicate = table.predicate(question)
    plan = plan_delta if table.spec.format == "delta" else plan_iceberg

    def count() -> int:
        with quick_allocator():  # Arrow's first choice costs some plans half of their time
            return len(plan(table, predicate))

    return count


LIMIT = Planner("limit", prepare)


# -- Delta


def plan_delta(table: Table, predicate: Predicate) -> pa.Array:
    """The paths of the files that survive."""
    log = Path(table.entry) / "_delta_log"
    ids = range_of(predicate, "id")
    day = next((str(term.value) for terms in predicate for term in terms if term.column == "date"), None)
    parsed = getattr(table.spec, "statistics", "json") != "json"
    with ThreadPoolExecutor(THREADS) as pool:
        newer, kept = _commits(sorted(log.glob("*.json"), reverse=True), ids, day, pool)
        columns = ["add.path", "add.size", "add.partitionValues", "add.deletionVector"]
        if ids is not None:
            side = "add.stats_parsed.{}.id" if parsed else "add.stats"
            columns += [side.format(bound) for bound in ("minValues", "maxValues")] if parsed else [side]

        def survivors(group: tuple[Path, int]) -> pa.Array:
            rows = _adds(*group, columns)
            keep = _keep(rows, ids, day, parsed)
            paths = rows.field("path").filter(pa.array(keep))
            return paths.filter(pc.invert(pc.is_in(paths, value_set=newer)))

        return pa.concat_arrays([kept, *pool.map(survivors, _row_groups(log))])


def _row_groups(log: Path) -> Iterator[tuple[Path, int]]:
    for path in sorted([*log.glob("*.checkpoint*.parquet"), *log.glob("_sidecars/*.parquet")]):
        with pq.ParquetFile(path, memory_map=True) as file:
            for k in range(file.metadata.num_row_groups):
                yield path, k


def _adds(path: Path, k: int, columns: list[str]) -> pa.StructArray:
    rows = _rows(path, k, columns)
    return rows.filter(rows.is_valid())


def _rows(path: Path, k: int, columns: list[str]) -> pa.StructArray:
    with pq.ParquetFile(path, memory_map=True) as file:
        rows = file.read_row_group(k, columns=columns, use_threads=False)["add"].combine_chunks()
    return rows.chunk(0) if isinstance(rows, pa.ChunkedArray) else rows


def column_reader(path: Path, columns: list[str]) -> Callable[[], list[pa.StructArray]]:
    """What reads these columns of a checkpoint, row group by row group, on one thread."""
    count = pq.read_metadata(path).num_row_groups
    return lambda: [_rows(path, k, columns) for k in range(count)]


def _keep(rows: pa.StructArray, ids: tuple[int, int] | None, day: str | None, parsed: bool) -> np.ndarray:
    if day is not None:
        return np.asarray(pc.equal(rows.field("partitionValues").items, day))
    if ids is None:
        return np.ones(len(rows), bool)
    if parsed:
        lower, upper = (rows.field("stats_parsed").field(i).field("id").to_numpy() for i in range(2))
    else:
        lower, upper = statistics(rows.field("stats"))
    return (upper >= ids[0]) & (lower < ids[1])


def statistics(texts: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    _, offsets, data = texts.buffers()
    n, key = len(texts), b'"id":'
    lower, upper = np.empty(n, np.int64), np.empty(n, np.int64)
    starts = pointer(np.frombuffer(offsets, np.int32)[texts.offset :])
    library().statistics(
        ctypes.c_void_p(data.address),
        starts,
        ctypes.c_int64(n),
        key,
        ctypes.c_int64(len(key)),
        pointer(lower),
        pointer(upper),
    )
    return lower, upper


@dataclass(frozen=True)
class _Actions:
    """The adds and removes of a commit, the last one first."""

    is_add: np.ndarray
    hashes: np.ndarray
    paths: pa.Array
    dates: pa.Array
    lower: np.ndarray
    upper: np.ndarray


def _commits(
    files: list[Path], ids: tuple[int, int] | None, day: str | None, pool: ThreadPoolExecutor
) -> tuple[pa.Array, pa.Array]:
    """Of commits, newest first: all paths that they name, and those of the adds that survive."""
    parts = list(pool.map(lambda path: commit(path, ids is not None), files))
    keep = np.concatenate([part.is_add for part in parts]).astype(bool)
    first = np.zeros(len(keep), bool)
    first[np.unique(np.concatenate([part.hashes for part in parts]), return_index=True)[1]] = True
    keep &= first
    if day is not None:
        keep &= np.asarray(pc.equal(pa.concat_arrays([part.dates for part in parts]), day))
    if ids is not None:
        keep &= np.concatenate([part.upper for part in parts]) >= ids[0]
        keep &= np.concatenate([part.lower for part in parts]) < ids[1]
    paths = pa.concat_arrays([part.paths for part in parts])
    return paths, paths.filter(pa.array(keep))


def commit(path: Path, with_ids: bool) -> _Actions:
    data = path.read_bytes()
    n = data.count(b"\n")
    is_add, hashes, path_length = np.empty(n, np.uint8), np.empty(n, np.uint64), np.empty(n, np.int32)
    path_at, date_at, lower, upper = np.empty((4, n), np.int64)
    key = b'\\"id\\":' if with_ids else b""
    n = library().commit(
        data,
        ctypes.c_int64(len(data)),
        key,
        ctypes.c_int64(len(key)),
        pointer(is_add),
        pointer(hashes),
        pointer(path_at),
        pointer(path_length),
        pointer(date_at),
        pointer(lower),
        pointer(upper),
    )
    octets, last_first = np.frombuffer(data, np.uint8), np.arange(n)[::-1]
    # Where a file got another deletion vector, its add stands behind its remove: the last line decides.
    paths = _gather(octets, path_at[last_first], path_length[last_first])
    dates = _gather(octets, date_at[last_first], np.full(n, 10, np.int32))
    return _Actions(is_add[last_first], hashes[last_first], paths, dates, lower[last_first], upper[last_first])


def _gather(octets: np.ndarray, at: np.ndarray, lengths: np.ndarray) -> pa.Array:
    """string[n] of pieces of ``octets``."""
    at, lengths = np.ascontiguousarray(at), np.ascontiguousarray(lengths)
    offsets = np.zeros(len(at) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    gathered = np.empty(offsets[-1], np.uint8)
    library().gather(pointer(octets), pointer(at), pointer(lengths), ctypes.c_int64(len(at)), pointer(gathered))
    return pa.StringArray.from_buffers(len(at), pa.py_buffer(offsets), pa.py_buffer(gathered))


# -- Iceberg


def plan_iceberg(table: Table, predicate: Predicate) -> pa.Array:
    """The paths of the files that survive; delete manifests are decoded too."""
    metadata = Path(table.entry).parent
    ids, times = range_of(predicate, "id"), range_of(predicate, "ts")
    day = None if times is None else days(times[0].date())  # type: ignore[attr-defined]
    manifests = manifest_list(table)
    if day is not None:
        manifests = [m for m in manifests if _may_hold(m["partitions"][0], day)]
    with ThreadPoolExecutor(THREADS) as pool:
        parts = list(pool.map(lambda m: manifest(metadata, m, ids, day), manifests))
    data = [part for part, m in zip(parts, manifests, strict=True) if m["content"] == 0]
    return pa.concat_arrays([pa.array([], pa.string()), *data])


def manifest_list(table: Table) -> list[Any]:
    """The records of the manifest list."""
    import fastavro

    with (Path(table.entry).parent / "snap-1.avro").open("rb") as file:
        return list(fastavro.reader(file))


def blocks(data: bytes) -> Iterator[memoryview]:
    """The compressed blocks of a manifest of ours, found by their sync markers."""
    whole, at = memoryview(data), data.index(SYNC) + len(SYNC)
    while at < len(data):
        for _ in range(2):  # the numbers of records and of bytes
            size = shift = 0
            while True:
                size |= (data[at] & 0x7F) << shift
                shift, at = shift + 7, at + 1
                if data[at - 1] < 0x80:
                    break
        yield whole[at : at + size // 2]
        at += size // 2 + len(SYNC)


def _may_hold(days_of_manifest: dict[str, Any], day: int) -> bool:
    low, high = (int.from_bytes(days_of_manifest[bound], "little") for bound in ("lower_bound", "upper_bound"))
    return low <= day <= high


def manifest(metadata: Path, record: dict[str, Any], ids: tuple[int, int] | None, day: int | None) -> pa.Array:
    data = (metadata / record["manifest_path"].rsplit("/", 1)[1]).read_bytes()
    n = sum(record[f"{status}_files_count"] for status in ("added", "existing", "deleted"))
    plain = np.empty(len(data) * _INFLATED, np.uint8)
    status, (days_, path_length) = np.empty(n, np.uint8), np.empty((2, n), np.int32)
    path_at, lower, upper = np.empty((3, n), np.int64)
    inflater = ctypes.c_void_p(libdeflate().libdeflate_alloc_decompressor())
    try:
        found = library().manifest(
            data,
            ctypes.c_int64(len(data)),
            libdeflate().libdeflate_deflate_decompress,
            inflater,
            pointer(plain),
            ctypes.c_int64(len(plain)),
            ctypes.c_int64(1),
            pointer(status),
            pointer(days_),
            pointer(path_at),
            pointer(path_length),
            pointer(lower),
            pointer(upper),
        )
    finally:
        libdeflate().libdeflate_free_decompressor(inflater)
    if found != n:
        raise ValueError(f"{record['manifest_path']}: {found} entries, not {n}")
    keep = status != 2
    if day is not None:
        keep &= days_ == day
    if ids is not None and record["content"] == 0:
        keep &= (upper >= ids[0]) & (lower < ids[1])
    return _gather(plain, path_at[keep], path_length[keep])
