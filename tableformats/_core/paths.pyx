"""Classify stored paths, so that only unusual ones are handled one by one, and give them to Python."""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memchr, memcpy
from cpython.list cimport PyList_New, PyList_SET_ITEM
from cpython.ref cimport Py_INCREF

from tableformats._core.arrays cimport expect_offsets, offset_t

cdef extern from "Python.h":
    object PyUnicode_New(Py_ssize_t size, Py_UCS4 maxchar)
    void *PyUnicode_1BYTE_DATA(object text)
    object PyUnicode_DecodeUTF8(const char *text, Py_ssize_t size, const char *errors)

cdef enum:
    RELATIVE = 0
    ABSOLUTE = 1
    UNUSUAL = 2


cdef inline bint has(const uint8_t *text, int octet, Py_ssize_t size) noexcept nogil:
    return memchr(text, octet, <size_t>size) is not NULL


cdef inline bint is_letter(uint8_t c) noexcept nogil:
    return <uint8_t>((c | 0x20) - 97) < 26


cdef inline bint is_scheme_part(uint8_t c) noexcept nogil:
    return is_letter(c) or <uint8_t>(c - 48) < 10 or c == 43 or c == 45 or c == 46  # + - .


cdef inline bint is_separator(uint8_t c) noexcept nogil:
    return c == 47 or c == 92  # / and backslash


cdef bint climbs(const uint8_t *text, const uint8_t *end) noexcept nogil:
    """Whether a segment is ``..``. Dots are rare, so nearly all of the time is spent in memchr."""
    cdef const uint8_t *dot = text
    while True:
        dot = <const uint8_t *>memchr(dot, 46, <size_t>(end - dot))
        if dot is NULL or end - dot < 2:
            return False
        if (dot[1] == 46 and (dot == text or is_separator((dot - 1)[0])) and (dot + 2 == end or is_separator(dot[2]))):
            return True
        dot += 1


cdef inline bint is_file(const uint8_t *text) noexcept nogil:
    return text[0] | 0x20 == 102 and text[1] | 0x20 == 105 and text[2] | 0x20 == 108 and text[3] | 0x20 == 101


cdef bint names_a_host(const uint8_t *text, Py_ssize_t size, Py_ssize_t scheme) noexcept nogil:
    """Whether a local path names a host by its slashes: ``//host/x``, ``file://host/x``.

    ``scheme`` is the number of bytes of the scheme; 0: none.
    """
    cdef Py_ssize_t start = scheme + 1 if scheme else 0, i = start
    while i < size and text[i] == 47:
        i += 1
    if scheme == 0:
        return i > 1
    return (i - start == 2 or i - start > 3) and scheme == 4 and is_file(text)


cdef uint8_t kind_of(const uint8_t *text, Py_ssize_t size, bint has_nul, bint has_escape) noexcept nogil:
    """The kind of one path. ``has_nul``, ``has_escape``: some path of the column has one, so search this path."""
    cdef Py_ssize_t i = 2
    if climbs(text, text + size) or (has_nul and has(text, 0, size)) or (has_escape and has(text, 37, size)):
        return UNUSUAL
    if size and text[0] == 47:
        return UNUSUAL if names_a_host(text, size, 0) else ABSOLUTE
    if size < 4 or not is_letter(text[0]) or not is_scheme_part(text[1]):
        return RELATIVE
    while i < size and is_scheme_part(text[i]):
        i += 1
    if i + 1 >= size or text[i] != 58 or text[i + 1] != 47:  # :/
        return RELATIVE
    return UNUSUAL if names_a_host(text, size, i) else ABSOLUTE


cdef void classify(const offset_t[::1] offsets, const uint8_t *data, bint encoded, uint8_t[::1] out) noexcept nogil:
    cdef Py_ssize_t i, n = out.shape[0]
    if n == 0 or data is NULL:
        for i in range(n):
            out[i] = RELATIVE
        return
    cdef const uint8_t *text = data + offsets[0]
    cdef Py_ssize_t size = offsets[n] - offsets[0]
    cdef bint has_nul = has(text, 0, size), has_escape = encoded and has(text, 37, size)
    for i in range(n):
        out[i] = kind_of(data + offsets[i], offsets[i + 1] - offsets[i], has_nul, has_escape)


