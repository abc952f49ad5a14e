"""Commit files: JSON commits as their metadata actions and the columns of their file actions.

Within a commit the adds stand before the removes, so that an add wins for its own key: the protocol gives actions
of one commit no order. Source: Delta PROTOCOL.md, "Delta Log Entries", "Action Reconciliation".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tableformats.plugin import CorruptMetadataError

from .actions import BYTE_ORDER_MARK, file_rows, iter_actions
from .commit_buffer import buffer_of_thread
from .commit_lines import CommitLines, read_lines
from .file_keys import file_keys
from .listing import LogFile, read_log_file_into

if TYPE_CHECKING:
    import pyarrow as pa

    from tableformats.plugin import Storage

__all__ = ["Actions", "Commit", "parse_actions", "read_commits"]


@dataclass
class Actions:
    """What a commit or a JSON manifest holds; of protocol and metaData the last one in the file."""

    protocol: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None
    commit_info: dict[str, Any] | None = None
    adds: list[tuple[dict[str, Any], int]] = field(default_factory=list)
    removes: list[tuple[dict[str, Any], int]] = field(default_factory=list)
    changes: list[tuple[dict[str, Any], int]] = field(default_factory=list)
    sidecars: list[dict[str, Any]] = field(default_factory=list)
    transactions: list[dict[str, Any]] = field(default_factory=list)
    domains: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class Commit:
    """One version's changes, decoded."""

    file: LogFile
    protocol: dict[str, Any] | None
    metadata: dict[str, Any] | None
    commit_info: dict[str, Any] | None
    adds: pa.RecordBatch
    removes: pa.RecordBatch


def parse_actions(data: bytes, path: str) -> Actions:
    """Sort the actions of ``data`` by kind. Raises CorruptMetadataError with path and offset."""
    actions = Actions()
    for name, content, offset in iter_actions(data, path):
        if name == "add":
            actions.adds.append((content, offset))
        elif name == "remove":
            actions.removes.append((content, offset))
        elif name == "cdc":
            actions.changes.append((content, offset))
        elif name == "metaData":
            actions.metadata = content
        elif name == "protocol":
            actions.protocol = content
        elif name == "commitInfo":
            actions.commit_info = content
        elif name == "sidecar":
            actions.sidecars.append(content)
        elif name == "txn":
            actions.transactions.append(content)
        elif name == "domainMetadata":
            actions.domains.append(content)
    return actions


def read_commits(storage: Storage, files: Sequence[LogFile]) -> list[Commit]:
    """Read and decode commits and compactions.

    Raises
    ------
    CorruptMetadataError : one is empty, torn, no JSON, or a file action lacks what it needs; a compaction names a
        file twice, so that it is not reconciled
    LimitExceededError : the limits ``metadata_bytes`` and ``entries``
    """
    texts = buffer_of_thread()
    texts.expect([file.size for file in files])
    for file in files:
        texts.end(read_log_file_into(storage, file.path, texts.reserve))
    commits = []
    for number, (file, lines) in enumerate(zip(files, read_lines(texts), strict=True)):
        commit = None if lines is None else _of_lines(file, lines)
        commit = commit or _of_actions(file, parse_actions(texts[number], file.path))
        actions = commit.adds.num_rows + commit.removes.num_rows
        storage.limits.check("entries", actions, "file actions of a commit", path=file.path)
        if file.is_compaction:
            _check_reconciled(commit, storage.root)
        commits.append(commit)
    return commits


def _of_actions(file: LogFile, actions: Actions) -> Commit:
    return Commit(
        file,
        actions.protocol,
        actions.metadata,
        actions.commit_info,
        file_rows(actions.adds, "add", file.path),
        file_rows(actions.removes, "remove", file.path),
    )


def _of_lines(file: LogFile, lines: CommitLines) -> Commit | None:
    """The commit of these lines; None where one of the others is damaged, or holds a file action after all."""
    commit = Commit(file, None, None, None, lines.adds, lines.removes)
    found = lines.adds.num_rows + lines.removes.num_rows
    for offset, text in lines.others:
        if not text.strip(b" \t\r\n"):
            continue
        try:
            actions = parse_actions(text, file.path)
        except CorruptMetadataError:
            return None
        if actions.adds or actions.removes or (offset and text.startswith(BYTE_ORDER_MARK)):
            return None
        commit.protocol = commit.protocol if actions.protocol is None else actions.protocol
        commit.metadata = commit.metadata if actions.metadata is None else actions.metadata
        commit.commit_info = commit.commit_info if actions.commit_info is None else actions.commit_info
        found += 1
    return commit if found else None


def _check_reconciled(commit: Commit, root: str) -> None:
    """In a commit an add wins over a remove; here it may be the older of the two, and nothing tells."""
    import pyarrow as pa

    from tableformats.plugin import compute as pc

    path = commit.file.path
    keys = pa.chunked_array([file_keys(rows, root, path) for rows in (commit.adds, commit.removes)], pa.binary())
    if pc.count_distinct(keys).as_py() != len(keys):
        raise CorruptMetadataError(
            "a compaction of the log names a file twice",
            path=path,
            field="add",
            hint="Remove the file: the commits that it stands for are read instead",
        )
