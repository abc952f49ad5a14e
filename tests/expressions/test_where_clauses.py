"""WHERE clauses as users write them: a scan takes them, and returns the rows that Spark returned.

Spark's answers stand in ``where_answers.json``; ``tests/spark/test_where_clauses.py`` compares them with Spark again.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tableformats as tf
from tableformats.errors import InvalidPredicateError, UnsupportedFeatureError
from tests.expressions import where_clauses
from tests.support import examples

deltalake = pytest.importorskip("deltalake", reason="needs the extra [test]")

ANSWERS = json.loads((Path(__file__).parent / "where_answers.json").read_text())
EVERY = [clause for clauses in where_clauses.CLAUSES.values() for clause in clauses]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> tf.Table:
    root = tmp_path_factory.mktemp("where") / "table"
    for rows in where_clauses.files():
        deltalake.write_deltalake(str(root), rows, mode="append", partition_by=where_clauses.PARTITIONS)
    return tf.open_table(root)


@pytest.fixture(scope="module")
def unpartitioned(tmp_path_factory: pytest.TempPathFactory) -> tf.Table:
    """The same rows in four files."""
    root = tmp_path_factory.mktemp("where") / "unpartitioned"
    for rows in where_clauses.files():
        deltalake.write_deltalake(str(root), rows, mode="append")
    return tf.open_table(root)


def ids(answer: str) -> list[int]:
    """The rows of a stored answer: bit ``i`` is set if row ``i`` matches."""
    bits = int(answer, 16)
    return [i for i in range(where_clauses.ROWS) if bits >> i & 1]


def test_every_clause_has_an_answer() -> None:
    assert len(set(EVERY)) == len(EVERY)
    assert set(ANSWERS) == set(EVERY)


def test_clauses_give_the_rows_of_spark(table: tf.Table, unpartitioned: tf.Table) -> None:
    """On the partitioned table all at night; for each change those that name a column of its partitions, one in sixteen
    of the others, and as many as make one of two on the table of four files, which takes a sixth of the time."""
    wrong = []
    for number, clause in enumerate(EVERY):
        names_partitions = any(name in clause for name in where_clauses.PARTITIONS)
        if not (examples.EVERY or names_partitions or number % 2 == 0):
            continue
        whole = examples.EVERY or names_partitions or number % 16 == 0
        found = (table if whole else unpartitioned).scan(clause, columns=["id"]).to_arrow()["id"].to_pylist()
        if sorted(found) != ids(ANSWERS[clause]):
            wrong.append(clause)
    assert not wrong


def test_few_clauses_are_refused() -> None:
    assert len(EVERY) >= 260
    assert len(where_clauses.REFUSED) <= len(EVERY) // 20


@pytest.mark.parametrize(("clause", "message"), where_clauses.REFUSED.items())
def test_other_clauses_are_refused_with_a_reason(table: tf.Table, clause: str, message: str) -> None:
    with pytest.raises((InvalidPredicateError, UnsupportedFeatureError)) as error:
        table.scan(clause).to_arrow()
    assert message in str(error.value).lower()
