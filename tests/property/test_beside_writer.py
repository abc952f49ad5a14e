"""A reader beside a writer: while another process commits, compacts, checkpoints and cleans up, every read is some
committed version, or ends in a typed error after which a new try succeeds.

The writers are deltalake and PyIceberg. ``TABLEFORMATS_SECONDS`` sets how long each of them writes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import tableformats as tf
from tests.support.summary import CASES

SECONDS = float(os.environ.get("TABLEFORMATS_SECONDS", 4))
FRESH = 100
"""Tries at one read, each of which opens the table anew; a busy machine may let a fast writer win many times."""

DELTA = """
    from deltalake import DeltaTable, write_deltalake

    write_deltalake(root, rows(0))
    live = list(range(10))
    told(0, live)
    for i in turns():
        table = DeltaTable(root)
        if i % 7 == 3:
            table.create_checkpoint()
        elif i % 7 == 5:
            table.optimize.compact()
        elif i % 7 == 6:
            table.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
        elif i % 2:
            live = [x for x in live if x % 11 != i % 11]
            table.delete(f"id % 11 = {i % 11}")
        else:
            live += rows(i)["id"].to_pylist()
            write_deltalake(table, rows(i), mode="append")
        told(DeltaTable(root).version(), live)
"""

ICEBERG = """
    from pyiceberg.catalog.sql import SqlCatalog

    catalog = SqlCatalog("c", uri=f"sqlite:///{root}/c.db", warehouse=f"file://{root}")
    catalog.create_namespace("db")
    properties = {"write.metadata.delete-after-commit.enabled": "true", "write.metadata.previous-versions-max": "1"}
    table = catalog.create_table("db.t", rows(0).schema, location=f"file://{root}/t", properties=properties)
    live = []
    for i in turns():
        if i % 3 == 1 and live:
            gone = live[i % len(live)]
            live = [x for x in live if x != gone]
            table.delete(f"id = {gone}")
        else:
            live += rows(i)["id"].to_pylist()
            table.append(rows(i))
        told(table.current_snapshot().snapshot_id, live)
        if i % 5 == 4:
            old = sorted(table.metadata.snapshots, key=lambda s: s.timestamp_ms)[:-2]
            table.maintenance.expire_snapshots().by_ids([s.snapshot_id for s in old]).commit()
"""

PREAMBLE = """
    import json, sys, time
    import pyarrow as pa

    root, seconds = sys.argv[1], float(sys.argv[2])

    def rows(i):
        return pa.table({"id": pa.array(range(10 * i, 10 * i + 10), pa.int64())})

    def turns():
        until, i = time.monotonic() + seconds, 0
        while time.monotonic() < until:
            i += 1
            yield i

    def told(version, ids):
        print(json.dumps([version, sorted(ids)]), flush=True)
"""


def read(location: str) -> tuple[int | str, list[int]]:
    """Version and ids of one consistent read. A table may change under it; then the error says to try again."""
    for _ in range(FRESH):
        try:
            scan = tf.open_table(location).scan()
            found = sorted(scan.to_arrow()["id"].to_pylist())
        except tf.TableFormatsError as error:
            CASES["reads that had to be tried again"] += 1
            assert "again" in str(error), error
        else:
            CASES["reads beside a writer"] += 1
            return scan.snapshot.version, found
    raise AssertionError(f"no read came through in {FRESH} tries")


@pytest.mark.parametrize(("writer", "below"), [(DELTA, ""), (ICEBERG, "t")], ids=["deltalake", "pyiceberg"])
def test_every_read_is_a_committed_version(writer: str, below: str, tmp_path: Path) -> None:
    program = textwrap.dedent(PREAMBLE) + textwrap.dedent(writer)
    command = [sys.executable, "-c", program, str(tmp_path), str(SECONDS)]
    told = tmp_path / "told.jsonl"
    reads = []
    with told.open("w") as out, subprocess.Popen(command, stdout=out) as process:
        while process.poll() is None:
            if told.stat().st_size:
                reads.append(read(str(tmp_path / below)))
    assert process.returncode == 0
    committed = dict(map(json.loads, told.read_text().splitlines()))
    assert len({version for version, _ in reads}) > 3
    for version, found in reads:
        # Deltalake's clean-up makes commits of its own, which are not told.
        last = version if below else max(v for v in committed if v <= version)
        assert committed[last] == found, version
