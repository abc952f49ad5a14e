"""Tables of PyIceberg catalogs: identifiers, properties, options of the store, views."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

import tableformats as tf
from tableformats.catalog.pyiceberg import find_table
from tests.support.s3_stub import S3Stub

pytest.importorskip("sqlalchemy")
sql = pytest.importorskip("pyiceberg.catalog.sql")


@pytest.fixture
def properties(tmp_path: Path) -> dict[str, str]:
    """A catalog in SQLite, with the table ``n.t``, given by its properties."""
    found = {"type": "sql", "uri": f"sqlite:///{tmp_path / 'c.db'}", "warehouse": tmp_path.as_uri()}
    catalog = sql.SqlCatalog("catalog", **found)
    catalog.create_namespace("n")
    catalog.create_table("n.t", pa.schema([("x", pa.int64())])).append(pa.table({"x": [1, 2]}))
    catalog.close()
    return found


@pytest.mark.parametrize("identifier", ["n.t", ("n", "t")])
def test_the_catalog_and_the_path_give_the_same_files(properties: dict[str, str], identifier: Any) -> None:
    by_catalog = tf.open_table(identifier, catalog=properties)
    by_path = tf.open_table(by_catalog.location)
    assert by_catalog.scan().plan().file_uris() == by_path.scan().plan().file_uris()
    assert by_catalog.scan().to_arrow()["x"].to_pylist() == [1, 2]


def test_a_missing_table(properties: dict[str, str]) -> None:
    with pytest.raises(tf.TableNotFoundError, match=r"no such table.*'n\.missing'"):
        tf.open_table(("n", "missing"), catalog=properties)


def loaded(location: str, **parts: Any) -> Any:
    """A fake catalog with one table; ``parts`` are ``vended``, ``own`` and ``configured`` properties."""
    vended, own, configured = (parts.get(name, {}) for name in ("vended", "own", "configured"))
    table = SimpleNamespace(
        metadata_location=location,
        metadata=SimpleNamespace(properties=own),
        config={},
        io=SimpleNamespace(properties={**configured, **own, **vended}),
    )
    return SimpleNamespace(properties=configured, load_table=lambda identifier: table)


def test_vended_and_configured_options_open_the_store() -> None:
    configured = {"uri": "https://c", "token": "catalog-token", "s3.region": "eu", "gcs.oauth2.token": "g"}
    vended = {"s3.access-key-id": "vended-key", "s3.delete-enabled": "true"}
    found = find_table(loaded("s3://b/t/metadata/v1.metadata.json", configured=configured, vended=vended), "n.t")
    assert found.storage_options == {"s3.region": "eu", "s3.access-key-id": "vended-key"}
    assert "vended-key" not in repr(found)


def test_a_tables_own_properties_name_no_endpoint() -> None:
    own = {"s3.endpoint": "https://evil", "s3.region": "x"}
    catalog = loaded("s3://b/v1.metadata.json", own=own, configured={"s3.region": "eu"})
    assert find_table(catalog, "n.t").storage_options == {"s3.region": "eu"}


def test_a_view_is_refused_by_name() -> None:
    def load_table(identifier: Any) -> None:
        raise type("NoSuchTableError", (Exception,), {})

    catalog = SimpleNamespace(load_table=load_table, view_exists=lambda identifier: identifier == ("n", "v"))
    with pytest.raises(tf.UnsupportedFeatureError, match=r"view.*'n\.v'"):
        find_table(catalog, ("n", "v"))
    with pytest.raises(tf.TableNotFoundError):
        find_table(catalog, ("n", "w"))


def test_a_table_in_a_store_is_read_with_what_the_catalog_vends(properties: dict[str, str], tmp_path: Path) -> None:
    metadata = max((tmp_path / "n" / "t" / "metadata").glob("*.metadata.json"))
    with S3Stub() as stub:
        stub.upload(tmp_path / "n", "n")
        vended = {
            "s3.endpoint": stub.endpoint,
            "s3.region": "us-east-1",
            "s3.access-key-id": "AKIASTUB",
            "s3.secret-access-key": "st0bSecretKey",
        }
        catalog = loaded(f"s3://bucket/n/t/metadata/{metadata.name}", vended=vended)
        table = tf.open_table("n.t", catalog=catalog, relocate=True)
        assert table.scan().to_arrow()["x"].to_pylist() == [1, 2]
        assert stub.requests and all(request.is_signed for request in stub.requests)
