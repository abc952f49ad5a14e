"""Tables of a Hive metastore, by PyIceberg's catalog over Thrift: loaded, listed, read and committed to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tableformats as tf
from tests.support.hive_metastore import running_hive_metastore

pytest.importorskip("pyiceberg.catalog.hive", reason="needs pyiceberg[hive]")
SCHEMA = pa.schema([("x", pa.int64())])


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    folder = tmp_path_factory.mktemp("hive")
    with running_hive_metastore(folder) as uri:
        yield uri, folder


@pytest.fixture(scope="module")
def properties(server: tuple[str, Path]) -> dict[str, str]:
    uri, folder = server
    found = {"name": "hive", "type": "hive", "uri": uri, "warehouse": str(folder / "warehouse")}
    pyiceberg_catalog(found).create_namespace("sales")
    return found


def pyiceberg_catalog(properties: dict[str, str]) -> Any:
    from pyiceberg.catalog import load_catalog

    return load_catalog(**properties)


def values(table: Any) -> list[int]:
    return sorted(table.scan().to_arrow()["x"].to_pylist())


def test_tables_are_created_written_and_read_by_both(properties: dict[str, str]) -> None:
    table = tf.create_table("sales.t", SCHEMA, format="iceberg", catalog=properties)
    table.append(pa.table({"x": [1, 2]}))
    table.delete("x = 1")
    other = pyiceberg_catalog(properties)
    assert values(other.load_table("sales.t")) == [2]
    other.load_table("sales.t").append(pa.table({"x": pa.array([9], pa.int64())}))
    assert values(table.refresh()) == [2, 9]
    table.alter.add_columns({"y": "string"})
    assert other.load_table("sales.t").schema().column_names == ["x", "y"]
    with other._client as client:
        assert [column.name for column in client.get_table("sales", "t").sd.cols] == ["x", "y"]
    assert values(tf.open_table("sales.t", catalog=other)) == [2, 9]


def test_a_writer_that_lost_the_race_commits_upon_the_winner(properties: dict[str, str]) -> None:
    table = tf.create_table("sales.race", SCHEMA, format="iceberg", catalog=properties)
    with table.transaction() as transaction:
        transaction.append(pa.table({"x": [1]}))
        tf.open_table("sales.race", catalog=properties).append(pa.table({"x": [2]}))
    assert transaction.commit.attempts == 2
    assert values(pyiceberg_catalog(properties).load_table("sales.race")) == [1, 2]


def test_list(properties: dict[str, str]) -> None:
    tf.create_table("sales.listed", SCHEMA, format="iceberg", catalog=properties)
    assert "sales.listed" in tf.list_tables(properties)["identifier"].to_pylist()
    assert "sales.listed" in tf.list_tables(properties, "sales")["identifier"].to_pylist()


def test_what_is_wrong(properties: dict[str, str]) -> None:
    with pytest.raises(tf.UnsupportedFeatureError, match="format version 3 cannot be committed to catalog 'hive'"):
        tf.create_table("sales.v3", SCHEMA, format="iceberg", catalog=properties, properties={"format-version": "3"})
    with pytest.raises(tf.TableNotFoundError, match=r"catalog 'hive' has no such table.*'sales\.tt'"):
        tf.open_table("sales.tt", catalog=properties)
    with pytest.raises(tf.NamespaceNotFoundError, match="'absent'"):
        tf.open_table("absent.t", catalog=properties)
    with pytest.raises(tf.CatalogConnectionError, match="catalog 'hive' does not answer"):
        tf.open_table("sales.t", catalog={**properties, "uri": "thrift://127.0.0.1:1"})
