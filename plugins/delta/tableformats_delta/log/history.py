"""The times of commits, for time travel by timestamp, and the history of a table.

From the version that enabled in-commit timestamps on, the time of a version is its commit's in-commit timestamp. Before
that it is the modification time of the commit's file, made monotonic. Source: Delta PROTOCOL.md, "In-Commit
Timestamps".
"""

from __future__ import annotations

import bisect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tableformats.plugin import DATETIME_MS, CorruptMetadataError, array_of, text_maps, utc_datetime, whole_number

from .actions import iter_actions
from .listing import LogFile, LogListing, read_log_file

if TYPE_CHECKING:
    import pyarrow as pa

    from tableformats.plugin import SnapshotNotFoundError, Storage

__all__ = ["CommitTimes", "history_table"]

# The names and the order of Delta's DESCRIBE HISTORY; txnId is ours.
_COLUMNS = (
    "userId",
    "userName",
    "operationParameters",
    "job",
    "notebook",
    "clusterId",
    "readVersion",
    "isolationLevel",
    "isBlindAppend",
    "operationMetrics",
    "userMetadata",
    "engineInfo",
    "txnId",
)

# The metrics of operations: those of Delta Lake ("Operation metrics keys" of its documentation), and delta-rs' names.
_METRICS = {
    "added_rows": ("numTargetRowsInserted", "num_target_rows_inserted", "num_added_rows", "numOutputRows"),
    "deleted_rows": ("numTargetRowsDeleted", "num_target_rows_deleted", "numDeletedRows", "num_deleted_rows"),
    "updated_rows": ("numTargetRowsUpdated", "num_target_rows_updated", "numUpdatedRows", "num_updated_rows"),
}
_REWRITES = ("DELETE", "UPDATE", "MERGE", "OPTIMIZE")
"""Operations whose ``numOutputRows`` counts copied rows alone. Of others ``numCopiedRows`` says how many it counts."""


class CommitTimes:
    """The times of a table's commits, in milliseconds since the epoch.

    Parameters
    ----------
    storage : Storage
        Reads commits whose ``commitInfo`` is not known.
    listing : LogListing
        The log.
    properties : mapping of str to str
        Table properties; they say from which version on in-commit timestamps are enabled.
    infos : mapping of int to mapping, optional
        The ``commitInfo`` of versions that are decoded already.

    Notes
    -----
    Caches the ``commitInfo`` of each commit that it reads.
    """

    def __init__(
        self,
        storage: Storage,
        listing: LogListing,
        properties: Mapping[str, str],
        infos: Mapping[int, Mapping[str, Any]] | None = None,
    ) -> None:
        self._storage = storage
        self._listing = listing
        self._infos = dict(infos or {})
        self._in_commit_from = _enablement(properties)
        self._versions = sorted(listing.commit_times)

    def of(self, version: int) -> int | None:
        """The time of ``version``; None where its commit is gone. Raises CorruptMetadataError."""
        file = self._listing.commits.get(version)
        info = self._infos.get(version)
        if file is None:
            if info is not None and self.is_in_commit(version):
                return _time(info)
            checkpoint = self._listing.checkpoints.get(version)
            return checkpoint.files[0].mtime_ms if checkpoint is not None else None
        if not self.is_in_commit(version):
            return self._listing.commit_times.get(version, file.mtime_ms)
        if info is None:
            info = self._infos[version] = _commit_info(self._storage, file) or {}
        return self.in_commit(info, file)

    def in_commit(self, info: Mapping[str, Any] | None, file: LogFile) -> int:
        """The in-commit timestamp of a commit that must have one. Raises CorruptMetadataError."""
        time = _time(info or {})
        if time is None:
            raise CorruptMetadataError(
                "the commit has no in-commit timestamp of the years 1 to 9999, and the table needs one",
                path=file.path,
                field="commitInfo.inCommitTimestamp",
            )
        return time

    def listed(self, version: int, info: Mapping[str, Any] | None) -> int:
        """The time of a version whose ``commitInfo`` is ``info``. Raises CorruptMetadataError."""
        if self.is_in_commit(version):
            return self.in_commit(info, self._listing.commits[version])
        return self._listing.commit_times.get(version, self._listing.commits[version].mtime_ms)

    def version_at(self, timestamp_ms: int) -> int:
        """The newest version whose time is not after ``timestamp_ms``.

        Raises
        ------
        SnapshotNotFoundError
            The time is before the earliest or after the newest version that can be read.
        """
        if not self._versions:
            raise self._listing.not_found("no commit of the table is left, so versions have no times")
        if timestamp_ms > self._time(self._versions[-1]):
            raise self._outside(timestamp_ms, "after the newest")
        found = self.newest_until(timestamp_ms)
        if found is None:
            raise self._outside(timestamp_ms, "before the earliest")
        return found

    def newest_until(self, timestamp_ms: int) -> int | None:
        """The newest version whose time is not after ``timestamp_ms``; None: all that can be read are younger."""
        # File times before the enablement and in-commit timestamps after it are two clocks. Each grows, but they may
        # overlap; then in-commit timestamps win.
        first = self._in_commit_from
        split = len(self._versions) if first is None else bisect.bisect_left(self._versions, first)
        early, late = self._versions[:split], self._versions[split:]
        chosen = late if late and (not early or timestamp_ms >= self._time(late[0])) else early
        position = bisect.bisect_right(chosen, timestamp_ms, key=self._time)
        return chosen[position - 1] if position else None

    def _time(self, version: int) -> int:
        return self.of(version) or 0

    def is_in_commit(self, version: int) -> bool:
        """Whether the time of ``version`` is its in-commit timestamp."""
        return self._in_commit_from is not None and version >= self._in_commit_from

    def _outside(self, timestamp_ms: int, where: str) -> SnapshotNotFoundError:
        times = (timestamp_ms, self._time(self._versions[0]), self._time(self._versions[-1]))
        asked, first, last = (utc_datetime(time).isoformat() for time in times)
        return self._listing.not_found(
            f"{asked} is {where} version of the table, whose commits are from {first} to {last}"
        )


