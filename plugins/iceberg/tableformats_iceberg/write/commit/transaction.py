"""One commit to an Iceberg table: a new snapshot, and the swap that makes it the current one of a branch.

The snapshot id is one over all tries, so whose a commit is can be told by it.
Source: Iceberg spec, "Optimistic Concurrency", "Commit Conflict Resolution and Retry".
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

from tableformats.plugin import (
    CommitConflictError,
    CommittedChange,
    CommitUnknownError,
    ConflictCheck,
    FormatTransaction,
    MetadataChange,
    PathNotAllowedError,
    PreparedCommit,
    PutOutcome,
    SnapshotNotFoundError,
    TableChange,
    TableNotFoundError,
    UnsupportedFeatureError,
    WriteTarget,
    dataclass,
    local_turn,
    strip_trailing,
)

from ...files.table_files import TableFiles
from ...metadata.table_metadata import TableMetadata
from ...snapshot import IcebergSnapshot
from ..normal_metadata import normalized
from ..swap import METADATA_PATH, CurrentMetadata, MetadataSwap
from .isolation import checks_of
from .picked_files import Pick, check_staging, pick_of, summary_of
from .snapshot_producer import Base, SnapshotProducer, operation_of
from .staged_metadata import StagedMetadata, staged
from .target import DATA_PATH, check_properties, check_writable, data_base, target_of
from .winners import APPLICATION, applications_of, committed_since, id_of, snapshots_between

__all__ = ["IcebergTransaction"]

MAIN = "main"


@dataclass(frozen=True)
class _Try:
    """One try: the version that it makes, and what it asks and changes, in the JSON of the REST catalog.

    ``snapshot`` is the new one; None where only references or metadata change.
    """

    version: int
    requirements: list[Mapping[str, Any]]
    updates: list[Mapping[str, Any]]
    snapshot: Mapping[str, Any] | None


class IcebergTransaction(FormatTransaction):
    """See :class:`tableformats.plugin.FormatTransaction`.

    Parameters
    ----------
    files : TableFiles
    swap : MetadataSwap
        Commits to the table's directory or its catalog.
    staged : StagedMetadata
        What the commit is made upon.
    branch : str, optional
        None: the main branch.
    committed : callable, optional
        Called when the commit has been made.

    Raises
    ------
    SnapshotNotFoundError
        There is no such branch.
    UnsupportedFeatureError
        A property has an unknown value, or a catalog decides that the table was not opened through.
    """

    snapshot: IcebergSnapshot | None
    _made: tuple[WriteTarget, SnapshotProducer] | None
    _tried: int | None = None
    _try: _Try | None = None

    def __init__(
        self,
        files: TableFiles,
        swap: MetadataSwap,
        staged: StagedMetadata,
        branch: str | None = None,
        committed: Callable[[], None] | None = None,
    ) -> None:
        self._files = files
        self._branch = branch or MAIN
        self._tell = committed
        self._change: TableChange | None = None
        self._next: CurrentMetadata | None = None
        self._swap = swap
        self._move_to(staged)

    @property
    def target(self) -> WriteTarget:  # type: ignore[override]
        """See :class:`tableformats.plugin.FormatTransaction`. Raises UnsupportedFeatureError for an unknown property.

        It is made when it is asked for, so that a change of the properties can be made in spite of them.
        """
        return self._writing[0]

    @property
    def _producer(self) -> SnapshotProducer:
        return self._writing[1]

    @property
    def _writing(self) -> tuple[WriteTarget, SnapshotProducer]:
        if self._made is None:
            target = target_of(self._state.parsed, self._state.json, self._root())
            order = int(self._state.json.get("default-sort-order-id", 0)) if target.sort_by else 0
            self._made = target, SnapshotProducer(self._base, target, order)
        return self._made

    @property
    def _base(self) -> Base:
        return Base(self._state.json, self._parent)

    # ---- the interface ----------------------------------------------------------------------------------------------

    def operation_name(self, change: TableChange) -> str:
        """The ``operation`` of the snapshot; without one, what was asked for."""
        if _pick_in(change) is not None:
            return "append"
        return operation_of(change) if _makes_snapshot(change) else change.operation

    def stage_metadata(self, change: MetadataChange) -> None:
        """See :meth:`tableformats.plugin.FormatTransaction.stage_metadata`."""
        current = self._staged.current
        if current is None or self._staged.change is not None:
            if change == self._staged.change:
                return
            raise UnsupportedFeatureError("one commit changes metadata once", field="metadata")
        self._move_to(staged(current, change, self._files.storage))

    def check(self, change: TableChange) -> None:
        """See :meth:`tableformats.plugin.FormatTransaction.check` and :func:`.target.check_writable`."""
        metadata = self._state.parsed
        if _makes_snapshot(change):
            check_writable(metadata, self._state.json)
            self._check_directories()
        check_staging(change.properties, metadata)
        asked = change.metadata
        if asked is not None and asked.create is not None:
            _ = self.target  # refuses values of properties that are not known
            check_properties(metadata.properties)
        elif asked is not None:  # other values may be unknown still: they are corrected one by one
            check_properties({name: value for name, value in asked.properties.items() if value is not None})
        if change.changed_rows is not None:
            raise UnsupportedFeatureError("Iceberg has no files of changed rows", field="changed_rows")
        if self._files.storage.root == self._files.directory != self._files.locate(metadata.location):
            raise UnsupportedFeatureError(
                f"the table was moved: its metadata says that it is at {metadata.location}",
                path=metadata.path,
                field="location",
                hint="Open it at that location, or with relocate",
            )
        self._swap.check(metadata.format_version)

    def conflict_checks(self, change: TableChange) -> frozenset[ConflictCheck]:
        """See :meth:`tableformats.plugin.FormatTransaction.conflict_checks` and :mod:`.isolation`."""
        return checks_of(change, self._state.parsed.properties)

    def application_version(self, name: str) -> int | None:
        """See :meth:`tableformats.plugin.FormatTransaction.application_version`: from the snapshots' summaries."""
        for ancestor in self._state.parsed.ancestors(id_of(self._parent)):
            if (number := applications_of(ancestor).get(name)) is not None:
                return number
        return None

    def turn(self, change: TableChange) -> AbstractContextManager[bool]:
        """See :meth:`tableformats.plugin.FormatTransaction.turn`. A try that loses has written a list for nothing."""
        self._change = change
        if self._staged.current is None:
            return super().turn(change)
        early: Callable[[], None] | None = None
        if change.metadata is None:
            self._producer.prepare(self._base, change)
            if _reads_nothing(change):
                early = self._producer.store.flush_early
        key = f"{self._state.parsed.location} {self._state.json.get('table-uuid')}"
        return local_turn(key, self._swap.asked_ns, early)

    def try_commit(self, change: TableChange) -> PutOutcome:
        """See :meth:`tableformats.plugin.FormatTransaction.try_commit`."""
        tried = self._begin_try(change)
        made = () if tried.snapshot is None else (self._producer.store.flush,)
        return self._ended(self._swap.commit(self._staged.current, tried.requirements, tried.updates, *made))

    def prepare(self, change: TableChange) -> PreparedCommit:
        """See :meth:`tableformats.plugin.FormatTransaction.prepare`."""
        tried = self._begin_try(change)
        updates = self._swap.part(tried.requirements, tried.updates)
        return PreparedCommit(updates, self._producer.store.flush if tried.snapshot is not None else _nothing)

    def settle(self, outcome: PutOutcome) -> PutOutcome:
        """See :meth:`tableformats.plugin.FormatTransaction.settle`."""
        assert self._try is not None
        if outcome is not PutOutcome.WON:
            outcome = self._swap.looked_up(outcome, self._try.requirements, self._try.updates)
        return self._ended(outcome)

    def _begin_try(self, change: TableChange) -> _Try:
        """What a try asks of the table and changes of it."""
        self._change = change
        requirements, updates = list(self._staged.requirements), list(self._staged.updates)
        snapshot: dict[str, Any] | None = None
        version, properties = self._parent.version, _summary_properties(change)
        makes_snapshot = _makes_snapshot(change)
        if (pick := _pick_in(change)) is not None:
            picked = pick_of(pick, self._state.parsed, id_of(self._parent))
            makes_snapshot = picked.parent_id != id_of(self._parent)
            self._producer.picked = picked if makes_snapshot else None
            properties |= summary_of(picked)
            if not makes_snapshot:
                version = picked.id
                requirements += self._required()
                updates.append(self._reference(version))
        if makes_snapshot:
            is_staged = check_staging(change.properties, self._state.parsed)
            done = change if pick is None else replace(change, operation="append")
            snapshot = self._producer.produce(self._base, done, properties)
            version = snapshot["snapshot-id"]
            requirements += self._required()
            updates.append({"action": "add-snapshot", "snapshot": snapshot})
            self._tried = version
            if not is_staged:
                updates.append(self._reference(version))
        self._try = _Try(version, requirements, updates, snapshot)
        return self._try

    def _ended(self, outcome: PutOutcome) -> PutOutcome:
        """What follows from the outcome of the last try."""
        assert self._try is not None
        snapshot = self._try.snapshot
        if outcome is PutOutcome.WON:
            self.version = self._try.version
            if self._tell is not None:
                self._tell()
        elif outcome is PutOutcome.LOST and snapshot is not None:
            # Nothing names the list of a try that certainly lost. A list that stays is no damage.
            with contextlib.suppress(OSError):
                self._files.storage.delete(self._files.locate(snapshot["manifest-list"]))
        return outcome

    def unknown_outcome(self) -> CommitUnknownError:
        """See :meth:`tableformats.plugin.FormatTransaction.unknown_outcome`."""
        path = self._state.parsed.path
        if self._tried is None:
            hint = "Open the table again: what the commit was to change is there, or it is not. Nothing was deleted"
            return CommitUnknownError("nobody can say whether the metadata were changed", path=path, hint=hint)
        return CommitUnknownError(
            f"nobody can say whether the snapshot {self._tried} was committed",
            path=path,
            hint=f"Do not run it again before {self._tried} is in table.refresh().inspect.snapshots(), "
            "or has not come for some minutes. No file was deleted",
        )

    def _required(self) -> list[dict[str, Any]]:
        """What a new snapshot depends on: that the branch is where it was."""
        if self._staged.current is None:
            return []
        refs = normalized(self._staged.current.json)["refs"]
        head = refs[self._branch]["snapshot-id"] if self._branch in refs else None
        found: list[dict[str, Any]] = [{"type": "assert-ref-snapshot-id", "ref": self._branch, "snapshot-id": head}]
        if "table-uuid" in self._state.json:
            found.append({"type": "assert-table-uuid", "uuid": self._state.json["table-uuid"]})
        return found

    def winners(self) -> Iterator[CommittedChange]:
        """See :meth:`tableformats.plugin.FormatTransaction.winners`."""
        self._next = self._newer()
        assert self._change is not None
        if not _makes_snapshot(self._change):
            return iter(())
        newest = self._head(self._next.parsed)
        if _reads_nothing(self._change):
            return iter(())
        return committed_since(self._parent, newest, self._change)

    def rebase(self, change: TableChange) -> TableChange:
        """See :meth:`tableformats.plugin.FormatTransaction.rebase`."""
        newest, self._next = self._next or self._newer(), None
        moved = self._staged.upon(newest, self._files.storage)
        state = moved.state
        if _makes_snapshot(change):
            head = self._head(newest.parsed)
            if not _reads_nothing(change):
                snapshots_between(newest.parsed, id_of(self._parent), id_of(head))
            self._check_columns(state.parsed)
            spec = self._state.parsed.specs[self.target.spec_id]
            if state.parsed.specs.get(self.target.spec_id) != spec:
                raise CommitConflictError(
                    f"another writer removed the partition spec {spec.id}, which the new files have",
                    path=state.parsed.path,
                )
        made = self._made
        self._move_to(moved)
        self._made = made  # the files are written
        self.check(change)
        return change

    def after_commit(self) -> None:
        """Write the hint of a directory; delete the metadata files that the table's properties let go, and what no
        snapshot names."""
        self._swap.after_commit()
        if self._made is not None:
            self._made[1].store.discard_unnamed()

    # ---- states -----------------------------------------------------------------------------------------------------

    def _move_to(self, staged: StagedMetadata) -> None:
        self._staged = staged
        self._state = state = staged.state
        self._files.follow(state.parsed.location)
        self._parent = self._head(state.parsed)
        self.snapshot = None if staged.current is None else self._parent
        self.version = self._parent.version
        self._made = None

    def _root(self) -> str:
        """Where :func:`data_base` is, absolute; the table's directory, where nothing may be written there."""
        metadata = self._state.parsed
        with contextlib.suppress(PathNotAllowedError):
            return self._files.locate(data_base(metadata))
        return self._files.locate(metadata.location)

    def _check_directories(self) -> None:
        """Refuse to write outside of the table only because its properties say so. Raises PathNotAllowedError."""
        metadata = self._state.parsed
        allowed = (strip_trailing(self._files.locate(metadata.location)), *self._files.storage.allow_paths)
        for name in (DATA_PATH, METADATA_PATH):
            path = metadata.properties.get(name)
            found = self._files.locate(path or metadata.location)  # which refuses ".."
            if not any(f"{found}/".startswith(prefix + "/") for prefix in allowed):
                raise PathNotAllowedError(
                    "the table's properties name a directory outside of the table",
                    path=found,
                    field=name,
                    hint="Nothing was written; if it is right, allow it with allow_paths=[prefix]",
                )

    def _newer(self) -> CurrentMetadata:
        try:
            state = self._swap.newest()
        except TableNotFoundError:
            raise CommitConflictError("another writer removed the table", path=self._state.parsed.path) from None
        own, found = self._state.json.get("table-uuid"), state.json.get("table-uuid")
        if self._staged.current is not None and own is not None and own != found:
            raise CommitConflictError("another table is at the location now", path=state.parsed.path)
        return state

    def _head(self, metadata: TableMetadata) -> IcebergSnapshot:
        """The snapshot that the branch is at."""
        ref = metadata.refs.get(self._branch)
        if (ref is None and self._branch != MAIN) or (ref is not None and ref.type != "branch"):
            names = ", ".join(sorted(r.name for r in metadata.refs.values() if r.type == "branch")[:10])
            raise SnapshotNotFoundError(
                f"there is no branch {self._branch!r}", path=metadata.path, hint=f"The table's branches: {names}"
            )
        snapshot = None if ref is None else metadata.snapshots[ref.snapshot_id]
        return IcebergSnapshot(self._files, metadata, snapshot, metadata.schema)

    def _reference(self, snapshot_id: int) -> dict[str, Any]:
        """The update that moves the branch to a snapshot. How long its snapshots are kept stays."""
        known: Mapping[str, Any] = (self._state.json.get("refs") or {}).get(self._branch) or {"type": "branch"}
        return {**known, "action": "set-snapshot-ref", "ref-name": self._branch, "snapshot-id": snapshot_id}

    def _check_columns(self, newest: TableMetadata) -> None:
        """Refuse where the new files have no column of the table any more, or may lack values that one has to have."""
        if not any(newest.schema.find_id(f.id) for f in self.target.schema.fields):
            raise CommitConflictError("another writer replaced the columns of the table", path=newest.path)
        for f in newest.schema.fields:
            own = self.target.schema.find_id(f.id)
            if own is None and any(f.name == written.name for written in self.target.schema.fields):
                raise CommitConflictError(
                    f"another writer replaced the column {f.name!r} by another of that name", path=newest.path
                )
            if f.required and f.initial_default is None and (own is None or not own.required):
                raise CommitConflictError(
                    f"another writer made the column {f.name!r} one that has no NULLs", path=newest.path
                )


def _nothing() -> None:
    pass


def _reads_nothing(change: TableChange) -> bool:
    """Whether a change can be made upon any snapshot, also where those since the one that was read are gone.

    A number of an application is committed once, so what the others committed has to be known.
    Source: Iceberg spec, "Commit Conflict Resolution and Retry": an append can always be applied again.
    """
    return change.is_blind_append and change.application is None and change.metadata is None


def _makes_snapshot(change: TableChange) -> bool:
    """Whether a change adds or removes files, or is one of rows that happens to be of none."""
    has_files = any(t is not None and t.num_rows for t in (change.added, change.removed))
    return has_files or change.metadata is None or _pick_in(change) is not None


def _pick_in(change: TableChange) -> Pick | None:
    """The snapshot that a change takes into the branch."""
    data = None if change.metadata is None else change.metadata.plugin_data
    return data if isinstance(data, Pick) else None


def _summary_properties(change: TableChange) -> dict[str, str]:
    found = dict(change.properties)
    if change.application is not None:
        name, number = change.application
        found[APPLICATION + name] = str(number)
    return found
