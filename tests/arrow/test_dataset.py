"""Scans as datasets of pyarrow: the rows are those of the same data in memory, and filters and columns prune."""

from __future__ import annotations

import pickle
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tableformats as tf
from tableformats.engines.arrow import dataset as datasets
from tableformats.engines.arrow.dataset import ScanDataset
from tableformats.errors import InvalidPredicateError, UnsupportedFeatureError
from tests.expressions.test_pyarrow_filters import ROWS, expressions
from tests.support.examples import examples

deltalake = pytest.importorskip("deltalake")
DATA = ROWS.drop_columns(["st"]).append_column("id", pa.array(range(len(ROWS))))


@pytest.fixture(scope="module")
def scan(tmp_path_factory: pytest.TempPathFactory) -> tf.Scan:
    """Six files in partitions of ``b``, the rows of each in their order."""
    root = str(tmp_path_factory.mktemp("dataset"))
    for i in range(0, len(DATA), 30):
        deltalake.write_deltalake(root, DATA.slice(i, 30), mode="append", partition_by=["b"])
    return tf.open_table(root).scan()


def in_order(rows: pa.Table) -> str:
    return repr(sorted(rows.to_pylist(), key=lambda row: row["id"]))


@settings(max_examples=examples(60), deadline=None)
@given(expressions(), st.lists(st.sampled_from(["n", "x", "s", "b"]), unique=True))
def test_rows_are_those_of_the_same_data_in_memory(scan: tf.Scan, filter: pc.Expression, columns: list[str]) -> None:
    names = ["id", *columns]
    expected = ds.dataset(DATA).to_table(columns=names, filter=filter)
    found = scan.to_arrow_dataset().to_table(columns=names, filter=filter)
    assert found.column_names == names
    assert in_order(found) == in_order(expected)
    assert scan.to_arrow_dataset().count_rows(filter) == len(expected)


def test_filters_that_cannot_be_translated_are_arrows_alone(scan: tf.Scan) -> None:
    dataset = scan.to_arrow_dataset()
    filter = pc.field("id") * 2 > 100
    assert in_order(dataset.to_table(filter=filter, columns=["id"])) == in_order(
        ds.dataset(DATA).to_table(filter=filter, columns=["id"])
    )
    assert dataset.count_rows(filter) == 9
    assert dataset.to_table({"twice": pc.field("id") * 2}, filter)["twice"].to_pylist() != []
    with pytest.raises(UnsupportedFeatureError, match="multiply"):
        dataset.filter(filter)


@pytest.mark.parametrize("zero", [pa.array([0]), pa.array([0.0])], ids=["integer", "float"])
def test_is_in_of_arrow_tells_zeros_apart(scan: tf.Scan, zero: pa.Array) -> None:
    filter = pc.is_in(pc.field("x"), zero)
    expected = ds.dataset(DATA).to_table(filter=filter, columns=["id"])
    assert in_order(scan.to_arrow_dataset().to_table(filter=filter, columns=["id"])) == in_order(expected)
    assert scan.to_arrow_dataset().count_rows(filter) == len(expected)


@pytest.mark.parametrize("filter", [pc.field("p") == 2.0**53, pc.field("p") <= 2.0**53], ids=str)
def test_decimals_are_compared_with_floats_as_arrow_does(tmp_path: Path, filter: pc.Expression) -> None:
    """Arrow rounds them to doubles before; Spark's numbers would tell this one apart."""
    rows = pa.table({"p": pa.array([2**53 + 1], pa.decimal128(20, 0)), "id": [0]})
    deltalake.write_deltalake(str(tmp_path), rows)
    dataset = tf.open_table(tmp_path).scan().to_arrow_dataset()
    assert dataset.to_table(filter=filter) == ds.dataset(rows).to_table(filter=filter).cast(dataset.schema)
    assert dataset.count_rows(filter) == ds.dataset(rows).count_rows(filter=filter) == 1


