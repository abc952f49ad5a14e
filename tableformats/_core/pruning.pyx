"""Pruning kernels: from bounds to codes, from codes to possible outcomes, from outcomes to verdicts.

A leaf predicate is a sorted list of k distinct literals and a set of accepted codes, where

    code(v) = 2 * #(literals < v) + (v in literals)        0 .. 2k, odd: equal to a literal, even: in a gap

so every comparison with one literal is an interval of codes (``<`` [0, 0], ``<=`` [0, 1], ``=`` [1, 1], ``>``
[2, 2], ``>=`` [1, 2]), a prefix p is [1, 2] of the literals p and successor(p), and IN is the odd codes. The
``locate_*`` kernels find codes, one per type's order; everything after them knows codes only.

All kernels write into ``out``, raise ValueError for arrays whose lengths do not fit and for literals that are not
strictly ascending, release the GIL, and cost O(n log k). ``out`` may be an input array of the same kernel, but
must not overlap one in part.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcmp, memcpy

from tableformats._core import masks

from tableformats._core.arrays cimport expect, expect_offsets, offset_t

cdef enum:
    FEW = 8  # literals that one pass each is faster than a search among them
    MAY_TRUE = 1
    MAY_FALSE = 2
    MAY_NULL = 4

assert (MAY_TRUE, MAY_FALSE, MAY_NULL) == (masks.MAY_TRUE, masks.MAY_FALSE, masks.MAY_NULL)

ctypedef struct decimal128:
    uint64_t low
    int64_t high

ctypedef fused fixed_t:
    int64_t
    double
    decimal128

# --- Values of one width: int64, float64, decimal128 ---------------------------------------------------------------

cdef inline fixed_t load(const fixed_t *p, Py_ssize_t i) noexcept nogil:
    """Entry i; p need not be aligned (decimals come as bytes), and Arrow's byte order is the machine's."""
    cdef fixed_t v
    memcpy(&v, <const uint8_t *>(p + i), sizeof(fixed_t))
    return v


cdef inline bint less(fixed_t a, fixed_t b) noexcept nogil:
    """Spark's order: NaN is greater than every number."""
    if fixed_t is decimal128:
        return (a.high < b.high) | ((a.high == b.high) & (a.low < b.low))
    elif fixed_t is double:
        return (a < b) | ((b != b) & (a == a))
    else:
        return a < b


cdef inline bint equal(fixed_t a, fixed_t b) noexcept nogil:
    """Spark's order: NaN equals NaN, -0.0 equals 0.0."""
    if fixed_t is decimal128:
        return (a.high == b.high) & (a.low == b.low)
    elif fixed_t is double:
        return (a == b) | ((a != a) & (b != b))
    else:
        return a == b


cdef bint ascending(const fixed_t *literals, Py_ssize_t k) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(1, k):
        if not less(load(literals, i - 1), load(literals, i)):
            return False
    return True


cdef void locate(const fixed_t *values, Py_ssize_t n, const fixed_t *literals, Py_ssize_t k,
                 int32_t *out) noexcept nogil:
    """Few literals: the code is the sum of the codes by each alone, and these loops vectorise. Many: halving,
    without a branch that could be mispredicted."""
    cdef Py_ssize_t i, j, first, width, half
    cdef fixed_t v, literal
    if k <= FEW:
        for i in range(n):
            out[i] = 0
        for j in range(k):
            literal = load(literals, j)
            for i in range(n):
                v = load(values, i)
                out[i] += 2 * less(literal, v) + equal(literal, v)
        return
    for i in range(n):
        v = load(values, i)
        first, width = 0, k
        while width > 1:
            half = width >> 1
            first += half * less(load(literals, first + half - 1), v)
            width -= half
        first += less(load(literals, first), v)
        out[i] = <int32_t>(2 * first + (first < k and equal(load(literals, first), v)))


cdef int locate_checked(const fixed_t *values, Py_ssize_t n, const fixed_t *literals, Py_ssize_t k,
                        int32_t[::1] out) except -1:
    expect(out.shape[0], n, "out")
    if not ascending(literals, k):
        raise ValueError("the literals are not strictly ascending")
    if n == 0:
        return 0
    cdef int32_t *codes = &out[0]
    with nogil:
        locate(values, n, literals, k, codes)
    return 0


