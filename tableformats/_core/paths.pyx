"""What kind of path each stored path is, so that only the unusual ones are looked at one by one."""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t

from tableformats._core.arrays cimport expect_offsets, offset_t

cdef enum:
    RELATIVE = 0
    ABSOLUTE = 1
    AWKWARD = 2


cdef inline bint is_letter(uint8_t c) noexcept nogil:
    return <uint8_t>((c | 0x20) - 97) < 26


cdef inline bint is_scheme_part(uint8_t c) noexcept nogil:
    return is_letter(c) or <uint8_t>(c - 48) < 10 or c == 43 or c == 45 or c == 46  # + - .


cdef uint8_t kind_of(const uint8_t *text, Py_ssize_t size, bint encoded) noexcept nogil:
    cdef Py_ssize_t i, dots = 0, start = 0
    cdef uint8_t c
    for i in range(size):
        c = text[i]
        if c == 47 or c == 92:  # / and backslash
            if i - start == 2 and dots == 2:
                return AWKWARD
            start, dots = i + 1, 0
        elif c == 46:
            dots += 1
        elif c == 0 or (c == 37 and encoded):  # %
            return AWKWARD
    if size - start == 2 and dots == 2:
        return AWKWARD
    if size and text[0] == 47:
        return ABSOLUTE
    if size < 4 or not is_letter(text[0]) or not is_scheme_part(text[1]):
        return RELATIVE
    i = 2
    while i < size and is_scheme_part(text[i]):
        i += 1
    return ABSOLUTE if i + 1 < size and text[i] == 58 and text[i + 1] == 47 else RELATIVE  # :/


cdef void classify(const offset_t[::1] offsets, const uint8_t *data, bint encoded, uint8_t[::1] out) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(out.shape[0]):
        out[i] = kind_of(data + offsets[i], offsets[i + 1] - offsets[i], encoded)


def path_kinds(offsets not None, const uint8_t[::1] data not None, bint encoded):
    """The kind of each path of an Arrow string array.

    0, relative: to be joined with the root. 1, absolute: it starts with ``/`` or with a scheme (a letter, one or more
    letters, digits, ``+``, ``.`` or ``-``) and ``:/``. 2, awkward, whatever it starts with: a segment (between
    ``/`` or backslashes) is ``..``, it holds NUL, or it is ``encoded`` and holds ``%``.

    Parameters
    ----------
    offsets : int32[n + 1] or int64[n + 1]   path i is data[offsets[i]:offsets[i + 1]]; empty for n = 0
    data : uint8[any]
    encoded : whether ``%`` means anything

    Returns
    -------
    uint8[n]

    Raises
    ------
    ValueError : the offsets descend or leave the data
    """
    cdef const int64_t[::1] wide
    cdef const int32_t[::1] narrow
    cdef const uint8_t *start = &data[0] if data.shape[0] else NULL
    result = np.empty(max(offsets.shape[0] - 1, 0), np.uint8)
    cdef uint8_t[::1] out = result
    if offsets.itemsize == sizeof(int64_t):
        wide = offsets
        expect_offsets(wide, data.shape[0], "offsets")
        with nogil:
            classify(wide, start, encoded, out)
    else:
        narrow = offsets
        expect_offsets(narrow, data.shape[0], "offsets")
        with nogil:
            classify(narrow, start, encoded, out)
    return result