F = pc.field
EXACT = 2**24
"""Up to here each integer is a float."""


@pytest.fixture(scope="module")
def numbers(tmp_path_factory: pytest.TempPathFactory) -> tuple[pa.Table, ScanDataset]:
    rows = pa.table(
        {
            "i": [1, 2, 7],
            "m": pa.array([Decimal("1.50"), Decimal("2.50"), None], pa.decimal128(10, 2)),
            "s": ["a", "b", None],
            "b": [True, False, None],
            "x": [0.0, -0.0, 1.5],
            "st": [{"y": 1.0}, {"y": 2.0}, {"y": float(EXACT)}],
        }
    )
    root = str(tmp_path_factory.mktemp("numbers"))
    deltalake.write_deltalake(root, rows)
    return rows, tf.open_table(root).scan().to_arrow_dataset()


@pytest.mark.parametrize(
    ("filter", "is_exact"),
    [
        (F("i") > 1, True),
        (F("i") > 1.5, False),
        (F("i").isin([0, 1]), True),
        (F("i").isin([1.0, 2.0]), False),
        (F("m") > Decimal("1.50"), True),
        (F("m") > 1.5, False),
        (F("s") == "a", True),
        (F("s").isin(["a", "b"]), True),
        (F("b") == True, True),  # noqa: E712
        (F("x") > 1.5, True),
        (F("x") > Decimal("1.5"), False),
        (F("x") == EXACT, True),
        (F("x") == EXACT + 1, False),
        (F("x") >= -EXACT, True),
        (F("x") >= -EXACT - 1, False),
        (F("x").is_nan(), True),
        (F("x").isin([1.5, 2.5]), True),
        (F("x").isin([1.5, 0.0]), False),
        (F("x").isin([-0.0]), False),
        (F("st", "y") > EXACT + 1, False),
        (F("st", "y") > 1.5, True),
        ((F("i") > 1) & (F("x") > 1.5), True),
        ((F("i") > 1) | ~(F("m") > 1.5), False),
    ],
)
def test_conditions_that_arrow_may_answer_otherwise_are_not_translated(
    filter: pc.Expression, is_exact: bool, numbers: tuple[pa.Table, ScanDataset]
) -> None:
    """It rounds integers and decimals to floats, and tells the zeros in a list apart."""
    rows, dataset = numbers
    if is_exact:
        assert dataset.filter(filter).count_rows() == dataset.count_rows(filter)
    else:
        with pytest.raises(UnsupportedFeatureError, match="compares these types of numbers otherwise"):
            dataset.filter(filter)
    assert dataset.count_rows(filter) == ds.dataset(rows).count_rows(filter=filter)
    assert dataset.to_table(filter=filter).num_rows == ds.dataset(rows).count_rows(filter=filter)


def test_names_of_columns_are_case_sensitive(tmp_path: Path) -> None:
    rows = pa.table({"a": [1, 2], "A": [3, 4]})
    table = tf.create_table(tmp_path / "t", rows.schema, format="iceberg")
    dataset = table.scan().to_arrow_dataset()
    for names in (["a"], ["A"], ["A", "a"]):
        assert dataset.to_table(columns=names).schema == rows.select(names).schema
    assert dataset.count_rows(pc.field("A") > 3) == 0


def test_names_of_members_are_case_sensitive(tmp_path: Path) -> None:
    deltalake.write_deltalake(str(tmp_path), pa.table({"st": [{"a": 1}, {"a": 2}], "id": [0, 1]}))
    dataset = tf.open_table(tmp_path).scan().to_arrow_dataset()
    assert dataset.filter(pc.field("st", "a") > 1).to_table()["id"].to_pylist() == [1]
    with pytest.raises(InvalidPredicateError, match="A"):
        dataset.filter(pc.field("st", "A") > 1)


