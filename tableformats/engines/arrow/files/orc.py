"""ORC data files, read one stripe at a time, as far as their values are certain."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyarrow import orc, types

from ....errors import UnsupportedFeatureError
from ....io.orc_tail import OrcTail
from ....limits import Limits
from .column_tree import Selection, file_tree
from .data_file import WHOLE_FILE, DataFile, counted_rows, empty_rows, typed_errors, with_typed_errors

__all__ = ["OrcFile"]


class OrcFile(DataFile):
    """An ORC file. Top-level columns are read whole."""

    def __init__(self, path: str, source: pa.NativeFile, limits: Limits) -> None:
        self.path = path
        self._source = source
        self._file = orc.ORCFile(source)
        self.root = file_tree(self._file.schema, b"iceberg.id", path, limits)
        self.num_rows = self._file.nrows

    def select(self, leaves: frozenset[int]) -> Selection:
        """The top-level columns that hold ``leaves``, whole.

        Raises
        ------
        UnsupportedFeatureError
            A timestamp column whose values Arrow may read wrongly, see :class:`OrcTail`.
        """
        columns = Selection(self.root, leaves).columns(self.root)
        self._check_timestamps({c.name for c in columns if any(types.is_timestamp(node.type) for node in c.walk())})
        return Selection(self.root, (leaf for column in columns for leaf in column.leaves))

    def rows(self, selection: Selection) -> Iterator[tuple[int, pa.StructArray]]:
        names = [column.name for column in selection.columns(self.root)]
        stripes = None if self.byte_range == WHOLE_FILE else self._stripes()
        if stripes is None:
            # The offsets of the stripes are not needed, or not known. Then the task at offset 0 reads the whole file.
            if self.byte_range.start == 0:
                yield from counted_rows(self._batches(names), 0, self.num_rows, self.path)
            return
        first = 0
        for number, (offset, count) in enumerate(stripes):
            if self.byte_range.contains(offset):
                rows = self._batches(names, number) if names else empty_rows(count)
                yield from counted_rows(rows, first, count, self.path)
            first += count

    def _batches(self, names: list[str], *stripes: int) -> Iterator[pa.StructArray]:
        """The rows of ``stripes``; of all stripes where none is given."""
        if not names:
            return empty_rows(self.num_rows)
        chosen = stripes or range(self._file.nstripes)
        return with_typed_errors((self._stripe(number, names) for number in chosen), self.path)

    def _stripes(self) -> list[tuple[int, int]] | None:
        """The offset and the row count of each stripe; None where the file's tail does not give them."""
        with typed_errors(self.path):
            found = OrcTail(self._source).stripes()
        return found if found is None or sum(count for _, count in found) == self.num_rows else None

    def _check_timestamps(self, names: set[str]) -> None:
        if not names:
            return
        with typed_errors(self.path):
            doubt = OrcTail(self._source).timestamp_problem(self._file.schema, names)
        if doubt is not None:
            raise UnsupportedFeatureError(
                f"timestamps of an ORC data file are not read: {doubt}",
                path=self.path,
                field="ORC timestamps",
                hint="Select the other columns, or rewrite the file",
            )

    def _stripe(self, number: int, names: list[str]) -> pa.StructArray:
        batch = self._file.read_stripe(number, columns=names)
        if batch.schema.names != names:
            # Arrow selects by dotted names, so a name with a dot may select a member of another column.
            raise UnsupportedFeatureError(
                "these column names cannot be told apart in ORC files",
                path=self.path,
                field=", ".join(names),
                hint="Rename the columns, or rewrite the file",
            )
        return batch.to_struct_array()
