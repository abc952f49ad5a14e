"""Equality deletes: exact matching of keys, and where the key columns of a data file come from."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tableformats.engines.arrow.key_sets import KeySet
from tableformats.errors import CorruptMetadataError
from tableformats.schema import Field, StructType, primitive
from tableformats.table.table import Snapshot
from tests.support.arrow_fakes import FakeFile, FakeSnapshot, identity_spec, snapshot_of, with_id, write

LONG, STRING = primitive("long"), primitive("string")
ID, NAME = Field(1, "id", LONG), Field(2, "name", STRING)

VALUES: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.int64(): st.sampled_from([0, 1, -1, 2**63 - 1]),
    pa.int32(): st.sampled_from([0, 1, -1, 2**31 - 1, -(2**31)]),
    pa.time64("us"): st.sampled_from([0, 1, 86_399_999_999]),
    pa.string(): st.sampled_from(["", "a", "é", "\x00"]),
    pa.binary(2): st.sampled_from([b"ab", b"\x00\x00"]),
    pa.bool_(): st.booleans(),
    pa.date32(): st.sampled_from([dt.date(1, 1, 1), dt.date(2024, 1, 31)]),
    pa.timestamp("us", "UTC"): st.sampled_from([0, -1]),
    pa.decimal128(38, 2): st.sampled_from([Decimal("0.00"), Decimal("-1.50")]),
    pa.float64(): st.sampled_from([0.0, -0.0, math.nan, -math.nan, math.inf, 1.5]),
    pa.float32(): st.sampled_from([0.0, -0.0, math.nan, 1.5]),
}


def same(a: Any, b: Any) -> bool:
    if a is None or b is None:
        return a is b
    if isinstance(a, float) and math.isnan(a):
        return math.isnan(b)
    return bool(a == b)


@pytest.mark.parametrize("kind", [pa.int64(), pa.int32(), pa.timestamp("us")], ids=str)
def test_many_integers(kind: pa.DataType) -> None:
    """More keys than slots of the smallest table, neighbours, and the ends of the type; sliced arrays, too."""
    bits = kind.bit_width - 1
    ends = [-(2**bits), 1 - 2**bits, 2**bits - 1]
    numbers = [*ends, *range(0, 30_000, 7), *range(10**6, 10**6 + 500)]
    rows = [*ends, 2**bits - 2, None, *range(-5, 30_010), *range(10**6 - 5, 10**6 + 505)]
    wanted = set(numbers)
    keys = pa.array([0, *numbers, *numbers[:10]], kind)[1:]
    for has_null in (False, True):
        found = KeySet([pa.concat_arrays([keys, pa.nulls(has_null, kind)])])
        expected = [has_null if row is None else row in wanted for row in rows]
        assert found.positions([pa.array([1, *rows], kind)[1:]]).tolist() == np.flatnonzero(expected).tolist()
        assert found.positions([pa.array([], kind)]).tolist() == np.flatnonzero([]).tolist()


@st.composite
def keys_and_rows(draw: st.DrawFn) -> tuple[list[pa.Array], list[pa.Array]]:
    kinds = draw(st.lists(st.sampled_from(list(VALUES)), min_size=1, max_size=3))

    def columns(n: int) -> list[pa.Array]:
        lists = (draw(st.lists(st.none() | VALUES[k], min_size=n, max_size=n)) for k in kinds)
        return [pa.array(values, k) for values, k in zip(lists, kinds, strict=True)]

    return columns(draw(st.integers(0, 5))), columns(draw(st.integers(0, 8)))


@given(keys_and_rows())
def test_keys_match_as_a_slow_model_says(case: tuple[list[pa.Array], list[pa.Array]]) -> None:
    keys, rows = case
    key_tuples = list(zip(*(column.to_pylist() for column in keys), strict=True))
    row_tuples = list(zip(*(column.to_pylist() for column in rows), strict=True))
    expected = [any(all(map(same, row, key)) for key in key_tuples) for row in row_tuples]
    assert KeySet(keys).positions(rows).tolist() == np.flatnonzero(expected).tolist()


def test_zeros_of_both_signs_are_one_key() -> None:
    for kind in (pa.float32(), pa.float64()):
        keys, rows = pa.array([0.0, None], kind), pa.array([-0.0, 0.0, 1.0, None], kind)
        assert KeySet([keys]).positions([rows]).tolist() == np.flatnonzero([True, True, False, True]).tolist()


def test_nan_of_every_bit_pattern_is_one_key() -> None:
    patterns = np.array([0x7FF8000000000000, 0xFFF8000000000001, 0x7FF0000000000001], np.uint64).view(np.float64)
    assert (
        KeySet([pa.array(patterns[:1])]).positions([pa.array(patterns)]).tolist()
        == np.flatnonzero([True, True, True]).tolist()
    )


def ids_of(snapshot: Snapshot, **options: Any) -> list[Any]:
    return snapshot.scan(columns=["id"], **options).to_arrow()["id"].to_pylist()


def data(tmp_path: Path, file_name: str = "f.parquet", **columns: tuple[int, pa.Array]) -> str:
    schema = pa.schema([with_id(pa.field(n, a.type), i) for n, (i, a) in columns.items()])
    return write(tmp_path, pa.table([a for _, a in columns.values()], schema=schema), file_name)


def test_several_delete_files_with_several_key_sets(tmp_path: Path) -> None:
    path = data(tmp_path, id=(1, pa.array([1, 2, 3, 4, None])), name=(2, pa.array(["a", "b", None, "d", "e"])))
    equality = {
        "by id": pa.table({"1": pa.array([1], pa.int64())}),
        "more ids": pa.table({"1": pa.array([None], pa.int64())}),
        "both": pa.table({"2": pa.array([None, "d"]), "1": pa.array([3, 3], pa.int64())}),
    }
    files = [FakeFile(path, 5, keys=list(equality), positions=[1])]
    assert ids_of(snapshot_of(tmp_path, [ID, NAME], files, by="id", equality=equality)) == [4]


def test_each_delete_file_is_loaded_once(tmp_path: Path) -> None:
    equality = {"k": pa.table({"1": pa.array([1], pa.int64())}), "l": pa.table({"1": pa.array([3], pa.int64())})}
    paths = [data(tmp_path, f"{i}.parquet", id=(1, pa.array([i, i + 1]))) for i in range(4)]
    files = [FakeFile(p, 2, keys=["k"] if i % 2 else ["k", "l"]) for i, p in enumerate(paths)]
    snapshot = snapshot_of(tmp_path, [ID], files, by="id", equality=equality)
    assert ids_of(snapshot) == [0, 2, 2, 3, 4]
    assert isinstance(snapshot.format_snapshot, FakeSnapshot)
    assert sorted(snapshot.format_snapshot.loads) == ["k", "l"]


def test_key_is_promoted_defaulted_or_a_partition_value(tmp_path: Path) -> None:
    default, part = Field(3, "d", STRING, initial_default="x"), Field(4, "p", LONG)
    path = data(tmp_path, id=(1, pa.array([1, 2], pa.int32())))
    equality = {
        "id": pa.table({"1": pa.array([2], pa.int64())}),
        "default": pa.table({"3": ["x"]}),
        "partition": pa.table({"4": pa.array([7], pa.int64())}),
    }
    for keys, expected in ((["id"], [1]), (["default"], []), (["partition"], [])):
        files = [FakeFile(path, 2, {1000: 7}, keys=keys)]
        snapshot = snapshot_of(
            tmp_path, [ID, default, part], files, by="id", equality=equality, specs=[identity_spec(0, (1000, part))]
        )
        assert ids_of(snapshot) == expected


def test_key_that_the_table_dropped_is_read_from_the_file(tmp_path: Path) -> None:
    old = data(tmp_path, "old.parquet", id=(1, pa.array([1, 2])), gone=(9, pa.array(["x", "y"])))
    new = data(tmp_path, "new.parquet", id=(1, pa.array([3, 4])))
    equality = {"k": pa.table({"9": ["x"]}), "null": pa.table({"9": pa.array([None], pa.string())})}
    files = [FakeFile(old, 2, keys=["k", "null"]), FakeFile(new, 2, keys=["k"])]
    assert ids_of(snapshot_of(tmp_path, [ID], files, by="id", equality=equality)) == [2, 3, 4]
    files = [FakeFile(new, 2, keys=["null"])]
    assert ids_of(snapshot_of(tmp_path, [ID], files, by="id", equality=equality)) == []


@pytest.mark.parametrize("dropped", [False, True])
def test_key_inside_a_struct(tmp_path: Path, dropped: bool) -> None:
    inner = pa.struct([with_id(pa.field("x", pa.int64()), 5), with_id(pa.field("y", pa.int64()), 6)])
    path = data(
        tmp_path,
        id=(1, pa.array([1, 2, 3, 4])),
        s=(4, pa.array([{"x": 1, "y": 0}, {"x": 2, "y": 0}, {"x": None, "y": 0}, None], inner)),
    )
    s = Field(4, "s", StructType((Field(6, "y", LONG), Field(5, "x", LONG))))
    equality = {"k": pa.table({"5": pa.array([2], pa.int64())}), "null": pa.table({"5": pa.array([None], pa.int64())})}
    fields = [ID] if dropped else [ID, s]
    for key, expected in (("k", [1, 3, 4]), ("null", [1, 2])):
        snapshot = snapshot_of(tmp_path, fields, [FakeFile(path, 4, keys=[key])], by="id", equality=equality)
        assert ids_of(snapshot) == expected


def test_key_columns_need_not_be_projected_and_filters_come_on_top(tmp_path: Path) -> None:
    path = data(tmp_path, id=(1, pa.array([1, 2, 3])), name=(2, pa.array(["a", "b", "c"])))
    equality = {"k": pa.table({"1": pa.array([2], pa.int64())})}
    snapshot = snapshot_of(tmp_path, [ID, NAME], [FakeFile(path, 3, keys=["k"])], by="id", equality=equality)
    assert snapshot.scan("id >= 2", columns=["name"]).to_arrow().to_pylist() == [{"name": "c"}]


def test_delete_file_without_key_columns_is_refused(tmp_path: Path) -> None:
    path = data(tmp_path, id=(1, pa.array([1])))
    snapshot = snapshot_of(tmp_path, [ID], [FakeFile(path, 1, keys=["k"])], by="id", equality={"k": pa.table({})})
    with pytest.raises(CorruptMetadataError, match="no key columns") as caught:
        ids_of(snapshot)
    assert caught.value.path == "k"
