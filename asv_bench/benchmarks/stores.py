"""Open and plan tables in a store that takes 40 ms for each request: ours beside other readers, in one run.

    python -m benchmarks.stores [--write]

The store is :mod:`benchmarks.s3_server`, in a process of its own; for faults it is the stub of the tests. Each reader
plans cold, in a process of its own that has planned a small local table before, five times; the readers take turns. The
table has the median time, and the requests of one run. ``--write`` puts it into ``docs/measured/stores.md``.
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
from typing import Any

from pyarrow.fs import LocalFileSystem
from pyiceberg.io.pyarrow import PyArrowFile, PyArrowFileIO

from .report import machine, versions
from .table_text import document_with, markdown

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "measured" / "stores.md"
BUCKET = "s3://bucket/"
DELAY = 0.04
ROUNDS = 5

PYICEBERG = """
from pyiceberg.table import StaticTable
given = {} if options is None else {
    "s3.endpoint": options["aws_endpoint"], "s3.region": "us-east-1",
    "s3.access-key-id": options["aws_access_key_id"], "s3.secret-access-key": options["aws_secret_access_key"],
}
n = len(list(StaticTable.from_metadata(location, given).scan().plan_files()))
"""
DUCKDB_EXTENSIONS = ("avro", "delta", "httpfs", "iceberg")
DUCKDB = """
if options is None:  # loads extensions once, as a session does
    import duckdb, importlib, pathlib
    connection = duckdb.connect()
    for name in {names}:
        folder = importlib.import_module("duckdb_extension_" + name).__path__[0]
        connection.sql("LOAD '%s'" % next(pathlib.Path(folder).rglob(name + ".duckdb_extension")))
else:
    keys = options["aws_access_key_id"], options["aws_secret_access_key"], options["aws_region"]
    connection.sql(
        "CREATE SECRET (TYPE s3, KEY_ID '%s', SECRET '%s', REGION '%s', ENDPOINT '%s', URL_STYLE path, USE_SSL false)"
        % (*keys, options["aws_endpoint"].removeprefix("http://"))
    )
n = connection.sql({query!r} % location).{result}
"""


def duckdb_reader(query: str, result: str = "fetchall()[0][0]") -> str:
    """The code of a reader: ``query`` in DuckDB, whose ``%s`` is the location, and what is asked of its relation."""
    return DUCKDB.format(names=DUCKDB_EXTENSIONS, query=query, result=result)


READERS = {
    "rows": {
        "tableformats": "import tableformats as tf; "
        "n = tf.open_table(location, storage_options=options).scan(columns=['x', 'y']).to_arrow().num_rows",
        "deltalake": "import deltalake; n = deltalake.DeltaTable(location, storage_options=options)"
        ".to_pyarrow_table(columns=['x', 'y']).num_rows",
        "polars": "import polars as pl; "
        "n = pl.scan_delta(location, storage_options=options).select('x', 'y').collect().height",
        "DuckDB": duckdb_reader("SELECT x, y FROM delta_scan('%s')", "to_arrow_table().num_rows"),
    },
    "delta": {
        "tableformats": "import tableformats as tf; "
        "n = len(tf.open_table(location, storage_options=options).scan().plan())",
        'tableformats, format="delta"': "import tableformats as tf; "
        "n = len(tf.open_table(location, storage_options=options, format='delta').scan().plan())",
        "deltalake": "import deltalake; n = len(deltalake.DeltaTable(location, storage_options=options).file_uris())",
        "polars": "import polars as pl; n = len(pl.scan_delta(location, storage_options=options).explain())",
        "DuckDB": duckdb_reader("SELECT count(*) FROM delta_list_files('%s')"),
    },
    "directory": {
        "tableformats": "import tableformats as tf; "
        "n = len(tf.open_table(location, storage_options=options).scan().plan())",
    },
    "metadata.json": {
        "tableformats": "import tableformats as tf; "
        "n = len(tf.open_table(location, storage_options=options).scan().plan())",
        "pyiceberg": PYICEBERG,
        "DuckDB": duckdb_reader("SELECT count(*) FROM iceberg_metadata('%s')"),
    },
}

PROGRAM = """
import json, os, sys, time
location, small, stored, code = json.loads(sys.argv[1])
location, remote, options = small, location, None
exec(code)  # of a small local table: every library loads what it loads when it is first used
if "tableformats" in code:
    import asyncio, obstore.store
