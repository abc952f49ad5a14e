"""Values of Parquet data pages: where they are, and those of one width. See ``page_values`` and ``fixed_width``.

Raises, everywhere
------------------
ValueError
    The bytes are damaged, or an array has another length than it must have.

Notes
-----
Cost: O(rows) and O(bytes copied), with the GIL released but for a few steps of each page. Nothing outside of the arrays
is read or written, whatever the bytes are. Source: Parquet format, Encodings.md, "Plain" and "Dictionary Encoding";
README.md, "Data Pages".
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.string cimport memcpy, memmove, memset

import numpy as np

from tableformats.columnar.arrays import scratch

from tableformats._core.arrays cimport expect
from tableformats.io.parquet._key_drop cimport KeyDrop
from tableformats.io.parquet._page_heads cimport PageHead
from tableformats.io.parquet._rle cimport decode_codes, decode_levels, expect_codes, expect_levels

cdef extern from "tf_bytes.h" nogil:
    uint32_t tf_load32(const uint8_t *p)

cdef enum:
    DATA_PAGE = 0
    PLAIN = 0
    LENGTH_BYTES = 4
    CODE_BYTES = 4
    # The levels of a page without NULLs take fewer bytes.
    MOST_PREFIX = 16
    # So many values are copied one by one: to call memcpy takes longer.
    FEW = 16
    NOWHERE = -1
    # The levels of fewer rows are decoded with the GIL held: most are one run, which is a call of memset.
    MANY_ROWS = 1 << 16
    # So few are copied as a block of so many, where there is room: how long a short run is cannot be predicted.
    BLOCK = 4


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
    cdef object whole = memoryview(room)
    cdef Py_ssize_t at = 0, stop
    for page in pages:
        stop = at + page.size - page.level_bytes
        page.cached = decompressed(page, into, whole[at:stop])
        at = stop
    expect(room.shape[0], at, "room")


cdef object decompressed(PageHead page, object into, object room):
    """``room``, filled with what follows the levels of a page."""
    made = into(memoryview(page.block)[page.body_start + page.level_bytes : page.stop], room)
    if made != len(room):
        raise ValueError(f"a page has {made} bytes where its head says {len(room)}")
    return room


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
    cdef const uint8_t *source = &page.octets[0]
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
    if page.rows > MANY_ROWS:
        with nogil:
            found.count = decode_levels(source, size, levels, page.rows)
    else:
        found.count = decode_levels(source, size, levels, page.rows)
    expect_levels(found.count, page.rows)
    return found


def find_values(list pages not None, bint is_optional, int64_t[::1] starts not None, int64_t[::1] counts not None,
                uint8_t[::1] levels not None):
    """Where the values of pages begin, and how many there are.

    Parameters
    ----------
    pages : list of PageHead
        ``cached`` holds what follows the levels that are not compressed, before compression.
    is_optional : bool
        Whether the pages have definition levels.
    starts, counts : int64[n]
        Get for each page where its values begin in ``cached``, and how many of its rows are no NULL.
    levels : uint8[rows], or uint8[0] where the pages have none
        Gets 0 for each row that is NULL, 1 for the others.
    """
    cdef PageHead page
    cdef const uint8_t[::1] body
    cdef Values found
    cdef int64_t rows = 0
    cdef Py_ssize_t i, count = len(pages)
    for page in pages:
        rows += page.rows
    expect(starts.shape[0], count, "starts")
    expect(counts.shape[0], count, "counts")
    expect(levels.shape[0], rows if is_optional else 0, "levels")
    cdef uint8_t *target = &levels[0] if levels.shape[0] else NULL
    for i in range(count):
        page = pages[i]
        body = page.cached
        if body is None:
            raise ValueError("a page was not decompressed")
        found = values_of(page, body, is_optional, target)
        starts[i], counts[i] = body.shape[0] - found.size, found.count
        if target != NULL:
            target += page.rows


cdef class _Opener:
    """Gets at what follows the levels of pages, before compression; some are decompressed to a place of ``out``."""

    cdef object into, whole, room
    cdef uint8_t[::1] out
    cdef const uint8_t[::1] body
    cdef uint8_t saved[MOST_PREFIX]
    cdef int64_t place, prefix
    cdef int width
    # Whether the values of the page are at that place.
    cdef bint is_there

    def __cinit__(self, object into, uint8_t[::1] out, int width):
        self.into, self.out, self.whole, self.room, self.width = into, out, memoryview(out), memoryview(b""), width

    cdef int open(self, PageHead page, int64_t place) except -1:
        """``body`` is then what follows the levels, until the next page is opened.

        ``place``: where in ``out`` the values of all rows may go; NOWHERE: there is none.
        """
        cdef int64_t size = page.size - page.level_bytes
        self.is_there = False
        if page.cached is not None:
            self.body = page.cached
            return 0
        if self.into is None:
            raise ValueError("a page was not decompressed")
        self.place, self.prefix = place, size - <int64_t>page.rows * self.width
        # Whether it looks as if its values could be decompressed to their place: the page has as many as rows.
        if place != NOWHERE and 0 <= self.prefix <= min(place, MOST_PREFIX):
            self.is_there = True
            if self.prefix:
                memcpy(self.saved, &self.out[place - self.prefix], self.prefix)
            self.body = decompressed(page, self.into, self.whole[place - self.prefix : place - self.prefix + size])
            return 0
        if len(self.room) < size:
            self.room = memoryview(scratch(size, np.uint8))
        self.body = decompressed(page, self.into, self.room[:size])
        return 0

    cdef Values values(self, PageHead page, bint is_optional, uint8_t *levels) except *:
        """The values of the page that was opened, and its levels."""
        cdef Values found = values_of(page, self.body, is_optional, levels)
        if self.is_there:
            self.is_there = found.count == page.rows and found.data == &self.out[self.place]
            if not self.is_there:  # the page has NULLs, which happen to make it as long
                self.body = bytes(self.body)
                found = values_of(page, self.body, is_optional, levels)
            if self.prefix:
                memcpy(&self.out[self.place - self.prefix], self.saved, self.prefix)
        return found


cdef struct Stored:
    # The values of a page: one of ``width`` bytes for each code, or, where ``codes`` is NULL, one after another.
    const uint8_t *data
    const uint32_t *codes
    int width
    # How many rows the page has, and how many of them are no NULL.
    int64_t rows, count


cdef class _Rows:
    """The wanted rows of pages: they go to a place in memory, page after page."""

    cdef const int64_t[:, ::1] runs
    cdef uint8_t[::1] levels
    cdef uint8_t *target
    cdef Py_ssize_t run
    # How many there are, the first row of the page, how many were taken, and how many of these are NULL.
    cdef int64_t wanted, first, done, nulls
    cdef bint has_levels

    cdef bint takes_most(self, int64_t rows) noexcept:
        """Whether most of the next page's rows are wanted, and there is room for all of them."""
        cdef int64_t total = 0, start, stop
        cdef Py_ssize_t run = self.run
        if self.done + rows > self.wanted:
            return False
        while run < self.runs.shape[0] and self.runs[run, 0] < self.first + rows:
            start, stop = max(self.runs[run, 0], self.first), min(self.runs[run, 1], self.first + rows)
            total += max(stop - start, 0)
            run += 1
        return 4 * total >= 3 * rows

    cdef void take(self, const Stored *stored, const uint8_t *defined, bint is_there) noexcept nogil:
        """Take the rows of the next page. ``is_there``: its values are already where those of all its rows would go."""
        cdef int64_t at = 0, start = 0, done = self.done, stop, first = self.first, end = first + stored.rows
        cdef int width = stored.width
        cdef bint is_each = stored.count == stored.rows
        cdef uint8_t *target
        while self.run < self.runs.shape[0] and self.runs[self.run, 0] < end:
            stop = max(self.runs[self.run, 0] - first, start)
            if not is_each:
                at += count_ones(defined + start, stop - start)
            start, stop = stop, min(self.runs[self.run, 1] - first, stored.rows)
            target = self.target + done * width
            if is_there:
                memmove(target, stored.data + start * width, (stop - start) * width)
            elif is_each:
                copy_values(stored, start, stop, target, self.wanted - done)
            else:
                at = copy_defined(stored, at, defined + start, stop - start, target)
            if self.has_levels or not is_each:
                self.take_levels(defined, start, stop, done, is_each)
            done += stop - start
            start = stop
            if self.runs[self.run, 1] > end:
                break
            self.run += 1
        self.done, self.first = done, end

    cdef void take_levels(self, const uint8_t *defined, int64_t start, int64_t stop, int64_t done,
                          bint is_each) noexcept nogil:
        """Those of some rows of a page, from the first NULL on: memory that is not written takes no time."""
        if not self.has_levels:
            memset(&self.levels[0], 1, done)
            self.has_levels = True
        if is_each:
            memset(&self.levels[done], 1, stop - start)
        else:
            memcpy(&self.levels[done], defined + start, stop - start)
            self.nulls += stop - start - count_ones(defined + start, stop - start)


