"""Integers that are keys, left out of values in place. See ``_page_values.read_integers_without``.

Notes
-----
Cost: O(values), with the GIL released.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy, memmove

from tableformats._core.key_filter cimport KeyTable, key_table, may_be_key

cdef enum:
    # So many values are looked up together.
    GROUP = 8


cdef class KeyDrop:
    """Leaves out the integers that are keys. NULL is none."""

    def __cinit__(self, tuple keys, int64_t[::1] places not None):
        bits, least, multiplier, shift, self.keys = keys
        self.bits, self.places = bits, places
        self.table = key_table(self.bits, least, multiplier, shift)

    cdef int64_t leave(self, uint8_t *values, int width, uint8_t *levels, int64_t start, int64_t stop) noexcept nogil:
        """Leave out some of the values from ``start`` to below ``stop``; returns where the others end.

        ``places`` gets which of all values these were. ``levels``: NULL, or 0 where a value is NULL.
        """
        cdef int64_t first = self.count, place, next_stop, at = start, i
        self.count = first + find_keys(&self.table, values, width, start, stop, &self.places[first])
        self.count = self.kept(values, width, levels, first)
        place = start
        for i in range(first, self.count + 1):
            next_stop = self.places[i] if i < self.count else stop
            if at != place:
                memmove(values + at * width, values + place * width, (next_stop - place) * width)
                if levels != NULL:
                    memmove(levels + at, levels + place, next_stop - place)
            at += next_stop - place
            place = next_stop + 1
        for i in range(first, self.count):
            self.places[i] += self.seen - start
        self.seen += stop - start
        return at

    cdef int64_t kept(self, uint8_t *values, int width, uint8_t *levels, int64_t first) noexcept nogil:
        """Keep the places from number ``first`` on that have a key; returns how many places there are."""
        cdef int64_t i, value, left = first
        if levels == NULL and self.keys is None:
            return self.count
        for i in range(first, self.count):
            if levels != NULL and not levels[self.places[i]]:
                continue
            value = load_integer(values, width, self.places[i])
            if self.keys is None or is_among(value, self.keys):
                self.places[left] = self.places[i]
                left += 1
        return left


cdef int64_t find_keys(const KeyTable *keys, const uint8_t *values, int width, int64_t start, int64_t stop,
                       int64_t *places) noexcept nogil:
    """Which of the values may be keys: ``places`` begins with these, and has room for all; how many they are."""
    cdef int64_t at = start, found = 0, end
    while at < stop:
        end = min(at + GROUP, stop)
        # Few groups have a key, and which ones cannot be predicted.
        if any_may_be_key(keys, values, width, at, end):
            while at < end:
                places[found] = at
                found += may_be_key(keys, load_integer(values, width, at))
                at += 1
        at = end
    return found


cdef inline int64_t load_integer(const uint8_t *values, int width, int64_t at) noexcept nogil:
    cdef int64_t value
    cdef int32_t narrow
    if width == 8:
        memcpy(&value, values + at * 8, 8)
        return value
    memcpy(&narrow, values + at * 4, 4)
    return narrow


cdef inline bint any_may_be_key(const KeyTable *keys, const uint8_t *values, int width, int64_t start,
                                int64_t stop) noexcept nogil:
    cdef KeyTable table = keys[0]
    cdef int64_t i
    cdef bint found = False
    if width == 8:
        for i in range(start, stop):
            found |= may_be_key(&table, load_integer(values, 8, i))
    else:
        for i in range(start, stop):
            found |= may_be_key(&table, load_integer(values, 4, i))
    return found


cdef bint is_among(int64_t value, const int64_t[::1] keys) noexcept nogil:
    """Whether a value is one of ``keys``, which ascend."""
    cdef Py_ssize_t low = 0, high = keys.shape[0], middle
    while low < high:
        middle = (low + high) // 2
        if keys[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low < keys.shape[0] and keys[low] == value
