"""The files whose rows polars reads itself: they hold the table's values as they are.

A file is plain if it is a local Parquet file without deletes, and its columns have the types of the table's. Columns
that it lacks are constants. The footer says so. It is decoded once for all files that have the same schema, byte by
byte.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ...dataclass import dataclass
from ...errors import TableFormatsError
from ...io.parquet.schema_bytes import is_of_old_spark, local_footer, schema_bytes
from ...io.paths import scheme_of
from ...planning.request import ScanRequest
from ...planning.tasks import ScanTask
from ...schema import Field
from ..arrow.file_rows import identity_values
from ..arrow.files.column_tree import FileNode
from ..arrow.files.opening import open_data_file
from ..arrow.projection import Resolver

if TYPE_CHECKING:
    import polars

__all__ = ["Layout", "PlainFiles"]


@dataclass(frozen=True, eq=False)
class Layout:
    """How the columns of a scan lie in a file.

    Attributes
    ----------
    stored : mapping of str to str
        The name in the file of each column that it has.
    constants : mapping of str to Expr
        The other columns.
    required : sequence of str
        Columns of the first kind that must hold no NULL, which the file does not promise.
    """

    stored: Mapping[str, str]
    constants: Mapping[str, polars.Expr]
    required: Sequence[str]

    def column(self, name: str) -> polars.Expr:
        """A column of the scan, from those of the file."""
        import polars as pl

        if name in self.constants:
            return self.constants[name].alias(name)
        stored = self.stored[name]
        return pl.col(stored) if stored == name else pl.col(stored).alias(name)


@dataclass(frozen=True, eq=False)
class _Root:
    """The columns of a file, and the numbers of those leaves that hold times as 96 bit numbers."""

    columns: FileNode
    int96: frozenset[int]


class PlainFiles:
    """Decides which files of a plan polars reads.

    Parameters
    ----------
    scan : ScanRequest
        What was planned; all of its columns are wanted.
    schema : mapping of str to polars.DataType
        The types of its columns.
    """

    def __init__(self, scan: ScanRequest, schema: Mapping[str, polars.DataType]) -> None:
        self._scan, self._schema = scan, schema
        self._snapshot = scan.snapshot.format_snapshot
        self._ids = {f.id for f in scan.schema}
        self._are_possible = not scan.metadata_columns and not any(_is_pattern(f.name) for f in scan.schema)
        self._roots: dict[bytes, _Root | None] = {}
        self._layouts: dict[tuple[Any, ...], Layout | None] = {}

    def layout_of(self, task: ScanTask) -> Layout | None:
        """How polars finds the columns in the file of a task. None: it is not plain, or that is not certain."""
        if not self._are_possible or task.deletes.num_rows or task.file_format != "parquet":
            return None
        if task.length != task.size_bytes or scheme_of(task.path) is not None:
            return None
        footer = local_footer(task.path)
        if footer is None:
            return None
        constants = {i: v for i, v in identity_values(self._snapshot, task).items() if i in self._ids}
        if is_of_old_spark(footer):
            return self._layout(self._root_of(task), constants, task.path)
        begin = self._known(footer, task)
        if begin is None:
            return None
        key = (begin, *constants.items())
        if key not in self._layouts:
            self._layouts[key] = self._layout(self._roots[begin], constants, task.path)
        return self._layouts[key]

    def _known(self, footer: bytes, task: ScanTask) -> bytes | None:
        """What footers with this schema begin with; the columns of the first such file are kept."""
        for begin in self._roots:
            if footer.startswith(begin):
                return begin
        found = schema_bytes(footer)
        if found is not None:
            self._roots[found] = self._root_of(task)
        return found

    def _root_of(self, task: ScanTask) -> _Root | None:
        """The columns of a file. None: it cannot be opened."""
        snapshot = self._scan.snapshot
        try:
            with open_data_file(snapshot.storage, task, self._snapshot.name_mapping, snapshot.cache) as file:
                leaves = file.footer.metadata.schema  # type: ignore[attr-defined]
                int96 = [i for i in file.root.leaves if leaves.column(i).physical_type == "INT96"]
                return _Root(file.root, frozenset(int96))
        except (TableFormatsError, OSError):
            return None

    def _layout(self, found: _Root | None, constants: Mapping[int, pa.Scalar], path: str) -> Layout | None:
        if found is None:
            return None
        root = found.columns
        try:
            resolver = Resolver(root, self._snapshot.name_mapping, constants, path)
            columns = resolver.project(self._scan.schema.fields).plain_columns()
        except TableFormatsError:
            return None
        if columns is None:
            return None
        stored = {f: node for f, node in columns if isinstance(node, FileNode)}
        literals = {f.name: self._literal(f, value) for f, value in columns if not isinstance(value, FileNode)}
        if not stored or any(literal is None for literal in literals.values()):
            return None
        if any(_is_pattern(node.name) or not found.int96.isdisjoint(node.leaves) for node in stored.values()):
            return None
        may_lack = [f.name for f, node in stored.items() if f.required and _may_be_null(root, node)]
        return Layout({f.name: node.name for f, node in stored.items()}, literals, may_lack)

    def _literal(self, f: Field, value: pa.Scalar) -> polars.Expr | None:
        """A constant in polars. None: Python has no such value."""
        import polars as pl

        try:
            return pl.lit(value.as_py(), dtype=self._schema[f.name])
        except (ValueError, OverflowError, TypeError):
            return None


def _is_pattern(name: str) -> bool:
    """Whether polars takes the name of a column for a pattern."""
    return name == "*" or (name.startswith("^") and name.endswith("$"))


def _may_be_null(root: FileNode, node: FileNode) -> bool:
    return bool(root.type.field(root.children.index(node)).nullable)
