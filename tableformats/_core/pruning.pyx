"""Pruning kernels: from bounds to codes, from codes to possible outcomes, from outcomes to verdicts.

A leaf of a predicate is a sorted list of k distinct literals and a set of matching codes, where

    code(v) = 2 * #(literals < v) + (v in literals)        0 .. 2k; odd: v equals a literal, even: v is in a gap

So every comparison with one literal matches an interval of codes (``<`` [0, 0], ``<=`` [0, 1], ``=`` [1, 1], ``>``
[2, 2], ``>=`` [1, 2]), a prefix p matches [1, 2] of the literals p and successor(p), and IN matches the odd codes. The
``locate_*`` kernels find codes, one kernel per order; the other kernels see only codes.

All kernels write into ``out`` or the arrays that they name, release the GIL, and cost O(n log k) at most. ``out`` may
be an input array of the same kernel, but must not overlap one in part.

Raises, everywhere
------------------
ValueError
    The lengths of arrays do not fit, or literals are not strictly ascending.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcmp, memcpy

from tableformats._core import masks

from tableformats._core.arrays cimport expect, expect_offsets, offset_t

cdef enum:
    FEW = 8  # up to so many literals, one pass per literal is faster than a binary search
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
    """Entry i. p may be unaligned, because decimals come as bytes. Arrow uses the machine's byte order."""
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
    """The code of every value. Few literals: the code is the sum of the codes for each literal alone, in loops that
    vectorise. Many: binary search without a branch that the processor could mispredict."""
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
    """Codes of integers, and of dates, times, timestamps and booleans as integers.

    Parameters
    ----------
    values : int64[n]
    literals : int64[k]
        Strictly ascending.
    out : int32[n]
        Written: the code of every value, 0 .. 2k.
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
    literals : float64[k]
        Strictly ascending in that order: NaN last, one zero at most.
    out : int32[n]
        Written: the code of every value, 0 .. 2k.

    Notes
    -----
    Source: Spark SQL reference, "Floating Point Special Values".
    """
    cdef const double *v = &values[0] if values.shape[0] else NULL
    cdef const double *l = &literals[0] if literals.shape[0] else NULL
    locate_checked(v, values.shape[0], l, literals.shape[0], out)


def locate_decimal128(const uint8_t[::1] values not None, const uint8_t[::1] literals not None,
                      int32_t[::1] out not None):
    """Codes of decimals of one scale, which come as unscaled integers.

    Parameters
    ----------
    values : uint8[16 n]
        Little-endian two's complement, as in Arrow's decimal128 buffers.
    literals : uint8[16 k]
        Likewise, strictly ascending.
    out : int32[n]
        Written: the code of every value, 0 .. 2k.
    """
    expect(values.shape[0] & 15, 0, "the last, partial decimal of values")
    expect(literals.shape[0] & 15, 0, "the last, partial decimal of literals")
    cdef const uint8_t *v = &values[0] if values.shape[0] else NULL
    cdef const uint8_t *l = &literals[0] if literals.shape[0] else NULL
    locate_checked(<const decimal128 *>v, values.shape[0] >> 4, <const decimal128 *>l, literals.shape[0] >> 4, out)


# --- Strings and binary --------------------------------------------------------------------------------------------

cdef inline int compare(const uint8_t *a, Py_ssize_t a_size, const uint8_t *b, Py_ssize_t b_size) noexcept nogil:
    """Less than, equal to or greater than 0 as a is to b, by unsigned bytes."""
    cdef Py_ssize_t shared = a_size if a_size < b_size else b_size
    cdef int order = memcmp(a, b, shared) if shared else 0
    return order if order else (a_size > b_size) - (a_size < b_size)


