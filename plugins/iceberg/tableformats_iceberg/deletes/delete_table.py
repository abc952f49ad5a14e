"""The table of deletes: one row a delete file or deletion vector, from the entries of delete manifests."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tableformats.plugin import CorruptMetadataError, flat, scalar, to_arrow, to_numpy
from tableformats.plugin import compute as pc

from ..manifests.entries import EQUALITY_DELETES, Entries, entry_positions

__all__ = ["DELETION_VECTOR", "EQUALITY", "POSITION", "ManifestSlice", "SpecDeletes", "deletes_of", "no_deletes"]

DELETION_VECTOR, POSITION, EQUALITY = "deletion_vector", "position", "equality"
_DELETION_VECTOR, _POSITION, _EQUALITY, _PUFFIN = (
    scalar(text, pa.string()) for text in (DELETION_VECTOR, POSITION, EQUALITY, "puffin")
)


def no_deletes() -> pa.Table:
    """An empty table of deletes."""
    return pa.Table.from_batches([], _SCHEMA)


_SCHEMA = pa.schema(
    [
        ("kind", pa.string()),
        ("path", pa.string()),
        ("offset", pa.int64()),
        ("size_bytes", pa.int64()),
        ("cardinality", pa.int64()),
        ("record_count", pa.int64()),
        ("file_format", pa.string()),
        ("equality_ids", pa.list_(pa.int32())),
        ("data_sequence_number", pa.int64()),
        ("spec_id", pa.int32()),
        ("referenced_data_file", pa.string()),
        ("manifest", pa.int32()),
        ("entry", pa.int32()),
    ]
)


class SpecDeletes(NamedTuple):
    """Deletes of one partition spec.

    ``table`` has the columns of ``DeleteFiles.files``, ``manifest`` and ``entry`` (see :func:`entry_positions`),
    ``referenced_data_file`` (the only data file that the delete applies to, or null) and ``partition``.
    """

    spec_id: int
    table: pa.Table


class ManifestSlice(NamedTuple):
    """The ``n_files`` entries of one manifest, which has the index ``manifest`` in the manifest list."""

    manifest: int
    n_files: int
    path: str


def deletes_of(entries: Entries, slices: Sequence[ManifestSlice]) -> SpecDeletes:
    """The deletes of one or several manifests of one spec.

    Parameters
    ----------
    entries : Entries
        The live entries of the manifests, one manifest after the other.
    slices : sequence of ManifestSlice
        Which of the entries are those of which manifest, in order.

    Raises
    ------
    CorruptMetadataError
        A deletion vector lacks the path of its data file, its offset or its size.
    """
    files = entries.files
    is_equality = pc.equal(files["content"], scalar(EQUALITY_DELETES, pa.int32()))
    is_vector = pc.and_(pc.invert(is_equality), pc.equal(files["file_format"], _PUFFIN))
    counts = [part.n_files for part in slices]
    _check_vector_fields(files, is_vector, lambda row: slices[bisect_right(list(accumulate(counts)), row)].path)
    null, no_path = scalar(None, pa.int64()), scalar(None, pa.string())
    data_file = files["only_path"]
    if files["referenced_data_file"].null_count < files.num_rows:
        data_file = pc.coalesce(files["referenced_data_file"], data_file)
    if pc.any(is_equality).as_py():
        data_file = pc.if_else(is_equality, no_path, data_file)
    columns = {
        "kind": pc.if_else(is_equality, _EQUALITY, pc.if_else(is_vector, _DELETION_VECTOR, _POSITION)),
        "path": files["path"],
        "offset": pc.if_else(is_vector, files["content_offset"], null),
        "size_bytes": pc.if_else(is_vector, files["content_size_in_bytes"], files["size_bytes"]),
        "cardinality": pc.if_else(is_vector, files["record_count"], null),
        "record_count": files["record_count"],
        "file_format": files["file_format"],
        "equality_ids": files["equality_ids"],
        "data_sequence_number": files["data_sequence_number"],
        "spec_id": to_arrow(np.full(files.num_rows, entries.spec_id, np.int32)),
        "referenced_data_file": data_file,
        **entry_positions([part.manifest for part in slices], counts),
        "partition": files["partition"],
    }
    table = pa.table(columns)
    typed = pa.table([pc.cast(flat(table[f.name]), f.type) for f in _SCHEMA], schema=_SCHEMA)
    return SpecDeletes(entries.spec_id, typed.append_column("partition", table["partition"]))


def _check_vector_fields(files: pa.RecordBatch, is_vector: pa.Array, path_of: Callable[[int], str]) -> None:
    for name in ("referenced_data_file", "content_offset", "content_size_in_bytes"):
        is_missing = to_numpy(pc.and_(is_vector, pc.is_null(files[name])))
        if is_missing.any():
            raise CorruptMetadataError(
                "a deletion vector lacks a required field", path=path_of(int(np.argmax(is_missing))), field=name
            )
