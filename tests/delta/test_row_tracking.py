"""Row ids and row commit versions: computed from a file's base and a row's place, or materialised, as the log says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tableformats import CorruptMetadataError, InvalidPredicateError, UnsupportedFeatureError, open_table
from tests.support.delta_log import (
    ADD_FIELDS,
    UUIDS,
    VECTOR_TYPE,
    WITH_VECTORS,
    DeltaLog,
    add,
    field,
    first_actions,
    portable,
    stats,
    vector,
    vector_file,
)
from tests.support.delta_row_ids import ID, ON, VERSION, write


@pytest.fixture
def log(tmp_path: Path) -> DeltaLog:
    return DeltaLog(tmp_path / "t").start(field("id", "long"), protocol=WITH_VECTORS, configuration=ON)


def rows(log: DeltaLog, *columns: str, where: str | None = None) -> list[tuple[Any, ...]]:
    found = open_table(log.root).scan(where, columns=columns or ("id", ID, VERSION)).to_arrow()
    assert found.column_names == list(columns or ("id", ID, VERSION))
    return [tuple(row.values()) for row in found.to_pylist()]


def test_fresh_ids(log: DeltaLog) -> None:
    log.commit(1, add("a", baseRowId=100, defaultRowCommitVersion=1, **write(log, "a", 5)))
    assert rows(log) == [(i, 100 + i, 1) for i in range(5)]
    assert rows(log, ID) == [(100 + i,) for i in range(5)]
    assert rows(log, VERSION, "id") == [(1, i) for i in range(5)]
    assert rows(log, ID, where="id >= 3") == [(103,), (104,)]
    assert rows(log, "id", ID, where="id IN (1, 4)") == [(1, 101), (4, 104)]


def test_columns_are_given_when_asked_for(log: DeltaLog) -> None:
    log.commit(1, add("a", baseRowId=100, defaultRowCommitVersion=1, **write(log, "a", 2)))
    table = open_table(log.root)
    assert table.scan().to_arrow().column_names == ["id"]
    assert table.scan(columns=["_METADATA.Row_Id"]).to_arrow().column_names == [ID]
    assert table.scan(columns=[ID], limit=1).to_arrow().to_pylist() == [{ID: 100}]
    assert table.scan(columns=[ID]).count() == 2
    assert table.scan(columns=[ID]).to_arrow().schema.field(ID).type == pa.int64()


def test_materialised_ids_win(log: DeltaLog) -> None:
    more = write(log, "a", 4, RowIdColumnName=[7, None, 9, None], RowCommitVersionColumnName=[None, 3, None, 4])
    log.commit(5, add("a", baseRowId=100, defaultRowCommitVersion=5, **more))
    for version in range(1, 5):
        log.commit(version, {"commitInfo": {}})
    assert rows(log) == [(0, 7, 5), (1, 101, 3), (2, 9, 5), (3, 103, 4)]


def test_positions_are_physical(log: DeltaLog) -> None:
    data = portable([0, 2])
    content, (offset,) = vector_file(data)
    log.root.joinpath(f"deletion_vector_{UUIDS[0]}.bin").write_bytes(content)
    descriptor = vector(cardinality=2, size=len(data), offset=offset)
    log.commit(1, add("a", baseRowId=10, defaultRowCommitVersion=1, deletionVector=descriptor, **write(log, "a", 5)))
    assert rows(log) == [(1, 11, 1), (3, 13, 1), (4, 14, 1)]
    assert rows(log, ID, where="id > 3") == [(14,)]


def test_the_newest_add_counts(log: DeltaLog) -> None:
    more = write(log, "a", 2)
    log.commit(1, add("a", baseRowId=0, defaultRowCommitVersion=1, **more))
    log.commit(2, add("a", baseRowId=50, defaultRowCommitVersion=2, **more))
    assert rows(log) == [(0, 50, 2), (1, 51, 2)]


def test_from_a_checkpoint(log: DeltaLog) -> None:
    kinds = [
        *ADD_FIELDS,
        ("deletionVector", VECTOR_TYPE),
        ("baseRowId", pa.int64()),
        ("defaultRowCommitVersion", pa.int64()),
    ]
    log.commit(1, add("gone"))
    actions = first_actions(protocol=WITH_VECTORS, configuration=ON)
    schema = {"schemaString": '{"type":"struct","fields":[{"name":"id","type":"long","nullable":true,"metadata":{}}]}'}
    actions[1]["metaData"].update(schema, configuration=list(ON.items()))
    kept = add("a", baseRowId=70, defaultRowCommitVersion=1, **write(log, "a", 3))
    log.checkpoint(f"{1:020d}.checkpoint.parquet", *actions, kept, add_type=pa.struct(kinds))
    assert rows(log) == [(i, 70 + i, 1) for i in range(3)]


def test_a_file_without_a_base_is_an_error_when_asked(log: DeltaLog) -> None:
    log.commit(1, add("a", defaultRowCommitVersion=1, **write(log, "a", 3)))
    assert rows(log, "id", VERSION) == [(i, 1) for i in range(3)]
    with pytest.raises(CorruptMetadataError) as caught:
        rows(log, ID)
    assert caught.value.field == ID
    assert caught.value.path == str(log.root / "a")


@pytest.mark.parametrize("value", ["7", 1.5, True, 2**63])
def test_a_base_that_is_no_number(log: DeltaLog, value: Any) -> None:
    log.commit(1, add("a", baseRowId=value, **write(log, "a", 3)))
    with pytest.raises(CorruptMetadataError) as caught:
        rows(log, "id")
    assert caught.value.field == "add.baseRowId"


@pytest.mark.parametrize("configuration", [{}, {"delta.enableRowTracking": "false"}])
def test_without_row_tracking_there_is_no_such_column(tmp_path: Path, configuration: dict[str, str]) -> None:
    log = DeltaLog(tmp_path / "t").start(field("id", "long"), configuration=configuration)
    log.commit(1, add("a", **write(log, "a", 3)))
    with pytest.raises(InvalidPredicateError, match="row_id"):
        rows(log, ID)


def test_they_are_no_columns_of_a_filter(log: DeltaLog) -> None:
    with pytest.raises(UnsupportedFeatureError) as caught:
        open_table(log.root).scan(f"`{ID}` = 1")
    assert caught.value.field == ID


def test_a_column_of_the_table_with_that_name_wins(tmp_path: Path) -> None:
    log = DeltaLog(tmp_path / "t").start(field(ID, "long"), configuration=ON)
    pq.write_table(pa.table({ID: [5, 6]}), log.root / "a")
    log.commit(1, add("a", baseRowId=0, stats=stats(2), size=(log.root / "a").stat().st_size))
    assert rows(log, ID) == [(5,), (6,)]
