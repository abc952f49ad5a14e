"""Transforms against the specification's hash vectors and PyIceberg's transforms."""

from __future__ import annotations

import uuid
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyiceberg.transforms import BucketTransform
from pyiceberg.types import DecimalType as IcebergDecimal
from pyiceberg.types import LongType as IcebergLong

from tableformats.schema import DecimalType, FixedType, PrimitiveType, arrow_type, primitive
from tableformats.schema.datetimes import DAY_NANOS
from tableformats.schema.transforms import Transform, _fits, hash_bytes, parse_transform
from tests.support.examples import examples
from tests.support.strategies import (
    EXACT,
    TRANSFORMS,
    VALUES,
    long_integers,
    order_key,
    partition_value,
    to_array,
    type_of,
)


def signed(value: int) -> int:
    return value - 2**32 if value >= 2**31 else value


# Iceberg spec, appendix B, "32-bit Hash Requirements".
@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        (34, primitive("int"), 2017239379),
        (34, primitive("long"), 2017239379),
        (Decimal("14.20"), DecimalType(9, 2), -500754589),
        (17486, primitive("date"), -653330422),  # 2017-11-16
        (81068000000, primitive("time"), -662762989),  # 22:31:08
        (1510871468000000, primitive("timestamp_ntz"), -2047944441),  # 2017-11-16T22:31:08
        (1510871468000001, primitive("timestamp_ntz"), -1207196810),
        (1510871468000000, primitive("timestamp"), -2047944441),
        (1510871468000001001, primitive("timestamp_ns"), -1207196810),
        ("iceberg", primitive("string"), 1210000089),
        (uuid.UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7").bytes, primitive("uuid"), 1488055340),
        (b"\x00\x01\x02\x03", FixedType(4), -188683207),
        (b"\x00\x01\x02\x03", primitive("binary"), -188683207),
    ],
)
def test_bucket_hash_vectors(value: object, kind: object, expected: int) -> None:
    modulus = 1_000_003
    bucket = parse_transform(f"bucket[{modulus}]").bucket(value, kind)  # type: ignore[arg-type]
    assert bucket == (expected & 0x7FFFFFFF) % modulus


@settings(max_examples=examples(100))
@given(long_integers(38), st.integers(0, 38))
def test_buckets_of_decimals(unscaled: int, scale: int) -> None:
    """PyIceberg's bucket, whatever the number of digits; the process's context rounds to 28 of them."""
    value = Decimal(unscaled).scaleb(-scale, EXACT)
    expected = BucketTransform(1_000_003).transform(IcebergDecimal(38, scale))(value)
    assert parse_transform("bucket[1000003]").bucket(value, DecimalType(38, scale)) == expected


def test_hash_of_each_length() -> None:
    mmh3 = pytest.importorskip("mmh3")
    for length in range(20):
        data = bytes(range(200, 200 + length))
        assert signed(hash_bytes(data)) == mmh3.hash(data)


@pytest.mark.parametrize("value", [1.5, True, 2**64])
def test_values_without_a_hash_are_refused(value: object) -> None:
    with pytest.raises(ValueError, match=r"bucket|64-bit"):
        parse_transform("bucket[4]").bucket(value, primitive("double"))


@pytest.mark.parametrize("text", ["bucket[0]", "bucket[-1]", "truncate[99999999999]", "zorder", "", "bucket[4"])
def test_what_is_not_known_prunes_nothing(text: str) -> None:
    transform = parse_transform(text)
    assert transform.name == "unknown"
    lower, upper = transform.preimage(pa.array([1, 2]), primitive("int"))
    assert lower.null_count == upper.null_count == 2


@settings(max_examples=50)
@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind in sorted(TRANSFORMS) for text in TRANSFORMS[kind]])
@given(data=st.data())
def test_every_value_lies_in_the_preimage_of_its_partition(kind: str, text: str, data: st.DataObject) -> None:
    value = data.draw(VALUES[kind])
    transform, source = parse_transform(text), type_of(kind)
    partition = partition_value(text, kind, value)
    lower, upper = transform.preimage(to_array([partition], transform.result_type(source)), source)
    stored = to_array([value], source)
    if lower[0].is_valid and value == value:
        assert pc.less_equal(lower, stored)[0].as_py(), (text, value, lower)
    if upper[0].is_valid and value == value:
        assert pc.greater_equal(upper, stored)[0].as_py(), (text, value, upper)
    assert order_key(value) == order_key(value)


