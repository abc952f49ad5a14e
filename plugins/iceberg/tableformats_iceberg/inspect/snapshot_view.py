"""What metadata tables are computed from."""

from __future__ import annotations

from collections.abc import Callable

from tableformats.plugin import Schema, dataclass

from ..manifests.manifest_list import ManifestList
from ..manifests.source import ManifestSource
from ..metadata.table_metadata import TableMetadata

__all__ = ["SnapshotView"]


@dataclass(frozen=True)
class SnapshotView:
    """The metadata and the manifests of one snapshot.

    ``read_manifest_list`` is called only for tables that list manifests or files.
    """

    metadata: TableMetadata
    schema: Schema
    manifests: ManifestSource
    read_manifest_list: Callable[[], ManifestList]

    @property
    def manifest_list(self) -> ManifestList:
        """The manifests of the snapshot."""
        return self.read_manifest_list()
