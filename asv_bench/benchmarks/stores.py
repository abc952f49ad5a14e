"""Open and plan tables in a store that takes 40 ms for each request: ours beside other readers, in one run.

    python -m benchmarks.stores

The store is the stub of the tests (``tests/support/s3_stub.py``), in a process of its own. Each reader plans cold, in a
process of its own that has planned a small local table before, five times. The table has the median time, and the
requests of one run.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
DELAY = 0.04
ROUNDS = 5

SERVER = """
import json, sys
from pathlib import Path
from tests.support.s3_stub import S3Stub
with S3Stub(delay=0.0) as stub:
    print(json.dumps(stub.options), flush=True)
    for line in sys.stdin:
        command, _, argument = line.strip().partition(" ")
        if command == "upload":
            stub.upload(Path(argument), Path(argument).name)
        elif command == "start":
            stub.requests.clear()
            stub.delay = float(argument)
        elif command == "stop":
            stub.delay = 0.0
            print(json.dumps([len(stub.requests), stub.longest_chain]), flush=True)
            continue
        print("ok", flush=True)
"""

READERS = {
    "delta": {
        "tableformats": "import tableformats as tf; "
        "n = len(tf.open_table(location, storage_options=options).scan().plan())",
        "deltalake": "import deltalake; n = len(deltalake.DeltaTable(location, storage_options=options).file_uris())",
        "polars": "import polars as pl; n = len(pl.scan_delta(location, storage_options=options).explain())",
    },
    "iceberg": {
        "tableformats": "import tableformats as tf; "
        "n = len(tf.open_table(location, storage_options=options, relocate=True).scan().plan())",
    },
}

PROGRAM = """
import json, sys, time
location, small, stored, code = json.loads(sys.argv[1])
location, remote, options = small, location, None
exec(code)  # of a small local table: every library loads what it loads when it is first used
if "tableformats" in code:
    import obstore.store
location, options = remote, stored
start = time.perf_counter()
exec(code)
print(time.perf_counter() - start)
"""


class Server:
    """The stub in another process."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", SERVER], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
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
    """A log of ``count`` commits, with a checkpoint after ``checkpoint_at`` of them."""
    import deltalake

    from tests.support.delta_log import DeltaLog, add

    log = DeltaLog(root).start()
    for version in range(1, count):
        if version == checkpoint_at:
            deltalake.DeltaTable(root).create_checkpoint()
        log.commit(version, add(f"f{version}.parquet", stats='{"numRecords": 1}'))


def write_manifests(root: Path, count: int) -> Path:
    """An Iceberg table of ``count`` manifests; its directory."""
    import pyarrow as pa
    from pyiceberg.catalog.memory import InMemoryCatalog

    catalog = InMemoryCatalog("local", warehouse=str(root))
    catalog.create_namespace("n")
    schema = pa.schema([("x", pa.int64())])
    table = catalog.create_table("n.t", schema, properties={"commit.manifest-merge.enabled": "false"})
    with table.transaction() as transaction:
        for i in range(count):
            transaction.append(pa.table({"x": [i]}))
    return Path(table.location().removeprefix("file://"))


def measure(server: Server, location: str, small: Path, code: str) -> tuple[float, int, int]:
    """Median seconds, and the requests and the longest chain of the last run, as the server saw them."""
    argument = json.dumps([location, str(small), server.options, code])
    seconds = []
    for _ in range(ROUNDS):
        server.tell(f"start {DELAY}")
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, argument], cwd=ROOT, capture_output=True, text=True, check=False
        )
        requests, chain = server.tell("stop")
        if done.returncode:
            raise RuntimeError(done.stderr.strip().splitlines()[-1])
        seconds.append(float(done.stdout.strip().splitlines()[-1]))
        time.sleep(0.1)
    return statistics.median(seconds), requests, chain


def main() -> None:
    """Print a table of all cases."""
    server = Server()
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        write_commits(root / "commits205", 205)
        write_commits(root / "checkpoint200", 201, checkpoint_at=190)
        iceberg = write_manifests(root / "warehouse", 50)
        write_commits(root / "small", 12, checkpoint_at=10)
        small = {"delta": root / "small", "iceberg": iceberg}
        cases = [("delta", root / "commits205"), ("delta", root / "checkpoint200"), ("iceberg", iceberg)]
        print("| Table | Reader | seconds | requests | longest chain |\n|-|-|--:|--:|--:|")
        for kind, folder in cases:
            server.tell(f"upload {folder}")
            for reader, code in READERS[kind].items():
                try:
                    found = measure(server, f"s3://bucket/{folder.name}", small[kind], code)
                    print(f"| {folder.name} | {reader} | {found[0]:.2f} | {found[1]} | {found[2]} |", flush=True)
                except RuntimeError as error:
                    print(f"| {folder.name} | {reader} | {error} | | |", flush=True)
    server.close()


if __name__ == "__main__":
    main()
