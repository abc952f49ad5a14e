"""The rules for what stands beside the commits: checkpoints, the hint, checksum files and compactions.

Source: Delta PROTOCOL.md, "Checkpoints", "Last Checkpoint File", "Version Checksum File", "Log Compaction Files".
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tableformats.plugin import StoreError, TableFormatsError, Violation

from ..log.checksums import read_checksum
from ..log.last_checkpoint import review_hint
from ..log.listing import Checkpoint, LogFile, LogListing, read_log_file
from ..log.names import LAST_CHECKPOINT
from .checkpoint_contents import FILE_ACTIONS, CheckpointContents
from .column_rules import doubtful_fields
from .commit_file import CommitFile, FileKey, file_key, path_of
from .commit_rules import field_violations, protocol_violations
from .history import History
from .rules import violation

if TYPE_CHECKING:
    from tableformats.plugin import Storage

__all__ = [
    "checkpoint_violations",
    "checksum_violations",
    "compaction_violations",
    "hint_violations",
]


def checkpoint_violations(
    storage: Storage, checkpoint: Checkpoint, contents: CheckpointContents, state: History | None
) -> Iterator[Violation]:
    """What a checkpoint breaks; ``state`` is that of its version, where it is known from commits."""
    path, version, actions = checkpoint.files[0].path, checkpoint.version, contents.actions
    counts = Counter(name for name, _ in actions)
    for kind in ("protocol", "metaData"):
        if counts[kind] != 1:
            yield violation("checkpoint-contents", f"it has {counts[kind]} actions {kind}", path, version)
    described = [action.get("version") for name, action in actions if name == "checkpointMetadata"]
    if counts["sidecar"] and len(described) != 1:
        yield violation("checkpoint-contents", f"it has {len(described)} actions checkpointMetadata", path, version)
    if any(one != version for one in described):
        yield violation("checkpoint-contents", f"its checkpointMetadata says version {described}", path, version)
    for name, action in actions:
        yield from field_violations(name, action, path, version)
        if name == "protocol":
            yield from protocol_violations(action, path, version)
    for block in contents.columns:
        for row in np.flatnonzero(doubtful_fields(block)).tolist():
            yield from field_violations(block.kind, block.action(row), path, version)
    keys: dict[str, set[FileKey]] = {}
    for kind in FILE_ACTIONS:
        every = contents.keys(kind)
        keys[kind] = set(every)
        for key, count in Counter(every).items() if len(keys[kind]) < len(every) else ():
            if count > 1:
                yield violation("duplicate-action", f"{count} actions {kind} of {path_of(key)!r}", path, version)
    for name in sorted(map(path_of, keys["add"] & keys["remove"])):
        yield violation("add-and-remove", f"{name!r}", path, version)
    for file in contents.files[len(checkpoint.files) :]:
        size = storage.size_of(file.path)
        if size != file.size:
            yield violation("sidecar", f"{file.path!r} has {size} bytes, and not {file.size}", path, version)
    if state is not None and keys["add"] != state.live.keys():
        only = [len(keys["add"] - state.live.keys()), len(state.live.keys() - keys["add"])]
        what = f"{only[0]} files are live in it alone, and {only[1]} in the commits alone"
        yield violation("checkpoint-state", what, path, version)


def checksum_violations(storage: Storage, file: LogFile, state: History) -> Iterator[Violation]:
    """What a checksum file says otherwise than the log."""
    try:
        checksum = read_checksum(storage, file)
        content = json.loads(read_log_file(storage, file.path))
    except StoreError:
        raise
    except TableFormatsError as error:
        yield violation("checksum-file", error.message, file.path, file.version)
        return
    size = sum(one for one in state.live.values_of("size") if isinstance(one, int))
    values = (
        ("protocol", state.protocol),
        ("metadata", state.metadata),
        ("numFiles", len(state.live)),
        ("tableSizeBytes", size),
    )
    for name, found in values:
        try:
            checksum.check(name, found)
        except TableFormatsError as error:
            yield violation("checksum-file", f"{name}: {error.message}", file.path, file.version)
    time = checksum.in_commit_timestamp
    if time is not None and state.in_commit_timestamp is not None and time != state.in_commit_timestamp:
        yield violation("checksum-file", "it has another in-commit timestamp than the log", file.path, file.version)
    known = {name: action for name, action in state.domains.items() if action.get("removed") is not True}
    for listing, key, actions in (
        ("setTransactions", "appId", state.transactions),
        ("domainMetadata", "domain", known),
    ):
        listed = content.get(listing)
        names = {str(one.get(key)) for one in listed if isinstance(one, dict)} if isinstance(listed, list) else set()
        if names - set(actions):
            yield violation("checksum-file", f"{listing} has some that the log does not have", file.path, file.version)


def compaction_violations(storage: Storage, file: LogFile, commits: Sequence[CommitFile]) -> Iterator[Violation]:
    """What a compaction says otherwise than its commits, which are given oldest first."""
    compacted = CommitFile.read(storage, file)
    yield from compacted.violations
    adds: set[Any] = set()
    removes: set[Any] = set()
    for commit in commits:
        gone = {file_key(action) for _, action in commit.of("remove")}
        new = {file_key(action) for _, action in commit.of("add")}
        adds = (adds - gone) | new
        removes = (removes | gone) - new
    for kind, expected in (("add", adds), ("remove", removes)):
        found = {file_key(action) for _, action in compacted.of(kind)}
        if found != expected:
            what = f"its actions {kind} are not those of its commits"
            yield violation("compaction-state", what, file.path, file.version)


def hint_violations(storage: Storage, listing: LogListing) -> Iterator[Violation]:
    """What is wrong with the hint, if there is one; that it is stale is not wrong."""
    path = f"{listing.directory}/{LAST_CHECKPOINT}"
    if storage.size_of(path) is None:
        return
    version, remark = review_hint(storage, listing)
    if remark == "its checksum is wrong":
        yield violation("hint-checksum", remark, path, version)
    elif remark.startswith("names a version"):
        yield violation("dangling-hint", f"it names version {version}, which has no complete checkpoint", path, version)
    elif remark and not remark.startswith("stale"):
        yield violation("damaged-file", remark, path, version)
