"""Decodes Avro records into columns: the Cython wrapper of ``csrc/tf_avro.c``.

A :class:`BlockDecoder` runs a program, which :mod:`tableformats_iceberg.avro.decode_program` compiles and ``tf_avro.h``
describes. It appends the records of inflated blocks to columns, with the GIL released.
Source: Apache Avro specification, "Object Container Files" and "Binary Encoding".
"""

from cpython.buffer cimport Py_buffer, PyBUF_SIMPLE, PyBuffer_FillInfo, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport INT64_MIN, int32_t, int64_t, uint8_t, uint32_t, uintptr_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memcpy

from typing import NamedTuple

import numpy as np

cdef extern from "tf_avro.h" nogil:
    ctypedef enum tf_avro_status:
        TF_AVRO_OK
        TF_AVRO_TRUNCATED
        TF_AVRO_BAD_VARINT
        TF_AVRO_BAD_LENGTH
        TF_AVRO_BAD_COUNT
        TF_AVRO_BAD_BRANCH
        TF_AVRO_BAD_BOOLEAN
        TF_AVRO_BAD_INT
        TF_AVRO_TRAILING
        TF_AVRO_NO_MEMORY
        TF_AVRO_LIMIT
        TF_AVRO_BAD_PROGRAM

    enum:
        TF_COLUMN_NUMBERS
        TF_COLUMN_TEXT
        TF_TEXT_HAS_NUL
        TF_TEXT_NOT_UTF8

    ctypedef struct tf_budget:
        int64_t limit

    ctypedef struct tf_column:
        int64_t *values
        int32_t *offsets
        uint8_t *valid
        uint8_t *data
        int64_t length
        int64_t capacity
        int64_t data_capacity
        int64_t present
        int32_t kind
        int32_t width
        int32_t flaws

    ctypedef struct tf_avro_guess:
        int32_t bytes

    ctypedef struct tf_avro_decoder:
        const int32_t *program
        int32_t program_length
        tf_avro_guess *guesses
        tf_column *columns
        const int32_t *parents
        int32_t column_count
        int32_t sparse_start
        int32_t drop_column
        int64_t drop_value
        const int32_t *keys
        int32_t key_count
        tf_budget memory
        int64_t row

    void tf_avro_begin(tf_avro_decoder *decoder)
    void tf_avro_expect(tf_avro_decoder *decoder, int64_t records)
    tf_avro_status tf_avro_decode(tf_avro_decoder *decoder, const uint8_t *block, int64_t size, int64_t count,
                                  int64_t *offset)
    tf_avro_status tf_avro_join(tf_avro_decoder *decoder, tf_avro_decoder *more)
    tf_avro_status tf_avro_varint(const uint8_t **cursor, const uint8_t *end, int64_t *value)
    void tf_avro_free(tf_avro_decoder *decoder)


cdef extern from "tf_avro_blocks.h" nogil:
    ctypedef int (*tf_inflate_fn)(void *inflater, const void *data, size_t in_size, void *out, size_t room,
                                  size_t *in_used, size_t *out_used)
    ctypedef uint32_t (*tf_adler32_fn)(uint32_t adler, const void *data, size_t size)

    ctypedef struct tf_avro_inflater:
        tf_inflate_fn inflate
        tf_adler32_fn adler32
        void *inflater
        uint8_t *plain
        int64_t capacity
        int64_t limit
        int64_t total

    int tf_avro_decode_blocks(tf_avro_decoder *decoder, const uint8_t *data, int64_t size, int64_t offset,
                              const uint8_t *sync, int64_t min_size, int64_t most_records, int64_t ahead,
                              tf_avro_inflater *inflater)


ctypedef void *(*_Alloc)()
ctypedef void (*_Free)(void *)

HAS_NUL = TF_TEXT_HAS_NUL
NOT_UTF8 = TF_TEXT_NOT_UTF8

REASONS = {
    TF_AVRO_TRUNCATED: "a value passes the end of the data",
    TF_AVRO_BAD_VARINT: "a varint is longer than 64 bits",
    TF_AVRO_BAD_LENGTH: "a length is negative or passes the end of the data",
    TF_AVRO_BAD_COUNT: "an array declares more items than the remaining bytes can hold",
    TF_AVRO_BAD_BRANCH: "a union or enum index is out of range",
    TF_AVRO_BAD_BOOLEAN: "a boolean is neither 0 nor 1",
    TF_AVRO_BAD_INT: "an int has more than 32 bits",
    TF_AVRO_TRAILING: "bytes are left after the declared records",
}


class AvroDecodeError(ValueError):
    """A block cannot be decoded. ``offset`` is the byte in the block. ``limit``: a memory limit was passed."""

    def __init__(self, message: str, offset: int, limit: bool = False) -> None:
        super().__init__(message)
        self.offset = offset
        self.limit = limit


