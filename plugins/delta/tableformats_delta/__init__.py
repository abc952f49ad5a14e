"""Delta Lake tables for tableformats.

The package registers the format and imports the reader when a table is opened. Its rooms import each other in one
direction: ``json``, ``deletes`` <- ``schema``, ``log``, ``statistics`` <- ``checkpoints`` <- ``snapshot`` <-
``changes`` <- ``table`` <- ``format``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tableformats.plugin import hookimpl

if TYPE_CHECKING:
    from tableformats.plugin import TableFormat

__all__ = ["tableformats_register_formats"]


@hookimpl
def tableformats_register_formats() -> list[type[TableFormat]]:
    """See :func:`tableformats.plugin.hookspecs.tableformats_register_formats`."""
    from .format import DeltaFormat

    return [DeltaFormat]
