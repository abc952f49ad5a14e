"""Texts of codes: kernels and their twins, what they refuse, and dictionary arrays as Arrow decodes them."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tableformats.columnar.coded_texts import without_dictionary
from tests.support.examples import examples

ENTRIES = st.lists(st.binary(max_size=20), min_size=1, max_size=5)


@settings(max_examples=examples(300), deadline=None)
@given(ENTRIES, st.data(), st.binary(max_size=3), st.sampled_from([b"", bytes(16)]))
def test_texts_of_codes(
    coded_texts: ModuleType, entries: list[bytes], data: st.DataObject, before: bytes, after: bytes
) -> None:
    codes = np.array(data.draw(st.lists(st.integers(0, len(entries) - 1), max_size=30)), np.int32)
    expected = [entries[code] for code in codes]
    offsets = np.cumsum([len(before), *map(len, entries)]).astype(np.int32)
    stored = np.frombuffer(before + b"".join(entries) + after, np.uint8)
    ends = np.full(len(codes) + 1, 7, np.int32)
    coded_texts.find_text_ends(codes, offsets, ends)
    assert ends.tolist() == np.cumsum([0, *map(len, expected)]).tolist()
    out = np.zeros(ends[-1], np.uint8)
    coded_texts.copy_coded_texts(codes, offsets, stored, out)
    assert out.tobytes() == b"".join(expected)


@pytest.mark.parametrize("code", [-1, 2, 2**31 - 1])
def test_codes_without_an_entry(coded_texts: ModuleType, code: int) -> None:
    codes, offsets = np.array([0, code], np.int32), np.array([0, 1, 2], np.int32)
    for padding in (0, 40):
        with pytest.raises(ValueError, match=rf"codes\[1\] is {code}: there are 2 entries"):
            coded_texts.copy_coded_texts(
                codes, offsets, np.zeros(2 + padding, np.uint8), np.zeros(2 + padding, np.uint8)
            )
    with pytest.raises(ValueError, match=rf"codes\[1\] is {code}: there are 2 entries"):
        coded_texts.find_text_ends(codes, offsets, np.zeros(3, np.int32))


def test_what_is_refused(coded_texts: ModuleType) -> None:
    codes, offsets, stored = np.zeros(2, np.int32), np.array([0, 3], np.int32), np.zeros(3, np.uint8)
    for wrong in ([1, 0], [-1, 3], [0, 4]):
        with pytest.raises(ValueError, match=r"descends?,.* the 3 bytes of data"):
            coded_texts.copy_coded_texts(codes, np.array(wrong, np.int32), stored, np.zeros(6, np.uint8))
    for room in (5, 7, 40):
        with pytest.raises(ValueError, match=f"the texts do not fill {room} bytes"):
            coded_texts.copy_coded_texts(codes, offsets, stored, np.zeros(room, np.uint8))
    with pytest.raises(ValueError, match="out has 2 entries where 3 are needed"):
        coded_texts.find_text_ends(codes, offsets, np.zeros(2, np.int32))
    with pytest.raises(ValueError, match="offsets has 0 entries"):
        coded_texts.find_text_ends(codes, offsets[:0], np.zeros(3, np.int32))
    with pytest.raises(ValueError, match="the texts have more than 2147483647 bytes"):
        coded_texts.find_text_ends(codes, np.array([0, 2**30 + 1], np.int32), np.zeros(3, np.int32))


@settings(max_examples=examples(300), deadline=None)
@given(ENTRIES, st.sampled_from([pa.string(), pa.binary(), pa.large_string()]), st.data())
def test_dictionary_arrays(entries: list[bytes], kind: pa.DataType, data: st.DataObject) -> None:
    texts = pa.array([entry.hex() for entry in entries]).cast(kind)
    width = data.draw(st.sampled_from([pa.int32(), pa.int8()]))
    codes = pa.array(data.draw(st.lists(st.none() | st.integers(0, len(entries) - 1), max_size=30)), width)
    values = pa.DictionaryArray.from_arrays(codes, texts)
    if len(values):
        start = data.draw(st.integers(0, len(values) - 1))
        values = values.slice(start, data.draw(st.integers(0, len(values))))
    found = without_dictionary(values)
    found.validate(full=True)
    assert found.equals(values.dictionary_decode()) and found.type == kind


def test_other_dictionaries() -> None:
    none = pa.DictionaryArray.from_arrays(pa.array([None, None], pa.int32()), pa.array([], pa.string()))
    assert without_dictionary(none).to_pylist() == [None, None]
    nulls = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int32()), pa.array([None, "a"]))
    assert without_dictionary(nulls).to_pylist() == [None, "a"]
    numbers = pa.DictionaryArray.from_arrays(pa.array([1, 0], pa.int32()), pa.array([5, 6]))
    assert without_dictionary(numbers).to_pylist() == [6, 5]
    part = pa.DictionaryArray.from_arrays(pa.array([1, 0], pa.int32()), pa.array(["x", "yy", "z"]).slice(1))
    assert without_dictionary(part).to_pylist() == ["z", "yy"]


def test_codes_of_a_damaged_dictionary() -> None:
    """They are refused as Arrow refuses them."""
    wrong = pa.DictionaryArray.from_arrays(pa.array([0, 5], pa.int32()), pa.array(["a"]), safe=False)
    with pytest.raises((pa.ArrowException, IndexError)):
        without_dictionary(wrong)
