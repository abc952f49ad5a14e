"""Row-level changes of a range of snapshots: files, and which of their rows changed.

Each snapshot is compared with its parent:

- Rows of a file that only the snapshot has are inserts. Live rows of a file that only the parent has are deletes.
- In a file of both, rows that only the snapshot's deletes select, by position or by key, are deletes. Rows that only
  the parent's deletes select are inserts, because these deletes were removed.
- A snapshot with the operation ``replace`` changes no rows by definition.

Source: Iceberg spec, "Snapshots", "operation".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
import pyarrow as pa

from tableformats.plugin import (
    DELETE,
    INSERT,
    ChangeBatch,
    DeleteFiles,
    FileBatch,
    FormatChanges,
    ReadRequest,
    SnapshotNotFoundError,
    dataclass,
)
from tableformats.plugin import compute as pc

from ..deletes.delete_index import Pairs
from ..deletes.delete_table import no_deletes
from ..manifests.entries import Entries
from ..manifests.manifest_list import DATA, DELETES, Manifest
from ..snapshot import IcebergSnapshot
from .appends import APPEND, added_entries, bounded_columns

__all__ = ["Commit", "IcebergChanges"]

REPLACE = "replace"
_EXCLUDING, _SELECTING = "excluding_deletes", "selecting_deletes"
"""Columns of a batch, list<int64>: the deletes whose rows did not change, because they were deleted before, and the
deletes whose rows are those that changed. Deletes are given by :meth:`IcebergChanges._delete_keys`."""
_ROW_BITS = 32


@dataclass(frozen=True)
class Commit:
    """A snapshot and its parent.

    ``before`` is the empty table if the snapshot has no parent, and None if the parent has expired.
    """

    before: IcebergSnapshot | None
    after: IcebergSnapshot

    @property
    def operation(self) -> str | None:
        """The operation of the snapshot's summary."""
        snapshot = self.after.snapshot
        return snapshot.summary.get("operation") if snapshot else None


@dataclass
class _Rows:
    """Files whose rows changed in one way, with a list of excluding and of selecting deletes for each file."""

    change_type: str
    entries: Entries
    excluding: pa.ListArray
    selecting: pa.ListArray


@dataclass
class _SharedDeletes:
    """The deletes of a snapshot and its parent, as equal numbers for one delete."""

    before: IcebergSnapshot
    after: IcebergSnapshot

    @cached_property
    def numbers(self) -> tuple[np.ndarray, np.ndarray]:
        """int64[n deletes] of the parent and of the snapshot. The deletes are read when this is first used."""
        tables = [snapshot.delete_index.files for snapshot in (self.before, self.after)]
        found = _identities(pa.concat_tables([no_deletes(), *(t for t in tables if t is not None)]))
        end = 0 if tables[0] is None else tables[0].num_rows
        return found[:end], found[end:]


