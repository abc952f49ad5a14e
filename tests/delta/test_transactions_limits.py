"""``inspect.transactions`` obeys the limits, whichever file of the log holds the actions."""

from __future__ import annotations

from pathlib import Path

import pytest

import tableformats as tf
from tests.support.delta_log import DeltaLog

COUNT = 20


def log_of_transactions(root: Path) -> DeltaLog:
    actions = [{"txn": {"appId": f"a{i}", "version": i, "lastUpdated": i}} for i in range(COUNT)]
    return DeltaLog(root).start().commit(1, *actions)


def test_what_the_limits_allow(tmp_path: Path) -> None:
    root = log_of_transactions(tmp_path).root
    found = tf.open_table(root, limits=tf.Limits(entries=COUNT)).inspect.transactions()
    assert found["version"].to_pylist() == [i for _, i in sorted((f"a{i}", i) for i in range(COUNT))]


@pytest.mark.parametrize(("name", "value"), [("entries", COUNT - 1), ("metadata_bytes", 100)])
def test_what_they_refuse(tmp_path: Path, name: str, value: int) -> None:
    root = log_of_transactions(tmp_path).root
    with pytest.raises(tf.LimitExceededError) as caught:
        tf.open_table(root, limits=tf.Limits(**{name: value})).inspect.transactions()
    assert caught.value.limit == name and caught.value.path is not None


@pytest.mark.parametrize("app", [None, 5, [], "\ud800"])
def test_applications_without_a_name(tmp_path: Path, app: object) -> None:
    root = DeltaLog(tmp_path).start().commit(1, {"txn": {"appId": app, "version": 1}}).root
    with pytest.raises(tf.CorruptMetadataError):
        tf.open_table(root).inspect.transactions()
