"""Tables of catalogs in Spark: the catalog says where they are and which commits count, and Spark reads the files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tableformats as tf
from tests.support.managed_table import NAME, Managed
from tests.support.unity_stub import UnityStub


@pytest.fixture
def managed(tmp_path: Path) -> Iterator[Managed]:
    """A catalog-managed table whose version 2 is staged."""
    with UnityStub() as unity:
        found = Managed(unity, tmp_path / "t")
        found.accept(2, found.stage(2))
        yield found


@pytest.mark.parametrize("mode", ["native", "portable"])
def test_staged_commits_are_read(spark: Any, managed: Managed, mode: str) -> None:
    table = tf.open_table(NAME, catalog=managed.unity.properties())
    frame = table.scan("id > 0").to_spark(spark, mode=mode)
    assert sorted(row["id"] for row in frame.collect()) == [1, 2]


def test_the_data_source_takes_the_catalogs_name(spark: Any, managed: Managed, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyiceberg")
    for name in ("type", "uri"):
        monkeypatch.setenv(f"PYICEBERG_CATALOG__UC__{name.upper()}", managed.unity.properties()[name])
    frame = tf.spark.read(spark, NAME, catalog="uc")
    assert sorted(row["id"] for row in frame.where("id = 2").collect()) == [2]
