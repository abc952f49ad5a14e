"""Values of Parquet data pages: definition levels, codes of a dictionary, and values of one width. See ``page_values``.

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

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

import numpy as np

from tableformats._core.arrays cimport expect
from tableformats.io.parquet._page_heads cimport PageHead

cdef extern from "tf_bytes.h" nogil:
    uint32_t tf_load32(const uint8_t *p)
    uint64_t tf_load64(const uint8_t *p)

cdef enum:
    DATA_PAGE = 0
    PLAIN = 0
    LENGTH_BYTES = 4


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


cdef int64_t decode_levels(const uint8_t *data, int64_t size, uint8_t *out, int64_t rows) noexcept nogil:
    """Definition levels of 0 and 1: how many are 1; -1 - n where the bytes end after n rows."""
    cdef int64_t at = 0, done = 0, run, i, total = 0
    cdef uint32_t value = 0
    while done < rows:
        run = read_run(data, size, &at, 1, &value)
        if run == 0:
            return -1 - done
        if run > 0:
            run = min(run, rows - done)
            memset(out + done, value & 1, run)
            total += run * (value & 1)
        else:
            run = min(-run, rows - done)
            if at + (run + 7) // 8 > size:
                return -1 - done
            for i in range(run):
                out[done + i] = data[at + (i >> 3)] >> (i & 7) & 1
                total += out[done + i]
            at += (run + 7) >> 3
        done += run
    return total


cdef int64_t decode_codes(const uint8_t *data, int64_t size, uint32_t *out, int64_t count) noexcept nogil:
    """Codes behind a byte with their width: how many there are, up to ``count``; -1: no codes have that width."""
    cdef int64_t at = 1, done = 0, run, i
    cdef uint32_t value = 0
    if count == 0:
        return 0
    cdef int bits = data[0] if size else 33
    if bits > 32:
        return -1
    cdef uint64_t mask = (<uint64_t>1 << bits) - 1
    while done < count:
        run = read_run(data, size, &at, bits, &value)
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
                out[done + i] = <uint32_t>(load_bits(data, size, 8 * at + i * bits) & mask)
            at += (run * bits + 7) >> 3
        done += run
    return done


cdef int64_t expect_levels(int64_t found, int64_t rows) except -1:
    if found < 0:
        raise ValueError(f"the definition levels of a page end after {-1 - found} of {rows} rows")
    return found


cdef int expect_codes(int64_t found, int64_t count) except -1:
    if found < 0:
        raise ValueError("the codes of a page have more than 32 bits")
    if found < count:
        raise ValueError(f"the codes of a page end after {found} of {count} values")
    return 0


def read_levels(const uint8_t[::1] data not None, uint8_t[::1] out not None):
    """Definition levels of a column that is not nested: ``out`` (uint8[rows]) gets them; returns how many are 1."""
    cdef int64_t size = data.shape[0], rows = out.shape[0], found
    cdef const uint8_t *source = &data[0] if size else NULL
    cdef uint8_t *target = &out[0] if rows else NULL
    with nogil:
        found = decode_levels(source, size, target, rows)
    return expect_levels(found, rows)


def read_codes(const uint8_t[::1] data not None, uint32_t[::1] out not None):
    """Codes of a dictionary, behind a byte with their width: ``out`` (uint32[n]) gets them."""
    cdef int64_t size = data.shape[0], count = out.shape[0], found
    cdef const uint8_t *source = &data[0] if size else NULL
    cdef uint32_t *target = &out[0] if count else NULL
    with nogil:
        found = decode_codes(source, size, target, count)
    expect_codes(found, count)


def decompress_pages(list pages not None, object into not None, uint8_t[::1] room not None):
    """Decompress what follows the levels of each page, a :class:`PageHead`, into ``room``: one after another.

    Parameters
    ----------
    into : callable
        Takes stored bytes and where these go before compression; returns how many bytes it made.
    room : uint8[n]
        What each page has before compression; ``page.cached`` becomes its part.
    """
    cdef PageHead page
    cdef object whole = memoryview(room), part, stored
    cdef Py_ssize_t at = 0, stop
    for page in pages:
        stop = at + page.size - page.level_bytes
        part = whole[at:stop]
        stored = memoryview(page.block)[page.body_start + page.level_bytes : page.stop]
        made = into(stored, part)
        if made != stop - at:
            raise ValueError(f"a page has {made} bytes where its head says {stop - at}")
        page.cached = part
        at = stop
    expect(room.shape[0], at, "room")


cdef struct Values:
    const uint8_t *data
    int64_t size, count


cdef Values values_of(PageHead page, const uint8_t[::1] body, bint is_optional, uint8_t *levels) except *:
    """The bytes of a page's values, and how many are no NULL. ``levels`` gets those of the page, where it has any."""
    cdef Values found
    found.size, found.count = body.shape[0], page.rows
    found.data = &body[0] if found.size else NULL
    if not is_optional:
        return found
    cdef const uint8_t *source = page.block
    cdef int64_t size = page.level_bytes - page.repetition_bytes
    if page.kind == DATA_PAGE:
        size = tf_load32(found.data) if found.size >= LENGTH_BYTES else found.size
        if size > found.size - LENGTH_BYTES:
            raise ValueError("the levels of a page are longer than the page")
        source = found.data + LENGTH_BYTES
        found.data = source + size
        found.size -= LENGTH_BYTES + size
    else:
        source += page.body_start + page.repetition_bytes
    with nogil:
        found.count = decode_levels(source, size, levels, page.rows)
    expect_levels(found.count, page.rows)
    return found


