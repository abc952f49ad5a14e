"""Wanted members of JSON texts as columns: Cython over ``csrc/tf_json.c`` and ``csrc/tf_json_values.c``.

:class:`MemberColumns` reads many texts at once, records the position of each wanted value, and converts whole columns
on demand. :class:`Cells` appends the columns of several :class:`MemberColumns`. The state of a cell is 0 (null), 1 (a
value) or 2 (left for the caller to convert). The readable twin is ``reference.py``.
"""

import numpy as np

from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memchr, memcmp, memcpy, memset

from tableformats.plugin.arrays cimport expect, expect_offsets


cdef extern from "tf_json.h" nogil:
    enum:
        TF_JSON_FALSE
        TF_JSON_TRUE
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
        TF_CELL_NULL
        TF_CELL_VALUE
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
    offsets : int32[n_texts + 1], data : uint8[any]
        The buffers of an Arrow string array. A null must be an empty text or not chosen.
    members : sequence of tuple
        The tree of wanted members, from :func:`tableformats_delta.json.columns.member_tree`.
    columns : int
        How many values are wanted.
    chosen : int64[n], optional
        The texts that become rows; None: all.

    Attributes
    ----------
    sound : uint8[n]
        1 where the text is a valid JSON object without duplicates of wanted members. Other texts have no members.

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

    def text(self, Py_ssize_t column):
        """(offsets int32[n + 1], data uint8[any], cells uint8[n]): strings, unescaped; half a surrogate pair is null."""
        return self._text(column, self._kinds[column])

    def raw(self, Py_ssize_t column, cells not None):
        """The spelling of the m values that are left, as offsets int32[m + 1] and data uint8[any]; strings without
        their quotes."""
        chosen = np.asarray(cells) == TF_CELL_LEFT
        offsets, data, _ = self._text(column, np.where(chosen, np.uint8(TF_JSON_TEXT), np.uint8(0)))
        return offsets[np.append(0, np.flatnonzero(chosen) + 1)], data

    def spans(self, Py_ssize_t column):
        """First byte in ``data`` and size of each value, both int64[n]; strings without their quotes; unspecified
        where the value is absent."""
        self._rows(column)
        packed = np.array(self._spans[column])
        return packed >> 32, packed & 0xFFFFFFFF

    def entries(self, Py_ssize_t column):
        """The entries of the objects in a column: offsets int32[n + 1] and a MemberColumns with one row per entry.
        Column 0 has the names, column 1 the values; the rows offsets[i] to offsets[i + 1] belong to object i."""
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
        """The kind of each value, uint8[n]: a ``tf_json_kind``."""
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


cdef enum:
    BOOLEAN, INT64, DOUBLE, DECIMAL, TEXT

_TYPES = {"boolean": BOOLEAN, "int64": INT64, "double": DOUBLE, "decimal": DECIMAL, "text": TEXT}


cdef struct column_cells:
    int type, scale
    void *values      # of the numbers; uint8_t of a boolean
    uint8_t *cells
    int32_t *offsets  # of texts
    uint8_t *data
    int64_t capacity


cdef int grow(column_cells *column, int64_t size) noexcept nogil:
    """Reserve ``size`` bytes for texts. Returns 0 where memory is exhausted."""
    cdef void *data
    cdef int64_t capacity = max(size, 2 * column.capacity)
    if size > column.capacity or column.data is NULL:
        data = realloc(column.data, capacity + 1)
        if data is NULL:
            return 0
        column.data, column.capacity = <uint8_t *>data, capacity
    return 1


cdef int fill_texts(column_cells *column, const uint8_t *base, const int64_t *spans, const uint8_t *kinds, int64_t n,
                    int64_t first) noexcept nogil:
    cdef int32_t *offsets = column.offsets + first
    cdef int64_t start = offsets[0], row
    cdef int64_t size = tf_json_text_size(spans, kinds, n)
    if start + size > INT32_MAX:
        for row in range(n):
            offsets[row + 1], column.cells[first + row] = <int32_t>start, TF_CELL_NULL
        return 1
    if not grow(column, start + size):
        return 0
    tf_json_text(base, spans, kinds, n, offsets, column.data + start, column.cells + first)
    if start:
        for row in range(n + 1):
            offsets[row] += <int32_t>start
    return 1


