"""Tuples in SQL compare as structs do in Spark: member by member, and NULL is the least value."""

from __future__ import annotations

import itertools
import operator

import pyarrow as pa
import pytest

import tableformats as tf
from tableformats.errors import InvalidPredicateError

ROWS = list(itertools.product((None, 1, 2, 3), (None, "a", "b")))
OPERATORS = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
    "!=": operator.ne,
    "<=>": operator.eq,
}


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> tf.Table:
    """Four files, which hold the rows in their order."""
    folder = tmp_path_factory.mktemp("rows") / "t"
    for first, stop in itertools.pairwise((0, 4, 6, 9, 12)):
        chosen = range(first, stop)
        a, s = (pa.array([ROWS[k][at] for k in chosen], kind) for at, kind in enumerate((pa.int32(), pa.string())))
        tf.write_table(pa.table({"k": list(chosen), "a": a, "s": s}), folder, mode="append", format="delta")
    return tf.open_table(folder)


def _key(row: tuple[object, ...]) -> list[tuple[bool, object]]:
    return [(value is not None, value if value is not None else 0) for value in row]


@pytest.mark.parametrize("op", OPERATORS)
def test_tuples_are_ordered_by_their_members(table: tf.Table, op: str) -> None:
    for one, two in itertools.product((None, 0, 2, 9), (None, "a", "c")):
        constant = f"({'NULL' if one is None else one}, {'NULL' if two is None else repr(two)})"
        given = _key((one, two))
        for text, turned in ((f"(a, s) {op} {constant}", False), (f"{constant} {op} (a, s)", True)):
            sides = [(given, _key(row)) if turned else (_key(row), given) for row in ROWS]
            wanted = {k for k, (left, right) in enumerate(sides) if OPERATORS[op](left, right)}
            for negated in (False, True):
                found = table.scan(f"NOT ({text})" if negated else text).to_arrow()["k"].to_pylist()
                assert sorted(found) == [k for k in range(len(ROWS)) if (k in wanted) != negated], text


def test_an_order_of_tuples_prunes(table: tf.Table) -> None:
    """What a reader asks who goes on behind the last row of a page."""
    assert len(table.scan("(a, s) > (2, 'b')").plan()) == 1
    assert len(table.scan("(a, s) < (1, 'a')").plan()) == 1


def test_tuples_of_other_lengths_do_not_compare(table: tf.Table) -> None:
    with pytest.raises(InvalidPredicateError, match="tuples of 2 and 3 values do not compare"):
        table.scan("(a, s) < (1, 'a', 2)")
