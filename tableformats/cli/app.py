"""The group of all commands, and how errors are reported.

Output goes to standard output. An error goes to standard error as one line, followed by a hint in a second line. The
exit code is 0, 2 for wrong arguments or a wrong filter, 3 for a failed check, 1 for all other errors. Tracebacks are
shown with ``--debug``.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from itertools import pairwise

import click

from ..errors import InvalidPredicateError
from ..version import __version__
from .alter import ALTER_COMMANDS
from .catalogs import CATALOG_COMMANDS
from .checks import CHECK_COMMANDS
from .commands import COMMANDS
from .demo import demo
from .output import print_error
from .progress import waiting
from .upkeep import UPKEEP_COMMANDS
from .writing import WRITE_COMMANDS

__all__ = ["main"]

_INTERRUPTED = 130  # 128 + SIGINT, as in shells


class _InOrder(click.Group):
    """Lists its commands in the order in which they were added, the most useful ones first."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


@click.group(cls=_InOrder, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="tableformats")
def cli() -> None:
    """Inspect Delta, Iceberg and other tables: which files a query reads, and why."""


_ALL = (
    *COMMANDS,
    *CHECK_COMMANDS,
    *UPKEEP_COMMANDS,
    *CATALOG_COMMANDS,
    *WRITE_COMMANDS,
    *ALTER_COMMANDS,
    demo,
)
for _command in _ALL:
    cli.add_command(_command)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code.

    Parameters
    ----------
    argv : Sequence[str], optional
        The arguments; None: those of the process.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    # Read here and not by click, because errors of click's own parser must have the chosen form too.
    as_json, debug = _asks_for_json(arguments), "--debug" in arguments
    try:
        with waiting(arguments[0] if arguments else "", is_shown=arguments[:1] != ["demo"]):
            result = cli.main(arguments, prog_name="tableformats", standalone_mode=False)
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return 2
    except click.Abort:
        return _INTERRUPTED
    except (BrokenPipeError, SystemExit):
        # The reader (head, less) closed the pipe; click makes SystemExit of it, and of nothing else here.
        # Redirect, so that the interpreter's flush at exit does not fail too.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if debug:
            traceback.print_exc()
        else:
            print_error(error, as_json)
        return 2 if isinstance(error, (click.UsageError, InvalidPredicateError)) else 1


def _asks_for_json(arguments: Sequence[str]) -> bool:
    pairs = pairwise([*arguments, ""])
    return any(one in ("--json", "--output=json") or (one, behind) == ("--output", "json") for one, behind in pairs)