class Buffers(NamedTuple):
    """The memory of a column.

    Attributes
    ----------
    values : int64[n], for numbers
    offsets, data : int32[n + 1] and uint8[m], for bytes
        The layout of Arrow's binary type.
    valid : bool[n], optional
        None: no row is null.
    width : int, optional
        The size of every value that is not null. None: the sizes differ, or all values are null.
    flaws : int, optional
        For text: ``HAS_NUL | NOT_UTF8``. None: the bytes were not checked.
    """

    values: object
    offsets: object
    data: object
    valid: object
    width: object
    flaws: object


def read_varint(const uint8_t[::1] data not None, int64_t offset):
    """The zig-zag varint at ``offset`` of ``data``, and the offset after it.

    Raises
    ------
    AvroDecodeError
        The varint is truncated or has more than 64 bits.
    """
    cdef int64_t value = 0
    cdef int64_t size = data.shape[0]
    if offset < 0 or offset >= size:
        raise AvroDecodeError(REASONS[TF_AVRO_TRUNCATED], size)
    cdef const uint8_t *start = &data[0]
    cdef const uint8_t *cursor = start + offset
    cdef tf_avro_status status = tf_avro_varint(&cursor, start + size, &value)
    if status != TF_AVRO_OK:
        raise AvroDecodeError(REASONS[status], offset)
    return value, cursor - start


def read_metadata(const uint8_t[::1] data not None, int64_t offset):
    """Read the metadata of a container file's header.

    An Avro map is blocks of a count and pairs. A count of 0 ends it. A negative count is followed by the block's size.

    Parameters
    ----------
    data : bytes
    offset : int
        Where the metadata begins.

    Returns
    -------
    tuple of (dict of str to bytes, int)
        The metadata, and the offset after it.

    Raises
    ------
    AvroDecodeError
        It is truncated, or a count or length is more than the data can hold.
    """
    found = {}
    cdef int64_t size = data.shape[0]
    cdef int64_t count, ignored
    if offset < 0 or offset >= size:
        raise AvroDecodeError(REASONS[TF_AVRO_TRUNCATED], size)
    cdef const uint8_t *start = &data[0]
    cdef const uint8_t *end = start + size
    cdef const uint8_t *cursor = start + offset
    while True:
        offset = cursor - start
        _take_varint(start, &cursor, end, &count)
        if count == 0:
            return found, cursor - start
        if count < 0:
            _take_varint(start, &cursor, end, &ignored)
        # INT64_MIN has no absolute value.
        count = -count if INT64_MIN < count < 0 else count
        if count < 0 or count > end - cursor:
            raise AvroDecodeError("the map declares more entries than the file can hold", offset)
        for _ in range(count):
            key = _take_octets(start, &cursor, end)
            found[key.decode(errors="replace")] = _take_octets(start, &cursor, end)


cdef int _take_varint(const uint8_t *start, const uint8_t **cursor, const uint8_t *end, int64_t *value) except -1:
    cdef tf_avro_status status = tf_avro_varint(cursor, end, value)
    if status != TF_AVRO_OK:
        raise AvroDecodeError(REASONS[status], cursor[0] - start)
    return 0


cdef bytes _take_octets(const uint8_t *start, const uint8_t **cursor, const uint8_t *end):
    cdef int64_t size = 0
    cdef int64_t offset = cursor[0] - start
    _take_varint(start, cursor, end, &size)
    if size < 0 or size > end - cursor[0]:
        raise AvroDecodeError("a length is negative or passes the end of the file", offset)
    cursor[0] += size
    return (<const char *>(cursor[0] - size))[:size]


def widen_decimals(const int32_t[::1] offsets not None, const uint8_t[::1] data not None):
    """Widen unscaled decimals, big-endian two's complement of 1 to 16 bytes, to Arrow's decimal128.

    Parameters
    ----------
    offsets : int32[n + 1]
        Ascending offsets into ``data``.
    data : uint8[m]

    Returns
    -------
    words : uint8[n, 16]
        Little-endian; 0 for unknown values.
    known : bool[n]
        False: the value has no byte, or more than 16.
    """
    cdef int64_t n = offsets.shape[0] - 1
    cdef int64_t row
    cdef int32_t start, size, i
    cdef uint8_t fill
    words, known = np.zeros((n, 16), np.uint8), np.zeros(n, np.uint8)
    cdef uint8_t[:, ::1] out = words
    cdef uint8_t[::1] flags = known
    if n and not 0 <= offsets[0] <= offsets[n] <= data.shape[0]:
        raise ValueError("offsets pass the end of the data")
    with nogil:
        for row in range(n):
            start, size = offsets[row], offsets[row + 1] - offsets[row]
            if size < 1 or size > 16:
                continue
            fill = 0xFF if data[start] >= 0x80 else 0
            for i in range(16):
                out[row, i] = data[start + size - 1 - i] if i < size else fill
            flags[row] = 1
    return words, known.view(np.bool_)