location, options = remote, stored
start, before = time.perf_counter(), time.process_time()
exec(code)
print(time.perf_counter() - start, time.process_time() - before, flush=True)
os._exit(0)  # deltalake's threads may end a process with an error when it exits
"""


FAULTS = {
    "403": "403",
    "404, no such bucket": "404:NoSuchBucket",
    "429": "429",
    "500": "500",
    "503": "503",
    "the connection is reset": "reset",
    "half a body": "half",
    "no answer": "hang",
    "a clock that is off": "403:RequestTimeTooSkewed",
    "an expired token": "400:ExpiredToken",
}
FAULT_PROGRAM = """
import json, sys, time
import obstore.store, pyarrow as pa
import tableformats as tf
location, options, is_writing = json.loads(sys.argv[1])
start = time.perf_counter()
try:
    table = tf.open_table(location, storage_options=options, format="delta")
    if is_writing:
        table.append(pa.table({"id": pa.array([1], pa.int64())}))
    else:
        table.snapshot()
except Exception as error:
    seconds = time.perf_counter() - start
    print(type(error).__name__, getattr(error, "status", ""), getattr(error, "code", ""), seconds, sep="|")
"""


class Server:
    """A store in another process.

    Parameters
    ----------
    fails : bool
        Whether it is the stub of the tests, which can fail, and not :mod:`benchmarks.s3_server`, which costs less.
    rate : float
        Bytes in each second; 0: as many as can be.
    """

    def __init__(self, fails: bool = False, rate: float = 0) -> None:
        program = [sys.executable, "-m", "asv_bench.benchmarks.s3_server", "stub" if fails else str(rate)]
        self._process = subprocess.Popen(program, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.options = json.loads(self._line())

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def tell(self, command: str) -> Any:
        """Send a command; what the server answers."""
        assert self._process.stdin is not None
        self._process.stdin.write(command + "\n")
        self._process.stdin.flush()
        answer = self._line().strip()
        return answer if answer == "ok" else json.loads(answer)

    def close(self) -> None:
        """End the server."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(10)


def write_commits(root: Path, count: int, checkpoint_at: int | None = None) -> None:
    """A log of ``count`` commits in Spark's form, with a checkpoint after ``checkpoint_at`` of them."""
    import deltalake

    from tests.support.delta_log import DeltaLog, add

    log = DeltaLog(root).start()
    for version in range(1, count):
        if version == checkpoint_at:
            deltalake.DeltaTable(root).create_checkpoint()
        action = add(f"f{version}.parquet", stats='{"numRecords":1}')
        log.write(f"{version:020d}.json", json.dumps(action, separators=(",", ":")).encode() + b"\n")


def write_old_commits(root: Path, old: int) -> None:
    """A log of ``old`` commits that nobody needs, a checkpoint after them, and 10 commits."""
    write_commits(root, 30, checkpoint_at=20)
    log = root / "_delta_log"
    for path in sorted(log.glob("0*"), reverse=True):
        path.rename(log / f"{int(path.name[:20]) + old:020d}{path.name[20:]}")
    hint = json.loads((log / "_last_checkpoint").read_text())
    (log / "_last_checkpoint").write_text(json.dumps({**hint, "version": hint["version"] + old}))
    for version in range(old):
        (log / f"{version:020d}.json").write_text("{}")


class MappedFileIO(PyArrowFileIO):
    """Files of ``s3://bucket/`` in the directory of the property ``directory``, for PyIceberg to write."""

    def new_input(self, location: str) -> PyArrowFile:
        """See :class:`pyiceberg.io.FileIO`."""
        path = Path(self.properties["directory"], location.removeprefix(BUCKET))
        path.parent.mkdir(parents=True, exist_ok=True)
        return PyArrowFile(location=location, path=str(path), fs=LocalFileSystem())

    new_output = new_input


