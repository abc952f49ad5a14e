"""The catalog that a table was opened through: what it is asked, and when it is asked again."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

import pytest

import tableformats as tf
from tableformats.catalog.base import Catalog, CatalogTable, Identifier, ListedTable
from tableformats.io.catalog_commits import CatalogCommits
from tableformats.table.origin import CatalogOrigin


class Known(Catalog):
    """A catalog that answers with one table, and remembers what it was asked."""

    name = "known"

    def __init__(self, **answer: Any) -> None:
        self.answer = CatalogTable(**{"location": "s3://b/v1.json", **answer})
        self.loaded: list[Identifier] = []
        self.vended = 0

    def load(self, identifier: Identifier) -> CatalogTable:
        self.loaded.append(identifier)
        return self.answer

    def vend(self, identifier: Identifier, table: CatalogTable) -> CatalogTable:
        self.vended += 1
        return CatalogTable(table.location, {"s3.session-token": f"t{self.vended}"}, expires_at_ms=None)

    def commits(self, identifier: Identifier, table: CatalogTable) -> CatalogCommits:
        assert table is self.answer
        return CatalogCommits(7)

    def namespaces(self) -> Iterator[Identifier]:
        raise NotImplementedError

    def tables(self, namespace: Identifier) -> Iterator[ListedTable]:
        raise NotImplementedError

    def siblings(self, namespace: Identifier) -> Iterator[Identifier]:
        raise NotImplementedError


def origin_of(catalog: Catalog, identifier: Any = "n.t", options: Mapping[str, Any] | None = None) -> CatalogOrigin:
    return CatalogOrigin.of(catalog, identifier, options, None, tf.Limits())


@pytest.mark.parametrize("identifier", ["n.t", ("n", "t"), PurePosixPath("n.t")])
def test_the_catalog_is_asked_once_for_a_table_and_its_commits(identifier: Any) -> None:
    catalog = Known()
    origin = origin_of(catalog, identifier)
    assert origin.commits().latest == 7 and catalog.loaded == [("n", "t")]
    catalog.loaded.clear()
    storage, found = origin.ask()
    assert (storage.root, found) == ("s3://b/v1.json", catalog.answer)
    assert origin.commits().latest == 7 and len(catalog.loaded) == 1


def test_what_the_catalog_says_of_a_file_is_not_read_again() -> None:
    storage, _ = origin_of(Known(metadata=b"{}")).ask()
    assert storage.read_bytes("s3://b/v1.json") == b"{}"


@pytest.mark.parametrize(
    ("given", "vended", "is_vended", "found"),
    [
        (None, {"s3.region": "r"}, False, {"s3.region": "r"}),
        (None, {"s3.region": "r"}, True, {"s3.session-token": "t1"}),
        ({"s3.region": "x"}, {"s3.region": "r"}, True, {"s3.region": "x"}),
    ],
)
def test_which_options_open_the_store(given: Any, vended: dict[str, str], is_vended: bool, found: Any) -> None:
    """Those of the caller, or of the catalog; and these are asked for again where they have expired."""
    catalog = Known(storage_options=vended, is_vended=is_vended, expires_at_ms=0)
    storage, _ = origin_of(catalog, options=given).ask()
    assert dict(storage.options) == found
    assert catalog.vended == (1 if is_vended and given is None else 0)


def test_a_table_whose_location_changes_is_opened_where_it_is_now() -> None:
    catalog = Known(names_version=True)
    origin = origin_of(catalog)
    storage, _ = origin.ask()
    assert origin.newer_than(storage) is None
    catalog.answer = CatalogTable("s3://b/v2.json", names_version=True)
    assert origin.newer_than(storage) is None, "the format is not known yet"
    opened: list[Any] = []
    origin.open = lambda newest: opened.append((newest.root, newest._remembered)) or newest  # type: ignore[func-returns-value, assignment, return-value]
    found = origin.newer_than(storage)
    assert found is not None and found[1].root == "s3://b/v2.json" and opened == [("s3://b/v2.json", {})]
    assert origin.newer_than(found[1]) is None and len(opened) == 1


def test_a_table_that_says_itself_what_is_newest_is_not_asked_for() -> None:
    catalog = Known()
    origin = origin_of(catalog)
    storage, _ = origin.ask()
    catalog.answer = CatalogTable("s3://b/other")
    assert origin.newer_than(storage) is None and len(catalog.loaded) == 1


@pytest.mark.parametrize(("names_version", "commits", "is_refused"), [(1, 0, 1), (1, 1, 0), (0, 0, 0), (0, 1, 0)])
def test_which_tables_are_written(names_version: bool, commits: bool, is_refused: bool) -> None:
    origin = origin_of(Known(names_version=bool(names_version)))
    origin.check_writable(False)  # nothing is known yet
    origin.ask()
    if not is_refused:
        origin.check_writable(bool(commits))
        return
    with pytest.raises(tf.UnsupportedFeatureError, match="catalog 'known' has to commit") as caught:
        origin.check_writable(bool(commits))
    assert (caught.value.path, caught.value.field) == ("n.t", "catalog")


def test_a_pickled_origin_knows_names_alone() -> None:
    origin = origin_of(Known(names_version=True))
    origin.ask()
    again = pickle.loads(pickle.dumps(origin))
    assert (again.catalog_name, again.identifier) == ("known", ("n", "t"))
    for ask in (again.ask, again.commits, again.writer, lambda: again.newer_than(None)):
        with pytest.raises(tf.CatalogError, match="catalog 'known' is not known to this process"):
            ask()
    with pytest.raises(tf.UnsupportedFeatureError):
        again.check_writable(False)


@pytest.mark.parametrize(
    "write",
    [
        lambda c: c.commit(("n", "t"), [], []),
        lambda c: c.swap(("n", "t"), "a", "b"),
        lambda c: c.stage(("n", "t"), {}),
        lambda c: c.register(("n", "t"), "a"),
    ],
)
def test_a_catalog_that_says_nothing_of_writing_is_only_read(write: Callable[[Catalog], Any]) -> None:
    catalog = Known()
    can = (catalog.new_format, catalog.applies_updates, catalog.can_swap, catalog.commits_several)
    assert can == (None, False, False, False)
    with pytest.raises(tf.UnsupportedFeatureError, match="catalog 'known' is only read") as caught:
        write(catalog)
    assert (caught.value.path, caught.value.field) == ("n.t", "catalog")
    with pytest.raises(tf.UnsupportedFeatureError, match="catalog 'known' commits to one table at a time"):
        catalog.commit_several([])
    assert Catalog.commits(catalog, ("n", "t"), catalog.answer) == CatalogCommits(None)
    assert Catalog.vend(catalog, ("n", "t"), CatalogTable("s3://b/other")) is catalog.answer
