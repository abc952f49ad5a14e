"""Which integers may be among some keys, by a table with a bit for each of many slots.

The slot of a value is ``(value - least) * multiplier >> shift`` in 64 bits without a sign. With 1 and 0 each value has a
slot of its own; with an odd number of 64 bits the highest bits of the product are a hash, and values share slots.

Parameters, everywhere
----------------------
bits : uint64[m]
    The lowest bit of a word is the first slot. A value whose slot is past them is no key.
least : int
    int64
multiplier : int
    uint64
shift : int
    From 0 to 63.

Raises, everywhere
------------------
ValueError
    An array has another length than it must have; there is no such shift.

Notes
-----
Cost: O(n), with the GIL released.
"""

from libc.stdint cimport int64_t, uint64_t

from tableformats._core.arrays cimport expect

cdef enum:
    MOST_SHIFT = 63


cdef int expect_shift(int shift) except -1:
    if not 0 <= shift <= MOST_SHIFT:
        raise ValueError(f"shift is {shift}, which is not from 0 to {MOST_SHIFT}")
    return 0


def add_keys(const int64_t[::1] keys not None, uint64_t[::1] bits not None, int64_t least, uint64_t multiplier,
             int shift):
    """Set the bits of ``keys`` (int64[n])."""
    expect_shift(shift)
    cdef Py_ssize_t i, count = keys.shape[0]
    cdef uint64_t slot, slots = <uint64_t>bits.shape[0] * 64
    with nogil:
        for i in range(count):
            slot = (<uint64_t>keys[i] - <uint64_t>least) * multiplier >> shift
            if slot < slots:
                bits[slot >> 6] |= <uint64_t>1 << (slot & 63)


def find_keys(const int64_t[::1] values not None, const uint64_t[::1] bits not None, int64_t least,
              uint64_t multiplier, int shift, int64_t[::1] out not None):
    """Find ``values`` (int64[n]) that may be keys: ``out`` (int64[n]) gets their positions; returns how many they are."""
    expect_shift(shift)
    cdef Py_ssize_t i, count = values.shape[0], found = 0
    expect(out.shape[0], count, "out")
    if count == 0 or bits.shape[0] == 0:
        return 0
    cdef const int64_t *value = &values[0]
    cdef const uint64_t *words = &bits[0]
    cdef int64_t *target = &out[0]
    cdef uint64_t slot, slots = <uint64_t>bits.shape[0] * 64
    with nogil:
        if multiplier == 1 and shift == 0:
            for i in range(count):
                slot = <uint64_t>value[i] - <uint64_t>least
                if slot < slots and words[slot >> 6] >> (slot & 63) & 1:
                    target[found] = i
                    found += 1
        else:
            for i in range(count):
                slot = (<uint64_t>value[i] - <uint64_t>least) * multiplier >> shift
                if slot < slots and words[slot >> 6] >> (slot & 63) & 1:
                    target[found] = i
                    found += 1
    return found
