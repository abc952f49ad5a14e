"""What metadata say of a file and what its rows, or its footer, say otherwise; and how many rows metadata count."""

from __future__ import annotations

import datetime as dt
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tableformats.engines.arrow import counting, statistics_checks
from tableformats.engines.arrow.row_checks import FileFacts, _take, differences
from tableformats.errors import CorruptMetadataError
from tableformats.expressions import BoundColumn
from tableformats.pruning.column_ranges import Range
from tableformats.schema import Field, primitive

NAN = float("nan")
NUMBER = BoundColumn((Field(1, "n", primitive("long")),))
DOUBLE = BoundColumn((Field(1, "d", primitive("double")),))
TEXT = BoundColumn((Field(1, "s", primitive("string")),))
KINDS = {"n": pa.int64(), "d": pa.float64(), "s": pa.string()}


def facts_of(column: BoundColumn, *batches: list[Any]) -> FileFacts:
    facts = FileFacts(0, nulls={1: 0})
    for values in batches:
        facts.rows += len(values)
        _take(facts, 1, pa.array(values, KINDS[str(column)]))
    return facts


def range_of(column: BoundColumn, lower: Any, upper: Any, value: int = 1, null: int = 1, nan: int = 1) -> Range:
    kind = KINDS[str(column)]
    flags = [np.array([flag], np.uint8) for flag in (value, null, nan)]
    return Range(pa.array([lower], kind), pa.array([upper], kind), *flags)


def task_of(rows: int | None, *deletes: tuple[str, int | None]) -> Any:
    kinds, counts = zip(*deletes, strict=True) if deletes else ((), ())
    table = pa.table({"kind": pa.array(kinds, pa.string()), "cardinality": pa.array(counts, pa.int64())})
    return SimpleNamespace(record_count=rows, deletes=table)


@pytest.mark.parametrize(
    ("column", "batches", "nulls", "nans", "least", "greatest"),
    [
        (NUMBER, [[3, None, 1], [2, None]], 2, None, 1, 3),
        (NUMBER, [[1], [5], [-5]], 0, None, -5, 5),
        (NUMBER, [[None], []], 1, None, None, None),
        (DOUBLE, [[1.5, NAN], [NAN, None, -2.0]], 1, 2, -2.0, 1.5),
        (DOUBLE, [[NAN]], 0, 1, None, None),
        (TEXT, [["b", "a"], ["\U0001f600", "\uffff"]], 0, None, "a", "\U0001f600"),
    ],
)
def test_facts_of_rows(
    column: BoundColumn, batches: list[list[Any]], nulls: int, nans: int | None, least: Any, greatest: Any
) -> None:
    found = facts_of(column, *batches)
    assert (found.nulls[1], found.nans.get(1)) == (nulls, nans)
    assert [side[1].as_py() if 1 in side else None for side in (found.least, found.greatest)] == [least, greatest]
    assert found.covers(column), "all values, or that there are none"
    assert not FileFacts(1).covers(column)
    known = FileFacts(3, nulls={1: 1}, nans={1: 1})
    assert not known.covers(column) and FileFacts(2, nulls={1: 1}, nans={1: 1}).covers(column)


def said(column: BoundColumn, found: FileFacts, *ranges: Range, task: Any = None) -> list[tuple[str, str, str | None]]:
    return [
        (one.rule, one.what, one.filter) for one in differences(task or task_of(None), found, {1: ranges}, [column])
    ]


