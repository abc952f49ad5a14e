"""BigQuery's metastore by PyIceberg's catalog, against a stub of the API: opened, listed, created and written.

PyIceberg commits nothing to this catalog; it reads what was committed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tableformats as tf
from tableformats.catalog.pyiceberg import PyIcebergCatalog
from tableformats.plugin import PutOutcome
from tests.support.bigquery_stub import BigQueryStub, service_account

pytest.importorskip("google.cloud.bigquery", reason="needs google-cloud-bigquery: pip install 'tableformats[services]'")
pytest.importorskip("pyiceberg.catalog.bigquery_metastore", reason="needs PyIceberg 0.10")
SCHEMA = pa.schema([("x", pa.int64())])


@pytest.fixture(scope="module")
def stub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BigQueryStub]:
    """With the dataset ``n``, in which PyIceberg made the table ``t``."""
    with pytest.MonkeyPatch.context() as patch, BigQueryStub() as stub:
        patch.setenv("BIGQUERY_EMULATOR_HOST", stub.uri)
        patch.setenv("PYICEBERG_LEGACY_CURRENT_SNAPSHOT_ID", "true")
        warehouse = tmp_path_factory.mktemp("warehouse")
        stub.account = service_account(stub.uri)
        stub.warehouse = str(warehouse)
        catalog = made(stub)
        catalog.create_namespace("n")
        (warehouse / "n.db/t/metadata").mkdir(parents=True)
        catalog.create_table("n.t", SCHEMA, location=str(warehouse / "n.db/t"))
        yield stub


@pytest.fixture
def properties(stub: BigQueryStub) -> dict[str, str]:
    return properties_of(stub)


@pytest.fixture
def catalog(stub: BigQueryStub) -> Any:
    return made(stub)


def properties_of(stub: BigQueryStub) -> dict[str, str]:
    account = json.dumps(stub.account)
    found = {"name": "big", "type": "bigquery", "gcp.bigquery.project-id": "project", "warehouse": stub.warehouse}
    return {**found, "gcp.bigquery.credentials-info": account}


def made(stub: BigQueryStub) -> Any:
    from pyiceberg.catalog import load_catalog

    return load_catalog(**properties_of(stub))


def values(table: Any) -> list[int]:
    return sorted(table.scan().to_arrow()["x"].to_pylist())


def test_open_by_object_properties_and_name(
    catalog: Any, properties: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = tmp_path / "account.json"
    key.write_text(properties["gcp.bigquery.credentials-info"])
    lines = ["catalog:", "  big:", "    type: bigquery", "    gcp.bigquery.project-id: project"]
    lines += [f"    gcp.bigquery.credential-file: {key}", "legacy-current-snapshot-id: true"]
    (tmp_path / ".pyiceberg.yaml").write_text("\n".join(lines))
    monkeypatch.setenv("PYICEBERG_HOME", str(tmp_path))
    for given in (catalog, properties, "big"):
        table = tf.open_table("n.t", catalog=given)
        assert table.schema.names == ["x"] and values(table) == []
        assert table.refresh().location == catalog.load_table("n.t").metadata_location
        assert tf.list_tables(given, "n")["name"].to_pylist()[-1] == "t"


def test_lists_are_asked_for_page_by_page(stub: BigQueryStub, catalog: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stub, "datasets", {**stub.datasets, "a": {"datasetReference": {"datasetId": "a"}}})
    for name in ("one", "two", "three"):
        stub.put("a", name)
    for dataset in stub.datasets.values():
        dataset["datasetReference"]["projectId"] = "project"
    monkeypatch.setattr(stub, "page", 1)
    assert tf.list_tables(catalog, "a")["identifier"].to_pylist() == ["a.one", "a.three", "a.two"]
    assert sorted(tf.list_tables(catalog)["identifier"].to_pylist()) == ["a.one", "a.three", "a.two", "n.t"]
    for name in ("one", "two", "three"):
        del stub.tables["a", name]


@pytest.mark.parametrize("version", ["2", "3"])
def test_tables_are_created_and_written(stub: BigQueryStub, catalog: Any, version: str) -> None:
    name = f"written{version}"
    table = tf.create_table(
        f"n.{name}", SCHEMA, format="iceberg", catalog=catalog, properties={"format-version": version}
    )
    stub.parameters("n", name)["numRows"] = "9"  # as Java's catalog says of its commits
    stub.parameters("n", name)["owner"] = "somebody"
    table.append(pa.table({"x": [1, 2]}))
    table.delete("x = 1")
    assert values(table) == values(tf.open_table(f"n.{name}", catalog=catalog)) == [2]
    if version == "2":
        assert values(catalog.load_table(f"n.{name}")) == [2]
    found = stub.parameters("n", name)
    assert found["previous_metadata_location"] != found["metadata_location"] == table.refresh().location
    assert found["table_type"] == "ICEBERG" and found["owner"] == "somebody"
    storage = stub.tables["n", name]["externalCatalogTableOptions"]["storageDescriptor"]
    assert storage["locationUri"] == f"{stub.warehouse}/n.db/{name}"
    with pytest.raises(tf.TableFormatsError, match="is there"):
        tf.create_table(f"n.{name}", SCHEMA, format="iceberg", catalog=catalog)


def test_a_new_table_goes_where_its_dataset_says(stub: BigQueryStub, catalog: Any, tmp_path: Path) -> None:
    stub.datasets["n"]["externalCatalogDatasetOptions"]["defaultStorageLocationUri"] = f"{tmp_path}/"
    table = tf.create_table("n.there", SCHEMA, format="iceberg", catalog=catalog)
    stub.datasets["n"]["externalCatalogDatasetOptions"]["defaultStorageLocationUri"] = f"{stub.warehouse}/n.db"
    assert table.location.startswith(f"{tmp_path}/there/metadata/")


def test_a_writer_that_lost_the_race_commits_upon_the_winner(catalog: Any) -> None:
    table = tf.create_table("n.race", SCHEMA, format="iceberg", catalog=catalog)
    with table.transaction() as transaction:
        transaction.append(pa.table({"x": [1]}))
        tf.open_table("n.race", catalog=catalog).append(pa.table({"x": [2]}))
    assert transaction.commit.attempts == 2 and values(catalog.load_table("n.race")) == [1, 2]


def test_a_writer_between_the_question_and_the_change(
    stub: BigQueryStub, catalog: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The location is the one that was read, but the ETag is another by then."""
    ours = PyIcebergCatalog(catalog)
    old = str(catalog.load_table("n.t").metadata_location)
    get = catalog.client.get_table

    def get_and_be_late(*arguments: Any, **options: Any) -> Any:
        found = get(*arguments, **options)
        stub.put("n", "t", **{k: v for k, v in stub.tables["n", "t"].items() if k != "etag"})
        return found

    monkeypatch.setattr(catalog.client, "get_table", get_and_be_late)
    assert ours.swap(("n", "t"), old, "/x/new.json") is PutOutcome.LOST
    assert stub.parameters("n", "t")["metadata_location"] == old


