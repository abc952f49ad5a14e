"""Numbers of rows, NULLs and NaN that a log knows of files, and from which of its two forms statistics are taken."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tableformats_delta.statistics import log_statistics
from tableformats_delta.statistics.log_statistics import (
    LogStatistics,
    TextStatistics,
    _member,
    _nan_counts,
    _not_negative,
    _null_counts,
    _StoredStatistics,
)
from tableformats_delta.statistics.stats_json import Leaf, RawStatistics

from tableformats.plugin import Field, Schema, primitive

NAN = float("nan")
LONG = primitive("long")


def numbers(*values: Any) -> pa.Array:
    return pa.array(values, pa.int64())


# ---- counts ----------------------------------------------------------------------------------------------------------


def test_counts_below_zero_are_unknown() -> None:
    assert _not_negative(numbers(0, 1, -1, None)).to_pylist() == [0, 1, None, None]
    assert _not_negative(numbers(0, 1)).to_pylist() == [0, 1]
    assert _not_negative(pa.nulls(2, pa.int64())).to_pylist() == [None, None]


@pytest.mark.parametrize(
    ("nulls", "records", "tight", "wide"),
    [
        (0, 5, 0, 0),
        (5, 5, 5, 5),
        (3, 5, 3, None),
        (6, 5, None, None),
        (-1, 5, None, None),
        (0, 0, 0, 0),
        (None, 5, None, None),
        (0, None, None, None),
    ],
)
def test_counts_of_nulls(nulls: int | None, records: int | None, tight: int | None, wide: int | None) -> None:
    """Under wide bounds rows may be deleted: only none and all are sure."""
    for others in ([], [1]):
        given = numbers(nulls, *others), numbers(records, *(5 for _ in others))
        for is_wide, wanted in ((False, tight), (True, wide)):
            found = _null_counts(*given, np.array([is_wide, *(False for _ in others)]))
            assert found.to_pylist() == [wanted, *others]


def test_counts_that_are_all_unknown() -> None:
    unknown, known, wide = pa.nulls(2, pa.int64()), numbers(0, 0), np.zeros(2, bool)
    for given in ((unknown, known), (known, unknown)):
        assert _null_counts(*given, wide).to_pylist() == [None, None]


@pytest.mark.parametrize(
    ("low", "high", "nulls", "records", "nans"),
    [
        (1.0, 1.0, 0, 1, 0),
        (1.0, 1.0, 4, 5, 0),
        (NAN, NAN, 0, 1, 1),
        (1.0, 2.0, 0, 2, 0),
        (1.0, 1.0, 0, 2, None),
        (NAN, NAN, 0, 2, None),
        (2.0, 1.0, 0, 1, None),
        (1.0, 2.0, 0, 1, 0),
        (1.0, 2.0, 0, 3, None),
        (1.0, 2.0, 0, 0, None),
        (1.0, None, 0, 1, None),
        (None, 1.0, 0, 1, None),
        (1.0, 1.0, None, 1, None),
        (1.0, 1.0, 0, None, None),
        (1.0, NAN, 0, 1, None),
    ],
)
def test_counts_of_nan(low: Any, high: Any, nulls: Any, records: Any, nans: int | None) -> None:
    """The bounds of one value, or of two that differ, are all values that there are."""
    doubles = pa.float64()
    given = [
        pa.array([value, other], kind)
        for value, other, kind in (
            (low, 1.0, doubles),
            (high, 2.0, doubles),
            (nulls, 0, pa.int64()),
            (records, 2, pa.int64()),
        )
    ]
    found = _nan_counts(*given, np.array([False, False]))
    assert found is not None and found.to_pylist() == [nans, 0]
    found = _nan_counts(*given, np.array([True, False]))
    assert found is not None and found.to_pylist() == [None, 0]
    alone = [side.slice(0, 1) for side in given]
    found = _nan_counts(*alone, np.array([False]))
    assert (None if found is None else found.to_pylist()[0]) == nans
    assert _nan_counts(*alone, np.array([True])) is None


def test_values_that_a_float_does_not_tell_apart() -> None:
    sides = [pa.array([value]) for value in (1.0, 1.0 + 2**-40)]
    found = _nan_counts(*sides, numbers(0), numbers(2), np.array([False]))
    assert found is not None and found.to_pylist() == [None]


# ---- the two forms ---------------------------------------------------------------------------------------------------


class Source:
    """Statistics in both forms; notes how often the texts are read."""

    def __init__(self, parsed: pa.StructArray | None, *texts: str | None) -> None:
        self._parsed = parsed
        self._texts = TextStatistics(pa.array(texts, pa.string()))
        self.scans = 0

    def scan(self, leaves: Sequence[Leaf], rows: np.ndarray | None) -> RawStatistics:
        self.scans += 1
        return self._texts.scan(leaves, rows)

    def parsed(self, leaves: Sequence[Sequence[str]], rows: np.ndarray | None) -> pa.StructArray | None:
        return self._parsed if self._parsed is None or rows is None else self._parsed.take(pa.array(rows))


def text(records: int, low: int, high: int, nulls: int) -> str:
    values = {"minValues": {"c": low}, "maxValues": {"c": high}, "nullCount": {"c": nulls}}
    return json.dumps({"numRecords": records, **values})


SIDE = pa.struct([("c", pa.int64())])


def structs(*values: Any, without: str = "", kind: pa.DataType | None = None) -> pa.StructArray:
    """Each is (records, least, greatest, nulls) or None."""
    members = {"numRecords": pa.int64(), "minValues": kind or SIDE, "maxValues": SIDE, "nullCount": SIDE}
    members.pop(without, None)
    rows = [
        None
        if one is None
        else dict(
            zip(
                ("numRecords", "minValues", "maxValues", "nullCount"),
                (one[0], *({"c": n} for n in one[1:])),
                strict=True,
            )
        )
        for one in values
    ]
    return pa.array([row and {name: row[name] for name in members} for row in rows], pa.struct(list(members.items())))


C = Field(1, "c", LONG)
SCHEMA = Schema((C, Field(2, "p", LONG)))
TEXTS = text(10, 1, 2, 3), text(20, 4, 5, 6)


def told(source: Source, rows: list[int] | None = None, counted: Any = ()) -> list[Any]:
    """(records, least, greatest, nulls) of each file."""
    n = len(source._texts._text)
    found = LogStatistics(SCHEMA, source, pa.array([False] * n)).bounds_or_counts(
        [C], None if rows is None else np.array(rows, np.int64), counted
    )
    assert found.record_count is not None and found.value_count[1].equals(found.record_count)
    unknown = pa.nulls(len(found.record_count))
    columns = [found.record_count, found.lower.get(1, unknown), found.upper.get(1, unknown), found.null_count[1]]
    return [*zip(*(column.to_pylist() for column in columns), strict=True)]


NONE = (None, None, None, None)
A, B = (10, 1, 2, 3), (20, 4, 5, 6)
X, Y = (11, 7, 8, 9), (21, 14, 15, 16)


@pytest.mark.parametrize(
    ("source", "wanted", "scans"),
    [
        (Source(None, *TEXTS), [A, B], 1),
        (Source(None, TEXTS[0], None), [A, NONE], 1),
        (Source(structs(X, Y), *TEXTS), [X, Y], 0),
        (Source(structs(X, None), *TEXTS), [X, B], 1),
        (Source(structs(X, Y, without="numRecords"), *TEXTS), [A, B], 1),
        (Source(structs(X, Y, without="minValues"), *TEXTS), [A, B], 1),
        (Source(structs(X, Y, without="maxValues"), *TEXTS), [A, B], 1),
        (Source(structs(X, Y, without="nullCount"), *TEXTS), [A, B], 1),
        (Source(structs(X, Y, without="nullCount"), None, TEXTS[1]), [(11, 7, 8, None), B], 1),
        (Source(structs(X, Y, without="minValues"), None, TEXTS[1]), [(11, None, None, 9), B], 1),
        (Source(structs(X, Y, without="minValues"), None, None), [(11, None, None, 9), (21, None, None, 16)], 1),
    ],
)
def test_which_form_is_used(source: Source, wanted: list[Any], scans: int) -> None:
    """Structs, and texts where a file has none; where a wanted column is missing, texts where there are any."""
    assert told(source) == wanted and source.scans == scans
    assert told(source, [1]) == wanted[1:]


def test_counts_alone() -> None:
    """Bounds that are not wanted need not be there."""
    source = Source(structs(X, Y, without="minValues"), *TEXTS)
    assert told(source, None, {1}) == [(11, None, None, 9), (21, None, None, 16)] and source.scans == 0


def test_files_without_a_number_of_rows_have_no_bounds() -> None:
    assert told(Source(None, TEXTS[0], '{"minValues": {"c": 1}, "maxValues": {"c": 2}}')) == [A, NONE]
    assert told(Source(None, TEXTS[0], TEXTS[1].replace("20", "-20"))) == [A, NONE]


def test_columns_without_statistics() -> None:
    found = LogStatistics(SCHEMA, Source(None, *TEXTS), pa.array([False, False]), {1}).bounds([C], None)
    assert found.record_count is None and found.lower == {} and found.null_count == {}


@pytest.mark.parametrize(
    ("tight", "has_vector", "nulls"), [(True, False, 3), (False, False, None), (True, True, None), (None, False, 3)]
)
def test_wide_bounds(tight: bool | None, has_vector: bool, nulls: int | None) -> None:
    one = json.dumps({**json.loads(TEXTS[0]), **({} if tight is None else {"tightBounds": tight})})
    for source in (Source(None, one, one), Source(None, TEXTS[0], one)):
        statistics = LogStatistics(SCHEMA, source, pa.array([False, has_vector]))
        assert statistics.bounds([C], None).null_count[1].to_pylist()[1] == nulls
        assert statistics.bounds([C], np.array([1])).null_count[1].to_pylist() == [nulls]


@pytest.mark.parametrize(
    ("source", "wanted", "scans"),
    [
        (Source(None, *TEXTS), [10, 20], 1),
        (Source(structs(X, Y), *TEXTS), [11, 21], 0),
        (Source(structs(X, None), *TEXTS), [11, 20], 1),
        (Source(structs((-1, 0, 0, 0), Y), *TEXTS), [None, 21], 0),
        (Source(structs(X, Y, without="numRecords"), TEXTS[0], "{}"), [10, None], 1),
    ],
)
def test_numbers_of_rows(source: Source, wanted: list[Any], scans: int) -> None:
    statistics = LogStatistics(SCHEMA, source, pa.array([False, False]))
    assert statistics.record_counts().to_pylist() == wanted and source.scans == scans
    assert statistics.record_counts(np.array([1])).to_pylist() == wanted[1:]


@pytest.mark.parametrize("piece", [1, 2, 3, 100])
@pytest.mark.parametrize("rows", [None, [], [0], [4], [1, 2], [0, 3, 4], [0, 1, 2, 3, 4]])
def test_texts_are_read_in_pieces(piece: int, rows: list[int] | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_statistics, "PIECE_ROWS", piece)
    texts = pa.array([text(n, n, n, 0) for n in range(5)])
    source = TextStatistics(texts)
    found = source.scan([], None if rows is None else np.array(rows, np.int64)).record_counts.to_pylist()
    assert found == [*range(5)] if rows is None else found == rows
    assert source.parsed([], None) is None
    pieces = [*source._pieces(None if rows is None else np.array(rows, np.int64))]
    assert len(pieces) == (-(-5 // piece) if rows is None else len({row // piece for row in rows}))


@pytest.mark.parametrize(
    ("path", "kind", "wanted"),
    [
        (("a",), None, [1, None]),
        (("a",), pa.int64(), [1, None]),
        (("a",), pa.int8(), [1, None]),
        (("s", "t"), None, ["x", None]),
        (("s", "t"), pa.string(), ["x", None]),
        (("s", "t"), pa.int64(), None),
        (("a",), pa.list_(pa.int64()), None),
        (("b",), None, None),
        (("a", "b"), None, None),
        (("s", "b"), None, None),
        (("b", "t"), None, None),
    ],
)
def test_members_of_structs(path: tuple[str, ...], kind: pa.DataType | None, wanted: list[Any] | None) -> None:
    found = _member(pa.array([{"a": 1, "s": {"t": "x"}}, None]), path, kind)
    assert (None if found is None else found.to_pylist()) == wanted
    assert kind is None or found is None or found.type == kind
    assert _member(None, path, kind) is None


def test_columns_that_neither_form_has() -> None:
    found = _StoredStatistics(2, None, structs(X, Y))
    assert found.either(lambda raw: raw.tight, ("tightBounds",), pa.bool_()) is None
    assert found.counts(lambda raw: raw.record_counts, ("unknown",)).to_pylist() == [None, None]
    assert found.counts(lambda raw: raw.record_counts, ("numRecords",)).to_pylist() == [11, 21]
    other = Leaf(9, ("other",), LONG, False)
    assert [side.to_pylist() for side in found.bound_pair(other)] == [[None, None], [None, None]]
