"""Tests of a snapshot's files: that they are there, once each, with their sizes, counts and row groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

from ..io.storage import Storage
from ..plugin import FormatSnapshot, FormatTable
from ..table.table import Snapshot
from .findings import Findings
from .fixtures import ConformanceFixtures, read_parquet
from .live_files import LiveFile

__all__ = ["FileChecks"]


class FileChecks(ConformanceFixtures):
    """Part of :class:`FormatConformance`."""

    def test_every_file_is_there_once(
        self, opened: tuple[FormatTable, Storage], current_snapshot: Snapshot, live_files: list[LiveFile]
    ) -> None:
        """Paths of a plan are absolute, name files that exist, and stand there once; sizes are those of the files."""
        storage = opened[1]
        plan = current_snapshot.scan().plan()
        findings = Findings("a plan names every file once, by an absolute path, with its size")
        findings.same_items("paths of the plan", plan.file_uris(), [file.absolute for file in live_files])
        for path, times in Counter(plan.file_uris()).items():
            if times > 1:
                findings.add(path, f"it {times} times in the plan", "it once")
        for file in live_files:
            if "://" not in file.absolute and not Path(file.absolute).is_absolute():
                findings.add(f"resolve_paths() of {file.path}", file.absolute, "an absolute path")
            elif not storage.is_file(file.absolute):
                findings.add(file.absolute, "no such file", "the file that the batch names")
            else:
                with storage.open_file(file.absolute) as source:
                    findings.equal(f"{file.path}, size_bytes", file.value("size_bytes"), source.size())
        findings.check()

    def test_the_files_are_the_expected_ones(
        self,
        opened: tuple[FormatTable, Storage],
        snapshot: FormatSnapshot,
        current_snapshot: Snapshot,
        expected_files: Iterable[str | Path] | None,
    ) -> None:
        """No file of the fixture ``expected_files`` is missing, and there are no others."""
        if expected_files is None:
            pytest.skip("supply the fixture expected_files")
        storage = opened[1]
        wanted = [storage.resolve_one(str(path)) for path in expected_files]
        findings = Findings("the plan has the files of the fixture expected_files")
        findings.same_items("files of the plan", current_snapshot.scan().plan().file_uris(), wanted)
        findings.check()

    def test_counts_of_rows_are_those_of_the_files(
        self, current_snapshot: Snapshot, live_files: list[LiveFile]
    ) -> None:
        """``record_count`` is the number of physical rows, wherever it is given."""
        findings = Findings("record counts are the physical rows of the files")
        for file, data in read_parquet(live_files, current_snapshot):
            for name, count in file.record_counts.items():
                if count is not None:
                    findings.equal(f"{file.path}, record_count by {name}", count, data.num_rows)
        findings.check()

    def test_split_offsets_are_row_groups(self, current_snapshot: Snapshot, live_files: list[LiveFile]) -> None:
        """``split_offsets`` ascend and are offsets at which row groups begin."""
        findings = Findings("split_offsets are the offsets, in bytes, at which row groups begin")
        for file, data in read_parquet(live_files, current_snapshot):
            offsets = file.value("split_offsets") or []
            starts = data.row_group_starts
            if offsets != sorted(set(offsets)) or not set(offsets) <= set(starts):
                findings.add(f"{file.path}, split_offsets", offsets, f"some of {starts}, ascending")
        findings.check()
