"""Parquet files, without ``import pyarrow.parquet``.

That imports all file systems of Arrow, and with them SSL and the library of S3: a twentieth of the time of a process
that plans one small table. Names and results here are those of ``pyarrow.parquet.ParquetFile``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

__all__ = ["ParquetFile"]


class ParquetFile:
    """An open Parquet file.

    Parameters
    ----------
    source : NativeFile
        Stays open when the file is closed.
    options
        As of ``pyarrow.parquet.ParquetFile``.

    Raises
    ------
    pyarrow.ArrowException, OSError
        The file is damaged, or cannot be read.
    """

    def __init__(self, source: pa.NativeFile, **options: Any) -> None:
        try:
            from pyarrow._parquet import ParquetReader
        except ImportError:  # the module is private to pyarrow and may move
            from pyarrow.parquet.core import ParquetReader
        self._reader = ParquetReader()
        try:
            self._reader.open(source, arrow_extensions_enabled=True, **options)
        except TypeError:  # before pyarrow 21 there is no such option
            self._reader.open(source, **options)

    def __enter__(self) -> ParquetFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Read no more. The source is the caller's, and stays open."""

    @property
    def metadata(self) -> pq.FileMetaData:
        return self._reader.metadata

    @property
    def schema_arrow(self) -> pa.Schema:
        return self._reader.schema_arrow

    def iter_batches(
        self,
        batch_size: int,
        row_groups: Sequence[int] | None = None,
        columns: Iterable[str] = (),
        use_threads: bool = True,
    ) -> Iterator[pa.RecordBatch]:
        """The rows in batches; ``columns`` are paths of leaves, or what stands before a dot in them."""
        chosen = range(self.metadata.num_row_groups) if row_groups is None else row_groups
        leaves = self._leaves()
        indices = [index for name in columns for index in leaves.get(name, ())]
        found: Iterator[pa.RecordBatch] = self._reader.iter_batches(
            batch_size, row_groups=chosen, column_indices=indices, use_threads=use_threads
        )
        return found

    def _leaves(self) -> dict[str, list[int]]:
        """The numbers of the leaves at each path and below it."""
        found: dict[str, list[int]] = {}
        for index, path in enumerate(self._reader.column_paths):
            name = ""
            for part in path:
                name = f"{name}.{part}" if name else part
                found.setdefault(name, []).append(index)
        return found
