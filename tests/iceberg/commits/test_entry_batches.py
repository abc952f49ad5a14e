"""Entries of manifests that are to be written: their parts, as lists of Python have them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tableformats_iceberg.write.encode.entry_batches import EntryBatch
from tableformats_iceberg.write.encode.layouts import Layout, Member, decimal_bytes

NUMBERS = ("status", "snapshot_id", "sequence_number", "file_sequence_number", "record_count", "size_bytes")


def batch(rows: int, first: int = 0) -> EntryBatch:
    """Entries whose every value tells its row."""
    numbers = {name: np.arange(first, first + rows) + 100 * place for place, name in enumerate(NUMBERS)}
    texts = pa.array([b"%d" % row for row in range(first, first + rows)], pa.binary())
    layout: Any = None
    return EntryBatch(layout, members={1: texts, 2: texts}, partition=[texts, pa.array(numbers["status"])], **numbers)


def rows_of(found: EntryBatch) -> list[int]:
    """The rows of the batch that it is a part of; each column has to have the same ones."""
    columns = [(getattr(found, name) - 100 * place).tolist() for place, name in enumerate(NUMBERS)]
    columns += [[int(value) for value in one.to_pylist()] for one in (*found.members.values(), *found.partition)]
    assert all(column == columns[0] for column in columns) and len(found) == len(columns[0])
    return columns[0]


@pytest.mark.parametrize(("start", "stop"), [(0, 6), (1, 6), (0, 5), (0, 2), (2, 4), (4, 6), (5, 6), (3, 3), (0, 0)])
def test_slices(start: int, stop: int) -> None:
    assert rows_of(batch(6).slice(start, stop)) == [*range(start, stop)]


@pytest.mark.parametrize("rows", [[], [3], [0, 2, 5], [0, 1, 2, 3, 4, 5]])
def test_chosen_rows(rows: list[int]) -> None:
    assert rows_of(batch(6).take(np.array(rows, np.int64))) == rows


def test_batches_one_after_the_other() -> None:
    assert rows_of(EntryBatch.concat([batch(2), batch(3, 2), batch(1, 5)])) == [*range(6)]
    assert rows_of(EntryBatch.concat([batch(2), batch(3, 2)])) == [*range(5)]
    assert rows_of(EntryBatch.concat([batch(2)])) == [0, 1]


def test_the_first_batch_says_how_members_are_called() -> None:
    """New manifests come first, so that a manifest they are merged to has the names of the specification."""
    own, others = (Layout(2, (Member(100, name, "string"),)) for name in ("file_path", "path"))
    assert own.key == others.key
    made = EntryBatch.concat([replace(batch(1), layout=own), replace(batch(1, 1), layout=others)])
    assert made.layout is own and rows_of(made) == [0, 1]


def test_decimals_take_the_fewest_bytes() -> None:
    for precision in range(1, 39):
        greatest, size = 10**precision - 1, decimal_bytes(precision)
        assert int.from_bytes((-greatest).to_bytes(size, "big", signed=True), "big", signed=True) == -greatest
        with pytest.raises(OverflowError):
            greatest.to_bytes(size - 1, "big", signed=True)