def test_preimages_are_narrow() -> None:
    day = parse_transform("day").preimage(pa.array([19000], pa.int32()), primitive("timestamp"))
    assert [side.cast(pa.int64())[0].as_py() for side in day] == [19000 * 86_400_000_000, 19001 * 86_400_000_000 - 1]
    year = parse_transform("year").preimage(pa.array([54], pa.int32()), primitive("date"))
    assert [str(side[0]) for side in year] == ["2024-01-01", "2024-12-31"]
    cut = parse_transform("truncate[10]").preimage(pa.array([-10, 2147483640], pa.int32()), primitive("int"))
    assert [side.to_pylist() for side in cut] == [[-10, 2147483640], [-1, 2147483647]]
    price = pa.array([Decimal("1.00"), Decimal("-0.50")], pa.decimal128(9, 2))
    decimals = parse_transform("truncate[50]").preimage(price, DecimalType(9, 2))
    assert [list(map(str, side.to_pylist())) for side in decimals] == [["1.00", "-0.50"], ["1.49", "-0.01"]]
    greatest = pa.array([Decimal("9" * 36 + "50"), Decimal("9" * 38)], pa.decimal128(38, 0))
    decimals = parse_transform("truncate[100]").preimage(greatest, DecimalType(38, 0))
    assert decimals[1].to_pylist() == [Decimal("9" * 38)] * 2
    text = parse_transform("truncate[3]").preimage(pa.array(["abc", "ab"]), primitive("string"))
    assert [side.to_pylist() for side in text] == [["abc", "ab"], ["abd", "ab"]]


