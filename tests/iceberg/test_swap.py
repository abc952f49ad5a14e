"""The swap of metadata: directories, SQL and REST catalogs, and answers that were lost."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pyarrow as pa
import pytest
from tableformats_iceberg.write import swap as swaps
from tableformats_iceberg.write.create import create_updates
from tableformats_iceberg.write.swap import CatalogSwap, CurrentMetadata, DirectorySwap, MetadataSwap

import tableformats as tf
from tableformats.catalog.opening import catalog_of
from tableformats.catalog.writing import TableWriter
from tableformats.errors import (
    CatalogConnectionError,
    CatalogError,
    CatalogPermissionError,
    UnsupportedFeatureError,
)
from tableformats.io.storage import Storage
from tableformats.plugin import PutOutcome
from tableformats.schema import Schema
from tests.support.rest_catalog import RestCatalogStub

COLUMNS = Schema.from_arrow(pa.schema([("id", pa.int64()), ("name", pa.string())]))
Json = dict[str, Any]


@pytest.fixture(autouse=True)
def no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(swaps, "LOOKS_S", (0.0, 0.0))


def properties(**given: str) -> list[Json]:
    return [{"action": "set-properties", "updates": given}]


def appended(base: CurrentMetadata, snapshot_id: int) -> tuple[list[Json], list[Json]]:
    """The requirements and updates of an append; its manifest list is not there."""
    current = base.parsed.current_snapshot_id
    snapshot = {
        "snapshot-id": snapshot_id,
        "timestamp-ms": 1_700_000_000_000,
        "sequence-number": base.json.get("last-sequence-number", 0) + 1,
        "manifest-list": f"{base.json['location']}/metadata/{snapshot_id}.avro",
        "summary": {"operation": "append"},
        "schema-id": base.parsed.current_schema_id,
    }
    if current is not None:
        snapshot["parent-snapshot-id"] = current
    if base.parsed.format_version == 3:
        snapshot |= {"first-row-id": base.json["next-row-id"], "added-rows": 1}
    to_main = {"action": "set-snapshot-ref", "ref-name": "main", "type": "branch", "snapshot-id": snapshot_id}
    requirements = [
        {"type": "assert-table-uuid", "uuid": base.json["table-uuid"]},
        {"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": current},
    ]
    return requirements, [{"action": "add-snapshot", "snapshot": snapshot}, to_main]


# ---- directories ----------------------------------------------------------------------------------------------------


@pytest.fixture(params=[1, 2, 3])
def directory(tmp_path: Path, request: pytest.FixtureRequest) -> DirectorySwap:
    swap = DirectorySwap(Storage(tmp_path / "t"))
    updates = create_updates(str(tmp_path / "t"), COLUMNS, properties={"format-version": str(request.param)})
    swap.check(request.param)
    assert swap.commit(None, [{"type": "assert-create"}], updates) is PutOutcome.WON
    swap.after_commit()
    return swap


def test_a_directory_table_is_created_and_committed_to(directory: DirectorySwap, tmp_path: Path) -> None:
    base = directory.newest()
    assert directory.commit(base, [], properties(a="b")) is PutOutcome.WON
    directory.after_commit()
    assert (tmp_path / "t/metadata/version-hint.text").read_text() == "2"
    opened = tf.open_table(str(tmp_path / "t"))
    assert (opened.format, opened.snapshot().properties["a"], opened.schema.names) == ("iceberg", "b", ["id", "name"])
    log = directory.newest().json["metadata-log"]
    assert [entry["metadata-file"] for entry in log] == [f"{tmp_path}/t/metadata/v1.metadata.json"]
    pyiceberg = pytest.importorskip("pyiceberg.table")
    table = pyiceberg.StaticTable.from_metadata(str(tmp_path / "t/metadata/v2.metadata.json"))
    assert table.properties == {"a": "b"} and table.scan().to_arrow().num_rows == 0


def test_of_two_commits_upon_one_version_one_wins(directory: DirectorySwap) -> None:
    base = directory.newest()
    assert directory.commit(base, [], properties(a="1")) is PutOutcome.WON
    assert directory.commit(base, [], properties(a="2")) is PutOutcome.LOST
    assert directory.newest().parsed.properties["a"] == "1"
    taken = create_updates("/elsewhere", COLUMNS)
    assert directory.commit(None, [{"type": "assert-create"}], taken) is PutOutcome.LOST


def test_many_writers_lose_no_commit(directory: DirectorySwap, tmp_path: Path) -> None:
    def write(name: str) -> None:
        swap, left = DirectorySwap(Storage(tmp_path / "t")), 5
        while left:
            if swap.commit(swap.newest(), [], properties(**{f"{name}{left}": "x"})) is PutOutcome.WON:
                left -= 1

    threads = [threading.Thread(target=write, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(directory.newest().parsed.properties) == 20


def test_a_failed_requirement_loses_and_a_change_of_nothing_wins(directory: DirectorySwap) -> None:
    base = directory.newest()
    wrong = [{"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": 7}]
    assert directory.commit(base, wrong, properties(a="b")) is PutOutcome.LOST
    assert directory.commit(base, [], [{"action": "remove-properties", "removals": ["no"]}]) is PutOutcome.WON
    assert directory.newest().parsed.path.endswith("v1.metadata.json")


def test_compressed_metadata(tmp_path: Path) -> None:
    swap = DirectorySwap(Storage(tmp_path / "t"))
    given = {"write.metadata.compression-codec": "gzip"}
    swap.commit(None, [], create_updates(str(tmp_path / "t"), COLUMNS, properties=given))
    base = swap.newest()
    assert base.parsed.path.endswith("/v1.gz.metadata.json")
    assert swap.commit(base, [], properties(**{"write.metadata.compression-codec": "none"})) is PutOutcome.WON
    assert swap.newest().parsed.path.endswith("/v2.gz.metadata.json")
    assert swap.commit(swap.newest(), [], properties(a="b")) is PutOutcome.WON
    assert tf.open_table(tmp_path / "t").snapshot().properties["a"] == "b"
    assert swap.newest().parsed.path.endswith("/v3.metadata.json")
    with pytest.raises(UnsupportedFeatureError, match="lz4"):
        swaps.is_compressed({"write.metadata.compression-codec": "lz4"})


def test_the_directory_of_a_catalog_table_is_not_written(tmp_path: Path) -> None:
    metadata = tmp_path / "t/metadata"
    metadata.mkdir(parents=True)
    swap = DirectorySwap(Storage(tmp_path / "t"))
    swap.commit(None, [], create_updates(str(tmp_path / "t"), COLUMNS))
    (metadata / "v1.metadata.json").rename(metadata / "00000-aa.metadata.json")
    with pytest.raises(UnsupportedFeatureError, match="a catalog decides"):
        swap.newest()


# ---- catalogs -------------------------------------------------------------------------------------------------------


def created(given: Any, version: int, writer_of: Callable[[TableWriter], Any] = lambda w: w) -> MetadataSwap:
    writer = writer_of(TableWriter(catalog_of(given), ("n", "t")))
    definition = {"schema": {"type": "struct", "schema-id": 0, "fields": []}, "properties": {}}
    staged = writer.stage(definition)
    swap = CatalogSwap(Storage(staged.location), writer)
    swap.check(version)
    updates = create_updates(staged.location, COLUMNS, properties={"format-version": str(version)})
    if staged.table_id is not None:
        updates[0]["uuid"] = staged.table_id
    assert swap.commit(None, [{"type": "assert-create"}], updates) is PutOutcome.WON
    return swap


@pytest.fixture
def sql(tmp_path: Path) -> Iterator[Any]:
    pytest.importorskip("sqlalchemy")
    from pyiceberg.catalog.sql import SqlCatalog

    catalog = SqlCatalog("c", uri=f"sqlite:///{tmp_path / 'c.db'}", warehouse=tmp_path.as_uri())
    catalog.create_namespace("n")
    yield catalog
    catalog.close()


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_sql_catalog(sql: Any, version: int) -> None:
    swap = created(sql, version)
    base = swap.newest()
    base.json["x-unknown"] = [1]
    assert swap.commit(base, *appended(base, 7)) is PutOutcome.WON
    assert swap.commit(base, *appended(base, 8)) is PutOutcome.LOST
    newest = swap.newest()
    assert newest.parsed.current_snapshot_id == 7
    assert newest.json["x-unknown"] == [1]
    assert newest.stored_path.rpartition("/")[2].startswith("00001-")
    theirs = sql.load_table("n.t")
    assert (theirs.format_version, theirs.current_snapshot().snapshot_id) == (version, 7)
    opened = tf.open_table("n.t", catalog=sql)
    assert opened.snapshot().version == 7
    again = create_updates(newest.json["location"], COLUMNS)
    assert swap.commit(None, [{"type": "assert-create"}], again) is PutOutcome.LOST


def test_a_sql_catalog_whose_database_is_locked_at_the_commit(sql: Any, tmp_path: Path) -> None:
    table = tf.create_table("n.t", pa.schema({"id": pa.int64()}), format="iceberg", catalog=sql)
    impatient = type(sql)("c", uri=f"{sql.engine.url}?timeout=0.01", warehouse=tmp_path.as_uri())
    with closing(sqlite3.connect(tmp_path / "c.db", isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM iceberg_tables").fetchall()
        with pytest.raises(tf.CommitConflictError):
            tf.open_table("n.t", catalog=impatient).append(pa.table({"id": [1]}), tries=2)
        reader.execute("COMMIT")
    tf.open_table("n.t", catalog=impatient).append(pa.table({"id": [2]}))
    assert table.refresh().to_arrow()["id"].to_pylist() == [2]
    impatient.close()


@pytest.mark.parametrize("landed", [True, False])
def test_a_sql_catalog_whose_answer_was_lost(sql: Any, landed: bool) -> None:
    class Losing:
        def __init__(self, writer: TableWriter) -> None:
            self._writer, self.is_losing = writer, False

        def __getattr__(self, name: str) -> Any:
            return getattr(self._writer, name)

        def swap(self, old: str, new: str) -> PutOutcome:
            if not self.is_losing or landed:
                assert self._writer.swap(old, new) is PutOutcome.WON
            return PutOutcome.UNKNOWN

    losing: list[Losing] = []
    swap = created(sql, 2, lambda w: losing.append(Losing(w)) or losing[0])
    losing[0].is_losing = True
    base = swap.newest()
    before = set(Path(base.json["location"].removeprefix("file://")).rglob("*"))
    expected = PutOutcome.WON if landed else PutOutcome.UNKNOWN
    assert swap.commit(base, *appended(base, 7)) is expected
    assert before <= set(Path(base.json["location"].removeprefix("file://")).rglob("*"))
    assert (swap.newest().parsed.current_snapshot_id == 7) is landed


def test_a_catalog_without_a_swap_takes_version_2_and_refuses_version_3(sql: Any, monkeypatch: Any) -> None:
    from tableformats.catalog import pyiceberg_commits

    swap = created(sql, 2)
    monkeypatch.setattr(pyiceberg_commits, "is_sql", lambda catalog: False)
    base = swap.newest()
    assert swap.commit(base, *appended(base, 7)) is PutOutcome.WON
    assert swap.commit(base, *appended(base, 8)) is PutOutcome.LOST
    assert swap.newest().parsed.current_snapshot_id == 7
    swap.check(2)
    with pytest.raises(UnsupportedFeatureError, match="format version 3 cannot be committed"):
        swap.check(3)


@pytest.fixture(scope="module")
def server() -> Iterator[RestCatalogStub]:
    with RestCatalogStub() as stub:
        yield stub


@pytest.fixture
def rest(server: RestCatalogStub, tmp_path: Path) -> RestCatalogStub:
    server.warehouse = str(tmp_path / "w")
    server.tables = {("n", "other"): {}}
    server.commit_fault = None
    server.bodies = []
    return server


@pytest.mark.parametrize("version", [2, 3])
def test_a_rest_catalog(rest: RestCatalogStub, version: int) -> None:
    swap = created(rest.properties(), version)
    base = swap.newest()
    assert swap.commit(base, *appended(base, 7)) is PutOutcome.WON
    assert swap.commit(base, *appended(base, 8)) is PutOutcome.LOST
    assert swap.newest().parsed.current_snapshot_id == 7
    assert swap.commit(swap.newest(), [], properties(a="b")) is PutOutcome.WON
    assert tf.open_table("n.t", catalog=rest.properties()).snapshot().properties["a"] == "b"


@pytest.mark.parametrize("fault", [500, 502, 503, 504, 409, "close"])
@pytest.mark.parametrize("landed", [True, False])
def test_a_rest_catalog_whose_answer_was_lost(rest: RestCatalogStub, fault: Any, landed: bool) -> None:
    swap = created(rest.properties(), 2)
    base = swap.newest()
    rest.commit_fault = (fault, landed)
    if landed:
        expected = PutOutcome.WON
    else:
        expected = PutOutcome.LOST if fault == 409 else PutOutcome.UNKNOWN
    assert swap.commit(base, *appended(base, 7)) is expected
    rest.commit_fault = None
    assert (swap.newest().parsed.current_snapshot_id == 7) is landed
    if not landed:
        assert swap.commit(base, *appended(base, 8)) is PutOutcome.WON
        rest.commit_fault = (503, False)
        assert swap.commit(base, *appended(base, 7)) is PutOutcome.LOST, "main has moved on for good"


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (400, tf.CatalogError),
        (401, tf.CatalogPermissionError),
        (403, tf.CatalogPermissionError),
        (404, tf.TableNotFoundError),
        (429, tf.CatalogError),
    ],
)
def test_a_rest_catalog_that_refuses(rest: RestCatalogStub, fault: int, error: type[Exception]) -> None:
    swap = created(rest.properties(), 2)
    base = swap.newest()
    rest.commit_fault = (fault, False)
    with pytest.raises(error) as raised:
        swap.commit(base, *appended(base, 7))
    assert "s3cretWords" not in str(raised.value)


def test_a_rest_catalog_gets_updates_as_they_are(rest: RestCatalogStub) -> None:
    swap = created(rest.properties(), 2)
    base = swap.newest()
    requirements, updates = appended(base, 7)
    updates[0]["snapshot"]["x-unknown"] = {"a": 1}
    swap.commit(base, requirements, updates)
    assert json.loads(rest.bodies[-1])["updates"] == updates


def test_a_namespace_that_is_not_there(rest: RestCatalogStub, sql: Any) -> None:
    for given in (rest.properties(), sql):
        with pytest.raises(tf.NamespaceNotFoundError):
            TableWriter(catalog_of(given), ("m", "t")).stage({"schema": {}})


# ---- refusals of a catalog ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "base", "current", "outcome"),
    [
        (None, "a", "a", PutOutcome.WON),
        (CatalogError("no"), "a", "b", PutOutcome.LOST),
        (CatalogError("no"), "a", "a", CatalogError),
        (CatalogError("no"), None, "a", CatalogError),
        (CatalogPermissionError("no"), "a", "b", CatalogPermissionError),
        (CatalogConnectionError("no"), "a", "b", CatalogConnectionError),
    ],
)
def test_a_refusal_of_what_is_current_no_more_is_a_lost_race(
    tmp_path: Path, error: Exception | None, base: str | None, current: str, outcome: Any
) -> None:
    writer = Mock(commit=Mock(return_value=PutOutcome.WON, side_effect=error))
    swap = CatalogSwap(Storage(tmp_path), writer)
    swap.newest = lambda: SimpleNamespace(stored_path=current)  # type: ignore[method-assign, assignment, return-value]
    known: Any = None if base is None else SimpleNamespace(stored_path=base)
    if isinstance(outcome, PutOutcome):
        assert swap._applied(known, ({"a": 1},), ({"b": 2},)) is outcome
        writer.commit.assert_called_once_with([{"a": 1}], [{"b": 2}])
    else:
        with pytest.raises(outcome) as caught:
            swap._applied(known, (), ())
        assert caught.value is error
