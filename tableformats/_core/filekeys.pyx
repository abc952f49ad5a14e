"""The set of file keys that were seen before. Log reconciliation uses it: the newest reference of a key wins."""

import os
import struct
import threading

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from tableformats._core.arrays cimport expect, expect_offsets, offset_t
from tableformats._core.status cimport raise_for_status, tf_status


cdef extern from "tf_keyset.h" nogil:
    enum: TF_KEYSET_BLOCK
    ctypedef struct tf_key:
        const uint8_t *data
        size_t size
    ctypedef struct tf_keyset:
        size_t count
    void tf_keyset_init(tf_keyset *set, const uint64_t *seed)
    void tf_keyset_clear(tf_keyset *set)
    tf_status tf_keyset_add(tf_keyset *set, const tf_key *keys, size_t n, uint8_t *added)
    void tf_keyset_probe(const tf_keyset *set, const tf_key *keys, size_t n, uint8_t *unseen)
    void tf_keyset_find(const tf_keyset *set, const tf_key *keys, size_t n, int64_t *found)
    void tf_keyset_hash(const tf_keyset *set, const tf_key *keys, size_t n, uint64_t *hashes)
    void tf_keyset_probe_hashes(const tf_keyset *set, const uint64_t *hashes, size_t n, uint8_t *unseen)


cdef tf_status visit(tf_keyset *set, const offset_t[::1] offsets, const uint8_t *data, const uint8_t *validity,
                     bint insert, uint8_t[::1] unseen) noexcept nogil:
    """Add or probe the keys of a batch in order, block by block. A null key is skipped, and is not unseen."""
    cdef tf_key keys[TF_KEYSET_BLOCK]
    cdef Py_ssize_t rows[TF_KEYSET_BLOCK]
    cdef uint8_t answers[TF_KEYSET_BLOCK]
    cdef Py_ssize_t i, j, n = unseen.shape[0], used = 0
    cdef tf_status status
    for i in range(n):
        unseen[i] = 0
        if validity is NULL or validity[i]:
            keys[used].data = data + offsets[i]
            keys[used].size = <size_t>(offsets[i + 1] - offsets[i])
            rows[used] = i
            used += 1
        if used == TF_KEYSET_BLOCK or i == n - 1:
            if insert:
                status = tf_keyset_add(set, keys, used, answers)
                if status != 0:
                    return status
            else:
                tf_keyset_probe(set, keys, used, answers)
            for j in range(used):
                unseen[rows[j]] = answers[j]
            used = 0
    return <tf_status>0


cdef void number_all(const tf_keyset *set, const offset_t[::1] offsets, const uint8_t *data, bint hashed,
                     int64_t[::1] numbers) noexcept nogil:
    """The hash of each key if ``hashed``, otherwise its number in the set, block by block."""
    cdef tf_key keys[TF_KEYSET_BLOCK]
    cdef Py_ssize_t i = 0, j, used
    while i < numbers.shape[0]:
        used = min(numbers.shape[0] - i, <Py_ssize_t>TF_KEYSET_BLOCK)
        for j in range(used):
            keys[j].data = data + offsets[i + j]
            keys[j].size = <size_t>(offsets[i + j + 1] - offsets[i + j])
        if hashed:
            tf_keyset_hash(set, keys, used, <uint64_t *>&numbers[i])
        else:
            tf_keyset_find(set, keys, used, &numbers[i])
        i += used


