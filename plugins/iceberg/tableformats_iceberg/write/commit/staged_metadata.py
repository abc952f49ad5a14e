"""The metadata that a commit is made upon: what is there, and what the commit itself changes of it.

Of a new table nothing is there. Its updates come first in the commit, so that one commit creates it with its rows.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tableformats.plugin import CommitConflictError, CreateRequest, MetadataChange, Storage, current_ms, dataclass

from ..create import create_updates, replace_updates
from ..metadata_change import changes_of
from ..metadata_updates import apply_updates
from ..requirements import failed_requirement
from ..swap import CurrentMetadata, read_current

__all__ = ["StagedMetadata", "created", "staged"]

Json = dict[str, Any]


@dataclass(frozen=True)
class StagedMetadata:
    """See the module.

    Attributes
    ----------
    current : CurrentMetadata or None
        What is there; None: no table.
    state : CurrentMetadata
        That with the updates.
    requirements, updates : sequence of mapping
        Of the change of metadata, in the JSON of the REST catalog.
    change : MetadataChange, optional
        From which they were made.
    """

    current: CurrentMetadata | None
    state: CurrentMetadata
    requirements: Sequence[Mapping[str, Any]] = ()
    updates: Sequence[Mapping[str, Any]] = ()
    change: MetadataChange | None = None

    def upon(self, newest: CurrentMetadata, storage: Storage) -> StagedMetadata:
        """The same change upon newer metadata.

        Raises
        ------
        CommitConflictError
            Another writer changed what the change depends on.
        """
        if self.current is None:
            raise CommitConflictError("another writer created the table", path=newest.parsed.path)
        if self.change is None:
            return StagedMetadata(newest, newest)
        failed = failed_requirement(newest.json, self.requirements)
        if failed is not None:
            raise CommitConflictError(f"another writer changed the table's metadata: {failed}", path=newest.parsed.path)
        return staged(newest, self.change, storage)


def staged(current: CurrentMetadata, change: MetadataChange | None, storage: Storage) -> StagedMetadata:
    """Metadata with a change. Raises as :func:`changes_of` does."""
    if change is None:
        return StagedMetadata(current, current)
    if change.create is not None:
        requirements, updates = replace_updates(current.json, change.create, current.parsed.path)
    else:
        requirements, updates = changes_of(current.json, change, current.parsed.path)
    found = apply_updates(current.json, updates, now_ms=current_ms())
    if found is current.json:
        return StagedMetadata(current, current, requirements, updates, change)
    return StagedMetadata(current, _state(found, current.parsed.path, storage), requirements, updates, change)


def created(location: str, table_id: str | None, request: CreateRequest, storage: Storage) -> StagedMetadata:
    """A new table at ``location``. ``table_id``: the uuid that a catalog gave it. Raises as :func:`create_updates`."""
    updates = create_updates(
        location, request.schema, request.partition_by, request.sort_by, request.properties, table_id=table_id
    )
    state = _state(apply_updates(None, updates, now_ms=current_ms()), f"{location}/metadata", storage)
    return StagedMetadata(None, state, [{"type": "assert-create"}], updates, MetadataChange(create=request))


def _state(metadata: Json, path: str, storage: Storage) -> CurrentMetadata:
    return read_current(storage, path, path, json.dumps(metadata).encode())