def test_a_filter_may_name_every_column(scan: tf.Scan) -> None:
    dataset = scan.select("id").to_arrow_dataset()
    assert dataset.filter(pc.field("id") > 7).count_rows() == dataset.count_rows(pc.field("id") > 7) == len(DATA) - 8


def test_the_filter_of_the_scan_stays(scan: tf.Scan) -> None:
    dataset = scan.where("id < 10").to_arrow_dataset()
    assert dataset.count_rows() == 10
    assert dataset.filter(pc.field("id") > 7).count_rows() == dataset.count_rows(pc.field("id") > 7) == 2
    assert sorted(dataset.head(100, columns=["id"])["id"].to_pylist()) == list(range(10))
    assert in_order(pickle.loads(pickle.dumps(dataset)).to_table()) == in_order(dataset.to_table())


def test_columns_that_are_not_there(scan: tf.Scan) -> None:
    dataset = scan.select("id").to_arrow_dataset()
    with pytest.raises(pa.ArrowInvalid, match="No match for FieldRef"):
        dataset.to_table(filter=pc.field("x") > 1)
    with pytest.raises(InvalidPredicateError, match="'x'"):
        dataset.filter(pc.field("x") > 1)


def test_what_goes_past_the_scanner_is_an_error_and_no_answer(scan: tf.Scan) -> None:
    dataset = scan.to_arrow_dataset()
    with pytest.raises(OSError, match="ask its scanner"):
        ds.Scanner.from_dataset(dataset).to_table()
    with pytest.raises(OSError, match="ask its scanner"):
        dataset.sort_by("id").to_table()
    with pytest.raises(UnsupportedFeatureError, match="fragments"):
        dataset.get_fragments()
    with pytest.raises(UnsupportedFeatureError, match="limit"):
        scan.snapshot.scan(limit=3).to_arrow_dataset()


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[str], int]]:
    """The columns and files of each read."""
    found: list[tuple[list[str], int]] = []
    read = datasets.read_batches

    def noted(plan: Any) -> Any:
        found.append((plan.schema.names, len(plan)))
        return read(plan)

    monkeypatch.setattr(datasets, "read_batches", noted)
    return found


def test_duckdb_prunes(scan: tf.Scan, planned: list[tuple[list[str], int]]) -> None:
    duckdb = pytest.importorskip("duckdb")
    connection = scan.to_duckdb("t", duckdb.connect())
    assert connection.sql("SELECT count(*), sum(id) FROM t WHERE id >= 58 AND b").fetchall() == [(1, 58)]
    names, files = planned.pop()
    assert files < 6 and set(names) == {"id", "b"}
    assert connection.sql("SELECT count(*) FROM t").fetchall() == [(60,)], "a second query reads anew"
    assert scan.snapshot.scan(limit=2).to_duckdb("u").sql("SELECT count(*) FROM u").fetchall() == [(2,)]


def test_polars_takes_datasets_and_streams(scan: tf.Scan, planned: list[tuple[list[str], int]]) -> None:
    pl = pytest.importorskip("polars")
    frame = pl.scan_pyarrow_dataset(scan.to_arrow_dataset())
    assert frame.filter(pl.col("id") >= 58).select("id").collect()["id"].sort().to_list() == [58, 59]
    names, files = planned.pop()
    assert names == ["id"] and files < 6
    assert pl.DataFrame(scan.where("id < 3")).height == 3, "a scan is an Arrow stream"


def test_a_dataset_reads_the_version_of_its_scan(tmp_path: Path) -> None:
    deltalake.write_deltalake(str(tmp_path), pa.table({"id": [1]}))
    dataset = tf.open_table(tmp_path).scan().to_arrow_dataset()
    deltalake.write_deltalake(str(tmp_path), pa.table({"id": [2]}), mode="append")
    assert isinstance(dataset, ScanDataset) and dataset.count_rows() == 1
    assert dataset.to_table()["id"].to_pylist() == [1]
