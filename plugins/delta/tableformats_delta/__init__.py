"""Delta Lake tables for tableformats: registers the format, and imports nothing else until a table is opened."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tableformats.plugin import hookimpl

if TYPE_CHECKING:
    from tableformats.plugin import TableFormat

__all__ = ["tableformats_register_formats"]


@hookimpl
def tableformats_register_formats() -> list[type[TableFormat]]:
    """The one format of this plugin."""
    from .format import DeltaFormat

    return [DeltaFormat]
