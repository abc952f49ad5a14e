"""Writes version checksum files: extended from that of the version before by one commit, or from counted files.

A file that is there is never written over. What is not exactly known is not written: a wrong checksum makes a sound
table look damaged. Source: Delta PROTOCOL.md, "Version Checksum File".
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tableformats.plugin import CorruptMetadataError, FileKeySet, PutOutcome, dataclass, text_buffers, to_arrow
from tableformats.plugin import compute as pc

from ..log.actions import Actions
from ..log.file_keys import file_keys
from ..log.names import LOG_DIRECTORY

if TYPE_CHECKING:
    import pyarrow as pa

    from tableformats.plugin import Storage

    from ..snapshot.delta_snapshot import DeltaSnapshot

__all__ = ["Totals", "checksum_path", "extend_checksum", "write_checksum"]

_MOST_COUNTED = 100_000
"""File actions that are counted again, where the version before has no checksum file."""


@dataclass(frozen=True)
class Totals:
    """The live files of a version and their bytes; ``lists`` are optional fields that are kept up to date."""

    files: int
    size_bytes: int
    lists: Mapping[str, Sequence[Mapping[str, Any]]]


def checksum_path(storage: Storage, version: int) -> str:
    """The path of a checksum file."""
    return storage.join(LOG_DIRECTORY, f"{version:020d}.crc")


def read_totals(storage: Storage, version: int) -> Totals | None:
    """The totals in a checksum file; None where there is none, or no sound one. Raises StoreError."""
    try:
        content = json.loads(storage.read_bytes(checksum_path(storage, version)))
    except (FileNotFoundError, ValueError, RecursionError, CorruptMetadataError):
        return None
    if not isinstance(content, dict):
        return None
    numbers = [content.get(name) for name in ("numFiles", "tableSizeBytes")]
    if not all(isinstance(one, int) and not isinstance(one, bool) and one >= 0 for one in numbers):
        return None
    lists = {name: content[name] for name in _KEYS if _is_list_of_actions(content.get(name))}
    return Totals(numbers[0], numbers[1], lists)  # type: ignore[arg-type]


_KEYS = {"setTransactions": "appId", "domainMetadata": "domain"}


def _is_list_of_actions(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, dict) for one in value)


def totals_of_commits(storage: Storage, snapshot: DeltaSnapshot) -> Totals | None:
    """The totals of a version that has no checkpoint and few file actions; None for others."""
    commits = snapshot.state.commits
    actions = sum(commit.adds.num_rows + commit.removes.num_rows for commit in commits)
    if snapshot.segment.checkpoint is not None or actions > _MOST_COUNTED:
        return None
    seen, files, size = FileKeySet(), 0, 0
    for commit in commits:
        for rows in (commit.adds, commit.removes):
            keys = file_keys(rows, storage.root, commit.file.path)
            first = seen.add_batch(*text_buffers(_binary(keys))).view(bool)
            if rows is commit.adds:
                files += int(first.sum())
                size += pc.sum(pc.filter(rows.column("size"), to_arrow(first))).as_py() or 0
    return Totals(files, size, {})


def _binary(keys: pa.Array) -> pa.Array:
    import pyarrow as pa

    return pc.cast(keys, pa.binary())


def extended(before: Totals, actions: Actions) -> Totals | None:
    """The totals after a commit whose adds are new files, and whose removes are of live ones.

    A commit that enables row tracking adds live files again. None where a removed file has no size.
    """
    is_again = actions.metadata is not None and not actions.removes
    adds = [one for one in actions.adds if not is_again or one[0].get("dataChange") is not False]
    files, size = before.files + len(adds) - len(actions.removes), before.size_bytes
    for sign, one in ((1, adds), (-1, actions.removes)):
        for content, _ in one:
            if not isinstance(content.get("size"), int):
                return None
            size += sign * content["size"]
    if files < 0 or size < 0:
        return None
    newer = {"setTransactions": actions.transactions, "domainMetadata": actions.domains}
    lists = {}
    for name, known in before.lists.items():
        newest = {str(one.get(_KEYS[name])): one for one in [*known, *newer[name]]}
        lists[name] = [one for one in newest.values() if one.get("removed") is not True]
    return Totals(files, size, lists)


def write_checksum(
    storage: Storage,
    version: int,
    totals: Totals,
    protocol: Mapping[str, Any],
    metadata: Mapping[str, Any],
    commit_info: Mapping[str, Any] | None = None,
) -> bool:
    """Write the checksum file of a version, unless there is one; whether it was written.

    Parameters
    ----------
    commit_info : mapping, optional
        That of the version; its in-commit timestamp is there if the table has them.

    Raises
    ------
    StoreError
        As the store fails. OSError if it is local.
    """
    info = commit_info or {}
    content: dict[str, Any] = {
        **({"txnId": info["txnId"]} if isinstance(info.get("txnId"), str) else {}),
        "tableSizeBytes": totals.size_bytes,
        "numFiles": totals.files,
        "numMetadata": 1,
        "numProtocol": 1,
        **totals.lists,
        "metadata": plain_action(metadata),
        "protocol": plain_action(protocol),
    }
    configuration = metadata.get("configuration") or {}
    if str(dict(configuration).get("delta.enableInCommitTimestamps", "")).lower() == "true":
        if "inCommitTimestamp" not in info:
            return False
        content["inCommitTimestampOpt"] = info["inCommitTimestamp"]
    try:
        text = json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:  # the metadata holds half a surrogate pair
        return False
    return storage.put_if_absent(checksum_path(storage, version), text, False) is PutOutcome.WON


def plain_action(action: Mapping[str, Any]) -> dict[str, Any]:
    """An action of JSON or of a Parquet checkpoint as an object of JSON: maps are objects, and there are no nulls."""
    found: dict[str, Any] = {}
    for name, value in action.items():
        if name in ("configuration", "options") and isinstance(value, (list, tuple)):
            value = dict(value)
        elif isinstance(value, Mapping) and name == "format":
            value = plain_action(value)
        if value is not None:
            found[name] = value
    return found


def extend_checksum(
    storage: Storage, before: DeltaSnapshot | None, actions: Actions, version: int, known: Totals | None = None
) -> Totals | None:
    """Write the checksum file of a commit of ours, which adds new files and removes live ones.

    Parameters
    ----------
    before : DeltaSnapshot or None
        The version that the commit was made upon; None: there was none.
    actions : Actions
        Those of the commit.
    known : Totals, optional
        Those of the version before. None: they are read.

    Returns
    -------
    Totals or None
        What the file says; None where it is not known, and no file was written.
    """
    protocol = actions.protocol or (before.protocol if before else None)
    metadata = actions.metadata or (before.state.metadata if before else None)
    if protocol is None or metadata is None:
        return None
    if version == 0:
        known = Totals(0, 0, {"setTransactions": [], "domainMetadata": []})
    elif known is None:
        known = read_totals(storage, version - 1)
        if known is None and before is not None and before.version == version - 1:
            known = totals_of_commits(storage, before)
    totals = None if known is None else extended(known, actions)
    if totals is None or not write_checksum(storage, version, totals, protocol, metadata, actions.commit_info):
        return None
    return totals
