"""What every open data file offers, and how errors of Arrow become ours."""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ....dataclass import dataclass
from ....errors import CorruptMetadataError, TableFormatsError, UnsupportedFeatureError
from ....plugin.statistics import Bounds
from ....runtime.boundary import is_fault_of_machine, lets_through, passes_boundary
from ....schema import Field
from .column_tree import FileNode, Selection

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from ..key_sets import IntegerSet

__all__ = [
    "BATCH_ROWS",
    "WHOLE_FILE",
    "ByteRange",
    "DataFile",
    "FilePart",
    "counted_rows",
    "empty_rows",
    "typed_errors",
    "with_typed_errors",
]

BATCH_ROWS = 131_072
"""The most rows of a batch."""


@dataclass(frozen=True)
class ByteRange:
    """The bytes of a file from ``start`` to ``end`` (None: to its end) that one task reads."""

    start: int = 0
    end: int | None = None

    def contains(self, offset: int) -> bool:
        """Whether the row group, stripe or block at ``offset`` belongs to this range.

        The range that starts at 0 also takes offsets below 0, which only damaged footers give.
        """
        return (self.start <= offset or self.start == 0) and (self.end is None or offset < self.end)


WHOLE_FILE = ByteRange()


@dataclass(frozen=True)
class FilePart:
    """Consecutive rows of a file that are read together; parts of one file are read at the same time.

    Attributes
    ----------
    first : int
        The position of the first row.
    num_rows : int
        As the footer counts them.
    weight : int
        About how many bytes reading holds, beside the batches that it gives.
    row_groups : tuple[int, ...]
        The row groups of a Parquet file; empty for other formats.
    """

    first: int
    num_rows: int
    weight: int = 0
    row_groups: tuple[int, ...] = ()


class DataFile(ABC):
    """An open data file.

    Attributes
    ----------
    path : str
        Absolute.
    root : FileNode
        Its columns.
    num_rows : int
        Physical rows, as its footer counts them.
    byte_range : ByteRange
        Row groups (stripes, blocks) outside of it are not read.
    """

    path: str
    root: FileNode
    num_rows: int
    byte_range: ByteRange = WHOLE_FILE
    reads_columns_apart = False
    """Whether a part's columns can be read one after the other, each once."""

    @property
    def is_small(self) -> bool:
        """Whether its columns are read about as fast as their statistics are looked at."""
        return False

    def select(self, leaves: frozenset[int]) -> Selection:
        """The selection that holds at least ``leaves``."""
        return Selection(self.root, leaves)

    def row_group_bounds(self, leaves: Mapping[int, tuple[Field, int]]) -> tuple[Bounds, pa.Array] | None:
        """Bounds and counts of some columns (by field id: the column and its leaf), and rows, one row a row group.

        None: the file has no row groups, or no statistics that may be read.
        """
        return None

    def groups_without(self, groups: Sequence[int], leaf: int, field: Field, values: Sequence[Any]) -> list[int]:
        """Those of some row groups of which it is certain that no row has one of some values in a leaf column.

        Parameters
        ----------
        field : Field
            The column of the table whose values the leaf has (as of :meth:`row_group_bounds`).
        values : sequence
            Canonical values (:class:`tableformats.expressions.tree.Literal`).
        """
        return []

    def parts(self, selection: Selection, skipped: Container[int] = ()) -> list[FilePart]:
        """The parts of ``byte_range``, in order, without the row groups ``skipped``.

        A format that is read as a whole has one.

        Raises
        ------
        CorruptMetadataError
            The footer contradicts itself.
        """
        return [FilePart(0, self.num_rows)]

    def smallest_parts(self, part: FilePart) -> list[FilePart]:
        """What ``part`` was joined from, in order."""
        return [part]

    def part_rows(
        self, part: FilePart, selection: Selection, is_alone: bool = True, batch_rows: int | None = None
    ) -> Iterator[tuple[int, pa.StructArray]]:
        """The rows of one of :meth:`parts`; called on any thread, for several parts at a time.

        ``is_alone``: no other part is read meanwhile, so Arrow may use its threads. ``batch_rows``: the most rows of a
        batch of a part that :meth:`finds_rows`. Otherwise as :meth:`rows`.
        """
        return self.rows(selection)

    def page_bounds(
        self, part: FilePart, leaves: Mapping[int, tuple[Field, int]]
    ) -> tuple[Bounds, npt.NDArray[np.int64]] | None:
        """Bounds and counts of some columns (as of :meth:`row_group_bounds`) for runs of rows of a part.

        Returns
        -------
        Bounds, int64[n + 1]
            The second are the positions of the first rows of the runs, and that after the last one. None: nothing is
            known of smaller runs than row groups.
        """
        return None

    def run_rows(
        self, part: FilePart, selection: Selection, runs: npt.NDArray[np.int64]
    ) -> Iterator[pa.StructArray] | None:
        """The rows of some runs of a part, one after another, in pieces. Otherwise as :meth:`rows`.

        None: it takes as long to read all rows.

        Parameters
        ----------
        runs : int64[n, 2]
            The position of the first row, and that after the last one; ascending, apart, none empty.
        """
        return None

    def rows_without_keys(
        self, part: FilePart, leaf: int, keys: IntegerSet
    ) -> Iterator[tuple[int, int, npt.NDArray[np.int64], pa.StructArray]] | None:
        """The rows of a part whose value in a leaf column is no key. None: they are found as fast when they are read.

        Yields
        ------
        int, int, int64[m], pa.StructArray
            The position of the first row of a batch, and how many rows it had; the positions in the batch of those that
            are left out, ascending; the column of the others. Otherwise as :meth:`rows`.
        """
        return None

    def finds_rows(self, part: FilePart, selection: Selection) -> bool:
        """Whether :meth:`run_rows` leaves out rows here and there in no more time than it takes to read all."""
        return False

    @abstractmethod
    def rows(self, selection: Selection) -> Iterator[tuple[int, pa.StructArray]]:
        """All physical rows of ``byte_range`` in order.

        Yields
        ------
        tuple[int, pa.StructArray]
            The position in the file of the batch's first row; the batch, with one member for each top-level column of
            ``selection``.

        Raises
        ------
        CorruptMetadataError
            The file is damaged.
        UnsupportedFeatureError
            The file uses what the reader lacks (a codec, encryption).
        """


