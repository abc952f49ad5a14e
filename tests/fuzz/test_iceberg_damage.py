"""Damaged metadata of whole tables: every file of a table in turn, at random places; only our own errors may come."""

from __future__ import annotations

import random
import shutil
from contextlib import suppress
from pathlib import Path

import pytest

import tableformats as tf
from tableformats.errors import UnsupportedFeatureError
from tableformats.plugin import ReadRequest
from tableformats.plugin.report import ScanReport
from tests.support.conformance import ROOT, needs_tables
from tests.support.examples import EVERY
from tests.support.iceberg_manifests import read_deletes

pytestmark = [pytest.mark.conformance, needs_tables]

FOLDER = ROOT / "iceberg" / "impala"
TABLES = [
    "hadoop_catalog/ice/iceberg_v2_delete_both_eq_and_pos",
    "hadoop_catalog/ice/iceberg_v2_delete_equality_partition_evolution",
    "hadoop_catalog/ice/iceberg_alltypes_part",
    "iceberg_v3/iceberg_v3_deletion_vectors",
    "iceberg_v3/test_default_part",
]
ROUNDS = 24 if EVERY else 4


def damage(data: bytes, source: random.Random) -> bytes:
    """Flip bits, cut the end off, or put bytes in."""
    if not data:
        return b"\xff"
    changed = bytearray(data)
    place = source.randrange(len(data))
    kind = source.random()
    if kind < 0.7:
        for _ in range(source.choice([1, 1, 4])):
            changed[source.randrange(len(data))] ^= 1 << source.randrange(8)
    elif kind < 0.85:
        del changed[place:]
    else:
        changed[place:place] = source.randbytes(source.randrange(1, 9))
    return bytes(changed)


def read_everything(folder: Path) -> None:
    table = tf.open_table(folder, format="iceberg", relocate=True)
    plan = table.scan().plan()
    snapshot = plan.scan.snapshot.format_snapshot
    read_deletes(plan)
    for name in ("entries", "files", "manifests", "metadata_log_entries", "partitions", "refs", "snapshots"):
        snapshot.inspect(name)
    if snapshot.version != -1:
        table.incremental_append_scan().plan()
        # The tables with equality deletes refuse their last changes by name.
        with suppress(UnsupportedFeatureError):
            table.changes(snapshot.version).plan()
    columns = tuple(path[-1] for path in snapshot.schema.leaves())
    for batch in snapshot.read(ReadRequest(columns, ScanReport())):
        assert batch.statistics is not None
        batch.statistics.bounds(columns, None)


@pytest.mark.parametrize("table", TABLES)
def test_damage_ends_in_a_typed_error_or_in_an_answer(table: str, tmp_path: Path) -> None:
    folder = tmp_path / "table"
    shutil.copytree(FOLDER / table, folder, copy_function=shutil.copyfile)
    for directory in (folder, *(p for p in folder.rglob("*") if p.is_dir())):
        directory.chmod(0o755)
    read_everything(folder)
    source = random.Random(table)
    refused = 0
    files = [
        p for p in sorted(folder.rglob("*")) if p.is_file() and (p.parent.name == "metadata" or "delete" in p.name)
    ]
    for file in files:
        whole = file.read_bytes()
        for _ in range(ROUNDS):
            file.write_bytes(damage(whole, source))
            try:
                read_everything(folder)
            except tf.TableFormatsError as error:
                assert str(error)
                refused += 1
        file.write_bytes(whole)
    assert refused > len(files) * ROUNDS // 8
