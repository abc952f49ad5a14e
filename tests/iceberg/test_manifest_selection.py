"""Which manifests of a list are read, and what is counted of those that are not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tableformats_iceberg.manifests.manifest_list import DATA, DELETES, Manifest, ManifestList

from tableformats.plugin.report import ScanReport

NOTE = "the manifest list does not say how many files some of the skipped manifests have"


def row(path: str, added: int = 1, existing: int = 0, rows: tuple[int, int] = (10, 0), **more: Any) -> Manifest:
    fields: dict[str, Any] = dict.fromkeys(Manifest._fields, 0)
    fields |= {"path": path, "spec_id": 0, "added_snapshot_id": 7, "first_row_id": None}
    counts = {"added_files": added, "existing_files": existing, "added_rows": rows[0], "existing_rows": rows[1]}
    return Manifest(**{**fields, **counts, **more})


def selected(rows: list[Manifest], content: int = DATA, **options: Any) -> tuple[list[str], ScanReport]:
    report = ScanReport()
    found = ManifestList(rows).select(content, {}, report=report, **options)
    return [manifest.path for manifest in found], report


def test_live_files_and_content() -> None:
    rows = [
        row("a"),
        row("gone", 0, 0, deleted_files=3),
        row("old", 0, 2, (0, 5)),
        row("unknown", -1, -1, (-1, -1)),
        row("half", 0, -1),
        row("deletes", content=DELETES),
    ]
    assert selected(rows)[0] == ["a", "old", "unknown", "half"] and selected(rows, DELETES)[0] == ["deletes"]
    assert [one.has_live_files for one in rows] == [True, False, True, True, True, True]
    assert [one.live_files for one in rows] == [1, 0, 2, 0, 0, 1]
    report = selected(rows)[1]
    assert (report.manifests_total, report.manifests_skipped, report.manifests_uncounted) == (5, 1, 0)
    assert (report.files_total, report.files_skipped_with_manifests) == (0, 0)


def test_manifests_of_one_snapshot() -> None:
    rows = [row("a"), row("b", added_snapshot_id=8), row("c", added_snapshot_id=None), row("d", 0, 1)]
    paths, report = selected(rows, added_by=7)
    assert paths == ["a", "c", "d"] and report.manifests_total == 3


def skipped(rows: list[Manifest], added_alone: bool = False) -> ScanReport:
    report = ScanReport()
    ManifestList(rows)._count_skipped(np.arange(len(rows)), report, added_alone=added_alone)
    return report


@pytest.mark.parametrize(
    ("rows", "added_alone", "files", "uncounted", "records"),
    [
        ([], False, 0, 0, 0),
        ([row("a", 2, 3, (20, 30))], False, 5, 0, 50),
        ([row("a", 2, 3, (20, 30))], True, 2, 0, 20),
        ([row("a", 2, 3, (20, 30)), row("b", 1, 1, (1, 1))], False, 7, 0, 52),
        ([row("a", -1, 3, (20, 30))], False, 3, 1, 50),
        ([row("a", -1, 3, (20, 30))], True, 0, 1, 20),
        ([row("a", 2, -1, (20, 30))], False, 2, 1, 50),
        ([row("a", 2, -1, (20, 30))], True, 2, 0, 20),
        ([row("a", 2, 3, (-1, 30))], False, 5, 0, None),
        ([row("a", 2, 3, (20, -1))], False, 5, 0, None),
        ([row("a", 2, 3, (20, -1))], True, 2, 0, 20),
        ([row("a", 0, 0, (-1, -1))], False, 0, 0, 0),
        ([row("a", 0, 1, (-1, 3)), row("b", -1, -1)], True, 0, 1, 10),
        ([row("a", 1, 0, (0, 0))], False, 1, 0, 0),
    ],
)
def test_what_is_counted(
    rows: list[Manifest], added_alone: bool, files: int, uncounted: int, records: int | None
) -> None:
    report = skipped(rows, added_alone)
    assert (report.manifests_skipped, report.files_total) == (len(rows), files)
    assert (report.files_skipped_with_manifests, report.manifests_uncounted) == (files, uncounted)
    assert any(NOTE in note for note in report.notes) is bool(uncounted)
    assert report.rows_listed == records
