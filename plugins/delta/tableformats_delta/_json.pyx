"""Wanted members of JSON texts as columns: the Cython face of ``csrc/tf_json.c`` and ``csrc/tf_json_values.c``.

:class:`MemberColumns` reads many texts at once, keeps of each wanted member where its value stands, and converts whole
columns when they are asked for. A cell is 0: null, 1: a value, 2: left for the caller to convert. ``json_reference``
is its readable twin.
"""

import numpy as np

from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from tableformats._core.arrays cimport expect, expect_offsets


cdef extern from "tf_json.h" nogil:
    enum:
        TF_JSON_TEXT
        TF_JSON_OBJECT
    ctypedef struct tf_json_member:
        const uint8_t *name
        size_t size
        int32_t first, count
        int32_t column
    ctypedef struct tf_json_expected:
        const uint8_t *name
    ctypedef struct tf_json_reader:
        const tf_json_member *members
        const uint8_t *base
        int64_t *spans
        uint8_t *kinds
        int64_t rows
        int32_t column_count
        int64_t *seen
        size_t ordinal
        tf_json_expected expected[1]
    int64_t tf_json_entries(const uint8_t *base, int64_t span, int64_t *spans, uint8_t *kinds, int64_t stride,
                            int64_t capacity)
    int tf_json_read(tf_json_reader *reader, const uint8_t *cur, const uint8_t *end, int64_t row)


cdef extern from "tf_json_values.h" nogil:
    enum:
        TF_CELL_LEFT
    void tf_json_int64(const uint8_t *base, const int64_t *spans, const uint8_t *kinds, int64_t rows, int64_t *values,
                       uint8_t *cells)
    void tf_json_double(const uint8_t *base, const int64_t *spans, const uint8_t *kinds, int64_t rows, double *values,
                        uint8_t *cells)
    void tf_json_decimal(const uint8_t *base, const int64_t *spans, const uint8_t *kinds, int64_t rows, int scale,
                         uint64_t *values, uint8_t *cells)
    int64_t tf_json_text_size(const int64_t *spans, const uint8_t *kinds, int64_t rows)
    void tf_json_text(const uint8_t *base, const int64_t *spans, const uint8_t *kinds, int64_t rows, int32_t *offsets,
                      uint8_t *data, uint8_t *cells)


cdef extern from "string.h" nogil:
    void *memset(void *target, int value, size_t size)


cdef void read_texts(tf_json_reader *reader, const uint8_t *base, const int32_t *offsets, const int64_t[::1] chosen,
                     uint8_t *sound) noexcept nogil:
    cdef int64_t row, text
    for row in range(reader.rows):
        text = row if chosen is None else chosen[row]
        sound[row] = tf_json_read(reader, base + offsets[text], base + offsets[text + 1], row)