def path_kinds(offsets not None, const uint8_t[::1] data not None, bint encoded):
    """The kind of each path of an Arrow string array.

    0, relative: to be joined with the root. 1, absolute: the path starts with ``/``, or with a scheme (a letter, then
    one or more letters, digits, ``+``, ``.`` or ``-``) and ``:/``. 2, unusual, whatever the path starts with: a segment
    (between ``/`` or backslashes) is ``..``; or it has NUL; or paths are ``encoded`` and it has ``%``; or it is local
    and starts with more slashes than the root needs: two or more, or after ``file:`` two or more than three.

    Parameters
    ----------
    offsets : int32[n + 1] or int64[n + 1]
        Path i is ``data[offsets[i]:offsets[i + 1]]``. Empty for n = 0.
    data : uint8[any]
    encoded : bool
        Whether the format percent-encodes paths.

    Returns
    -------
    uint8[n]

    Raises
    ------
    ValueError
        The offsets descend or leave the data.

    Notes
    -----
    Cost: O(bytes), with the GIL released.
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


cdef inline bint is_ascii(const uint8_t *text, Py_ssize_t size) noexcept nogil:
    cdef uint64_t word
    while size >= 8:
        memcpy(&word, text, 8)
        if word & <uint64_t>0x8080808080808080:
            return False
        text += 8
        size -= 8
    while size > 0:
        if text[0] & 0x80:
            return False
        text += 1
        size -= 1
    return True


cdef list joined(const offset_t[::1] offsets, const uint8_t *data, bytes prefix, Py_ssize_t skip):
    cdef Py_ssize_t i, size, first = len(prefix), n = max(offsets.shape[0] - 1, 0)
    cdef const uint8_t *start = prefix
    cdef bint is_plain = is_ascii(start, first)
    cdef list found = PyList_New(n)
    cdef object text
    cdef uint8_t *target
    for i in range(n):
        size = offsets[i + 1] - offsets[i] - skip
        if size < 0:
            raise ValueError(f"path {i} has less than {skip} bytes")
        if is_plain and is_ascii(data + offsets[i] + skip, size):
            text = PyUnicode_New(first + size, 127)
            target = <uint8_t *>PyUnicode_1BYTE_DATA(text)
            memcpy(target, start, first)
            if size:
                memcpy(target + first, data + offsets[i] + skip, size)
        else:
            whole = prefix + (<const char *>data + offsets[i] + skip)[:size]
            text = PyUnicode_DecodeUTF8(<const char *>whole, first + size, NULL)
        Py_INCREF(text)
        PyList_SET_ITEM(found, i, text)
    return found


def texts_with_prefix(offsets not None, const uint8_t[::1] data not None, bytes prefix not None, Py_ssize_t skip):
    """Each path as a Python text, with ``prefix`` in place of its first ``skip`` bytes.

    Parameters
    ----------
    offsets : int32[n + 1] or int64[n + 1]
        Path i is ``data[offsets[i]:offsets[i + 1]]``. Empty for n = 0.
    data : uint8[any]
        UTF-8.
    prefix : bytes
        UTF-8.
    skip : int
        Not negative.

    Returns
    -------
    list of str

    Raises
    ------
    ValueError
        The offsets descend or leave the data, a path is shorter than ``skip``, or a text is not UTF-8.

    Notes
    -----
    Cost: O(bytes), with the GIL held. Arrow makes the strings with the prefix first, and then the texts.
    """
    cdef const int64_t[::1] wide
    cdef const int32_t[::1] narrow
    cdef const uint8_t *start = &data[0] if data.shape[0] else NULL
    if skip < 0:
        raise ValueError("skip is negative")
    if offsets.itemsize == sizeof(int64_t):
        wide = offsets
        expect_offsets(wide, data.shape[0], "offsets")
        return joined(wide, start, prefix, skip)
    narrow = offsets
    expect_offsets(narrow, data.shape[0], "offsets")
    return joined(narrow, start, prefix, skip)
