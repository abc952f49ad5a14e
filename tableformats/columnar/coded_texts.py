"""Dictionary arrays without their dictionary.

Arrow looks at each text on its own; a kernel takes half of the time for texts that are short.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from .._core.coded_texts import copy_coded_texts, find_text_ends
from .arrays import to_numpy

__all__ = ["without_dictionary"]

_KINDS = (pa.string(), pa.binary())
_PADDING = bytes(16)
"""Behind the entries, so that the kernel may copy blocks."""
_MOST_PADDED = 1 << 16


def without_dictionary(values: pa.DictionaryArray) -> pa.Array:
    """The values that the codes of ``values`` stand for. Raises Arrow's errors: a code has no entry."""
    entries, codes = values.dictionary, values.indices
    is_read_here = entries.type in _KINDS and codes.type == pa.int32() and len(entries) and not entries.null_count
    if not is_read_here:
        return values.dictionary_decode()
    stored = np.frombuffer(entries.buffers()[1], np.int32)[entries.offset :][: len(entries) + 1]
    data = np.frombuffer(entries.buffers()[2] or b"", np.uint8)
    if len(data) <= _MOST_PADDED:
        data = np.frombuffer(data.tobytes() + _PADDING, np.uint8)
    numbers = codes.fill_null(0).to_numpy()
    ends = pa.allocate_buffer(4 * (len(numbers) + 1))
    found = np.frombuffer(ends, np.int32)
    try:
        find_text_ends(numbers, stored, found)
    except ValueError:
        return values.dictionary_decode()
    texts = pa.allocate_buffer(int(found[-1]))
    copy_coded_texts(numbers, stored, data, np.frombuffer(texts, np.uint8))
    validity = None
    if codes.null_count:
        validity = pa.py_buffer(np.packbits(to_numpy(codes.is_valid()), bitorder="little"))
    return pa.Array.from_buffers(entries.type, len(numbers), [validity, ends, texts], codes.null_count)