cdef void fill_booleans(column_cells *column, const uint8_t *kinds, int64_t n, int64_t first) noexcept nogil:
    cdef int64_t row
    cdef uint8_t *values = <uint8_t *>column.values + first
    cdef uint8_t *cells = column.cells + first
    for row in range(n):
        values[row] = kinds[row] == TF_JSON_TRUE
        cells[row] = TF_CELL_VALUE if kinds[row] == TF_JSON_TRUE or kinds[row] == TF_JSON_FALSE else TF_CELL_NULL


cdef int fill_column(column_cells *column, const uint8_t *base, const int64_t *spans, const uint8_t *kinds, int64_t n,
                     int64_t first) noexcept nogil:
    """Fill the cells ``first`` to ``first + n``. Returns 0 where memory is exhausted."""
    if column.type == TEXT:
        return fill_texts(column, base, spans, kinds, n, first)
    if column.type == BOOLEAN:
        fill_booleans(column, kinds, n, first)
    elif column.type == INT64:
        tf_json_int64(base, spans, kinds, n, <int64_t *>column.values + first, column.cells + first)
    elif column.type == DOUBLE:
        tf_json_double(base, spans, kinds, n, <double *>column.values + first, column.cells + first)
    else:
        tf_json_decimal(base, spans, kinds, n, column.scale, <uint64_t *>column.values + 2 * first,
                        column.cells + first)
    return 1


cdef class Cells:
    """Columns of up to n cells each, converted piece by piece.

    Parameters
    ----------
    types : sequence of (str, int)
        Type and scale of each column: "boolean", "int64", "double", "decimal" or "text"; the scale is for decimals.
    n : int
        The greatest number of cells of a column.

    Attributes
    ----------
    count : int
        The number of cells that are filled.

    Raises
    ------
    ValueError, KeyError
        ``n`` is negative, or a type is unknown.

    Notes
    -----
    Memory: the values and one byte per cell; for texts at most twice their bytes. Texts of a column beyond 2 GiB are
    null.
    """

    cdef readonly Py_ssize_t count
    cdef Py_ssize_t _most
    cdef column_cells *_columns
    cdef list _values
    cdef list _cells

    def __cinit__(self, types not None, Py_ssize_t n):
        cdef Py_ssize_t i
        cdef uint8_t[::1] cells
        cdef const uint8_t[::1] raw
        if n < 0:
            raise ValueError("there cannot be fewer than 0 cells")
        self._most = n
        self._values, self._cells = [], []
        self._columns = <column_cells *>PyMem_Malloc(max(len(types), 1) * sizeof(column_cells))
        if self._columns is NULL:
            raise MemoryError
        memset(self._columns, 0, max(len(types), 1) * sizeof(column_cells))
        for i, (name, scale) in enumerate(types):
            self._columns[i].type, self._columns[i].scale = _TYPES[name], scale
            kind, width = {BOOLEAN: (np.uint8, 1), INT64: (np.int64, 1), DOUBLE: (np.float64, 1), DECIMAL: (np.uint64, 2),
                           TEXT: (np.int32, 1)}[_TYPES[name]]
            self._values.append(np.zeros(width * n + (name == "text") + (n == 0), kind))
            self._cells.append(np.zeros(max(n, 1), np.uint8))
            raw, cells = self._values[i].view(np.uint8), self._cells[i]
            self._columns[i].values, self._columns[i].cells = <void *>&raw[0], &cells[0]
            self._columns[i].offsets = <int32_t *><void *>&raw[0]

    def __dealloc__(self):
        cdef Py_ssize_t i
        if self._columns is not NULL:
            for i in range(len(self._values)):
                free(self._columns[i].data)
            PyMem_Free(self._columns)

    def take(self, MemberColumns members not None):
        """Append the rows of ``members``, which has the columns in the same order. Returns True where a cell is left.

        Raises
        ------
        ValueError
            There are too many rows, or another number of columns.
        """
        cdef Py_ssize_t columns = len(self._values), i
        cdef Py_ssize_t n = members._kinds.shape[1]
        cdef int done = 1, left = 0
        if members._kinds.shape[0] != columns or n > self._most - self.count:
            raise ValueError(f"{self.count} of {self._most} cells in {columns} columns are taken, not {n} more")
        if n == 0 or columns == 0:
            self.count += n
            return False
        with nogil:
            for i in range(columns):
                if done:
                    done = fill_column(&self._columns[i], &members._data[0], &members._spans[i, 0],
                                       &members._kinds[i, 0], n, self.count)
                    left |= memchr(self._columns[i].cells + self.count, TF_CELL_LEFT, n) is not NULL
        if not done:
            raise MemoryError
        self.count += n
        return left != 0

    def cells(self, Py_ssize_t column):
        """The state of each cell, uint8[count], writable."""
        return self._cells[self._checked(column)][:self.count]

    def values(self, Py_ssize_t column):
        """The values, writable: uint8, int64 or float64[count]; decimals uint64[count, 2], low word first."""
        cdef Py_ssize_t width = 2 if self._columns[self._checked(column)].type == DECIMAL else 1
        values = self._values[column][:width * self.count]
        return values.reshape(-1, 2) if width == 2 else values

    def text(self, Py_ssize_t column):
        """The texts, unescaped, as offsets int32[count + 1] and data uint8[any]."""
        cdef int64_t size
        cdef uint8_t[::1] into
        offsets = self._values[self._checked(column)][:self.count + 1]
        size = offsets[self.count]
        data = np.empty(max(size, 1), np.uint8)
        into = data
        if size:
            memcpy(&into[0], self._columns[column].data, size)
        return offsets, data

    cdef Py_ssize_t _checked(self, Py_ssize_t column) except -1:
        if column < 0 or column >= len(self._values):
            raise IndexError(column)
        return column


