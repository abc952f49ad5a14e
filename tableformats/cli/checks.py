"""The commands that say what a table is, how its files overlap, and what would help one query: ``detail``,
``clustering`` and ``diagnose``; and ``report``, which is all of it.

Each writes rows for people, or the same facts for programs; ``json`` also has the version that they are about.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from ..inspect.text import printable
from .commands import identity
from .options import (
    form_options,
    limit_option,
    opened_scan,
    opened_snapshot,
    scan_options,
    snapshot_options,
    table_options,
)
from .output import echo, print_table, show
from .report import report

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["CHECK_COMMANDS"]


@click.command()
@table_options
@snapshot_options
@limit_option("properties")
@form_options
def detail(form: str, limit: int | None, **chosen: Any) -> None:
    """Show what a table is and has. Files, bytes, rows, deletes, partitions, features and properties."""
    from ..inspect.detail import detail_rows

    found = opened_snapshot(chosen).detail()
    properties = dict(sorted(found.properties.items())[:limit])
    rows = [*detail_rows(found), *((f"  {name}", value) for name, value in properties.items())]
    document = {**found.as_dict(), "properties": properties}
    show(form, "detail", document, lambda: print_table(["what", "value"], rows))


@click.command()
@table_options
@click.argument("columns", nargs=-1)
@snapshot_options
@limit_option("columns")
@form_options
def clustering(form: str, limit: int | None, columns: tuple[str, ...], **chosen: Any) -> None:
    """Show in how many files one value of a column may be. COLUMNS: all that have bounds, if none is named."""
    from ..inspect.clustering import clustering_rows

    snapshot = opened_snapshot(chosen)
    found = snapshot.clustering(list(columns) or None)[:limit]
    names = ["column", "files", "average depth", "greatest depth", "without bounds", "without values"]
    keys = ["column", "files", "average_depth", "max_depth", "files_without_bounds", "files_without_values"]
    records = [one.as_dict() for one in found]
    text = partial(_print_table_or, names, clustering_rows(found), "No column has bounds", numeric=names[1:])
    show(form, "clustering", {**identity(snapshot), "columns": records}, text, records, keys)


@click.command()
@table_options
@snapshot_options
@scan_options
@form_options
def diagnose(form: str, **chosen: Any) -> None:
    """Show what would let one query read less, with evidence."""
    scan = opened_scan(chosen)
    records = [one.as_dict() for one in scan.diagnose()]
    keys = ["kind", "files", "evidence", "advice"]
    rows = [[record[key] for key in keys] for record in records]
    text = partial(_print_table_or, ["what", *keys[1:]], rows, "Nothing to gain", numeric=["files"])
    show(form, "diagnose", {**identity(scan.snapshot), "advice": records}, text, records, keys)


def _print_table_or(columns: Sequence[str], rows: Iterable[Sequence[Any]], empty: str, numeric: Sequence[str]) -> None:
    """A table for people, or a sentence where it has no rows."""
    shown = list(rows)
    if shown:
        print_table(columns, shown, numeric=numeric)
    else:
        echo(printable(empty))


CHECK_COMMANDS = (detail, clustering, diagnose, report)
