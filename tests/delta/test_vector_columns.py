"""Descriptors of deletion vectors as a column, and the text of their bytes."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from tableformats_delta.deletes import z85
from tableformats_delta.deletes.descriptors import has_vector, vector_column, vector_type, vectors_of

NAMES = ["storageType", "pathOrInlineDv", "offset", "sizeInBytes", "cardinality"]


def descriptor(number: int) -> dict[str, Any]:
    return dict(zip(NAMES, ["u", f"v{number}", None if number == 2 else number, 10 * number, 1], strict=True))


def column_of(*numbers: int | None) -> pa.ListArray:
    """A column with these vectors; None: the file has none."""
    own = [descriptor(number) for number in numbers if number is not None]
    kind = vector_type().value_type
    members = {field.name: pa.array([one[field.name] for one in own], field.type) for field in kind}
    return vector_column(pa.array([number is not None for number in numbers], pa.bool_()), members if own else {})


@pytest.mark.parametrize("numbers", [[], [None], [1], [None, 1, None, None, 2, 3], [1, None]])
def test_a_file_has_one_vector_or_none(numbers: list[int | None]) -> None:
    column = column_of(*numbers)
    assert column.type == vector_type() and vector_type() is vector_type()
    assert column.to_pylist() == [[] if number is None else [descriptor(number)] for number in numbers]
    assert has_vector(column).to_pylist() == [number is not None for number in numbers]
    found = vectors_of(column)
    assert found.schema.names == NAMES
    assert found.to_pylist() == [descriptor(number) for number in numbers if number is not None]


def test_vectors_of_some_of_the_files() -> None:
    column = column_of(1, None, 2, 3, None)
    for start, stop in ((0, 5), (1, 4), (2, 3), (4, 5), (5, 5)):
        some = column.slice(start, stop - start)
        own = [number for number in (1, None, 2, 3, None)[start:stop]]
        assert has_vector(some).to_pylist() == [number is not None for number in own]
        assert vectors_of(some).to_pylist() == [descriptor(number) for number in own if number is not None]
    chunks = pa.chunked_array([column.slice(0, 3), column.slice(3)])
    assert has_vector(chunks).to_pylist() == [True, False, True, True, False]
    assert vectors_of(chunks).to_pylist() == [descriptor(number) for number in (1, 2, 3)]
    assert vectors_of(pa.chunked_array([], vector_type())).num_rows == 0


def test_a_list_that_is_null_is_no_vector() -> None:
    column = pa.array([None, [descriptor(1)], []], vector_type())
    for one in (column, pa.chunked_array([column])):
        assert has_vector(one).to_pylist() == [False, True, False]
        assert vectors_of(one).to_pylist() == [descriptor(1)]


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("", b""),
        ("00000", b"\0\0\0\0"),
        ("00001", b"\0\0\0\x01"),
        ("00010", b"\0\0\0\x55"),
        ("00100", b"\0\0\x1c\x39"),
        ("%nSc0", b"\xff\xff\xff\xff"),
        ("00001" * 3, b"\0\0\0\x01" * 3),
        ("#####", None),
        ("%nSc1", None),  # 2**32
        ("0000", None),
        ("000000", None),
        ("0000~", None),
        ("0000\u00e9", None),
        ("0000\ud800", None),
        ("0000 ", None),
    ],
)
def test_bytes_as_text(text: str, data: bytes | None) -> None:
    """Five characters are a number of base 85, and four bytes, the first one the most significant."""
    if data is None:
        with pytest.raises(ValueError, match=r"multiple of five|not in the alphabet|too great"):
            z85.decode(text)
    else:
        assert (z85.decode(text), z85.encode(data)) == (data, text)


@pytest.mark.parametrize("length", [1, 2, 3, 5, 7])
def test_bytes_that_make_no_whole_groups(length: int) -> None:
    with pytest.raises(ValueError, match="multiple of four"):
        z85.encode(bytes(length))
