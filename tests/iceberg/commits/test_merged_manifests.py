"""Which manifests become one: groups of one spec and of at most the target size, counted from the oldest on."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from tableformats_iceberg.manifests.manifest_list import Manifest
from tableformats_iceberg.write.commit.manifest_merging import bins_to_merge

import tableformats as tf
from tests.support.iceberg_writing import new_table, schema_of

PROPERTIES = {"commit.manifest.target-size-bytes": "100", "commit.manifest.min-count-to-merge": "3"}


def merged(lengths: list[int], specs: list[int | None] | None = None, **more: str) -> list[list[int]]:
    manifests = [
        Manifest("m", length, spec, 0, 1, 1, 1, 1, 0, 0, 1, 0, 0, None)
        for length, spec in zip(lengths, specs or [0] * len(lengths), strict=True)
    ]
    return bins_to_merge(manifests, {**PROPERTIES, **more})


@pytest.mark.parametrize(
    ("lengths", "groups"),
    [
        ([], []),
        ([10], []),
        ([60, 40], []),  # the group of the new one has two
        ([20, 40, 40], [[0, 1, 2]]),
        ([1, 60, 40], [[1, 2]]),
        ([1, 60, 41], []),
        ([1, 1, 60, 41], [[0, 1, 2]]),
        ([1, 101, 1, 1], [[2, 3]]),
        ([50, 50, 50, 50, 50], [[1, 2], [3, 4]]),
        ([-1, 100, -1], [[0, 1, 2]]),  # a length that the list does not have
    ],
)
def test_groups_are_filled_from_the_oldest_manifest_on(lengths: list[int], groups: list[list[int]]) -> None:
    assert merged(lengths) == groups


def test_groups_are_of_one_spec() -> None:
    assert merged([10] * 4, [0, 1, 0, 1]) == [[1, 3]]
    assert merged([10] * 6, [None, 0, None, 0, None, -1]) == [[0, 2, 4], [1, 3]]
    assert merged([10] * 3, [0, 1, 2]) == []


def test_properties_say_whether_and_when_manifests_are_merged() -> None:
    assert merged([10] * 3, **{"commit.manifest-merge.enabled": "false"}) == []
    assert merged([10] * 3, **{"commit.manifest.min-count-to-merge": "4"}) == []
    assert bins_to_merge([Manifest("m", 1, 0, *[0] * 10, None)] * 99, {}) == []
    assert bins_to_merge([Manifest("m", 1, 0, *[0] * 10, None)] * 100, {}) == [[*range(100)]]


@pytest.mark.parametrize("version", [1, 2, 3])
def test_two_manifests_become_one(tmp_path: Path, version: int) -> None:
    folder = new_table(tmp_path / "t", schema_of(id="long"), version, (), {"commit.manifest.min-count-to-merge": "2"})
    table = tf.open_table(str(folder))
    for number in range(3):
        table.append(pa.table({"id": [number]}))
        assert table.inspect.manifests().num_rows == 1
    assert sorted(table.to_arrow()["id"].to_pylist()) == [0, 1, 2]