def write_manifests(root: Path, count: int) -> Path:
    """An Iceberg table of ``count`` manifests, whose metadata say that it is in the bucket; its local directory."""
    import pyarrow as pa
    from pyiceberg.catalog.memory import InMemoryCatalog

    implementation = {"py-io-impl": f"{__spec__.name if __spec__ else __name__}.MappedFileIO", "directory": str(root)}
    catalog = InMemoryCatalog("local", warehouse=BUCKET, **implementation)
    catalog.create_namespace("n")
    schema = pa.schema([("x", pa.int64())])
    properties = {"commit.manifest-merge.enabled": "false"}
    table = catalog.create_table("n.t", schema, f"{BUCKET}manifests{count}", properties=properties)
    with table.transaction() as transaction:
        for i in range(count):
            transaction.append(pa.table({"x": [i]}))
    return root / f"manifests{count}"


def write_rows(root: Path, files: int, rows: int) -> None:
    """A Delta table of ``files`` files of ``rows`` rows: two columns of numbers, and a wide one between them."""
    import deltalake
    import numpy as np
    import pyarrow as pa

    random = np.random.default_rng(1)
    for i in range(files):
        numbers = {name: random.integers(0, 1 << 62, rows) for name in ("x", "y")}
        wide = pa.array([random.bytes(100) for _ in range(rows)])
        data = pa.table({"x": numbers["x"], "wide": wide, "y": numbers["y"]})
        deltalake.write_deltalake(root, data, mode="append" if i else "error")


def measure(server: Server, location: str, small: str, code: str) -> tuple[float, float, int, int]:
    """Seconds, those of the processor, requests and the longest chain of one run, as the server saw them."""
    argument = json.dumps([location, small, server.options, code])
    server.tell(f"start {DELAY}")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, argument], cwd=ROOT, capture_output=True, text=True, check=False
    )
    requests, chain = server.tell("stop")
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    time.sleep(0.1)
    wall, processor = map(float, done.stdout.strip().splitlines()[-1].split())
    return wall, processor, requests, chain


def measured(server: Server, name: str, location: str, small: str, readers: dict[str, str]) -> list[list[str]]:
    """The rows of one table: the readers take turns."""
    runs: dict[str, list[tuple[float, float, int, int]]] = {reader: [] for reader in readers}
    refused: dict[str, str] = {}
    for _ in range(ROUNDS):
        for reader, code in readers.items():
            try:
                if reader not in refused:
                    runs[reader].append(measure(server, location, small, code))
            except RuntimeError as error:
                refused[reader] = str(error)
                print(f"{name}: {reader} refuses: {error}", file=sys.stderr)
    medians = {reader: statistics.median(run[0] for run in found) for reader, found in runs.items() if found}
    peers = [seconds for reader, seconds in medians.items() if not reader.startswith("tableformats")]
    rows = []
    for reader, seconds in medians.items():
        is_ours = reader.startswith("tableformats")
        share = f"{100 * seconds / min(peers):.0f} %" if peers and is_ours else "–"
        processor = statistics.median(run[1] for run in runs[reader])
        rows.append([name, reader, f"{seconds:.3f}", share, f"{processor:.3f}", *map(str, runs[reader][-1][2:])])
    return rows


