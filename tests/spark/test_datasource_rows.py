"""The data source without a JVM: what Spark's Python processes would do, over every table that is there.

Each object goes through pickle where Spark sends it to another process. Types are held against those of PySpark.
"""

from __future__ import annotations

import inspect
import pickle
import uuid
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tableformats as tf
from tableformats.errors import CorruptMetadataError, InvalidPredicateError, UnsupportedFeatureError
from tableformats.schema import Field, ListType, MapType, Schema, StructType, primitive
from tests.support.conformance import (
    OUTCOMES,
    DeltaCase,
    IcebergCase,
    delta_cases,
    has_data,
    iceberg_cases,
    needs_tables,
)
from tests.support.delta_changes import id_file
from tests.support.delta_log import DeltaLog, field
from tests.support.rows import rows

pytest.importorskip("pyspark.sql.datasource", reason="needs PySpark 4.0")

from tableformats.engines.spark.portable.worker_batches import SparkBatches, spark_schema_json
from tableformats.spark.datasource import TableFormatsDataSource
from tableformats.spark.options import ReadOptions
from tests.spark.support.rows import as_spark


def sent(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


def read(**options: Any) -> pa.Table:
    """The rows that executors would give, in Spark's types."""
    from pyspark.sql.types import _parse_datatype_json_string

    source = TableFormatsDataSource({name.lower(): str(value) for name, value in options.items()})
    schema = source.schema()
    source = sent(source)
    reader = source.reader(_parse_datatype_json_string(schema.json()))
    on_executors = sent(reader)
    batches = [batch for group in sent(reader.partitions()) for batch in on_executors.read(group)]
    assert list(on_executors.read(None)) == []
    expected = pyspark_arrow(schema)
    for batch in batches:
        assert batch.schema.equals(expected)
    return pa.Table.from_batches(batches, expected)


def pyspark_arrow(schema: Any) -> pa.Schema:
    """The Arrow types that PySpark itself gives to a struct of its own."""
    from pyspark.sql.pandas.types import to_arrow_schema

    # Spark 4.3 asks for the zone, which was UTC before.
    zone = {"timezone": "UTC"} if "timezone" in inspect.signature(to_arrow_schema).parameters else {}
    found: pa.Schema = to_arrow_schema(schema, **zone)
    return found


@needs_tables
@pytest.mark.conformance
@pytest.mark.parametrize("case", [c for c in delta_cases() if c.must_fail is None], ids=str)
def test_delta(case: DeltaCase) -> None:
    _compare(f"data source {case}", tf.open_table(case.path, format="delta"), {}, path=case.path, format="delta")


@needs_tables
@pytest.mark.conformance
@pytest.mark.parametrize("case", iceberg_cases(), ids=str)
def test_iceberg(case: IcebergCase) -> None:
    """The newest snapshot; that Arrow gives the others is held elsewhere."""
    table = tf.open_table(case.metadata, format="iceberg", relocate=True)
    version = case.snapshots[-1]["snapshot_id"]
    options = {"path": case.metadata, "format": "iceberg", "relocate": "true", "versionAsOf": version}
    _compare(f"data source {case} at {version}", table, {"version": version}, **options)


def _compare(name: str, table: tf.Table, at: dict[str, int], **options: Any) -> None:
    try:
        scan = table.scan(**at)  # type: ignore[arg-type]
        if not has_data(scan.plan()):
            pytest.skip("the table's data files are not kept")
        expected = scan.to_arrow()
    except (UnsupportedFeatureError, CorruptMetadataError) as error:
        pytest.skip(f"to_arrow refuses it: {error}")
    try:
        found = read(**options)
    except UnsupportedFeatureError as error:
        OUTCOMES[name] = f"data source: {error.field}"
        assert "Spark's Python data sources" in str(error)
        return
    wanted = as_spark(expected, scan.schema)
    # Rows as text are slow; they are needed where order differs, and for NaN.
    assert found.equals(wanted) or rows(found) == rows(wanted)
    OUTCOMES[name] = "read"


ID = uuid.UUID("01234567-89ab-cdef-0123-456789abcdef")
OTHER = uuid.UUID(int=(1 << 128) - 1)


def nested() -> tuple[Schema, pa.RecordBatch]:
    """A uuid alone, in a struct, in a list and in a map, variants in a list, with NULL at every depth."""

    def column(id: int, name: str, kind: Any) -> Field:
        return Field(id, name, primitive(kind) if isinstance(kind, str) else kind)

    schema = Schema(
        (
            column(1, "u", "uuid"),
            column(2, "s", StructType((column(3, "u", "uuid"), column(4, "n", "int")))),
            column(5, "l", ListType(column(6, "element", "uuid"))),
            column(
                7, "m", MapType(column(8, "key", "uuid"), column(9, "value", ListType(column(10, "element", "uuid"))))
            ),
            column(11, "v", ListType(column(12, "element", "variant"))),
            column(13, "void", "unknown"),
        )
    )
    variant = {"metadata": b"\1\0\0", "value": b"\x0c\1"}
    values: list[dict[str, Any]] = [
        {
            "u": ID.bytes,
            "s": {"u": OTHER.bytes, "n": 1},
            "l": [ID.bytes, None],
            "m": {ID.bytes: [OTHER.bytes]},
            "v": [variant, None],
        },
        {"u": None, "s": None, "l": None, "m": None, "v": None},
        {"u": OTHER.bytes, "s": {"u": None, "n": None}, "l": [], "m": {OTHER.bytes: None, ID.bytes: []}, "v": []},
    ]
    return schema, pa.RecordBatch.from_pylist(values, schema.to_arrow())


@pytest.mark.parametrize(("start", "length"), [(0, 3), (1, 2), (2, 1), (1, 1), (0, 0)])
def test_nested_values_in_slices(start: int, length: int) -> None:
    schema, batch = nested()
    variant = {"value": b"\x0c\1", "metadata": b"\1\0\0"}
    expected: list[dict[str, Any]] = [
        {
            "u": str(ID),
            "s": {"u": str(OTHER), "n": 1},
            "l": [str(ID), None],
            "m": [(str(ID), [str(OTHER)])],
            "v": [variant, None],
            "void": None,
        },
        {"u": None, "s": None, "l": None, "m": None, "v": None, "void": None},
        {
            "u": str(OTHER),
            "s": {"u": None, "n": None},
            "l": [],
            "m": [(str(OTHER), None), (str(ID), [])],
            "v": [],
            "void": None,
        },
    ]
    found = SparkBatches(schema).convert(batch.slice(start, length))
    found.validate(full=True)
    assert found.to_pylist() == expected[start : start + length]


def test_types_are_those_of_pyspark() -> None:
    from pyspark.sql.types import StructType as SparkStruct

    schema, batch = nested()
    expected = pyspark_arrow(SparkStruct.fromJson(spark_schema_json(schema)))
    assert SparkBatches(schema).convert(batch).schema.equals(expected)


@pytest.mark.parametrize("kind", ["time", "timestamp_ns", "timestamp_ntz_ns"])
def test_types_that_spark_lacks_are_refused_by_name(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("pyspark.sql.types.TimeType", raising=False)  # as before 4.1
    inner = Field(3, "element", primitive(kind))
    schema = Schema((Field(1, "a", primitive("int")), Field(2, "b", ListType(inner))))
    with pytest.raises(UnsupportedFeatureError) as caught:
        spark_schema_json(schema)
    assert caught.value.field == "b.element"
    assert "columns" in str(caught.value)


class TestSecrets:
    SECRET = "hunter2"

    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        log = DeltaLog(tmp_path / "t").start(field("id", "long"))
        log.commit(1, id_file(log, "a", [1, 2]))
        return log.root

    def test_no_repr_shows_storage_options(self, path: Path) -> None:
        source = TableFormatsDataSource({"path": str(path), "storageOptions": f'{{"secret": "{self.SECRET}"}}'})
        reader = source.reader(source.schema())
        groups = reader.partitions()
        for shown in (source, reader, sent(reader), groups, groups[0], groups[0].scan, source._read.access):
            assert self.SECRET not in repr(shown)
        assert self.SECRET.encode() not in pickle.dumps(groups)
        assert sent(reader)._access.storage_options == {"secret": self.SECRET}

    def test_no_error_shows_them(self, path: Path) -> None:
        source = TableFormatsDataSource({"path": str(path), "storageOptions": f'{{"secret": "{self.SECRET}"'})
        with pytest.raises(tf.TableFormatsError) as caught:
            source.schema()
        assert caught.value.field == "storageOptions"
        assert self.SECRET not in str(caught.value)


class TestOptions:
    def test_names_of_columns(self) -> None:
        def columns(text: str) -> list[str] | None:
            return ReadOptions({"columns": text}).columns()

        assert columns(" id, day ") == ["id", "day"]
        assert columns("`a,b`,c") == ["a,b", "c"]
        assert columns("`a``b`, `c`") == ["a`b", "c"]
        for text in ("", "a,", ",a"):
            with pytest.raises(tf.TableFormatsError):
                columns(text)

    @pytest.mark.parametrize(
        ("options", "field"),
        [
            ({"versionsAsOf": "1"}, "versionsAsOf"),
            ({"versionAsOf": "1", "tag": "t"}, "tag"),
            ({"readChangeFeed": "true"}, "startingVersion"),
            ({"startingVersion": "1"}, "startingVersion"),
            ({"readChangeFeed": "true", "startingVersion": "1", "branch": "b"}, "branch"),
            ({"start-snapshot-id": "x"}, "start-snapshot-id"),
            ({"caseSensitive": "yes"}, "caseSensitive"),
            ({"ansi": "legacy"}, "ansi"),
            ({"maxFilesPerTrigger": "3"}, "maxFilesPerTrigger"),
            ({"relocate": "[]"}, "relocate"),
        ],
    )
    def test_wrong_ones_are_named(self, tmp_path: Path, options: dict[str, str], field: str) -> None:
        log = DeltaLog(tmp_path / "t").start()
        with pytest.raises(tf.TableFormatsError) as caught:
            read = ReadOptions({"path": str(log.root), **options})
            read.scan(read.open_table())
        assert caught.value.field == field
        assert caught.value.hint

    def test_ansi_says_what_the_filter_means(self, tmp_path: Path) -> None:
        log = DeltaLog(tmp_path / "t").start(field("id", "integer"))
        log.commit(1, id_file(log, "a", [1, 2]))
        where = {"path": log.root, "filter": "CAST(concat(id, '.5') AS INT) = 2"}
        with pytest.raises(InvalidPredicateError, match="cannot be cast"):
            read(**where)
        assert read(**where, ansi="false")["id"].to_pylist() == [2]
        with pytest.raises(InvalidPredicateError, match="cannot be cast"):
            read(**where, ansi="True")
        changes = {"readChangeFeed": "true", "startingVersion": 1, "ansi": "false"}
        assert read(**where, **changes)["id"].to_pylist() == [2]

    def test_near_names_are_offered(self) -> None:
        with pytest.raises(UnsupportedFeatureError, match="Did you mean timestampAsOf"):
            ReadOptions({"timestampasoff": "2024-01-01"})