def locate_int64(const int64_t[::1] values not None, const int64_t[::1] literals not None,
                 int32_t[::1] out not None):
    """Codes of integers (and of what is stored as integers: dates, times, timestamps, bools).

    Parameters
    ----------
    values : int64[n]
    literals : int64[k]   strictly ascending
    out : int32[n]   written: the code of every value, 0 .. 2k
    """
    cdef const int64_t *v = &values[0] if values.shape[0] else NULL
    cdef const int64_t *l = &literals[0] if literals.shape[0] else NULL
    locate_checked(v, values.shape[0], l, literals.shape[0], out)


def locate_float64(const double[::1] values not None, const double[::1] literals not None,
                   int32_t[::1] out not None):
    """Codes of doubles in Spark's order: NaN equals NaN and is greater than +inf, -0.0 equals 0.0.

    Parameters
    ----------
    values : float64[n]
    literals : float64[k]   strictly ascending in that order: NaN last, one zero at most
    out : int32[n]   written: the code of every value, 0 .. 2k

    Notes
    -----
    Source: Spark SQL reference, "Floating Point Special Values".
    """
    cdef const double *v = &values[0] if values.shape[0] else NULL
    cdef const double *l = &literals[0] if literals.shape[0] else NULL
    locate_checked(v, values.shape[0], l, literals.shape[0], out)


def locate_decimal128(const uint8_t[::1] values not None, const uint8_t[::1] literals not None,
                      int32_t[::1] out not None):
    """Codes of unscaled decimals of one scale.

    Parameters
    ----------
    values : uint8[16 n]   little-endian two's complement, as in Arrow's decimal128 buffers
    literals : uint8[16 k]   likewise, strictly ascending
    out : int32[n]   written: the code of every value, 0 .. 2k
    """
    expect(values.shape[0] & 15, 0, "the last, partial decimal of values")
    expect(literals.shape[0] & 15, 0, "the last, partial decimal of literals")
    cdef const uint8_t *v = &values[0] if values.shape[0] else NULL
    cdef const uint8_t *l = &literals[0] if literals.shape[0] else NULL
    locate_checked(<const decimal128 *>v, values.shape[0] >> 4, <const decimal128 *>l, literals.shape[0] >> 4, out)


# --- Strings and binary --------------------------------------------------------------------------------------------

cdef inline int compare(const uint8_t *a, Py_ssize_t a_size, const uint8_t *b, Py_ssize_t b_size) noexcept nogil:
    """Negative, 0 or positive as a is less than, equal to or greater than b, by unsigned bytes."""
    cdef Py_ssize_t shared = a_size if a_size < b_size else b_size
    cdef int order = memcmp(a, b, shared) if shared else 0
    return order if order else (a_size > b_size) - (a_size < b_size)


cdef int locate_texts(const offset_t[::1] offsets, const uint8_t[::1] data, const int32_t[::1] literal_offsets,
                      const uint8_t[::1] literal_data, int32_t[::1] out) except -1:
    """What locate_bytes promises, for offsets of one width."""
    cdef Py_ssize_t n = max(offsets.shape[0] - 1, 0), k = max(literal_offsets.shape[0] - 1, 0)
    cdef Py_ssize_t i, first, width, half, size
    cdef int order
    cdef const uint8_t *texts = &data[0] if data.shape[0] else NULL
    cdef const uint8_t *literals = &literal_data[0] if literal_data.shape[0] else NULL
    cdef const uint8_t *text
    expect(out.shape[0], n, "out")
    expect_offsets(offsets, data.shape[0], "offsets")
    expect_offsets(literal_offsets, literal_data.shape[0], "literal_offsets")
    for i in range(1, k):
        if compare(literals + literal_offsets[i - 1], literal_offsets[i] - literal_offsets[i - 1],
                   literals + literal_offsets[i], literal_offsets[i + 1] - literal_offsets[i]) >= 0:
            raise ValueError("the literals are not strictly ascending")
    if k == 0:
        out[:] = 0
        return 0
    with nogil:
        for i in range(n):
            text, size = texts + offsets[i], offsets[i + 1] - offsets[i]
            first, width, order = 0, k, 1
            while width > 0:
                half = width >> 1
                order = compare(literals + literal_offsets[first + half],
                                literal_offsets[first + half + 1] - literal_offsets[first + half], text, size)
                if order == 0:
                    first += half
                    break
                if order < 0:
                    first += half + 1
                    width -= half + 1
                else:
                    width = half
            out[i] = <int32_t>(2 * first + (order == 0))
    return 0


