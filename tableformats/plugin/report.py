"""What planning did: the funnel from metadata files to planned files, and the time of each stage.

A plugin counts what it reads, the core counts what it drops; ``plan.explain()`` prints it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import field, fields

from ..dataclass import dataclass
from ..display import bars, page, shortened

__all__ = ["ScanReport"]


def _none_planned() -> int:
    return 0


def _not_counted() -> None:
    return None


@dataclass
class ScanReport:
    """Counters of one plan.

    Invariant: ``files_total = files_skipped_with_manifests + files_dropped_by_partition + files_dropped_by_bounds
    + files_planned`` (before ``limit``). Bytes are of data files, rows are physical. Of files that were skipped unread,
    with their manifest or row group, nobody knows the bytes, and the rows only where the manifest list counts them.
    Where counting rows means reading statistics, :attr:`rows_planned` reads those of the planned files when it is
    asked, and :attr:`rows_total` those of all files of a table that is not large (see :attr:`count_total`).

    >>> report = tf.open_table("events").plan("day = 2").report
    >>> report.files_total, report.files_dropped_by_partition, report.rows_planned
    (2, 1, 3)
    """

    format: str = ""
    version: int = -1
    filter: str | None = None
    engine: str | None = None
    """What read the parts of the metadata, where it was not this process alone."""
    metadata_files_read: int = 0
    """Log files, checkpoints, manifest lists and manifests that the plan was made from, in memory already or not."""
    metadata_bytes_read: int = 0
    log_files_read: int = 0
    checkpoint_files_read: int = 0
    manifests_total: int = 0
    manifests_skipped: int = 0
    manifests_uncounted: int = 0
    """Of the skipped manifests, those whose files the manifest list does not count. :attr:`files_total` lacks them."""
    delete_manifests_total: int = 0
    """Manifests of delete files, and those of them that cannot apply to any planned file."""
    delete_manifests_skipped: int = 0
    row_groups_total: int = 0
    """Row groups of checkpoints, and those of them whose footers showed that no file of theirs is needed."""
    row_groups_skipped: int = 0
    requests: int = 0
    """Requests that planning sent to the store, without retries, and the bytes of their answers. Local files count
    none. Those of opening the table and its snapshot are :attr:`opening_requests`; plans that are made at the same time
    count together."""
    request_bytes: int = 0
    longest_chain: int = 0
    """Of these requests, the most that had to wait for each other's answers."""
    opening_requests: int = 0
    """Requests that opening the table and choosing its version had sent before, and the bytes of their answers."""
    opening_bytes: int = 0
    files_total: int = 0
    files_skipped_with_manifests: int = 0
    files_dropped_by_partition: int = 0
    files_dropped_by_bounds: int = 0
    files_kept_for_nan: int = 0
    """Of the files that bounds were compared for, those that match only if they have a NaN that nobody counted."""
    files_planned: int = 0
    files_fully_matched: int = 0
    files_with_deletes: int = 0
    delete_files: int = 0
    bytes_listed: int = 0
    """Bytes of the files that were looked at: of all files but those that were skipped with their manifests."""
    bytes_planned: int = 0
    rows_listed: int | None = 0
    """Rows of all files, by the metadata that was read; None: it does not say, or only in statistics."""
    seconds: dict[str, float] = field(default_factory=dict)
    """Time by stage, summed over threads: metadata, reconcile, partitions, bounds, deletes, paths; ``total`` is the
    wall time of all."""
    notes: list[str] = field(default_factory=list)
    """Sentences for people: what could not be pruned and why, what was unusual in the table."""

    count_planned: Callable[[], int | None] = field(default=_none_planned, repr=False, compare=False)
    """Rows of the planned files; set by the plan, may read statistics."""
    count_total: Callable[[], int | None] = field(default=_not_counted, repr=False, compare=False)
    """Rows of all files of the table, None where that is not known; set by the plan where few files have to be counted,
    may read statistics."""

    def __repr__(self) -> str:
        files = f"{self.files_planned:,} of {self.files_total:,} files"
        total = "" if self.bytes_total is None else f" of {self.bytes_total:,}"
        filter = None if self.filter is None else shortened(self.filter, 200)
        return f"ScanReport({files}, {self.bytes_planned:,}{total} bytes, filter={filter!r})"

    @property
    def group_name(self) -> str | None:
        """What files are skipped with: ``manifests`` or ``row groups`` (of a checkpoint); None: there are neither."""
        return "manifests" if self.manifests_total else "row groups" if self.row_groups_total else None

    @property
    def funnel(self) -> dict[str, int]:
        """The files of each stage, by its name: ``all files`` is the sum of the others.

        >>> tf.open_table("events").plan("day = 2").report.funnel["dropped by partition"]
        1
        """
        group = self.group_name
        dropped = {} if group is None else {f"skipped with their {group}": self.files_skipped_with_manifests}
        dropped["dropped by partition"] = self.files_dropped_by_partition
        dropped["dropped by bounds"] = self.files_dropped_by_bounds
        by_limit = self.files_total - sum(dropped.values()) - self.files_planned
        if by_limit:
            dropped["not needed for the limit"] = by_limit
        return {"all files": self.files_total, **dropped, "planned": self.files_planned}

    def funnel_html(self) -> str:
        """The files of each stage as bars, in HTML."""
        total = self.files_total
        rows = (
            (stage, n, f"{n:,}  ({100 * n / max(total, 1):.1f} %)", stage == "planned")
            for stage, n in self.funnel.items()
        )
        return bars(rows, total)

    def _repr_html_(self) -> str:
        filter = "no filter" if self.filter is None else self.filter
        return page("ScanReport", f"{self.format}, version {self.version}, {filter}", self.funnel_html())

    @property
    def rows_planned(self) -> int | None:
        """Rows of the planned files; None: some file does not say. Raises as planning does."""
        return self.count_planned()

    @property
    def is_all_listed(self) -> bool:
        """Whether all files were looked at. If not, :attr:`bytes_listed` is of some files alone."""
        return not self.files_skipped_with_manifests and not self.manifests_uncounted

    @property
    def bytes_total(self) -> int | None:
        """Bytes of all files; None: some were skipped with their manifests, which alone know."""
        return self.bytes_listed if self.is_all_listed else None

    @property
    def rows_total(self) -> int | None:
        """Rows of all files; None: some file does not say, or was dropped and not counted."""
        if self.rows_listed is None and self.is_all_listed and self.files_planned == self.files_total:
            return self.rows_planned
        if self.rows_listed is None:
            self.rows_listed = self.count_total()
        return self.rows_listed

    @property
    def counts_total(self) -> bool:
        """Whether :attr:`rows_total` is None because some file does not say, and not because counting would take long:
        of a large table the rows of dropped files are not counted."""
        return self.count_total is not _not_counted

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

    def count_rows(self, rows: int | None) -> None:
        """``rows`` more are listed. None: rows that are not known."""
        self.rows_listed = None if rows is None or self.rows_listed is None else self.rows_listed + rows

    def count_metadata(self, size_bytes: int) -> None:
        """One more metadata file of ``size_bytes`` was read."""
        self.metadata_files_read += 1
        self.metadata_bytes_read += size_bytes

    def add(self, other: ScanReport) -> None:
        """Add the counters, times and notes of a part of the work that was done on another thread."""
        mine, others = self.__dict__, other.__dict__
        for name in _COUNTERS:
            mine[name] += others[name]
        self.count_rows(other.rows_listed)
        for name, seconds in other.seconds.items():
            self.seconds[name] = self.seconds.get(name, 0.0) + seconds
        for text in other.notes:
            self.note(text)

    def as_dict(self) -> dict[str, object]:
        """The counters as plain values, for JSON; counts the planned rows, and raises as :attr:`rows_planned` does.

        >>> tf.open_table("events").plan("day = 2").report.as_dict()["files_planned"]
        1
        """
        hidden = ("rows_listed", "count_planned", "count_total")
        counters = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in hidden}
        counters["seconds"], counters["notes"] = dict(self.seconds), list(self.notes)
        totals = {"bytes_total": self.bytes_total, "rows_total": self.rows_total, "rows_planned": self.rows_planned}
        return {**counters, **totals}


_COUNTERS = tuple(f.name for f in fields(ScanReport) if f.default == 0 and f.name != "rows_listed")
