"""File keys: the identity of a logical file, (path, unique id of its deletion vector), as bytes.

All spellings of one file give one key: paths are percent-decoded exactly once; ``file:/x``, ``file:///x`` and ``/x``
are equal; and a deletion vector stored by absolute path inside the table equals the same vector stored by uuid.
Source: Delta PROTOCOL.md, "Action Reconciliation", "Deletion Vector Descriptor Schema".
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING
from uuid import UUID

from tableformats.plugin import (
    FALSE,
    CorruptMetadataError,
    lazy_pattern,
    normalize,
    percent_decoded,
    scalar,
    strings,
    text_buffers,
    to_numpy,
)

from ..deletes import z85
from ..deletes.descriptors import has_vector, vectors_of
from ._keys import holds_any, with_endings

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["file_keys", "path_keys"]

_UUID_FILE = lazy_pattern(
    r"(?:(.+)/)?deletion_vector_([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\.bin", re.ASCII
)
# Paths that decoding or normalizing may change: with an escape, or with a scheme of at least two letters.
_NOT_CANONICAL = r"%|^[A-Za-z][A-Za-z0-9+.-]+:/"


def file_keys(rows: pa.RecordBatch, root: str, log_path: str) -> pa.BinaryArray:
    """The key of each file action: its path, then, where it has a deletion vector, a NUL and the vector's id.

    Parameters
    ----------
    rows : pyarrow.RecordBatch
        Actions, as :func:`tableformats_delta.log.file_actions.file_schema`.
    root : str
        The root of the table.
    log_path : str
        The file that holds the actions, for errors.

    Raises
    ------
    CorruptMetadataError
        A path has a NUL, or the keys exceed 2 GiB.
    """
    import numpy as np
    import pyarrow as pa

    paths = _paths(rows, log_path)
    column = rows.column("deletion_vector")
    vectors = vectors_of(column)
    if not vectors.num_rows:
        return paths.view(pa.binary())
    endings = text_buffers(_vector_ids(vectors, root))
    try:
        offsets, data = with_endings(*text_buffers(paths), np.flatnonzero(to_numpy(has_vector(column))), *endings)
    except OverflowError as error:
        raise CorruptMetadataError(str(error), path=log_path, field="add.path") from error
    return pa.Array.from_buffers(pa.binary(), len(paths), [None, pa.py_buffer(offsets), pa.py_buffer(data)])


def _vector_ids(vectors: pa.RecordBatch, root: str) -> pa.StringArray:
    """The part of a key for the deletion vector: NUL, unique id, and offset where there is one."""
    import pyarrow as pa

    from tableformats.plugin import compute as pc

    storage, stored, offset = (vectors.column(name) for name in ("storageType", "pathOrInlineDv", "offset"))
    nothing, at, end = _texts("", "@", "\0")
    place = pc.coalesce(pc.binary_join_element_wise(at, pc.cast(offset, pa.string()), nothing), nothing)
    endings = pc.binary_join_element_wise(end, _canonical_vectors(storage, stored, root), place, nothing)
    return pc.coalesce(endings, nothing)


@cache
def _texts(*texts: str) -> list[pa.StringScalar]:
    import pyarrow as pa

    return [scalar(text, pa.string()) for text in texts]


def path_keys(rows: pa.RecordBatch, log_path: str) -> pa.BinaryArray:
    """The key of each file action's path alone, without its deletion vector. Raises as :func:`file_keys` does."""
    import pyarrow as pa

    return _paths(rows, log_path).view(pa.binary())


def _paths(rows: pa.RecordBatch, log_path: str) -> pa.StringArray:
    from tableformats.plugin import compute as pc

    if _are_canonical(rows.column("path")):
        return rows.column("path")
    paths = _canonical(rows.column("path"))
    if pc.any(pc.match_substring(paths, "\0")).as_py():
        raise CorruptMetadataError("a path holds a NUL character", path=log_path, field="add.path")
    return paths


def _are_canonical(paths: pa.StringArray) -> bool:
    """Whether no path has a percent sign, a colon or a NUL: one pass over the buffer decides for all paths."""
    if not len(paths):
        return True
    offsets, data = text_buffers(paths)
    return not holds_any(data[offsets[0] : offsets[-1]], b"%:\0")


def _canonical(paths: pa.StringArray) -> pa.StringArray:
    from tableformats.plugin import compute as pc

    unusual = pc.match_substring_regex(paths, _NOT_CANONICAL)
    if not pc.any(unusual).as_py():
        return paths
    fixed = [normalize(percent_decoded(path)) for path in pc.filter(paths, unusual).to_pylist()]
    return pc.replace_with_mask(paths, unusual, strings(fixed))


def _canonical_vectors(storage: pa.StringArray, stored: pa.StringArray, root: str) -> pa.StringArray:
    """Storage type and ``pathOrInlineDv`` as one string; a ``p`` inside the root is spelled as ``u``."""
    from tableformats.plugin import compute as pc

    nothing, by_path = _texts("", "p")
    ids = pc.binary_join_element_wise(storage, stored, nothing)
    absolute = pc.equal(storage, by_path)
    if not absolute.true_count:
        return ids
    absolute = pc.fill_null(absolute, FALSE)
    fixed = [_as_uuid(normalize(percent_decoded(path)), root) for path in pc.filter(stored, absolute).to_pylist()]
    return pc.replace_with_mask(ids, absolute, strings(fixed))


def _as_uuid(path: str, root: str) -> str:
    below = path[len(root) + 1 :] if path.startswith(root + "/") else ""
    match = _UUID_FILE.fullmatch(below)
    if match is None:
        return "p" + path
    return "u" + (match.group(1) or "") + z85.encode(UUID(match.group(2)).bytes)
