"""The command ``tableformats``: inspect tables at a terminal, with JSON output for programs.

:func:`main` runs it. :mod:`commands`, :mod:`checks` and :mod:`demo` define the commands, :mod:`options` the options
that they share, :mod:`output` writes JSON and tables, and :mod:`app` reports errors and chooses the exit code. Click
and rich are imported in this package only.
"""

from .app import main

__all__ = ["main"]
