"""Writes log compactions: the actions of consecutive commits, reconciled, each line as the commit has it.

Source: Delta PROTOCOL.md, "Log Compaction Files", "Action Reconciliation".
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tableformats.plugin import CorruptMetadataError, PutOutcome, SnapshotNotFoundError, StoreError

from ..log.actions import RESTORE_HINT
from ..log.file_actions import file_rows
from ..log.file_keys import file_keys
from ..log.listing import LogListing, read_log_file
from ..log.names import LOG_DIRECTORY

if TYPE_CHECKING:
    from tableformats.plugin import Storage

__all__ = ["compact_log"]

_ONE = ("protocol", "metaData")
_BY_KEY = {"txn": "appId", "domainMetadata": "domain"}


def compact_log(storage: Storage, listing: LogListing, first: int, last: int) -> str:
    """Write the compaction of the commits ``first`` to ``last``, both included, unless it is there; its path.

    Lines are kept as they are, so fields and values that nobody here knows stay. Tombstones of files and domains stay:
    what they cancel may be older.

    Raises
    ------
    SnapshotNotFoundError
        A commit is not there, or the range has fewer than two.
    CorruptMetadataError
        A commit is damaged.
    StoreError
        As the store fails. OSError if it is local.
    """
    missing = next((version for version in range(first, last + 1) if version not in listing.commits), None)
    if last <= first or missing is not None:
        what = "a compaction has at least two commits" if missing is None else f"the log has no commit {missing}"
        raise SnapshotNotFoundError(what, path=listing.directory)
    path = storage.join(LOG_DIRECTORY, f"{first:020d}.{last:020d}.compacted.json")
    known = listing.compactions.get((first, last))
    if known is None:
        kept = _Kept(storage.root)
        for version in range(last, first - 1, -1):
            file = listing.commits[version]
            kept.take(read_log_file(storage, file.path), file.path)
        if storage.put_if_absent(path, b"".join(reversed(kept.lines))) is PutOutcome.UNKNOWN:
            raise StoreError("the store did not say whether the compaction was written", path=path)
    return path


class _Kept:
    """The lines that count, newest first."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._seen: set[tuple[str, Any]] = set()
        self.lines: list[bytes] = []

    def take(self, data: bytes, path: str) -> None:
        """Add the lines of a commit that is older than those before."""
        actions, offset = [], 0
        for line in data.split(b"\n"):
            if line.strip():
                actions.append((line, offset, *self._action(line, path)))
            offset += len(line) + 1
        # The actions of one commit have no order, but that an add wins over a remove of its key.
        for line, start, name, action in sorted(reversed(actions), key=lambda one: one[2] != "add"):
            key = self._key(name, action, start, path)
            if key is not None and key not in self._seen:
                self._seen.add(key)
                self.lines.append(line.rstrip(b"\r") + b"\n")

    def _action(self, line: bytes, path: str) -> tuple[str, dict[str, Any]]:
        try:
            value = json.loads(line)
            ((name, action),) = [(name, one) for name, one in value.items() if one is not None]
        except (ValueError, AttributeError, RecursionError):
            raise CorruptMetadataError("a line of a commit is not one action", path=path, hint=RESTORE_HINT) from None
        key = _BY_KEY.get(name)
        if not isinstance(action, dict) or (key is not None and not isinstance(action.get(key), str)):
            raise CorruptMetadataError(
                "an action of a commit is of the wrong type", path=path, field=name, hint=RESTORE_HINT
            )
        return name, action

    def _key(self, name: str, action: dict[str, Any], offset: int, path: str) -> tuple[str, Any] | None:
        """What an action is newer or older than others of; None: compactions do not have it."""
        if name in _ONE:
            return name, None
        if name in _BY_KEY:
            return name, action.get(_BY_KEY[name])
        if name in ("add", "remove"):
            return "file", file_keys(file_rows([(action, offset)], name, path), self._root, path)[0].as_py()
        return None