def tables(root: Path) -> list[tuple[str, str, str, dict[str, str]]]:
    """What is measured: its name, location, and a small local table for the same code; and the readers."""
    write_commits(root / "commits205", 205)
    write_commits(root / "checkpoint200", 205, checkpoint_at=200)
    write_old_commits(root / "old4500", 4500)
    write_commits(root / "small", 12, checkpoint_at=10)
    write_rows(root / "rows", 40, 30_000)
    write_rows(root / "few_rows", 2, 1000)
    write_manifests(root, 50)
    local = write_local_manifests(root / "local")
    found = [
        (name, BUCKET + folder, str(root / "small"), READERS["delta"])
        for name, folder in [
            ("Delta, 205 commits", "commits205"),
            ("Delta, 200 commits, a checkpoint, 5 commits", "checkpoint200"),
            ("Delta, 4,500 old commits, a checkpoint, 10 commits", "old4500"),
        ]
    ]
    rows = "Delta, rows of two of three columns, 40 files of 3.5 MB"
    found.append((rows, f"{BUCKET}rows", str(root / "few_rows"), READERS["rows"]))
    newest = max((root / "manifests50" / "metadata").glob("*.metadata.json")).name
    file = f"{BUCKET}manifests50/metadata/{newest}"
    found.append(("Iceberg, 50 manifests, by directory", f"{BUCKET}manifests50", local, READERS["directory"]))
    small = str(max(Path(local, "metadata").glob("*.metadata.json")))
    return [*found, ("Iceberg, 50 manifests, by metadata.json", file, small, READERS["metadata.json"])]


def write_local_manifests(root: Path) -> str:
    """A small Iceberg table that is where its metadata say."""
    import pyarrow as pa
    from pyiceberg.catalog.memory import InMemoryCatalog

    catalog = InMemoryCatalog("local", warehouse=str(root))
    catalog.create_namespace("n")
    table = catalog.create_table("n.t", pa.schema([("x", pa.int64())]))
    table.append(pa.table({"x": [1]}))
    return table.location().removeprefix("file://")


def faults(server: Server, is_writing: bool) -> list[list[str]]:
    """What comes of each fault, and after how long, with the time limits that hold where none are given."""
    rows = []
    for name, fault in FAULTS.items():
        if is_writing and fault == "half":  # the answer to a put has no body
            continue
        server.tell(f"{'fault-of-puts' if is_writing else 'fault'} {fault}")
        argument = json.dumps([f"{BUCKET}{'written' if is_writing else 'commits205'}", server.options, is_writing])
        done = subprocess.run([sys.executable, "-c", FAULT_PROGRAM, argument], cwd=ROOT, capture_output=True, text=True)
        requests, _ = server.tell("stop")
        kind, status, code, seconds = done.stdout.strip().split("|")
        found = f"{status} {code}".replace("None", "").strip() or "–"
        rows.append([name, f"`{kind}`", found, str(requests), f"{float(seconds):.1f}"])
    return rows


def fault_text(root: Path) -> str:
    """Tables of faults: of a store that fails each request, and of one that fails each put."""
    import pyarrow as pa

    import tableformats as tf

    tf.write_table(pa.table({"id": [1]}), root / "written", format="delta")
    server = Server(fails=True)
    for folder in ("commits205", "written"):
        server.tell(f"upload {root / folder}")
    read, written = faults(server, False), faults(server, True)
    server.close()
    head = ["Fault", "Error", "Status", "requests", "seconds"]
    text = "A store that answers every request with a fault; the requests until the error include retries:\n\n"
    text += f"{markdown(head, read)}\n\nAppending to a table, in a store that answers every PUT with a fault:\n\n"
    return text + markdown(head, written)


def main() -> None:
    """Print a table of all cases, and write it where asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the figures into docs/measured/stores.md")
    arguments = parser.parse_args()
    server = Server()
    rows = []
    with tempfile.TemporaryDirectory() as directory:
        cases = tables(Path(directory))
        for folder in ("commits205", "checkpoint200", "old4500", "rows", "manifests50"):
            server.tell(f"upload {Path(directory) / folder}")
        for name, location, small, readers in cases:
            rows += measured(server, name, location, small, readers)
        server.close()
        failed = fault_text(Path(directory))
    head = ["Table", "Reader", "seconds", "of the best peer", "processor", "requests", "longest chain"]
    text = f"Measured {time.strftime('%Y-%m-%d')}, {machine()}. {versions()}\n\n{markdown(head, rows)}\n\n{failed}"
    print(text)
    if arguments.write:
        PAGE.write_text(document_with(PAGE.read_text("utf-8"), text), "utf-8")


if __name__ == "__main__":
    main()