def test_a_swap_whose_condition_does_not_hold(catalog: Any) -> None:
    ours = PyIcebergCatalog(catalog)
    old = str(catalog.load_table("n.t").metadata_location)
    assert ours.swap(("n", "t"), "/x/other.json", "/x/new.json") is PutOutcome.LOST
    assert ours.swap(("n", "absent"), old, "/x/new.json") is PutOutcome.LOST
    assert ours.register(("n", "t"), old) is PutOutcome.LOST
    assert catalog.load_table("n.t").metadata_location == old


@pytest.mark.parametrize("status", [0, 500, 503])
@pytest.mark.parametrize("landed", [False, True])
def test_an_answer_that_decides_nothing(stub: BigQueryStub, catalog: Any, status: int, landed: bool) -> None:
    """The newest metadata tells whether the commit landed. It is there once, or not at all."""
    name = f"n.lost{status}{landed}"
    table = tf.create_table(name, SCHEMA, format="iceberg", catalog=catalog)
    stub.faults.append((status, "backendError", landed))
    if landed:
        table.append(pa.table({"x": [1]}))
    else:
        with pytest.raises(tf.CommitUnknownError):
            table.append(pa.table({"x": [1]}))
    assert values(tf.open_table(name, catalog=catalog)) == ([1] if landed else [])


