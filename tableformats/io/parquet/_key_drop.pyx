"""Integers that are keys, left out of values in place. See ``_page_values.read_integers_without``.

Values that ascend are merged with the keys, which ascend too; others are looked up one by one in the table of
``_core.key_filter``.

Notes
-----
Cost: O(values), with the GIL released; of values that do not ascend, and keys that lie far apart, O(keys found *
log(keys)) beside that.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy, memmove

from tableformats._core.key_filter cimport KeyTable, key_table, may_be_key

cdef enum:
    # So many values are looked up together.
    GROUP = 8
    # So many values ascend or not. With more of them, those with a key are found less quickly.
    ORDERED = 64
    # Steps between them are smaller than so many bits tell, so that their sum has no overflow.
    MOST_STEP_BITS = 57


cdef class KeyDrop:
    """Leaves out the integers that are keys. NULL is none."""

    def __cinit__(self, tuple keys, int64_t[::1] places not None):
        bits, least, multiplier, shift, self.keys = keys
        self.bits, self.places = bits, places
        self.table = key_table(self.bits, least, multiplier, shift)
        self.is_exact = multiplier == 1 and shift == 0

    cdef int64_t leave(self, uint8_t *values, int width, uint8_t *levels, int64_t start, int64_t stop) noexcept nogil:
        """Leave out some of the values from ``start`` to below ``stop``; returns where the others end.

        ``places`` gets which of all values these were. ``levels``: NULL, or 0 where a value is NULL.
        """
        cdef int64_t first = self.count, place, next_stop, at = start, i
        self.find(values, width, start, stop)
        if levels != NULL:
            self.count = self.defined(levels, first)
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

    cdef void find(self, const uint8_t *values, int width, int64_t start, int64_t stop) noexcept nogil:
        """Append the places of the values that are keys."""
        cdef int64_t at = start, end
        cdef bint is_ordered = True
        while at < stop:
            is_ordered = is_ordered and stop - at >= ORDERED and ascend(values, width, at)
            end = at + ORDERED if is_ordered else min(at + GROUP, stop)
            if is_ordered:
                self.merge(values, width, at, end)
            # Few groups have a key, and which ones cannot be predicted.
            elif any_may_be_key(&self.table, values, width, at, end):
                self.look_up(values, width, at, end)
            at = end

    cdef void merge(self, const uint8_t *values, int width, int64_t at, int64_t stop) noexcept nogil:
        """As :meth:`find`, of values that ascend."""
        cdef int64_t count = self.keys.shape[0], last = load_integer(values, width, stop - 1), key
        cdef int64_t number = self.first_key(load_integer(values, width, at))
        if number + GROUP < count and self.keys[number + GROUP] <= last:  # so many are looked up faster
            self.look_up(values, width, at, stop)
            return
        while number < count and self.keys[number] <= last:
            key = self.keys[number]
            at = first_value(values, width, at, stop, key)
            while at < stop and load_integer(values, width, at) == key:
                self.places[self.count] = at
                self.count += 1
                at += 1
            number += 1
        self.next_key = number

    cdef int64_t first_key(self, int64_t value) noexcept nogil:
        """The number of the first key that is not less, sought from where the last one was."""
        cdef int64_t low = self.next_key, step = 1, count = self.keys.shape[0]
        if low and self.keys[low - 1] >= value:
            return lower_bound(&self.keys[0], 0, low - 1, value)
        while low + step <= count and self.keys[low + step - 1] < value:
            low += step
            step *= 2
        return lower_bound(&self.keys[0], low, min(low + step - 1, count), value) if low < count else count

    cdef void look_up(self, const uint8_t *values, int width, int64_t start, int64_t stop) noexcept nogil:
        """As :meth:`find`."""
        cdef int64_t at, value, number
        for at in range(start, stop):
            value = load_integer(values, width, at)
            if may_be_key(&self.table, value):
                if not self.is_exact:
                    number = lower_bound(&self.keys[0], 0, self.keys.shape[0], value) if self.keys.shape[0] else 0
                    if number == self.keys.shape[0] or self.keys[number] != value:
                        continue
                self.places[self.count] = at
                self.count += 1

    cdef int64_t defined(self, const uint8_t *levels, int64_t first) noexcept nogil:
        """Keep the places from number ``first`` on whose value is not NULL; returns how many places there are."""
        cdef int64_t i, left = first
        for i in range(first, self.count):
            self.places[left] = self.places[i]
            left += levels[self.places[i]]
        return left


cdef bint ascend(const uint8_t *values, int width, int64_t at) noexcept nogil:
    """Whether :data:`ORDERED` values ascend; values that are far apart count as those that do not."""
    cdef uint64_t steps = 0
    cdef int64_t i
    if width == 8:
        for i in range(at, at + ORDERED - 1):
            steps |= <uint64_t>load_integer(values, 8, i + 1) - <uint64_t>load_integer(values, 8, i)
    else:
        for i in range(at, at + ORDERED - 1):
            steps |= <uint64_t>load_integer(values, 4, i + 1) - <uint64_t>load_integer(values, 4, i)
    # Steps that are small may still lead from the greatest integer to the least one.
    return steps >> MOST_STEP_BITS == 0 and load_integer(values, width, at) <= load_integer(values, width, at + ORDERED - 1)


cdef int64_t first_value(const uint8_t *values, int width, int64_t low, int64_t high, int64_t value) noexcept nogil:
    """The place of the first of values that ascend, from ``low`` to below ``high``, that is not less."""
    cdef int64_t middle
    while low < high:
        middle = (low + high) // 2
        if load_integer(values, width, middle) < value:
            low = middle + 1
        else:
            high = middle
    return low


cdef int64_t lower_bound(const int64_t *keys, int64_t low, int64_t high, int64_t value) noexcept nogil:
    """The number of the first key, from ``low`` to below ``high``, that is not less."""
    return first_value(<const uint8_t *>keys, 8, low, high, value)


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
