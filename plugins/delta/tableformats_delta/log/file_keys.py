"""File keys: the identity of a logical file, (path, unique id of its deletion vector), as bytes.

Two spellings of one file give one key: paths are percent-decoded exactly once, ``file:/x``, ``file:///x`` and ``/x``
are one, and a deletion vector stored by absolute path inside the table is the one stored by uuid.
Source: Delta PROTOCOL.md, "Action Reconciliation", "Deletion Vector Descriptor Schema".
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import unquote
from uuid import UUID

from tableformats.plugin import FALSE, CorruptMetadataError, normalize, scalar, strings, text_buffers, to_numpy

from ..deletes import z85
from ..deletes.descriptors import has_vector, vectors_of
from ._keys import holds_any, with_endings

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["file_keys", "path_keys"]

_UUID_FILE = re.compile(
    r"(?:(.+)/)?deletion_vector_([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\.bin", re.ASCII
)
# What normalising or decoding could change: an escape, or a scheme of two letters and more.
_AWKWARD = r"%|^[A-Za-z][A-Za-z0-9+.-]+:/"


def file_keys(rows: pa.RecordBatch, root: str, log_path: str) -> pa.BinaryArray:
    """The key of each file action: its path, and after a NUL the id of its deletion vector where it has one.

    Parameters
    ----------
    rows : actions, of :func:`tableformats_delta.log.actions.file_schema`
    root : the table's root
    log_path : where the actions stand, for errors

    Raises
    ------
    CorruptMetadataError : a path that holds a NUL
    """
    import numpy as np
    import pyarrow as pa

    paths = _paths(rows, log_path)
    column = rows.column("deletion_vector")
    vectors = vectors_of(column)
    if not vectors.num_rows:
        return paths.view(pa.binary())
    endings = text_buffers(_endings(vectors, root))
    try:
        offsets, data = with_endings(*text_buffers(paths), np.flatnonzero(to_numpy(has_vector(column))), *endings)
    except OverflowError as error:
        raise CorruptMetadataError(str(error), path=log_path, field="add.path") from error
    return pa.Array.from_buffers(pa.binary(), len(paths), [None, pa.py_buffer(offsets), pa.py_buffer(data)])


def _endings(vectors: pa.RecordBatch, root: str) -> pa.StringArray:
    """What the key of a file has behind its path for its deletion vector."""
    import pyarrow as pa

    from tableformats.plugin import compute as pc

    storage, stored, offset = (vectors.column(name) for name in ("storageType", "pathOrInlineDv", "offset"))
    nothing, at, end = _texts("", "@", "\0")
    place = nothing
    if offset.null_count < len(offset):
        place = pc.coalesce(pc.binary_join_element_wise(at, pc.cast(offset, pa.string()), nothing), nothing)
    endings = pc.binary_join_element_wise(end, _canonical_vectors(storage, stored, root), place, nothing)
    return pc.coalesce(endings, nothing) if endings.null_count else endings


@cache
def _texts(*texts: str) -> list[pa.StringScalar]:
    import pyarrow as pa

    return [scalar(text, pa.string()) for text in texts]


def path_keys(rows: pa.RecordBatch, log_path: str) -> pa.BinaryArray:
    """The key of each file action's path, whatever its deletion vector. Raises as :func:`file_keys` does."""
    import pyarrow as pa

    return _paths(rows, log_path).view(pa.binary())


def _paths(rows: pa.RecordBatch, log_path: str) -> pa.StringArray:
    from tableformats.plugin import compute as pc

    if _are_plain(rows.column("path")):
        return rows.column("path")
    paths = _canonical(rows.column("path"))
    if pc.any(pc.match_substring(paths, "\0")).as_py():
        raise CorruptMetadataError("a path holds a NUL character", path=log_path, field="add.path")
    return paths


def _are_plain(paths: pa.StringArray) -> bool:
    """Whether no path holds a byte that is part of an escape, of a scheme or no text: one look at the buffer."""
    if not len(paths):
        return True
    offsets, data = text_buffers(paths)
    return not holds_any(data[offsets[0] : offsets[-1]], b"%:\0")


def _canonical(paths: pa.StringArray) -> pa.StringArray:
    from tableformats.plugin import compute as pc

    awkward = pc.match_substring_regex(paths, _AWKWARD)
    if not pc.any(awkward).as_py():
        return paths
    fixed = [normalize(unquote(path)) for path in pc.filter(paths, awkward).to_pylist()]
    return pc.replace_with_mask(paths, awkward, strings(fixed))


def _canonical_vectors(storage: pa.StringArray, stored: pa.StringArray, root: str) -> pa.StringArray:
    """Storage type and place in one string; ``p`` inside the root is spelled as ``u``."""
    from tableformats.plugin import compute as pc

    nothing, by_path = _texts("", "p")
    plain = pc.binary_join_element_wise(storage, stored, nothing)
    absolute = pc.equal(storage, by_path)
    if not absolute.true_count:
        return plain
    absolute = pc.fill_null(absolute, FALSE)
    fixed = [_as_uuid(normalize(unquote(path)), root) for path in pc.filter(stored, absolute).to_pylist()]
    return pc.replace_with_mask(plain, absolute, strings(fixed))


def _as_uuid(path: str, root: str) -> str:
    below = path[len(root) + 1 :] if path.startswith(root + "/") else ""
    match = _UUID_FILE.fullmatch(below)
    if match is None:
        return "p" + path
    return "u" + (match.group(1) or "") + z85.encode(UUID(match.group(2)).bytes)
