"""Columns that no file's schema holds: values of the file, positions of its rows, and what the file itself stores."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from tableformats.engines.arrow.files.column_tree import Selection, file_tree
from tableformats.engines.arrow.metadata_columns import MetadataReader, with_positions
from tableformats.errors import CorruptMetadataError
from tableformats.plugin.columns import MetadataColumn
from tableformats.schema import Field, StructType, primitive

LONG, ID = primitive("long"), b"PARQUET:field_id"
FIRST_ROW = MetadataColumn(Field(-5, "_row_id", LONG), "first_row_id", counts_rows=True, stored_id=900)
BY_NAME = MetadataColumn(Field(-6, "_version", LONG), "version", stored_name="stored_version")
POSITION = MetadataColumn(Field(-7, "_pos", LONG), None, counts_rows=True)
PATH = MetadataColumn(Field(-8, "_file", primitive("string")), "path")
SPEC = MetadataColumn(Field(-9, "_spec_id", primitive("int")), "spec_id")
NULLED = MetadataColumn(Field(-10, "_id", LONG), "first_row_id", True, stored_id=900, null_without="first_row_id")


def read(
    column: MetadataColumn, stored: dict[str, tuple[int | None, list[int | None]]], first: int = 0, **values: Any
) -> list[Any]:
    """The column of the rows of a batch, of a file with these columns (an id, or None, and values)."""
    fields = [
        pa.field(name, pa.int64(), metadata=None if id is None else {ID: str(id)}) for name, (id, _) in stored.items()
    ]
    root = file_tree(pa.schema(fields), ID, "f")
    task: Any = SimpleNamespace(path="/t/f", spec_id=3, partition={}, file_values=values)
    reader = MetadataReader([column], root)
    assert reader.needs_positions is column.counts_rows
    rows = pa.StructArray.from_arrays([pa.array(found, pa.int64()) for _, found in stored.values()], fields=fields)
    if column.counts_rows:
        ((at, rows),) = with_positions([(first, rows)])
        assert at == first and rows.type.num_fields == len(fields) + 1
    chosen = [i for i in range(len(fields)) if i in reader.leaves]
    kept = [*chosen, *range(len(fields), rows.type.num_fields)]
    members = pa.struct([rows.type.field(i) for i in kept])
    rows = pa.Array.from_buffers(members, len(rows), [None], children=[rows.field(i) for i in kept])
    (found,) = reader.read(rows, Selection(root, reader.leaves), task)
    return found.to_pylist()


DATA = {"a": (1, [10, 20, 30])}


@pytest.mark.parametrize(
    ("column", "stored", "first", "values", "found"),
    [
        (POSITION, DATA, 0, {}, [0, 1, 2]),
        (POSITION, DATA, 40, {}, [40, 41, 42]),
        (FIRST_ROW, DATA, 40, {"first_row_id": 100}, [140, 141, 142]),
        (FIRST_ROW, {**DATA, "r": (900, [7, None, 9])}, 40, {"first_row_id": 100}, [7, 141, 9]),
        (FIRST_ROW, {**DATA, "r": (900, [7, 8, 9])}, 40, {}, [7, 8, 9]),
        (FIRST_ROW, {"a": (None, [1, 2, 3]), "r": (None, [7, 8, 9])}, 0, {"first_row_id": 100}, [100, 101, 102]),
        (BY_NAME, DATA, 0, {"version": 5}, [5, 5, 5]),
        (BY_NAME, {**DATA, "stored_version": (None, [1, None, 3])}, 0, {"version": 5}, [1, 5, 3]),
        (BY_NAME, {"stored_version": (77, [1, None, 3])}, 0, {"version": 5}, [1, 5, 3]),
        (PATH, DATA, 0, {}, ["/t/f"] * 3),
        (SPEC, DATA, 0, {}, [3] * 3),
        (NULLED, DATA, 2, {"first_row_id": 100}, [102, 103, 104]),
        (NULLED, {**DATA, "r": (900, [7, 8, 9])}, 2, {"first_row_id": None}, [None] * 3),
        (NULLED, DATA, 0, {}, [None] * 3),
    ],
)
def test_values_of_rows(
    column: MetadataColumn, stored: dict[str, Any], first: int, values: dict[str, Any], found: list[Any]
) -> None:
    assert read(column, stored, first, **values) == found


@pytest.mark.parametrize("stored", [DATA, {**DATA, "r": (900, [7, None, 9])}])
def test_values_that_neither_file_nor_metadata_have(stored: dict[str, Any]) -> None:
    with pytest.raises(
        CorruptMetadataError, match="no value for '_row_id': the metadata lacks 'first_row_id'"
    ) as caught:
        read(FIRST_ROW, stored)
    assert caught.value.path == "/t/f" and caught.value.field == "_row_id"


@pytest.mark.parametrize(
    ("partition", "found"),
    [
        ({}, None),
        ({1000: pa.scalar(5, pa.int64()), 1001: pa.scalar(None, pa.int64())}, {"p": 5, "q": None}),
    ],
)
def test_partition_values(partition: dict[int, pa.Scalar], found: Any) -> None:
    kind = StructType((Field(1000, "p", LONG), Field(1001, "q", LONG)))
    task: Any = SimpleNamespace(path="/t/f", spec_id=3, partition=partition, file_values={})
    root = file_tree(pa.schema([("a", pa.int64())]), ID, "f")
    reader = MetadataReader([MetadataColumn(Field(-4, "_partition", kind), "partition")], root)
    assert not reader.needs_positions and reader.leaves == frozenset()
    rows = pa.StructArray.from_arrays([pa.array([1, 2])], ["a"])
    (values,) = reader.read(rows, Selection(root, []), task)
    assert values.to_pylist() == [found] * 2
