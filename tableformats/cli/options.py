"""Options that commands share, and functions that open the table, snapshot or scan that they select."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from ..table.scan import Scan
    from ..table.table import Snapshot, Table

__all__ = [
    "FORMS",
    "ansi_option",
    "as_number",
    "filter_options",
    "form_options",
    "limit_option",
    "names",
    "opened_scan",
    "opened_snapshot",
    "opened_table",
    "output_options",
    "pairs",
    "scan_options",
    "snapshot_options",
    "table_options",
]

_Command = Callable[..., Any]
_SELECTORS = ("version", "timestamp", "branch", "tag")
_MOVED_WHOLE = "\0"  # the value of --relocate without an argument; no argument of a process can contain it
_MAX_DIGITS = 20
FORMS = ("table", "tsv", "json", "jsonl")
"""How rows are written; see :func:`tableformats.cli.output.show`."""


def pairs(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    """``KEY=VALUE`` options as a mapping."""
    found = {}
    for text in values:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise click.BadParameter(f"{text!r} is not of the form KEY=VALUE", context, parameter)
        found[key] = value
    return found


def _moves(context: click.Context, parameter: click.Parameter, value: str | None) -> bool | Mapping[str, str] | None:
    if value is None or value == _MOVED_WHOLE:
        return None if value is None else True
    old, equals, new = value.rpartition("=")
    if not equals or not old or not new:
        raise click.BadParameter(
            f"{value!r} is not of the form OLD=NEW; without a value, write --relocate behind the location",
            context,
            parameter,
        )
    return {old: new}


def names(context: click.Context, parameter: click.Parameter, value: str | None) -> list[str] | None:
    """Names between commas."""
    return None if value is None else [name.strip() for name in value.split(",") if name.strip()]


def _stacked(*options: _Command) -> _Command:
    def decorate(command: _Command) -> _Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def _as_json(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value:
        context.params["form"] = "json"  # --output is eager, so it was there before


_json_help = "Write one JSON document. Errors are JSON too, on standard error."
_debug_option = click.option("--debug", is_flag=True, expose_value=False, help="Show the traceback of an error.")

output_options = _stacked(click.option("--json", "as_json", is_flag=True, help=_json_help), _debug_option)
"""Of commands that tell one thing."""

form_options = _stacked(
    click.option(
        "--output",
        "form",
        type=click.Choice(FORMS),
        default=FORMS[0],
        show_default=True,
        is_eager=True,
        help="How to write the rows: for people, or for programs. tsv and jsonl have one line for each.",
    ),
    click.option("--json", is_flag=True, expose_value=False, callback=_as_json, help="The same as --output json."),
    _debug_option,
)
"""Of commands that give rows."""


def limit_option(what: str) -> _Command:
    """``--limit N``: how many rows are shown."""
    found: _Command = click.option("--limit", metavar="N", type=click.IntRange(min=0), help=f"Show at most N {what}.")
    return found


table_options = _stacked(
    click.argument("location"),
    click.option("--format", "format", metavar="NAME", help="The table's format. Default: detect it."),
    click.option(
        "--catalog",
        metavar="NAME",
        help="Look LOCATION up as an identifier in this catalog of PyIceberg's configuration.",
    ),
    click.option(
        "--relocate",
        metavar="[OLD=NEW]",
        is_flag=False,
        flag_value=_MOVED_WHOLE,
        callback=_moves,
        help="Read a table that was moved. Replace the prefix OLD of paths in its metadata with NEW; without a "
        "value, the recorded location with LOCATION.",
    ),
    click.option(
        "--allow-path",
        "allow_paths",
        metavar="PREFIX",
        multiple=True,
        help="Allow paths in the metadata that start with PREFIX, in another store. Can be repeated.",
    ),
    click.option(
        "--storage-option",
        "storage_options",
        metavar="K=V",
        multiple=True,
        callback=pairs,
        help="An option of the store's file system, such as a region. Can be repeated.",
    ),
)

snapshot_options = _stacked(
    click.option("--version", "version", metavar="V", help="Read this version, snapshot id, branch or tag."),
    click.option(
        "--timestamp",
        metavar="TIME",
        help="Read the version at this time: ISO 8601 (UTC without a zone) or epoch milliseconds.",
    ),
    click.option("--branch", metavar="NAME", help="Read the head of this branch."),
    click.option("--tag", metavar="NAME", help="Read this tag."),
)

ansi_option = click.option(
    "--ansi/--no-ansi",
    default=True,
    show_default=True,
    help="Whether the filter means what it means to Spark with spark.sql.ansi.enabled.",
)

filter_options = _stacked(
    click.option(
        "--filter", "-w", "filter", metavar="SQL", help="Only rows that match this condition, in Spark's SQL."
    ),
    ansi_option,
    click.option("--columns", metavar="A,B", callback=names, help="Only these columns."),
)

scan_options = _stacked(
    filter_options,
    click.option(
        "--limit", metavar="N", type=click.IntRange(min=0), help="At most N rows, and the files that hold them."
    ),
)


def opened_table(chosen: Mapping[str, Any]) -> Table:
    """The table that :data:`table_options` select. Raises the errors of ``open_table``."""
    from ..table.table import open_table

    return open_table(
        chosen["location"],
        format=chosen["format"],
        catalog=chosen["catalog"],
        relocate=chosen["relocate"],
        allow_paths=list(chosen["allow_paths"]) or None,
        storage_options=chosen["storage_options"] or None,
    )


def opened_snapshot(chosen: Mapping[str, Any]) -> Snapshot:
    """The snapshot that :data:`snapshot_options` select.

    Raises the errors of ``table.snapshot``, and UsageError for more than one selector.
    """
    given = [f"--{name}" for name in _SELECTORS if chosen[name] is not None]
    if len(given) > 1:
        raise click.UsageError(f"{' and '.join(given)} exclude each other", click.get_current_context())
    version, timestamp = as_number(chosen["version"]), as_number(chosen["timestamp"])
    return opened_table(chosen).snapshot(version, timestamp=timestamp, branch=chosen["branch"], tag=chosen["tag"])


def opened_scan(chosen: Mapping[str, Any]) -> Scan:
    """The scan that :data:`scan_options` describe. Raises the errors of ``snapshot.scan``."""
    snapshot = opened_snapshot(chosen)
    columns, limit = chosen["columns"], chosen.get("limit")
    return snapshot.scan(chosen["filter"], columns=columns, limit=limit, ansi=chosen["ansi"])


def as_number(text: str | None) -> int | str | None:
    """A text of digits as a number; other texts and None unchanged."""
    if text is not None and text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS:
        return int(text)
    return text