cdef int locate_texts(const offset_t[::1] offsets, const uint8_t[::1] data, const int32_t[::1] literal_offsets,
                      const uint8_t[::1] literal_data, int32_t[::1] out) except -1:
    """locate_bytes for offsets of one width."""
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
    offsets : int32[n + 1] or int64[n + 1]
        Value i is ``data[offsets[i]:offsets[i + 1]]``. Empty for n = 0.
    data : uint8[any]
    literal_offsets : int32[k + 1]
        Likewise. Empty for k = 0.
    literal_data : uint8[any]
        The literals are strictly ascending.
    out : int32[n]
        Written: the code of every value, 0 .. 2k.

    Raises
    ------
    ValueError
        Also if offsets descend or leave the data.
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

    TRUE is possible where a value may exist and some code of its range matches; FALSE where a value may exist and some
    code does not match; NULL where a NULL may exist.

    Parameters
    ----------
    lower_code, upper_code : int32[n]
        The range of the codes of the file's values; 0 and ``top`` where a bound is unknown. A range with lower > upper
        contradicts itself and counts as unknown.
    top : int
        The greatest code, 2k.
    may_value, may_null : uint8[n]
        1 where a row may hold a value other than NULL, or a NULL.
    first, last : int
        The matching codes. None matches if first > last. Ignored if ``odd_only``.
    odd_only : bool
        The odd codes match: every value that equals a literal (IN).
    negate : bool
        Swap TRUE and FALSE. NULL stays NULL.
    out : uint8[n]
        Written: bits MAY_TRUE, MAY_FALSE, MAY_NULL.

    Notes
    -----
    Invariant: every outcome that occurs is in the mask. Cost: O(n), GIL released.
    """
    cdef Py_ssize_t i, n = out.shape[0]
    cdef int32_t low, high, trusted, matches, differs
    cdef int32_t on_match = MAY_FALSE if negate else MAY_TRUE
    cdef int32_t on_difference = MAY_TRUE if negate else MAY_FALSE
    cdef int32_t any_code = first <= last
    expect(lower_code.shape[0], n, "lower_code")
    expect(upper_code.shape[0], n, "upper_code")
    expect(may_value.shape[0], n, "may_value")
    expect(may_null.shape[0], n, "may_null")
    with nogil:
        for i in range(n):
            trusted = -(lower_code[i] <= upper_code[i])  # all bits or none: without branches this vectorises
            low = lower_code[i] & trusted
            high = (upper_code[i] & trusted) | (top & ~trusted)
            if odd_only:
                matches = (low != high) | (low & 1)
                differs = (low != high) | (~low & 1)
            else:
                matches = any_code & (low <= last) & (high >= first)
                differs = (low < first) | (high > last)  # always, if first > last
            out[i] = <uint8_t>((-(may_value[i] != 0) & (-matches & on_match | -differs & on_difference))
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
    """Outcomes of ``a AND b`` from those of a and b. All are masks, uint8[n]; ``out`` is written."""
    look_up_pairs(masks.AND_TABLE, a, b, out)


def or_masks(const uint8_t[::1] a not None, const uint8_t[::1] b not None, uint8_t[::1] out not None):
    """Outcomes of ``a OR b`` from those of a and b. All are masks, uint8[n]; ``out`` is written."""
    look_up_pairs(masks.OR_TABLE, a, b, out)


def not_mask(const uint8_t[::1] mask not None, uint8_t[::1] out not None):
    """Outcomes of ``NOT mask``. Both are masks, uint8[n]; ``out`` is written."""
    look_up(masks.NOT_TABLE, mask, out)


def verdicts(const uint8_t[::1] mask not None, uint8_t[::1] out not None):
    """NONE where TRUE is not possible, ALL where only TRUE is possible, otherwise SOME.

    Parameters
    ----------
    mask : uint8[n]
        Outcomes of the whole predicate. An empty mask, of a file without rows, gives NONE.
    out : uint8[n]
        Written: NONE, SOME or ALL.
    """
    look_up(masks.VERDICT_TABLE, mask, out)


def intersect_masks(const uint8_t[::1] a not None, const uint8_t[::1] b not None, uint8_t[::1] out not None):
    """Outcomes of one leaf that two sources both allow. All are masks, uint8[n]; ``out`` is written.

    If no outcome is left although each source allows some, the sources contradict each other and neither is trusted:
    all outcomes are possible. If one source allows no outcome (a file without rows), none is possible.
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


# --- Counts, nulls and buckets -------------------------------------------------------------------------------------

cdef inline bint is_valid(const uint8_t *bitmap, Py_ssize_t at) noexcept nogil:
    return bitmap is NULL or (bitmap[at >> 3] >> (at & 7)) & 1


cdef const uint8_t *bits(const uint8_t[::1] bitmap, Py_ssize_t first, Py_ssize_t n) except? NULL:
    """The address of a validity bitmap with the bits ``first`` to ``first + n``. NULL (for None): all are set."""
    if bitmap is None or n == 0:
        return NULL
    if first < 0 or (first + n + 7) >> 3 > bitmap.shape[0]:
        raise ValueError(f"a bitmap of {bitmap.shape[0]} bytes has no bits {first} to {first + n}")
    return &bitmap[0]