def read_fixed_width(list pages not None, object into, bint is_optional, int width,
                     const uint8_t[::1] entries not None, const int64_t[:, ::1] runs not None,
                     uint8_t[::1] out not None, uint8_t[::1] levels not None):
    """Some values, of 4 or 8 bytes each, of pages that are PLAIN or codes of a dictionary; returns how many are NULL.

    Parameters
    ----------
    pages : list of PageHead
        ``cached`` holds what follows the levels, before compression, where that is kept.
    into : callable or None
        As of :func:`decompress_pages`: decompresses the pages for which it is not kept. None: there are none.
    is_optional : bool
        Whether the pages have definition levels.
    entries : uint8[n * width]
        The values of the dictionary.
    runs : int64[k, 2]
        The rows that are wanted, counted from the first one of the first page: of each run the first row, and that
        after the last one; ascending, apart.
    out : uint8[any + wanted * width]
        The end gets their values; that of NULL is 0. What is before it is arbitrary. With a few bytes there, for the
        levels of a page, most pages are decompressed to where their values go.
    levels : uint8[wanted]
        Where a row is NULL: gets 0 for each one that is, 1 for the others. Otherwise it is left as it is.
    """
    if width not in (4, 8):
        raise ValueError("width must be 4 or 8")
    cdef int64_t count = entries.shape[0] // width
    return read_pages(pages, into, is_optional, width, &entries[0] if count else NULL, count, runs, out, levels)


