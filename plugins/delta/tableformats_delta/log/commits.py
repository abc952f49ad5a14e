"""Reads commits and compactions: their metadata actions, and their file actions as columns.

The protocol gives the actions of one commit no order. Here the adds of a commit come before its removes, so that an add
wins over a remove with the same key. Source: Delta PROTOCOL.md, "Delta Log Entries", "Action Reconciliation", "Log
Compaction Files".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from tableformats.plugin import CorruptMetadataError, cached_property, dataclass

from .actions import BYTE_ORDER_MARK, Actions, parse_actions
from .commit_buffer import buffer_of_thread
from .commit_lines import CommitLines, read_lines
from .file_actions import file_rows
from .file_keys import file_keys
from .listing import LogFile, read_log_file_into

if TYPE_CHECKING:
    import pyarrow as pa

    from tableformats.plugin import Storage

__all__ = ["Commit", "OwnCommit", "commit_of_actions", "read_commits", "rows_of_own"]


_FEW, _FEW_BYTES = 4, 1 << 14
"""So few commits of so few bytes are parsed as objects: columns take longer to begin."""


@dataclass(frozen=True)
class Commit:
    """A decoded commit or compaction.

    Attributes
    ----------
    protocol, metadata, commit_info : dict or None
        The last action of the kind; None where there is none.
    adds, removes : pyarrow.RecordBatch
        The file actions, as :func:`file_schema` or :func:`full_schema`.
    transactions, domains : list of dict
        The ``txn`` and ``domainMetadata`` actions.
    changes : list of (dict, int)
        The ``cdc`` actions, each with the byte offset of its line.
    """

    file: LogFile
    protocol: dict[str, Any] | None
    metadata: dict[str, Any] | None
    commit_info: dict[str, Any] | None
    adds: pa.RecordBatch
    removes: pa.RecordBatch
    transactions: list[dict[str, Any]] = field(default_factory=list)
    domains: list[dict[str, Any]] = field(default_factory=list)
    changes: list[tuple[dict[str, Any], int]] = field(default_factory=list)


def read_commits(storage: Storage, files: Sequence[LogFile], full: bool = False) -> list[Commit]:
    """Read and decode commits and compactions.

    Parameters
    ----------
    full : bool
        Make rows of :func:`full_schema`.

    Raises
    ------
    CorruptMetadataError
        A file is missing, empty, cut off or no JSON; a file action lacks a field; or a compaction names a file twice
        and so is not reconciled.
    LimitExceededError
        The limits ``metadata_bytes`` and ``entries``.
    """
    buffer = buffer_of_thread()
    buffer.expect([file.size for file in files])
    if files:
        storage.wait_for(files[-1].path)
    for file in files:
        buffer.end(read_log_file_into(storage, file.path, buffer.reserve))
    commits = []
    is_little = len(files) <= _FEW and sum(file.size for file in files) <= _FEW_BYTES
    in_columns = [None] * len(files) if is_little else read_lines(buffer, full)
    for number, (file, lines) in enumerate(zip(files, in_columns, strict=True)):
        commit = None if lines is None else _of_lines(file, lines)
        commit = commit or commit_of_actions(file, parse_actions(buffer[number], file.path), full)
        actions = commit.adds.num_rows + commit.removes.num_rows
        storage.limits.check("entries", actions, "file actions of a commit", path=file.path)
        if file.is_compaction:
            _check_reconciled(commit, storage.root)
        commits.append(commit)
    return commits


def commit_of_actions(file: LogFile, actions: Actions, full: bool = False) -> Commit:
    """The commit of these actions. Raises CorruptMetadataError where a file action lacks a field."""
    return Commit(
        file,
        actions.protocol,
        actions.metadata,
        actions.commit_info,
        file_rows(actions.adds, "add", file.path, full=full),
        file_rows(actions.removes, "remove", file.path, full=full),
        actions.transactions,
        actions.domains,
        actions.changes,
    )


class OwnCommit(Commit):
    """A commit that this process made of ``actions``: its rows are made when they are asked for, which is rare."""

    _actions: Actions

    def __init__(self, file: LogFile, actions: Actions) -> None:
        own = {
            "file": file,
            "protocol": actions.protocol,
            "metadata": actions.metadata,
            "commit_info": actions.commit_info,
            "transactions": actions.transactions,
            "domains": actions.domains,
            "_actions": actions,
        }
        self.__dict__.update(own)

    @property
    def n_actions(self) -> int:
        """How many file actions there are."""
        return len(self._actions.adds) + len(self._actions.removes)

    @cached_property
    def adds(self) -> pa.RecordBatch:  # type: ignore[override]
        """See :class:`Commit`."""
        return file_rows(self._actions.adds, "add", self.file.path)

    @cached_property
    def removes(self) -> pa.RecordBatch:  # type: ignore[override]
        """See :class:`Commit`."""
        return file_rows(self._actions.removes, "remove", self.file.path)


def rows_of_own(commits: Sequence[OwnCommit]) -> list[tuple[str, pa.RecordBatch]]:
    """The file actions of commits of this process, in their order: ``"add"`` or ``"remove"``, rows of `full_schema`."""
    together: list[tuple[str, list[tuple[dict[str, Any], int]]]] = []
    for commit in commits:
        for kind, actions in (("add", commit._actions.adds), ("remove", commit._actions.removes)):
            if together and together[-1][0] == kind:
                together[-1][1].extend(actions)
            elif actions:
                together.append((kind, list(actions)))
    return [(kind, file_rows(actions, kind, commits[0].file.path, full=True)) for kind, actions in together]


def _of_lines(file: LogFile, lines: CommitLines) -> Commit | None:
    """The commit of these lines; None where another line is damaged or holds a file action in an unusual form."""
    protocol = metadata = commit_info = None
    transactions: list[dict[str, Any]] = []
    domains: list[dict[str, Any]] = []
    changes: list[tuple[dict[str, Any], int]] = []
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
        protocol = protocol if actions.protocol is None else actions.protocol
        metadata = metadata if actions.metadata is None else actions.metadata
        commit_info = commit_info if actions.commit_info is None else actions.commit_info
        transactions += actions.transactions
        domains += actions.domains
        changes += actions.changes
        found += 1
    if not found:
        return None
    return Commit(file, protocol, metadata, commit_info, lines.adds, lines.removes, transactions, domains, changes)


def _check_reconciled(commit: Commit, root: str) -> None:
    """Refuse a compaction with two actions of one key: it does not say which of them is newer."""
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
