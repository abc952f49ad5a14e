"""The fast path of commits: file actions of many commits at once, from lines straight to columns.

It handles the usual form, one action per line. A commit with anything else (several lines per action, a field of
another type, a duplicate member, any damage) is left to :mod:`.commits`, which parses it action by action and reports
what is wrong. Both give the same rows.
Source: Delta PROTOCOL.md, "Delta Log Entries", "Actions".
"""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from tableformats.plugin import compute as pc
from tableformats.plugin import dataclass, scalar, to_arrow, to_numpy

from ..deletes.descriptors import vector_column, vector_type
from ..json._json import line_starts
from ..json.columns import ABSENT, ESCAPED, FALSE, INTEGER, NULL, OBJECT, TEXT, TRUE, JsonColumns, Path
from .file_actions import empty_rows, file_schema, full_schema

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from .commit_buffer import CommitBuffer

__all__ = ["CommitLines", "read_lines"]

_FIELDS = {
    "path": "path",
    "partition_values": "partitionValues",
    "size": "size",
    "modification_time": "modificationTime",
    "stats": "stats",
    "base_row_id": "baseRowId",
    "row_commit_version": "defaultRowCommitVersion",
    "tags": "tags",
    "clustering_provider": "clusteringProvider",
    "deletion_timestamp": "deletionTimestamp",
    "extended_file_metadata": "extendedFileMetadata",
}
# Reconciliation needs no more of removes than path and deletion vector.
_ONLY_ADDS = {"partition_values", "size", "modification_time", "stats", "base_row_id", "row_commit_version"}
_LEFT_OUT = {
    "add": {"deletion_timestamp", "extended_file_metadata"},
    "remove": {"modification_time", "stats", "tags", "clustering_provider"},
}
"""By kind, the columns of :func:`full_schema` that are null."""
_KINDS = ("add", "remove")
_HEADS = [f'{{"{kind}":{{'.encode() for kind in _KINDS]
_MAX_BYTES = 1 << 30  # Arrow's offsets have 32 bits
_OF_VECTORS = {"sizeInBytes", "cardinality"}
_REQUIRED: dict[str, set[str]] = {"add": {"size", *_OF_VECTORS}, "remove": set()}
"""Numbers that an action must have; of removes those of vectors too, where all of their columns are wanted."""


@dataclass
class CommitLines:
    """The lines of one commit.

    Attributes
    ----------
    adds, removes : pyarrow.RecordBatch
        The file actions, as :func:`file_schema` or :func:`full_schema`.
    others : list of (int, bytes)
        Byte offset and text of every other line.
    """

    adds: pa.RecordBatch
    removes: pa.RecordBatch
    others: list[tuple[int, bytes]]


def read_lines(buffer: CommitBuffer, full: bool = False) -> list[CommitLines | None]:
    """Parse the lines of the commits in ``buffer``.

    Parameters
    ----------
    full : bool
        Make rows of :func:`full_schema`.

    Returns
    -------
    list of CommitLines or None
        One entry per commit, None where it must be parsed action by action. They hold no reference to ``buffer``.

    Notes
    -----
    Cost: O(bytes), most of it with the GIL released.
    """
    import numpy as np

    if buffer.starts[-1] > _MAX_BYTES:
        return [None] * len(buffer)
    lines = _Lines(buffer)
    usable = np.ones(len(buffer), bool)
    adds, removes = (_Actions(lines, kind, full) for kind in _KINDS)
    for actions in (adds, removes):
        usable[lines.file[actions.lines[~actions.usable]]] = False
    others: list[list[tuple[int, bytes]]] = [[] for _ in range(len(buffer))]
    for line in np.flatnonzero(lines.kinds < 0).tolist():
        start, stop = int(lines.starts[line]), int(lines.starts[line + 1])
        number = int(lines.file[line])
        others[number].append((start - lines.file_starts[number], lines.data[start:stop].tobytes()))
    found: list[CommitLines | None] = []
    for number in range(len(buffer)):
        found.append(CommitLines(adds.of(number), removes.of(number), others[number]) if usable[number] else None)
    return found


class _Lines:
    """The lines of all commits in a buffer.

    Attributes
    ----------
    kinds : int8[n]
        The index in :data:`_KINDS` of the action that the line seems to hold, or -1.
    file : int64[n]
        The number of the commit that the line belongs to.
    """

    def __init__(self, buffer: CommitBuffer) -> None:
        import numpy as np
        import pyarrow as pa

        # The buffer puts a line feed after each commit, so a commit without one at its end does not run into the next.
        self.data, self.file_starts = buffer.data(), buffer.starts
        self.starts, self.kinds = line_starts(self.data, _HEADS)
        firsts = np.searchsorted(self.starts, self.file_starts)
        self.file = np.repeat(np.arange(len(buffer)), np.diff(firsts))
        offsets = self.starts.astype(np.int32)
        self.text = pa.StringArray.from_buffers(len(self.kinds), pa.py_buffer(offsets), pa.py_buffer(self.data))


