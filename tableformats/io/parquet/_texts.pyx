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
the bytes are. Source: Parquet format, Encodings.md, "Plain" and "Dictionary Encoding".
"""

from cython.view cimport array
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memcpy

from tableformats._core.arrays cimport expect
from tableformats.io.parquet._page_heads cimport PageHead

cdef extern from "tf_bytes.h" nogil:
    uint32_t tf_load32(const uint8_t *p)

cdef enum:
    # Texts of so many bytes are copied as a block of that size, where there is room on both sides.
    BLOCK = 16


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


cdef struct Copied:
    # Where texts go, how many bytes there are and have been written, where the end of the next one goes, and how many
    # texts are still expected.
    uint8_t *target
    int64_t room, total
    int32_t *ends
    Py_ssize_t left


cdef struct Values:
    # The bytes of a page's values, and its rows.
    const uint8_t *data
    int64_t size
    Py_ssize_t rows


cdef object values_at(Values *values, PageHead page, int64_t start):
    """Set ``values`` to those of a page; returns what keeps them in memory."""
    cdef object kept = page.cached
    cdef const uint8_t[::1] body = kept
    if body is None or not 0 <= start <= body.shape[0]:
        raise ValueError("a page was not decompressed, or its values begin outside of it")
    values.data = &body[0] + start if body.shape[0] else NULL
    values.size, values.rows = body.shape[0] - start, page.rows
    return kept


cdef Py_ssize_t copy_page(Copied *copied, const Values *values, const uint8_t *defined,
                          const uint8_t *chosen) noexcept nogil:
    """Copy the wanted texts of a PLAIN page; returns how many rows there were before the bytes or the room ended."""
    cdef const uint8_t *source = values.data
    cdef uint8_t *target = copied.target
    cdef int32_t *ends = copied.ends
    cdef int64_t size = values.size, room = copied.room, total = copied.total, at = 0, length
    cdef Py_ssize_t i = 0, found = 0, left = copied.left
    cdef bint is_wanted
    while i < values.rows:
        length = 0
        if defined == NULL or defined[i]:
            if size - at < 4:
                break
            length = tf_load32(source + at)
            at += 4
            if length > size - at:
                break
        is_wanted = chosen == NULL or chosen[i]
        # A block is copied and then kept or not: which rows are wanted cannot be predicted.
        if length <= BLOCK and at + BLOCK <= size and total + BLOCK <= room:
            memcpy(target + total, source + at, BLOCK)
        elif is_wanted and length:
            if length > room - total:
                break
            memcpy(target + total, source + at, length)
        total += length * is_wanted
        if found < left:
            ends[found] = <int32_t>total
        found += is_wanted
        at += length
        i += 1
    copied.total, copied.left = total, left - found
    copied.ends = ends + min(found, left)
    return i


def plain_texts(list pages not None, const int64_t[::1] starts not None, const uint8_t[::1] defined,
                const uint8_t[::1] chosen, int32_t[::1] offsets not None, uint8_t[::1] out not None):
    """Copy the wanted texts of PLAIN pages to ``out``, one behind another.

    Parameters
    ----------
    pages : list of PageHead
        ``cached`` holds what follows the levels that are not compressed, before compression.
    starts : int64[n]
        Where the values of each page begin in it.
    offsets : int32[wanted + 1]
        Gets where each text begins in ``out``, and where the last one ends. The first is given.
    out : uint8[any]
        What follows the texts is arbitrary.
    """
    cdef Py_ssize_t i = 0, n = len(pages), rows = 0, done = 0, at = 0
    cdef PageHead page
    for page in pages:
        rows += <Py_ssize_t>page.rows
    expect(starts.shape[0], n, "starts")
    expect_rows(defined, chosen, rows)
    cdef const uint8_t *is_defined = &defined[0] if defined is not None and rows else NULL
    cdef const uint8_t *is_chosen = &chosen[0] if chosen is not None and rows else NULL
    cdef Py_ssize_t wanted = offsets.shape[0] - 1
    if wanted < 0:
        raise ValueError("offsets has 0 entries where at least 1 is needed")
    cdef uint8_t *target = &out[0] if out.shape[0] else NULL
    cdef Copied copied = Copied(target, out.shape[0], offsets[0], &offsets[0] + 1, wanted)
    if not 0 <= copied.total <= copied.room <= 0x7FFFFFFF:
        raise ValueError("out has no room for offsets of 32 bits")
    cdef array places = array(shape=(max(n, 1),), itemsize=sizeof(Values), format="B")
    cdef Values *values = <Values *>places.data
    bodies = [values_at(&values[i], pages[i], starts[i]) for i in range(n)]
    with nogil:
        for i in range(n):
            done = copy_page(&copied, &values[i], is_defined + at if is_defined != NULL else NULL,
                             is_chosen + at if is_chosen != NULL else NULL)
            if done < values[i].rows:
                break
            at += done
    if at < rows:
        raise ValueError(f"the texts of a page end after {done} of {values[i].rows} rows")
    expect(wanted, wanted - copied.left, "offsets")


def coded_places(const uint32_t[::1] codes not None, const int64_t[::1] entry_starts not None,
                 const int64_t[::1] entry_ends not None, Py_ssize_t rows, const uint8_t[::1] defined,
                 const uint8_t[::1] chosen, int64_t[::1] starts not None, int64_t[::1] ends not None):
    """Where the texts of pages of codes are in the dictionary, whose texts have ``entry_starts`` and ``entry_ends``."""
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
        raise ValueError(f"row {i} of some pages has no code of their dictionary of {entries} texts")
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
