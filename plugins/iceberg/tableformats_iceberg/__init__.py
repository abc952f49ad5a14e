"""Apache Iceberg tables for ``tableformats``.

The packages, from the lowest to the highest; each imports only those before it: ``files``, ``avro`` and ``metadata``,
``manifests``, ``deletes`` and ``inspect``, then the modules ``snapshot``, the package ``changes``, and the modules
``table`` and ``format``.
"""

from __future__ import annotations

from tableformats.plugin import TableFormat, hookimpl

__all__ = ["tableformats_register_formats"]


@hookimpl
def tableformats_register_formats() -> list[type[TableFormat]]:
    """The format classes of this plugin."""
    from .format import IcebergFormat

    return [IcebergFormat]
