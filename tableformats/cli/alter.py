"""``tableformats alter``: change a table's columns, properties and constraints, one commit a call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from ..inspect.text import location_text, printable
from .options import opened_table, output_options, pairs, table_options
from .output import echo, print_json
from .progress import confirm

if TYPE_CHECKING:
    from ..plugin.writing.transaction import Commit
    from ..table.alter import Alter

__all__ = ["ALTER_COMMANDS"]

_Verb = Callable[["Alter", Any, dict[str, Any]], "Commit"]
_VERBS: dict[str, _Verb] = {
    "add_column": lambda alter, found, at: alter.add_columns(dict(found), **at),
    "rename_column": lambda alter, found, at: alter.rename_column(*found),
    "drop_column": lambda alter, found, at: alter.drop_columns(*found),
    "change_type": lambda alter, found, at: alter.change_type(*found),
    "set_required": lambda alter, found, at: alter.set_required(found),
    "set_nullable": lambda alter, found, at: alter.set_nullable(found),
    "set_comment": lambda alter, found, at: alter.set_comment(found[0], found[1] or None),
    "set_default": lambda alter, found, at: alter.set_default(*found),
    "drop_default": lambda alter, found, at: alter.set_default(found, None),
    "move_column": lambda alter, found, at: alter.move_column(found, **at),
    "set_property": lambda alter, found, at: alter.set_properties(found),
    "unset_property": lambda alter, found, at: alter.unset_properties(*found),
    "add_constraint": lambda alter, found, at: alter.add_constraint(*found),
    "drop_constraint": lambda alter, found, at: alter.drop_constraint(found),
}
_PLACED = ("add_column", "move_column")
_DESTROYS = "drop_column"


@click.command()
@table_options
@click.option("--add-column", metavar="NAME TYPE", nargs=2, multiple=True, help="Add a column. Can be repeated.")
@click.option("--rename-column", metavar="NAME NEW", nargs=2, help="Give a column another name.")
@click.option("--drop-column", metavar="NAME", multiple=True, help="Drop a column. Can be repeated.")
@click.option("--change-type", metavar="NAME TYPE", nargs=2, help="Give a column a wider type.")
@click.option("--set-required", metavar="NAME", help="Refuse NULL in a column. All rows are checked.")
@click.option("--set-nullable", metavar="NAME", help="Allow NULL in a column.")
@click.option("--set-comment", metavar="NAME TEXT", nargs=2, help="Describe a column; an empty text removes it.")
@click.option("--set-default", metavar="NAME SQL", nargs=2, help="Set what new rows are that lack the column.")
@click.option("--drop-default", metavar="NAME", help="Make new rows NULL that lack the column.")
@click.option("--move-column", metavar="NAME", help="Put a column first, behind another, or else last.")
@click.option("--set-property", metavar="K=V", multiple=True, callback=pairs, help="Set a property. Can be repeated.")
@click.option("--unset-property", metavar="K", multiple=True, help="Remove a property. Can be repeated.")
@click.option("--add-constraint", metavar="NAME SQL", nargs=2, help="Require a condition. All rows are checked.")
@click.option("--drop-constraint", metavar="NAME", help="Drop a constraint.")
@click.option("--first", is_flag=True, help="Put an added or moved column first.")
@click.option("--after", metavar="NAME", help="Put an added or moved column behind this one.")
@click.option("--dry-run", is_flag=True, help="Check the change, rows included, and commit nothing.")
@click.option("--yes", is_flag=True, help="Do not ask before columns are dropped.")
@output_options
def alter(as_json: bool, first: bool, after: str | None, dry_run: bool, yes: bool, **chosen: Any) -> None:
    """Change a table's columns, properties or constraints.

    One kind of change a call, which is one commit. Dots in NAME enter structs.
    """
    asked = {verb: chosen[verb] for verb in _VERBS if chosen[verb]}
    names = " and ".join(f"--{verb.replace('_', '-')}" for verb in asked)
    if len(asked) != 1:
        message = f"{names} are several changes: call the command for each" if asked else "Nothing to change is given"
        raise click.UsageError(message, click.get_current_context())
    [(verb, found)] = asked.items()
    place = {"first": first, "after": after}
    if (first or after) and verb not in _PLACED:
        raise click.UsageError(f"--first and --after do not go with {names}", click.get_current_context())
    _check_types({"add_column": found, "change_type": [found]}.get(verb, ()))
    table = opened_table(chosen)
    if verb == _DESTROYS and not (yes or dry_run or as_json):
        listed = printable(", ".join(found))
        confirm(f"Drop {listed} from {location_text(table.location)}?")
    commit = _VERBS[verb](table.alter(dry_run=dry_run), found, place)
    if as_json:
        told = {"version": commit.version, "operation": commit.operation, "attempts": commit.attempts}
        print_json("alter", {"location": table.location, **told, "dry_run": dry_run})
    elif dry_run:
        echo(f"{printable(commit.operation)} can be committed; nothing was (the table has version {commit.version})")
    else:
        echo(f"{printable(commit.operation)} is version {commit.version}")


ALTER_COMMANDS = (alter,)


def _check_types(columns: Sequence[tuple[str, str]]) -> None:
    from ..schema.type_text import parse_type

    for name, text in columns:
        try:
            parse_type(text)
        except ValueError as error:
            raise click.UsageError(f"column {printable(name)}: {error}", click.get_current_context()) from None
