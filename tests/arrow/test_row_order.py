"""The order of floats in a sorted file is that of IEEE 754: by sign, exponent and fraction."""

from __future__ import annotations

import math
import struct

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from tableformats.engines.arrow.writing.row_order import _total_order

ASCENDING = [-math.inf, -2.5, -1.0, -1e-30, -0.0, 0.0, 1e-30, 1.0, 2.5, math.inf]


@pytest.mark.parametrize(("kind", "code"), [(pa.float32(), "<fI"), (pa.float64(), "<dQ")])
@pytest.mark.parametrize("has_null", [False, True])
def test_floats_are_in_total_order(kind: pa.DataType, code: str, has_null: bool) -> None:
    size = kind.bit_width
    (nan,) = struct.unpack(f"<{code[2]}", struct.pack(f"<{code[1]}", math.nan))
    bits = [struct.unpack(f"<{code[2]}", struct.pack(f"<{code[1]}", value))[0] for value in ASCENDING]
    bits = [nan | 1 << (size - 1), *bits, nan]
    data = b"".join(struct.pack(f"<{code[2]}", one) for one in bits)
    values = pa.Array.from_buffers(kind, len(bits), [None, pa.py_buffer(data)])
    if has_null:
        values = pa.concat_arrays([values, pa.nulls(1, kind)])
    keys = _total_order(values)
    assert keys.null_count == has_null and pa.types.is_integer(keys.type)
    found = keys.drop_null().to_pylist()
    assert found == sorted(set(found)) and len(found) == len(bits)
    assert pc.sort_indices(keys).to_pylist() == list(range(len(values)))
