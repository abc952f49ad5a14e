"""The table of keys: which values are found, of all kernels and their twins, and what they refuse."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.examples import examples

GOLDEN = 0x9E3779B97F4A7C15
NUMBERS = st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-70, 70), max_size=20)


@settings(max_examples=examples(300), deadline=None)
@given(NUMBERS, NUMBERS, st.integers(0, 3), st.sampled_from([-70, 0, 5, -(2**63)]))
def test_each_value_has_a_slot_of_its_own(
    key_filter: ModuleType, keys: list[int], values: list[int], words: int, least: int
) -> None:
    bits, out = np.zeros(words + 1, np.uint64), np.zeros(len(values + keys), np.int64)
    key_filter.add_keys(np.array(keys, np.int64), bits, least, 1, 0)
    found = key_filter.find_keys(np.array(values + keys, np.int64), bits, least, 1, 0, out)
    expected = [i for i, one in enumerate(values + keys) if one in keys and 0 <= one - least < 64 * words]
    assert out[:found].tolist() == expected


@settings(max_examples=examples(300), deadline=None)
@given(NUMBERS, NUMBERS, st.sampled_from([-70, 0, 5, -(2**63)]), st.integers(6, 12))
def test_values_share_slots(key_filter: ModuleType, keys: list[int], values: list[int], least: int, size: int) -> None:
    """All keys are found; a value that is none may be, if a key has the same highest bits of the product."""
    bits, out = np.zeros((1 << size - 6) + 1, np.uint64), np.zeros(len(values + keys), np.int64)
    key_filter.add_keys(np.array(keys, np.int64), bits, least, GOLDEN, 64 - size)
    found = key_filter.find_keys(np.array(values + keys, np.int64), bits, least, GOLDEN, 64 - size, out)
    taken = {((key - least) * GOLDEN & 2**64 - 1) >> 64 - size for key in keys}
    slots = [((one - least) * GOLDEN & 2**64 - 1) >> 64 - size for one in values + keys]
    assert out[:found].tolist() == [i for i, slot in enumerate(slots) if slot in taken]
    assert sum(int(word).bit_count() for word in bits) == len(taken)


def test_what_is_refused(key_filter: ModuleType) -> None:
    bits, values = np.zeros(1, np.uint64), np.zeros(2, np.int64)
    for shift in (-1, 64):
        with pytest.raises(ValueError, match=f"shift is {shift}, which is not from 0 to 63"):
            key_filter.add_keys(values, bits, 0, 1, shift)
        with pytest.raises(ValueError, match=f"shift is {shift}"):
            key_filter.find_keys(values, bits, 0, 1, shift, values.copy())
    with pytest.raises(ValueError, match="out has 1 entries where 2 are needed"):
        key_filter.find_keys(values, bits, 0, 1, 0, np.zeros(1, np.int64))
    for wrong in (bits[:0], np.array([0, 1], np.uint64)):
        with pytest.raises(ValueError, match="bits does not end with a word of 0"):
            key_filter.add_keys(values, wrong, 0, 1, 0)
        with pytest.raises(ValueError, match="bits does not end with a word of 0"):
            key_filter.find_keys(values, wrong, 0, 1, 0, values.copy())
