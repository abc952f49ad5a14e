"""Commits of several tables of a catalog: all of them are changed, or none, whatever becomes of the answer."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pyarrow as pa
import pytest

import tableformats as tf
from tableformats.catalog import pyiceberg_commits
from tableformats.io.stores.base import PutOutcome
from tableformats.table.catalog_transactions import CatalogTransaction
from tests.histories.failing_rest import FAULTS, OPERATIONS, FailingCatalog, java_catalog, stub_catalog
from tests.support.rest_catalog import RestCatalogStub

pytest.importorskip("pyiceberg.catalog")

EVERYTHING = bool(os.environ.get("TF_CATALOG_FAULTS"))
"""Each request of each operation, in every way: minutes, of the nightly run."""


def ids(*values: int) -> pa.Table:
    return pa.table({"id": list(values)})


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RestCatalogStub]:
    with RestCatalogStub() as stub:
        stub.warehouse, stub.commits_several, stub.tables = str(tmp_path), True, {("n", "other"): {}}
        for name in "ab":
            tf.write_table(ids(1, 2), f"n.{name}", catalog=stub.properties())
        yield stub


def rows(server: RestCatalogStub) -> list[list[int]]:
    tables = [tf.open_table(f"n.{name}", catalog=server.properties()) for name in "ab"]
    return [sorted(table.scan().to_arrow()["id"].to_pylist()) for table in tables]


def test_tables_change_together(server: RestCatalogStub) -> None:
    posts = len(server.bodies)
    with tf.transaction(server.properties(), properties={"why": "x"}) as txn:
        txn.append("n.a", ids(3))
        txn.table(("n", "a")).append(ids(4))
        txn.delete("n.b", "id = 1")
        txn.overwrite("n.b", ids(7), "id > 6")
        assert rows(server) == [[1, 2], [1, 2]]
    assert rows(server) == [[1, 2, 3, 4], [2, 7]] and len(server.bodies) == posts + 1
    made = {name: commit.version for name, commit in txn.commits.items()}
    for name, version in made.items():
        table = tf.open_table(name, catalog=server.properties())
        assert table.snapshot().version == version and not list(table.verify())
        assert table.inspect.snapshots()["summary"].to_pylist()[-1]
    assert (txn.commits["n.a"].attempts, txn.commits["n.a"].metrics["added_rows"]) == (1, 2)
    with pytest.raises(ValueError, match="over"):
        txn.append("n.a", ids(3))


def test_an_exception_changes_nothing(server: RestCatalogStub, tmp_path: Path) -> None:
    files = set(tmp_path.rglob("*.parquet"))
    with pytest.raises(tf.ConstraintViolationError), tf.transaction(server.properties()) as txn:
        txn.append("n.a", ids(3))
        txn.append("n.b", pa.table({"no": [1]}))
    assert rows(server) == [[1, 2], [1, 2]] and set(tmp_path.rglob("*.parquet")) == files and not txn.commits


@pytest.mark.parametrize(
    ("error", "committed"),
    [
        (tf.InvalidPredicateError("odd"), False),
        (tf.CommitUnknownError("odd"), None),
        (ValueError("odd"), None),
    ],
)
def test_an_exception_of_the_block_says_what_was_done(error: Exception, committed: bool | None) -> None:
    catalog: Any = SimpleNamespace(name="c")
    with pytest.raises(type(error), match="odd"), CatalogTransaction(catalog, {"tries": 1, "timeout": 1.0}, None):
        raise error
    assert getattr(error, "committed", None) is committed


def test_a_lost_race_of_one_table_is_tried_again_for_all(server: RestCatalogStub) -> None:
    with tf.transaction(server.properties()) as txn:
        txn.append("n.a", ids(3))
        txn.delete("n.b", "id = 1")
        tf.open_table("n.a", catalog=server.properties()).append(ids(9))
    assert rows(server) == [[1, 2, 3, 9], [2]] and {c.attempts for c in txn.commits.values()} == {2}


def test_a_conflict_of_one_table_is_one_of_all(server: RestCatalogStub, tmp_path: Path) -> None:
    files = set(tmp_path.rglob("*.parquet"))
    with pytest.raises(tf.CommitConflictError) as caught, tf.transaction(server.properties()) as txn:
        txn.append("n.a", ids(3))
        txn.delete("n.b", "id = 1")
        tf.open_table("n.b", catalog=server.properties()).delete("id = 2")
    assert rows(server) == [[1, 2], [1]] and caught.value.committed is False and not txn.commits
    assert len(set(tmp_path.rglob("*.parquet")) - files) == 1, "of the winner"


def test_an_outcome_that_nobody_knows_keeps_all_files(server: RestCatalogStub, tmp_path: Path) -> None:
    files = set(tmp_path.rglob("*.parquet"))
    server.commit_fault = (503, False)
    with (
        mock.patch("tableformats_iceberg.write.swap.LOOKS_S", (0.0,)),
        pytest.raises(tf.CommitUnknownError, match=r"n\.a.*n\.b.*No file was deleted") as caught,
        tf.transaction(server.properties()) as txn,
    ):
        txn.append("n.a", ids(3))
        txn.delete("n.b", "id = 1")
    assert caught.value.committed is None and rows(server) == [[1, 2], [1, 2]]
    assert len(set(tmp_path.rglob("*.parquet")) - files) == 2
    server.commit_fault = (503, True)
    with tf.transaction(server.properties()) as txn:
        txn.append("n.a", ids(4))
        txn.delete("n.b", "id = 1")
    assert rows(server) == [[1, 2, 4], [2]]


def test_each_table_is_to_be_what_was_read(server: RestCatalogStub) -> None:
    """One of them is set back right before the commit is sent, by somebody of whom this process does not know."""
    sent = pyiceberg_commits.commit_several
    first = tf.open_table("n.b", catalog=server.properties()).snapshot().version
    tf.open_table("n.b", catalog=server.properties()).append(ids(3))
    back = [{"action": "set-snapshot-ref", "ref-name": "main", "type": "branch", "snapshot-id": first}]

    def late(catalog: Any, tables: Any) -> Any:
        if back:
            server.answer(
                "POST", "/v1/namespaces/n/tables/b", json.dumps({"requirements": [], "updates": back}).encode()
            )
            back.clear()
        return sent(catalog, tables)

    with mock.patch.object(pyiceberg_commits, "commit_several", late), tf.transaction(server.properties()) as txn:
        txn.append("n.a", ids(3))
        txn.append("n.b", ids(4))
    assert rows(server) == [[1, 2, 3], [1, 2, 4]] and {c.attempts for c in txn.commits.values()} == {2}


def test_a_commit_that_is_not_whole(server: RestCatalogStub) -> None:
    """Some catalogs commit to one table after the other."""

    def first_only(catalog: Any, tables: Any) -> PutOutcome:
        pyiceberg_commits.commit(catalog, *tables[0])
        return PutOutcome.UNKNOWN

    with (
        mock.patch("tableformats_iceberg.write.swap.LOOKS_S", (0.0,)),
        mock.patch.object(pyiceberg_commits, "commit_several", first_only),
        pytest.raises(tf.CommitUnknownError, match=r"shows the commit in 'n\.a', and not in all of") as caught,
        tf.transaction(server.properties()) as txn,
    ):
        txn.append("n.a", ids(3))
        txn.append("n.b", ids(3))
    assert caught.value.committed is None and rows(server) == [[1, 2, 3], [1, 2]]


def test_an_error_after_the_commit_says_so(server: RestCatalogStub) -> None:
    commit = pyiceberg_commits.commit

    def then_down(*arguments: Any) -> PutOutcome:
        outcome = commit(*arguments)
        server.status = 503
        return outcome

    with (
        mock.patch.object(pyiceberg_commits, "commit", then_down),
        pytest.raises(tf.TableFormatsError, match="The commit was made") as caught,
    ):
        tf.create_table("n.c", pa.schema({"id": pa.int64()}), catalog=server.properties())
    server.status = 200
    assert caught.value.committed is True and tf.open_table("n.c", catalog=server.properties()).scan().count() == 0


def test_an_application_commits_once(server: RestCatalogStub) -> None:
    for attempts in (1, 0):
        with tf.transaction(server.properties(), application=("job", 7)) as txn:
            txn.append("n.a", ids(3))
            txn.append("n.b", ids(3))
        assert {commit.attempts for commit in txn.commits.values()} == {attempts}
    assert rows(server) == [[1, 2, 3], [1, 2, 3]]


def test_nothing_to_commit(server: RestCatalogStub) -> None:
    posts = len(server.bodies)
    with tf.transaction(server.properties()) as txn:
        txn.delete("n.a", "id = 77")
    assert txn.commits["n.a"].attempts == 0 and len(server.bodies) == posts
    with tf.transaction(server.properties()):
        pass


def test_a_branch(server: RestCatalogStub) -> None:
    tf.open_table("n.a", catalog=server.properties()).create_branch("x")
    with tf.transaction(server.properties()) as txn:
        txn.table("n.a", branch="x").append(ids(3))
        txn.append("n.a", ids(4))
        with pytest.raises(ValueError, match="for the branch 'x'"):
            txn.table("n.a", branch="y")
        txn.append("n.b", ids(5))
    table = tf.open_table("n.a", catalog=server.properties())
    assert (rows(server), table.scan(branch="x").count()) == ([[1, 2], [1, 2, 5]], 4)


@pytest.mark.parametrize("says_so", [True, False])
def test_a_catalog_that_cannot_is_refused_by_name(server: RestCatalogStub, tmp_path: Path, says_so: bool) -> None:
    server.commits_several = False
    server.names_endpoints = says_so
    files = set(tmp_path.rglob("*.parquet"))
    with (
        pytest.raises(tf.UnsupportedFeatureError, match=r"one table at a time.*Nothing was committed") as caught,
        tf.transaction(server.properties()) as txn,
    ):
        txn.append("n.a", ids(3))
    assert caught.value.field == "transaction" and rows(server) == [[1, 2], [1, 2]]
    assert set(tmp_path.rglob("*.parquet")) == files


def test_sql_catalogs_are_refused_by_name(tmp_path: Path) -> None:
    catalog: Any = {"type": "sql", "uri": f"sqlite:///{tmp_path}/c.db", "warehouse": str(tmp_path)}
    with pytest.raises(tf.UnsupportedFeatureError, match="one table at a time"):
        tf.transaction(catalog)


def test_a_table_that_is_not_there(server: RestCatalogStub) -> None:
    with pytest.raises(tf.TableNotFoundError, match=r"n\.c"), tf.transaction(server.properties()) as txn:
        txn.append("n.a", ids(3))
        txn.append("n.c", ids(3))
    assert rows(server) == [[1, 2], [1, 2]]


# ---- faults ---------------------------------------------------------------------------------------------------------


def judged(catalog: FailingCatalog, step: int) -> None:
    """Let requests fail: of all cases each one that comes ``step`` after the last."""
    cases = [(name, n, fault) for name in OPERATIONS for n in range(catalog.requests_of(name)) for fault in FAULTS]
    for case in itertools.islice(cases, 0, None, step):
        catalog.judge(*case)


def test_each_request_through_a_catalog_fails(tmp_path: Path) -> None:
    with stub_catalog(tmp_path) as catalog:
        judged(catalog, 1 if EVERYTHING else 211)


@pytest.mark.skipif(not EVERYTHING, reason="TF_CATALOG_FAULTS=1 lets requests to Iceberg's own server fail, too")
def test_each_request_through_a_catalog_of_java_fails(tmp_path: Path) -> None:
    with java_catalog(tmp_path) as catalog:
        judged(catalog, 1)
