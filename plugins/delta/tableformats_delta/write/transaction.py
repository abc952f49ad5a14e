"""One commit to a Delta table: its version is the name of a file in the log that is written if there is none.

The ``txnId`` of the commitInfo makes the bytes of a commit unique, so whose a commit is can be told by comparing bytes.
Source: Delta PROTOCOL.md, "Delta Log Entries", "Requirements for Writers".
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tableformats.plugin import (
    CommitConflictError,
    CommittedChange,
    ConflictCheck,
    CreateRequest,
    FormatTransaction,
    MetadataCache,
    MetadataChange,
    PutOutcome,
    TableChange,
    check_exclusive_puts,
    current_ms,
    local_turn,
    put_exclusively,
)

from ..evolution.properties import is_true
from ..evolution.protocol_upgrade import supports
from ..log.actions import sorted_actions
from ..log.names import LOG_DIRECTORY
from ..log.next_commits import local_commit
from .actions import CommitContext, commit_actions, commit_lines, operation_of
from .creation import created_definition
from .definition import TableDefinition, altered_definition, definition_of
from .isolation import checks_of
from .replacement import check_replaceable, replaces
from .requirements import check_change, check_table, check_writer_protocol
from .restoring import (
    FileDifference,
    Restoration,
    check_alone,
    conflict_with_winner,
    files_without_row_ids,
    restored_definition,
    restored_files,
)
from .rules import check_defaults
from .target import target_of
from .winners import committed_since, metadata_differs

if TYPE_CHECKING:
    from tableformats.plugin import Storage

    from ..snapshot.delta_snapshot import DeltaSnapshot

__all__ = ["DeltaTransaction"]

_ROW_TRACKING = "delta.enableRowTracking"
_DEFINITION = "how the table is written"
_CHECKED = "the definition that was checked last"
_SHARED = "others commit too"
"""Keys in a cache, which is that of one table."""


class DeltaTransaction(FormatTransaction):
    """See :class:`tableformats.plugin.FormatTransaction`.

    Parameters
    ----------
    newest : callable
        Gives the current version, given an older snapshot or None.
    storage : Storage
        The storage of the table.
    cache : MetadataCache
        Keeps what is known of the commit.
    request : CreateRequest, optional
        There is no table, and the commit creates it.
    """

    snapshot: DeltaSnapshot | None

    def __init__(
        self,
        newest: Callable[[DeltaSnapshot | None], DeltaSnapshot],
        storage: Storage,
        cache: MetadataCache,
        request: CreateRequest | None = None,
    ) -> None:
        self._newest = newest
        self._storage = storage
        self._cache = cache
        self._committed: list[dict[str, Any]] = []
        self._txn_id = str(uuid.uuid4())
        self._next: DeltaSnapshot | None = None
        self._is_altered = False
        self._difference: FileDifference | None = None
        if request is None:
            self._move_to(newest(None))
            return
        self.snapshot, self.version = None, -1
        self._use(created_definition(request, storage.root, storage.limits))

    def operation_name(self, change: TableChange) -> str:
        """See :meth:`tableformats.plugin.FormatTransaction.operation_name`."""
        return operation_of(change)

    def stage_metadata(self, change: MetadataChange) -> None:
        """See :meth:`tableformats.plugin.FormatTransaction.stage_metadata` and :func:`altered_definition`."""
        root, limits = self._storage.root, self._storage.limits
        self._is_altered = True
        if change.create is not None:
            self._use(created_definition(change.create, root, limits, self._definition))
            return
        if isinstance(change.plugin_data, Restoration):
            assert self.snapshot is not None, "what is set back is there"
            older = change.plugin_data.snapshot
            self._difference = restored_files(self._storage, self.snapshot, older)
            self._use(restored_definition(self._definition, older, root, limits))
            return
        had_row_ids = is_true(self._definition.properties, _ROW_TRACKING)
        self._use(altered_definition(self._definition, change, self.snapshot is None, root, limits))
        check_defaults(self.target.rules, change.defaults, root)
        if self.snapshot is not None and is_true(self._definition.properties, _ROW_TRACKING) and not had_row_ids:
            self._difference = files_without_row_ids(self._storage, self.snapshot)

    def check(self, change: TableChange) -> None:
        """See :meth:`tableformats.plugin.FormatTransaction.check`, :func:`check_table` and :func:`check_change`."""
        if self._cache.find(_CHECKED) is not self._definition:
            check_table(self._definition, self._storage.root)
            self._cache.keep(_CHECKED, self._definition, 4096)
        check_change(change, self._definition, self._storage.root)
        if self.snapshot is not None and replaces(change):
            check_replaceable(self.snapshot, self._storage.root)
        check_exclusive_puts(self._storage, self._storage.join(LOG_DIRECTORY))

    def conflict_checks(self, change: TableChange) -> frozenset[ConflictCheck]:
        """See :meth:`tableformats.plugin.FormatTransaction.conflict_checks`."""
        return checks_of(change, self._definition.properties)

    def application_version(self, name: str) -> int | None:
        """See :meth:`tableformats.plugin.FormatTransaction.application_version`."""
        if self.snapshot is None:
            return None
        known = self.snapshot.inspect("transactions")
        return dict(zip(*(known.column(n).to_pylist() for n in ("appId", "version")), strict=True)).get(name)

    @contextmanager
    def turn(self, change: TableChange) -> Iterator[bool]:
        """See :meth:`tableformats.plugin.FormatTransaction.turn`: whether a local log has the next version already.

        Then what would lose is not written. Once a writer was overtaken, it takes turns with others of this machine.
        """
        if self.snapshot is None or not self._storage.is_local:
            yield False
            return
        is_shared = self._cache.find(_SHARED) is not None
        with local_turn(self._storage.join(LOG_DIRECTORY)) if is_shared else nullcontext():
            is_overtaken = local_commit(self._storage, self.version + 1) is not None
            if is_overtaken:
                self._cache.keep(_SHARED, True, 64)
            yield is_overtaken

    def try_commit(self, change: TableChange) -> PutOutcome:
        """See :meth:`tableformats.plugin.FormatTransaction.try_commit`."""
        version = self.version + 1
        if self._difference is not None:
            check_alone(change, self._storage.root)
        context = CommitContext(
            self.snapshot,
            self._definition,
            self.target,
            self._storage,
            self._txn_id,
            current_ms(),
            self._difference,
        )
        path = self._storage.join(LOG_DIRECTORY, f"{version:020d}.json")
        actions = list(commit_actions(change, context))
        outcome = put_exclusively(self._storage, path, commit_lines(actions))
        if outcome is PutOutcome.WON:
            self.version, self._committed = version, actions
        return outcome

    def winners(self) -> Iterator[CommittedChange]:
        """See :meth:`tableformats.plugin.FormatTransaction.winners`."""
        if self.snapshot is None:
            raise CommitConflictError("another writer created a table", path=self._storage.root)
        self._next = self._newest(self.snapshot)
        return committed_since(self.snapshot, self._next, self._storage)

    def rebase(self, change: TableChange) -> TableChange:
        """See :meth:`tableformats.plugin.FormatTransaction.rebase`."""
        assert self.snapshot is not None, "what would create a table has lost"
        newest, self._next = self._next or self._newest(self.snapshot), None
        if self._difference is not None:
            raise conflict_with_winner(newest.version, self._storage.root)
        # What a column asks of writers is compared by check; a checkpoint spells the same action otherwise.
        if metadata_differs(self.snapshot, newest):
            raise CommitConflictError(
                f"another writer changed the table's metadata up to version {newest.version}", path=self._storage.root
            )
        written, altered = self.target, self._definition
        self._move_to(newest)
        if self._is_altered:
            # Neither metadata nor protocol changed: the alteration, whose names files may have, is what it was.
            self._use(altered)
        if replace(self.target, rules=written.rules) != written:
            raise CommitConflictError(
                f"another writer changed how data files are written up to version {newest.version}",
                path=self._storage.root,
            )
        self.check(change)
        return change

    def after_commit(self) -> None:
        """See :meth:`tableformats.plugin.FormatTransaction.after_commit` and :func:`keep_up`."""
        from ..maintenance.after_commit import keep_up

        actions = sorted_actions((kind, content, 0) for action in self._committed for kind, content in action.items())
        keep_up(self._storage, self.snapshot, self.version, actions, self._newest, self._cache)

    def _move_to(self, snapshot: DeltaSnapshot) -> None:
        self.snapshot = snapshot
        self.version = snapshot.version
        known = self._cache.find(_DEFINITION)
        if (
            known is not None
            and known[0].protocol is snapshot.protocol
            and known[0].metadata is snapshot.state.metadata
        ):
            self._definition, self.target = known
            return
        check_writer_protocol(snapshot.protocol, self._storage.root)
        self._use(definition_of(snapshot))
        if not supports(snapshot.protocol, "clustering"):  # its columns change without protocol and metadata
            self._cache.keep(_DEFINITION, (self._definition, self.target), 4096)

    def _use(self, definition: TableDefinition) -> None:
        check_writer_protocol(definition.protocol, self._storage.root)
        self._definition = definition
        self.target = target_of(definition, self._storage.root)
