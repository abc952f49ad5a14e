"""What other writers committed to a Delta table: the commits of a range of versions as :class:`CommittedChange`.

Source: Delta PROTOCOL.md, "Add File and Remove File", "Transaction Identifiers", "Domain Metadata", "Row Tracking".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tableformats.plugin import (
    CommitConflictError,
    CommittedChange,
    CorruptMetadataError,
    FileBatch,
    StoreError,
    cached_property,
    to_numpy,
)
from tableformats.plugin import compute as pc

from ..log.actions import RESTORE_HINT, Actions, parse_actions
from ..log.listing import read_log_file
from ..log.names import LOG_DIRECTORY

if TYPE_CHECKING:
    import pyarrow as pa

    from tableformats.plugin import Storage

    from ..snapshot.delta_snapshot import DeltaSnapshot

__all__ = ["committed_since", "metadata_differs"]


def committed_since(older: DeltaSnapshot, newest: DeltaSnapshot, storage: Storage) -> Iterator[CommittedChange]:
    """The versions after ``older`` up to ``newest``, oldest first.

    Raises
    ------
    CommitConflictError
        A commit is not in the log any more, so nobody knows what it did.
    """
    if newest.version < older.version:
        raise CommitConflictError(f"the table went back to version {newest.version}", path=storage.root)
    for version in range(older.version + 1, newest.version + 1):
        path = storage.join(LOG_DIRECTORY, f"{version:020d}.json")
        try:
            data = read_log_file(storage, path)
        except StoreError:
            raise
        except OSError as error:
            raise CommitConflictError(
                f"version {version} of another writer is not known any more", path=path
            ) from error
        yield _committed(version, parse_actions(data, path), path, older, newest, storage)


def _committed(
    version: int, actions: Actions, path: str, older: DeltaSnapshot, newest: DeltaSnapshot, storage: Storage
) -> CommittedChange:
    removed = [row["path"] for row, _ in actions.removes]
    info = actions.commit_info or {}
    return CommittedChange(
        version,
        _NewFiles(lambda: _new_files(newest.added_files(actions.adds, path), removed)),
        newest.specs,
        _resolved(removed, newest),
        # The same metadata may be written again; rebase compares the whole of it.
        metadata_changed=actions.metadata is not None and metadata_differs(older, newest),
        protocol_changed=actions.protocol is not None and actions.protocol != older.protocol,
        domains=frozenset(str(row.get("domain")) for row in actions.domains),
        applications={str(row.get("appId")): _version_of(row, path) for row in actions.transactions},
        is_blind_append=info.get("isBlindAppend") is True and not removed,
        data_change=any(row.get("dataChange", True) for row, _ in (*actions.adds, *actions.removes)),
    )


def _version_of(transaction: Mapping[str, Any], path: str) -> int:
    version = transaction.get("version")
    if isinstance(version, bool) or not isinstance(version, int):
        raise CorruptMetadataError(
            "a txn action lacks its version, or has one of the wrong type",
            path=path,
            field="txn.version",
            hint=RESTORE_HINT,
        )
    return version


class _NewFiles(Sequence[FileBatch]):
    """The files that a winner added, made when they are asked for: a change that read nothing does not ask."""

    def __init__(self, make: Callable[[], tuple[FileBatch, ...]]) -> None:
        self._make = make

    @cached_property
    def _found(self) -> tuple[FileBatch, ...]:
        return self._make()

    def __len__(self) -> int:
        return len(self._found)

    def __getitem__(self, number: Any) -> Any:
        return self._found[number]


def _new_files(batch: FileBatch | None, removed: list[str]) -> tuple[FileBatch, ...]:
    """The added files without those that only got another deletion vector: their rows were there before."""
    import numpy as np
    import pyarrow as pa

    if batch is None:
        return ()
    again = pc.is_in(batch.files.column("path"), value_set=pa.array(removed, pa.string()))
    batch.live = ~np.asarray(to_numpy(again), bool)
    return (batch,)


def _resolved(paths: list[str], snapshot: DeltaSnapshot) -> pa.StringArray | None:
    import pyarrow as pa

    return snapshot.resolve_paths(pa.array(paths, pa.string())) if paths else None


def metadata_differs(older: DeltaSnapshot, newer: DeltaSnapshot) -> bool:
    """Whether columns, partitioning or properties are other ones, or the table itself."""
    return (older.table_metadata, older.state.metadata.get("id")) != (
        newer.table_metadata,
        newer.state.metadata.get("id"),
    )
