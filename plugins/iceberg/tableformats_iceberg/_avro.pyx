"""Avro records into columns: the Cython face of ``csrc/tf_avro.c``.

A :class:`BlockDecoder` takes a program (see ``tf_avro.h``; :mod:`tableformats_iceberg.avro_schema` compiles it) and
decodes inflated blocks into growing columns with the GIL released. Source: Apache Avro specification, "Object
Container Files" and "Binary Encoding".
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy

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

    ctypedef struct tf_avro_column:
        int64_t *values
        int32_t *sizes
        uint8_t *valid
        uint8_t *data
        int64_t length
        int64_t data_length
        int32_t has_data

    ctypedef struct tf_avro_decoder:
        const int32_t *program
        int32_t program_length
        tf_avro_column *columns
        int32_t column_count
        int32_t sparse_start
        const int32_t *keys
        int32_t key_count
        int64_t memory_limit

    tf_avro_status tf_avro_decode(tf_avro_decoder *decoder, const uint8_t *block, int64_t size, int64_t count,
                                  int64_t *offset)
    tf_avro_status tf_avro_varint(const uint8_t **cursor, const uint8_t *end, int64_t *value)
    void tf_avro_free(tf_avro_decoder *decoder)


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
    """The block does not decode; ``offset`` is the byte in the block. ``limit``: a memory limit was passed."""

    def __init__(self, message: str, offset: int, limit: bool = False) -> None:
        super().__init__(message)
        self.offset = offset
        self.limit = limit


def read_varint(const uint8_t[::1] data not None, int64_t offset):
    """The zig-zag varint at ``offset`` of ``data``, and the offset after it.

    Raises
    ------
    AvroDecodeError : the varint is truncated or has more than 64 bits
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


cdef class BlockDecoder:
    """Columns that grow block by block.

    Parameters
    ----------
    program : int32[n], see ``tf_avro.h``; trusted: it comes from our own compiler
    has_data : uint8[n_columns], 1 for columns of bytes
    sparse_start : columns from here on are filled by maps
    keys : int32[n_keys], wanted map keys, ascending
    memory_limit : bytes that the columns may take together
    """

    cdef tf_avro_decoder decoder
    cdef object _program
    cdef object _keys

    def __cinit__(self, const int32_t[::1] program not None, const uint8_t[::1] has_data not None,
                  int32_t sparse_start, const int32_t[::1] keys not None, int64_t memory_limit):
        cdef int32_t i
        # The views keep their owners alive as long as the decoder points into them.
        self._program = program
        self._keys = keys
        self.decoder.program = &program[0] if program.shape[0] else NULL
        self.decoder.program_length = <int32_t>program.shape[0]
        self.decoder.keys = &keys[0] if keys.shape[0] else NULL
        self.decoder.key_count = <int32_t>keys.shape[0]
        self.decoder.sparse_start = sparse_start
        self.decoder.memory_limit = memory_limit
        self.decoder.columns = <tf_avro_column *>calloc(max(1, has_data.shape[0]), sizeof(tf_avro_column))
        if self.decoder.columns == NULL:
            raise MemoryError
        self.decoder.column_count = <int32_t>has_data.shape[0]
        for i in range(self.decoder.column_count):
            self.decoder.columns[i].has_data = has_data[i]

    def __dealloc__(self):
        if self.decoder.columns != NULL:
            tf_avro_free(&self.decoder)
            free(self.decoder.columns)

    def decode(self, const uint8_t[::1] block not None, int64_t count):
        """Append ``count`` records, which must fill ``block`` exactly.

        Raises
        ------
        AvroDecodeError : the bytes are malformed (``offset`` in the block), or the memory limit was passed

        Notes
        -----
        Cost: O(bytes), GIL released. After an error the decoder must be thrown away.
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
            raise AvroDecodeError(f"the columns pass {self.decoder.memory_limit} bytes", offset, limit=True)
        if status == TF_AVRO_BAD_PROGRAM:
            raise AssertionError("the Avro program is malformed")
        raise AvroDecodeError(REASONS[status], offset)

    def column(self, int32_t index):
        """A column's buffers, copied: (values int64[n], valid bool[n], sizes int32[n] | None, data uint8[m] | None).

        ``values`` are integers, float bits, list end offsets, or the starts of byte values in ``data``.
        """
        if index < 0 or index >= self.decoder.column_count:
            raise IndexError(index)
        cdef tf_avro_column *column = &self.decoder.columns[index]
        values = np.empty(column.length, np.int64)
        valid = np.empty(column.length, np.uint8)
        _copy(values.view(np.uint8), column.values, column.length * <int64_t>sizeof(int64_t))
        _copy(valid, column.valid, column.length)
        if not column.has_data:
            return values, valid.view(np.bool_), None, None
        sizes = np.empty(column.length, np.int32)
        data = np.empty(column.data_length, np.uint8)
        _copy(sizes.view(np.uint8), column.sizes, column.length * <int64_t>sizeof(int32_t))
        _copy(data, column.data, column.data_length)
        return values, valid.view(np.bool_), sizes, data


cdef _copy(uint8_t[::1] target, const void *source, int64_t size):
    if size > 0 and target.shape[0] == size:
        memcpy(&target[0], source, <size_t>size)
