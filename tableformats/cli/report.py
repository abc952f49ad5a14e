"""The command ``report``: one HTML page about a table and, if asked, about a query."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from ..inspect.text import bytes_text, printable
from .commands import identity
from .options import ansi_option, opened_snapshot, output_options, snapshot_options, table_options
from .output import echo, print_json, write
from .progress import is_terminal

__all__ = ["report"]

_STANDARD_OUTPUT = "-"


@click.command()
@table_options
@snapshot_options
@click.option("--where", "--filter", "-w", "where", metavar="SQL", help="Also say what a query with this filter reads.")
@ansi_option
@click.option("--out", "-o", "out", metavar="FILE", help="Write the page to this file. Default: standard output.")
@output_options
def report(as_json: bool, where: str | None, ansi: bool, out: str | None, **chosen: Any) -> None:
    """Write one HTML page about a table. It has size, health, layout, commits and, with --where, one query.

    The page needs no network and no script. No data file is read.
    """
    from ..inspect.pictures.report import MOST_VERSIONS, report_page

    target = _STANDARD_OUTPUT if out is None else out
    if target == _STANDARD_OUTPUT and (as_json or (out is None and is_terminal(sys.stdout))):
        raise click.UsageError("name the file of the page, such as -o report.html", click.get_current_context())
    snapshot = opened_snapshot(chosen)
    scan = snapshot.scan(where, ansi=ansi)
    page = report_page(scan, snapshot.table.history(MOST_VERSIONS))
    if target == _STANDARD_OUTPUT:
        write(page.rstrip("\n"))
        return
    data = page.encode("utf-8")
    try:
        Path(target).write_bytes(data)
    except OSError as error:
        raise click.FileError(printable(target), error.strerror or type(error).__name__) from error
    if as_json:
        print_json("report", {**identity(snapshot), "path": target, "size_bytes": len(data)})
    else:
        echo(f"Wrote {printable(target)}, {bytes_text(len(data))}")
