"""The tables of a catalog: all namespaces or one, as a table and at a terminal."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

import tableformats as tf
from tableformats.cli import main
from tests.support.rest_catalog import RestCatalogStub

pytest.importorskip("pyiceberg")


@pytest.fixture
def nested(tmp_path: Path) -> dict[str, str]:
    """A catalog with tables in ``a``, ``a.b`` and ``c``, and the empty ``d``."""
    pytest.importorskip("sqlalchemy")
    from pyiceberg.catalog.sql import SqlCatalog

    found = {"uri": f"sqlite:///{tmp_path / 'c.db'}", "warehouse": tmp_path.as_uri()}
    catalog = SqlCatalog("local", **found)
    for namespace in ("a", "a.b", "c", "d"):
        catalog.create_namespace(namespace)
    for name in ("a.one", "a.two", "a.b.three", "c.four"):
        catalog.create_table(name, pa.schema([("x", pa.int64())]))
    catalog.close()
    return {"name": "local", "type": "sql", **found}


def test_all_tables(nested: dict[str, str]) -> None:
    found = tf.list_tables(nested)
    assert found.schema.names == ["identifier", "namespace", "name", "format"]
    assert sorted(found["identifier"].to_pylist()) == ["a.b.three", "a.one", "a.two", "c.four"]
    row = next(r for r in found.to_pylist() if r["name"] == "three")
    assert row == {"identifier": "a.b.three", "namespace": ["a", "b"], "name": "three", "format": None}
    assert tf.open_table("a.b.three", catalog=nested).schema.names == ["x"]


@pytest.mark.parametrize("namespace", ["a.b", ("a", "b")])
def test_one_namespace(nested: dict[str, str], namespace: str | tuple[str, ...]) -> None:
    assert tf.list_tables(nested, namespace)["name"].to_pylist() == ["three"]
    assert tf.list_tables(nested, "d").num_rows == 0
    assert sorted(tf.list_tables(nested, "a")["name"].to_pylist()) == ["one", "two"]


def test_no_such_namespace() -> None:
    with RestCatalogStub() as stub:
        stub.tables["sales", "orders"] = {}
        assert tf.list_tables(stub.properties(), "sales")["name"].to_pylist() == ["orders"]
        with pytest.raises(tf.NamespaceNotFoundError, match=r"'stub' has no such namespace.*'sals'.*Near names: sales"):
            tf.list_tables(stub.properties(), "sals")


def test_a_limit_asks_no_further() -> None:
    with RestCatalogStub() as stub:
        for namespace in ("a", "b", "c"):
            stub.tables[namespace, "t"] = {}
        assert tf.list_tables(stub.properties(), limit=2)["identifier"].to_pylist() == ["a.t", "b.t"]
        assert not [request for request in stub.requests if "/c" in request and "config" not in request]
        assert tf.list_tables(stub.properties(), limit=0).num_rows == 0


def run(nested: dict[str, str], *arguments: str) -> list[str]:
    properties = [f"--property={name}={value}" for name, value in nested.items() if name != "name"]
    return ["ls", "local", *arguments, *properties]


def test_at_a_terminal(nested: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(run(nested, "a")) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["identifier", "format"] and sorted(lines[1:]) == ["a.one", "a.two"]
    assert main(run(nested, "d")) == 0
    assert capsys.readouterr().out == "No tables\n"


@pytest.mark.parametrize("form", ["tsv", "json", "jsonl"])
def test_for_programs(nested: dict[str, str], form: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(run(nested, "a.b", "--output", form)) == 0
    out = capsys.readouterr().out
    row = {"identifier": "a.b.three", "namespace": ["a", "b"], "name": "three", "format": None}
    if form == "json":
        assert json.loads(out) == {"output_schema": "ls/1", "catalog": "local", "tables": [row]}
    elif form == "jsonl":
        assert [json.loads(line) for line in out.splitlines()] == [row]
    else:
        assert out == 'identifier\tnamespace\tname\tformat\na.b.three\t["a", "b"]\tthree\t\n'


def test_a_catalog_that_nobody_configured(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ls", "no-such", "--json"]) == 1
    assert json.loads(capsys.readouterr().err)["error"]["type"] == "CatalogNotFoundError"


def test_a_catalog_in_memory() -> None:
    pytest.importorskip("sqlalchemy")
    assert tf.list_tables({"type": "in-memory", "warehouse": "memory://w"}).num_rows == 0
