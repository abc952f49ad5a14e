"""What other writers committed to a Delta table: the commits of a range of versions as :class:`CommittedChange`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tableformats.plugin import CommittedChange

if TYPE_CHECKING:
    from tableformats.plugin import Storage

    from ..snapshot.delta_snapshot import DeltaSnapshot

__all__ = ["committed_since", "metadata_differs"]


def committed_since(older: DeltaSnapshot, newest: DeltaSnapshot, storage: Storage) -> Iterator[CommittedChange]:
    """The versions after ``older`` up to ``newest``, oldest first."""
    for version in range(older.version + 1, newest.version + 1):
        yield CommittedChange(version)


def metadata_differs(older: DeltaSnapshot, newer: DeltaSnapshot) -> bool:
    """Whether columns, partitioning or properties are other ones, or the table itself."""
    return (older.table_metadata, older.state.metadata.get("id")) != (
        newer.table_metadata,
        newer.state.metadata.get("id"),
    )
