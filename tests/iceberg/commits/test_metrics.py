"""Which metrics a table asks for, column by column, and how bounds are cut."""

from __future__ import annotations

import decimal
from typing import Any

import pyarrow as pa
import pytest
from tableformats_iceberg.write.encode.metrics import MetricsMode, check_metrics, cut_bounds, metrics_modes
from tableformats_iceberg.write.encode.values import bound_bytes, has_bounds, partition_struct

import tableformats as tf
from tableformats.plugin import (
    DecimalType,
    Field,
    FixedType,
    ListType,
    PartitionField,
    Schema,
    StructType,
    Type,
    parse_transform,
    primitive,
)

PREFIX = "write.metadata.metrics."
NONE, COUNTS, FULL, USUAL = MetricsMode(False, False), MetricsMode(True, False), MetricsMode(), MetricsMode(length=16)
INNER = StructType((Field(4, "x", primitive("int")), Field(5, "in", StructType((Field(6, "z", primitive("int")),)))))
SCHEMA = Schema(
    (
        Field(1, "a", primitive("long")),
        Field(2, "l", ListType(Field(3, "element", primitive("int")))),
        Field(7, "s", INNER),
        Field(8, "b", primitive("string")),
    )
)


def modes(sorted_ids: tuple[int, ...] = (), **properties: str) -> dict[int, MetricsMode]:
    given = {PREFIX + name.replace("__", ".").replace("_", "-"): value for name, value in properties.items()}
    check_metrics(given)
    return metrics_modes(SCHEMA, given, sorted_ids)


@pytest.mark.parametrize(
    ("text", "mode"),
    [
        ("none", NONE),
        (" Counts ", COUNTS),
        ("FULL", FULL),
        ("truncate(16)", USUAL),
        ("truncate(1)", MetricsMode(length=1)),
        ("Truncate(2)", MetricsMode(length=2)),
        ("truncate(999999999)", MetricsMode(length=999999999)),
    ],
)
def test_modes(text: str, mode: MetricsMode) -> None:
    """Columns in structs have theirs; those in lists have none."""
    assert modes(default=text) == dict.fromkeys((1, 8, 4, 6), mode)
    found = modes(column__s__in__z=text, column__gone="none", column__l__element="none")
    assert found == {1: USUAL, 8: USUAL, 4: USUAL, 6: mode}


@pytest.mark.parametrize(
    "text",
    ["", "truncate", "truncate(0)", "truncate()", "truncate(-1)", "truncate(1000000000)", "truncate(1) x", "all"],
)
@pytest.mark.parametrize("name", ["default", "column.a", "column.gone"])
def test_modes_that_are_none(text: str, name: str) -> None:
    with pytest.raises(tf.UnsupportedFeatureError) as caught:
        check_metrics({PREFIX + name: text, "other": "all"})
    assert caught.value.field == PREFIX + name
    if name != "column.gone":
        with pytest.raises(tf.UnsupportedFeatureError):
            metrics_modes(SCHEMA, {PREFIX + name: text})


@pytest.mark.parametrize(
    ("most", "with_metrics"),
    [(None, [1, 8, 4, 6]), ("0", []), ("1", [1]), ("3", [1, 8, 4]), ("4", [1, 8, 4, 6]), ("-1", [1, 8, 4, 6])],
)
def test_the_first_columns(most: str | None, with_metrics: list[int]) -> None:
    """Those of a struct come before those of the structs in it."""
    given = {} if most is None else {"max_inferred_column_defaults": most}
    assert [i for i, mode in modes(**given).items() if mode == USUAL] == with_metrics
    assert set(modes(**given, default="counts").values()) == {COUNTS}
    assert modes(**given, column__s__in__z="full")[6] == FULL


def test_only_a_hundred_columns_by_default() -> None:
    for properties in ({}, {PREFIX + "max-inferred-column-defaults": "-5"}):
        found = metrics_modes(Schema(tuple(Field(i, f"c{i}", primitive("int")) for i in range(1, 103))), properties)
        assert [i for i, mode in found.items() if mode == NONE] == [101, 102]


