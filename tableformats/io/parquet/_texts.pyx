"""Texts of Parquet data pages: where each is, and copies of some of them one behind another. See ``parquet.texts``.

Parameters, everywhere
----------------------
defined : uint8[rows] or None
    1 where a row has a value, 0 where it is NULL. None: all rows have one.
chosen : uint8[rows] or None
    1 for the rows that are wanted. None: all are.
starts, ends : int64[n], int64[n + 1]
    For each wanted row, where its bytes begin (0 for NULL), and how many bytes there are up to its end. ``ends[0]`` is
    given: the bytes of the rows before these.

Raises, everywhere
------------------
ValueError
    The bytes are damaged, or an array has another length than it must have.

Notes
-----
Cost: O(rows) and O(bytes copied), with the GIL released. Nothing outside of the arrays is read or written, whatever
the bytes are. Source: Parquet format, Encodings.md, "Plain", "Dictionary Encoding" and "Run Length Encoding /
Bit-Packing Hybrid".
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from tableformats._core.arrays cimport expect

cdef extern from "tf_bytes.h" nogil:
    uint32_t tf_load32(const uint8_t *p)
    uint64_t tf_load64(const uint8_t *p)

cdef enum:
    # Texts of so many bytes are copied as a block of that size, where there is room on both sides.
    BLOCK = 16


cdef inline uint64_t load_bits(const uint8_t *data, int64_t size, int64_t bit) noexcept nogil:
    """The 57 bits or more from ``bit`` on; those past the end are 0."""
    cdef int64_t at = bit >> 3
    cdef uint64_t found = 0
    cdef int i
    if at + 8 <= size:
        return tf_load64(data + at) >> (bit & 7)
    for i in range(8):
        if at + i < size:
            found |= <uint64_t>data[at + i] << 8 * i
    return found >> (bit & 7)


cdef int64_t read_run(const uint8_t *data, int64_t size, int64_t *at, int bits, uint32_t *value) noexcept nogil:
    """Read the head of a run; returns its values, negative for a bit-packed one, 0 where the bytes end.

    A repeated value goes to ``value``. ``at`` is then behind the head, and behind the repeated value.
    """
    cdef uint64_t head = 0
    cdef int shift = 0, i
    cdef int octets = (bits + 7) >> 3
    while True:
        if at[0] >= size or shift > 28:
            return 0
        head |= <uint64_t>(data[at[0]] & 0x7F) << shift
        at[0] += 1
        if not data[at[0] - 1] & 0x80:
            break
        shift += 7
    if head >> 1 > 0x7FFFFFFF // 8:
        return 0
    if head & 1:
        return -<int64_t>(head >> 1) * 8
    if at[0] + octets > size:
        return 0
    value[0] = 0
    for i in range(octets):
        value[0] |= <uint32_t>data[at[0] + i] << 8 * i
    at[0] += octets
    return <int64_t>(head >> 1)


def read_levels(const uint8_t[::1] data not None, uint8_t[::1] out not None):
    """Definition levels of a column that is not nested: ``out`` (uint8[rows]) gets them; returns how many are 1."""
    cdef int64_t size = data.shape[0], rows = out.shape[0], at = 0, done = 0, run, i, total = 0
    cdef const uint8_t *source = &data[0] if size else NULL
    cdef uint32_t value = 0
    with nogil:
        while done < rows:
            run = read_run(source, size, &at, 1, &value)
            if run == 0:
                break
            if run > 0:
                run = min(run, rows - done)
                memset(&out[done], value & 1, run)
                total += run * (value & 1)
            else:
                run = min(-run, rows - done)
                if at + (run + 7) // 8 > size:
                    break
                for i in range(run):
                    out[done + i] = source[at + (i >> 3)] >> (i & 7) & 1
                    total += out[done + i]
                at += (run + 7) >> 3
            done += run
    if done < rows:
        raise ValueError(f"the definition levels of a page end after {done} of {rows} rows")
    return total


def read_codes(const uint8_t[::1] data not None, uint32_t[::1] out not None):
    """Codes of a dictionary, behind a byte with their width: ``out`` (uint32[n]) gets them."""
    cdef int64_t size = data.shape[0], count = out.shape[0], at = 1, done = 0, run, i
    if count == 0:
        return
    cdef int bits = data[0] if size else 33
    if bits > 32:
        raise ValueError("the codes of a page have more than 32 bits")
    cdef const uint8_t *source = &data[0]
    cdef uint64_t mask = (<uint64_t>1 << bits) - 1
    cdef uint32_t value = 0
    with nogil:
        while done < count:
            run = read_run(source, size, &at, bits, &value)
            if run == 0:
                break
            if run > 0:
                run = min(run, count - done)
                for i in range(run):
                    out[done + i] = value
            else:
                run = min(-run, count - done)
                if at + (run * bits + 7) // 8 > size:
                    break
                for i in range(run):
                    out[done + i] = <uint32_t>(load_bits(source, size, 8 * at + i * bits) & mask)
                at += (run * bits + 7) >> 3
            done += run
    if done < count:
        raise ValueError(f"the codes of a page end after {done} of {count} values")


cdef int expect_rows(const uint8_t[::1] defined, const uint8_t[::1] chosen, Py_ssize_t rows) except -1:
    if defined is not None:
        expect(defined.shape[0], rows, "defined")
    if chosen is not None:
        expect(chosen.shape[0], rows, "chosen")
    return 0


def plain_places(const uint8_t[::1] values not None, Py_ssize_t rows, const uint8_t[::1] defined,
                 const uint8_t[::1] chosen, int64_t[::1] starts not None, int64_t[::1] ends not None):
    """Where the texts of a PLAIN page are in ``values``."""
    expect_rows(defined, chosen, rows)
    expect(ends.shape[0], starts.shape[0] + 1, "ends")
    cdef const uint8_t *source = &values[0] if values.shape[0] else NULL
    cdef const uint8_t *is_defined = &defined[0] if defined is not None and rows else NULL
    cdef const uint8_t *is_chosen = &chosen[0] if chosen is not None and rows else NULL
    cdef int64_t size = values.shape[0], at = 0, length, total = ends[0]
    cdef Py_ssize_t i, found = 0, wanted = starts.shape[0]
    cdef bint ends_early = False
    with nogil:
        for i in range(rows):
            if is_defined != NULL and not is_defined[i]:
                length = 0
            else:
                if size - at < 4:
                    ends_early = True
                    break
                length = tf_load32(source + at)
                at += 4
                if length > size - at:
                    ends_early = True
                    break
            if is_chosen == NULL or is_chosen[i]:
                total += length
                if found < wanted:
                    starts[found] = at if length else 0
                    ends[found + 1] = total
                found += 1
            at += length
    if ends_early:
        raise ValueError(f"the texts of a page end after {i} of {rows} rows")
    expect(wanted, found, "starts")


def coded_places(const uint32_t[::1] codes not None, const int64_t[::1] entry_starts not None,
                 const int64_t[::1] entry_ends not None, Py_ssize_t rows, const uint8_t[::1] defined,
                 const uint8_t[::1] chosen, int64_t[::1] starts not None, int64_t[::1] ends not None):
    """Where the texts of a page of codes are in the dictionary, whose texts have ``entry_starts`` and ``entry_ends``."""
    expect_rows(defined, chosen, rows)
    expect(ends.shape[0], starts.shape[0] + 1, "ends")
    expect(entry_ends.shape[0], entry_starts.shape[0] + 1, "entry_ends")
    cdef const uint8_t *is_defined = &defined[0] if defined is not None and rows else NULL
    cdef const uint8_t *is_chosen = &chosen[0] if chosen is not None and rows else NULL
    cdef Py_ssize_t i, at = 0, found = 0, wanted = starts.shape[0], coded = codes.shape[0]
    cdef int64_t total = ends[0], entries = entry_starts.shape[0], code = 0
    cdef bint has_value, is_wrong = False
    with nogil:
        for i in range(rows):
            has_value = is_defined == NULL or is_defined[i]
            if has_value:
                if at >= coded or codes[at] >= entries:
                    is_wrong = True
                    break
                code = codes[at]
                at += 1
            if is_chosen == NULL or is_chosen[i]:
                if has_value:
                    total += entry_ends[code + 1] - entry_ends[code]
                if found < wanted:
                    starts[found] = entry_starts[code] if has_value else 0
                    ends[found + 1] = total
                found += 1
    if is_wrong:
        raise ValueError(f"row {i} of a page has no code of its dictionary of {entries} texts")
    expect(wanted, found, "starts")


def copy_texts(const uint8_t[::1] values not None, const int64_t[::1] starts not None,
               const int64_t[::1] ends not None, uint8_t[::1] out not None):
    """``out`` gets the texts one behind another, which fill it."""
    expect(ends.shape[0], starts.shape[0] + 1, "ends")
    cdef int64_t size = values.shape[0], room = out.shape[0], at = 0, start, length
    cdef const uint8_t *source = &values[0] if size else NULL
    cdef uint8_t *target = &out[0] if room else NULL
    cdef Py_ssize_t i, count = starts.shape[0]
    cdef bint is_outside = False
    with nogil:
        for i in range(count):
            start = starts[i]
            length = ends[i + 1] - ends[i]
            if length == 0:
                continue
            if length < 0 or start < 0 or start > size - length or length > room - at:
                is_outside = True
                break
            if length <= BLOCK and start + BLOCK <= size and at + BLOCK <= room:
                memcpy(target + at, source + start, BLOCK)
            else:
                memcpy(target + at, source + start, length)
            at += length
    if is_outside or at != room:
        raise ValueError(f"the texts do not fill {room} bytes")
