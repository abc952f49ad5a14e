"""Counting: the reader's number always, and no file opened where the metadata says it all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tableformats.errors import CorruptMetadataError, TableFormatsError
from tableformats.schema import Field, primitive
from tableformats.table.table import Snapshot
from tests.support.arrow_fakes import FakeFile, identity_spec, snapshot_of, with_id, write
from tests.support.examples import examples

ID, PART = Field(1, "id", primitive("long")), Field(2, "p", primitive("long"))
SPEC = identity_spec(0, (1000, PART))
KEYS = {"k": pa.table({"1": pa.array([0, 2], pa.int64())})}


def snapshot(root: Path, *files: FakeFile) -> Snapshot:
    return snapshot_of(root, [ID, PART], files, by="id", specs=[SPEC], equality=KEYS)


@pytest.fixture
def stored(tmp_path: Path) -> Callable[..., FakeFile]:
    """Makes a file of the ids 0 to n - 1."""
    count = iter(range(1000))

    def make(n: int, p: int | None = 7, **options: Any) -> FakeFile:
        ids = pa.table([pa.array(range(n), pa.int64())], schema=pa.schema([with_id(pa.field("id", pa.int64()), 1)]))
        path = write(tmp_path, ids, f"{next(count)}.parquet")
        return FakeFile(path, options.pop("record_count", n), {1000: p}, **options)

    return make


def absent(n: int, p: int = 7, **options: Any) -> FakeFile:
    """A file of n rows of which only the metadata exists."""
    return FakeFile(f"/nowhere/{n}-{p}.parquet", n, {1000: p}, **options)


def test_no_data_file_is_touched_where_metadata_is_exact(tmp_path: Path) -> None:
    files = [absent(10), absent(2_000_000_000, 8), absent(9, positions=[1, 2], cardinality=2)]
    counted = snapshot(tmp_path, *files)
    assert counted.scan().count() == 2_000_000_017
    assert counted.scan("p = 8").count() == 2_000_000_000
    assert counted.scan("p = 9").count() == 0
    assert counted.scan(limit=5).count() == 5
    assert counted.scan(limit=2_000_000_018).count() == 2_000_000_017
    uncounted = snapshot(tmp_path, FakeFile("/nowhere/uncounted.parquet", None, {1000: 7}), absent(10))
    assert uncounted.scan(limit=10).count() == 10
    with pytest.raises(TableFormatsError):
        uncounted.scan(limit=11).count()


@pytest.mark.parametrize("kind", ["position", "deletion_vector"])
def test_positions_are_loaded_and_the_data_file_is_not(tmp_path: Path, kind: str) -> None:
    assert snapshot(tmp_path, absent(9, positions=[0, 8], position_kind=kind)).scan().count() == 7


def test_no_vector_is_read_of_a_file_without_live_rows(tmp_path: Path) -> None:
    wrong = absent(2, positions=[5, 9], cardinality=2)
    assert snapshot(tmp_path, wrong, absent(0), absent(3, 8)).scan().count() == 3


def test_cardinality_of_position_deletes_is_not_trusted(tmp_path: Path) -> None:
    """Position delete files may name a row twice and rows of other files: what they count is no row count."""
    file = absent(9, positions=[0], position_kind="position", cardinality=5)
    assert snapshot(tmp_path, file).scan().count() == 8


def test_position_past_the_end_is_refused_as_in_reading(tmp_path: Path) -> None:
    with pytest.raises(CorruptMetadataError, match="row 9 of the file"):
        snapshot(tmp_path, absent(9, positions=[9])).scan().count()


def test_deletion_vector_of_more_rows_than_the_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CorruptMetadataError, match="takes 10 rows from a file of 9") as caught:
        snapshot(tmp_path, absent(1), absent(9, positions=[1], cardinality=10)).scan().count()
    assert caught.value.path == "/nowhere/9-7.parquet"


def test_what_metadata_does_not_say_is_read(tmp_path: Path, stored: Callable[..., FakeFile]) -> None:
    files = [stored(5, keys=["k"]), stored(4, record_count=None), absent(100), stored(6, positions=[1], keys=["k"])]
    counted = snapshot(tmp_path, *files)
    assert counted.scan().count() == 3 + 4 + 100 + 3
    with pytest.raises(CorruptMetadataError, match="missing"):
        counted.scan("id > 0").count()


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_count_is_the_number_of_rows_read(tmp_path: Path, stored: Callable[..., FakeFile], data: Any) -> None:
    files = [draw_file(data.draw, stored) for _ in range(data.draw(st.integers(0, 4)))]
    filter = data.draw(st.sampled_from([None, "p = 7", "id >= 2", "id >= 2 AND p = 7", "p IS NULL", "id < 0"]))
    limit = data.draw(st.none() | st.integers(0, 12))
    scan = snapshot(tmp_path, *files).scan(filter, limit=limit)
    assert scan.count() == scan.to_arrow().num_rows


def draw_file(draw: Any, stored: Callable[..., FakeFile]) -> FakeFile:
    n = draw(st.integers(0, 5))
    positions: Sequence[int] = draw(st.lists(st.integers(0, n - 1), unique=True).map(sorted)) if n else []
    kind = draw(st.sampled_from(["position", "deletion_vector"]))
    exact = len(positions) if kind == "deletion_vector" and draw(st.booleans()) else None
    known = n if draw(st.booleans()) else None
    keys = draw(st.sampled_from([[], [], ["k"]]))
    p = draw(st.sampled_from([7, 8, None]))
    return stored(n, p, record_count=known, positions=positions, position_kind=kind, cardinality=exact, keys=keys)