@pytest.mark.parametrize("text", ["", "ten", "1.0", "1" * 10, "--1", " 1"])
def test_numbers_of_columns(text: str) -> None:
    name = PREFIX + "max-inferred-column-defaults"
    for read in (check_metrics, lambda given: metrics_modes(SCHEMA, given)):
        with pytest.raises(tf.UnsupportedFeatureError) as caught:
            read({name: text})
        assert caught.value.field == name


def test_columns_that_files_are_sorted_by() -> None:
    """They have bounds, unless a property of theirs says otherwise."""
    assert modes((1,), default="none") == {1: USUAL, 8: NONE, 4: NONE, 6: NONE}
    assert modes((1,), default="counts")[1] == USUAL
    assert modes((1,), default="full") == dict.fromkeys((1, 8, 4, 6), FULL)
    assert modes((1,), column__a="counts")[1] == COUNTS
    assert modes((6,), max_inferred_column_defaults="0") == {1: NONE, 8: NONE, 4: NONE, 6: USUAL}


# ---- bounds ---------------------------------------------------------------------------------------------------------


def cut(values: list[Any], kind: str, length: int | None, is_lower: bool) -> list[Any]:
    array = pa.array(values, pa.string() if kind == "string" else pa.binary())
    found = cut_bounds(array, Field(1, "c", primitive(kind)), MetricsMode(length=length), is_lower=is_lower)
    assert found is not None
    return found.to_pylist()  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("value", "lower", "upper"),
    [
        ("ab", b"ab", b"ab"),
        ("abc", b"ab", b"ac"),
        ("a~x", b"a~", b"a\x7f"),
        ("a\x7fx", b"a\x7f", "a\x80".encode()),
        ("", b"", b""),
        ("éàx", "éà".encode(), "éá".encode()),
        ("a\ud7ffx", "a\ud7ff".encode(), "a\ue000".encode()),
        ("a\U0010ffffx", "a\U0010ffff".encode(), b"b"),
        ("\U0010ffff\U0010fffex", "\U0010ffff\U0010fffe".encode(), "\U0010ffff\U0010ffff".encode()),
        ("\U0010ffff\U0010ffffx", "\U0010ffff\U0010ffff".encode(), None),
        (None, None, None),
    ],
)
def test_texts_that_are_cut(value: str | None, lower: bytes | None, upper: bytes | None) -> None:
    """Alone, and beside others that need another way."""
    for others in ([], ["zz"], ["zzz"], ["\U0010ffff" * 3], [None]):
        assert cut([value, *others], "string", 2, True)[0] == lower
        assert cut([*others, value], "string", 2, False)[-1] == upper
    assert cut([value], "string", None, False) == [None if value is None else value.encode()]


@pytest.mark.parametrize(
    ("value", "lower", "upper"),
    [
        (b"ab", b"ab", b"ab"),
        (b"abc", b"ab", b"ac"),
        (b"a\x7fx", b"a\x7f", b"a\x80"),
        (b"a\xfex", b"a\xfe", b"a\xff"),
        (b"a\xffx", b"a\xff", b"b"),
        (b"\xfe\xffx", b"\xfe\xff", b"\xff"),
        (b"\xff\xffx", b"\xff\xff", None),
        (b"", b"", b""),
        (None, None, None),
    ],
)
def test_octets_that_are_cut(value: bytes | None, lower: bytes | None, upper: bytes | None) -> None:
    for others in ([], [b"zz"], [b"zzz"], [b"\xff" * 3], [None]):
        assert cut([value, *others], "binary", 2, True)[0] == lower
        assert cut([*others, value], "binary", 2, False)[-1] == upper


