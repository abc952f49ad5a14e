"""The small checkpoint that this process wrote last: its rows stay in memory, and the next one need not read them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tableformats.plugin import MetadataCache
from tableformats.plugin import compute as pc

from ..checkpoints.checkpoint_files import CheckpointFile
from ..log.listing import Checkpoint, LogFile

if TYPE_CHECKING:
    import pyarrow as pa

    from tableformats.plugin import Storage

__all__ = ["find_own_rows", "keep_own_rows"]

_OWN = "rows of the checkpoint of this process"
"""The key of the last ones in a cache, which is that of one table."""


class _OwnFile(CheckpointFile):
    """A checkpoint of one file whose rows are known. Only the next one is made of them: others read what is stored."""

    def __init__(self, storage: Storage, file: LogFile, rows: pa.RecordBatch) -> None:
        super().__init__(storage, file.path, file.size, file.mtime_ms)
        self._rows = rows

    def schema(self) -> pa.Schema:
        """See :meth:`CheckpointFile.schema`."""
        return self._rows.schema

    def pairs(self) -> dict[bytes, bytes]:
        """See :meth:`CheckpointFile.pairs`. No row group of a small file is copied, so there is no note of it."""
        return {}

    def structs(self, name: str) -> Iterator[dict[str, Any]]:
        """See :meth:`CheckpointFile.structs`."""
        if name in self._rows.schema.names:
            yield from pc.drop_null(self._rows.column(name)).to_pylist()

    def batches(
        self, columns: Sequence[str], n_rows: int, groups: Sequence[int] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """See :meth:`CheckpointFile.batches`. The columns have all members, and there is one batch."""
        yield self._rows


def keep_own_rows(checkpoint: Checkpoint, rows: pa.RecordBatch, cache: MetadataCache) -> None:
    """Keep the rows of a checkpoint of one file that was just written."""
    cache.keep(_OWN, (checkpoint, rows), rows.nbytes)


def find_own_rows(storage: Storage, checkpoint: Checkpoint | None, cache: MetadataCache) -> list[CheckpointFile] | None:
    """The files of a checkpoint whose rows are kept; None for others."""
    kept = cache.find(_OWN)
    if checkpoint is None or kept is None or kept[0] != checkpoint:
        return None
    return [_OwnFile(storage, checkpoint.files[0], kept[1])]
