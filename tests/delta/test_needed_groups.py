"""Which row groups of a checkpoint file are read, and what is counted of those that are not."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow.parquet as pq
import pytest
from tableformats_delta.checkpoints.checkpoint_files import CheckpointFile, CheckpointSplit, expand
from tableformats_delta.checkpoints.row_group_filter import SkippedRowGroup
from tableformats_delta.log.listing import list_log

import tableformats as tf
from tableformats.io.storage import Storage
from tableformats.plugin.report import ScanReport
from tests.support.delta_log import DeltaLog, add, first_actions


@pytest.fixture
def file(tmp_path: Path) -> CheckpointFile:
    """A checkpoint of seven rows in four row groups."""
    log = DeltaLog(tmp_path / "t").checkpoint(
        f"{0:020d}.checkpoint.parquet", *first_actions(), *(add(name) for name in "abcde")
    )
    [path] = log.directory.iterdir()
    pq.write_table(pq.read_table(path), path, row_group_size=2)
    storage = Storage(log.root)
    [found] = expand(storage, list_log(storage).checkpoints[0], tf.MetadataCache(0))
    return found


def judging(*skipped: tuple[int, int], can_skip: bool = True, has_bounds: bool = True) -> Any:
    found = [SkippedRowGroup(number, adds) for number, adds in skipped]
    return SimpleNamespace(can_skip=can_skip, has_bounds_in=lambda add: has_bounds, skipped=lambda footer, add: found)


ALL = [(0, 2), (1, 2), (2, 2), (3, 1)]


@pytest.mark.parametrize(
    ("groups", "split", "needed", "total", "skipped", "files"),
    [
        (judging(), None, ALL, 4, 0, 0),
        (judging((1, 2)), None, [ALL[0], ALL[2], ALL[3]], 4, 1, 2),
        (judging((1, 2), (3, 1)), None, [ALL[0], ALL[2]], 4, 2, 3),
        (judging((1, 2), can_skip=False), None, ALL, 0, 0, 0),
        (judging((1, 2), has_bounds=False), None, ALL, 4, 0, 0),
        (judging((1, 2)), CheckpointSplit(0, 2), [ALL[0]], 2, 1, 2),
        (judging((1, 2)), CheckpointSplit(1, 2), ALL[2:], 2, 0, 0),
        (judging((2, 2)), CheckpointSplit(1, 2), [ALL[3]], 2, 1, 2),
        (judging((1, 2), can_skip=False), CheckpointSplit(1, 2), ALL[2:], 0, 0, 0),
    ],
)
@pytest.mark.parametrize("has_newer", [False, True])
def test_needed_groups(
    file: CheckpointFile,
    groups: Any,
    split: CheckpointSplit | None,
    needed: list[tuple[int, int]],
    total: int,
    skipped: int,
    files: int,
    has_newer: bool,
) -> None:
    report = ScanReport()
    assert file.needed_groups(groups, report, has_newer, split) == needed
    assert (report.row_groups_total, report.row_groups_skipped) == (total, skipped)
    assert (report.files_total, report.files_skipped_with_manifests) == (files, files)
    assert report.rows_listed == (None if files else 0)
    assert any("also those that newer commits removed" in note for note in report.notes) is (has_newer and files > 0)
