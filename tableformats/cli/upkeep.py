"""The commands about a table's metadata: ``checkpoint`` and ``verify``."""

from __future__ import annotations

from typing import Any

import click

from ..inspect.text import bytes_text, count_text, printable
from .commands import CHECK_FAILED, table_identity
from .options import as_number, form_options, opened_table, output_options, table_options
from .output import print_json, print_records, print_table

__all__ = ["UPKEEP_COMMANDS"]


@click.command()
@table_options
@click.option("--version", "version", metavar="V", help="Of this version. Default: the current one.")
@output_options
def checkpoint(as_json: bool, version: str | None, **chosen: Any) -> None:
    """Write the checkpoint of a version, unless it is there. The rows of the table stay as they are."""
    made = opened_table(chosen).checkpoint(as_number(version))
    if as_json:
        names = ("version", "path", "size_bytes", "is_new", "files", "actions")
        print_json({name: getattr(made, name) for name in names})
        return
    what = "wrote the checkpoint" if made.is_new else "there was a checkpoint"
    files = "" if made.files is None else f", {count_text(made.files)} files"
    click.echo(printable(f"Version {made.version}: {what}, {bytes_text(made.size_bytes)}{files}: {made.path}"))


@click.command()
@table_options
@click.option("--version", "version", metavar="V", help="Look at this version alone. Default: at all of the metadata.")
@click.option("--deep", is_flag=True, help="Read every row, and compare the rows with the statistics.")
@form_options
def verify(as_json: bool, form: str, version: str | None, deep: bool, **chosen: Any) -> int:
    """Find rules of the format's specification that a table breaks. The exit code is 3 if there is one."""
    from ..inspect.verification import COLUMNS

    table = opened_table(chosen)
    found = table.verify(as_number(version), deep)
    records = found.as_dicts()
    if as_json or form == "json":
        print_json({**table_identity(table), "violations": records})
    elif form != "table":
        print_records(form, records, list(COLUMNS))
    elif records:
        print_table(COLUMNS[:4], [[record[name] for name in COLUMNS[:4]] for record in records])
    else:
        click.echo("No rule is broken")
    return CHECK_FAILED if found else 0


UPKEEP_COMMANDS = (checkpoint, verify)
