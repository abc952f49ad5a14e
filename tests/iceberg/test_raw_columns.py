"""Decoded columns: nulls, chosen rows, and the arrays that they become."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tableformats_iceberg.avro.columns import RawColumn

AVRO = {"type": "long"}


def numbers(*values: int | None) -> RawColumn:
    known = None if None not in values else np.array([value is not None for value in values])
    return RawColumn(np.array([value or 0 for value in values], np.int64), None, None, known, None, 5, AVRO)


def octets(*values: bytes | None, width: int | None = None) -> RawColumn:
    known = None if None not in values else np.array([value is not None for value in values])
    found = [value or b"" for value in values]
    offsets = np.cumsum([0, *map(len, found)], dtype=np.int32)
    return RawColumn(None, offsets, np.frombuffer(b"".join(found), np.uint8), known, width, 5, AVRO)


COLUMNS = [
    (numbers(3, 1, 2), [3, 1, 2]),
    (numbers(3, None, 2), [3, None, 2]),
    (numbers(None, None), [None, None]),
    (numbers(), []),
    (octets(b"a", b"", b"ccc"), [b"a", b"", b"ccc"]),
    (octets(b"ab", b"cd", b"ef", width=2), [b"ab", b"cd", b"ef"]),
    (octets(b"ab", None, b"ef", width=2), [b"ab", None, b"ef"]),
    (octets(None), [None]),
    (octets(), []),
]


def plain(column: RawColumn) -> list[Any]:
    return (column.bytes_array(pa.binary()) if column.is_bytes else column.int_array()).to_pylist()


@pytest.mark.parametrize(("column", "values"), COLUMNS)
def test_what_a_column_has(column: RawColumn, values: list[Any]) -> None:
    assert plain(column) == values and len(column) == len(values)
    assert column.null_count == values.count(None)
    assert column.valid.tolist() == [value is not None for value in values]
    assert (column.mask is None) is (column.known is None)
    assert column.mask is None or column.mask.tolist() == [value is None for value in values]
    assert column.is_bytes is (column.offsets is not None)
    arrays = [one for one in (column.numbers, column.offsets, column.data, column.known) if one is not None]
    assert column.nbytes == sum(one.size * one.itemsize for one in arrays)
    if column.is_bytes:
        assert column.sizes.tolist() == [len(value or b"") for value in values]
        return
    assert column.integers().tolist() == [value or 0 for value in values]
    assert column.integers(-7).tolist() == [-7 if value is None else value for value in values]
    assert column.int_array(pa.int32()).equals(pa.array(values, pa.int32()))
    assert column.bytes_array(pa.string()).equals(pa.nulls(len(values), pa.string()))
    assert column.list_offsets().tolist() == [0, *(value or 0 for value in values)]


@pytest.mark.parametrize(("column", "values"), COLUMNS)
def test_chosen_rows(column: RawColumn, values: list[Any]) -> None:
    assert column.take(None) is column
    for rows in ([], [*range(len(values))][::-1], [*range(len(values))][1:], [0] * min(len(values), 1)):
        found = column.take(np.array(rows, np.int64))
        assert plain(found) == [values[row] for row in rows] and len(found) == len(rows)
        assert (found.flaws, found.avro) == (5, AVRO) and (found.known is None) is (column.known is None)
        assert found.width == column.width


@pytest.mark.parametrize("number", [2**31, 2**32 + 5, -(2**31) - 1])
def test_numbers_that_do_not_fit_are_refused(number: int) -> None:
    """Avro's int may hold what Iceberg's does not."""
    with pytest.raises(pa.ArrowInvalid, match="not in range"):
        numbers(number).int_array(pa.int32())
    assert numbers(2**31 - 1, -(2**31)).int_array(pa.int32()).to_pylist() == [2**31 - 1, -(2**31)]
