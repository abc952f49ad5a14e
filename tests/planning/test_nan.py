"""Files that match only if they have a NaN that nobody counted: counted, and left out where there is none."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

import tableformats as tf
from tableformats.table.scan import Scan
from tests.support.delta_log import DeltaLog, add, field, stats

UPPERS = {"a": 1.0, "b": 5.0, "c": 9.0}


@pytest.fixture
def table(tmp_path: Path) -> tf.Table:
    """A Delta table, which has no NaN counts: file ``a`` has numbers up to 1, ``b`` up to 5, ``c`` up to 9."""
    log = DeltaLog(tmp_path / "t")
    files = [
        add(
            path,
            stats=stats(3, minValues={"x": 0.0, "i": 1}, maxValues={"x": upper, "i": 3}, nullCount={"x": 0, "i": 0}),
        )
        for path, upper in UPPERS.items()
    ]
    log.start(field("x", "double"), field("i", "integer")).commit(1, *files)
    return tf.open_table(log.root)


def names(scan: Scan) -> list[str]:
    return sorted(Path(uri).name for uri in scan.plan().file_uris())


@pytest.mark.parametrize(
    ("condition", "kept", "for_nan"),
    [
        ("x > 4", "abc", 1),
        ("x > 7", "abc", 2),
        ("x > 70", "abc", 3),
        ("x >= 0", "abc", 0),
        ("x > 4 AND i < 0", "", 0),
        ("x > 4 OR i = 2", "abc", 0),
        ("NOT (x <= 4)", "abc", 1),
        ("x < -1", "", 0),
        ("x = 7", "c", 0),
        ("i > 2", "abc", 0),
    ],
)
def test_files_that_are_kept_for_a_nan_are_counted(table, condition, kept, for_nan):
    plan = table.scan(condition).plan()
    assert "".join(sorted(Path(uri).name for uri in plan.file_uris())) == kept
    assert plan.report.files_kept_for_nan == plan.report.as_dict()["files_kept_for_nan"] == for_nan
    assert ("kept for a NaN alone" in plan.explain()) == bool(for_nan)
    absent = table.scan(condition, nan="absent").plan()
    assert len(absent) == len(kept) - for_nan and absent.report.files_kept_for_nan == 0
    assert absent.report.files_dropped_by_bounds == plan.report.files_dropped_by_bounds + for_nan


def test_what_is_known_to_hold_nan_is_kept(tmp_path):
    """Counts and partition values, not what a user says, decide where they are."""
    log = DeltaLog(tmp_path / "t")
    files = [add(f"p={p}/a", partitionValues={"p": p}, stats=stats(1)) for p in ("NaN", "1.0")]
    log.start(field("x", "double"), field("p", "double"), partition=("p",)).commit(1, *files)
    found = tf.open_table(log.root).scan("p > 5", nan="absent").plan()
    assert [Path(uri).parent.name for uri in found.file_uris()] == ["p=NaN"]
    assert found.report.files_kept_for_nan == 0


def test_rows_of_files_that_are_kept_are_filtered_as_ever(table):
    """A file is fully matched only if a NaN in it would match, too."""
    for nan in (None, "absent"):
        assert table.scan("x < 100", nan=nan).plan().report.files_fully_matched == 0
        assert table.scan("x >= 0", nan=nan).plan().report.files_fully_matched == 3


def test_requests_keep_what_was_asked(table):
    scan = table.scan("x > 7", nan="absent")
    assert names(scan) == names(scan.where("x > 6")) == ["c"]
    assert scan.narrowed("x > 6").nan == pickle.loads(pickle.dumps(scan.detached())).nan == "absent"


def test_other_values_are_refused(table):
    with pytest.raises(ValueError, match="'absent' or None, not 'none'"):
        table.scan("x > 1", nan="none")
