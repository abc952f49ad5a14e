"""Deletion vector descriptors as a column: a list of at most one descriptor per file.

The column is a list and not a struct because few files have a vector: an empty list costs four bytes, a null struct
costs the bytes of all its members. Source: Delta PROTOCOL.md, "Deletion Vector Descriptor Schema".
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
    """The type of the column: list<struct<storageType, pathOrInlineDv, offset, sizeInBytes, cardinality>>."""
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
    """Build a column of :func:`vector_type`.

    Parameters
    ----------
    has_vector : bool[n]
        Which files have a vector; m of them do.
    members : mapping of str to pyarrow.Array
        The members of the m descriptors by name, each [m]; may be empty where m is 0.
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
    """Which files have a deletion vector, bool[n]."""
    import numpy as np
    import pyarrow as pa

    if isinstance(column, pa.ListArray) and not column.null_count:
        return to_arrow(np.diff(to_numpy(column.offsets)) > 0)
    return pc.fill_null(pc.greater(pc.list_value_length(column), scalar(0, pa.int32())), FALSE)


def vectors_of(column: pa.ListArray | pa.ChunkedArray) -> pa.RecordBatch:
    """The descriptors of all files that have one, in the order of the files; one column per member."""
    import pyarrow as pa

    kind = vector_type().value_type
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    found = pa.concat_arrays([pa.nulls(0, kind), *(pc.list_flatten(chunk) for chunk in chunks)])
    return pa.RecordBatch.from_arrays(found.flatten(), names=[f.name for f in kind])
