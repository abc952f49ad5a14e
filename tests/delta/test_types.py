"""Types that came late to Delta: widened columns, variants and collated strings, read through and never over-pruned."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tableformats_delta.schema.features import READER_FEATURES

from tableformats import CorruptMetadataError, InvalidPredicateError, UnsupportedFeatureError, open_table
from tests.support.conformance import ROOT, needs_tables
from tests.support.delta_log import DeltaLog, add, field, stats
from tests.support.delta_types import EMPTY, SHREDDED, VALUES, VARIANT, WIDENINGS, data_file, features, widened


def kept(log: DeltaLog, where: str) -> list[str]:
    return sorted(Path(uri).name for uri in open_table(log.root).scan(where).plan().file_uris())


# ---- type widening --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("feature", ["typeWidening", "typeWidening-preview"])
@pytest.mark.parametrize(("old", "stored", "new", "values", "expected"), WIDENINGS)
def test_old_files_read_as_the_new_type(
    tmp_path: Path, feature: str, old: str, stored: pa.DataType, new: str, values: list[Any], expected: list[Any]
) -> None:
    log = DeltaLog(tmp_path / "t").start(widened(old, new), protocol=features(feature, "timestampNtz"))
    text = json.dumps(
        {"numRecords": 2, "minValues": {"c": values[0]}, "maxValues": {"c": values[1]}, "nullCount": {"c": 0}},
        default=lambda v: str(v) if isinstance(v, dt.date) else float(v),
    )
    log.commit(1, data_file(log, "old", pa.table({"c": pa.array(values, stored)}), text))
    table = open_table(log.root)
    found = table.scan().to_arrow()
    assert found.column("c").to_pylist() == expected
    assert found.schema == table.snapshot().schema.to_arrow()
    for value in expected:
        shown = f"'{value}'" if isinstance(value, dt.datetime) else f"{value}"
        assert table.scan(f"c = {shown}").to_arrow().num_rows == 1


@pytest.mark.parametrize(("old", "stored", "new", "values", "expected"), WIDENINGS)
def test_old_statistics_still_prune(
    tmp_path: Path, old: str, stored: pa.DataType, new: str, values: list[Any], expected: list[Any]
) -> None:
    log = DeltaLog(tmp_path / "t").start(widened(old, new), protocol=features("typeWidening", "timestampNtz"))
    low, high = (str(v) if isinstance(v, dt.date) else float(v) if isinstance(v, Decimal) else v for v in values)
    log.commit(1, add("f", stats=stats(2, minValues={"c": low}, maxValues={"c": high}, nullCount={"c": 0})))
    shown = [f"'{v}'" if isinstance(v, dt.datetime) else f"{v}" for v in expected]
    assert kept(log, f"c >= {shown[0]} AND c <= {shown[1]}") == ["f"]
    # A decimal of many digits may have been a double, which is 1,024 from its neighbours here.
    assert kept(log, f"c < {expected[0] - 16 * 1024 if new == 'decimal(22,2)' else shown[0]}") == []
    # A double may be NaN, which is the greatest; timestamps are widened by less than a millisecond.
    later = "c > '9999-12-31 00:00:00.001'" if new == "timestamp_ntz" else f"c > {shown[1]}"
    assert new == "double" or kept(log, later) == []


@pytest.mark.parametrize(
    ("old", "new", "text", "expected"),
    [
        ("byte", "long", "-7", -7),
        ("integer", "double", "16777217", 16777217.0),
        ("float", "double", "0.1", 0.1),
        ("integer", "decimal(12,2)", "5", Decimal("5.00")),
        ("decimal(4,1)", "decimal(12,3)", "1.5", Decimal("1.500")),
        ("date", "timestamp_ntz", "2024-02-29", dt.datetime(2024, 2, 29)),
    ],
)
def test_old_partition_values(tmp_path: Path, old: str, new: str, text: str, expected: Any) -> None:
    log = DeltaLog(tmp_path / "t").start(
        widened(old, new), field("id", "long"), partition=("c",), protocol=features("typeWidening", "timestampNtz")
    )
    log.commit(1, data_file(log, "f", pa.table({"id": [1]}), partitionValues={"c": text}))
    assert open_table(log.root).scan().to_arrow().to_pylist() == [{"c": expected, "id": 1}]
    shown = f"'{expected}'" if isinstance(expected, dt.datetime) else str(expected)
    assert kept(log, f"c = {shown}") == ["f"]
    assert kept(log, f"c > {shown}") == []


def test_nested_widening(tmp_path: Path) -> None:
    changes = [{"fromType": "integer", "toType": "long", "fieldPath": "element"}]
    nested = {"type": "array", "elementType": "long", "containsNull": True}
    log = DeltaLog(tmp_path / "t").start(
        field("a", nested, {"delta.typeChanges": changes}), protocol=features("typeWidening")
    )
    log.commit(1, data_file(log, "f", pa.table({"a": pa.array([[1, None], None], pa.list_(pa.int32()))})))
    assert open_table(log.root).scan().to_arrow().column("a").to_pylist() == [[1, None], None]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("long", "integer"),
        ("long", "double"),
        ("string", "integer"),
        ("date", "timestamp"),
        ("double", "float"),
        ("decimal(10,2)", "decimal(10,4)"),
        ("decimal(10,2)", "decimal(9,1)"),
        ("byte", "decimal(3,1)"),
        ("byte", "decimal(2,0)"),
        ("short", "decimal(5,1)"),
        ("integer", "decimal(9,0)"),
        ("integer", "decimal(11,2)"),
        ("long", "decimal(19,0)"),
        ("long", "short"),
        ("timestamp", "timestamp_ntz"),
        (None, "long"),
        ("integer", 7),
    ],
)
def test_unknown_widenings_are_refused(tmp_path: Path, old: Any, new: Any) -> None:
    column = field("col", "long", {"delta.typeChanges": [{"fromType": old, "toType": new}]})
    log = DeltaLog(tmp_path / "t").start(column, protocol=features("typeWidening"))
    with pytest.raises(UnsupportedFeatureError) as caught:
        open_table(log.root).snapshot()
    assert caught.value.field == "col"
    assert str(old) in str(caught.value)


# ---- variant --------------------------------------------------------------------------------------------------------


def variants(tmp_path: Path, feature: str = "variantType", kind: Any = "variant") -> DeltaLog:
    return DeltaLog(tmp_path / "t").start(field("id", "long"), field("v", kind), protocol=features(feature))


@pytest.mark.parametrize("feature", [name for name in READER_FEATURES if name.startswith("variant")])
def test_variants_are_read_through(tmp_path: Path, feature: str) -> None:
    log = variants(tmp_path, feature)
    log.commit(1, data_file(log, "f", pa.table({"id": [1, 2, 3], "v": pa.array(VALUES, VARIANT)})))
    scan = open_table(log.root).scan()
    assert scan.to_arrow().column("v").to_pylist() == VALUES
    assert scan.to_arrow().schema.field("v").type == pa.struct([("metadata", pa.binary()), ("value", pa.binary())])
    assert scan.where("v IS NULL").select("id").to_arrow().column("id").to_pylist() == [2]
    assert scan.where("v IS NOT NULL AND id > 1").select("id").to_arrow().column("id").to_pylist() == [3]


def test_nested_variants(tmp_path: Path) -> None:
    nested = {"type": "array", "elementType": "variant", "containsNull": True}
    log = variants(tmp_path, kind=nested)
    log.commit(1, data_file(log, "f", pa.table({"id": [1], "v": pa.array([VALUES], pa.list_(VARIANT))})))
    assert open_table(log.root).scan().to_arrow().column("v").to_pylist() == [VALUES]


@pytest.mark.parametrize("feature", ["variantShredding", "variantShredding-preview"])
def test_shredded_variants(tmp_path: Path, feature: str) -> None:
    """One file is shredded, the other one is not; inside of a list too."""
    nested = {"type": "array", "elementType": "variant", "containsNull": True}
    protocol = features("variantType", feature)
    log = DeltaLog(tmp_path / "t").start(
        field("id", "long"), field("v", "variant"), field("a", nested), protocol=protocol
    )
    stored = [{"metadata": EMPTY, "value": None, "typed_value": 7}, {"metadata": EMPTY, "value": b"\x05x"}, None]
    table = {"id": [1, 2, 3], "v": pa.array(stored, SHREDDED), "a": pa.array([stored, None, []], pa.list_(SHREDDED))}
    log.commit(1, data_file(log, "f", pa.table(table)))
    plain = {"id": [4], "v": pa.array(VALUES[:1], VARIANT), "a": pa.nulls(1, pa.list_(VARIANT))}
    log.commit(2, data_file(log, "g", pa.table(plain)))
    whole = [{"metadata": EMPTY, "value": b"\x18\x07" + b"\x00" * 7}, {"metadata": EMPTY, "value": b"\x05x"}, None]
    found = open_table(log.root).scan().to_arrow()
    assert found["v"].to_pylist() == [*VALUES[:1], *whole]
    assert found["a"].to_pylist() == [None, whole, None, []]
    assert open_table(log.root).scan("v IS NULL").to_arrow()["id"].to_pylist() == [3]


def test_damaged_shredding(tmp_path: Path) -> None:
    log = variants(tmp_path, "variantShredding")
    value = {"metadata": EMPTY, "value": b"\x00", "typed_value": 7}
    log.commit(1, data_file(log, "f", pa.table({"id": [1], "v": pa.array([value], SHREDDED)})))
    scan = open_table(log.root).scan()
    assert scan.select("id").to_arrow().to_pylist() == [{"id": 1}]
    with pytest.raises(CorruptMetadataError, match="a value and a typed_value") as caught:
        scan.to_arrow()
    assert (caught.value.field, caught.value.path) == ("v", str(log.root / "f"))


@pytest.mark.parametrize(
    "kind",
    [
        pa.struct([("value", pa.binary())]),
        pa.struct([("a", pa.int64())]),
        pa.binary(),
        pa.struct([("value", pa.int64()), ("metadata", pa.binary())]),
    ],
)
def test_what_is_no_variant(tmp_path: Path, kind: pa.DataType) -> None:
    log = variants(tmp_path)
    log.commit(1, data_file(log, "f", pa.table({"id": [1], "v": pa.nulls(1, kind)})))
    with pytest.raises(CorruptMetadataError) as caught:
        open_table(log.root).scan().to_arrow()
    assert str(caught.value.field).startswith("v")


def test_statistics_of_variants_are_never_compared(tmp_path: Path) -> None:
    log = variants(tmp_path)
    blob = "0rr910rr91"
    text = stats(3, minValues={"v": blob, "id": 1}, maxValues={"v": blob, "id": 3}, nullCount={"v": 3})
    log.commit(1, add("f", stats=text))
    assert kept(log, "v IS NOT NULL") == kept(log, "v IS NULL") == ["f"]
    assert kept(log, "v IS NOT NULL AND id > 3") == []
    for where in ("v = 'a'", "v > 1", "v LIKE 'a%'", "v IN (1)"):
        with pytest.raises(InvalidPredicateError):
            open_table(log.root).scan(where)


@needs_tables
@pytest.mark.parametrize("name", ["unshredded-variant", "variant/basic"])
def test_variants_of_the_conformance_tables(name: str) -> None:
    root = next(p for p in (ROOT / "delta").glob(f"*/{name}*") if p.is_dir())
    root = root / "delta" if (root / "delta").is_dir() else root
    rows = open_table(root).scan().to_arrow()
    kinds = [f.name for f in open_table(root).snapshot().schema if str(f.type) == "variant"]
    assert kinds
    for column in kinds:
        found = [v for v in rows.column(column).to_pylist() if v is not None]
        assert found
        # The first byte of the metadata is a header whose low bits are version 1. Source: Parquet VariantEncoding.md.
        assert all(v["metadata"][0] & 0x0F == 1 and v["value"] for v in found)


# ---- collations -----------------------------------------------------------------------------------------------------


def collated(tmp_path: Path, **more: Any) -> DeltaLog:
    column = field("c", "string", {"__COLLATIONS": {"c": "spark.UTF8_LCASE"}})
    return DeltaLog(tmp_path / "t").start(column, field("id", "long"), **more)


@pytest.mark.parametrize(
    "where", ["c = 'a'", "c > 'a'", "c IN ('a', 'b')", "c LIKE 'a%'", "c LIKE '%a'", "c <=> 'a'", "id = 1 OR c != 'a'"]
)
@pytest.mark.parametrize("partition", [(), ("c",)])
def test_collated_comparisons_are_refused(tmp_path: Path, where: str, partition: tuple[str, ...]) -> None:
    log = collated(tmp_path, partition=partition)
    log.commit(1, add("f", partitionValues={"c": "A"} if partition else {}, stats=stats(1)))
    with pytest.raises(UnsupportedFeatureError, match="UTF8_LCASE") as caught:
        open_table(log.root).scan(where)
    assert caught.value.field == "c"


def test_collated_columns_are_read(tmp_path: Path) -> None:
    log = collated(tmp_path)
    text = stats(2, minValues={"c": "a", "id": 1}, maxValues={"c": "b", "id": 2}, nullCount={"c": 0, "id": 0})
    log.commit(1, data_file(log, "f", pa.table({"c": ["a", "B"], "id": [1, 2]}), text))
    scan = open_table(log.root).scan
    assert scan().to_arrow().column("c").to_pylist() == ["a", "B"]
    assert scan("id = 2").to_arrow().column("c").to_pylist() == ["B"]
    assert scan("c IS NOT NULL").count() == 2
    assert kept(log, "id > 2") == []


def test_nested_collations(tmp_path: Path) -> None:
    inner = field("c", "string", {"__COLLATIONS": {"c": "ICU.de_DE"}})
    log = DeltaLog(tmp_path / "t").start(
        field("s", {"type": "struct", "fields": [inner, field("d", "string")]}),
        field("a", {"type": "array", "elementType": "string"}, {"__COLLATIONS": {"a.element": "ICU.de_DE"}}),
    )
    log.commit(1, add("f", stats=stats(1, minValues={"s": {"d": "x"}}, maxValues={"s": {"d": "y"}})))
    with pytest.raises(UnsupportedFeatureError):
        open_table(log.root).scan("s.c = 'a'")
    assert kept(log, "s.d = 'z'") == []
    assert kept(log, "a IS NULL") == ["f"]


def test_collations_of_keys_and_values(tmp_path: Path) -> None:
    kind = {"type": "map", "keyType": "string", "valueType": {"type": "array", "elementType": "string"}}
    both = field("m", kind, {"__COLLATIONS": {"m.key": "ICU.de_DE", "m.value.element": "ICU.fr_FR"}})
    numbers = field("n", {"type": "map", "keyType": "string", "valueType": "long"}, {"__COLLATIONS": {"n.key": "X.x"}})
    pairs, counts = open_table(DeltaLog(tmp_path / "t").start(both, numbers).root).snapshot().schema
    key, value = pairs.type.members
    assert (key.collation, value.type.members[0].collation) == ("ICU.de_DE", "ICU.fr_FR")
    assert [member.collation for member in counts.type.members] == ["X.x", None]


def test_user_defined_types_are_what_they_are_stored_as(tmp_path: Path) -> None:
    kind = {"type": "udt", "class": "x.Point", "sqlType": {"type": "array", "elementType": "double"}}
    (point,) = open_table(DeltaLog(tmp_path / "t").start(field("p", kind)).root).snapshot().schema
    assert str(point.type) == "array<double>"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ([field("a", "long"), field("a", "string")], "two columns of one name"),
        ([{**field("a", "long"), "metadata": [1]}], "metadata is no object"),
        ([field("a", {"type": "udt"})], "no type"),
        ([field("a", {"type": "struct"})], "no fields"),
    ],
)
def test_malformed_schemas(tmp_path: Path, fields: list[Any], message: str) -> None:
    with pytest.raises(CorruptMetadataError, match=message) as caught:
        open_table(DeltaLog(tmp_path / "t").start(*fields).root).snapshot()
    assert caught.value.path is not None
