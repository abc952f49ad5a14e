"""The arguments and options of each command: flags, options that are repeated, and those that take two values."""

from __future__ import annotations

import click
import pytest

from tableformats.cli.app import cli

DEBUG = ["--debug flag, of all commands"]
JSON = ["--json flag", *DEBUG]
FORMS = ["--output one of table, tsv, json, jsonl", "--json flag, of all commands", *DEBUG]
TABLE = [
    "LOCATION",
    "--format",
    "--catalog",
    "--relocate with a value or none",
    "--allow-path repeated",
    "--storage-option repeated",
]
VERSION = ["--version", "--timestamp", "--branch", "--tag"]
FILTER = ["--filter/-w", "--ansi/--no-ansi flag, on", "--columns"]
LIMIT = ["--limit from 0"]
WRITING = ["--dry-run flag", "--yes flag"]

COMMANDS = {
    "describe": [*TABLE, *VERSION, *LIMIT, *FORMS],
    "schema": [*TABLE, *VERSION, *LIMIT, *FORMS],
    "history": [*TABLE, *LIMIT, *FORMS],
    "files": [*TABLE, *VERSION, *FILTER, *LIMIT, *FORMS],
    "plan": [*TABLE, *VERSION, *FILTER, *LIMIT, "--all flag", "--files flag", "--why", *FORMS],
    "count": [*TABLE, *VERSION, *FILTER, *LIMIT, *FORMS],
    "read": [*TABLE, *VERSION, *FILTER, *LIMIT, *FORMS],
    "diff": [*TABLE, "FIRST", "[LAST]", "--all flag", *LIMIT, *FORMS],
    "health": [*TABLE, *VERSION, *LIMIT, *FORMS, "--fail-on repeated"],
    "plugins": [*LIMIT, *FORMS],
    "detail": [*TABLE, *VERSION, *LIMIT, *FORMS],
    "clustering": [*TABLE, "[COLUMNS]...", *VERSION, *LIMIT, *FORMS],
    "diagnose": [*TABLE, *VERSION, *FILTER, *LIMIT, *FORMS],
    "report": [*TABLE, *VERSION, "--where/--filter/-w", FILTER[1], "--out/-o", *JSON],
    "checkpoint": [*TABLE, "--version", *JSON],
    "verify": [*TABLE, "--version", "--deep flag", *LIMIT, *FORMS],
    "verify-stats": [*TABLE, "--version", "--columns", "--deep flag", "--resume", *LIMIT, *FORMS],
    "orphans": [*TABLE, "--older-than", *LIMIT, *FORMS],
    "ls": ["CATALOG", "[NAMESPACE]", "--property repeated", *LIMIT, *FORMS],
    "create": [
        "LOCATION",
        "--format required",
        "--column repeated, 2 values",
        "--like",
        "--partition-by repeated",
        "--set-property repeated",
        "--storage-option repeated",
        "--if-exists one of error, ignore, replace",
        *WRITING,
        *JSON,
    ],
    "append": [*TABLE, "FILE...", "--sort-by repeated", "--dry-run flag", *JSON],
    "overwrite": [*TABLE, "FILE...", "--where/-w", "--dynamic flag", "--sort-by repeated", *WRITING, *JSON],
    "alter": [
        *TABLE,
        "--add-column repeated, 2 values",
        "--rename-column 2 values",
        "--drop-column repeated",
        "--change-type 2 values",
        "--set-required",
        "--set-nullable",
        "--set-comment 2 values",
        "--set-default 2 values",
        "--drop-default",
        "--move-column",
        "--set-property repeated",
        "--unset-property repeated",
        "--add-constraint 2 values",
        "--drop-constraint",
        "--first flag",
        "--after",
        *WRITING,
        *JSON,
    ],
    "demo": ["DIR", *DEBUG],
}


def described(parameter: click.Parameter) -> str:
    if isinstance(parameter, click.Argument):
        name = parameter.human_readable_name.removesuffix("...")
        return f"{name if parameter.required else f'[{name}]'}{'...' if parameter.nargs == -1 else ''}"
    assert isinstance(parameter, click.Option)
    kind = parameter.type
    facts = {
        "flag": parameter.is_flag,
        "on": parameter.default is True,
        "of all commands": not parameter.expose_value,
        "repeated": parameter.multiple,
        f"{parameter.nargs} values": parameter.nargs != 1,
        "required": parameter.required,
        f"one of {', '.join(getattr(kind, 'choices', ()))}": isinstance(kind, click.Choice),
        f"from {getattr(kind, 'min', None)}": isinstance(kind, click.IntRange),
        "with a value or none": parameter._flag_needs_value,
    }
    names = "/".join([*parameter.opts, *parameter.secondary_opts])
    return f"{names} {', '.join(fact for fact, holds in facts.items() if holds)}".rstrip()


@pytest.mark.parametrize("name", COMMANDS)
def test_options(name: str) -> None:
    assert [described(parameter) for parameter in cli.commands[name].params] == COMMANDS[name]


def test_commands_are_listed_by_their_use() -> None:
    assert cli.list_commands(click.Context(cli)) == list(COMMANDS)
    assert all(command.get_short_help_str(200) for command in cli.commands.values())
