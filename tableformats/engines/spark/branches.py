"""Group a plan's files by how Spark reads them: by constant columns, naming and kinds of deletes.

The groups become the branches of a union. So files without deletes cost no more because other files have deletes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...columnar.arrays import flat
from ...dataclass import dataclass
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
    """Files of a plan that Spark reads in one way.

    Attributes
    ----------
    rows : np.ndarray
        int64[n], their rows in ``plan.survivors``.
    file_format : str
        ``parquet`` or another that Spark reads.
    constants : Mapping[int, int]
        Top-level columns whose value stands in the metadata: {column id: id of the partition field that holds it}.
    naming : Naming
        How columns are found in the files.
    has_positions : bool
        Whether rows are deleted by position.
    has_keys : bool
        Whether rows are deleted by key (equality deletes).
    """

    rows: np.ndarray
    file_format: str
    constants: Mapping[int, int]
    naming: Naming
    has_positions: bool
    has_keys: bool


def split(plan: FilePlan, fields: Sequence[Field], version: tuple[int, int]) -> list[Branch]:
    """The branches of a plan.

    Parameters
    ----------
    plan : FilePlan
        The planned files.
    fields : Sequence[Field]
        The top-level columns that are read.
    version : tuple[int, int]
        Of Spark.

    Returns
    -------
    list[Branch]
        At least one; a plan without files has one branch without files.

    Raises
    ------
    UnsupportedFeatureError, CorruptMetadataError
        See :func:`tableformats.engines.spark.columns.file_naming.namings`.
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
        # Specs that differ only in transforms other than identity are read alike.
        columns = tuple(sorted(constants.get(spec_id, {}).items()))
        group = (columns, formats.dictionary[kind].as_py(), naming, *map(bool, deletes))
        group_of_kind.append(groups.setdefault(group, len(groups)))
    group_of = np.array(group_of_kind)[kind_of]
    return [
        Branch(np.flatnonzero(group_of == number), file_format, dict(columns), found[naming], has_positions, has_keys)
        for (columns, file_format, naming, has_positions, has_keys), number in groups.items()
    ]


def _kinds(*columns: np.ndarray) -> tuple[list[list[int]], np.ndarray]:
    """The distinct rows of some columns (n > 0 each), and for each row its index among them (int64[n])."""
    if all((column == column[0]).all() for column in columns):
        return [[column[0].item() for column in columns]], np.zeros(len(columns[0]), np.int64)
    code = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        values, value_of = np.unique(column, return_inverse=True)
        code = code * len(values) + value_of
    _, first, kind_of = np.unique(code, return_index=True, return_inverse=True)
    return np.stack([column[first] for column in columns], axis=1).tolist(), kind_of


def _identity_columns(snapshot: FormatSnapshot, spec_id: int) -> dict[int, int]:
    """Top-level columns whose value is a partition value: {column id: id of the identity partition field}.

    The partition value is used even where the file holds the column too, as in Iceberg's reference reader
    (``PartitionUtil.constantsMap``). Both are the same, and only a constant can be pruned by a join.
    """
    top = {f.id for f in snapshot.schema.fields}
    found: dict[int, int] = {}
    for f in snapshot.specs[spec_id].fields:
        if f.transform.name == "identity" and f.source_id in top:
            found.setdefault(f.source_id, f.id)
    return found


def _kinds_of_deletes(plan: FilePlan) -> tuple[np.ndarray, np.ndarray]:
    """Files with positional deletes and files with equality deletes, each as bool[n_files]."""
    deletes = plan.delete_files
    if not len(deletes.indices):
        return np.zeros(len(plan), bool), np.zeros(len(plan), bool)
    is_equality = equality_rows(deletes)[deletes.indices]
    file = np.repeat(np.arange(len(plan)), np.diff(deletes.offsets))
    keys = np.bincount(file[is_equality], minlength=len(plan)) > 0
    return np.bincount(file[~is_equality], minlength=len(plan)) > 0, keys
