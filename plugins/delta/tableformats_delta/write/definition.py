"""What a table is, apart from its files: the ``protocol`` and ``metaData`` actions that a commit is made under."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..schema.table_metadata import TableMetadata
from .domains import clustering_columns

if TYPE_CHECKING:
    from ..snapshot.delta_snapshot import DeltaSnapshot

__all__ = ["TableDefinition", "definition_of"]


@dataclass(frozen=True)
class TableDefinition:
    """The actions, and what they mean.

    Attributes
    ----------
    protocol, metadata : mapping
        As parsed from JSON.
    table_metadata : TableMetadata
        ``metadata`` decoded.
    clustering : frozenset of tuple of str
        The physical names of the columns by which files are clustered, each by its parts.
    """

    protocol: Mapping[str, Any]
    metadata: Mapping[str, Any]
    table_metadata: TableMetadata
    clustering: frozenset[tuple[str, ...]] = frozenset()

    @property
    def properties(self) -> Mapping[str, str]:
        return self.table_metadata.properties


def definition_of(snapshot: DeltaSnapshot) -> TableDefinition:
    """The definition of a version. Raises CorruptMetadataError where its clustering is damaged."""
    return TableDefinition(
        snapshot.protocol, snapshot.state.metadata, snapshot.table_metadata, clustering_columns(snapshot)
    )