def read_integers_without(list pages not None, object into, bint is_optional, int width,
                          const uint8_t[::1] entries not None, const int64_t[:, ::1] runs not None,
                          uint8_t[::1] out not None, uint8_t[::1] levels not None, tuple keys not None,
                          int64_t[::1] places not None):
    """As :func:`read_fixed_width`, without the integers that are keys.

    Returns how many of these there are, and whether a row is NULL.

    Parameters
    ----------
    keys : tuple
        ``bits``, ``least``, ``multiplier`` and ``shift`` of :mod:`tableformats._core.key_filter`, and the keys:
        int64[k], ascending.
    places : int64[wanted + 1]
        Begins with which of the wanted rows are left out, ascending; what follows is arbitrary.
    """
    if width not in (4, 8):
        raise ValueError("width must be 4 or 8")
    expect(places.shape[0], levels.shape[0] + 1, "places")
    cdef int64_t count = entries.shape[0] // width
    cdef KeyDrop drop = KeyDrop(keys, places)
    nulls = read_pages(pages, into, is_optional, width, &entries[0] if count else NULL, count, runs, out, levels, drop)
    return drop.count, nulls > 0


def read_coded_rows(list pages not None, object into, bint is_optional, int64_t entry_count,
                    const int64_t[:, ::1] runs not None, uint8_t[::1] out not None, uint8_t[::1] levels not None):
    """As :func:`read_fixed_width`, but ``out`` gets codes of 4 bytes, each below ``entry_count``. No page is PLAIN."""
    cdef PageHead page
    for page in pages:
        if page.encoding == PLAIN:
            raise ValueError("a page has no codes")
    return read_pages(pages, into, is_optional, CODE_BYTES, NULL, entry_count, runs, out, levels)