class IcebergChanges(FormatChanges):
    """See :class:`tableformats.plugin.FormatChanges`.

    Parameters
    ----------
    commits : sequence of Commit
        Oldest first, each the parent of the next.
    ending : IcebergSnapshot
        The last snapshot, with the schema that rows are read with.

    Raises
    ------
    SnapshotNotFoundError
        The parent of the first snapshot has expired, and the first snapshot did more than append.
    """

    def __init__(self, commits: Sequence[Commit], ending: IcebergSnapshot) -> None:
        self.starting_version = commits[0].after.version
        self.ending_version = ending.version
        self.snapshot: IcebergSnapshot = ending
        self.specs = ending.specs
        self._commits = commits
        found = (snapshot for commit in commits for snapshot in (commit.before, commit.after) if snapshot is not None)
        self._snapshots = list(dict.fromkeys(found))
        if commits[0].before is None and commits[0].operation not in (APPEND, REPLACE):
            _refuse_without_parent(commits)

    def read(self, request: ReadRequest) -> Iterator[ChangeBatch]:
        """See :meth:`tableformats.plugin.FormatChanges.read`."""
        self._report(request)
        for commit in self._commits:
            if commit.operation != REPLACE:
                for rows in self._changes(commit, request):
                    if rows.entries.files.num_rows:
                        yield _batch(commit, rows)

    def added_files(self, request: ReadRequest) -> Iterator[ChangeBatch]:
        """See :meth:`tableformats.plugin.FormatChanges.added_files`."""
        self._report(request)
        for commit in self._commits:
            for rows in self._added(commit, request):
                if rows.entries.files.num_rows:
                    yield _batch(commit, rows, commit.operation != REPLACE)

    def _report(self, request: ReadRequest) -> None:
        request.report.count_metadata(self.snapshot.metadata.size_bytes)
        for snapshot in self._snapshots:
            snapshot.counted_list(request.report)

    # ---- files --------------------------------------------------------------------------------------------------

    def _changes(self, commit: Commit, request: ReadRequest) -> Iterator[_Rows]:
        """The changes of one commit, deletes before inserts."""
        if commit.before is None:
            yield from self._added(commit, request)
            return
        before, after = commit.before, commit.after
        removed, added, moved = _compare(*_entries_of_one(before, after, request))
        for entries in removed:
            yield self._all_rows(DELETE, entries, before)
        restored = []
        if _only_in(before, after, DELETES) or _only_in(after, before, DELETES):
            shared = _SharedDeletes(before, after)
            for entries in (*_entries(after, _shared_manifests(before, after), request), *moved):
                deleted, undeleted = self._newly_deleted(entries, shared)
                yield deleted
                restored.append(undeleted)
        for entries in added:
            yield self._all_rows(INSERT, entries, after)
        yield from restored

    def _added(self, commit: Commit, request: ReadRequest) -> Iterator[_Rows]:
        """All rows of the files that a commit added."""
        before, after = commit.before, commit.after
        if before is None:
            found = list(added_entries(after, request))
        else:
            _, found, _ = _compare(*_entries_of_one(before, after, request))
        for entries in found:
            yield self._all_rows(INSERT, entries, after)

    # ---- deletes ------------------------------------------------------------------------------------------------

    def _all_rows(self, change_type: str, entries: Entries, snapshot: IcebergSnapshot) -> _Rows:
        """The rows of files that are live in ``snapshot``."""
        files, keys = self._delete_keys(_pairs(entries, snapshot), snapshot)
        count = entries.files.num_rows
        none = files[:0]
        return _Rows(change_type, entries, _lists(files, keys, count), _lists(none, none, count))

    def _newly_deleted(self, entries: Entries, shared: _SharedDeletes) -> tuple[_Rows, _Rows]:
        """Of files that both snapshots have, the rows that were deleted, and those whose deletes were removed."""
        before, after = shared.before, shared.after
        old, new = _pairs(entries, before), _pairs(entries, after)
        old_numbers, new_numbers = shared.numbers
        step = len(old_numbers) + len(new_numbers)
        old_pairs, new_pairs = old[0] * step + old_numbers[old[1]], new[0] * step + new_numbers[new[1]]
        old, new = self._delete_keys(old, before), self._delete_keys(new, after)
        return (
            _selected(DELETE, entries, old, _where(new, ~np.isin(new_pairs, old_pairs))),
            _selected(INSERT, entries, new, _where(old, ~np.isin(old_pairs, new_pairs))),
        )

    def _delete_keys(self, pairs: Pairs, snapshot: IcebergSnapshot) -> Pairs:
        """The pairs with deletes as keys: the snapshot's number, and the row of its :attr:`DeleteIndex.files`."""
        files, deletes = pairs
        return files, (self._snapshots.index(snapshot) << _ROW_BITS) + deletes

    def _deletes(self, keys: np.ndarray) -> pa.Table:
        """The deletes with these keys (int64, ascending)."""
        tables = [no_deletes()]
        for number in np.unique(keys >> _ROW_BITS).tolist():
            files = self._snapshots[number].delete_index.files
            assert files is not None, "the snapshot has the delete"
            rows = keys[keys >> _ROW_BITS == number] & ((1 << _ROW_BITS) - 1)
            tables.append(files.take(pa.array(rows, pa.int64())))
        return pa.concat_tables(tables)

    def attach_deletes(self, files: pa.Table, request: ReadRequest) -> DeleteFiles:
        """See :meth:`tableformats.plugin.FormatChanges.attach_deletes`."""
        owners, lists_of_keys = [], []
        for name in (_EXCLUDING, _SELECTING) if files.num_rows else ():
            lists = files[name].combine_chunks()
            owners.append(pc.list_parent_indices(lists).to_numpy())
            lists_of_keys.append(pc.list_flatten(lists).to_numpy())
        flags = np.array([False, True][: len(lists_of_keys)], bool)
        selects = np.repeat(flags, np.array([len(keys) for keys in lists_of_keys], np.int64))
        of_file = np.concatenate([np.zeros(0, np.int64), *owners]).astype(np.int64)
        # One delete may select rows of one file and exclude rows of another. It is two rows of the result then.
        keys = np.concatenate([np.zeros(0, np.int64), *lists_of_keys]) * 2 + selects
        used, indices = np.unique(keys, return_inverse=True)
        offsets = np.concatenate([[0], np.cumsum(np.bincount(of_file, minlength=files.num_rows))]).astype(np.int64)
        table = self._deletes(used // 2).append_column("selects", pa.array(used % 2 == 1, pa.bool_()))
        return DeleteFiles(table, offsets, indices[np.argsort(of_file, kind="stable")].astype(np.int32))


def _refuse_without_parent(commits: Sequence[Commit]) -> None:
    first = commits[0].after
    later = f"Start at {commits[1].after.version}" if len(commits) > 1 else "Compare two snapshots instead"
    raise SnapshotNotFoundError(
        f"the parent of snapshot {first.version} has expired, so what its {commits[0].operation} removed is not known",
        path=first.metadata.path,
        hint=later,
    )


def _batch(commit: Commit, rows: _Rows, data_change: bool | None = None) -> ChangeBatch:
    entries, count = rows.entries, rows.entries.files.num_rows
    files = entries.files.append_column(_EXCLUDING, rows.excluding).append_column(_SELECTING, rows.selecting)
    if data_change is not None:
        files = files.append_column("data_change", pa.array(np.full(count, data_change)))
    return ChangeBatch(
        FileBatch(files, entries.spec_id, entries.statistics),
        pa.array(np.full(count, commit.after.version, np.int64)),
        pa.repeat(pa.scalar(commit.after.timestamp_ms, pa.int64()), count),
        pa.repeat(pa.scalar(rows.change_type), count),
    )


def _entries(snapshot: IcebergSnapshot, manifests: Sequence[Manifest], request: ReadRequest) -> Iterator[Entries]:
    return snapshot.manifests.entries_of(manifests, bounded_columns(request), request.report)


def _entries_of_one(
    before: IcebergSnapshot, after: IcebergSnapshot, request: ReadRequest
) -> tuple[list[Entries], list[Entries]]:
    """The entries of data manifests that only the one or only the other snapshot has.

    Manifests never change, so the data files of the others are the same.
    """
    old = list(_entries(before, _only_in(before, after, DATA), request))
    return old, list(_entries(after, _only_in(after, before, DATA), request))


def _only_in(snapshot: IcebergSnapshot, other: IcebergSnapshot, content: int) -> list[Manifest]:
    """The manifests that the other snapshot does not have."""
    shared = {m.path for m in other.manifest_list.manifests}
    return [m for m in snapshot.manifest_list.select(content, snapshot.specs) if m.path not in shared]


def _shared_manifests(before: IcebergSnapshot, after: IcebergSnapshot) -> list[Manifest]:
    """The data manifests of ``after`` that ``before`` has too."""
    known = {m.path for m in before.manifest_list.select(DATA, before.specs)}
    return [m for m in after.manifest_list.select(DATA, after.specs) if m.path in known]


def _pairs(entries: Entries, snapshot: IcebergSnapshot) -> Pairs:
    """Which files have which deletes (rows of :attr:`DeleteIndex.files`) in ``snapshot``."""
    files = pa.Table.from_batches([entries.files])
    files = files.append_column("spec_id", pa.array(np.full(files.num_rows, entries.spec_id, np.int32)))
    return snapshot.delete_index.pairs(files)


def _compare(old: Sequence[Entries], new: Sequence[Entries]) -> tuple[list[Entries], list[Entries], list[Entries]]:
    """The files of ``old`` alone, of ``new`` alone, and of both (as in ``new``), by path.

    A snapshot may list a path several times. Its rows are then read several times, so each counts as a file.
    """
    split = len(old)
    paths = [entries.files["path"] for entries in (*old, *new)]
    codes = pa.chunked_array(paths, pa.string()).combine_chunks().dictionary_encode().indices
    numbers = codes.to_numpy(zero_copy_only=False).astype(np.int64)
    old_files = sum(len(p) for p in paths[:split])
    keys = [_with_occurrence(part, len(numbers)) for part in (numbers[:old_files], numbers[old_files:])]
    return (
        _split(old, ~np.isin(keys[0], keys[1])),
        _split(new, ~np.isin(keys[1], keys[0])),
        _split(new, np.isin(keys[1], keys[0])),
    )


def _with_occurrence(codes: np.ndarray, step: int) -> np.ndarray:
    """int64[n]: the code of each row, combined with the number of rows before it that have the same code."""
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    starts = np.searchsorted(ordered, ordered, side="left")
    occurrence = np.empty(len(codes), np.int64)
    occurrence[order] = np.arange(len(codes)) - starts
    return codes * step + occurrence


def _split(entries: Sequence[Entries], chosen: np.ndarray) -> list[Entries]:
    """The chosen files of each of ``entries``. ``chosen`` (bool) has a value for each file of all of them."""
    ends = np.cumsum([e.files.num_rows for e in entries], dtype=np.int64)
    parts = [chosen[end - e.files.num_rows : end] for e, end in zip(entries, ends.tolist(), strict=True)]
    return [e.take(np.flatnonzero(part)) for e, part in zip(entries, parts, strict=True) if part.any()]


def _identities(deletes: pa.Table) -> np.ndarray:
    """int64[n]: equal numbers for rows of one delete file or deletion vector."""
    keys = pc.binary_join_element_wise(
        pc.fill_null(deletes["path"], ""),
        pc.fill_null(deletes["offset"].cast(pa.string()), ""),
        "\0",
    )
    codes = keys.combine_chunks().dictionary_encode().indices
    return np.asarray(codes.to_numpy(zero_copy_only=False)).astype(np.int64)


def _where(pairs: Pairs, chosen: np.ndarray) -> Pairs:
    return pairs[0][chosen], pairs[1][chosen]


def _selected(change_type: str, entries: Entries, excluding: Pairs, selecting: Pairs) -> _Rows:
    """The files that have selecting deletes."""
    chosen = np.unique(selecting[0])
    excluding = _where(excluding, np.isin(excluding[0], chosen))
    lists = [_lists(np.searchsorted(chosen, files), keys, len(chosen)) for files, keys in (excluding, selecting)]
    return _Rows(change_type, entries.take(chosen), *lists)


def _lists(files: np.ndarray, keys: np.ndarray, count: int) -> pa.ListArray:
    """list<int64>[count]: the keys of the deletes of each file, from pairs ordered by file."""
    offsets = np.concatenate([[0], np.cumsum(np.bincount(files, minlength=count))])
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(keys, pa.int64()))
