"""The commands about a table's metadata and files: ``checkpoint``, ``verify``, ``verify-stats`` and ``orphans``."""

from __future__ import annotations

import datetime as dt
from typing import Any

import click

from ..inspect.text import bytes_text, count_text, counted, printable, time_text
from .columns import texts_of
from .commands import CHECK_FAILED, table_identity
from .options import as_number, form_options, limit_option, names, opened_table, output_options, table_options
from .output import echo, print_columns, print_json, print_table, show
from .progress import ProgressBar
from .values import rows_of

__all__ = ["UPKEEP_COMMANDS"]

_UNITS = {"m": "minutes", "h": "hours", "d": "days"}


@click.command()
@table_options
@click.option("--version", "version", metavar="V", help="Of this version. Default: the current one.")
@output_options
def checkpoint(as_json: bool, version: str | None, **chosen: Any) -> None:
    """Write the checkpoint of a version, unless it is there. The rows of the table stay as they are."""
    made = opened_table(chosen).checkpoint(as_number(version))
    if as_json:
        names = ("version", "path", "size_bytes", "is_new", "files", "actions")
        print_json("checkpoint", {name: getattr(made, name) for name in names})
        return
    what = "wrote the checkpoint" if made.is_new else "there was a checkpoint"
    files = "" if made.files is None else f", {counted(made.files, 'file')}"
    echo(printable(f"Version {made.version}: {what}, {bytes_text(made.size_bytes)}{files}: {made.path}"))


@click.command()
@table_options
@click.option("--version", "version", metavar="V", help="Look at this version alone. Default: at all of the metadata.")
@click.option("--deep", is_flag=True, help="Read every row, and compare the rows with the statistics.")
@limit_option("violations")
@form_options
def verify(form: str, version: str | None, deep: bool, limit: int | None, **chosen: Any) -> int:
    """Find rules of its format that a table breaks. The exit code is 3 if there is one."""
    from ..inspect.verification import COLUMNS

    table = opened_table(chosen)
    found = table.verify(as_number(version), deep)
    records = found.to_arrow().slice(0, limit)

    def text() -> None:
        if records.num_rows:
            columns = [texts_of(records[name]) for name in COLUMNS[:4]]
            print_columns(COLUMNS[:4], columns, paths=["path"], below=table.location)
        if records.num_rows < len(found):
            echo(f"{count_text(len(found) - records.num_rows)} more")
        if not found:
            echo("No rule is broken")

    show(form, "verify", {**table_identity(table), "violations": records}, text, records, COLUMNS)
    return CHECK_FAILED if found else 0


@click.command()
@table_options
@click.option("--version", "version", metavar="V", help="Look at this version. Default: the current one.")
@click.option("--columns", metavar="A,B", callback=names, help="Compare only these columns.")
@click.option("--deep", is_flag=True, help="Read the rows of every file, not only its footer.")
@click.option("--resume", metavar="FILE", help="Write the progress to FILE, or go on where an earlier run stopped.")
@limit_option("findings")
@form_options
def verify_stats(
    form: str,
    version: str | None,
    columns: list[str] | None,
    deep: bool,
    resume: str | None,
    limit: int | None,
    **chosen: Any,
) -> int:
    """Find files with wrong statistics. The exit code is 3 if there is one, because a filter may drop its rows.

    The bounds and counts that the metadata has of each file are compared with the footer of the file, or with its rows.
    """
    from ..inspect.statistics_check import COLUMNS

    table = opened_table(chosen)
    with ProgressBar("Comparing files") as progress:
        found = table.verify_stats(deep, columns=columns, version=as_number(version), resume=resume, progress=progress)
    records = found.to_arrow().slice(0, limit)
    counts = {name: getattr(found, name) for name in ("files", "by_footer", "by_rows", "unreadable", "not_compared")}
    document = {**table_identity(table), "version": found.version, "deep": deep, **counts, "findings": records}

    def text() -> None:
        if records.num_rows:
            heads = ["path", "rule", "what is wrong", "filter that loses rows"]
            columns = [texts_of(records[name]) for name in ("path", "rule", "what", "filter")]
            print_columns(heads, columns, paths=["path"], below=table.location)
            if records.num_rows < len(found):
                echo(f"{count_text(len(found) - records.num_rows)} more")
            echo()
        version = "No snapshot yet" if found.version == -1 else f"Version {found.version}"
        echo(printable(f"{version}, {found.summary()}"))
        wrong = len(found.wrong_files)
        have = "file has" if wrong == 1 else "files have"
        echo(f"{count_text(wrong)} {have} wrong statistics or cannot be read")
        if found.not_compared:
            listed = ", ".join(f"{name} in {count_text(n)}" for name, n in found.not_compared.items())
            echo(printable(f"Footers do not say enough of {listed} files; --deep compares these with the rows"))

    show(form, "verify-stats", document, text, records, COLUMNS)
    return CHECK_FAILED if found else 0


def _time_or_age(context: click.Context, parameter: click.Parameter, value: str | None) -> str | dt.timedelta | None:
    """``12h`` as a time span; else what is a time."""
    number, unit = (value or "")[:-1], (value or "")[-1:]
    if not (number.isascii() and number.isdigit() and unit in _UNITS):
        return value
    try:
        return dt.timedelta(**{_UNITS[unit]: int(number)})
    except OverflowError:
        raise click.BadParameter(f"{value!r} is too long", context, parameter) from None


@click.command()
@table_options
@click.option(
    "--older-than",
    metavar="TIME|AGE",
    callback=_time_or_age,
    help="Only files that were last written before this time, or so long ago: 12h, 7d. Files of a commit that is on "
    "its way are named by nothing yet. Default: as the table's format and properties say, some days.",
)
@limit_option("files")
@form_options
def orphans(form: str, older_than: str | dt.timedelta | None, limit: int | None, **chosen: Any) -> None:
    """List files that nothing of a table names. Killed writers leave such. Nothing is deleted."""
    table = opened_table(chosen)
    found = table.orphan_files(older_than)
    shown = found if limit is None else found.slice(0, limit)
    size = sum(found["size_bytes"].to_pylist())

    def text() -> None:
        if shown.num_rows:
            rows = [[row["path"], bytes_text(row["size_bytes"]), time_text(row["modified"])] for row in rows_of(shown)]
            print_table(["path", "size", "modified"], rows, numeric=["size"], paths=["path"], below=table.location)
        if shown.num_rows < found.num_rows:
            echo(f"{count_text(found.num_rows - shown.num_rows)} more")
        echo(f"{counted(found.num_rows, 'file')} that nothing names, {bytes_text(size)}. Nothing was deleted")

    document = {**table_identity(table), "files": found.num_rows, "size_bytes": size, "orphans": shown}
    show(form, "orphans", document, text, shown, found.column_names)


UPKEEP_COMMANDS = (checkpoint, verify, verify_stats, orphans)