class _Actions:
    """The actions of one kind in all lines.

    Attributes
    ----------
    lines : int64[n]
        The lines with an action of the kind.
    usable : bool[n]
        Which of them have the usual form, so that their rows are right.
    """

    def __init__(self, lines: _Lines, kind: str, full: bool) -> None:
        import numpy as np

        self._kind, self._full = kind, full
        self._schema = full_schema() if full else file_schema()
        self.lines = np.flatnonzero(lines.kinds == _KINDS.index(kind))
        left_out = _LEFT_OUT[kind] if full else _ONLY_ADDS if kind == "remove" else ()
        wanted = [n for n in self._schema.names if n in _FIELDS and n not in left_out]
        names: dict[str, Path] = {n: (kind, _FIELDS[n]) for n in wanted}
        vector = (kind, "deletionVector")
        members: dict[str, Path] = {f.name: (*vector, f.name) for f in vector_type().value_type}
        self._columns = JsonColumns(lines.text, [(kind,), vector, *names.values(), *members.values()], self.lines)
        self.usable = self._columns.sound & self._ends_its_line(lines)
        self._vectors = self._columns.kinds(vector)
        self._check(_is_one_of(self._vectors, ABSENT, NULL, OBJECT))
        self._rows = self._batch(names, members)
        self._ends = np.searchsorted(lines.file[self.lines], np.arange(len(lines.file_starts)))

    def of(self, file: int) -> pa.RecordBatch:
        """The rows of one file."""
        start, stop = int(self._ends[file]), int(self._ends[file + 1])
        return self._rows.slice(start, stop - start) if start < stop else empty_rows(self._full)

    def _check(self, fits: np.ndarray) -> None:
        self.usable = self.usable & fits

    def _ends_its_line(self, lines: _Lines) -> np.ndarray:
        """Which actions are followed by the end of their object and of their line alone, bool[n]."""
        import numpy as np

        starts, sizes = self._columns.spans((self._kind,))
        ends = starts + sizes
        left = lines.starts[self.lines + 1] - ends
        ends = np.where(self._columns.sound, ends, 0)
        carriage = (left == 3) & (lines.data[ends + 1] == ord("\r"))
        return (lines.data[ends] == ord("}")) & ((left == 2) | carriage)

    def _batch(self, names: dict[str, Path], vector: dict[str, Path]) -> pa.RecordBatch:
        import pyarrow as pa

        arrays = []
        for field in self._schema:
            if field.name == "deletion_vector":
                arrays.append(self._vector_column(vector))
            elif field.name not in names:
                arrays.append(pa.nulls(len(self.lines), field.type))
            elif pa.types.is_map(field.type):
                arrays.append(self._map(names[field.name], field.type))
            elif pa.types.is_boolean(field.type):
                arrays.append(self._booleans(names[field.name]))
            else:
                arrays.append(self._scalars(field, names[field.name], True))
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)

    def _booleans(self, path: Path) -> pa.BooleanArray:
        kinds = self._columns.kinds(path)
        return to_arrow(kinds == TRUE, valid=_is_one_of(kinds, TRUE, FALSE))

    def _vector_column(self, members: dict[str, Path]) -> pa.ListArray:
        has_vector = self._vectors == OBJECT
        found = {}
        if has_vector.any():
            chosen = to_arrow(has_vector)
            fields = vector_type().value_type
            found = {f.name: pc.filter(self._scalars(f, members[f.name], has_vector), chosen) for f in fields}
        return vector_column(to_arrow(has_vector), found)

    def _scalars(self, field: pa.Field, path: Path, where: np.ndarray | bool) -> pa.Array:
        """A column of numbers or strings, checked in the rows ``where`` its parent is present."""
        import numpy as np
        import pyarrow as pa

        kinds = self._columns.kinds(path)
        if pa.types.is_int64(field.type):
            values = self._columns.integers(path)
            present = to_numpy(pc.is_valid(values)) & (kinds == INTEGER)
            if field.name not in _REQUIRED[self._kind] and not (self._full and field.name in _OF_VECTORS):
                present |= (kinds == ABSENT) | (kinds == NULL)
        else:
            values = self._columns.texts(path)
            if field.name == "stats":  # malformed statistics are absent, not an error
                return values
            present = to_numpy(pc.is_valid(values))
            if field.name == "clustering_provider":
                present = present | (kinds == ABSENT) | (kinds == NULL)
        self._check(present | np.logical_not(where))
        return values

    def _map(self, path: Path, kind: pa.DataType) -> pa.MapArray:
        """A column of string maps. A name with escapes makes its row unusable: its bytes do not show duplicates."""
        import numpy as np
        import pyarrow as pa

        kinds = self._columns.kinds(path)
        offsets, entries = self._columns.entries(path)
        # A map of Arrow has no null names: those that are no text, of rows that are not usable, become empty.
        names, values = pc.fill_null(entries.texts(("name",)), scalar("", pa.string())), entries.texts(("value",))
        name_kinds, value_kinds = entries.kinds(("name",)), entries.kinds(("value",))
        rows = np.repeat(np.arange(len(kinds)), np.diff(offsets))
        codes = to_numpy(pc.dictionary_encode(names).indices).astype(np.int64)
        pairs = rows * len(codes) + codes
        repeated = np.zeros(len(pairs), bool)
        if (np.diff(offsets) > 1).any():
            repeated[:] = True
            repeated[np.unique(pairs, return_index=True)[1]] = False
        is_entry = _is_one_of(value_kinds, NULL, TEXT, ESCAPED) & (name_kinds == TEXT) & ~repeated
        is_entry &= (value_kinds == NULL) | to_numpy(pc.is_valid(values))
        fits = _is_one_of(kinds, ABSENT, NULL, OBJECT)
        fits[rows[~is_entry]] = False
        self._check(fits)
        bitmap = pa.py_buffer(np.packbits(kinds == OBJECT, bitorder="little"))
        struct = pa.StructArray.from_arrays([names, values], fields=[kind.key_field, kind.item_field])
        return pa.Array.from_buffers(kind, len(kinds), [bitmap, pa.py_buffer(offsets)], children=[struct])


def _is_one_of(kinds: np.ndarray, *wanted: int) -> np.ndarray:
    """Which of ``kinds`` are one of ``wanted``, bool[n]."""
    return reduce(or_, (kinds == kind for kind in wanted))
