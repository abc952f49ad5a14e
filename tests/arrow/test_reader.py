"""Reading a plan with Arrow: streams, missing and damaged files, columns and filters, positions and limits."""

from __future__ import annotations

import datetime as dt
import random
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from tableformats.engines.arrow.files import footers
from tableformats.errors import CorruptMetadataError, UnsupportedFeatureError
from tableformats.schema import DecimalType, Field, FixedType, ListType, MapType, Schema, StructType, primitive
from tableformats.table.table import Snapshot
from tests.support.arrow_fakes import FakeFile, identity_spec, snapshot_of, with_id, write

LONG, STRING, DOUBLE = primitive("long"), primitive("string"), primitive("double")
ID, NAME = Field(1, "id", LONG), Field(2, "name", STRING)


def rows(snapshot: Snapshot, filter: Any = None, **options: Any) -> list[dict[str, Any]]:
    return snapshot.scan(filter, **options).to_arrow().to_pylist()


def one_file(tmp_path: Path, table: pa.Table, *fields: Field, **options: Any) -> Snapshot:
    path = write(tmp_path, table)
    return snapshot_of(tmp_path, fields, [FakeFile(path, table.num_rows)], **options)


class TestStream:
    def test_schema_is_the_scans_with_nullability_and_ids(self, tmp_path: Path) -> None:
        inner = StructType((Field(4, "x", LONG, required=True), Field(5, "y", STRING)))
        l = Field(3, "l", ListType(Field(6, "element", LONG, True)))
        fields = [Field(1, "id", LONG, required=True), Field(2, "s", inner), l]
        table = pa.table({"id": [1], "s": [{"x": 1, "y": "a"}], "l": [[1, 2]]})
        scan = one_file(tmp_path, table, *fields).scan()
        reader = scan.to_arrow_batch_reader()
        expected = Schema(tuple(fields)).to_arrow()
        assert reader.schema.equals(expected, check_metadata=True)
        read = reader.read_all()
        assert read.schema.equals(expected, check_metadata=True)
        read.validate(full=True)
        assert read.to_pylist() == table.to_pylist()

    def test_files_come_in_the_plans_order_and_are_opened_when_reached(self, tmp_path: Path) -> None:
        first = write(tmp_path, pa.table({"id": [1, 2]}), "a.parquet")
        files = [FakeFile(first, 2), FakeFile(str(tmp_path / "gone.parquet"), 1)]
        reader = snapshot_of(tmp_path, [ID], files).scan().to_arrow_batch_reader()
        assert reader.read_next_batch().to_pylist() == [{"id": 1}, {"id": 2}]
        with pytest.raises(CorruptMetadataError, match="missing") as caught:
            reader.read_next_batch()
        assert caught.value.path == str(tmp_path / "gone.parquet")
        assert "cleaned up" in str(caught.value) and "relocate" in str(caught.value)

    def test_table_without_files_has_its_schema(self, tmp_path: Path) -> None:
        table = snapshot_of(tmp_path, [ID, NAME], []).scan().to_arrow()
        assert table.num_rows == 0
        assert table.schema == Schema((ID, NAME)).to_arrow()

    @pytest.mark.parametrize("limit", [0, 1, 3, 4, 5, 99])
    def test_limit(self, tmp_path: Path, limit: int) -> None:
        paths = [write(tmp_path, pa.table({"id": ids}), f"{ids[0]}.parquet") for ids in ([1, 2, 3], [4, 5])]
        snapshot = snapshot_of(tmp_path, [ID], [FakeFile(paths[0], None), FakeFile(paths[1], None)])
        assert [r["id"] for r in rows(snapshot, limit=limit)] == [1, 2, 3, 4, 5][:limit]

    def test_limit_leaves_further_files_alone(self, tmp_path: Path) -> None:
        path = write(tmp_path, pa.table({"id": [1, 2]}))
        snapshot = snapshot_of(tmp_path, [ID], [FakeFile(path, None), FakeFile(str(tmp_path / "gone"), None)])
        assert len(rows(snapshot, limit=2)) == 2

    def test_no_columns_still_has_rows(self, tmp_path: Path) -> None:
        snapshot = one_file(tmp_path, pa.table({"id": [1, 2, 3]}), ID)
        assert snapshot.scan("id > 1", columns=[]).to_arrow().num_rows == 2


