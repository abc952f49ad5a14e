"""Pruning of groups of files before they are read: what a plugin asks, and what the core answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING

from .._core.masks import NONE
from ..dataclass import dataclass
from .statistics import Bounds

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

__all__ = ["Decision", "ManifestFilter"]


@dataclass(frozen=True)
class Decision:
    """Verdicts for ``n`` files, or groups of files, and the columns that could change them.

    Attributes
    ----------
    verdicts : uint8[n]
        NONE (no row can match), SOME, or ALL (every row matches).
    undecided_columns : dict of field id to bool[n]
        For each leaf column of the predicate, whether more knowledge of it can change the verdict. A part of the
        predicate that cannot be TRUE, or can only be TRUE, is not evaluated again: its other leaves are decided.
    """

    verdicts: np.ndarray
    undecided_columns: dict[int, np.ndarray]

    @property
    def keep(self) -> np.ndarray:
        """bool[n]: the files, or groups, that may hold a matching row."""
        return self.verdicts != NONE


class ManifestFilter(ABC):
    """Prunes groups of files (manifests, row groups of a checkpoint) by ranges of their partition values and columns.

    The core makes it, a plugin calls it. Source of the rules: Iceberg spec, "Manifest Lists", ``field_summary``.
    """

    @abstractmethod
    def decide(
        self,
        spec_id: int,
        lower: Mapping[int, pa.Array],
        upper: Mapping[int, pa.Array],
        contains_null: Mapping[int, pa.Array],
        contains_nan: Mapping[int, pa.Array],
        bounds: Bounds | None = None,
    ) -> Decision:
        """Which of ``n`` groups may hold a file that is needed, and which columns are still needed for each group.

        A column that is not undecided for a group need not be decoded for the files of the group.

        Parameters
        ----------
        spec_id : int
            The partition spec of all groups.
        lower, upper : mapping of partition field id to array[n]
            In the type of the field. A null ``lower`` means that the group has no value other than NULL and NaN.
        contains_null, contains_nan : mapping of partition field id to bool array[n]
            Null means unknown.
        bounds : Bounds, optional
            Bounds of the columns over all files of a group, [n]. Either ``bounds`` or ``lower`` has at least one
            column.
        """
