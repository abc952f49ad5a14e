"""Where a Delta table is: what its log is known by, and what is asked of a store for it."""

from __future__ import annotations

from typing import Any

import pytest
from tableformats_delta.format import DeltaFormat, _first_page, _zone
from tableformats_delta.table import DeltaTable

import tableformats as tf
from tableformats.plugin import MetadataCache, OpenOptions


class Place:
    """A directory or a prefix of a store, with the files of its log; None: there is no log."""

    def __init__(self, names: list[str] | None, is_local: bool, root: str = "t") -> None:
        self.names, self.is_local, self.root = names, is_local, root
        self.asked: list[str] = []

    def join(self, *names: str) -> str:
        return "/".join([self.root, *names])

    def is_dir(self, path: str) -> bool:
        assert self.is_local
        self.asked.append(path)
        return self.names is not None

    def first_page(self, path: str) -> list[str]:
        assert not self.is_local
        self.asked.append(path)
        return self.names or []


@pytest.mark.parametrize(
    ("path", "above"),
    [
        ("a/t/_delta_log/00000000000000000000.json", "a/t"),
        ("t/_delta_log/_sidecars/x.parquet", "t"),
        ("_delta_log/x", ""),
        ("/t/_delta_log/x", "/t"),
        ("t/_delta_log", None),
        ("t/x_delta_log/x", None),
        ("t/x.parquet", None),
    ],
)
def test_the_table_above_a_file(path: str, above: str | None) -> None:
    assert DeltaFormat().table_above(path) == above


@pytest.mark.parametrize(
    ("names", "is_local", "page"),
    [
        (["a"], True, ()),
        ([], True, ()),
        (None, True, None),
        (["a", "b"], False, ["a", "b"]),
        ([], False, None),
        (None, False, None),
    ],
)
def test_the_first_page_of_a_log(names: list[str] | None, is_local: bool, page: Any) -> None:
    """A local log is not listed; a remote one without files is none."""
    place: Any = Place(names, is_local)
    assert _first_page(place) == page and place.asked == ["t/_delta_log"]
    assert DeltaFormat().detect(place, OpenOptions()) == (page is not None)
    if page is None:
        with pytest.raises(tf.TableNotFoundError, match="the directory holds no Delta table") as caught:
            DeltaFormat().open(place, OpenOptions())
        assert caught.value.path == "t"


@pytest.mark.parametrize("is_local", [True, False])
def test_a_remote_log_is_known_from_listing_to_listing(is_local: bool) -> None:
    place: Any = Place([], is_local)
    assert (DeltaTable(place, MetadataCache(0))._remote_log is None) == is_local


@pytest.mark.parametrize(
    ("root", "is_local", "is_asked"),
    [
        ("s3://b/t", False, True),
        ("s3://b/v1.metadata.json", False, False),
        ("s3://b/v1.metadata.json.gz", False, False),
        ("s3://b/v1.json", False, True),
        ("/v1.metadata.json", True, True),
    ],
)
def test_a_remote_metadata_file_of_iceberg_is_not_asked_for(root: str, is_local: bool, is_asked: bool) -> None:
    place: Any = Place(["a"], is_local, root)
    assert DeltaFormat().detect(place, OpenOptions()) == is_asked == bool(place.asked)


def test_time_zones() -> None:
    assert [_zone(name) for name in (None, "Europe/Berlin", "+02:00")] == [None, "Europe/Berlin", "+02:00"]
    for name in ("nowhere", "", 2):
        with pytest.raises(ValueError, match="partition_time_zone must name a time zone"):
            _zone(name)
