"""Equality deletes as broadcast anti-joins of keys.

The plan says which delete files apply to which data file. These sets are arranged in chains in which each set contains
the next one (within one partition, chains follow the sequence numbers). A data file then has a rank in a chain, and a
delete file applies to all ranks up to its last one. So one comparison decides whether a key applies to a file, and no
key is repeated for every data file. Source: Iceberg spec, "Equality Delete Files", "Scan Planning".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ....dataclass import dataclass
from ....errors import CorruptMetadataError, UnsupportedFeatureError
from ....plugin.deletes import EQUALITY
from ....schema import Schema
from ..columns.checks import check_readable
from ..columns.naming import HIDDEN, Naming, Path
from ..columns.spark_types import spark_struct
from ..result_columns import renamed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ....plugin.deletes import DeleteFiles
    from ....plugin.snapshot import FormatSnapshot
    from ..relations import RelationReader

__all__ = ["KeyGroup", "chains_of", "equality_rows", "keys_of_chains", "load_key_groups", "without_deleted"]

_BROADCAST_BYTES = 256 << 20
_NO_RANK = 2**31 - 1


@dataclass
class KeyGroup:
    """The equality deletes over one set of columns.

    Attributes
    ----------
    number : int
        The group's number among those of a plan.
    columns : tuple[Path, ...]
        The key columns.
    keys : pa.Table
        ``chain`` int32, ``rank`` int32, then the key columns by position (``"0"``, ...).
    chain, rank : np.ndarray
        int32[n_files]; -1 and a value past all ranks where no delete of the group applies to the file.
    """

    number: int
    columns: tuple[Path, ...]
    keys: pa.Table
    chain: np.ndarray
    rank: np.ndarray

    def hidden(self, name: str) -> str:
        """The name of one of the group's hidden columns."""
        return f"{HIDDEN}{name}_{self.number}"


def equality_rows(deletes: DeleteFiles) -> np.ndarray:
    """Which rows of ``deletes.files`` are equality delete files, as bool[n_delete_files]."""
    return pc.equal(deletes.files["kind"], EQUALITY).to_numpy().astype(bool)


def load_key_groups(snapshot: FormatSnapshot, deletes: DeleteFiles) -> list[KeyGroup]:
    """Read the plan's equality delete files and group them by key columns.

    Raises
    ------
    CorruptMetadataError
        A delete file is damaged, or its columns are in no schema of the table.
    UnsupportedFeatureError
        Spark cannot read a key column.
    """
    applied = np.unique(deletes.indices)
    tables: dict[tuple[str, ...], dict[int, pa.Table]] = {}
    for row in applied[equality_rows(deletes)[applied]].tolist():
        record = deletes.files.slice(row, 1).to_pylist()[0]
        keys = snapshot.equality_deletes(record)
        if keys.num_rows:
            names = sorted(keys.column_names, key=int)
            tables.setdefault(tuple(names), {})[row] = keys.select(names)
    groups: list[KeyGroup] = []
    for ids, by_row in tables.items():
        columns = tuple(_column_path(snapshot, int(i)) for i in ids)
        for path in columns:
            check_readable(path[0])
        sets = [frozenset(by_row).intersection(row) for row in _applicable(deletes)]
        chains, chain, rank = chains_of(sets)
        groups.append(KeyGroup(len(groups), columns, keys_of_chains(chains, by_row), chain, rank))
    return groups


def _applicable(deletes: DeleteFiles) -> list[list[int]]:
    """The delete files of each data file."""
    indices, offsets = deletes.indices.tolist(), deletes.offsets.tolist()
    return [indices[start:stop] for start, stop in zip(offsets[:-1], offsets[1:], strict=True)]


