"""Find what makes a table slow to plan or to read, from its metadata alone: file sizes, deletes, the metadata itself.

Each finding is a figure, with advice if it is past a threshold. The thresholds are the constants below.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..display import grid, page
from .files import plan_of
from .text import bytes_text, count_text, percent_text

if TYPE_CHECKING:
    import pyarrow as pa

    from ..planning.handle import SnapshotHandle
    from ..plugin.report import ScanReport

__all__ = ["Finding", "health"]

TARGET_BYTES = 128_000_000
"""Size of a file that compaction would write, about Spark's ``spark.sql.files.maxPartitionBytes``."""
SMALL_BYTES = TARGET_BYTES // 4
"""Compaction merges files below this size."""
REWRITE_SHARE = 0.1
"""The share of files or rows from which a rewrite pays."""
LONG_LOG = 100
"""Commits since the last checkpoint; Delta writers write one every 10 to 100 commits."""
SMALL_MANIFEST = 100
"""Average number of files of a manifest below which merging manifests pays, if there are at least ten."""


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
    """

    subject: str
    figure: str
    advice: str | None = None


class Findings(list[Finding]):
    """Findings, which a notebook shows as a table."""

    def _repr_html_(self) -> str:
        rows = [(f.subject, f.figure, f.advice or "") for f in self]
        return page("Health", "", grid(["what", "figure", "advice"], rows))


def health(snapshot: SnapshotHandle) -> Findings:
    """The findings about ``snapshot``. No data file is opened. Raises the errors of planning."""
    from ..planning.public_files import public_files

    plan = plan_of(snapshot)
    files, report = public_files(plan), plan.report
    return Findings([*_sizes(files), *_deletes(files, report), *_counts(files), *_metadata(report)])


def _sizes(files: pa.Table) -> Iterator[Finding]:
    import pyarrow.compute as pc

    count = files.num_rows
    total = pc.sum(files["size_bytes"]).as_py() or 0
    yield Finding("files", f"{count_text(count)}, {bytes_text(total)}")
    if not count:
        return
    median = pc.quantile(files["size_bytes"], 0.5)[0].as_py()
    small = pc.sum(pc.less(files["size_bytes"], SMALL_BYTES)).as_py()
    yield Finding("median size of a file", bytes_text(int(median)))
    after = _compacted(files)
    yield Finding(
        f"files below {bytes_text(SMALL_BYTES)}",
        _share(small, count),
        f"compact: {count_text(after)} files would do" if after < count * (1 - REWRITE_SHARE) else None,
    )


def _compacted(files: pa.Table) -> int:
    """The number of files after those below SMALL_BYTES are merged within their partitions."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    small = files.filter(pc.less(files["size_bytes"], SMALL_BYTES))
    keys = [small["spec_id"], *small["partition"].combine_chunks().flatten()]
    names = [f"key{i}" for i in range(len(keys))]
    grouped = pa.table([*keys, small["size_bytes"]], [*names, "bytes"]).group_by(names)
    sizes = grouped.aggregate([("bytes", "sum")])["bytes_sum"].to_numpy()
    return int(np.ceil(sizes / TARGET_BYTES).clip(min=1).sum()) + files.num_rows - small.num_rows


def _deletes(files: pa.Table, report: ScanReport) -> Iterator[Finding]:
    import pyarrow.compute as pc

    some, planned = report.files_with_deletes, report.files_planned
    yield Finding(
        "files with deletes",
        _share(some, planned),
        "rewrite them, so that readers need not merge" if some and some >= REWRITE_SHARE * planned else None,
    )
    vectors = pc.list_flatten(files["deletes"])
    deleted = pc.sum(pc.struct_field(vectors, "cardinality")).as_py() or 0
    rows = pc.sum(files["record_count"]).as_py() or 0
    if deleted:
        yield Finding(
            "rows deleted by position",
            _share(deleted, rows),
            "rewrite: these rows are still stored" if deleted >= REWRITE_SHARE * rows else None,
        )


def _counts(files: pa.Table) -> Iterator[Finding]:
    unknown = files["record_count"].null_count
    if unknown:
        yield Finding("files that do not say their rows", count_text(unknown), "rewrite them with statistics")


def _metadata(report: ScanReport) -> Iterator[Finding]:
    read = f"{count_text(report.metadata_files_read)} files, {bytes_text(report.metadata_bytes_read)}"
    yield Finding("metadata read", read)
    commits, manifests = report.log_files_read, report.manifests_total
    if commits:
        advice = "write a checkpoint" if commits > LONG_LOG else None
        yield Finding("commits behind the checkpoint", count_text(commits), advice)
    if manifests:
        many = manifests >= 10 and report.files_total < SMALL_MANIFEST * manifests
        yield Finding("manifests", count_text(manifests), "merge them" if many else None)
    for note in report.notes:
        yield Finding("note", note)


def _share(part: int, whole: int) -> str:
    share = percent_text(part, whole)
    return f"{count_text(part)} ({share})" if share else count_text(part)
