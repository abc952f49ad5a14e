"""Filters over texts that are codes of a dictionary: the same rows as without one, and each text is tested once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tableformats.engines.arrow import row_filter
from tableformats.engines.arrow.files import parquet
from tableformats.errors import CorruptMetadataError
from tableformats.schema import Field, StructType, primitive
from tableformats.table.table import Snapshot
from tests.support.arrow_fakes import FakeFile, snapshot_of, write

STRING = primitive("string")
ID, COUNTRY, CITY = Field(1, "id", primitive("long")), Field(2, "country", STRING), Field(3, "city", STRING)
PLACE = Field(4, "place", StructType((Field(5, "name", STRING),)))
RAW = Field(6, "raw", primitive("binary"))
ROWS = [
    {
        "id": i,
        "country": [None, "BR", "FR", "", "BRA"][i % 5],
        "city": [None, "Recife", "Nice"][i % 3],
        "place": {"name": "here" if i % 4 else None},
        "raw": b"\xff" if i % 7 else None,
    }
    for i in range(120)
]
Truth = Callable[[dict[str, Any]], bool]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "_FEWEST_CODED", 1)


@pytest.fixture
def tested(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """For how many rows or texts each evaluation was."""
    found: list[int] = []
    evaluate = row_filter.evaluate

    def noted(expression: Any, batch: pa.RecordBatch, *known: Any) -> pa.BooleanArray:
        found.append(batch.num_rows)
        return evaluate(expression, batch, *known)

    monkeypatch.setattr(row_filter, "evaluate", noted)
    return found


def snapshot(root: Path, positions: tuple[int, ...] = (), **options: Any) -> Snapshot:
    kinds = {"id": pa.int64(), "country": pa.string(), "city": pa.string(), "raw": pa.binary()}
    schema = pa.schema([*kinds.items(), ("place", pa.struct([("name", pa.string())]))])
    path = write(root, pa.Table.from_pylist(ROWS, schema), **options)
    file = FakeFile(path, len(ROWS), positions=positions, cardinality=len(positions) or None)
    return snapshot_of(root, [ID, COUNTRY, CITY, PLACE, RAW], [file])


FILTERS: dict[str, Truth] = {
    "country = 'BR'": lambda r: r["country"] == "BR",
    "country <=> NULL": lambda r: r["country"] is None,
    "country IS NULL": lambda r: r["country"] is None,
    "country IS NOT NULL AND id < 50": lambda r: r["country"] is not None and r["id"] < 50,
    "NOT country = 'BR'": lambda r: r["country"] not in (None, "BR"),
    "country != 'BR' OR id = 7": lambda r: r["country"] not in (None, "BR") or r["id"] == 7,
    "country IN ('BR', 'FR') AND city = 'Nice'": lambda r: r["country"] in ("BR", "FR") and r["city"] == "Nice",
    "country NOT IN ('BR', 'FR')": lambda r: r["country"] not in (None, "BR", "FR"),
    "country LIKE 'BR%'": lambda r: (r["country"] or "").startswith("BR"),
    "country LIKE '%R'": lambda r: (r["country"] or "").endswith("R"),
    "(country = 'BR') IS TRUE": lambda r: r["country"] == "BR",
    "(country = 'BR') IS NOT TRUE": lambda r: r["country"] != "BR",
    "country = 'BR' OR upper(city) = 'NICE'": lambda r: r["country"] == "BR" or r["city"] == "Nice",
    "IF(country = 'BR', city = 'Nice', id = 3)": lambda r: (
        r["city"] == "Nice" if r["country"] == "BR" else r["id"] == 3
    ),
    "country < city": lambda r: None not in (r["country"], r["city"]) and r["country"] < r["city"],
    "place.name = 'here' AND country = ''": lambda r: r["place"]["name"] == "here" and r["country"] == "",
    "raw IS NULL AND country = 'BR'": lambda r: r["raw"] is None and r["country"] == "BR",
    "country = 'nowhere'": lambda r: False,
}


@pytest.mark.parametrize("where", FILTERS)
@pytest.mark.parametrize("positions", [(), (0, 1, 6, 119)], ids=["all live", "deleted"])
@pytest.mark.parametrize("use_dictionary", [True, False])
def test_rows_that_match(tmp_path: Path, where: str, positions: tuple[int, ...], use_dictionary: bool) -> None:
    found = snapshot(tmp_path, positions, use_dictionary=use_dictionary, row_group_size=50).scan(where).to_arrow()
    assert found.to_pylist() == [
        {name: row[name] for name in ("id", "country", "city", "place", "raw")}
        for row in ROWS
        if row["id"] not in positions and FILTERS[where](row)
    ]


def test_each_text_is_tested_once(tmp_path: Path, tested: list[int]) -> None:
    table = snapshot(tmp_path)
    assert table.scan("country = 'BR'", columns=["id"]).to_arrow()["id"].to_pylist() == list(range(1, 120, 5))
    assert tested == [5, 120], "four texts and NULL; then the rows, for which no text is read"
    tested.clear()
    table.scan("country = 'BR' AND city = 'Nice' AND id > 3").to_arrow()
    assert tested == [5, 3, 120]


def test_columns_of_known_conditions_are_not_converted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = snapshot(tmp_path)
    batches: list[list[str]] = []
    evaluate = row_filter.evaluate

    def noted(expression: Any, batch: pa.RecordBatch, *known: Any) -> pa.BooleanArray:
        batches.append(batch.schema.names)
        return evaluate(expression, batch, *known)

    monkeypatch.setattr(row_filter, "evaluate", noted)
    table.scan("country = 'BR' AND id > 3").count()
    assert batches == [["country"], ["id"]]


def test_a_dictionary_of_almost_all_rows_is_not_tested(tmp_path: Path, tested: list[int]) -> None:
    texts = [f"text {i // 2}" for i in range(400)]
    for count, expected in ((401, [401]), (400, [200, 400])):
        path = write(
            tmp_path, pa.table({"id": range(count), "country": [*texts, "one more"][:count]}), compression="none"
        )
        table = snapshot_of(tmp_path, [ID, COUNTRY], [FakeFile(path, count)])
        tested.clear()
        assert table.scan("country = 'text 3'").to_arrow()["id"].to_pylist() == [6, 7]
        assert tested == expected


@pytest.mark.parametrize("filler", ["pads", None])
def test_padded_texts(tmp_path: Path, tested: list[int], filler: str | None) -> None:
    """A CHAR column is compared as its padded texts, which the dictionary does not hold."""
    char = Field(2, "country", STRING, char_length=4)
    path = write(tmp_path, pa.table({"id": range(300), "country": pa.array(["a", "b", filler] * 100)}))
    table = snapshot_of(tmp_path, [ID, char], [FakeFile(path, 300)])
    assert table.scan("country = 'a'").to_arrow()["country"].to_pylist() == ["a   "] * 100
    assert tested == [3, 300]


def test_a_required_column_without_a_value_is_told(tmp_path: Path) -> None:
    required = Field(2, "country", STRING, required=True)
    path = write(tmp_path, pa.table({"id": range(300), "country": pa.array(["a", "b", None] * 100)}))
    table = snapshot_of(tmp_path, [ID, required], [FakeFile(path, 300)])
    with pytest.raises(CorruptMetadataError, match="a required column holds NULL"):
        table.scan("country = 'a'", columns=["id"]).to_arrow()


def test_a_text_that_cannot_be_read_and_no_live_row_has(tmp_path: Path, tested: list[int]) -> None:
    """A file may store texts as bytes; what is no UTF-8 is an error for rows that are there alone."""
    stored = pa.array([b"\xff"] + [b"a", b"b"] * 100)
    path = write(tmp_path, pa.table({"id": range(201), "country": stored}))
    file = FakeFile(path, 201, positions=(0,), cardinality=1)
    table = snapshot_of(tmp_path, [ID, COUNTRY], [file])
    assert table.scan("country = 'b'").to_arrow()["id"].to_pylist() == list(range(2, 201, 2))
    assert tested == [200]
    with pytest.raises(CorruptMetadataError, match="a value stored as"):
        snapshot_of(tmp_path, [ID, COUNTRY], [FakeFile(path, 201)]).scan("country = 'b'").to_arrow()