def _column_path(snapshot: FormatSnapshot, field_id: int) -> Path:
    """The path of a key column; deletes by a column that was dropped later still apply."""
    if snapshot.schema.find_id(field_id) is not None:
        return snapshot.schema.path_of(field_id)
    for schema in reversed(snapshot.schema_history):
        path = schema.path_of(field_id) if schema.find_id(field_id) is not None else ()
        if len(path) == 1:
            return path
        if path:
            raise UnsupportedFeatureError(
                "equality deletes over a dropped member of a struct are not read with Spark yet",
                field=".".join(f.name for f in path),
                hint="Read with to_arrow(), or compact the table",
            )
    raise CorruptMetadataError(
        "an equality delete file names a column that is in no schema of the table",
        field=str(field_id),
        hint="Restore the table's metadata",
    )


def chains_of(sets: Sequence[frozenset[int]]) -> tuple[list[list[frozenset[int]]], np.ndarray, np.ndarray]:
    """Arrange sets in chains, in which each set contains the next one.

    Parameters
    ----------
    sets : Sequence[frozenset[int]]
        The delete files of each data file.

    Returns
    -------
    chains : list[list[frozenset[int]]]
        The distinct sets, in each chain the largest first.
    chain, rank : np.ndarray
        int32[n], each set's chain (-1 for the empty set) and its rank there.
    """
    chains: list[list[frozenset[int]]] = []
    where: dict[frozenset[int], tuple[int, int]] = {frozenset(): (-1, _NO_RANK)}
    for wanted in sorted(set(sets) - {frozenset()}, key=lambda s: (-len(s), sorted(s))):
        number = next((i for i, chain in enumerate(chains) if wanted < chain[-1]), len(chains))
        if number == len(chains):
            chains.append([])
        where[wanted] = (number, len(chains[number]))
        chains[number].append(wanted)
    found = np.array([where[s] for s in sets], np.int32).reshape(-1, 2)
    return chains, found[:, 0], found[:, 1]


def keys_of_chains(chains: Sequence[Sequence[frozenset[int]]], tables: Mapping[int, pa.Table]) -> pa.Table:
    """The keys of every chain, each with the last rank that its delete file applies to."""
    pieces = []
    for number, chain in enumerate(chains):
        for row in chain[0]:
            last = max(rank for rank, members in enumerate(chain) if row in members)
            keys = tables[row].rename_columns([str(i) for i in range(tables[row].num_columns)])
            for name, value in (("rank", last), ("chain", number)):
                keys = keys.add_column(0, name, pa.repeat(pa.scalar(value, pa.int32()), keys.num_rows))
            pieces.append(keys)
    return pa.concat_tables(pieces)


def without_deleted(frame: DataFrame, group: KeyGroup, naming: Naming, reader: RelationReader) -> DataFrame:
    """``frame`` without the rows that the group's keys delete; NULL equals NULL, NaN equals NaN."""
    from pyspark.sql import functions as F

    names = [group.hidden(name) for name in ("key_chain", "key_rank", *(f"key{i}" for i in range(len(group.columns))))]
    keys = _without_fixed_size_binary(group.keys.rename_columns(names))
    right = reader.local_frame(keys, spark_struct(map(Naming().spark_field, Schema.from_arrow(keys.schema))))
    if keys.nbytes <= _BROADCAST_BYTES:
        right = F.broadcast(right)
    terms = [F.col(group.hidden("rank")) <= F.col(names[1])]
    if pc.max(keys[names[0]]).as_py() > 0:
        terms.append(F.col(group.hidden("chain")) == F.col(names[0]))
    for name, path in zip(names[2:], group.columns, strict=True):
        column: Any = renamed(path[0], naming, reader)
        for member in path[1:]:
            column = column.getField(member.name)
        # Where no key is NULL, = and <=> are the same, and for = Spark hashes one number instead of two values.
        terms.append(column.eqNullSafe(F.col(name)) if keys[name].null_count else column == F.col(name))
    condition = reduce(lambda left, term: left & term, terms)
    return frame.join(right, condition, "left_anti")


def _without_fixed_size_binary(table: pa.Table) -> pa.Table:
    """Fixed-size binary columns as binary ones, because Spark's Arrow vectors do not read the former."""
    fields = [f.with_type(pa.binary()) if pa.types.is_fixed_size_binary(f.type) else f for f in table.schema]
    return table.cast(pa.schema(fields))
