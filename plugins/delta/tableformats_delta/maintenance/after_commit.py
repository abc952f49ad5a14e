"""What follows a commit of ours: its checksum file, and every so many commits a checkpoint and the cleaning of the log.

Source: Delta documentation, "Table properties reference", ``delta.checkpointInterval``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ..log.commits import read_commits
from ..log.listing import list_log
from .checkpoint_writer import write_checkpoint
from .checksum_writer import extend_checksum, log_file
from .cleanup import clean_log

if TYPE_CHECKING:
    from tableformats.plugin import Storage

    from ..snapshot.delta_snapshot import DeltaSnapshot

__all__ = ["keep_up"]

_INTERVAL = 10
"""What ``delta.checkpointInterval`` is where the table does not say."""


def keep_up(
    storage: Storage,
    before: DeltaSnapshot | None,
    version: int,
    newest: Callable[[DeltaSnapshot | None], DeltaSnapshot],
) -> None:
    """Write the checksum file of a commit, and a checkpoint if it is time for one. Nothing here changes the table.

    Parameters
    ----------
    before : DeltaSnapshot or None
        The version that the commit was made upon; None: it created the table.
    version : int
        The version of the commit.
    newest : callable
        Gives the current version, given an older snapshot or None.

    Raises
    ------
    TableFormatsError, OSError
        Whatever goes wrong; the commit stands.
    """
    (commit,) = read_commits(storage, [log_file(storage, version)], full=True)
    try:
        extend_checksum(storage, before, commit)
    finally:
        metadata = commit.metadata or (before.state.metadata if before else {})
        if is_due(version, metadata):
            _checkpoint(storage, newest(before))


def is_due(version: int, metadata: Mapping[str, Any]) -> bool:
    """Whether a checkpoint follows this version."""
    text = str(dict(metadata.get("configuration") or {}).get("delta.checkpointInterval", _INTERVAL)).strip()
    interval = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else _INTERVAL
    return version > 0 and interval > 0 and version % interval == 0


def _checkpoint(storage: Storage, snapshot: DeltaSnapshot) -> None:
    if snapshot.segment.is_of_catalog:
        return
    listing = list_log(storage)
    write_checkpoint(storage, snapshot, listing)
    clean_log(storage, snapshot, list_log(storage))
