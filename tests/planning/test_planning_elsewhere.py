"""A plan whose parts were read by another process is the plan: what Spark's executors do, without Spark.

Scan and parts are pickled as for executors; whoever reads them has nothing else.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

import tableformats as tf
from tableformats.engines.spark.distributed.transport import Access, pack_parts, pack_scan, unpack_parts, unpack_scan
from tableformats.planning.handle import SnapshotHandle
from tableformats.planning.jobs import JobResult
from tableformats.planning.planner import plan_scan, prune_parts
from tableformats.planning.request import ScanRequest
from tableformats.plugin import MetadataPart
from tableformats.table.scan import Scan, ScanPlan

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
NAMES = [
    "tables/delta-evolved",
    "tables/iceberg-evolved",
    "tables_jvm/delta-v2-checkpoint",
    "tables_jvm/delta-deletion-vectors",
    "tables_jvm/iceberg-position-deletes",
    "tables_jvm/iceberg-equality-deletes",
]


class Elsewhere:
    """A reader of parts that takes what crosses a process's border and nothing else, each part on its own."""

    name = "elsewhere"

    def __init__(self) -> None:
        self.parts_read = 0

    def read(
        self, scan: Scan, keys: Sequence[pa.BinaryArray], parts: Sequence[tuple[int, MetadataPart]]
    ) -> Iterator[JobResult]:
        packed = pack_scan(scan), [pack_parts(scan, [part]) for part in reversed(parts)]
        for data in packed[1]:
            sent = unpack_scan(packed[0], Access())
            self.parts_read += 1
            # What was kept there stays there.
            yield from (replace(r, entries=[], grown=[]) for r in prune_parts(sent, keys, unpack_parts(sent, data)))


def opened(name: str) -> tf.Table:
    return tf.open_table(GOLDEN / name / "table", relocate="iceberg" in name)


@pytest.mark.parametrize("name", NAMES)
def test_the_plan_is_the_same(name: str) -> None:
    columns = opened(name).snapshot().schema.names
    elsewhere = Elsewhere()
    for filter in (None, f"`{columns[0]}` IS NOT NULL", f"`{columns[0]}` IS NULL"):
        plan, expected = ScanPlan.of(plan_scan(opened(name).scan(filter), elsewhere)), opened(name).scan(filter).plan()
        assert plan.files.to_pylist() == expected.files.to_pylist()
        assert plan.report.engine == "elsewhere"
        for counter in ("files_total", "files_planned", "rows_planned", "bytes_planned", "files_with_deletes"):
            assert getattr(plan.report, counter) == getattr(expected.report, counter), counter
    # Of Delta's parts those that add no keys go elsewhere: what checkpoints hold.
    assert elsewhere.parts_read or not ("iceberg" in name or "checkpoint" in name)


def test_an_error_of_a_part_is_the_error_of_the_plan(tmp_path: Path) -> None:
    place = tmp_path / "table"
    shutil.copytree(GOLDEN / "tables/iceberg-evolved/table", place)
    scan = tf.open_table(place, relocate=True).scan()
    for manifest in place.glob("metadata/*-m*.avro"):
        manifest.unlink()
    with pytest.raises(tf.CorruptMetadataError, match="missing") as caught:
        plan_scan(scan, Elsewhere())
    assert caught.value.path is not None and "-m" in caught.value.path


def test_what_was_sent_holds_no_table_and_no_cache() -> None:
    sent = unpack_scan(pack_scan(opened(NAMES[0]).scan()), Access())
    assert type(sent) is ScanRequest and type(sent.snapshot) is SnapshotHandle
    assert sent.snapshot.cache.budget_bytes == 0