_LACKING = {"encrypt": "encrypted data files", "Logical type": "the file's Parquet logical types"}


_EXPECTED = (pa.ArrowException, OSError, ValueError, OverflowError, MemoryError, zlib.error)
"""What Arrow, and Python over what Arrow gives, raise for damaged bytes."""


def _says_nothing_of_bytes(error: Exception) -> bool:
    """Whether the machine, and not the file, is at fault."""
    if is_fault_of_machine(error):
        return True
    if isinstance(error, _EXPECTED):
        return False
    return passes_boundary(error) or lets_through()


@contextmanager
def typed_errors(path: str) -> Iterator[None]:
    """Raise what readers raise over the bytes of ``path`` in this block as a typed error.

    A typed error that names no path gets this one. Errors of the operating system, and memory that cannot be had, pass:
    they say nothing of the file.
    """
    try:
        yield
    except TableFormatsError as error:
        error.path = error.path or path
        raise
    except pa.ArrowNotImplementedError as error:
        raise UnsupportedFeatureError(
            f"Arrow cannot read the file: {error}", path=path, field=str(error), hint="Rewrite the file"
        ) from error
    except Exception as error:
        if _says_nothing_of_bytes(error):
            raise
        # Arrow raises the same error type for damage and for missing features; only its message tells them apart.
        lacking = next((feature for words, feature in _LACKING.items() if words in str(error)), None)
        if lacking is not None:
            raise UnsupportedFeatureError(
                f"Arrow does not read {lacking}: {error}", path=path, field=lacking, hint="Rewrite the file"
            ) from error
        raise CorruptMetadataError(
            f"the data file cannot be read: {error}", path=path, hint="Restore the file, or drop it from the table"
        ) from error


def with_typed_errors(items: Iterator[Any], path: str) -> Iterator[Any]:
    """The same items; an error raised while the next one is made becomes a typed error."""
    while True:
        with typed_errors(path):
            item = next(items, None)
        if item is None:
            return
        yield item


def empty_rows(num_rows: int) -> Iterator[pa.StructArray]:
    """``num_rows`` rows without columns, in batches."""
    for start in range(0, num_rows, BATCH_ROWS):
        yield pa.Array.from_buffers(pa.struct([]), min(BATCH_ROWS, num_rows - start), [None], children=[])


def counted_rows(
    rows: Iterator[pa.StructArray], first: int, count: int, path: str
) -> Iterator[tuple[int, pa.StructArray]]:
    """Each batch with the position of its first row.

    Parameters
    ----------
    rows : Iterator[pa.StructArray]
        Consecutive batches.
    first : int
        The position of the first row.
    count : int
        Rows in all, as the file's footer counts them.
    path : str
        Path of the file, for errors.

    Raises
    ------
    CorruptMetadataError
        There are more or fewer rows than ``count``.
    """
    read = 0
    for batch in rows:
        yield first + read, batch
        read += len(batch)
    if read != count:
        raise CorruptMetadataError(
            f"the file holds {read} rows where its footer counts {count}", path=path, hint="Restore the file"
        )
