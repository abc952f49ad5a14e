"""What the bytes of a table cost, step by step and on one thread: ``python -m benchmarks.steps FILES`` prints JSON.

The steps are those of the prototypes in :mod:`benchmarks.limits`, one at a time; a plan that does a step cannot be
faster than the step.
"""

from __future__ import annotations

import ctypes
import json
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from . import limits
from .generate import DeltaTable, IcebergTable, Table, build
from .generate.avro import BLOCK_BYTES
from .planning import best_of

ROUNDS = 3
Step = tuple[str, Callable[[], Any], str]


def delta_steps(table: Table) -> Iterator[Step]:
    log = Path(table.entry) / "_delta_log"
    (path,) = log.glob("*.checkpoint.parquet")
    yield "read the checkpoint", path.read_bytes, f"{path.stat().st_size / 1e6:.0f} MB"
    metadata = pq.read_metadata(path)
    names = ("path", "partitionValues", "size", "deletionVector", "stats")
    for name in names:
        chunks = [
            metadata.row_group(g).column(c) for g in range(metadata.num_row_groups) for c in range(metadata.num_columns)
        ]
        sizes = [
            (c.total_compressed_size, c.total_uncompressed_size)
            for c in chunks
            if f"{c.path_in_schema}.".startswith(f"add.{name}.")
        ]
        packed, plain = (sum(size[i] for size in sizes) / 1e6 for i in range(2))
        read = limits.column_reader(path, [f"add.{name}"])
        yield f"Parquet, `{name}` to Arrow", read, f"{packed:.1f} MB, {plain:.1f} MB inflated"
    texts = [group.field("stats") for group in limits.column_reader(path, ["add.stats"])()]
    total = sum(text.nbytes for text in texts) / 1e6
    yield "one C pass over `stats` for one column", lambda: [limits.statistics(t) for t in texts], f"{total:.0f} MB"
    commits = sorted(log.glob("*.json"))
    size = sum(commit.stat().st_size for commit in commits) / 1e6
    yield "one C pass over the commits", lambda: [limits.commit(c, True) for c in commits], f"{size:.0f} MB"


def iceberg_steps(table: Table) -> Iterator[Step]:
    from isal import isal_zlib

    manifests = sorted(Path(table.entry).parent.glob("*-m*.avro"))
    size = sum(path.stat().st_size for path in manifests)
    yield (
        "read the manifests",
        lambda: [p.read_bytes() for p in manifests],
        f"{len(manifests)} files, {size / 1e6:.0f} MB",
    )
    blocks = [bytes(block) for path in manifests for block in limits.blocks(path.read_bytes())]
    plain = np.empty(2 * BLOCK_BYTES, np.uint8)
    inflated = sum(len(zlib.decompress(block, -15)) for block in blocks) / 1e6
    inflater = ctypes.c_void_p(limits.libdeflate().libdeflate_alloc_decompressor())
    got = ctypes.c_size_t()

    def libdeflate() -> None:
        for block in blocks:
            limits.libdeflate().libdeflate_deflate_decompress(
                inflater,
                block,
                ctypes.c_size_t(len(block)),
                limits.pointer(plain),
                ctypes.c_size_t(len(plain)),
                ctypes.byref(got),
            )

    yield "inflate, zlib", lambda: [zlib.decompress(block, -15) for block in blocks], f"{inflated:.0f} MB inflated"
    yield "inflate, ISA-L", lambda: [isal_zlib.decompress(block, -15) for block in blocks], "the same"
    yield "inflate, libdeflate", libdeflate, "the same"
    records = limits.manifest_list(table)
    metadata = Path(table.entry).parent
    entries = sum(r[f"{status}_files_count"] for r in records for status in ("added", "existing", "deleted"))

    def decode() -> None:
        for record in records:
            limits.manifest(metadata, record, None, None)

    yield "read, inflate with libdeflate and decode in C", decode, f"{entries:,} entries"


def main() -> None:
    files = int(sys.argv[1])
    measured = []
    for spec, steps in ((DeltaTable(files), delta_steps), (IcebergTable(files), iceberg_steps)):
        for name, call, note in steps(build(spec)):
            measured.append([spec.format.capitalize(), name, best_of(call, ROUNDS), note])
    print(json.dumps({"steps": measured}))


if __name__ == "__main__":
    main()