def locate_bytes(offsets not None, const uint8_t[::1] data not None,
                 const int32_t[::1] literal_offsets not None, const uint8_t[::1] literal_data not None,
                 int32_t[::1] out not None):
    """Codes of strings or binary values, compared by unsigned bytes (UTF-8 keeps the order of code points).

    Parameters
    ----------
    offsets : int32[n + 1] or int64[n + 1]   entry i is data[offsets[i]:offsets[i + 1]]; empty for n = 0
    data : uint8[any]
    literal_offsets : int32[k + 1]   likewise; empty for k = 0
    literal_data : uint8[any]   the literals strictly ascending
    out : int32[n]   written: the code of every value, 0 .. 2k

    Raises
    ------
    ValueError : also for offsets that descend or leave the data
    """
    cdef const int64_t[::1] wide
    cdef const int32_t[::1] narrow
    if offsets.itemsize == sizeof(int64_t):
        wide = offsets
        locate_texts(wide, data, literal_offsets, literal_data, out)
    else:
        narrow = offsets
        locate_texts(narrow, data, literal_offsets, literal_data, out)


# --- Outcomes ------------------------------------------------------------------------------------------------------

def leaf_mask(const int32_t[::1] lower_code not None, const int32_t[::1] upper_code not None, int32_t top,
              const uint8_t[::1] may_value not None, const uint8_t[::1] may_null not None,
              int32_t first, int32_t last, bint odd_only, bint negate, uint8_t[::1] out not None):
    """The possible outcomes of one leaf over the rows of every file.

    TRUE is possible where a value may exist and its codes meet the accepted ones, FALSE where a value may exist
    and some of its codes are not accepted, NULL where a NULL may exist.

    Parameters
    ----------
    lower_code, upper_code : int32[n]   range of the codes of the file's values, 0 and ``top`` where a bound is
        unknown; a range with lower > upper contradicts itself and counts as unknown
    top : 2k, the greatest code
    may_value : uint8[n]   1 = a row may hold a value that is not NULL
    may_null : uint8[n]   1 = a row may be NULL
    first, last : the accepted codes; first > last accepts none. Not read if ``odd_only``
    odd_only : accept the odd codes, every value that equals a literal (IN)
    negate : accept what the above does not, and the reverse; NULL stays NULL
    out : uint8[n]   written: bits MAY_TRUE, MAY_FALSE, MAY_NULL

    Notes
    -----
    Invariant: every outcome that occurs is in the mask. Cost: O(n), GIL released.
    """
    cdef Py_ssize_t i, n = out.shape[0]
    cdef int32_t low, high, known, accepted, refused
    cdef int32_t when_accepted = MAY_FALSE if negate else MAY_TRUE
    cdef int32_t when_refused = MAY_TRUE if negate else MAY_FALSE
    cdef int32_t some = first <= last
    expect(lower_code.shape[0], n, "lower_code")
    expect(upper_code.shape[0], n, "upper_code")
    expect(may_value.shape[0], n, "may_value")
    expect(may_null.shape[0], n, "may_null")
    with nogil:
        for i in range(n):
            known = -(lower_code[i] <= upper_code[i])  # all bits or none: no branches, so that this vectorises
            low = lower_code[i] & known
            high = (upper_code[i] & known) | (top & ~known)
            if odd_only:
                accepted = (low != high) | (low & 1)
                refused = (low != high) | (~low & 1)
            else:
                accepted = some & (low <= last) & (high >= first)
                refused = (low < first) | (high > last)  # always, if first > last
            out[i] = <uint8_t>((-(may_value[i] != 0) & (-accepted & when_accepted | -refused & when_refused))
                               | (-(may_null[i] != 0) & MAY_NULL))


cdef int look_up_pairs(const uint8_t[::1] table, const uint8_t[::1] a, const uint8_t[::1] b,
                       uint8_t[::1] out) except -1:
    cdef Py_ssize_t i, n = out.shape[0]
    expect(a.shape[0], n, "a")
    expect(b.shape[0], n, "b")
    with nogil:
        for i in range(n):
            out[i] = table[8 * (a[i] & 7) + (b[i] & 7)]
    return 0


cdef int look_up(const uint8_t[::1] table, const uint8_t[::1] mask, uint8_t[::1] out) except -1:
    cdef Py_ssize_t i, n = out.shape[0]
    expect(mask.shape[0], n, "mask")
    with nogil:
        for i in range(n):
            out[i] = table[mask[i] & 7]
    return 0


def and_masks(const uint8_t[::1] a not None, const uint8_t[::1] b not None, uint8_t[::1] out not None):
    """Outcomes of ``a AND b`` from those of a and b; all uint8[n] masks, ``out`` written."""
    look_up_pairs(masks.AND_TABLE, a, b, out)