@pytest.mark.parametrize(
    ("column", "values", "known", "rule", "what", "filter_"),
    [
        (NUMBER, [1, 5], range_of(NUMBER, 1, 5, null=0), None, None, None),
        (NUMBER, [1, 5], range_of(NUMBER, None, None), None, None, None),
        (NUMBER, [None], range_of(NUMBER, None, None, value=0), None, None, None),
        (NUMBER, [None, 1, None], range_of(NUMBER, 1, 1, null=0), "null-count", "n is NULL in 2 rows", "n IS NULL"),
        (NUMBER, [0, 5], range_of(NUMBER, 1, 5), "bounds", "n has the value 0, which is outside of its lower", "n = 0"),
        (NUMBER, [1, 6], range_of(NUMBER, 1, 5), "bounds", "n has the value 6, which is outside of its upper", "n = 6"),
        (NUMBER, [7], range_of(NUMBER, None, None, value=0), "null-count", "it is NULL in all rows", "n = 7"),
        (DOUBLE, [1.0, NAN], range_of(DOUBLE, 1.0, 1.0, nan=0), "nan-count", "d is NaN in 1 rows", "isnan(d)"),
        (DOUBLE, [1.0, NAN], range_of(DOUBLE, 1.0, 1.0), None, None, None),
        (DOUBLE, [NAN], range_of(DOUBLE, NAN, NAN, nan=0), None, None, None),
        (DOUBLE, [2.0, NAN], range_of(DOUBLE, NAN, NAN), "null-count", "it is NaN in all rows", "d = 2.0D"),
        (TEXT, ["b"], range_of(TEXT, "a", "b"), None, None, None),
        (TEXT, ["c"], range_of(TEXT, "a", "b"), "bounds", "its upper bound b", "s = 'c'"),
    ],
)
def test_what_ranges_say_otherwise(
    column: BoundColumn, values: list[Any], known: Range, rule: str | None, what: str | None, filter_: str | None
) -> None:
    found = said(column, facts_of(column, values), known)
    if rule is None:
        assert found == []
        return
    ((its_rule, its_what, its_filter),) = found
    assert its_rule == rule and what is not None and what in its_what
    assert its_filter is not None and filter_ is not None and its_filter.rstrip("D") == filter_.rstrip("D")


@pytest.mark.parametrize(
    ("rows", "deletes", "footer", "what"),
    [
        (3, [], False, None),
        (None, [], False, None),
        (4, [], False, "it has 3 live rows, and its metadata say 4"),
        (2, [], True, "it has 3 rows, and its metadata say 2"),
        (5, [("deletion_vector", 2)], False, None),
        (5, [("deletion_vector", 1)], False, "it has 3 live rows, and its metadata say 4"),
        (5, [("deletion_vector", None)], False, None),
        (5, [("deletion_vector", 1), ("position", None)], False, None),
        (9, [("equality", None)], False, None),
        (3, [("deletion_vector", 1)], True, None),
        (5, [("deletion_vector", 2)], True, "it has 3 rows, and its metadata say 5"),
    ],
)
def test_numbers_of_rows(
    rows: int | None, deletes: list[tuple[str, int | None]], footer: bool, what: str | None
) -> None:
    found = [*differences(task_of(rows, *deletes), FileFacts(3, is_footer=footer), {}, [])]
    assert [(one.rule, one.what) for one in found] == ([] if what is None else [("record-count", what)])


@pytest.mark.parametrize(
    ("column", "deletes", "rule", "proven"),
    [
        (NUMBER, [], "bounds", True),
        (NUMBER, [("deletion_vector", 1)], "bounds", False),
        (TEXT, [], "bounds", False),
        (TEXT, [], "null-count", True),
    ],
)
def test_what_a_footer_proves(column: BoundColumn, deletes: Any, rule: str, proven: bool) -> None:
    """A deleted row may be the reason, and so may a text that was cut."""
    values = {"n": [9], "s": ["z"]}[str(column)] if rule == "bounds" else [None]
    facts = facts_of(column, values)
    low = {"n": 1, "s": "a"}[str(column)]
    known = range_of(column, low, low) if rule == "bounds" else range_of(column, None, None, null=0)
    (one,) = differences(task_of(None, *deletes), facts, {1: [known]}, [column])
    assert one.is_proven and one.rule == rule
    facts.is_footer = True
    (one,) = differences(task_of(None, *deletes), facts, {1: [known]}, [column])
    assert one.is_proven is proven and one.column == column


def test_moments_that_python_lacks_have_no_filter() -> None:
    column = BoundColumn((Field(1, "t", primitive("timestamp")),))
    facts = FileFacts(1, nulls={1: 0})
    far = pa.array([2**62, 5], pa.int64()).cast(pa.timestamp("us", "UTC"))
    _take(facts, 1, far)
    known = Range(far[1:], far[1:], *(np.ones(1, np.uint8) for _ in range(3)))
    (one,) = differences(task_of(None), facts, {1: [known]}, [column])
    assert one.filter is None and one.rule == "bounds"
    assert "has the value +148108-07-06T14:00:27.387904Z" in one.what


