"""Tables of Iceberg's own REST catalog server, written by PyIceberg in another process."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tableformats as tf
from tests.support.iceberg_rest import running_rest_catalog

catalogs = pytest.importorskip("pyiceberg.catalog")


@pytest.fixture(scope="module")
def uri(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_rest_catalog(tmp_path_factory.mktemp("warehouse")) as found:
        yield found


def ids(*values: int) -> pa.Table:
    return pa.table({"id": list(values)})


@pytest.fixture
def properties(uri: str) -> dict[str, str]:
    return {"name": "java", "type": "rest", "uri": uri}


@pytest.fixture
def table(properties: dict[str, str], request: pytest.FixtureRequest) -> str:
    """The identifier of a new table with the rows 1 and 2."""
    name = request.node.name.split("[")[0]
    catalog = catalogs.load_catalog(**properties)
    catalog.create_namespace_if_not_exists("sales")
    catalog.create_table(f"sales.{name}", pa.schema([("x", pa.int64())])).append(pa.table({"x": [1, 2]}))
    return f"sales.{name}"


def append(properties: dict[str, str], table: str, value: int) -> None:
    program = """
        import json, sys, pyarrow as pa
        from pyiceberg.catalog import load_catalog
        properties, table, value = json.loads(sys.argv[1])
        load_catalog(**properties).load_table(table).append(pa.table({"x": [value]}))
    """
    argument = json.dumps([properties, table, value])
    subprocess.run([sys.executable, "-c", textwrap.dedent(program), argument], check=True, timeout=120)


def test_open(properties: dict[str, str], table: str) -> None:
    opened = tf.open_table(table, catalog=properties)
    assert opened.format == "iceberg" and sorted(opened.scan("x > 1").to_arrow()["x"].to_pylist()) == [2]
    plan = catalogs.load_catalog(**properties).load_table(table).scan().plan_files()
    assert opened.scan().plan().file_uris() == [
        Path(task.file.file_path.removeprefix("file:")).as_posix() for task in plan
    ]


def test_the_chain(properties: dict[str, str], table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The configuration, the table, the manifest list, the manifest: each waits for the one before."""
    import requests

    from tableformats.io.storage import Storage

    asked: list[str] = []
    send, read = requests.Session.send, Storage.open_file

    def counted_send(self: Any, request: Any, **options: Any) -> Any:
        asked.append(request.path_url)
        return send(self, request, **options)

    def counted_read(self: Any, path: str, size: int = 0) -> Any:
        asked.append(path)
        return read(self, path, size)

    monkeypatch.setattr(requests.Session, "send", counted_send)
    monkeypatch.setattr(Storage, "open_file", counted_read)
    assert len(tf.open_table(table, catalog=properties).scan("x = 1").plan()) == 1
    assert [path.rpartition("/")[2].rpartition(".")[2] for path in asked] == [
        "config",
        table.partition(".")[2],
        "avro",
        "avro",
    ]


def test_another_process_commits(properties: dict[str, str], table: str) -> None:
    opened = tf.open_table(table, catalog=properties)
    snapshot = opened.snapshot()
    append(properties, table, 3)
    assert snapshot.update().scan().count() == 3 and snapshot.scan().count() == 2
    append(properties, table, 4)
    assert opened.refresh().scan().count() == 4
    assert opened.snapshot().update().version == opened.snapshot().version


def test_list(properties: dict[str, str], table: str) -> None:
    assert table in tf.list_tables(properties)["identifier"].to_pylist()
    assert table.partition(".")[2] in tf.list_tables(properties, "sales")["name"].to_pylist()


def test_nested_namespaces(properties: dict[str, str]) -> None:
    catalog = catalogs.load_catalog(**properties)
    for namespace in (("deep",), ("deep", "er")):
        catalog.create_namespace_if_not_exists(namespace)
    catalog.create_table(("deep", "er", "t"), pa.schema([("x", pa.int64())]))
    assert tf.list_tables(properties, "deep").num_rows == 0
    assert "deep.er.t" in tf.list_tables(properties)["identifier"].to_pylist()
    assert tf.open_table("deep.er.t", catalog=properties).scan().count() == 0


def test_write(properties: dict[str, str], table: str) -> None:
    """Java applies each of our updates, and PyIceberg reads the rows."""
    for version in (1, 2, 3):
        check_writes(properties, f"{table}_{version}", version)


