"""The table from commit to commit: what each breaks in view of what was there before.

Source: Delta PROTOCOL.md, "Action Reconciliation", "In-Commit Timestamps", "Row Tracking", "Append-only Tables".
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

from tableformats.plugin import TableFormatsError, Violation, dataclass

from ..schema.table_metadata import TableMetadata
from .column_rules import doubtful_adds
from .commit_file import CommitFile, file_key, path_of
from .file_rules import partition_violations, record_count, statistics_violations
from .live_files import LiveFiles
from .rules import violation

if TYPE_CHECKING:
    from tableformats.plugin import Storage

    from .checkpoint_contents import CheckpointContents

__all__ = ["History"]

_WATER_MARK = "delta.rowTracking"


@dataclass
class History:
    """The state of the table after the commits so far.

    Attributes
    ----------
    live : LiveFiles
        The live files.
    transactions, domains : dict
        The newest action of each.
    version : int or None
        None before the first commit.
    layout : TableMetadata or None
        The metadata, decoded; None where it cannot be.
    """

    storage: Storage
    protocol: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] | None = None
    live: LiveFiles = field(default_factory=LiveFiles)
    transactions: dict[str, dict[str, Any]] = field(default_factory=dict)
    domains: dict[str, dict[str, Any]] = field(default_factory=dict)
    version: int | None = None
    in_commit_timestamp: int | None = None
    layout: TableMetadata | None = None

    @property
    def properties(self) -> Mapping[str, str]:
        """The configuration of the table."""
        found = (self.metadata or {}).get("configuration")
        return found if isinstance(found, Mapping) else {}

    def _has_feature(self, name: str) -> bool:
        features = self.protocol.get("writerFeatures")
        return isinstance(features, list) and name in features

    def begin(self, contents: CheckpointContents, version: int) -> None:
        """Start from a checkpoint."""
        for block in contents.of("add"):
            self.live.begin(block)
        for name, action in contents.actions:
            if name == "add":
                self.live.add(file_key(action), action)
            elif name == "protocol":
                self.protocol = action
            elif name == "metaData":
                self.metadata = action
            elif name in ("txn", "domainMetadata"):
                self._take_other(name, action)
        self.version = version
        self._decode_layout()

    def apply(self, commit: CommitFile) -> list[Violation]:
        """Go on by one commit, and say what it breaks."""
        found: list[Violation] = []
        self.protocol = commit.last("protocol") or self.protocol
        if (metadata := commit.last("metaData")) is not None:
            self.metadata = metadata
        if metadata is not None or self.version is None:
            found += self._decode_layout(commit)
        found += self._in_commit_timestamp(commit)
        found += self._removes(commit)
        found += self._adds(commit)
        for name, action in commit.of("txn", "domainMetadata"):
            self._take_other(name, action)
        found += self._row_ids(commit)
        self.version = commit.version
        return found

    def _take_other(self, name: str, action: dict[str, Any]) -> None:
        known, key = (self.transactions, "appId") if name == "txn" else (self.domains, "domain")
        known[str(action.get(key))] = action

    def _decode_layout(self, commit: CommitFile | None = None) -> list[Violation]:
        self.layout = None
        where = (None, None) if commit is None else (commit.path, commit.version)
        if self.metadata is None or not self.protocol:
            rule = "no-metadata" if self.metadata is None else "no-protocol"
            return [violation(rule, "the first version must have it", *where)]
        try:
            root, limits = self.storage.root, self.storage.limits
            self.layout = TableMetadata.of_actions(self.metadata, self.protocol, root, limits)
        except (TableFormatsError, KeyError, TypeError) as error:
            return [violation("schema", getattr(error, "message", str(error)), *where)]
        return []

    def _in_commit_timestamp(self, commit: CommitFile) -> Iterator[Violation]:
        if str(self.properties.get("delta.enableInCommitTimestamps", "")).lower() != "true":
            self.in_commit_timestamp = None
            return
        info = commit.last("commitInfo")
        time = (info or {}).get("inCommitTimestamp")
        where = commit.path, commit.version
        if not isinstance(time, int) or isinstance(time, bool):
            yield violation("in-commit-timestamp", "the commit has none", *where)
            return
        if commit.actions[0][0] != "commitInfo":
            yield violation("in-commit-timestamp", "commitInfo is not the first action", *where)
        if self.in_commit_timestamp is not None and time <= self.in_commit_timestamp:
            yield violation("in-commit-timestamp", f"{time} is not after {self.in_commit_timestamp}", *where)
        self.in_commit_timestamp = time

    def _removes(self, commit: CommitFile) -> Iterator[Violation]:
        is_append_only = str(self.properties.get("delta.appendOnly", "")).lower() == "true" and (
            self._has_feature("appendOnly") if isinstance(self.protocol.get("writerFeatures"), list) else True
        )
        for _, remove in commit.of("remove"):
            key = file_key(remove)
            if not self.live.remove(key):
                what = f"{path_of(key)!r} is no live file"
                yield violation("remove-of-unknown-file", what, commit.path, commit.version)
            if is_append_only and remove.get("dataChange") is not False:
                yield violation("append-only", f"{path_of(key)!r} is removed", commit.path, commit.version)

    def _adds(self, commit: CommitFile) -> Iterator[Violation]:
        adds = [add for _, add in commit.of("add")]
        where = commit.path, commit.version
        for add, key in zip(adds, map(file_key, adds), strict=True):
            if key not in self.live and self.live.has_path(path_of(key)):
                yield violation("duplicate-action", f"{path_of(key)!r} is live with another deletion vector", *where)
            self.live.add(key, add)
        for doubtful in doubtful_adds(adds):
            yield from statistics_violations(doubtful, *where)
        if self.layout is not None:
            yield from partition_violations(adds, self.layout.partition_columns, *where)

    def _row_ids(self, commit: CommitFile) -> Iterator[Violation]:
        if not self._has_feature("rowTracking"):
            return
        if str(self.properties.get("delta.rowTrackingSuspended", "")).lower() == "true":
            return
        where, last = (commit.path, commit.version), -1
        for _, add in commit.of("add"):
            base, rows = add.get("baseRowId"), record_count(add)
            if base is None or add.get("defaultRowCommitVersion") is None:
                yield violation("row-ids", f"{add.get('path')!r} has no base row id or commit version", *where)
            elif isinstance(base, int) and rows is not None:
                last = max(last, base + rows - 1)
        mark = self._water_mark()
        if last >= 0 and (mark is None or mark < last):
            yield violation("row-ids", f"row ids up to {last} are given, and the high-water mark is {mark}", *where)

    def _water_mark(self) -> int | None:
        text = self.domains.get(_WATER_MARK, {}).get("configuration")
        try:
            found = json.loads(text) if isinstance(text, str) else None
        except (ValueError, RecursionError):
            return None
        mark = found.get("rowIdHighWaterMark") if isinstance(found, dict) else None
        return mark if isinstance(mark, int) else None

    def overlapping_row_ids(self) -> Iterator[Violation]:
        """Live files that share row ids."""
        if not self._has_feature("rowTracking"):
            return
        files = zip(*(self.live.values_of(name) for name in ("baseRowId", "stats", "path")), strict=True)
        known = [
            (base, record_count({"stats": text}) or 0, path) for base, text, path in files if isinstance(base, int)
        ]
        end, before = 0, None
        for base, rows, path in sorted(known, key=lambda one: one[:2]):
            if base < end:
                what = f"{path!r} has the base row id {base}"
                if before is not None:
                    what = f"{path!r} and {before!r} share row ids"
                yield violation("row-ids", what, None, self.version)
            if base + rows > end:
                end, before = base + rows, path
