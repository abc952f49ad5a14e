"""The rules for what stands beside the commits: checkpoints, the hint, checksum files and compactions.

Source: Delta PROTOCOL.md, "Checkpoints", "Last Checkpoint File", "Version Checksum File", "Log Compaction Files".
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tableformats.plugin import MetadataCache, StoreError, TableFormatsError, Violation

from ..checkpoints.checkpoint_files import CheckpointFile, expand
from ..checkpoints.damage import damaged_column
from ..log.checksums import read_checksum
from ..log.last_checkpoint import review_hint
from ..log.listing import Checkpoint, LogFile, LogListing, read_log_file
from ..log.names import LAST_CHECKPOINT
from .commit_file import CommitFile, file_key
from .commit_rules import field_violations, protocol_violations
from .history import History
from .rules import violation

if TYPE_CHECKING:
    from tableformats.plugin import Storage

__all__ = [
    "checkpoint_actions",
    "checkpoint_violations",
    "checksum_violations",
    "compaction_violations",
    "hint_violations",
]

_KINDS = ("protocol", "metaData", "txn", "domainMetadata", "checkpointMetadata", "sidecar", "add", "remove")
_MAPS = ("partitionValues", "tags", "configuration", "options")
Actions = list[tuple[str, dict[str, Any]]]


def checkpoint_actions(storage: Storage, checkpoint: Checkpoint) -> tuple[Actions, list[CheckpointFile]]:
    """All actions of a checkpoint as in commits, and its files. Raises CorruptMetadataError."""
    files = expand(storage, checkpoint, MetadataCache(0))
    found: Actions = []
    for file in files:
        if file.is_json:
            commit = CommitFile.read(storage, LogFile(checkpoint.version, file.path, file.size, 0))
            found += commit.actions
            continue
        for kind in _KINDS:
            try:
                found += [(kind, _as_json(row)) for row in file.structs(kind)]
            except (TypeError, ValueError):  # a map that is none, or whose keys are no texts
                raise damaged_column(file.path, kind) from None
    return found, files


def _as_json(row: dict[str, Any]) -> dict[str, Any]:
    """A row of Parquet as an action of JSON: maps are objects, and there are no nulls."""
    found: dict[str, Any] = {}
    for name, value in row.items():
        if name in _MAPS and isinstance(value, list):
            value = {str(key): one for key, one in value}
        elif isinstance(value, dict):
            value = _as_json(value) or None
        if value is not None and not name.endswith("_parsed"):
            found[name] = value
    return found


def checkpoint_violations(
    storage: Storage, checkpoint: Checkpoint, actions: Actions, files: Sequence[CheckpointFile], state: History | None
) -> Iterator[Violation]:
    """What a checkpoint breaks; ``state`` is that of its version, where it is known from commits."""
    path, version = checkpoint.files[0].path, checkpoint.version
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
    keys = {kind: [file_key(action) for name, action in actions if name == kind] for kind in ("add", "remove")}
    for kind, found in keys.items():
        for (name, _), count in Counter(found).items():
            if count > 1:
                yield violation("duplicate-action", f"{count} actions {kind} of {name!r}", path, version)
    for name, _ in sorted(set(keys["add"]) & set(keys["remove"]), key=repr):
        yield violation("add-and-remove", f"{name!r}", path, version)
    for file in files[len(checkpoint.files) :]:
        size = storage.size_of(file.path)
        if size != file.size:
            yield violation("sidecar", f"{file.path!r} has {size} bytes, and not {file.size}", path, version)
    if state is not None and set(keys["add"]) != set(state.live):
        only = [len(set(keys["add"]) - set(state.live)), len(set(state.live) - set(keys["add"]))]
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
    sizes = (add.get("size") for add in state.live.values())
    size = sum(one for one in sizes if isinstance(one, int))
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
    for field, key, actions in (("setTransactions", "appId", state.transactions), ("domainMetadata", "domain", known)):
        listed = content.get(field)
        names = {str(one.get(key)) for one in listed if isinstance(one, dict)} if isinstance(listed, list) else set()
        if names - set(actions):
            yield violation("checksum-file", f"{field} has some that the log does not have", file.path, file.version)


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
