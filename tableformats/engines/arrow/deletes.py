"""Row-level deletes of a data file: deleted positions as a bitmap, equality deletes as filters by key.

A plan loads each equality delete file once, when the first data file needs it.
"""

from __future__ import annotations

from dataclasses import replace
from threading import Lock
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap64

from ...dataclass import dataclass
from ...errors import CorruptMetadataError
from ...planning.tasks import ScanTask
from ...plugin.deletes import EQUALITY
from ...plugin.snapshot import FormatSnapshot
from ...schema import Field, Schema, StructType
from .files.column_tree import FileNode, Selection
from .key_sets import IntegerSet, KeySet
from .projection import Projection, Resolver

__all__ = ["DeleteLoader", "EqualityFilter", "deleted_positions", "positions_within"]


def _deletes(task: ScanTask, are_equality: bool) -> pa.Table:
    """The equality deletes of a task, or the others."""
    # Most files have few of them: Arrow's functions would take longer than their objects.
    chosen = [(kind == EQUALITY) == are_equality for kind in task.deletes["kind"].to_pylist()]
    return task.deletes if all(chosen) else task.deletes.filter(pa.array(chosen))


def deleted_positions(snapshot: FormatSnapshot, task: ScanTask, num_rows: int) -> BitMap64:
    """The positions in the file of ``task`` that deletion vectors and position delete files remove.

    Parameters
    ----------
    snapshot : FormatSnapshot
        Loads the delete files.
    task : ScanTask
        The file and its deletes.
    num_rows : int
        Physical rows of the file.

    Returns
    -------
    BitMap64
        Positions below ``num_rows``. A bitmap, because a delete file of a few bytes may delete billions of rows.

    Raises
    ------
    CorruptMetadataError
        The metadata's record count is not ``num_rows``; a position is past the file's end.
    """
    deletes = _deletes(task, are_equality=False)
    if not deletes.num_rows:
        return BitMap64()
    if task.record_count is not None and task.record_count != num_rows:
        raise CorruptMetadataError(
            f"the file has {num_rows} rows where the metadata counts {task.record_count}, so positions of deleted "
            "rows mean nothing",
            path=task.path,
            hint="The file was replaced: restore it",
        )
    bitmap = snapshot.deleted_positions(task.stored_path, num_rows, deletes)
    if len(bitmap) and bitmap.max() >= num_rows:
        raise CorruptMetadataError(
            f"row {bitmap.max()} of the file is deleted, but it has {num_rows} rows",
            path=task.path,
            hint="Restore the file or its deletes",
        )
    return bitmap


def positions_within(positions: BitMap64, start: int, stop: int) -> np.ndarray:
    """uint64[n]: the ``positions`` from ``start`` to below ``stop``, ascending."""
    window = BitMap64()
    window.add_range(start, stop)
    return np.frombuffer((positions & window).to_array(), np.uint64)


@dataclass(frozen=True, eq=False)
class EqualityFilter:
    """One set of keys, applied to one data file.

    Attributes
    ----------
    keys : KeySet
        The deleted keys.
    projection : Projection
        Reads the columns that hold the keys; of structs only the members above the key.
    paths : tuple[tuple[int, ...], ...]
        For each column, the member indexes from it down to the key; empty where the column is the key.
    """

    keys: KeySet
    projection: Projection
    paths: tuple[tuple[int, ...], ...]

    @property
    def integers(self) -> IntegerSet | None:
        """The keys, where they are values of one column as the file stores them, if its type is theirs."""
        is_stored = len(self.projection.stored_values()) == 1 and self.paths == ((),)
        return self.keys.integers if is_stored else None

    def deleted(self, rows: pa.StructArray, selection: Selection) -> np.ndarray:
        """int64[m]: the positions of the rows whose key is deleted, ascending."""
        batch = self.projection.read(rows, selection)
        columns = []
        for i, members in enumerate(self.paths):
            # struct_field makes a member of a NULL struct NULL.
            columns.append(pc.struct_field(batch.column(i), list(members)) if members else batch.column(i))
        return self.keys.positions(columns)


class DeleteLoader:
    """Loads the equality deletes of one plan. Several threads may use it; each delete file is read by one of them."""

    def __init__(self, snapshot: FormatSnapshot, schema: Schema) -> None:
        self._snapshot = snapshot
        self._schema = schema
        self._tables: dict[tuple[Any, Any], pa.Table] = {}
        self._last: tuple[Any, dict[pa.Schema, KeySet]] = (None, {})
        self._lock = Lock()

    def equality_filters(self, task: ScanTask, resolver: Resolver) -> list[EqualityFilter]:
        """The equality deletes of ``task``, one filter for each set of key columns."""
        if not task.deletes.num_rows:
            return []
        found = _deletes(task, are_equality=True)
        filters = []
        with self._lock:
            key_sets = self._key_sets(found)
        for schema, keys in key_sets.items():
            chains = [self._field(column, resolver.root) for column in schema]
            projection = resolver.project([chain[0] for chain in chains])
            filters.append(EqualityFilter(keys, projection, tuple((0,) * (len(chain) - 1) for chain in chains)))
        return filters

    def _key_sets(self, deletes: pa.Table) -> dict[pa.Schema, KeySet]:
        """Keys by their columns. Consecutive files mostly share their delete files, so the last answer is cached."""
        names = tuple(zip(deletes["path"].to_pylist(), deletes["offset"].to_pylist(), strict=True))
        if self._last[0] != names:
            groups: dict[pa.Schema, list[pa.Table]] = {}
            for name, delete in zip(names, deletes.to_pylist(), strict=True):
                if name not in self._tables:
                    self._tables[name] = self._load(delete)
                table = self._tables[name]
                groups.setdefault(table.schema, []).append(table)
            sets = {schema: _key_set(pa.concat_tables(tables)) for schema, tables in groups.items()}
            self._last = (names, sets)
        return self._last[1]

    def _load(self, delete: dict[str, Any]) -> pa.Table:
        table = self._snapshot.equality_deletes(delete)
        if not table.num_columns:
            raise CorruptMetadataError(
                "an equality delete file names no key columns", path=delete["path"], hint="Rewrite the table"
            )
        # Order the columns and drop their metadata, so that delete files with the same key columns share one set.
        ordered = table.select(sorted(table.column_names, key=int))
        return ordered.cast(pa.schema([pa.field(f.name, f.type) for f in ordered.schema]))

    def _field(self, column: pa.Field, root: FileNode) -> tuple[Field, ...]:
        """The path of fields down to the key ``column``; each struct has only the next field as its member.

        A column that the table has dropped is looked up in the file itself, with the type that the delete file has.
        """
        field_id = int(column.name)
        try:
            path = self._schema.path_of(field_id)
        except KeyError:
            dropped = Schema.from_arrow(pa.schema([column])).fields[0]
            nodes = root.find(field_id) or ()
            above = [Field(-1 if n.id is None else n.id, n.name, StructType(())) for n in nodes[:-1]]
            path = (*above, replace(dropped, id=field_id, name=column.name))
        narrowed = [replace(path[-1], required=False)]
        for struct in reversed(path[:-1]):
            narrowed.insert(0, replace(struct, type=StructType((narrowed[0],)), required=False))
        return tuple(narrowed)


def _key_set(table: pa.Table) -> KeySet:
    return KeySet([_flat(column) for column in table.columns])


def _flat(column: pa.ChunkedArray) -> pa.Array:
    flat = column.combine_chunks()
    return flat if isinstance(flat, pa.Array) else pa.concat_arrays(flat.chunks)