def check_writes(properties: dict[str, str], name: str, version: int) -> None:
    rows = pa.table({"id": [1, 2], "ts": pa.array([0, None], pa.timestamp("us"))})
    given = {"format-version": str(version), "write.wap.enabled": "true"}
    tf.write_table(rows, name, catalog=properties, partition_by=["days(ts)", "bucket(2, id)"], properties=given)
    opened = tf.open_table(name, catalog=properties)
    opened.alter.add_columns({"n": "int", "s": "struct<a:int>"})
    opened.alter.change_type("n", "bigint")
    opened.alter.set_partitioning("bucket(2, id)")
    opened.alter.set_sort_order("id desc")
    opened.create_branch("b", min_versions=2)
    with opened.transaction(branch="b") as transaction:
        transaction.append(pa.table({"id": [3]}))
    opened.fast_forward("main", "b")
    opened.append(pa.table({"id": [4]}), properties={"wap.id": "w"})
    opened.delete("id = 1")
    opened.publish("w")
    opened.remove_branch("b")
    found = catalogs.load_catalog(**properties).load_table(name)
    assert sorted(found.scan().to_arrow()["id"].to_pylist()) == [2, 3, 4]
    assert opened.scan().count() == 3


def test_what_is_wrong(properties: dict[str, str], table: str) -> None:
    with pytest.raises(tf.TableNotFoundError, match=r"'java' has no such table.*Near names: sales\.test_what_is_wrong"):
        tf.open_table(table[:-1], catalog=properties)
    with pytest.raises(tf.NamespaceNotFoundError, match=r"'java' has no such namespace.*'sals'.*Near names: sales"):
        tf.open_table("sals.t", catalog=properties)
    with pytest.raises(tf.NamespaceNotFoundError, match="'sals'"):
        tf.list_tables(properties, "sals")


def test_a_table_that_is_dropped(properties: dict[str, str], table: str) -> None:
    opened = tf.open_table(table, catalog=properties)
    catalogs.load_catalog(**properties).drop_table(table)
    with pytest.raises(tf.TableNotFoundError, match="has no such table"):
        opened.refresh()
    assert opened.scan().count() == 2, "its files are still there"


def test_tables_change_together(properties: dict[str, str]) -> None:
    peer = catalogs.load_catalog(**properties)
    peer.create_namespace("n")
    for name in "ab":
        tf.write_table(ids(1, 2), f"n.{name}", catalog=properties)
    with tf.transaction(properties, properties={"why": "x"}) as txn:
        txn.append("n.a", ids(3))
        txn.delete("n.b", "id = 1")
    for name, wanted in (("n.a", [1, 2, 3]), ("n.b", [2])):
        table, theirs = tf.open_table(name, catalog=properties), peer.load_table(name)
        assert sorted(theirs.scan().to_arrow()["id"].to_pylist()) == wanted and not list(table.verify())
        assert theirs.current_snapshot().snapshot_id == txn.commits[name].version
        assert theirs.current_snapshot().summary["why"] == "x"
    with pytest.raises(tf.CommitConflictError) as caught, tf.transaction(properties) as txn:
        txn.append("n.a", ids(4))
        txn.delete("n.b", "id = 2")
        peer.load_table("n.b").delete("id = 2")
    assert caught.value.committed is False and tf.open_table("n.a", catalog=properties).scan().count() == 3
    with tf.transaction(properties) as txn:
        txn.append("n.a", ids(4))
        txn.append("n.b", ids(4))
        peer.load_table("n.b").append(ids(5))
    assert {commit.attempts for commit in txn.commits.values()} == {2}
    assert [tf.open_table(f"n.{name}", catalog=properties).scan().count() for name in "ab"] == [4, 2]


def test_a_partitioned_table_is_replaced(properties: dict[str, str]) -> None:
    catalogs.load_catalog(**properties).create_namespace_if_not_exists("n")
    rows = pa.table({"id": [1, 2], "p": [0, 1]})
    table = tf.write_table(rows, "n.replaced", catalog=properties, partition_by="p")
    old = tf.open_table("n.replaced", catalog=properties).snapshot().version
    more = rows.append_column("x", pa.array(["a", "b"]))
    tf.write_table(more, "n.replaced", catalog=properties, mode="replace")
    table = tf.open_table("n.replaced", catalog=properties)
    assert table.scan().to_arrow().sort_by("id").equals(more) and [f.id for f in table.schema.fields] == [1, 2, 5]
    assert table.scan(version=old).count() == 2 and not list(table.verify())
    for number in range(2):  # by one with the same columns: no schema is added
        tf.write_table(more.slice(number), "n.replaced", catalog=properties, mode="replace")
        assert tf.open_table("n.replaced", catalog=properties).to_arrow().equals(more.slice(number))
    tf.write_table(rows, "n.replaced", catalog=properties, mode="replace")  # by one with columns of an older schema
    assert tf.open_table("n.replaced", catalog=properties).to_arrow().equals(rows)