cdef class FileKeySet:
    """An exact set of byte strings. ``len()`` is the number of distinct keys.

    A batch of keys is given by the buffers of an Arrow binary or string array: ``offsets`` (int32 or int64 [n + 1],
    empty for n = 0), ``data`` (uint8[any]) and ``validity`` (uint8[n], 0 = null; None = no nulls). Key i is
    ``data[offsets[i]:offsets[i + 1]]``. A null is no key: it is never inserted, and its result is 0.

    Keys are copied. Two keys are equal only if their bytes are equal. The hash that locates them has a random seed, so
    that nobody can write a table whose keys collide.

    Parameters
    ----------
    seed : bytes, optional
        32 bytes, for hashes that outlive the set. None: a random seed. Results never depend on it.

    Notes
    -----
    Threads: calls on one set may come from any thread and run one after the other, with the GIL released. Cost:
    O(bytes of the batch), amortised. Memory: the bytes of the distinct keys, 8 bytes per key, and 26 to 52 bytes per
    key for slots.
    """

    cdef tf_keyset _set
    cdef object _lock

    def __cinit__(self, *, bytes seed=None):
        cdef uint64_t words[4]
        words[0], words[1], words[2], words[3] = struct.unpack("=4Q", os.urandom(32) if seed is None else seed)
        tf_keyset_init(&self._set, words)
        self._lock = threading.Lock()

    def __dealloc__(self):
        tf_keyset_clear(&self._set)

    def __len__(self):
        return <Py_ssize_t>self._set.count

    def add_batch(self, offsets not None, const uint8_t[::1] data not None, const uint8_t[::1] validity=None):
        """Insert a batch. Returns uint8[n]: 1 where the key was not in the set before.

        Of equal keys within the batch the first one gets the 1.

        Raises
        ------
        ValueError
            The offsets descend or leave the data, or ``validity`` has another length.
        MemoryError
            Memory ran out. The set then has a part of the batch.
        """
        return self._visit_any(offsets, data, validity, True)

    def probe_batch(self, offsets not None, const uint8_t[::1] data not None, const uint8_t[::1] validity=None):
        """Like :meth:`add_batch` without inserting. Returns uint8[n]: 1 where the key is not in the set.

        It is for a batch with unique keys that is the oldest one (a checkpoint). Equal keys within the batch all get
        the 1.
        """
        return self._visit_any(offsets, data, validity, False)

    def find_batch(self, offsets not None, const uint8_t[::1] data not None):
        """int64[n]: the number of each key in the set, or -1 where the key is not in the set.

        Every key of the set has its own number. Numbers are not negative, have gaps, and do not change when keys are
        added.

        Raises
        ------
        ValueError
            As :meth:`add_batch`.
        """
        with self._lock:
            return self._number_any(offsets, data, False)

    def hash_batch(self, offsets not None, const uint8_t[::1] data not None):
        """uint64[n]: the hash of each key with the set's seed, for :meth:`probe_hashes` of any set with that seed.

        Raises
        ------
        ValueError
            As :meth:`add_batch`.
        """
        return self._number_any(offsets, data, True).view(np.uint64)

    def probe_hashes(self, const uint64_t[::1] hashes not None):
        """uint8[n]: 1 where no key of the set has this hash, so that the key is not in the set.

        0 proves nothing: :meth:`probe_batch` compares the bytes.

        Parameters
        ----------
        hashes : uint64[n]
            From :meth:`hash_batch` of a set with the same seed.
        """
        result = np.empty(hashes.shape[0], np.uint8)
        cdef uint8_t[::1] unseen = result
        if hashes.shape[0]:
            with self._lock:
                with nogil:
                    tf_keyset_probe_hashes(&self._set, &hashes[0], hashes.shape[0], &unseen[0])
        return result

    cdef _number_any(self, offsets, const uint8_t[::1] data, bint hashed):
        """Offsets of either width."""
        cdef const int64_t[::1] wide
        cdef const int32_t[::1] narrow
        if offsets.itemsize == sizeof(int64_t):
            wide = offsets
            return self._number(wide, data, hashed)
        narrow = offsets
        return self._number(narrow, data, hashed)

    cdef _number(self, const offset_t[::1] offsets, const uint8_t[::1] data, bint hashed):
        cdef const uint8_t *start = &data[0] if data.shape[0] else NULL
        expect_offsets(offsets, data.shape[0], "offsets")
        result = np.empty(max(offsets.shape[0] - 1, 0), np.int64)
        cdef int64_t[::1] numbers = result
        with nogil:
            number_all(&self._set, offsets, start, hashed, numbers)
        return result

    cdef _visit_any(self, offsets, const uint8_t[::1] data, const uint8_t[::1] validity, bint insert):
        """Offsets of either width."""
        cdef const int64_t[::1] wide
        cdef const int32_t[::1] narrow
        if offsets.itemsize == sizeof(int64_t):
            wide = offsets
            return self._visit(wide, data, validity, insert)
        narrow = offsets
        return self._visit(narrow, data, validity, insert)

    cdef _visit(self, const offset_t[::1] offsets, const uint8_t[::1] data, const uint8_t[::1] validity,
                bint insert):
        cdef Py_ssize_t n = max(offsets.shape[0] - 1, 0)
        cdef const uint8_t *start = &data[0] if data.shape[0] else NULL
        cdef const uint8_t *valid = NULL
        cdef tf_status status
        expect_offsets(offsets, data.shape[0], "offsets")
        if validity is not None:
            expect(validity.shape[0], n, "validity")
        result = np.empty(n, np.uint8)
        cdef uint8_t[::1] unseen = result
        if n == 0:
            return result
        if validity is not None:
            valid = &validity[0]
        with self._lock:
            with nogil:
                status = visit(&self._set, offsets, start, valid, insert, unseen)
        raise_for_status(status, 0)
        return result
