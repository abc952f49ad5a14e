"""Checks of the arrays that kernels take, before the GIL is released."""

from libc.stdint cimport int32_t, int64_t

ctypedef fused offset_t:
    int32_t
    int64_t


cdef inline int expect(Py_ssize_t n, Py_ssize_t needed, str name) except -1:
    if n != needed:
        raise ValueError(f"{name} has {n} entries where {needed} are needed")
    return 0


cdef inline int expect_offsets(const offset_t[::1] offsets, Py_ssize_t size, str name) except -1:
    """Arrow's rule, which makes every entry readable: offsets never descend, and stay within the data."""
    cdef Py_ssize_t i, bad = -1
    cdef offset_t previous = 0
    with nogil:
        for i in range(offsets.shape[0]):
            if offsets[i] < previous or offsets[i] > size:
                bad = i
                break
            previous = offsets[i]
    if bad >= 0:
        raise ValueError(f"{name}[{bad}] is {offsets[bad]}: it descends, or is not within the {size} bytes of data")
    return 0
