"""Pieces of ``create_table``: the format of a new table, its columns, and names that are given one or several."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from tableformats.errors import CorruptMetadataError, TableExistsError
from tableformats.io.catalog_commits import StagedTable
from tableformats.schema import Schema
from tableformats.table.create import _names, _Place, _schema_of
from tableformats.table.new_files import _is_spark_frame

ARROW = pa.schema([pa.field("a", pa.int64(), nullable=False), pa.field("b", pa.string(), metadata={"k": "v"})])


@pytest.mark.parametrize(
    ("format", "found", "expected"),
    [
        ("delta", None, "delta"),
        (None, "iceberg", "iceberg"),
        ("iceberg", "iceberg", "iceberg"),
        ("delta", "iceberg", TableExistsError),
        (None, None, TypeError),
    ],
)
def test_the_format_of_a_new_definition(format: str | None, found: str | None, expected: Any) -> None:
    place = _Place("x", format, None, None)
    table: Any = None if found is None else SimpleNamespace(format=found, location="/x")
    if isinstance(expected, str):
        assert place.format_of_new(table) == expected
        return
    with pytest.raises(expected):
        place.format_of_new(table)


@pytest.mark.parametrize("given", [None, {"region": "us-2"}])
def test_the_options_of_a_store_are_given_or_those_of_the_catalog(given: dict[str, str] | None) -> None:
    staged = StagedTable("s3://b/t", "id", {"region": "eu-1"})
    catalog: Any = SimpleNamespace(name="c", stage=lambda identifier, definition: staged)
    kind: Any = SimpleNamespace(definition=lambda request: {})
    storage, options = _Place("n.t", "iceberg", catalog, given).storage(kind, None, None)  # type: ignore[arg-type]
    assert (storage.root, storage._options) == ("s3://b/t", given or {"region": "eu-1"})
    assert options.staged is staged and options.catalog_writer is not None
    assert options.catalog_writer.table_name == "n.t"


def test_a_new_table_that_does_not_open_was_created(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(place: _Place) -> None:
        raise CorruptMetadataError("odd")

    monkeypatch.setattr(_Place, "open", fail)
    with pytest.raises(CorruptMetadataError, match="The commit was made") as caught:
        _Place("x", "delta", None, None).opened_after_commit()
    assert caught.value.committed is True


@pytest.mark.parametrize(
    ("given", "names"), [(None, ()), ((), ()), ("a", ("a",)), (["a", "b"], ("a", "b")), (("a",), ("a",)), ("", ("",))]
)
def test_one_name_or_several(given: Any, names: tuple[str, ...]) -> None:
    assert _names(given) == names


class WithSchema:
    """Rows of a library that says their columns."""

    schema = ARROW


class AsArrow:
    """A schema of a library that gives it to Arrow."""

    schema = None

    def __arrow_c_schema__(self) -> Any:
        return ARROW.__arrow_c_schema__()


@pytest.mark.parametrize("given", [ARROW, pa.table({"a": [1], "b": ["x"]}).cast(ARROW), WithSchema(), AsArrow()])
def test_columns_of_whatever_has_them(given: Any) -> None:
    found = _schema_of(given)
    assert found.names == ["a", "b"] and [f.required for f in found] == [True, False]
    assert [dict(f.metadata or {}) for f in found] == [{}, {"k": "v"}]


def test_columns_of_ours_and_of_pandas() -> None:
    ours = Schema.from_arrow(ARROW)
    assert _schema_of(ours) is ours
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"x": [1, 2]}, index=[5, 6])
    assert _schema_of(frame).names == ["x"]
    with pytest.raises(TypeError, match="a schema is one of tableformats, Arrow, Spark or pandas, not int"):
        _schema_of(5)


def test_what_is_no_frame_of_spark() -> None:
    frame = type("DataFrame", (), {"__module__": "pyspark.sql.dataframe", "mapInArrow": None})
    row = type("Row", (), {"__module__": "pyspark.sql.types"})
    other = type("Mine", (), {"__module__": "mine", "mapInArrow": None})
    assert [_is_spark_frame(kind()) for kind in (frame, row, other)] == [True, False, False]
