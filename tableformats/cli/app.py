"""The command's frame: its commands, and how each error leaves it.

Answers go to standard output, errors to standard error in one line, and in a second one what to do next. The exit
code is 0, 2 for a call or a filter that is wrong, 1 for everything else. No traceback, but with ``--debug``.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence

import click

from ..errors import InvalidPredicateError
from ..version import __version__
from .commands import COMMANDS
from .demo import demo
from .output import print_error

__all__ = ["main"]

_INTERRUPTED = 130  # 128 + SIGINT, as shells have it


class _InOrder(click.Group):
    """Lists its commands as they were added, the ones that say most first."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


@click.group(cls=_InOrder, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="tableformats")
def cli() -> None:
    """Look at Delta, Iceberg and other tables: what a query reads, and why."""


for _command in (*COMMANDS, demo):
    cli.add_command(_command)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with ``argv`` (None: those of the process) and return its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    # Read here and not by click: what click could not parse is reported in the asked form as well.
    as_json, debug = "--json" in arguments, "--debug" in arguments
    try:
        result = cli.main(arguments, prog_name="tableformats", standalone_mode=False)
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return 2
    except click.Abort:
        return _INTERRUPTED
    except BrokenPipeError:
        # The reader (head, less) has what it wanted; the interpreter's own flush at exit must not fail either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if debug:
            traceback.print_exc()
        else:
            print_error(error, as_json)
        return 2 if isinstance(error, (click.UsageError, InvalidPredicateError)) else 1
