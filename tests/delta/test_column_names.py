"""Which column of a data file is a table's: by name or by physical name, in whatever case it was written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tableformats as tf
from tests.support.delta_changes import data_file, mapped, mapping
from tests.support.delta_log import PROTOCOL, WITH_VECTORS, DeltaLog, field, metadata, remove

MAPPED = {"minReaderVersion": 2, "minWriterVersion": 5}
NESTED = {"type": "struct", "fields": [field("Inner", "long")]}


def rows(log: DeltaLog, where: str | None = None) -> list[dict[str, Any]]:
    return tf.open_table(log.root).scan(where).to_arrow().to_pylist()


@pytest.mark.parametrize(
    ("protocol", "value"),
    [
        (PROTOCOL, 1),
        (MAPPED, 2),
        ({**MAPPED, "minWriterVersion": 7}, 2),
        (WITH_VECTORS, 1),
        ({**WITH_VECTORS, "readerFeatures": ["columnMapping"]}, 2),
        ({"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": ["columnMapping"]}, 1),
    ],
)
def test_column_mapping_counts_where_the_protocol_has_it(tmp_path: Path, protocol: dict[str, Any], value: int) -> None:
    """A property without the feature means nothing. Source: PROTOCOL.md, "Column Mapping"."""
    column = mapped("a", "long", 7, "p")
    log = DeltaLog(tmp_path / "t").start(column, protocol=protocol, configuration=mapping("name"))
    log.commit(1, data_file(log, "f", pa.table({"a": [1], "p": [2]}), stats=None))
    assert rows(log) == [{"a": value}]
    log.commit(2, {"metaData": metadata(column, configuration=mapping("name"))}, remove("f"))
    assert [row["a"] for row in tf.open_table(log.root).changes(1).to_arrow().to_pylist()] == [value, value]


def test_changes_of_a_version_under_an_older_protocol(tmp_path: Path) -> None:
    """The property stands there before the feature does; files of before are by name, those of after are mapped."""
    column = mapped("a", "long", 7, "p")
    log = DeltaLog(tmp_path / "t").start(column, configuration=mapping("name"))
    log.commit(1, data_file(log, "f", pa.table({"a": [1]}), stats=None))
    mapped_now = metadata(mapped("a", "long", 7, "a"), configuration=mapping("name"))
    log.commit(2, {"protocol": MAPPED}, {"metaData": mapped_now})
    log.commit(3, data_file(log, "g", pa.table({"a": [3]}), stats=None))
    assert [row["a"] for row in tf.open_table(log.root).changes(0).to_arrow().to_pylist()] == [1, 3]


@pytest.mark.parametrize("protocol", [PROTOCOL, MAPPED])
def test_columns_in_another_case(tmp_path: Path, protocol: dict[str, Any]) -> None:
    """Spark tells no cases apart when it writes into a table, and finds such columns when it reads."""
    log = DeltaLog(tmp_path / "t").start(field("Id", "long"), field("s", NESTED), protocol=protocol)
    log.commit(1, data_file(log, "f", pa.table({"ID": [1, 2], "S": [{"inner": 5}, {"inner": 6}]}), stats=None))
    found = [{"Id": 1, "s": {"Inner": 5}}, {"Id": 2, "s": {"Inner": 6}}]
    assert rows(log) == found
    assert rows(log, "id = 2") == rows(log, "s.inner > 5") == found[1:]


def test_the_exact_name_wins(tmp_path: Path) -> None:
    log = DeltaLog(tmp_path / "t").start(field("Id", "long"))
    log.commit(1, data_file(log, "f", pa.table({"ID": [1], "Id": [2], "id": [3]}), stats=None))
    assert rows(log) == [{"Id": 2}]


def test_two_columns_that_differ_in_case(tmp_path: Path) -> None:
    log = DeltaLog(tmp_path / "t").start(field("Id", "long"))
    log.commit(1, data_file(log, "f", pa.table({"ID": [1], "id": [3]}), stats=None))
    with pytest.raises(tf.CorruptMetadataError, match="2 columns of the file match") as caught:
        rows(log)
    assert caught.value.field == "Id"


def test_ids_say_nothing_of_case(tmp_path: Path) -> None:
    """By field id a column of another case and no id is another column."""
    log = DeltaLog(tmp_path / "t").start(mapped("a", "long", 7, "a"), protocol=MAPPED, configuration=mapping("id"))
    fields = [pa.field("x", pa.int64(), metadata={"PARQUET:field_id": "7"}), pa.field("A", pa.int64())]
    log.commit(1, data_file(log, "f", pa.table([[1], [2]], schema=pa.schema(fields)), stats=None))
    assert rows(log) == [{"a": 1}]
