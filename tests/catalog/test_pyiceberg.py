"""Tables of PyIceberg catalogs: what they answer is used as it is, and they say what is newest."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

import tableformats as tf
from tableformats.catalog.opening import catalog_of
from tableformats.catalog.pyiceberg import PyIcebergCatalog
from tableformats.io.storage import Storage
from tests.support.rest_catalog import RestCatalogStub
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


@pytest.fixture
def rest() -> Iterator[RestCatalogStub]:
    with RestCatalogStub() as stub:
        yield stub


def newest_metadata(folder: Path) -> Path:
    return max((folder / "n" / "t" / "metadata").glob("*.metadata.json"))


def changed_elsewhere(properties: dict[str, str], statement: str) -> None:
    """Run a statement over ``t``, PyIceberg's table, in another process."""
    program = f"""
        import json, sys, pyarrow as pa
        from pyiceberg.catalog import load_catalog
        t = load_catalog("catalog", **json.loads(sys.argv[1])).load_table("n.t")
        {statement}
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(program), json.dumps(properties)], check=True, timeout=120)


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


# ---- opening --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("identifier", ["n.t", ("n", "t")])
def test_the_catalog_and_the_path_give_the_same_files(properties: dict[str, str], identifier: Any) -> None:
    by_catalog = tf.open_table(identifier, catalog=properties)
    by_path = tf.open_table(by_catalog.location)
    assert by_catalog.scan().plan().file_uris() == by_path.scan().plan().file_uris()
    assert by_catalog.scan().to_arrow()["x"].to_pylist() == [1, 2]


def test_a_catalog_that_names_the_file_does_not_read_it(
    properties: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyiceberg.io.pyarrow import PyArrowFile

    monkeypatch.setattr(PyArrowFile, "open", lambda *a, **k: pytest.fail("PyIceberg reads the metadata too"))
    read: list[str] = []
    original = Storage.read_bytes
    monkeypatch.setattr(Storage, "read_bytes", lambda self, p, *a: [read.append(p), original(self, p, *a)][1])
    table = tf.open_table("n.t", catalog=properties)
    assert table.scan().count() == 2
    assert [p for p in read if p.endswith(".metadata.json")] == [table.location]


def test_the_callers_own_catalog_is_not_changed(properties: dict[str, str]) -> None:
    catalog = sql.SqlCatalog("catalog", **{k: v for k, v in properties.items() if k != "type"})
    before = dict(catalog.properties)
    assert tf.open_table("n.t", catalog=catalog).scan().count() == 2
    assert catalog.properties == before and catalog.load_table("n.t").scan().to_arrow().num_rows == 2
    catalog.close()


def test_the_metadata_of_a_rest_answer_is_not_read_again(
    properties: dict[str, str], rest: RestCatalogStub, tmp_path: Path
) -> None:
    metadata = newest_metadata(tmp_path)
    with S3Stub() as store:
        store.upload(tmp_path / "n", "n")
        location = f"s3://bucket/n/t/metadata/{metadata.name}"
        rest.tables["n", "t"] = {
            "metadata-location": location,
            "metadata": json.loads(metadata.read_text().replace(tmp_path.as_uri(), "s3://bucket")),
            "config": {"s3.region": "eu", "s3.endpoint": "http://127.0.0.1:1"},
            "storage-credentials": [
                {"prefix": "s3://", "config": {"s3.endpoint": "http://127.0.0.1:2", "s3.access-key-id": "no"}},
                {"prefix": "s3://bucket", "config": credentials(store)},
            ],
        }
        table = tf.open_table("n.t", catalog=rest.properties(), relocate={tmp_path.as_uri(): "s3://bucket"})
        plan = table.scan("x > 0").plan()
        assert len(plan) == 1 and table.location == location
        kinds = [request.path.rpartition(".")[2] for request in store.requests]
        assert kinds == ["avro", "avro"], "the manifest list and the manifest: the answer has the metadata"
        assert rest.requests == ["GET /v1/config", "GET /v1/namespaces/n/tables/t"]
        assert plan.report.longest_chain == 2, "after the two requests to the catalog"
        assert all(request.is_signed for request in store.requests)


def credentials(store: S3Stub) -> dict[str, str]:
    return {
        "s3.endpoint": store.endpoint,
        "s3.region": "us-east-1",
        "s3.access-key-id": "AKIASTUB",
        "s3.secret-access-key": "st0bSecretKey",
    }


def test_vended_and_configured_options_open_the_store() -> None:
    configured = {"uri": "https://c", "token": "catalog-token", "s3.region": "eu", "gcs.oauth2.token": "g"}
    vended = {"s3.access-key-id": "vended-key", "s3.delete-enabled": "true"}
    catalog = loaded("s3://b/t/metadata/v1.metadata.json", configured=configured, vended=vended)
    found = catalog_of(catalog).load(("n", "t"))
    assert found.storage_options == {"s3.region": "eu", "s3.access-key-id": "vended-key"}
    assert "vended-key" not in repr(found)


def test_a_tables_own_properties_name_no_endpoint(rest: RestCatalogStub) -> None:
    own = {"s3.endpoint": "https://evil", "s3.region": "x"}
    catalog = loaded("s3://b/v1.metadata.json", own=own, configured={"s3.region": "eu"})
    assert catalog_of(catalog).load(("n", "t")).storage_options == {"s3.region": "eu"}
    rest.tables["n", "t"] = {"metadata-location": "s3://b/v1.metadata.json", "metadata": {"properties": own}}
    found = catalog_of(rest.properties(**{"s3.region": "eu"})).load(("n", "t"))
    assert found.storage_options == {"s3.region": "eu"}


def test_a_catalog_that_signs_requests_itself_is_refused_by_name(
    properties: dict[str, str], rest: RestCatalogStub, tmp_path: Path
) -> None:
    config = {"s3.remote-signing-enabled": "true", "s3.region": "eu"}
    metadata = json.loads(newest_metadata(tmp_path).read_text().replace(tmp_path.as_uri(), "s3://b"))
    rest.tables["n", "t"] = {"metadata-location": "s3://b/v1.metadata.json", "metadata": metadata, "config": config}
    with pytest.raises(tf.UnsupportedFeatureError, match=r"'s3\.signer' is not supported.*Give credentials") as caught:
        tf.open_table("n.t", catalog=rest.properties()).scan().plan()
    assert "s3.access-key-id and s3.secret-access-key among the catalog's properties" in str(caught.value)
    keys = {"s3.access-key-id": "AKIA0", "s3.secret-access-key": "s3cret"}
    found = catalog_of(rest.properties(**keys)).load(("n", "t"))
    assert found.storage_options == {"s3.region": "eu", **keys}, "own credentials need no signer"


def test_a_table_in_a_store_is_read_with_what_the_catalog_vends(properties: dict[str, str], tmp_path: Path) -> None:
    with S3Stub() as stub:
        stub.upload(tmp_path / "n", "n")
        location = f"s3://bucket/n/t/metadata/{newest_metadata(tmp_path).name}"
        table = tf.open_table("n.t", catalog=loaded(location, vended=credentials(stub)), relocate=True)
        assert table.scan().to_arrow()["x"].to_pylist() == [1, 2]
        assert stub.requests and all(request.is_signed for request in stub.requests)


def test_by_the_name_of_the_configuration(properties: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in properties.items():
        monkeypatch.setenv(f"PYICEBERG_CATALOG__CATALOG__{name.upper()}", value)
    assert tf.open_table("n.t", catalog="catalog").scan().count() == 2
    assert tf.open_table("n.t", catalog="catalog").refresh().scan().count() == 2


def test_a_catalog_that_pyiceberg_only_reads() -> None:
    """As its catalog for BigQuery."""

    def commit_table(table: Any, requirements: Any, updates: Any) -> None:
        raise NotImplementedError

    catalog = PyIcebergCatalog(SimpleNamespace(name="big", commit_table=commit_table, properties={}))
    with pytest.raises(tf.UnsupportedFeatureError, match=r"catalog 'big' is only read.*Nothing was written"):
        catalog.commit(("n", "t"), [], [])


def test_nothing_is_written_past_the_catalog(properties: dict[str, str]) -> None:
    table = tf.open_table("n.t", catalog=properties)
    without = pickle.loads(pickle.dumps(table))
    with pytest.raises(tf.CatalogError, match=r"not known to this process.*open it by"):
        without.append(pa.table({"x": [9]}))
    table.append(pa.table({"x": [9]}))
    assert tf.open_table("n.t", catalog=properties).scan("x = 9").count() == 1, "the catalog has the commit"


# ---- what is newest -------------------------------------------------------------------------------------------------


def test_an_update_sees_what_another_process_committed(properties: dict[str, str], tmp_path: Path) -> None:
    table = tf.open_table("n.t", catalog=properties)
    first = table.snapshot()
    assert first.update() is first and table.refresh() is table
    changed_elsewhere(properties, 't.append(pa.table({"x": [3]}))')
    assert table.snapshot().version == first.version, "the table stays until it is asked"
    second = first.update()
    assert second.version != first.version and second.scan().count() == 3
    assert table.snapshot().version == second.version and table.location == str(newest_metadata(tmp_path))
    assert first.scan().count() == 2, "a snapshot is immutable"
    changed_elsewhere(properties, 't.append(pa.table({"x": [4]}))')
    assert table.refresh().scan().count() == 4
    assert second.update().scan().count() == 4, "an older snapshot too"


def test_an_update_sees_a_new_schema(properties: dict[str, str]) -> None:
    table = tf.open_table("n.t", catalog=properties)
    first = table.snapshot()
    program = 'from pyiceberg.types import LongType\nt.update_schema().add_column("y", LongType()).commit()'
    changed_elsewhere(properties, program.replace("\n", "; "))
    table.refresh()
    assert first.update().schema.names == ["x", "y"] and first.schema.names == ["x"]


def test_the_catalogs_file_is_the_newest_and_no_other(properties: dict[str, str], tmp_path: Path) -> None:
    """A file that a writer left behind has a higher number; the catalog never took it."""
    table = tf.open_table("n.t", catalog=properties)
    newest = newest_metadata(tmp_path)
    left = json.loads(newest.read_text()) | {"properties": {"left": "behind"}}
    newest.with_name("99999-" + newest.name.partition("-")[2]).write_text(json.dumps(left))
    assert table.snapshot().update().properties.get("left") is None
    assert "left" not in table.refresh().snapshot().properties and table.location == str(newest)


def test_a_pickled_table_does_not_pretend_to_be_the_newest(properties: dict[str, str]) -> None:
    table = pickle.loads(pickle.dumps(tf.open_table("n.t", catalog=properties)))
    assert table.scan().count() == 2
    with pytest.raises(tf.CatalogError, match=r"catalog 'catalog' is not known to this process.*'n\.t'"):
        table.refresh()


def test_what_cannot_be_read_leaves_the_table_as_it_was(properties: dict[str, str], tmp_path: Path) -> None:
    table = tf.open_table("n.t", catalog=properties)
    changed_elsewhere(properties, 't.append(pa.table({"x": [3]}))')
    newest_metadata(tmp_path).write_text("{")
    with pytest.raises(tf.CorruptMetadataError):
        table.refresh()
    assert table.scan().count() == 2