@pytest.mark.parametrize(
    ("status", "reason", "error"),
    [
        (400, "invalid", tf.CatalogError),
        (401, "authError", tf.CatalogPermissionError),
        (403, "accessDenied", tf.CatalogPermissionError),
        (403, "rateLimitExceeded", tf.CatalogConnectionError),
        (429, "rateLimitExceeded", tf.CatalogConnectionError),
    ],
)
def test_a_commit_that_is_refused(
    stub: BigQueryStub, catalog: Any, status: int, reason: str, error: type[tf.CatalogError]
) -> None:
    before = stub.parameters("n", "t")
    # After 401 Google's library takes a new token and sends the request again, twice.
    stub.faults += [(status, reason, False)] * (3 if status == 401 else 1)
    with pytest.raises(error, match=r"catalog 'big'.*'n\.t'") as caught:
        tf.open_table("n.t", catalog=catalog).append(pa.table({"x": [1]}))
    assert "s3cretWords" not in str(caught.value) and stub.parameters("n", "t") == before and not stub.faults


def test_what_is_no_table(stub: BigQueryStub, catalog: Any) -> None:
    stub.put("n", "view", type="VIEW")
    stub.put("n", "native", type="TABLE")
    cases: list[tuple[str, type[Exception], str]] = [
        ("n.view", tf.UnsupportedFeatureError, r"'big' has a view.*'n\.view'.*'view'"),
        ("n.native", tf.UnsupportedFeatureError, r"'big' has a table of this name, but it is no.*'n\.native'"),
        ("n.s", tf.TableNotFoundError, r"'big' has no such table.*'n\.s'"),
        ("m.t", tf.NamespaceNotFoundError, r"'big' has no such namespace.*'m'"),
        ("a.n.t", tf.TableNotFoundError, r"'big' has no such.*'a\.n"),
    ]
    for name, error, words in cases:
        with pytest.raises(error, match=words):
            tf.open_table(name, catalog=catalog)


def test_errors_name_the_catalog(stub: BigQueryStub, catalog: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for status, reason, error in (
        (403, "accessDenied", tf.CatalogPermissionError),
        (400, "invalid", tf.CatalogError),
        (401, "authError", tf.CatalogPermissionError),
    ):
        monkeypatch.setattr(stub, "reading", (status, reason))
        with pytest.raises(error, match=rf"catalog 'big'.*{reason}.*'n\.t'") as caught:
            tf.open_table("n.t", catalog=catalog)
        assert "s3cretWords" not in str(caught.value)
        with pytest.raises(error, match="catalog 'big'"):
            tf.list_tables(catalog)


def test_a_service_that_does_not_answer_is_given_up(
    stub: BigQueryStub, catalog: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Google's library asks again for ten minutes."""
    monkeypatch.setattr("tableformats.catalog.swaps.bigquery._READ_S", 0.3)
    monkeypatch.setattr(stub, "reading", (503, "backendError"))
    with pytest.raises(tf.CatalogConnectionError, match=r"catalog 'big' does not answer.*'n\.t'"):
        tf.open_table("n.t", catalog=catalog)
    with pytest.raises(tf.CatalogConnectionError, match="catalog 'big' does not answer"):
        tf.list_tables(catalog)


def test_what_the_configuration_misses(properties: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    project = properties.pop("gcp.bigquery.project-id")
    with pytest.raises(tf.CatalogError, match=r"'big'.*Give the property gcp\.bigquery\.project-id"):
        tf.open_table("n.t", catalog=properties)
    monkeypatch.delenv("PYICEBERG_LEGACY_CURRENT_SNAPSHOT_ID")
    monkeypatch.setenv("PYICEBERG_HOME", "/absent")
    with pytest.raises(tf.CatalogError, match=r"'big'.*PYICEBERG_LEGACY_CURRENT_SNAPSHOT_ID=true") as caught:
        tf.open_table("n.t", catalog={**properties, "gcp.bigquery.project-id": project})
    assert "PRIVATE KEY" not in str(caught.value)


def test_without_the_library(properties: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("pyiceberg.catalog.bigquery")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "google.cloud.bigquery", None)
    with pytest.raises(tf.MissingExtraError, match=r"'big' needs google-cloud-bigquery, .*'pyiceberg\[bigquery\]'"):
        tf.open_table("n.t", catalog=properties)
