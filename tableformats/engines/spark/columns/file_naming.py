"""Find the :class:`Naming` of each data file of a plan, from the file's own schema where the table's does not suffice.

Spark's Parquet reader finds columns by field id. It cannot do so in files without ids and in ORC files. Those files are
opened, their columns are found here by the table's rule, and Spark reads them under the names that they have in the
file. Files are also opened if they may lack a column that has an initial default.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ....columnar.arrays import flat, to_numpy
from ....dataclass import dataclass
from ....errors import CorruptMetadataError, UnsupportedFeatureError
from ....schema import Field, ListType, MapType, StructType
from ...arrow.files.column_tree import FileNode, file_tree, numbered_as
from ...arrow.files.data_file import typed_errors
from ...arrow.files.opening import open_stored
from .naming import Naming, naming_by_id
from .orc_checks import check_orc

if TYPE_CHECKING:
    from ....planning.plan import FilePlan
    from ....plugin.snapshot import FormatSnapshot

__all__ = ["namings"]

_THREADS = 16
_FORMAT_NAMES = {"orc": "ORC", "avro": "Avro"}
_ID_KEYS = {"parquet": b"PARQUET:field_id", "orc": b"iceberg.id"}


def namings(plan: FilePlan, fields: Sequence[Field], version: tuple[int, int]) -> tuple[list[Naming], np.ndarray]:
    """The namings of a plan's files.

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
    namings : list[Naming]
        The distinct namings.
    naming_of : np.ndarray
        int64[n_files], the index of each file's naming.

    Raises
    ------
    UnsupportedFeatureError
        Spark cannot read a data file rightly; a file has no ids where ids are needed.
    CorruptMetadataError
        A data file that is opened is missing or damaged.
    """
    return _NamingFinder(plan, fields, version).namings()


@dataclass
class _NamingFinder:
    plan: FilePlan
    fields: Sequence[Field]
    version: tuple[int, int]

    def namings(self) -> tuple[list[Naming], np.ndarray]:
        plan = self.plan
        usual = _usual_naming(plan.snapshot.format_snapshot)
        naming_of = np.zeros(len(plan), np.int64)
        formats = flat(plan.survivors["file_format"])
        others = np.flatnonzero(to_numpy(pc.not_equal(formats, "parquet")))
        rows = np.arange(len(plan)) if self._opens_parquet(usual) else others
        if not len(rows) and usual.by_id and len(plan):
            # Spark would find files without ids itself, but its error says less. So look at one file first.
            first = plan.paths[0].as_py()
            if not self._columns(first, "parquet").has_ids:
                rows = np.arange(len(plan))
        paths, kinds = (column.take(pa.array(rows)).to_pylist() for column in (plan.paths, formats))
        with ThreadPoolExecutor(_THREADS) as pool:
            trees = list(pool.map(self._columns, paths, kinds))
        numbers = {usual: 0}
        for row, root, kind, path in zip(rows.tolist(), trees, kinds, paths, strict=True):
            naming = self._naming(usual, root, kind, path)
            naming_of[row] = numbers.setdefault(naming, len(numbers))
        return list(numbers), naming_of

    def _opens_parquet(self, usual: Naming) -> bool:
        """Whether a Parquet file may need another naming than the usual one, so that all are opened."""
        mapping = self.plan.snapshot.format_snapshot.name_mapping
        return (usual.by_id and bool(mapping.names)) or any(_has_defaults(f) for f in self.fields)

    def _columns(self, path: str, kind: str) -> FileNode:
        """The columns of a file. Columns of ORC files are checked if they are read."""
        storage = self.plan.snapshot.storage
        with open_stored(storage, path) as source, typed_errors(path):
            if kind == "parquet":
                import pyarrow.parquet as pq

                return file_tree(pq.read_schema(source), _ID_KEYS[kind], path, storage.limits)
            if kind == "orc":
                from pyarrow import orc

                tree = file_tree(orc.ORCFile(source).schema, _ID_KEYS[kind], path, storage.limits)
                root = self._with_ids(tree, path)
                check_orc(root, source, self._pairs(root), path, self.version)
                return root
        name = f"{_FORMAT_NAMES.get(kind, kind)} data files"
        raise UnsupportedFeatureError(
            f"{name} are not read by the native path",
            path=path,
            field=name,
            hint='Use mode="portable" or to_arrow(), rewrite the table to Parquet, or filter those files away',
        )

    def _naming(self, usual: Naming, root: FileNode, kind: str, path: str) -> Naming:
        by_id = kind == "parquet" and usual.by_id and root.has_ids
        root = root if by_id else self._with_ids(root, path)
        missing = frozenset(self._missing(self.fields, root))
        if by_id or not usual.by_id:
            return replace(usual, missing=missing)
        names = {(node.id, node.name) for node in root.walk() if node.id is not None}
        if len(dict(names)) < len(names):
            raise CorruptMetadataError(
                "columns of the file have one field id and several names", path=path, hint="Rewrite the file"
            )
        return Naming(names=dict(names), missing=missing)

    def _with_ids(self, root: FileNode, path: str) -> FileNode:
        """The columns of a file with field ids, either the file's own or those of the table's name mapping."""
        mapping = self.plan.snapshot.format_snapshot.name_mapping
        if mapping.by == "name" or root.has_ids:
            return root
        if mapping.names:
            return root.with_ids(mapping.names)
        found = None if mapping.undropped is None else numbered_as(root, mapping.undropped)
        if found is None:
            raise UnsupportedFeatureError(
                "the table finds columns by field id, but its data files carry none and it maps no names",
                path=path,
                field="field ids",
                hint="Set the table's name mapping, or rewrite the files",
            )
        return found

    def _find(self, f: Field, parent: FileNode) -> FileNode | None:
        mapping = self.plan.snapshot.format_snapshot.name_mapping
        if mapping.by == "name" or f.id in mapping.by_name:
            return next((child for child in parent.children if child.name == f.stored_name), None)
        return next((child for child in parent.children if child.id == f.id), None)

    def _pairs(self, parent: FileNode) -> Iterator[tuple[Field, FileNode]]:
        """Each field that is read, at every depth, with the column of the file that holds it."""
        for f in self.fields:
            node = self._find(f, parent)
            if node is not None:
                yield f, node
                yield from self._pairs_below(f, node)

    def _pairs_below(self, f: Field, node: FileNode) -> Iterator[tuple[Field, FileNode]]:
        """Each field below ``f`` with the column that holds it."""
        if isinstance(f.type, StructType) and node.is_struct:
            pairs = [(member, self._find(member, node)) for member in f.type.fields]
        elif isinstance(f.type, ListType) and node.is_list:
            pairs = [(f.type.element, node.children[0])]
        elif isinstance(f.type, MapType) and node.is_map:
            pairs = list(zip((f.type.key, f.type.value), node.children, strict=True))
        else:
            return
        for below, found in pairs:
            if found is not None:
                yield below, found
                yield from self._pairs_below(below, found)

    def _missing(self, fields: Iterable[Field], parent: FileNode) -> Iterator[int]:
        """Ids of the fields with an initial default that the file lacks; fields below a missing one are left out."""
        for f in fields:
            node = self._find(f, parent)
            if node is None:
                if f.initial_default is not None:
                    yield f.id
                continue
            for holder, stored in [(f, node), *self._pairs_below(f, node)]:
                if isinstance(holder.type, StructType):
                    yield from (
                        m.id
                        for m in holder.type.fields
                        if m.initial_default is not None and self._find(m, stored) is None
                    )


def _usual_naming(snapshot: FormatSnapshot) -> Naming:
    if snapshot.name_mapping.by == "name":
        return Naming()
    naming = naming_by_id(snapshot.schema, snapshot.schema_history, snapshot.schema_history_is_complete)
    return replace(naming, by_name=snapshot.name_mapping.by_name)


def _has_defaults(f: Field) -> bool:
    return f.initial_default is not None or any(map(_has_defaults, f.type.members))
