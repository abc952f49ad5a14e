"""Which integers may be among some keys, by a table with a bit for each of many slots.

The slot of a value is ``(value - least) * multiplier >> shift`` in 64 bits without a sign. With 1 and 0 each value has a
slot of its own; with an odd number of 64 bits the highest bits of the product are a hash, and values share slots.

Parameters, everywhere
----------------------
bits : uint64[m + 1]
    Of 64 * m slots, the lowest bit of a word first. A value whose slot is past them is no key; the last word is 0.
least : int
    int64
multiplier : int
    uint64
shift : int
    From 0 to 63.

Raises, everywhere
------------------
ValueError
    An array has another length than it must have; there is no such shift; the last word is not 0.

Notes
-----
Cost: O(n), with the GIL released.
"""

from libc.stdint cimport int64_t, uint64_t

from tableformats._core.arrays cimport expect

cdef enum:
    MOST_SHIFT = 63


cdef int64_t expect_slots(const uint64_t[::1] bits, int shift) except -1:
    """How many there are."""
    if not 0 <= shift <= MOST_SHIFT:
        raise ValueError(f"shift is {shift}, which is not from 0 to {MOST_SHIFT}")
    if bits.shape[0] < 1 or bits[bits.shape[0] - 1]:
        raise ValueError("bits does not end with a word of 0")
    return (bits.shape[0] - 1) * 64


def add_keys(const int64_t[::1] keys not None, uint64_t[::1] bits not None, int64_t least, uint64_t multiplier,
             int shift):
    """Set the bits of ``keys`` (int64[n])."""
    cdef uint64_t slot, slots = expect_slots(bits, shift)
    cdef Py_ssize_t i, count = keys.shape[0]
    with nogil:
        for i in range(count):
            slot = (<uint64_t>keys[i] - <uint64_t>least) * multiplier >> shift
            if slot < slots:
                bits[slot >> 6] |= <uint64_t>1 << (slot & 63)


cdef KeyTable key_table(const uint64_t[::1] bits, int64_t least, uint64_t multiplier, int shift) except *:
    """It holds as long as ``bits`` is there. Raises ValueError."""
    cdef uint64_t slots = expect_slots(bits, shift)
    return KeyTable(&bits[0], slots, <uint64_t>least, multiplier, shift)


def find_keys(const int64_t[::1] values not None, const uint64_t[::1] bits not None, int64_t least,
              uint64_t multiplier, int shift, int64_t[::1] out not None):
    """Find ``values`` (int64[n]) that may be keys: their positions begin ``out`` (int64[n]); returns how many they are.

    What follows them in ``out`` is arbitrary.
    """
    cdef KeyTable table = key_table(bits, least, multiplier, shift)
    cdef Py_ssize_t i, count = values.shape[0], found = 0
    expect(out.shape[0], count, "out")
    if count == 0:
        return 0
    cdef const int64_t *value = &values[0]
    cdef int64_t *target = &out[0]
    # Each position is written and then kept or not: where keys are cannot be predicted.
    with nogil:
        for i in range(count):
            target[found] = i
            found += may_be_key(&table, value[i])
    return found
