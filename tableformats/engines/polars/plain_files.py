"""The files whose rows polars reads itself: they hold the table's values as they are.

A file is plain if it is a local Parquet file without deletes, and its columns have the types of the table's. Columns
that it lacks are constants. The footer says so. It is decoded once for all files that have the same schema, byte by
byte.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from ...dataclass import dataclass
from ...errors import TableFormatsError
from ...io.parquet.schema_bytes import is_of_old_spark, local_footer, row_count, schema_bytes
from ...io.paths import scheme_of
from ...planning.plan import FilePlan
from ...planning.tasks import ScanTask, tasks_of
from ...runtime.concurrency import cached_property
from ...schema import Field
from ..arrow.files.column_tree import FileNode
from ..arrow.files.opening import open_data_file
from ..arrow.projection import Resolver

if TYPE_CHECKING:
    import polars

__all__ = ["Layout", "PlainFiles"]

_NODE_BYTES = 1_000
"""About what a column takes in the tree of columns."""


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
    plan : FilePlan
        All of its columns are wanted.
    schema : mapping of str to polars.DataType
        The types of its columns.

    Attributes
    ----------
    paths : list of str
        The absolute paths of the files.
    """

    def __init__(self, plan: FilePlan, schema: Mapping[str, polars.DataType]) -> None:
        self._plan, self._schema = plan, schema
        self._snapshot = plan.snapshot.format_snapshot
        self.paths: list[str] = plan.paths.to_pylist()
        self._may_be_plain = self._candidates()
        self._constants = _IdentityValues(plan)
        self._roots: dict[bytes, _Root | None] = {}
        self._layouts: dict[tuple[Any, ...], Layout | None] = {}

    @cached_property
    def tasks(self) -> list[ScanTask]:
        """The files as tasks. To make them may read statistics."""
        return list(tasks_of(self._plan))

    def _candidates(self) -> list[bool]:
        plan = self._plan
        if plan.metadata_columns or any(_is_pattern(f.name) for f in plan.schema):
            return [False] * len(plan)
        formats = np.array(plan.survivors["file_format"].to_pylist(), object)
        found: list[bool] = ((formats == "parquet") & (np.diff(plan.delete_files.offsets) == 0)).tolist()
        return found

    def layout_of(self, index: int) -> Layout | None:
        """How polars finds the columns in a file of the plan. None: it is not plain, or that is not certain."""
        path = self.paths[index]
        if not self._may_be_plain[index] or scheme_of(path) is not None:
            return None
        footer = local_footer(path)
        if footer is None:
            return None
        if is_of_old_spark(footer):
            return self._layout(self._root_of(index), index)
        begin = self._known(footer, index)
        if begin is None:
            return None
        key = begin, self._constants.key_of(index)
        if key not in self._layouts:
            self._layouts[key] = self._layout(self._roots[begin], index)
        return self._layouts[key]

    def rows_of(self, index: int, size: int) -> int:
        """About how many rows of a file of the plan take so many bytes as they are stored; 0: that is not known."""
        footer, whole = local_footer(self.paths[index]), self._plan.survivors["size_bytes"][index].as_py()
        return 0 if footer is None or not whole else size * row_count(footer) // whole

    def _known(self, footer: bytes, index: int) -> bytes | None:
        """What footers with this schema begin with; the columns of the first such file are kept."""
        for begin in self._roots:
            if footer.startswith(begin):
                return begin
        found = schema_bytes(footer)
        if found is not None:
            # What finds columns in files, the mapping of names, may be another in another version.
            cache, key = self._plan.snapshot.cache, ("schema of files", self._snapshot.version, found)
            root = cache.find(key)
            if root is None:
                root = self._root_of(index)
                cache.keep(key, root, len(found) + (0 if root is None else root.columns.leaves.stop * _NODE_BYTES))
            self._roots[found] = root
        return found

    def _root_of(self, index: int) -> _Root | None:
        """The columns of a file. None: it cannot be opened."""
        snapshot, task = self._plan.snapshot, self.tasks[index]
        try:
            with open_data_file(snapshot.storage, task, self._snapshot.name_mapping, snapshot.cache) as file:
                leaves = file.footer.metadata.schema  # type: ignore[attr-defined]
                int96 = [i for i in file.root.leaves if leaves.column(i).physical_type == "INT96"]
                return _Root(file.root, frozenset(int96))
        except (TableFormatsError, OSError):
            return None

    def _layout(self, found: _Root | None, index: int) -> Layout | None:
        if found is None:
            return None
        root, constants = found.columns, self._constants.of(index)
        try:
            resolver = Resolver(root, self._snapshot.name_mapping, constants)
            columns = resolver.project(self._plan.schema.fields).plain_columns()
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
        """A constant in polars. None: Python has no such value, or may not have it exactly."""
        import polars as pl

        if pa.types.is_timestamp(value.type) and value.type.unit == "ns":
            return None
        if pa.types.is_floating(value.type) and str(value) == "-0.0":  # polars takes it for 0.0 of a scan beside it
            return None
        try:
            return pl.lit(value.as_py(), dtype=self._schema[f.name])
        except (ValueError, OverflowError, TypeError):
            return None


class _IdentityValues:
    """The partition values of the files of a plan that equal the value of one of its columns."""

    def __init__(self, plan: FilePlan) -> None:
        wanted, specs = {f.id for f in plan.schema}, plan.snapshot.format_snapshot.specs
        self._by_spec = {
            number: [f for f in spec.fields if f.transform.name == "identity" and f.source_id in wanted]
            for number, spec in specs.items()
        }
        self._partition = plan.survivors["partition"].combine_chunks() if any(self._by_spec.values()) else None
        self._specs = plan.survivors["spec_id"].to_pylist() if self._partition is not None else []

    def of(self, index: int) -> dict[int, pa.Scalar]:
        """The values of a file, by the ids of the columns."""
        if self._partition is None:
            return {}
        fields = self._by_spec.get(self._specs[index], ())
        return {f.source_id: self._partition.field(str(f.id))[index] for f in fields}

    def key_of(self, index: int) -> tuple[object, ...]:
        """What is equal for files with the same values."""
        return tuple((i, _hashable(value)) for i, value in self.of(index).items())


def _hashable(value: pa.Scalar) -> object:
    # Zeros of both signs are equal, and Python lacks some times.
    return str(value) if pa.types.is_floating(value.type) or pa.types.is_temporal(value.type) else value.as_py()


def _is_pattern(name: str) -> bool:
    """Whether polars takes the name of a column for a pattern."""
    return name == "*" or (name.startswith("^") and name.endswith("$"))


def _may_be_null(root: FileNode, node: FileNode) -> bool:
    return bool(root.type.field(root.children.index(node)).nullable)
