"""What a table is, apart from its files: the ``protocol`` and ``metaData`` actions that a commit is made under."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tableformats.plugin import Limits, MetadataChange, dataclass

from ..evolution.metadata_change import changed_table
from ..schema.table_metadata import TableMetadata
from .domains import clustering_columns

if TYPE_CHECKING:
    from ..snapshot.delta_snapshot import DeltaSnapshot

__all__ = ["TableDefinition", "altered_definition", "definition_of"]


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
    starts_commit_times : bool
        Whether the commit enables in-commit timestamps.
    """

    protocol: Mapping[str, Any]
    metadata: Mapping[str, Any]
    table_metadata: TableMetadata
    clustering: frozenset[tuple[str, ...]] = frozenset()
    starts_commit_times: bool = False

    @property
    def properties(self) -> Mapping[str, str]:
        return self.table_metadata.properties


def altered_definition(
    definition: TableDefinition, change: MetadataChange, is_new: bool, path: str, limits: Limits
) -> TableDefinition:
    """What a table becomes by a change of its metadata.

    Raises
    ------
    UnsupportedFeatureError, ValueError
        As :func:`changed_table`.
    """
    clustered = [parts[0] for parts in definition.clustering]
    altered = changed_table(definition.metadata, definition.protocol, change, clustered, path, is_new)
    decoded = TableMetadata.of_actions(altered.metadata, altered.protocol, path, limits)
    return TableDefinition(
        altered.protocol, altered.metadata, decoded, definition.clustering, altered.starts_commit_times
    )


def definition_of(snapshot: DeltaSnapshot) -> TableDefinition:
    """The definition of a version. Raises CorruptMetadataError where its clustering is damaged."""
    return TableDefinition(
        snapshot.protocol, snapshot.state.metadata, snapshot.table_metadata, clustering_columns(snapshot)
    )
