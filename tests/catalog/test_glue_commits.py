"""Commits to Glue: the version of the table decides, and the answers of the service are told apart."""

from __future__ import annotations

from typing import Any

import pytest

import tableformats as tf
from tableformats.catalog.glue import GlueCatalog
from tableformats.plugin import PutOutcome

TABLE = ("db", "t")


class ServiceError(Exception):
    """As botocore makes it: a class and a response."""

    def __init__(self, code: str, status: int = 400) -> None:
        super().__init__("s3cretWords")
        self.response = {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}


class EntityNotFoundException(ServiceError):
    pass


class FakeGlue:
    """One table, whose version every update must name."""

    def __init__(self) -> None:
        self.table: dict[str, Any] | None = {
            "Name": "t",
            "DatabaseName": "db",
            "VersionId": "1",
            "TableType": "EXTERNAL_TABLE",
            "CreateTime": "never given back",
            "StorageDescriptor": {"Columns": [{"Name": "id"}], "Location": "s3://b/t"},
            "Parameters": {"table_type": "ICEBERG", "metadata_location": "s3://b/t/metadata/0.json", "own": "kept"},
        }
        self.database: dict[str, Any] = {"Name": "db"}
        self.fault: Exception | None = None
        self.is_applied = True

    def get_table(self, DatabaseName: str, Name: str) -> dict[str, Any]:
        if self.table is None:
            raise EntityNotFoundException("EntityNotFoundException")
        return {"Table": dict(self.table)}

    def get_database(self, Name: str) -> dict[str, Any]:
        if Name != "db":
            raise EntityNotFoundException("EntityNotFoundException")
        return {"Database": self.database}

    def update_table(self, DatabaseName: str, TableInput: Any, SkipArchive: bool, VersionId: str) -> None:
        assert self.table is not None and "CreateTime" not in TableInput
        if self.is_applied:
            if VersionId != self.table["VersionId"]:
                raise ServiceError("ConcurrentModificationException")
            self.table.update(TableInput, VersionId=str(int(VersionId) + 1))
        if self.fault is not None:
            raise self.fault

    def create_table(self, DatabaseName: str, TableInput: Any) -> None:
        if self.table is not None:
            raise ServiceError("AlreadyExistsException")
        self.table = {**TableInput, "DatabaseName": DatabaseName, "VersionId": "0"}


@pytest.fixture
def glue() -> FakeGlue:
    return FakeGlue()


@pytest.fixture
def catalog(glue: FakeGlue) -> GlueCatalog:
    return GlueCatalog(glue, {}, "aws")


def test_a_swap_keeps_all_but_the_location(glue: FakeGlue, catalog: GlueCatalog) -> None:
    assert catalog.swap(TABLE, "s3://b/t/metadata/0.json", "s3://b/t/metadata/1.json") is PutOutcome.WON
    assert glue.table is not None
    assert glue.table["Parameters"] == {
        "table_type": "ICEBERG",
        "metadata_location": "s3://b/t/metadata/1.json",
        "previous_metadata_location": "s3://b/t/metadata/0.json",
        "own": "kept",
    }
    assert glue.table["StorageDescriptor"]["Columns"] == [{"Name": "id"}]
    assert catalog.swap(TABLE, "s3://b/t/metadata/0.json", "s3://b/t/metadata/2.json") is PutOutcome.LOST
    assert catalog.load(TABLE).location == "s3://b/t/metadata/1.json"


def test_a_table_that_changed_between_reading_and_writing(
    glue: FakeGlue, catalog: GlueCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = glue.get_table

    def stale(**given: str) -> dict[str, Any]:
        found = read(**given)
        assert glue.table is not None
        glue.table["VersionId"] = "7"
        return found

    monkeypatch.setattr(glue, "get_table", stale)
    assert catalog.swap(TABLE, "s3://b/t/metadata/0.json", "s3://b/t/metadata/1.json") is PutOutcome.LOST


@pytest.mark.parametrize(
    "fault",
    [
        ServiceError("InternalServiceException", 500),
        ServiceError("x", 503),
        TimeoutError(),
        ServiceError("OperationTimeoutException"),
    ],
)
def test_answers_that_say_nothing(glue: FakeGlue, catalog: GlueCatalog, fault: Exception) -> None:
    glue.fault = fault
    assert catalog.swap(TABLE, "s3://b/t/metadata/0.json", "s3://b/t/metadata/1.json") is PutOutcome.UNKNOWN


def test_refusals_are_typed(glue: FakeGlue, catalog: GlueCatalog) -> None:
    glue.fault, glue.is_applied = ServiceError("AccessDeniedException", 403), False
    with pytest.raises(tf.CatalogPermissionError) as raised:
        catalog.swap(TABLE, "s3://b/t/metadata/0.json", "s3://b/t/metadata/1.json")
    assert "s3cretWords" not in str(raised.value)
    assert glue.table is not None
    del glue.table["VersionId"]
    with pytest.raises(tf.UnsupportedFeatureError, match="no version"):
        catalog.swap(TABLE, "s3://b/t/metadata/0.json", "s3://b/t/metadata/1.json")
    glue.table = {"Name": "t", "DatabaseName": "db", "TargetTable": {"Name": "u"}}
    with pytest.raises(tf.UnsupportedFeatureError, match="links are not written"):
        catalog.swap(TABLE, "", "s3://b/t/metadata/1.json")
    glue.table = None
    with pytest.raises(tf.TableNotFoundError):
        catalog.swap(TABLE, "", "s3://b/t/metadata/1.json")


def test_new_tables(glue: FakeGlue, catalog: GlueCatalog) -> None:
    assert catalog.register(TABLE, "s3://b/t/metadata/0.json") is PutOutcome.LOST
    glue.table = None
    assert catalog.register(TABLE, "s3://b/t/metadata/0.json") is PutOutcome.WON
    assert catalog.load(TABLE).location == "s3://b/t/metadata/0.json"
    assert glue.table["StorageDescriptor"]["Location"] == "s3://b/t"
    with pytest.raises(tf.UnsupportedFeatureError, match="where new tables go"):
        catalog.stage(TABLE, {})
    assert GlueCatalog(glue, {"warehouse": "s3://w/"}).stage(TABLE, {}).location == "s3://w/db.db/t"
    glue.database["LocationUri"] = "s3://own"
    assert catalog.stage(TABLE, {}).location == "s3://own/t"
    with pytest.raises(tf.NamespaceNotFoundError):
        catalog.stage(("no", "t"), {})