cdef class MemberColumns:
    """The wanted members of n texts.

    Parameters
    ----------
    offsets : int32[n_texts + 1], data : uint8[any]   the texts, as an Arrow string array has them; a null of it must
        be empty or not chosen
    members : the tree of what is wanted, from :func:`tableformats_delta.json_columns.member_tree`
    columns : how many values are wanted
    chosen : int64[n] or None   which of the texts are rows; None: all

    Attributes
    ----------
    sound : uint8[n], 1 where the text is a JSON object and can be relied on; members of others are absent

    Raises
    ------
    ValueError : the offsets descend or leave the data, or a chosen text is none

    Notes
    -----
    Cost: O(bytes of the chosen texts), GIL released. Memory: 9 bytes a row and wanted value.
    """

    cdef const uint8_t[::1] _data
    cdef int64_t[:, ::1] _spans
    cdef uint8_t[:, ::1] _kinds
    cdef readonly object sound

    def __init__(self, const int32_t[::1] offsets not None, const uint8_t[::1] data not None, members not None,
                 Py_ssize_t columns, const int64_t[::1] chosen=None):
        cdef Py_ssize_t texts = max(offsets.shape[0] - 1, 0)
        cdef Py_ssize_t n = texts if chosen is None else chosen.shape[0]
        cdef Py_ssize_t count = len(members), i
        expect_offsets(offsets, data.shape[0], "offsets")
        if chosen is not None and n and (np.min(chosen) < 0 or np.max(chosen) >= texts):
            raise ValueError(f"chosen texts must be from 0 to {texts - 1}")
        if max(column for _, _, _, column in members) >= columns:
            raise ValueError(f"a member is of a column beyond the {columns} that there are")
        self._data = data if data.shape[0] else np.zeros(1, np.uint8)
        self._spans = np.zeros((columns, n), np.int64)
        self._kinds = np.zeros((columns, n), np.uint8)
        self.sound = np.zeros(n, np.uint8)
        if n == 0:
            return
        cdef int64_t[::1] seen = np.full(count, -1, np.int64)
        cdef uint8_t[::1] sound = self.sound
        cdef tf_json_member *nodes = <tf_json_member *>PyMem_Malloc(count * sizeof(tf_json_member))
        cdef tf_json_reader *reader = <tf_json_reader *>PyMem_Malloc(sizeof(tf_json_reader))
        try:
            if nodes is NULL or reader is NULL:
                raise MemoryError
            for i in range(count):
                name, first, children, column = members[i]
                nodes[i].name = <const uint8_t *><const char *>(<bytes>name)
                nodes[i].size = len(<bytes>name)
                nodes[i].first, nodes[i].count, nodes[i].column = first, children, column
            memset(reader, 0, sizeof(tf_json_reader))
            reader.members = nodes
            reader.base = &self._data[0]
            reader.rows = n
            reader.column_count = <int32_t>columns
            reader.seen = &seen[0]
            if columns:
                reader.spans = &self._spans[0, 0]
                reader.kinds = &self._kinds[0, 0]
            with nogil:
                read_texts(reader, reader.base, &offsets[0], chosen, &sound[0])
        finally:
            PyMem_Free(nodes)
            PyMem_Free(reader)

    def int64(self, Py_ssize_t column):
        """(int64[n], cells uint8[n]): integers; null beyond 64 bits; numbers with a fraction or exponent are left."""
        cdef Py_ssize_t n = self._rows(column)
        values, cells = np.zeros(n, np.int64), np.zeros(n, np.uint8)
        cdef int64_t[::1] into = values
        cdef uint8_t[::1] states = cells
        if n:
            with nogil:
                tf_json_int64(&self._data[0], &self._spans[column, 0], &self._kinds[column, 0], n, &into[0], &states[0])
        return values, cells

    def double(self, Py_ssize_t column):
        """(float64[n], cells uint8[n]): numbers, correctly rounded; what takes more than one rounding is left, and so
        are strings."""
        cdef Py_ssize_t n = self._rows(column)
        values, cells = np.zeros(n, np.float64), np.zeros(n, np.uint8)
        cdef double[::1] into = values
        cdef uint8_t[::1] states = cells
        if n:
            with nogil:
                tf_json_double(&self._data[0], &self._spans[column, 0], &self._kinds[column, 0], n, &into[0],
                               &states[0])
        return values, cells

    def decimal(self, Py_ssize_t column, int scale):
        """(uint64[n, 2], cells uint8[n]): decimal128(38, scale), low word first; exponents, what does not fit, and
        strings are left."""
        cdef Py_ssize_t n = self._rows(column)
        values, cells = np.zeros((n, 2), np.uint64), np.zeros(n, np.uint8)
        cdef uint64_t[:, ::1] into = values
        cdef uint8_t[::1] states = cells
        if n:
            with nogil:
                tf_json_decimal(&self._data[0], &self._spans[column, 0], &self._kinds[column, 0], n, scale,
                                &into[0, 0], &states[0])
        return values, cells

    def text(self, Py_ssize_t column):
        """(offsets int32[n + 1], data uint8[any], cells uint8[n]): strings, unescaped; half a surrogate pair is null."""
        return self._text(column, self._kinds[column])

    def raw(self, Py_ssize_t column, cells not None):
        """(offsets int32[m + 1], data uint8[any]): what stands in the m cells that are left, as it is spelled; of a
        string what is between its quotes."""
        chosen = np.asarray(cells) == TF_CELL_LEFT
        offsets, data, _ = self._text(column, np.where(chosen, np.uint8(TF_JSON_TEXT), np.uint8(0)))
        return offsets[np.append(0, np.flatnonzero(chosen) + 1)], data

    def spans(self, Py_ssize_t column):
        """(int64[n], int64[n]): first byte in ``data`` and size of what stands in each cell, a string without its
        quotes; unspecified where the cell is absent."""
        self._rows(column)
        packed = np.array(self._spans[column])
        return packed >> 32, packed & 0xFFFFFFFF

    def entries(self, Py_ssize_t column):
        """(offsets int32[n + 1], MemberColumns): the entries of the objects in a column, one a row, names as column 0
        and values as column 1; the entries of cell i are those from offsets[i] to offsets[i + 1]."""
        cdef Py_ssize_t n = self._rows(column), i
        cdef int64_t total = 0, count
        cdef const uint8_t *base = &self._data[0]
        cdef MemberColumns found = MemberColumns.__new__(MemberColumns)
        offsets = np.zeros(n + 1, np.int32)
        cdef int32_t[::1] ends = offsets
        cdef uint8_t nowhere = 0
        cdef int64_t nothing = 0
        with nogil:
            for i in range(n):
                if self._kinds[column, i] == TF_JSON_OBJECT:
                    total += tf_json_entries(base, self._spans[column, i], &nothing, &nowhere, 0, 0)
                ends[i + 1] = <int32_t>total
        found._data = self._data
        found._spans = np.zeros((2, total), np.int64)
        found._kinds = np.zeros((2, total), np.uint8)
        found.sound = np.ones(total, np.uint8)
        with nogil:
            for i in range(n):
                count = ends[i + 1] - ends[i]
                if count:
                    tf_json_entries(base, self._spans[column, i], &found._spans[0, ends[i]],
                                    &found._kinds[0, ends[i]], total, count)
        return offsets, found

    def kinds(self, Py_ssize_t column):
        """uint8[n]: what stands in each cell, a ``tf_json_kind``."""
        self._rows(column)
        return np.array(self._kinds[column])

    cdef Py_ssize_t _rows(self, Py_ssize_t column) except -1:
        if column < 0 or column >= self._kinds.shape[0]:
            raise IndexError(column)
        return self._kinds.shape[1]

    cdef _text(self, Py_ssize_t column, const uint8_t[::1] kinds):
        cdef Py_ssize_t n = self._rows(column)
        cdef int64_t size = 0
        expect(kinds.shape[0], n, "kinds")
        if n:
            size = tf_json_text_size(&self._spans[column, 0], &kinds[0], n)
        offsets, data, cells = np.zeros(n + 1, np.int32), np.empty(max(size, 1), np.uint8), np.zeros(n, np.uint8)
        cdef int32_t[::1] ends = offsets
        cdef uint8_t[::1] into = data
        cdef uint8_t[::1] states = cells
        if n:
            with nogil:
                tf_json_text(&self._data[0], &self._spans[column, 0], &kinds[0], n, &ends[0], &into[0], &states[0])
        return offsets, data, cells
