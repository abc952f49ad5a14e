"""All rows of a large Delta table from a store that sends 1 GB/s: ours beside other readers, in one run.

    python -m benchmarks.stores_throughput [--gigabytes 2] [--write]

The store is :mod:`benchmarks.s3_server`: one thread in a process of its own, which sends what it has in memory. The
columns are random numbers, stored as they are, so that reading costs bytes and little decoding. Each reader reads in a
process of its own, and they take turns. ``--write`` puts the table into ``docs/measured/stores.md``.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.support.marks import write_between

from .report import machine, versions
from .stores import BUCKET, DELAY, PAGE, READERS, ROOT, Server
from .table_text import markdown

RATE = 1e9
ROUNDS = 3
FILE_BYTES = 128 << 20
COLUMNS = ("x", "y", "z", "w")

PROGRAM = """
import json, os, resource, sys, time
location, small, stored, code = json.loads(sys.argv[1])
remote, location, options = location, small, None
exec(code)
location, options = remote, stored
wall, before = time.perf_counter(), os.times()
exec(code)
wall, after = time.perf_counter() - wall, os.times()
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(n, wall, after.user + after.system - before.user - before.system, peak, flush=True)
os._exit(0)
"""


def write_table(root: Path, files: int, rows: int) -> None:
    """A Delta table of random numbers, without compression."""
    import deltalake
    import numpy as np
    import pyarrow as pa

    random = np.random.default_rng(1)
    properties = deltalake.WriterProperties(compression="UNCOMPRESSED", max_row_group_size=1 << 20)
    for i in range(files):
        data = pa.table({name: random.integers(0, 1 << 62, rows) for name in COLUMNS})
        deltalake.write_deltalake(
            root, data, mode="append" if i else "error", writer_properties=properties, target_file_size=1 << 30
        )


def measure(server: Server, small: str, code: str) -> tuple[float, float, float, int]:
    """Seconds, seconds of the processor, peak memory in GB, and requests, of one run."""
    argument = json.dumps([f"{BUCKET}rows", small, server.options, code])
    server.tell(f"start {DELAY}")
    done = subprocess.run([sys.executable, "-c", PROGRAM, argument], cwd=ROOT, capture_output=True, text=True)
    requests, _ = server.tell("stop")
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    _, wall, cpu, peak = map(float, done.stdout.split())
    return wall, cpu, peak / 1e6, requests


def main() -> None:
    """Print the table, and write it where asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=2)
    parser.add_argument("--write", action="store_true", help="put the figures into docs/measured/stores.md")
    arguments = parser.parse_args()
    runs: dict[str, list[tuple[float, float, float, int]]] = {}
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        files = max(1, round(arguments.gigabytes * 1e9 / FILE_BYTES))
        write_table(root / "rows", files, FILE_BYTES // (8 * len(COLUMNS)))
        write_table(root / "small", 2, 1000)
        stored = sum(path.stat().st_size for path in (root / "rows").glob("*.parquet"))
        server = Server(rate=RATE)
        server.tell(f"upload {root / 'rows'}")
        readers = {
            name: code.replace("columns=['x', 'y']", "")
            .replace(".select('x', 'y')", "")
            .replace("SELECT x, y", "SELECT *")
            for name, code in READERS["rows"].items()
        }
        for _ in range(ROUNDS):
            for name, code in readers.items():
                runs.setdefault(name, []).append(measure(server, str(root / "small"), code))
        server.close()
    rows = []
    best = min(statistics.median(r[0] for r in found) for name, found in runs.items() if name != "tableformats")
    for name, found in runs.items():
        wall, cpu, peak, requests = (statistics.median(column) for column in zip(*found, strict=True))
        share = f"{100 * wall / best:.0f} %" if name == "tableformats" else "–"
        rate = f"{stored / wall / 1e9:.2f}"
        rows.append([name, f"{wall:.2f}", share, rate, f"{cpu:.2f}", f"{peak:.1f}", f"{requests:.0f}"])
    head = ["Reader", "seconds", "of the best peer", "GB/s", "processor seconds", "peak memory, GB", "requests"]
    text = f"Measured {time.strftime('%Y-%m-%d')}, {machine()}. {versions()}\n\n"
    text += f"{stored / 1e9:.1f} GB in {files} files, all rows and columns:\n\n{markdown(head, rows)}"
    print(text)
    if arguments.write:
        write_between(PAGE, "throughput", text)


if __name__ == "__main__":
    main()