def or_masks(const uint8_t[::1] a not None, const uint8_t[::1] b not None, uint8_t[::1] out not None):
    """Outcomes of ``a OR b`` from those of a and b; all uint8[n] masks, ``out`` written."""
    look_up_pairs(masks.OR_TABLE, a, b, out)


def not_mask(const uint8_t[::1] mask not None, uint8_t[::1] out not None):
    """Outcomes of ``NOT mask``; both uint8[n], ``out`` written."""
    look_up(masks.NOT_TABLE, mask, out)


def verdicts(const uint8_t[::1] mask not None, uint8_t[::1] out not None):
    """NONE where TRUE is impossible (an empty mask: no row at all), ALL where only TRUE is possible, else SOME.

    Parameters
    ----------
    mask : uint8[n]   outcomes of the whole predicate
    out : uint8[n]   written: NONE, SOME or ALL
    """
    look_up(masks.VERDICT_TABLE, mask, out)


def intersect_masks(const uint8_t[::1] a not None, const uint8_t[::1] b not None, uint8_t[::1] out not None):
    """Outcomes that two sources of evidence for one and the same leaf both allow; all uint8[n], ``out`` written.

    Where they leave nothing although each allows something, they contradict each other and neither proves anything:
    MAY_TRUE, MAY_FALSE and MAY_NULL. Where one allows nothing (a file without rows), nothing is possible.
    """
    cdef Py_ssize_t i, n = out.shape[0]
    cdef uint8_t x, y, both
    expect(a.shape[0], n, "a")
    expect(b.shape[0], n, "b")
    with nogil:
        for i in range(n):
            x = a[i] & 7
            y = b[i] & 7
            both = x & y
            out[i] = both | (<uint8_t>((both == 0) & (x != 0) & (y != 0)) * 7)


# --- What bounds and counts say of the values ------------------------------------------------------------------------

cdef inline bint is_valid(const uint8_t *bitmap, Py_ssize_t at) noexcept nogil:
    return bitmap is NULL or (bitmap[at >> 3] >> (at & 7)) & 1


cdef const uint8_t *bits(const uint8_t[::1] bitmap, Py_ssize_t first, Py_ssize_t n) except? NULL:
    """An Arrow validity bitmap that has bits ``first`` to ``first + n``; None, and NULL: all are set."""
    if bitmap is None or n == 0:
        return NULL
    if first < 0 or (first + n + 7) >> 3 > bitmap.shape[0]:
        raise ValueError(f"a bitmap of {bitmap.shape[0]} bytes has no bits {first} to {first + n}")
    return &bitmap[0]


def fill_unknown(int32_t[::1] codes not None, const uint8_t[::1] validity, Py_ssize_t first, int32_t code):
    """Writes ``code`` where a value is null.

    Parameters
    ----------
    codes : int32[n]   changed in place
    validity : uint8[any]   Arrow's bitmap: bit ``first + i`` is 0 where value i is null; None: no nulls
    """
    cdef Py_ssize_t i, n = codes.shape[0]
    cdef const uint8_t *valid = bits(validity, first, n)
    if valid is NULL:
        return
    with nogil:
        for i in range(n):
            if not is_valid(valid, first + i):
                codes[i] = code


def count_flags(counts not None, validities not None, firsts not None, bint has_nan,
                uint8_t[::1] may_value not None, uint8_t[::1] may_null not None, uint8_t[::1] may_nan not None):
    """Which kinds of values a column may hold in a file, by its counts.

    A count that is not known says nothing. As many NULLs as values: no value. Fewer values counted than the file has
    rows: the others may be anything. Neither a value nor a NULL in a file that has rows: the counts contradict
    themselves and prove nothing. No rows: none of all.

    Parameters
    ----------
    counts : four int64[n] or None (unknown everywhere): NULLs, values (None or null: the physical rows), NaNs, physical
        rows
    validities, firsts : for each its Arrow bitmap (None: no nulls) and the bit of its first entry
    has_nan : whether the type has NaN at all
    may_value, may_null, may_nan : uint8[n]   written: 1 where a row may hold a value (NaN counts), a NULL, a NaN
    """
    cdef Py_ssize_t i, j, n = may_value.shape[0]
    cdef const int64_t *data[4]
    cdef const uint8_t *valid[4]
    cdef Py_ssize_t first[4]
    cdef const int64_t[::1] one
    cdef int64_t nulls, values, nans, records
    cdef bint knows_nulls, knows_values, knows_nans, knows_records, uncounted, value, null
    expect(may_null.shape[0], n, "may_null")
    expect(may_nan.shape[0], n, "may_nan")
    for j in range(4):
        one = counts[j]
        data[j] = NULL
        first[j] = firsts[j]
        valid[j] = bits(validities[j], first[j], n)
        if one is not None and n:
            expect(one.shape[0], n, "counts")
            data[j] = &one[0]
    with nogil:
        for i in range(n):
            knows_nulls = data[0] is not NULL and is_valid(valid[0], first[0] + i)
            knows_values = data[1] is not NULL and is_valid(valid[1], first[1] + i)
            knows_nans = data[2] is not NULL and is_valid(valid[2], first[2] + i)
            knows_records = data[3] is not NULL and is_valid(valid[3], first[3] + i)
            nulls = data[0][i] if knows_nulls else 0
            nans = data[2][i] if knows_nans else 0
            records = data[3][i] if knows_records else 0
            values = data[1][i] if knows_values else records
            knows_values = knows_values or knows_records
            uncounted = knows_values and knows_records and values < records
            value = not (knows_nulls and knows_values and nulls == values) or uncounted
            null = not knows_nulls or nulls > 0 or uncounted
            if not value and not null:
                value = null = True
            if knows_records and records == 0:
                may_value[i] = may_null[i] = may_nan[i] = 0
                continue
            may_value[i] = value
            may_null[i] = null
            may_nan[i] = has_nan and (not knows_nans or nans > 0)


