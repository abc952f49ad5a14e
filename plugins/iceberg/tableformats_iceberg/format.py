"""The format: recognizes Iceberg tables by the names of their metadata files, and opens them.

The rest of the plugin is imported only when a table is opened.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tableformats.plugin import OpenOptions, TableFormat

from .metadata.locate import is_metadata_name

if TYPE_CHECKING:
    from tableformats.plugin import Storage

    from .table import IcebergTable

__all__ = ["IcebergFormat"]


class IcebergFormat(TableFormat):
    """Apache Iceberg, format versions 1 to 3."""

    name = "iceberg"

    def detect(self, storage: Storage, options: OpenOptions) -> bool:
        """Whether the root is a metadata file (``*.metadata.json`` or its gzip names), or has one in ``metadata/``."""
        if is_metadata_name(storage.root):
            return not storage.is_local or storage.is_file(storage.root)  # reading a remote file says if it is there
        return any(is_metadata_name(info.name) for info in storage.list(storage.join("metadata")))

    def open(self, storage: Storage, options: OpenOptions) -> IcebergTable:
        """See :meth:`tableformats.plugin.TableFormat.open`."""
        from .table import IcebergTable

        return IcebergTable.at(storage, options)
