"""Deletion vector descriptors as a column: lists of one descriptor or of none.

Few files have a vector. Where there is none a list takes four bytes, and a struct those of all of its members. Members
are called as in Delta PROTOCOL.md, "Deletion Vector Descriptor Schema".
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

from tableformats.plugin import FALSE, scalar, to_arrow, to_numpy
from tableformats.plugin import compute as pc

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["has_vector", "vector_column", "vector_type", "vectors_of"]


@cache
def vector_type() -> pa.ListType:
    """list<struct<storageType, pathOrInlineDv, offset, sizeInBytes, cardinality>>"""
    import pyarrow as pa

    text, number = pa.string(), pa.int64()
    kinds = {
        "storageType": text,  # u, p or i
        "pathOrInlineDv": text,
        "offset": number,
        "sizeInBytes": number,
        "cardinality": number,
    }
    return pa.list_(pa.struct(list(kinds.items())))


def vector_column(has_vector: pa.BooleanArray, members: Mapping[str, pa.Array]) -> pa.ListArray:
    """A column of :func:`vector_type`.

    Parameters
    ----------
    has_vector : bool[n], of which m are true
    members : by name, each [m] in its type; nothing where m is 0
    """
    import numpy as np
    import pyarrow as pa

    kind = vector_type()
    offsets = np.zeros(len(has_vector) + 1, np.int32)
    np.cumsum(to_numpy(has_vector), out=offsets[1:])
    fields = list(kind.value_type)
    found = [members[f.name] if members else pa.nulls(0, f.type) for f in fields]
    return pa.ListArray.from_arrays(to_arrow(offsets), pa.StructArray.from_arrays(found, fields=fields), type=kind)


def has_vector(column: pa.ListArray | pa.ChunkedArray) -> pa.BooleanArray | pa.ChunkedArray:
    """bool[n]: which files have one."""
    import numpy as np
    import pyarrow as pa

    if isinstance(column, pa.ListArray) and not column.null_count:
        return to_arrow(np.diff(to_numpy(column.offsets)) > 0)
    return pc.fill_null(pc.greater(pc.list_value_length(column), scalar(0, pa.int32())), FALSE)


def vectors_of(column: pa.ListArray | pa.ChunkedArray) -> pa.RecordBatch:
    """The descriptors of the files that have one, in the files' order, with their members as columns."""
    import pyarrow as pa

    kind = vector_type().value_type
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    found = pa.concat_arrays([pa.nulls(0, kind), *(pc.list_flatten(chunk) for chunk in chunks)])
    return pa.RecordBatch.from_arrays(found.flatten(), names=[f.name for f in kind])