def bucket_hits(const int32_t[::1] lower_code not None, const int32_t[::1] upper_code not None,
                const int64_t[::1] bucket not None, const int32_t[::1] buckets not None, int64_t n_buckets,
                uint8_t[::1] out not None):
    """Whether one of several literals lies within a file's bounds and in the file's bucket, both.

    Parameters
    ----------
    lower_code, upper_code : int32[n]   codes of the bounds among the k literals, 0 and 2k where unknown; lower > upper
        contradicts itself and counts as unknown
    bucket : int64[n]   the bucket of all rows of the file; outside of 0 .. n_buckets - 1: unknown
    buckets : int32[k]   the bucket of each literal, in the literals' order; all within 0 .. n_buckets - 1
    out : uint8[n]   written: 0 where there is no such literal, so that no row equals any of them

    Raises
    ------
    ValueError : also for codes and buckets that are none

    Notes
    -----
    Cost: O(n log k + k), memory O(n_buckets + k), GIL released.
    """
    cdef Py_ssize_t i, n = out.shape[0], k = buckets.shape[0]
    cdef int32_t low, high, start, stop, half, begin, end, top = <int32_t>(2 * k)
    expect(lower_code.shape[0], n, "lower_code")
    expect(upper_code.shape[0], n, "upper_code")
    expect(bucket.shape[0], n, "bucket")
    if n_buckets < 1:
        raise ValueError("there must be a bucket")
    for i in range(k):
        if not 0 <= buckets[i] < n_buckets:
            raise ValueError(f"buckets[{i}] is {buckets[i]}: it is not within {n_buckets} buckets")
    for i in range(n):
        if not (0 <= lower_code[i] <= top and 0 <= upper_code[i] <= top):
            raise ValueError(f"the codes of entry {i} are not within 0 .. {top}")
    # The places of the literals of each bucket, ascending: those of bucket b are places[starts[b]:starts[b + 1]].
    order = np.argsort(buckets, kind="stable").astype(np.int32)
    cdef const int32_t[::1] places = order
    used, counted = np.unique(np.asarray(buckets), return_counts=True)
    cdef const int32_t[::1] known = used
    cdef const int64_t[::1] starts = np.concatenate([[0], np.cumsum(counted)]).astype(np.int64)
    cdef Py_ssize_t n_known = known.shape[0]
    with nogil:
        for i in range(n):
            out[i] = 1
            if not 0 <= bucket[i] < n_buckets:
                continue
            low, high = lower_code[i], upper_code[i]
            if low > high:
                low, high = 0, top
            start, stop = 0, <int32_t>n_known
            while start < stop:
                half = (start + stop) >> 1
                if known[half] < bucket[i]:
                    start = half + 1
                else:
                    stop = half
            if start == n_known or known[start] != bucket[i]:
                out[i] = 0
                continue
            # Literal j has code 2j + 1: those within the bounds are low >> 1 <= j < (high + 1) >> 1.
            begin, end = <int32_t>starts[start], <int32_t>starts[start + 1]
            stop = end
            while begin < stop:
                half = (begin + stop) >> 1
                if places[half] < low >> 1:
                    begin = half + 1
                else:
                    stop = half
            out[i] = begin < end and places[begin] < (high + 1) >> 1