cdef class _Memory:
    """Owns memory of the decoder for the arrays that use it."""

    cdef void *start
    cdef Py_ssize_t size

    def __dealloc__(self):
        free(self.start)

    def __getbuffer__(self, Py_buffer *view, int flags):
        PyBuffer_FillInfo(view, self, self.start, self.size, 0, flags)


cdef object _array(void **start, int64_t count, int64_t capacity, Py_ssize_t width, object kind):
    """Make an array of ``count`` items that owns memory for ``capacity``. Frees what is left over if it is much.

    ``start`` becomes NULL as soon as the memory has its new owner, so that an error frees it once.
    """
    cdef _Memory memory = _Memory.__new__(_Memory)
    cdef void *cut
    memory.start = start[0]
    start[0] = NULL
    if count == 0 or memory.start == NULL:
        return np.empty(0, kind)
    if count < capacity - capacity // 8:
        cut = realloc(memory.start, <size_t>count * width)
        if cut != NULL:
            memory.start = cut
    memory.size = count * width
    return np.frombuffer(memory, kind)


cdef class Inflater:
    """libdeflate, and the memory that it inflates one block after the other into. For one thread.

    Parameters
    ----------
    functions : tuple of int
        Trusted addresses of ``libdeflate_alloc_decompressor``, ``_free_decompressor``, ``_deflate_decompress_ex`` and
        ``_adler32``.
    """

    cdef tf_avro_inflater into
    cdef _Free _free

    def __cinit__(self, tuple functions not None):
        alloc, release, inflate, adler32 = functions
        self._free = <_Free><uintptr_t>release
        self.into.inflate = <tf_inflate_fn><uintptr_t>inflate
        self.into.adler32 = <tf_adler32_fn><uintptr_t>adler32
        self.into.inflater = (<_Alloc><uintptr_t>alloc)()
        if self.into.inflater == NULL:
            raise MemoryError

    def __dealloc__(self):
        if self.into.inflater != NULL:
            self._free(self.into.inflater)
        free(self.into.plain)

    @property
    def capacity(self):
        """The size of the memory that blocks are inflated into, in bytes."""
        return self.into.capacity