@pytest.mark.parametrize(
    ("kind", "mode", "has_some"),
    [
        (primitive("long"), USUAL, True),
        (primitive("long"), COUNTS, False),
        (primitive("variant"), FULL, False),
        (DecimalType(9, 2), USUAL, True),
        (FixedType(3), USUAL, True),
    ],
)
def test_which_columns_have_bounds(kind: Type, mode: MetricsMode, has_some: bool) -> None:
    from tableformats.schema import arrow_type

    values = pa.nulls(2, pa.binary() if not has_bounds(kind) else arrow_type(kind))
    found = cut_bounds(values, Field(1, "c", kind), mode, is_lower=True)
    assert (found is not None) is has_some and (found is None or found.to_pylist() == [None, None])
    geo = Field(1, "c", primitive("binary"), metadata={"logical_type": "geometry"})
    assert cut_bounds(pa.nulls(2, pa.binary()), geo, FULL, is_lower=True) is None


def test_types_without_bounds() -> None:
    names = ("int", "long", "float", "double", "date", "time", "timestamp", "boolean", "string", "binary", "uuid")
    assert all(has_bounds(primitive(name)) for name in names) and has_bounds(DecimalType(3, 1))
    assert not has_bounds(primitive("variant")) and not has_bounds(ListType(Field(1, "element", primitive("int"))))


NAN = float("nan")


@pytest.mark.parametrize(
    ("values", "kind", "lower", "upper"),
    [
        ([True, None, False], "boolean", [b"\x01", None, b"\0"], [b"\x01", None, b"\0"]),
        ([5, None], "int", [b"\x05\0\0\0", None], [b"\x05\0\0\0", None]),
        ([0.0, None], "float", [b"\0\0\0\x80", None], [b"\0\0\0\0", None]),
        ([-0.0, NAN], "double", [b"\0" * 7 + b"\x80", None], [b"\0" * 8, None]),
        ([b"\x01", None], "binary", [b"\x01", None], [b"\x01", None]),
    ],
)
def test_bounds_of_types(values: list[Any], kind: str, lower: list[Any], upper: list[Any]) -> None:
    from tableformats.schema import arrow_type

    array = pa.array(values, arrow_type(primitive(kind)))
    assert bound_bytes(array, primitive(kind), is_lower=True).to_pylist() == lower
    assert bound_bytes(array, primitive(kind), is_lower=False).to_pylist() == upper
    assert bound_bytes(array.slice(1), primitive(kind), is_lower=True).to_pylist() == lower[1:]
    assert bound_bytes(array.slice(0, 0), primitive(kind), is_lower=True).to_pylist() == []


def partition(kind: Type, *values: Any) -> list[bytes]:
    from tableformats.schema import arrow_type

    field = PartitionField(1000, "p", 1, parse_transform("identity"), kind)
    structs = pa.StructArray.from_arrays([pa.array(values, arrow_type(kind))], ["p"])
    return partition_struct(structs, (field,), len(values)).to_pylist()  # type: ignore[no-any-return]


def test_partition_values_of_each_kind() -> None:
    assert partition(primitive("boolean"), True, None, False) == [b"\x02\x01", b"\0", b"\x02\0"]
    assert partition(primitive("int"), -1, None, 64) == [b"\x02\x01", b"\0", b"\x02\x80\x01"]
    assert partition(primitive("float"), 1.0, None) == [b"\x02\0\0\x80\x3f", b"\0"]
    assert partition(primitive("string"), "ab", None, "") == [b"\x02\x04ab", b"\0", b"\x02\0"]
    assert partition(FixedType(2), b"ab", None) == [b"\x02ab", b"\0"]
    wide = partition(DecimalType(9, 2), decimal.Decimal("-0.01"), None, decimal.Decimal("2.56"))
    assert wide == [b"\x02\xff\xff\xff\xff", b"\0", b"\x02\0\0\x01\0"]
    widest = partition(DecimalType(38, 0), decimal.Decimal(1))
    assert widest == [b"\x02" + bytes(15) + b"\x01"]
    assert partition_struct(pa.array([{}, {}], pa.struct([])), (), 2).to_pylist() == [b"", b""]
