"""From the paths that metadata store to where the files are now."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pytest
from tableformats_iceberg.files.table_files import TableFiles

import tableformats as tf
from tableformats.io.storage import Storage


def files(directory: Path, location: str, relocate: bool | Mapping[str, str] | None = None) -> TableFiles:
    return TableFiles(Storage(directory), location, str(directory), relocate, tf.MetadataCache())


@pytest.mark.parametrize(
    ("location", "relocate", "stored", "found"),
    [
        ("/old/t", True, "/old/t/data/a", "{d}/data/a"),
        ("/old/t/", True, "/old/t/data/a", "{d}/data/a"),
        ("s3://b/old/t", True, "s3://b/old/t/a", "{d}/a"),
        ("s3://b/old/t", True, "/old/t/a", "{d}/a"),
        ("/old/t", None, "/old/t/data/a", "/old/t/data/a"),
        ("/old/t", {"/old": "/new"}, "/old/t/a", "/new/t/a"),
        ("data/t", None, "data/t/a", "{d}/a"),
        ("./data/t", None, "data/t/a", "{d}/a"),
        ("data/t", None, "./data/t/a", "{d}/a"),
        ("data/t", None, "other/a", "{d}/other/a"),
        ("data/t", {"data": "/new"}, "data/t/a", "/new/t/a"),
        ("data/t", {"./data": "/new"}, "data/t/a", "/new/t/a"),
        ("", None, "data/a", "{d}/data/a"),
        (".", None, "./data/a", "{d}/data/a"),
        (".", True, "data/a", "{d}/data/a"),
        ("file://data/t", None, "file://data/t/a", "{d}/a"),
    ],
)
def test_where_a_path_leads(
    tmp_path: Path, location: str, relocate: bool | Mapping[str, str] | None, stored: str, found: str
) -> None:
    table = files(tmp_path, location, relocate)
    expected = found.format(d=tmp_path)
    assert table.locate(stored) == expected
    assert table.resolve(pa.array([stored, stored])).to_pylist() == [expected] * 2
    assert table.resolve(pa.array([], pa.string())).to_pylist() == []


def test_a_newer_location_is_followed(tmp_path: Path) -> None:
    table = files(tmp_path, "/old/t", True)
    table.follow("/newer/t")
    assert [table.locate(f"{root}/a") for root in ("/old/t", "/newer/t")] == [f"{tmp_path}/a"] * 2
    assert table.resolve(pa.array(["/old/t/a", "/newer/t/b"])).to_pylist() == [f"{tmp_path}/a", f"{tmp_path}/b"]
    kept = files(tmp_path, "/old/t")
    kept.follow("/newer/t")
    assert kept.locate("/newer/t/a") == "/newer/t/a"


def test_what_is_read(tmp_path: Path) -> None:
    table = files(tmp_path, "/old/t", True)
    (tmp_path / "a").write_bytes(b"abc")
    (tmp_path / "secret").write_bytes(b"AGS1xyz")
    assert table.read("/old/t/a", "manifest") == (b"abc", f"{tmp_path}/a")
    with pytest.raises(tf.CorruptMetadataError, match="the manifest is missing"):
        table.read("/old/t/b", "manifest")
    with pytest.raises(tf.UnsupportedFeatureError, match="the manifest is encrypted") as caught:
        table.read("/old/t/secret", "manifest")
    assert caught.value.field == "encryption-keys"


@pytest.mark.parametrize(
    ("location", "relocate", "stored", "shared"),
    [
        ("/old/t", True, ["/old/t/a", "/old/t/data/b"], ("/old/t/", "{d}/")),
        ("/old/t", True, ["{d}/a", "{d}/b"], ("{d}/", "{d}/")),
        ("/old/t", True, ["/old/t/a", "{d}/b"], None),
        ("/old/t", True, ["a", "b"], None),
        ("data/t", None, ["data/t/a"], None),
        ("/old/t", True, [], None),
    ],
)
def test_what_paths_that_are_checked_begin_with(
    tmp_path: Path, location: str, relocate: bool | None, stored: list[str], shared: tuple[str, str] | None
) -> None:
    found = files(tmp_path, location, relocate).check(pa.array([one.format(d=tmp_path) for one in stored], pa.string()))
    assert found == (None if shared is None else tuple(part.format(d=tmp_path) for part in shared))


def test_paths_of_another_store_are_refused_when_they_are_checked(tmp_path: Path) -> None:
    with pytest.raises(tf.PathNotAllowedError):
        files(tmp_path, "/old/t").check(pa.array(["s3://b/t/a"]))
