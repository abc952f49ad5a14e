"""Deletes of the files of a plan, in columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..dataclass import dataclass
from .statistics import Statistics

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa


__all__ = ["DeleteFiles", "EQUALITY", "deletes_type"]


EQUALITY = "equality"
"""The kind of a delete that names keys of rows. All other kinds name positions."""


def deletes_type() -> pa.DataType:
    """The Arrow type of the public ``deletes`` column of ``plan.files``."""
    import pyarrow as pa

    reference = [
        ("kind", pa.string()),  # "deletion_vector" | "position" | "equality"
        ("path", pa.string()),  # null: stored inline
        ("offset", pa.int64()),
        ("cardinality", pa.int64()),  # deleted rows; null = unknown
    ]
    return pa.list_(pa.struct(reference))


@dataclass
class DeleteFiles:
    """Deletes of the surviving files of one plan.

    Attributes
    ----------
    files : pyarrow.Table
        One row a delete file or deletion vector, with at least ``kind``, ``path`` (as stored; null: inline),
        ``offset``, ``cardinality`` and ``record_count``, and what the format needs to read it. ``size_bytes`` are the
        bytes that are read of it, where known.
    offsets : int64[n_files + 1]
    indices : int32[]
        The rows ``indices[offsets[i]:offsets[i + 1]]`` of ``files`` apply to the surviving file ``i``.
    statistics : Statistics, optional
        Bounds and counts over the rows that each of ``files`` deletes, where they are known. Asked for once.
    """

    files: pa.Table
    offsets: np.ndarray
    indices: np.ndarray
    statistics: Statistics | None = None

    def __repr__(self) -> str:
        return f"DeleteFiles({self.files.num_rows} for {len(self.offsets) - 1} files)"

    @classmethod
    def none(cls, n_files: int) -> DeleteFiles:
        """No deletes for ``n_files`` files."""
        import numpy as np
        import pyarrow as pa

        columns = {f.name: pa.nulls(0, f.type) for f in deletes_type().value_type}
        columns["record_count"] = pa.nulls(0, pa.int64())
        return cls(pa.table(columns), np.zeros(n_files + 1, np.int64), np.zeros(0, np.int32))

    def take(self, rows: np.ndarray) -> DeleteFiles:
        """The deletes of the surviving files ``rows`` (int64[k]) alone, in that order."""
        import numpy as np

        from ..columnar import compute as pc
        from ..columnar.arrays import to_arrow

        counts = np.diff(self.offsets)[rows]
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        within = np.arange(offsets[-1]) - np.repeat(offsets[:-1], counts)
        chosen = self.indices[np.repeat(self.offsets[rows], counts) + within]
        used, indices = np.unique(chosen, return_inverse=True)
        return DeleteFiles(pc.take(self.files, to_arrow(used)), offsets, indices.astype(np.int32))
