"""Find what makes a table slow to plan or to read, from its metadata alone: file sizes, deletes, the metadata itself.

Each finding is a figure. Those of :data:`CHECKS` have a value and a threshold, and give advice where the value is above
it, so that a pipeline can fail on them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ..dataclass import dataclass
from ..display import ShownList, grid, page
from .files import partitions_of, plan_of
from .text import bytes_text, count_text, counted, percent_text

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from ..planning.handle import SnapshotHandle
    from ..planning.plan import FilePlan
    from ..plugin.report import ScanReport

__all__ = ["CHECKS", "SMALL_BYTES", "Finding", "Findings", "compacted_count", "health", "health_of", "is_small"]

TARGET_BYTES = 128_000_000
"""Size of a file that compaction would write, about Spark's ``spark.sql.files.maxPartitionBytes``."""
SMALL_BYTES = TARGET_BYTES // 4
"""Compaction merges files below this size."""
CHECKS = {
    "small-files": 0.1,
    "files-with-deletes": 0.1,
    "deleted-rows": 0.1,
    "uncounted-files": 0.0,
    "commits": 100.0,
    "manifests": 10.0,
}
"""The checks, and the value above which each gives advice.

``small-files``: the share of files that compaction would save. ``files-with-deletes`` and ``deleted-rows``: shares of
all files and rows. ``uncounted-files``: files that do not say how many rows they have. ``commits``: commits behind the
checkpoint, of which Delta writers write one every 10 to 100 commits. ``manifests``: manifests for 1,000 files, if there
are at least ten.
"""
_FEW_MANIFESTS = 10


@dataclass(frozen=True)
class Finding:
    """One figure of a table's health.

    Attributes
    ----------
    subject : str
        What the figure is.
    figure : str
        The figure as text.
    advice : str or None
        What to do about it; None if the figure is fine.
    check : str or None
        Which of :data:`CHECKS` it is; None: a figure to know.
    value, threshold : float or None
        What was compared. There is advice where the value is above the threshold.
    """

    subject: str
    figure: str
    advice: str | None = None
    check: str | None = None
    value: float | None = None
    threshold: float | None = None

    def __repr__(self) -> str:
        advice = f" -> {self.advice}" if self.advice else ""
        return f"Finding({self.subject}: {self.figure}{advice})"

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)


class Findings(ShownList[Finding]):
    """Findings, which a notebook shows as a table."""

    @property
    def failed(self) -> list[str]:
        """The names of the checks that give advice, in order."""
        return [finding.check for finding in self if finding.check is not None and finding.advice]

    def _repr_html_(self) -> str:
        rows = [(f.subject, f.figure, f.advice or "") for f in self]
        failed = len(self.failed)
        about = f"{failed or 'no'} {'check gives' if failed < 2 else 'checks give'} advice"
        return page("Health", about, grid(["what", "figure", "advice"], rows))


def health(snapshot: SnapshotHandle, thresholds: Mapping[str, float] | None = None) -> Findings:
    """The findings about ``snapshot``. No data file is opened.

    Parameters
    ----------
    snapshot : SnapshotHandle
    thresholds : mapping, optional
        Other thresholds than those of :data:`CHECKS`, by name.

    Raises
    ------
    ValueError
        There is no such check.
    CorruptMetadataError, UnsupportedFeatureError
        As the metadata is read.
    """
    return health_of(plan_of(snapshot), thresholds)


def health_of(plan: FilePlan, thresholds: Mapping[str, float] | None = None) -> Findings:
    """The findings about a snapshot, of which ``plan`` has all files. Raises as :func:`health`."""
    from ..planning.public_files import public_files

    limits = {**CHECKS, **(thresholds or {})}
    unknown = sorted(limits.keys() - CHECKS.keys())
    if unknown:
        raise ValueError(f"there is no check {unknown[0]!r}; the checks are {', '.join(CHECKS)}")
    return _Examination(public_files(plan), plan.report, limits).findings()