def line_starts(const uint8_t[::1] data not None, heads not None):
    """Find where lines start, and which of ``heads`` each line starts with.

    Parameters
    ----------
    data : uint8[n]
        The text. Every line ends with a line feed; bytes after the last line feed are no line.
    heads : sequence of bytes
        At most 127.

    Returns
    -------
    starts : int64[lines + 1]
        0, then the position after each line feed.
    kinds : int8[lines]
        The index of the head; -1 where the line has none of them.

    Notes
    -----
    Cost: O(n), GIL released.
    """
    cdef Py_ssize_t n = data.shape[0], count = 0, i
    cdef int64_t start = 0, stop
    cdef const uint8_t *base = NULL
    cdef const uint8_t *found
    cdef const uint8_t[::1] text = b"".join(heads) + b"\0"
    cdef int64_t[::1] ends = np.cumsum([0, *map(len, heads)])
    cdef int n_heads = len(heads), head
    if n_heads > 127:
        raise ValueError("there are more than 127 heads")
    if n:
        base = &data[0]
        with nogil:
            found = <const uint8_t *>memchr(base, b'\n', n)
            while found is not NULL:
                count += 1
                found = <const uint8_t *>memchr(found + 1, b'\n', base + n - found - 1)
    starts, kinds = np.zeros(count + 1, np.int64), np.full(count, -1, np.int8)
    cdef int64_t[::1] places = starts
    cdef signed char[::1] numbers = kinds
    with nogil:
        for i in range(count):
            stop = <const uint8_t *>memchr(base + start, b'\n', n - start) - base
            for head in range(n_heads):
                if stop - start >= ends[head + 1] - ends[head] and not memcmp(
                        base + start, &text[ends[head]], ends[head + 1] - ends[head]):
                    numbers[i] = <signed char>head
                    break
            start = stop + 1
            places[i + 1] = start
    return starts, kinds
