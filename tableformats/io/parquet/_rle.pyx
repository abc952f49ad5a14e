"""Definition levels, and codes of a dictionary, in the data pages of Parquet files: runs of bit-packed or equal values.

Raises ValueError where the bytes are damaged. Nothing outside of the arrays is read or written, whatever the bytes are.

Notes
-----
Cost: O(values). Source: Parquet format, Encodings.md, "Run Length Encoding / Bit-Packing Hybrid"
and "Dictionary Encoding".
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memset

cdef extern from "tf_bytes.h" nogil:
    uint64_t tf_load64(const uint8_t *p)


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


cdef inline void spread_codes(uint64_t word, int bits, uint64_t mask, uint32_t *out) noexcept nogil:
    """The eight codes of so many bits, 8 at most, that begin a word."""
    cdef int i
    for i in range(8):
        out[i] = <uint32_t>(word & mask)
        word >>= bits


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
            i = 0
            if bits <= 8:  # eight codes have as many bytes as one has bits
                while i + 8 <= run and at + i // 8 * bits + 8 <= size:
                    spread_codes(tf_load64(data + at + i // 8 * bits), bits, mask, out + done + i)
                    i += 8
            for i in range(i, run):
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


def read_codes(const uint8_t[::1] data not None, uint32_t[::1] out not None):
    """Codes of a dictionary, behind a byte with their width: ``out`` (uint32[n]) gets them."""
    cdef int64_t size = data.shape[0], count = out.shape[0], found
    cdef const uint8_t *source = &data[0] if size else NULL
    cdef uint32_t *target = &out[0] if count else NULL
    with nogil:
        found = decode_codes(source, size, target, count)
    expect_codes(found, count)