class _Examination:
    """Makes the findings of the files of one plan."""

    def __init__(self, files: pa.Table, report: ScanReport, thresholds: Mapping[str, float]) -> None:
        self._files = files
        self._report = report
        self._thresholds = thresholds

    def findings(self) -> Findings:
        return Findings([*self._sizes(), *self._deletes(), *self._counts(), *self._metadata()])

    def _checked(self, check: str, subject: str, figure: str, value: float, advice: str) -> Finding:
        threshold = float(self._thresholds[check])
        return Finding(subject, figure, advice if value > threshold else None, check, value, threshold)

    def _sizes(self) -> Iterator[Finding]:
        from ..columnar import compute as pc

        files = self._files
        count = files.num_rows
        total = pc.sum(files["size_bytes"]).as_py() or 0
        yield Finding("files", f"{count_text(count)}, {bytes_text(total)}")
        if not count:
            return
        median = pc.quantile(files["size_bytes"], 0.5)[0].as_py()
        small = int(is_small(files).sum())
        yield Finding("median size of a file", bytes_text(int(median)))
        after = compacted_count(files)
        subject, figure = f"files below {bytes_text(SMALL_BYTES)}", _share(small, count)
        advice = f"compact: {count_text(after)} {'file' if after == 1 else 'files'} would do"
        yield self._checked("small-files", subject, figure, 1 - after / count, advice)

    def _deletes(self) -> Iterator[Finding]:
        from ..columnar import compute as pc

        some, planned = self._report.files_with_deletes, self._report.files_planned
        advice = "rewrite them, so that readers need not merge"
        share = some / planned if planned else 0.0
        yield self._checked("files-with-deletes", "files with deletes", _share(some, planned), share, advice)
        vectors = pc.list_flatten(self._files["deletes"])
        deleted = pc.sum(pc.struct_field(vectors, "cardinality")).as_py() or 0
        rows = pc.sum(self._files["record_count"]).as_py() or 0
        if deleted:
            advice = "rewrite: these rows are still stored"
            share = deleted / rows if rows else 1.0
            yield self._checked("deleted-rows", "rows deleted by position", _share(deleted, rows), share, advice)

    def _counts(self) -> Iterator[Finding]:
        unknown = self._files["record_count"].null_count
        if unknown:
            subject, advice = "files that do not say their rows", "rewrite them with statistics"
            yield self._checked("uncounted-files", subject, count_text(unknown), unknown, advice)

    def _metadata(self) -> Iterator[Finding]:
        report = self._report
        read = f"{counted(report.metadata_files_read, 'file')}, {bytes_text(report.metadata_bytes_read)}"
        yield Finding("metadata read", read)
        commits, manifests = report.log_files_read, report.manifests_total
        if commits:
            subject, advice = "commits behind the checkpoint", "write a checkpoint"
            yield self._checked("commits", subject, count_text(commits), commits, advice)
        if manifests:
            per_file = 1000 * manifests / max(report.files_total, 1) if manifests >= _FEW_MANIFESTS else 0.0
            yield self._checked("manifests", "manifests", count_text(manifests), per_file, "merge them")
        for note in report.notes:
            yield Finding("note", note)


def is_small(files: pa.Table) -> np.ndarray:
    """bool[n]: the files that compaction merges."""
    from ..columnar.arrays import to_numpy

    found: np.ndarray = to_numpy(files["size_bytes"]) < SMALL_BYTES
    return found


def compacted_count(files: pa.Table) -> int:
    """The number of files after those below SMALL_BYTES are merged within their partitions."""
    import numpy as np

    from ..columnar import compute as pc
    from ..columnar.arrays import to_arrow, to_numpy

    small = pc.filter(files, to_arrow(is_small(files)))
    sizes = np.bincount(partitions_of(small)[0], weights=to_numpy(small["size_bytes"]))
    return int(np.ceil(sizes / TARGET_BYTES).clip(min=1).sum()) + files.num_rows - small.num_rows


def _share(part: int, whole: int) -> str:
    share = percent_text(part, whole)
    return f"{count_text(part)} ({share})" if share else count_text(part)
