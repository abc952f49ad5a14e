"""The files that a Delta table keeps: all that a file of the log names, and the log itself.

Source: Delta PROTOCOL.md, "File Types", "Add File and Remove File", "Add CDC File", "Deletion Vectors". Delta
documentation, "Remove files no longer referenced by a Delta table" (VACUUM): directories that begin with an underscore
are left alone, but for those of partitions and of change data.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tableformats.plugin import KeptFiles, MetadataCache, runs
from tableformats.plugin import compute as pc

from ..checkpoints.checkpoint_files import CheckpointFile, expand
from ..checkpoints.row_group_reader import member_of, vector_lists
from ..deletes.deletion_vectors import stored_path
from ..deletes.descriptors import vectors_of
from ..log.commits import read_commits
from ..log.file_actions import file_rows
from ..log.names import LOG_DIRECTORY, SIDECAR_DIRECTORY
from ..schema.intervals import interval_of

if TYPE_CHECKING:
    import pyarrow as pa

    from tableformats.plugin import Storage

    from ..log.listing import LogListing
    from ..snapshot.delta_snapshot import DeltaSnapshot

__all__ = ["kept_files"]

_CHANGES = "_change_data"
_RETENTION = "interval 7 days"
_RUN_BYTES = 8 << 20
_BATCH_ROWS = 65536


def kept_files(storage: Storage, listing: LogListing, snapshot: DeltaSnapshot) -> KeptFiles:
    """See :meth:`tableformats.plugin.FormatTable.kept_files`.

    A tombstone names its file as long as a commit or a checkpoint has it.

    Parameters
    ----------
    snapshot : DeltaSnapshot
        The current version.

    Raises
    ------
    CorruptMetadataError
        A file of the log is damaged, or a property.
    """
    least_age = interval_of(snapshot.properties, "delta.deletedFileRetentionDuration", _RETENTION, storage.root)
    assert least_age is not None
    named = [*_of_commits(storage, listing), *_of_checkpoints(storage, listing)]
    return KeptFiles(named, _is_kept, least_age)


def _is_kept(path: str) -> bool:
    """Whether nothing has to name a file: the log but for sidecars, and what is hidden."""
    first, _, rest = path.partition("/")
    if first == LOG_DIRECTORY:
        return not rest.startswith(f"{SIDECAR_DIRECTORY}/") or rest.startswith(f"{SIDECAR_DIRECTORY}/.")
    names = path.split("/")
    return any(
        name[:1] in ("_", ".") and not (at < len(names) - 1 and ("=" in name or (at == 0 and name == _CHANGES)))
        for at, name in enumerate(names)
    )


def _of_commits(storage: Storage, listing: LogListing) -> Iterator[pa.Array]:
    files = [*listing.commits.values(), *listing.compactions.values()]
    for some in runs(files, lambda file: file.size, _RUN_BYTES):
        for commit in read_commits(storage, some):
            changes = file_rows(commit.changes, "cdc", commit.file.path)
            for rows in (commit.adds, commit.removes, changes):
                yield from _named(storage, rows.column("path"), rows.column("deletion_vector"))


def _of_checkpoints(storage: Storage, listing: LogListing) -> Iterator[pa.Array]:
    """Sidecars, and the files of a checkpoint that has more than the commits before it."""
    import pyarrow as pa

    known = -1
    for version, checkpoint in sorted(listing.checkpoints.items()):
        files = expand(storage, checkpoint, MetadataCache(0))
        yield pa.array([file.path for file in files], pa.string())
        if not all(one in listing.commits for one in range(known + 1, version + 1)):
            for file in files:
                yield from _of_file(storage, file)
        known = version


def _of_file(storage: Storage, file: CheckpointFile) -> Iterator[pa.Array]:
    if file.is_json:
        actions = file.actions()
        for kind, found in (("add", actions.adds), ("remove", actions.removes)):
            rows = file_rows(found, kind, file.path)
            yield from _named(storage, rows.column("path"), rows.column("deletion_vector"))
        return
    schema = file.schema()
    for kind in ("add", "remove"):
        members = member_names(schema.field(kind).type) if kind in schema.names else set()
        wanted = [f"{kind}.{name}" for name in ("path", "deletionVector") if name in members]
        for batch in file.batches(wanted, _BATCH_ROWS) if wanted else ():
            stored = batch.column(kind)
            paths = member_of(stored, "path")
            if paths is not None:
                yield from _named(storage, paths, vector_lists(stored, "deletionVector", file.path))


def member_names(kind: pa.DataType) -> set[str]:
    """The names of the members of a struct; none for another type."""
    import pyarrow as pa

    return {kind.field(i).name for i in range(kind.num_fields)} if pa.types.is_struct(kind) else set()


def _named(storage: Storage, paths: pa.Array, vectors: pa.ListArray) -> Iterator[pa.Array]:
    """The absolute paths of data files and of the files of deletion vectors."""
    import pyarrow as pa

    paths = pc.drop_null(pc.cast(paths, pa.string()))
    if len(paths):
        yield storage.resolve(paths, encoded=True)
    found = vectors_of(vectors)
    if found.num_rows:
        kinds, texts = (found.column(name).to_pylist() for name in ("storageType", "pathOrInlineDv"))
        stored = {stored_path(kind, text) for kind, text in zip(kinds, texts, strict=True)}
        yield pa.array([storage.resolve_one(path, encoded=True) for path in stored if path], pa.string())
