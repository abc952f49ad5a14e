"""The page of ``tableformats report``: one HTML file that says what a table is, how it is laid out, and what to do.

The page loads nothing and runs nothing. It is light or dark as the reader's system is. Its pieces are those that
notebooks show (:mod:`tableformats.display`), and its figures those of :mod:`tableformats.inspect`; no data file is
opened. Where there is a filter, the page begins with what a query with it reads.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ...display import bars, escaped, facts, grid, shortened, steps
from ...expressions import TRUE
from ...version import __version__
from ..clustering import clusterings_of
from ..detail import detail_of, detail_rows
from ..diagnose import diagnose
from ..file_ranges import bounded_columns, columns_of_filter, ranged_files
from ..files import plan_of
from ..health import SMALL_BYTES, health_of
from ..html import COLUMN_NAMES, column_rows
from ..text import bytes_text, count_text, counted, location_text, percent_text, printable, time_text
from ..why import part_rows
from .figures import commit_columns, deleted_shares, partition_sizes, size_bins, timeline

if TYPE_CHECKING:
    import pyarrow as pa

    from ...expressions import BoundColumn
    from ...planning.plan import FilePlan
    from ...planning.request import ScanRequest
    from ..clustering import ColumnClustering
    from ..detail import TableDetail
    from ..health import Findings

__all__ = ["MOST_VERSIONS", "report_page"]

MOST_VERSIONS = 500
"""The versions that the page looks at; each may be a file of its own."""
_SHOWN_VERSIONS = 10
_SHOWN_CLUSTERINGS = 8
_SHOWN_PARTITIONS = 12
_STYLE = """
:root{color-scheme:light dark;--paper:#fff;--ink:#1f2328;--card:#f4f6f8;--edge:rgba(128,128,128,.3)}
@media(prefers-color-scheme:dark){:root{--paper:#14171c;--ink:#dfe3e8;--card:#1d2229}}
body{margin:0 auto;max-width:60em;padding:1.5em 1.2em 3em;background:var(--paper);color:var(--ink);
font:14px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;overflow-wrap:break-word}
h1{font-size:1.7em;line-height:1.2;margin:0}h2{font-size:1.2em;margin:2em 0 .2em}h3{font-size:1em;margin:1.2em 0 0}
p{margin:.3em 0 .6em;max-width:48em}.dim{opacity:.75}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(9em,1fr));gap:.7em;margin:1.2em 0}
.tile{background:var(--card);border-radius:8px;padding:.6em .9em}.tile b{display:block;font-size:1.4em;line-height:1.3}
.scroll{overflow-x:auto}.scroll table{min-width:28em}
summary{cursor:pointer}code{font-size:.95em;background:var(--card);padding:.1em .3em}
@media print{details{display:block}}
"""


def report_page(scan: ScanRequest, history: pa.Table, now: dt.datetime | None = None) -> str:
    """The page about the snapshot of ``scan`` and, if it has a filter, about the query.

    Parameters
    ----------
    scan : ScanRequest
    history : pyarrow.Table
        The versions, newest first; of :data:`MOST_VERSIONS` or more the page says that there may be others.
    now : datetime, optional
        When the page is written; None: the present.

    Raises
    ------
    CorruptMetadataError, UnsupportedFeatureError
        As the metadata is read.
    """
    # First, because this reads the statistics of all columns at once: what follows finds them in the cache.
    clusterings = _clusterings(scan)
    files = plan_of(scan.snapshot)
    detail = detail_of(files)
    name = _name(detail.location)
    written = time_text((now or dt.datetime.now(dt.timezone.utc)).replace(microsecond=0))
    sections = [
        _head(name, detail),
        *(_query(scan, clusterings) if scan.filter != TRUE else ()),
        *_health(health_of(files)),
        *_sizes(files),
        *_partitions(files),
        *_clustering(scan, clusterings),
        *_deletes(files, detail),
        *_commits(history),
        *_definition(scan, detail),
        f'<p class="dim">Written by tableformats {escaped(__version__)}, {escaped(written)}.</p>',
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escaped(name)} - tableformats report</title><style>{_STYLE}</style></head>\n"
        f"<body>{''.join(sections)}</body></html>\n"
    )


def _name(location: str) -> str:
    """The name of the table's directory, also where the location is a ``metadata.json`` in it."""
    parts = location_text(location).rstrip("/").split("/")
    if parts[-1].endswith(".metadata.json"):
        parts = parts[: -2 if parts[-2:-1] == ["metadata"] else -1]
    return printable(parts[-1] if parts else "") or "table"


def _head(name: str, detail: TableDetail) -> str:
    version = "no snapshot yet" if detail.version == -1 else f"version {detail.version}, {time_text(detail.timestamp)}"
    about = f"{detail.format} table, {version}"
    known = "an unknown number" if detail.deleted_rows is None else count_text(detail.deleted_rows)
    deleted = "" if detail.deleted_rows == 0 else f"{known} of them deleted"
    per_file = f"{bytes_text(detail.size_bytes // detail.files)} a file" if detail.files else ""
    tiles = [
        ("data files", _large(detail.files), per_file),
        ("of data", bytes_text(detail.size_bytes), ""),
        ("rows stored", _large(detail.rows), deleted),
        ("partitions", count_text(detail.partitions), f"by {', '.join(detail.partition_columns)}")
        if detail.partition_columns
        else ("partitions", "none", ""),
        ("of metadata", bytes_text(detail.metadata_bytes), counted(detail.metadata_files, "file")),
    ]
    shown = "".join(
        f'<div class="tile"><b>{escaped(value)}</b>{escaped(label)}'
        f'<div class="dim">{escaped(shortened(more))}</div></div>'
        for label, value, more in tiles
    )
    return (
        f'<h1>{escaped(name)}</h1><div class="dim">{escaped(about)}<br>{escaped(location_text(detail.location))}</div>'
        f'<div class="tiles">{shown}</div>'
    )


def _query(scan: ScanRequest, clusterings: Sequence[ColumnClustering]) -> Iterator[str]:
    from ...planning.attribution import attribute
    from ...planning.planner import plan_scan

    plan = plan_scan(scan.reattached())
    report = plan.report
    yield _title("The query")
    yield f"<p>Rows for which <code>{escaped(shortened(str(scan.filter), 500))}</code> is true.</p>"
    share = percent_text(report.files_planned, report.files_total)
    of_bytes = "" if report.bytes_total is None else f" of {bytes_text(report.bytes_total)}"
    read = f"{count_text(report.files_planned)} of {counted(report.files_total, 'file')}"
    read += f" ({share})" if share else ""
    others = "The others cannot hold such a row:" if report.files_planned < report.files_total else ""
    yield _text(f"It reads {read}, {bytes_text(report.bytes_planned)}{of_bytes}. {others}")
    yield report.funnel_html()
    attribution = attribute(plan)
    if attribution.parts:
        yield _heading("What each part of the filter did")
        names = ["part of the filter", "files dropped", "files kept, and why", "what to do"]
        yield _wide(grid(names, part_rows(attribution)))
    found = diagnose(plan, attribution, {one.column: one for one in clusterings})
    advice = [(one.kind, one.evidence, one.advice) for one in found]
    yield _heading("What would help this query")
    yield _wide(grid(["what", "evidence", "advice"], advice)) or _text("Nothing: no file can be saved by its metadata.")
    left = "nothing: all rows of these files match" if plan.residual == TRUE else shortened(str(plan.residual), 500)
    yield facts([("left to check on rows", left), *(("note", note) for note in report.notes)])


def _health(found: Findings) -> Iterator[str]:
    yield _title("Health")
    failed = len(found.failed)
    if failed:
        yield _text(f"{counted(failed, 'check')} {'gives' if failed == 1 else 'give'} advice.")
    else:
        yield _text("No check gives advice.")
    rows = sorted(found, key=lambda one: not one.advice)
    yield _wide(grid(["what", "figure", "what to do"], [(one.subject, one.figure, one.advice or "") for one in rows]))


def _sizes(files: FilePlan) -> Iterator[str]:
    yield _title("Sizes of the files")
    bins = size_bins(files.survivors["size_bytes"])
    if not bins:
        yield _text("The table has no data files.")
        return
    small = sum(one.files for one in bins if one.is_small)
    about = f"{count_text(small)} of {counted(len(files), 'file')} have less than {bytes_text(SMALL_BYTES)}"
    yield _text(
        f"{about} (grey): compaction merges them." if small else f"No file has less than {bytes_text(SMALL_BYTES)}."
    )
    rows = (
        (
            str(one),
            one.files,
            f"{counted(one.files, 'file')}, {bytes_text(one.size_bytes)}" if one.files else "",
            not one.is_small,
        )
        for one in bins
    )
    yield bars(rows, max(one.files for one in bins))


def _partitions(files: FilePlan) -> Iterator[str]:
    found, count = partition_sizes(files, _SHOWN_PARTITIONS)
    if not found:
        return
    yield _title("Partitions")
    if count > len(found):
        share = percent_text(sum(one.size_bytes for one in found), files.report.bytes_planned)
        yield _text(f"The {len(found)} largest of {count_text(count)} partitions, with {share} of the bytes.")
    else:
        yield _text(f"{counted(count, 'partition')}, the largest first.")
    rows = (
        (shortened(one.label, 40), one.size_bytes, f"{bytes_text(one.size_bytes)}, {counted(one.files, 'file')}", True)
        for one in found
    )
    yield bars(rows, found[0].size_bytes)


def _clusterings(scan: ScanRequest) -> list[ColumnClustering]:
    """The clustering by the columns of the filter and, if these are few, by others."""
    columns = _columns_by_interest(scan)
    chosen = columns[: max(_SHOWN_CLUSTERINGS, len(columns_of_filter(scan.filter)))]
    return clusterings_of(ranged_files(scan.snapshot, chosen), chosen)


def _columns_by_interest(scan: ScanRequest) -> list[BoundColumn]:
    """The columns of the filter, then all others that may have bounds."""
    columns = [*columns_of_filter(scan.filter), *bounded_columns(scan.snapshot)]
    return list({column.id: column for column in columns}.values())


def _clustering(scan: ScanRequest, clusterings: Sequence[ColumnClustering]) -> Iterator[str]:
    shown = clusterings[:_SHOWN_CLUSTERINGS]
    if not any(one.files for one in shown):
        return
    yield _title("Clustering")
    yield _text(
        "In how many files one value of a column may be, on average: what a condition such as column = 7 reads. "
        "Short bars (blue) drop many files. Long ones (grey) drop few: sort or cluster the table by a column that "
        "queries filter by."
    )
    yield bars(map(_clustering_row, shown), max(one.files for one in shown))
    left = len(_columns_by_interest(scan)) - len(shown)
    if left:
        yield _text(f"{counted(left, 'column')} more: tableformats clustering shows all.")


def _clustering_row(one: ColumnClustering) -> tuple[str, int, str, bool]:
    n = len(one.depths)
    unknown = f"; {count_text(one.files_without_bounds)} without bounds" if one.files_without_bounds else ""
    if not n:
        every = f"no file has bounds, so {counted(one.files, 'file')} are read"
        text = every if one.files_without_bounds else "NULL in all rows"
        return shortened(one.column, 40), one.files_without_bounds, text, False
    reads = one.average_depth + one.files_without_bounds
    text = f"{one.average_depth:,.1f} of {counted(n, 'file')}, {count_text(one.max_depth)} at most{unknown}"
    return shortened(one.column, 40), round(reads), text, reads <= max(2.0, 0.1 * one.files)


def _deletes(files: FilePlan, detail: TableDetail) -> Iterator[str]:
    shares = deleted_shares(files)
    if not shares:
        return
    yield _title("Deleted rows")
    deleted = "an unknown number of rows" if detail.deleted_rows is None else counted(detail.deleted_rows, "row")
    about = f"{counted(detail.files_with_deletes, 'file')} of {count_text(detail.files)} have deletes"
    yield _text(f"{about}, of {deleted}, in {counted(detail.delete_files, 'delete file')}. Every reader merges them.")
    yield _heading("Files by the share of their rows that is deleted")
    rows = ((label, n, counted(n, "file") if n else "", label != "no deletes") for label, n in shares)
    yield bars(rows, max(n for _, n in shares))


def _commits(history: pa.Table) -> Iterator[str]:
    yield _title("Commits")
    found = timeline(history)
    if not history.num_rows:
        yield _text("The table has no commits yet.")
        return
    if found.commits > 1:
        newest = "The newest " if history.num_rows >= MOST_VERSIONS else ""
        most = int(found.counts.sum(axis=0).max())
        yield _text(
            f"{newest}{counted(found.commits, 'commit')} over time, at most {count_text(most)} in one step of "
            f"{_duration(int(found.edges[1] - found.edges[0]))}."
        )
        series = [(name, counts.tolist()) for name, counts in zip(found.operations, found.counts, strict=True)]
        yield steps(series, time_text(found.moment(0)), time_text(found.moment(-1)))
    yield _heading("The newest ones")
    columns = commit_columns(history.slice(0, _SHOWN_VERSIONS))
    yield _wide(grid(list(columns), zip(*columns.values(), strict=True)))


def _definition(scan: ScanRequest, detail: TableDetail) -> Iterator[str]:
    columns = [[shortened(text, 200) for text in row] for row in column_rows(scan.snapshot)]
    yield _title("Definition")
    yield facts(detail_rows(detail))
    yield _folded(counted(len(columns), "column"), grid(COLUMN_NAMES, columns))
    if detail.properties:
        rows = [(name, shortened(value, 300)) for name, value in sorted(detail.properties.items())]
        yield _folded(counted(len(rows), "property", "properties"), grid(["property", "value"], rows))


def _duration(milliseconds: int) -> str:
    """``3.5 hours``"""
    for unit, length in (("days", 86_400_000), ("hours", 3_600_000), ("minutes", 60_000), ("seconds", 1000)):
        if milliseconds >= 2 * length:
            return f"{milliseconds / length:,.1f} {unit}".replace(".0 ", " ")
    return f"{milliseconds:,} ms"


def _large(n: int | None) -> str:
    """``12,345``; ``9.05 billion``."""
    return count_text(n) if n is None or n < 10**9 else f"{n / 10**9:,.2f} billion"


def _title(text: str) -> str:
    return f"<h2>{escaped(text)}</h2>"


def _heading(text: str) -> str:
    return f"<h3>{escaped(text)}</h3>"


def _text(text: str) -> str:
    return f"<p>{escaped(text)}</p>"


def _wide(html: str) -> str:
    """What scrolls on its own where the page is narrow; nothing where there is nothing."""
    return f'<div class="scroll">{html}</div>' if html else ""


def _folded(title: str, html: str) -> str:
    return f'<details><summary>{escaped(title)}</summary><div class="scroll">{html}</div></details>'