@pytest.mark.parametrize(
    ("nulls", "rows", "lower", "upper", "found"),
    [
        ([1, 0], [5, 5], [3, 1], [4, 9], (1, 1, 9)),
        ([5, 0], [5, 5], [None, 1], [None, 9], (5, 1, 9)),
        ([1, 0], [5, 5], [None, 1], [4, 9], (1, None, None)),
        ([1, 0], [5, 5], [3, 1], [None, 9], (1, None, None)),
        ([None, 0], [5, 5], [3, 1], [4, 9], (None, None, None)),
        ([5, 5], [5, 5], [None, None], [None, None], (10, None, None)),
    ],
)
def test_facts_of_a_footer(
    nulls: list[Any], rows: list[int], lower: list[Any], upper: list[Any], found: tuple[Any, ...]
) -> None:
    """Of row groups; one of NULLs alone needs no bounds."""
    bounds: Any = SimpleNamespace(
        null_count={1: pa.array(nulls, pa.int64())},
        lower={1: pa.array(lower, pa.int64())},
        upper={1: pa.array(upper, pa.int64())},
    )
    facts = FileFacts(10, is_footer=True)
    statistics_checks._take(facts, 1, bounds, pa.array(rows, pa.int64()))
    values = [side[1].as_py() if 1 in side else None for side in (facts.least, facts.greatest)]
    assert (facts.nulls.get(1), *values) == found
    without: Any = SimpleNamespace(null_count=bounds.null_count, lower={}, upper={})
    facts = FileFacts(10, is_footer=True)
    statistics_checks._take(facts, 1, without, pa.array(rows, pa.int64()))
    assert facts.nulls.get(1) == found[0] and not facts.least


@pytest.mark.parametrize("side", ["lower", "upper"])
def test_bounds_of_a_footer_that_are_nan_say_nothing(side: str) -> None:
    values = {"lower": [1.0], "upper": [2.0], side: [NAN]}
    bounds: Any = SimpleNamespace(
        null_count={1: pa.array([0])}, lower={1: pa.array(values["lower"])}, upper={1: pa.array(values["upper"])}
    )
    facts = FileFacts(1, is_footer=True)
    statistics_checks._take(facts, 1, bounds, pa.array([1]))
    assert facts.nulls == {1: 0} and not facts.least and not facts.greatest


@pytest.mark.parametrize(
    ("known", "says"),
    [
        (range_of(NUMBER, None, None), False),
        (range_of(NUMBER, 1, None), True),
        (range_of(NUMBER, None, 1), True),
        (range_of(NUMBER, None, None, null=0), True),
        (range_of(NUMBER, None, None, value=0), True),
        (range_of(NUMBER, None, None, nan=0), True),
    ],
)
def test_ranges_that_could_drop_a_file(known: Range, says: bool) -> None:
    assert statistics_checks._says_something(known) is says


class Plan:
    """A plan of files with deletes; ``counts`` are rows as far as they are known."""

    def __init__(
        self, counts: list[int | None], matched: list[bool], deletes: list[list[tuple[str, int | None]]]
    ) -> None:
        self.record_counts = pa.array(counts, pa.int64())
        self.survivors = pa.table({"fully_matched": matched})
        kinds, cardinalities = ([one[i] for some in deletes for one in some] for i in (0, 1))
        files = pa.table({"kind": pa.array(kinds, pa.string()), "cardinality": pa.array(cardinalities, pa.int64())})
        offsets = np.cumsum([0, *map(len, deletes)])
        self.delete_files = SimpleNamespace(files=files, offsets=offsets, indices=np.arange(len(kinds)))
        self.paths = pa.array([f"f{i}" for i in range(len(counts))])
        self.limit: int | None = None

    def take(self, rows: Any) -> list[int]:
        return list(rows.tolist())


VECTOR = "deletion_vector"


