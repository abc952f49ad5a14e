"""Mutants of the listing of orphans: a file that a table needs is said to be left over."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_TESTS = ("table/test_orphan_files.py",)

MUTANTS = (
    Mutant(
        "orphans-forget-tombstones",
        "delta:_of_file",
        'for kind in ("add", "remove"):',
        'for kind in ("add",):',
        "an older version's files are listed as orphans once its commits were cleaned",
        _TESTS,
    ),
    Mutant(
        "orphans-forget-change-data",
        "delta:_of_lines",
        "changes += actions.changes",
        "changes += []",
        "change data files are listed as orphans",
        _TESTS,
    ),
    Mutant(
        "orphans-forget-deletion-vectors",
        "delta:_named",
        "if found.num_rows:",
        "if False:",
        "files of deletion vectors are listed as orphans, and deleted rows come back",
        _TESTS,
    ),
    Mutant(
        "orphans-forget-snapshots-that-are-not-current",
        "iceberg:kept_files",
        "for snapshot in metadata.snapshots.values()",
        "for snapshot in metadata.ancestors(metadata.current_snapshot_id)",
        "files of branches are listed as orphans",
        _TESTS,
    ),
    Mutant(
        "orphans-forget-statistics",
        "iceberg:_of_metadata",
        'for name in ("statistics", "partition-statistics"):',
        "for name in ():",
        "statistics files are listed as orphans",
        _TESTS,
    ),
    Mutant(
        "orphans-are-compared-by-path-alone",
        "core:orphan_files",
        "_unnamed(old, kept.named, directory)",
        '_unnamed(old, kept.named, "")',
        "behind a link, or another spelling of the location, every file is listed as an orphan (iceberg#4652)",
        _TESTS,
    ),
    Mutant(
        "orphans-are-young",
        "core:orphan_files",
        "now_ms - kept.least_age_ms",
        "now_ms",
        "files of a commit that is on its way are listed as orphans (iceberg#4194)",
        _TESTS,
    ),
)
