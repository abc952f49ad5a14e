"""Credentials that a catalog vends are renewed before they expire; the clock is a test's own."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tableformats as tf
from tableformats.catalog.opening import catalog_of
from tableformats.errors import CatalogConnectionError, StorePermissionError
from tableformats.io.stores.renewing import RenewedOptions, _has_expired
from tests.support.rest_catalog import RestCatalogStub
from tests.support.s3_stub import S3Stub

pytest.importorskip("sqlalchemy")
sql = pytest.importorskip("pyiceberg.catalog.sql")

HOUR_MS = 3_600_000


class Clock:
    """Seconds since the epoch, as a test sets them."""

    def __init__(self) -> None:
        self.ms = 1_800_000_000_000

    def __call__(self) -> float:
        return self.ms / 1000


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(RenewedOptions.__init__, "__defaults__", (found,))
    return found


class Vending:
    """A REST catalog with the table ``n.t`` on an S3, which vends keys for an hour that are numbered."""

    def __init__(self, rest: RestCatalogStub, store: S3Stub, clock: Clock, folder: Path) -> None:
        self.rest, self.store, self.clock, self.count = rest, store, clock, 0
        catalog = sql.SqlCatalog("c", uri="sqlite:///:memory:", warehouse=folder.as_uri())
        catalog.create_namespace("n")
        catalog.create_table("n.t", pa.schema([("x", pa.int64())])).append(pa.table({"x": [1, 2]}))
        catalog.close()
        store.upload(folder / "n", "n")
        metadata = max((folder / "n" / "t" / "metadata").glob("*.metadata.json"))
        self.location = f"s3://bucket/n/t/metadata/{metadata.name}"
        self.moves = {folder.as_uri(): "s3://bucket"}
        text = json.loads(metadata.read_text())
        rest.tables["n", "t"] = lambda: {
            "metadata-location": self.location,
            "metadata": text,
            "config": {},
            "storage-credentials": self.vended(),
        }
        rest.credentials["n", "t"] = []

    def vended(self) -> list[dict[str, Any]]:
        self.count += 1
        config = {
            "s3.endpoint": self.store.endpoint,
            "s3.region": "us-east-1",
            "s3.access-key-id": f"AKIA{self.count}",
            "s3.secret-access-key": "st0bSecretKey",
            "s3.session-token": f"token{self.count}",
            "s3.session-token-expires-at-ms": str(self.clock.ms + HOUR_MS),
        }
        return [{"prefix": "s3://bucket", "config": config}]

    def open(self) -> tf.Table:
        return tf.open_table("n.t", catalog=self.rest.properties(), relocate=self.moves, cache=False)

    @property
    def key(self) -> str:
        """The access key that the catalog vended last."""
        return f"AKIA{self.count}"


@pytest.fixture
def vending(tmp_path: Path, clock: Clock) -> Iterator[Vending]:
    with RestCatalogStub() as rest, S3Stub() as store:
        yield Vending(rest, store, clock, tmp_path)


def key_of(table: tf.Table) -> Any:
    return table.storage.options["s3.access-key-id"]


def test_credentials_are_renewed_before_they_expire(vending: Vending, clock: Clock) -> None:
    table = vending.open()
    assert table.scan().count() == 2 and key_of(table) == "AKIA1"
    clock.ms += HOUR_MS - 301_000
    assert table.scan().to_arrow().num_rows == 2 and vending.count == 1
    clock.ms += 2_000
    assert table.scan().to_arrow().num_rows == 2
    assert vending.count == 2 and key_of(table) == "AKIA2", "by loading the table, where there is no endpoint"


def test_the_endpoint_credentials_is_used_where_it_is(vending: Vending, clock: Clock) -> None:
    vending.rest.offers_credentials = True
    table = vending.open()
    clock.ms += HOUR_MS
    vending.rest.credentials["n", "t"] = vending.vended()
    assert table.scan().count() == 2 and key_of(table) == vending.key
    assert vending.rest.requests[-1] == "GET /v1/namespaces/n/tables/t/credentials"


def test_an_expired_token_in_the_middle_of_a_scan(vending: Vending, clock: Clock) -> None:
    """The store says that the token expired, before the clock does."""
    table = vending.open()
    vending.store.fault, vending.store.fault_count = "400:ExpiredToken", 1
    assert table.scan().to_arrow().num_rows == 2
    assert vending.count == 2 and key_of(table) == "AKIA2"


def test_other_refusals_are_no_reason_to_ask_again(vending: Vending) -> None:
    table = vending.open()
    vending.store.fault = "403:AccessDenied"
    with pytest.raises(tf.StorePermissionError):
        table.scan().to_arrow()
    assert vending.count == 1


def test_a_catalog_that_is_away_does_no_harm_before_the_end(vending: Vending, clock: Clock) -> None:
    table = vending.open()
    clock.ms += HOUR_MS - 200_000
    vending.rest.status = 503
    assert table.scan().to_arrow().num_rows == 2
    asked = len(vending.rest.requests)
    assert table.scan().to_arrow().num_rows == 2 and len(vending.rest.requests) == asked, "not with every request"
    clock.ms += 200_000
    with pytest.raises(tf.CatalogConnectionError, match=r"'stub'.*'n\.t'"):
        table.scan().to_arrow()
    vending.rest.status = 200
    assert table.scan().to_arrow().num_rows == 2


def test_a_snapshot_from_before_is_read_with_new_credentials(vending: Vending, clock: Clock) -> None:
    snapshot = vending.open().snapshot()
    plan = snapshot.scan().plan()
    clock.ms += 10 * HOUR_MS
    assert plan.to_arrow().num_rows == 2 and vending.count == 2


def test_the_callers_own_options_are_not_replaced(vending: Vending, clock: Clock) -> None:
    own = {"s3.endpoint": vending.store.endpoint, "s3.region": "us-east-1", "s3.access-key-id": "OWN0"}
    own["s3.secret-access-key"] = "st0bSecretKey"
    table = tf.open_table("n.t", catalog=vending.rest.properties(), relocate=vending.moves, storage_options=own)
    clock.ms += 10 * HOUR_MS
    assert table.scan().count() == 2 and key_of(table) == "OWN0" and vending.count == 1


@pytest.mark.parametrize(
    ("location", "vended"),
    [
        ("s3://b/v1.metadata.json", {"s3.session-token": "t", "s3.session-token-expires-at-ms": "77"}),
        ("gs://b/v1.metadata.json", {"gcs.oauth2.token": "t", "gcs.oauth2.token-expires-at": "77"}),
        (
            "abfss://c@a.dfs.core.windows.net/v1.metadata.json",
            {
                "adls.sas-token.a.dfs.core.windows.net": "t",
                "adls.sas-token-expires-at-ms.a.dfs.core.windows.net": "77",
                "adls.sas-token-expires-at-ms.b.dfs.core.windows.net": "99",
            },
        ),
    ],
)
def test_when_they_expire(location: str, vended: dict[str, str]) -> None:
    with RestCatalogStub() as rest:
        rest.tables["n", "t"] = {"metadata-location": location, "metadata": {}, "config": vended}
        found = catalog_of(rest.properties()).load(("n", "t"))
        assert found.expires_at_ms == 77 and found.is_vended
        rest.tables["n", "t"] = {"metadata-location": location, "metadata": {}, "config": {"x.y": "z"}}
        found = catalog_of(rest.properties()).load(("n", "t"))
        assert found.expires_at_ms is None and not found.is_vended


def test_a_short_life_is_not_renewed_with_every_request() -> None:
    clock, asked = Clock(), []

    def renew() -> tuple[Mapping[str, Any], int]:
        asked.append(clock.ms)
        return {"n": len(asked)}, clock.ms + 60_000

    options = RenewedOptions({"n": 0}, clock.ms + 60_000, renew, clock)
    clock.ms += 47_000
    assert options.current() == (0, {"n": 0})
    clock.ms += 2_000
    assert options.current() == (1, {"n": 1}) == options.current()
    assert "n'" not in repr(options)


def test_a_renewal_that_gives_the_same_is_none() -> None:
    def renew() -> tuple[Mapping[str, Any], int | None]:
        return {"n": 0}, None

    options = RenewedOptions({"n": 0}, None, renew)
    assert not options.replaced(0) and options.replaced(0), "another thread has renewed them meanwhile"


def test_a_renewal_that_fails_after_the_end_is_raised() -> None:
    def renew() -> tuple[Mapping[str, Any], int | None]:
        raise CatalogConnectionError("away")

    clock = Clock()
    options = RenewedOptions({}, clock.ms, renew, clock)
    with pytest.raises(CatalogConnectionError):
        options.current()


@pytest.mark.parametrize(
    ("code", "message", "expired"),
    [
        ("ExpiredToken", "refused", True),
        ("TokenEXPIRED", "", True),
        (None, "The token has Expired", True),
        ("AccessDenied", "refused", False),
        (None, "refused", False),
    ],
)
def test_what_says_that_credentials_have_expired(code: str | None, message: str, expired: bool) -> None:
    error = StorePermissionError(message)
    error.code = code
    assert _has_expired(error) is expired
