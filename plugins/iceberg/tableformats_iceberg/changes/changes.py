"""Row-level changes of a range of snapshots, as files and the rows of them that changed.

A snapshot is compared with its parent. Rows of a file that only the snapshot has are inserts, rows that lived in a
file that only the parent has are deletes. Of a file that both have, the rows that deletes of the snapshot select and
those of the parent did not are deletes, be it by position or by key; the other way round (a delete was taken back) they
are inserts. A snapshot whose operation is ``replace`` changed no rows by definition.
Source: Iceberg spec, "Snapshots", "operation".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

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
)
from tableformats.plugin import compute as pc

from ..deletes.deletes import no_deletes
from ..manifests.entries import Entries
from ..manifests.manifest_list import DATA, DELETES, Manifest
from ..snapshot import IcebergSnapshot
from .appends import APPEND, added_entries

__all__ = ["Commit", "IcebergChanges"]

REPLACE = "replace"
_OWN, _SELECTING = "own_deletes", "selecting_deletes"
"""Columns of a batch, list<int64>: deletes whose rows are left out, and deletes whose rows are those that changed."""


@dataclass(frozen=True)
class Commit:
    """A snapshot and its parent; ``before`` is the empty table where there is none, and None where it has expired."""

    before: IcebergSnapshot | None
    after: IcebergSnapshot

    @property
    def operation(self) -> str | None:
        snapshot = self.after.snapshot
        return snapshot.summary.get("operation") if snapshot else None


@dataclass
class _Rows:
    """Files whose rows changed in one way. ``own`` and ``selecting`` are one list of deletes a file."""

    change_type: str
    entries: Entries
    own: pa.ListArray
    selecting: pa.ListArray


class IcebergChanges(FormatChanges):
    """See :class:`tableformats.plugin.FormatChanges`.

    Parameters
    ----------
    commits : oldest first, each the parent of the next
    ending : the ending snapshot under the schema that rows are given by

    Raises
    ------
    SnapshotNotFoundError : the parent of the first snapshot has expired, and that one did more than append
    """

    def __init__(self, commits: Sequence[Commit], ending: IcebergSnapshot) -> None:
        self.starting_version = commits[0].after.version
        self.ending_version = ending.version
        self.snapshot: IcebergSnapshot = ending
        self.specs = ending.specs
        self._commits = commits
        self._table = no_deletes()
        self._first_row: dict[int, int] = {}
        self._same = np.zeros(0, np.int64)
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
        for snapshot in dict.fromkeys(s for c in self._commits for s in (c.before, c.after) if s is not None):
            snapshot.counted_list(request.report)

    # ---- files --------------------------------------------------------------------------------------------------

    def _changes(self, commit: Commit, request: ReadRequest) -> Iterator[_Rows]:
        """Deletes before inserts."""
        if commit.before is None:
            yield from self._added(commit, request)
            return
        before, after = commit.before, commit.after
        gone = list(before.entries_of(_only_in(before, after, DATA), request))
        new = list(after.entries_of(_only_in(after, before, DATA), request))
        removed, added, kept = _compare(gone, new)
        for entries in removed:
            yield self._all_rows(DELETE, entries, before)
        restored = []
        if _only_in(before, after, DELETES) or _only_in(after, before, DELETES):
            shared = [m for m in _data_manifests(after) if m.path in {o.path for o in _data_manifests(before)}]
            for entries in (*after.entries_of(shared, request), *kept):
                deleted, undone = self._newly_deleted(entries, before, after)
                yield deleted
                restored.append(undone)
        for entries in added:
            yield self._all_rows(INSERT, entries, after)
        yield from restored

    def _added(self, commit: Commit, request: ReadRequest) -> Iterator[_Rows]:
        before, after = commit.before, commit.after
        if before is None:
            found = list(added_entries(after, request))
        else:
            gone = list(before.entries_of(_only_in(before, after, DATA), request))
            found = _compare(gone, list(after.entries_of(_only_in(after, before, DATA), request)))[1]
        for entries in found:
            yield self._all_rows(INSERT, entries, after)

    # ---- deletes ------------------------------------------------------------------------------------------------

    def _all_rows(self, change_type: str, entries: Entries, snapshot: IcebergSnapshot) -> _Rows:
        """All rows of the files that live in ``snapshot``."""
        files, deletes = self._pairs(entries, snapshot)
        count = entries.files.num_rows
        return _Rows(change_type, entries, _lists(files, deletes, count), _lists(files[:0], deletes[:0], count))

    def _newly_deleted(self, entries: Entries, before: IcebergSnapshot, after: IcebergSnapshot) -> tuple[_Rows, _Rows]:
        """The rows of files of both snapshots that were deleted, and those whose deletes were taken back."""
        old, new = self._pairs(entries, before), self._pairs(entries, after)
        same = self._same
        old_keys, new_keys = (files * (len(same) + 1) + same[deletes] for files, deletes in (old, new))
        return (
            _selected(DELETE, entries, old, _where(new, ~np.isin(new_keys, old_keys))),
            _selected(INSERT, entries, new, _where(old, ~np.isin(old_keys, new_keys))),
        )

    def _pairs(self, entries: Entries, snapshot: IcebergSnapshot) -> tuple[np.ndarray, np.ndarray]:
        """Which files have which deletes in ``snapshot``; a delete is a row of ``_table``, where every snapshot that
        was read has its own rows, and ``_same`` has equal numbers for rows of one delete."""
        index = snapshot.delete_index
        files = pa.Table.from_batches([entries.files])
        files = files.append_column("spec_id", pa.array(np.full(files.num_rows, entries.spec_id, np.int32)))
        rows, deletes = index.pairs(files)
        if index.files is not None and snapshot.version not in self._first_row:
            self._first_row[snapshot.version] = self._table.num_rows
            self._table = pa.concat_tables([self._table, index.files])
            self._same = _identities(self._table)
        return rows, deletes + self._first_row.get(snapshot.version, 0)

    def attach_deletes(self, files: pa.Table, request: ReadRequest) -> DeleteFiles:
        """See :meth:`tableformats.plugin.FormatChanges.attach_deletes`."""
        owners, numbers = [], []
        for name in (_OWN, _SELECTING) if files.num_rows else ():
            lists = files[name].combine_chunks()
            owners.append(pc.list_parent_indices(lists).to_numpy())
            numbers.append(pc.list_flatten(lists).to_numpy())
        selects = np.repeat([False, True][: len(numbers)], [len(n) for n in numbers])
        of_file = np.concatenate([np.zeros(0, np.int64), *owners]).astype(np.int64)
        keys = np.concatenate([np.zeros(0, np.int64), *numbers]) * 2 + selects
        used, indices = np.unique(keys, return_inverse=True)
        offsets = np.concatenate([[0], np.cumsum(np.bincount(of_file, minlength=files.num_rows))]).astype(np.int64)
        table = self._table.take(pa.array(used // 2, pa.int64()))
        table = table.append_column("selects", pa.array(used % 2 == 1, pa.bool_()))
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
    files = entries.files.append_column(_OWN, rows.own).append_column(_SELECTING, rows.selecting)
    if data_change is not None:
        files = files.append_column("data_change", pa.array(np.full(count, data_change)))
    return ChangeBatch(
        FileBatch(files, entries.spec_id, entries.statistics),
        pa.array(np.full(count, commit.after.version, np.int64)),
        pa.repeat(pa.scalar(commit.after.timestamp_ms, pa.int64()), count),
        pa.repeat(pa.scalar(rows.change_type), count),
    )


def _data_manifests(snapshot: IcebergSnapshot) -> list[Manifest]:
    return snapshot.manifest_list.kept(DATA, snapshot.specs, None, None)


def _only_in(snapshot: IcebergSnapshot, other: IcebergSnapshot, content: int) -> list[Manifest]:
    """The manifests that the other snapshot has not: manifests never change, so the others say nothing new."""
    shared = {m.path for m in other.manifest_list.manifests}
    return [m for m in snapshot.manifest_list.kept(content, snapshot.specs, None, None) if m.path not in shared]


def _compare(gone: Sequence[Entries], new: Sequence[Entries]) -> tuple[list[Entries], list[Entries], list[Entries]]:
    """The files of ``gone`` alone, of ``new`` alone, and of both (as in ``new``), by path.

    A path that stands several times in one snapshot is that many files: its rows are read as often.
    """
    split = len(gone)
    paths = [entries.files["path"] for entries in (*gone, *new)]
    codes = pa.chunked_array(paths, pa.string()).combine_chunks().dictionary_encode().indices
    numbers = codes.to_numpy(zero_copy_only=False).astype(np.int64)
    old_files = sum(len(p) for p in paths[:split])
    keys = [_with_occurrence(part, len(numbers)) for part in (numbers[:old_files], numbers[old_files:])]
    return (
        _split(gone, ~np.isin(keys[0], keys[1])),
        _split(new, ~np.isin(keys[1], keys[0])),
        _split(new, np.isin(keys[1], keys[0])),
    )


def _with_occurrence(codes: np.ndarray, step: int) -> np.ndarray:
    """int64[n]: the code of each row together with how many rows before it have the same."""
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    starts = np.searchsorted(ordered, ordered, side="left")
    occurrence = np.empty(len(codes), np.int64)
    occurrence[order] = np.arange(len(codes)) - starts
    return codes * step + occurrence


def _split(entries: Sequence[Entries], chosen: np.ndarray) -> list[Entries]:
    """The chosen files of each of ``entries``; ``chosen`` bool over all of them."""
    ends = np.cumsum([e.files.num_rows for e in entries], dtype=np.int64)
    parts = [chosen[end - e.files.num_rows : end] for e, end in zip(entries, ends.tolist(), strict=True)]
    return [e.take(np.flatnonzero(part)) for e, part in zip(entries, parts, strict=True) if part.any()]


def _identities(deletes: pa.Table) -> np.ndarray:
    """int64[n]: equal numbers for a delete file or vector that several snapshots have."""
    places = pc.binary_join_element_wise(
        pc.fill_null(deletes["path"], ""),
        pc.fill_null(deletes["offset"].cast(pa.string()), ""),
        "\0",
    )
    codes = places.combine_chunks().dictionary_encode().indices
    return np.asarray(codes.to_numpy(zero_copy_only=False)).astype(np.int64)


def _where(pairs: tuple[np.ndarray, np.ndarray], chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return pairs[0][chosen], pairs[1][chosen]


def _selected(
    change_type: str, entries: Entries, own: tuple[np.ndarray, np.ndarray], selecting: tuple[np.ndarray, np.ndarray]
) -> _Rows:
    """The files of which ``selecting`` has deletes."""
    chosen = np.unique(selecting[0])
    own = _where(own, np.isin(own[0], chosen))
    lists = [_lists(np.searchsorted(chosen, files), deletes, len(chosen)) for files, deletes in (own, selecting)]
    return _Rows(change_type, entries.take(chosen), *lists)


def _lists(files: np.ndarray, deletes: np.ndarray, count: int) -> pa.ListArray:
    """list<int64>[count]: the deletes of each file, from pairs in order of the files."""
    offsets = np.concatenate([[0], np.cumsum(np.bincount(files, minlength=count))])
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(deletes, pa.int64()))
