"""``plan.explain()``: one plan as text, from the metadata files that were read to the planned files.

The figures are those of :class:`ScanReport` and :class:`Attribution`; nothing is counted here. Names and locations come
from the table, so they are escaped, and locations are shown without credentials. :mod:`why` has the sentences about the
parts of the filter.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..expressions import TRUE
from .text import bytes_text, count_text, location_text, percent_text, printable, time_text
from .why import part_lines

if TYPE_CHECKING:
    from ..planning.attribution import Attribution
    from ..planning.plan import FilePlan
    from ..plugin.report import ScanReport

__all__ = ["explain"]

_Row = tuple[str, str, str]
_MOST_COUNTED = 500
"""Files of a table whose rows are counted where that means reading statistics: a few milliseconds."""


def explain(plan: FilePlan, attribution: Attribution | None = None) -> str:
    """The report of ``plan`` as aligned lines of text, without a line break at the end.

    ``attribution`` is what the parts of its filter dropped; None leaves it out.
    """
    sections = [
        _heading(plan),
        ["Metadata", *_aligned([*_metadata(plan.report), *_requests(plan.report, plan.snapshot.storage.is_local)])],
        ["Files", *_aligned(_files(plan.report))],
        ["Parts of the filter", *part_lines(attribution)] if attribution is not None and attribution.parts else [],
        ["Data", *_aligned(_data(plan))],
        ["Left to check on rows", f"  {'nothing' if plan.residual == TRUE else printable(str(plan.residual))}"],
    ]
    if plan.report.notes:
        sections.append(["Notes", *(f"  - {printable(note)}" for note in plan.report.notes)])
    sections.append(["Time", *_aligned(_times(plan.report))])
    return "\n\n".join("\n".join(section) for section in sections if section)


def _heading(plan: FilePlan) -> list[str]:
    report = plan.report
    snapshot = plan.snapshot
    version = f"version {report.version}, {time_text(snapshot.timestamp)}"
    version = "no snapshot yet" if report.version == -1 else version
    return [
        f"Table   {location_text(snapshot.location)}",
        f"        {printable(report.format)}, {version}",
        f"Filter  {'none' if report.filter is None else printable(report.filter)}",
    ]


def _metadata(report: ScanReport) -> list[_Row]:
    rows: list[_Row] = []
    if report.log_files_read or report.checkpoint_files_read:
        rows.append(("log files read", count_text(report.log_files_read), ""))
        rows.append(("checkpoint files read", count_text(report.checkpoint_files_read), ""))
    if report.row_groups_total:
        rows.append(("checkpoint row groups", count_text(report.row_groups_total), ""))
        rows.append(_part("- skipped", report.row_groups_skipped, report.row_groups_total))
    if report.manifests_total:
        rows.append(("manifests", count_text(report.manifests_total), ""))
        rows.append(_part("- skipped", report.manifests_skipped, report.manifests_total))
        rows.append(_part("= read", report.manifests_total - report.manifests_skipped, report.manifests_total))
    if report.delete_manifests_total:
        rows.append(("manifests of deletes", count_text(report.delete_manifests_total), ""))
        rows.append(_part("- skipped", report.delete_manifests_skipped, report.delete_manifests_total))
    rows.append(("metadata files read", count_text(report.metadata_files_read), ""))
    rows.append(("metadata bytes read", bytes_text(report.metadata_bytes_read), ""))
    return rows


def _requests(report: ScanReport, is_local: bool) -> list[_Row]:
    """The requests that opening the table sent, for the version and its log, and those of the plan itself."""
    if is_local:
        return []
    rows = [("requests at the opening", count_text(report.opening_requests), "")]
    if report.opening_requests:
        rows.append(("- bytes", bytes_text(report.opening_bytes), ""))
    rows.append(("requests to the store", count_text(report.requests), ""))
    if not report.requests:
        return [*rows, ("- all was read at the opening", "", "")]
    rows.append(("- one after the other", count_text(report.longest_chain), ""))
    return [*rows, ("- bytes", bytes_text(report.request_bytes), "")]


def _files(report: ScanReport) -> list[_Row]:
    total = report.files_total
    group = report.group_name
    dropped = [] if group is None else [(f"- skipped with their {group}", report.files_skipped_with_manifests)]
    dropped.append(("- dropped by partition", report.files_dropped_by_partition))
    dropped.append(("- dropped by bounds", report.files_dropped_by_bounds))
    whole = "in counted manifests" if report.manifests_uncounted else "total"
    rows = [_part(whole, total, total), *(_part(label, count, total) for label, count in dropped)]
    by_limit = total - sum(count for _, count in dropped) - report.files_planned
    if by_limit:
        rows.append(_part("- not needed for the limit", by_limit, total))
    rows.append(_part("= planned", report.files_planned, total))
    if report.filter is not None:
        rows.append(("  fully matched", count_text(report.files_fully_matched), ""))
        if report.files_kept_for_nan:
            rows.append(("  kept for a NaN alone", count_text(report.files_kept_for_nan), ""))
    rows.append(("  with deletes", count_text(report.files_with_deletes), ""))
    rows.append(("  delete files", count_text(report.delete_files), ""))
    return rows


def _data(plan: FilePlan) -> list[_Row]:
    report = plan.report
    is_small = report.files_total <= _MOST_COUNTED
    knows_planned = is_small or plan.counts.are_known
    knows_total = is_small or report.rows_listed is not None or (knows_planned and len(plan) == report.files_total)
    planned = report.rows_planned if knows_planned else None
    total = report.rows_total if knows_total else None
    knows_total = knows_total and (total is not None or report.counts_total)
    read = "manifests read" if report.manifests_total else "row groups read"
    return [
        (f"bytes in {'total' if report.is_all_listed else read}", bytes_text(report.bytes_listed), ""),
        ("bytes planned", bytes_text(report.bytes_planned), percent_text(report.bytes_planned, report.bytes_listed)),
        ("rows in total", count_text(total) if knows_total else "not counted", ""),
        ("rows planned", count_text(planned) if knows_planned else "not counted", percent_text(planned, total)),
    ]


def _times(report: ScanReport) -> list[_Row]:
    stages = [(name, seconds) for name, seconds in report.seconds.items() if name != "total"]
    stages.append(("total", report.seconds.get("total", sum(seconds for _, seconds in stages))))
    return [(name, f"{seconds * 1000:.1f} ms", "") for name, seconds in stages]


def _part(label: str, count: int, whole: int) -> _Row:
    return label, count_text(count), percent_text(count, whole)


def _aligned(rows: Iterable[_Row]) -> list[str]:
    """Lines with the label left-aligned and the figures right-aligned, in the same columns in every section."""
    return [f"  {label:<32}{figure:>14}{share:>10}".rstrip() for label, figure, share in rows]
