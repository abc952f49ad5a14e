"""The commits of a range of versions, with everything that their row-level changes need.

Unlike the commits of a snapshot these have all fields of removes, change data files, and the layout of the files of
each version. Source: Delta PROTOCOL.md, "Add File and Remove File", "Add CDC File".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tableformats.plugin import SnapshotNotFoundError, UnsupportedFeatureError, dataclass

from ..log.actions import Actions, parse_actions
from ..log.file_actions import file_rows
from ..log.file_keys import path_keys
from ..log.history import CommitTimes
from ..log.listing import LogFile, LogListing, read_log_file
from ..schema.features import check_protocol
from ..schema.table_metadata import TableMetadata
from ..snapshot.delta_snapshot import DeltaSnapshot
from .layouts import Layout

if TYPE_CHECKING:
    import pyarrow as pa

    from tableformats.plugin import Storage

__all__ = ["ChangeCommit", "check_range", "read_change_log"]


@dataclass(frozen=True)
class ChangeCommit:
    """The commit of one version.

    Attributes
    ----------
    timestamp_ms : int
        The time of the version, milliseconds since the epoch.
    adds, removes, cdc : pyarrow.RecordBatch
        File actions as :func:`file_schema`. Removes that change no data are left out.
    data_change : bool[n_adds]
        Which adds change data.
    before, after : Layout
        The layout of the files that the commit removes, and of those that it adds.
    """

    file: LogFile
    timestamp_ms: int
    adds: pa.RecordBatch
    data_change: pa.BooleanArray
    removes: pa.RecordBatch
    cdc: pa.RecordBatch
    before: Layout
    after: Layout


def check_range(listing: LogListing, starting: int, ending: int) -> None:
    """Check that the log has every commit from ``starting`` to ``ending``.

    Raises
    ------
    SnapshotNotFoundError
        A commit is missing, or the range is empty or outside of the table's versions.
    """
    latest = listing.latest
    oldest = latest + 1
    while oldest - 1 in listing.commits and oldest - 1 >= (listing.oldest or 0):
        oldest -= 1
    hint = f"Changes of the versions {oldest} to {latest} can be asked for"
    if oldest > latest:
        hint = "No changes can be asked for, as no commit of the table is left"
    message = None
    if not 0 <= starting <= latest or ending > latest:
        message = f"the table has no version {ending if 0 <= starting <= latest else starting}"
    elif ending < starting:
        message = f"the ending version {ending} is before the starting version {starting}"
    else:
        gone = next((v for v in range(starting, ending + 1) if v not in listing.commits), None)
        if gone is not None:
            message = f"the changes of version {gone} are not known any more: its commit was cleaned up"
    if message is not None:
        raise SnapshotNotFoundError(message, path=listing.directory, hint=hint)


def read_change_log(
    storage: Storage, listing: LogListing, starting: int, newest: DeltaSnapshot, at: Callable[[int], DeltaSnapshot]
) -> list[ChangeCommit]:
    """Read the commits from ``starting`` to the version of ``newest``, oldest first.

    Parameters
    ----------
    storage : Storage
        The storage of the table.
    listing : LogListing
        The log, which has every commit of the range.
    starting : int
        The first version.
    newest : DeltaSnapshot
        The snapshot of the last version, whose schema the changes have.
    at : callable
        Gives the snapshot of a version, where a commit alone does not say enough.

    Raises
    ------
    CorruptMetadataError
        A commit is damaged.
    SnapshotNotFoundError
        A commit depends on an older version that was cleaned up.
    UnsupportedFeatureError
        The protocol of a version is not supported, or the schema of ``newest`` cannot hold the rows of a version.
    """
    files = [listing.commits[v] for v in range(starting, newest.version + 1)]
    found = [parse_actions(read_log_file(storage, file.path), file.path) for file in files]
    times = CommitTimes(storage, listing, newest.properties)
    end = Layout.of(newest.table_metadata)
    protocol = newest.protocol
    if found[0].protocol is None and any(actions.protocol for actions in found):
        # The snapshot also checks the protocol from before the range, which newer versions may have replaced.
        protocol = at(starting).protocol
    layout = _first_layout(found, files, end, at)
    commits = []
    for file, actions in zip(files, found, strict=True):
        if actions.protocol is not None:
            protocol = actions.protocol
            check_protocol(protocol, file.path, listing.is_of_catalog)
        before = layout
        if actions.metadata is not None:
            layout = Layout.of(TableMetadata.of_actions(actions.metadata, protocol, file.path, storage.limits))
        time = times.listed(file.version, actions.commit_info)
        assert layout is not None
        commits.append(_commit(file, time, actions, before or layout, layout))
    for commit in commits:
        if commit.removes.num_rows and not commit.cdc.num_rows:
            commit.before.check_readable_by(end, commit.file.path)
        if commit.adds.num_rows or commit.cdc.num_rows:
            commit.after.check_readable_by(end, commit.file.path)
    return _with_partition_values(commits, starting, at)


def _first_layout(
    found: Sequence[Actions], files: Sequence[LogFile], end: Layout, at: Callable[[int], DeltaSnapshot]
) -> Layout | None:
    """The layout of the files that the first commit removes; None where it removes no file."""
    first = files[0].version
    if all(actions.metadata is None for actions in found):
        return end
    if found[0].metadata is None:
        return Layout.of(at(first).table_metadata)
    if first == 0 or not any(map(_changes_data, found[0].removes)):
        return None
    return Layout.of(at(first - 1).table_metadata)


def _commit(file: LogFile, time: int, actions: Actions, before: Layout, after: Layout) -> ChangeCommit:
    import pyarrow as pa

    removes = [action for action in actions.removes if _changes_data(action)]
    return ChangeCommit(
        file,
        time,
        adds=file_rows(actions.adds, "add", file.path),
        data_change=pa.array(list(map(_changes_data, actions.adds)), pa.bool_()),
        removes=file_rows(removes, "remove", file.path, all_fields=True),
        cdc=file_rows(actions.changes, "cdc", file.path),
        before=before,
        after=after,
    )


def _changes_data(action: tuple[dict[str, Any], int]) -> bool:
    return action[0].get("dataChange") is not False


def _with_partition_values(
    commits: Sequence[ChangeCommit], starting: int, at: Callable[[int], DeltaSnapshot]
) -> list[ChangeCommit]:
    """Fill in the partition values that removes lack, from the adds of the same files."""
    pending: set[bytes] = set()
    for commit in commits:
        if commit.before.partition_columns and not commit.cdc.num_rows:
            removes, path = commit.removes, commit.file.path
            pending.update(path_keys(removes.filter(removes.column("partition_values").is_null()), path).to_pylist())
    if not pending:
        return list(commits)
    known: dict[bytes, Any] = {}
    for rows in _add_actions(commits, starting, at):
        keys = path_keys(rows, commits[0].file.path)
        for i, key in enumerate(keys.to_pylist()):
            if key in pending:
                known[key] = rows.column("partition_values")[i].as_py()
                pending.discard(key)
        if not pending:
            break
    if pending:
        raise UnsupportedFeatureError(
            "a remove action has no partition values, and the log before it, which has them, was cleaned up",
            path=commits[0].file.path,
            field="remove.partitionValues",
            hint="Ask for the changes of newer versions",
        )
    return [_filled(commit, known) for commit in commits]


def _add_actions(
    commits: Iterable[ChangeCommit], starting: int, at: Callable[[int], DeltaSnapshot]
) -> Iterator[pa.RecordBatch]:
    for commit in commits:
        yield commit.adds
    with suppress(SnapshotNotFoundError):
        yield from at(starting - 1).add_actions()


def _filled(commit: ChangeCommit, known: dict[bytes, Any]) -> ChangeCommit:
    import pyarrow as pa

    values = commit.removes.column("partition_values")
    if not values.null_count:
        return commit
    keys = path_keys(commit.removes, commit.file.path).to_pylist()
    texts = [known.get(key) if text is None else text for key, text in zip(keys, values.to_pylist(), strict=True)]
    place = commit.removes.schema.get_field_index("partition_values")
    return replace(commit, removes=commit.removes.set_column(place, "partition_values", pa.array(texts, values.type)))