cdef int64_t read_pages(list pages, object into, bint is_optional, int width, const uint8_t *entries,
                        int64_t entry_count, const int64_t[:, ::1] runs, uint8_t[::1] out, uint8_t[::1] levels,
                        KeyDrop drop=None) except -1:
    """The values of pages, of so many bytes each; or their codes, where there are no entries.

    With ``drop``, the rows that it finds are left out; the values of the others begin where all would.
    """
    cdef int64_t front = out.shape[0] - levels.shape[0] * width, most = 1, before, place
    if front < 0:
        expect(out.shape[0], levels.shape[0] * width, "out")
    expect(runs.shape[1], 2, "runs")
    cdef _Rows rows = _Rows()
    rows.runs, rows.levels, rows.wanted = runs, levels, expect_runs(runs)
    expect(levels.shape[0], rows.wanted, "levels")
    rows.target = &out[front] if rows.wanted else NULL
    cdef PageHead page
    for page in pages:
        most = max(most, page.rows)
    cdef uint32_t[::1] codes = np.empty(most, np.uint32)
    cdef uint8_t[::1] defined = np.empty(most, np.uint8)
    cdef _Opener opener = _Opener(into, out, width)
    cdef Stored stored
    for page in pages:
        if page.rows == 0:
            continue
        place = front + rows.done * width
        # The runs of a page are counted only where the answer matters.
        if page.cached is not None or page.encoding != PLAIN or not rows.takes_most(page.rows):
            place = NOWHERE
        opener.open(page, place)
        found = opener.values(page, is_optional, &defined[0])
        stored = stored_of(page, found, width, entries, entry_count, &codes[0], &defined[0])
        before = rows.done
        with nogil:
            rows.take(&stored, &defined[0], opener.is_there)
            if drop is not None:
                rows.done = drop.leave(rows.target, width, &levels[0] if rows.has_levels else NULL, before, rows.done)
    if rows.run < runs.shape[0]:
        raise ValueError(f"pages have only {rows.first} rows")
    return rows.nulls


cdef Stored stored_of(PageHead page, Values found, int width, const uint8_t *entries, int64_t entry_count,
                      uint32_t *codes, const uint8_t *defined) except *:
    """The values of a page, which has those that ``found`` says; ``codes`` gets its codes. Raises ValueError."""
    cdef Stored stored = Stored(found.data, NULL, width, page.rows, found.count)
    cdef int64_t good = found.size // width
    cdef bint is_each = found.count == page.rows
    if page.encoding == PLAIN:
        if good < found.count:
            raise ValueError(f"the values of a page end after {row_of_value(good, defined, is_each)} of {page.rows} rows")
        return stored
    cdef int64_t decoded
    with nogil:
        decoded = decode_codes(found.data, found.size, codes, found.count)
        good = code_outside(codes, max(decoded, 0), entry_count)
    expect_codes(decoded, found.count)
    if good < found.count:
        good = row_of_value(good, defined, is_each)
        raise ValueError(f"row {good} of a page has no code of its dictionary of {entry_count} values")
    stored.data = <const uint8_t *>codes
    if entries != NULL:
        stored.data, stored.codes = entries, codes
    return stored


