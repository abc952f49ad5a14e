"""The commands about a table's metadata: ``checkpoint``."""

from __future__ import annotations

from typing import Any

import click

from ..inspect.text import bytes_text, count_text, printable
from .options import as_number, opened_table, output_options, table_options
from .output import print_json

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


UPKEEP_COMMANDS = (checkpoint,)
