"""A plan's files in groups that Spark reads in one way: same constants, same naming, same kinds of deletes.

The groups become the branches of a union, so that files without deletes pay nothing for those with.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from ..arrow.nodes import file_tree, numbered_as
from ..errors import CorruptMetadataError, UnsupportedFeatureError
from .columns import Naming, naming_by_id
from .equality import equality_rows

if TYPE_CHECKING:
    from ..plugin.base import FormatSnapshot, NameMapping
    from ..scan import ScanPlan

__all__ = ["Branch", "flat", "split"]

_FOOTER_THREADS = 16


@dataclass(frozen=True)
class Branch:
    """Some files of a plan.

    Attributes
    ----------
    rows : int64[n], their rows in ``plan.survivors``
    constants : {id of a top-level column: id of the partition field that holds its value}
    naming : how columns are found in the files
    has_positions, has_keys : whether rows are deleted by position, and by key
    """

    rows: np.ndarray
    constants: Mapping[int, int]
    naming: Naming
    has_positions: bool
    has_keys: bool


def split(plan: ScanPlan) -> list[Branch]:
    """The branches of ``plan``; one without files where the plan has none.

    Raises
    ------
    UnsupportedFeatureError : data files that are not Parquet, or that carry no field ids where ids are needed
    CorruptMetadataError : a data file's footer is damaged (read only where the table maps names to ids)
    """
    snapshot = plan.snapshot.format_snapshot
    _check_file_formats(plan)
    constants = {spec_id: _identity_columns(snapshot, spec_id) for spec_id in snapshot.specs}
    namings, naming_of = _namings(plan)
    positions, keys = _kinds_of_deletes(plan)
    kinds, kind_of = np.unique(
        np.stack([flat(plan.survivors["spec_id"]).to_numpy(), naming_of, positions, keys], axis=1),
        axis=0, return_inverse=True,
    )  # fmt: skip
    if not len(plan):
        return [Branch(np.zeros(0, np.int64), {}, namings[0], False, False)]
    rows_of: dict[Any, list[np.ndarray]] = {}
    for number, (spec_id, naming, *deletes) in enumerate(kinds.tolist()):
        # Specs that differ in other transforms alone are read alike.
        group = (tuple(sorted(constants.get(spec_id, {}).items())), naming, *map(bool, deletes))
        rows_of.setdefault(group, []).append(np.flatnonzero(kind_of.reshape(-1) == number))
    return [
        Branch(np.sort(np.concatenate(rows)), dict(columns), namings[naming], has_positions, has_keys)
        for (columns, naming, has_positions, has_keys), rows in rows_of.items()
    ]


def _check_file_formats(plan: ScanPlan) -> None:
    for kind in plan.survivors["file_format"].unique().to_pylist():
        if kind != "parquet":
            name = {"orc": "ORC", "avro": "Avro"}.get(kind, kind)
            raise UnsupportedFeatureError(
                f"{name} data files are not read with Spark yet", field=f"{name} data files",
                hint="Rewrite the table to Parquet, or filter those files away",
            )  # fmt: skip


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


def _kinds_of_deletes(plan: ScanPlan) -> tuple[np.ndarray, np.ndarray]:
    """bool[n_files] twice: files with deleted positions, files with equality deletes."""
    deletes = plan.delete_files
    if not len(deletes.indices):
        return np.zeros(len(plan), bool), np.zeros(len(plan), bool)
    is_equality = equality_rows(deletes)[deletes.indices]
    file = np.repeat(np.arange(len(plan)), np.diff(deletes.offsets))
    keys = np.bincount(file[is_equality], minlength=len(plan)) > 0
    return np.bincount(file[~is_equality], minlength=len(plan)) > 0, keys


def _default_naming(snapshot: FormatSnapshot) -> Naming:
    if snapshot.name_mapping.by == "name":
        return Naming()
    naming = naming_by_id(snapshot.schema, snapshot.schema_history, snapshot.schema_history_is_complete)
    return replace(naming, by_name=snapshot.name_mapping.by_name)


def _namings(plan: ScanPlan) -> tuple[list[Naming], np.ndarray]:
    """The plan's namings and, as int64[n_files], which of them each file is read by.

    Footers are opened only where files may lack field ids.
    """
    snapshot = plan.snapshot.format_snapshot
    namings = [_default_naming(snapshot)]
    number_of = np.zeros(len(plan), np.int64)
    if not namings[0].by_id or not len(plan):
        return namings, number_of
    mapping = snapshot.name_mapping
    if not mapping.names:
        # Spark finds out by itself, file by file, but says less.
        first = plan.paths[0].as_py()
        if _has_ids(_stored_schema(plan, first)):
            return namings, number_of
        if mapping.undropped is None:
            raise _without_ids(first)
    paths = plan.paths.to_pylist()
    with ThreadPoolExecutor(_FOOTER_THREADS) as pool:
        schemas = list(pool.map(lambda path: _stored_schema(plan, path), paths))
    numbers: dict[tuple[tuple[int, str], ...], int] = {}
    for row, schema in enumerate(schemas):
        if _has_ids(schema):
            continue
        found = _names_by_id(schema, mapping, paths[row])
        number_of[row] = numbers.setdefault(tuple(sorted(found.items())), len(namings))
        if number_of[row] == len(namings):
            namings.append(Naming(names=found))
    return namings, number_of


def _names_by_id(schema: pa.Schema, mapping: NameMapping, path: str) -> dict[int, str]:
    """The columns of a file without ids: their names in it by the ids that the mapping gives them."""
    if mapping.names:
        return {mapping.names[dotted]: name for dotted, name in _dotted_names(schema) if dotted in mapping.names}
    root = None
    if mapping.undropped is not None:
        root = numbered_as(file_tree(schema, b"PARQUET:field_id", path), mapping.undropped)
    if root is None:
        raise _without_ids(path)
    return {node.id: node.name for node in root.walk() if node.id is not None}


def _without_ids(path: str) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(
        "the table finds columns by field id, but its data files carry none and it maps no names",
        path=path, field="field ids", hint="Set the table's name mapping, or rewrite the files",
    )  # fmt: skip


def _stored_schema(plan: ScanPlan, path: str) -> pa.Schema:
    import pyarrow.parquet as pq

    try:
        with plan.snapshot.storage.open_file(path) as source:
            return pq.read_schema(source)
    except (OSError, pa.ArrowException, ValueError) as error:
        raise CorruptMetadataError(
            f"the footer of a data file cannot be read: {error}", path=path,
            hint="If the table was moved, open it with relocate=True; if files were expired, read a newer version",
        ) from error  # fmt: skip


def _children(kind: pa.DataType) -> list[tuple[str, pa.Field]]:
    """Members of a nested type under the names that name mappings use."""
    if pa.types.is_struct(kind):
        return [(f.name, f) for f in (kind.field(i) for i in range(kind.num_fields))]
    if pa.types.is_map(kind):
        return [("key", kind.key_field), ("value", kind.item_field)]
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return [("element", kind.value_field)]
    return []


def _fields(fields: Sequence[tuple[str, pa.Field]], prefix: str) -> Iterator[tuple[str, str, pa.Field]]:
    for name, f in fields:
        yield prefix + name, name, f
        yield from _fields(_children(f.type), f"{prefix}{name}.")


def _has_ids(schema: pa.Schema) -> bool:
    return any(b"PARQUET:field_id" in (f.metadata or {}) for _, _, f in _fields([(f.name, f) for f in schema], ""))


def _dotted_names(schema: pa.Schema) -> Iterator[tuple[str, str]]:
    for path, name, _ in _fields([(f.name, f) for f in schema], ""):
        yield path, name


def flat(column: pa.ChunkedArray) -> pa.Array:
    """The column as one array."""
    combined = column.combine_chunks()
    return combined if isinstance(combined, pa.Array) else pa.concat_arrays(combined.chunks)