def test_live_rows_that_metadata_count() -> None:
    plan: Any = Plan(
        [10, None, 10, 10, 10, 10, 0, 5],
        [True, True, False, True, True, True, True, True],
        [[], [], [], [(VECTOR, 3)], [(VECTOR, None)], [("position", 3)], [], [(VECTOR, 1), (VECTOR, 1)]],
    )
    assert counting.rows_by_metadata(plan).tolist() == [10, -1, -1, 7, -1, -1, 0, -1]
    plan = Plan([4, 4], [True, True], [[(VECTOR, 4)], [(VECTOR, 0)]])
    assert counting.rows_by_metadata(plan).tolist() == [0, 4]


def test_vectors_of_more_rows_than_a_file_has() -> None:
    plan: Any = Plan([9, 4, 3], [True] * 3, [[], [(VECTOR, 5)], [(VECTOR, 9)]])
    with pytest.raises(CorruptMetadataError, match="a deletion vector takes 5 rows from a file of 4") as caught:
        counting.rows_by_metadata(plan)
    assert caught.value.path == "f1"


@pytest.mark.parametrize(
    ("limit", "count", "reads"),
    [
        (None, 22, [3]),
        (0, 0, None),
        (9, 9, None),
        (10, 10, None),
        (11, 11, [3]),
        (17, 17, [3]),
        (18, 18, [3]),
        (99, 22, [3]),
    ],
)
def test_rows_are_counted_up_to_a_limit(
    limit: int | None, count: int, reads: list[int] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten rows are known, five are left by positions, and a file of seven is read."""
    plan: Any = Plan([10, 8, None], [True] * 3, [[], [("position", None)], []])
    plan.limit = limit
    taken: list[Any] = []
    read: list[Any] = []
    known = SimpleNamespace(residual=counting.ex.TRUE, record_count=8, deletes=pa.table({"kind": ["position"]}))
    unknown = SimpleNamespace(
        residual=counting.ex.TRUE, record_count=None, deletes=pa.table({"kind": pa.array([], pa.string())})
    )

    def take(rows: Any) -> Any:
        taken.append(rows.tolist())
        return SimpleNamespace(snapshot=SimpleNamespace(format_snapshot=None))

    plan.take = take
    monkeypatch.setattr(counting, "tasks_of", lambda plan: [known, unknown])
    monkeypatch.setattr(counting, "deleted_positions", lambda snapshot, task, rows: [0, 1, 2])
    monkeypatch.setattr(counting, "count_rows", lambda plan, tasks: read.append(len(tasks)) or iter([3, 4]))
    assert counting.count(plan) == count
    assert taken == ([] if reads is None else [[1, 2]]) and read == ([] if reads is None else [1])


@pytest.mark.parametrize(
    ("residual", "rows", "kinds", "needs_no_file"),
    [
        (counting.ex.TRUE, 5, ["position"], True),
        (counting.ex.TRUE, 5, [], True),
        (counting.ex.TRUE, 5, ["position", "equality"], False),
        (counting.ex.TRUE, None, ["position"], False),
        (counting.ex.FALSE, 5, ["position"], False),
    ],
)
def test_files_whose_rows_positions_tell(
    residual: Any, rows: int | None, kinds: list[str], needs_no_file: bool
) -> None:
    task: Any = SimpleNamespace(
        residual=residual, record_count=rows, deletes=pa.table({"kind": pa.array(kinds, pa.string())})
    )
    assert counting._has_positional_deletes_only(task) is needs_no_file


def test_dates_are_compared_in_the_type_of_the_bound() -> None:
    column = BoundColumn((Field(1, "n", primitive("date")),))
    facts = FileFacts(1, nulls={1: 0})
    _take(facts, 1, pa.array([dt.date(2020, 1, 2)]))
    bound = pa.array([dt.date(2020, 1, 1)])
    known = Range(bound, bound, *(np.ones(1, np.uint8) for _ in range(3)))
    (one,) = differences(task_of(None), facts, {1: [known]}, [column])
    assert one.rule == "bounds" and one.filter == "n = DATE '2020-01-02'"


def test_what_nobody_counted_is_not_told() -> None:
    """A footer may count neither NULLs nor NaNs."""
    assert said(DOUBLE, FileFacts(3, is_footer=True), range_of(DOUBLE, 1.0, 1.0, null=0, nan=0)) == []
    assert said(TEXT, FileFacts(3, is_footer=True), range_of(TEXT, None, None, value=0, null=0)) == []