cdef class BlockDecoder:
    """Decodes records and appends them to columns.

    Parameters
    ----------
    program : int32[n]
        See ``tf_avro.h``. Trusted, because it comes from our own compiler.
    kinds : uint8[n_columns]
        What each column holds: 0 numbers, 1 bytes, 2 text.
    parents : int32[n_columns]
        The list column whose items each column holds. -1: it has one row a record.
    sparse_start : int
        The first column that is filled from a map.
    keys : int32[n_keys]
        The wanted keys of maps, ascending.
    drop_column, drop_value : int
        Leave out the records with this value in this column of numbers. -1: none.
    memory_limit : int
        The bytes that all columns may take.
    """

    cdef tf_avro_decoder decoder
    cdef object _program
    cdef object _parents
    cdef object _keys

    def __cinit__(self, const int32_t[::1] program not None, const uint8_t[::1] kinds not None,
                  const int32_t[::1] parents not None, int32_t sparse_start, const int32_t[::1] keys not None,
                  int32_t drop_column, int64_t drop_value, int64_t memory_limit):
        cdef int32_t i
        # The decoder points into these arrays, so they must live as long as it does.
        self._program = program
        self._parents = parents
        self._keys = keys
        assert parents.shape[0] == kinds.shape[0]
        self.decoder.program = &program[0] if program.shape[0] else NULL
        self.decoder.program_length = <int32_t>program.shape[0]
        self.decoder.keys = &keys[0] if keys.shape[0] else NULL
        self.decoder.key_count = <int32_t>keys.shape[0]
        self.decoder.sparse_start = sparse_start
        self.decoder.memory.limit = memory_limit
        self.decoder.drop_column = drop_column
        self.decoder.drop_value = drop_value
        self.decoder.columns = <tf_column *>calloc(max(1, kinds.shape[0]), sizeof(tf_column))
        self.decoder.parents = &parents[0] if parents.shape[0] else NULL
        self.decoder.guesses = <tf_avro_guess *>calloc(max(1, program.shape[0]), sizeof(tf_avro_guess))
        if self.decoder.columns == NULL or self.decoder.guesses == NULL:
            raise MemoryError
        self.decoder.column_count = <int32_t>kinds.shape[0]
        for i in range(self.decoder.column_count):
            self.decoder.columns[i].kind = kinds[i]
        tf_avro_begin(&self.decoder)

    def __dealloc__(self):
        if self.decoder.columns != NULL:
            tf_avro_free(&self.decoder)
        free(self.decoder.columns)
        free(self.decoder.guesses)

    @property
    def rows(self):
        """The number of records so far, without those that were left out."""
        return self.decoder.row

    def expect(self, int64_t records):
        """Make room for so many further records."""
        if records > 0:
            tf_avro_expect(&self.decoder, records)

    def decode(self, const uint8_t[::1] block not None, int64_t count):
        """Append ``count`` records, which must fill ``block`` exactly.

        Raises
        ------
        AvroDecodeError
            The bytes are malformed, or the memory limit was passed. The decoder is not usable any more.

        Notes
        -----
        Cost: O(bytes), GIL released.
        """
        cdef int64_t size = block.shape[0]
        cdef int64_t offset = 0
        cdef tf_avro_status status
        cdef const uint8_t *start = &block[0] if size else NULL
        cdef uint8_t nothing = 0
        if start == NULL:
            start = &nothing
        with nogil:
            status = tf_avro_decode(&self.decoder, start, size, count, &offset)
        if status == TF_AVRO_OK:
            return
        if status == TF_AVRO_NO_MEMORY:
            raise MemoryError
        if status == TF_AVRO_LIMIT:
            raise AvroDecodeError(f"the columns pass {self.decoder.memory.limit} bytes", offset, limit=True)
        if status == TF_AVRO_BAD_PROGRAM:
            raise AssertionError("the Avro program is malformed")
        raise AvroDecodeError(REASONS[status], offset)

    def decode_file(self, const uint8_t[::1] data not None, int64_t offset, bytes sync not None, int64_t min_size,
                    int64_t most_records, Inflater inflater, int64_t limit, int64_t total, int64_t ahead):
        """Append the records of all blocks of a file.

        Parameters
        ----------
        data : bytes
            The whole file.
        offset : int
            Where the first block begins.
        sync : bytes
            The 16 bytes after every block.
        min_size : int
            The least bytes of a record.
        most_records : int
            The most records of a file, with those that are left out.
        inflater : Inflater, optional
            For raw deflate. None: the blocks are not compressed.
        limit : int
            The most bytes that a block may inflate to.
        total : int
            The most bytes that all blocks together may inflate to.
        ahead : int
            About how many bytes of other files will follow. Room is made for these too.

        Returns
        -------
        bool
            False: the file is irregular. The decoder is not usable any more. :meth:`decode` raises the error.

        Notes
        -----
        Cost: O(bytes), GIL released once.
        """
        cdef int done = 1
        cdef int64_t size = data.shape[0]
        cdef tf_avro_inflater *into = NULL
        cdef const uint8_t *mark = sync
        if len(sync) != 16 or min_size < 1 or not 0 <= offset <= size:
            raise ValueError("no sync marker, no size or no offset")
        if inflater is not None:
            into = &inflater.into
            into.limit = limit
            into.total = total
        if offset < size:
            with nogil:
                done = tf_avro_decode_blocks(&self.decoder, &data[0], size, offset, mark, min_size, most_records,
                                             ahead, into)
        return bool(done)

    def append(self, BlockDecoder more not None):
        """Append the rows of another decoder of the same program and columns.

        Returns
        -------
        bool
            False: the memory limit was passed. The decoder is not usable any more.

        Notes
        -----
        Cost: O(bytes of ``more``), GIL released.
        """
        cdef tf_avro_status status
        if more is self or more.decoder.program != self.decoder.program:
            raise ValueError("another decoder of the same program is needed")
        with nogil:
            status = tf_avro_join(&self.decoder, &more.decoder)
        return status == TF_AVRO_OK

    def column(self, int32_t index):
        """Hand over the memory of a column, without a copy. Can be called once for each column."""
        if index < 0 or index >= self.decoder.column_count:
            raise IndexError(index)
        cdef tf_column *column = &self.decoder.columns[index]
        cdef int64_t length = column.length
        values = offsets = data = valid = width = flaws = None
        if column.kind == TF_COLUMN_NUMBERS:
            values = _array(<void **>&column.values, length, column.capacity, sizeof(int64_t), np.int64)
        else:
            count = column.offsets[length] if column.offsets != NULL else 0
            data = _array(<void **>&column.data, count, column.data_capacity, 1, np.uint8)
            filled = length + 1 if length else 0
            offsets = _array(<void **>&column.offsets, filled, column.capacity, sizeof(int32_t), np.int32)
            if length == 0:
                offsets = np.zeros(1, np.int32)
            if column.width >= 0:
                width = column.width
            if column.kind == TF_COLUMN_TEXT:
                flaws = column.flaws
        if column.present != length:
            valid = _array(<void **>&column.valid, length, column.capacity, 1, np.bool_)
        return Buffers(values, offsets, data, valid, width, flaws)
