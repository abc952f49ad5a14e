"""What planning did: the funnel from metadata files to planned files, and the time of each stage.

A plugin counts what it reads, the core counts what it drops; ``plan.explain()`` prints it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

__all__ = ["ScanReport"]


@dataclass
class ScanReport:
    """Counters of one plan.

    Invariant: ``files_total = files_skipped_with_manifests + files_dropped_by_partition + files_dropped_by_bounds
    + files_planned`` (before ``limit``). Bytes are of data files; rows are physical (None: some file does not say);
    files that were skipped unread, with their manifest or row group, count in neither.
    """

    format: str = ""
    version: int = -1
    filter: str | None = None
    metadata_files_read: int = 0
    """Log files, checkpoints, manifest lists and manifests that the plan was made from, in memory already or not."""
    metadata_bytes_read: int = 0
    log_files_read: int = 0
    checkpoint_files_read: int = 0
    manifests_total: int = 0
    manifests_skipped: int = 0
    row_groups_total: int = 0
    """Row groups of checkpoints, and those of them whose footers showed that no file of theirs is needed."""
    row_groups_skipped: int = 0
    files_total: int = 0
    files_skipped_with_manifests: int = 0
    files_dropped_by_partition: int = 0
    files_dropped_by_bounds: int = 0
    files_planned: int = 0
    files_fully_matched: int = 0
    files_with_deletes: int = 0
    delete_files: int = 0
    bytes_total: int = 0
    bytes_planned: int = 0
    rows_total: int | None = 0
    rows_planned: int | None = 0
    seconds: dict[str, float] = field(default_factory=dict)
    """Wall time by stage: metadata, reconcile, partitions, bounds, deletes, paths; ``total`` is all of it."""
    notes: list[str] = field(default_factory=list)
    """Sentences for people: what could not be pruned and why, what was unusual in the table."""

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add the time of the block to ``seconds[name]``."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start

    def note(self, text: str) -> None:
        """Add a sentence once."""
        if text not in self.notes:
            self.notes.append(text)

    def count_metadata(self, size_bytes: int) -> None:
        """One more metadata file of ``size_bytes`` was read."""
        self.metadata_files_read += 1
        self.metadata_bytes_read += size_bytes

    def add_metadata(self, other: ScanReport) -> None:
        """Add the metadata counters and notes of a part of the work that was done on another thread."""
        self.metadata_files_read += other.metadata_files_read
        self.metadata_bytes_read += other.metadata_bytes_read
        for text in other.notes:
            self.note(text)

    def as_dict(self) -> dict[str, Any]:
        """The counters as plain values, for JSON."""
        return asdict(self)
