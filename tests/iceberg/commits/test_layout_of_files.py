"""Where data files go, and in which order their rows are: what the table's properties and its sort order say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tableformats_iceberg.write.commit.target import hashed_path

import tableformats as tf

ENABLED = {"write.object-storage.enabled": "true"}
NAN = float("nan")
ROWS = pa.table(
    {
        "id": [5, 1, None, 3, 2, 4],
        "x": [NAN, 0.0, -0.0, None, -1.0, float("inf")],
        "s": pa.array([{"m": 3}, {"m": 1}, None, {"m": None}, {"m": 2}, {"m": 9}]),
    }
)


@pytest.mark.parametrize(
    ("path", "hashed"),
    [
        # of LocationProviders of Iceberg 1.12
        ("part-1.parquet", "1010/1001/0001/01001100"),
        ("a", "0101/0110/1001/10110010"),
        ("day=2020-01-01/part-\u00e9.parquet", "0110/1000/1100/00100110"),
        ("x" * 40 + ".parquet", "0011/0010/1001/10001110"),
    ],
)
def test_hashes_are_those_of_the_reference(path: str, hashed: str) -> None:
    assert hashed_path(path, "", True) == f"{hashed}/{path}"
    assert hashed_path(path, "", False) == f"{hashed}-{path}"
    assert hashed_path(path, "db/t", True) == hashed_path(path, "db/t", False) == f"{hashed}/db/t/{path}"


def made(folder: Path, **arguments: Any) -> tf.Table:
    return tf.create_table(folder / "db" / "t", ROWS.schema, format="iceberg", **arguments)


def files(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.parquet"))


def test_object_storage(tmp_path: Path) -> None:
    table = made(tmp_path, properties=ENABLED)
    table.append(ROWS)
    (path,) = files(tmp_path)
    name = path.rpartition("/")[2]
    assert path == f"db/t/data/{hashed_path(name, '', True)}"
    assert table.count() == 6 and not table.verify(deep=True)
    table.alter.set_properties(
        {"write.object-storage.partitioned-paths": "false", "write.data.path": f"{table.location}/e"}
    )
    table.append(ROWS)
    table.delete("id = 1")
    assert table.count() == 10 and not table.verify(deep=True)
    found = files(tmp_path / "db/t/e")
    assert found and all(path.count("/") == 3 and path.split("/")[3][8] == "-" for path in found)


def test_a_directory_elsewhere(tmp_path: Path) -> None:
    elsewhere = tmp_path / "files"
    made(tmp_path, properties={**ENABLED, "write.data.path": str(elsewhere)})
    table = tf.open_table(tmp_path / "db" / "t", allow_paths=[str(elsewhere)])
    table.append(ROWS)
    (path,) = files(elsewhere)
    assert path == hashed_path(path.rpartition("/")[2], "db/t", True)
    table.delete("id = 1")
    assert table.count() == 5 and not tf.open_table(tmp_path / "db" / "t").verify(deep=True)
    table.alter.unset_properties("write.data.path")
    table.append(ROWS)
    assert len(files(elsewhere)) == 2 and len(files(tmp_path / "db")) == 1
    assert table.count() == 11 and not table.verify(deep=True)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("write.object-storage.enabled", "yes"),
        ("write.object-storage.partitioned-paths", ""),
        ("write.object-storage.path", "/x"),
        ("write.folder-storage.path", "/x"),
        ("write.location-provider.impl", "a.B"),
    ],
)
def test_values_that_are_not_honoured(name: str, value: str, tmp_path: Path) -> None:
    if name.startswith("write.object-storage.") and not value.startswith("/"):  # values that are none
        with pytest.raises(tf.UnsupportedFeatureError, match="true or false"):
            made(tmp_path / "other", properties={**ENABLED, name: value})
        with pytest.raises(tf.UnsupportedFeatureError, match="true or false"):
            made(tmp_path / "altered").alter.set_properties({**ENABLED, name: value})
    with pytest.raises(tf.UnsupportedFeatureError) as error:
        made(tmp_path).alter.set_properties({**ENABLED, name: value})
        tf.open_table(tmp_path / "db" / "t").append(ROWS)
    assert error.value.field == name and files(tmp_path) == []


@pytest.mark.parametrize(
    ("order", "ids"),
    [
        ("id", [None, 1, 2, 3, 4, 5]),
        ("id desc", [5, 4, 3, 2, 1, None]),
        ("id desc nulls first", [None, 5, 4, 3, 2, 1]),
        ("x", [3, 2, None, 1, 4, 5]),
        ("x desc nulls last", [5, 4, 1, None, 2, 3]),
        (["bucket(2, id)", "id desc"], [None, 4, 2, 1, 5, 3]),
        ("s.m desc", [4, 5, 2, 1, None, 3]),
    ],
)
def test_rows_are_in_the_order_of_the_table(order: Any, ids: list[int | None], tmp_path: Path) -> None:
    table = made(tmp_path, sort_by=order)
    table.append(ROWS)
    (path,) = tmp_path.rglob("*.parquet")
    assert pq.read_table(path)["id"].to_pylist() == ids
    assert table.inspect.files()["sort_order_id"].to_pylist() == [1]
    assert not table.verify(deep=True)
