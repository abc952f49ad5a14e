"""Tables whose ``location`` is relative, as DuckDB's are: their paths counted from a working directory that nobody
knows, so the location stands for the table's directory."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tableformats as tf
from tableformats.errors import CorruptMetadataError, PathNotAllowedError
from tests.support.iceberg_manifests import entry, manifest_bytes
from tests.support.iceberg_tables import snapshot_json, table_with


def written(folder: Path, location: str, *, file: str | None = None) -> Path:
    """A table of two rows in ``folder`` whose metadata names paths below ``location``, or ``file`` as its file."""
    (folder / "data").mkdir(parents=True)
    path = folder / "data" / "x.parquet"
    pq.write_table(pa.table({"a": pa.array([1, 2], pa.int32()), "b": ["x", "y"]}), path)
    stored = file or f"{location}/data/x.parquet"
    data = manifest_bytes([entry(stored, records=2, file_size_in_bytes=path.stat().st_size)])
    there = snapshot_json(7, 1, **{"manifest-list": f"{location}/metadata/snap-7.avro"})
    properties = {"schema.name-mapping.default": '[{"field-id":1,"names":["a"]},{"field-id":2,"names":["b"]}]'}
    row = {"manifest_path": f"{location}/metadata/m0.avro"}
    return table_with(folder, (data, row), location=location, snapshots=[there], properties=properties)


def values(folder: Path, **options: Any) -> list[int]:
    table = tf.open_table(folder, **options)
    plan = table.scan("a > 0").plan()
    assert plan.file_uris() == [str(task.path) for task in plan.tasks()] == plan.files["path"].to_pylist()
    assert all(Path(path).is_file() for path in plan.file_uris())
    return table.scan("a > 0").to_arrow()["a"].to_pylist()


@pytest.mark.parametrize("location", ["data/persistent/t", "data/persistent/t/", "./t", "t", "./data/t", "data/t"])
def test_in_place_and_moved(tmp_path: Path, location: str) -> None:
    folder = written(tmp_path / "data" / "persistent" / "t", location)
    assert values(folder) == values(folder, relocate=True) == [1, 2]
    assert values(folder / "metadata" / "v1.metadata.json") == [1, 2]
    moved = tmp_path / "elsewhere" / "other name"
    shutil.move(folder, moved)
    assert values(moved) == values(moved, relocate=True) == [1, 2]
    assert values(moved, relocate={location: str(moved)}) == [1, 2]


def test_a_relative_location_that_was_meant_as_a_uri(tmp_path: Path) -> None:
    """PyIceberg writes these: it takes the host for the first folder."""
    folder = written(tmp_path / "data" / "t", "file://data/t", file="file://data/t_data/x.parquet")
    shutil.move(folder / "data", tmp_path / "data" / "t_data")
    assert values(folder) == values(folder, relocate=True) == [1, 2]
    moved = tmp_path / "elsewhere" / "t"
    shutil.move(folder, moved)
    shutil.move(tmp_path / "data" / "t_data", moved.parent)
    assert values(moved) == values(moved, relocate={"file://data/t": str(moved)}) == [1, 2]
    # Other hosts are no part of the table.
    for name in ("other", "b/data"):
        other = written(tmp_path / name / "t", "file://data/t", file="file://host/t/x.parquet")
        with pytest.raises(PathNotAllowedError, match="another store"):
            tf.open_table(other).scan().plan().file_uris()
    # Absolute paths stay what they are.
    apart = written(tmp_path / "c" / "data" / "t", "file://data/t", file=f"{tmp_path}/x.parquet")
    assert tf.open_table(apart).scan().plan().file_uris() == [f"{tmp_path}/x.parquet"]


def test_files_beside_a_location_that_is_mapped(tmp_path: Path) -> None:
    folder = written(tmp_path / "w" / "t", "w/t", file="w/t_data/x.parquet")
    shutil.move(folder / "data", tmp_path / "w" / "t_data")
    for mapping in ({"w/t": str(folder)}, {"w": str(tmp_path / "w")}, {"./w/t/": f"{folder}/"}):
        assert values(folder, relocate=mapping) == [1, 2]
    # What is mapped itself is not changed.
    apart = tmp_path / "apart"
    shutil.move(tmp_path / "w" / "t_data", apart)
    assert values(folder, relocate={"w/t": str(folder), "w/t_data": str(apart)}) == [1, 2]


def test_a_mapping_decides(tmp_path: Path) -> None:
    """Metadata and data stand apart; what the mapping says of the location or a parent of it is not changed."""
    folder = written(tmp_path / "t", "w/t")
    apart = tmp_path / "apart" / "w" / "t"
    shutil.copytree(folder, apart)
    shutil.rmtree(folder / "data")
    for old in ("w", "./w/", "w/t"):
        new = apart if old == "w/t" else apart.parent
        assert values(folder, relocate={old: str(new)}) == [1, 2], old
    # A mapping of other paths leaves the location to the directory, where the data is missing now.
    with pytest.raises(CorruptMetadataError, match="missing"):
        values_of_rows = tf.open_table(folder, relocate={"v": str(apart.parent)}).scan()
        values_of_rows.to_arrow()


@pytest.mark.parametrize(
    ("stored", "found"),
    [
        ("w/t_data/x.parquet", "t_data/x.parquet"),
        ("./w/t_data/x.parquet", "t_data/x.parquet"),
        ("data/x.parquet", "t/data/x.parquet"),
        ("w/t2/x.parquet", "t2/x.parquet"),
        ("wt/x.parquet", "t/wt/x.parquet"),
    ],
)
def test_files_beside_the_location(tmp_path: Path, stored: str, found: str) -> None:
    folder = written(tmp_path / "t", "w/t", file=stored)
    plan = tf.open_table(folder).scan().plan()
    assert plan.file_uris() == [str(tmp_path / found)]
    assert plan.snapshot.format_snapshot.files.locate(stored) == str(tmp_path / found)


def test_relative_paths_do_not_climb(tmp_path: Path) -> None:
    folder = written(tmp_path / "t", "w/t", file="w/t/../../x.parquet")
    with pytest.raises(PathNotAllowedError, match="climbs"):
        tf.open_table(folder).scan().plan().file_uris()


def test_a_newer_metadata_file_may_have_another_location(tmp_path: Path) -> None:
    folder = written(tmp_path / "t", "w/t")
    table = tf.open_table(folder)
    assert len(table.scan().plan()) == 1
    metadata = folder / "metadata"
    text = (
        (metadata / "v1.metadata.json")
        .read_text()
        .replace("w/t", "v/u")
        .replace('"last-updated-ms": 1', '"last-updated-ms": 2')
    )
    (metadata / "v2.metadata.json").write_text(text.replace("v/u/metadata", "w/t/metadata"))
    assert table.snapshot().update().scan().to_arrow().num_rows == 2


@pytest.mark.parametrize("place", ["metadata", ""])
def test_a_moved_table_that_is_opened_by_its_metadata_file(tmp_path: Path, place: str) -> None:
    """The file lies in the directory ``metadata`` of the table, or in the table's own."""
    made = written(tmp_path / "old", str(tmp_path / "old"))
    (file,) = (made / "metadata").glob("*.metadata.json")
    shutil.move(made, tmp_path / "new")
    target = tmp_path / "new" / place / file.name
    if not target.exists():
        shutil.move(tmp_path / "new" / "metadata" / file.name, target)
    assert values(target, relocate=True) == [1, 2]


@pytest.mark.parametrize("other", ["/old/t/data/../../c", "s3://bucket/b"])
def test_a_plan_names_no_file_outside_of_the_table(tmp_path: Path, other: str) -> None:
    """It raises while it is made, not when its paths are asked for."""
    paths = ["/old/t/data/a", "/old/t/data/b"]
    sound = table_with(tmp_path / "sound", (manifest_bytes([entry(path) for path in paths]), {}))
    assert len(tf.open_table(sound, relocate=True).scan().plan().file_uris()) == 2
    folder = table_with(tmp_path / "t", (manifest_bytes([entry(path) for path in (paths[0], other)]), {}))
    with pytest.raises(PathNotAllowedError):
        tf.open_table(folder, relocate=True).scan().plan()
