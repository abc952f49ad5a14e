"""The table of keys of ``key_filter``, for other kernels."""

from libc.stdint cimport int64_t, uint64_t


cdef struct KeyTable:
    const uint64_t *words
    uint64_t slots, first, multiplier
    int shift


cdef KeyTable key_table(const uint64_t[::1] bits, int64_t least, uint64_t multiplier, int shift) except *


cdef inline bint may_be_key(const KeyTable *table, int64_t value) noexcept nogil:
    cdef uint64_t slot = <uint64_t>value - table.first
    if table.shift or table.multiplier != 1:  # otherwise each value has a slot of its own
        slot = slot * table.multiplier >> table.shift
    slot = slot if slot < table.slots else table.slots
    return table.words[slot >> 6] >> (slot & 63) & 1