def test_units_before_1970_are_widened_by_one() -> None:
    """Writers before Iceberg 0.11 stored the instant 1969-12-31T23:00 in day 0."""
    lower, _ = parse_transform("day").preimage(pa.array([0, -1, 1], pa.int32()), primitive("timestamp"))
    assert [v // 86_400_000_000 for v in lower.cast(pa.int64()).to_pylist()] == [-1, -2, 1]


@pytest.mark.parametrize("text", ["year", "month", "day", "hour"])
def test_units_that_no_instant_has_prove_nothing(text: str) -> None:
    values = pa.array([2**31 - 1, -(2**31), None], pa.int32())
    lower, upper = parse_transform(text).preimage(values, primitive("timestamp"))
    if text != "hour":
        assert lower.null_count == 3 and upper.null_count == 3
    assert lower[2].is_valid is False


@pytest.mark.parametrize("width", [1, 2, 3, 7, 10, 100, 2**20])
@pytest.mark.parametrize("bits", [32, 64])
def test_truncate_overflows_at_the_least_integers(width: int, bits: int) -> None:
    """As integers of the type wrap around: v - (((v % W) + W) % W).

    Source: Iceberg spec, "Truncate Transform Details".
    """
    transform, kind = parse_transform(f"truncate[{width}]"), pa.int32() if bits == 32 else pa.int64()
    least = -(1 << (bits - 1))
    for value in (least, least + 1, least + width - 1, least + width, -1, 0, 5, -least - 1, -least - width):
        stored = (value - value % width - least) % (1 << bits) + least
        overflowed = transform.may_have_overflowed(pa.array([stored], kind))
        if stored > value:
            assert overflowed is not None
            assert overflowed.to_pylist() == [True]
        elif stored <= -least - 1 - width:
            assert overflowed is None
    wide = parse_transform("truncate[500]").may_have_overflowed(pa.array([0, None], pa.int8()))
    assert wide is not None
    assert wide.to_pylist() == [True, False]
    for width, overflows in ((127, [False, False]), (128, [True, False]), (129, [True, False])):
        found = parse_transform(f"truncate[{width}]").may_have_overflowed(pa.array([0, None], pa.int8()))
        assert ([False, False] if found is None else found.to_pylist()) == overflows
    assert parse_transform("bucket[3]").may_have_overflowed(pa.array([1])) is None


@pytest.mark.parametrize(
    ("text", "values", "source"),
    [
        ("truncate[3]", pa.array([1.5]), primitive("double")),
        ("truncate[3]", pa.array(["x"]), primitive("int")),
        ("day", pa.array(["1970-01-01"]), primitive("date")),
        ("identity", pa.array(["x"]), primitive("int")),
        ("identity", pa.array([2**40]), primitive("int")),
    ],
)
def test_values_that_no_writer_makes_prove_nothing(text: str, values: pa.Array, source: PrimitiveType) -> None:
    for side in parse_transform(text).preimage(values, source):
        assert side.null_count == len(values) == 1


def test_units_of_nanoseconds() -> None:
    days = pa.array([19000, 200_000, -200_000], pa.int32())  # the years 2022, 2517 and 1422
    sides = parse_transform("day").preimage(days, primitive("timestamp_ns"))
    found = [[v.value if v.is_valid else None for v in side] for side in sides]
    assert found == [[19000 * DAY_NANOS, None, None], [19001 * DAY_NANOS - 1, None, None]]


def test_prefixes_without_a_successor() -> None:
    cut = parse_transform("truncate[2]")
    lower, upper = cut.preimage(pa.array([b"a\xff", b"\xff\xff", b"x"], pa.binary()), primitive("binary"))
    assert lower.to_pylist() == [b"a\xff", b"\xff\xff", b"x"] and upper.to_pylist() == [b"b", None, b"x"]
    last = "\U0010ffff"
    upper = cut.preimage(pa.array([last * 2, "a" + last, "a\ud7ff"]), primitive("string"))[1]
    assert upper.to_pylist() == [None, "b", "a\ue000"], "no half of a pair"


def test_what_is_no_bucket() -> None:
    with pytest.raises(ValueError, match="day is no bucket"):
        parse_transform("day").bucket(1, primitive("int"))


@pytest.mark.parametrize(
    ("name", "limit"), [("year", 290_000), ("month", 3_480_000), ("day", 106_000_000), ("hour", 2_540_000_000)]
)
def test_units_whose_instants_have_64_bits(name: str, limit: int) -> None:
    units = np.array([-limit, 1 - limit, 0, limit - 1, limit])
    assert _fits(units, name).tolist() == [False, True, True, True, False]


@pytest.mark.parametrize(
    ("text", "name", "width"),
    [
        ("bucket[1]", "bucket", 1),
        ("truncate[2147483647]", "truncate", 2**31 - 1),
        ("bucket[0]", "unknown", 0),
        ("bucket[2147483648]", "unknown", 0),
        ("bucket[]", "unknown", 0),
        ("day", "day", 0),
        ("zorder", "unknown", 0),
    ],
)
def test_widths(text: str, name: str, width: int) -> None:
    found = parse_transform(text)
    assert (found.name, found.width, str(found)) == (name, width, text)


@pytest.mark.parametrize("transform", [Transform("bucket", 0), Transform("bucket", -1), Transform("truncate", 4)])
def test_transforms_without_buckets(transform: Transform) -> None:
    with pytest.raises(ValueError, match="is no bucket transform"):
        transform.bucket(1, primitive("int"))
    assert Transform("bucket", 1).bucket(1, primitive("int")) == 0


@pytest.mark.parametrize(
    ("kind", "width", "value", "greatest"),
    [
        ("long", 7, 2**63 - 8, 2**63 - 2),
        ("long", 7, 2**63 - 1, 2**63 - 1),
        ("long", 8, 2**63 - 8, 2**63 - 1),
        ("int", 2**31 - 1, 0, 2**31 - 2),
        ("short", 7, 32_760, 32_766),
        ("byte", 2, 126, 127),
    ],
)
def test_the_greatest_value_that_is_truncated_to_one(kind: str, width: int, value: int, greatest: int) -> None:
    """It is no greater than the type's greatest number."""
    source = primitive(kind)
    lower, upper = parse_transform(f"truncate[{width}]").preimage(pa.array([value], arrow_type(source)), source)
    assert (lower.to_pylist(), upper.to_pylist()) == ([value], [greatest])


def test_the_last_hours_of_nanoseconds() -> None:
    """2**63 nanoseconds are a little more than 2562047 hours."""
    hours = pa.array([2_562_046, 2_562_047, -2_562_046, -2_562_047], pa.int32())
    lower, upper = parse_transform("hour").preimage(hours, primitive("timestamp_ns"))
    hour = 3_600 * 10**9
    assert [side.cast(pa.int64()).to_pylist() for side in (lower, upper)] == [
        [2_562_046 * hour, None, -2_562_047 * hour, None],
        [2_562_047 * hour - 1, None, -2_562_045 * hour - 1, None],
    ]


@pytest.mark.parametrize("edge", [0, 1, 127, 128, 255, 256, 32_768, 2**31, 2**63])
def test_buckets_of_decimals_at_the_ends_of_bytes(edge: int) -> None:
    """As PyIceberg has them."""
    kind, theirs = DecimalType(38, 2), BucketTransform(1000).transform(IcebergDecimal(38, 2))
    for number in (edge - 1, edge, edge + 1, -edge - 1, -edge):
        value = Decimal(number).scaleb(-2)
        assert parse_transform("bucket[1000]").bucket(value, kind) == theirs(value), value


def test_buckets_of_the_greatest_integers() -> None:
    bucket, long = parse_transform("bucket[1000]").bucket, primitive("long")
    theirs = BucketTransform(1000).transform(IcebergLong())
    for value in (2**63 - 1, -(2**63)):
        assert bucket(value, long) == theirs(value)
    for value in (2**63, -(2**63) - 1):
        with pytest.raises(ValueError, match=f"{value} is no 64-bit integer"):
            bucket(value, long)


def test_successors_of_prefixes() -> None:
    cut = parse_transform("truncate[2]")
    assert cut.preimage(pa.array([b"ab", b"a"], pa.binary()), primitive("binary"))[1].to_pylist() == [b"ac", b"a"]
    assert cut.preimage(pa.array(["ab", "a", "a\ue000"]), primitive("string"))[1].to_pylist() == ["ac", "a", "a\ue001"]