class TestDamage:
    @pytest.mark.parametrize("damage", ["empty", "cut", "no magic", "flipped footer", "flipped pages"])
    def test_damaged_parquet_is_one_typed_error(self, tmp_path: Path, damage: str) -> None:
        path = Path(write(tmp_path, pa.table({"id": list(range(1000))}), compression="zstd"))
        data = bytearray(path.read_bytes())
        if damage == "flipped footer":
            data[-60:-20] = bytes(b ^ 0xFF for b in data[-60:-20])
        if damage == "flipped pages":
            data[4:400] = bytes(b ^ 0xFF for b in data[4:400])
        path.write_bytes({"empty": b"", "cut": data[: len(data) // 2], "no magic": b"x" * 100}.get(damage, data))
        with pytest.raises(CorruptMetadataError) as caught:
            rows(snapshot_of(tmp_path, [ID], [FakeFile(str(path), 1000)]))
        assert caught.value.path == str(path) and caught.value.hint

    def test_footer_that_counts_other_rows_than_there_are_is_refused(self, tmp_path: Path) -> None:
        path = Path(write(tmp_path, pa.table({"id": list(range(100))})))
        data, footer = path.read_bytes(), pq.ParquetFile(path).metadata.serialized_size
        # Field 3 of FileMetaData, num_rows, is the first i64 of 100 in the footer (thrift: zigzag varint 200).
        at = data.index(b"\x16\xc8\x01", len(data) - footer - 8)
        path.write_bytes(data[: at + 1] + b"\xc6\x01" + data[at + 3 :])
        with pytest.raises(CorruptMetadataError, match="holds 100 rows where its footer counts 99"):
            rows(snapshot_of(tmp_path, [ID], [FakeFile(str(path), None)]))

    def test_other_formats_are_refused_by_name(self, tmp_path: Path) -> None:
        path = write(tmp_path, pa.table({"id": [1]}))
        snapshot = snapshot_of(tmp_path, [ID], [FakeFile(path, 1, file_format="lance")])
        with pytest.raises(UnsupportedFeatureError, match="lance data files") as caught:
            rows(snapshot)
        assert caught.value.field == "lance data files" and caught.value.path == path

    def test_what_arrow_cannot_open_yet_is_no_damage(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def opened(*_: object) -> None:
            raise pa.ArrowNotImplementedError("an encoding of the future")

        path = write(tmp_path, pa.table({"id": [1]}))
        monkeypatch.setattr(footers, "open_parquet", opened)
        with pytest.raises(UnsupportedFeatureError, match="Arrow cannot read the file: an encoding") as caught:
            rows(snapshot_of(tmp_path, [ID], [FakeFile(path, 1)]))
        assert (caught.value.path, caught.value.field) == (path, "an encoding of the future")

    def test_damaged_variants_name_their_column_and_spare_the_others(self, tmp_path: Path) -> None:
        empty = b"\x01\x00\x00"
        shredded = [{"metadata": empty, "value": b"\x00", "typed_value": 1}]
        plain = {"metadata": empty, "value": b"\x0c\x01"}
        v = Field(2, "v", primitive("variant"))
        nested = Field(3, "s", ListType(Field(4, "element", primitive("variant"))))
        table = pa.table({"id": [1], "v": pa.array([plain]), "s": pa.array([shredded])})
        snapshot = one_file(tmp_path, table, ID, v, nested)
        with pytest.raises(CorruptMetadataError, match="a value and a typed_value") as caught:
            rows(snapshot)
        assert caught.value.field == "s.element" and str(caught.value.path).startswith(str(tmp_path))
        assert rows(snapshot, columns=["id", "v"]) == [{"id": 1, "v": plain}]

    def test_required_column_with_null_is_refused(self, tmp_path: Path) -> None:
        snapshot = one_file(tmp_path, pa.table({"id": [1, None]}), Field(1, "id", LONG, required=True))
        with pytest.raises(CorruptMetadataError, match="required") as caught:
            rows(snapshot)
        assert caught.value.field == "id"

    def test_required_member_of_a_null_struct_is_fine(self, tmp_path: Path) -> None:
        s = Field(1, "s", StructType((Field(2, "x", LONG, required=True),)))
        table = pa.table({"s": [{"x": 1}, None]})
        assert rows(one_file(tmp_path, table, s)) == table.to_pylist()


class TestColumns:
    def test_by_name_uses_physical_names_exactly(self, tmp_path: Path) -> None:
        s = Field(2, "s", StructType((Field(3, "x", LONG, physical_name="c-3"),)), physical_name="c-2")
        fields = [s, Field(1, "id", LONG, physical_name="c-1"), Field(4, "ID2", LONG, physical_name="C-1")]
        table = pa.table({"c-1": [1], "C-1": [7], "c-2": [{"c-3": 5, "x": 6}], "id": [9]})
        assert rows(one_file(tmp_path, table, *fields)) == [{"s": {"x": 5}, "id": 1, "ID2": 7}]

    def test_names_with_dots_are_no_paths(self, tmp_path: Path) -> None:
        fields = [Field(1, "a.b", LONG), Field(2, "a", StructType((Field(3, "b", STRING),)))]
        table = pa.table({"a.b": [1], "a": [{"b": "x"}]})
        snapshot = one_file(tmp_path, table, *fields)
        assert rows(snapshot) == table.to_pylist()
        assert rows(snapshot, columns=["a"]) == [{"a": {"b": "x"}}]

    def test_by_id_at_every_level(self, tmp_path: Path) -> None:
        member = pa.struct([with_id(pa.field("old_x", pa.int32()), 10), with_id(pa.field("y", pa.int64()), 11)])
        key, value = with_id(pa.field("key", pa.string(), False), 21), with_id(pa.field("value", member), 22)
        schema = pa.schema(
            [
                with_id(pa.field("renamed", pa.int64()), 1),
                with_id(pa.field("l", pa.list_(with_id(pa.field("e", member), 20))), 2),
                with_id(pa.field("m", pa.map_(key, value)), 3),
            ]
        )
        table = pa.table(
            [
                pa.array([5]),
                pa.array([[{"old_x": 1, "y": 2}, None]], schema.field(1).type),
                pa.array([[("k", {"old_x": 3, "y": 4})]], schema.field(2).type),
            ],
            schema=schema,
        )
        now = StructType((Field(12, "added", STRING, initial_default="d"), Field(10, "x", LONG)))
        fields = [
            Field(3, "m", MapType(Field(21, "key", STRING, True), Field(22, "value", now))),
            Field(2, "l", ListType(Field(20, "element", now))),
            Field(1, "id", LONG),
            Field(9, "y", LONG),
        ]
        expected = {
            "m": [("k", {"added": "d", "x": 3})],
            "l": [{"added": "d", "x": 1}, None],
            "id": 5,
            "y": None,
        }
        assert rows(one_file(tmp_path, table, *fields, by="id")) == [expected]

    def test_dropped_and_readded_name_has_a_new_id(self, tmp_path: Path) -> None:
        table = pa.table([pa.array([5])], schema=pa.schema([with_id(pa.field("id", pa.int64()), 1)]))
        assert rows(one_file(tmp_path, table, Field(7, "id", LONG), by="id")) == [{"id": None}]

    def test_files_without_ids_use_the_name_mapping(self, tmp_path: Path) -> None:
        m = pa.array([[("k", {"x": 3})]], pa.map_(pa.string(), pa.struct([("x", pa.int64())])))
        table = pa.table({"old": [1], "l": [[{"x": 2}]], "m": m})
        names = {"old": 1, "l": 2, "l.element": 3, "l.element.x": 4, "m": 5, "m.key": 6, "m.value": 7, "m.value.x": 8}
        fields = [
            Field(1, "new", LONG),
            Field(2, "l", ListType(Field(3, "element", StructType((Field(4, "renamed", LONG),))))),
            Field(5, "m", MapType(Field(6, "key", STRING), Field(7, "value", StructType((Field(8, "z", LONG),))))),
        ]
        expected = [{"new": 1, "l": [{"renamed": 2}], "m": [("k", {"z": 3})]}]
        assert rows(one_file(tmp_path, table, *fields, by="id", names=names)) == expected

    def test_files_without_ids_and_mapping_are_refused(self, tmp_path: Path) -> None:
        snapshot = one_file(tmp_path, pa.table({"id": [1]}), ID, by="id")
        with pytest.raises(UnsupportedFeatureError, match="column 'id' is found by field id") as caught:
            rows(snapshot)
        assert caught.value.field == "data files without field ids"
        assert snapshot.scan().count() == 1

    def test_two_columns_with_one_id_are_refused(self, tmp_path: Path) -> None:
        schema = pa.schema([with_id(pa.field("a", pa.int64()), 1), with_id(pa.field("b", pa.int64()), 1)])
        table = pa.table([pa.array([1]), pa.array([2])], schema=schema)
        with pytest.raises(CorruptMetadataError, match="2 columns of the file match"):
            rows(one_file(tmp_path, table, ID, by="id"))

    def test_missing_column_takes_partition_value_then_default_then_null(self, tmp_path: Path) -> None:
        part, default = Field(2, "p", LONG, initial_default=8), Field(3, "d", LONG, initial_default=9)
        null = Field(4, "n", LONG)
        path = write(tmp_path, pa.table({"id": [1]}))
        snapshot = snapshot_of(
            tmp_path, [ID, part, default, null], [FakeFile(path, 1, {1000: 7})], specs=[identity_spec(0, (1000, part))]
        )
        assert rows(snapshot) == [{"id": 1, "p": 7, "d": 9, "n": None}]

    @pytest.mark.parametrize(("first", "expected"), [(True, [7, 7]), (False, [1, 2])])
    def test_partition_values_replace_the_files_where_asked(
        self, tmp_path: Path, first: bool, expected: list[int]
    ) -> None:
        files = [FakeFile(write(tmp_path, pa.table({"id": [1, 2]})), 2, {1000: 7})]
        specs = [identity_spec(0, (1000, ID))]
        snapshot = snapshot_of(tmp_path, [ID], files, specs=specs, partition_values_first=first)
        assert [r["id"] for r in rows(snapshot)] == expected

    def test_null_partition_value_beats_the_default(self, tmp_path: Path) -> None:
        part = Field(2, "p", STRING, initial_default="d")
        files = [FakeFile(write(tmp_path, pa.table({"id": [1]})), 1, {1000: None})]
        snapshot = snapshot_of(tmp_path, [part], files, specs=[identity_spec(0, (1000, part))])
        assert rows(snapshot) == [{"p": None}]

    def test_each_file_has_the_values_of_its_own_spec(self, tmp_path: Path) -> None:
        part = Field(2, "p", LONG)
        paths = [write(tmp_path, pa.table({"id": [i]}), f"{i}.parquet") for i in (1, 2)]
        specs = [identity_spec(0, (1000, part)), identity_spec(1)]
        files = [FakeFile(paths[0], 1, {1000: 7}), FakeFile(paths[1], 1, {}, spec_id=1)]
        assert rows(snapshot_of(tmp_path, [ID, part], files, specs=specs)) == [{"id": 1, "p": 7}, {"id": 2, "p": None}]

    def test_default_of_a_struct_is_filled_from_its_members(self, tmp_path: Path) -> None:
        s = Field(2, "s", StructType((Field(3, "x", LONG, initial_default=5), Field(4, "y", LONG))), initial_default={})
        assert rows(one_file(tmp_path, pa.table({"id": [1]}), s)) == [{"s": {"x": 5, "y": None}}]

    def test_struct_whose_members_are_all_new_keeps_its_nulls(self, tmp_path: Path) -> None:
        s = Field(2, "s", StructType((Field(3, "new", LONG, initial_default=5),)))
        table = pa.table({"s": [{"x": 1}, None], "l": [[{"x": 1}, None], None]})
        l = Field(4, "l", ListType(Field(5, "element", s.type)))
        expected = [{"s": {"new": 5}, "l": [{"new": 5}, None]}, {"s": None, "l": None}]
        assert rows(one_file(tmp_path, table, s, l)) == expected

    def test_kind_that_does_not_fit_is_refused(self, tmp_path: Path) -> None:
        snapshot = one_file(tmp_path, pa.table({"id": ["text"]}), ID)
        with pytest.raises(CorruptMetadataError, match="stored as string cannot be read as bigint") as caught:
            rows(snapshot)
        assert caught.value.field == "id" and caught.value.path.endswith("f.parquet")

    def test_value_that_does_not_fit_is_refused(self, tmp_path: Path) -> None:
        s = Field(1, "s", StructType((Field(2, "x", primitive("byte")),)))
        snapshot = one_file(tmp_path, pa.table({"s": [{"x": 300}]}), s)
        with pytest.raises(CorruptMetadataError, match="300") as caught:
            rows(snapshot)
        assert caught.value.field == "s.x" and caught.value.path.endswith("f.parquet")

    def test_only_needed_leaves_are_read(self, tmp_path: Path) -> None:
        """The pages of every other leaf are destroyed: reading them would fail."""
        s = [{"x": i, "y": f"text {i}"} for i in range(2000)]
        table = pa.table({"id": list(range(2000)), "s": s, "other": [f"o{i}" for i in range(2000)]})
        path = Path(write(tmp_path, table, compression="zstd", use_dictionary=False))
        data = bytearray(path.read_bytes())
        group = pq.ParquetFile(path).metadata.row_group(0)
        for i in range(group.num_columns):
            column = group.column(i)
            if column.path_in_schema in ("s.y", "other"):
                start = column.data_page_offset
                data[start : start + column.total_compressed_size] = bytes([0xFF]) * column.total_compressed_size
        path.write_bytes(data)
        s_field = Field(3, "s", StructType((Field(4, "x", LONG), Field(5, "y", STRING))))
        snapshot = snapshot_of(tmp_path, [ID, s_field, Field(6, "other", STRING)], [FakeFile(str(path), 2000)])
        assert rows(snapshot, "s.x >= 1998", columns=["id"]) == [{"id": 1998}, {"id": 1999}]
        with pytest.raises(CorruptMetadataError):
            rows(snapshot, columns=["s"])


UTC = dt.timezone.utc
NOON = dt.datetime(2024, 1, 31, 12)
PROMOTIONS: list[tuple[pa.Array, Any, list[Any]]] = [
    (pa.array([-1, None], pa.int8()), primitive("short"), [-1, None]),
    (pa.array([2**31 - 1], pa.int32()), LONG, [2**31 - 1]),
    (pa.array([7], pa.int64()), primitive("int"), [7]),
    (pa.array([7], pa.uint32()), LONG, [7]),
    (pa.array([1.5, None], pa.float32()), DOUBLE, [1.5, None]),
    (pa.array([-(2**31)], pa.int32()), DOUBLE, [-(2.0**31)]),
    (pa.array([Decimal("1.25")], pa.decimal128(5, 2)), DecimalType(38, 4), [Decimal("1.2500")]),
    (pa.array([12, None], pa.int32()), DecimalType(12, 2), [Decimal("12.00"), None]),
    (pa.array([2**63 - 1], pa.int64()), DecimalType(38, 10), [Decimal(2**63 - 1).scaleb(0)]),
    (pa.array([dt.date(2024, 1, 31)]), primitive("timestamp_ntz"), [dt.datetime(2024, 1, 31)]),
    (pa.array([NOON], pa.timestamp("ms")), primitive("timestamp_ntz"), [NOON]),
    (pa.array([NOON], pa.timestamp("us", "UTC")), primitive("timestamp_ntz"), [NOON]),
    (pa.array([NOON], pa.timestamp("us")), primitive("timestamp"), [NOON.replace(tzinfo=UTC)]),
    (pa.array([NOON], pa.timestamp("ms", "Asia/Tokyo")), primitive("timestamp"), [NOON.replace(tzinfo=UTC)]),
    (pa.array(["é", None]).cast(pa.binary()), STRING, ["é", None]),
    (pa.array(["a", "b", "a"]).dictionary_encode(), STRING, ["a", "b", "a"]),
    (pa.array(["a"], pa.large_string()), STRING, ["a"]),
    (pa.array([b"0123456789abcdef"], pa.binary(16)), primitive("uuid"), [b"0123456789abcdef"]),
    (pa.array([b"0123456789abcdef"], pa.binary()), primitive("uuid"), [b"0123456789abcdef"]),
    (pa.array([b"abc", None], pa.binary(3)), FixedType(3), [b"abc", None]),
    (pa.array([b"abc"], pa.binary(3)), primitive("binary"), [b"abc"]),
    (pa.array([dt.time(1, 2, 3)], pa.time32("ms")), primitive("time"), [dt.time(1, 2, 3)]),
    (pa.nulls(2), STRING, [None, None]),
    (pa.array([1, 2]), primitive("unknown"), [None, None]),
]


class TestPromotion:
    @pytest.mark.parametrize(("stored", "kind", "expected"), PROMOTIONS, ids=lambda v: str(getattr(v, "type", v)))
    def test_values(self, tmp_path: Path, stored: pa.Array, kind: Any, expected: list[Any]) -> None:
        table = one_file(tmp_path, pa.table({"c": stored}), Field(1, "c", kind)).scan().to_arrow()
        assert table.schema == Schema((Field(1, "c", kind),)).to_arrow()
        assert table["c"].to_pylist() == expected

    @pytest.mark.parametrize(
        ("stored", "kind"),
        [
            (pa.array([1.5]), primitive("float")),
            (pa.array([1.5]), LONG),
            (pa.array([1]), DOUBLE),
            (pa.array([1]), STRING),
            (pa.array([True]), LONG),
            (pa.array([Decimal("1.5")]), DOUBLE),
            (pa.array([Decimal("123.45")]), DecimalType(4, 2)),
            (pa.array([Decimal("1.234")]), DecimalType(9, 2)),
            (pa.array([1000]), DecimalType(4, 2)),
            (pa.array([dt.date(2024, 1, 1)]), primitive("timestamp")),
            (pa.array([NOON], pa.timestamp("us")), primitive("date")),
            (pa.array([b"\xff"]), STRING),
            (pa.array([b"abcd"]), FixedType(3)),
            (pa.array([{"x": 1}]), LONG),
            (pa.array([[1]]), StructType((Field(2, "x", LONG),))),
            (pa.array([1]), ListType(Field(2, "element", LONG))),
        ],
    )
    def test_what_is_no_promotion_is_refused(self, tmp_path: Path, stored: pa.Array, kind: Any) -> None:
        with pytest.raises(CorruptMetadataError) as caught:
            rows(one_file(tmp_path, pa.table({"c": stored}), Field(1, "c", kind)))
        assert caught.value.field == "c" and caught.value.path

    @pytest.mark.parametrize("zone", ["timestamp", "timestamp_ntz"])
    def test_int96_is_utc_and_does_not_wrap(self, tmp_path: Path, zone: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("TZ", "America/Los_Angeles")
        old = dt.datetime(1969, 12, 31, 23, 59, 59, 999999)
        moments = [dt.datetime(1, 1, 1), old, NOON, dt.datetime(9999, 12, 31)]
        stored = pa.table({"c": pa.array(moments, pa.timestamp("us"))})
        path = write(tmp_path, stored, use_deprecated_int96_timestamps=True)
        assert pq.ParquetFile(path).schema.column(0).physical_type == "INT96"
        table = snapshot_of(tmp_path, [Field(1, "c", primitive(zone))], [FakeFile(path, 4)]).scan().to_arrow()
        assert table["c"].cast(pa.timestamp("us")).to_pylist() == moments


class TestFilter:
    def test_rows_where_the_filter_is_true_and_its_columns_are_dropped(self, tmp_path: Path) -> None:
        table = pa.table({"id": [1, 2, 3, None], "name": ["a", None, "c", "d"]})
        snapshot = one_file(tmp_path, table, ID, NAME)
        found = rows(snapshot, "id > 1 OR name = 'd'", columns=["name"])
        assert found == [{"name": None}, {"name": "c"}, {"name": "d"}]
        assert rows(snapshot, "NOT (id > 1)", columns=["id"]) == [{"id": 1}]

    def test_nested_member_renamed_and_defaulted(self, tmp_path: Path) -> None:
        members = (Field(4, "x", LONG, physical_name="old"), Field(5, "new", LONG, initial_default=6))
        s = Field(3, "s", StructType(members))
        snapshot = one_file(tmp_path, pa.table({"id": [1, 2, 3], "s": [{"old": 1}, {"old": 2}, None]}), ID, s)
        assert rows(snapshot, "s.x = 2", columns=["id"]) == [{"id": 2}]
        assert rows(snapshot, "s.new = 6", columns=["id"]) == [{"id": 1}, {"id": 2}]
        assert rows(snapshot, "s IS NULL", columns=["id"]) == [{"id": 3}]

    def test_filter_sees_promoted_values(self, tmp_path: Path) -> None:
        snapshot = one_file(tmp_path, pa.table({"id": pa.array([1, 2], pa.int8())}), ID)
        assert rows(snapshot, "id < 3000000000 AND id > 1") == [{"id": 2}]


class TestPositions:
    def many(self, tmp_path: Path, positions: list[int], n: int = 300_000, **options: Any) -> Snapshot:
        path = write(tmp_path, pa.table({"id": list(range(n))}), row_group_size=70_000)
        return snapshot_of(tmp_path, [ID], [FakeFile(path, n, positions=positions, **options)])

    def test_positions_are_physical_rows_across_batches_and_row_groups(self, tmp_path: Path) -> None:
        positions = [0, 69_999, 70_000, 131_071, 131_072, 200_000, 299_999]
        snapshot = self.many(tmp_path, positions)
        left = snapshot.scan().to_arrow()["id"]
        assert left.to_pylist() == sorted(set(range(300_000)) - set(positions))
        assert rows(snapshot, "id < 2 OR id > 299997") == [{"id": 1}, {"id": 299_998}]

    @pytest.mark.parametrize("seed", range(4))
    def test_the_filters_columns_are_read_first(self, tmp_path: Path, seed: int) -> None:
        """Positions here and there, of whole row groups, and of rows for which the filter has no value."""
        chance = random.Random(seed)
        ids = [chance.choice([None, 0, *range(1, 40)]) for _ in range(6_000)]
        dead = {i for i, value in enumerate(ids) if value == 0 or chance.random() < 0.05} | set(range(1_500, 3_100))
        names = [f"n{i}" for i in range(6_000)]
        path = write(tmp_path, pa.table({"id": pa.array(ids, pa.int64()), "name": names}), row_group_size=700)
        snapshot = snapshot_of(tmp_path, [ID, NAME], [FakeFile(path, 6_000, positions=sorted(dead))])
        expected = [names[i] for i, value in enumerate(ids) if i not in dead and value and 1000 // value > 200]
        assert [row["name"] for row in rows(snapshot, "1000 DIV id > 200", columns=["name"])] == expected

    def test_all_rows_deleted(self, tmp_path: Path) -> None:
        assert rows(self.many(tmp_path, [0, 1, 2], 3)) == []

    def test_position_past_the_end_is_refused(self, tmp_path: Path) -> None:
        snapshot = self.many(tmp_path, [1, 3], 3)
        with pytest.raises(CorruptMetadataError, match="row 3 of the file") as caught:
            rows(snapshot)
        assert caught.value.path.endswith("f.parquet")

    def test_other_row_count_than_the_metadatas_is_refused(self, tmp_path: Path) -> None:
        path = write(tmp_path, pa.table({"id": [1, 2, 3]}))
        with pytest.raises(CorruptMetadataError, match="has 3 rows where the metadata counts 4"):
            rows(snapshot_of(tmp_path, [ID], [FakeFile(path, 4, positions=[0])]))

    def test_unknown_record_count_is_the_files(self, tmp_path: Path) -> None:
        path = write(tmp_path, pa.table({"id": [1, 2, 3]}))
        assert rows(snapshot_of(tmp_path, [ID], [FakeFile(path, None, positions=[1])])) == [{"id": 1}, {"id": 3}]


class TestOrc:
    def table(self, tmp_path: Path, table: pa.Table) -> str:
        orc = pytest.importorskip("pyarrow.orc")
        orc.write_table(table, tmp_path / "f.orc")
        return str(tmp_path / "f.orc")

    def test_by_name_with_deletes_and_filter(self, tmp_path: Path) -> None:
        l = Field(3, "l", ListType(Field(4, "element", StructType((Field(5, "x", LONG), Field(6, "new", STRING))))))
        lists = [[{"x": 1, "y": 2}], None, []]
        table = pa.table({"name": ["a", "b", "c"], "id": [1, 2, 3], "l": lists, "z": [1, 2, 3]})
        path = self.table(tmp_path, table)
        snapshot = snapshot_of(tmp_path, [ID, NAME, l], [FakeFile(path, 3, positions=[1], file_format="orc")])
        expected = [{"id": 1, "name": "a", "l": [{"x": 1, "new": None}]}, {"id": 3, "name": "c", "l": []}]
        assert rows(snapshot) == expected
        assert rows(snapshot, "name = 'c'", columns=["l"]) == [{"l": []}]
        assert snapshot.scan("id = 1", columns=[]).to_arrow().num_rows == 1

    def test_damaged_orc_is_one_typed_error(self, tmp_path: Path) -> None:
        path = Path(self.table(tmp_path, pa.table({"id": list(range(100))})))
        path.write_bytes(path.read_bytes()[:40])
        with pytest.raises(CorruptMetadataError):
            rows(snapshot_of(tmp_path, [ID], [FakeFile(str(path), 100, file_format="orc")]))


def test_streams_row_group_by_row_group(tmp_path: Path) -> None:
    table = pa.table({"id": list(range(500_000))})
    reader = one_file(tmp_path, table, ID).scan().to_arrow_batch_reader()
    sizes = [batch.num_rows for batch in reader]
    assert sum(sizes) == 500_000 and max(sizes) <= 131_072


def test_nulls_of_a_filter_are_not_kept(tmp_path: Path) -> None:
    table = one_file(tmp_path, pa.table({"id": [None, 1]}), ID).scan("id = id").to_arrow()
    assert pc.sum(table["id"]).as_py() == 1 and table.num_rows == 1


def test_row_groups_without_the_columns_of_the_schema(tmp_path: Path) -> None:
    """A footer in Thrift's compact form: one column, and row groups that have none."""
    schema = b"\x2c\x48\x01r\x15\x02\x00\x15\x02\x25\x00\x18\x02id\x00"
    group = b"\x19\x0c\x16\x00\x16\x00\x00"
    footer = b"\x15\x02\x19" + schema + b"\x16\x00\x19\x2c" + 2 * group + b"\x00"
    path = tmp_path / "f.parquet"
    path.write_bytes(b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1")
    with pytest.raises(CorruptMetadataError, match="row group of the file does not have the columns") as caught:
        rows(snapshot_of(tmp_path, [ID], [FakeFile(str(path), None)]))
    assert caught.value.path == str(path)


def with_wrong_histogram(data: bytes) -> bytes:
    """A Parquet file whose first column chunk counts definition levels that its column does not have."""
    import struct

    from tableformats.io._thrift import read_struct

    (size,) = struct.unpack("<I", data[-8:-4])
    footer = data[-8 - size : -8]
    assert 16 in read_struct(footer, only=4)[4][1][1][0][1][1][1][0][3][1], "Arrow writes size statistics"
    counted = b"\x19\x26\x02\x04"  # field 3 of SizeStatistics: i64 1 and 2
    assert footer.count(counted) == 1
    at = footer.index(counted)
    wrong = footer[:at] + b"\x19\x36\x00" + footer[at + 2 :]  # one more level
    return data[: -8 - size] + wrong + struct.pack("<I", len(wrong)) + b"PAR1"


@pytest.mark.parametrize("start", [0, 4])
def test_chunks_that_would_end_the_process(tmp_path: Path, start: int) -> None:
    """pyarrow lets Arrow's C++ exception through when it is asked for the size of such a chunk."""
    path = tmp_path / "f.parquet"
    pq.write_table(pa.table({"id": [1, None, 3]}), path)
    path.write_bytes(with_wrong_histogram(path.read_bytes()))
    program = (
        "import sys, pyarrow as pa; from tableformats.engines.arrow.files.parquet import ParquetFile;"
        "from tableformats.engines.arrow.files.data_file import ByteRange;"
        "from tableformats.errors import CorruptMetadataError; from tableformats.limits import Limits;"
        "file = ParquetFile(sys.argv[1], pa.OSFile(sys.argv[1]), Limits());"
        "file.byte_range = ByteRange(0, 1000) if sys.argv[2] == '4' else file.byte_range;"
        "chosen = file.select(frozenset([0]));"
        "parts = file.parts(chosen); print(len(parts), parts[0].weight > 0)\n"
        "try: print(sum(len(rows) for part in parts for _, rows in file.part_rows(part, chosen)))\n"
        "except CorruptMetadataError: print('refused')"
    )
    done = subprocess.run([sys.executable, "-c", program, path, str(start)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-500:]
    assert done.stdout.split() in (["1", "True", "3"], ["1", "True", "refused"])
