"""A plan's files in groups that Spark reads in one way: same constants, same naming, same kinds of deletes.

The groups become the branches of a union, so that files without deletes pay nothing for those with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...columnar.arrays import flat
from .columns.file_naming import namings
from .columns.naming import Naming
from .deletes.equality import equality_rows

if TYPE_CHECKING:
    from ...planning.plan import FilePlan
    from ...plugin.snapshot import FormatSnapshot
    from ...schema import Field

__all__ = ["Branch", "split"]


@dataclass(frozen=True)
class Branch:
    """Some files of a plan.

    Attributes
    ----------
    rows : int64[n], their rows in ``plan.survivors``
    file_format : "parquet" or another that Spark reads
    constants : {id of a top-level column: id of the partition field that holds its value}
    naming : how columns are found in the files
    has_positions, has_keys : whether rows are deleted by position, and by key
    """

    rows: np.ndarray
    file_format: str
    constants: Mapping[int, int]
    naming: Naming
    has_positions: bool
    has_keys: bool


def split(plan: FilePlan, fields: Sequence[Field], version: tuple[int, int]) -> list[Branch]:
    """The branches of ``plan`` as far as ``fields``, top-level columns, are read; one without files where it has none.

    Raises
    ------
    UnsupportedFeatureError, CorruptMetadataError : see :func:`tableformats.engines.spark.stored_columns.namings`
    """
    snapshot = plan.snapshot.format_snapshot
    constants = {spec_id: _identity_columns(snapshot, spec_id) for spec_id in snapshot.specs}
    found, naming_of = namings(plan, fields, version)
    positions, keys = _kinds_of_deletes(plan)
    if not len(plan):
        return [Branch(np.zeros(0, np.int64), "parquet", {}, found[0], False, False)]
    formats = flat(plan.survivors["file_format"]).dictionary_encode()
    kinds, kind_of = _kinds(
        flat(plan.survivors["spec_id"]).to_numpy(), formats.indices.to_numpy(), naming_of, positions, keys
    )
    groups: dict[Any, int] = {}
    group_of_kind = []
    for spec_id, kind, naming, *deletes in kinds:
        # Specs that differ in other transforms alone are read alike.
        columns = tuple(sorted(constants.get(spec_id, {}).items()))
        group = (columns, formats.dictionary[kind].as_py(), naming, *map(bool, deletes))
        group_of_kind.append(groups.setdefault(group, len(groups)))
    group_of = np.array(group_of_kind)[kind_of]
    return [
        Branch(np.flatnonzero(group_of == number), file_format, dict(columns), found[naming], has_positions, has_keys)
        for (columns, file_format, naming, has_positions, has_keys), number in groups.items()
    ]


def _kinds(*columns: np.ndarray) -> tuple[list[list[int]], np.ndarray]:
    """The different rows of some columns (n > 0 each), and as int64[n] which of them each row is."""
    if all((column == column[0]).all() for column in columns):
        return [[column[0].item() for column in columns]], np.zeros(len(columns[0]), np.int64)
    code = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        values, value_of = np.unique(column, return_inverse=True)
        code = code * len(values) + value_of
    _, first, kind_of = np.unique(code, return_index=True, return_inverse=True)
    return np.stack([column[first] for column in columns], axis=1).tolist(), kind_of


def _identity_columns(snapshot: FormatSnapshot, spec_id: int) -> dict[int, int]:
    """Columns whose value the metadata holds: partition values of identity transforms of top-level columns.

    They are taken from there even where the file has the column too, as Iceberg's reference reader does
    (``PartitionUtil.constantsMap``): both say the same, and only a constant can be pruned by a join.
    """
    top = {f.id for f in snapshot.schema.fields}
    found: dict[int, int] = {}
    for f in snapshot.specs[spec_id].fields:
        if f.transform.name == "identity" and f.source_id in top:
            found.setdefault(f.source_id, f.id)
    return found


def _kinds_of_deletes(plan: FilePlan) -> tuple[np.ndarray, np.ndarray]:
    """bool[n_files] twice: files with deleted positions, files with equality deletes."""
    deletes = plan.delete_files
    if not len(deletes.indices):
        return np.zeros(len(plan), bool), np.zeros(len(plan), bool)
    is_equality = equality_rows(deletes)[deletes.indices]
    file = np.repeat(np.arange(len(plan)), np.diff(deletes.offsets))
    keys = np.bincount(file[is_equality], minlength=len(plan)) > 0
    return np.bincount(file[~is_equality], minlength=len(plan)) > 0, keys
