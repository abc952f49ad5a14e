"""What notebooks show of a table, a snapshot, a scan and a plan.

The figures are those of the objects. A table, a snapshot or a scan is shown without planning it, so that showing it
costs nothing; what a plan shows does not read metadata again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..display import facts, grid, page
from .text import bytes_text, count_text, counted, location_text, time_text

if TYPE_CHECKING:
    from ..planning.handle import SnapshotHandle
    from ..planning.plan import FilePlan
    from ..planning.request import ScanRequest
    from ..plugin.report import ScanReport

__all__ = ["COLUMN_NAMES", "column_rows", "plan_html", "scan_html", "snapshot_html"]


COLUMN_NAMES = ("column", "type", "nullable", "comment")
"""The heads of :func:`column_rows`."""


def snapshot_html(snapshot: SnapshotHandle, title: str = "Snapshot") -> str:
    """A snapshot: where and when, its partitioning and its columns."""
    columns = grid(COLUMN_NAMES, column_rows(snapshot))
    return page(title, location_text(snapshot.location), facts(_facts(snapshot)), columns)


def scan_html(scan: ScanRequest, versions: tuple[int, int] | None = None) -> str:
    """A scan: what it asks of which snapshot; of changes, between which ``versions``."""
    from ..expressions import TRUE

    asked = [
        ("version", _version(scan.snapshot)) if versions is None else ("versions", f"{versions[0]} to {versions[1]}"),
        ("filter", "none" if scan.filter == TRUE else str(scan.filter)),
        ("columns", ", ".join(f.name for f in scan.schema)),
        ("limit", "none" if scan.limit is None else count_text(scan.limit)),
    ]
    return page("Scan" if versions is None else "Changes", location_text(scan.snapshot.location), facts(asked))


def plan_html(plan: FilePlan) -> str:
    """A plan: the funnel from all files to the planned ones, as bars, and what is left to do."""
    from ..expressions import TRUE

    left = "nothing" if plan.residual == TRUE else str(plan.residual)
    more = [
        *(("note", note) for note in plan.report.notes),
        ("left to check on rows", left),
        ("explain", "print(plan.explain()) says which part of the filter did what"),
    ]
    return page(
        "ScanPlan",
        location_text(plan.snapshot.location),
        plan.report.funnel_html(),
        facts([*_read(plan.report), *more]),
    )


def _facts(snapshot: SnapshotHandle) -> Iterator[tuple[str, str]]:
    yield "format", snapshot.table_format
    yield "version", _version(snapshot)
    yield "time", time_text(snapshot.timestamp)
    fields = []
    for f in snapshot.partition_fields:
        source = snapshot.schema.find_id(f.source_id)
        name = f"dropped column {f.source_id}" if source is None else source.name
        fields.append(name if f.transform.name == "identity" else f"{f.transform}({name})")
    yield "partitioned by", ", ".join(fields) or "nothing"


def column_rows(snapshot: SnapshotHandle) -> list[tuple[str, str, str, str]]:
    """Name, type, whether it is nullable, and comment of each column."""
    return [(f.name, str(f.type), "no" if f.required else "yes", f.doc or "") for f in snapshot.schema]


def _version(snapshot: SnapshotHandle) -> str:
    return "no snapshot yet" if snapshot.version == -1 else str(snapshot.version)


def _read(report: ScanReport) -> Iterator[tuple[str, str]]:
    yield "filter", "none" if report.filter is None else report.filter
    total = "an unknown total" if report.bytes_total is None else bytes_text(report.bytes_total)
    yield "data", f"{bytes_text(report.bytes_planned)} of {total}"
    yield "metadata", f"{counted(report.metadata_files_read, 'file')}, {bytes_text(report.metadata_bytes_read)}"
    yield "time", f"{report.seconds.get('total', 0.0) * 1000:.1f} ms"