def _time(info: Mapping[str, Any]) -> int | None:
    time = info.get("inCommitTimestamp")
    return time if isinstance(time, int) and not isinstance(time, bool) and time in DATETIME_MS else None


def _enablement(properties: Mapping[str, str]) -> int | None:
    """The first version with in-commit timestamps; None where they are not enabled."""
    if properties.get("delta.enableInCommitTimestamps", "false").lower() != "true":
        return None
    return whole_number(properties.get("delta.inCommitTimestampEnablementVersion")) or 0


def _commit_info(storage: Storage, file: LogFile) -> dict[str, Any] | None:
    """The ``commitInfo`` of a commit; parsing stops there, as most writers put it first."""
    actions = iter_actions(read_log_file(storage, file.path), file.path)
    return next((content for name, content, _ in actions if name == "commitInfo"), None)


def history_table(storage: Storage, listing: LogListing, times: CommitTimes, limit: int | None) -> pa.Table:
    """The commits in the log, newest first, with the fields of their ``commitInfo``; absent fields are null.

    Parameters
    ----------
    limit : int or None
        The greatest number of commits; None = all.

    Returns
    -------
    pyarrow.Table
        ``version``, ``timestamp``, ``operation``, then columns by the names of Delta's DESCRIBE HISTORY:
        ``operationParameters`` and ``operationMetrics`` map<string, string>, ``readVersion`` int64, ``isBlindAppend``
        bool, the others string. Values of other types are given as JSON. Last ``user`` (string), and ``added_rows``,
        ``deleted_rows`` and ``updated_rows`` (int64) by the operation's metrics; null where these do not say.

    Raises
    ------
    CorruptMetadataError
        A commit is damaged.
    """
    import pyarrow as pa

    from tableformats.plugin import compute as pc

    versions = sorted(listing.commits, reverse=True)[:limit]
    infos = [_commit_info(storage, listing.commits[v]) or {} for v in versions]
    columns: dict[str, pa.Array] = {
        "version": array_of(versions, pa.int64()),
        "timestamp": array_of(
            [times.listed(v, info) for v, info in zip(versions, infos, strict=True)], pa.timestamp("ms", "UTC")
        ),
        "operation": _texts(infos, "operation"),
    }
    columns.update({name: _column(infos, name) for name in _COLUMNS})
    columns["user"] = pc.coalesce(columns["userName"], columns["userId"])
    columns.update({name: array_of([_count(info, name) for info in infos], pa.int64()) for name in _METRICS})
    return pa.table(columns)


def _count(info: Mapping[str, Any], name: str) -> int | None:
    metrics = info.get("operationMetrics")
    if not isinstance(metrics, dict):
        return None
    for key in _METRICS[name]:
        if key == "numOutputRows" and str(info.get("operation")).upper() in _REWRITES:
            continue
        count = whole_number(str(metrics.get(key)))
        if count is not None:
            copied = whole_number(str(metrics.get("numCopiedRows"))) if key == "numOutputRows" else None
            return max(0, count - (copied or 0))
    return None


def _column(infos: list[dict[str, Any]], name: str) -> pa.Array:
    import pyarrow as pa

    values = [info.get(name) for info in infos]
    if name == "readVersion":
        return array_of([_integer(v) for v in values], pa.int64())
    if name == "isBlindAppend":
        return array_of([v if isinstance(v, bool) else None for v in values], pa.bool_())
    if name.startswith("operation"):
        return text_maps([_pairs(v) for v in values])
    return _texts(infos, name)


def _integer(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63 else None


def _texts(infos: list[dict[str, Any]], name: str) -> pa.Array:
    import pyarrow as pa

    return array_of([None if (v := info.get(name)) is None else _text(v) for info in infos], pa.string())


def _text(value: Any) -> str:
    """A value of any type as text: strings as they are, others as JSON; half a surrogate pair becomes '?'."""
    import json

    text = value if isinstance(value, str) else json.dumps(value)
    return text.encode(errors="replace").decode()


def _pairs(value: Any) -> list[tuple[str, str | None]] | None:
    if not isinstance(value, dict):
        return None
    return [(_text(key), None if v is None else _text(v)) for key, v in value.items()]