cdef int64_t expect_runs(const int64_t[:, ::1] runs) except -1:
    """How many rows they have."""
    cdef int64_t last = 0, total = 0
    cdef Py_ssize_t i
    for i in range(runs.shape[0]):
        if runs[i, 0] < last or runs[i, 1] <= runs[i, 0]:
            raise ValueError(f"runs[{i}] does not ascend")
        last = runs[i, 1]
        total += last - runs[i, 0]
    return total


def mark_runs(const int64_t[:, ::1] runs not None, uint8_t[::1] out not None):
    """``out`` (uint8[rows]) gets 1 for the rows of ``runs`` (as of :func:`read_fixed_width`), 0 for the others."""
    expect(runs.shape[1], 2, "runs")
    expect_runs(runs)
    cdef Py_ssize_t i, count = runs.shape[0]
    if count and runs[count - 1, 1] > out.shape[0]:
        raise ValueError(f"runs go beyond {out.shape[0]} rows")
    if out.shape[0] == 0:
        return
    cdef uint8_t *target = &out[0]
    cdef int64_t last = 0
    with nogil:
        for i in range(count):
            memset(target + last, 0, runs[i, 0] - last)
            last = runs[i, 1]
            memset(target + runs[i, 0], 1, last - runs[i, 0])
        memset(target + last, 0, out.shape[0] - last)


cdef int64_t count_ones(const uint8_t *levels, int64_t count) noexcept nogil:
    cdef int64_t i, total = 0
    for i in range(count):
        total += levels[i]
    return total


cdef int64_t row_of_value(int64_t value, const uint8_t *defined, bint is_each) noexcept:
    """The row of a page that has its value number ``value``, from 0 on."""
    cdef int64_t row = 0
    if is_each:
        return value
    while value or not defined[row]:
        value -= defined[row]
        row += 1
    return row


cdef int64_t code_outside(const uint32_t *codes, int64_t count, int64_t entries) noexcept nogil:
    """The first of the codes that is of no entry; ``count``: all are."""
    cdef int64_t i
    cdef uint32_t greatest = 0
    for i in range(count):
        greatest = max(greatest, codes[i])
    if greatest < entries:
        return count
    for i in range(count):
        if codes[i] >= entries:
            return i
    return count


cdef inline void copy_values(const Stored *stored, int64_t start, int64_t stop, uint8_t *out,
                             int64_t room) noexcept nogil:
    """The values from ``start`` to below ``stop``. ``out`` has room for at least these.

    What follows them in ``out`` may be written over.
    """
    cdef int64_t i
    cdef const uint32_t *codes = stored.codes
    cdef const uint8_t *data = stored.data
    if codes == NULL and stop - start <= BLOCK and start + BLOCK <= stored.count and BLOCK <= room:
        if stored.width == 8:
            memcpy(out, data + start * 8, BLOCK * 8)
        else:
            memcpy(out, data + start * 4, BLOCK * 4)
    elif codes == NULL and stop - start > FEW:
        memcpy(out, data + start * stored.width, (stop - start) * stored.width)
    elif codes == NULL and stored.width == 8:
        for i in range(start, stop):
            memcpy(out + (i - start) * 8, data + i * 8, 8)
    elif codes == NULL:
        for i in range(start, stop):
            memcpy(out + (i - start) * 4, data + i * 4, 4)
    elif stored.width == 8:
        for i in range(start, stop):
            memcpy(out + (i - start) * 8, data + <int64_t>codes[i] * 8, 8)
    else:
        for i in range(start, stop):
            memcpy(out + (i - start) * 4, data + <int64_t>codes[i] * 4, 4)


cdef int64_t copy_defined(const Stored *stored, int64_t at, const uint8_t *defined, int64_t rows,
                          uint8_t *out) noexcept nogil:
    """The values from the one ``at`` on where a row has one, 0 where it has none; the value after them."""
    cdef int64_t i, width = stored.width
    for i in range(rows):
        if defined[i]:
            memcpy(out + i * width, stored.data + (stored.codes[at] if stored.codes != NULL else at) * width, width)
            at += 1
        else:
            memset(out + i * width, 0, width)
    return at
