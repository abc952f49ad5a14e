"""The columns that a scan reads of data files, and how they become columns of the table.

Files that were written together mostly have equal schemas, and share one tree of columns. With the same partition
values and the same residual, they share one :class:`FileColumns`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from ...dataclass import dataclass
from ...expressions import tree as ex
from ...planning.request import ScanRequest
from ...planning.tasks import ScanTask
from ...plugin.partitions import PartitionSpec
from ...plugin.snapshot import FormatSnapshot
from ...schema import Field
from .files.column_tree import Selection
from .files.data_file import DataFile
from .metadata_columns import MetadataReader
from .projection import Resolver
from .row_filter import RowFilter

__all__ = ["FileColumns", "SeenFiles", "SelectedColumns", "identity_values"]


_TRIED_FILES = 16
"""So many small files are read before anything is decided by what was seen of them."""
_TRIED_ROW_GROUPS = 4
"""The same for row groups that are read by pages."""
_TRIED_AGAIN = 16
"""Each file or row group of so many is tried also where little was gained: later ones may be of another kind."""
_FEWEST_DROPPED = 1 / 8
"""Of small files, and of row groups: one that is not read as a whole saves more time than some looks at statistics."""
_MOSTLY_MATCHING = 7 / 8
"""Of small files: one without a match saves most of its columns, which pays for some that are read in two passes."""


class _Tally:
    """How many files or row groups turned out to be so; ``fewest`` are tried before their share is known."""

    def __init__(self, fewest: int) -> None:
        self._fewest = fewest
        self._tried = self._found = self._passed_over = 0

    def add(self, is_found: bool) -> None:
        """Count one. Several threads may count; one may get lost then."""
        self._tried += 1
        self._found += is_found

    @property
    def share(self) -> float | None:
        """None: too few were tried."""
        return self._found / self._tried if self._tried >= self._fewest else None

    def wants_another(self) -> bool:
        """Whether to try the next one: too few were tried, or enough turn out to be so; or it is the turn of one."""
        if self.share is None or self.share >= _FEWEST_DROPPED:
            return True
        self._passed_over += 1
        return self._passed_over % _TRIED_AGAIN == 0


class SeenFiles:
    """What was seen of the files with the same columns and the same residual, whatever their partition values.

    Attributes
    ----------
    dropped : _Tally
        Small files whose statistics say that no row matches. Mostly the metadata have the same ones, and the plan has
        dropped all files that they can drop.
    matching : _Tally
        Small files in which a row matches.
    cut : _Tally
        Row groups of which the statistics of pages leave some rows out.
    """

    def __init__(self) -> None:
        self.dropped, self.matching, self.cut = _Tally(_TRIED_FILES), _Tally(_TRIED_FILES), _Tally(_TRIED_ROW_GROUPS)

    @property
    def mostly_match(self) -> bool:
        """Whether most small files have a row that matches, so that all of their columns are read at once."""
        return self.matching.share is not None and self.matching.share >= _MOSTLY_MATCHING


@dataclass(frozen=True, eq=False)
class SelectedColumns:
    """The leaf columns to read of a file.

    Attributes
    ----------
    all : Selection
    apart : (Selection, Selection) or None
        The columns of the filter and of equality deletes, and the others. None: they are read together.
    """

    all: Selection
    apart: tuple[Selection, Selection] | None


class FileColumns:
    """What is read of files with the same tree of columns, the same partition values and the same residual.

    Parameters
    ----------
    file : DataFile
        One of the files.
    scan : ScanRequest
        What is read.
    fields : Sequence[Field]
        The columns to return.
    residual : Expression
        The residual of the tasks.
    constants : Mapping[int, pa.Scalar]
        Their :func:`identity_values`.

    Attributes
    ----------
    resolver : Resolver
    wanted : Projection
        The columns to return, without metadata columns.
    metadata_columns : dict[int, MetadataColumn]
        Those of the columns to return, by the field's id.
    metadata : MetadataReader
    filter : RowFilter
        Of the residual.
    stored_values : dict[int, tuple[Field, int]]
        The columns of the filter whose values are those of a leaf, see :meth:`Projection.stored_values`.
    """

    def __init__(
        self,
        file: DataFile,
        scan: ScanRequest,
        fields: Sequence[Field],
        residual: ex.Expression,
        constants: Mapping[int, pa.Scalar],
    ) -> None:
        self.resolver = Resolver(file.root, scan.snapshot.format_snapshot.name_mapping, constants)
        self.metadata_columns = {c.field.id: c for c in scan.metadata_columns if c.field in fields}
        self.wanted = self.resolver.project([f for f in fields if f.id not in self.metadata_columns])
        self.metadata = MetadataReader(list(self.metadata_columns.values()), file.root)
        self.filter = RowFilter(residual, scan.snapshot.schema.fields, self.resolver)
        self.stored_values = self.filter.projection.stored_values()
        self._selected: dict[frozenset[int], SelectedColumns] = {}

    def selected(self, file: DataFile, key_leaves: frozenset[int]) -> SelectedColumns:
        """The leaves to read of ``file``, whose equality deletes need ``key_leaves``."""
        if key_leaves not in self._selected:
            tested = self.filter.projection.leaves | key_leaves
            leaves = self.wanted.leaves.union(self.metadata.leaves, tested)
            self._selected[key_leaves] = SelectedColumns(file.select(leaves), self._apart(file, tested, leaves))
        return self._selected[key_leaves]

    def _apart(
        self, file: DataFile, tested: frozenset[int], leaves: frozenset[int]
    ) -> tuple[Selection, Selection] | None:
        others = leaves - tested
        if self.metadata.needs_positions or not file.reads_columns_apart or not tested or not others:
            return None
        apart = file.select(tested), file.select(others)
        columns = [set(selection.columns(file.root)) for selection in apart]
        return None if columns[0] & columns[1] else apart


def identity_values(snapshot: FormatSnapshot, task: ScanTask) -> dict[int, pa.Scalar]:
    """The partition values of ``task`` that equal the value of a column, by that column's id."""
    spec = snapshot.specs.get(task.spec_id, PartitionSpec(task.spec_id, ()))
    return {
        f.source_id: task.partition[f.id]
        for f in spec.fields
        if f.transform.name == "identity" and f.id in task.partition
    }
