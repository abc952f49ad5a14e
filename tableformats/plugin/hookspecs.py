"""The hooks that a plugin may implement. There is one: it registers formats, and everything else is plain methods.

``hookimpl`` marks an implementation; a function with the marker whose name is no hook is an error when the plugin
is loaded.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from .format import TableFormat

__all__ = ["PROJECT", "hookimpl", "hookspec"]

PROJECT = "tableformats"
hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def tableformats_register_formats() -> Iterable[type[TableFormat]]:  # type: ignore[empty-body]
    """Return the formats that the plugin brings.

    Called once a process, when the first table is opened or the plugins are listed.

    Returns
    -------
    Classes that implement :class:`tableformats.plugin.TableFormat`, each with its own ``name``. They are made
    without arguments. Two plugins that register one name are an error that names both.

    Notes
    -----
    Every implementation is called; the order of plugins decides nothing. Since 0.1.
    """
