"""The swap in BigQuery without Google's client: what it asks of it, and what it makes of the answers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import tableformats as tf
from tableformats.catalog.swaps import bigquery
from tableformats.plugin import PutOutcome

NAME = ("n", "t")


class GoogleError(Exception):
    def __init__(self, code: int) -> None:
        super().__init__()
        self.code = code


class Client:
    """Has one table, and keeps what it was asked to change of it."""

    def __init__(self, etag: str | None = "e1") -> None:
        parameters = {"metadata_location": "old", "numRows": "9", "owner": "somebody"}
        options = SimpleNamespace(parameters=parameters)
        self.table: Any = SimpleNamespace(table_type="EXTERNAL", etag=etag, external_catalog_table_options=options)
        self.asked: list[tuple[Any, list[str], dict[str, Any]]] = []
        self.error: Exception | None = None

    def update_table(self, table: Any, fields: list[str], **options: Any) -> None:
        self.asked.append((table, fields, options))
        if self.error is not None:
            raise self.error


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Client:
    client = Client()
    monkeypatch.setattr(bigquery, "_get", lambda catalog, identifier: client.table)
    return client


def swapped(client: Client, old: str = "old") -> PutOutcome:
    return bigquery.swap(SimpleNamespace(client=client), NAME, old, "new")


def test_the_table_is_changed_under_the_condition_of_its_etag(client: Client) -> None:
    assert swapped(client) is PutOutcome.WON
    [(table, fields, options)] = client.asked
    assert table.etag == "e1" and fields == ["external_catalog_table_options", "schema"] and table.schema is None
    assert table.external_catalog_table_options.parameters == {
        "metadata_location": "new",
        "previous_metadata_location": "old",
        "owner": "somebody",
    }
    assert options["retry"] is None, "a second attempt would not meet the condition of one that landed"


def test_another_location_is_a_lost_race(client: Client) -> None:
    assert swapped(client, "older") is PutOutcome.LOST and client.asked == []
    client.table = None
    assert swapped(client) is PutOutcome.LOST


def test_a_table_without_an_etag_is_refused(client: Client) -> None:
    client.table.etag = None
    with pytest.raises(tf.UnsupportedFeatureError, match=r"no ETag.*'n\.t'.*'etag'.*Nothing was written"):
        swapped(client)
    assert client.asked == []


def test_what_became_of_it(client: Client) -> None:
    for error, outcome in (
        (GoogleError(412), PutOutcome.LOST),
        (GoogleError(409), PutOutcome.LOST),
        (GoogleError(500), PutOutcome.UNKNOWN),
        (ConnectionError(), PutOutcome.UNKNOWN),
    ):
        client.error, client.table.external_catalog_table_options.parameters["metadata_location"] = error, "old"
        assert swapped(client) is outcome
    client.error, client.table.external_catalog_table_options.parameters["metadata_location"] = GoogleError(403), "old"
    with pytest.raises(GoogleError):
        swapped(client)
