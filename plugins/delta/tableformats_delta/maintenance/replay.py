"""The actions of one version, reconciled: live files and tombstones as columns, transactions and domains as objects.

Source: Delta PROTOCOL.md, "Action Reconciliation".
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, TypeVar

from tableformats.plugin import FileKeySet, ahead, dataclass, runs, text_buffers, to_arrow, to_numpy, without_rows
from tableformats.plugin import compute as pc

from ..checkpoints.checkpoint_files import CheckpointFile
from ..checkpoints.row_group_reader import member_of, vector_lists
from ..log.commits import Commit, OwnCommit, read_commits, rows_of_own
from ..log.file_actions import file_rows
from ..log.file_keys import file_keys
from ..log.listing import LogFile
from .file_columns import FileColumns

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from tableformats.plugin import Storage

    from ..snapshot.delta_snapshot import DeltaSnapshot

__all__ = ["OtherActions", "Replay"]

_RUN_BYTES = 8 << 20
_RUN_FILES = 256
_BATCH_ROWS = 1 << 14
_FEW_BYTES = 1 << 20
_FEW_ACTIONS = 1000
"""More actions are read as columns sooner than they are made of objects."""
Item = TypeVar("Item")


@dataclass
class OtherActions:
    """The newest ``txn`` of each application and the newest ``domainMetadata`` of each domain, as parsed from JSON."""

    transactions: dict[str, dict[str, Any]] = field(default_factory=dict)
    domains: dict[str, dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, snapshot: DeltaSnapshot, older: Sequence[CheckpointFile] | None = None) -> OtherActions:
        """Those of a version, tombstones of domains included. Raises CorruptMetadataError.

        ``older``: the files of its checkpoint, where they are known.
        """
        found = cls()
        for commit in snapshot.state.commits:
            found._take(commit.transactions, commit.domains)
        for file in snapshot.checkpoint_files() if older is None else older:
            if file.is_json:
                actions = file.actions()
                found._take(actions.transactions, actions.domains)
            else:
                found._take(list(file.structs("txn")), list(file.structs("domainMetadata")))
        return found

    def _take(self, transactions: Sequence[dict[str, Any]], domains: Sequence[dict[str, Any]]) -> None:
        """Add the actions of a file that is older than those before. In one file the last one counts."""
        for actions, known, key in ((transactions, self.transactions, "appId"), (domains, self.domains, "domain")):
            for action in reversed(actions):
                known.setdefault(str(action.get(key)), action)


class Replay:
    """Reads the log of one version once, newest file first.

    Parameters
    ----------
    snapshot : DeltaSnapshot
        The version.
    adds, removes : FileColumns
        How files and tombstones are wanted.
    expired_ms : int
        Tombstones of this time or before are left out, milliseconds since the epoch.
    older : sequence of CheckpointFile, optional
        The files of the version's checkpoint, where they are known.
    """

    def __init__(
        self,
        storage: Storage,
        snapshot: DeltaSnapshot,
        adds: FileColumns,
        removes: FileColumns,
        expired_ms: int,
        older: Sequence[CheckpointFile] | None = None,
    ) -> None:
        self._storage = storage
        self._snapshot = snapshot
        self._adds = adds
        self._removes = removes
        self._expired_ms = expired_ms
        self._older = older
        self._seen = FileKeySet()

    def files(self) -> Iterator[tuple[str, pa.StructArray]]:
        """Live files and tombstones in batches: ``"add"`` or ``"remove"``, and the values of that column.

        Raises
        ------
        CorruptMetadataError
            A file of the log is damaged, or an action is invalid.

        Notes
        -----
        Memory: a batch, and the keys of the actions of all commits behind the checkpoint.
        """
        yield from self.of_commits()
        yield from self.of_checkpoint()

    def of_commits(self) -> Iterator[tuple[str, pa.StructArray]]:
        """Those of :meth:`files` that stand in commits. They come first: what follows depends on their keys."""
        files = self._snapshot.segment.commits
        own = self._own_commits()
        if own:
            yield from self._of_actions(rows_of_own(own), own[0].file.path)
        for commits in self._commits(files[len(own) :]):
            parts = [part for one in commits for part in (("add", one.adds), ("remove", one.removes)) if len(part[1])]
            yield from self._of_actions(parts, commits[0].file.path)

    def of_checkpoint(self, without: Collection[int] = ()) -> Iterator[tuple[str, pa.StructArray]]:
        """The others of :meth:`files`; of a checkpoint of one file not those of the row groups ``without``."""
        for file in self._snapshot.checkpoint_files() if self._older is None else self._older:
            if file.is_json:
                yield from self._of_manifest(file)
            else:
                yield from self._of_parquet(file, without)

    def bytes_if_live(self, file: CheckpointFile, number: int, n_rows: int) -> int | None:
        """The bytes of the data files in a row group of ``n_rows`` adds; None where a commit names one of them.

        Raises
        ------
        CorruptMetadataError
            The row group is damaged.
        """
        found = rows = 0
        members = {member.name for member in file.schema().field(self._adds.name).type}
        wanted = [f"{self._adds.name}.{name}" for name in ("path", "size", "deletionVector") if name in members]
        for batch in file.batches(wanted, _BATCH_ROWS, [number]):
            stored = batch.column(self._adds.name)
            names, sizes = (member_of(stored, name) for name in ("path", "size"))
            if names is None or sizes is None or names.null_count or sizes.null_count:
                return None
            if len(self._seen) and not self._are_first(stored, file.path).all():
                return None
            found += pc.sum(sizes).as_py()
            rows += len(stored)
        return found if rows == n_rows else None

    def _own_commits(self) -> list[OwnCommit]:
        """The newest commits, as long as this process made them: their few actions need not be read again."""
        own: list[OwnCommit] = []
        left = _FEW_ACTIONS
        for file, commit in zip(self._snapshot.segment.commits, self._snapshot.state.commits, strict=False):
            if not isinstance(commit, OwnCommit) or commit.file != file or (left := left - commit.n_actions) < 0:
                break
            own.append(commit)
        return own

    def _commits(self, files: Sequence[LogFile]) -> Iterator[list[Commit]]:
        """Runs of commits, newest first, the next one being read while the last one is worked on."""
        least = _RUN_BYTES // _RUN_FILES
        groups = runs(files, lambda file: max(file.size, least), _RUN_BYTES)
        read = (read_commits(self._storage, files, full=True) for files in groups)
        return _ahead(read, 1, sum(file.size for file in files))

    def _of_actions(
        self, parts: Sequence[tuple[str, pa.RecordBatch]], path: str
    ) -> Iterator[tuple[str, pa.StructArray]]:
        """Those of commits: ``"add"`` or ``"remove"`` and rows, newest first, adds before removes."""
        import numpy as np
        import pyarrow as pa

        if not parts:
            return
        live = np.repeat([kind == "add" for kind, _ in parts], [rows.num_rows for _, rows in parts])
        rows = pa.Table.from_batches([rows for _, rows in parts]).combine_chunks().to_batches()[0]
        first = self._first(file_keys(rows, self._storage.root, path), True)
        yield from self._split(rows, first & live, first & ~live, path)

    def _of_manifest(self, file: CheckpointFile) -> Iterator[tuple[str, pa.StructArray]]:
        import numpy as np

        actions = file.actions()
        for kind, found in (("add", actions.adds), ("remove", actions.removes)):
            rows = file_rows(found, kind, file.path, full=True)
            if rows.num_rows:
                first = self._first(file_keys(rows, self._storage.root, file.path), False)
                none = np.zeros(len(first), bool)
                adds, removes = (first, none) if kind == "add" else (none, first)
                yield from self._split(rows, adds, removes, file.path)

    def _split(
        self, rows: pa.RecordBatch, adds: np.ndarray, removes: np.ndarray, path: str
    ) -> Iterator[tuple[str, pa.StructArray]]:
        if removes.any():
            removes = removes & self._is_kept(rows.column("deletion_timestamp"))
        for columns, chosen in ((self._adds, adds), (self._removes, removes)):
            if chosen.any():
                some = rows if chosen.all() else pc.filter(rows, to_arrow(chosen))
                for start in range(0, some.num_rows, _BATCH_ROWS):
                    yield columns.name, columns.of_rows(some.slice(start, _BATCH_ROWS), path)

    def _of_parquet(self, file: CheckpointFile, without: Collection[int]) -> Iterator[tuple[str, pa.StructArray]]:
        schema = file.schema()
        groups = None
        if without:
            groups = [number for number, _ in file.groups() if number is not None and number not in without]
        present = [c for c in (self._adds, self._removes) if c.name in schema.names]
        columns: list[FileColumns] = list(present)
        wanted = [name for c in columns for name in c.needed(schema.field(c.name).type)]
        if not wanted:
            return
        for batch in _ahead(file.batches(wanted, _BATCH_ROWS, groups), 2, file.size):
            for column in columns:
                made = self._of_struct(column, batch.column(column.name), file.path)
                if made is not None:
                    yield column.name, made

    def _of_struct(self, columns: FileColumns, stored: pa.StructArray, path: str) -> pa.StructArray | None:
        import numpy as np
        import pyarrow as pa

        names = member_of(stored, "path")
        if names is None or names.null_count == len(stored):
            return None
        stays = to_numpy(pc.is_valid(names))
        if columns.name == "remove":
            stays = stays & self._is_kept(member_of(stored, "deletionTimestamp"))
        if len(self._seen):
            known = {m.name: stored.field(m.name) for m in stored.type if m.name in ("path", "deletionVector")}
            few = pa.StructArray.from_arrays(list(known.values()), list(known))
            few = few if stays.all() else pc.filter(few, to_arrow(stays))
            stays = stays.copy()
            stays[stays] = self._are_first(few, path)
        dropped = np.flatnonzero(~stays)
        if len(dropped) == len(stored):
            return None
        return columns.of_struct(without_rows(stored, dropped) if len(dropped) else stored, path)

    def _are_first(self, stored: pa.StructArray, path: str) -> np.ndarray:
        """Which actions of a checkpoint no commit has an action of, bool[n]. All of them have a path."""
        import pyarrow as pa

        keys = {"path": member_of(stored, "path"), "deletion_vector": vector_lists(stored, "deletionVector", path)}
        return self._first(file_keys(pa.RecordBatch.from_pydict(keys), self._storage.root, path), False)

    def _first(self, keys: pa.BinaryArray, inserts: bool) -> np.ndarray:
        """Which keys were not seen before, bool[n]."""
        import pyarrow as pa

        buffers = text_buffers(pc.cast(keys, pa.binary()))
        return (self._seen.add_batch if inserts else self._seen.probe_batch)(*buffers).view(bool)

    def _is_kept(self, times: pa.Int64Array | None) -> np.ndarray:
        """Which tombstones are not expired, bool[n]; those without a time are of the beginning of time."""
        import numpy as np

        if times is None:
            return np.zeros(1, bool)
        return np.asarray(to_numpy(pc.fill_null(times, 0)) > self._expired_ms)


def _ahead(items: Iterator[Item], count: int, size: int) -> Iterator[Item]:
    """``items``, read ahead where their bytes are worth a thread."""
    return ahead(items, count) if size > _FEW_BYTES else items
