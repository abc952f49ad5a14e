"""The format: recognizes Iceberg tables by the names of their metadata files, and opens them.

The rest of the plugin is imported only when a table is opened.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tableformats.plugin import OpenOptions, TableFormat, importing

from .metadata.locate import is_metadata_name

if TYPE_CHECKING:
    from tableformats.plugin import CreateRequest, Storage

    from .table import IcebergTable
    from .write.commit.transaction import IcebergTransaction

__all__ = ["IcebergFormat"]


class IcebergFormat(TableFormat):
    """Apache Iceberg, format versions 1 to 3."""

    name = "iceberg"

    def table_above(self, path: str) -> str | None:
        """See :meth:`tableformats.plugin.TableFormat.table_above`: ``metadata/*.metadata.json``."""
        directory, _, name = f"/{path}".rpartition("/")
        above, is_below, last = directory.rpartition("/")
        return above[1:] if is_below and last == "metadata" and is_metadata_name(name) else None

    def detect(self, storage: Storage, options: OpenOptions) -> bool:
        """Whether the root is a metadata file (``*.metadata.json`` or its gzip names), or has one in ``metadata/``."""
        if is_metadata_name(storage.root):
            return not storage.is_local or storage.is_file(storage.root)  # reading a remote file says if it is there
        return any(is_metadata_name(info.name) for info in storage.list(storage.join("metadata")))

    def open(self, storage: Storage, options: OpenOptions) -> IcebergTable:
        """See :meth:`tableformats.plugin.TableFormat.open`."""
        with importing():
            from .table import IcebergTable

        return IcebergTable.at(storage, options)

    def create(self, storage: Storage, options: OpenOptions, request: CreateRequest) -> IcebergTransaction:
        """See :meth:`tableformats.plugin.TableFormat.create`.

        The table is at the root of ``storage``; with ``options.staged``, which is what a catalog says, at its location.
        """
        from .write.commit.creation import begin_creation

        return begin_creation(storage, options, request)

    def definition(self, request: CreateRequest) -> Mapping[str, Any]:
        """See :meth:`tableformats.plugin.TableFormat.definition`: a ``CreateTableRequest`` of the REST catalog."""
        from .write.commit.creation import definition_of

        return definition_of(request)