def read_fixed_width(list pages not None, bint is_optional, int width, const uint8_t[::1] entries not None,
                     uint8_t[::1] out not None, uint8_t[::1] levels not None):
    """The values, of 4 or 8 bytes each, of pages that are PLAIN or codes of a dictionary; returns how many are NULL.

    Parameters
    ----------
    pages : list of PageHead
        ``cached`` holds what follows the levels, before compression.
    is_optional : bool
        Whether the pages have definition levels.
    entries : uint8[n * width]
        The values of the dictionary.
    out : uint8[rows * width]
        Gets the values of all pages; that of NULL is 0.
    levels : uint8[rows]
        Gets 0 for each row that is NULL, where one is.
    """
    if width not in (4, 8):
        raise ValueError("width must be 4 or 8")
    expect(out.shape[0], levels.shape[0] * width, "out")
    cdef int64_t rows = levels.shape[0], row = 0, nulls = 0, most = 0, done = 0
    cdef uint32_t count = <uint32_t>min(entries.shape[0] // width, 0xFFFFFFFF)
    cdef const uint8_t *entry = &entries[0] if count else NULL
    cdef const uint8_t[::1] body
    cdef PageHead page
    cdef Values found
    for page in pages:
        most = max(most, page.rows)
    cdef uint32_t[::1] codes = np.empty(max(most, 1), np.uint32)
    for page in pages:
        if page.rows == 0:
            continue
        if page.rows > rows - row:
            raise ValueError(f"pages have more than {rows} rows")
        if page.cached is None:
            raise ValueError("a page was not decompressed")
        body = page.cached
        found = values_of(page, body, is_optional, &levels[row])
        if page.encoding == PLAIN:
            with nogil:
                done = copy_plain(&found, page.rows, width, &levels[row], &out[row * width])
            if done < page.rows:
                raise ValueError(f"the values of a page end after {done} of {page.rows} rows")
        else:
            with nogil:
                done = decode_codes(found.data, found.size, &codes[0], found.count)
            expect_codes(done, found.count)
            with nogil:
                done = copy_coded(&codes[0], found.count, entry, count, page.rows, width, &levels[row],
                                  &out[row * width])
            if done < page.rows:
                raise ValueError(f"row {done} of a page has no code of its dictionary of {count} values")
        nulls += page.rows - found.count
        row += page.rows
    expect(rows, row, "levels")
    return nulls


cdef int64_t copy_plain(const Values *values, int64_t rows, int width, const uint8_t *defined,
                        uint8_t *out) noexcept nogil:
    """The values one after another, or where a row has one; how many rows are read."""
    cdef int64_t i, at = 0
    if values.count == rows:
        i = min(rows, values.size // width)
        if i:
            memcpy(out, values.data, i * width)
        return i
    memset(out, 0, rows * width)
    for i in range(rows):
        if defined[i]:
            if values.size - at < width:
                return i
            memcpy(out + i * width, values.data + at, width)
            at += width
    return rows


cdef int64_t copy_coded(const uint32_t *codes, int64_t coded, const uint8_t *entries, uint32_t count, int64_t rows,
                        int width, const uint8_t *defined, uint8_t *out) noexcept nogil:
    """The entries of the codes one after another, or where a row has one; how many rows are read."""
    cdef int64_t i, at = 0
    cdef uint32_t greatest = 0
    for i in range(coded):
        greatest = max(greatest, codes[i])
    if coded == rows and greatest < count:
        if width == 8:
            for i in range(rows):
                memcpy(out + i * 8, entries + <int64_t>codes[i] * 8, 8)
        else:
            for i in range(rows):
                memcpy(out + i * 4, entries + <int64_t>codes[i] * 4, 4)
        return rows
    memset(out, 0, rows * width)
    for i in range(rows):
        if coded == rows or defined[i]:
            if codes[at] >= count:
                return i
            memcpy(out + i * width, entries + <int64_t>codes[at] * width, width)
            at += 1
    return rows
