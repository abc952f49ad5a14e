"""Deletes of rows for which a filter is not TRUE anyway are left out of its plan."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tableformats.expressions.binding import bind
from tableformats.expressions.parse import parse_filter
from tableformats.plugin import Bounds, DeleteFiles
from tableformats.pruning.compiled_predicate import CompiledPredicate
from tableformats.pruning.relevant_deletes import relevant_deletes
from tableformats.schema import Field, Schema, primitive

SCHEMA = Schema((Field(1, "a", primitive("long")),))


class Statistics:
    """The bounds of the rows that each delete file deletes."""

    def __init__(self, *sides: tuple[int | None, int | None]) -> None:
        self.sides = sides

    def bounds(self, columns: Any, rows: Any) -> Bounds:
        assert [column.name for column in columns] == ["a"] and rows is None
        lower, upper = (pa.array(side, pa.int64()) for side in zip(*self.sides, strict=True))
        return Bounds({1: lower}, {1: upper})


def compiled(text: str) -> CompiledPredicate:
    parsed = parse_filter(text)
    assert parsed is not None
    return CompiledPredicate(bind(parsed, SCHEMA))


def deletes_of(of_files: list[list[int]], statistics: Any) -> DeleteFiles:
    """Deletes of files, by their rows in a table of four."""
    files = pa.table({"path": pa.array(["p", "q", "r", "s"]), "record_count": pa.array([1, None, 3, 4], pa.int64())})
    offsets = np.cumsum([0, *map(len, of_files)]).astype(np.int64)
    return DeleteFiles(files, offsets, np.array([row for rows in of_files for row in rows], np.int32), statistics)


def by_file(found: DeleteFiles) -> list[list[str]]:
    assert found.offsets.dtype == np.int64 and found.indices.dtype == np.int32
    paths = found.files["path"].to_pylist()
    pairs = zip(found.offsets[:-1], found.offsets[1:], strict=True)
    return [[paths[i] for i in found.indices[start:stop]] for start, stop in pairs]


OF_FILES = [[0, 1], [], [1, 2, 3], [3], [0]]


@pytest.mark.parametrize(
    ("text", "left", "files"),
    [
        ("a > 15", ["q", "r"], [["q"], [], ["q", "r"], [], []]),
        ("a > 45", ["r"], [[], [], ["r"], [], []]),
        ("a < 5", ["p", "r"], [["p"], [], ["r"], [], ["p"]]),
        ("a > 0 AND a < 15", ["p", "r", "s"], [["p"], [], ["r", "s"], ["s"], ["p"]]),
    ],
)
def test_deletes_of_rows_that_may_match(text: str, left: list[str], files: list[list[str]]) -> None:
    found = relevant_deletes(compiled(text), deletes_of(OF_FILES, Statistics((1, 9), (20, 40), (None, None), (10, 14))))
    assert found.files["path"].to_pylist() == left and by_file(found) == files
    assert found.statistics is None


def test_deletes_that_stay_as_they_are() -> None:
    known = Statistics((1, 9), (20, 40), (None, None), (10, 14))
    for text, statistics in (("a > 0", known), ("a > 15", None), ("a IS NULL OR a > 0", known)):
        given = deletes_of(OF_FILES, statistics)
        assert relevant_deletes(compiled(text), given) is given
    none = deletes_of([[], []], Statistics())
    empty = DeleteFiles(none.files.slice(0, 0), none.offsets, none.indices, none.statistics)
    assert relevant_deletes(compiled("a > 15"), empty) is empty


def test_no_delete_is_left() -> None:
    found = relevant_deletes(compiled("a > 99"), deletes_of(OF_FILES, Statistics((1, 9), (20, 40), (5, 6), (10, 14))))
    assert found.files.num_rows == 0 and by_file(found) == [[]] * 5
