"""The group of all commands, and how errors are reported.

Output goes to standard output. An error goes to standard error as one line, followed by a hint in a second line. The
exit code is 0, 2 for wrong arguments or a wrong filter, 3 for a failed check, 1 for all other errors. Tracebacks are
shown with ``--debug``.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
import threading
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
_FEW_COLLECTIONS = 100_000
"""New objects after which cycles of them are looked for: a command makes many objects, few cycles, and ends soon."""


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
        The arguments; None: those of the process, which ends with the command.
    """
    if argv is not None:
        return _run(list(argv))
    # NumPy's linear algebra, which no command needs, would start a thread for each core as it is imported.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    gc.set_threshold(_FEW_COLLECTIONS)
    code = _run(sys.argv[1:])
    _end(code)
    return code


def _end(code: int) -> None:
    """End the process, without taking apart all that it imported: that takes longer than many a command.

    What threads and functions for the exit still have to do is done.
    """
    join, run = getattr(threading, "_shutdown", None), getattr(atexit, "_run_exitfuncs", None)
    if join is None or run is None:
        return
    join()
    run()
    for stream in filter(None, (sys.stdout, sys.stderr)):
        try:
            stream.flush()
        except (OSError, ValueError):  # nobody reads it, or it is closed
            code = code or 1
    os._exit(code)


def _run(arguments: list[str]) -> int:
    # Read here and not by click, because errors of click's own parser must have the chosen form too.
    as_json, debug = _asks_for_json(arguments), "--debug" in arguments
    try:
        with waiting(arguments[0] if arguments else "", is_shown=arguments[:1] != ["demo"]):
            result = cli.main(arguments, prog_name="tableformats", standalone_mode=False)
        if sys.stdout is not None:  # it is closed
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
