"""Kernels that turn counts, buckets and nulls into evidence, over both twins, against models of files."""

from __future__ import annotations

from itertools import product
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.examples import examples


def column(values: list[int | None], offset: int = 0) -> tuple[Any, Any, int]:
    """(values, bitmap or None, first bit) of an Arrow array that is a slice of a longer one."""
    array = pa.array([None] * offset + values, pa.int64()).slice(offset)
    bitmap = array.buffers()[0] if array.null_count else None
    data = np.frombuffer(array.buffers()[1], np.int64)[offset : offset + len(values)]
    return data, None if bitmap is None else np.frombuffer(bitmap, np.uint8), offset


def flags(kernels: ModuleType, columns: list[list[int | None] | None], has_nan: bool, offset: int = 0) -> list[Any]:
    """[(may hold a value, a NULL, a NaN)] of files with these counts of NULLs, values, NaNs and rows."""
    parts = [(None, None, 0) if c is None else column(c, offset) for c in columns]
    n = max(len(c) for c in columns if c is not None)
    out = [np.full(n, 9, np.uint8) for _ in range(3)]
    kernels.count_flags([p[0] for p in parts], [p[1] for p in parts], [p[2] for p in parts], has_nan, *out)
    return list(zip(*(o.astype(bool).tolist() for o in out), strict=True))


@pytest.mark.parametrize("offset", [0, 5])
def test_flags_allow_what_a_file_holds(pruning: ModuleType, offset: int) -> None:
    """Every small file, with every choice of counts that its writer left out."""
    files, counts = [], []
    for numbers, nans, nulls, *known in product(range(3), range(2), range(3), *[[True, False]] * 4):
        true = (nulls, numbers + nans + nulls, nans, numbers + nans + nulls)
        files.append((numbers + nans > 0, nulls > 0, nans > 0))
        counts.append([value if is_known else None for value, is_known in zip(true, known, strict=True)])
    found = flags(pruning, [list(c) for c in zip(*counts, strict=True)], True, offset)
    for held, given_counts, may in zip(files, counts, found, strict=True):
        assert all(allowed or not does for does, allowed in zip(held, may, strict=True)), (given_counts, held, may)
        if None not in given_counts:
            assert may == held, given_counts


def test_flags_of_counts_that_prove_little(pruning: ModuleType) -> None:
    nulls = [0, 2, 2, 0, None, 3, 0]
    values = [0, 2, 2, 1, None, 5, None]
    rows = [0, 2, 4, None, 3, 5, None]
    found = flags(pruning, [nulls, values, None, rows], False)
    assert found == [
        (False, False, False),  # no rows
        (False, True, False),  # all NULL
        (True, True, False),  # two rows that nobody counted
        (True, False, False),
        (True, True, False),  # nothing known
        (True, True, False),
        (True, False, False),
    ]
    # As many NULLs as values although no NULL: neither a value nor a NULL, in a file that has rows.
    assert flags(pruning, [[0], [0], [0], [None]], True) == [(True, True, False)]
    assert flags(pruning, [None, None, None, [1, None]], True) == [(True, True, True)] * 2
    # All NULL: no NaN if nobody counted them, but a counted one contradicts the NULLs.
    assert flags(pruning, [[2, 2], [2, 2], [None, 1], [2, 2]], True) == [(False, True, False), (True, True, True)]


def test_flags_refuse_arrays_that_do_not_fit(pruning: ModuleType) -> None:
    out = [np.zeros(9, np.uint8) for _ in range(3)]
    nine, short = np.zeros(9, np.int64), np.zeros(1, np.uint8)
    with pytest.raises(ValueError):
        pruning.count_flags([nine[:8], None, None, None], [None] * 4, [0] * 4, False, *out)
    with pytest.raises(ValueError):
        pruning.count_flags([nine, None, None, None], [short, None, None, None], [0] * 4, False, *out)
    with pytest.raises(ValueError):
        pruning.fill_unknown(np.zeros(9, np.int32), short, 0, 1)
    with pytest.raises(ValueError):
        pruning.fill_unknown(np.zeros(1, np.int32), short, -1, 1)


@given(values=st.lists(st.integers(0, 9) | st.none(), max_size=30), offset=st.integers(0, 17))
def test_nulls_get_the_code(pruning: ModuleType, values: list[int | None], offset: int) -> None:
    _, bitmap, first = column(values, offset)
    codes = np.array([0 if v is None else v for v in values], np.int32)
    pruning.fill_unknown(codes, bitmap, first, 77)
    assert codes.tolist() == [77 if v is None else v for v in values]


@settings(max_examples=examples(200))
@given(
    literals=st.lists(st.integers(0, 12), min_size=1, max_size=8, unique=True).map(sorted),
    files=st.lists(st.tuples(st.integers(0, 12) | st.none(), st.integers(0, 12) | st.none(), st.integers(-1, 4))),
    hashes=st.lists(st.integers(0, 3), min_size=13, max_size=13),
)
def test_a_literal_within_bounds_and_bucket(
    pruning: ModuleType,
    literals: list[int],
    files: list[tuple[int | None, int | None, int]],
    hashes: list[int],
) -> None:
    def code(value: int | None, unknown: int) -> int:
        return unknown if value is None else 2 * sum(x < value for x in literals) + (value in literals)

    top = 2 * len(literals)
    lower = np.array([code(low, 0) for low, _, _ in files], np.int32)
    upper = np.array([code(high, top) for _, high, _ in files], np.int32)
    bucket = np.array([b for _, _, b in files], np.int64)
    out = np.full(len(files), 9, np.uint8)
    pruning.bucket_hits(lower, upper, bucket, np.array([hashes[x] for x in literals], np.int32), 4, out)
    for (low, high, b), low_code, high_code, hit in zip(files, lower, upper, out.tolist(), strict=True):
        if low_code > high_code:
            low = high = None
        within = [x for x in literals if (low is None or x >= low) and (high is None or x <= high)]
        assert hit == (b not in range(4) or any(hashes[x] == b for x in within))


def test_buckets_that_are_none(pruning: ModuleType) -> None:
    codes, out = np.zeros(1, np.int32), np.zeros(1, np.uint8)
    bucket = np.zeros(1, np.int64)
    for buckets, n_buckets, lower in (([4], 4, 0), ([-1], 4, 0), ([0], 0, 0), ([0], 4, 3), ([0], 4, -1)):
        with pytest.raises(ValueError):
            pruning.bucket_hits(codes + np.int32(lower), codes, bucket, np.array(buckets, np.int32), n_buckets, out)


@given(seen=st.lists(st.binary(max_size=40)), asked=st.lists(st.binary(max_size=40)), offset=st.integers(0, 3))
def test_hashes_find_every_key(filekeys: ModuleType, seen: list[bytes], asked: list[bytes], offset: int) -> None:
    """A hash that is not there says that the key is not; with 64 bits the other way round holds here as well."""

    def batch(keys: list[bytes]) -> tuple[Any, Any]:
        return np.cumsum([0, *map(len, keys)]).astype(np.int32), np.frombuffer(b"".join(keys), np.uint8)

    seed = bytes(range(32))
    keys, other = filekeys.FileKeySet(seed=seed), filekeys.FileKeySet(seed=seed)
    keys.add_batch(*batch(seen))
    offsets, data = batch([b"x"] * offset + asked)
    hashes = other.hash_batch(offsets[offset:], data)
    assert hashes.dtype == np.uint64
    assert keys.probe_hashes(hashes).tolist() == [key not in seen for key in asked]
    assert filekeys.FileKeySet(seed=seed).probe_hashes(hashes).all()
