"""Errors of a filter in SQL say where in the text they have their cause: those of parsing, binding and evaluation."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

import tableformats as tf
from tableformats.expressions.parse import parse_filter
from tests.support.delta_changes import id_file
from tests.support.delta_log import DeltaLog, field


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> tf.Snapshot:
    log = DeltaLog(tmp_path_factory.mktemp("places") / "t").start(field("id", "integer"), field("s", "string"))
    log.commit(1, id_file(log, "a", [1, 2]))
    return tf.open_table(log.root).snapshot()


@pytest.mark.parametrize(
    ("sql", "place"),
    [
        ("id > 1 AND uper(s) = 'X'", "line 1, column 12"),
        ("id > 1 AND\n  upper(s, 'x') = 'X'", "line 2, column 3"),
        ("id > 1 AND nope = 3", "line 1, column 12"),
        ("id > 1 OR CAST('abc' AS INT) = id", "line 1, column 11"),
        ("id > 1 AND id = 'abc'", "line 1, column 12"),
        ("id > 1 AND make_date(2024, 13, 1) IS NULL", "line 1, column 12"),
        # While rows are read.
        ("id > 0 AND 1 = id % (id - 1)", "line 1, column 16"),
        ("id > 0 AND id NOT IN (1 / (id - 1), 7)", "line 1, column 23"),
        ("id > 0\n  AND concat(id, 'x') RLIKE '(?=x)'", "line 2, column 7"),
        ("id > 0 AND NOT concat(id, 'x') RLIKE '[a&&b]'", "line 1, column 16"),
        ("regexp_replace(concat(id, 'x'), '(a)\\\\1', '') = 'x'", "line 1, column 1"),
        ("concat(id, 'x') > 1", "line 1, column 1"),
        ("id > 0 AND CAST(concat(id, 'x') AS INT) > 1", "line 1, column 12"),
    ],
)
def test_the_place_is_that_of_the_smallest_part(snapshot: tf.Snapshot, sql: str, place: str) -> None:
    with pytest.raises(tf.TableFormatsError) as caught:
        snapshot.scan(sql).to_arrow()
    assert caught.value.message.count(" of the filter") == 1
    assert f"at {place} of the filter" in caught.value.message
    assert "\n" not in caught.value.message


def test_leaves_over_texts_have_a_place(tmp_path: Path) -> None:
    log = DeltaLog(tmp_path / "t").start(field("s", "string"), partition=("s",))
    log.commit(1, id_file(log, "a", [1], partitionValues={"s": "x"}))
    with pytest.raises(tf.InvalidPredicateError, match=r"cannot be cast to bigint.*line 1, column 17 of the filter"):
        tf.open_table(log.root).scan("s IS NOT NULL OR s > 1").where("s IS NULL OR    s > 1").to_arrow()


@pytest.mark.parametrize(
    ("sql", "place"), [("s", (1, 1)), ("s IS NULL OR\n NOT s", (2, 2)), ("s IS NOT NULL AND (s OR s = 'y')", (1, 20))]
)
def test_texts_that_stand_as_conditions_have_a_place(tmp_path: Path, sql: str, place: tuple[int, int]) -> None:
    log = DeltaLog(tmp_path / "t").start(field("s", "string"), partition=("s",))
    log.commit(1, id_file(log, "a", [1], partitionValues={"s": "x"}))
    with pytest.raises(tf.InvalidPredicateError) as caught:
        tf.open_table(log.root).scan(sql).to_arrow()
    assert "'x' cannot be cast to boolean" in caught.value.message
    assert "at line {}, column {} of the filter".format(*place) in caught.value.message


def test_places_are_part_of_no_comparison() -> None:
    one, other = parse_filter("upper(a) = 'X'"), parse_filter("   upper(a)  = 'X'")
    assert one == other
    assert hash(one) == hash(other)
    assert repr(one) == repr(other)
    assert pickle.loads(pickle.dumps(one)) == one


def test_other_forms_have_no_place(snapshot: tf.Snapshot) -> None:
    column = tf.col("id") % 0 == 1
    with pytest.raises(tf.InvalidPredicateError) as caught:
        snapshot.scan(column).to_arrow()
    assert " of the filter" not in caught.value.message
