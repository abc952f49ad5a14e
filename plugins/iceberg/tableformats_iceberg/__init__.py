"""Apache Iceberg tables for ``tableformats``: metadata, manifests, deletes, bounds."""

from __future__ import annotations

from tableformats.plugin import TableFormat, hookimpl

__all__ = ["tableformats_register_formats"]


@hookimpl
def tableformats_register_formats() -> list[type[TableFormat]]:
    """The formats that this plugin brings."""
    from .format import IcebergFormat

    return [IcebergFormat]