def fill_unknown(int32_t[::1] codes not None, const uint8_t[::1] validity, Py_ssize_t first, int32_t code):
    """Writes ``code`` where a value is null.

    Parameters
    ----------
    codes : int32[n]
        Changed in place.
    validity : uint8[any] or None
        Arrow's bitmap: bit ``first + i`` is 0 where value i is null. None: no nulls.
    first : int
        The number of the first value's bit.
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
    """Whether a column may hold values, NULLs and NaNs in every file, by its counts.

    An unknown count proves nothing. If all counted values are NULL there is no other value, and no NaN unless NaNs are
    counted. If fewer values are counted than the file has rows, the others may be anything. If the counts allow neither a value nor a NULL although there
    are rows, they contradict each other and prove nothing. Without rows there is nothing.

    Parameters
    ----------
    counts : sequence of four int64[n] or None
        NULLs, values (with NULL and NaN; unknown: the physical rows), NaNs, physical rows. None: unknown everywhere.
    validities : sequence of four uint8[any] or None
        The Arrow bitmap of each: a null count is unknown. None: no nulls.
    firsts : sequence of four int
        The number of the bit of each one's first entry.
    has_nan : bool
        Whether the column's type has NaN.
    may_value, may_null, may_nan : uint8[n]
        Written: 1 where a row may hold a value other than NULL (NaN is one), a NULL, a NaN.
    """
    cdef Py_ssize_t i, j, n = may_value.shape[0]
    cdef const int64_t *data[4]
    cdef const uint8_t *valid[4]
    cdef Py_ssize_t first[4]
    cdef const int64_t[::1] one
    cdef int64_t nulls, values, nans, records
    cdef bint knows_nulls, knows_values, knows_nans, knows_records, uncounted, value, null, nan
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
            nan = has_nan and (nans > 0 if knows_nans else value)
            may_value[i] = value or nan
            may_null[i] = null
            may_nan[i] = nan


def bucket_hits(const int32_t[::1] lower_code not None, const int32_t[::1] upper_code not None,
                const int64_t[::1] bucket not None, const int32_t[::1] buckets not None, int64_t n_buckets,
                uint8_t[::1] out not None):
    """Whether some literal is both within a file's bounds and in the file's bucket.

    Parameters
    ----------
    lower_code, upper_code : int32[n]
        Codes of the bounds among the k literals; 0 and 2k where unknown. A range with lower > upper contradicts itself
        and counts as unknown.
    bucket : int64[n]
        The bucket of all rows of the file. Outside of 0 .. n_buckets - 1: unknown.
    buckets : int32[k]
        The bucket of each literal, in the literals' order, all within 0 .. n_buckets - 1.
    out : uint8[n]
        Written: 0 where there is no such literal, so that no row equals any of them.

    Raises
    ------
    ValueError
        Also if codes or literals' buckets are out of range.

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
    # Literals grouped by bucket, ascending: the j-th used bucket has the literals order[starts[j]:starts[j + 1]].
    grouped = np.argsort(buckets, kind="stable").astype(np.int32)
    cdef const int32_t[::1] order = grouped
    distinct, counted = np.unique(np.asarray(buckets), return_counts=True)
    cdef const int32_t[::1] used = distinct
    cdef const int64_t[::1] starts = np.concatenate([[0], np.cumsum(counted)]).astype(np.int64)
    cdef Py_ssize_t n_used = used.shape[0]
    with nogil:
        for i in range(n):
            out[i] = 1
            if not 0 <= bucket[i] < n_buckets:
                continue
            low, high = lower_code[i], upper_code[i]
            if low > high:
                low, high = 0, top
            start, stop = 0, <int32_t>n_used
            while start < stop:
                half = (start + stop) >> 1
                if used[half] < bucket[i]:
                    start = half + 1
                else:
                    stop = half
            if start == n_used or used[start] != bucket[i]:
                out[i] = 0
                continue
            # Literal j has code 2j + 1: those within the bounds are low >> 1 <= j < (high + 1) >> 1.
            begin, end = <int32_t>starts[start], <int32_t>starts[start + 1]
            stop = end
            while begin < stop:
                half = (begin + stop) >> 1
                if order[half] < low >> 1:
                    begin = half + 1
                else:
                    stop = half
            out[i] = begin < end and order[begin] < (high + 1) >> 1
